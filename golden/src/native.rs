// SPDX-License-Identifier: MIT
//! Orders of summation on the machine's own binary32: the same bits as [`reduction`](crate::reduction) and
//! [`dot`](crate::dot), fast enough for every result of a run.
//!
//! A binary16 number is one of binary32. The product of two is exact in binary32, 22 bits of 24. Their sum is rounded
//! there to 24 bits, and rounding it again to binary16 gives the same as one rounding, as 24 >= 2 * 11 + 2 (Figueroa,
//! "When is double rounding innocuous?", 1995). Numbers stay in binary32 all the way; [`nearest`] rounds them where the
//! contract does. Sums of 32 bits are the machine's own. `tests/native.rs` holds all of it against [`crate::exact`].
//!
//! Subnormal numbers are numbers like others.

/// Chips of a rank, and the elements of a burst.
const CHIPS: usize = 8;
const BURST: usize = 32;
/// Groups of banks that share a context's tokens.
const GROUPS: usize = 4;
/// Multipliers of a PU that has a whole column, and its partial sums.
const MULTIPLIERS: usize = 16;
const PARTIALS: usize = 4;

/// What is below this is rounded to multiples of 2^-24: 2^-14.
const MIN_NORMAL: u32 = 0x3880_0000;
const INFINITY: u32 = 0x7F80_0000;
const SIGN: u32 = 0x8000_0000;
/// Bits of a significand of binary32 that binary16 has not.
const DROPPED: u32 = 13;
/// What the exponents' biases differ by.
const BIASES: u32 = 127 - 15;

/// How a dot product is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DotOrder {
    /// Over the chips of a rank ([`reduction`](crate::reduction)), tile by tile: what the tiles before came to, an
    /// element, is added to each.
    Chips {
        /// Sums are of 32 bits.
        wide: bool,
        /// Elements of a tile.
        tile: usize,
    },
    /// By a PU of 16 multipliers that has a whole column ([`dot`](crate::dot)).
    Beats {
        /// Elements of a part.
        part: usize,
    },
}

/// How a weighted sum of tokens is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextOrder {
    /// Over the bank groups of a rank ([`reduction`](crate::reduction)).
    Groups {
        /// Sums are of 32 bits.
        wide: bool,
        /// Tokens after which the banks' sums leave, a multiple of [`CHUNK`](crate::reduction::CHUNK), or all.
        tokens: usize,
    },
    /// By a PU of 16 multipliers for each element ([`dot`](crate::dot)).
    Beats {
        /// Tokens of a part.
        part: usize,
    },
}

/// binary16 numbers in binary32.
#[inline(always)]
pub fn numbers(bits: &[u16], out: &mut [f32]) {
    for (bits, out) in bits.iter().zip(out) {
        *out = number(*bits);
    }
}

/// A binary16 number in binary32.
#[inline(always)]
pub fn number(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7FFF);
    let subnormal = (magnitude as f32 * (1.0 / (1 << 24) as f32)).to_bits();
    let wide = magnitude << DROPPED;
    let finite = if magnitude < 1 << 10 { subnormal } else { wide + (BIASES << 23) };
    let magnitude = if magnitude < 0x7C00 { finite } else { wide | INFINITY };
    f32::from_bits(magnitude | u32::from(bits & 0x8000) << 16)
}

/// The binary16 number nearest to `x`, of two the even one.
///
/// Where `x` is below 2^(e + 1), binary32 has the multiples of 2^(e - 10) about 1.5 * 2^(e + 13): adding that rounds as
/// binary16 does. A sum of 2^16 and more is an infinity of binary32 once it is multiplied by 2^112.
#[inline(always)]
pub fn nearest(x: f32) -> f32 {
    const BEYOND: f32 = (1u32 << 16) as f32;
    const SMALLEST: f32 = 1.0 / (1u32 << 14) as f32;
    const TO_INFINITY: f32 = (1u128 << 112) as f32;
    let sign = x.to_bits() & SIGN;
    // The power of two below, as far as binary16 has numbers there.
    let power = f32::from_bits(x.to_bits() & INFINITY);
    let power = if power < BEYOND { power } else { BEYOND };
    let power = if power > SMALLEST { power } else { SMALLEST };
    let about = 1.5 * (1 << DROPPED) as f32 * power;
    let rounded = ((x + about) - about) * TO_INFINITY * (1.0 / TO_INFINITY);
    // A zero has lost its sign.
    f32::from_bits(rounded.to_bits() | sign)
}

