// SPDX-License-Identifier: MIT
//! Bench of `adder_unit`: every sum is the one that the contract's order of summation gives.

use crate::arith::plan::{SORTS, sort};
use crate::arith::precision;
use crate::bank::bank_pu::MODES;
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_units::arith::Format;
use pimlico_units::gear::Gear;
use pimlico_units::rank::{AdderUnit, AdderUnitIn, AdderUnitOut};

/// Cycles of an adder.
const ADDER: usize = 2;
/// Cycles from a group to its sum, and to its partial sum.
const TREE_LATENCY: usize = 4 * ADDER;
const PARTIAL_LATENCY: usize = 3 * ADDER;
/// Cycles in which inputs are of one kind.
const STRETCH: usize = 40;

const CHIPS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
const BEGINNINGS: [&str; 2] = ["+0", "partial sums"];
const BEFORE: [&str; 3] = ["nothing", "a group", "a row"];

/// Where the element after that of `lane` is added: its lane, and the cycles until then.
fn next(lane: usize, lanes: usize) -> (usize, usize) {
    if lane + 1 < lanes { (lane + 1, ADDER) } else { (0, ADDER + 1) }
}

/// Follows groups and rows by arithmetic alone.
impl<F: Format, A: Format, G: Gear> Bench for AdderUnit<F, A, G> {
    /// Rows of four elements, a burst's cycles apart or a multiple, and groups, by turns. A row's first element is
    /// added in the cycle after its beginning.
    fn arrange(inputs: &mut [AdderUnitIn<F, A, G>]) {
        let length = inputs.len() + STRETCH;
        let (mut added, mut tree) = (vec![[false; 4]; length], vec![false; length]);
        let mut grid = 0;
        for (cycle, input) in inputs.iter_mut().enumerate() {
            let is_row = cycle / STRETCH % 2 == 1;
            grid = if cycle % STRETCH == 0 { cycle } else { grid };
            let begins = input.begin_i || input.valid_i && cycle / STRETCH % 4 == 1;
            let mut row = [(0, cycle + 1); 4];
            for k in 1..4 {
                let (lane, later) = next(row[k - 1].0, G::TCK);
                row[k] = (lane, row[k - 1].1 + later);
            }
            let levels = [0, 1, 2, 3].map(|level| cycle + ADDER * level);
            let free = row.iter().all(|(_, at)| !tree[*at]);
            input.begin_i = is_row && begins && (cycle - grid) % G::BURST == 0 && free;
            input.valid_i &= !is_row && levels.iter().all(|at| added[*at] == [false; 4]);
            if input.begin_i {
                row.iter().for_each(|(lane, at)| added[*at][*lane] = true);
            }
            if input.valid_i {
                levels.iter().for_each(|at| tree[*at] = true);
            }
            let accumulate: &mut [bool] = input.accumulate_i.as_mut();
            accumulate.copy_from_slice(&added[cycle][..G::TCK]);
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("sum", &MODES, &SORTS);
        for mode in 0..MODES.len() {
            if !F::SUBNORMALS || mode == 1 && A::WIDTH > F::WIDTH {
                bins.leave_out("sum", mode * SORTS.len() + 3);
            }
        }
        bins.cross("chip, element", &CHIPS, &SORTS);
        bins.declare("a row begins with", BEGINNINGS);
        bins.cross("a group or row a burst behind", &MODES, &BEFORE);
        // No row is so close behind a group, and no group behind a row.
        bins.leave_out("a group or row a burst behind", 2);
        bins.leave_out("a group or row a burst behind", 4);
    }

    fn cover(inputs: &[AdderUnitIn<F, A, G>], outputs: &[AdderUnitOut<F, A, G>], bins: &mut Bins) {
        let point = "a group or row a burst behind";
        for (cycle, input) in inputs.iter().enumerate() {
            let before = cycle.checked_sub(G::BURST).map(|cycle| &inputs[cycle]);
            let before = before.map_or(0, |input| match (input.valid_i, input.begin_i) {
                (true, _) => 1,
                (_, true) => 2,
                _ => 0,
            });
            let accumulate: &[bool] = input.accumulate_i.as_ref();
            if input.valid_i || accumulate[0] {
                let x: &[_] = input.x_i.as_ref();
                for (chip, x) in x[0].iter().enumerate() {
                    bins.hit_cross("chip, element", chip, sort(*x));
                }
            }
            if input.valid_i {
                bins.hit_cross(point, 0, before);
                if let Some(output) = outputs.get(cycle + TREE_LATENCY) {
                    let sums: &[_] = output.tree_o.as_ref();
                    sums.iter().for_each(|sum| bins.hit_cross("sum", 0, sort(*sum)));
                }
            }
            if input.begin_i {
                bins.hit_cross(point, 1, before);
                bins.hit("a row begins with", input.goes_on_i.into());
            }
            if let Some(output) = outputs.get(cycle + ADDER)
                && accumulate[G::TCK - 1]
            {
                bins.hit_cross("sum", 1, sort(output.lanes_o[0]));
            }
        }
    }

    fn oracle(
        inputs: &[AdderUnitIn<F, A, G>],
        outputs: &[AdderUnitOut<F, A, G>],
    ) -> Result<u64, OracleError> {
        let golden = precision::<F, A>();
        let mut checked = 0;
        for (cycle, input) in inputs.iter().enumerate() {
            let at = cycle + TREE_LATENCY;
            if let Some(output) = outputs.get(at) {
                let expected = input.valid_i;
                check(at, "tree_valid_o", output.tree_valid_o.into(), expected.into())?;
            }
            if input.valid_i
                && let Some(output) = outputs.get(at)
            {
                let partials = inputs[cycle + PARTIAL_LATENCY].partial_i;
                let (x, partials, got): (&[_], &[_], &[_]) =
                    (input.x_i.as_ref(), partials.as_ref(), output.tree_o.as_ref());
                for lane in 0..G::TCK {
                    let x = x[lane].map(|x| x.to_bits());
                    let sum = golden.add(golden.chips_sum(x), partials[lane].to_bits());
                    check(at, "tree_o", got[lane].to_bits(), golden.element(sum))?;
                    checked += 1;
                }
            }
            if !input.begin_i {
                continue;
            }
            let start = input.start_i.map(|sum| sum.to_bits());
            let mut sums = if input.goes_on_i { start } else { [0; 8] };
            let (mut lane, mut at) = (0, cycle + 1);
            while let Some(input) = inputs.get(at) {
                let accumulate: &[bool] = input.accumulate_i.as_ref();
                let begins_again = lane == 0 && at > cycle + 1 && inputs[at - 1].begin_i;
                if !accumulate[lane] || begins_again {
                    break;
                }
                let x: &[[_; 8]] = input.x_i.as_ref();
                for (sum, x) in sums.iter_mut().zip(x[lane]) {
                    *sum = golden.add(x.to_bits(), *sum);
                }
                if let Some(output) = outputs.get(at + ADDER)
                    && lane == G::TCK - 1
                {
                    for (sum, expected) in output.lanes_o.iter().zip(sums) {
                        check(at + ADDER, "lanes_o", sum.to_bits(), expected)?;
                        checked += 1;
                    }
                }
                let (following, later) = next(lane, G::TCK);
                (lane, at) = (following, at + later);
            }
        }
        Ok(checked)
    }
}

/// Compares a port.
fn check(cycle: usize, port: &'static str, got: u32, expected: u32) -> Result<(), OracleError> {
    if got == expected {
        return Ok(());
    }
    let what = "wrong sum, or none".to_owned();
    Err(OracleError { cycle: cycle as u64, port, got, expected, what })
}
