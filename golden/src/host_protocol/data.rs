// SPDX-License-Identifier: MIT
//! The data that commands of the host ask for.

use super::{Breach, HostRules, Stream, Window};
use std::collections::VecDeque;

/// What a burst is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The host's memory. Nobody has to tell its data.
    Memory,
    /// A window; of the results, with the burst that the host means, if it means one.
    Window(Window, Option<(Stream, u64)>),
}

/// Data that a command asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) command_tck: u64,
    pub(super) due_tck: u64,
    pub(super) of: Use,
}

impl Due {
    pub(super) fn window(&self) -> Option<Window> {
        match self.of {
            Use::Memory => None,
            Use::Window(window, _) => Some(window),
        }
    }
}

/// Data that are still to come, of RDs or of WRs.
#[derive(Clone, Debug, Default)]
pub(super) struct Dues(VecDeque<Due>);

impl Dues {
    pub(super) fn ask(&mut self, command_tck: u64, latency: u64, of: Use) {
        let due_tck = command_tck.saturating_add(latency);
        self.0.push_back(Due { command_tck, due_tck, of });
    }

    /// The command that data are of: the one that asks for them now, else the first that waits, of a
    /// window rather than of memory.
    pub(super) fn answer(&mut self, at_tck: u64) -> Option<Due> {
        let now = self.0.iter().position(|due| due.due_tck == at_tck);
        let window = || self.0.iter().position(|due| due.window().is_some());
        let position = now.or_else(window).unwrap_or(0);
        self.0.remove(position)
    }

    /// Whether none are those of a window.
    pub(super) fn are_of_memory(&self) -> bool {
        self.0.iter().all(|due| due.window().is_none())
    }

    /// Whether none are to come.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// None are to come any more.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// Data that were due before a tCK and no longer come, one by one.
    pub(super) fn given_up(&mut self, before_tck: u64) -> Option<Due> {
        let late = self.0.front().is_some_and(|due| due.due_tck < before_tck);
        if late { self.0.pop_front() } else { None }
    }
}

/// The tCK from which on a message or an operand is in the queue.
pub(super) fn arrival(command_tck: u64, rules: &HostRules) -> u64 {
    command_tck.saturating_add(rules.cwl).saturating_add(rules.burst)
}

/// The command of a window that data are of; and whether they come when they are due.
pub(super) fn asked(
    at_tck: u64,
    write: bool,
    due: Option<Due>,
    found: &mut Vec<Breach>,
) -> Option<Due> {
    if due.is_none() {
        found.push(Breach::DataUnasked { write });
    }
    let due = due?;
    let window = due.window()?;
    if due.due_tck != at_tck {
        found.push(Breach::DataMissing { window, due_tck: due.due_tck, write });
    }
    Some(due)
}