/// The same of a number of binary64, which has 42 bits more than binary16.
#[inline]
pub fn nearest_of_real(x: f64) -> f32 {
    const INFINITY: u64 = 0x7FF0_0000_0000_0000;
    const DROPPED: u32 = 42;
    let power = f64::from_bits(x.to_bits() & INFINITY);
    let power = if power < 65536.0 { power } else { 65536.0 };
    let power = if power > 1.0 / 16384.0 { power } else { 1.0 / 16384.0 };
    let about = 1.5 * (1u64 << DROPPED) as f64 * power;
    let rounded = (x + about) - about;
    let finite = if rounded.abs() >= 65536.0 { f32::INFINITY } else { rounded.abs() as f32 };
    finite.copysign(x as f32)
}

/// The encoding of a number of binary16. NaN is the canonical one.
#[inline]
pub fn bits(x: f32) -> u16 {
    let magnitude = x.to_bits() & !SIGN;
    let sign = (x.to_bits() >> 16 & 0x8000) as u16;
    match magnitude {
        _ if x.is_nan() => 0x7E00,
        INFINITY => sign | 0x7C00,
        0..MIN_NORMAL => sign | (x.abs() * (1 << 24) as f32) as u16,
        _ => sign | ((magnitude >> DROPPED) - (BIASES << 10)) as u16,
    }
}

/// The sum of two sums.
#[inline(always)]
fn add<const WIDE: bool>(a: f32, b: f32) -> f32 {
    if WIDE { a + b } else { nearest(a + b) }
}

/// A whole array of the elements from the front, filled up with +0.
#[inline(always)]
fn padded<const N: usize>(part: &[f32]) -> [f32; N] {
    let mut whole = [0.0; N];
    whole[..part.len()].copy_from_slice(part);
    whole
}

impl DotOrder {
    /// The dot product of binary16 numbers, an element.
    #[inline(always)]
    pub fn dot(&self, a: &[f32], b: &[f32]) -> u16 {
        match *self {
            Self::Chips { wide: false, tile } => bits(chips::<false>(tile, a, b)),
            Self::Chips { wide: true, tile } => bits(chips::<true>(tile, a, b)),
            Self::Beats { part } => bits(parts_of_beats(part, a, b)),
        }
    }
}

#[inline(always)]
fn chips<const WIDE: bool>(tile: usize, a: &[f32], b: &[f32]) -> f32 {
    let mut before = 0.0;
    for (a, b) in a.chunks(tile).zip(b.chunks(tile)) {
        let sums = chip_sums::<WIDE>(a, b);
        let mut pairs = [0.0; CHIPS / 2];
        for (n, pair) in pairs.iter_mut().enumerate() {
            *pair = add::<WIDE>(nearest(sums[2 * n]), nearest(sums[2 * n + 1]));
        }
        let sum = add::<WIDE>(add::<WIDE>(pairs[0], pairs[1]), add::<WIDE>(pairs[2], pairs[3]));
        before = nearest(add::<WIDE>(sum, before));
    }
    before
}

/// What each chip comes to.
#[inline(always)]
fn chip_sums<const WIDE: bool>(a: &[f32], b: &[f32]) -> [f32; CHIPS] {
    let mut sums = [0.0; CHIPS];
    let ((whole_a, rest_a), (whole_b, rest_b)) = (a.as_chunks(), b.as_chunks());
    for (a, b) in whole_a.iter().zip(whole_b) {
        add_burst::<WIDE>(a, b, &mut sums);
    }
    if !rest_a.is_empty() {
        add_burst::<WIDE>(&padded(rest_a), &padded(rest_b), &mut sums);
    }
    sums
}

