// SPDX-License-Identifier: MIT
//! Latencies against those of the contract, and a weight against the exponentials of its chunk.

use super::*;
use crate::arith::Binary16;
use crate::gear::Gear1;
use num_traits::AsPrimitive;

type Early = SoftmaxUnit<Binary16, false, Gear1>;
type Late = SoftmaxUnit<Binary16, true, Gear1>;

fn number(x: f32) -> Fp<Binary16> {
    x.as_()
}

fn score(x: f32) -> SoftmaxUnitIn<Binary16, Gear1> {
    SoftmaxUnitIn {
        score_valid_i: true,
        score_i: [number(x)],
        scale_i: number(0.5),
        head_i: U::new(3),
        first_i: true,
        ..Default::default()
    }
}

fn idle() -> SoftmaxUnitIn<Binary16, Gear1> {
    SoftmaxUnitIn::default()
}

/// Cycles until `done`, that of `input` being the first.
fn cycles<M: Model<In = SoftmaxUnitIn<Binary16, Gear1>, Out = SoftmaxUnitOut<Binary16, Gear1>>>(
    unit: &mut M,
    input: SoftmaxUnitIn<Binary16, Gear1>,
    done: impl Fn(&M::Out) -> bool,
) -> u64 {
    let inputs = std::iter::once(input).chain(std::iter::repeat_n(idle(), 100));
    inputs.map(|input| unit.step(&input)).take_while(|output| !done(output)).count() as u64
}

/// A unit that has taken a chunk but for its last score: 0, 1, 2, ...
fn almost_a_chunk<const LATE: bool>() -> SoftmaxUnit<Binary16, LATE, Gear1> {
    let mut unit = SoftmaxUnit::new();
    for i in 0..CHUNK - 1 {
        unit.step(&score(i as f32));
    }
    unit
}

#[test]
fn latencies_of_pass_1_are_the_contracts() {
    let unit = almost_a_chunk::<false>();
    let last = score(15.0);
    assert_eq!(cycles(&mut Early::new(), last, |o| o.scaled_valid_o), Early::SCALE_LATENCY);
    assert_eq!(cycles(&mut unit.clone(), last, |o| o.max_valid_o), Early::MAX_LATENCY);
    assert_eq!(cycles(&mut unit.clone(), last, |o| o.exp_valid_o), Early::EXP_LATENCY);
    // A finish with the last score waits for the chunk.
    let finish = SoftmaxUnitIn { finish_i: true, finish_head_i: U::new(3), ..last };
    let latency = Early::SCORE_LATENCY + Early::DIVISION_LATENCY;
    assert_eq!(cycles(&mut unit.clone(), finish, |o| o.finished_o), latency);
    // That of another head does not, but for the cycle in which the chunk's sum is written.
    let other = SoftmaxUnitIn { finish_head_i: U::new(4), ..finish };
    assert_eq!(cycles(&mut unit.clone(), other, |o| o.finished_o), Early::FINISH_LATENCY);
}

#[test]
fn a_chunks_sum_delays_the_reciprocal_by_a_cycle() {
    for (begin, delay) in [(17, 0), (18, 1), (19, 0)] {
        let mut unit = almost_a_chunk::<false>();
        // The sum is written SCORE_LATENCY - 1 cycles after the last score, and the reciprocal
        // FINISH_LATENCY - 1 cycles after the finish.
        let finish = SoftmaxUnitIn { finish_i: true, ..idle() };
        assert!(unit.step(&finish).finish_ready_o);
        for _ in 1..begin - 1 {
            unit.step(&idle());
        }
        let cycles = begin - 1 + cycles(&mut unit, score(0.0), |o| o.finished_o);
        assert_eq!(cycles, Early::FINISH_LATENCY + delay, "{begin}");
    }
}

#[test]
fn latencies_of_pass_2_are_the_contracts() {
    let weigh = SoftmaxUnitIn { weigh_valid_i: true, ..idle() };
    let latency = cycles(&mut Early::new(), weigh, |o| o.weight_valid_o);
    assert_eq!(latency, Early::WEIGH_LATENCY);
    let latency = cycles(&mut Late::new(), weigh, |o| o.weight_valid_o);
    assert_eq!(latency, Late::WEIGH_LATENCY);
    let sum = SoftmaxUnitIn { sum_valid_i: true, ..idle() };
    let latency = cycles(&mut Late::new(), sum, |o| o.context_valid_o);
    assert_eq!(latency, Late::CONTEXT_LATENCY);
}

#[test]
fn weights_are_exponentials_over_their_sum() {
    let mut unit = almost_a_chunk::<false>();
    let last = SoftmaxUnitIn { finish_i: true, finish_head_i: U::new(3), ..score(15.0) };
    cycles(&mut unit, last, |o| o.finished_o);
    let weigh = SoftmaxUnitIn {
        weigh_valid_i: true,
        weigh_i: [number(7.0)],
        weigh_head_i: U::new(3),
        ..idle()
    };
    let mut output = unit.step(&weigh);
    for _ in 0..Early::WEIGH_LATENCY {
        output = unit.step(&idle());
    }
    assert!(output.weight_valid_o);
    let sum: f32 = (0..16).map(|i| (i as f32 / 2.0 - 7.5).exp()).sum();
    let weight: f32 = output.weight_o[0].as_();
    assert!((weight - (-0.5f32).exp() / sum).abs() < 1e-3, "{weight}");
}
