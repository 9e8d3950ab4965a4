// SPDX-License-Identifier: MIT
//! What feeds the global buffers: fillings of the host and of the GPR, word by word.

use super::{ELEMENTS, Word, place_of};
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

/// A word of the GPR that comes in the next cycle: its memory, and elements of it that count.
#[derive(Clone, Copy)]
struct Coming {
    memory: usize,
    elements: usize,
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
    coming: Option<Coming>,
}

impl Feeder {
    pub fn new() -> Self {
        Self { fillings: Fifo::new(), of_gpr: 0, done: 0, words: Fifo::new(), coming: None }
    }

    pub fn has_room(&self) -> bool {
        !self.fillings.is_full()
    }

    /// Whether a filling of the GPR is in the queue.
    pub fn feeds_gpr(&self) -> bool {
        self.of_gpr > 0
    }

    pub fn is_idle(&self) -> bool {
        self.fillings.is_empty() && self.coming.is_none() && self.words.is_empty()
    }

    /// Words that are there, and the next of them.
    pub fn words(&self) -> (usize, Word) {
        (self.words.count(), self.words.oldest().copied().unwrap_or_default())
    }

    /// Whether a word of the host is accepted.
    pub fn is_ready(&self) -> bool {
        let of_host = self.fillings.oldest().is_some_and(|filling| !filling.of_gpr);
        of_host && !self.words.is_full() && self.coming.is_none()
    }

    /// Memory and line of the word of the GPR that is read, unless the EPU has the port.
    pub fn reads(&self, epu: bool) -> Option<(usize, u16)> {
        let filling = self.fillings.oldest().filter(|filling| filling.of_gpr && !epu)?;
        let room = self.words.count() + usize::from(self.coming.is_some()) < WORDS;
        room.then(|| place_of(filling.word + self.done))
    }

    /// The end of a cycle, with the word that the host offers, what the GPR gives, whether the EPU has its port, whether
    /// the channels have taken a word, and a filling that enters.
    pub fn clock(
        &mut self,
        host: Option<Word>,
        gpr: &[Word],
        epu: bool,
        taken: bool,
        enters: Option<Filling>,
    ) {
        let accepted = host.filter(|_| self.is_ready());
        let read = self.reads(epu);
        let filling = self.fillings.oldest().copied().unwrap_or_default();
        let came = self.coming.map(|Coming { memory, elements }| {
            let word = gpr[memory];
            std::array::from_fn(|n| if n < elements { word[n] } else { 0 })
        });
        self.words.clock(taken, accepted.or(came));
        self.coming = read.map(|(memory, _)| {
            let before = self.done as usize * ELEMENTS;
            Coming { memory, elements: (filling.elements as usize).saturating_sub(before) }
        });
        let goes = accepted.is_some() || read.is_some();
        let ends = goes && self.done + 1 == filling.count;
        self.done = if ends { 0 } else { self.done + u32::from(goes) };
        self.of_gpr -= u32::from(ends && filling.of_gpr);
        self.of_gpr += u32::from(enters.is_some_and(|filling| filling.of_gpr));
        self.fillings.clock(ends, enters);
    }
}
