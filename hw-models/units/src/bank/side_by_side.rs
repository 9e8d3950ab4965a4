// SPDX-License-Identifier: MIT
//! Many bank PUs side by side, computed on vectors.
//!
//! The bank PUs of a rank are told the same in every clock and differ in their data alone: then all
//! products of a lane stand in one array, all sums in another, and `arith::fast` computes eight or
//! sixteen at a time. The first clock in which they are not told the same ends that: from then on,
//! until a reset, each is a model by itself.

use super::bank_pu::{BankPu, BankPuIn, BankPuOut, Control, Known, MAX_LEVELS, nodes};
use super::{Four, Lanes};
use crate::arith::fast::{self, Fast, Level};
use crate::arith::{Format, Fp};
use pimlico_ports::{Instances, Mismatch, Model};
use std::array::from_fn;
use std::marker::PhantomData;

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

/// Bank PUs that have been told the same since the reset: see the fields of [`BankPu`]. Element `k` of
/// unit `i` is at `k * count + i`.
#[derive(Clone)]
struct Alike<L> {
    product: Box<[u16]>,
    acc: Box<[u16]>,
    result: Box<[u16]>,
    result_valid: bool,
    beat: Control,
    beat_accumulates: bool,
    level: [Control; MAX_LEVELS],
    /// Operands of the multipliers, or of an adder.
    row: Box<[u16]>,
    factor: Box<[u16]>,
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
}

impl<L: Lanes> Alike<L> {
    fn new(count: usize) -> Self {
        let zeros = || vec![0; L::COUNT * count].into_boxed_slice();
        Self {
            product: zeros(),
            acc: zeros(),
            result: zeros(),
            result_valid: false,
            beat: Control::default(),
            beat_accumulates: false,
            level: [Control::default(); MAX_LEVELS],
            row: zeros(),
            factor: zeros(),
            zeros: zeros(),
            lanes: PhantomData,
        }
    }

    /// The units as models.
    fn separate<F: Fast>(&self, count: usize) -> Vec<BankPu<F, F, L>> {
        let unit = |i| BankPu {
            product: elements::<F, L>(&self.product, count, i),
            acc: elements::<F, L>(&self.acc, count, i),
            result: elements::<F, L>(&self.result, count, i),
            result_valid: self.result_valid,
            beat: self.beat,
            beat_accumulates: self.beat_accumulates,
            level: self.level,
            known: Known::default(),
        };
        (0..count).map(unit).collect()
    }

    fn put<F: Fast>(&self, count: usize, outputs: &mut [BankPuOut<F, F, L>]) {
        for (i, output) in outputs.iter_mut().enumerate() {
            output.result_valid_o = self.result_valid;
            output.result_o = elements::<F, L>(&self.result, count, i);
        }
    }

    /// The adders. The levels of the tree go from the last to the first, so that each finds what the
    /// one before it held.
    fn add<F: Fast>(&mut self, count: usize, level: Level) {
        self.result_valid = false;
        let add = |a: &[u16], b: &[u16], sum: &mut [u16]| fast::add::<F>(level, a, b, sum);
        if self.beat.valid && self.beat_accumulates {
            let operand = if self.beat.first { &self.zeros } else { &self.acc };
            add(&self.product, operand, &mut self.factor);
            std::mem::swap(&mut self.acc, &mut self.factor);
            if self.beat.last {
                self.result.copy_from_slice(&self.acc);
                self.result_valid = true;
            }
            return;
        }
        let Control { valid, first, last } = self.level[L::LEVELS - 1];
        if valid {
            let (nodes, total) = self.acc.split_at_mut((L::COUNT - 1) * count);
            let operand = if first { &self.zeros[..count] } else { &*total };
            let sum = &mut self.factor[..count];
            add(&nodes[(L::COUNT / 2 - 1) * count..][..count], operand, sum);
            total.copy_from_slice(sum);
            if last {
                self.result[..count].copy_from_slice(total);
                self.result_valid = true;
            }
        }
        for level in (1..L::LEVELS).rev().filter(|level| self.level[level - 1].valid) {
            let (nodes, distance) = nodes::<L>(level);
            for k in nodes {
                let (below, above) = self.acc.split_at_mut(k * count);
                let (node, above) = above.split_at_mut(count);
                let [left, right] = [&below[below.len() - distance * count..], above];
                let right = &right[(distance - 1) * count..];
                add(&left[..count], &right[..count], node);
            }
        }
        if self.beat.valid {
            for k in (0..L::COUNT).step_by(2) {
                let [left, right] = neighbours(&self.product, k, count);
                add(left, right, &mut self.acc[k * count..][..count]);
            }
        }
    }

    /// The multipliers.
    fn multiply<F: Fast>(&mut self, level: Level, inputs: &[BankPuIn<F, F, L>]) {
        let count = inputs.len();
        for (i, input) in inputs.iter().enumerate() {
            let scalar = input.shared_i[L::index(input.select_i)];
            for k in 0..L::COUNT {
                let factor = if input.accumulate_i { scalar } else { input.shared_i[k] };
                self.row[k * count + i] = bits(input.row_i[k]);
                self.factor[k * count + i] = bits(factor);
            }
        }
        fast::mul::<F>(level, &self.row, &self.factor, &mut self.product);
    }

    fn step<F: Fast>(&mut self, level: Level, inputs: &[BankPuIn<F, F, L>]) {
        self.add::<F>(inputs.len(), level);
        self.level.rotate_right(1);
        self.level[0] = Control { valid: self.beat.valid && !self.beat_accumulates, ..self.beat };
        let [valid, accumulate, first, last] = control(&inputs[0]);
        self.beat = Control { valid, first, last };
        self.beat_accumulates = accumulate;
        if valid {
            self.multiply(level, inputs);
        }
    }
}

/// The elements of unit `i`.
fn elements<F: Fast, L: Lanes>(of: &[u16], count: usize, i: usize) -> L::Of<Fp<F>> {
    let mut elements = L::Of::<Fp<F>>::default();
    for k in 0..L::COUNT {
        elements[k] = Fp::from_bits(of[k * count + i].into());
    }
    elements
}

/// Elements `k` and `k + 1` of all units.
fn neighbours(of: &[u16], k: usize, count: usize) -> [&[u16]; 2] {
    from_fn(|n| &of[(k + n) * count..][..count])
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
        if let State::Alike(alike) = &self.state
            && inputs.iter().any(|input| control(input) != control(first))
        {
            self.state = State::Different(alike.separate(self.count));
        }
        match &mut self.state {
            State::Alike(alike) => {
                alike.put(self.count, outputs);
                alike.step(self.level, inputs);
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

    #[test]
    fn vectors_equal_the_models() {
        equal_models::<Binary16, Four>();
        equal_models::<Binary16Flush, Four>();
        equal_models::<Binary16, Sixteen>();
    }
}