/// What a burst adds to the chips' sums. A closure would not have the machine's vectors.
#[inline(always)]
fn add_burst<const WIDE: bool>(a: &[f32; BURST], b: &[f32; BURST], sums: &mut [f32; CHIPS]) {
    let mut p = [0.0; BURST];
    for e in 0..BURST {
        p[e] = nearest(a[e] * b[e]);
    }
    for c in 0..CHIPS {
        let [p0, p1, p2, p3] = [p[c], p[c + CHIPS], p[c + 2 * CHIPS], p[c + 3 * CHIPS]];
        let lanes = add::<WIDE>(add::<WIDE>(p0, p1), add::<WIDE>(p2, p3));
        sums[c] = add::<WIDE>(lanes, sums[c]);
    }
}

/// Elements of a beat for each partial sum.
const ROUND: usize = PARTIALS * MULTIPLIERS;

/// Parts of so many elements, one after the other. A closure would not have the machine's vectors.
#[inline(always)]
fn parts_of_beats(part: usize, a: &[f32], b: &[f32]) -> f32 {
    let mut parts = a.chunks(part).zip(b.chunks(part));
    let Some((first_a, first_b)) = parts.next() else { return 0.0 };
    let mut sum = beats(first_a, first_b);
    for (a, b) in parts {
        sum = nearest(beats(a, b) + nearest(sum + 0.0));
    }
    sum
}

#[inline(always)]
fn beats(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; PARTIALS];
    let ((whole_a, rest_a), (whole_b, rest_b)) = (a.as_chunks(), b.as_chunks());
    for (a, b) in whole_a.iter().zip(whole_b) {
        add_round(&mut sums, a, b, PARTIALS);
    }
    if !rest_a.is_empty() {
        add_round(&mut sums, &padded(rest_a), &padded(rest_b), rest_a.len().div_ceil(MULTIPLIERS));
    }
    nearest(nearest(sums[0] + sums[1]) + nearest(sums[2] + sums[3]))
}

/// What so many beats of a round add to the partial sums.
#[inline(always)]
fn add_round(sums: &mut [f32; PARTIALS], a: &[f32; ROUND], b: &[f32; ROUND], beats: usize) {
    for (sum, beat) in sums.iter_mut().zip(beat_sums(a, b)).take(beats) {
        *sum = nearest(beat + *sum);
    }
}

/// What each beat of a round comes to. The beats' trees are one: their neighbours are neighbours in it.
#[inline(always)]
fn beat_sums(a: &[f32; ROUND], b: &[f32; ROUND]) -> [f32; PARTIALS] {
    let mut sums = [0.0; ROUND];
    for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
        *sum = nearest(a * b);
    }
    let (mut two, mut four, mut eight) = ([0.0; ROUND / 2], [0.0; ROUND / 4], [0.0; ROUND / 8]);
    let mut whole = [0.0; PARTIALS];
    add_neighbours(&sums, &mut two);
    add_neighbours(&two, &mut four);
    add_neighbours(&four, &mut eight);
    add_neighbours(&eight, &mut whole);
    whole
}

#[inline(always)]
fn add_neighbours(numbers: &[f32], sums: &mut [f32]) {
    for (sum, [left, right]) in sums.iter_mut().zip(numbers.as_chunks().0) {
        *sum = nearest(left + right);
    }
}

/// A weighted sum of tokens that come one by one.
pub struct ContextSums {
    order: ContextOrder,
    /// Tokens so far.
    tokens: usize,
    /// Of each group or partial sum, its elements; of beats, behind these the products of a beat.
    sums: Vec<Vec<f32>>,
    /// What the parts before came to.
    before: Option<Vec<f32>>,
}

impl ContextSums {
    /// Of vectors of so many elements.
    pub fn new(order: ContextOrder, elements: usize) -> Self {
        let rows = match order {
            ContextOrder::Groups { .. } => GROUPS,
            ContextOrder::Beats { .. } => PARTIALS + MULTIPLIERS,
        };
        Self { order, tokens: 0, sums: vec![vec![0.0; elements]; rows], before: None }
    }

