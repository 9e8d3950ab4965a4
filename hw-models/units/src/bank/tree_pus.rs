// SPDX-License-Identifier: MIT
//! Many AiM PUs side by side, computed on vectors.
//!
//! All PUs of a module are told the same in every clock and differ in their data alone: then `arith::fast`
//! computes eight or sixteen numbers at a time. The first clock in which they are not told the same ends
//! that: from then on, until a reset, each is a model by itself.

use super::tree_pu::{Beats, LATENCY, PARTIALS, TreePu, TreePuIn, TreePuOut};
use super::{Lanes, Sixteen};
use crate::arith::fast::{self, Fast, Level};
use crate::arith::{Format, Fp};
use crate::lap::Walk;
use pimlico_ports::{Instances, Mismatch, Model};

/// Multipliers of a PU.
const LANES: usize = Sixteen::COUNT;

/// Instances of an AiM's PU.
#[derive(Clone)]
pub struct TreePus<F: Fast> {
    count: usize,
    level: Level,
    latency: usize,
    state: State<F>,
}

#[derive(Clone)]
enum State<F: Format> {
    Alike(Box<Alike>),
    Different(Vec<TreePu<F>>),
}

/// A beat that all PUs get, each with elements of its own.
#[derive(Clone, Copy, Debug)]
pub struct TreeBeat<'a> {
    /// Begins a sum.
    pub first: bool,
    /// Ends a sum.
    pub last: bool,
    /// Elements from the row buffers, unit by unit: four in a word, the first in the low bits.
    pub rows: &'a [u64],
    /// What each of them is multiplied with.
    pub factors: &'a [u64],
}

/// PUs that have been told the same since the reset: see the fields of [`TreePu`].
#[derive(Clone)]
struct Alike {
    /// Of each number of partial sums those of all units.
    partial: [Box<[u16]>; PARTIALS],
    beats: Beats,
    /// Whether results are due, and which.
    is_due: [bool; LATENCY],
    due: Box<[Box<[u16]>]>,
    cycle: usize,
    /// Cycles from a beat to its result.
    latency: usize,
    /// The results that the outputs show, if there are any.
    shown: Box<[u16]>,
    is_shown: bool,
    /// Products and what is added up of them.
    scratch: [Box<[u16]>; 2],
    zeros: Box<[u16]>,
}

impl Alike {
    fn new(count: usize, latency: usize) -> Self {
        let zeros = |each: usize| vec![0; each * count].into_boxed_slice();
        Self {
            partial: std::array::from_fn(|_| zeros(1)),
            beats: Beats::default(),
            is_due: [false; LATENCY],
            due: (0..LATENCY).map(|_| zeros(1)).collect(),
            cycle: 0,
            latency,
            shown: zeros(1),
            is_shown: false,
            scratch: [zeros(LANES), zeros(LANES)],
            zeros: zeros(1),
        }
    }

    /// The outputs show what is due. Returns whether that is new.
    fn show(&mut self) -> bool {
        let new = std::mem::take(&mut self.is_due[self.cycle]);
        if new {
            self.shown.copy_from_slice(&self.due[self.cycle]);
            self.is_shown = true;
        }
        new
    }

    /// A beat, whose products are in the first of `scratch`.
    fn add<F: Fast>(&mut self, level: Level, first: bool, last: bool) {
        let [sums, other] = &mut self.scratch;
        let count = self.shown.len();
        let mut numbers = sums.len();
        while numbers > count {
            fast::add_neighbours::<F>(level, &sums[..numbers], &mut other[..numbers / 2]);
            std::mem::swap(sums, other);
            numbers /= 2;
        }
        let (index, begins) = self.beats.next(first);
        let before = if begins { &self.zeros } else { &self.partial[index] };
        fast::add::<F>(level, &sums[..count], before, &mut other[..count]);
        self.partial[index].copy_from_slice(&other[..count]);
        if last {
            self.finish::<F>(level);
        }
    }

    /// The partial sums are added up, neighbour by neighbour.
    fn finish<F: Fast>(&mut self, level: Level) {
        let there = self.beats.partials();
        let [sums, other] = &mut self.scratch;
        let count = self.zeros.len();
        let numbers = |p: usize| if p < there { &self.partial[p] } else { &self.zeros };
        for half in 0..PARTIALS / 2 {
            let sum = &mut sums[half * count..][..count];
            fast::add::<F>(level, numbers(2 * half), numbers(2 * half + 1), sum);
        }
        let (left, right) = sums[..2 * count].split_at(count);
        fast::add::<F>(level, left, right, &mut other[..count]);
        let due = (self.cycle + self.latency) % LATENCY;
        self.due[due].copy_from_slice(&other[..count]);
        self.is_due[due] = true;
    }

