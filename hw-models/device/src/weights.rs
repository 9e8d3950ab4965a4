// SPDX-License-Identifier: MIT
//! Words of weights between score buffer, softmax unit and data bus: up to four weights to a word.

use crate::requests::Weigh;
use pimlico_dpa::types;
use std::collections::VecDeque;

/// Words of weights.
#[derive(Default)]
pub struct Weights {
    /// Scores that the softmax unit has taken of the word that is asked for.
    taken: u64,
    /// Query head and number of weights of each word of which not all have come.
    coming: VecDeque<(usize, usize)>,
    /// The weights of the first of them that have come.
    came: Vec<u16>,
    /// Words that are complete.
    words: VecDeque<u64>,
}

impl Weights {
    /// The score that goes into the softmax unit next, of a word.
    pub fn score(&self, of: &types::Weigh) -> Weigh {
        Weigh { place: (of.place.get() + self.taken) as usize, head: of.head.get() as usize }
    }

    /// That score was taken. Returns whether it was the word's last.
    pub fn take_score(&mut self, of: &types::Weigh) -> bool {
        if self.taken == 0 {
            self.coming.push_back((of.head.get() as usize, of.count.get() as usize));
        }
        self.taken += 1;
        let all = self.taken == of.count.get();
        if all {
            self.taken = 0;
        }
        all
    }

    /// A weight came out of the softmax unit. Returns its query head, and whether its word is complete.
    pub fn take_weight(&mut self, bits: u16) -> (usize, bool) {
        let Some(&(head, count)) = self.coming.front() else { return (0, false) };
        self.came.push(bits);
        let all = self.came.len() == count;
        if all {
            self.coming.pop_front();
            let word = self.came.drain(..).rev().fold(0, |word, bits| word << 16 | u64::from(bits));
            self.words.push_back(word);
        }
        (head, all)
    }

    /// The oldest complete word; 0 if there is none.
    pub fn oldest(&self) -> u64 {
        self.words.front().copied().unwrap_or_default()
    }

    /// That word goes to the data bus, or is dropped.
    pub fn take_word(&mut self) {
        self.words.pop_front();
    }
}
