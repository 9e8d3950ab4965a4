// SPDX-License-Identifier: MIT
//! How long a PIM operation takes at the most, and whether it fits before the next REF.

use pimlico_ports::{Model, U, Unit, ports, stimulus::one_in};

ports! {
    /// A latency estimator.
    unit LatencyEstimator: "latency_estimator" {
        inputs LatencyEstimatorIn {
            /// tRTP, in tCK; sampled in the first cycle after reset, as all timings.
            rtp_i: u8,
            /// tRP, in tCK.
            rp_i: u8,
            /// tRCD of PIM, in tCK.
            rcd_i: u8,
            /// tFAW, in tCK.
            faw_i: u8,
            /// Dot product to dot product, and the burst of results, in tCK.
            dot_i: U<4>,
            /// Length of a GWRITE, in tCK.
            copy_i: u8,
            /// Time that is added to every estimate, in tCK.
            guard_i: u8,
            /// An operation is to be estimated.
            valid_i: bool,
            /// The operation is a GWRITE; else a GEMV.
            gwrite_i: bool => one_in(4),
            /// Precharges before the operation, 0 to 32.
            precharges_i: U<6>,
            /// PIM_ACTIVATIONs that come one behind the other in a pseudo-rank, 0 to 8.
            activations_i: U<4>,
            /// Dot products of the GEMV, less one.
            count_i: U<5>,
            /// Bursts of results of the GEMV, less one.
            results_i: U<3>,
            /// Time until the next REF of either pseudo-rank, in tCK.
            slack_i: U<20>,
        }
        outputs LatencyEstimatorOut {
            /// `estimate_o` and `admit_o` are of the operation four cycles before.
            valid_o: bool,
            /// Estimate, in tCK, or zero.
            estimate_o: U<15>,
            /// The operation fits before the next REF: `estimate_o` is less than `slack_i` in the last cycle.
            admit_o: bool,
        }
        probes LatencyEstimatorProbe {}
    }
}

/// The guard with which an estimate is an upper bound under the timings of NeuPIMs, in tCK. The contract has its parts.
pub const GUARD_TCK: u8 = 60;

/// Cycles from an operation to its estimate, which is compared in one more.
const STAGES: usize = 3;

/// The cycle model of a latency estimator.
///
#[doc = contract!("channel/latency_estimator")]
#[derive(Clone, Debug)]
pub struct LatencyEstimator<const FILL: u64 = 6> {
    times: Option<Times>,
    /// Estimates of the operations on their way, the oldest first.
    stages: [Option<u64>; STAGES],
    output: LatencyEstimatorOut,
}

/// The timings, in tCK.
#[derive(Clone, Copy, Debug)]
struct Times {
    rtp: u64,
    rp: u64,
    rcd: u64,
    faw: u64,
    dot: u64,
    copy: u64,
    guard: u64,
}

impl Times {
    fn sample(input: &LatencyEstimatorIn) -> Self {
        Self {
            rtp: input.rtp_i.into(),
            rp: input.rp_i.into(),
            rcd: input.rcd_i.into(),
            faw: input.faw_i.into(),
            dot: input.dot_i.get(),
            copy: input.copy_i.into(),
            guard: input.guard_i.into(),
        }
    }

    fn estimate<const FILL: u64>(&self, input: &LatencyEstimatorIn) -> u64 {
        let Self { rtp, rp, rcd, faw, dot, copy, guard } = self;
        let begin = input.precharges_i.get() * rtp + rcd + guard;
        if input.gwrite_i {
            return begin + rp + copy;
        }
        let windows = input.activations_i.get().saturating_sub(1);
        let beats = (input.count_i.get() + 1).max(FILL) + input.results_i.get();
        begin + windows * faw + beats * dot
    }
}

impl<const FILL: u64> Unit for LatencyEstimator<FILL> {
    const MODULE: &'static str = "latency_estimator";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("FILL", FILL as i64)];
    type In = LatencyEstimatorIn;
    type Out = LatencyEstimatorOut;
    type Probe = LatencyEstimatorProbe;

    fn variant() -> String {
        if FILL == 6 { String::new() } else { format!("fill{FILL}") }
    }
}

impl<const FILL: u64> Model for LatencyEstimator<FILL> {
    fn new() -> Self {
        Self { times: None, stages: [None; STAGES], output: LatencyEstimatorOut::default() }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        LatencyEstimatorProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.output;
        let times = *self.times.get_or_insert_with(|| Times::sample(input));
        let sum = self.stages[0];
        self.stages.rotate_left(1);
        self.stages[STAGES - 1] = input.valid_i.then(|| times.estimate::<FILL>(input));
        self.output = LatencyEstimatorOut {
            valid_o: sum.is_some(),
            estimate_o: U::new(sum.unwrap_or(0)),
            admit_o: sum.is_some_and(|sum| sum < input.slack_i.get()),
        };
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NeuPIMs' timings, and the tile of 32 banks.
    fn tile() -> LatencyEstimatorIn {
        LatencyEstimatorIn {
            rtp_i: 6,
            rp_i: 14,
            rcd_i: 14,
            faw_i: 30,
            dot_i: U::new(2),
            copy_i: 96,
            valid_i: true,
            precharges_i: U::new(1),
            activations_i: U::new(4),
            count_i: U::new(31),
            slack_i: U::new(700),
            ..LatencyEstimatorIn::default()
        }
    }

    /// The answer to an operation that is alone, with the slack of the cycle before it.
    fn answer(operation: LatencyEstimatorIn, slack: u64) -> (u64, bool) {
        let mut unit = LatencyEstimator::<6>::new();
        let idle = |slack| LatencyEstimatorIn { slack_i: U::new(slack), ..Default::default() };
        let cycles = [operation, idle(0), idle(0), idle(slack), idle(0), idle(0)];
        let outputs = cycles.map(|input| unit.step(&input));
        let valid: Vec<_> = outputs.iter().map(|output| output.valid_o).collect();
        assert_eq!(valid, [false, false, false, false, true, false]);
        (outputs[4].estimate_o.get(), outputs[4].admit_o)
    }

    #[test]
    fn the_tile_of_the_contract() {
        assert_eq!(answer(tile(), 700), (174, true));
        let open =
            LatencyEstimatorIn { precharges_i: U::new(0), activations_i: U::new(0), ..tile() };
        assert_eq!(answer(open, 700), (78, true));
    }

    #[test]
    fn an_operation_is_admitted_if_it_takes_less_than_the_slack() {
        assert_eq!(answer(tile(), 175), (174, true));
        assert_eq!(answer(tile(), 174), (174, false));
    }

    #[test]
    fn short_operations_take_the_time_of_the_pipeline() {
        let of = |count: u64| {
            let short = LatencyEstimatorIn { count_i: U::new(count - 1), ..tile() };
            answer(short, 0).0
        };
        assert_eq!([of(1), of(6), of(7), of(32)], [122, 122, 124, 174]);
    }

    #[test]
    fn bursts_of_results_and_a_guard_are_added() {
        let more = LatencyEstimatorIn { results_i: U::new(3), guard_i: GUARD_TCK, ..tile() };
        assert_eq!(answer(more, 0).0, 174 + 6 + 60);
    }

    #[test]
    fn a_gwrite_takes_its_copy_and_no_window() {
        let copy = LatencyEstimatorIn { gwrite_i: true, ..tile() };
        assert_eq!(answer(copy, 131), (6 + 14 + 14 + 96, true));
    }
}
