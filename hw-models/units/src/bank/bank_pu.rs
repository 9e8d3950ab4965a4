// SPDX-License-Identifier: MIT
//! PU at a bank.

use super::{Four, Lanes, SideBySide, Sixteen};
use crate::arith::{Binary16, Format, Fp, sum_parameters, sum_variant};
use crate::lap::Walk;
use pimlico_ports::{
    Instances, Model, Models, Open, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};
use std::any::Any;

ports! {
    /// A bank PU.
    unit BankPu<F: Format, A: Format = F, L: Lanes = Four>: "bank_pu" {
        inputs BankPuIn {
            /// A beat arrives.
            valid_i: bool => all_but_one_in(8),
            /// 0: tree mode; 1: accumulator mode.
            accumulate_i: bool => one_in(3),
            /// The accumulators' operand is +0 for this beat.
            first_i: bool => one_in(6),
            /// The sum with this beat is a result.
            last_i: bool => one_in(4),
            /// Elements from the row buffer.
            row_i: L::Of<Fp<F>>,
            /// Factors of the lanes, from the shared buffer; accumulator mode: one element in all lanes.
            shared_i: L::Of<Fp<F>>,
        }
        outputs BankPuOut {
            /// `result_o` is new in this cycle.
            result_valid_o: bool,
            /// Tree mode: the sum as an element, in the low bits; accumulator mode: a sum per lane.
            result_o: L::Of<Fp<A>>,
        }
        probes BankPuProbe {
            /// Rounded products.
            product_q: L::Of<Fp<F>>,
            /// Accumulators; in tree mode the nodes of the tree.
            acc_q: L::Of<Fp<A>>,
        }
    }
}

/// Levels of the adder tree with the most lanes.
pub(super) const MAX_LEVELS: usize = Sixteen::LEVELS;

/// What accompanies a beat through the pipeline.
#[derive(Clone, Copy, Default)]
pub(super) struct Control {
    pub(super) valid: bool,
    pub(super) first: bool,
    pub(super) last: bool,
}

/// Goes over what the beats in a PU are.
pub(super) fn walk_beats(
    walk: &mut Walk<'_>,
    beat: &Control,
    accumulates: bool,
    level: &[Control; MAX_LEVELS],
) {
    walk.still(accumulates);
    for Control { valid, first, last } in [beat].into_iter().chain(level) {
        [valid, first, last].into_iter().for_each(|flag| walk.still(*flag));
    }
}

/// The cycle model of a bank PU with `L` lanes, elements of format `F` and sums of format `A`.
///
#[doc = contract!("bank/bank_pu")]
#[derive(Clone)]
pub struct BankPu<F: Format, A: Format = F, L: Lanes = Four> {
    pub(super) product: L::Of<Fp<F>>,
    pub(super) acc: L::Of<Fp<A>>,
    pub(super) result: L::Of<Fp<A>>,
    pub(super) result_valid: bool,
    /// The beat in `product`, and its mode.
    pub(super) beat: Control,
    pub(super) beat_accumulates: bool,
    /// The tree beat on each level of the tree: the first `L::LEVELS` of them.
    pub(super) level: [Control; MAX_LEVELS],
    /// Which of `acc` and of `result` hold what has been computed since the reset.
    pub(super) known: Known<L>,
}

/// Which accumulators and results hold what has been computed since the reset.
#[derive(Clone, Copy, Default)]
pub(super) struct Known<L: Lanes> {
    pub(super) acc: L::Of<bool>,
    pub(super) result: L::Of<bool>,
}

/// The accumulators of a level of the tree, above the first, that add their neighbours `distance` to the
/// left and to the right: these, and the distance.
fn nodes<L: Lanes>(level: usize) -> (impl Iterator<Item = usize>, usize) {
    (((1 << level) - 1..L::COUNT).step_by(2 << level), 1 << (level - 1))
}

impl<F: Format, A: Format, L: Lanes> Unit for BankPu<F, A, L> {
    const MODULE: &'static str = "bank_pu";
    const PARAMETERS: &'static [(&'static str, i64)] = &{
        let [exp_bits, man_bits, subnormals, sum_exp_bits, sum_man_bits] = sum_parameters::<F, A>();
        let lanes = ("LANES", L::COUNT as i64);
        [lanes, exp_bits, man_bits, subnormals, sum_exp_bits, sum_man_bits]
    };
    type In = BankPuIn<F, A, L>;
    type Out = BankPuOut<F, A, L>;
    type Probe = BankPuProbe<F, A, L>;

    fn variant() -> String {
        let lanes = if L::COUNT == Four::COUNT { String::new() } else { format!("x{}", L::COUNT) };
        let parts = [sum_variant::<F, A>(), lanes];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
    }
}

impl<F: Format, A: Format, L: Lanes> BankPuOut<F, A, L> {
    /// Tree mode's result.
    #[inline]
    pub fn score(&self) -> Fp<F> {
        Fp::from_bits(self.result_o[0].to_bits())
    }
}

