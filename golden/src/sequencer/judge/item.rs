// SPDX-License-Identifier: MIT
//! A command that the sequencer has accepted.

use crate::sequencer::Command;
use crate::sequencer::opcode::{MAC_CONTEXT, MAC_SCORE, RD_RESULT};

/// What has become of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has a fault of its own, and enters no queue.
    Dropped,
    Waiting,
    /// Its request is accepted.
    Sent,
    /// It is on the pins, or written.
    Done,
}

/// An accepted command.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) command: Command,
    /// Its place among all that were accepted.
    pub(super) index: usize,
    /// When it was accepted.
    pub(super) at: u64,
    pub(super) state: State,
    /// A MAC: its sum; others: sums that ended before it.
    pub(super) sum: u64,
    /// A MAC: the last write to its word before it; a write: the last MAC of its word.
    pub(super) after: Option<usize>,
    /// A write: the write to its word before it.
    pub(super) before: Option<usize>,
    /// A WR_SHARED for which the host had no burst: it may have been dropped.
    pub(super) is_uncertain: bool,
}

impl Item {
    pub(super) fn is_mac(&self) -> bool {
        matches!(self.command.opcode, MAC_SCORE | MAC_CONTEXT)
    }

    pub(super) fn is_context(&self) -> bool {
        self.command.opcode == RD_RESULT && self.command.word & 0x80 != 0
    }

    pub(super) fn is_scores(&self) -> bool {
        self.command.opcode == RD_RESULT && self.command.word < 0x40
    }

    /// An RD_RESULT: the sums whose results may have come with it on the pins. Those of bank groups 1 to 3 are
    /// kept for one more.
    pub(super) fn readable(&self) -> u64 {
        let is_kept = !self.is_context() && self.command.word & 3 != 0;
        self.sum + u64::from(is_kept)
    }
}
