// SPDX-License-Identifier: MIT
//! Bench of `context_queue`: the sums leave one by one, in their order, each in the right format and with
//! its head.

use crate::arith::plan::{SORTS, sort};
use crate::arith::{Golden, precision};
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::judge::equal;
use pimlico_ports::pack;
use pimlico_units::arith::{Binary16, Format};
use pimlico_units::gear::Gear;
use pimlico_units::rank::{ContextQueue, ContextQueueIn, ContextQueueOut};
use std::collections::VecDeque;

/// Rows that have room.
const fn rows(late: bool) -> usize {
    if late { 256 } else { 128 }
}
/// Cycles from a sum in the softmax unit to its element.
const LATENCY: usize = 2;
/// Cycles from a row that enters an empty queue to its first sums.
const QUEUE: usize = 3;

const WAITING: [&str; 5] =
    ["none", "1", "fewer than half", "half or more", "all that there is room for"];
const STATES: [&str; 2] = ["is taken", "waits"];

/// Which of `WAITING` so many rows are.
fn waiting_bin(waiting: usize, late: bool) -> usize {
    match waiting {
        0 => 0,
        1 => 1,
        _ if 2 * waiting < rows(late) => 2,
        _ if waiting < rows(late) => 3,
        _ => 4,
    }
}

/// The sums that wait, and since when.
#[derive(Default)]
struct Waiting {
    sums: VecDeque<usize>,
}

impl Waiting {
    fn rows(&self) -> usize {
        self.sums.len().div_ceil(8)
    }

    /// There are sums that may leave.
    fn offers(&self, cycle: usize) -> bool {
        self.sums.front().is_some_and(|since| since + QUEUE <= cycle)
    }

    /// The cycle passes. Whether sums leave.
    fn step<A: Format, G: Gear>(
        &mut self,
        late: bool,
        cycle: usize,
        input: &ContextQueueIn<A, G>,
    ) -> bool {
        let leave = self.offers(cycle) && (!late || input.sum_ready_i);
        if leave {
            self.sums.drain(..G::TCK);
        }
        if input.push_i {
            self.sums.extend([cycle; 8]);
        }
        leave
    }
}

impl<A: Format, const LATE: bool, G: Gear> Bench for ContextQueue<A, LATE, G> {
    /// Rows come as the adder unit makes them, or faster until there is no room, and then none until all
    /// have left. The softmax unit gives back what it has taken.
    fn arrange(inputs: &mut [ContextQueueIn<A, G>]) {
        let floods = inputs.first().is_some_and(|first| first.head_i.get() % 2 == 1);
        let mut waiting = Waiting::default();
        let (mut free, mut drains) = (0, false);
        let mut given = [false; LATENCY];
        for (cycle, input) in inputs.iter_mut().enumerate() {
            let room = waiting.rows() < rows(LATE);
            drains = floods && (if drains { !waiting.sums.is_empty() } else { !room });
            input.push_i |= floods && cycle % 4 != 0;
            input.push_i &= room && !drains && (floods || cycle >= free);
            if input.push_i {
                free = cycle + G::BURST;
            }
            let drawn = input.context_valid_i;
            input.context_valid_i = given[cycle % LATENCY];
            given[cycle % LATENCY] = waiting.step(LATE, cycle, input);
            if !LATE {
                input.context_valid_i = drawn; // dead
            }
        }
    }

    fn plan(bins: &mut Bins) {
        bins.declare("rows that wait", WAITING);
        bins.declare("head", (0..8).map(|head| head.to_string()));
        bins.declare("chip of the first sum", (0..8 / G::TCK).map(|n| (n * G::TCK).to_string()));
        bins.cross("a sum", &STATES, &SORTS);
        if !LATE {
            (SORTS.len()..2 * SORTS.len()).for_each(|sort| bins.leave_out("a sum", sort));
        }
    }

    fn cover(inputs: &[ContextQueueIn<A, G>], _: &[ContextQueueOut<A, G>], bins: &mut Bins) {
        let mut waiting = Waiting::default();
        let mut sums = VecDeque::new();
        for (cycle, input) in inputs.iter().enumerate() {
            bins.hit("rows that wait", waiting_bin(waiting.rows(), LATE));
            if input.push_i {
                bins.hit("head", input.head_i.get() as usize);
            }
            let offers = waiting.offers(cycle);
            let leave = waiting.step(LATE, cycle, input);
            if offers {
                bins.hit("chip of the first sum", (8 - sums.len() % 8) % 8 / G::TCK);
                for sum in sums.iter().take(G::TCK) {
                    bins.hit_cross("a sum", usize::from(!leave), sort(*sum));
                }
            }
            if leave {
                sums.drain(..G::TCK);
            }
            if input.push_i {
                sums.extend(input.sums_i);
            }
        }
    }

    fn oracle(
        inputs: &[ContextQueueIn<A, G>],
        outputs: &[ContextQueueOut<A, G>],
    ) -> Result<u64, OracleError> {
        let (sums_in, precision) = (Golden::of::<A>(), precision::<Binary16, A>());
        let mut sums = VecDeque::new();
        let mut waiting = Waiting::default();
        let mut taken = VecDeque::new(); // heads of the sums in the softmax unit
        for (cycle, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let idle = sums.is_empty();
            equal(cycle, "idle_o", output.idle_o, idle, || "no sum waits".to_owned())?;
            let offers = waiting.offers(cycle);
            let leave = waiting.step(LATE, cycle, input);
            let (head, _) = sums.front().copied().filter(|_| offers).unwrap_or_default();
            let context: &[_] = input.context_i.as_ref();
            let (got, got_sums): (&[_], &[_]) = (output.element_o.as_ref(), output.sum_o.as_ref());
            let back = if LATE && input.context_valid_i { taken.pop_front() } else { None };
            let valid = if LATE { back.is_some() } else { offers };
            let what = || format!("sums offered: {offers}");
            equal(cycle, "valid_o", output.valid_o, valid, what)?;
            equal(cycle, "sum_valid_o", output.sum_valid_o, LATE && offers, what)?;
            let sum_head = if LATE { head } else { 0 };
            equal(cycle, "sum_head_o", output.sum_head_o.get(), sum_head, what)?;
            for lane in 0..G::TCK {
                let sum = sums.get(lane).copied().filter(|_| offers);
                let sum = sum.map_or(0, |(_, sum): (u64, u32)| sum);
                let number = || format!("lane {lane}, the sum is {sum:x}");
                let wide = if A::WIDTH == 32 { sum } else { sums_in.widen(sum) };
                let offered = if LATE { wide } else { 0 };
                equal(cycle, "sum_o", got_sums[lane].to_bits(), offered, number)?;
                let narrow = if A::WIDTH == 32 { precision.element(sum) } else { sum };
                let element = match back {
                    Some(head) => head << 16 | u64::from(context[lane].to_bits()),
                    None if LATE => 0,
                    None => head << 16 | u64::from(narrow),
                };
                equal(cycle, "element_o", pack(&got[lane]), element, number)?;
            }
            if leave {
                taken.extend(LATE.then_some(head));
                sums.drain(..G::TCK);
            }
            if input.push_i {
                sums.extend(input.sums_i.map(|sum| (input.head_i.get(), sum.to_bits())));
            }
        }
        Ok(outputs.len() as u64)
    }
}
