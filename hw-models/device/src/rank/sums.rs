// SPDX-License-Identifier: MIT
//! The way of a sum: bank PUs, bursts of results on the data bus, adder unit, partial sums of the context.
//! All of it is in one format, that of the sums.

use super::bank_pus::{BankPus, Read, SumElement};
use super::read_out::ReadOut;
use super::watch::UnitInput;
use crate::config::Config;
use crate::dram::Dram;
use crate::options::{Gear, Options, SumFormat};
use crate::sizes::{Burst, CHIPS, LANES, PARTIAL_SUMS};
use pimlico_dpa::types::{Beat, BusRequest, Place, ResultAddress, Sum, SumKind, TreeSum};
use pimlico_ports::wave::{ScopeId, Wave};
use pimlico_ports::{Bundle, Model, U};
use pimlico_units::arith::{Binary16, Binary32, Fp};
use pimlico_units::bank::{BankPuIn, BankPuOut};
use pimlico_units::gear::{Gear as Geared, Gear1, Gear2, Gear4};
use pimlico_units::lap::Walk;
use pimlico_units::rank::{
    AdderUnit, AdderUnitIn, AdderUnitOut, ResultPath, ResultPathIn, ResultPathOut,
};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter};

/// What comes out of the adder unit in a cycle of the core.
#[derive(Clone, Copy, Debug, Default)]
pub struct Added {
    /// Sums over the chips, by lane, and what they are.
    pub tree: Option<([u16; LANES], TreeSum)>,
    /// Place of partial sums of outputs that are to be read.
    pub reads: Option<Place>,
}

/// Complete sums of the context of a cycle, by lane: what goes to the softmax unit, and to the host.
#[derive(Clone, Copy, Debug)]
pub struct ContextSums {
    /// In binary32.
    pub sums: [u32; LANES],
    /// Rounded to binary16.
    pub rounded: [u16; LANES],
    /// Their head.
    pub head: U<3>,
}

/// The way, of any format of sums and any gear.
pub trait SumWay {
    /// Writes a word of the shared buffers.
    fn write_shared(&mut self, word: usize, burst: Burst);

    /// The bank PUs in the first tCK of a cycle; see [`BankPus::step`].
    fn step_bank_pus(&mut self, at_tck: u64, read: Option<Read>, cells: &Dram) -> (bool, bool);

    /// No sum is of account: see [`BankPus::leave_data_out`].
    fn leave_data_out(&mut self);

    /// An RD_RESULT of this cycle: its data come from `from_tck` on.
    fn read_results(&mut self, from_tck: u64, request: BusRequest);

    /// The partial sums of outputs that were to be read.
    fn give_outputs(&mut self, outputs: [u16; LANES]);

    /// One cycle of the adder unit.
    fn step_adder_unit(&mut self, at_tck: u64) -> Added;

    /// The oldest complete sums of the context, if they have come through the queue.
    fn context(&self) -> Option<ContextSums>;

    /// So many of them are taken.
    fn take_context(&mut self, count: usize);

    /// Whether no results are on their way.
    fn is_idle(&self) -> bool;

    /// Whether nothing is on its way to the bank PUs, and to the adder unit and in it.
    fn may_rest(&self) -> bool;

    /// So many cycles of the core from the one at this tCK on, without an RD_ALL, where no results are on their way and nobody
    /// watches. Returns whether results have become new.
    fn pass(&mut self, at_tck: u64, cycles: u64, cells: &Dram) -> bool;

    /// So many cycles of the core from the one at this tCK on, with an RD_ALL in the last, where the adder unit rests too. Returns
    /// whether results have become new.
    fn pass_slot(&mut self, at_tck: u64, cycles: u64, read: Read, cells: &Dram) -> bool;

    /// Whether the adder unit rests.
    fn rests(&self) -> bool;

    /// Whether no results become new in so many tCK from this one on: see [`BankPus::is_quiet`].
    fn is_quiet(&self, at_tck: u64, tck: u64) -> bool;

    /// So many cycles of the core from the one at this tCK on, but none in which results may become new. Returns how many
    /// it were.
    fn rest(&mut self, at_tck: u64, cycles: u64) -> u64;

