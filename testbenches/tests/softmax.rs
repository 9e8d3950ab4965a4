// SPDX-License-Identifier: MIT
//! Rows through the softmax unit, model and RTL in lockstep, as a rank controller would send them:
//! every step is the contract's, and the weights are those of softmax in float64, to within a bound
//! that follows from the roundings.

use pimlico_golden::format::{Format as GoldenFormat, Subnormals};
use pimlico_golden::{exact, real, softmax};
use pimlico_ports::{Instances, U};
use pimlico_testbenches::{Bench, Lockstep};
use pimlico_units::arith::{Binary16, Binary16Flush, Binary32, Format, Fp};
use pimlico_units::gear::Gear1;
use pimlico_units::rank::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut};
use proptest::collection::vec;
use proptest::prelude::*;

const CHUNK: usize = 16;
/// What exponentials may miss, from `rtl/arith/fp_exp.md`.
const EXP_ULPS: f64 = 0.888;

/// A unit in lockstep, and what went in and came out.
struct Driver<F: Format, const LATE: bool>
where
    SoftmaxUnit<F, LATE, Gear1>:
        Bench<In = SoftmaxUnitIn<F, Gear1>, Out = SoftmaxUnitOut<F, Gear1>>,
{
    lockstep: Lockstep<SoftmaxUnit<F, LATE, Gear1>>,
    inputs: Vec<SoftmaxUnitIn<F, Gear1>>,
    outputs: Vec<SoftmaxUnitOut<F, Gear1>>,
}

fn head(head: usize) -> U<3> {
    U::new(head as u64)
}

impl<F: Format, const LATE: bool> Driver<F, LATE> {
    fn new() -> Self {
        Self { lockstep: Lockstep::new(1, 1), inputs: Vec::new(), outputs: Vec::new() }
    }

    fn clock(&mut self, input: SoftmaxUnitIn<F, Gear1>) -> SoftmaxUnitOut<F, Gear1> {
        let mut output = [SoftmaxUnitOut::default()];
        let step = self.lockstep.step(&[input], &mut output);
        step.unwrap_or_else(|mismatch| panic!("{mismatch}"));
        self.inputs.push(input);
        self.outputs.push(output[0]);
        output[0]
    }

    fn idle(&mut self, clocks: usize) {
        for _ in 0..clocks {
            self.clock(SoftmaxUnitIn::default());
        }
    }

    /// Sends a chunk, the missing scores masked, one score in each `pace` clocks.
    fn chunk(&mut self, of: usize, first: bool, scores: &[Fp<F>], scale_i: Fp<F>, pace: usize) {
        for i in 0..CHUNK {
            self.clock(SoftmaxUnitIn {
                score_valid_i: true,
                score_i: [scores.get(i).copied().unwrap_or(Fp::NAN)],
                scale_i,
                mask_i: [i >= scores.len()],
                // Only the first score's are looked at.
                head_i: head(if i == 0 { of } else { of ^ 5 }),
                first_i: first == (i == 0),
                ..Default::default()
            });
            self.idle(pace - 1);
        }
    }

    /// Finishes a head and waits for its reciprocal.
    fn finish(&mut self, of: usize) -> Fp<Binary32> {
        let input = SoftmaxUnitIn { finish_i: true, finish_head_i: head(of), ..Default::default() };
        assert!(self.clock(input).finish_ready_o);
        for _ in 0..100 {
            let output = self.clock(SoftmaxUnitIn::default());
            if output.finished_o {
                return output.recip_o;
            }
        }
        panic!("the division does not end");
    }

    /// Pass 2: the weights of these scaled scores, one in each clock.
    fn weigh(&mut self, of: usize, scaled: &[Fp<F>]) -> Vec<Fp<F>> {
        let start = self.outputs.len();
        for &weigh_i in scaled {
            let weigh_head_i = head(of);
            let input = SoftmaxUnitIn {
                weigh_valid_i: true,
                weigh_i: [weigh_i],
                weigh_head_i,
                ..Default::default()
            };
            assert!(self.clock(input).weigh_ready_o);
        }
        self.idle(SoftmaxUnit::<F, LATE, Gear1>::WEIGH_LATENCY as usize);
        let weights = self.outputs[start..].iter().filter(|output| output.weight_valid_o);
        weights.map(|output| output.weight_o[0]).collect()
    }

