// SPDX-License-Identifier: MIT
//! Normally distributed binary16 numbers, of a table: as many per nanosecond as a core can look up.
//!
//! The table has the quantiles of the distribution in the middles of [`LEVELS`] equal parts of its upper half, rounded to
//! binary16, in pairs: each number is the first of one pair, and the second of another. 13 random bits choose a pair, two
//! others its signs. So a number is one of 2^14, all as likely as each other, from -3.9 to 3.9 standard deviations, and
//! neighbours are uncorrelated; moments and quantiles are those of the normal distribution to 1 part in 10^3. Bits, and
//! so numbers, are the same on every machine and with every number of threads.

use half::f16;
use half::slice::HalfFloatSliceExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::RngCore;
use std::sync::{Arc, LazyLock};

/// Numbers of the upper half.
const LEVELS: usize = 1 << 13;
/// Bits that choose a pair.
const PAIR_BITS: u32 = LEVELS.ilog2();
/// What the second of a pair is of the first, in LEVELS: odd, so that each number is the second of one pair.
const STRIDE: usize = 1009;

/// A normal distribution around 0.
#[derive(Clone, Debug)]
pub struct Normal {
    /// Pairs of numbers of its upper half, in binary16.
    pairs: Arc<[u32; LEVELS]>,
}

impl Normal {
    /// Of this standard deviation.
    pub fn new(deviation: f64) -> Self {
        static UNIT: LazyLock<Vec<f64>> = LazyLock::new(|| {
            let middle = |level| (level as f64 + 0.5) / (2 * LEVELS) as f64;
            (0..LEVELS).map(|level| quantile(middle(level))).collect()
        });
        let numbers: Vec<f32> = UNIT.iter().map(|&number| (deviation * number) as f32).collect();
        let mut rounded = vec![f16::ZERO; LEVELS];
        rounded.convert_from_f32_slice(&numbers);
        let bits = |level: usize| u32::from(rounded[level % LEVELS].to_bits());
        let pairs = std::array::from_fn(|level| bits(level) | bits(level * STRIDE) << 16);
        Self { pairs: Arc::new(pairs) }
    }

    /// Of standard deviation 1.
    pub fn unit() -> &'static Self {
        static UNIT: LazyLock<Normal> = LazyLock::new(|| Normal::new(1.0));
        &UNIT
    }

    /// A vector of so many numbers: see [`fill`](Self::fill).
    pub fn vector(&self, random: &mut Xoshiro256PlusPlus, length: usize) -> Vec<u16> {
        let mut vector = vec![0; length];
        self.fill(random, &mut vector);
        vector
    }

    /// Fills a vector. What it gets follows from one number of `random`, and the numbers of its elements.
    pub fn fill(&self, random: &mut Xoshiro256PlusPlus, vector: &mut [u16]) {
        let mut state = random.next_u64();
        let (eights, rest) = vector.as_chunks_mut::<8>();
        for eight in eights {
            *eight = self.numbers(mixed(&mut state));
        }
        let last = self.numbers(mixed(&mut state));
        rest.iter_mut().zip(last).for_each(|(element, number)| *element = number);
    }

    /// The eight numbers that random bits choose: four pairs, and the signs.
    fn numbers(&self, bits: u64) -> [u16; 8] {
        let pair = |n: u32| u64::from(self.pairs[(bits >> (PAIR_BITS * n)) as usize % LEVELS]);
        let signs = |n: u32| SIGNS[(bits >> (4 * PAIR_BITS + 4 * n)) as usize % SIGNS.len()];
        let four = [pair(0) | pair(1) << 32 | signs(0), pair(2) | pair(3) << 32 | signs(1)];
        let [[a, b, c, d], [e, f, g, h]] = four.map(elements);
        [a, b, c, d, e, f, g, h]
    }
}

/// The elements of a word.
fn elements(word: u64) -> [u16; 4] {
    [word as u16, (word >> 16) as u16, (word >> 32) as u16, (word >> 48) as u16]
}

/// Signs of four numbers, for each choice of them.
const SIGNS: [u64; 16] = {
    let (mut signs, mut n) = ([0; 16], 0);
    while n < 16 {
        signs[n] = ((n & 1) as u64) << 15
            | ((n >> 1 & 1) as u64) << 31
            | ((n >> 2 & 1) as u64) << 47
            | ((n >> 3) as u64) << 63;
        n += 1;
    }
    signs
};

/// Random bits that need not wait for each other: wyrand, of the hash function wyhash (Wang Yi).
fn mixed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0xA076_1D64_78BD_642F);
    let product = u128::from(*state) * u128::from(*state ^ 0xE703_7ED1_A0B4_28DB);
    (product >> 64) as u64 ^ product as u64
}

