// SPDX-License-Identifier: MIT
//! What the host has written to mailbox and operands, and what the module can have of it.

use super::message::{self, Kind};
use super::status::{Counter, Status};
use std::collections::VecDeque;

/// Bursts that the queue holds.
const ROOM: u64 = 128;

/// Things in the order in which they reach the queue: how many have by a tCK?
#[derive(Clone, Debug, Default)]
struct Arrivals {
    /// So many that are no longer listed.
    before: u64,
    tcks: VecDeque<u64>,
}

impl Arrivals {
    fn by(&self, tck: u64) -> u64 {
        self.before + self.tcks.partition_point(|&arrival| arrival <= tck) as u64
    }

    fn total(&self) -> u64 {
        self.before + self.tcks.len() as u64
    }

    fn push(&mut self, tck: u64) {
        // In order, whatever the caller says.
        let last = self.tcks.back().copied().unwrap_or(0);
        self.tcks.push_back(tck.max(last));
    }

    fn forget(&mut self, tck: u64) {
        while self.tcks.front().is_some_and(|&arrival| arrival <= tck) {
            self.tcks.pop_front();
            self.before += 1;
        }
    }
}

/// The operands that the last START has announced.
#[derive(Clone, Copy, Debug)]
struct Announced {
    /// Its run, counted from 0 on.
    run: u64,
    operands: u64,
    sent: u64,
    /// Those that are missing no longer matter.
    excused: bool,
}

/// What the host has sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    bursts: Arrivals,
    starts: Arrivals,
    announced: Option<Announced>,
    /// `taken` of the last status.
    taken: u64,
    /// The host has sent more than there was room for, so that bursts may be lost.
    overran: bool,
    /// The host has sent a message that is to be refused.
    unknown: bool,
    /// The data of a message did not come, so that its kind is open.
    garbled: bool,
}

impl Queue {
    /// A burst that is in the queue from a tCK on. How many are on their way, if too many.
    pub(super) fn send(&mut self, from_tck: u64) -> Option<u64> {
        self.bursts.push(from_tck);
        let ahead = self.bursts.total().saturating_sub(self.taken);
        self.overran |= ahead > ROOM;
        (ahead > ROOM).then_some(ahead)
    }

    /// A message that is in the queue from a tCK on. Operands that are missing before it.
    pub(super) fn message(&mut self, from_tck: u64, words: &[u64; 8]) -> Option<u64> {
        let missing = self.missing();
        match message::kind(words) {
            Kind::Start(operands) => {
                let run = self.starts.total();
                self.announced = Some(Announced { run, operands, sent: 0, excused: false });
                self.starts.push(from_tck);
            }
            Kind::Load => {}
            Kind::Other => self.unknown = true,
        }
        missing
    }

    /// An operand. Whether a START has announced it.
    pub(super) fn operand(&mut self) -> bool {
        let Some(announced) = &mut self.announced else { return false };
        announced.sent += 1;
        announced.sent <= announced.operands
    }

    /// Operands that the last START has announced and that were not sent. Told once.
    pub(super) fn missing(&mut self) -> Option<u64> {
        let announced = self.announced.as_mut()?;
        let missing = announced.operands.saturating_sub(announced.sent);
        let told = !announced.excused && missing > 0;
        announced.excused |= told;
        told.then_some(missing)
    }

    /// A message whose data did not come.
    pub(super) fn garble(&mut self) {
        self.garbled = true;
    }

    /// Whether it is known which STARTs have reached the queue.
    pub(super) fn certain(&self) -> bool {
        !self.overran && !self.garbled
    }

    pub(super) fn may_lose(&self) -> bool {
        self.overran
    }

    pub(super) fn may_refuse(&self) -> bool {
        self.unknown || self.garbled
    }

    /// The most that a counter can show in a tCK, if that is known.
    pub(super) fn most(&self, counter: Counter, at_tck: u64) -> Option<u64> {
        match counter {
            Counter::Taken => Some(self.bursts.by(at_tck)),
            Counter::Runs => self.certain().then(|| self.starts.by(at_tck)),
            Counter::Contexts | Counter::Outputs => None,
        }
    }

    /// Whether all that the host has sent was in the queue when the last status was sampled.
    pub(super) fn is_settled(&self) -> bool {
        self.bursts.tcks.is_empty() && self.starts.tcks.is_empty()
    }

    pub(super) fn starts_by(&self, at_tck: u64) -> u64 {
        self.starts.by(at_tck)
    }

    /// A status, sampled in a tCK, with its counts in full. Operands of a run that has ended with a fault
    /// may be left.
    pub(super) fn told(&mut self, at_tck: u64, taken: u64, runs: u64, status: &Status) {
        self.taken = taken;
        self.bursts.forget(at_tck);
        self.starts.forget(at_tck);
        if let Some(announced) = &mut self.announced {
            announced.excused |= status.fault != 0 && runs > announced.run;
        }
    }
}
