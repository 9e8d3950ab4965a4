// SPDX-License-Identifier: MIT
//! Softmax of a head in the GPR, in place.
//!
//! The EPU's softmax unit takes the scores in chunks of 16, two in each of its clocks, and scales them; then it takes them
//! again and gives weights, normalised.

use super::epu::SoftmaxRequest;
use super::module::Module;
use super::requests::Requests;
use super::softmax::{LANES, Scores, Weigh, Weighed};
use crate::error::DeviceError;

/// Scores that the softmax unit takes as one chunk.
const CHUNK: usize = 16;

/// Makes weights of a head's scores, which are in the GPR from a place on.
pub fn weigh(
    module: &mut Module,
    head: usize,
    place: usize,
    tokens: usize,
) -> Result<(), DeviceError> {
    scale(module, head, place, tokens)?;
    finish(module, head)?;
    let (mut taken, mut weighed) = (0, 0);
    while weighed < tokens {
        let weigh = (taken < tokens).then_some(Weigh { place: place + taken, head });
        if let Some(made) = step(module, SoftmaxRequest { weigh, ..Default::default() })? {
            taken += LANES * usize::from(made.weigh_taken);
            for weight in made.weights.into_iter().flatten().take(tokens - weighed) {
                module.keep(place + weighed, weight);
                weighed += 1;
            }
        }
    }
    Ok(())
}

/// Scales the scores, and lets the unit see them.
fn scale(module: &mut Module, head: usize, place: usize, tokens: usize) -> Result<(), DeviceError> {
    let (mut taken, mut scaled) = (0, 0);
    let all = tokens.next_multiple_of(CHUNK);
    while scaled < all {
        let count = tokens.saturating_sub(taken).min(LANES);
        let scores = Scores { head, first: taken < CHUNK, place: place + taken, count };
        let scores = (taken < all).then_some(scores);
        if let Some(made) = step(module, SoftmaxRequest { scores, ..Default::default() })? {
            taken += LANES * usize::from(scores.is_some());
            scaled += LANES * usize::from(made.scaled);
        }
    }
    Ok(())
}

/// The scores of the head are complete.
fn finish(module: &mut Module, head: usize) -> Result<(), DeviceError> {
    let mut finish = Some(head);
    loop {
        let made = step(module, SoftmaxRequest { finish, ..Default::default() })?;
        if made.is_some_and(|made| made.finish_taken) {
            finish = None;
        }
        if made.is_some_and(|made| made.finished) {
            return Ok(());
        }
    }
}

/// One cycle. What the softmax unit did, if it had a clock.
fn step(module: &mut Module, softmax: SoftmaxRequest) -> Result<Option<Weighed>, DeviceError> {
    let mut requests = Requests { softmax, ..Default::default() };
    Ok(module.step(&mut requests)?.softmax)
}
