// SPDX-License-Identifier: MIT
//! Requests: when they come, how long their prompts are, how many tokens they make.
//!
//! * [`read`](mod@read): files of traces, in the formats of others.
//! * [`write`](mod@write): the format that is written.
//! * [`synthetic`]: seeded requests with the moments of data sets.

pub mod read;
pub mod synthetic;
pub mod write;

use crate::time::SECOND;
use rand_distr::{Distribution as _, Exp1};
use serde::Serialize;
use synthetic::generator;

/// Tokens of a prompt and what follows it, at the most.
pub const MOST_TOKENS: u64 = 131_072;
/// Requests of a trace, at the most.
pub const MOST_REQUESTS: usize = 10_000_000;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it comes, from the first of them on.
    pub arrival_ps: u64,
    /// Tokens of its prompt.
    pub input: u64,
    /// Tokens that it makes.
    pub output: u64,
}

impl Request {
    /// Tokens of prompt and output.
    pub fn tokens(&self) -> u64 {
        self.input + self.output
    }
}

/// Requests in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What it is called.
    pub name: String,
    /// The requests.
    pub requests: Vec<Request>,
}

/// Mean and standard deviation of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Moments {
    /// Requests.
    pub requests: usize,
    /// Mean of the tokens of prompts.
    pub input_mean: f64,
    /// Their standard deviation.
    pub input_std: f64,
    /// Mean of the tokens that are made.
    pub output_mean: f64,
    /// Their standard deviation.
    pub output_std: f64,
}

impl Trace {
    /// The first requests.
    pub fn first(mut self, requests: usize) -> Self {
        self.requests.truncate(requests);
        self
    }

    /// All requests are there from the beginning.
    pub fn offline(mut self) -> Self {
        self.requests.iter_mut().for_each(|request| request.arrival_ps = 0);
        self
    }

    /// Requests come at random, so many a second on average.
    pub fn at_rate(mut self, per_second: f64, seed: u64) -> Self {
        let mut random = generator(seed);
        let mut now = 0.0;
        for request in &mut self.requests {
            request.arrival_ps = (now / per_second * SECOND as f64).round() as u64;
            let gap: f64 = Exp1.sample(&mut random);
            now += gap;
        }
        self
    }

    /// Its moments.
    pub fn moments(&self) -> Moments {
        let (input_mean, input_std) = moments(self.requests.iter().map(|request| request.input));
        let (output_mean, output_std) = moments(self.requests.iter().map(|request| request.output));
        let requests = self.requests.len();
        Moments { requests, input_mean, input_std, output_mean, output_std }
    }
}

fn moments(of: impl Iterator<Item = u64> + Clone) -> (f64, f64) {
    let count = of.clone().count().max(1) as f64;
    let mean = of.clone().sum::<u64>() as f64 / count;
    let square = of.map(|value| (value as f64 - mean).powi(2)).sum::<f64>() / count;
    (mean, square.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_at_a_rate_come_in_order_and_as_often() {
        let request = Request { arrival_ps: 0, input: 1, output: 2 };
        let trace = Trace { name: "t".to_owned(), requests: vec![request; 5000] }.at_rate(50.0, 3);
        assert!(trace.requests.windows(2).all(|two| two[0].arrival_ps <= two[1].arrival_ps));
        let seconds = trace.requests[4999].arrival_ps as f64 / SECOND as f64;
        assert!((95.0..105.0).contains(&seconds), "{seconds}");
        let moments = trace.moments();
        assert_eq!((moments.input_mean, moments.output_mean, moments.input_std), (1.0, 2.0, 0.0));
        assert!(trace.offline().first(7).requests.iter().all(|request| request.arrival_ps == 0));
    }
}
