// SPDX-License-Identifier: MIT
//! Many bank PUs side by side, computed on vectors.
//!
//! The bank PUs of a rank are told the same in every clock and differ in their data alone: then all
//! products of a lane stand in one array, all sums in another, and `arith::fast` computes eight or
//! sixteen at a time. The first clock in which they are not told the same ends that: from then on,
//! until a reset, each is a model by itself.

use super::bank_pu::{BankPu, BankPuIn, BankPuOut, Control, Known, MAX_LEVELS, walk_beats};
use super::{Four, Lanes};
use crate::arith::fast::{self, Fast, Level};
use crate::arith::{Format, Fp};
use crate::lap::Walk;
use pimlico_ports::{Instances, Mismatch, Model};
use std::marker::PhantomData;
use std::ops::Range;

/// Instances of a bank PU.
#[derive(Clone)]
pub struct SideBySide<F: Fast, L: Lanes = Four> {
    count: usize,
    level: Level,
    state: State<F, L>,
}

#[derive(Clone)]
enum State<F: Fast, L: Lanes> {
    Alike(Box<Alike<L>>),
    Different(Vec<BankPu<F, F, L>>),
}

/// A beat that all bank PUs get, each with elements of its own.
#[derive(Clone, Copy, Debug)]
pub struct Beat<'a> {
    /// Four accumulators instead of the adder tree.
    pub accumulate: bool,
    /// Begins a sum.
    pub first: bool,
    /// Ends a sum.
    pub last: bool,
    /// Elements from the row buffers, unit by unit: four in a word, the first in the low bits.
    pub rows: &'a [u64],
    /// What each of them is multiplied with.
    pub factors: &'a [u64],
}

/// Bank PUs that have been told the same since the reset: see the fields of [`BankPu`]. Element `k` of
/// unit `i` is at `i * L::COUNT + k`.
#[derive(Clone)]
struct Alike<L> {
    product: Box<[u16]>,
    /// Accumulators, if `in_tree` is clear.
    acc: Box<[u16]>,
    /// Otherwise they stand here as the tree needs them: level by level, and the last ones at the end.
    tree: Box<[u16]>,
    in_tree: bool,
    result: Box<[u16]>,
    result_valid: bool,
    /// The results that the outputs show.
    shown: Box<[u16]>,
    beat: Control,
    beat_accumulates: bool,
    level: [Control; MAX_LEVELS],
    /// Operands and sums.
    scratch: [Box<[u16]>; 2],
    zeros: Box<[u16]>,
    lanes: PhantomData<L>,
}

/// What all bank PUs of a rank are told.
fn control<F: Fast, L: Lanes>(input: &BankPuIn<F, F, L>) -> [bool; 4] {
    [input.valid_i, input.accumulate_i, input.first_i, input.last_i]
}

fn bits<F: Format>(element: Fp<F>) -> u16 {
    element.to_bits() as u16
}

impl<F: Fast, L: Lanes> SideBySide<F, L> {
    /// `count` instances that have been reset, computed in the fastest way that the machine has.
    pub fn new(count: usize) -> Self {
        Self::at_level(count, Level::best())
    }

    /// The same, computed in a given way.
    pub fn at_level(count: usize, level: Level) -> Self {
        Self { count, level, state: State::Alike(Box::new(Alike::new(count))) }
    }

    /// One cycle in which all are told the same: what [`Instances::step`] does, without a bundle of ports
    /// for each. Returns whether [`result`](Self::result) is new with it.
    ///
    /// # Panics
    ///
    /// If there are not as many elements as multipliers, or the units have been told different things
    /// since the reset.
    pub fn step_alike(&mut self, beat: Option<Beat<'_>>) -> bool {
        let State::Alike(alike) = &mut self.state else { panic!("they are not alike any more") };
        let new = alike.show();
        alike.step_adders::<F>(self.count, self.level);
        let control =
            beat.map_or([false; 4], |beat| [true, beat.accumulate, beat.first, beat.last]);
        alike.take(control);
        if let Some(Beat { rows, factors, .. }) = beat {
            let [rows, factors] = [rows, factors].map(fast::elements_of);
            fast::mul::<F>(self.level, rows, factors, &mut alike.product);
        }
        new
    }

    /// Whether the next [`step_alike`](Self::step_alike) returns that results are new.
    ///
    /// # Panics
    ///
    /// As `step_alike`.
    pub fn is_due(&self) -> bool {
        let State::Alike(alike) = &self.state else { panic!("they are not alike any more") };
        alike.result_valid
    }

