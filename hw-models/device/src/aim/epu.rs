// SPDX-License-Identifier: MIT
//! The HUB's extra processing unit (EPU) with its registers (GPR): element-wise addition of partial
//! sums, and softmax, with a clock in two tCCD: 500 MHz.
//!
//! ```text
//!   results, a burst of each channel ──▶ adder units ──▶ GPR ◀──▶ softmax unit
//!                                            ▲            │
//!                                            └────────────┤
//!   operands to the global buffers ◀──────────────────────┘
//! ```
//!
//! An adder unit for each channel adds eight elements, half a burst, in each clock. What there was comes a clock
//! ahead of what is new, and the sums come out two clocks behind that. LoL-PIM gives no width; with this one,
//! partial sums of four columns or more keep up with the PUs. The softmax unit has two lanes by
//! default, so that it takes a score in each tCCD.

use super::layout::{self, GPR};
use super::softmax::{Given, Scores, Softmax, SoftmaxUnits, Weigh, Weighed};
use super::units::{Adder, Word};
use pimlico_ports::{Instances, Mismatch, Models};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::gear::Gear1;
use pimlico_units::lap::Walk;
use pimlico_units::rank::{AdderUnitIn, AdderUnitOut};
use std::any::Any;
use std::collections::VecDeque;

/// Lanes of an adder unit.
const LANES: usize = 8;

/// What becomes of a burst of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Place in the GPR of the first channel's first result.
    pub place: usize,
    /// It is added to what is there.
    pub goes_on: bool,
}

/// What the softmax unit is asked for in a clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoftmaxRequest {
    /// Scores at their places in the GPR.
    pub scores: Option<Scores>,
    /// A head's scores are complete.
    pub finish: Option<usize>,
    /// Scaled scores in the GPR become weights.
    pub weigh: Option<Weigh>,
}

/// Half a burst of results, eight of each channel: where those of the first are added, and all.
struct Half {
    place: usize,
    results: Box<[[u16; LANES]]>,
}

/// The extra processing unit.
pub struct Epu {
    adder_units: Box<dyn Instances<Adder>>,
    inputs: Box<[AdderUnitIn<Binary16, Binary16, Gear1>]>,
    outputs: Box<[AdderUnitOut<Binary16, Binary16, Gear1>]>,
    /// What is still to be added.
    to_add: VecDeque<Half>,
    /// What is added in the next clock: what there was has been given.
    begun: Option<Half>,
    /// Where the sums go that come out in the next clock, and in the one after it.
    places: [Option<usize>; 2],
    /// The softmax unit, whose buffer is the GPR.
    softmax: Softmax,
    /// No data are of account, nor where in the GPR they would be.
    keeps_nothing: bool,
}

impl Epu {
    /// Units that have been reset.
    pub fn new(
        adder_units: Box<dyn Instances<Adder>>,
        softmax_unit: SoftmaxUnits,
        channels: usize,
    ) -> Self {
        Self {
            adder_units,
            inputs: vec![AdderUnitIn::default(); channels].into(),
            outputs: vec![AdderUnitOut::default(); channels].into(),
            to_add: VecDeque::with_capacity(16),
            begun: None,
            places: [None; 2],
            softmax: Softmax::new(softmax_unit, GPR),
            keeps_nothing: false,
        }
    }

