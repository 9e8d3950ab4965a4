// SPDX-License-Identifier: MIT
//! Requests of the array port: MACs, and CLOSE_ALL at the end of a head or of a run.

use super::SequencerIn;
use crate::lap::Walk;

/// MACs that are accepted and not on the pins, at the most.
const ON_THEIR_WAY: usize = 4;
/// The first entry of the array queue that is not sent.
#[derive(Clone, Copy)]
pub enum Next {
    /// There is none; all that was dispatched in the run is done, or not.
    None { ended: bool },
    /// A CLOSE_ALL; there is nothing else to do, or there is.
    CloseAll { quiet: bool },
    /// A MAC: it begins and ends a sum, its word is there, and it may not end its sum.
    Mac { last: bool, word_there: bool, waits: bool },
}

/// Requests of the array port.
#[derive(Clone, Default, PartialEq)]
pub struct Array {
    /// MACs that are accepted and not on the pins, and whether each ends a sum, the oldest at the bottom.
    sent: usize,
    lasts: u8,
    /// Cycles until a MAC that ends a sum may be requested.
    pace: u16,
    flags: Flags,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    /// The last that was accepted is a CLOSE_ALL.
    closed: bool,
    head_ended: bool,
    /// The requests.
    reads: bool,
    closes: bool,
}

impl Array {
    /// A MAC is requested.
    pub fn reads(&self) -> bool {
        self.flags.reads
    }

    /// A CLOSE_ALL is requested.
    pub fn closes(&self) -> bool {
        self.flags.closes
    }

    /// The last that was accepted is a CLOSE_ALL.
    pub fn closed(&self) -> bool {
        self.flags.closed
    }

    /// A head ends.
    pub fn head_end(&self) -> bool {
        self.flags.closes && !self.flags.head_ended
    }

    /// Whether a time is over in the next cycle.
    pub fn ends_waiting(&self) -> bool {
        self.pace == 1
    }

    /// Cycles before the one in which a time is over, if one goes on.
    pub fn waits(&self) -> u64 {
        self.pace.checked_sub(1).map_or(u64::MAX, u64::from)
    }

    /// A cycle in which nothing happens.
    pub fn wait(&mut self) {
        self.rest(1);
    }

    /// So many of them.
    pub fn rest(&mut self, cycles: u16) {
        self.pace = self.pace.saturating_sub(cycles);
    }

    /// Whether the next is requested in the next cycle, as a MAC or as a CLOSE_ALL.
    fn asks(&self, input: &SequencerIn, next: Next) -> [bool; 2] {
        if input.events_i.array_taken {
            return [false; 2];
        }
        match next {
            Next::None { ended } => [false, ended && !self.flags.closed],
            Next::CloseAll { quiet } => [false, self.sent == 0 && quiet],
            Next::Mac { last, word_there, waits } => {
                let may_end = !waits && self.lasts == 0 && self.pace <= 1;
                [self.flags.reads || word_there && (!last || may_end), false]
            }
        }
    }

    /// A cycle, in which a CLOSE_ALL enters the queue or does not. Tells whether anything but a time has changed.
    pub fn step(&mut self, input: &SequencerIn, next: Next, close_enters: bool) -> bool {
        let events = &input.events_i;
        let before = self.flags;
        let [reads, closes] = self.asks(input, next);
        let sends = events.array_taken && before.reads;
        let head_ended = (before.head_ended || before.closes) && !sends && !close_enters;
        let closed = if events.array_taken { before.closes } else { before.closed };
        self.flags = Flags { closed, head_ended, reads, closes };
        let ends = self.lasts & 1 != 0;
        self.wait();
        if events.read {
            self.sent = self.sent.saturating_sub(1);
            self.lasts >>= 1;
            if ends {
                // The results of a chunk leave in four bursts, and so do those of the next.
                self.pace = 4 * u16::from(input.burst_i).max(2) - 3;
            }
        }
        if sends && let Next::Mac { last, .. } = next {
            self.lasts |= u8::from(last) << self.sent.min(ON_THEIR_WAY - 1);
            self.sent += 1;
        }
        self.flags != before
    }

    /// Goes over all of it, for [laps](crate::lap).
    pub fn walk(&self, walk: &mut Walk<'_>) {
        let Self { sent, lasts, pace, flags } = self;
        let Flags { closed, head_ended, reads, closes } = *flags;
        walk.size(*sent);
        walk.still(*lasts);
        walk.still(*pace);
        for flag in [closed, head_ended, reads, closes] {
            walk.still(flag);
        }
    }

    /// A run starts.
    pub fn start(&mut self) {
        self.pace = 0;
        self.flags = Flags { reads: self.flags.reads, ..Flags::default() };
    }
}
