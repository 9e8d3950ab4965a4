// SPDX-License-Identifier: MIT
//! Bench of `context_queue`: the sums leave one by one, in their order, each in the right format and with
//! its head.

use super::judge::equal;
use crate::arith::plan::{SORTS, sort};
use crate::arith::{Golden, precision};
use crate::coverage::Bins;
use crate::{Bench, OracleError};
use pimlico_ports::pack;
use pimlico_units::arith::{Binary16, Format};
use pimlico_units::rank::{ContextQueue, ContextQueueIn, ContextQueueOut};
use std::collections::VecDeque;

/// Rows that have room.
const ROWS: usize = 128;
/// tCK from a sum in the softmax unit to its element.
const LATENCY: usize = 2;

const WAITING: [&str; 5] = ["none", "1", "2 to 63", "64 to 127", "128"];
const STATES: [&str; 2] = ["is taken", "waits"];

/// Which of `WAITING` so many rows are.
fn waiting_bin(rows: usize) -> usize {
    match rows {
        0 => 0,
        1 => 1,
        2..64 => 2,
        64..ROWS => 3,
        _ => 4,
    }
}

/// The sums that wait, of rows of eight.
#[derive(Default)]
struct Waiting {
    sums: usize,
}

impl Waiting {
    fn rows(&self) -> usize {
        self.sums.div_ceil(8)
    }

    /// The tCK passes. Whether a sum leaves.
    fn step<A: Format>(&mut self, late: bool, input: &ContextQueueIn<A>) -> bool {
        self.sums += if input.push_i { 8 } else { 0 };
        let leaves = self.sums > 0 && (!late || input.sum_ready_i);
        self.sums -= usize::from(leaves);
        leaves
    }
}

impl<A: Format, const LATE: bool> Bench for ContextQueue<A, LATE> {
    /// Rows come as the adder unit makes them, or faster until there is no room, and then none until all
    /// have left. The softmax unit gives back what it has taken.
    fn arrange(inputs: &mut [ContextQueueIn<A>]) {
        let floods = inputs.first().is_some_and(|first| first.head_i.get() % 2 == 1);
        let mut waiting = Waiting::default();
        let (mut free, mut drains) = (0, false);
        let mut given = [false; LATENCY];
        for (tck, input) in inputs.iter_mut().enumerate() {
            let room = waiting.rows() < ROWS;
            drains = floods && (if drains { waiting.sums > 0 } else { !room });
            input.push_i &= room && !drains && (floods || tck >= free);
            if input.push_i {
                free = tck + 5;
            }
            let drawn = input.context_valid_i;
            input.context_valid_i = given[tck % LATENCY];
            given[tck % LATENCY] = waiting.step(LATE, input);
            if !LATE {
                input.context_valid_i = drawn; // dead
            }
        }
    }

    fn plan(bins: &mut Bins) {
        bins.declare("rows that wait", WAITING);
        bins.declare("head", (0..8).map(|head| head.to_string()));
        bins.declare("chip of the sum", (0..8).map(|chip| chip.to_string()));
        bins.cross("a sum", &STATES, &SORTS);
        if !LATE {
            (SORTS.len()..2 * SORTS.len()).for_each(|sort| bins.leave_out("a sum", sort));
        }
    }

    fn cover(inputs: &[ContextQueueIn<A>], _: &[ContextQueueOut<A>], bins: &mut Bins) {
        let mut waiting = Waiting::default();
        let mut sums = VecDeque::new();
        for input in inputs {
            bins.hit("rows that wait", waiting_bin(waiting.rows()));
            if input.push_i {
                bins.hit("head", input.head_i.get() as usize);
                sums.extend(input.sums_i);
            }
            let leaves = waiting.step(LATE, input);
            if let Some(sum) = sums.front() {
                bins.hit("chip of the sum", (8 - sums.len() % 8) % 8);
                bins.hit_cross("a sum", usize::from(!leaves), sort(*sum));
            }
            if leaves {
                sums.pop_front();
            }
        }
    }

    fn oracle(
        inputs: &[ContextQueueIn<A>],
        outputs: &[ContextQueueOut<A>],
    ) -> Result<u64, OracleError> {
        let (sums_in, precision) = (Golden::of::<A>(), precision::<Binary16, A>());
        let mut sums = VecDeque::new();
        let mut taken = VecDeque::new(); // heads of the sums in the softmax unit
        for (tck, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let number = |sum: u32| move || format!("the sum is {sum:x}");
            equal(tck, "idle_o", output.idle_o, sums.is_empty(), || "no sum waits".to_owned())?;
            if input.push_i {
                sums.extend(input.sums_i.map(|sum| (input.head_i.get(), sum.to_bits())));
            }
            let first = sums.front().copied();
            let (head, sum) = first.unwrap_or_default();
            if LATE {
                let wide = if A::WIDTH == 32 { sum } else { sums_in.widen(sum) };
                equal(tck, "sum_valid_o", output.sum_valid_o, first.is_some(), number(sum))?;
                equal(tck, "sum_o", output.sum_o.to_bits(), wide, number(sum))?;
                equal(tck, "sum_head_o", output.sum_head_o.get(), head, number(sum))?;
                let back = if input.context_valid_i { taken.pop_front() } else { None };
                let element = |head: u64| head << 16 | u64::from(input.context_i.to_bits());
                let what = || "normalised".to_owned();
                equal(tck, "valid_o", output.valid_o, back.is_some(), what)?;
                equal(tck, "element_o", pack(&output.element_o), back.map_or(0, element), what)?;
                taken.extend((first.is_some() && input.sum_ready_i).then_some(head));
            } else {
                let element = if A::WIDTH == 32 { precision.element(sum) } else { sum };
                let element = head << 16 | u64::from(element);
                equal(tck, "valid_o", output.valid_o, first.is_some(), number(sum))?;
                equal(tck, "element_o", pack(&output.element_o), element, number(sum))?;
                equal(tck, "sum_valid_o", output.sum_valid_o, false, number(sum))?;
            }
            if !LATE || input.sum_ready_i {
                sums.pop_front();
            }
        }
        Ok(outputs.len() as u64)
    }
}
