// SPDX-License-Identifier: MIT
//! Bench of `systolic_array`: every result is the sum of its products in the order of the rows, of the activations that were loaded
//! before the last swap.

use super::{edge, tamed};
use crate::arith::plan::{SORTS, sort};
use crate::arith::precision;
use crate::bench::{Bench, OracleError};
use crate::coverage::{Bins, beats::Follow};
use crate::judge::equal;
use pimlico_golden::systolic::output;
use pimlico_ports::U;
use pimlico_units::arith::{Binary32, Format, Fp};
use pimlico_units::bank::Lanes;
use pimlico_units::npu::{SystolicArray, SystolicArrayIn, SystolicArrayOut};

/// Cycles from weights to their results.
fn latency<R: Lanes, C: Lanes>() -> usize {
    4 * R::COUNT + C::COUNT + 4
}

const LOADS: [&str; 3] = ["no load", "load", "load of no column"];
const WEIGHTS: [&str; 3] = ["no weights", "weights", "swap"];
const LOADED: [&str; 4] = ["none", "some", "all", "some twice"];
const SIGNS: [&str; 3] = ["no sum", "a sum larger than the products", "a sum among the products"];

fn load_kind<F: Format, R: Lanes, C: Lanes>(input: &SystolicArrayIn<F, R, C>) -> usize {
    match input.load_valid_i {
        true if (input.load_column_i.get() as usize) < C::COUNT => 1,
        true => 2,
        false => 0,
    }
}

fn weights_kind<F: Format, R: Lanes, C: Lanes>(input: &SystolicArrayIn<F, R, C>) -> usize {
    usize::from(input.valid_i) * (1 + usize::from(input.swap_i))
}

/// Bits of all rows.
fn bits<F: Format, R: Lanes>(numbers: &R::Of<Fp<F>>) -> Vec<u32> {
    (0..R::COUNT).map(|row| numbers[row].to_bits()).collect()
}

