// SPDX-License-Identifier: MIT
//! The units with one operand, over all of their operands: models against `golden`, RTL against
//! models, and the tables against the formulas that they come from.

use pimlico_golden::format::{Format as GoldenFormat, Subnormals};
use pimlico_golden::{exact, unary};
use pimlico_ports::Instances;
use pimlico_testbenches::{Bench, Lockstep};
use pimlico_units::arith::{
    Bfloat16, Bfloat16Flush, Binary16, Binary16Flush, Binary32, Exp2Tables, Format, Fp, FpExp,
    FpExpIn, FpExpOut, FpRecip, FpRecipIn, FpRecipOut, FpWiden, FpWidenIn,
};
use std::f64::consts::LN_2;

/// Runs every operand of format `F` through RTL and model of unit `M` in lockstep, and its oracle
/// over it all. The result of an operand comes `stages` cycles later.
fn every_operand<M: Bench, F: Format>(stages: usize, input: impl Fn(Fp<F>) -> M::In) {
    let mut lockstep = Lockstep::<M>::new(1, 1);
    let operands = (0..1 << F::WIDTH).map(Fp::from_bits);
    // Behind the last operand, as many again as it takes for its result to come out.
    let flush = (0..stages).map(|_| Fp::ZERO);
    let inputs: Vec<M::In> = operands.chain(flush).map(input).collect();
    let mut outputs = vec![M::Out::default(); inputs.len()];
    for (input, output) in inputs.iter().zip(&mut outputs) {
        let stepped = lockstep.step(&[*input], std::slice::from_mut(output));
        stepped.unwrap_or_else(|mismatch| panic!("{mismatch}"));
    }
    let checked = M::oracle(&inputs, &outputs).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(checked, 1 << F::WIDTH, "{}", M::name());
}

fn exp_in<F: Format>(a_i: Fp<F>) -> FpExpIn<F> {
    FpExpIn { a_i, ..Default::default() }
}

fn recip_in<F: Format>(a_i: Fp<F>) -> FpRecipIn<F> {
    FpRecipIn { a_i, ..Default::default() }
}

fn widen_in<F: Format>(a_i: Fp<F>) -> FpWidenIn<F> {
    FpWidenIn { a_i, ..Default::default() }
}

#[test]
fn every_operand_widened_in_lockstep() {
    every_operand::<FpWiden<Binary16, 0>, _>(0, widen_in);
    every_operand::<FpWiden<Binary16, 1>, _>(1, widen_in);
    every_operand::<FpWiden<Binary16Flush, 0>, _>(0, widen_in);
    every_operand::<FpWiden<Bfloat16, 0>, _>(0, widen_in);
    every_operand::<FpWiden<Bfloat16Flush, 0>, _>(0, widen_in);
}

fn narrowing_undoes_widening<F: Format>() {
    let (format, subnormals) = golden::<F>();
    for a in 0..1 << F::WIDTH {
        let wide = Fp::<F>::from_bits(a).widen::<Binary32>();
        let expected = exact::convert(format, format, subnormals, a);
        assert_eq!(wide.narrow::<F>().to_bits(), expected, "{} {a:#06x}", F::LABEL);
    }
}

#[test]
fn narrowing_undoes_widening_for_every_operand() {
    narrowing_undoes_widening::<Binary16>();
    narrowing_undoes_widening::<Binary16Flush>();
    narrowing_undoes_widening::<Bfloat16>();
    narrowing_undoes_widening::<Bfloat16Flush>();
}

#[test]
fn exp_of_every_operand_in_lockstep() {
    every_operand::<FpExp<Binary16, 0>, _>(0, exp_in);
    every_operand::<FpExp<Binary16, 3>, _>(3, exp_in);
    every_operand::<FpExp<Binary16, 4>, _>(4, exp_in);
    every_operand::<FpExp<Binary16Flush, 0>, _>(0, exp_in);
    every_operand::<FpExp<Bfloat16, 0>, _>(0, exp_in);
    every_operand::<FpExp<Bfloat16, 4>, _>(4, exp_in);
}

#[test]
fn recip_of_every_operand_in_lockstep() {
    every_operand::<FpRecip<Binary16, 0>, _>(0, recip_in);
    every_operand::<FpRecip<Binary16, 3>, _>(3, recip_in);
    every_operand::<FpRecip<Binary16, 6>, _>(6, recip_in);
    every_operand::<FpRecip<Binary16Flush, 0>, _>(0, recip_in);
    every_operand::<FpRecip<Bfloat16, 0>, _>(0, recip_in);
    every_operand::<FpRecip<Bfloat16, 6>, _>(6, recip_in);
}

