// SPDX-License-Identifier: MIT
//! Bench of `bank_pu`: every result is the sum that the contract's order of summation gives.

use crate::arith::precision;
use crate::{Bench, OracleError};
use pimlico_units::arith::Format;
use pimlico_units::bank::{BankPu, BankPuIn, BankPuOut};

/// Cycles from a beat to its result.
const TREE_LATENCY: usize = 4;
const ACCUMULATE_LATENCY: usize = 2;
/// A tree beat needs the adders for so many cycles after its own.
const TREE_HAZARD: usize = 2;

/// Follows the running sums by arithmetic alone. A sum is `None` where the contract promises
/// nothing: where the modes have met in the adders.
impl<F: Format, A: Format> Bench for BankPu<F, A> {
    fn oracle(inputs: &[BankPuIn<F, A>], outputs: &[BankPuOut<F, A>]) -> Result<u64, OracleError> {
        let golden = precision::<F, A>();
        let mut tree_sum = Some(0);
        let mut sums = [Some(0); 4];
        let mut tree_until = 0; // the cycle from which no tree beat needs the adders
        let mut checked = 0;
        for (cycle, input) in inputs.iter().enumerate().filter(|(_, input)| input.valid_i) {
            let row = input.row_i.map(|x| x.to_bits());
            let shared = input.shared_i.map(|x| x.to_bits());
            let start = |sum: Option<u32>| if input.first_i { Some(0) } else { sum };
            if input.accumulate_i {
                let scalar = shared[input.select_i.get() as usize];
                for (sum, x) in sums.iter_mut().zip(row) {
                    *sum = start(*sum).map(|sum| golden.add(golden.product(x, scalar), sum));
                }
                if cycle < tree_until {
                    sums = [None; 4];
                }
                tree_sum = None;
                let output = outputs.get(cycle + ACCUMULATE_LATENCY);
                if let (true, Some(output), [Some(a), Some(b), Some(c), Some(d)]) =
                    (input.last_i, output, sums)
                {
                    for (k, expected) in [a, b, c, d].into_iter().enumerate() {
                        check(cycle + ACCUMULATE_LATENCY, output, k, expected)?;
                    }
                    checked += 4;
                }
            } else {
                let products = std::array::from_fn(|k| golden.product(row[k], shared[k]));
                let tree = golden.lanes_sum(products);
                tree_sum = start(tree_sum).map(|sum| golden.add(tree, sum));
                let after = inputs[cycle + 1..].iter().take(TREE_HAZARD);
                if after.into_iter().any(|input| input.valid_i && input.accumulate_i) {
                    tree_sum = None;
                }
                sums = [None; 4];
                tree_until = cycle + 1 + TREE_HAZARD;
                let output = outputs.get(cycle + TREE_LATENCY);
                if let (true, Some(output), Some(sum)) = (input.last_i, output, tree_sum) {
                    check(cycle + TREE_LATENCY, output, 0, golden.element(sum))?;
                    checked += 1;
                }
            }
        }
        Ok(checked)
    }
}

/// Checks element `k` of a result that must be new in `cycle`.
fn check<F: Format, A: Format>(
    cycle: usize,
    output: &BankPuOut<F, A>,
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
