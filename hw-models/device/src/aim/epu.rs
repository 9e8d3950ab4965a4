// SPDX-License-Identifier: MIT
//! The HUB's extra processing unit (EPU) with its registers (GPR): element-wise addition of partial
//! sums, and softmax, at 1 GHz.
//!
//! ```text
//!   results, a burst of each channel ──▶ adder units ──▶ GPR ◀──▶ softmax unit
//!                                            ▲            │
//!                                            └────────────┤
//!   operands to the global buffers ◀──────────────────────┘
//! ```
//!
//! An adder unit for each channel adds eight elements at a time: what there was comes a clock ahead of what is
//! new, so that a burst of 16 elements takes four clocks, and the sums come out two clocks later. LoL-PIM gives no
//! width; with this one, partial sums of four columns or more keep up with the PUs.

use super::layout::{self, GPR};
use super::softmax::{self, Given, Score, Softmax, Weigh, Weighed};
use super::units::Word;
use pimlico_ports::{Instances, Mismatch};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::gear::Gear1;
use pimlico_units::rank::{AdderUnit, AdderUnitIn, AdderUnitOut};
use std::collections::VecDeque;

/// Lanes of an adder unit.
const LANES: usize = 8;

/// Clocks in which a burst is added.
const CLOCKS: usize = 4;

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
    /// The score at its place in the GPR.
    pub score: Option<(usize, Score)>,
    /// A head's scores are complete.
    pub finish: Option<usize>,
    /// A scaled score in the GPR becomes a weight.
    pub weigh: Option<Weigh>,
}

/// The extra processing unit.
pub struct Epu {
    adder_units: Box<dyn Instances<AdderUnit<Binary16, Binary16, Gear1>>>,
    inputs: Box<[AdderUnitIn<Binary16, Binary16, Gear1>]>,
    outputs: Box<[AdderUnitOut<Binary16, Binary16, Gear1>]>,
    /// Bursts that are still to be added, and their places.
    to_add: VecDeque<(usize, Box<[Word]>)>,
    /// Clocks that the first of them has had.
    clock: usize,
    /// Where the sums go that come out in the next clock, and in the one after it.
    places: [Option<usize>; 2],
    /// The softmax unit, whose buffer is the GPR.
    softmax: Softmax,
}

impl Epu {
    /// Units that have been reset.
    pub fn new(
        adder_units: Box<dyn Instances<AdderUnit<Binary16, Binary16, Gear1>>>,
        softmax_unit: Box<dyn Instances<softmax::Unit>>,
        channels: usize,
    ) -> Self {
        Self {
            adder_units,
            inputs: vec![AdderUnitIn::default(); channels].into(),
            outputs: vec![AdderUnitOut::default(); channels].into(),
            to_add: VecDeque::with_capacity(8),
            clock: 0,
            places: [None; 2],
            softmax: Softmax::new(softmax_unit, GPR),
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

    /// A burst of results has come.
    pub fn take(&mut self, sum: Sum, burst: Box<[Word]>) {
        if sum.goes_on {
            self.to_add.push_back((sum.place, burst));
            return;
        }
        let results = burst.iter().flat_map(|word| layout::elements(*word));
        for (place, bits) in (sum.place..).zip(results) {
            self.softmax.keep(place, bits);
        }
    }

    /// One clock of the adder units. Returns whether they took an input.
    pub fn add(&mut self) -> Result<bool, Box<Mismatch>> {
        if self.is_idle() {
            return Ok(false);
        }
        let busy = !self.to_add.is_empty();
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
        Ok(busy)
    }

    /// Gives the adder units their inputs. Returns the place of what is complete with them.
    fn present(&mut self) -> Option<usize> {
        let Some((place, burst)) = self.to_add.front() else {
            self.inputs.fill(AdderUnitIn::default());
            return None;
        };
        let (half, new) = (self.clock / 2 * LANES, self.clock % 2 == 1);
        for (channel, (input, word)) in self.inputs.iter_mut().zip(burst).enumerate() {
            let results = layout::elements(*word);
            let kept = self.softmax.kept(place + channel * 2 * LANES, 2 * LANES);
            let eight = |elements: &[u16]| {
                std::array::from_fn(|lane| Fp::from_bits(elements[half + lane].into()))
            };
            *input = AdderUnitIn {
                accumulate_i: [new],
                x_i: [eight(&results)],
                begin_i: !new,
                goes_on_i: true,
                start_i: eight(kept),
                ..Default::default()
            };
        }
        let complete = new.then_some(place + half);
        self.clock = (self.clock + 1) % CLOCKS;
        if self.clock == 0 {
            self.to_add.pop_front();
        }
        complete
    }

    /// One clock of the softmax unit. Weights are for the caller to put back.
    pub fn softmax(&mut self, request: &SoftmaxRequest) -> Result<Weighed, Box<Mismatch>> {
        let score = request.score.map(|(place, score)| (self.softmax.kept(place, 1)[0], score));
        let SoftmaxRequest { finish, weigh, .. } = *request;
        self.softmax.step(&Given { score, finish, weigh })
    }

    /// Puts an element into the GPR.
    pub fn keep(&mut self, place: usize, bits: u16) {
        self.softmax.keep(place, bits);
    }

    /// Whether nothing is left to add.
    pub fn is_idle(&self) -> bool {
        self.to_add.is_empty() && self.places == [None; 2]
    }
}
