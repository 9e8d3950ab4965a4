// SPDX-License-Identifier: MIT
//! Weights on their way from the softmax unit to the data bus: four to a word.

use super::command::Weigh;
use super::queue::Queue;

/// Words between softmax unit and data bus.
pub const WORDS: usize = 16;

/// Words of weights in the making.
#[derive(Clone)]
pub struct Weights {
    /// Of the word at the head of the softmax queue, how many are asked for.
    asked: u8,
    /// Words of which a weight was asked for, and that have not gone to the data bus.
    words: usize,
    /// How many weights each of them has of which not all have come.
    coming: Queue<u8, WORDS>,
    word: u64,
    count: u8,
    ready: Queue<u64, WORDS>,
}

impl Weights {
    pub fn new() -> Self {
        Self { asked: 0, words: 0, coming: Queue::new(), word: 0, count: 0, ready: Queue::new() }
    }

    pub fn is_idle(&self) -> bool {
        self.words == 0
    }

    /// The place of the next weight of a word, if there is room for the word.
    pub fn next(&self, of: &Weigh) -> Option<u32> {
        let has_room = self.asked > 0 || self.words < WORDS;
        has_room.then_some(of.place + u32::from(self.asked))
    }

    /// The first word that is complete.
    pub fn ready(&self) -> Option<u64> {
        self.ready.oldest().copied()
    }

    /// That word has gone to the data bus.
    pub fn taken(&mut self) {
        self.ready.send();
        self.ready.done();
        self.words = self.words.saturating_sub(1);
    }

    /// A weight of a word was asked for. Returns whether that was the last.
    pub fn asked(&mut self, weigh: Weigh) -> bool {
        if self.asked == 0 {
            self.words += 1;
            self.coming.push(weigh.count);
        }
        self.asked += 1;
        let all = self.asked == weigh.count;
        if all {
            self.asked = 0;
        }
        all
    }

    /// A weight has come.
    pub fn came(&mut self, bits: u16) {
        let Some(&count) = self.coming.oldest() else { return };
        self.word |= u64::from(bits) << (16 * self.count);
        self.count += 1;
        if self.count == count {
            self.count = 0;
            self.coming.send();
            self.coming.done();
            self.ready.push(std::mem::take(&mut self.word));
        }
    }
}