    /// Goes over what is no data, for [laps](pimlico_units::lap), in a tCK, where no sums of the context are behind the bank PUs.
    fn walk(&mut self, walk: &mut Walk<'_>, now: u64);

    /// The inputs of the first of the watched bank PUs.
    fn bank_pu_input(&self) -> Option<UnitInput<'_>>;

    /// The inputs of the adder unit.
    fn adder_unit_input(&self) -> UnitInput<'_>;

    /// Has the PUs of a bank watched: see [`BankPus::watch`].
    fn watch(&mut self, bank: usize);

    /// Declares the ports of the watched bank PUs and of the adder unit.
    fn declare(&self, wave: &mut Wave<BufWriter<File>>) -> io::Result<SumScopes>;

    /// Records them as they are in this cycle.
    fn record(&self, wave: &mut Wave<BufWriter<File>>, scopes: &SumScopes) -> io::Result<()>;
}

/// Scopes of a waveform.
pub struct SumScopes {
    bank_pus: Vec<ScopeId>,
    adder_unit: ScopeId,
}

/// The logic bank whose PUs are watched.
pub const WATCHED: usize = 0;

/// The way of a rank with these options.
pub fn sum_way(config: &Config, options: &Options) -> Box<dyn SumWay> {
    match (options.sums, options.gear) {
        (SumFormat::Binary16, Gear::One) => Box::new(SumPath::<Binary16, Gear1>::new(config)),
        (SumFormat::Binary16, Gear::Two) => Box::new(SumPath::<Binary16, Gear2>::new(config)),
        (SumFormat::Binary16, Gear::Four) => Box::new(SumPath::<Binary16, Gear4>::new(config)),
        (SumFormat::Binary32, Gear::One) => Box::new(SumPath::<Binary32, Gear1>::new(config)),
        (SumFormat::Binary32, Gear::Two) => Box::new(SumPath::<Binary32, Gear2>::new(config)),
        (SumFormat::Binary32, Gear::Four) => Box::new(SumPath::<Binary32, Gear4>::new(config)),
    }
}

/// Cycles in which a sum of the context passes its queue.
const QUEUE_CYCLES: u64 = 3;

/// The way of sums of format `A`, where the core has this gear.
pub struct SumPath<A: SumElement, G: Geared> {
    bank_pus: BankPus<A>,
    read_out: ReadOut<A>,
    /// Bursts that are on the data bus, or will be.
    bursts: VecDeque<ResultBurst<A>>,
    result_path: ResultPath<A, G>,
    /// The RD_RESULT of this cycle.
    read: Option<Sum>,
    /// CL in cycles.
    cl: u8,
    adder_unit: AdderUnit<Binary16, A, G>,
    input: AdderUnitIn<Binary16, A, G>,
    output: AdderUnitOut<Binary16, A, G>,
    /// Both are as they stay while nothing comes.
    rests: bool,
    /// Partial sums of outputs, as they were read last.
    outputs: [Fp<Binary16>; LANES],
    /// Sums of the context that have more to come, a place for each chip.
    partial_sums: Box<[[Fp<A>; CHIPS]]>,
    /// Those that were read last.
    kept_sums: [Fp<A>; CHIPS],
    /// Complete ones.
    complete: VecDeque<Complete<A>>,
    /// Cycles so far.
    cycle: u64,
}

/// A complete sum of the context.
struct Complete<A> {
    sum: Fp<A>,
    head: U<3>,
    /// It is through the queue.
    from_cycle: u64,
}

/// A burst of results.
struct ResultBurst<A> {
    from_tck: u64,
    elements: [[Fp<A>; CHIPS]; LANES],
    context: bool,
}

impl<A: SumElement, G: Geared> SumPath<A, G> {
    /// Units that have been reset.
    pub fn new(config: &Config) -> Self {
        Self {
            bank_pus: BankPus::new(config),
            read_out: ReadOut::new(config),
            bursts: VecDeque::with_capacity(16),
            result_path: ResultPath::new(),
            read: None,
            cl: (config.timing.cl_tck as usize / G::TCK) as u8,
            adder_unit: AdderUnit::new(),
            input: AdderUnitIn::default(),
            output: AdderUnitOut::default(),
            rests: false,
            outputs: [Fp::ZERO; LANES],
            partial_sums: vec![[Fp::ZERO; CHIPS]; PARTIAL_SUMS].into(),
            kept_sums: [Fp::ZERO; CHIPS],
            complete: VecDeque::with_capacity(64),
            cycle: 0,
        }
    }

