// SPDX-License-Identifier: MIT
//! Pipeline registers of the arithmetic units: what they take, and what they make of the clock.
//!
//! The bank PU has its registers between units, so that there is no device with other ones to run. The
//! workload is therefore the units': operations one behind the other, and each waiting for the one before.

use super::{Alternative, Built, ErrorReport, Options, Run};
use crate::estimate::flow::{self, Flow};
use crate::output::grouped;
use half::f16;
use pimlico_golden::error::ErrorReport as GoldenReport;
use pimlico_golden::format::Format;
use pimlico_host::data::{Distribution, Head, Shape};
use pimlico_units::arith::{Binary16, Fp};

/// The units.
const UNITS: [&str; 4] = ["fp_mul", "fp_add", "fp_exp", "fp_recip"];
/// Registers, at the most.
const MOST_STAGES: u64 = 3;

/// Pipeline registers of each unit.
pub fn pipeline(options: &Options, flow: &Flow) -> Built {
    let operations = options.context.first().copied().unwrap_or(1);
    let operands = operands(options, operations);
    let mut alternatives = Vec::new();
    for unit in UNITS {
        let error = error(unit, &operands);
        for stages in 0..=MOST_STAGES {
            let suffix = if stages == 0 { String::new() } else { format!(":stages{stages}") };
            let units = vec![(flow::job(&(unit.to_owned() + &suffix))?, 1)];
            let name = format!("{unit}, STAGES = {stages}");
            let mut alternative = Alternative::new(flow, name, units, Vec::new())?;
            let delay = alternative.delay_ns;
            // One more clock for the register into which the result goes, or from which it comes back.
            let run = |what: &str, cycles: u64, error: Option<ErrorReport>| Run {
                workload: format!("{} {what}", grouped(operations as u64)),
                cycles,
                ns: delay.map(|ns| ns * cycles as f64),
                error,
            };
            alternative.runs = vec![
                run("in a row", operations as u64 + stages, Some(error)),
                run("each after the last", operations as u64 * (1 + stages), None),
            ];
            alternatives.push(alternative);
        }
    }
    let notes = [
        "cycles: clocks; ns at the period that the slowest path allows, from port to port with no register",
        "error of the operations on a head's operands, in whatever order; registers change no bit, as \
         co-simulation shows",
    ];
    Ok((alternatives, notes.map(str::to_owned).into()))
}

/// Pairs of operands as a head has them: elements of K and Q.
fn operands(options: &Options, count: usize) -> Vec<[f16; 2]> {
    let head_dim = options.head_dim.max(1);
    let context = count.div_ceil(head_dim);
    let shape = Shape { head_dim, context, group: 1, distribution: Distribution::Random };
    let head = Head::synthetic(shape, options.seed, 0);
    let q = head.queries[0].iter().cycle();
    let pairs = head.k.iter().flatten().zip(q).take(count);
    pairs.map(|(k, q)| [f16::from_bits(*k), f16::from_bits(*q)]).collect()
}

/// The error of a unit over the operands. Exponents are differences from a maximum, reciprocals those of
/// sums of 1 and more.
fn error(unit: &str, operands: &[[f16; 2]]) -> ErrorReport {
    let below = |a: f16| f16::from_f64(-a.to_f64().abs());
    let above = |a: f16| f16::from_f64(1.0 + a.to_f64().abs());
    let number = |x: f16| Fp::<Binary16>::from(x);
    let bits = |x: Fp<Binary16>| f16::from(x).to_bits();
    let one = |&[a, b]: &[f16; 2]| match unit {
        "fp_mul" => (bits(number(a) * number(b)), a.to_f64() * b.to_f64()),
        "fp_add" => (bits(number(a) + number(b)), a.to_f64() + b.to_f64()),
        "fp_exp" => (bits(number(below(a)).exp()), below(a).to_f64().exp()),
        _ => (bits(number(above(a)).recip()), above(a).to_f64().recip()),
    };
    let (got, reference): (Vec<u16>, Vec<f64>) = operands.iter().map(one).unzip();
    let report = GoldenReport::new(Format::BINARY16, &got, &reference);
    let error = pimlico_host::report::Error::from(report);
    ErrorReport {
        max_ulp: error.max_ulp,
        max_relative: error.max_relative,
        rms_relative: error.rms_relative,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_as_near_as_they_claim() {
        let elements = [0x3C01, 0xC2AA, 0x4900, 0x3555, 0xB001, 0x0401, 0x5BCD, 0x3FFF];
        let pairs = elements.iter().flat_map(|&a| elements.map(|b| [a, b].map(f16::from_bits)));
        let operands: Vec<_> = pairs.collect();
        // fp_exp.sv says 0.888; the others round to nearest.
        for (unit, bound) in
            [("fp_mul", 0.5), ("fp_add", 0.5), ("fp_exp", 0.888), ("fp_recip", 0.5)]
        {
            let error = error(unit, &operands).max_ulp;
            assert!(error > 0.25 && error < bound + 1e-3, "{unit} {error}");
        }
    }
}
