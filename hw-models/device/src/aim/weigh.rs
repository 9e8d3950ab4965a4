// SPDX-License-Identifier: MIT
//! Softmax of a head in the GPR, in place.
//!
//! The EPU's softmax unit takes the scores in chunks of 16, as many in each of its clocks as it has lanes, and scales them;
//! then it takes them again and gives weights, normalised.

use super::epu::SoftmaxRequest;
use super::softmax::{CHUNK, Scores, Weigh, Weighed};
use pimlico_units::lap::Walk;

/// What is done with the scores.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    /// They are scaled, and the unit sees them.
    Scale,
    /// All were seen; whether the unit has taken note of it.
    Finish { taken: bool },
    /// They become weights.
    Weigh,
}

/// The softmax of a head.
pub struct Weighing {
    head: usize,
    place: usize,
    tokens: usize,
    lanes: usize,
    pass: Pass,
    /// Scores that the pass has taken, and made.
    taken: usize,
    made: usize,
}

impl Weighing {
    /// That of scores that are in the GPR from a place on, with so many lanes.
    pub fn new(head: usize, place: usize, tokens: usize, lanes: usize) -> Self {
        Self { head, place, tokens, lanes, pass: Pass::Scale, taken: 0, made: 0 }
    }

    /// Whether all weights are in the GPR.
    pub fn is_over(&self) -> bool {
        self.pass == Pass::Weigh && self.made >= self.tokens
    }

    /// What the unit is asked for in its next clock.
    pub fn request(&self) -> SoftmaxRequest {
        let Self { head, place, tokens, taken, .. } = *self;
        let mut request = SoftmaxRequest::default();
        match self.pass {
            Pass::Scale if taken < self.all() => {
                let count = tokens.saturating_sub(taken).min(self.lanes);
                let first = taken < CHUNK;
                request.scores = Some(Scores { head, first, place: place + taken, count });
            }
            Pass::Finish { taken: false } => request.finish = Some(head),
            Pass::Weigh if taken < tokens => {
                request.weigh = Some(Weigh { place: place + taken, head });
            }
            _ => {}
        }
        request
    }

    /// What the unit did with the request. Weights go to the GPR with `keep`.
    pub fn see(&mut self, made: &Weighed, mut keep: impl FnMut(usize, u16)) {
        match self.pass {
            Pass::Scale => {
                self.taken += if self.taken < self.all() { self.lanes } else { 0 };
                self.made += self.lanes * usize::from(made.scaled);
                if self.made >= self.all() {
                    self.pass = Pass::Finish { taken: false };
                }
            }
            Pass::Finish { taken } => {
                self.pass = Pass::Finish { taken: taken || made.finish_taken };
                if made.finished {
                    (self.pass, self.taken, self.made) = (Pass::Weigh, 0, 0);
                }
            }
            Pass::Weigh => {
                self.taken += self.lanes * usize::from(made.weigh_taken);
                let weights = made.weights.iter().flat_map(|weights| &weights[..self.lanes]);
                for weight in weights.take(self.tokens - self.made) {
                    keep(self.place + self.made, *weight);
                    self.made += 1;
                }
            }
        }
    }

    /// How many whole chunks the pass has taken.
    pub fn chunks(&self) -> usize {
        self.taken / CHUNK
    }

    /// How many whole chunks are ahead that it takes as it has taken the last one.
    pub fn chunks_ahead(&self) -> usize {
        let are_taken = matches!(self.pass, Pass::Scale | Pass::Weigh) && self.taken >= CHUNK;
        if are_taken { self.tokens.saturating_sub(self.taken) / CHUNK } else { 0 }
    }

    /// Goes over all of it, for [laps](pimlico_units::lap), where [chunks](Self::chunks_ahead) are ahead.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.refuse_if(self.chunks_ahead() == 0);
        let Self { head, place: _, tokens: _, lanes, pass, taken, made } = self;
        walk.size(*head);
        walk.size(*lanes);
        walk.still(*pass == Pass::Weigh);
        walk.size(*taken % CHUNK);
        walk.size(*taken - *made);
        walk.moves(taken);
        walk.moves(made);
    }

    /// Scores of whole chunks.
    fn all(&self) -> usize {
        self.tokens.next_multiple_of(CHUNK)
    }
}
