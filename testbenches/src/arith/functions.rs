// SPDX-License-Identifier: MIT
//! The arithmetic units as functions of their operands, with oracle and fast arithmetic of each.

use super::Golden;
use crate::exhaustive::{Binary, FastOperation, Unary};
use pimlico_units::arith::fast;
use pimlico_units::arith::{
    Bfloat16, Bfloat16Flush, Binary16, Binary16Flush, Binary32, Binary32Flush, Format, Fp, FpAdd,
    FpExp, FpMax, FpMul, FpRecip, FpWiden,
};
use std::ops::{Add, Mul};

macro_rules! binary {
    ($unit:ident$([$other:ident: $sort:ty])?, $format:ident, $operation:expr, $reference:ident, $fast:expr) => {
        impl<const STAGES: usize $(, const $other: $sort)?> Binary for $unit<$format, STAGES $(, $other)?> {
            type Format = $format;
            const FAST: Option<FastOperation> = $fast;

            #[inline]
            fn model(a: u32, b: u32) -> u32 {
                $operation(Fp::<$format>::from_bits(a), Fp::from_bits(b)).to_bits()
            }

            fn oracle(a: u32, b: u32) -> u32 {
                let golden = Golden::of::<$format>();
                if $format::SUBNORMALS {
                    pimlico_golden::softfloat::$reference(golden.format, a, b)
                } else {
                    golden.$reference(a, b)
                }
            }
        }
    };
}

binary!(FpMul[FAST: u8], Binary16, Fp::mul, mul, Some(fast::mul::<Binary16>));
binary!(FpMul[FAST: u8], Binary16Flush, Fp::mul, mul, Some(fast::mul::<Binary16Flush>));
binary!(FpMul[FAST: u8], Bfloat16, Fp::mul, mul, None);
binary!(FpMul[FAST: u8], Bfloat16Flush, Fp::mul, mul, None);
binary!(FpMul[FAST: u8], Binary32, Fp::mul, mul, None);
binary!(FpMul[FAST: u8], Binary32Flush, Fp::mul, mul, None);
binary!(FpAdd[FAST: bool], Binary16, Fp::add, add, Some(fast::add::<Binary16>));
binary!(FpAdd[FAST: bool], Binary16Flush, Fp::add, add, Some(fast::add::<Binary16Flush>));
binary!(FpAdd[FAST: bool], Bfloat16, Fp::add, add, None);
binary!(FpAdd[FAST: bool], Bfloat16Flush, Fp::add, add, None);
binary!(FpAdd[FAST: bool], Binary32, Fp::add, add, None);
binary!(FpAdd[FAST: bool], Binary32Flush, Fp::add, add, None);
binary!(FpMax, Binary16, Fp::max, max, None);
binary!(FpMax, Binary16Flush, Fp::max, max, None);
binary!(FpMax, Bfloat16, Fp::max, max, None);
binary!(FpMax, Bfloat16Flush, Fp::max, max, None);

impl<F: Format, const STAGES: usize> Unary for FpExp<F, STAGES> {
    fn model(a: u32) -> u32 {
        Fp::<F>::from_bits(a).exp().to_bits()
    }

    fn wrong(a: u32, result: u32) -> Option<u32> {
        Golden::of::<F>().wrong_exp::<F>(a, result)
    }
}

impl<F: Format, const STAGES: usize> Unary for FpRecip<F, STAGES> {
    fn model(a: u32) -> u32 {
        Fp::<F>::from_bits(a).recip().to_bits()
    }

    fn wrong(a: u32, result: u32) -> Option<u32> {
        Some(Golden::of::<F>().recip(a)).filter(|expected| *expected != result)
    }
}

impl<F: Format, const STAGES: usize> Unary for FpWiden<F, STAGES> {
    fn model(a: u32) -> u32 {
        Fp::<F>::from_bits(a).widen::<Binary32>().to_bits()
    }

    fn wrong(a: u32, result: u32) -> Option<u32> {
        Some(Golden::of::<F>().widen(a)).filter(|expected| *expected != result)
    }
}
