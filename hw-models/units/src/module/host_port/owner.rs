// SPDX-License-Identifier: MIT
//! Who owns the chips' command pins.

use pimlico_dpa::types::{PinCommand, Pins, Timing};

/// The owner of the pins; its code is that of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The host.
    Host = 0,
    /// Nobody: the host has left them, or a run has ended.
    Left = 1,
    /// The module.
    Run = 2,
}

/// What happens in a tCK.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnerIn {
    /// The host's command.
    pub(super) command: Pins,
    /// A START is in the queue.
    pub(super) start_waits: bool,
    /// A REF is on the chips' pins.
    pub(super) refresh: bool,
    /// The tCK is the last of a cycle of the core, and there: a START is executed, the run is over.
    pub(super) last: Option<(bool, bool)>,
}

/// The state, and the times that a change waits for.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    state: State,
    /// The host may have a START executed in this cycle of the core.
    starts: bool,
    /// tCK that are left of tRP and of tRFC.
    precharge: u8,
    refresh: u16,
    /// Runs that have ended.
    runs: u16,
}

impl Owner {
    /// The host owns the pins.
    pub(super) fn new() -> Self {
        Self { state: State::Host, starts: false, precharge: 0, refresh: 0, runs: 0 }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    /// A run is under way.
    pub(super) fn runs(&self) -> bool {
        self.state == State::Run
    }

    /// A START at the head is executed in this cycle of the core.
    pub(super) fn starts(&self) -> bool {
        self.starts
    }

    /// Runs that have ended.
    pub(super) fn ended(&self) -> u16 {
        self.runs
    }

    /// So many tCK of a run that goes on, without a command of the host and without a REF.
    pub(super) fn pass(&mut self, tck: u64) {
        let less = |left: u64| left.saturating_sub(tck);
        self.precharge = less(self.precharge.into()) as u8;
        self.refresh = less(self.refresh.into()) as u16;
    }

    /// The end of a tCK.
    pub(super) fn clock(&mut self, input: &OwnerIn, timing: &Timing) {
        let gives = input.command.command == PinCommand::PreAll;
        let refreshed = !input.refresh && self.refresh == 0;
        let (started, over) = input.last.unwrap_or_default();
        self.precharge = self.precharge.saturating_sub(1);
        self.refresh = if input.refresh { timing.rfc } else { self.refresh.saturating_sub(1) };
        match self.state {
            State::Host if gives && input.start_waits => {
                self.state = State::Left;
                self.precharge = timing.rp;
            }
            State::Left if started => self.state = State::Run,
            State::Left if gives && !input.start_waits => self.state = State::Host,
            State::Run if over && refreshed => {
                self.state = State::Left;
                self.runs = self.runs.wrapping_add(1);
            }
            _ => {}
        }
        if input.last.is_some() {
            self.starts = self.state == State::Left && self.precharge == 0;
        }
    }
}