fn golden<F: Format>() -> (GoldenFormat, Subnormals) {
    let subnormals = if F::SUBNORMALS { Subnormals::Gradual } else { Subnormals::Flush };
    (GoldenFormat { exp_bits: F::EXP_BITS, man_bits: F::MAN_BITS }, subnormals)
}

fn recip_is_correctly_rounded<F: Format>() {
    let (format, subnormals) = golden::<F>();
    for a in 0..1 << F::WIDTH {
        let expected = unary::recip(format, subnormals, a);
        assert_eq!(Fp::<F>::from_bits(a).recip().to_bits(), expected, "{} 1 / {a:#06x}", F::LABEL);
    }
}

#[test]
fn recip_of_every_operand_is_correctly_rounded() {
    recip_is_correctly_rounded::<Binary16>();
    recip_is_correctly_rounded::<Binary16Flush>();
    recip_is_correctly_rounded::<Bfloat16>();
    recip_is_correctly_rounded::<Bfloat16Flush>();
}

/// binary32 has too many operands for all of them. Its reciprocal rounds the same way whatever the
/// binade, so the significands matter: those with few ones or zeros, and others spread evenly.
#[test]
fn recip_in_binary32_is_correctly_rounded() {
    let (format, subnormals) = golden::<Binary32>();
    let ones = (0..24).flat_map(|n| [(1 << n) - 1, 0x7F_FFFF ^ ((1 << n) - 1), 1 << n >> 1]);
    let spread = (0..100_000u32).map(|n| n.wrapping_mul(0x9E37_79B1) >> 9);
    let exponents = [0, 1, 2, 100, 126, 127, 128, 144, 252, 253, 254, 255];
    for mantissa in ones.chain(spread) {
        for head in
            exponents.map(|exponent: u32| [exponent, exponent | 0x100]).into_iter().flatten()
        {
            let a = head << 23 | mantissa & 0x7F_FFFF;
            let expected = unary::recip(format, subnormals, a);
            assert_eq!(Fp::<Binary32>::from_bits(a).recip().to_bits(), expected, "1 / {a:#010x}");
        }
    }
}

/// Largest and mean error in ULP over all finite operands, and how many results are not the
/// nearest number.
fn exp_error<F: Format>() -> (f64, f64, u32) {
    let (format, subnormals) = golden::<F>();
    let (mut largest, mut sum, mut operands, mut not_nearest) = (0f64, 0.0, 0, 0);
    for a in (0..1 << F::WIDTH).filter(|a| a & F::INFINITY != F::INFINITY) {
        let got = Fp::<F>::from_bits(a).exp().to_bits();
        let ulps = unary::exp_ulps(format, subnormals, a, got);
        largest = largest.max(ulps);
        sum += ulps;
        operands += 1;
        not_nearest += u32::from(got != unary::exp(format, subnormals, a));
    }
    (largest, sum / f64::from(operands), not_nearest)
}

/// These figures stand in the unit's contract, the largest rounded up.
#[test]
fn exp_error_is_what_the_contract_says() {
    let figures = |(largest, mean, not_nearest): (f64, f64, u32)| {
        let largest = (largest * 1e3).ceil() / 1e3;
        (format!("{largest:.3} {mean:.4}"), not_nearest)
    };
    assert_eq!(figures(exp_error::<Binary16>()), ("0.888 0.1575".to_owned(), 4246));
    assert_eq!(figures(exp_error::<Binary16Flush>()), ("0.888 0.1519".to_owned(), 4226));
    assert_eq!(figures(exp_error::<Bfloat16>()), ("0.853 0.0196".to_owned(), 654));
    assert_eq!(figures(exp_error::<Bfloat16Flush>()), ("0.853 0.0196".to_owned(), 654));
}

fn exp_special_cases<F: Format>() {
    let exp = |bits| Fp::<F>::from_bits(bits).exp();
    let sign = 1 << (F::WIDTH - 1);
    let one = Fp::from_bits((F::BIAS as u32) << F::MAN_BITS);
    assert_eq!([exp(0), exp(sign)], [one; 2]);
    assert_eq!([exp(F::INFINITY), exp(sign | F::INFINITY)], [Fp::infinity(false), Fp::ZERO]);
    for nan in (F::INFINITY + 1..sign).flat_map(|bits| [bits, bits | sign]) {
        assert_eq!(exp(nan), Fp::NAN);
    }
}

