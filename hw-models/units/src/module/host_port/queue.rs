// SPDX-License-Identifier: MIT
//! The host's bursts: how they come from its data bus, and the queue in which they wait.

use super::windows::Window;
use pimlico_dpa::types::{Beat, Burst};

/// A burst of the mailbox or of the operands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) is_message: bool,
    pub(super) burst: Burst,
}

impl Entry {
    /// What kind of message the burst is; none if it is an operand.
    pub(super) fn kind(&self) -> Option<u64> {
        self.is_message.then_some(self.burst[0] & 3)
    }
}

/// Bits of word 0 of a LOAD and of a START.
pub(super) const LOAD: u64 = 1;
pub(super) const START: u64 = 2;

/// Takes bursts from the host's data bus.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// Of WRs to the mailbox and to the operands: bit `n` says that the last beat is on the bus in `n` tCK.
    messages: u64,
    operands: u64,
    /// The last beats, the last one at the end.
    beats: Burst,
    /// The burst that is complete.
    complete: Option<Entry>,
}

impl Receiver {
    /// The burst that enters the queue with the end of this tCK.
    pub(super) fn complete(&self) -> Option<&Entry> {
        self.complete.as_ref()
    }

    /// No burst is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.messages == 0 && self.operands == 0 && self.complete.is_none()
    }

    /// The end of a beat.
    pub(super) fn take(&mut self, beat: Beat) {
        self.beats.copy_within(1.., 0);
        self.beats[7] = beat;
    }

    /// The end of a tCK, behind that of its second beat, in which a window is written.
    pub(super) fn clock(&mut self, written: Option<Window>, cwl: u8) {
        let is_message = self.messages & 1 != 0;
        let ends = is_message || self.operands & 1 != 0;
        self.complete = ends.then_some(Entry { is_message, burst: self.beats });
        self.messages >>= 1;
        self.operands >>= 1;
        // The window has its WR a tCK after the pins, and this is the end of the tCK.
        let last = 1 << u32::from(cwl).min(u64::BITS - 1);
        match written {
            Some(Window::Mailbox) => self.messages |= last,
            Some(Window::Operands) => self.operands |= last,
            _ => {}
        }
    }
}

/// The queue.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// A ring.
    entries: Box<[Entry; Self::DEPTH]>,
    oldest: usize,
    count: usize,
    /// The oldest burst is at the head in this cycle.
    has_head: bool,
    /// STARTs among the bursts.
    starts: usize,
    /// A burst was lost.
    lost: bool,
    /// Bursts that have left, or were lost.
    taken: u16,
}

impl Queue {
    /// Bursts that find room.
    pub(super) const DEPTH: usize = 128;

    /// An empty queue.
    pub(super) fn new() -> Self {
        Self {
            entries: Box::new([Entry::default(); Self::DEPTH]),
            oldest: 0,
            count: 0,
            has_head: false,
            starts: 0,
            lost: false,
            taken: 0,
        }
    }

    /// Empties the queue. What its entries hold does not matter then.
    pub(super) fn reset(&mut self) {
        (self.oldest, self.count, self.starts, self.taken) = (0, 0, 0, 0);
        (self.has_head, self.lost) = (false, false);
    }

    /// The burst at the head.
    pub(super) fn head(&self) -> Option<&Entry> {
        self.has_head.then(|| &self.entries[self.oldest])
    }

    /// The oldest burst, if there is one, is at the head.
    pub(super) fn rests(&self) -> bool {
        self.has_head == (self.count > 0)
    }

    /// It holds no burst.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A START is in the queue.
    pub(super) fn has_start(&self) -> bool {
        self.starts > 0
    }

    pub(super) fn lost(&self) -> bool {
        self.lost
    }

    pub(super) fn taken(&self) -> u16 {
        self.taken
    }

    /// The end of a tCK in which a burst enters.
    pub(super) fn push(&mut self, entry: &Entry) {
        if self.count == Self::DEPTH {
            self.lost = true;
            self.taken = self.taken.wrapping_add(1);
            return;
        }
        self.entries[(self.oldest + self.count) % Self::DEPTH] = *entry;
        self.count += 1;
        self.starts += usize::from(entry.kind() == Some(START));
    }

    /// The end of a cycle of the core: the burst at the head may leave. A burst that enters at the same time
    /// does so behind it, finds no room where that leaves, and is not seen yet.
    pub(super) fn clock(&mut self, leaves: bool, enters: Option<&Entry>) {
        let left = self.count - usize::from(leaves);
        let leaving = self.entries[self.oldest].kind();
        if let Some(entry) = enters {
            self.push(entry);
        }
        self.has_head = left > 0;
        if leaves {
            self.oldest = (self.oldest + 1) % Self::DEPTH;
            self.count -= 1;
            self.starts -= usize::from(leaving == Some(START));
            self.taken = self.taken.wrapping_add(1);
        }
    }
}
