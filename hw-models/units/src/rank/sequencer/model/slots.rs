// SPDX-License-Identifier: MIT
//! Slots of a sequencer that are alike: in each a MAC is dispatched, another enters the array queue, a third is sent and a
//! fourth goes to the pins, and nothing else moves.
//!
//! ```text
//!   dispatcher ─▶ input ─▶ look ─▶ command ─▶ array queue ─▶ rank controller ─▶ pins
//! ```
//!
//! Which cycles of a slot that takes is not known here. The user steps a slot, cycle by cycle, and compares all of the state
//! behind it with what [`pass_slot`](SequencerSlots::pass_slot) leaves of the state before it. Where both are equal, whatever
//! is not a MAC on its way stood still, and goes on to do so as long as nothing comes that it waits for. Of what a slot
//! changes, only the number of MACs that are done is waited for, by writes to the words that they read; so that
//! [`next_slot`](SequencerSlots::next_slot) wants no write to be under way, and looks at the MACs.

use super::{Command, Sequencer, SequencerIn};
use crate::lap::Walk;
use crate::rank::sequencer::command::decode_read;
use crate::rank::sequencer::scoreboard::Access;
use pimlico_dpa::types::{ArrayRequest, Dispatch, Opcode};

/// Slots of a sequencer that are alike.
pub trait SequencerSlots {
    /// The request that is sent in the slot that begins, if it is such a slot: behind a cycle with an RD_ALL, in a run
    /// without a fault, where the dispatcher has a command and no results come.
    fn next_slot(&self, input: &SequencerIn) -> Option<ArrayRequest>;

    /// The slot is over, in which this was dispatched, and behind it the dispatcher's run has ended or not.
    fn pass_slot(&mut self, input: &SequencerIn, dispatched: Dispatch, done: bool);

    /// Cycles from this one on in which it requests the same as in this one, and accepts a command or does not, where nothing
    /// happens in them and no command comes.
    fn waits(&self, input: &SequencerIn) -> u64;

    /// So many of the cycles in which it [waits](Self::waits) go by.
    fn rest(&mut self, cycles: u64);

    /// Goes over all of its state, for [laps](crate::lap).
    fn walk(&mut self, walk: &mut Walk<'_>);
}

impl<const S: usize, const CC: u16, const CT: u16, const TC: u16> SequencerSlots
    for Sequencer<S, CC, CT, TC>
{
    fn next_slot(&self, input: &SequencerIn) -> Option<ArrayRequest> {
        let [Some(oldest), Some(_)] = &self.input else { return None };
        let all_read =
            [&self.command, &self.look].into_iter().all(reads) && decoded(oldest, input).is_some();
        let next = self.array.ahead()?;
        let goes_on = !next.request.mac.last;
        (all_read && goes_on && !self.scoreboard.has_write()).then_some(next.request)
    }

    fn pass_slot(&mut self, input: &SequencerIn, dispatched: Dispatch, done: bool) {
        let (need, entering) = (self.scoreboard.need(), self.command);
        self.command = self.look;
        if let Some((access, _)) = self.look.and_then(|look| look.access()) {
            self.scoreboard.look(access, Some(Access::Mac));
        }
        self.look = self.input[0].and_then(|oldest| decoded(&oldest, input));
        if let Some(access) = self.look.and_then(|look| look.access()) {
            let before = self.command.and_then(|command| command.access());
            self.scoreboard.read(access, before, before);
        }
        self.input = [self.input[1], Some(dispatched)];
        if let Some(entering) = entering {
            self.enter(entering, need);
        }
        self.scoreboard.see(true, false);
        self.array.pass();
        self.flags.over |= done;
        // Of what is requested no more changes.
        if let Some(entry) = self.array.next().filter(|_| self.array_requests.reads()) {
            self.output.array_o = entry.request;
        }
    }

    fn waits(&self, input: &SequencerIn) -> u64 {
        let lacks = self.operands_asked >= input.operands_i.get();
        let is_still =
            self.still && input.operand_valid_i == self.operand_there && lacks == self.lacks;
        if is_still { self.array_requests.waits().min(self.readers.waits()) } else { 0 }
    }

    fn rest(&mut self, cycles: u64) {
        let cycles = u16::try_from(cycles).unwrap_or(u16::MAX);
        self.array_requests.rest(cycles);
        self.readers.rest(cycles);
    }

    fn walk(&mut self, walk: &mut Walk<'_>) {
        self.go_over(walk);
    }
}

/// A command, if it is a MAC and nothing is wrong with it.
fn decoded(oldest: &Dispatch, input: &SequencerIn) -> Option<Command> {
    let is_mac = matches!(oldest.kind, Opcode::MacScore | Opcode::MacContext);
    if is_mac { decode_read(oldest, input).ok().map(Command::Read) } else { None }
}

fn reads(command: &Option<Command>) -> bool {
    matches!(command, Some(Command::Read(_)))
}
