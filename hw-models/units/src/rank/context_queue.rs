// SPDX-License-Identifier: MIT
//! Sums of the context on their way from the adder unit to the host.

use crate::arith::{Binary16, Binary32, Format, Fp, near, sum_variant};
use crate::prim::Fifo;
use pimlico_dpa::types::{Element, Head};
use pimlico_ports::{
    Model, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};
use std::array::from_fn;

ports! {
    /// A queue for the context with sums of format `A`.
    unit ContextQueue<A: Format>: "context_queue" {
        inputs ContextQueueIn {
            /// Eight sums enter, only where there is room.
            push_i: bool => one_in(3),
            /// Query head of the sums that enter.
            head_i: Head,
            /// The sums that enter, one of each chip.
            sums_i: [Fp<A>; 8] => |entropy: &[u64]| from_fn(|c| near::<Binary16, A>(&entropy[c..])),
            /// `LATE` = 1: the softmax unit accepts the sum, if there is one.
            sum_ready_i: bool => all_but_one_in(16),
            /// `LATE` = 1: the softmax unit has normalised the oldest sum that it has accepted.
            context_valid_i: bool,
            /// `LATE` = 1: the normalised sum.
            context_i: Fp<Binary16>,
        }
        outputs ContextQueueOut {
            /// LATE = 1: there is a sum for the softmax unit.
            sum_valid_o: bool,
            /// `LATE` = 1: the sum in binary32; 0 if there is none.
            sum_o: Fp<Binary32>,
            /// `LATE` = 1: query head of the sum; 0 if there is none.
            sum_head_o: Head,
            /// An element of the context leaves.
            valid_o: bool,
            /// The element of the context that leaves; 0 if there is none.
            element_o: Element,
            /// No sum waits as this tCK begins.
            idle_o: bool,
        }
        probes ContextQueueProbe {}
    }
}

/// Rows of eight sums that wait.
const DEPTH: usize = 128;

/// The sums of the chips, and their head.
#[derive(Clone, Copy, Debug, Default)]
struct Row<A: Format> {
    head: Head,
    sums: [Fp<A>; 8],
}

/// The cycle model of a context queue with sums of format `A`.
///
#[doc = contract!("rank/context_queue")]
#[derive(Clone, Debug)]
pub struct ContextQueue<A: Format, const LATE: bool> {
    rows: Fifo<Row<A>, DEPTH>,
    /// Sums of the first row that have left.
    index: u8,
    /// Heads of the sums that the softmax unit has.
    heads: Fifo<Head, 4>,
}

impl<A: Format, const LATE: bool> Unit for ContextQueue<A, LATE> {
    const MODULE: &'static str = "context_queue";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("LATE", LATE as i64),
        ("SUM_EXP_BITS", A::EXP_BITS as i64),
        ("SUM_MAN_BITS", A::MAN_BITS as i64),
        ("DEPTH", DEPTH as i64),
    ];
    type In = ContextQueueIn<A>;
    type Out = ContextQueueOut<A>;
    type Probe = ContextQueueProbe<A>;

    fn variant() -> String {
        let late = if LATE { "late" } else { "" };
        let parts = [late.to_owned(), sum_variant::<Binary16, A>()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
    }
}

impl<A: Format, const LATE: bool> ContextQueue<A, LATE> {
    /// The row whose sums leave: the oldest, or the one that enters.
    fn row(&self, input: &ContextQueueIn<A>) -> Option<Row<A>> {
        let entering = Row { head: input.head_i, sums: input.sums_i };
        self.rows.oldest().copied().or(input.push_i.then_some(entering))
    }
}

impl<A: Format, const LATE: bool> Model for ContextQueue<A, LATE> {
    fn new() -> Self {
        Self { rows: Fifo::new(), index: 0, heads: Fifo::new() }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        ContextQueueProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let mut output =
            ContextQueueOut { idle_o: self.rows.oldest().is_none(), ..Default::default() };
        if let Some(Row { head, sums }) = self.row(input) {
            let sum = sums[usize::from(self.index)];
            if LATE {
                output.sum_valid_o = true;
                output.sum_o = sum.widen();
                output.sum_head_o = head;
            } else {
                output.valid_o = true;
                output.element_o =
                    Element { head, bits: sum.narrow::<Binary16>().to_bits() as u16 };
            }
        }
        if LATE
            && input.context_valid_i
            && let Some(head) = self.heads.oldest()
        {
            output.valid_o = true;
            output.element_o = Element { head: *head, bits: input.context_i.to_bits() as u16 };
        }
        output
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let leaves = self.row(input).filter(|_| !LATE || input.sum_ready_i);
        let entering = Row { head: input.head_i, sums: input.sums_i };
        let over = leaves.is_some() && self.index == 7;
        self.rows.clock(over, input.push_i.then_some(entering));
        if let Some(Row { head, .. }) = leaves {
            self.index = (self.index + 1) % 8;
            if LATE {
                self.heads.clock(output.valid_o, Some(head));
                return output;
            }
        }
        self.heads.clock(LATE && output.valid_o, None);
        output
    }
}