    fn end_cycle(&mut self) {
        self.cycle = (self.cycle + 1) % LATENCY;
    }

    /// The units as models.
    fn separate<F: Format>(&self) -> Vec<TreePu<F>> {
        let number = |of: &[u16], i: usize| Fp::from_bits(of[i].into());
        let unit = |i: usize| TreePu {
            partial: std::array::from_fn(|p| number(&self.partial[p], i)),
            beats: self.beats,
            due: std::array::from_fn(|n| self.is_due[n].then(|| number(&self.due[n], i))),
            cycle: self.cycle,
            result: self.is_shown.then(|| number(&self.shown, i)),
        };
        (0..self.shown.len()).map(unit).collect()
    }
}

impl<F: Fast> TreePus<F> {
    /// `count` instances that have been reset, computed in the fastest way that the machine has.
    pub fn new(count: usize) -> Self {
        Self::at_level(count, Level::best())
    }

    /// The same, computed in a given way.
    pub fn at_level(count: usize, level: Level) -> Self {
        Self::with(count, level, LATENCY)
    }

    /// PUs that do not exist, to see what the pipeline costs: their results come `cycles` after the beat, and they are
    /// equal to no RTL. They must be told the same from reset to reset.
    ///
    /// # Panics
    ///
    /// If there are no cycles, or more than the pipeline has.
    pub fn of_latency(count: usize, cycles: usize) -> Self {
        assert!((1..=LATENCY).contains(&cycles), "{cycles} of {LATENCY} cycles");
        Self::with(count, Level::best(), cycles)
    }

    fn with(count: usize, level: Level, latency: usize) -> Self {
        Self { count, level, latency, state: State::Alike(Box::new(Alike::new(count, latency))) }
    }

    /// One cycle in which all are told the same: what [`Instances::step`] does, without a bundle of ports
    /// for each. Returns whether [`result`](Self::result) is new with it.
    ///
    /// # Panics
    ///
    /// If there are not as many elements as multipliers, or the units have been told different things
    /// since the reset.
    pub fn step_alike(&mut self, beat: Option<TreeBeat<'_>>) -> bool {
        let State::Alike(alike) = &mut self.state else { panic!("they are not alike any more") };
        let new = alike.show();
        if let Some(TreeBeat { first, last, rows, factors }) = beat {
            let [rows, factors] = [rows, factors].map(fast::elements_of);
            fast::mul::<F>(self.level, rows, factors, &mut alike.scratch[0]);
            alike.add::<F>(self.level, first, last);
        }
        alike.end_cycle();
        new
    }

    /// Goes over what of them is no number, for [laps](crate::lap).
    ///
    /// # Panics
    ///
    /// As `step_alike`.
    pub fn walk(&self, walk: &mut Walk<'_>) {
        let State::Alike(alike) = &self.state else { panic!("they are not alike any more") };
        let Alike {
            // Numbers, and which of them a beat changes.
            partial: _,
            beats: _,
            due: _,
            shown: _,
            is_shown: _,
            scratch: _,
            zeros: _,
            is_due,
            cycle,
            latency: _,
        } = &**alike;
        (0..LATENCY).for_each(|later| walk.still(is_due[(cycle + later) % LATENCY]));
    }

    /// What a unit has put out in the last cycle that [`step_alike`](Self::step_alike) took.
    ///
    /// # Panics
    ///
    /// If there is no such unit, and as `step_alike`.
    pub fn result(&self, unit: usize) -> Fp<F> {
        let State::Alike(alike) = &self.state else { panic!("they are not alike any more") };
        Fp::from_bits(alike.shown[unit].into())
    }
}

/// What all PUs are told.
fn control<F: Format>(input: &TreePuIn<F>) -> [bool; 3] {
    [input.valid_i, input.first_i, input.last_i]
}

impl<F: Fast> Instances<TreePu<F>> for TreePus<F> {
    fn reset(&mut self) {
        self.state = State::Alike(Box::new(Alike::new(self.count, self.latency)));
    }

    fn settle(
        &mut self,
        inputs: &[TreePuIn<F>],
        outputs: &mut [TreePuOut<F>],
    ) -> Result<(), Box<Mismatch>> {
        self.clone().step(inputs, outputs)
    }

