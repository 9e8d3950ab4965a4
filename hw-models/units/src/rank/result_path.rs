// SPDX-License-Identifier: MIT
//! Results on their way from the data bus through the adder unit.

use super::{BurstTimer, BurstTimerIn};
use crate::arith::{Binary16, Format, Fp, near, sum_variant};
use crate::prim::Fifo;
use pimlico_dpa::types::{Beat, LaneSums, Place, Sum, SumKind, TreeSum};
use pimlico_ports::{Model, U, Unit, ports, stimulus::one_in};
use std::array::from_fn;

ports! {
    /// A way of results with sums of format `A`.
    unit ResultPath<A: Format>: "result_path" {
        inputs ResultPathIn {
            /// Clock: one edge per tCK.
            clk_tck_i: bool,
            /// CL, 2 to 48.
            cl_i: u8,
            /// An RD_RESULT is on the pins: `sum_i` and the partial sums belong to it.
            read_result_i: bool => one_in(3),
            /// What the adder unit does with the burst.
            sum_i: Sum,
            /// Context: the partial sum of each chip at its place.
            partial_sums_i: [Fp<A>; 8] => |entropy: &[u64]| {
                from_fn(|c| near::<Binary16, A>(&entropy[c..]))
            },
            /// Outputs: the partial sum of each element, from its place on.
            partial_outputs_i: [Fp<Binary16>; 4],
            /// The data bus.
            dq_i: Beat,
        }
        outputs ResultPathOut {
            /// An input of the adder unit, in the second beat of a tCK.
            valid_o: bool,
            /// The input is for accumulator mode; 0 without `valid_o`.
            accumulate_o: bool,
            /// The sum starts from +0; 0 without `valid_o`.
            first_o: bool,
            /// The sum ends with the input; 0 without `valid_o`.
            last_o: bool,
            /// Partial sum of an output; 0 without `valid_o`.
            partial_o: Fp<A>,
            /// An element of each chip; 0 without `valid_o`.
            x_o: [Fp<A>; 8],
            /// Owner of the adder unit's sum over the chips; 0 if there is none.
            tree_o: TreeSum,
            /// The adder unit's sums of the chips are those of a burst that ends a sum.
            lanes_valid_o: bool,
            /// Owner of the sums of the chips; 0 if there are none.
            lanes_o: LaneSums,
            /// No burst and no sum are in flight as this tCK begins.
            idle_o: bool,
        }
        probes ResultPathProbe {}
    }
}

/// A burst of results, and what it is added to.
#[derive(Clone, Copy, Debug, Default)]
struct ResultBurst<A: Format> {
    sum: Sum,
    partial_sums: [Fp<A>; 8],
    partial_outputs: [Fp<Binary16>; 4],
}

/// The cycle model of a result path with sums of format `A`.
///
#[doc = contract!("rank/result_path")]
#[derive(Clone, Debug)]
pub struct ResultPath<A: Format> {
    timer: BurstTimer,
    bursts: Fifo<ResultBurst<A>, 16>,
    /// The last three beats, the last one first.
    beats: [Beat; 3],
    /// Whose the sums in the adder unit's tree are, the last one first.
    tree: [Option<TreeSum>; 4],
    lanes: Option<LaneSums>,
}

impl<A: Format> Unit for ResultPath<A> {
    const MODULE: &'static str = "result_path";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("SUM_EXP_BITS", A::EXP_BITS as i64),
        ("SUM_MAN_BITS", A::MAN_BITS as i64),
        ("DEPTH", 16),
    ];
    type In = ResultPathIn<A>;
    type Out = ResultPathOut<A>;
    type Probe = ResultPathProbe<A>;

    fn variant() -> String {
        sum_variant::<Binary16, A>()
    }
}

impl<A: Format> ResultPath<A> {
    /// tCK of an element of the context.
    const TCK: usize = (A::WIDTH / Binary16::WIDTH) as usize;

    /// What each chip has sent, with the byte that is on the bus at the top.
    fn sent(&self, dq: Beat) -> [u32; 8] {
        let [first, second, third] = self.beats;
        from_fn(|chip| {
            u32::from_le_bytes([third, second, first, dq].map(|beat| beat.to_le_bytes()[chip]))
        })
    }
}

impl<A: Format> Model for ResultPath<A> {
    fn new() -> Self {
        Self {
            timer: BurstTimer::new(),
            bursts: Fifo::new(),
            beats: [0; 3],
            tree: [None; 4],
            lanes: None,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        ResultPathProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let timer = BurstTimerIn { command_i: input.read_result_i, latency_i: input.cl_i };
        let on_bus = self.timer.settle(&timer);
        let mut output = ResultPathOut {
            tree_o: self.tree[3].unwrap_or_default(),
            lanes_valid_o: self.lanes.is_some(),
            lanes_o: self.lanes.unwrap_or_default(),
            idle_o: self.bursts.oldest().is_none()
                && self.tree == [None; 4]
                && self.lanes.is_none(),
            ..Default::default()
        };
        let Some(ResultBurst { sum, partial_sums, partial_outputs }) = self.bursts.oldest() else {
            return output;
        };
        let index = on_bus.index_o.get() as usize;
        let context = sum.kind == SumKind::Context;
        if on_bus.busy_o && !context {
            output.valid_o = true;
            output.first_o = sum.kind == SumKind::Scores || !sum.goes_on;
            output.last_o = true;
            output.x_o = self.sent(input.dq_i).map(|sent| element(sent >> 16).widen());
            if !output.first_o {
                output.partial_o = partial_outputs[index].widen();
            }
        } else if on_bus.busy_o && index % Self::TCK == Self::TCK - 1 {
            output.valid_o = true;
            output.accumulate_o = true;
            output.first_o = index < Self::TCK && sum.first && !sum.goes_on;
            output.last_o = on_bus.last_o && sum.last;
            output.x_o = self.sent(input.dq_i).map(|sent| Fp::from_bits(sent >> (32 - A::WIDTH)));
        } else if !on_bus.busy_o && on_bus.ahead_o && context && sum.first && sum.goes_on {
            output.valid_o = true;
            output.accumulate_o = true;
            output.first_o = true;
            output.x_o = *partial_sums;
        }
        output
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let [first, second, _] = self.beats;
        self.beats = [input.dq_i, first, second];
        if !input.clk_tck_i {
            return output;
        }
        let timer = BurstTimerIn { command_i: input.read_result_i, latency_i: input.cl_i };
        let on_bus = self.timer.step(&timer);
        let Sum { kind, head, first, tokens, place, keep, complete, .. } =
            self.bursts.oldest().copied().unwrap_or_default().sum;
        let tree = TreeSum {
            is_output: kind == SumKind::Outputs,
            head,
            first,
            masked: U::new((on_bus.index_o.get() >= tokens.get()).into()),
            keep,
            complete,
            place: Place::new(place.get() + on_bus.index_o.get()),
        };
        self.tree.rotate_right(1);
        self.tree[0] = (on_bus.busy_o && kind != SumKind::Context).then_some(tree);
        self.lanes = (output.accumulate_o && output.last_o).then_some(LaneSums {
            head,
            complete,
            place: place.get() as u8,
        });
        let entering = ResultBurst {
            sum: input.sum_i,
            partial_sums: input.partial_sums_i,
            partial_outputs: input.partial_outputs_i,
        };
        self.bursts.clock(on_bus.last_o, input.read_result_i.then_some(entering));
        output
    }
}

/// A number of the elements' format.
fn element(bits: u32) -> Fp<Binary16> {
    Fp::from_bits(bits)
}
