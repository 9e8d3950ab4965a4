// SPDX-License-Identifier: MIT
//! Bench of `relayout_unit`: every bit of a group is where `golden` says, and everything else passes.

use crate::bench::{Bench, OracleError};
use crate::coverage::{Bins, beats::Follow};
use pimlico_golden::relayout::Widths;
use pimlico_units::rank::{RelayoutUnit, RelayoutUnitIn, RelayoutUnitOut};

impl<const ELEMENT_BITS: usize, const CHIP_BITS: usize> Bench
    for RelayoutUnit<ELEMENT_BITS, CHIP_BITS>
{
    fn plan(bins: &mut Bins) {
        bins.declare("group", GROUPS);
        Follow::plan("order of groups", &GROUPS, bins);
    }

    fn cover(inputs: &[RelayoutUnitIn], _: &[RelayoutUnitOut], bins: &mut Bins) {
        let beats = Widths { element_bits: ELEMENT_BITS, chip_bits: CHIP_BITS }.beats();
        let mut order = Follow::new("order of groups", &GROUPS);
        let mut cycle = 0;
        while let Some(first) = inputs.get(cycle) {
            if !first.valid_i {
                cycle += 1;
                continue;
            }
            let kind = match (first.bypass_i, first.to_host_i) {
                (false, false) => 0,
                (false, true) => 1,
                (true, false) => 2,
                (true, true) => 3,
            };
            bins.hit("group", kind);
            order.beat(kind, cycle, beats, bins);
            cycle += beats;
        }
    }

    fn oracle(inputs: &[RelayoutUnitIn], outputs: &[RelayoutUnitOut]) -> Result<u64, OracleError> {
        let widths = Widths { element_bits: ELEMENT_BITS, chip_bits: CHIP_BITS };
        let expected = expected(widths, inputs);
        let reset = RelayoutUnitOut::default();
        let delayed = std::iter::repeat_n(&reset, widths.beats()).chain(&expected);
        let mut checked = 0;
        for (cycle, (got, expected)) in (0..).zip(outputs.iter().zip(delayed)) {
            check(cycle, got, expected)?;
            checked += 1;
        }
        Ok(checked)
    }
}

const GROUPS: [&str; 4] =
    ["to the chips", "to the host", "to the chips, unchanged", "to the host, unchanged"];

/// What comes out for each input, a group's beats later. A group that the inputs break off is not
/// judged.
fn expected(widths: Widths, inputs: &[RelayoutUnitIn]) -> Vec<RelayoutUnitOut> {
    let mut expected = Vec::new();
    let mut rest = inputs;
    while let Some(first) = rest.first() {
        let beats = if first.valid_i { widths.beats() } else { 1 };
        let Some((group, after)) = rest.split_at_checked(beats) else { break };
        rest = after;
        let group: Vec<u64> = group.iter().map(|beat| beat.data_i).collect();
        let group = match (first.valid_i && !first.bypass_i, first.to_host_i) {
            (true, false) => widths.to_chips(&group),
            (true, true) => widths.to_host(&group),
            (false, _) => group,
        };
        let valid_o = first.valid_i;
        expected.extend(group.into_iter().map(|data_o| RelayoutUnitOut { valid_o, data_o }));
    }
    expected
}

fn check(cycle: u64, got: &RelayoutUnitOut, expected: &RelayoutUnitOut) -> Result<(), OracleError> {
    let error = |port, got, expected, what: &str| {
        Err(OracleError { cycle, port, got, expected, what: what.to_owned() })
    };
    if got.valid_o != expected.valid_o {
        return error("valid_o", got.valid_o.into(), expected.valid_o.into(), "wrong flag");
    }
    for (shift, what) in [(0, "lower half of the beat"), (32, "upper half of the beat")] {
        let [got, expected] = [got, expected].map(|output| (output.data_o >> shift) as u32);
        if got != expected {
            return error("data_o", got, expected, what);
        }
    }
    Ok(())
}
