// SPDX-License-Identifier: MIT
//! Operations of a vector unit: what each may result in, one rounded operation at a time, and what they stand for.
//!
//! An exponential is right if it is one of the numbers beside the exact one; all else has one right result for each exponential. GELU is
//! `a * (1 / (1 + e^(slope a)))`, with a slope of -1.702 that is rounded.

use crate::exact;
use crate::format::{Format, Subnormals};
use crate::unary;

const S: Subnormals = Subnormals::Gradual;

/// -1.702 as an element.
pub fn slope(format: Format) -> u32 {
    exact::from_f64(format, S, -1.702)
}

/// `a - b`, rounded once.
pub fn difference(format: Format, a: u32, b: u32) -> u32 {
    exact::add(format, S, a, b ^ 1 << (format.width() - 1))
}

/// The largest of numbers, from -infinity on.
pub fn greatest(format: Format, numbers: impl IntoIterator<Item = u32>) -> u32 {
    let least = format.infinity(true);
    numbers.into_iter().fold(least, |greatest, x| exact::max(format, S, greatest, x))
}

/// What GELU may be, as the exponential in it may be the nearest number or one of those beside it; NaN alone if it is NaN.
pub fn gelu(format: Format, a: u32) -> [u32; 3] {
    let power = exact::mul(format, S, a, slope(format));
    let nearest = unary::exp(format, S, power);
    let infinity = format.infinity(false);
    let has_neighbours = exact::to_f64(format, power).is_finite();
    let above = if nearest < infinity { nearest + 1 } else { nearest };
    [nearest.saturating_sub(1), nearest, above].map(|exponential| {
        let exponential = if has_neighbours { exponential } else { nearest };
        let one = exact::from_f64(format, S, 1.0);
        let sum = exact::add(format, S, one, exponential);
        exact::mul(format, S, unary::recip(format, S, sum), a)
    })
}

/// GELU by its definition, `x * Phi(x)`.
pub fn gelu_f64(x: f64) -> f64 {
    if x.abs() > 12.0 {
        return x.max(0.0);
    }
    // The integral of the density from 0 on, as a series.
    let (mut term, mut sum) = (x, x);
    let mut n = 1.0;
    while term.abs() > f64::EPSILON * sum.abs() {
        n += 2.0;
        term *= x * x / n;
        sum += term;
    }
    let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    x * (0.5 + sum * density)
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: Format = Format::BINARY16;

    fn bits(x: f64) -> u32 {
        exact::from_f64(H, S, x)
    }

    #[test]
    fn definitions_are_those_of_tables() {
        // Phi(1) = 0.841344746, Phi(-2) = 0.022750132.
        for (x, phi) in [(0.0, 0.5), (1.0, 0.841_344_746), (-2.0, 0.022_750_132), (13.0, 1.0)] {
            assert!((gelu_f64(x) - x * phi).abs() < 1e-8, "{x}: {}", gelu_f64(x));
        }
        assert_eq!(difference(H, bits(1.5), bits(-2.0)), bits(3.5));
        assert_eq!(greatest(H, [bits(-3.0), bits(-1.0)]), bits(-1.0));
        assert_eq!(greatest(H, []), H.infinity(true));
        assert_eq!((slope(H), slope(Format::BFLOAT16)), (0xBECF, 0xBFDA));
    }

    /// The contract's figure.
    #[test]
    fn gelu_of_a_sigmoid_is_near_gelu() {
        let finite = (0..=u32::from(u16::MAX)).filter(|a| exact::to_f64(H, *a).is_finite());
        let error = |a: u32| {
            let x = exact::to_f64(H, a);
            let relative = if x.abs() > 4.0 { x.abs() / 4.0 } else { 1.0 };
            (exact::to_f64(H, gelu(H, a)[1]) - gelu_f64(x)).abs() / relative
        };
        let worst = finite.max_by(|a, b| error(*a).total_cmp(&error(*b))).expect("some");
        assert!((0.021..0.0221).contains(&error(worst)), "{} {:x}", error(worst), worst);
        let at = exact::to_f64(H, worst).abs();
        assert!((1.9..2.6).contains(&at), "{at}");
        assert_eq!(gelu(H, H.infinity(true)), [H.nan(); 3]);
        assert_eq!(gelu(H, bits(0.0)), [0; 3]);
    }
}