    /// The next token: its weight and vector.
    #[inline(always)]
    pub fn see(&mut self, weight: f32, vector: &[f32]) {
        match self.order {
            ContextOrder::Groups { wide, tokens } => {
                let sums = &mut self.sums[self.tokens % GROUPS];
                if wide {
                    accumulate::<true>(weight, vector, sums);
                } else {
                    accumulate::<false>(weight, vector, sums);
                }
                self.tokens += 1;
                if self.tokens.is_multiple_of(tokens) {
                    self.leave();
                }
            }
            ContextOrder::Beats { part } => {
                let place = self.tokens % part % MULTIPLIERS;
                for (product, v) in self.sums[PARTIALS + place].iter_mut().zip(vector) {
                    *product = nearest(weight * v);
                }
                self.tokens += 1;
                if (self.tokens % part).is_multiple_of(MULTIPLIERS) {
                    self.beat((self.tokens - 1) % part / MULTIPLIERS);
                }
                if self.tokens.is_multiple_of(part) {
                    self.leave();
                }
            }
        }
    }

    /// The sums, in their format.
    pub fn finish(mut self) -> Vec<f32> {
        let part = match self.order {
            ContextOrder::Groups { tokens, .. } => tokens,
            ContextOrder::Beats { part } => {
                let of_part = self.tokens % part;
                if !of_part.is_multiple_of(MULTIPLIERS) {
                    self.beat(of_part / MULTIPLIERS);
                }
                part
            }
        };
        if !self.tokens.is_multiple_of(part) || self.tokens == 0 {
            self.leave();
        }
        self.before.unwrap_or_default()
    }

    /// The products of beat `number` of a part are added to their partial sum. Those that are not there are +0.
    fn beat(&mut self, number: usize) {
        let (partials, products) = self.sums.split_at_mut(PARTIALS);
        for width in [8, 4, 2, 1] {
            for n in 0..width {
                // Sum n takes the place of a product that is in no later one.
                let mut sum = std::mem::take(&mut products[n]);
                let (left, right) = (&products[2 * n], &products[2 * n + 1]);
                if n > 0 {
                    sum.copy_from_slice(left);
                }
                add_to(&mut sum, right);
                products[n] = sum;
            }
        }
        add_to(&mut partials[number % PARTIALS], &products[0]);
        products.iter_mut().for_each(|row| row.fill(0.0));
    }

    /// A part ends: its sums go to those of the parts before, and begin anew.
    fn leave(&mut self) {
        let s = &self.sums;
        let of = |e: usize| [s[0][e], s[1][e], s[2][e], s[3][e]];
        let (order, before) = (self.order, self.before.as_ref());
        let whole = |e: usize| match order {
            ContextOrder::Groups { wide, .. } => {
                let add = if wide { add::<true> } else { add::<false> };
                let before = add(before.map_or(0.0, |before| before[e]), 0.0);
                of(e).into_iter().fold(before, |sum, group| add(group, sum))
            }
            ContextOrder::Beats { .. } => {
                let [a, b, c, d] = of(e);
                let part = nearest(nearest(a + b) + nearest(c + d));
                before.map_or(part, |before| nearest(part + nearest(before[e] + 0.0)))
            }
        };
        let whole = (0..self.sums[0].len()).map(whole).collect();
        self.before = Some(whole);
        self.sums.iter_mut().for_each(|row| row.fill(0.0));
    }
}

#[inline(always)]
fn add_to(sums: &mut [f32], others: &[f32]) {
    for (sum, other) in sums.iter_mut().zip(others) {
        *sum = nearest(*sum + *other);
    }
}

#[inline(always)]
fn accumulate<const WIDE: bool>(weight: f32, vector: &[f32], sums: &mut [f32]) {
    for (sum, v) in sums.iter_mut().zip(vector) {
        *sum = add::<WIDE>(nearest(weight * v), *sum);
    }
}