impl<F: Format, A: Format, L: Lanes> BankPu<F, A, L> {
    /// Cycles from a tree beat with `last_i` to its result.
    pub const TREE_LATENCY: u64 = L::LEVELS as u64 + 2;
    /// Cycles from an accumulator beat with `last_i` to its results.
    pub const ACCUMULATE_LATENCY: u64 = 2;
}

impl<F: Format, A: Format, L: Lanes> Model for BankPu<F, A, L> {
    fn new() -> Self {
        Self {
            product: Default::default(),
            acc: Default::default(),
            result: Default::default(),
            result_valid: false,
            beat: Control::default(),
            beat_accumulates: false,
            level: [Control::default(); MAX_LEVELS],
            known: Known::default(),
        }
    }

    fn instances(count: usize) -> Box<dyn Instances<Self>> {
        // The sets of parameters that run long workloads.
        side_by_side::<Self, Four>(count)
            .or_else(|| side_by_side::<Self, Sixteen>(count))
            .unwrap_or_else(|| Box::new(Models::<Self>::new(count)))
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        BankPuProbe { product_q: self.product, acc_q: self.acc, ..Default::default() }
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if !self.beat.valid {
            open.port("product_q").mark();
        }
        for k in 0..L::COUNT {
            if !self.known.acc[k] {
                open.port("acc_q").element(k).mark();
            }
            if !self.known.result[k] {
                open.port("result_o").element(k).mark();
            }
        }
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        BankPuOut { result_valid_o: self.result_valid, result_o: self.result, ..Default::default() }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);

        self.result_valid = false;
        if self.beat.valid && self.beat_accumulates {
            self.accumulate();
        } else {
            self.step_tree();
        }
        self.level.rotate_right(1);
        self.level[0] = Control { valid: self.beat.valid && !self.beat_accumulates, ..self.beat };

        self.multiply(input);
        output
    }
}

/// Vectors of binary16 PUs with so many lanes, if they are what is asked for.
fn side_by_side<M: Model, L: Lanes>(count: usize) -> Option<Box<dyn Instances<M>>> {
    let vectors: Box<dyn Instances<BankPu<Binary16, Binary16, L>>> =
        Box::new(SideBySide::<Binary16, L>::new(count));
    let vectors: Box<dyn Any> = Box::new(vectors);
    vectors.downcast::<Box<dyn Instances<M>>>().ok().map(|vectors| *vectors)
}

impl<F: Format, A: Format, L: Lanes> BankPu<F, A, L> {
    /// Goes over what of it is no data, for [laps](crate::lap).
    pub fn walk(&self, walk: &mut Walk<'_>) {
        walk.still(self.result_valid);
        walk_beats(walk, &self.beat, self.beat_accumulates, &self.level);
    }

    /// The adders in accumulator mode.
    fn accumulate(&mut self) {
        for k in 0..L::COUNT {
            let sum = if self.beat.first { Fp::ZERO } else { self.acc[k] };
            self.acc[k] = self.product[k].widen::<A>() + sum;
            self.known.acc[k] |= self.beat.first;
        }
        if self.beat.last {
            self.result = self.acc;
            self.known.result = self.known.acc;
            self.result_valid = true;
        }
    }

    /// The adders in tree mode. The levels go from the last to the first, so that each finds what the
    /// one before it held.
    fn step_tree(&mut self) {
        let Control { valid, first, last } = self.level[L::LEVELS - 1];
        let (root, total) = (L::COUNT / 2 - 1, L::COUNT - 1);
        if valid {
            let sum = if first { Fp::ZERO } else { self.acc[total] };
            self.acc[total] = self.acc[root] + sum;
            self.known.acc[total] = (first || self.known.acc[total]) && self.known.acc[root];
            if last {
                self.result[0] = Fp::from_bits(self.acc[total].narrow::<F>().to_bits());
                self.known.result[0] = self.known.acc[total];
                self.result_valid = true;
            }
        }
        for level in (1..L::LEVELS).rev().filter(|level| self.level[level - 1].valid) {
            let (nodes, distance) = nodes::<L>(level);
            for k in nodes {
                let (left, right) = (k - distance, k + distance);
                self.acc[k] = self.acc[left] + self.acc[right];
                self.known.acc[k] = self.known.acc[left] && self.known.acc[right];
            }
        }
        if self.beat.valid {
            for k in (0..L::COUNT).step_by(2) {
                self.acc[k] = self.product[k].widen::<A>() + self.product[k + 1].widen();
                self.known.acc[k] = true;
            }
        }
    }

