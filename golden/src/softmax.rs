// SPDX-License-Identifier: MIT
//! Softmax in chunks as a rank PU computes it, operation by operation; and how far it may be from
//! softmax in real numbers.
//!
//! Scores are in a 16-bit format, their sum in fixed point, in units of 2^-24. Nothing here computes an
//! exponential: what a unit says it is is taken for it, once [`unary`](crate::unary) has found it good enough.

use crate::exact;
use crate::format::{Format, Subnormals};
use std::sync::LazyLock;

/// Scores of a chunk.
pub const CHUNK: usize = 16;

/// Format of what is normalised late, and of reciprocals.
const SUM: Format = Format::BINARY32;

/// A sum of exponentials, in units of 2^-24; `None` for NaN.
pub type FixedSum = Option<u64>;

/// A unit of the sums.
const QUANTUM: f64 = 1.0 / (1 << 24) as f64;
/// Bits of a reciprocal's significand, and of the sum that it is computed of.
const RECIP_PRECISION: i32 = 14;
const DIVISOR_PRECISION: i32 = 17;

/// The maximum of `m` and the scaled scores `x`.
pub fn maximum(f: Format, s: Subnormals, m: u32, x: &[u32]) -> u32 {
    x.iter().fold(m, |m, &x| exact::max(f, s, m, x))
}

/// The exponent of a scaled score: `x - m`, rounded. -infinity stays what it is, whatever `m`.
pub fn difference(f: Format, s: Subnormals, x: u32, m: u32) -> u32 {
    if x == f.infinity(true) { x } else { exact::add(f, s, x, m ^ f.sign_mask()) }
}

/// A number of a sum: NaN is none.
fn number(f: Format, bits: u32) -> Option<f64> {
    Some(exact::to_f64(f, bits)).filter(|value| !value.is_nan())
}

/// A chunk's sum: of its exponentials, each truncated to units of 2^-24, which binary16 has nothing below.
pub fn chunk_sum(f: Format, exps: &[u32]) -> FixedSum {
    exps.iter().map(|exp| Some((number(f, *exp)? / QUANTUM) as u64)).sum()
}

/// A head's sum after a chunk: `sum * factor`, truncated, and the chunk's.
pub fn combine(f: Format, sum: FixedSum, factor: u32, chunk: FixedSum) -> FixedSum {
    let factor = number(f, factor)?;
    if factor == 0.0 {
        return chunk;
    }
    // Both are exact: 42 and 11 bits.
    Some((sum? as f64 * factor) as u64 + chunk?)
}

/// What the weights of a head with this sum are multiplied by: the reciprocal of its leading bits, rounded to
/// fewer, in binary32.
pub fn reciprocal(sum: FixedSum) -> u32 {
    let value = match sum {
        None => f64::NAN,
        Some(0) => f64::INFINITY,
        Some(sum) => {
            let leading = |value: f64, bits: i32, round: fn(f64) -> f64| {
                let quantum = exact::power_of_two(value.log2().floor() as i32 - bits + 1);
                round(value / quantum) * quantum
            };
            let sum = leading(sum as f64 * QUANTUM, DIVISOR_PRECISION, f64::floor);
            leading(1.0 / sum, RECIP_PRECISION, f64::round)
        }
    };
    exact::from_f64(SUM, Subnormals::Gradual, value)
}

/// The binary32 number `x`, multiplied by a reciprocal and rounded to the format. Subnormal numbers
/// of binary32 count as zeros.
pub fn normalise(f: Format, s: Subnormals, x: u32, recip: u32) -> u32 {
    let x = exact::convert(SUM, SUM, Subnormals::Flush, x);
    // The product is exact: 24 and 14 bits.
    exact::from_f64(f, s, exact::to_f64(SUM, x) * exact::to_f64(SUM, recip))
}

/// The weight of an exponential: [`normalise`] of it.
pub fn weight(f: Format, s: Subnormals, exp: u32, recip: u32) -> u32 {
    normalise(f, s, exact::convert(f, SUM, s, exp), recip)
}