    /// Goes over what of them is no data, for [laps](crate::lap).
    ///
    /// # Panics
    ///
    /// As `step_alike`.
    pub fn walk(&self, walk: &mut Walk<'_>) {
        let State::Alike(alike) = &self.state else { panic!("they are not alike any more") };
        walk.still(alike.result_valid);
        walk_beats(walk, &alike.beat, alike.beat_accumulates, &alike.level);
    }

    /// What a unit has put out in the last cycle that [`step_alike`](Self::step_alike) took: an element of
    /// `result_o`.
    ///
    /// # Panics
    ///
    /// If there is no such unit or element, and as `step_alike`.
    pub fn result(&self, unit: usize, element: usize) -> Fp<F> {
        let State::Alike(alike) = &self.state else { panic!("they are not alike any more") };
        assert!(element < L::COUNT, "no such element");
        Fp::from_bits(alike.shown[unit * L::COUNT + element].into())
    }
}

/// Where a level of the tree stands, the first being level 0: the last one's sums are those of
/// `L::LEVELS`.
fn level_of<L: Lanes>(level: usize, count: usize) -> Range<usize> {
    let before = |level: usize| (L::COUNT - (L::COUNT >> level)) * count;
    if level == L::LEVELS {
        before(level)..L::COUNT * count
    } else {
        before(level)..before(level + 1)
    }
}

/// The accumulators of the levels of the tree, each with its place in `Alike::tree` for unit 0 and how
/// far from it that for the next unit is.
fn places<L: Lanes>(count: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..=L::LEVELS).flat_map(move |level| {
        let of_unit = (L::COUNT >> (level + 1)).max(1);
        let start = level_of::<L>(level, count).start;
        let first = (1 << level) - 1;
        (0..of_unit)
            .map(move |m| ((first + (m << (level + 1))).min(L::COUNT - 1), start + m, of_unit))
    })
}

impl<L: Lanes> Alike<L> {
    fn new(count: usize) -> Self {
        let zeros = || vec![0; L::COUNT * count].into_boxed_slice();
        Self {
            product: zeros(),
            acc: zeros(),
            tree: zeros(),
            in_tree: false,
            result: zeros(),
            result_valid: false,
            shown: zeros(),
            beat: Control::default(),
            beat_accumulates: false,
            level: [Control::default(); MAX_LEVELS],
            scratch: [zeros(), zeros()],
            zeros: zeros(),
            lanes: PhantomData,
        }
    }

    /// The units as models.
    fn separate<F: Fast>(&mut self, count: usize) -> Vec<BankPu<F, F, L>> {
        self.leave_tree(count);
        let unit = |i| BankPu {
            product: elements::<F, L>(&self.product, i),
            acc: elements::<F, L>(&self.acc, i),
            result: elements::<F, L>(&self.result, i),
            result_valid: self.result_valid,
            beat: self.beat,
            beat_accumulates: self.beat_accumulates,
            level: self.level,
            known: Known::default(),
        };
        (0..count).map(unit).collect()
    }

    /// Brings the accumulators to where the tree has them.
    fn enter_tree(&mut self, count: usize) {
        if !std::mem::replace(&mut self.in_tree, true) {
            for (k, place, distance) in places::<L>(count) {
                (0..count)
                    .for_each(|i| self.tree[place + i * distance] = self.acc[i * L::COUNT + k]);
            }
        }
    }

    /// Brings them back.
    fn leave_tree(&mut self, count: usize) {
        if std::mem::take(&mut self.in_tree) {
            for (k, place, distance) in places::<L>(count) {
                (0..count)
                    .for_each(|i| self.acc[i * L::COUNT + k] = self.tree[place + i * distance]);
            }
        }
    }

    /// The outputs show the results. Returns whether they are new.
    fn show(&mut self) -> bool {
        if self.result_valid {
            self.shown.copy_from_slice(&self.result);
        }
        self.result_valid
    }

    /// The adders.
    fn step_adders<F: Fast>(&mut self, count: usize, level: Level) {
        self.result_valid = false;
        if self.beat.valid && self.beat_accumulates {
            self.leave_tree(count);
            self.accumulate::<F>(level);
        } else if self.beat.valid || self.level[..L::LEVELS].iter().any(|control| control.valid) {
            self.enter_tree(count);
            self.step_tree::<F>(count, level);
        }
    }

    fn accumulate<F: Fast>(&mut self, level: Level) {
        let operand = if self.beat.first { &self.zeros } else { &self.acc };
        let [sum, _] = &mut self.scratch;
        fast::add::<F>(level, &self.product, operand, sum);
        std::mem::swap(&mut self.acc, sum);
        if self.beat.last {
            self.result.copy_from_slice(&self.acc);
            self.result_valid = true;
        }
    }

