// SPDX-License-Identifier: MIT
//! When a PIM_GEMV has its beats and sends its results, and how long a controller has to expect it to take.
//!
//! Both are told from the list of commands: nothing counts down here.
//!
//! ```
//! use pimlico_golden::gemv::{GemvCommand, Sequence, Times};
//!
//! let times = Times { dot: 2, latency: 4, cl: 14 };
//! let mut sequence = Sequence::new(times, 32);
//! sequence.command(1, GemvCommand::Gemv { word: 8, count: 3 });
//! let beats: Vec<_> = (1..10).filter(|&tck| sequence.beat(tck).is_some()).collect();
//! assert_eq!(beats, [2, 4, 6]);
//! assert!(sequence.sends(10) && !sequence.is_ready(6) && sequence.is_ready(7));
//! ```

use std::collections::{BTreeMap, BTreeSet};

/// Timings of the PUs and of their results, in tCK, each 1 or more.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Beat to beat.
    pub dot: u64,
    /// Last beat of a GEMV to its burst.
    pub latency: u64,
    /// RDRESULT to its burst.
    pub cl: u64,
}

/// What is asked of the PUs.
#[derive(Clone, Copy, Debug)]
pub enum GemvCommand {
    /// Dot products of consecutive words, and the results.
    Gemv {
        /// The first word.
        word: u64,
        /// Dot products.
        count: u64,
    },
    /// One dot product.
    DotProduct {
        /// Its word.
        word: u64,
        /// It begins a sum.
        first: bool,
        /// It ends a sum.
        last: bool,
    },
    /// The results of a sum.
    ReadResult,
}

/// What the PUs do in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Word of the rows and of the global buffer.
    pub word: u64,
    /// It begins a sum.
    pub first: bool,
    /// It ends a sum.
    pub last: bool,
}

/// The beats and bursts of a list of commands, which come from tCK 1 on.
#[derive(Clone, Debug)]
pub struct Sequence {
    times: Times,
    words: u64,
    /// The first tCK in which the next command with beats may come.
    free: u64,
    beats: BTreeMap<u64, Beat>,
    /// When bursts of GEMVs, and then of RDRESULTs, are asked for, and when they begin.
    bursts: BTreeSet<(u64, bool, u64)>,
    faults: BTreeSet<u64>,
}

impl Sequence {
    /// Of rows of so many words.
    pub fn new(times: Times, words: u64) -> Self {
        let (beats, bursts, faults) = Default::default();
        Self { times, words, free: 1, beats, bursts, faults }
    }

    /// A command. Call it in the order of time.
    pub fn command(&mut self, at_tck: u64, command: GemvCommand) {
        let Times { dot, latency, cl } = self.times;
        let (word, count) = match command {
            GemvCommand::ReadResult if at_tck == 0 => {
                self.faults.insert(1);
                return;
            }
            GemvCommand::ReadResult => {
                self.bursts.insert((at_tck, true, at_tck + cl));
                return;
            }
            GemvCommand::Gemv { word, count } => (word, count),
            GemvCommand::DotProduct { word, .. } => (word, 1),
        };
        if at_tck < self.free || word + count > self.words {
            self.faults.insert(at_tck + 1);
            return;
        }
        self.free = at_tck + count * dot;
        for nth in 0..count {
            let (first, last) = match command {
                GemvCommand::DotProduct { first, last, .. } => (first, last),
                _ => (nth == 0, nth + 1 == count),
            };
            self.beats.insert(at_tck + 1 + nth * dot, Beat { word: word + nth, first, last });
        }
        if matches!(command, GemvCommand::Gemv { .. }) {
            let last_beat = at_tck + 1 + (count - 1) * dot;
            self.bursts.insert((last_beat, false, last_beat + latency));
        }
    }

    /// Two commands came in a tCK.
    pub fn collide(&mut self, at_tck: u64) {
        self.faults.insert(at_tck + 1);
    }

    /// Whether a command with beats may come.
    pub fn is_ready(&self, at_tck: u64) -> bool {
        at_tck >= self.free
    }

    /// The beat of a tCK, if there is one. Of the commands before it all must have been told.
    pub fn beat(&self, at_tck: u64) -> Option<Beat> {
        self.beats.get(&at_tck).copied()
    }

    /// Whether a burst begins in a tCK.
    pub fn sends(&self, at_tck: u64) -> bool {
        self.bursts.iter().any(|&(_, _, begins)| begins == at_tck)
    }

    /// Whether a fault is reported in a tCK: of a command in the one before, or of a burst that was asked for in it and
    /// begins within a tCK of one that was asked for earlier.
    pub fn is_faulty(&self, at_tck: u64) -> bool {
        let meets = |&(asked, is_read, begins): &(u64, bool, u64)| {
            let earlier = self.bursts.iter().take_while(|burst| **burst < (asked, is_read, begins));
            earlier.into_iter().any(|&(_, _, other)| begins.abs_diff(other) <= 1)
        };
        let mut asked = self.bursts.iter().filter(|(asked, ..)| asked + 1 == at_tck);
        self.faults.contains(&at_tck) || asked.any(meets)
    }
}

