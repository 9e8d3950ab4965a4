// SPDX-License-Identifier: MIT
//! The way of a sum: bank PUs, bursts of results on the data bus, adder unit, partial sums of the context.
//! All of it is in one format, that of the sums.

use super::bank_pus::{BankPuPorts, BankPus, SumElement};
use super::watch::UnitInput;
use crate::config::Config;
use crate::sizes::{Burst, CHIPS, LANES, PARTIAL_SUMS};
use pimlico_dpa::types::{BusRequest, Mac, ResultAddress, Sum, SumKind, TreeSum};
use pimlico_ports::{Model, U};
use pimlico_units::arith::{Binary16, Binary32, Format, Fp};
use pimlico_units::rank::{AdderUnit, AdderUnitIn, AdderUnitOut};
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
    /// The adder unit took an element of each chip from the data bus.
    pub from_bus: bool,
    /// A sum over the chips, and what it is.
    pub tree: Option<(u16, TreeSum)>,
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

    /// An RD_RESULT: its data come from `from_tck` on. `outputs` are the partial sums from which outputs of a
    /// matrix go on.
    pub fn read_results(&mut self, from_tck: u64, request: BusRequest, outputs: [u16; LANES]) {
        with!(self, path => path.read_results(from_tck, request, outputs));
    }

    /// One tCK of the adder unit.
    pub fn step_adder_unit(&mut self, at_tck: u64) -> Added {
        with!(self, path => path.step_adder_unit(at_tck))
    }

    /// The oldest complete sum of the context with its head, in binary32 and rounded to binary16.
    pub fn context(&self) -> Option<(u32, u16, U<3>)> {
        with!(self, path => path.complete.front().map(|&(sum, head)| {
            let narrow = sum.narrow::<Binary16>().to_bits() as u16;
            (sum.widen::<Binary32>().to_bits(), narrow, head)
        }))
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

/// The way of sums of format `A`.
pub struct SumPath<A: SumElement> {
    bank_pus: BankPus<A>,
    banks_per_group: usize,
    /// Bursts on their way to the adder unit.
    bursts: VecDeque<ResultBurst<A>>,
    adder_unit: AdderUnit<Binary16, A>,
    input: AdderUnitIn<Binary16, A>,
    output: AdderUnitOut<Binary16, A>,
    /// What the sums over the chips in the adder unit are.
    tree_sums: VecDeque<TreeSum>,
    /// What the sums of each chip that come out next are.
    lanes: Option<Sum>,
    /// Sums of the context that have more to come, a place for each chip.
    partial_sums: Box<[[Fp<A>; CHIPS]]>,
    /// Complete ones, with their head.
    complete: VecDeque<(Fp<A>, U<3>)>,
}

/// A burst of results.
struct ResultBurst<A> {
    from_tck: u64,
    elements: [[Fp<A>; CHIPS]; LANES],
    /// Partial sums of the context, which come a tCK before the first element.
    lanes: Option<[Fp<A>; CHIPS]>,
    /// What comes with each element.
    outputs: [Fp<A>; LANES],
    sum: Sum,
}

impl<A: SumElement> SumPath<A> {
    /// Units that have been reset.
    pub fn new(config: &Config) -> Self {
        Self {
            bank_pus: BankPus::new(config),
            banks_per_group: config.organisation.banks_per_group,
            bursts: VecDeque::with_capacity(16),
            adder_unit: AdderUnit::new(),
            input: AdderUnitIn::default(),
            output: AdderUnitOut::default(),
            tree_sums: VecDeque::with_capacity(16),
            lanes: None,
            partial_sums: vec![[Fp::ZERO; CHIPS]; PARTIAL_SUMS].into(),
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

    fn read_results(&mut self, from_tck: u64, request: BusRequest, outputs: [u16; LANES]) {
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
        let goes_on = |kind| sum.kind == kind && sum.goes_on;
        let lanes = (goes_on(SumKind::Context) && sum.first)
            .then(|| self.partial_sums[sum.place.get() as usize]);
        let outputs = match goes_on(SumKind::Outputs) {
            true => outputs.map(|bits| Fp::<Binary16>::from_bits(bits.into()).widen()),
            false => [Fp::ZERO; LANES],
        };
        self.bursts.push_back(ResultBurst { from_tck, elements, lanes, outputs, sum });
    }

    fn step_adder_unit(&mut self, at_tck: u64) -> Added {
        let lanes = self.lanes.take();
        let from_bus = self.present(at_tck);
        self.output = self.adder_unit.step(&self.input);
        if let Some(sum) = lanes {
            let sums = self.output.lanes_o;
            match sum.complete {
                true => self.complete.extend(sums.map(|element| (element, sum.head))),
                false => self.partial_sums[sum.place.get() as usize] = sums,
            }
        }
        let tree = if self.output.tree_valid_o { self.tree_sums.pop_front() } else { None };
        Added { from_bus, tree: tree.map(|sum| (self.output.tree_o.to_bits() as u16, sum)) }
    }

    /// Gives the adder unit its input of this tCK. Returns whether it comes from the data bus.
    fn present(&mut self, at_tck: u64) -> bool {
        self.input = AdderUnitIn::default();
        let Some(burst) = self.bursts.front() else { return false };
        let Some(since) = (at_tck + 1).checked_sub(burst.from_tck) else { return false };
        let input = &mut self.input;
        if since == 0 {
            // What was summed up before comes a tCK ahead of the burst.
            if let Some(x_i) = burst.lanes {
                *input =
                    AdderUnitIn { valid_i: true, accumulate_i: true, first_i: true, x_i, ..*input };
            }
            return false;
        }
        let tck = since as usize - 1;
        let is_over = tck == LANES - 1;
        let sum = &burst.sum;
        if sum.kind == SumKind::Context {
            // An element of 32 bits takes two tCK and is there with the second.
            let tck_of_element = (A::WIDTH / Binary16::WIDTH) as usize;
            let n = tck / tck_of_element;
            input.valid_i = tck % tck_of_element == tck_of_element - 1;
            input.accumulate_i = true;
            input.first_i = n == 0 && sum.first && burst.lanes.is_none();
            input.last_i = sum.last && is_over;
            input.x_i = burst.elements[n];
            self.lanes = input.last_i.then_some(*sum);
        } else {
            let is_output = sum.kind == SumKind::Outputs;
            input.valid_i = true;
            input.first_i = !(is_output && sum.goes_on);
            input.last_i = true;
            input.partial_i = burst.outputs[tck];
            input.x_i = burst.elements[tck];
            self.tree_sums.push_back(element(sum, tck));
        }
        if is_over {
            self.bursts.pop_front();
        }
        true
    }

    fn is_idle(&self) -> bool {
        self.bursts.is_empty()
            && self.tree_sums.is_empty()
            && self.lanes.is_none()
            && self.complete.is_empty()
    }
}

/// What element `n` of a burst of scores or outputs is.
fn element(sum: &Sum, n: usize) -> TreeSum {
    let is_output = sum.kind == SumKind::Outputs;
    TreeSum {
        is_output,
        head: sum.head,
        first: sum.first,
        masked: U::new((!is_output && n as u64 >= sum.tokens.get()).into()),
        keep: sum.keep,
        complete: sum.complete,
        place: U::new(sum.place.get() + n as u64),
    }
}
