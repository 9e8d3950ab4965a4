// SPDX-License-Identifier: MIT
//! How far a result in a 16-bit format is from its float64 reference.

use crate::exact::{self, power_of_two};
use crate::format::Format;

/// The error of a vector against its reference. With *e* the distance of one element from its
/// reference:
///
/// - the relative figures divide by the largest magnitude of the whole reference, not by each
///   element's own: an element that cancels to nearly nothing counts no more than it weighs in the
///   vector;
/// - an ulp is the format's spacing at the reference's magnitude: 2^(floor(log2 |ref|) -
///   `man_bits`), not below the spacing of the subnormal numbers (also if the unit flushes them: a
///   flushed result shows as many ulp), nor above that of the largest binade. A correctly rounded
///   result is off by at most 0.5, unless it overflows.
///
/// **What is not finite.** Where the reference is finite and the result is NaN or infinite, *e* is
/// infinite. Where the reference is NaN or infinite, *e* is 0 if the result is the same (any NaN is
/// the same as any other), else infinite. The largest magnitude is that of the finite references.
///
/// **Nothing to divide by.** No elements: all figures are 0. A reference of zeros (or without a
/// finite element): the relative figures are 0 if every *e* is 0, else infinite. No figure is ever
/// NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorReport {
    /// The largest *e*, in units in the last place at its reference.
    pub max_ulp: f64,
    /// The largest *e*, divided by max |ref|.
    pub max_relative: f64,
    /// The root of the mean of *e* squared, divided by max |ref|.
    pub rms_relative: f64,
}

impl ErrorReport {
    /// The error of `got`, encodings of `format`, against `reference`.
    ///
    /// # Panics
    ///
    /// If the two are not of one length.
    pub fn new(format: Format, got: &[u16], reference: &[f64]) -> Self {
        assert_eq!(got.len(), reference.len(), "one reference per result");
        if got.is_empty() {
            return Self::default();
        }

        let errors: Vec<f64> = got
            .iter()
            .zip(reference)
            .map(|(&got, &reference)| distance(exact::to_f64(format, got.into()), reference))
            .collect();
        let ulps =
            errors.iter().zip(reference).map(|(error, &reference)| error / ulp(format, reference));

        let largest =
            reference.iter().filter(|x| x.is_finite()).fold(0.0, |max: f64, x| max.max(x.abs()));
        let relative = |error: f64| if error == 0.0 { 0.0 } else { error / largest };

        // Divided first, squared then: squares of large numbers would overflow.
        let squares: f64 = errors.iter().map(|&error| relative(error).powi(2)).sum();
        Self {
            max_ulp: ulps.fold(0.0, f64::max),
            max_relative: errors.iter().map(|&error| relative(error)).fold(0.0, f64::max),
            rms_relative: (squares / errors.len() as f64).sqrt(),
        }
    }
}

/// |got - reference|, as [`ErrorReport`] defines it where they are not both finite.
pub(crate) fn distance(got: f64, reference: f64) -> f64 {
    if got == reference || got.is_nan() && reference.is_nan() {
        0.0
    } else if got.is_finite() && reference.is_finite() {
        (got - reference).abs()
    } else {
        f64::INFINITY
    }
}

