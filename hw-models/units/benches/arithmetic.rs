// SPDX-License-Identifier: MIT
//! Multiply-then-add in binary16, each rounded: the fast levels, `half` and the definition.
//!
//! Operands and accumulators fit the first-level cache. Read the ratios of one run, not the figures
//! of two: the machine may be shared.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use half::f16;
use pimlico_units::arith::fast::{self, Level};
use pimlico_units::arith::{Binary16, Binary16Flush, Fp};
use std::hint::black_box;

/// Three arrays of 2 KB.
const COUNT: usize = 1024;

fn multiply_then_add(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("multiply-then-add");
    group.throughput(Throughput::Elements(COUNT as u64));
    let element = |i: usize| f16::from_f32(0.5 + i as f32 / COUNT as f32).to_bits();
    let a: Vec<u16> = (0..COUNT).map(element).collect();
    let b: Vec<u16> = (0..COUNT).rev().map(|i| element(i) ^ ((i as u16 & 1) << 15)).collect();
    let mut acc = vec![0u16; COUNT];

    for level in Level::available() {
        group.bench_function(format!("{level:?}"), |bencher| {
            bencher.iter(|| fast::mul_add::<Binary16>(level, &a, &b, black_box(&mut acc)));
        });
    }
    group.bench_function("flush to zero", |bencher| {
        let level = Level::best();
        bencher.iter(|| fast::mul_add::<Binary16Flush>(level, &a, &b, black_box(&mut acc)));
    });
    group.bench_function("half, scalar", |bencher| {
        bencher.iter(|| {
            for ((a, b), acc) in a.iter().zip(&b).zip(black_box(&mut acc)) {
                let sum = f16::from_bits(*a) * f16::from_bits(*b) + f16::from_bits(*acc);
                *acc = sum.to_bits();
            }
        });
    });
    group.bench_function("the definition", |bencher| {
        let fp = |bits: u16| Fp::<Binary16>::from_bits(bits.into());
        bencher.iter(|| {
            for ((a, b), acc) in a.iter().zip(&b).zip(black_box(&mut acc)) {
                *acc = (fp(*a) * fp(*b) + fp(*acc)).to_bits() as u16;
            }
        });
    });
    group.finish();
}

criterion_group!(benches, multiply_then_add);
criterion_main!(benches);
