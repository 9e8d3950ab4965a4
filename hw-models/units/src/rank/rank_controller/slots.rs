// SPDX-License-Identifier: MIT
//! Slots of a rank controller that are alike: in each an all-bank read of the open row goes to the pins, another request for
//! that row comes, and nothing else moves.
//!
//! Which cycles of a slot that takes is not known here: the user steps a slot, cycle by cycle, and compares the state behind it
//! with what [`pass_slot`](RankController::pass_slot) leaves of the state before it. Where both are equal, the time from one
//! read to the next is that from the one before, for the only times that bind it are those that a read itself sets, and
//! these have moved with it. Whatever else is kept until a time was kept no longer when the first of them was chosen, or
//! binds commands for which there is no request.

use super::{ArrayRequest, PinCommand, Pins, RankController, U, pack};
use pimlico_dpa::types::{Mac, ReadAll};

impl<const SLOTS: usize> RankController<SLOTS> {
    /// Whether the slot that begins, behind a cycle with an RD_ALL on the pins, is such a slot, if in it this is requested and
    /// no REF: the bus port has no request, and the read behind the next finds its row open and reads the word of the shared
    /// buffers behind that one's, as the next was found to do before.
    pub fn next_slot(&self, sent: ArrayRequest) -> bool {
        let Some(head) = self.array.head() else { return false };
        let behind = if self.array.len == 2 { self.array.entries[1] } else { sent };
        self.bus.len == 0 && self.hits(behind) && behind.mac.word == head.mac.word.wrapping_add(1)
    }

    /// The slot is over, of so many cycles, in which this was requested. Returns what is on the pins in its last cycle.
    pub fn pass_slot(&mut self, sent: ArrayRequest, cycles: u64) -> (Pins, Mac) {
        let head = self.array.head().unwrap_or_default();
        let Mac { word, accumulate, first, last, .. } = head.mac;
        self.array.pop();
        self.array.push(sent);
        self.word_next = word.wrapping_add(1);
        self.column_from.shift_all(cycles);
        self.pre_from.shift_all(cycles);
        self.now += cycles;
        let what = pack(&ReadAll { accumulate, first, last, back: false });
        let pins =
            Pins { command: PinCommand::RdAll, bank: U::new(what), column: head.column, row: 0 };
        (pins, head.mac)
    }
}
