// SPDX-License-Identifier: MIT
//! Weights on their way from the softmax unit to the data bus: four to a word.

use super::command::WeighCommand;
use crate::rank::Weigh;
use crate::{Burst, LANES, mapping};
use std::collections::VecDeque;

/// Words between softmax unit and data bus.
const WORDS: usize = 16;

/// Words of weights in the making.
#[derive(Default)]
pub struct Weights {
    /// Of the word at the head of the softmax queue, how many are asked for.
    asked: usize,
    /// Words of which a weight was asked for, and that have not gone to the data bus.
    words: usize,
    /// Those of which not all weights have come: head and number.
    coming: VecDeque<(usize, usize)>,
    weights: [u16; LANES],
    count: usize,
    ready: VecDeque<Burst>,
}

impl Weights {
    pub fn is_idle(&self) -> bool {
        self.words == 0
    }

    /// The next weight to ask for, of the word that a command asks for, if there is room for the word.
    pub fn next(&self, of: WeighCommand) -> Option<Weigh> {
        let has_room = self.asked > 0 || self.words < WORDS;
        has_room.then_some(Weigh { place: of.place + self.asked, head: of.head })
    }

    /// The first word that is complete.
    pub fn ready(&self) -> Option<Burst> {
        self.ready.front().copied()
    }

    /// That word has gone to the data bus.
    pub fn taken(&mut self) {
        self.ready.pop_front();
        self.words -= 1;
    }

    /// A weight of a word was asked for. Returns whether that was the last.
    pub fn asked(&mut self, weigh: WeighCommand) -> bool {
        if self.asked == 0 {
            self.words += 1;
            self.coming.push_back((weigh.head, weigh.count));
        }
        self.asked += 1;
        let all = self.asked == weigh.count;
        if all {
            self.asked = 0;
        }
        all
    }

    /// A weight has come. Returns its head.
    pub fn came(&mut self, bits: u16) -> usize {
        let (head, count) = self.coming.front().copied().unwrap_or((0, LANES));
        self.weights[self.count] = bits;
        self.count += 1;
        if self.count == count {
            self.count = 0;
            self.coming.pop_front();
            self.ready.push_back(mapping::word_of(std::mem::take(&mut self.weights)));
        }
        head
    }
}
