// SPDX-License-Identifier: MIT
//! The machine's own arithmetic against exact arithmetic, operation by operation and sum by sum.

mod operands;

use operands::{pairs, random_pairs, stratified};
use pimlico_golden::dot::{dot, dot_in_parts};
use pimlico_golden::exact;
use pimlico_golden::exponential;
use pimlico_golden::format::{Format, Subnormals::Gradual};
use pimlico_golden::head::{HeadMade, HeadOrder, stages};
use pimlico_golden::native::{
    ContextOrder, ContextSums, DotOrder, bits, nearest, nearest_of_real, number,
};
use pimlico_golden::product::Vector;
use pimlico_golden::reduction::Precision;
use pimlico_golden::softmax;

const H: Format = Format::BINARY16;

fn precision(wide: bool) -> Precision {
    let sums = if wide { Format::BINARY32 } else { H };
    Precision { elements: H, subnormals: Gradual, sums }
}

#[test]
fn numbers_are_those_of_the_format() {
    for all in 0..=u16::MAX {
        let x = number(all);
        let expected = exact::to_f64(H, all.into());
        assert!(f64::from(x) == expected || x.is_nan() && expected.is_nan(), "{all:#06x}");
        assert_eq!(bits(x), if x.is_nan() { 0x7E00 } else { all });
    }
}

#[test]
fn operations_are_rounded_once() {
    for (a, b) in pairs(&stratified(H)).chain(random_pairs(H, 21, 4_000_000)) {
        let (x, y) = (number(a as u16), number(b as u16));
        let product = u32::from(bits(nearest(x * y)));
        assert_eq!(product, exact::mul(H, Gradual, a, b), "{a:#06x} * {b:#06x}");
        let sum = u32::from(bits(nearest(x + y)));
        assert_eq!(sum, exact::add(H, Gradual, a, b), "{a:#06x} + {b:#06x}");
    }
}

#[test]
fn binary32_is_rounded_to_the_nearest() {
    // The upper bits of all numbers, with ties and their neighbours.
    for upper in 0..=u16::MAX {
        for lower in [0, 1, 0xFFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x3001, 0xFFFF] {
            let x = u32::from(upper) << 16 | lower;
            let expected = exact::convert(Format::BINARY32, H, Gradual, x);
            assert_eq!(u32::from(bits(nearest(f32::from_bits(x)))), expected, "{x:#010x}");
        }
    }
}

#[test]
fn binary64_is_rounded_to_the_nearest() {
    // The upper bits of all numbers of binary32, with ties and their neighbours further down.
    for upper in 0..=u16::MAX {
        for lower in [0, 1, 0x0FFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x3001, 0xFFFF] {
            let x = f64::from(f32::from_bits(u32::from(upper) << 16 | lower));
            for x in [x, x.next_up(), x.next_down()] {
                let expected = exact::from_f64(H, Gradual, x);
                assert_eq!(u32::from(bits(nearest_of_real(x))), expected, "{x:e}");
            }
        }
    }
    for x in [f64::MAX, f64::MIN, f64::MIN_POSITIVE, -1e-300, f64::INFINITY, f64::NAN] {
        assert_eq!(u32::from(bits(nearest_of_real(x))), exact::from_f64(H, Gradual, x), "{x:e}");
    }
}

/// Vectors whose exponents are about 1, and now and then anything.
fn vectors(seed: u64) -> impl FnMut(usize, bool) -> Vec<u16> {
    let mut random = random_pairs(H, seed, usize::MAX).flat_map(|(a, b)| [a, b]);
    move |len, wild| {
        let tame = |x: u32| (x & 0x83FF | ((x & 0x1C00) + 0x2800)) as u16;
        let draw = |x: u32| if wild && x.is_multiple_of(61) { x as u16 } else { tame(x) };
        random.by_ref().take(len).map(draw).collect()
    }
}

#[test]
fn dot_products_are_those_of_the_orders() {
    let mut next = vectors(22);
    for n in 0..1500 {
        let (length, wild) = (1 + n % 300, n % 3 == 0);
        let (a, b) = (next(length, wild), next(length, wild));
        let native = |order| Vector::new(order, &b).times(&a).bits;
        for wide in [false, true] {
            let precision = precision(wide);
            assert_eq!(native(DotOrder::Chips { wide, tile: 4096 }), precision.score(&a, &b));
            let mut sum = 0;
            for (a, b) in a.chunks(64).zip(b.chunks(64)) {
                let chip = |chip| precision.term(precision.chip_sum(a, b, chip).into());
                let tile = precision.chips_sum(std::array::from_fn(chip));
                sum = precision.element(precision.add(tile, precision.term(sum)));
            }
            assert_eq!(u32::from(native(DotOrder::Chips { wide, tile: 64 })), sum);
        }
        let whole = dot(precision(false), 16, &a, &b);
        assert_eq!(native(DotOrder::Beats { part: usize::MAX }), whole);
        let parts = dot_in_parts(precision(false), 16, 48, &a, &b);
        assert_eq!(native(DotOrder::Beats { part: 48 }), parts);
    }
}

