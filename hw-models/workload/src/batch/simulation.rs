// SPDX-License-Identifier: MIT
//! The simulation: memory, step by step.

use super::arrivals::{Arrivals, Request};
use super::layout::Layout;
use super::{BatchError, BatchOutcome, Settings};
use pimlico_host::allocator::{Allocator, AllocatorError, Policy};
use std::collections::VecDeque;

/// Sums over the steps that count.
#[derive(Default)]
struct Sums {
    steps: u64,
    live: u64,
    tokens: u64,
    generated: u64,
    updates: u64,
    preempted: u64,
}

/// Steps until enough requests have finished, under a policy.
pub(super) fn simulate(
    settings: &Settings<'_>,
    layout: &Layout,
    policy: Policy,
) -> Result<BatchOutcome, BatchError> {
    let mut allocator = Allocator::new(layout.rows, settings.chunk_rows, policy)?;
    let mut arrivals = Arrivals::new(settings);
    let mut waiting = VecDeque::new();
    // The oldest first.
    let mut live: Vec<Request> = Vec::new();
    let warm_up = u64::from(settings.requests) / 4 + 1;
    let mut finished = 0;
    let mut sums = Sums::default();

    while finished < warm_up + u64::from(settings.requests) {
        loop {
            let newcomer = waiting.pop_front().or_else(|| arrivals.next());
            let newcomer: Request = newcomer.expect("arrivals do not end");
            match allocator.admit(newcomer.id, layout.rows_for(newcomer.tokens)) {
                Ok(updates) => {
                    sums.updates += updates.len() as u64;
                    live.push(newcomer);
                }
                Err(AllocatorError::Exhausted { .. }) => {
                    waiting.push_front(newcomer);
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if finished < warm_up {
            sums = Sums::default();
        }
        sums.steps += 1;
        sums.live += live.len() as u64;
        sums.tokens += live.iter().map(|request| request.tokens).sum::<u64>();

        let mut i = 0;
        while i < live.len() {
            let Request { id, tokens, .. } = live[i];
            match allocator.grow(id, layout.rows_for(tokens + 1)) {
                Ok(updates) => {
                    sums.updates += updates.len() as u64;
                    sums.generated += 1;
                    live[i].tokens += 1;
                    i += 1;
                }
                Err(AllocatorError::Exhausted { .. }) => {
                    let newest = live.pop().expect("the one that grows is live");
                    sums.updates += allocator.finish(newest.id)?.len() as u64;
                    sums.preempted += 1;
                    waiting.push_front(newest);
                }
                Err(error) => return Err(error.into()),
            }
        }
        for request in live.extract_if(.., |request| request.tokens >= request.end) {
            sums.updates += allocator.finish(request.id)?.len() as u64;
            finished += 1;
        }
    }

    let Sums { steps, live, tokens, generated, updates, preempted } = sums;
    let held = layout.token_bytes * tokens;
    let room = u64::from(layout.rows) * layout.row_bytes * steps;
    Ok(BatchOutcome {
        batch: live as f64 / steps as f64,
        utilisation: held as f64 / room as f64,
        mean_tokens: tokens as f64 / live as f64,
        preempted,
        updates_per_token: updates as f64 / generated as f64,
    })
}