    /// These sums of a context, normalised.
    fn contexts(&mut self, of: usize, sums: &[Fp<Binary32>]) -> Vec<Fp<F>> {
        let start = self.outputs.len();
        for &sum_i in sums {
            let input = SoftmaxUnitIn {
                sum_valid_i: true,
                sum_i,
                sum_head_i: head(of),
                ..Default::default()
            };
            assert!(self.clock(input).sum_ready_o);
        }
        self.idle(SoftmaxUnit::<F, LATE, Gear1>::CONTEXT_LATENCY as usize);
        let contexts = self.outputs[start..].iter().filter(|output| output.context_valid_o);
        contexts.map(|output| output.context_o).collect()
    }

    /// The scaled scores that have left, except those of masked ones behind the rows' ends.
    fn scaled(&self) -> impl Iterator<Item = Fp<F>> {
        self.outputs.iter().filter(|output| output.scaled_valid_o).map(|output| output.scaled_o[0])
    }

    /// Sends the rows, one for each head, in turns of a chunk, through both passes. Returns for each
    /// row its scaled scores and its weights, where `LATE` those of the context of a single value.
    fn rows(&mut self, rows: &[Vec<Fp<F>>], scale: Fp<F>, pace: usize) -> Vec<[Vec<Fp<F>>; 2]> {
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut turns = Vec::new();
        for begin in (0..longest).step_by(CHUNK) {
            for (of, row) in rows.iter().enumerate().filter(|(_, row)| begin < row.len()) {
                let scores = &row[begin..row.len().min(begin + CHUNK)];
                turns.push((of, scores.len()));
                self.chunk(of, begin == 0, scores, scale, pace);
            }
        }
        let recips: Vec<_> = (0..rows.len()).map(|of| self.finish(of)).collect();
        assert!(
            recips.iter().all(|recip| f32::from(*recip) > 0.0 || recip.to_bits() == Binary32::NAN)
        );

        let mut scaled = vec![Vec::new(); rows.len()];
        for ((of, length), chunk) in
            turns.into_iter().zip(self.scaled().collect::<Vec<_>>().chunks(CHUNK))
        {
            scaled[of].extend_from_slice(&chunk[..length]);
        }
        let weigh = |(of, scaled): (usize, Vec<Fp<F>>)| {
            let mut weights = self.weigh(of, &scaled);
            if LATE {
                let sums: Vec<_> = weights.iter().map(|weight| weight.widen()).collect();
                weights = self.contexts(of, &sums);
            }
            [scaled, weights]
        };
        scaled.into_iter().enumerate().map(weigh).collect()
    }

    /// Has the oracle judge all of it.
    fn judge(&self) {
        let checked = SoftmaxUnit::<F, LATE, Gear1>::oracle(&self.inputs, &self.outputs);
        let checked = checked.unwrap_or_else(|error| panic!("{error}"));
        let scores = self.inputs.iter().filter(|input| input.score_valid_i).count();
        assert!(checked as usize > 2 * scores, "the oracle sleeps");
    }
}

fn number<F: Format>(x: f64) -> Fp<F> {
    Fp::from_bits(exact::from_f64(GoldenFormat::BINARY16, Subnormals::Gradual, x))
}

fn value<F: Format>(x: Fp<F>) -> f64 {
    exact::to_f64(GoldenFormat::BINARY16, x.to_bits())
}

/// Checks weights against softmax in float64. Returns the largest part of the bound that is used.
fn compare<F: Format>(scaled: &[Fp<F>], weights: &[Fp<F>]) -> f64 {
    assert_eq!(scaled.len(), weights.len());
    let subnormals = if F::SUBNORMALS { Subnormals::Gradual } else { Subnormals::Flush };
    let x: Vec<f64> = scaled.iter().map(|x| value(*x)).collect();
    let bounds = softmax::weight_bounds(GoldenFormat::BINARY16, subnormals, &x, EXP_ULPS);
    let exact = real::softmax(&x);
    let mut used = 0f64;
    for (i, ((weight, exact), bound)) in weights.iter().zip(exact).zip(bounds).enumerate() {
        let error = (value(*weight) - exact).abs();
        assert!(error <= bound, "weight {i}: {weight:?}, exactly {exact}, may miss it by {bound}");
        used = used.max(error / bound);
    }
    used
}

