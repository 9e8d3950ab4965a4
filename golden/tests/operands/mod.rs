// SPDX-License-Identifier: MIT
//! Operands for the tests: where floating point goes wrong, and everywhere else at random.

#![allow(dead_code)] // each test uses some of it

use pimlico_golden::format::Format;

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers everywhere, from a seed.
struct Random(u64);

impl Random {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// One of 0..`n`.
    fn below(&mut self, n: u32) -> u32 {
        self.next_u32() % n
    }
}

/// Every sign and exponent field (zeros, subnormals, infinities and NaNs among them) with these
/// mantissas: the first and last of a binade with their neighbours, and the middle.
pub fn stratified(f: Format) -> Vec<u32> {
    let (last, middle) = (f.mantissa_mask(), 1 << (f.man_bits - 1));
    let mantissas = [0, 1, middle - 1, middle, middle + 1, last - 1, last];
    let high_bits = (0..1u32 << (1 + f.exp_bits)).map(|high| high << f.man_bits);
    high_bits.flat_map(|high| mantissas.map(|mantissa| high | mantissa)).collect()
}

/// As [`stratified`], with the first, second, middle and last mantissa of a binade: fewer, for
/// formats of many exponents.
pub fn stratified_thinly(f: Format) -> Vec<u32> {
    let mantissas = [0, 1, 1 << (f.man_bits - 1), f.mantissa_mask()];
    stratified(f)
        .into_iter()
        .filter(|bits| mantissas.contains(&(bits & f.mantissa_mask())))
        .collect()
}

/// Every pair of the two.
pub fn pairs(operands: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    operands.iter().flat_map(|&a| operands.iter().map(move |&b| (a, b)))
}

/// `count` pairs of random encodings of `f`. Every other pair is of exponents so near each other
/// that the mantissas overlap or just miss, which two random exponents of 8 bits seldom are.
pub fn random_pairs(f: Format, seed: u64, count: usize) -> impl Iterator<Item = (u32, u32)> {
    let mut random = Random(seed);
    let top_field = f.exponent_mask() >> f.man_bits;
    let reach = f.precision() + 2;
    (0..count).map(move |i| {
        let (a, b) = (random.next_u32() & f.mask(), random.next_u32() & f.mask());
        if i % 2 == 0 {
            return (a, b);
        }
        let field = (a & f.exponent_mask()) >> f.man_bits;
        let near = (field + random.below(2 * reach + 1)).saturating_sub(reach).min(top_field);
        (a, b & !f.exponent_mask() | near << f.man_bits)
    })
}

/// Random encodings of binary64 whose values lie within the range of `f`, and somewhat beyond it.
/// Every other one has no more mantissa bits than fit in the format (fewer, as a subnormal number
/// has) and below them nothing, a tie, or what is next to them.
pub fn random_f64s(f: Format, seed: u64, count: usize) -> impl Iterator<Item = f64> {
    let mut random = Random(seed);
    let (lowest, highest) = (f.min_quantum() - 3, f.max_exponent() + 2);
    (0..count).map(move |i| {
        let sign = random.next_u64() & 1 << 63;
        let exponent = lowest + random.below((highest - lowest) as u32) as i32;
        let mut mantissa = random.next_u64() >> 12;
        if i % 2 == 1 {
            let dropped = 52 - random.below(f.precision());
            let half = 1 << (dropped - 1);
            let tail = [0, 1, half - 1, half, half + 1, 2 * half - 1][random.below(6) as usize];
            mantissa = mantissa >> dropped << dropped | tail;
        }
        f64::from_bits(sign | ((exponent + 1023) as u64) << 52 | mantissa)
    })
}