/// By how much each weight of a head may miss [`softmax`](crate::real::softmax) of the same scaled
/// scores, which are finite or -infinity and not all of them -infinity, if exponentials miss theirs by
/// at most `ulps` units in the last place.
pub fn weight_bounds(f: Format, s: Subnormals, x: &[f64], ulps: f64) -> Vec<f64> {
    let sum = HeadSum::of(Exponential { format: f, subnormals: s, ulps }, x);
    x.iter().map(|x| sum.weight(*x).1).collect()
}

/// A unit's exponential of binary16 or a format like it.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    /// Format of arguments and results.
    pub format: Format,
    /// What becomes of subnormal numbers.
    pub subnormals: Subnormals,
    /// Units in the last place by which it may miss.
    pub ulps: f64,
}

impl Exponential {
    /// Numbers below this may become zero.
    fn flushed(&self) -> f64 {
        match self.subnormals {
            Subnormals::Gradual => 0.0,
            Subnormals::Flush => exact::power_of_two(self.format.min_exponent()),
        }
    }

    /// e^d, and by how much that may be missed: the subtraction rounds d, the unit rounds e^d.
    fn of(&self, d: f64) -> (f64, f64) {
        if d == 0.0 || d == f64::NEG_INFINITY {
            return (d.exp(), 0.0);
        }
        let precision = self.format.precision() as i32;
        let smallest = exact::power_of_two(self.format.min_quantum());
        // The exponent field of a number of the format in f64 is floor(log2 |d|) + 1023.
        let binade = (d.to_bits() >> 52 & 0x7FF) as i32 - 1023;
        let of_difference = exp_m1_of_power(binade - precision);
        let exp = d.exp();
        let unit = exp * (1.0 + of_difference) * exact::power_of_two(1 - precision);
        let unit = self.ulps * unit.max(smallest);
        let vanishes = if exp < 2.0 * self.flushed() { self.flushed() } else { 0.0 };
        (exp, exp * of_difference + unit + vanishes)
    }
}

/// e^x - 1 of 2^`exponent`.
fn exp_m1_of_power(exponent: i32) -> f64 {
    const FIRST: i32 = -64;
    static TABLE: LazyLock<[f64; 128]> =
        LazyLock::new(|| std::array::from_fn(|n| exact::power_of_two(FIRST + n as i32).exp_m1()));
    let kept = usize::try_from(exponent - FIRST).ok().and_then(|n| TABLE.get(n));
    kept.copied().unwrap_or_else(|| exact::power_of_two(exponent).exp_m1())
}

/// Maximum and sum of a head's exponentials in `f64`, and how far off the sum may be.
#[derive(Clone, Copy, Debug)]
pub struct HeadSum {
    exponential: Exponential,
    max: f64,
    sum: f64,
    error: f64,
}

impl HeadSum {
    /// Of these scaled scores, chunk by chunk: finite or -infinity.
    pub fn of(exponential: Exponential, x: &[f64]) -> Self {
        let (mut max, mut sum, mut error) = (f64::NEG_INFINITY, 0.0, 0.0);
        for chunk in x.chunks(CHUNK) {
            let higher = chunk.iter().copied().fold(max, f64::max);
            if higher == f64::NEG_INFINITY {
                continue;
            }
            let (factor, factor_error) = exponential.of(max - higher);
            error = error * (factor + factor_error) + sum * factor_error;
            sum *= factor;
            for &x in chunk {
                let (exp, exp_error) = exponential.of(x - higher);
                sum += exp;
                error += exp_error;
            }
            // The product, and each exponential, are truncated.
            error += 17.0 * QUANTUM;
            max = higher;
        }
        Self { exponential, max, sum, error }
    }

    /// Whether there is a score to divide by.
    pub fn is_proper(&self) -> bool {
        self.max.is_finite() && self.sum.is_finite()
    }

    /// The sum of the exponentials of the scaled scores, that of the largest being 1.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// By how much the sum may be off, relative to it.
    pub fn relative_error(&self) -> f64 {
        self.error / self.sum
    }

    /// Whether a scaled score is no larger than the largest of the head: others are none of its scores.
    pub fn covers(&self, x: f64) -> bool {
        x <= self.max
    }

    /// The exponential of a scaled score, no larger than the largest, in the format, and by how much it
    /// may be missed.
    pub fn exponential(&self, x: f64) -> (f64, f64) {
        self.exponential.of(x - self.max)
    }