    /// What is on the data bus in the beats of a tCK, if something is.
    fn beats(&mut self, at_tck: u64) -> Option<[Beat; 2]> {
        let burst = self.bursts.front()?;
        let tck = at_tck.checked_sub(burst.from_tck)? as usize;
        // An element of the context of 32 bits takes two tCK; other elements have 16.
        let wide = burst.context && A::WIDTH == 32;
        let part = |chip: usize| match wide {
            true => burst.elements[tck / 2][chip].to_bits() >> (16 * (tck % 2)),
            false => burst.elements[tck][chip].narrow::<Binary16>().to_bits(),
        };
        let beat =
            |n: u32| Beat::from_le_bytes(std::array::from_fn(|c| (part(c) >> (8 * n)) as u8));
        let beats = [beat(0), beat(1)];
        if tck == LANES - 1 {
            self.bursts.pop_front();
        }
        Some(beats)
    }
}

impl<A: SumElement, G: Geared> SumWay for SumPath<A, G> {
    fn write_shared(&mut self, word: usize, burst: Burst) {
        self.bank_pus.write_shared(word, burst);
    }

    fn step_bank_pus(&mut self, at_tck: u64, read: Option<Read>, cells: &Dram) -> (bool, bool) {
        self.bank_pus.step(at_tck, read, cells)
    }

    fn leave_data_out(&mut self) {
        self.bank_pus.leave_data_out();
    }

    fn read_results(&mut self, from_tck: u64, request: BusRequest) {
        let BusRequest { address, sum, .. } = request;
        let elements = self.read_out.elements(&self.bank_pus, ResultAddress::of_bits(address));
        let context = sum.kind == SumKind::Context;
        self.read = Some(sum);
        self.bursts.push_back(ResultBurst { from_tck, elements, context });
    }

    fn give_outputs(&mut self, outputs: [u16; LANES]) {
        self.outputs = outputs.map(|bits| Fp::from_bits(bits.into()));
    }

    fn step_adder_unit(&mut self, at_tck: u64) -> Added {
        self.cycle += 1;
        let read = self.read.take();
        if read.is_none() && self.bursts.is_empty() && self.result_path.is_idle() {
            if !self.rests {
                self.rests = self.adder_unit.rests();
                self.input = AdderUnitIn::default();
                self.output = self.adder_unit.step(&self.input);
            }
            return Added::default();
        }
        self.rests = false;
        let mut way = ResultPathIn {
            cl_i: self.cl,
            read_result_i: read.is_some(),
            sum_i: read.unwrap_or_default(),
            partial_outputs_i: self.outputs,
            clk_core_i: true,
            ..Default::default()
        };
        let mut on_way = ResultPathOut::default();
        for tck in 0..G::TCK {
            let [first, second] = self.beats(at_tck + tck as u64).unwrap_or([Beat::MAX; 2]);
            self.result_path.beat_between(first);
            if tck < G::TCK - 1 {
                self.result_path.beat_between(second);
            } else {
                way.dq_i = second;
                on_way = self.result_path.step(&way);
            }
        }
        self.input = AdderUnitIn {
            valid_i: on_way.valid_o,
            accumulate_i: on_way.accumulate_o,
            x_i: on_way.x_o,
            partial_i: on_way.partial_o,
            begin_i: on_way.begin_o,
            goes_on_i: on_way.goes_on_o,
            start_i: self.kept_sums,
            ..Default::default()
        };
        self.output = self.adder_unit.step(&self.input);
        if on_way.sums_read_o {
            self.kept_sums = self.partial_sums[usize::from(on_way.sums_place_o)];
        }
        let (owner, sums) = (on_way.lanes_o, self.output.lanes_o);
        if on_way.lanes_valid_o && owner.complete {
            let from_cycle = self.cycle + QUEUE_CYCLES;
            let complete = sums.map(|sum| Complete { sum, head: owner.head, from_cycle });
            self.complete.extend(complete);
        } else if on_way.lanes_valid_o {
            self.partial_sums[usize::from(owner.place)] = sums;
        }
        let tree = self.output.tree_o.as_ref();
        let bits = |lane: usize| tree.get(lane).map_or(0, |sum| sum.to_bits() as u16);
        Added {
            tree: self.output.tree_valid_o.then(|| (std::array::from_fn(bits), on_way.tree_o)),
            reads: on_way.partial_read_o.then_some(on_way.partial_place_o),
        }
    }

