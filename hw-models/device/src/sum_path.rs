// SPDX-License-Identifier: MIT
//! The way of a sum: bank PUs, bursts of results on the data bus, adder unit. All of it is in one
//! format, that of the sums.

use crate::back_end::BackEnd;
use crate::bank_pus::{BankPuPorts, BankPus};
use crate::command::Results;
use crate::config::Config;
use crate::requests::{AllBankRead, Lanes, Outputs, Sum, TreeSum};
use crate::sizes::{Burst, CHIPS, LANES};
use crate::wave::RankWave;
use pimlico_ports::{Instances, Mismatch};
use pimlico_units::arith::{Binary16, Binary32, Format, Fp};
use pimlico_units::bank::BankPu;
use pimlico_units::rank::{AdderUnit, AdderUnitIn, AdderUnitOut};
use std::any::Any;
use std::collections::VecDeque;
use std::io;

/// What executes the units of the way.
pub enum SumUnits {
    /// Sums of binary16.
    Binary16(UnitsOf<Binary16>),
    /// Sums of binary32.
    Binary32(UnitsOf<Binary32>),
}

/// The units with sums of format `A`.
pub struct UnitsOf<A: Format> {
    /// The bank PUs: that of chip `c` at logic bank `b` is number `8 b + c`.
    pub bank_pus: Box<dyn Instances<BankPu<Binary16, A>>>,
    /// The adder unit.
    pub adder_unit: Box<dyn Instances<AdderUnit<Binary16, A>>>,
}

impl<A: Format> UnitsOf<A> {
    /// Made by a back end.
    pub(crate) fn new<B: BackEnd>(config: &Config, back_end: &mut B) -> Result<Self, B::Error> {
        let slot_ps = config.timing.ccd_l_tck * config.tck_ps;
        Ok(Self {
            bank_pus: back_end.instances::<BankPu<Binary16, A>>(CHIPS * config.banks(), slot_ps)?,
            adder_unit: back_end.instances::<AdderUnit<Binary16, A>>(1, config.tck_ps)?,
        })
    }
}

impl SumUnits {
    /// The way made of them.
    pub(crate) fn into_path(self, config: &Config) -> Box<dyn SumPath> {
        match self {
            Self::Binary16(units) => Box::new(PathOf::new(config, units)),
            Self::Binary32(units) => Box::new(PathOf::new(config, units)),
        }
    }
}

/// What comes out of the adder unit in a tCK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// The adder unit took an input from the data bus.
    pub from_bus: bool,
    /// A sum over the chips, and whose it is.
    pub tree: Option<(u16, TreeSum)>,
    /// A sum of each chip, and what it is.
    pub lanes: Option<([u32; CHIPS], Lanes)>,
}

/// What a burst of results is added to.
#[derive(Clone, Copy, Debug)]
pub enum Partial {
    /// Nothing.
    None,
    /// The sums of each chip so far.
    Lanes([u32; CHIPS]),
    /// The sums over the chips so far, of each of its elements.
    Outputs([u16; LANES]),
}

/// The way, whatever the format of its sums.
pub trait SumPath {
    /// Writes a word of the shared buffers.
    fn write_shared(&mut self, word: usize, burst: Burst);

    /// One tCK of the bank PUs; see [`BankPus::step`].
    fn step_bank_pus(
        &mut self,
        at_tck: u64,
        read: Option<(&AllBankRead, &[Burst])>,
    ) -> Result<bool, Box<Mismatch>>;

    /// An RD_RESULT: its data come from `from_tck` on.
    fn read_results(&mut self, from_tck: u64, results: Results, sum: Sum, partial: Partial);

    /// One tCK of the adder unit.
    fn step_adder_unit(&mut self, at_tck: u64) -> Result<Sums, Box<Mismatch>>;

    /// A sum in binary32, exactly.
    fn binary32(&self, sum: u32) -> u32;

