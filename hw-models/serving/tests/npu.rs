// SPDX-License-Identifier: MIT
//! The time of a matrix on the NPU is what it takes on the systolic array of the RTL: whole matrices on its cycle model, tile by tile, with
//! loads and weights in the cycles in which the timing model has them.

use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_golden::systolic::output;
use pimlico_ports::{Model, U};
use pimlico_serving::neupims::npu::{Npu, Pipeline};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::bank::{Eight, Four, Lanes};
use pimlico_units::npu::{SystolicArray, SystolicArrayIn};

const PRECISION: Precision = Precision {
    elements: Format::BINARY16,
    subnormals: Subnormals::Gradual,
    sums: Format::BINARY32,
};

/// A matrix and the activations that it is multiplied by: elements of each request, and weights of each output.
struct Work {
    activations: Vec<Vec<u32>>,
    weights: Vec<Vec<u32>>,
}

impl Work {
    fn new(requests: u64, inputs: u64, outputs: u64) -> Self {
        let element = |n: u64, k: u64, seed: u64| {
            let mixed = (n * 1009 + k * 31 + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            // Between 1/8 and 4, of both signs.
            ((mixed & 1) << 15 | (12 + mixed % 5) << 10 | mixed >> 4 & 0x3FF) as u32
        };
        let rows = |count: u64, seed| {
            (0..count).map(|n| (0..inputs).map(|k| element(n, k, seed)).collect()).collect()
        };
        Self { activations: rows(requests, 1), weights: rows(outputs, 2) }
    }
}

/// Runs a matrix on the first of so many arrays. Returns the cycles until its last result is in its register.
fn run<S: Lanes>(npu: &Npu, work: &Work) -> u64 {
    let side = S::COUNT;
    let (requests, inputs) = (work.activations.len(), work.activations[0].len());
    let share = side / npu.arrays as usize;
    let groups = work.weights.len().div_ceil(side);
    // Outputs of this array, group by group.
    let outputs: Vec<usize> =
        (0..groups).flat_map(|group| (0..share).map(move |n| group * side + n)).collect();
    let tiles: Vec<(usize, usize)> = (0..inputs.div_ceil(side))
        .flat_map(|k| (0..requests.div_ceil(side)).map(move |b| (k, b)))
        .collect();
    let pipeline = Pipeline::RTL;
    let period = npu.period(work.weights.len() as u64);
    let waits = pipeline.latency(side as u64).div_ceil(requests.div_ceil(side) as u64);
    let period = if inputs > side { period.max(waits) } else { period } as usize;

    let element = |rows: &[Vec<u32>], n: usize, k: usize| {
        rows.get(n).and_then(|row| row.get(k)).map_or(Fp::ZERO, |bits| Fp::from_bits(*bits))
    };
    let mut sums = vec![vec![Fp::ZERO; outputs.len()]; requests];
    let mut array = SystolicArray::<Binary16, S, S>::new();
    // Loads begin `side` cycles ahead of a tile's weights.
    let end = (tiles.len() - 1) * period
        + side
        + outputs.len()
        + SystolicArray::<Binary16, S, S>::LATENCY;
    let (mut under_way, mut last) = (std::collections::VecDeque::<(usize, usize)>::new(), 0);
    for cycle in 0..end {
        let mut input = SystolicArrayIn::<Binary16, S, S>::default();
        // A sum may be an operand in the cycle in which it is there.
        let result = array.settle(&input);
        if result.result_valid_o {
            let (b, n) = under_way.pop_front().expect("weights");
            for column in 0..side {
                if let Some(sums) = sums.get_mut(b * side + column) {
                    sums[n] = result.result_o[column];
                }
            }
            last = cycle;
        }
        for (number, &(k, b)) in tiles.iter().enumerate() {
            let begins = number * period;
            if (begins..begins + side).contains(&cycle) {
                let column = cycle - begins;
                assert!(!input.load_valid_i, "two loads in cycle {cycle}");
                input.load_valid_i = true;
                input.load_column_i = U::new(column as u64);
                for row in 0..side {
                    input.load_i[row] =
                        element(&work.activations, b * side + column, k * side + row);
                }
            }
            let weights = begins + side;
            if (weights..weights + outputs.len()).contains(&cycle) {
                let n = cycle - weights;
                assert!(!input.valid_i, "two outputs in cycle {cycle}");
                (input.valid_i, input.swap_i) = (true, n == 0);
                for row in 0..side {
                    input.weight_i[row] = element(&work.weights, outputs[n], k * side + row);
                    input.sum_i[row] = sums.get(b * side + row).map_or(Fp::ZERO, |sums| sums[n]);
                }
                under_way.push_back((b, n));
            }
        }
        array.step(&input);
    }
    assert!(under_way.is_empty());
    for (activations, sums) in work.activations.iter().zip(&sums) {
        for (&n, sum) in outputs.iter().zip(sums).filter(|(n, _)| **n < work.weights.len()) {
            assert_eq!(sum.to_bits(), output(&PRECISION, 0, activations, &work.weights[n]));
        }
    }
    // It is in its register when the cycle before it is seen ends.
    last as u64
}

fn check<S: Lanes>() {
    type Array<S> = SystolicArray<Binary16, S, S>;
    let rtl = Pipeline::RTL;
    assert_eq!((Array::<S>::ADD, Array::<S>::CELL), (rtl.adder, rtl.cell));
    let side = S::COUNT as u64;
    assert_eq!(Array::<S>::LATENCY as u64, rtl.latency(side));
    for arrays in [1, 2, side] {
        let npu = Npu { arrays, side, fill: rtl.fill(arrays, side), ..Npu::TABLE_2 };
        for (requests, inputs, outputs) in [
            (1, 1, 1),
            (side, side, side),
            (side, 3 * side, 20 * side),
            (side, 2 * side, side),
            (3 * side - 1, 2 * side + 1, 9 * side - 2),
            (9 * side, 4 * side, side),
        ] {
            let taken = run::<S>(&npu, &Work::new(requests, inputs, outputs));
            let what = (arrays, requests, inputs, outputs);
            assert_eq!(taken, npu.chained(rtl, requests, inputs, outputs), "{what:?}");
            let compute = npu.compute(requests, inputs, outputs) + npu.fill;
            assert!(taken >= compute, "{what:?}");
            // Where sums are there in time, it is the time of the model of the whole system.
            let in_time = npu.period(outputs) * requests.div_ceil(side) >= rtl.latency(side);
            assert!(taken == compute || !in_time && inputs > side, "{what:?}");
        }
    }
}

#[test]
fn matrices_take_as_long_on_the_systolic_array() {
    check::<Four>();
    check::<Eight>();
}
