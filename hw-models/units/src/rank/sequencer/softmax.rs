// SPDX-License-Identifier: MIT
//! Requests of the softmax unit, and counts of scores, reciprocals and words of weights.

use crate::lap::Walk;
use pimlico_dpa::types::RankEvents;

/// Words of weights under way, at the most.
pub const WORDS: u8 = 16;
/// Scores of a burst of results.
const SCORES: u16 = 4;

/// What the sequencer knows of the softmax unit.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Softmax {
    /// Scores that are requested and not in the score buffer.
    scores: u16,
    /// Reciprocals under way.
    finishing: u8,
    /// Words of weights from their weigh to their bus request, and those of them that are complete.
    words: u8,
    complete: u8,
    /// WEIGHs that have entered without their WR_WEIGHTS.
    unpaired: u8,
    /// The requests, and a word of weights is dropped.
    finishes: bool,
    weighs: bool,
    drops: bool,
}

/// What enters the queues and leaves them in a cycle.
#[derive(Clone, Copy, Default)]
pub struct Traffic {
    /// An RD_RESULT of scores enters.
    pub scores: bool,
    /// A WEIGH enters.
    pub weigh: bool,
    /// A WR_WEIGHTS enters.
    pub weights: bool,
    /// A WR_WEIGHTS is sent.
    pub sends: bool,
}

impl Softmax {
    /// A FINISH is requested.
    pub fn finishes(&self) -> bool {
        self.finishes
    }

    /// A WEIGH is requested.
    pub fn weighs(&self) -> bool {
        self.weighs
    }

    /// A word of weights is dropped.
    pub fn drops(&self) -> bool {
        self.drops
    }

    /// Whether a word of weights is complete, with the event of this cycle.
    pub fn has_word(&self, events: &RankEvents) -> bool {
        self.complete > 0 || events.word_made
    }

    /// Whether no WEIGH is without its WR_WEIGHTS.
    pub fn is_paired(&self) -> bool {
        self.unpaired == 0
    }

    /// Whether as many are as there are words of weights.
    pub fn is_full(&self) -> bool {
        self.unpaired == WORDS
    }

    /// Whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        (self.scores, self.finishing, self.words) == (0, 0, 0)
    }

    /// Goes over all of it, for [laps](crate::lap).
    pub fn walk(&self, walk: &mut Walk<'_>) {
        let Self { scores, finishing, words, complete, unpaired, finishes, weighs, drops } = *self;
        walk.still(scores);
        for number in [finishing, words, complete, unpaired] {
            walk.still(number);
        }
        for flag in [finishes, weighs, drops] {
            walk.still(flag);
        }
    }

    /// A cycle, with the next entry of its queue (whether it is a FINISH). Tells whether anything has changed.
    pub fn step(
        &mut self,
        events: &RankEvents,
        next_finishes: Option<bool>,
        may_drop: bool,
        traffic: Traffic,
    ) -> bool {
        let before = *self;
        let done = events.finish_taken || events.weigh_taken;
        let scores_there = u64::from(self.scores) == events.scaled.get();
        let heads_finished = self.finishing == u8::from(events.finished);
        let next = next_finishes.filter(|_| !done && scores_there);
        let word_taken = u8::from(traffic.sends || self.drops);
        let modulo = |value: u8, bits: u8| value & ((1 << bits) - 1);

        self.finishes = next == Some(true);
        self.weighs = next == Some(false) && heads_finished && self.words != WORDS;
        self.unpaired = modulo(
            (self.unpaired + u8::from(traffic.weigh))
                .wrapping_sub(u8::from(traffic.weights) + u8::from(self.drops)),
            5,
        );
        self.drops = may_drop && self.complete > 0 && !self.drops;
        let scores = self.scores + if traffic.scores { SCORES } else { 0 };
        self.scores = scores.wrapping_sub(events.scaled.get() as u16) & 0x3FF;
        let finishing = self.finishing + u8::from(events.finish_taken);
        self.finishing = modulo(finishing.wrapping_sub(events.finished.into()), 4);
        let words = self.words + u8::from(events.weigh_taken);
        self.words = modulo(words.wrapping_sub(word_taken), 5);
        let complete = self.complete + u8::from(events.word_made);
        self.complete = modulo(complete.wrapping_sub(word_taken), 5);
        *self != before
    }
}
