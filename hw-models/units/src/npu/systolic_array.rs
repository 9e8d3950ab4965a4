// SPDX-License-Identifier: MIT
//! Systolic array of an NPU.

use crate::arith::{Binary32, Format, Fp};
use crate::bank::Lanes;
use pimlico_ports::{
    Model, Open, Signal, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A systolic array.
    unit SystolicArray<F: Format, R: Lanes, C: Lanes>: "systolic_array" {
        inputs SystolicArrayIn {
            /// Activations of a request are loaded.
            load_valid_i: bool,
            /// Column of the request.
            load_column_i: U<7>,
            /// Activations of the request, one for each row.
            load_i: R::Of<Fp<F>>,
            /// Weights of an output arrive.
            valid_i: bool => all_but_one_in(6),
            /// The weights and those behind them meet the activations that have been loaded.
            swap_i: bool => one_in(6),
            /// Weights of the output, one for each row.
            weight_i: R::Of<Fp<F>>,
            /// What the products of each column are added to: binary32.
            sum_i: C::Of<Fp<Binary32>>,
        }
        outputs SystolicArrayOut {
            /// `result_o` has the sums of an output.
            result_valid_o: bool,
            /// Sum of each column: binary32.
            result_o: C::Of<Fp<Binary32>>,
        }
        probes SystolicArrayProbe {}
    }
}

/// Cycles of an addition, and those of the first cell: its weight's register, the product, binary32, the addition.
const ADD: usize = 4;
const CELL: usize = 9;
/// The longest latency of an array that is built.
const MOST_LATENCY: usize = 64;

/// Activations of the columns, and whether each has any.
type Tile<T, F, R> = (<T as Lanes>::Of<<R as Lanes>::Of<Fp<F>>>, <T as Lanes>::Of<bool>);

/// Sums of the columns, and whether each is of known activations.
type Sums<C> = (<C as Lanes>::Of<Fp<Binary32>>, <C as Lanes>::Of<bool>);

/// The cycle model of a systolic array of `R` rows and `C` columns.
///
/// Weights, loads and swaps take the same way through the array, so that they meet as they come: an output is computed when its weights
/// come, and what the pipeline does is a delay of its result.
///
#[doc = contract!("npu/systolic_array")]
#[derive(Clone)]
pub struct SystolicArray<F: Format, R: Lanes, C: Lanes> {
    /// What has been loaded, and what weights meet.
    next: Tile<C, F, R>,
    active: Tile<C, F, R>,
    /// Outputs on their way: that which is due in cycle `n` is at `n` modulo the latency.
    due: [Option<Sums<C>>; MOST_LATENCY],
    cycle: usize,
}

impl<F: Format, R: Lanes, C: Lanes> SystolicArray<F, R, C> {
    /// Cycles of an addition: rows of cells are so far apart.
    pub const ADD: u64 = ADD as u64;
    /// Cycles that a weight takes through the first cell.
    pub const CELL: u64 = CELL as u64;
    /// Cycles from weights to their results.
    pub const LATENCY: usize = {
        let latency = ADD * (R::COUNT - 1) + (C::COUNT - 1) + CELL;
        assert!(latency <= MOST_LATENCY);
        latency
    };

    /// The outputs of weights.
    fn outputs(&self, input: &SystolicArrayIn<F, R, C>) -> Sums<C> {
        let mut sums = input.sum_i;
        for column in 0..C::COUNT {
            let activations = &self.active.0[column];
            for row in 0..R::COUNT {
                let product = activations[row] * input.weight_i[row];
                sums[column] = product.widen() + sums[column];
            }
        }
        (sums, self.active.1)
    }
}

impl<F: Format, R: Lanes, C: Lanes> Unit for SystolicArray<F, R, C> {
    const MODULE: &'static str = "systolic_array";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("ROWS", R::COUNT as i64),
        ("COLS", C::COUNT as i64),
        ("EXP_BITS", F::EXP_BITS as i64),
        ("MAN_BITS", F::MAN_BITS as i64),
    ];
    type In = SystolicArrayIn<F, R, C>;
    type Out = SystolicArrayOut<F, R, C>;
    type Probe = SystolicArrayProbe<F, R, C>;

    fn variant() -> String {
        let size = match (R::COUNT, C::COUNT) {
            (8, 8) => String::new(),
            (rows, columns) => format!("{rows}x{columns}"),
        };
        let parts = [F::LABEL, &size].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("_")
    }
}