/// What softmax needs of it: weights of at most 1, in the order of the scores.
fn exp_never_falls<F: Format>() {
    let exp = |bits| Fp::<F>::from_bits(bits).exp().to_bits();
    let sign = 1 << (F::WIDTH - 1);
    let negative = (sign..=sign | F::INFINITY).rev();
    let rising: Vec<u32> = negative.chain(0..=F::INFINITY).map(exp).collect();
    assert!(rising.is_sorted());
    assert_eq!(exp(sign | 1), exp(0), "e^x of a number just below 0 is 1");
}

#[test]
fn exp_is_monotonic_and_exact_where_it_is_special() {
    exp_special_cases::<Binary16>();
    exp_special_cases::<Binary16Flush>();
    exp_special_cases::<Bfloat16>();
    exp_special_cases::<Bfloat16Flush>();
    exp_never_falls::<Binary16>();
    exp_never_falls::<Binary16Flush>();
    exp_never_falls::<Bfloat16>();
    exp_never_falls::<Bfloat16Flush>();
}

/// The formulas of `rtl/arith/exp2_fraction.sv`. The RTL has the same tables: all operands in
/// lockstep reach all entries.
fn tables_follow_their_formulas<F: Format>(a: u32) {
    let tables = Exp2Tables::of::<F>();
    assert_eq!(tables.a, a);
    let width = F::MAN_BITS as i32 + 2;
    let (intervals, slopes) = (1 << (a + 3), 1 << a);
    assert_eq!((tables.base.len(), tables.step.len()), (intervals, slopes));

    // A step to the side must give another number: the formula is not at a tie.
    let safe = |x: f64| {
        assert!((x - x.round()).abs() > 1e-6, "{x} is next to an integer");
        x
    };
    for (i, &base) in tables.base.iter().enumerate() {
        let middle = (i as f64 + 0.5) / intervals as f64;
        let g = 1.0 + middle - middle.exp2();
        let expected = safe(g * f64::from(width).exp2() + 0.5).floor();
        assert_eq!(f64::from(base), expected, "BASE[{i}]");
    }
    for j in 0..slopes {
        let slope = 1.0 - LN_2 * ((j as f64 + 0.5) / slopes as f64).exp2();
        for m in 0..slopes as u32 / 2 {
            let scale = f64::from(width - 2 * a as i32 - 4).exp2();
            let expected = safe(scale * f64::from(2 * m + 1) * slope).floor();
            assert_eq!(f64::from(tables.step(j as u32, m)), expected, "STEP[{j}][{m}]");
        }
    }
}

#[test]
fn tables_are_recomputed() {
    tables_follow_their_formulas::<Binary16>(4);
    tables_follow_their_formulas::<Bfloat16>(2);
}

#[test]
fn oracles_catch_a_wrong_result() {
    let wrong = FpRecipOut { result_o: Fp::from_bits(0x3C01), ..Default::default() };
    let error = FpRecip::<Binary16, 0>::oracle(&[recip_in(Fp::from_bits(0x3C00))], &[wrong]);
    assert_eq!(error.expect_err("1 / 1 is 1").expected, 0x3C00);

    let exp = |operands: &[u32], results: &[u32]| {
        let inputs: Vec<_> = operands.iter().map(|&a| exp_in(Fp::from_bits(a))).collect();
        let out = |&bits| FpExpOut { result_o: Fp::from_bits(bits), ..Default::default() };
        FpExp::<Binary16, 0>::oracle(&inputs, &results.iter().map(out).collect::<Vec<_>>())
    };
    assert_eq!(exp(&[0x3C00], &[0x4170]).expect("e is 2.718"), 1);
    assert!(exp(&[0x3C00], &[0x4172]).is_err(), "two units away");
    assert!(exp(&[0x0000], &[0x3BFF]).is_err(), "half a unit away, where 1 is exact");
    // Both are within a unit, but in the wrong order.
    assert!(exp(&[0x1000, 0x1001], &[0x3C01, 0x3C00]).is_err(), "falls");
    assert!(exp(&[0xFC00], &[0x8000]).is_err(), "-0");
}