    fn step(
        &mut self,
        inputs: &[TreePuIn<F>],
        outputs: &mut [TreePuOut<F>],
    ) -> Result<(), Box<Mismatch>> {
        assert!(inputs.len() == self.count && outputs.len() == self.count, "one for each instance");
        let Some(first) = inputs.first() else { return Ok(()) };
        if let State::Alike(alike) = &self.state
            && inputs.iter().any(|input| control(input) != control(first))
        {
            self.state = State::Different(alike.separate());
        }
        match &mut self.state {
            State::Alike(alike) => {
                let new = alike.show();
                for (output, bits) in outputs.iter_mut().zip(&alike.shown) {
                    output.result_valid_o = new;
                    output.result_o = Fp::from_bits((*bits).into());
                }
                if first.valid_i {
                    multiply::<F>(self.level, inputs, alike);
                    alike.add::<F>(self.level, first.first_i, first.last_i);
                }
                alike.end_cycle();
            }
            State::Different(units) => {
                for ((unit, input), output) in units.iter_mut().zip(inputs).zip(outputs) {
                    *output = unit.step(input);
                }
            }
        }
        Ok(())
    }
}

/// The multipliers: the products are in the first of `scratch`.
fn multiply<F: Fast>(level: Level, inputs: &[TreePuIn<F>], alike: &mut Alike) {
    let mut zeros = [0; LANES];
    let [products, rows] = &mut alike.scratch;
    for ((input, rows), products) in
        inputs.iter().zip(rows.chunks_mut(LANES)).zip(products.chunks_mut(LANES))
    {
        for k in 0..LANES {
            rows[k] = input.row_i[k].to_bits() as u16;
            zeros[k] = input.shared_i[k].to_bits() as u16;
        }
        fast::mul::<F>(level, rows, &zeros, products);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{Binary16, Binary16Flush};
    use pimlico_ports::{Bundle, Models};

    /// Draws as many inputs as there are units; `alike` in what they are told.
    fn inputs<F: Fast>(state: &mut u64, count: usize, alike: bool) -> Vec<TreePuIn<F>> {
        let mut draw = || {
            let entropy: Vec<u64> = (0..TreePuIn::<F>::DRAWS)
                .map(|_| {
                    *state = state
                        .wrapping_mul(0x5851_F42D_4C95_7F2D)
                        .wrapping_add(0x1405_7B7E_F767_814F);
                    *state ^ *state >> 29
                })
                .collect();
            TreePuIn::<F>::draw(&entropy)
        };
        let first = draw();
        let TreePuIn { valid_i, first_i, last_i, .. } = first;
        let told = |input| TreePuIn { valid_i, first_i, last_i, ..input };
        (0..count).map(|_| if alike { told(draw()) } else { draw() }).collect()
    }

    /// With ports and now and then without them, alike and for a while not, until a reset.
    fn equal_models<F: Fast>() {
        for (level, count) in Level::available().zip([128, 17, 33]) {
            let mut vectors = TreePus::<F>::at_level(count, level);
            let mut models = Models::<TreePu<F>>::new(count);
            let mut state = count as u64;
            let mut outputs =
                [vec![TreePuOut::default(); count], vec![TreePuOut::default(); count]];
            for clock in 0..4000 {
                if clock == 2500 {
                    vectors.reset();
                    models.reset();
                }
                let alike = !(2000..2500).contains(&clock);
                let inputs = inputs(&mut state, count, alike);
                models.step(&inputs, &mut outputs[1]).expect("a model alone");
                if alike && clock / 100 % 10 == 9 {
                    let words = |of: fn(&TreePuIn<F>) -> &[Fp<F>; LANES]| -> Vec<u64> {
                        let of = inputs.iter().flat_map(|input| of(input).chunks(4));
                        let word = |four: &[Fp<F>]| {
                            four.iter().rfold(0, |word, x| word << 16 | u64::from(x.to_bits()))
                        };
                        of.map(word).collect()
                    };
                    let beat = TreeBeat {
                        first: inputs[0].first_i,
                        last: inputs[0].last_i,
                        rows: &words(|input| &input.row_i),
                        factors: &words(|input| &input.shared_i),
                    };
                    let new = vectors.step_alike(inputs[0].valid_i.then_some(beat));
                    for (i, output) in outputs[1].iter().enumerate() {
                        assert_eq!(new, output.result_valid_o, "{level:?}, clock {clock}");
                        assert_eq!(vectors.result(i), output.result_o, "{level:?}, clock {clock}");
                    }
                } else {
                    vectors.step(&inputs, &mut outputs[0]).expect("a model alone");
                    assert_eq!(outputs[0], outputs[1], "{level:?}, clock {clock}");
                }
            }
            assert!(matches!(vectors.state, State::Alike(_)));
        }
    }

    #[test]
    fn vectors_equal_the_models() {
        equal_models::<Binary16>();
        equal_models::<Binary16Flush>();
    }
}
