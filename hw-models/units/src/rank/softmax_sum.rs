// SPDX-License-Identifier: MIT
//! What the softmax unit does with exponentials: sums in fixed point, in units of 2^-24; reciprocals; and
//! their products.

use crate::arith::{Binary32, Format, Fp, Unrounded};
use crate::lap::Walk;

/// Bits of a sum below the point, and of all of it.
const FRACTION: u32 = 24;
const TOTAL: u32 = 42;
/// Bits of a reciprocal's significand, hidden bit included.
const RECIP_BITS: u32 = 14;
/// Bits of the divisor below its hidden bit.
const DIVISOR_BITS: u32 = RECIP_BITS + 2;

/// A head's word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Word {
    /// Nothing since the reset.
    Empty,
    /// A sum, or NaN.
    Sum(Option<u64>),
    /// A reciprocal, in binary32.
    Recip(u32),
}

impl Word {
    /// The word as a reciprocal.
    pub(super) fn binary32(self) -> Fp<Binary32> {
        match self {
            Self::Recip(bits) => Fp::from_bits(bits),
            Self::Empty | Self::Sum(_) => Fp::NAN,
        }
    }

    /// The word as a sum.
    fn sum(self) -> Option<u64> {
        if let Self::Sum(sum) = self { sum } else { None }
    }

    /// The reciprocal of a sum: of its leading bits, rounded.
    pub(super) fn reciprocal(self) -> Self {
        let Some(sum) = self.sum() else { return Self::Recip(Binary32::NAN) };
        if sum >> FRACTION == 0 {
            return Self::Recip(Binary32::INFINITY);
        }
        let above = sum.ilog2() - FRACTION;
        let divisor = sum >> (above + FRACTION - DIVISOR_BITS);
        let remainder = (2 << DIVISOR_BITS) - divisor;
        let quotient = ((remainder << RECIP_BITS) / divisor).min((1 << RECIP_BITS) - 1) as u32;
        let exponent = Binary32::BIAS as u32 - 1 - above;
        let rounded = (exponent << (RECIP_BITS - 1) | quotient >> 1) + (quotient & 1);
        Self::Recip(rounded << (Binary32::MAN_BITS + 1 - RECIP_BITS))
    }
}

/// The product of a number and a reciprocal, rounded once. Subnormal numbers of binary32 count as zeros.
#[inline]
pub(super) fn normalise<X: Format, F: Format>(x: Fp<X>, recip: Word) -> Fp<F> {
    let Word::Recip(recip) = recip else { return Fp::NAN };
    let wide = f32::from_bits(x.widen::<Binary32>().to_bits());
    let wide = if wide.is_subnormal() { 0.0f32.copysign(wide) } else { wide };
    // Exact: 24 and 14 bits.
    round(f64::from(wide) * f64::from(f32::from_bits(recip)))
}

/// A product of two numbers of binary32, rounded to nearest even.
fn round<F: Format>(product: f64) -> Fp<F> {
    const MAN_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let (negative, bits) = (product.is_sign_negative(), product.to_bits());
    let exponent = (bits >> MAN_BITS & 0x7FF) as i32 - 1023 + F::BIAS;
    if product.is_nan() {
        return Fp::NAN;
    }
    if product.is_infinite() || exponent >= F::EXP_MAX {
        return Fp::infinity(negative);
    }
    let right = if F::SUBNORMALS { (1 - exponent).max(0) as u32 } else { 0 };
    if product == 0.0 || right > F::MAN_BITS + 1 || !F::SUBNORMALS && exponent < 0 {
        return Fp::zero(negative);
    }
    let significand = 1 << MAN_BITS | bits & ((1 << MAN_BITS) - 1);
    let dropped = MAN_BITS - F::MAN_BITS - 1 + right;
    let number = (significand >> dropped) as u32;
    Unrounded {
        negative,
        exponent: if right == 0 { exponent } else { 0 },
        mantissa: number >> 1 & ((1 << F::MAN_BITS) - 1),
        guard: number & 1 != 0,
        sticky: significand & ((1 << dropped) - 1) != 0,
    }
    .round()
}

/// The divider.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Divider {
    Ready,
    /// Waits until a chunk of the head is complete.
    Pending,
    /// Waits these cycles for chunks that are on their way, then until the heads' words are free.
    Draining(u8),
    /// Cycles left until the reciprocal is complete.
    Dividing(u8),
}

