// SPDX-License-Identifier: MIT
//! Executes the messages at the head of the queue, and gives its operands to the run.

use super::owner::Owner;
use super::queue::{Entry, LOAD, START};
use pimlico_dpa::types::{Load, LoadKind, Start};
use pimlico_ports::{Enumerated, U};

/// What is done in a cycle of the core with the burst at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// There is no burst, or it waits.
    Wait,
    /// A word of a LOAD is written, maybe the last.
    Write { load: Load, last: bool },
    /// A run starts.
    Start(Start),
    /// The burst is an operand of the run.
    Offer,
    /// An operand that no run asked for, or a LOAD of nothing, is dropped.
    Drop,
    /// A message of no kind is dropped.
    Refuse,
}

/// The state of messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    /// Words of the LOAD at the head that have been written.
    written: u16,
    /// Factor of the scores.
    scale: u16,
    /// Operands that the run has not taken.
    operands: u32,
    /// A message was refused.
    refused: bool,
}

impl Messages {
    pub(super) fn scale(&self) -> u16 {
        self.scale
    }

    pub(super) fn operands(&self) -> U<7> {
        U::new(self.operands.min(127).into())
    }

    pub(super) fn refused(&self) -> bool {
        self.refused
    }

    /// What is done in this cycle.
    pub(super) fn action(&self, head: Option<&Entry>, owner: &Owner) -> Action {
        let Some(head) = head else { return Action::Wait };
        match head.kind() {
            None if owner.runs() => Action::Offer,
            None => Action::Drop,
            Some(LOAD) if owner.runs() => Action::Wait,
            Some(LOAD) => self.load(head),
            Some(START) if owner.starts() => Action::Start(start(head)),
            Some(START) => Action::Wait,
            Some(_) => Action::Refuse,
        }
    }

    fn load(&self, head: &Entry) -> Action {
        let word = head.burst[0];
        let count = (word >> 8 & 7) as u16;
        if count == 0 {
            return Action::Drop;
        }
        let load = Load {
            kind: load_kind(head).unwrap_or_default(),
            address: ((word >> 16) as u16).wrapping_add(self.written),
            data: head.burst[usize::from(self.written) + 1],
        };
        Action::Write { load, last: self.written + 1 == count }
    }

    /// The end of a cycle of the core with this action; says whether the burst at the head leaves.
    pub(super) fn clock(&mut self, action: Action, head: Option<&Entry>, taken: bool) -> bool {
        match (action, head) {
            (Action::Write { last, .. }, _) => {
                self.written = if last { 0 } else { self.written + 1 };
                last
            }
            (Action::Start(_), Some(head)) => {
                self.scale = (head.burst[0] >> 48) as u16;
                self.operands = head.burst[1] as u32;
                true
            }
            (Action::Offer, _) => {
                self.operands = self.operands.saturating_sub(taken.into());
                taken
            }
            (Action::Refuse, _) => {
                self.refused = true;
                true
            }
            (Action::Drop, _) => true,
            _ => false,
        }
    }
}

/// What a LOAD writes, if there is such a kind.
pub(super) fn load_kind(head: &Entry) -> Option<LoadKind> {
    LoadKind::from_code(head.burst[0] >> 4 & 7)
}

fn start(head: &Entry) -> Start {
    let word = head.burst[0];
    Start { request: U::new(word >> 16), address: U::new(word >> 32) }
}
