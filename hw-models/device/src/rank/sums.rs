// SPDX-License-Identifier: MIT
//! The way of a sum: bank PUs, bursts of results on the data bus, adder unit, partial sums of the context.
//! All of it is in one format, that of the sums.

use super::bank_pus::{BankPuPorts, BankPus, SumElement};
use super::watch::UnitInput;
use crate::config::Config;
use crate::sizes::{Burst, CHIPS, LANES, PARTIAL_SUMS};
use pimlico_dpa::types::{Beat, BusRequest, Mac, Place, ResultAddress, Sum, SumKind, TreeSum};
use pimlico_ports::{Model, U};
use pimlico_units::arith::{Binary16, Binary32, Fp};
use pimlico_units::rank::{AdderUnit, AdderUnitIn, AdderUnitOut, ResultPath, ResultPathIn};
use std::collections::VecDeque;

/// The way, of either format.
pub enum Sums {
    /// Sums of binary16.
    Binary16(SumPath<Binary16>),
    /// Sums of binary32.
    Binary32(SumPath<Binary32>),
}

/// The same on a way of either format.
macro_rules! with {
    ($sums:expr, $path:ident => $do:expr) => {
        match $sums {
            Self::Binary16($path) => $do,
            Self::Binary32($path) => $do,
        }
    };
}

/// What comes out of the adder unit in a tCK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Added {
    /// A sum over the chips, and what it is.
    pub tree: Option<(u16, TreeSum)>,
    /// Place of partial sums of outputs that are to be read.
    pub reads: Option<Place>,
}

impl Sums {
    /// Writes a word of the shared buffers.
    pub fn write_shared(&mut self, word: usize, burst: Burst) {
        with!(self, path => path.bank_pus.write_shared(word, burst));
    }

    /// One tCK of the bank PUs; see [`BankPus::step`].
    pub fn step_bank_pus(&mut self, at_tck: u64, read: Option<(Mac, &[Burst])>) -> (bool, bool) {
        with!(self, path => path.bank_pus.step(at_tck, read))
    }

    /// An RD_RESULT of this tCK: its data come from `from_tck` on.
    pub fn read_results(&mut self, from_tck: u64, request: BusRequest) {
        with!(self, path => path.read_results(from_tck, request));
    }

    /// The partial sums of outputs that were to be read.
    pub fn give_outputs(&mut self, outputs: [u16; LANES]) {
        with!(self, path => path.outputs = outputs.map(|bits| Fp::from_bits(bits.into())));
    }

    /// One tCK of the adder unit.
    pub fn step_adder_unit(&mut self, at_tck: u64) -> Added {
        with!(self, path => path.step_adder_unit(at_tck))
    }

    /// The oldest complete sum of the context with its head, in binary32 and rounded to binary16, if it has come
    /// through the queue by this tCK.
    pub fn context(&self, at_tck: u64) -> Option<(u32, u16, U<3>)> {
        let oldest = with!(self, path => path.complete.front().filter(|sum| sum.from_tck <= at_tck).map(|sum| {
            let Complete { sum, head, .. } = *sum;
            let narrow = sum.narrow::<Binary16>().to_bits() as u16;
            (sum.widen::<Binary32>().to_bits(), narrow, head)
        }));
        oldest
    }

    /// That sum is taken.
    pub fn take_context(&mut self) {
        with!(self, path => {
            path.complete.pop_front();
        });
    }

    /// Whether no results are on their way.
    pub fn is_idle(&self) -> bool {
        with!(self, path => path.is_idle())
    }

    /// The inputs of the first of the watched bank PUs.
    pub fn bank_pu_input(&self) -> Option<UnitInput<'_>> {
        match self {
            Self::Binary16(path) => path.bank_pus().map(|(ports, _)| UnitInput::BankPu(&ports[0])),
            Self::Binary32(path) => {
                path.bank_pus().map(|(ports, _)| UnitInput::WideBankPu(&ports[0]))
            }
        }
    }

    /// The inputs of the adder unit.
    pub fn adder_unit_input(&self) -> UnitInput<'_> {
        match self {
            Self::Binary16(path) => UnitInput::AdderUnit(&path.input),
            Self::Binary32(path) => UnitInput::WideAdderUnit(&path.input),
        }
    }

    /// Has the PUs of a bank watched: see [`BankPus::watch`].
    pub fn watch(&mut self, bank: usize) {
        with!(self, path => path.bank_pus.watch(bank));
    }
}

/// tCK in which a sum of the context passes its queue.
const QUEUE_TCK: u64 = 3;

/// The way of sums of format `A`.
pub struct SumPath<A: SumElement> {
    bank_pus: BankPus<A>,
    banks_per_group: usize,
    /// Bursts that are on the data bus, or will be.
    bursts: VecDeque<ResultBurst<A>>,
    result_path: ResultPath<A>,
    /// The RD_RESULT of this tCK.
    read: Option<Sum>,
    /// CL.
    cl_tck: u8,
    adder_unit: AdderUnit<Binary16, A>,
    input: AdderUnitIn<Binary16, A>,
    output: AdderUnitOut<Binary16, A>,
    /// Partial sums of outputs, as they were read last.
    outputs: [Fp<Binary16>; LANES],
    /// Sums of the context that have more to come, a place for each chip.
    partial_sums: Box<[[Fp<A>; CHIPS]]>,
    /// Those that were read last.
    kept_sums: [Fp<A>; CHIPS],
    /// Complete ones.
    complete: VecDeque<Complete<A>>,
}