    /// A sum in binary16, rounded if need be.
    fn binary16(&self, sum: u32) -> u16;

    /// Whether no results are on their way.
    fn is_idle(&self) -> bool;

    /// Has what it records, and its ports, show the bank PUs.
    fn show_ports(&mut self);

    /// Records the tCK that has begun.
    fn record(&self, wave: &mut RankWave) -> io::Result<()>;

    /// The ports of its units in this tCK, with sums of binary16.
    fn ports(&self) -> Option<SumPorts<'_>>;
}

/// The ports of the units of the way in a tCK, with sums of binary16.
#[derive(Clone, Copy)]
pub struct SumPorts<'a> {
    /// Of the bank PUs in the current slot; that of chip `c` at logic bank `b` is number `8 b + c`.
    pub bank_pus: BankPuPorts<'a, Binary16>,
    /// Of the adder unit.
    pub adder_unit: (&'a AdderUnitIn<Binary16>, &'a AdderUnitOut<Binary16>),
}

struct PathOf<A: Format> {
    bank_pus: BankPus<A>,
    banks_per_group: usize,
    /// Bursts on their way to the adder unit.
    bursts: VecDeque<ResultBurst<A>>,
    adder_unit: Box<dyn Instances<AdderUnit<Binary16, A>>>,
    input: AdderUnitIn<Binary16, A>,
    output: AdderUnitOut<Binary16, A>,
    /// Whose the sums in the adder unit are.
    tree_sums: VecDeque<TreeSum>,
    lanes: Option<Lanes>,
}

/// A burst of results.
struct ResultBurst<A> {
    from_tck: u64,
    elements: [[Fp<A>; CHIPS]; LANES],
    /// What comes a tCK before the first element.
    lanes: Option<[Fp<A>; CHIPS]>,
    /// What comes with each element.
    outputs: [Fp<A>; LANES],
    sum: Sum,
}

impl<A: Format> PathOf<A> {
    fn new(config: &Config, units: UnitsOf<A>) -> Self {
        Self {
            bank_pus: BankPus::new(config, units.bank_pus),
            banks_per_group: config.organisation.banks_per_group,
            bursts: VecDeque::with_capacity(16),
            adder_unit: units.adder_unit,
            input: AdderUnitIn::default(),
            output: AdderUnitOut::default(),
            tree_sums: VecDeque::with_capacity(16),
            lanes: None,
        }
    }

    /// The adder unit's input in this tCK, and whether it comes from the data bus.
    fn adder_unit_input(&mut self, at_tck: u64) -> (AdderUnitIn<Binary16, A>, bool) {
        self.lanes = None;
        let idle = (AdderUnitIn::default(), false);
        let Some(burst) = self.bursts.front() else { return idle };
        let Some(since) = (at_tck + 1).checked_sub(burst.from_tck) else { return idle };
        if since == 0 {
            // What was summed up before comes a tCK ahead of the burst.
            let Some(x_i) = burst.lanes else { return idle };
            let input =
                AdderUnitIn { valid_i: true, accumulate_i: true, first_i: true, x_i, ..idle.0 };
            return (input, false);
        }
        let tck = since as usize - 1;
        let over = tck == LANES - 1;
        let input = match burst.sum {
            Sum::Tree(scores) => {
                self.tree_sums.push_back(TreeSum::Score(scores.nth(tck)));
                let x_i = burst.elements[tck];
                AdderUnitIn { valid_i: true, first_i: true, last_i: true, x_i, ..idle.0 }
            }
            Sum::Outputs(Outputs { place, goes_on, complete }) => {
                self.tree_sums.push_back(TreeSum::Output { place: place + tck, complete });
                AdderUnitIn {
                    valid_i: true,
                    first_i: !goes_on,
                    last_i: true,
                    partial_i: burst.outputs[tck],
                    x_i: burst.elements[tck],
                    ..idle.0
                }
            }
            Sum::Lanes(lanes) => {
                // An element of 32 bits takes two tCK and is there with the second.
                let tck_of_element = (A::WIDTH / Binary16::WIDTH) as usize;
                let valid_i = tck % tck_of_element == tck_of_element - 1;
                let n = tck / tck_of_element;
                let last_i = lanes.last && over;
                self.lanes = Some(lanes).filter(|_| last_i);
                AdderUnitIn {
                    valid_i,
                    accumulate_i: true,
                    first_i: n == 0 && lanes.first && burst.lanes.is_none(),
                    last_i,
                    x_i: burst.elements[n],
                    ..idle.0
                }
            }
        };
        if over {
            self.bursts.pop_front();
        }
        (input, true)
    }
}

