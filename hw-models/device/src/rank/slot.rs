// SPDX-License-Identifier: MIT
//! How far a rank is in a slot that is passed, or may be: see `slots`.

use pimlico_dpa::types::{ArrayRequest, Dispatch, Pins};
use pimlico_units::lap::Walk;

/// Reads that are told at once, at the most.
pub const UNTOLD: usize = 64;

/// How far the slot is.
#[derive(Clone, Copy, Debug, Default)]
pub enum SlotPhase {
    /// All is stepped.
    #[default]
    Stepped,
    /// It is stepped and will be checked: so many cycles of it are over, and what was sent and dispatched, in which of them.
    Checked { cycles: u64, sent: ArrayRequest, dispatched: Option<(u64, Dispatch)> },
    /// It is passed.
    Passed(Passed),
}

/// A slot that is passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passed {
    /// Cycles of it that are over.
    pub cycles: u64,
    /// What is sent and dispatched in it.
    pub sent: ArrayRequest,
    pub dispatched: Dispatch,
    /// The dispatcher's run has ended in it.
    pub done: bool,
}

/// Slots that are alike.
#[derive(Clone, Debug)]
pub struct Slots {
    pub phase: SlotPhase,
    /// Cycles of a slot.
    pub cycles: u64,
    /// Cycles of a slot that go by before its command is dispatched, as they have in the one that was checked.
    pub dispatch_at: u64,
    /// Sums that have ended on the pins and whose results have not come.
    pub open_sums: u64,
    /// Slots that were passed.
    pub passed: u64,
    /// The reads of those that were passed last, as far as they are not told yet, and the tCK of the first of them.
    pub untold: Vec<Pins>,
    pub untold_tck: u64,
}

impl Slots {
    /// None yet. A slot has so many cycles of the core.
    pub fn new(cycles: u64) -> Self {
        Self {
            phase: SlotPhase::Stepped,
            cycles,
            dispatch_at: 0,
            open_sums: 0,
            passed: 0,
            untold: Vec::with_capacity(UNTOLD),
            untold_tck: 0,
        }
    }

    /// Goes over all of it, for [laps](pimlico_units::lap), where no slot that is passed goes on, and all are told. How cycles go by
    /// is of no account.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            phase: _,
            cycles: _,
            dispatch_at: _,
            open_sums,
            passed: _,
            untold,
            untold_tck: _,
        } = self;
        walk.refuse_if(!untold.is_empty());
        walk.still(*open_sums);
    }

    /// Whether a slot begins that is passed.
    pub fn begins(&self) -> bool {
        matches!(self.phase, SlotPhase::Passed(Passed { cycles: 0, .. }))
    }

    /// Whether one goes on.
    pub fn is_within(&self) -> bool {
        matches!(self.phase, SlotPhase::Passed(Passed { cycles: 1.., .. }))
    }

    /// Other cycles come than those of the slot that was checked.
    pub fn forget(&mut self) {
        self.phase = SlotPhase::Stepped;
    }

    /// A cycle that was stepped has this on the pins, and these events.
    pub fn count_sums(&mut self, ends: bool, results: bool) {
        self.open_sums = (self.open_sums + u64::from(ends)).saturating_sub(u64::from(results));
    }
}
