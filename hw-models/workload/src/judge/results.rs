// SPDX-License-Identifier: MIT
//! Results one by one beside what they are, and are near to.

use crate::report::{Error, Exact, Verdict, Wrong};
use pimlico_golden::error::ErrorReport;
use pimlico_golden::exact;
use pimlico_golden::format::Format;
use pimlico_golden::head::Stage;

/// What results are, and are near to.
pub(super) struct Beside<'a> {
    /// Which results.
    pub result: &'static str,
    /// Of which query head.
    pub head: Option<usize>,
    /// Their format.
    pub format: Format,
    /// The bits; none, where they are judged elsewhere.
    pub bits: &'a [u16],
    /// The real numbers.
    pub real: &'a [f64],
    /// By how much each may miss its own.
    pub bounds: &'a [f64],
}

impl<'a> Beside<'a> {
    /// What a stage of a query head gives.
    pub fn stage(result: &'static str, head: usize, stage: &'a Stage) -> Self {
        let Stage { bits, real, bounds } = stage;
        let format = Format::BINARY16;
        Self { result, head: Some(head), format, bits, real, bounds }
    }
}

/// Judges results.
pub(super) fn judgement(got: &[u16], beside: &Beside<'_>) -> Verdict {
    let Beside { result, head, format, bits, real, bounds } = *beside;
    let number = |bits: u16| exact::to_f64(format, bits.into());
    let pairs = || got.iter().zip(bits).enumerate();
    let differs = |(_, (got, expected)): &(usize, (&u16, &u16))| got != expected;
    let wrong = |index: usize, expected, bound| Wrong {
        result,
        head,
        index,
        value: number(got[index]),
        expected,
        bound,
    };
    let first = pairs().find(differs);
    let first = first.map(|(index, (_, expected))| wrong(index, number(*expected), 0.0));
    let beyond = |index: &usize| {
        let (got, real) = (number(got[*index]), real[*index]);
        let is_right = got == real || got.is_nan() && real.is_nan();
        !is_right
            && bounds[*index].is_finite()
            && (got.is_nan() || (got - real).abs() > bounds[*index])
    };
    let first = first.or_else(|| {
        let index = (0..got.len()).find(beyond)?;
        Some(wrong(index, real[index], bounds[index]))
    });
    let exact = Exact {
        outputs: bits.len() as u64,
        checked: bits.len() as u64,
        differing: pairs().filter(differs).count() as u64,
    };
    let beyond = (0..got.len()).filter(beyond).count() as u64;
    Verdict { error: error(format, got, real, bounds), exact, beyond, first }
}

/// Errors against float64, and the largest of their bounds.
fn error(format: Format, got: &[u16], real: &[f64], bounds: &[f64]) -> Error {
    let report = ErrorReport::new(format, got, real);
    let ErrorReport { max_ulp, max_relative, rms_relative } = report;
    let largest = real.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
    let bound = bounds.iter().copied().fold(0.0, f64::max);
    let bound = if bound == 0.0 { 0.0 } else { bound / largest };
    Error { max_ulp, max_relative, rms_relative, bound }
}