/// The format's spacing at `x`; at NaN and infinity the largest.
fn ulp(format: Format, x: f64) -> f64 {
    // The exponent field of an f64 is floor(log2 |x|) + 1023, or less than any format's smallest
    // below f64's normal numbers.
    let binade = (x.to_bits() >> 52 & 0x7FF) as i32 - 1023;
    power_of_two(
        binade.clamp(format.min_exponent(), format.max_exponent()) - format.man_bits as i32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Subnormals;

    const H: Format = Format::BINARY16;
    const INFINITY: u16 = 0x7C00;
    const NAN: u16 = 0x7E00;

    fn report(got: &[f64], reference: &[f64]) -> ErrorReport {
        let got: Vec<u16> =
            got.iter().map(|&x| exact::from_f64(H, Subnormals::Gradual, x) as u16).collect();
        ErrorReport::new(H, &got, reference)
    }

    #[test]
    fn figures() {
        // Errors 0.5 (spacing at 4.5 is 2^-8), 0 and 1 (spacing at 9 is 2^-7); the largest
        // reference is 10.
        let r = report(&[4.0, -10.0, 8.0], &[4.5, -10.0, 9.0]);
        assert_eq!(r.max_ulp, 128.0);
        assert_eq!(r.max_relative, 0.1);
        assert!((r.rms_relative - (1.25f64 / 3.0).sqrt() / 10.0).abs() < 1e-15);
    }

    #[test]
    fn a_rounded_result_is_within_half_an_ulp() {
        let x = [1.0 / 3.0, 65519.0, 1e-6, 1e-8, 2e-8, -std::f64::consts::PI];
        assert!(report(&x, &x).max_ulp <= 0.5);
        assert!(report(&x, &x).max_ulp > 0.4);
    }

    #[test]
    fn ulp_at_both_ends() {
        assert_eq!(ulp(H, 1.0), power_of_two(-10));
        assert_eq!(ulp(H, -1.999), power_of_two(-10));
        assert_eq!(ulp(H, 0.999), power_of_two(-11));
        for x in [0.0, 1e-320, 1e-30, power_of_two(-24), power_of_two(-14)] {
            assert_eq!(ulp(H, x), power_of_two(-24));
        }
        for x in [65504.0, 1e30, f64::MAX, f64::INFINITY, f64::NAN] {
            assert_eq!(ulp(H, x), 32.0);
        }
    }

    #[test]
    fn exact_results_have_no_error() {
        assert_eq!(report(&[1.0, -0.0, 65504.0], &[1.0, 0.0, 65504.0]), ErrorReport::default());
        assert_eq!(report(&[], &[]), ErrorReport::default());
        assert_eq!(report(&[0.0, 0.0], &[0.0, -0.0]), ErrorReport::default());
    }

    #[test]
    fn a_reference_of_zeros() {
        let r = report(&[power_of_two(-24)], &[0.0]);
        assert_eq!(
            (r.max_ulp, r.max_relative, r.rms_relative),
            (1.0, f64::INFINITY, f64::INFINITY)
        );
    }

    #[test]
    fn what_is_not_finite() {
        let all_infinite = ErrorReport {
            max_ulp: f64::INFINITY,
            max_relative: f64::INFINITY,
            rms_relative: f64::INFINITY,
        };
        for (got, reference) in [
            (NAN, 1.0),
            (INFINITY, 1.0),
            (NAN, 0.0),
            (INFINITY, 70000.0),
            (INFINITY, f64::NEG_INFINITY),
            (0x3C00, f64::INFINITY),
            (0x3C00, f64::NAN),
            (INFINITY, f64::NAN),
        ] {
            assert_eq!(
                ErrorReport::new(H, &[got, 0x3C00], &[reference, 1.0]),
                all_infinite,
                "{got:#x} {reference}"
            );
        }
        for (got, reference) in [(NAN, f64::NAN), (0xFFFF, f64::NAN), (INFINITY, f64::INFINITY)] {
            let r = ErrorReport::new(H, &[got, 0x3C00], &[reference, 1.0]);
            assert_eq!(r, ErrorReport::default(), "{got:#x} {reference}");
        }
    }

    #[test]
    fn no_figure_is_nan() {
        for reference in [f64::MAX, f64::MIN_POSITIVE / 8.0, 0.0, f64::INFINITY, f64::NAN] {
            for got in [0x0000, 0x0001, 0x3C00, 0x7BFF, INFINITY, 0xFC00, NAN] {
                let r = ErrorReport::new(H, &[got], &[reference]);
                assert!(
                    !r.max_ulp.is_nan() && !r.max_relative.is_nan() && !r.rms_relative.is_nan(),
                    "{r:?}"
                );
            }
        }
    }
}