#[test]
fn contexts_are_those_of_the_orders() {
    let mut next = vectors(23);
    for n in 0..200 {
        let (tokens, wild) = (1 + n, n % 3 == 0);
        let v: Vec<Vec<u16>> = (0..tokens).map(|_| next(5, wild)).collect();
        let weights = next(tokens, wild);
        let native = |order| {
            let mut sums = ContextSums::new(order, 5);
            for (weight, v) in weights.iter().zip(&v) {
                let v: Vec<f32> = v.iter().map(|v| number(*v)).collect();
                sums.see(number(*weight), &v);
            }
            sums.finish()
        };
        let elements = |sums: Vec<f32>| sums.into_iter().map(bits).collect::<Vec<_>>();
        for part in [16, 64, usize::MAX] {
            let of = |wide| native(ContextOrder::Groups { wide, tokens: part });
            let expected = |wide| precision(wide).context_in_parts(&v, &weights, part.min(tokens));
            let narrow: Vec<u32> = elements(of(false)).into_iter().map(u32::from).collect();
            assert_eq!(narrow, expected(false), "{tokens} in parts of {part}");
            let canonical = |x: f32| if x.is_nan() { Format::BINARY32.nan() } else { x.to_bits() };
            let wide: Vec<u32> = of(true).into_iter().map(canonical).collect();
            assert_eq!(wide, expected(true), "{tokens} in parts of {part}");
            let columns = (0..5).map(|e| v.iter().map(|v| v[e]).collect::<Vec<_>>());
            let dots = columns.map(|column| {
                dot_in_parts(precision(false), 16, part.min(tokens), &column, &weights)
            });
            let beats = elements(native(ContextOrder::Beats { part }));
            assert_eq!(beats, dots.collect::<Vec<_>>(), "{tokens} in parts of {part}");
        }
    }
}

/// The whole of a head by the slow functions, chained; and that no stage is further from the real numbers than it may be.
#[test]
fn a_head_is_that_of_the_slow_functions() {
    let mut next = vectors(24);
    for n in 0..60usize {
        let (tokens, elements) = (1 + 13 * n, [8, 33, 64][n % 3]);
        let (wide, late) = (n % 2 == 0, n / 2 % 2 == 0);
        let q = next(elements, false);
        let [k, v] = [0, 1].map(|_| (0..tokens).map(|_| next(elements, false)).collect::<Vec<_>>());
        let precision = precision(wide);
        let scores: Vec<u16> = k.iter().map(|k| precision.score(k, &q)).collect();
        let scale = 1.0 / (elements as f64).sqrt();
        let (weights, reciprocal) = slow_softmax(&scores, scale, late);
        let context = precision.context(&v, &weights);
        let context: Vec<u16> = context
            .into_iter()
            .map(|sum| match late {
                false => precision.element(sum) as u16,
                true => {
                    let sum = exact::convert(precision.sums, Format::BINARY32, Gradual, sum);
                    softmax::normalise(H, Gradual, sum, reciprocal) as u16
                }
            })
            .collect();
        let order = HeadOrder {
            score: DotOrder::Chips { wide, tile: 4096 },
            context: ContextOrder::Groups { wide, tokens: usize::MAX },
            late,
        };
        let made = HeadMade { scores: &scores, weights: &weights, context: &context };
        let stages = stages(&order, (&q, &k, &v), scale, &made);
        for (stage, got) in [
            (&stages.score, &scores),
            (&stages.softmax, &weights),
            (&stages.context, &context),
            (&stages.output_from_scores, &context),
            (&stages.output, &context),
        ] {
            assert!(stage.bits.is_empty() || stage.bits == *got, "{tokens} {wide} {late}");
            assert_eq!(stage.beyond(got), (None, 0), "{tokens} {wide} {late}");
        }
        assert!(stages.context.bits.len() == elements && stages.softmax.bits.len() == tokens);
        assert!(stages.output.bounds.iter().all(|bound| bound.is_finite()));
    }
}

fn slow_softmax(scores: &[u16], scale: f64, late: bool) -> (Vec<u16>, u32) {
    let scale = exact::from_f64(H, Gradual, scale);
    let scaled: Vec<u32> =
        scores.iter().map(|score| exact::mul(H, Gradual, (*score).into(), scale)).collect();
    let exp = |x, max| u32::from(exponential::exp(softmax::difference(H, Gradual, x, max) as u16));
    let (mut max, mut sum) = (H.infinity(true), Some(0));
    for chunk in scaled.chunks(softmax::CHUNK) {
        let higher = softmax::maximum(H, Gradual, max, chunk);
        let exps: Vec<u32> = chunk.iter().map(|x| exp(*x, higher)).collect();
        sum = softmax::combine(H, sum, exp(max, higher), softmax::chunk_sum(H, &exps));
        max = higher;
    }
    let reciprocal = softmax::reciprocal(sum);
    let weight = |x: &u32| match late {
        true => exp(*x, max) as u16,
        false => softmax::weight(H, Gradual, exp(*x, max), reciprocal) as u16,
    };
    (scaled.iter().map(weight).collect(), reciprocal)
}
