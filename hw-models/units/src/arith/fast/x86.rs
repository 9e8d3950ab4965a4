// SPDX-License-Identifier: MIT
//! Eight or sixteen at a time, on x86.

use super::portable::{self, MIN_NORMAL, TINY};
use crate::arith::Format;
use std::arch::x86_64::*;

/// The operations for one width, from the steps that the module's `widen`, `round` and `pairs` name.
macro_rules! operations {
    ($features:literal, $lanes:literal, $multiply:ident, $sum:ident) => {
        /// # Safety
        ///
        /// The machine has the features, the slices have one length.
        #[target_feature(enable = $features)]
        pub unsafe fn mul<F: Format>(a: &[u16], b: &[u16], out: &mut [u16]) {
            let whole = a.len() - a.len() % $lanes;
            for i in (0..whole).step_by($lanes) {
                // SAFETY: the slices hold $lanes elements from `i` on.
                unsafe {
                    let product = $multiply(load::<F>(&a[i]), load::<F>(&b[i]));
                    store(&mut out[i], round::<F>(product));
                }
            }
            portable::mul::<F>(&a[whole..], &b[whole..], &mut out[whole..]);
        }

        /// # Safety
        ///
        /// The machine has the features, the slices have one length.
        #[target_feature(enable = $features)]
        pub unsafe fn add<F: Format>(a: &[u16], b: &[u16], out: &mut [u16]) {
            let whole = a.len() - a.len() % $lanes;
            for i in (0..whole).step_by($lanes) {
                // SAFETY: the slices hold $lanes elements from `i` on.
                unsafe {
                    let sum = $sum(load::<F>(&a[i]), load::<F>(&b[i]));
                    store(&mut out[i], round::<F>(sum));
                }
            }
            portable::add::<F>(&a[whole..], &b[whole..], &mut out[whole..]);
        }

        /// # Safety
        ///
        /// The machine has the features, `a` is twice as long as `out`.
        #[target_feature(enable = $features)]
        pub unsafe fn add_neighbours<F: Format>(a: &[u16], out: &mut [u16]) {
            let whole = out.len() - out.len() % $lanes;
            for i in (0..whole).step_by($lanes) {
                // SAFETY: `out` holds $lanes elements from `i` on, `a` twice as many from `2 i` on.
                unsafe {
                    let (left, right) = pairs(&a[2 * i]);
                    let sum = $sum(widen::<F>(left), widen::<F>(right));
                    store(&mut out[i], round::<F>(sum));
                }
            }
            portable::add_neighbours::<F>(&a[2 * whole..], &mut out[whole..]);
        }

        /// # Safety
        ///
        /// The machine has the features, the slices have one length.
        #[target_feature(enable = $features)]
        pub unsafe fn mul_add<F: Format>(a: &[u16], b: &[u16], out: &mut [u16]) {
            let whole = a.len() - a.len() % $lanes;
            for i in (0..whole).step_by($lanes) {
                // SAFETY: the slices hold $lanes elements from `i` on.
                unsafe {
                    let product = $multiply(load::<F>(&a[i]), load::<F>(&b[i]));
                    let product = widen::<F>(round::<F>(product));
                    let sum = $sum(product, load::<F>(&out[i]));
                    store(&mut out[i], round::<F>(sum));
                }
            }
            portable::mul_add::<F>(&a[whole..], &b[whole..], &mut out[whole..]);
        }

        /// # Safety
        ///
        /// A whole vector follows `from`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn load<F: Format>(from: &u16) -> Wide {
            // SAFETY: as the caller promises; the load needs no alignment.
            widen::<F>(unsafe { (from as *const u16).cast::<Narrow>().read_unaligned() })
        }

        /// # Safety
        ///
        /// A whole vector follows `to`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn store(to: &mut u16, value: Narrow) {
            // SAFETY: as the caller promises; the store needs no alignment.
            unsafe { (to as *mut u16).cast::<Narrow>().write_unaligned(value) };
        }
    };
}