    /// The multipliers.
    fn multiply(&mut self, input: &BankPuIn<F, A, L>) {
        self.beat = Control { valid: input.valid_i, first: input.first_i, last: input.last_i };
        self.beat_accumulates = input.accumulate_i;
        if input.valid_i {
            for k in 0..L::COUNT {
                self.product[k] = input.row_i[k] * input.shared_i[k];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::Binary32;
    use num_traits::{AsPrimitive, One};

    fn element(value: f32) -> Fp<Binary16> {
        value.as_()
    }

    fn elements(values: [f32; 4]) -> [Fp<Binary16>; 4] {
        values.map(element)
    }

    fn value(element: Fp<Binary16>) -> f32 {
        element.as_()
    }

    #[test]
    fn a_dot_product_of_eight_takes_two_beats() {
        let mut pu = BankPu::<Binary16>::new();
        let beat = |first_i, last_i, row: [f32; 4]| BankPuIn {
            valid_i: true,
            first_i,
            last_i,
            row_i: elements(row),
            shared_i: elements([1.0, 2.0, 3.0, 4.0]),
            ..Default::default()
        };
        pu.step(&beat(true, false, [1.0, 1.0, 1.0, 1.0]));
        pu.step(&beat(false, true, [2.0, 2.0, 2.0, 2.0]));
        let outputs: Vec<_> = (0..5).map(|_| pu.step(&BankPuIn::default())).collect();
        let valid: Vec<_> = outputs.iter().map(|o| o.result_valid_o).collect();
        assert_eq!(valid, [false, false, false, true, false]);
        assert_eq!(value(outputs[3].result_o[0]), 30.0);
    }

    #[test]
    fn sixteen_products_are_summed_up_neighbour_by_neighbour() {
        let mut pu = BankPu::<Binary16, Binary16, Sixteen>::new();
        // 2048 + 1 is 2048 in binary16: of the ones only those count that meet first.
        let mut row_i = [Fp::one(); 16];
        row_i[0] = element(2048.0);
        pu.step(&BankPuIn {
            valid_i: true,
            first_i: true,
            last_i: true,
            row_i,
            shared_i: [Fp::one(); 16],
            ..Default::default()
        });
        let outputs: Vec<_> = (0..7).map(|_| pu.step(&BankPuIn::default())).collect();
        let valid: Vec<_> = outputs.iter().map(|o| o.result_valid_o).collect();
        assert_eq!(valid, [false, false, false, false, false, true, false]);
        assert_eq!(value(outputs[5].score()), 2048.0 + 2.0 + 4.0 + 8.0);
    }

    #[test]
    fn four_accumulators_share_a_scalar() {
        let mut pu = BankPu::<Binary16>::new();
        let beat = |first_i, last_i, scalar: f32| BankPuIn {
            valid_i: true,
            accumulate_i: true,
            first_i,
            last_i,
            row_i: elements([1.0, 2.0, 3.0, 4.0]),
            shared_i: elements([scalar; 4]),
            ..Default::default()
        };
        pu.step(&beat(true, false, 10.0));
        pu.step(&beat(false, true, 40.0));
        assert!(!pu.step(&BankPuIn::default()).result_valid_o);
        let output = pu.step(&BankPuIn::default());
        assert!(output.result_valid_o);
        assert_eq!(output.result_o.map(value), [50.0, 100.0, 150.0, 200.0]);
    }

    /// The last output of three beats, rows of 2048, 1 and 1 with a shared buffer of ones, and the
    /// idle cycles that they need.
    fn large_and_ones<A: Format>(accumulate_i: bool) -> BankPuOut<Binary16, A> {
        let mut pu = BankPu::<Binary16, A>::new();
        for n in 0..3 {
            pu.step(&BankPuIn {
                valid_i: true,
                accumulate_i,
                first_i: n == 0,
                last_i: n == 2,
                row_i: elements([if n == 0 { 2048.0 } else { 1.0 }, 0.0, 0.0, 0.0]),
                shared_i: elements([1.0; 4]),
                ..Default::default()
            });
        }
        let idle = if accumulate_i { 2 } else { 4 };
        (0..idle).map(|_| pu.step(&BankPuIn::default())).last().expect("some cycles")
    }

    // From 2048 on, binary16 counts in twos, and a one that is added is lost.

    #[test]
    fn wide_accumulators_keep_what_narrow_ones_lose() {
        let output = large_and_ones::<Binary16>(true);
        assert_eq!((output.result_valid_o, value(output.result_o[0])), (true, 2048.0));
        let output = large_and_ones::<Binary32>(true);
        assert_eq!((output.result_valid_o, output.result_o[0]), (true, 2050.0.into()));
    }

    #[test]
    fn a_score_of_wide_sums_is_an_element_in_the_low_bits() {
        let output = large_and_ones::<Binary16>(false);
        assert_eq!((output.result_valid_o, value(output.score())), (true, 2048.0));
        let output = large_and_ones::<Binary32>(false);
        assert_eq!((output.result_valid_o, value(output.score())), (true, 2050.0));
        assert_eq!(output.result_o[0].to_bits(), element(2050.0).to_bits());
    }
}
