// SPDX-License-Identifier: MIT
//! Who owns the chips' command pins, as far as it follows from the host's side.
//!
//! Where the module stands in a run is its own affair until a status tells it. So the checker keeps
//! the set of the states in which the module can be. A status that is read reduces the set to one, for the
//! tCK in which it was sampled, and what the host has done since is replayed on it.

use super::status::{PinState, Status};
use std::collections::VecDeque;

/// The states in which the module can be, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct States(u8);

/// `PinsHost`, and no START waits.
const HOST: u8 = 1;
/// `PinsHost`, and a START waits.
const HOST_WAITS: u8 = 2;
/// `PinsLeft`, and no START waits.
const ENDED: u8 = 4;
/// `PinsRun`, or `PinsLeft` where a START waits.
const BUSY: u8 = 8;

/// Who owns the pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Host,
    Module,
    /// The host has written a PREA that takes the pins only if the run had ended by then.
    Unsure,
}

/// What the host does about the pins. A PREA goes before a START that is there a tCK later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    PreAll,
    Start,
}

impl States {
    pub(super) fn of(status: &Status) -> Self {
        Self(match (status.state, status.waits) {
            (PinState::PinsHost, false) => HOST,
            (PinState::PinsHost, true) => HOST_WAITS,
            (PinState::PinsLeft, false) => ENDED,
            (PinState::PinsLeft, true) | (PinState::PinsRun, _) => BUSY,
        })
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn owner(self) -> Owner {
        match (self.0 & (HOST | HOST_WAITS) != 0, self.0 & (ENDED | BUSY) != 0) {
            (true, false) => Owner::Host,
            (false, true) => Owner::Module,
            _ => Owner::Unsure,
        }
    }

    /// Whether a run can be on, or about to be.
    pub(super) fn busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// A PREA gives the pins away.
    pub(super) fn about_to_give(self) -> bool {
        self.0 == HOST_WAITS
    }

    /// A PREA takes the pins back.
    pub(super) fn ended(self) -> bool {
        self.0 == ENDED
    }

    /// A run that is on may have ended a moment later.
    fn later(self) -> Self {
        if self.busy() { Self(self.0 | ENDED) } else { self }
    }

    fn step(self, step: Step) -> Self {
        let to = |state| match (step, state) {
            (Step::PreAll, HOST_WAITS) => BUSY,
            (Step::PreAll, ENDED) => HOST,
            (Step::Start, HOST) => HOST_WAITS,
            (Step::Start, ENDED) => BUSY,
            _ => state,
        };
        let states = [HOST, HOST_WAITS, ENDED, BUSY].into_iter();
        let next = states.filter(|state| self.0 & state != 0).map(to);
        Self(next.fold(0, |all, state| all | state)).later()
    }
}

/// The states over time.
#[derive(Clone, Debug)]
pub(super) struct Ownership {
    anchor: States,
    /// Whether a run can have been on between the last status and the steps that are left.
    ran: bool,
    /// What the host has done since, each with the first tCK that shows it.
    steps: VecDeque<(u64, Step)>,
    /// Steps are forgotten after so long: no status is still to come that was sampled before them.
    memory: u64,
}

impl Ownership {
    pub(super) fn new(memory: u64) -> Self {
        Self { anchor: States(HOST), ran: false, steps: VecDeque::new(), memory }
    }

    /// In a tCK.
    pub(super) fn at(&self, tck: u64) -> States {
        self.replay(tck).0
    }

    /// Whether nothing that the host has done shows later than in a tCK.
    pub(super) fn is_settled(&self, tck: u64) -> bool {
        self.steps.iter().all(|(from, _)| *from <= tck)
    }

    /// Whether a run can have been on since the status before, until this tCK.
    pub(super) fn ran_by(&self, tck: u64) -> bool {
        self.replay(tck).1
    }

    fn replay(&self, tck: u64) -> (States, bool) {
        let steps = self.steps.iter().take_while(|(from, _)| *from <= tck);
        steps.fold((self.anchor, self.ran || self.anchor.busy()), |(states, ran), &(_, step)| {
            let next = states.step(step);
            (next, ran || next.busy())
        })
    }

    /// A PREA of the host in a tCK: the next one shows it.
    pub(super) fn pre_all(&mut self, at_tck: u64) {
        self.forget(at_tck.saturating_sub(self.memory));
        self.insert(at_tck.saturating_add(1), Step::PreAll);
    }

    /// A START that waits from a tCK on.
    pub(super) fn start(&mut self, from_tck: u64) {
        self.insert(from_tck, Step::Start);
    }

    fn insert(&mut self, from_tck: u64, step: Step) {
        let place = self.steps.partition_point(|earlier| *earlier <= (from_tck, step));
        self.steps.insert(place, (from_tck, step));
    }

    /// What a status says of the tCK in which it was sampled.
    pub(super) fn told(&mut self, at_tck: u64, states: States) {
        self.forget(at_tck);
        self.anchor = states.later();
        self.ran = states.busy();
    }

    fn forget(&mut self, until_tck: u64) {
        (self.anchor, self.ran) = self.replay(until_tck);
        while self.steps.front().is_some_and(|(from, _)| *from <= until_tck) {
            self.steps.pop_front();
        }
    }
}
