// SPDX-License-Identifier: MIT
//! e^x as the softmax unit has it, bit for bit: the tables of `rtl/arith/exp2_fraction.md` and the method of
//! `rtl/arith/fp_exp.md`, for binary16.
//!
//! That it is e^x to within an ULP is what [`unary`](crate::unary) says of it; this is which number it is.

use std::sync::LazyLock;

/// Fraction bits of y = x log2 e, and log2 e in units of 2^-14.
const FRACTION: u32 = 12;
const LOG2_E: u64 = 23637;
/// Magnitudes of 2^(TOP + 1) and more give infinity or 0.
const TOP: u32 = 4;
/// Bits by which intervals of slopes are told apart.
const SLOPES: u32 = 4;

/// Of every operand.
static TABLE: LazyLock<Vec<u16>> = LazyLock::new(|| (0..=u16::MAX).map(compute).collect());

/// e^x of a binary16 number.
pub fn exp(x: u16) -> u16 {
    TABLE[usize::from(x)]
}

fn compute(x: u16) -> u16 {
    let (field, trailing) = (u32::from(x >> 10 & 31), u64::from(x & 0x3FF));
    let negative = x >> 15 == 1;
    if field == 31 && trailing != 0 {
        return 0x7E00;
    }
    if field == 0 && trailing == 0 {
        return 0x3C00;
    }
    let limit = if negative { 0 } else { 0x7C00 };
    // |x| in [2^TOP, 2^(TOP + 1)) has this field.
    let Some(distance) = (15 + TOP).checked_sub(field.max(1)) else { return limit };
    let significand = if field == 0 { trailing } else { trailing | 1 << 10 };
    let magnitude = ((significand * LOG2_E) >> (12 - TOP) >> distance) as i64;
    let y = if negative { !magnitude } else { magnitude };
    let (n, f) = (y >> FRACTION, (y & ((1 << FRACTION) - 1)) as u32);

    // 2^f in units of 2^-12, of which a guard bit below the eleven of a significand is left.
    let power = (1 << FRACTION) + fraction(f);
    let shift = 1 + (-14 - n).clamp(0, 30);
    let significand = (u64::from(power) >> shift).div_ceil(2);
    if n > 15 {
        return limit;
    }
    // A significand of 2^11 is carried into the exponent.
    let field = (n + 15).max(1) as u64;
    (significand + ((field - 1) << 10)) as u16
}

/// 2^f - 1, f and the result in units of 2^-12.
fn fraction(f: u32) -> u32 {
    let unit = f64::from(1 << FRACTION);
    let (i, j) = (f >> (FRACTION - SLOPES - 3), f >> (FRACTION - SLOPES));
    let q = f >> (FRACTION - 2 * SLOPES - 3) & ((1 << SLOPES) - 1);
    let middle = (f64::from(i) + 0.5) / f64::from(1 << (SLOPES + 3));
    let base = (unit * (1.0 + middle - middle.exp2())).round() as i64;
    let slope = 1.0 - 2f64.ln() * ((f64::from(j) + 0.5) / f64::from(1 << SLOPES)).exp2();
    // In units of 2^-12 again: 2^(F - 2A - 4) is 1.
    let step = |m: u32| (f64::from(2 * m + 1) * slope).floor() as i64;
    let half = 1 << (SLOPES - 1);
    let step = if q >= half { step(q - half) } else { -step(half - 1 - q) - 1 };
    (i64::from(f) - base - step) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Subnormals};
    use crate::unary;

    #[test]
    fn the_error_is_that_of_the_contract() {
        let (h, gradual) = (Format::BINARY16, Subnormals::Gradual);
        let (mut worst, mut other) = (0.0f64, 0);
        for x in 0..=u16::MAX {
            let got = exp(x).into();
            let finite = !h.is_nan(x.into()) && x & 0x7C00 != 0x7C00;
            worst = worst.max(unary::exp_ulps(h, gradual, x.into(), got));
            other += i32::from(finite && got != unary::exp(h, gradual, x.into()));
        }
        assert!((worst - 0.888).abs() < 5e-4, "{worst}");
        assert_eq!(other, 4246);
    }

    #[test]
    fn special_operands() {
        for (x, expected) in
            [(0x7C00, 0x7C00), (0xFC00, 0), (0xFE01, 0x7E00), (0, 0x3C00), (0x8000, 0x3C00)]
        {
            assert_eq!(exp(x), expected, "{x:#06x}");
        }
    }
}