impl<F: Format, R: Lanes, C: Lanes> Bench for SystolicArray<F, R, C> {
    /// Checks which cycles have results, and every sum of known activations; counts those.
    fn oracle(
        inputs: &[SystolicArrayIn<F, R, C>],
        outputs: &[SystolicArrayOut<F, R, C>],
    ) -> Result<u64, OracleError> {
        let golden = precision::<F, Binary32>();
        // Activations of each column by the cycle in which they were loaded, and the cycle of the last swap.
        let mut loads: Vec<Vec<(usize, Vec<u32>)>> = vec![Vec::new(); C::COUNT];
        let mut swapped = None;
        let mut checked = 0;
        for (cycle, input) in inputs.iter().enumerate() {
            if input.valid_i && input.swap_i {
                swapped = Some(cycle);
            }
            let due = cycle + latency::<R, C>();
            if let Some(result) = outputs.get(due) {
                let what = || "weights came so much earlier".to_owned();
                equal(due, "result_valid_o", result.result_valid_o, input.valid_i, what)?;
                for (column, loads) in loads.iter().enumerate().filter(|_| input.valid_i) {
                    let known = loads.iter().rev().find(|(at, _)| Some(*at) < swapped);
                    let Some((_, activations)) = known else { continue };
                    let before = input.sum_i[column].to_bits();
                    let weights = bits::<F, R>(&input.weight_i);
                    let expected = output(&golden, before, activations, &weights);
                    let what = || format!("column {column}, weights of cycle {cycle}");
                    equal(due, "result_o", result.result_o[column].to_bits(), expected, what)?;
                    checked += 1;
                }
            }
            if load_kind(input) == 1 {
                let column = input.load_column_i.get() as usize;
                loads[column].push((cycle, bits::<F, R>(&input.load_i)));
            }
        }
        for (cycle, early) in outputs.iter().enumerate().take(latency::<R, C>()) {
            let what = || "behind the reset".to_owned();
            equal(cycle, "result_valid_o", early.result_valid_o, false, what)?;
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("load, weights", &LOADS, &WEIGHTS);
        bins.declare("column of a load", (0..C::COUNT).map(|column| column.to_string()));
        bins.declare("columns loaded for a swap", LOADED);
        Follow::plan("order of weights", &["weights", "swap"], bins);
        bins.declare("weights of a tile", ["1", "2", "3 or more"]);
        bins.declare("sum that weights come with", SIGNS);
        bins.declare("result", SORTS);
    }

    fn cover(
        inputs: &[SystolicArrayIn<F, R, C>],
        outputs: &[SystolicArrayOut<F, R, C>],
        bins: &mut Bins,
    ) {
        let mut order = Follow::new("order of weights", &["weights", "swap"]);
        let mut loaded = vec![0; C::COUNT];
        let (mut known, mut next_known) = (vec![false; C::COUNT], vec![false; C::COUNT]);
        let mut weights = None;
        for (cycle, input) in inputs.iter().enumerate() {
            let (load, kind) = (load_kind(input), weights_kind(input));
            bins.hit_cross("load, weights", load, kind);
            if kind == 2 {
                let columns = loaded.iter().filter(|loads| **loads > 0).count();
                let how = match columns {
                    _ if loaded.iter().any(|loads| *loads > 1) => 3,
                    0 => 0,
                    _ if columns == C::COUNT => 2,
                    _ => 1,
                };
                bins.hit("columns loaded for a swap", how);
                loaded.fill(0);
                known.clone_from(&next_known);
                if let Some(weights) = weights.replace(0_usize) {
                    bins.hit("weights of a tile", weights.min(3) - 1);
                }
            }
            if kind > 0 {
                order.beat(kind - 1, cycle, 1, bins);
                weights = weights.map(|weights| weights + 1);
                let exponent = input.sum_i[0].to_bits() >> 23 & 0xFF;
                let sum = match exponent {
                    0 => 0,
                    160.. => 1,
                    _ => 2,
                };
                bins.hit("sum that weights come with", sum);
                if let Some(output) = outputs.get(cycle + latency::<R, C>()) {
                    for column in (0..C::COUNT).filter(|column| known[*column]) {
                        bins.hit("result", sort(output.result_o[column]));
                    }
                }
            }
            if load == 1 {
                let column = input.load_column_i.get() as usize;
                bins.hit("column of a load", column);
                loaded[column] += 1;
                next_known[column] = true;
            }
        }
    }

    /// Has tiles loaded early on, columns that there are, and sums of the products' size.
    fn arrange(inputs: &mut [SystolicArrayIn<F, R, C>]) {
        let Some(first) = inputs.first() else { return };
        let chance = first.load_column_i.get();
        for (cycle, input) in inputs.iter_mut().enumerate() {
            let draw = input.load_column_i.get();
            let is_early = cycle < C::COUNT && chance < 112;
            if is_early {
                input.load_valid_i = true;
                input.load_column_i = U::new(cycle as u64);
            } else if draw % 16 != 0 {
                input.load_column_i = U::new(draw / 16 % C::COUNT as u64);
            }
            // In turn: numbers as they are drawn, an edge in all rows, and mostly numbers whose sums are finite.
            let (load_edge, weight_edge) = (edge(input.load_i[0]), edge(input.weight_i[0]));
            for row in 0..R::COUNT {
                match draw % 8 {
                    0 => {}
                    1 => {
                        input.load_i[row] = load_edge;
                        input.weight_i[row] = weight_edge;
                    }
                    _ => {
                        input.load_i[row] = tamed(input.load_i[row]);
                        input.weight_i[row] = tamed(input.weight_i[row]);
                    }
                }
            }
            for column in 0..C::COUNT {
                let sum = input.sum_i[column].to_bits();
                let near_1 = 127 + (sum >> 20 & 31) as i32 - 16;
                let exponent = (sum >> 23 & 0xFF) as i32;
                if draw % 16 == 1 {
                    input.sum_i[column] = Fp::ZERO;
                } else if !matches!(draw % 8, 0 | 1 | 4) && exponent != 0 {
                    input.sum_i[column] = Fp::from_bits(sum ^ ((exponent ^ near_1) as u32) << 23);
                }
            }
        }
    }
}
