// SPDX-License-Identifier: MIT
//! Bench of `bank_pu`: every result is the sum that the contract's order of summation gives.

use crate::arith::plan::{SORTS, sort};
use crate::arith::precision;
use crate::bench::{Bench, OracleError};
use crate::coverage::{Bins, beats::Follow};
use pimlico_units::arith::{Format, Fp};
use pimlico_units::bank::{BankPu, BankPuIn, BankPuOut, Lanes};

/// Cycles from an accumulator beat to its results.
const ACCUMULATE_LATENCY: usize = 2;

pub(crate) const MODES: [&str; 2] = ["tree", "accumulator"];
pub(crate) const FLAGS: [&str; 4] = ["between", "first", "last", "first and last"];

/// Follows the running sums by arithmetic alone. A sum is `None` where the contract promises
/// nothing: where it has had no first beat, and where the modes have met in the adders.
impl<F: Format, A: Format, L: Lanes> Bench for BankPu<F, A, L> {
    fn plan(bins: &mut Bins) {
        bins.cross("beat", &MODES, &FLAGS);
        Follow::plan("order of beats", &MODES, bins);
        bins.cross("result", &MODES, &SORTS);
        // Sums in a wider format than the elements' are never so small.
        for mode in 0..MODES.len() {
            if !F::SUBNORMALS || mode == 1 && A::WIDTH > F::WIDTH {
                bins.leave_out("result", mode * SORTS.len() + 3);
            }
        }
    }

    fn cover(inputs: &[BankPuIn<F, A, L>], outputs: &[BankPuOut<F, A, L>], bins: &mut Bins) {
        let mut order = Follow::new("order of beats", &MODES);
        let tree_latency = 2 + L::COUNT.ilog2() as usize;
        for (cycle, input) in inputs.iter().enumerate().filter(|(_, input)| input.valid_i) {
            let mode = usize::from(input.accumulate_i);
            let flags = usize::from(input.first_i) + 2 * usize::from(input.last_i);
            bins.hit_cross("beat", mode, flags);
            order.beat(mode, cycle, 1, bins);
            let latency = if input.accumulate_i { ACCUMULATE_LATENCY } else { tree_latency };
            let output = outputs.get(cycle + latency).filter(|_| input.last_i);
            if let Some(result) = output.map(|output| output.result_o[0]) {
                let of_elements = Fp::<F>::from_bits(result.to_bits());
                let sort = if input.accumulate_i { sort(result) } else { sort(of_elements) };
                bins.hit_cross("result", mode, sort);
            }
        }
    }

    fn oracle(
        inputs: &[BankPuIn<F, A, L>],
        outputs: &[BankPuOut<F, A, L>],
    ) -> Result<u64, OracleError> {
        let golden = precision::<F, A>();
        // Cycles from a tree beat to its result, and for which it needs the adders after its own.
        let tree_latency = 2 + L::COUNT.ilog2() as usize;
        let tree_hazard = tree_latency - 2;
        let lanes = || 0..L::COUNT;
        let mut tree_sum = None;
        let mut sums = vec![None; L::COUNT];
        let mut tree_until = 0; // the cycle from which no tree beat needs the adders
        let mut checked = 0;
        for (cycle, input) in inputs.iter().enumerate().filter(|(_, input)| input.valid_i) {
            let row: Vec<u32> = lanes().map(|k| input.row_i[k].to_bits()).collect();
            let shared: Vec<u32> = lanes().map(|k| input.shared_i[k].to_bits()).collect();
            let start = |sum: Option<u32>| if input.first_i { Some(0) } else { sum };
            if input.accumulate_i {
                for ((sum, x), factor) in sums.iter_mut().zip(&row).zip(&shared) {
                    *sum = start(*sum).map(|sum| golden.add(golden.product(*x, *factor), sum));
                }
                if cycle < tree_until {
                    sums.fill(None);
                }
                tree_sum = None;
                let output = outputs.get(cycle + ACCUMULATE_LATENCY);
                let expected: Option<Vec<u32>> = sums.iter().copied().collect();
                if let (true, Some(output), Some(expected)) = (input.last_i, output, expected) {
                    for (k, expected) in expected.into_iter().enumerate() {
                        check(cycle + ACCUMULATE_LATENCY, output, k, expected)?;
                    }
                    checked += L::COUNT as u64;
                }
            } else {
                let products: Vec<u32> =
                    lanes().map(|k| golden.product(row[k], shared[k])).collect();
                let tree = golden.tree_sum(&products);
                tree_sum = start(tree_sum).map(|sum| golden.add(tree, sum));
                let after = inputs[cycle + 1..].iter().take(tree_hazard);
                if after.into_iter().any(|input| input.valid_i && input.accumulate_i) {
                    tree_sum = None;
                }
                sums.fill(None);
                tree_until = cycle + 1 + tree_hazard;
                let output = outputs.get(cycle + tree_latency);
                if let (true, Some(output), Some(sum)) = (input.last_i, output, tree_sum) {
                    check(cycle + tree_latency, output, 0, golden.element(sum))?;
                    checked += 1;
                }
            }
        }
        Ok(checked)
    }
}

/// Checks element `k` of a result that must be new in `cycle`.
fn check<F: Format, A: Format, L: Lanes>(
    cycle: usize,
    output: &BankPuOut<F, A, L>,
    k: usize,
    expected: u32,
) -> Result<(), OracleError> {
    let got = output.result_o[k].to_bits();
    let cycle = cycle as u64;
    if !output.result_valid_o {
        let what = "a result is due".to_owned();
        return Err(OracleError { cycle, port: "result_valid_o", got: 0, expected: 1, what });
    }
    if got != expected {
        let what = format!("element {k}");
        return Err(OracleError { cycle, port: "result_o", got, expected, what });
    }
    Ok(())
}
