// SPDX-License-Identifier: MIT
//! The rank PU's adder unit: eight adders over the eight chips of a rank (L3 section 4.2).
//!
//! Twin of `rtl/rank/adder_unit.sv`; this header is the contract of both.
//!
//! A clock is one tCK: two beats of 64 bits on the data bus, so one element from each chip. A burst
//! of 32 elements takes four clocks.
//!
//! **Tree mode** (`accumulate_i` = 0; score and FC). One sum over the chips in each clock,
//! `((x0+x1)+(x2+x3)) + ((x4+x5)+(x6+x7))`; the eighth adder adds `partial_i`, the sum of earlier
//! passes, or +0 where `first_i` is set:
//!
//! ```text
//! clock          0        1          2          3          4
//! inputs         x, partial
//! sum[0..4]               x0+x1 ...
//! sum[4], [5]                        s0+s1 ...
//! sum[6]                                        s4+s5
//! sum[7] = tree_o                                          s6+partial    tree_valid_o
//! ```
//!
//! **Accumulator mode** (`accumulate_i` = 1; context). Each chip's lane accumulates by itself,
//! `sum[c] = x_c + sum[c]`, from +0 where `first_i` is set; `last_i` marks a complete sum:
//!
//! ```text
//! clock          0        1
//! inputs         x, last
//! sum[c] = lanes_o[c]     x_c+sum_c      lanes_valid_o
//! ```
//!
//! Both modes use the same adders and registers. Where tree sums are still on their way when an
//! accumulator input arrives, the latter has the adders and the former are lost: leave three clocks
//! between the last tree input and the first accumulator input.

use crate::arith::{Format, Fp};
use pimlico_ports::{
    Model, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// An adder unit.
    unit AdderUnit<F: Format>: "adder_unit" {
        inputs AdderUnitIn {
            /// Eight elements arrive.
            valid_i: bool => all_but_one_in(8),
            /// 0: tree mode; 1: accumulator mode.
            accumulate_i: bool => one_in(4),
            /// Tree mode: add +0 in place of `partial_i`. Accumulator mode: start from +0.
            first_i: bool => one_in(5),
            /// Accumulator mode: the sums with this input are complete.
            last_i: bool => one_in(4),
            /// Tree mode: what earlier passes have summed up.
            partial_i: Fp<F>,
            /// One element from each chip.
            x_i: [Fp<F>; 8],
        }
        outputs AdderUnitOut {
            /// `tree_o` is a new sum.
            tree_valid_o: bool,
            /// Tree mode: the sum over the chips.
            tree_o: Fp<F>,
            /// `lanes_o` are complete sums.
            lanes_valid_o: bool,
            /// Accumulator mode: the sum of each chip's lane.
            lanes_o: [Fp<F>; 8],
        }
        probes AdderUnitProbe {}
    }
}

/// What accompanies an input through the tree.
#[derive(Clone, Copy)]
struct Stage<F> {
    valid: bool,
    /// Operand of the eighth adder.
    partial: Fp<F>,
}

/// The model of an adder unit.
#[derive(Clone)]
pub struct AdderUnit<F> {
    /// Results of the eight adders.
    sum: [Fp<F>; 8],
    /// What stands in `sum[0..4]`, `sum[4..6]` and `sum[6]`, where that belongs to the tree.
    stages: [Stage<F>; 3],
    tree_valid: bool,
    lanes_valid: bool,
}

impl<F: Format> Unit for AdderUnit<F> {
    const MODULE: &'static str = "adder_unit";
    const PARAMETERS: &'static [(&'static str, i64)] = &F::PARAMETERS;
    type In = AdderUnitIn<F>;
    type Out = AdderUnitOut<F>;
    type Probe = AdderUnitProbe<F>;

    fn variant() -> String {
        F::LABEL.to_owned()
    }
}

impl<F: Format> AdderUnit<F> {
    /// Clocks from a tree input to its sum.
    pub const TREE_LATENCY: u64 = 4;
    /// Clocks from an accumulator input to its sums.
    pub const ACCUMULATE_LATENCY: u64 = 1;
}

impl<F: Format> Model for AdderUnit<F> {
    fn new() -> Self {
        Self {
            sum: [Fp::ZERO; 8],
            stages: [Stage { valid: false, partial: Fp::ZERO }; 3],
            tree_valid: false,
            lanes_valid: false,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        AdderUnitProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = AdderUnitOut {
            tree_valid_o: self.tree_valid,
            tree_o: self.sum[7],
            lanes_valid_o: self.lanes_valid,
            lanes_o: self.sum,
            ..Default::default()
        };

        let (sum, stages, x) = (self.sum, self.stages, input.x_i);
        let accumulate = input.valid_i && input.accumulate_i;
        if accumulate {
            for c in 0..8 {
                self.sum[c] = x[c] + if input.first_i { Fp::ZERO } else { sum[c] };
            }
        } else {
            if input.valid_i {
                for pair in 0..4 {
                    self.sum[pair] = x[2 * pair] + x[2 * pair + 1];
                }
            }
            if stages[0].valid {
                self.sum[4] = sum[0] + sum[1];
                self.sum[5] = sum[2] + sum[3];
            }
            if stages[1].valid {
                self.sum[6] = sum[4] + sum[5];
            }
            if stages[2].valid {
                self.sum[7] = sum[6] + stages[2].partial;
            }
        }
        let partial = if input.first_i { Fp::ZERO } else { input.partial_i };
        let entering = Stage { valid: input.valid_i && !input.accumulate_i, partial };
        self.stages = [entering, stages[0], stages[1]];
        self.tree_valid = stages[2].valid && !accumulate;
        self.lanes_valid = accumulate && input.last_i;
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::Binary16;
    use half::f16;

    fn element(value: f32) -> Fp<Binary16> {
        f16::from_f32(value).into()
    }

    #[test]
    fn the_tree_takes_an_input_in_every_clock() {
        let mut unit = AdderUnit::<Binary16>::new();
        let outputs: Vec<_> = (0..8u8)
            .map(|n| {
                unit.step(&AdderUnitIn {
                    valid_i: n < 3,
                    first_i: n != 1,
                    partial_i: element(100.0),
                    x_i: [element(f32::from(n)); 8],
                    ..Default::default()
                })
            })
            .collect();
        let sums: Vec<_> =
            outputs.iter().map(|o| o.tree_valid_o.then(|| f16::from(o.tree_o).to_f32())).collect();
        assert_eq!(sums, [None, None, None, None, Some(0.0), Some(108.0), Some(16.0), None]);
    }

    #[test]
    fn lanes_accumulate_by_themselves() {
        let mut unit = AdderUnit::<Binary16>::new();
        for n in 0..4 {
            let output = unit.step(&AdderUnitIn {
                valid_i: true,
                accumulate_i: true,
                first_i: n == 0,
                last_i: n == 3,
                x_i: std::array::from_fn(|c| element(c as f32)),
                ..Default::default()
            });
            assert!(!output.lanes_valid_o);
        }
        let output = unit.step(&AdderUnitIn::default());
        assert!(output.lanes_valid_o);
        let lanes = output.lanes_o.map(|x| f16::from(x).to_f32());
        assert_eq!(lanes, [0.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0]);
    }
}
