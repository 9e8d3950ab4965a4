// SPDX-License-Identifier: MIT
//! binary16 arithmetic on slices, as fast as the machine allows and as exact as the definition.
//!
//! Two binary16 operands are exact in binary32; their product is as well (22 bits of 24), and their
//! sum is rounded so that rounding it again to binary16 cannot go wrong (24 >= 2 * 11 + 2 bits:
//! Figueroa, "When is double rounding innocuous?", 1995). So one operation in binary32 and one
//! conversion give the correctly rounded result. x86 converts eight (F16C) or sixteen (AVX-512)
//! values at a time; which of them the machine has is found out at run time.
//!
//! The definition is [`Fp`]: the two are equal for all 2^32 pairs of operands
//! (`pimlico cosim fp_mul fp_add --exhaustive`), at every [`Level`].

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::{Binary16, Binary16Flush, Format, Fp};

/// Formats that are computed fast.
pub trait Fast: Format {}

impl Fast for Binary16 {}
impl Fast for Binary16Flush {}

/// A way to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// One at a time, on any machine.
    Portable,
    /// Eight at a time: x86 with AVX and F16C.
    F16c,
    /// Sixteen at a time: x86 with AVX-512F.
    Avx512,
}

impl Level {
    /// The levels that this machine has, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        [Self::Portable, Self::F16c, Self::Avx512].into_iter().filter(|level| level.is_available())
    }

    /// The fastest level that this machine has.
    #[inline]
    pub fn best() -> Self {
        match () {
            () if Self::Avx512.is_available() => Self::Avx512,
            () if Self::F16c.is_available() => Self::F16c,
            () => Self::Portable,
        }
    }

    #[inline]
    fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::F16c => is_x86_feature_detected!("avx") && is_x86_feature_detected!("f16c"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("avx")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}

