// SPDX-License-Identifier: MIT
//! Requests, one after the other.

use super::{LongBenchTask, Settings};
use pimlico_host::allocator::RequestId;
use rand_distr::{Distribution, Normal, Uniform};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// A request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    /// Tokens that its cache holds.
    pub(super) tokens: u64,
    /// Tokens with which it is done.
    pub(super) end: u64,
}

/// The endless stream of requests.
pub(super) struct Arrivals {
    random: Xoshiro256PlusPlus,
    prompt: Normal<f64>,
    generate: Uniform<u64>,
    task: LongBenchTask,
    max_context: u64,
    next: u32,
}

impl Arrivals {
    pub(super) fn new(settings: &Settings<'_>) -> Self {
        let Settings { task, max_context, generate, seed, .. } = *settings;
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            prompt: Normal::new(task.mean, task.deviation).expect("a task's deviation is finite"),
            generate: Uniform::new_inclusive(1, 2 * generate - 1).expect("checked not to be empty"),
            task,
            max_context,
            next: 0,
        }
    }
}

impl Iterator for Arrivals {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let range = self.task.min..=self.task.max;
        let tokens = loop {
            let length = self.prompt.sample(&mut self.random).round();
            if length >= 0.0 && range.contains(&(length as u64)) {
                break length as u64;
            }
        };
        let end = (tokens + self.generate.sample(&mut self.random)).min(self.max_context);
        let id = RequestId(self.next);
        self.next += 1;
        Some(Request { id, tokens, end })
    }
}
