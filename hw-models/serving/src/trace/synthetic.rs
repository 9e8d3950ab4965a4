// SPDX-License-Identifier: MIT
//! Seeded requests with the moments of data sets, which are not at hand themselves.
//!
//! * L3's data sets (Table 4): lengths are log-normal with the table's mean and deviation, between 1 and
//!   [`LONGEST`]. Deviations of Dolphin and LongBench are larger than their means, as those of long tails.
//! * NeuPIMs' data sets (section 8.1): log-normal as well, with the paper's means; deviations are ours, as it has none.
//! * LoL-PIM's tasks (Table 2): prompts are normal, cut off at the table's minimum and maximum; outputs have LongBench's own
//!   limits.

use super::{Request, Trace};
use pimlico_workload::batch::{LONGBENCH, LongBenchTask};
use rand_distr::{Distribution, LogNormal, Normal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Tokens of a prompt or of what follows it, at the most.
pub const LONGEST: u64 = 32_768;

/// A source of random numbers.
pub fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// A data set by its moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSet {
    /// Its name on the command line.
    pub name: &'static str,
    /// Mean and deviation of the tokens of prompts.
    pub input: (f64, f64),
    /// Mean and deviation of the tokens that are made.
    pub output: (f64, f64),
}

/// L3's data sets (Table 4). `openr1-single` halves the outputs of OpenR1-Math, for which section 1 has 6K: the table seems to
/// add two generations.
pub const DATA_SETS: [DataSet; 5] = [
    DataSet { name: "openr1", input: (96.0, 75.1), output: (12_684.1, 8464.6) },
    DataSet { name: "dolphin", input: (201.9, 563.0), output: (3926.2, 4216.0) },
    DataSet { name: "openthoughts", input: (89.4, 66.7), output: (6366.7, 4662.9) },
    DataSet { name: "longbench", input: (7703.9, 4285.5), output: (89.8, 213.7) },
    DataSet { name: "openr1-single", input: (96.0, 75.1), output: (6342.05, 4232.3) },
];

/// NeuPIMs' data sets.
const CHATS: [DataSet; 2] = [
    DataSet { name: "sharegpt", input: (80.0, 80.0), output: (296.0, 207.2) },
    DataSet { name: "alpaca", input: (12.0, 7.2), output: (56.0, 49.3) },
];

/// Tokens that LongBench's tasks make at the most (`dataset2maxlen.json`).
const TASK_OUTPUTS: [(&str, u64); 3] = [("qmsum", 512), ("hotpotqa", 32), ("musique", 32)];

/// Names of the traces that can be made.
pub fn names() -> impl Iterator<Item = &'static str> {
    let sets = DATA_SETS.into_iter().chain(CHATS).map(|set| set.name);
    sets.chain(LONGBENCH.into_iter().map(|task| task.name))
}

/// So many requests with the lengths of a data set or task, all there from the beginning; `None` if there is no such name.
pub fn make(name: &str, requests: usize, seed: u64) -> Option<Trace> {
    let set = DATA_SETS.into_iter().chain(CHATS).find(|set| set.name == name);
    let of_set = |set: DataSet| of_set(set, requests, seed);
    let task = || LONGBENCH.into_iter().find(|task| task.name == name);
    let made = set.map(of_set).or_else(|| Some(of_task(task()?, requests, seed)))?;
    Some(Trace { name: name.to_owned(), requests: made })
}

fn of_set(set: DataSet, requests: usize, seed: u64) -> Vec<Request> {
    let mut random = generator(seed);
    let lengths = |(mean, deviation): (f64, f64)| {
        let variance = (1.0 + (deviation / mean).powi(2)).ln();
        LogNormal::new(mean.ln() - variance / 2.0, variance.sqrt()).expect("it is finite")
    };
    let (input, output) = (lengths(set.input), lengths(set.output));
    let mut tokens =
        |of: &LogNormal<f64>| (of.sample(&mut random).round() as u64).clamp(1, LONGEST);
    let request = |_| Request { arrival_ps: 0, input: tokens(&input), output: tokens(&output) };
    (0..requests).map(request).collect()
}

fn of_task(task: LongBenchTask, requests: usize, seed: u64) -> Vec<Request> {
    let mut random = generator(seed);
    let normal = Normal::new(task.mean, task.deviation).expect("it is finite");
    let outputs = TASK_OUTPUTS.into_iter().find(|(name, _)| *name == task.name);
    let output = outputs.map_or(32, |(_, output)| output);
    let mut input = || loop {
        let tokens: f64 = normal.sample(&mut random).round();
        if (task.min as f64..=task.max as f64).contains(&tokens) {
            return tokens as u64;
        }
    };
    let request = |_| Request { arrival_ps: 0, input: input(), output };
    (0..requests).map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_the_moments_of_the_tables() {
        for set in DATA_SETS {
            let moments = make(set.name, 20_000, 1).expect("a set").moments();
            for (ours, table) in
                [(moments.input_mean, set.input.0), (moments.output_mean, set.output.0)]
            {
                // What is beyond the longest is cut off: OpenR1's mean falls by 3 %.
                assert!((ours / table - 1.0).abs() < 0.06, "{}: {ours} {table}", set.name);
            }
        }
        for task in LONGBENCH {
            let trace = make(task.name, 2000, 1).expect("a task");
            let within = |request: &Request| (task.min..=task.max).contains(&request.input);
            assert!(trace.requests.iter().all(within), "{}", task.name);
        }
        assert_eq!(make("lmsys", 1, 1), None);
        assert_eq!(names().count(), 10);
    }

    #[test]
    fn a_seed_gives_the_same_requests() {
        assert_eq!(make("openr1", 50, 7), make("openr1", 50, 7));
        assert_ne!(make("openr1", 50, 7), make("openr1", 50, 8));
    }
}
