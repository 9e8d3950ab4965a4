// SPDX-License-Identifier: MIT
//! Rank controller and refresh manager, which own the command pins while there is processing in memory.
//!
//! The controller hears from the refresh manager a tCK late: a register is between them.

use crate::accounts::Cause;
use crate::config::Timing;
use crate::options::Options;
use pimlico_dpa::types::{ArrayRequest, BusRequest, Mac, Pins};
use pimlico_ports::Model;
use pimlico_units::lap::Walk;
use pimlico_units::rank::{
    RankController, RankControllerIn, RankControllerOut, RefreshManager, RefreshManagerIn,
    RefreshManagerOut, SequencerOut,
};

/// Both.
pub struct RankControl {
    controller: RankController,
    input: RankControllerIn,
    output: RankControllerOut,
    manager: RefreshManager,
    refresh_input: RefreshManagerIn,
    refresh: RefreshManagerOut,
    /// What all of it was before.
    before: Box<State>,
}

/// The state of both, and what they have put out.
#[derive(Clone, PartialEq)]
struct State {
    controller: RankController,
    output: RankControllerOut,
    manager: RefreshManager,
    refresh: RefreshManagerOut,
}

impl RankControl {
    /// Both, reset.
    pub fn new(timing: &Timing, options: &Options) -> Self {
        Self {
            controller: RankController::new(),
            input: RankControllerIn {
                timing_i: timing.ports().in_cycles(options.gear.tck() as u8),
                ..Default::default()
            },
            output: RankControllerOut::default(),
            manager: RefreshManager::new(),
            refresh_input: RefreshManagerIn {
                enable_i: options.refresh,
                refi_i: timing.ports().in_cycles(options.gear.tck() as u8).refi,
                ..Default::default()
            },
            refresh: RefreshManagerOut::default(),
            before: Box::new(State {
                controller: RankController::new(),
                output: RankControllerOut::default(),
                manager: RefreshManager::new(),
                refresh: RefreshManagerOut::default(),
            }),
        }
    }

    /// One tCK. Returns whether the array request and the bus request are taken.
    pub fn step(&mut self, asked: &SequencerOut) -> [bool; 2] {
        let input = &mut self.input;
        (input.array_valid_i, input.array_i) = (asked.array_valid_o, asked.array_o);
        (input.bus_valid_i, input.bus_i) = (asked.bus_valid_o, asked.bus_o);
        (input.refresh_i, input.force_i) = (self.refresh.refresh_o, self.refresh.force_o);
        self.output = self.controller.step(input);
        let RankControllerOut { array_ready_o, bus_ready_o, .. } = self.output;
        let RankControllerOut { idle_o, refresh_issued_o, .. } = self.output;
        self.step_refresh_manager(asked.head_end_o, idle_o, refresh_issued_o);
        [asked.array_valid_o && array_ready_o, asked.bus_valid_o && bus_ready_o]
    }

    /// One tCK in which the host has the pins; `refreshed` if a REF is on them.
    pub fn stand_still(&mut self, refreshed: bool) {
        self.step_refresh_manager(false, true, refreshed);
    }

    /// So many tCK in which the host has the pins, and no REF is on them.
    pub fn stand_still_for(&mut self, tck: u64) {
        if tck > 0 {
            self.manager.rest(tck - 1);
            self.stand_still(false);
        }
    }

    fn step_refresh_manager(&mut self, head_end_i: bool, idle_i: bool, done_i: bool) {
        self.refresh_input = RefreshManagerIn { head_end_i, idle_i, done_i, ..self.refresh_input };
        self.refresh = self.manager.step(&self.refresh_input);
    }

    /// What the controller has on the pins.
    pub fn pins(&self) -> Pins {
        self.output.pins_o
    }

    /// What the bank PUs do with the column of an RD_ALL on the pins.
    pub fn mac(&self) -> Mac {
        self.output.mac_o
    }

    /// The request that is on the pins as RD_RESULT or WR_SHARED.
    pub fn transfer(&self) -> BusRequest {
        self.output.transfer_o
    }

    /// Why no all-bank RD is on the pins, as far as the controller knows.
    pub fn cause(&self) -> Option<Cause> {
        Cause::of(self.output.lost_refresh_o, self.output.lost_row_switch_o)
    }