/// How far above the mean, in standard deviations, a number is between which and the mean there is this part of all, less
/// than a half by 10^-11 at least: algorithm AS 241, PPND16 (Wichura, 1988), to 16 digits.
fn quantile(part: f64) -> f64 {
    if part <= 0.425 {
        let r = 0.180_625 - part * part;
        return part * ratio(CENTRE, r);
    }
    ratio(TAIL, (-(0.5 - part).ln()).sqrt() - 1.6)
}

/// A polynomial over another, with the coefficients of each from the highest power to the constant.
fn ratio([over, under]: [[f64; 8]; 2], x: f64) -> f64 {
    let at = |polynomial: [f64; 8]| polynomial.into_iter().fold(0.0, |sum, c| sum * x + c);
    at(over) / at(under)
}

/// Up to 0.425, of 0.425^2 less the square.
const CENTRE: [[f64; 8]; 2] = [
    [
        2_509.080_928_730_122_7,
        33_430.575_583_588_13,
        67_265.770_927_008_7,
        45_921.953_931_549_87,
        13_731.693_765_509_46,
        1_971.590_950_306_551_3,
        133.141_667_891_784_38,
        3.387_132_872_796_366_5,
    ],
    [
        5_226.495_278_852_854,
        28_729.085_735_721_943,
        39_307.895_800_092_71,
        21_213.794_301_586_597,
        5_394.196_021_424_751,
        687.187_007_492_057_9,
        42.313_330_701_600_91,
        1.0,
    ],
];

/// Beyond, of the square root of the negative logarithm of what lies above, less 1.6.
const TAIL: [[f64; 8]; 2] = [
    [
        0.000_774_545_014_278_341_4,
        0.022_723_844_989_269_184,
        0.241_780_725_177_450_6,
        1.270_458_252_452_368_4,
        3.647_848_324_763_204_5,
        5.769_497_221_460_691,
        4.630_337_846_156_546,
        1.423_437_110_749_683_5,
    ],
    [
        1.050_750_071_644_416_9e-9,
        0.000_547_593_808_499_534_5,
        0.015_198_666_563_616_457,
        0.148_103_976_427_480_08,
        0.689_767_334_985_1,
        1.676_384_830_183_803_8,
        2.053_191_626_637_759,
        1.0,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    /// What tables of the normal distribution have: the part between the mean and so many standard deviations.
    const KNOWN: [(f64, f64); 6] = [
        (0.5, 0.191_462_461_274_013_1),
        (1.0, 0.341_344_746_068_542_9),
        (1.5, 0.433_192_798_731_141_9),
        (2.0, 0.477_249_868_051_820_8),
        (3.0, 0.498_650_101_968_369_9),
        (4.0, 0.499_968_328_758_166_9),
    ];

    #[test]
    fn quantiles_are_those_of_tables() {
        assert_eq!(quantile(0.0), 0.0);
        for (deviations, part) in KNOWN {
            assert!((quantile(part) - deviations).abs() < 1e-11, "{}", quantile(part));
        }
    }

    #[test]
    fn numbers_are_normally_distributed() {
        for deviation in [1.0, 8.0, 1.0 / 64.0] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
            let mut bits = vec![0; 1 << 20];
            Normal::new(deviation).fill(&mut random, &mut bits);
            let numbers: Vec<f64> =
                bits.iter().map(|&bits| f16::from_bits(bits).to_f64() / deviation).collect();
            let count = numbers.len() as f64;
            let moment = |n| numbers.iter().map(|number: &f64| number.powi(n)).sum::<f64>() / count;
            // Four standard deviations of each.
            for (n, expected, width) in
                [(1, 0.0, 1.0), (2, 1.0, 1.42), (3, 0.0, 3.88), (4, 3.0, 9.8)]
            {
                let limit = 4.0 * width / count.sqrt() + 1e-3 * f64::from(n / 4);
                assert!((moment(n) - expected).abs() < limit, "{n}: {}", moment(n));
            }
            for (deviations, part) in KNOWN {
                for sign in [-1.0, 1.0] {
                    let within =
                        |number: &&f64| **number * sign >= 0.0 && **number * sign < deviations;
                    let share = numbers.iter().filter(within).count() as f64 / count;
                    assert!((share - part).abs() < 2.5e-3, "{deviations}: {share}");
                }
            }
            // Neighbours have nothing to do with each other, nor have those of four behind.
            for apart in [1, 2, 3, 4] {
                let pairs = numbers.iter().zip(&numbers[apart..]);
                let product = pairs.map(|(one, other)| one * other).sum::<f64>() / count;
                assert!(product.abs() < 4.0 / count.sqrt(), "{apart}: {product}");
            }
        }
    }

    #[test]
    fn a_vector_of_any_length_is_filled() {
        let normal = Normal::new(1.0);
        let of_length = |length| {
            let mut vector = vec![0; length];
            normal.fill(&mut Xoshiro256PlusPlus::seed_from_u64(5), &mut vector);
            vector
        };
        let long = of_length(23);
        (0..23).for_each(|length| assert_eq!(of_length(length), long[..length]));
    }
}