macro_rules! dispatch {
    ($(#[$doc:meta])+ $name:ident($a:ident, $b:ident, $out:ident)) => {
        $(#[$doc])+
        ///
        /// # Panics
        ///
        /// If the slices differ in length, or are not empty and the machine has not the level.
        #[inline]
        pub fn $name<F: Fast>(level: Level, $a: &[u16], $b: &[u16], $out: &mut [u16]) {
            assert!($a.len() == $b.len() && $a.len() == $out.len(), "slices of different lengths");
            if $out.is_empty() {
                return;
            }
            assert!(level.is_available(), "{level:?} is not available");
            match level {
                Level::Portable => portable::$name::<F>($a, $b, $out),
                // SAFETY: the machine has the features, the slices have one length.
                #[cfg(target_arch = "x86_64")]
                Level::F16c => unsafe { x86::f16c::$name::<F>($a, $b, $out) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => unsafe { x86::avx512::$name::<F>($a, $b, $out) },
                #[cfg(not(target_arch = "x86_64"))]
                _ => unreachable!("not available"),
            }
        }
    };
}

dispatch! {
    /// `out = a * b`, rounded.
    mul(a, b, out)
}

dispatch! {
    /// `out = a + b`, rounded.
    add(a, b, out)
}

dispatch! {
    /// `out = a * b + out`, product and sum each rounded.
    mul_add(a, b, out)
}

/// `out[i] = a[2 i] + a[2 i + 1]`, rounded: a level of a tree.
///
/// # Panics
///
/// If `out` is not half as long as `a`, or is not empty and the machine has not the level.
#[inline]
pub fn add_neighbours<F: Fast>(level: Level, a: &[u16], out: &mut [u16]) {
    assert!(a.len() == 2 * out.len(), "two neighbours to each sum");
    if out.is_empty() {
        return;
    }
    assert!(level.is_available(), "{level:?} is not available");
    match level {
        Level::Portable => portable::add_neighbours::<F>(a, out),
        // SAFETY: the machine has the features, the slices have these lengths.
        #[cfg(target_arch = "x86_64")]
        Level::F16c => unsafe { x86::f16c::add_neighbours::<F>(a, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::avx512::add_neighbours::<F>(a, out) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => unreachable!("not available"),
    }
}

/// Sums of eight pairs, rounded: the definition's, of any format.
#[inline]
pub fn add_eight<F: Format>(a: &[Fp<F>; 8], b: &[Fp<F>; 8]) -> [Fp<F>; 8] {
    let is_binary16 = (F::EXP_BITS, F::MAN_BITS) == (Binary16::EXP_BITS, Binary16::MAN_BITS);
    if !is_binary16 || !Level::F16c.is_available() {
        return std::array::from_fn(|n| a[n] + b[n]);
    }
    let [a, b] = [a, b].map(|of| of.map(|number| number.to_bits() as u16));
    let mut sums = [0; 8];
    // SAFETY: the machine has the features, the arrays have one length.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        x86::f16c::add::<F>(&a, &b, &mut sums);
    }
    sums.map(|bits| Fp::from_bits(bits.into()))
}

/// The elements of words of four, the first in the low bits, where they stand.
#[inline]
pub fn elements_of(words: &[u64]) -> &[u16] {
    const { assert!(cfg!(target_endian = "little"), "the first element is in the low bits") };
    // SAFETY: `u16` has no invalid values, and words are aligned as elements have to be.
    unsafe { words.align_to().1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_ports::Signal;

    /// Operands drawn as for the units, with a length that fills no vector.
    fn operands<F: Fast>(seed: u64) -> Vec<u16> {
        let mut state = seed;
        let draw = |_| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            Fp::<F>::draw(&[state ^ state >> 29]).to_bits() as u16
        };
        (0..100_003).map(draw).collect()
    }

    fn every_level_is_the_definition<F: Fast>() {
        let [a, b, c] = [1, 2, 3].map(operands::<F>);
        let fp = |x: u16| Fp::<F>::from_bits(x.into());
        for level in Level::available() {
            let (mut product, mut sum, mut both) = (a.clone(), a.clone(), c.clone());
            let mut of_neighbours = vec![0; a.len() / 2];
            add_neighbours::<F>(level, &a[..2 * of_neighbours.len()], &mut of_neighbours);
            for (pair, sum) in a.chunks_exact(2).zip(of_neighbours) {
                assert_eq!(fp(sum), fp(pair[0]) + fp(pair[1]), "{level:?}: {pair:?}");
            }
            mul::<F>(level, &a, &b, &mut product);
            add::<F>(level, &a, &b, &mut sum);
            mul_add::<F>(level, &a, &b, &mut both);
            for (x, y) in a.as_chunks().0.iter().zip(b.as_chunks().0) {
                let sums = add_eight(&x.map(fp), &y.map(fp));
                (0..8).for_each(|n| assert_eq!(sums[n], fp(x[n]) + fp(y[n])));
            }
            for i in 0..a.len() {
                let (x, y, z) = (fp(a[i]), fp(b[i]), fp(c[i]));
                assert_eq!(fp(product[i]), x * y, "{level:?}: {x:?} * {y:?}");
                assert_eq!(fp(sum[i]), x + y, "{level:?}: {x:?} + {y:?}");
                assert_eq!(fp(both[i]), x * y + z, "{level:?}: {x:?} * {y:?} + {z:?}");
            }
        }
    }

    #[test]
    fn the_first_element_of_a_word_is_in_its_low_bits() {
        assert_eq!(elements_of(&[0x0003_0002_0001_0000, 4]), [0, 1, 2, 3, 4, 0, 0, 0]);
    }

    #[test]
    fn every_level_is_the_definition_with_subnormals() {
        every_level_is_the_definition::<Binary16>();
    }

    #[test]
    fn every_level_is_the_definition_without_subnormals() {
        every_level_is_the_definition::<Binary16Flush>();
    }
}
