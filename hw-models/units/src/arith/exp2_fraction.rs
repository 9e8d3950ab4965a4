// SPDX-License-Identifier: MIT
//! 2^f - 1 for a fraction f in [0, 1).

use super::Format;

/// The tables of a format, as in `exp2_fraction`.
///
#[doc = contract!("arith/exp2_fraction")]
#[derive(Clone, Copy, Debug)]
pub struct Exp2Tables {
    /// A: bits of the index of an interval of one slope.
    pub a: u32,
    /// `BASE[i]`, 2^(A+3) entries.
    pub base: &'static [u16],
    /// The rows of `STEP`, 2^A of them, each a number in hexadecimal: digit m, from the right, is
    /// `STEP[j][m]` in two's complement.
    pub step: &'static [u32],
}

impl Exp2Tables {
    const BINARY16: Self = Self {
        a: 4,
        #[rustfmt::skip]
        base: &[
            5, 15, 24, 34, 43, 52, 61, 70, 79, 88, 96, 105, 113, 121, 129, 137,
            145, 153, 160, 168, 175, 182, 189, 196, 203, 209, 216, 222, 228, 235, 240, 246,
            252, 257, 263, 268, 273, 278, 283, 287, 292, 296, 300, 304, 308, 312, 315, 319,
            322, 325, 328, 331, 333, 336, 338, 340, 342, 344, 345, 347, 348, 349, 350, 351,
            352, 352, 352, 353, 352, 352, 352, 351, 351, 350, 348, 347, 346, 344, 342, 340,
            338, 336, 333, 330, 327, 324, 321, 317, 314, 310, 306, 301, 297, 292, 287, 282,
            277, 271, 265, 260, 253, 247, 241, 234, 227, 220, 212, 205, 197, 189, 181, 172,
            164, 155, 146, 136, 127, 117, 107, 97, 86, 75, 64, 53, 42, 30, 18, 6,
        ],
        #[rustfmt::skip]
        step: &[
            0x4332_2100, 0x3322_1100, 0x3222_1100, 0x2221_1000,
            0x2211_1000, 0x1111_0000, 0x1100_0000, 0x0000_0000,
            0xffff_ffff, 0xffff_ffff, 0xeeef_ffff, 0xdeee_ffff,
            0xddde_efff, 0xccdd_eeff, 0xbccd_deff, 0xabcc_deef,
        ],
    };

    const BFLOAT16: Self = Self {
        a: 2,
        #[rustfmt::skip]
        base: &[
            2, 7, 12, 16, 20, 23, 27, 30, 32, 35, 37, 39, 41, 42, 43, 44,
            44, 44, 44, 43, 42, 40, 38, 36, 34, 30, 27, 23, 19, 14, 9, 3,
        ],
        step: &[0x10, 0x00, 0xff, 0xef],
    };

    /// The tables for format `F`. There are none, and the build stops, for other widths of the
    /// significand than those of binary16 and bfloat16.
    pub const fn of<F: Format>() -> Self {
        const {
            match F::MAN_BITS {
                10 => Self::BINARY16,
                7 => Self::BFLOAT16,
                _ => panic!("exp2_fraction has no tables for this width: expected 10 or 7"),
            }
        }
    }

    /// Entry `m` of row `j` of `STEP`.
    #[inline]
    pub fn step(&self, j: u32, m: u32) -> i32 {
        let digit = self.step[j as usize] >> (4 * m) & 0xF;
        (digit << 28) as i32 >> 28
    }
}

/// 2^f - 1 in units of 2^-(`MAN_BITS` + 1), truncated, for f in units of 2^-(`MAN_BITS` + 2).
#[inline]
pub(super) fn exp2_fraction<F: Format>(f: u32) -> u32 {
    let tables = Exp2Tables::of::<F>();
    let (width, a) = (F::MAN_BITS + 2, tables.a);
    let field = |from: u32, bits: u32| f >> from & ((1 << bits) - 1);

    let base = tables.base[field(width - a - 3, a + 3) as usize];
    let j = field(width - a, a);
    let from = width - 2 * a - 3;
    let (upper, m) = (field(from + a - 1, 1) != 0, field(from, a - 1));
    let step = if upper { tables.step(j, m) } else { !tables.step(j, m ^ ((1 << (a - 1)) - 1)) };

    (f as i32 - i32::from(base) - step) as u32 >> 1
}