/// As [`compare`] for these rows through the unit.
fn rows_are_softmax<F: Format, const LATE: bool>(
    rows: &[Vec<f64>],
    scale: f64,
    pace: usize,
) -> f64 {
    let mut driver = Driver::<F, LATE>::new();
    let rows: Vec<Vec<_>> =
        rows.iter().map(|row| row.iter().map(|x| number(*x)).collect()).collect();
    let weighed = driver.rows(&rows, number(scale), pace);
    driver.judge();
    weighed.iter().map(|[scaled, weights]| compare(scaled, weights)).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Up to eight rows of a length each, in turns.
    #[test]
    fn rows_of_any_length_are_softmax_of_their_scores(
        rows in vec(vec(-40.0..40.0, 1..100), 1..=8),
        scale in 0.05..1.0,
        pace in 1..4usize,
    ) {
        rows_are_softmax::<Binary16, false>(&rows, scale, pace);
        rows_are_softmax::<Binary16, true>(&rows, scale, pace);
        rows_are_softmax::<Binary16Flush, false>(&rows, scale, pace);
    }
}

#[test]
fn a_long_row_of_rising_scores_stays_within_its_bound() {
    // Every chunk raises the maximum, so that every chunk rescales the sum.
    let rising: Vec<f64> = (0..4096).map(|i| f64::from(i) / 128.0).collect();
    // The maximum comes first.
    let falling: Vec<f64> = rising.iter().rev().map(|x| x / 4.0).collect();
    let used = [
        rows_are_softmax::<Binary16, false>(&[rising.clone(), falling.clone()], 0.5, 1),
        rows_are_softmax::<Binary16, true>(&[rising.clone(), falling.clone()], 0.5, 1),
        rows_are_softmax::<Binary16Flush, false>(&[rising, falling], 0.5, 1),
    ];
    assert!(used.into_iter().all(|used| used > 0.5), "the bound is too wide to tell: {used:?}");
}

#[test]
fn equal_scores_of_128k_tokens_have_equal_weights() {
    let mut driver = Driver::<Binary16, false>::new();
    let chunk = [number(3.0); CHUNK];
    for n in 0..(128 << 10) / CHUNK {
        driver.chunk(6, n == 0, &chunk, number(0.125), 1);
    }
    let recip = f32::from(driver.finish(6));
    assert_eq!(recip, (-17f32).exp2());
    // 2^-17 is exact as a subnormal number.
    let weights = driver.weigh(6, &[number(0.375); 3]);
    assert_eq!(weights, [Fp::from_bits(1 << 7); 3]);
}

/// Chunks for one head, then its weights for these scaled scores.
fn weights_of<const LATE: bool>(chunks: &[&[f64]], scaled: &[f64]) -> Vec<f64> {
    let mut driver = Driver::<Binary16, LATE>::new();
    for (n, chunk) in chunks.iter().enumerate() {
        let scores: Vec<_> = chunk.iter().map(|x| number(*x)).collect();
        driver.chunk(2, n == 0, &scores, number(1.0), 1);
    }
    driver.finish(2);
    let scaled: Vec<_> = scaled.iter().map(|x| number(*x)).collect();
    let mut weights = driver.weigh(2, &scaled);
    if LATE {
        let sums: Vec<_> = weights.iter().map(|weight| weight.widen()).collect();
        weights = driver.contexts(2, &sums);
    }
    driver.judge();
    weights.into_iter().map(value).collect()
}

#[test]
fn masked_chunks_count_for_nothing() {
    const MASKED: &[f64] = &[];
    let infinitely_low = [f64::NEG_INFINITY; CHUNK];
    for chunks in [
        &[MASKED, &[1.0, 1.0]] as &[&[f64]],
        &[&[1.0, 1.0], MASKED],
        &[MASKED, MASKED, &[1.0], MASKED, &[1.0]],
        &[&infinitely_low, &[1.0, f64::NEG_INFINITY, 1.0]],
    ] {
        let scaled = [1.0, f64::NEG_INFINITY];
        assert_eq!(weights_of::<false>(chunks, &scaled), [0.5, 0.0]);
        assert_eq!(weights_of::<true>(chunks, &scaled), [0.5, 0.0]);
    }
}

#[test]
fn rows_without_a_softmax_have_nan_for_weights() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for chunks in [
        &[&[] as &[f64]] as &[&[f64]],
        &[&[], &[-inf, -inf]],
        &[&[1.0, inf], &[2.0, 3.0]],
        &[&[1.0, 2.0], &[inf, 3.0], &[-inf]],
        &[&[inf, inf]],
        &[&[-inf, inf]],
        &[&[nan, 1.0], &[2.0]],
        &[&[1.0], &[2.0, 5.0, nan, 7.0]],
        &[&[], &[nan]],
        &[&[inf], &[nan]],
    ] {
        let scaled = [&chunks.concat()[..], &[-inf]].concat();
        let all_nan = |weights: Vec<f64>| {
            weights.len() == scaled.len() && weights.iter().all(|weight| weight.is_nan())
        };
        assert!(all_nan(weights_of::<false>(chunks, &scaled)), "{chunks:?}");
        assert!(all_nan(weights_of::<true>(chunks, &scaled)), "{chunks:?}, late");
    }
}

