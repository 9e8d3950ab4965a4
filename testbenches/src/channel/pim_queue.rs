// SPDX-License-Identifier: MIT
//! Bench of `pim_queue`: operations and commands are those of `golden`'s list of all requests.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::pim_order::{PimOrder, PimWish};
use pimlico_ports::{Model, U};
use pimlico_units::channel::{PimQueue, PimQueueIn, PimQueueOut};

const KINDS: [&str; 6] = ["HEADER", "GWRITE", "GEMV", "DOTPRODUCT", "RDRESULT", "unknown"];
const STATES: [&str; 4] = ["no operation", "GEMV", "GEMV, admitted", "GWRITE"];
const ENDS: [&str; 5] = ["GEMV", "RDRESULT", "GWRITE", "dropped GEMV", "another operation"];
const LEVELS: [&str; 4] = ["empty", "one", "some", "full"];

/// Requests that wait.
const DEPTH: usize = 16;

fn wish(input: &PimQueueIn) -> PimWish {
    PimWish {
        kind: input.kind_i.get(),
        bank: input.bank_i.get(),
        row: input.row_i.get(),
        word: input.word_i.get(),
        count: input.count_i.get(),
        results: input.results_i.get(),
        first: input.first_i,
        last: input.last_i,
    }
}

fn state(output: &PimQueueOut) -> usize {
    match (output.op_valid_o, output.op_gwrite_o, output.admitted_o) {
        (false, ..) => 0,
        (_, true, _) => 3,
        (.., admitted) => 1 + usize::from(admitted),
    }
}

impl Bench for PimQueue {
    /// Checks all outputs in every cycle.
    fn oracle(inputs: &[PimQueueIn], outputs: &[PimQueueOut]) -> Result<u64, OracleError> {
        let mut order = PimOrder::new(DEPTH);
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            let operation = order.last_operation().unwrap_or_default();
            let command = order.command(cycle);
            let head = command.unwrap_or_default();
            let expected = PimQueueOut {
                ready_o: order.has_room(),
                op_valid_o: order.operation().is_some(),
                op_gwrite_o: operation.kind == 1,
                op_bank_o: U::new(operation.bank),
                op_row_o: U::new(operation.row),
                op_count_o: U::new(operation.count),
                op_results_o: U::new(operation.results),
                admitted_o: order.is_admitted(),
                command_valid_o: command.is_some(),
                command_kind_o: U::new(head.kind),
                command_word_o: U::new(head.word),
                command_count_o: U::new(head.count),
                command_first_o: head.first,
                command_last_o: head.last,
                empty_o: order.is_empty(cycle),
                fault_o: order.has_fault(),
            };
            OracleError::unless_equal(cycle, output, &expected)?;
            let accepts = input.valid_i && order.has_room();
            order.cycle(cycle, input.admit_i, input.refresh_i, input.taken_i);
            if accepts {
                order.wish(cycle, wish(input));
            }
        }
        Ok(outputs.len() as u64)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("request, state", &KINDS, &STATES);
        bins.declare("an operation ends by", ENDS);
        bins.declare("requests that wait", LEVELS);
        bins.cross("fault, state", &["command", "words", "unknown", "operation"], &STATES[..3]);
        bins.declare("admission", ["lost to a REF", "with a REF", "kept"]);
        // A command is dropped without an operation alone, words and operations with one; words are not looked at without.
        for (fault, state) in [(0, 1), (0, 2), (1, 0), (3, 0)] {
            bins.leave_out("fault, state", fault * 3 + state);
        }
    }

    fn cover(inputs: &[PimQueueIn], outputs: &[PimQueueOut], bins: &mut Bins) {
        let mut waiting: Vec<PimWish> = Vec::new();
        let mut order = PimOrder::new(DEPTH);
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            let now = state(output);
            bins.hit(
                "requests that wait",
                match waiting.len() {
                    0 => 0,
                    1 => 1,
                    DEPTH => 3,
                    _ => 2,
                },
            );
            let before = order.clone();
            let accepts = input.valid_i && output.ready_o;
            order.cycle(cycle, input.admit_i, input.refresh_i, input.taken_i);
            if before.operation().is_some() && order.operation().is_none() {
                let by = match (before.operation(), before.command(cycle), waiting.first()) {
                    (Some(PimWish { kind: 1, .. }), ..) => 2,
                    (_, Some(PimWish { kind: 4, .. }), _) => 1,
                    (_, Some(_), _) => 0,
                    (.., Some(PimWish { kind: 2, .. })) => 3,
                    _ => 4,
                };
                bins.hit("an operation ends by", by);
            }
            if order.has_fault()
                && let Some(head) = waiting.first()
            {
                let fault = match (head.kind, now) {
                    (5.., _) => 2,
                    (0 | 1, _) => 3,
                    (_, 0) => 0,
                    _ => 1,
                };
                bins.hit_cross("fault, state", fault, now);
            }
            if before.is_admitted() {
                match (input.refresh_i, order.is_admitted()) {
                    (true, _) => bins.hit("admission", 0),
                    (_, true) => bins.hit("admission", 2),
                    _ => {}
                }
            } else if input.refresh_i && input.admit_i && before.operation().is_some() {
                bins.hit("admission", 1);
            }
            if order.served() > before.served() {
                waiting.remove(0);
            }
            if accepts {
                bins.hit_cross("request, state", (input.kind_i.get() as usize).min(5), now);
                order.wish(cycle, wish(input));
                waiting.push(wish(input));
            }
        }
    }

    /// Most requests belong to operations, and what is there is taken; the queue is full for some of the time.
    fn arrange(inputs: &mut [PimQueueIn]) {
        let mut unit = PimQueue::new();
        let (mut left, mut header) = (0u64, true);
        for input in inputs {
            let draw = input.row_i.get();
            // Nothing is taken for a while, so that the queue fills up.
            let is_slow = draw >> 6 & 15 < 11 && input.bank_i.get() & 16 != 0;
            if draw & 63 != 0 {
                if header {
                    input.kind_i = U::new(u64::from(draw >> 10 & 3 == 0));
                    header = input.kind_i.get() == 1;
                    left = draw >> 12 & 3;
                } else {
                    input.kind_i = U::new([2, 2, 3, 4][(draw >> 10 & 3) as usize]);
                    let is_end = left == 0 && input.kind_i.get() != 3;
                    input.last_i = is_end || input.kind_i.get() == 3 && input.last_i;
                    left = left.saturating_sub(1);
                    header = is_end;
                    let room = 31 - input.word_i.get();
                    if draw & 62 != 0 {
                        input.count_i = U::new(input.count_i.get().min(room));
                    }
                }
            }
            let now = unit.settle(input);
            if input.valid_i && !now.ready_o && draw & 63 != 0 {
                // The request comes again.
                left += u64::from(input.kind_i.get() > 1);
            }
            let may = now.command_valid_o || now.op_valid_o && now.op_gwrite_o;
            input.taken_i &= may && !is_slow;
            unit.step(input);
        }
    }
}
