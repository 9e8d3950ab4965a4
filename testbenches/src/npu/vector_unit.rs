// SPDX-License-Identifier: MIT
//! Bench of `vector_unit`: every result is its operation's, every total that of its operations in the contract's order.

use super::{edge, tamed};
use crate::arith::plan::{SORTS, sort};
use crate::arith::{Golden, precision};
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::judge::equal;
use pimlico_golden::npu_vector::{difference, gelu, greatest};
use pimlico_golden::reduction::interleaved_sum;
use pimlico_units::arith::Format;
use pimlico_units::bank::Lanes;
use pimlico_units::npu::{VectorUnit, VectorUnitIn, VectorUnitOut};

/// Cycles from an operation to its result.
const RESULT: usize = 23;

/// Cycles from the operation that ends a total to it.
fn total_latency<L: Lanes>() -> usize {
    3 * L::LEVELS + 16
}

/// The operations by their codes, and what any other code is.
const OPERATIONS: [&str; 11] =
    ["ADD", "SUB", "MUL", "MAX", "EXP", "RECIP", "GELU", "SUM", "DOT", "GREATEST", "none"];
const NONE: usize = 10;
const FIRST: [&str; 2] = ["goes on", "first"];
const LAST: [&str; 2] = ["and on", "last"];
const LENGTHS: [&str; 6] = ["1", "2", "3", "4", "5 to 8", "more"];
/// Those with an operand b.
const WITH_B: [&str; 5] = ["ADD", "SUB", "MUL", "MAX", "DOT"];

fn code<F: Format, L: Lanes>(input: &VectorUnitIn<F, L>) -> usize {
    if input.valid_i { (input.operation_i.get() as usize).min(NONE) } else { NONE }
}

/// Operand b of a lane.
fn operand<F: Format, L: Lanes>(input: &VectorUnitIn<F, L>, lane: usize) -> u32 {
    input.b_i[if input.broadcast_i { 0 } else { lane }].to_bits()
}

/// What a lane's result should have been, if it is wrong.
fn wrong<F: Format>(operation: usize, a: u32, b: u32, got: u32) -> Option<u32> {
    let golden = Golden::of::<F>();
    let expected = match operation {
        0 => golden.add(a, b),
        1 => difference(golden.format, a, b),
        2 => golden.mul(a, b),
        3 => golden.max(a, b),
        4 => return golden.wrong_exp::<F>(a, got),
        5 => golden.recip(a),
        _ => {
            let allowed = gelu(golden.format, a);
            return (!allowed.contains(&got)).then_some(allowed[1]);
        }
    };
    (got != expected).then_some(expected)
}