/// AVX and F16C.
pub mod f16c {
    use super::*;

    type Narrow = __m128i;
    type Wide = __m256;

    operations!("avx,f16c", 8, _mm256_mul_ps, _mm256_add_ps);

    /// The first and the second of each of eight pairs.
    ///
    /// # Safety
    ///
    /// Two vectors follow `from`.
    #[inline]
    #[target_feature(enable = "avx,f16c")]
    unsafe fn pairs(from: &u16) -> (Narrow, Narrow) {
        let from = (from as *const u16).cast::<Narrow>();
        // SAFETY: as the caller promises; the loads need no alignment.
        let (low, high) = unsafe { (from.read_unaligned(), from.add(1).read_unaligned()) };
        let apart = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
        let (low, high) = (_mm_shuffle_epi8(low, apart), _mm_shuffle_epi8(high, apart));
        (_mm_unpacklo_epi64(low, high), _mm_unpackhi_epi64(low, high))
    }

    #[inline]
    #[target_feature(enable = "avx,f16c")]
    fn widen<F: Format>(value: Narrow) -> Wide {
        flush::<F>(_mm256_cvtph_ps(value), MIN_NORMAL)
    }

    /// Rounds to binary16; NaNs become canonical.
    #[inline]
    #[target_feature(enable = "avx,f16c")]
    fn round<F: Format>(value: Wide) -> Narrow {
        let value = flush::<F>(value, TINY);
        let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(value, value);
        let value = _mm256_blendv_ps(value, _mm256_set1_ps(f32::from_bits(0x7FC0_0000)), nan);
        _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)
    }

    #[inline]
    #[target_feature(enable = "avx,f16c")]
    fn flush<F: Format>(value: Wide, below: f32) -> Wide {
        if F::SUBNORMALS {
            return value;
        }
        let sign = _mm256_set1_ps(-0.0);
        let magnitude = _mm256_andnot_ps(sign, value);
        let small = _mm256_cmp_ps::<_CMP_LT_OQ>(magnitude, _mm256_set1_ps(below));
        _mm256_blendv_ps(value, _mm256_and_ps(sign, value), small)
    }
}

/// AVX-512F.
pub mod avx512 {
    use super::*;

    type Narrow = __m256i;
    type Wide = __m512;

    operations!("avx512f,avx,f16c", 16, _mm512_mul_ps, _mm512_add_ps);

    /// The first and the second of each of sixteen pairs.
    ///
    /// # Safety
    ///
    /// Two vectors follow `from`.
    #[inline]
    #[target_feature(enable = "avx512f,avx,f16c")]
    unsafe fn pairs(from: &u16) -> (Narrow, Narrow) {
        // SAFETY: as the caller promises; the load needs no alignment.
        let pairs = unsafe { (from as *const u16).cast::<__m512i>().read_unaligned() };
        (_mm512_cvtepi32_epi16(pairs), _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(pairs)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx,f16c")]
    fn widen<F: Format>(value: Narrow) -> Wide {
        flush::<F>(_mm512_cvtph_ps(value), MIN_NORMAL)
    }

    /// Rounds to binary16; NaNs become canonical.
    #[inline]
    #[target_feature(enable = "avx512f,avx,f16c")]
    fn round<F: Format>(value: Wide) -> Narrow {
        let value = flush::<F>(value, TINY);
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(value, value);
        let canonical = _mm512_set1_ps(f32::from_bits(0x7FC0_0000));
        _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_mask_mov_ps(value, nan, canonical))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx,f16c")]
    fn flush<F: Format>(value: Wide, below: f32) -> Wide {
        if F::SUBNORMALS {
            return value;
        }
        let magnitude = _mm512_abs_ps(value);
        let small = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(magnitude, _mm512_set1_ps(below));
        let bits = _mm512_castps_si512(value);
        let zero = _mm512_and_si512(bits, _mm512_set1_epi32(i32::MIN));
        _mm512_mask_mov_ps(value, small, _mm512_castsi512_ps(zero))
    }
}
