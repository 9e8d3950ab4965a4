// SPDX-License-Identifier: MIT
//! What the latency estimator admits is over before the REF.

use pimlico_golden::gemv::{Operation, Parts, longest};
use pimlico_ports::{Model, U};
use pimlico_units::channel::{GUARD_TCK, LatencyEstimator, LatencyEstimatorIn};

/// The estimate with NeuPIMs' timings.
fn estimate(guard: u8, operation: LatencyEstimatorIn) -> u64 {
    let mut unit = LatencyEstimator::<6>::new();
    let input = LatencyEstimatorIn {
        rtp_i: 6,
        rp_i: 14,
        rcd_i: 14,
        faw_i: 30,
        dot_i: U::new(2),
        copy_i: 96,
        guard_i: guard,
        valid_i: true,
        ..operation
    };
    (0..5).map(|_| unit.step(&input)).last().expect("an answer").estimate_o.get()
}

/// How much longer than its estimate any operation takes, at the most.
fn excess(guard: u8) -> i64 {
    let parts =
        Parts { t_rtp: 6, t_rp: 14, t_rcd: 14, t_faw: 30, dot: 2, fill: 6, copy: 96, guard: 0 };
    let mut most = i64::MIN;
    let mut check = |precharges: u64, operation, input: LatencyEstimatorIn| {
        let input = LatencyEstimatorIn { precharges_i: U::new(precharges), ..input };
        let longest = longest(&parts, 34, precharges, operation);
        most = most.max(longest as i64 - estimate(guard, input) as i64);
    };
    for precharges in 0..=32 {
        let gwrite = LatencyEstimatorIn { gwrite_i: true, ..Default::default() };
        check(precharges, Operation::Gwrite, gwrite);
        for (activations, count, results) in
            (0..=8).flat_map(|a| (1..=32).flat_map(move |c| (1..=8).map(move |r| (a, c, r))))
        {
            let gemv = LatencyEstimatorIn {
                activations_i: U::new(activations),
                count_i: U::new(count - 1),
                results_i: U::new(results - 1),
                ..Default::default()
            };
            check(precharges, Operation::Gemv { activations, count, results }, gemv);
        }
    }
    most
}

#[test]
fn with_the_default_guard_no_operation_takes_longer_than_its_estimate() {
    assert_eq!(excess(GUARD_TCK), 0);
    // One less is too little.
    assert_eq!(excess(GUARD_TCK - 1), 1);
}