/// A complete sum of the context.
struct Complete<A> {
    sum: Fp<A>,
    head: U<3>,
    /// It is through the queue.
    from_tck: u64,
}

/// A burst of results.
struct ResultBurst<A> {
    from_tck: u64,
    elements: [[Fp<A>; CHIPS]; LANES],
    context: bool,
}

impl<A: SumElement> SumPath<A> {
    /// Units that have been reset.
    pub fn new(config: &Config) -> Self {
        Self {
            bank_pus: BankPus::new(config),
            banks_per_group: config.organisation.banks_per_group,
            bursts: VecDeque::with_capacity(16),
            result_path: ResultPath::new(),
            read: None,
            cl_tck: config.timing.cl_tck as u8,
            adder_unit: AdderUnit::new(),
            input: AdderUnitIn::default(),
            output: AdderUnitOut::default(),
            outputs: [Fp::ZERO; LANES],
            partial_sums: vec![[Fp::ZERO; CHIPS]; PARTIAL_SUMS].into(),
            kept_sums: [Fp::ZERO; CHIPS],
            complete: VecDeque::with_capacity(64),
        }
    }

    /// The ports of the watched bank PUs.
    pub fn bank_pus(&self) -> Option<&BankPuPorts<A>> {
        self.bank_pus.ports()
    }

    /// The ports of the adder unit in this tCK.
    pub fn adder_unit(&self) -> (&AdderUnitIn<Binary16, A>, &AdderUnitOut<Binary16, A>) {
        (&self.input, &self.output)
    }

    fn read_results(&mut self, from_tck: u64, request: BusRequest) {
        let BusRequest { address, sum, .. } = request;
        let ResultAddress { context_sums, upper, bank, lane, .. } = ResultAddress::of_bits(address);
        let (bank, lane) = (bank.get() as usize, lane.get() as usize);
        let of_group = self.banks_per_group;
        let elements = std::array::from_fn(|n| {
            if context_sums {
                // Of sums of 32 bits a burst has two: what stands behind them is not used.
                let group = (n + if upper { 2 } else { 0 }) % LANES;
                self.bank_pus.sum(group * of_group + bank, lane)
            } else {
                self.bank_pus.score(lane * of_group + n)
            }
        });
        let context = sum.kind == SumKind::Context;
        self.read = Some(sum);
        self.bursts.push_back(ResultBurst { from_tck, elements, context });
    }

    fn step_adder_unit(&mut self, at_tck: u64) -> Added {
        let read = self.read.take();
        if read.is_none() && self.bursts.is_empty() && self.result_path.is_idle() {
            self.input = AdderUnitIn::default();
            self.output = self.adder_unit.step(&self.input);
            return Added::default();
        }
        let beats = self.beats(at_tck);
        let mut way = ResultPathIn {
            cl_i: self.cl_tck,
            read_result_i: read.is_some(),
            sum_i: read.unwrap_or_default(),
            partial_outputs_i: self.outputs,
            ..Default::default()
        };
        let [first, second] = beats.unwrap_or([Beat::MAX; 2]);
        self.result_path.step(&ResultPathIn { dq_i: first, ..way });
        (way.clk_core_i, way.dq_i) = (true, second);
        let way = self.result_path.step(&way);
        self.input = AdderUnitIn {
            valid_i: way.valid_o,
            accumulate_i: way.accumulate_o,
            x_i: way.x_o,
            partial_i: way.partial_o,
            begin_i: way.begin_o,
            goes_on_i: way.goes_on_o,
            start_i: self.kept_sums,
            ..Default::default()
        };
        self.output = self.adder_unit.step(&self.input);
        if way.sums_read_o {
            self.kept_sums = self.partial_sums[usize::from(way.sums_place_o)];
        }
        let (owner, sums) = (way.lanes_o, self.output.lanes_o);
        if way.lanes_valid_o && owner.complete {
            let from_tck = at_tck + QUEUE_TCK;
            let complete = sums.map(|sum| Complete { sum, head: owner.head, from_tck });
            self.complete.extend(complete);
        } else if way.lanes_valid_o {
            self.partial_sums[usize::from(owner.place)] = sums;
        }
        let [tree] = self.output.tree_o;
        Added {
            tree: self.output.tree_valid_o.then(|| (tree.to_bits() as u16, way.tree_o)),
            reads: way.partial_read_o.then_some(way.partial_place_o),
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

    fn is_idle(&self) -> bool {
        self.read.is_none()
            && self.bursts.is_empty()
            && self.result_path.is_idle()
            && self.complete.is_empty()
    }
}
