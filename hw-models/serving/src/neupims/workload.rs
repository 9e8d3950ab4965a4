// SPDX-License-Identifier: MIT
//! Seeded warm batches with the moments of the paper's data sets, which are not at hand themselves.
//!
//! A batch is served for `WARM_LIFETIMES` mean outputs: each iteration every request makes a token, and a finished one is
//! replaced at once by one whose input is there (section 8.1). Lengths are log-normal with the paper's means. The paper has no
//! deviations: those here are ours, and bring the mean live length to that of the authors' samples, 281 to 324 tokens for ShareGPT
//! and 58 to 66 for Alpaca.

use super::packing::{NewRequest, min_load};
use crate::trace::synthetic::generator;
use rand_distr::{Distribution, LogNormal};
use serde::Serialize;

/// Tokens of a request at the most.
pub const LONGEST: u64 = 2048;
/// How many mean outputs a batch is warmed up for.
const WARM_LIFETIMES: u64 = 8;

/// A data set by its moments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dataset {
    /// Its name.
    pub name: &'static str,
    /// Mean tokens of an input, and deviation over mean.
    pub input: (f64, f64),
    /// Mean tokens of an output, and deviation over mean.
    pub output: (f64, f64),
}

/// ShareGPT and Alpaca.
pub const DATASETS: [Dataset; 2] = [
    Dataset { name: "sharegpt", input: (80.0, 1.0), output: (296.0, 0.7) },
    Dataset { name: "alpaca", input: (12.0, 0.6), output: (56.0, 0.88) },
];

/// A request of a warm batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRequest {
    /// Its input and what it has made.
    pub tokens: u64,
    /// Its channel where requests take channels in turn as they come.
    pub round_robin: usize,
    /// Its channel by Algorithm 2 as it came.
    pub min_load: usize,
    /// Its number among all that came.
    pub number: u64,
}

struct Running {
    live: LiveRequest,
    left: u64,
}

/// A batch of so many requests after its warm-up, in the order in which they came. `latency` has the estimate of each length
/// from 0 to [`LONGEST`]. Lengths depend on the seed alone.
///
/// # Panics
///
/// If there is no channel, or `latency` is shorter.
pub fn warm_batch(
    dataset: &Dataset,
    requests: usize,
    channels: usize,
    latency: &[u64],
    seed: u64,
) -> Vec<LiveRequest> {
    let mut random = generator(seed);
    let log_normal = |(mean, deviation): (f64, f64)| {
        let variance = (1.0 + deviation * deviation).ln();
        LogNormal::new(mean.ln() - variance / 2.0, variance.sqrt()).expect("it is finite")
    };
    let (input, output) = (log_normal(dataset.input), log_normal(dataset.output));
    let mut came = 0;
    let mut draw = || {
        let mut tokens =
            |of: &LogNormal<f64>| (of.sample(&mut random).round() as u64).clamp(1, LONGEST);
        let (tokens, left) = (tokens(&input), tokens(&output));
        let live =
            LiveRequest { tokens, round_robin: came % channels, min_load: 0, number: came as u64 };
        came += 1;
        Running { live, left }
    };
    let mut batch: Vec<Running> = (0..requests).map(|_| draw()).collect();
    let mut new: Vec<usize> = (0..requests).collect();
    for _ in 0..(dataset.output.0 as u64) * WARM_LIFETIMES {
        place(&mut batch, &new, channels, latency);
        new.clear();
        for (slot, running) in batch.iter_mut().enumerate() {
            running.left -= 1;
            running.live.tokens = (running.live.tokens + 1).min(LONGEST);
            if running.left == 0 || running.live.tokens == LONGEST {
                *running = draw();
                new.push(slot);
            }
        }
    }
    place(&mut batch, &new, channels, latency);
    let mut live: Vec<LiveRequest> = batch.into_iter().map(|running| running.live).collect();
    live.sort_by_key(|live| live.number);
    live
}

/// Gives channels to those that came.
fn place(batch: &mut [Running], new: &[usize], channels: usize, latency: &[u64]) {
    if new.is_empty() {
        return;
    }
    let mut loads = vec![0; channels];
    let mut is_new = vec![false; batch.len()];
    new.iter().for_each(|&slot| is_new[slot] = true);
    for (running, _) in batch.iter().zip(&is_new).filter(|(_, is_new)| !**is_new) {
        loads[running.live.min_load] += latency[running.live.tokens as usize];
    }
    let request = |&slot: &usize| {
        let tokens = batch[slot].live.tokens;
        NewRequest { tokens, tck: latency[tokens as usize] }
    };
    let requests: Vec<NewRequest> = new.iter().map(request).collect();
    for (&slot, channel) in new.iter().zip(min_load(&mut loads, &requests)) {
        batch[slot].live.min_load = channel;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_lengths_are_those_of_the_authors_samples() {
        let latency: Vec<u64> = (0..=LONGEST).collect();
        for (dataset, range) in DATASETS.iter().zip([281.0..324.0, 58.0..66.0]) {
            let batches: Vec<LiveRequest> =
                (0..4).flat_map(|seed| warm_batch(dataset, 512, 32, &latency, seed)).collect();
            let mean = batches.iter().map(|live| live.tokens as f64).sum::<f64>() / 2048.0;
            assert!(range.contains(&mean), "{}: {mean}", dataset.name);
            assert!(batches.iter().all(|live| (1..=LONGEST).contains(&live.tokens)));
        }
    }

    #[test]
    fn lengths_do_not_depend_on_the_estimate() {
        let of = |latency: Vec<u64>| {
            let batch = warm_batch(&DATASETS[0], 64, 32, &latency, 5);
            batch.iter().map(|live| (live.tokens, live.round_robin)).collect::<Vec<_>>()
        };
        assert_eq!(of(vec![7; 2049]), of((0..=LONGEST).collect()));
    }
}
