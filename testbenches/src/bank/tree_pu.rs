// SPDX-License-Identifier: MIT
//! Bench of `tree_pu`: every result is the sum that the contract's order of summation gives.

use super::bank_pu::FLAGS;
use crate::arith::plan::{SORTS, sort};
use crate::arith::precision;
use crate::bench::{Bench, OracleError};
use crate::coverage::{Bins, beats::Follow};
use crate::judge::equal;
use pimlico_golden::reduction::{self, Precision};
use pimlico_units::arith::{Format, Fp};
use pimlico_units::bank::{TreePu, TreePuIn, TreePuOut};

/// Cycles from a beat to its result.
const LATENCY: usize = 26;

/// Beats of a sum.
const LENGTHS: [&str; 6] = ["1", "2", "3", "4", "5 to 8", "more"];

fn length_bin(beats: usize) -> usize {
    match beats {
        1..=4 => beats - 1,
        5..=8 => 4,
        _ => 5,
    }
}

impl<F: Format> Bench for TreePu<F> {
    fn plan(bins: &mut Bins) {
        bins.declare("beat", FLAGS);
        Follow::plan("order of beats", &["a beat"], bins);
        bins.declare("beats of a sum", LENGTHS);
        bins.declare("result", SORTS);
        if !F::SUBNORMALS {
            bins.leave_out("result", 3);
        }
    }

    fn cover(inputs: &[TreePuIn<F>], outputs: &[TreePuOut<F>], bins: &mut Bins) {
        let mut order = Follow::new("order of beats", &["a beat"]);
        let mut beats = 0;
        for (cycle, input) in inputs.iter().enumerate().filter(|(_, input)| input.valid_i) {
            bins.hit("beat", usize::from(input.first_i) + 2 * usize::from(input.last_i));
            order.beat(0, cycle, 1, bins);
            beats = if input.first_i { 1 } else { beats + 1 };
            if input.last_i {
                bins.hit("beats of a sum", length_bin(beats));
                if let Some(output) = outputs.get(cycle + LATENCY) {
                    bins.hit("result", sort(output.result_o));
                }
            }
        }
    }

    fn oracle(inputs: &[TreePuIn<F>], outputs: &[TreePuOut<F>]) -> Result<u64, OracleError> {
        let golden: Precision = precision::<F, F>();
        let bits = |numbers: &[Fp<F>; 16]| numbers.map(Fp::to_bits);
        // The beats of the present sum, each summed up over the lanes, and the result that was shown last.
        let mut beats: Vec<u32> = Vec::new();
        let mut expected = vec![None; inputs.len() + LATENCY];
        for (cycle, input) in inputs.iter().enumerate().filter(|(_, input)| input.valid_i) {
            if input.first_i {
                beats.clear();
            }
            let (row, shared) = (bits(&input.row_i), bits(&input.shared_i));
            let products: Vec<u32> =
                row.iter().zip(shared).map(|(x, factor)| golden.product(*x, factor)).collect();
            beats.push(golden.tree_sum(&products));
            if input.last_i {
                expected[cycle + LATENCY] = Some(reduction::interleaved_sum(&golden, &beats));
            }
        }
        let mut shown = None;
        for (cycle, (output, expected)) in outputs.iter().zip(expected).enumerate() {
            let what = || "sum".to_owned();
            equal(cycle, "result_valid_o", output.result_valid_o, expected.is_some(), what)?;
            shown = expected.or(shown);
            if let Some(shown) = shown {
                equal(cycle, "result_o", output.result_o.to_bits(), shown, what)?;
            }
        }
        Ok(outputs.len() as u64)
    }
}
