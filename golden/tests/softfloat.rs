// SPDX-License-Identifier: MIT
//! `exact` against somebody else's arithmetic, `rustc_apfloat`.

mod operands;

use std::thread;

use operands::{pairs, random_f64s, random_pairs, stratified};
use pimlico_golden::format::{Format, Subnormals::Gradual};
use pimlico_golden::{exact, softfloat};
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

/// Both products, both sums. Returns how many pairs there were, so that none cannot pass for all.
fn compare(f: Format, pairs: impl Iterator<Item = (u32, u32)>) -> usize {
    let mut count = 0;
    for (a, b) in pairs {
        let (got, want) = (exact::mul(f, Gradual, a, b), softfloat::mul(f, a, b));
        assert_eq!(got, want, "{f:?}: {a:#x} * {b:#x}: exact {got:#x}, apfloat {want:#x}");
        let (got, want) = (exact::add(f, Gradual, a, b), softfloat::add(f, a, b));
        assert_eq!(got, want, "{f:?}: {a:#x} + {b:#x}: exact {got:#x}, apfloat {want:#x}");
        count += 1;
    }
    count
}

#[test]
fn binary16_stratified() {
    assert_eq!(
        compare(Format::BINARY16, pairs(&stratified(Format::BINARY16))),
        (64 * 7) * (64 * 7)
    );
}

#[test]
fn bfloat16_stratified() {
    assert_eq!(
        compare(Format::BFLOAT16, pairs(&stratified(Format::BFLOAT16))),
        (512 * 7) * (512 * 7)
    );
}

#[test]
fn random() {
    for f in [Format::BINARY16, Format::BFLOAT16, Format::BINARY32] {
        assert_eq!(compare(f, random_pairs(f, 1, 1_000_000)), 1_000_000);
    }
}

#[test]
fn conversion_from_f64() {
    fn convert<T: Float>(x: f64) -> u32
    where
        Double: FloatConvert<T>,
    {
        let converted: T = Double::from_bits(x.to_bits().into()).convert(&mut false).value;
        converted.to_bits() as u32
    }
    for (f, convert) in [
        (Format::BINARY16, convert::<Half> as fn(f64) -> u32),
        (Format::BFLOAT16, convert::<BFloat>),
        (Format::BINARY32, convert::<Single>),
    ] {
        for x in random_f64s(f, 2, 1_000_000) {
            let (got, want) = (exact::from_f64(f, Gradual, x), convert(x));
            assert_eq!(got, want, "{f:?}: {x:e}: exact {got:#x}, apfloat {want:#x}");
        }
    }
}

#[test]
fn conversions() {
    let single = Format::BINARY32;
    for f in [Format::BINARY16, Format::BFLOAT16] {
        for a in 0..1 << 16 {
            assert_eq!(exact::convert(f, single, Gradual, a), softfloat::widen(f, a), "{a:#06x}");
        }
        // All that a significand can round like, at every exponent; then at random.
        let tails = [0, 1, 2, 3].map(|high| high << (single.man_bits - f.man_bits - 1));
        let near = stratified(single).into_iter().flat_map(|a| tails.map(|tail| a ^ tail));
        let random = random_pairs(single, 8, 1_000_000).map(|(a, _)| a);
        for a in near.chain(random) {
            assert_eq!(exact::convert(single, f, Gradual, a), softfloat::narrow(f, a), "{a:#010x}");
        }
    }
}

/// All 2^32 pairs of binary16 operands:
/// `cargo test --release -p pimlico-golden --test softfloat -- --ignored`.
#[test]
#[ignore = "takes five minutes on two cores: scripts/prove"]
fn binary16_exhaustive() {
    exhaustive(Format::BINARY16);
}

/// All 2^32 pairs of bfloat16 operands, as above.
#[test]
#[ignore = "takes five minutes on two cores: scripts/prove"]
fn bfloat16_exhaustive() {
    exhaustive(Format::BFLOAT16);
}

fn exhaustive(f: Format) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let counted: usize = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                let operands = (first as u32..1 << 16).step_by(threads);
                scope.spawn(move || {
                    compare(f, operands.flat_map(|a| (0..1 << 16).map(move |b| (a, b))))
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no mismatch")).sum()
    });
    assert_eq!(counted, 1 << 32);
}