impl<A: Format> SumPath for PathOf<A> {
    fn write_shared(&mut self, word: usize, burst: Burst) {
        self.bank_pus.write_shared(word, burst);
    }

    fn step_bank_pus(
        &mut self,
        at_tck: u64,
        read: Option<(&AllBankRead, &[Burst])>,
    ) -> Result<bool, Box<Mismatch>> {
        self.bank_pus.step(at_tck, read)
    }

    fn read_results(&mut self, from_tck: u64, results: Results, sum: Sum, partial: Partial) {
        let per_group = self.banks_per_group;
        let elements = std::array::from_fn(|n| match results {
            Results::Scores { group } => self.bank_pus.score(group * per_group + n),
            // Of sums of 32 bits a burst has two: what stands behind them is not used.
            Results::Context { bank, lane, from_group } => {
                self.bank_pus.sum((from_group + n) % LANES * per_group + bank, lane)
            }
        });
        let lanes = match partial {
            Partial::Lanes(lanes) => Some(lanes.map(Fp::from_bits)),
            _ => None,
        };
        let outputs = match partial {
            Partial::Outputs(outputs) => {
                outputs.map(|bits| Fp::<Binary16>::from_bits(bits.into()).widen())
            }
            _ => [Fp::ZERO; LANES],
        };
        self.bursts.push_back(ResultBurst { from_tck, elements, lanes, outputs, sum });
    }

    fn step_adder_unit(&mut self, at_tck: u64) -> Result<Sums, Box<Mismatch>> {
        let lanes = self.lanes;
        let (input, from_bus) = self.adder_unit_input(at_tck);
        self.input = input;
        let Self { adder_unit, input, output, .. } = self;
        adder_unit.step(std::slice::from_ref(input), std::slice::from_mut(output))?;
        let tree_valid = self.output.tree_valid_o;
        let score = if tree_valid { self.tree_sums.pop_front() } else { None };
        Ok(Sums {
            from_bus,
            tree: score.map(|score| (self.output.tree_o.to_bits() as u16, score)),
            lanes: lanes.map(|lanes| (self.output.lanes_o.map(Fp::to_bits), lanes)),
        })
    }

    fn binary32(&self, sum: u32) -> u32 {
        Fp::<A>::from_bits(sum).widen::<Binary32>().to_bits()
    }

    fn binary16(&self, sum: u32) -> u16 {
        Fp::<A>::from_bits(sum).narrow::<Binary16>().to_bits() as u16
    }

    fn is_idle(&self) -> bool {
        self.bursts.is_empty() && self.tree_sums.is_empty() && self.lanes.is_none()
    }

    fn show_ports(&mut self) {
        self.bank_pus.show_ports();
    }

    fn record(&self, wave: &mut RankWave) -> io::Result<()> {
        wave.record_sums(self.bank_pus.ports(), (&self.input, &self.output))
    }

    fn ports(&self) -> Option<SumPorts<'_>> {
        let path: &dyn Any = self;
        let PathOf { bank_pus, input, output, .. } = path.downcast_ref::<PathOf<Binary16>>()?;
        Some(SumPorts { bank_pus: bank_pus.ports(), adder_unit: (input, output) })
    }
}