/// An operation whose length is to be expected.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Dot products of a row in all banks.
    Gemv {
        /// PIM_ACTIVATIONs, one behind the other, in the pseudo-rank that needs most.
        activations: u64,
        /// Dot products.
        count: u64,
        /// Bursts of results.
        results: u64,
    },
    /// A row is copied to the global buffer.
    Gwrite,
}

/// What an operation is made of, in tCK.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the timings of JESD235, but for the last four")]
pub struct Parts {
    pub t_rtp: u64,
    pub t_rp: u64,
    pub t_rcd: u64,
    pub t_faw: u64,
    /// Dot product to dot product, and a burst.
    pub dot: u64,
    /// Dot products that fill the pipeline.
    pub fill: u64,
    /// A GWRITE behind its activation.
    pub copy: u64,
    /// What is added.
    pub guard: u64,
}

/// The tCK that an operation takes, as the estimate of a controller has it: step by step.
pub fn estimate(parts: &Parts, precharges: u64, operation: Operation) -> u64 {
    let mut steps = vec![parts.guard, parts.t_rcd];
    steps.extend((0..precharges).map(|_| parts.t_rtp));
    match operation {
        Operation::Gwrite => steps.extend([parts.t_rp, parts.copy]),
        Operation::Gemv { activations, count, results } => {
            steps.extend((1..activations).map(|_| parts.t_faw));
            // Those that are missing pass as bubbles.
            steps.extend((0..count).map(|_| parts.dot));
            steps.extend((count..parts.fill).map(|_| parts.dot));
            steps.extend((1..results).map(|_| parts.dot));
        }
    }
    steps.into_iter().sum()
}

/// The tCK from the first in which a controller may give a command of the operation to that in which a REF may come
/// behind it, at the worst that MEM can do: there was an ACT in each pseudo-rank in the last tCK before the first activation
/// could come, and both pseudo-ranks want the pins in the same tCK. The rows are open for `t_ras` at least.
///
/// With no precharges, rows for dot products have been closed for long, and the row of a GWRITE since the last tCK.
pub fn longest(parts: &Parts, t_ras: u64, precharges: u64, operation: Operation) -> u64 {
    let Parts { t_rtp, t_rp, t_rcd, t_faw, dot, fill, copy, .. } = *parts;
    let closed = precharges.checked_sub(1).map(|others| others + t_rp);
    // Of an ACT in the last tCK.
    let blocked = |free: u64| free + t_faw - 1;
    match operation {
        Operation::Gwrite => blocked(closed.unwrap_or(t_rp - 1)) + t_rcd + copy + t_rp,
        Operation::Gemv { activations, count, results } => {
            let free = closed.unwrap_or(0);
            let (opened, begin) = match activations.checked_sub(1) {
                None => (0, 0),
                Some(others) => {
                    let last = blocked(free) + others * t_faw + 1;
                    (last + t_ras, last + t_rcd)
                }
            };
            let last_dot = begin + (count - 1) * dot;
            let over = last_dot + (fill + results) * dot;
            over.max(opened.max(last_dot + t_rtp) + t_rp)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { dot: 2, latency: 4, cl: 14 };

    #[test]
    fn a_command_that_comes_too_early_has_no_beat() {
        let mut sequence = Sequence::new(TIMES, 32);
        sequence.command(1, GemvCommand::Gemv { word: 0, count: 2 });
        sequence.command(4, GemvCommand::DotProduct { word: 3, first: true, last: true });
        sequence.command(5, GemvCommand::DotProduct { word: 4, first: true, last: false });
        assert!(sequence.is_faulty(5) && !sequence.is_faulty(6));
        let words: Vec<_> = (0..9).filter_map(|tck| sequence.beat(tck)).map(|b| b.word).collect();
        assert_eq!(words, [0, 1, 4]);
    }

    #[test]
    fn bursts_are_two_tck_apart() {
        for (second, faulty) in [(21, true), (22, true), (23, true), (24, false)] {
            let mut sequence = Sequence::new(TIMES, 32);
            // A burst at 36, and one 4 behind the beat that is behind the command.
            sequence.command(22, GemvCommand::ReadResult);
            sequence.command(second + 9, GemvCommand::Gemv { word: 0, count: 1 });
            assert_eq!(sequence.is_faulty(second + 11), faulty, "{second}");
        }
    }

    #[test]
    fn the_tile_of_the_paper() {
        let parts =
            Parts { t_rtp: 6, t_rp: 14, t_rcd: 14, t_faw: 30, dot: 2, fill: 6, copy: 96, guard: 0 };
        let tile = |activations| Operation::Gemv { activations, count: 32, results: 1 };
        assert_eq!(estimate(&parts, 1, tile(4)), 6 + 90 + 14 + 64);
        // No negative time for a row that is open.
        assert_eq!(estimate(&parts, 0, tile(0)), 14 + 64);
        assert_eq!(estimate(&parts, 1, Operation::Gwrite), 6 + 14 + 14 + 96);
        // Without MEM, PIM_PRECHARGE to PIM_PRECHARGE takes 187. An ACT costs tFAW - 1 more, and a REF comes tRP later.
        assert_eq!(longest(&parts, 34, 1, tile(4)), 187 + 29 + 14);
    }
}
