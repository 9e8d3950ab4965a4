// SPDX-License-Identifier: MIT
//! Bench of `adder_unit`: every sum is the one that the contract's order of summation gives.

use crate::arith::plan::{SORTS, sort};
use crate::arith::precision;
use crate::bank::bank_pu::{FLAGS, MODES};
use crate::coverage::{Bins, beats::Follow};
use crate::{Bench, OracleError};
use pimlico_units::arith::Format;
use pimlico_units::rank::{AdderUnit, AdderUnitIn, AdderUnitOut};

/// Cycles from an input to its sum.
const TREE_LATENCY: usize = 4;
const ACCUMULATE_LATENCY: usize = 1;
/// A tree input needs the adders for so many cycles after its own.
const TREE_HAZARD: usize = 3;

const CHIPS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// Follows the lanes by arithmetic alone. A lane is `None` where the contract promises nothing: where
/// it has had no first input, and where the modes have met in the adders.
impl<F: Format, A: Format> Bench for AdderUnit<F, A> {
    fn plan(bins: &mut Bins) {
        bins.cross("input", &MODES, &FLAGS);
        // No sum in tree mode has a last input.
        for flags in [2, 3] {
            bins.leave_out("input", flags);
        }
        Follow::plan("order of inputs", &MODES, bins);
        bins.cross("sum", &MODES, &SORTS);
        for mode in 0..MODES.len() {
            if !F::SUBNORMALS || mode == 1 && A::WIDTH > F::WIDTH {
                bins.leave_out("sum", mode * SORTS.len() + 3);
            }
        }
        bins.cross("chip, element", &CHIPS, &SORTS);
    }

    fn cover(inputs: &[AdderUnitIn<F, A>], outputs: &[AdderUnitOut<F, A>], bins: &mut Bins) {
        let mut order = Follow::new("order of inputs", &MODES);
        for (cycle, input) in inputs.iter().enumerate().filter(|(_, input)| input.valid_i) {
            let mode = usize::from(input.accumulate_i);
            let last = input.accumulate_i && input.last_i;
            bins.hit_cross("input", mode, usize::from(input.first_i) + 2 * usize::from(last));
            order.beat(mode, cycle, 1, bins);
            for (chip, x) in input.x_i.iter().enumerate() {
                bins.hit_cross("chip, element", chip, sort(*x));
            }
            let latency = if input.accumulate_i { ACCUMULATE_LATENCY } else { TREE_LATENCY };
            let Some(output) = outputs.get(cycle + latency) else { continue };
            if output.lanes_valid_o && last {
                bins.hit_cross("sum", mode, sort(output.lanes_o[0]));
            } else if output.tree_valid_o && !input.accumulate_i {
                bins.hit_cross("sum", mode, sort(output.tree_o));
            }
        }
    }

    fn oracle(
        inputs: &[AdderUnitIn<F, A>],
        outputs: &[AdderUnitOut<F, A>],
    ) -> Result<u64, OracleError> {
        let golden = precision::<F, A>();
        let mut lanes = [None; 8];
        let mut tree_until = 0; // the cycle from which no tree input needs the adders
        let mut checked = 0;
        for (cycle, input) in inputs.iter().enumerate().filter(|(_, input)| input.valid_i) {
            let x = input.x_i.map(|x| x.to_bits());
            if input.accumulate_i {
                for (lane, x) in lanes.iter_mut().zip(x) {
                    let sum = if input.first_i { Some(0) } else { *lane };
                    *lane = sum.map(|sum| golden.add(x, sum)).filter(|_| cycle >= tree_until);
                }
                let Some(output) = outputs.get(cycle + ACCUMULATE_LATENCY) else { break };
                for (k, lane) in lanes.into_iter().enumerate() {
                    let (true, Some(expected)) = (input.last_i, lane) else { continue };
                    let valid = output.lanes_valid_o;
                    let got = output.lanes_o[k].to_bits();
                    check(cycle + ACCUMULATE_LATENCY, "lanes_o", valid, got, expected)?;
                    checked += 1;
                }
            } else {
                lanes = [None; 8];
                tree_until = cycle + 1 + TREE_HAZARD;
                let mut after = inputs[cycle + 1..].iter().take(TREE_HAZARD);
                if after.any(|input| input.valid_i && input.accumulate_i) {
                    continue;
                }
                let Some(output) = outputs.get(cycle + TREE_LATENCY) else { break };
                let partial = if input.first_i { 0 } else { input.partial_i.to_bits() };
                let (valid, got) = (output.tree_valid_o, output.tree_o.to_bits());
                let expected = golden.element(golden.add(golden.chips_sum(x), partial));
                check(cycle + TREE_LATENCY, "tree_o", valid, got, expected)?;
                checked += 1;
            }
        }
        Ok(checked)
    }
}

/// Checks a sum that must be new in `cycle`.
fn check(
    cycle: usize,
    port: &'static str,
    valid: bool,
    got: u32,
    expected: u32,
) -> Result<(), OracleError> {
    if valid && got == expected {
        return Ok(());
    }
    let what = if valid { "wrong sum" } else { "a sum is due, and its valid flag is not set" };
    Err(OracleError { cycle: cycle as u64, port, got, expected, what: what.to_owned() })
}
