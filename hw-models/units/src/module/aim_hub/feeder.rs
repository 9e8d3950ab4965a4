// SPDX-License-Identifier: MIT
//! What feeds the global buffers: fillings of the host and of the GPR, word by word.

use super::{CHANNELS, ELEMENTS, Word, place_of};
use crate::prim::Fifo;

/// Words between feeder and channels.
const WORDS: usize = 32;

/// A filling of the global buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filling {
    /// Of the GPR; else of the host.
    pub of_gpr: bool,
    /// Its first word in the GPR.
    pub word: u32,
    /// Its words.
    pub count: u32,
    /// Elements from which on it is filled up with +0.
    pub elements: u32,
}

/// A word of the GPR on its way: its memory, and elements of it that count.
#[derive(Clone, Copy)]
struct Coming {
    memory: usize,
    elements: usize,
}

impl Coming {
    /// The word of what the memories give.
    fn of(self, gpr: &[Word]) -> Word {
        let word = gpr[self.memory];
        std::array::from_fn(|n| if n < self.elements { word[n] } else { 0 })
    }
}

/// Words of the GPR that are read in an EPU cycle.
#[derive(Clone, Copy)]
pub(super) struct Reads {
    /// Memory and line of the first.
    pub memory: usize,
    pub line: u16,
    /// The next memory is read, too.
    pub pair: bool,
}

impl Reads {
    fn words(self) -> u32 {
        if self.pair { 2 } else { 1 }
    }
}

/// The feeder.
#[derive(Clone)]
pub(super) struct Feeder {
    fillings: Fifo<Filling, 4>,
    /// Fillings of the GPR among them.
    of_gpr: u32,
    /// Words of the oldest that were accepted or read.
    done: u32,
    words: Fifo<Word, WORDS>,
    /// What was read in the last EPU cycle.
    coming: [Option<Coming>; 2],
    /// The second word of those that were read in the EPU cycle before: it enters in this cycle.
    later: Option<Word>,
}

impl Feeder {
    pub fn new() -> Self {
        Self {
            fillings: Fifo::new(),
            of_gpr: 0,
            done: 0,
            words: Fifo::new(),
            coming: [None; 2],
            later: None,
        }
    }

    pub fn has_room(&self) -> bool {
        !self.fillings.is_full()
    }

    /// Whether a filling of the GPR is in the queue.
    pub fn feeds_gpr(&self) -> bool {
        self.of_gpr > 0
    }

    pub fn is_idle(&self) -> bool {
        self.fillings.is_empty() && !self.is_coming() && self.words.is_empty()
    }

    /// Whether a word of the GPR is on its way.
    fn is_coming(&self) -> bool {
        self.coming[0].is_some() || self.later.is_some()
    }

    /// Words that are there, and the next of them.
    pub fn words(&self) -> (usize, Word) {
        (self.words.count(), self.words.oldest().copied().unwrap_or_default())
    }

    /// Whether a word of the host is accepted.
    pub fn is_ready(&self) -> bool {
        let of_host = self.fillings.oldest().is_some_and(|filling| !filling.of_gpr);
        of_host && !self.words.is_full() && !self.is_coming()
    }

    /// What is read of the GPR in the second cycle of an EPU cycle in which the EPU does not read: as many words of a
    /// line as there are, two at the most.
    pub fn reads(&self) -> Option<Reads> {
        let filling = self.fillings.oldest().filter(|filling| filling.of_gpr)?;
        let (memory, line) = place_of(filling.word + self.done);
        let is_last = self.done + 1 == filling.count;
        let pair = memory % 2 == 0 && memory + 1 < CHANNELS && !is_last;
        let coming = self.coming.iter().flatten().count();
        let room = self.words.count() + coming + 2 <= WORDS;
        room.then_some(Reads { memory, line, pair })
    }

    /// The end of a cycle, with the word that the host offers, what the GPR gives, what of it is read if this is the
    /// second of an EPU cycle, whether the channels have taken a word, and a filling that enters.
    pub fn clock(
        &mut self,
        host: Option<Word>,
        gpr: &[Word],
        reads: Option<Option<Reads>>,
        taken: bool,
        enters: Option<Filling>,
    ) {
        let accepted = host.filter(|_| self.is_ready());
        let filling = self.fillings.oldest().copied().unwrap_or_default();
        let [first, second] = match reads {
            Some(_) => self.coming.map(|word| word.map(|word| word.of(gpr))),
            None => [None; 2],
        };
        self.words.clock(taken, accepted.or(first).or(self.later));
        self.later = second;
        let read = reads.flatten();
        if reads.is_some() {
            self.coming = self.coming_of(read, &filling);
        }
        let words = read.map_or(u32::from(accepted.is_some()), Reads::words);
        let ends = words > 0 && self.done + words == filling.count;
        self.done = if ends { 0 } else { self.done + words };
        self.of_gpr -= u32::from(ends && filling.of_gpr);
        self.of_gpr += u32::from(enters.is_some_and(|filling| filling.of_gpr));
        self.fillings.clock(ends, enters);
    }

    /// The words of a read on their way.
    fn coming_of(&self, reads: Option<Reads>, filling: &Filling) -> [Option<Coming>; 2] {
        let Some(reads) = reads else { return [None; 2] };
        std::array::from_fn(|n| {
            let before = (self.done as usize + n) * ELEMENTS;
            let elements = (filling.elements as usize).saturating_sub(before);
            (n == 0 || reads.pair).then_some(Coming { memory: reads.memory + n, elements })
        })
    }
}