    /// Whether nothing is queued and no REF owed.
    pub fn is_settled(&self) -> bool {
        self.output.idle_o && self.refresh.owed_o.get() == 0
    }

    /// Whether that is so in this cycle or the next, if the same is requested in it as in the one before.
    pub fn settles(&self) -> bool {
        let is_idle = self.output.idle_o || self.controller.settle(&self.input).idle_o;
        is_idle && self.refresh.owed_o.get() == 0
    }

    /// The controller's inputs.
    pub fn input(&self) -> &RankControllerIn {
        &self.input
    }

    /// The refresh manager's inputs.
    pub fn refresh_input(&self) -> &RefreshManagerIn {
        &self.refresh_input
    }

    /// Whether the slot that begins, of so many cycles, is like others, if this is requested in it: see
    /// [`RankController::next_slot`]. What is requested of REFs does not change in it.
    pub fn next_slot(&self, sent: ArrayRequest, cycles: u64) -> bool {
        self.manager.steady_cycles(false) >= cycles && self.controller.next_slot(sent)
    }

    /// It is over.
    pub fn pass_slot(&mut self, sent: ArrayRequest, cycles: u64) {
        (self.output.pins_o, self.output.mac_o) = self.controller.pass_slot(sent, cycles);
        self.manager.pass(cycles, false);
    }

    /// Cycles from this one on in which nothing is on the pins, no request is accepted, and those for a REF stay as they are,
    /// if this is requested in all of them, and in the one before.
    pub fn waits(&self, asked: &SequencerOut) -> u64 {
        let RankControllerIn { array_valid_i, array_i, bus_valid_i, bus_i, .. } = self.input;
        let RankControllerOut { array_ready_o, bus_ready_o, idle_o, .. } = self.output;
        let accepted = array_valid_i && array_ready_o || bus_valid_i && bus_ready_o;
        let is_same = (array_valid_i, bus_valid_i) == (asked.array_valid_o, asked.bus_valid_o)
            && (!array_valid_i || array_i == asked.array_o)
            && (!bus_valid_i || bus_i == asked.bus_o)
            && self.input.refresh_i == self.refresh.refresh_o
            && self.input.force_i == self.refresh.force_o
            && self.refresh == self.manager.requests(idle_o)
            && !asked.head_end_o;
        let waits = if is_same { self.controller.waits(accepted) } else { 0 };
        if waits > 0 { waits.min(self.manager.steady_cycles(idle_o)) } else { 0 }
    }

    /// So many of them go by.
    pub fn rest(&mut self, cycles: u64) {
        self.output = self.controller.settle(&self.input);
        self.controller.pass(cycles);
        self.manager.pass(cycles, self.output.idle_o);
        let (head_end_i, idle_i, done_i) = (false, self.output.idle_o, false);
        self.refresh_input = RefreshManagerIn { head_end_i, idle_i, done_i, ..self.refresh_input };
    }

    /// Goes over all of it, for [laps](pimlico_units::lap).
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { controller, input, output, manager, refresh_input, refresh, before: _ } = self;
        controller.walk(walk);
        output.walk(walk);
        manager.walk(walk);
        refresh.walk(walk);
        // The requests of the last cycle that was stepped are there for waits alone.
        let RankControllerIn { refresh_i, force_i, .. } = input;
        let RefreshManagerIn { head_end_i, idle_i, done_i, .. } = refresh_input;
        for flag in [refresh_i, force_i, head_end_i, idle_i, done_i] {
            walk.still(*flag);
        }
    }

    /// Keeps the state for [`has_passed`](Self::has_passed).
    pub fn keep(&mut self) {
        let before = &mut *self.before;
        before.controller.clone_from(&self.controller);
        before.manager.clone_from(&self.manager);
        (before.output, before.refresh) = (self.output, self.refresh);
    }

    /// Whether the cycles since then have done what [`pass_slot`](Self::pass_slot) does.
    pub fn has_passed(&mut self, sent: ArrayRequest, cycles: u64) -> bool {
        let State { controller, output, manager, refresh } = &mut *self.before;
        (output.pins_o, output.mac_o) = controller.pass_slot(sent, cycles);
        manager.pass(cycles, false);
        *controller == self.controller
            && *manager == self.manager
            && *output == self.output
            && *refresh == self.refresh
    }
}