impl<F: Format, R: Lanes, C: Lanes> Model for SystolicArray<F, R, C> {
    fn new() -> Self {
        const { assert!(F::SUBNORMALS, "built with gradual underflow") };
        Self {
            next: Default::default(),
            active: Default::default(),
            due: [None; MOST_LATENCY],
            cycle: 0,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        SystolicArrayProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        let due = self.due[self.cycle];
        for column in 0..C::COUNT {
            if !due.is_some_and(|(_, known)| known[column]) {
                open.port("result_o").element(column).mark();
            }
        }
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        let due = self.due[self.cycle];
        SystolicArrayOut {
            result_valid_o: due.is_some(),
            result_o: due.map_or_else(Default::default, |(sums, _)| sums),
            ..Default::default()
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        self.due[self.cycle] = None;
        if input.valid_i {
            if input.swap_i {
                self.active = self.next;
            }
            self.due[self.cycle] = Some(self.outputs(input));
        }
        let column = input.load_column_i.get() as usize;
        if input.load_valid_i && column < C::COUNT {
            self.next.0[column] = input.load_i;
            self.next.1[column] = true;
        }
        self.cycle = (self.cycle + 1) % Self::LATENCY;
        output
    }
}

/// Bits of the activations' registers of an array: those that weights meet, and the next ones.
impl<F: Format, R: Lanes, C: Lanes> SystolicArray<F, R, C> {
    /// Bits of the activations' registers.
    pub const ACTIVATION_BITS: u32 = 2 * <C::Of<R::Of<Fp<F>>> as Signal>::WIDTH;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::Binary16;
    use crate::bank::{Eight, Four};
    use num_traits::AsPrimitive;

    type Small = SystolicArray<Binary16, Four, Four>;
    type Input = SystolicArrayIn<Binary16, Four, Four>;

    fn load(column: u64, activations: [f32; 4]) -> Input {
        let load_i = activations.map(|x| x.as_());
        let load_column_i = U::new(column);
        Input { load_valid_i: true, load_column_i, load_i, ..Input::default() }
    }

    fn weights(swap_i: bool, weights: [f32; 4], sums: [f32; 4]) -> Input {
        let (weight_i, sum_i) = (weights.map(|x| x.as_()), sums.map(Fp::from));
        Input { valid_i: true, swap_i, weight_i, sum_i, ..Input::default() }
    }

    /// Cycles and results.
    fn run(inputs: &[Input]) -> Vec<(usize, [f32; 4])> {
        let mut array = Small::new();
        let idle = [Input::default(); MOST_LATENCY];
        let outputs = inputs.iter().chain(&idle).map(|input| array.step(input)).enumerate();
        let results = outputs.filter(|(_, output)| output.result_valid_o);
        results.map(|(cycle, output)| (cycle, output.result_o.map(|x| x.as_()))).collect()
    }

    fn tile() -> Vec<Input> {
        (0..4).map(|column| load(column, [1.0 + column as f32; 4])).collect()
    }

    #[test]
    fn results_come_the_latency_behind_their_weights() {
        assert_eq!(Small::LATENCY, 24);
        assert_eq!(SystolicArray::<Binary16, Eight, Eight>::LATENCY, 44);
        assert_eq!(SystolicArray::<Binary16, Four, Eight>::variant(), "4x8");
        assert_eq!(Small::ACTIVATION_BITS, 512);
        let mut inputs = tile();
        inputs.push(weights(true, [1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0]));
        inputs.push(weights(false, [1.0, 0.0, 0.0, 0.0], [0.0; 4]));
        let expected = [(28, [10.0, 21.0, 32.0, 43.0]), (29, [1.0, 2.0, 3.0, 4.0])];
        assert_eq!(run(&inputs), expected);
    }

    #[test]
    fn loads_wait_for_a_swap_and_a_load_beside_it_is_of_the_next_tile() {
        let mut inputs = tile();
        let one = |swap| weights(swap, [1.0, 0.0, 0.0, 0.0], [0.0; 4]);
        inputs.push(one(true));
        inputs.extend([load(0, [9.0; 4]), load(1, [9.0; 4]), load(4, [9.0; 4]), one(false)]);
        inputs.push(Input { load_valid_i: true, ..one(true) });
        inputs.extend([one(false), one(true)]);
        let results: Vec<_> = run(&inputs).into_iter().map(|(_, result)| result).collect();
        let tiles = [[1.0, 2.0, 3.0, 4.0], [9.0, 9.0, 3.0, 4.0], [0.0, 9.0, 3.0, 4.0]];
        assert_eq!(results, [tiles[0], tiles[0], tiles[1], tiles[1], tiles[2]]);
    }

    #[test]
    fn products_are_rounded_and_added_in_the_order_of_the_rows() {
        let ones: Vec<_> = (0..4).map(|column| load(column, [1.0; 4])).collect();
        let of = |weight: [f32; 4], sum: f32| {
            run(&[&ones[..], &[weights(true, weight, [sum; 4])]].concat())[0].1[3]
        };
        // From 2^24 on, binary32 counts in twos.
        let large = 16_777_216.0;
        assert_eq!(of([1.0, 1.0, 0.0, 0.0], large), large);
        assert_eq!(of([0.0; 4], large), large);
        assert_eq!(of([-1.0, 1.0, 0.0, 0.0], large), large);
        assert_eq!(of([1.0, -1.0, 0.0, 0.0], -large), -large);
        // Ties go to multiples of 4; in the other order it would be 2^24 + 2.
        assert_eq!(of([2.0, 1.0, 1.0, -1.0], large), large + 4.0);
        // 1.0009765625 squared is 1.00195407867431640625, and binary16 ends at 2^-10.
        let x = 1.000_976_6;
        let inputs = [load(0, [x; 4]), weights(true, [x, 0.0, 0.0, 0.0], [0.0; 4])];
        assert_eq!(run(&inputs)[0].1[0], 1.001_953_1);
    }
}