impl<F: Format, L: Lanes> Bench for VectorUnit<F, L> {
    /// Checks all outputs in every cycle, but those that are open; counts results of lanes, and totals.
    fn oracle(
        inputs: &[VectorUnitIn<F, L>],
        outputs: &[VectorUnitOut<F, L>],
    ) -> Result<u64, OracleError> {
        let golden = precision::<F, F>();
        let mut totals = vec![None; inputs.len() + total_latency::<L>()];
        // Of the present total, each operation summed up over the lanes; and the numbers that the greatest is of.
        let mut sums: Vec<u32> = Vec::new();
        let mut largest = greatest(golden.elements, []);
        let mut checked = 0;
        for (cycle, input) in inputs.iter().enumerate() {
            let operation = code(input);
            if let Some(output) = outputs.get(cycle + RESULT) {
                let due = cycle + RESULT;
                let what = || OPERATIONS[operation].to_owned();
                equal(due, "result_valid_o", output.result_valid_o, operation < 7, what)?;
                for lane in (0..L::COUNT).filter(|_| operation < 7) {
                    let (a, b) = (input.a_i[lane].to_bits(), operand(input, lane));
                    let got = output.result_o[lane].to_bits();
                    if let Some(expected) = wrong::<F>(operation, a, b, got) {
                        let what = format!("{} of {a:04x}, {b:04x}, lane {lane}", what());
                        let (cycle, port) = (due as u64, "result_o");
                        return Err(OracleError { cycle, port, got, expected, what });
                    }
                    checked += 1;
                }
            }
            let a = |lane: usize| input.a_i[lane].to_bits();
            let total = match operation {
                7 | 8 => {
                    let one = golden.elements.one();
                    let factor = |lane| if operation == 8 { operand(input, lane) } else { one };
                    let terms: Vec<_> =
                        (0..L::COUNT).map(|lane| golden.product(a(lane), factor(lane))).collect();
                    if input.first_i {
                        sums.clear();
                    }
                    sums.push(golden.tree_sum(&terms));
                    interleaved_sum(&golden, &sums)
                }
                9 => {
                    let before = (!input.first_i).then_some(largest);
                    largest = greatest(golden.elements, (0..L::COUNT).map(a).chain(before));
                    largest
                }
                _ => continue,
            };
            totals[cycle + total_latency::<L>()] = input.last_i.then_some((total, operation));
        }
        let mut shown = None;
        for (cycle, (output, total)) in outputs.iter().zip(totals).enumerate() {
            let what = || total.map_or("no total", |(_, of)| OPERATIONS[of]).to_owned();
            equal(cycle, "total_valid_o", output.total_valid_o, total.is_some(), what)?;
            shown = total.map(|(total, _)| total).or(shown);
            if let Some(shown) = shown {
                equal(cycle, "total_o", output.total_o.to_bits(), shown, what)?;
            }
            checked += u64::from(total.is_some());
        }
        for (cycle, early) in outputs.iter().enumerate().take(RESULT) {
            let what = || "behind the reset".to_owned();
            equal(cycle, "result_valid_o", early.result_valid_o, false, what)?;
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("operation after operation", &OPERATIONS, &OPERATIONS);
        bins.declare("code without an operation", (10..16).map(|code| code.to_string()));
        bins.cross(
            "operation with an element for all lanes",
            &WITH_B,
            &["a lane's own", "for all"],
        );
        bins.cross("result", &OPERATIONS[..7], &SORTS);
        bins.cross("total", &OPERATIONS[7..NONE], &SORTS);
        bins.cross("operation of a total", &FIRST, &LAST);
        bins.cross("operations of a total", &["sum", "greatest"], &LENGTHS);
        bins.declare("a total within another", ["sum within greatest", "greatest within sum"]);
        bins.declare("sum of both", ["DOT behind SUM", "SUM behind DOT"]);
    }

    fn cover(inputs: &[VectorUnitIn<F, L>], outputs: &[VectorUnitOut<F, L>], bins: &mut Bins) {
        let mut before = NONE;
        // Operations of the total that is under way, of sums and of the greatest, and the last sum's code.
        let mut lengths = [0_usize; 2];
        let mut last_sum = NONE;
        for (cycle, input) in inputs.iter().enumerate() {
            let operation = code(input);
            bins.hit_cross("operation after operation", before, operation);
            before = operation;
            if input.valid_i && operation == NONE {
                bins.hit("code without an operation", input.operation_i.get() as usize - NONE);
            }
            let with_b = [0, 1, 2, 3, 8].iter().position(|with_b| *with_b == operation);
            if let Some(with_b) = with_b {
                let broadcast = usize::from(input.broadcast_i);
                bins.hit_cross("operation with an element for all lanes", with_b, broadcast);
            }
            if let (Some(output), 0..7) = (outputs.get(cycle + RESULT), operation) {
                for lane in 0..L::COUNT {
                    bins.hit_cross("result", operation, sort(output.result_o[lane]));
                }
            }
            if !(7..NONE).contains(&operation) {
                continue;
            }
            let of = usize::from(operation == 9);
            let (first, last) = (usize::from(input.first_i), usize::from(input.last_i));
            bins.hit_cross("operation of a total", first, last);
            lengths[of] = if input.first_i { 1 } else { lengths[of] + 1 };
            if of == 0 && !input.first_i && last_sum != NONE && last_sum != operation {
                bins.hit("sum of both", usize::from(operation == 7));
            }
            if of == 0 {
                last_sum = operation;
            }
            if input.first_i && input.last_i && lengths[1 - of] > 0 {
                bins.hit("a total within another", of);
            }
            if input.last_i {
                let length = match lengths[of] {
                    length @ 1..=4 => length - 1,
                    5..=8 => 4,
                    _ => 5,
                };
                bins.hit_cross("operations of a total", of, length);
                if let Some(output) = outputs.get(cycle + total_latency::<L>()) {
                    bins.hit_cross("total", operation - 7, sort(output.total_o));
                }
            }
        }
    }

    /// Has lanes whose sums are often finite, and edges of the format in all lanes.
    fn arrange(inputs: &mut [VectorUnitIn<F, L>]) {
        for input in inputs {
            // Not by the digits that choose the edge.
            let draw = input.a_i[0].to_bits().wrapping_mul(0x85EB_CA6B) >> 29;
            let (a_edge, b_edge) = (edge(input.a_i[0]), edge(input.b_i[0]));
            for lane in 0..L::COUNT {
                match draw {
                    0 | 1 => {}
                    2 => {
                        input.a_i[lane] = a_edge;
                        input.b_i[lane] = b_edge;
                    }
                    _ => {
                        input.a_i[lane] = tamed(input.a_i[lane]);
                        input.b_i[lane] = tamed(input.b_i[lane]);
                    }
                }
            }
        }
    }
}
