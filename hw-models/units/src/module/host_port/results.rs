// SPDX-License-Identifier: MIT
//! Packs the elements of a stream of results into bursts, and keeps the last of these.

use pimlico_dpa::types::{Burst, LANES};
use std::array::from_fn;

/// Elements of a burst.
const ELEMENTS: usize = 32;

/// Bursts of a stream that can be read.
const BURSTS: usize = 64;

/// The elements of a cycle of the core, by lane.
pub(super) type Elements = [Option<u16>; LANES];

/// A stream of results.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// Elements of the last cycle of the core.
    packed: Elements,
    /// The burst that is not complete, 0 in what it lacks, and how many elements it holds.
    burst: [u16; ELEMENTS],
    held: usize,
    /// The burst is complete, or asked for: it is written in this tCK.
    complete: bool,
    asked: bool,
    /// Bursts that have been written.
    count: u16,
    memory: Box<[Burst; BURSTS]>,
    /// Places of the memory that have been written.
    known: u64,
}

impl Stream {
    /// A stream without elements.
    pub(super) fn new() -> Self {
        Self {
            packed: Elements::default(),
            burst: [0; ELEMENTS],
            held: 0,
            complete: false,
            asked: false,
            count: 0,
            memory: Box::new([Burst::default(); BURSTS]),
            known: 0,
        }
    }

    /// Takes all elements away. What the memory holds is unknown then.
    pub(super) fn reset(&mut self) {
        self.packed = Elements::default();
        (self.burst, self.held) = ([0; ELEMENTS], 0);
        (self.complete, self.asked) = (false, false);
        (self.count, self.known) = (0, 0);
    }

    /// Bursts that have been written.
    pub(super) fn count(&self) -> u16 {
        self.count
    }

    /// The burst at a place of the memory, unless it is unspecified in this tCK.
    pub(super) fn burst(&self, place: usize) -> Option<&Burst> {
        let is_written = self.writes() && place == self.place();
        (self.known >> place & 1 != 0 && !is_written).then(|| &self.memory[place])
    }

    /// Elements are being packed in this cycle of the core.
    pub(super) fn packs(&self) -> bool {
        self.packed != Elements::default()
    }

    /// Nothing is packed, and no burst is written.
    pub(super) fn rests(&self) -> bool {
        !self.packs() && !self.writes()
    }

    /// An unfinished burst holds elements.
    pub(super) fn is_unfinished(&self) -> bool {
        self.held > 0
    }

    /// The end of a cycle of the core, before that of its last tCK: the elements of the cycle, and whether
    /// the unit rests.
    pub(super) fn take(&mut self, lane: usize, elements: Elements, rests: bool) {
        let asked = rests && self.is_unfinished() && !self.asked;
        self.clock(lane);
        self.packed = elements;
        self.asked = asked;
    }

    /// The end of a tCK, in which a lane is packed.
    pub(super) fn clock(&mut self, lane: usize) {
        if self.writes() {
            self.memory[self.place()] = from_fn(|beat| word(&self.burst[4 * beat..][..4]));
            self.known |= 1 << self.place();
            self.count = self.count.wrapping_add(1);
            self.burst = [0; ELEMENTS];
            if self.asked {
                self.held = 0;
            }
        }
        (self.complete, self.asked) = (false, false);
        if let Some(element) = self.packed[lane] {
            self.burst[self.held] = element;
            self.held = (self.held + 1) % ELEMENTS;
            self.complete = self.held == 0;
        }
    }

    fn writes(&self) -> bool {
        self.complete || self.asked
    }

    /// Where the next burst is written.
    fn place(&self) -> usize {
        usize::from(self.count) % BURSTS
    }
}

/// Four elements, the first at the bottom.
fn word(elements: &[u16]) -> u64 {
    elements.iter().rev().fold(0, |word, element| word << 16 | u64::from(*element))
}