    /// The levels of the tree go from the last to the first, so that each finds what the one before it
    /// held.
    fn step_tree<F: Fast>(&mut self, count: usize, level: Level) {
        let Control { valid, first, last } = self.level[L::LEVELS - 1];
        if valid {
            let (nodes, total) = self.tree.split_at_mut(level_of::<L>(L::LEVELS, count).start);
            let operand = if first { &self.zeros[..count] } else { &*total };
            let sum = &mut self.scratch[0][..count];
            fast::add::<F>(level, &nodes[level_of::<L>(L::LEVELS - 1, count)], operand, sum);
            total.copy_from_slice(sum);
            if last {
                let results = self.result.iter_mut().step_by(L::COUNT);
                results.zip(total).for_each(|(result, total)| *result = *total);
                self.result_valid = true;
            }
        }
        for n in (1..L::LEVELS).rev().filter(|n| self.level[n - 1].valid) {
            let sums = level_of::<L>(n, count);
            let (below, sums_on) = self.tree.split_at_mut(sums.start);
            let below = &below[level_of::<L>(n - 1, count)];
            fast::add_neighbours::<F>(level, below, &mut sums_on[..sums.len()]);
        }
        if self.beat.valid {
            let sums = level_of::<L>(0, count);
            fast::add_neighbours::<F>(level, &self.product, &mut self.tree[sums]);
        }
    }

    /// What a beat is told goes on, and that of the next takes its place.
    fn take(&mut self, [valid, accumulate, first, last]: [bool; 4]) {
        self.level.rotate_right(1);
        self.level[0] = Control { valid: self.beat.valid && !self.beat_accumulates, ..self.beat };
        self.beat = Control { valid, first, last };
        self.beat_accumulates = accumulate;
    }

    /// The multipliers.
    fn multiply<F: Fast>(&mut self, level: Level, inputs: &[BankPuIn<F, F, L>]) {
        let [rows, factors] = &mut self.scratch;
        let elements = rows.chunks_mut(L::COUNT).zip(factors.chunks_mut(L::COUNT));
        for (input, (rows, factors)) in inputs.iter().zip(elements) {
            for k in 0..L::COUNT {
                (rows[k], factors[k]) = (bits(input.row_i[k]), bits(input.shared_i[k]));
            }
        }
        fast::mul::<F>(level, rows, factors, &mut self.product);
    }

    fn step<F: Fast>(
        &mut self,
        level: Level,
        inputs: &[BankPuIn<F, F, L>],
        outputs: &mut [BankPuOut<F, F, L>],
    ) {
        let new = self.show();
        for (i, output) in outputs.iter_mut().enumerate() {
            output.result_valid_o = new;
            output.result_o = elements::<F, L>(&self.shown, i);
        }
        self.step_adders::<F>(inputs.len(), level);
        let control = control(&inputs[0]);
        self.take(control);
        if control[0] {
            self.multiply(level, inputs);
        }
    }
}

/// The elements of unit `i`.
fn elements<F: Fast, L: Lanes>(of: &[u16], i: usize) -> L::Of<Fp<F>> {
    let mut elements = L::Of::<Fp<F>>::default();
    for (k, &bits) in of[i * L::COUNT..][..L::COUNT].iter().enumerate() {
        elements[k] = Fp::from_bits(bits.into());
    }
    elements
}

impl<F: Fast, L: Lanes> Instances<BankPu<F, F, L>> for SideBySide<F, L> {
    fn reset(&mut self) {
        self.state = State::Alike(Box::new(Alike::new(self.count)));
    }

    fn settle(
        &mut self,
        inputs: &[BankPuIn<F, F, L>],
        outputs: &mut [BankPuOut<F, F, L>],
    ) -> Result<(), Box<Mismatch>> {
        self.clone().step(inputs, outputs)
    }

