// SPDX-License-Identifier: MIT
//! Sums of the context on their way from the adder unit to the host.

use crate::arith::{Binary16, Binary32, Format, Fp, near, sum_variant};
use crate::gear::{self, DefaultGear, Gear};
use crate::prim::Fifo;
use pimlico_dpa::types::{Element, Head};
use pimlico_ports::{
    Model, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};
use std::array::from_fn;
use std::marker::PhantomData;

ports! {
    /// A queue for the context with sums of format `A`.
    unit ContextQueue<A: Format, G: Gear = DefaultGear>: "context_queue" {
        inputs ContextQueueIn {
            /// Eight sums enter, only where there is room.
            push_i: bool => one_in(3),
            /// Query head of the sums that enter.
            head_i: Head,
            /// The sums that enter, one of each chip.
            sums_i: [Fp<A>; 8] => |entropy: &[u64]| from_fn(|c| near::<Binary16, A>(&entropy[c..])),
            /// `LATE` = 1: the softmax unit accepts the sums, if there are any.
            sum_ready_i: bool => all_but_one_in(16),
            /// `LATE` = 1: the softmax unit has normalised the oldest sums that it has accepted.
            context_valid_i: bool,
            /// `LATE` = 1: the normalised sums, by lane.
            context_i: G::Lanes<Fp<Binary16>>,
        }
        outputs ContextQueueOut {
            /// LATE = 1: there are sums for the softmax unit.
            sum_valid_o: bool,
            /// `LATE` = 1: the sums in binary32, by lane; 0 if there are none.
            sum_o: G::Lanes<Fp<Binary32>>,
            /// `LATE` = 1: query head of the sums; 0 if there are none.
            sum_head_o: Head,
            /// Elements of the context leave.
            valid_o: bool,
            /// The elements of the context that leave, by lane; 0 if there are none.
            element_o: G::Lanes<Element>,
            /// No sum waits as this cycle begins.
            idle_o: bool,
        }
        probes ContextQueueProbe {}
    }
}

/// Rows of eight sums that wait, at the most.
const MOST_ROWS: usize = 256;

/// Rows of eight sums that wait: those that are normalised late leave more slowly.
const fn depth(late: bool) -> usize {
    if late { MOST_ROWS } else { 128 }
}

/// The sums of the chips, and their head.
#[derive(Clone, Copy, Debug, Default)]
struct Row<A: Format> {
    head: Head,
    sums: [Fp<A>; 8],
}

/// Lanes, at the most.
const MOST: usize = 4;
/// Groups of sums that the softmax unit has, at the most.
const HEADS: usize = 16;

/// Sums that leave together, by lane, and their head.
type Group<A> = (Head, [Fp<A>; MOST]);

/// The cycle model of a context queue with sums of format `A`.
///
#[doc = contract!("rank/context_queue")]
#[derive(Clone, Debug)]
pub struct ContextQueue<A: Format, const LATE: bool, G: Gear = DefaultGear> {
    rows: Fifo<Row<A>, MOST_ROWS>,
    /// Groups of the first row that have left.
    index: usize,
    /// A group as it was in its row, and the one before it as it leaves.
    group: Option<Group<A>>,
    out: Option<Group<A>>,
    /// Heads of the sums that the softmax unit has.
    heads: Fifo<Head, HEADS>,
    gear: PhantomData<G>,
}

impl<A: Format, const LATE: bool, G: Gear> Unit for ContextQueue<A, LATE, G> {
    const MODULE: &'static str = "context_queue";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("GEAR", G::TCK as i64),
        ("LATE", LATE as i64),
        ("SUM_EXP_BITS", A::EXP_BITS as i64),
        ("SUM_MAN_BITS", A::MAN_BITS as i64),
        ("DEPTH", depth(LATE) as i64),
    ];
    type In = ContextQueueIn<A, G>;
    type Out = ContextQueueOut<A, G>;
    type Probe = ContextQueueProbe<A, G>;

    fn variant() -> String {
        let late = if LATE { "late" } else { "" };
        let parts = [late.to_owned(), sum_variant::<Binary16, A>()];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        gear::variant::<G>(&parts.collect::<Vec<_>>().join("_"))
    }
}

impl<A: Format, const LATE: bool, G: Gear> Model for ContextQueue<A, LATE, G> {
    fn new() -> Self {
        let (rows, heads) = (Fifo::new(), Fifo::new());
        Self { rows, index: 0, group: None, out: None, heads, gear: PhantomData }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        ContextQueueProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let idle_o = self.rows.oldest().is_none() && self.group.is_none() && self.out.is_none();
        let mut output: Self::Out = ContextQueueOut { idle_o, ..Default::default() };
        if let Some((head, sums)) = self.out {
            if LATE {
                output.sum_valid_o = true;
                output.sum_o = gear::lanes::<G, Fp<Binary32>>(|lane| sums[lane].widen());
                output.sum_head_o = head;
            } else {
                output.valid_o = true;
                output.element_o = gear::lanes::<G, Element>(|lane| {
                    let bits = sums[lane].narrow::<Binary16>().to_bits() as u16;
                    Element { head, bits }
                });
            }
        }
        if LATE
            && input.context_valid_i
            && let Some(head) = self.heads.oldest()
        {
            let context = input.context_i.as_ref();
            output.valid_o = true;
            output.element_o = gear::lanes::<G, Element>(|lane| Element {
                head: *head,
                bits: context[lane].to_bits() as u16,
            });
        }
        output
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let taken = self.out.filter(|_| LATE && input.sum_ready_i).map(|(head, _)| head);
        self.heads.clock(LATE && output.valid_o, taken);
        let entering = Row { head: input.head_i, sums: input.sums_i };
        let follows = self.out.is_none() || !LATE || input.sum_ready_i;
        let moves = self.group.is_none() || follows;
        if follows {
            self.out = self.group;
        }
        let mut over = false;
        if moves {
            let (index, row) = (self.index, self.rows.oldest());
            self.group = row.map(|row| {
                let sums =
                    from_fn(|lane| *row.sums.get(index * G::TCK + lane).unwrap_or(&Fp::ZERO));
                (row.head, sums)
            });
            if self.group.is_some() {
                self.index = (index + 1) % (8 / G::TCK);
                over = self.index == 0;
            }
        }
        self.rows.clock(over, input.push_i.then_some(entering));
        output
    }
}