#[test]
fn chunks_follow_each_other_without_a_gap() {
    let mut driver = Driver::<Binary16, false>::new();
    for n in 0..100u32 {
        let scores: [_; CHUNK] = std::array::from_fn(|i| number(f64::from(n * 7 % 31) - i as f64));
        driver.chunk(n as usize % 3, n < 3, &scores, number(0.5), 1);
    }
    driver.idle(SoftmaxUnit::<Binary16, false, Gear1>::SCORE_LATENCY as usize);
    let exps: Vec<bool> = driver.outputs.iter().map(|output| output.exp_valid_o).collect();
    let first = exps.iter().position(|valid| *valid).expect("there are exponentials");
    assert_eq!(first as u64, 15 + SoftmaxUnit::<Binary16, false, Gear1>::EXP_LATENCY);
    assert!(exps[first..first + 1600].iter().all(|valid| *valid));
    for of in 0..3 {
        driver.finish(of);
    }
    driver.judge();
}

#[test]
fn passes_of_several_heads_overlap() {
    let mut driver = Driver::<Binary16, false>::new();
    driver.chunk(0, true, &[number(1.0); CHUNK], number(1.0), 1);
    driver.finish(0);
    // Head 1 in pass 1, a score in every other clock; head 0 in pass 2 whenever it is let in; a
    // finish of head 1 in the middle of it, which is answered later.
    let (mut taken, mut finished) = (0, 0);
    for n in 0..32 * 20 {
        let output = driver.clock(SoftmaxUnitIn {
            score_valid_i: n % 2 == 0,
            score_i: [number(f64::from(n % 7))],
            scale_i: number(1.0),
            head_i: head(1),
            first_i: n == 0,
            weigh_valid_i: true,
            weigh_i: [number(1.0)],
            finish_i: n == 32 * 20 - 1,
            finish_head_i: head(1),
            ..Default::default()
        });
        taken += u32::from(output.weigh_ready_o);
    }
    for _ in 0..60 {
        finished += u32::from(driver.clock(SoftmaxUnitIn::default()).finished_o);
    }
    // The exponentials of a chunk take 16 cycles, and the factor of its sum three behind them; those of the
    // last of the twenty chunks begin in the last cycle.
    assert_eq!((taken, finished), (32 * 20 - (16 + 3) * 19 - 1, 1));
    let weights = driver.outputs.iter().filter(|output| output.weight_valid_o);
    assert!(weights.clone().all(|output| output.weight_o[0] == number(1.0 / 16.0)));
    assert_eq!(weights.count() as u32, taken);
    driver.judge();
}

#[test]
fn the_oracle_catches_a_wrong_value() {
    let mut driver = Driver::<Binary16, false>::new();
    let rows = [vec![number(1.0), number(2.0), number(-3.0)]];
    driver.rows(&rows, number(1.0), 1);
    driver.judge();
    let oracle = SoftmaxUnit::<Binary16, false, Gear1>::oracle;
    type Fault = fn(&mut SoftmaxUnitOut<Binary16, Gear1>) -> bool;
    let faults: [(&str, Fault); 8] = [
        ("scaled_o", |o| o.scaled_valid_o && flip(&mut o.scaled_o[0])),
        ("max_o", |o| o.max_valid_o && flip(&mut o.max_o)),
        ("exp_o", |o| o.exp_valid_o && o.exp_o[0].to_bits() == 0x3C00 && flip(&mut o.exp_o[0])),
        ("recip_o", |o| o.finished_o && flip(&mut o.recip_o)),
        ("weight_o", |o| o.weight_valid_o && flip(&mut o.weight_o[0])),
        ("finished_o", |o| std::mem::replace(&mut o.finished_o, false)),
        ("weigh_ready_o", |o| !std::mem::replace(&mut o.weigh_ready_o, true)),
        ("exp_valid_o", |o| std::mem::replace(&mut o.exp_valid_o, false)),
    ];
    for (port, plant) in faults {
        let mut outputs = driver.outputs.clone();
        assert!(outputs.iter_mut().any(plant), "{port} is never used");
        let error = oracle(&driver.inputs, &outputs).expect_err(port);
        assert_eq!(error.port, port);
    }
}

/// Changes the last bit; true.
fn flip<F: Format>(x: &mut Fp<F>) -> bool {
    *x = Fp::from_bits(x.to_bits() ^ 1);
    true
}