    /// Elements of the GPR from a place on.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn gpr(&self, place: usize, count: usize) -> &[u16] {
        self.softmax.kept(place, count)
    }

    /// Sets the factor of the scores, a binary16 number.
    pub fn set_scale(&mut self, scale: u16) {
        self.softmax.set_scale(scale);
    }

    /// From the reset on no data are of account: all sums go to the same place.
    pub fn leave_data_out(&mut self) {
        self.keeps_nothing = true;
    }

    /// A burst of results has come.
    pub fn take(&mut self, sum: Sum, burst: &[Word]) {
        let sum = if self.keeps_nothing { Sum { place: 0, ..sum } } else { sum };
        if sum.goes_on {
            for first in [0, LANES] {
                let half = |word: &Word| {
                    let results = layout::elements(*word);
                    std::array::from_fn(|lane| results[first + lane])
                };
                let results = burst.iter().map(half).collect();
                self.to_add.push_back(Half { place: sum.place + first, results });
            }
            return;
        }
        let results = burst.iter().flat_map(|word| layout::elements(*word));
        for (place, bits) in (sum.place..).zip(results) {
            self.softmax.keep(place, bits);
        }
    }

    /// One clock of the adder units. Returns whether they added.
    pub fn add(&mut self) -> Result<bool, Box<Mismatch>> {
        if self.is_idle() {
            return Ok(false);
        }
        let place_of_new = self.present();
        self.adder_units.step(&self.inputs, &mut self.outputs)?;
        if let [Some(place), _] = self.places {
            for (channel, output) in self.outputs.iter().enumerate() {
                for (lane, sum) in output.lanes_o.iter().enumerate() {
                    let place = place + channel * 2 * LANES + lane;
                    self.softmax.keep(place, sum.to_bits() as u16);
                }
            }
        }
        self.places = [self.places[1], place_of_new];
        Ok(place_of_new.is_some())
    }

    /// Gives the adder units their inputs. Returns the place of what is complete with them.
    fn present(&mut self) -> Option<usize> {
        let adds = std::mem::replace(&mut self.begun, self.to_add.pop_front());
        for (channel, input) in self.inputs.iter_mut().enumerate() {
            *input = AdderUnitIn::default();
            if let Some(Half { results, .. }) = &adds {
                input.accumulate_i = [true];
                input.x_i = [results[channel].map(|bits| Fp::from_bits(bits.into()))];
            }
            if let Some(Half { place, .. }) = &self.begun {
                let kept = self.softmax.kept(place + channel * 2 * LANES, LANES);
                (input.begin_i, input.goes_on_i) = (true, true);
                input.start_i = std::array::from_fn(|lane| Fp::from_bits(kept[lane].into()));
            }
        }
        adds.map(|half| half.place)
    }

    /// One clock of the softmax unit. Weights are for the caller to put back.
    pub fn softmax(&mut self, request: &SoftmaxRequest) -> Result<Weighed, Box<Mismatch>> {
        let SoftmaxRequest { scores, finish, weigh } = *request;
        self.softmax.step(&Given { scores, finish, weigh })
    }

    /// Puts an element into the GPR.
    pub fn keep(&mut self, place: usize, bits: u16) {
        self.softmax.keep(place, bits);
    }

    /// Steps the softmax unit in every clock from here on.
    pub fn step_always(&mut self) {
        self.softmax.step_always();
    }

    /// Whether nothing moves, and nothing would if clocks went by.
    pub fn rests(&self) -> bool {
        self.is_idle() && self.softmax.rests()
    }

    /// Goes over what of it is no number, for [laps](pimlico_units::lap), where it [keeps nothing](Self::leave_data_out) or is idle.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.refuse_if(!self.keeps_nothing && !self.is_idle());
        let Self {
            adder_units,
            // Read in their own clock alone.
            inputs: _,
            outputs: _,
            to_add,
            begun,
            places,
            softmax,
            keeps_nothing: _,
        } = self;
        let adder_units: &dyn Any = &**adder_units;
        let adder_unit = adder_units.downcast_ref::<Models<Adder>>().and_then(Models::first);
        walk.refuse_if(adder_unit.is_none());
        adder_unit.into_iter().for_each(|unit| unit.walk(walk));
        walk.size(to_add.len());
        for half in to_add.iter().chain(&*begun) {
            walk.size(half.place);
        }
        walk.still(begun.is_some());
        for place in places {
            walk.size(place.map_or(0, |place| place + 1));
        }
        softmax.walk(walk);
    }

    /// Whether nothing is left to add.
    pub fn is_idle(&self) -> bool {
        self.to_add.is_empty() && self.begun.is_none() && self.places == [None; 2]
    }
}
