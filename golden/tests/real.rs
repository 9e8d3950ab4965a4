// SPDX-License-Identifier: MIT
//! Real numbers in three types: `f64` operation by operation, `f32` near it, and integers, which are exact.

mod operands;

use operands::random_pairs;
use pimlico_golden::format::Format;
use pimlico_golden::real::{attention, dot, softmax, weighted_sum};
use pimlico_golden::{attention as encoded, exact};

const H: Format = Format::BINARY16;
const TOKENS: usize = 50;

/// Rows of finite binary16 numbers of any magnitude, or of those from 2^-3 to 2^4.
fn rows(seed: u64, length: usize, any: bool) -> Vec<Vec<u16>> {
    let tame = |x: u32| if any { x } else { x & 0x83FF | (0x3000 + (x & 0x1C00)) };
    let bits = random_pairs(H, seed, 20_000).map(|(x, _)| tame(x) as u16);
    let finite: Vec<u16> = bits.filter(|&x| exact::to_f64(H, x.into()).is_finite()).collect();
    finite.chunks_exact(length).take(TOKENS).map(<[u16]>::to_vec).collect()
}

fn numbers(row: &[u16]) -> Vec<f64> {
    row.iter().map(|&x| exact::to_f64(H, x.into())).collect()
}

/// In units of 2^-24, of which every finite binary16 number is a multiple.
fn integers(row: &[u16]) -> Vec<i128> {
    numbers(row).iter().map(|x| (x * 2f64.powi(24)) as i128).collect()
}

/// In units of 2^-48, of which every sum of products is a multiple.
fn integer(sum: f64) -> i128 {
    (sum * 2f64.powi(48)) as i128
}

fn same(got: &[f64], expected: &[f64]) {
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(got), bits(expected));
}

#[test]
fn operations_of_f64_one_by_one() {
    for (seed, d_h) in [(1, 1), (2, 7), (3, 64), (4, 128)] {
        let (k, v) = (rows(seed, d_h, true), rows(10 + seed, d_h, true));
        let q = numbers(&k[3]);
        // Sums of such products are not exact, and no weight is near 1 with this scale.
        let scale = 1e-10;
        let mut scores = vec![];
        for row in &k {
            let row = numbers(row);
            let mut sum = q[0] * row[0];
            for e in 1..d_h {
                sum += q[e] * row[e];
            }
            scores.push(sum);
        }
        let mut max = scale * scores[0];
        for score in &scores {
            max = max.max(scale * score);
        }
        let exps: Vec<f64> = scores.iter().map(|score| (scale * score - max).exp()).collect();
        let mut sum = 0.0;
        for exp in &exps {
            sum += exp;
        }
        let weights: Vec<f64> = exps.iter().map(|exp| exp / sum).collect();
        let mut context = vec![0.0; d_h];
        for (weight, row) in weights.iter().zip(&v) {
            for (sum, value) in context.iter_mut().zip(numbers(row)) {
                *sum += weight * value;
            }
        }

        let a = encoded::attention(H, &k[3], &k, &v, scale);
        same(&a.scores, &scores);
        same(&a.weights, &weights);
        same(&a.context, &context);
        let scaled: Vec<f64> = scores.iter().map(|score| scale * score).collect();
        same(&softmax(&scaled), &weights);
    }
}

#[test]
fn f32_is_near_f64() {
    let (k, v) = (rows(5, 64, false), rows(6, 64, false));
    let narrow = |row: &Vec<u16>| numbers(row).iter().map(|&x| x as f32).collect::<Vec<f32>>();
    // With this scale no weight is near 1.
    let single = attention(&narrow(&k[3]), k.iter().map(narrow), v.iter().map(narrow), 1e-3);
    let double = encoded::attention(H, &k[3], &k, &v, 1e-3);
    for (single, double) in [(single.weights, double.weights), (single.context, double.context)] {
        let largest = double.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        for (single, double) in single.iter().zip(double) {
            assert!((f64::from(*single) - double).abs() < 1e-5 * largest, "{single} {double}");
        }
    }
    // Elements of a narrower type are taken exactly.
    assert_eq!(dot(&narrow(&k[0]), &numbers(&k[1])), dot(&numbers(&k[0]), &numbers(&k[1])));
}

/// A sum of n terms is off by at most n * 2^-53 of the sum of their magnitudes, and products are exact.
#[test]
fn sums_of_f64_are_as_near_the_exact_ones_as_promised() {
    for (seed, d_h) in [(7, 1), (8, 33), (9, 256)] {
        let k = rows(seed, d_h, true);
        let near = |sum: f64, exact: i128, magnitudes: i128, terms: usize| {
            let bound = (magnitudes * terms as i128) >> 53;
            assert!((integer(sum) - exact).abs() <= bound, "{sum} {exact} {bound}");
        };
        let magnitudes = |row: &[u16]| integers(row).iter().map(|x| x.abs()).collect::<Vec<i128>>();
        let q = &k[0];
        for row in &k {
            let exact = dot(&integers(q), &integers(row));
            near(
                dot(&numbers(q), &numbers(row)),
                exact,
                dot(&magnitudes(q), &magnitudes(row)),
                d_h,
            );
        }

        let weights = &rows(seed + 20, k.len(), true)[0];
        let exact = weighted_sum(&integers(weights), k.iter().map(|row| integers(row)));
        let most = weighted_sum(&magnitudes(weights), k.iter().map(|row| magnitudes(row)));
        let sums = encoded::context_from_weights(H, weights, &k);
        for ((sum, exact), most) in sums.into_iter().zip(exact).zip(most) {
            near(sum, exact, most, k.len());
        }
    }
}

#[test]
#[should_panic(expected = "one weight per row")]
fn a_weight_too_many() {
    weighted_sum(&[1, 2], [[3]].iter());
}

#[test]
#[should_panic(expected = "rows of one length")]
fn a_row_too_short() {
    weighted_sum(&[1, 2], [vec![3, 4], vec![5]].iter());
}
