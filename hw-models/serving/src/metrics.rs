// SPDX-License-Identifier: MIT
//! What became of requests: times by request, and their distribution.
//!
//! Definitions follow Vidur: TTFT is from arrival to the first token, TPOT is the time from the first token to the last over
//! the tokens between them, end to end is from arrival to the last token. ITL is the time between two tokens of a request.

use serde::Serialize;

/// What became of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The replica that finished it.
    pub replica: u32,
    /// When it came.
    pub arrival_ps: u64,
    /// Tokens of its prompt.
    pub input: u64,
    /// Tokens that it made.
    pub output: u64,
    /// When the first iteration with a part of its prompt began.
    pub scheduled_ps: u64,
    /// When its first token was there.
    pub first_ps: u64,
    /// When its last token was there.
    pub finished_ps: u64,
    /// How often it was sent back.
    pub restarts: u32,
}

impl Served {
    /// Time to the first token.
    pub fn ttft_ps(&self) -> u64 {
        self.first_ps - self.arrival_ps
    }

    /// Time for each token behind the first; none where there is only one.
    pub fn tpot_ps(&self) -> Option<u64> {
        let tokens = self.output.checked_sub(1).filter(|tokens| *tokens > 0)?;
        Some((self.finished_ps - self.first_ps) / tokens)
    }

    /// From arrival to the last token.
    pub fn e2e_ps(&self) -> u64 {
        self.finished_ps - self.arrival_ps
    }
}

/// A distribution of durations, in whole ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// The mean.
    pub mean: u64,
    /// The median.
    pub p50: u64,
    /// 90 % are no longer.
    pub p90: u64,
    /// 95 % are no longer.
    pub p95: u64,
    /// 99 % are no longer.
    pub p99: u64,
}

impl Percentiles {
    /// Of durations in ps, each as often as is told.
    pub fn of(mut durations: Vec<(u64, u64)>) -> Self {
        durations.sort_unstable();
        let count: u64 = durations.iter().map(|(_, times)| times).sum();
        if count == 0 {
            return Self::default();
        }
        let sum: u128 =
            durations.iter().map(|&(ps, times)| u128::from(ps) * u128::from(times)).sum();
        let nearest = |percent: u64| {
            let rank = (count * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let at = durations.iter().find(|(_, times)| {
                seen += times;
                seen >= rank
            });
            at.map_or(0, |(ps, _)| ps / 1000)
        };
        let mean = (sum / u128::from(count) / 1000) as u64;
        let [p50, p90, p95, p99] = [50, 90, 95, 99].map(nearest);
        Self { mean, p50, p90, p95, p99 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let of = Percentiles::of((1..=100).rev().map(|n| (n * 1000, 1)).collect());
        assert_eq!(of, Percentiles { mean: 50, p50: 50, p90: 90, p95: 95, p99: 99 });
        let of = Percentiles::of(vec![(5000, 98), (9000, 2)]);
        assert_eq!((of.p50, of.p95, of.p99), (5, 5, 9));
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
    }

    #[test]
    fn times_of_a_request_are_vidurs() {
        let served = Served {
            arrival_ps: 10,
            first_ps: 30,
            finished_ps: 90,
            output: 4,
            ..Served::default()
        };
        assert_eq!((served.ttft_ps(), served.tpot_ps(), served.e2e_ps()), (20, Some(20), 80));
        assert_eq!(Served { output: 1, ..served }.tpot_ps(), None);
    }
}