    fn step(
        &mut self,
        inputs: &[BankPuIn<F, F, L>],
        outputs: &mut [BankPuOut<F, F, L>],
    ) -> Result<(), Box<Mismatch>> {
        assert!(inputs.len() == self.count && outputs.len() == self.count, "one for each instance");
        let Some(first) = inputs.first() else { return Ok(()) };
        if let State::Alike(alike) = &mut self.state
            && inputs.iter().any(|input| control(input) != control(first))
        {
            self.state = State::Different(alike.separate(self.count));
        }
        match &mut self.state {
            State::Alike(alike) => alike.step(self.level, inputs, outputs),
            State::Different(units) => {
                for ((unit, input), output) in units.iter_mut().zip(inputs).zip(outputs) {
                    *output = unit.step(input);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{Binary16, Binary16Flush};
    use crate::bank::Sixteen;
    use pimlico_ports::{Bundle, Models};

    /// Draws as many inputs as there are units; `alike` in what they are told.
    fn inputs<F: Fast, L: Lanes>(
        state: &mut u64,
        count: usize,
        alike: bool,
    ) -> Vec<BankPuIn<F, F, L>> {
        let mut draw = || {
            let entropy: Vec<u64> = (0..BankPuIn::<F, F, L>::DRAWS)
                .map(|_| {
                    *state = state
                        .wrapping_mul(0x5851_F42D_4C95_7F2D)
                        .wrapping_add(0x1405_7B7E_F767_814F);
                    *state ^ *state >> 29
                })
                .collect();
            BankPuIn::<F, F, L>::draw(&entropy)
        };
        let first = draw();
        let told = |input: BankPuIn<F, F, L>| BankPuIn {
            valid_i: first.valid_i,
            accumulate_i: first.accumulate_i,
            first_i: first.first_i,
            last_i: first.last_i,
            ..input
        };
        (0..count).map(|_| if alike { told(draw()) } else { draw() }).collect()
    }

    fn equal_models<F: Fast, L: Lanes>() {
        for (level, count) in Level::available().zip([128, 17, 33]) {
            let mut vectors = SideBySide::<F, L>::at_level(count, level);
            let mut models = Models::<BankPu<F, F, L>>::new(count);
            let mut state = count as u64;
            let mut outputs =
                [vec![BankPuOut::default(); count], vec![BankPuOut::default(); count]];
            for clock in 0..4000 {
                if clock == 2500 {
                    vectors.reset();
                    models.reset();
                }
                // From clock 2000 on until the reset, each for itself.
                let inputs = inputs(&mut state, count, !(2000..2500).contains(&clock));
                vectors.step(&inputs, &mut outputs[0]).expect("a model alone");
                models.step(&inputs, &mut outputs[1]).expect("a model alone");
                assert_eq!(outputs[0], outputs[1], "{level:?}, clock {clock}");
            }
            assert!(matches!(vectors.state, State::Alike(_)));
        }
    }

    fn words<F: Fast, L: Lanes>(elements: impl Iterator<Item = L::Of<Fp<F>>>) -> Vec<u64> {
        let bits: Vec<u16> =
            elements.flat_map(|of| (0..L::COUNT).map(move |k| bits(of[k]))).collect();
        let word = |four: &[u16]| four.iter().rfold(0, |word, bits| word << 16 | u64::from(*bits));
        bits.chunks(4).map(word).collect()
    }

    /// Beats without ports, now and then with them.
    fn beats_are_inputs<F: Fast, L: Lanes>() {
        for (level, count) in Level::available().zip([128, 17, 33]) {
            let mut vectors = SideBySide::<F, L>::at_level(count, level);
            let mut models = Models::<BankPu<F, F, L>>::new(count);
            let mut state = count as u64;
            let [mut of_vectors, mut outputs] =
                [(); 2].map(|()| vec![BankPuOut::<F, F, L>::default(); count]);
            for clock in 0..4000 {
                let inputs = inputs::<F, L>(&mut state, count, true);
                models.step(&inputs, &mut outputs).expect("a model alone");
                if clock / 100 % 10 == 9 {
                    vectors.step(&inputs, &mut of_vectors).expect("a model alone");
                    assert_eq!(of_vectors, outputs, "{level:?}, clock {clock}");
                    continue;
                }
                let told = inputs[0];
                let beat = Beat {
                    accumulate: told.accumulate_i,
                    first: told.first_i,
                    last: told.last_i,
                    rows: &words::<F, L>(inputs.iter().map(|input| input.row_i)),
                    factors: &words::<F, L>(inputs.iter().map(|input| input.shared_i)),
                };
                let new = vectors.step_alike(told.valid_i.then_some(beat));
                assert_eq!(new, outputs[0].result_valid_o, "{level:?}, clock {clock}");
                for (i, output) in outputs.iter().enumerate() {
                    for k in 0..L::COUNT {
                        assert_eq!(vectors.result(i, k), output.result_o[k], "{level:?}, {clock}");
                    }
                }
            }
        }
    }

    #[test]
    fn beats_without_ports_are_the_same() {
        beats_are_inputs::<Binary16, Four>();
        beats_are_inputs::<Binary16Flush, Four>();
        beats_are_inputs::<Binary16, Sixteen>();
    }

    #[test]
    fn vectors_equal_the_models() {
        equal_models::<Binary16, Four>();
        equal_models::<Binary16Flush, Four>();
        equal_models::<Binary16, Sixteen>();
    }
}
