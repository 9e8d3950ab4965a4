// SPDX-License-Identifier: MIT
//! Pipeline registers of the arithmetic units: what they take, and what they make of the clock.
//!
//! The bank PU has its registers between units, so that there is no device with other ones to run. The
//! workload is therefore the units': operations one behind the other, and each waiting for the one before.

use super::{Alternative, Built, ErrorReport, Options, Run};
use crate::estimate::flow::{self, CLOCK_NS, Flow};
use crate::estimate::power::WINDOW;
use crate::failure::Failure;
use crate::output::grouped;
use half::f16;
use pimlico_estimate::power::{Phase, Stimulus, Tape, UnitPower};
use pimlico_golden::error::ErrorReport as GoldenReport;
use pimlico_golden::format::Format;
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::Model;
use pimlico_units::arith::{
    Binary16, Fp, FpAdd, FpAddIn, FpExp, FpExpIn, FpMul, FpMulIn, FpRecip, FpRecipIn,
};

/// The units.
const UNITS: [&str; 4] = ["fp_mul", "fp_add", "fp_exp", "fp_recip"];
/// Registers, at the most.
const MOST_STAGES: u64 = 3;

/// Pipeline registers of each unit.
pub fn pipeline(options: &Options, flow: &Flow) -> Result<Built, Failure> {
    let operations = options.context.first().copied().unwrap_or(1);
    let operands = operands(options, operations);
    let mut alternatives = Vec::new();
    for unit in UNITS {
        let error = error(unit, &operands);
        for stages in 0..=MOST_STAGES {
            let suffix = if stages == 0 { String::new() } else { format!(":stages{stages}") };
            let units = vec![(flow::spec(&(unit.to_owned() + &suffix))?, 1)];
            let name = format!("{unit}, STAGES = {stages}");
            let mut alternative = Alternative::new(flow, name, units, Vec::new())?.with_power(
                flow,
                |_| stimulus(unit, stages, &operands),
                UnitPower::mean,
            )?;
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
    let power_of = format!(
        "operations in a row, at most {WINDOW}, on elements of K and Q of a random head: K, Q for fp_mul and \
         fp_add, -|K| for fp_exp, 1 + |K| for fp_recip"
    );
    Ok(Built { alternatives, power_of, notes: notes.map(str::to_owned).into() })
}

/// Pairs of operands as a head has them: elements of K and Q.
fn operands(options: &Options, count: usize) -> Vec<[f16; 2]> {
    let head_dim = options.head_dim.max(1);
    let context = count.div_ceil(head_dim);
    let shape = HeadShape { head_dim, context, group: 1, distribution: Distribution::Random };
    let head = Head::synthetic(shape, options.seed, 0);
    let q = head.queries[0].iter().cycle();
    let pairs = head.k.iter().flatten().zip(q).take(count);
    pairs.map(|(k, q)| [f16::from_bits(*k), f16::from_bits(*q)]).collect()
}

/// An exponent, which is a difference from a maximum.
fn below(a: f16) -> f16 {
    f16::from_f64(-a.to_f64().abs())
}

/// What has a reciprocal: a sum of 1 and more.
fn above(a: f16) -> f16 {
    f16::from_f64(1.0 + a.to_f64().abs())
}

/// An operation in each clock: what the unit with so many registers is given.
fn stimulus(unit: &str, stages: u64, operands: &[[f16; 2]]) -> Option<Stimulus> {
    match stages {
        0 => stimulus_of::<0>(unit, operands),
        1 => stimulus_of::<1>(unit, operands),
        2 => stimulus_of::<2>(unit, operands),
        3 => stimulus_of::<3>(unit, operands),
        _ => None,
    }
}

fn stimulus_of<const STAGES: usize>(unit: &str, operands: &[[f16; 2]]) -> Option<Stimulus> {
    let number = |x: f16| Fp::<Binary16>::from(x);
    let pairs = operands.iter().map(|&[a, b]| [number(a), number(b)]);
    Some(match unit {
        "fp_mul" => tape::<FpMul<Binary16, STAGES>>(pairs.map(|[a_i, b_i]| FpMulIn {
            a_i,
            b_i,
            ..Default::default()
        })),
        "fp_add" => tape::<FpAdd<Binary16, STAGES>>(pairs.map(|[a_i, b_i]| FpAddIn {
            a_i,
            b_i,
            ..Default::default()
        })),
        "fp_exp" => tape::<FpExp<Binary16, STAGES>>(
            operands.iter().map(|&[a, _]| FpExpIn { a_i: number(below(a)), ..Default::default() }),
        ),
        "fp_recip" => tape::<FpRecip<Binary16, STAGES>>(
            operands
                .iter()
                .map(|&[a, _]| FpRecipIn { a_i: number(above(a)), ..Default::default() }),
        ),
        _ => return None,
    })
}

/// What a model makes of inputs, one after the other.
fn tape<M: Model>(inputs: impl ExactSizeIterator<Item = M::In>) -> Stimulus {
    let mut tape = Tape::new::<M>((1000.0 * CLOCK_NS) as u64, inputs.len());
    inputs.for_each(|inputs| tape.record(Phase::Score, &inputs));
    tape.replay::<M>(WINDOW)
}

/// The error of a unit over the operands.
fn error(unit: &str, operands: &[[f16; 2]]) -> ErrorReport {
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
    let GoldenReport { max_ulp, max_relative, rms_relative } = report;
    ErrorReport { max_ulp, max_relative, rms_relative }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_delay_what_comes_out_and_change_nothing() {
        let operands: Vec<_> = (0..300).map(|n| [0x3555 + n, 0xC955 - 7 * n]).collect();
        let operands: Vec<_> = operands.iter().map(|pair| pair.map(f16::from_bits)).collect();
        for unit in UNITS {
            let of = |stages| stimulus(unit, stages, &operands).expect("it has so many registers");
            let without = of(0);
            assert_eq!(without.clocks[Phase::Score as usize], 300);
            for stages in 1..=MOST_STAGES {
                let with = of(stages);
                assert_eq!(with.inputs.words(), without.inputs.words());
                for clock in 0..300 {
                    let later = clock + stages as usize;
                    assert_eq!(with.outputs.clock(later), without.outputs.clock(clock), "{unit}");
                }
            }
            let product = (operands[7][0].to_f64() * operands[7][1].to_f64()) as f32;
            if unit == "fp_mul" {
                assert_eq!(without.outputs.clock(7), [u32::from(f16::from_f32(product).to_bits())]);
            }
        }
        assert!(stimulus("fp_max", 0, &operands).is_none());
        assert!(stimulus("fp_mul", MOST_STAGES + 1, &operands).is_none());
    }

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
