// SPDX-License-Identifier: MIT
//! Adder unit of the rank PU: eight adders over the eight chips of a rank.

use crate::arith::{Format, Fp, near, sum_parameters, sum_variant};
use pimlico_ports::{
    Model, Open, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};
use std::{array::from_fn, marker::PhantomData};

ports! {
    /// An adder unit.
    unit AdderUnit<F: Format, A: Format = F>: "adder_unit" {
        inputs AdderUnitIn {
            /// Eight elements arrive.
            valid_i: bool => all_but_one_in(8),
            /// 0: tree mode; 1: accumulator mode.
            accumulate_i: bool => one_in(4),
            /// Tree mode: add +0 in place of `partial_i`. Accumulator mode: start from +0.
            first_i: bool => one_in(5),
            /// Accumulator mode: the sums with this input are complete.
            last_i: bool => one_in(4),
            /// Tree mode: sum of earlier passes.
            partial_i: Fp<A> => near::<F, A>,
            /// One element from each chip.
            x_i: [Fp<A>; 8] => |entropy: &[u64]| from_fn(|c| near::<F, A>(&entropy[c..])),
        }
        outputs AdderUnitOut {
            /// `tree_o` is a new sum.
            tree_valid_o: bool,
            /// Tree mode: the sum over the chips, rounded to an element.
            tree_o: Fp<F>,
            /// `lanes_o` are complete sums.
            lanes_valid_o: bool,
            /// Accumulator mode: the sum of each chip's lane.
            lanes_o: [Fp<A>; 8],
        }
        probes AdderUnitProbe {}
    }
}

/// What accompanies an input through the tree.
#[derive(Clone, Copy)]
struct Stage<A> {
    valid: bool,
    /// Operand of the eighth adder.
    partial: Fp<A>,
}

/// The cycle model of an adder unit for elements of format `F` and sums of format `A`.
///
#[doc = contract!("rank/adder_unit")]
#[derive(Clone)]
pub struct AdderUnit<F, A = F> {
    /// Results of the eight adders.
    sum: [Fp<A>; 8],
    /// What stands in the even `sum`, in `sum[1]` and `[5]` and in `sum[3]`, where that belongs to the
    /// tree.
    stages: [Stage<A>; 3],
    tree_valid: bool,
    lanes_valid: bool,
    /// Which of `sum` hold what has been computed since the reset.
    known: [bool; 8],
    element: PhantomData<F>,
}

impl<F: Format, A: Format> Unit for AdderUnit<F, A> {
    const MODULE: &'static str = "adder_unit";
    const PARAMETERS: &'static [(&'static str, i64)] = &sum_parameters::<F, A>();
    type In = AdderUnitIn<F, A>;
    type Out = AdderUnitOut<F, A>;
    type Probe = AdderUnitProbe<F, A>;

    fn variant() -> String {
        sum_variant::<F, A>()
    }
}

impl<F: Format, A: Format> AdderUnit<F, A> {
    /// Cycles from a tree input to its sum.
    pub const TREE_LATENCY: u64 = 4;
    /// Cycles from an accumulator input to its sums.
    pub const ACCUMULATE_LATENCY: u64 = 1;
}

impl<F: Format, A: Format> Model for AdderUnit<F, A> {
    fn new() -> Self {
        Self {
            sum: [Fp::ZERO; 8],
            stages: [Stage { valid: false, partial: Fp::ZERO }; 3],
            tree_valid: false,
            lanes_valid: false,
            known: [false; 8],
            element: PhantomData,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        AdderUnitProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        for k in (0..self.known.len()).filter(|k| !self.known[*k]) {
            open.port("lanes_o").element(k).mark();
        }
        if !self.known[7] {
            open.port("tree_o").mark();
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = AdderUnitOut {
            tree_valid_o: self.tree_valid,
            tree_o: self.sum[7].narrow(),
            lanes_valid_o: self.lanes_valid,
            lanes_o: self.sum,
            ..Default::default()
        };

        let is_idle = !input.valid_i
            && !self.tree_valid
            && !self.lanes_valid
            && self.stages.iter().all(|stage| !stage.valid);
        if is_idle {
            return output;
        }
        let (sum, known, stages, x) = (self.sum, self.known, self.stages, input.x_i);
        let accumulate = input.valid_i && input.accumulate_i;
        if accumulate {
            for c in 0..8 {
                self.sum[c] = x[c] + if input.first_i { Fp::ZERO } else { sum[c] };
                self.known[c] |= input.first_i;
            }
        } else {
            if input.valid_i {
                for c in [0, 2, 4, 6] {
                    self.sum[c] = x[c] + x[c + 1];
                    self.known[c] = true;
                }
            }
            if stages[0].valid {
                self.sum[1] = sum[0] + sum[2];
                self.sum[5] = sum[4] + sum[6];
                self.known[1] = known[0] && known[2];
                self.known[5] = known[4] && known[6];
            }
            if stages[1].valid {
                self.sum[3] = sum[1] + sum[5];
                self.known[3] = known[1] && known[5];
            }
            if stages[2].valid {
                self.sum[7] = sum[3] + stages[2].partial;
                self.known[7] = known[3];
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
    use crate::arith::{Binary16, Binary32};
    use half::f16;

    fn element(value: f32) -> Fp<Binary16> {
        f16::from_f32(value).into()
    }

    #[test]
    fn the_tree_accepts_an_input_in_every_cycle() {
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

    #[test]
    fn the_tree_of_wide_sums_rounds_once_at_the_end() {
        let mut unit = AdderUnit::<Binary16, Binary32>::new();
        unit.step(&AdderUnitIn {
            valid_i: true,
            partial_i: 1.0.into(),
            x_i: [2048.0, 1.0, 0.0, 1.0, 0.0, 0.25, 0.0, 0.0].map(|x: f32| x.into()),
            ..Default::default()
        });
        let output = (0..4).map(|_| unit.step(&AdderUnitIn::default())).last();
        let output = output.expect("some cycles");
        assert!(output.tree_valid_o);
        assert_eq!(output.lanes_o[7], 2051.25.into());
        assert_eq!(f16::from(output.tree_o).to_f32(), 2052.0);
    }
}