    /// The weight of a scaled score in the format, and by how much it may be missed.
    pub fn weight(&self, x: f64) -> (f64, f64) {
        let (exp, error) = self.exponential(x);
        self.normalised(exp, error)
    }

    /// A number that is off by `error` at most, divided by the sum and rounded to the format; and by how
    /// much that may be missed.
    pub fn normalised(&self, x: f64, error: f64) -> (f64, f64) {
        let precision = f64::from(self.exponential.format.precision());
        let smallest = exact::power_of_two(self.exponential.format.min_quantum());
        let flushed = self.exponential.flushed();
        let exact = x / self.sum;
        // Half a unit in the last place of the reciprocal, and one of the truncated sum.
        let reciprocal =
            exact::power_of_two(-RECIP_PRECISION) + exact::power_of_two(1 - DIVISOR_PRECISION);
        let largest = (x.abs() + error) / (self.sum - self.error) * (1.0 + 1.01 * reciprocal);
        let rounding = (largest * (-precision).exp2()).max(smallest / 2.0);
        let vanishes = if exact.abs() < 2.0 * flushed { flushed } else { 0.0 };
        (exact, largest - exact.abs() + rounding + vanishes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::softmax;
    use Subnormals::Gradual;

    const H: Format = Format::BINARY16;
    const ONE: u32 = 0x3F80_0000;

    #[test]
    fn minus_infinity_is_as_far_below_as_can_be() {
        assert_eq!(difference(H, Gradual, 0xFC00, 0xFC00), 0xFC00);
        assert_eq!(difference(H, Gradual, 0xFC00, 0x7C00), 0xFC00);
        assert_eq!(difference(H, Gradual, 0x7C00, 0x7C00), H.nan());
        assert_eq!(difference(H, Gradual, 0x3C00, 0x4000), 0xBC00);
    }

    #[test]
    fn a_chunk_of_ones_sums_up_to_its_length() {
        let sum = chunk_sum(H, &[0x3C00; CHUNK]);
        assert_eq!(sum, Some(16 << 24));
        // Half of 3, and 16.
        assert_eq!(combine(H, Some(3 << 24), 0x3800, sum), Some(35 << 23));
        assert_eq!(chunk_sum(H, &[1, 0x7E00]), None);
        assert_eq!(combine(H, None, 0x3C00, sum), None);
        assert_eq!(combine(H, None, 0, sum), sum);
    }

    #[test]
    fn weights_of_a_long_row_lie_at_the_edge_of_the_normal_numbers() {
        let recip = reciprocal(Some(16384 << 24));
        assert_eq!(weight(H, Gradual, 0x3C00, recip), 0x0400); // 2^-14
        assert_eq!(weight(H, Gradual, 0x3800, recip), 0x0200);
        assert_eq!(weight(H, Subnormals::Flush, 0x3800, recip), 0);
        assert_eq!(reciprocal(Some(0)), SUM.infinity(false));
        assert_eq!(weight(H, Gradual, 0, reciprocal(Some(0))), H.nan());
        assert_eq!(f32::from_bits(reciprocal(Some(3 << 24))), 10923.0 / 32768.0);
        assert_eq!(normalise(H, Gradual, ONE, reciprocal(Some(3 << 24))), 0x3555);
    }

    #[test]
    fn bounds_follow_the_precision() {
        // Equal scores: exponentials of 1, so that only the weight's own rounding is left.
        let equal = weight_bounds(H, Gradual, &[2.0; 32], 1.0);
        let expected = 2f64.powi(-11) + 2f64.powi(-14) + 2f64.powi(-16);
        assert!(equal.iter().all(|bound| (bound * 32.0 - expected).abs() < 1e-5));
        // Within two units in the last place of a binary16 number for scores that are near.
        let near = weight_bounds(H, Gradual, &[0.0, -1.0, -0.5, -0.25], 0.888);
        let weights = softmax(&[0.0, -1.0, -0.5, -0.25]);
        for (bound, weight) in near.iter().zip(weights) {
            assert!(*bound < 3.0 * weight * 2f64.powi(-10), "{bound} {weight}");
        }
    }
}