impl Divider {
    /// Goes over it, for [laps](crate::lap).
    pub(super) fn walk(self, walk: &mut Walk<'_>) {
        let (state, cycles) = match self {
            Self::Ready => (0_u8, 0),
            Self::Pending => (1, 0),
            Self::Draining(cycles) => (2, cycles),
            Self::Dividing(cycles) => (3, cycles),
        };
        walk.still(state);
        walk.still(cycles);
    }
}

/// A chunk's sum, and that of a head with its chunk.
#[derive(Clone, Copy, Default)]
pub(super) struct HeadSum {
    /// The chunk's sum so far: `None` for NaN.
    part: Option<u64>,
    /// The head's new sum.
    combined: Option<Combined>,
    /// Cycles since the last of a chunk's exponentials, up to 4.
    age: u8,
}

/// A head's new sum, on its way to its word.
#[derive(Clone, Copy)]
struct Combined {
    head: usize,
    word: Word,
    /// Cycles until it is written.
    left: u8,
}

/// Significand of an exponential or a factor, and how far below that of 1 it stands.
fn significand<F: Format>(x: Fp<F>) -> (u64, u32) {
    let bits = x.to_bits();
    let exponent = bits >> F::MAN_BITS & ((1 << F::EXP_BITS) - 1);
    let mantissa = u64::from(bits & ((1 << F::MAN_BITS) - 1));
    // A subnormal number's is taken twofold.
    let significand = if exponent == 0 { mantissa << 1 } else { 1 << F::MAN_BITS | mantissa };
    (significand, (F::BIAS as u32).saturating_sub(exponent))
}

fn is_nan<F: Format>(x: Fp<F>) -> bool {
    x.to_bits() & F::INFINITY == F::INFINITY
}

impl HeadSum {
    /// Adds exponentials to the chunk's sum.
    pub(super) fn add<F: Format>(&mut self, exps: &[Fp<F>], starts: bool) {
        if starts {
            self.part = Some(0);
        }
        for exp in exps {
            let (significand, right) = significand(*exp);
            let fixed = (significand << (FRACTION - F::MAN_BITS)).checked_shr(right).unwrap_or(0);
            self.part = self.part.filter(|_| !is_nan(*exp)).map(|part| part + fixed);
        }
    }

    /// The chunk is complete, and its head's new sum on its way: see [`total`](Self::total).
    pub(super) fn combine<F: Format>(
        &mut self,
        (head, first): (usize, bool),
        before: Word,
        factor: Fp<F>,
        left: u8,
    ) {
        let word = self.total(first, before, factor);
        self.combined = Some(Combined { head, word, left });
        self.age = 0;
    }

    /// A head's word with a chunk that is complete: what it was times the factor, and the chunk's sum.
    pub(super) fn total<F: Format>(&self, first: bool, before: Word, factor: Fp<F>) -> Word {
        let (significand, right) = significand(factor);
        let before = if first || significand == 0 { Some(0) } else { before.sum() };
        let sum = before.zip(self.part).filter(|_| !is_nan(factor)).map(|(sum, part)| {
            let scaled = (sum * significand) >> F::MAN_BITS;
            (scaled.checked_shr(right).unwrap_or(0) + part) & ((1 << TOTAL) - 1)
        });
        Word::Sum(sum)
    }

    /// Goes over what is no sum, for [laps](crate::lap).
    pub(super) fn walk(&self, walk: &mut Walk<'_>) {
        let Self { part: _, combined, age } = self;
        walk.still(combined.is_some());
        if let Some(Combined { head, word: _, left }) = combined {
            walk.size(*head);
            walk.still(*left);
        }
        walk.still(*age);
    }

    /// A cycle: the word that is written in it.
    pub(super) fn step(&mut self) -> Option<(usize, Word)> {
        self.age = (self.age + 1).min(4);
        let combined = self.combined.as_mut()?;
        combined.left -= 1;
        if combined.left > 0 {
            return None;
        }
        self.combined.take().map(|combined| (combined.head, combined.word))
    }

    /// A digit but the first is taken.
    pub(super) fn takes_digit(&self) -> bool {
        self.combined.is_some() && self.age < 2
    }

    /// A digit is multiplied.
    pub(super) fn multiplies_digit(&self) -> bool {
        self.combined.is_some() && self.age < 3
    }
}