    fn context(&self) -> Option<ContextSums> {
        let oldest = self.complete.front().filter(|sum| sum.from_cycle <= self.cycle)?;
        let sum = |lane: usize| self.complete.get(lane).filter(|_| lane < G::TCK);
        Some(ContextSums {
            sums: std::array::from_fn(|n| {
                sum(n).map_or(0, |it| it.sum.widen::<Binary32>().to_bits())
            }),
            rounded: std::array::from_fn(|n| {
                sum(n).map_or(0, |it| it.sum.narrow::<Binary16>().to_bits() as u16)
            }),
            head: oldest.head,
        })
    }

    fn take_context(&mut self, count: usize) {
        self.complete.drain(..count);
    }

    fn is_idle(&self) -> bool {
        self.read.is_none()
            && self.bursts.is_empty()
            && self.result_path.is_idle()
            && self.complete.is_empty()
    }

    fn may_rest(&self) -> bool {
        self.rests && self.is_idle() && self.bank_pus.may_rest()
    }

    fn pass(&mut self, at_tck: u64, cycles: u64, cells: &Dram) -> bool {
        self.cycle += cycles;
        self.bank_pus.pass(at_tck, cycles, G::TCK as u64, cells)
    }

    fn pass_slot(&mut self, at_tck: u64, cycles: u64, read: Read, cells: &Dram) -> bool {
        let is_new = self.pass(at_tck, cycles - 1, cells);
        self.cycle += 1;
        let last_tck = at_tck + (cycles - 1) * G::TCK as u64;
        self.bank_pus.step(last_tck, Some(read), cells).1 || is_new
    }

    fn rests(&self) -> bool {
        self.rests
    }

    fn is_quiet(&self, at_tck: u64, tck: u64) -> bool {
        self.bank_pus.is_quiet(at_tck, tck, at_tck + tck - G::TCK as u64)
    }

    fn rest(&mut self, at_tck: u64, cycles: u64) -> u64 {
        let passed = self.bank_pus.rest(at_tck, cycles, G::TCK as u64);
        self.cycle += passed;
        passed
    }

    fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        walk.refuse_if(self.read.is_some() || !self.complete.is_empty());
        self.bank_pus.walk(walk, now);
        walk.size(self.bursts.len());
        for ResultBurst { from_tck, elements: _, context } in &mut self.bursts {
            walk.at(from_tck, now);
            walk.still(*context);
        }
        self.result_path.walk(walk);
        self.adder_unit.walk(walk);
        walk.still(self.rests);
        walk.moves(&mut self.cycle);
    }

    fn bank_pu_input(&self) -> Option<UnitInput<'_>> {
        self.bank_pus.ports().map(|(ports, _)| UnitInput::BankPu(&ports[0]))
    }

    fn adder_unit_input(&self) -> UnitInput<'_> {
        UnitInput::AdderUnit(&self.input)
    }

    fn watch(&mut self, bank: usize) {
        self.bank_pus.watch(bank);
    }

    fn declare(&self, wave: &mut Wave<BufWriter<File>>) -> io::Result<SumScopes> {
        let ports = [BankPuIn::<Binary16, A>::PORTS, BankPuOut::<Binary16, A>::PORTS].concat();
        let mut bank_pus = Vec::with_capacity(CHIPS);
        for chip in 0..CHIPS {
            bank_pus.push(wave.declare(&format!("chip{chip}_bank{WATCHED}_bank_pu"), &ports)?);
        }
        let inputs = AdderUnitIn::<Binary16, A, G>::PORTS;
        let ports = [inputs, AdderUnitOut::<Binary16, A, G>::PORTS].concat();
        Ok(SumScopes { bank_pus, adder_unit: wave.declare("adder_unit", &ports)? })
    }

    fn record(&self, wave: &mut Wave<BufWriter<File>>, scopes: &SumScopes) -> io::Result<()> {
        if let Some((inputs, outputs)) = self.bank_pus.ports() {
            for (scope, (input, output)) in scopes.bank_pus.iter().zip(inputs.iter().zip(outputs)) {
                wave.change(*scope, 0, input)?;
                wave.change(*scope, BankPuIn::<Binary16, A>::PORTS.len(), output)?;
            }
        }
        wave.change(scopes.adder_unit, 0, &self.input)?;
        let inputs = AdderUnitIn::<Binary16, A, G>::PORTS.len();
        wave.change(scopes.adder_unit, inputs, &self.output)
    }
}
