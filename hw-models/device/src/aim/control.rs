// SPDX-License-Identifier: MIT
//! Who owns the command pins while there is processing in memory: the rank controller, and the refresh
//! manager at its side.
//!
//! Both have a cycle of [`SLOTS`] tCK, and count timings in cycles. The controller hears from the refresh manager
//! a cycle late: a register is between them.

use super::units::{RankController, SLOTS};
use crate::accounts::Cause;
use crate::config::Timing;
use pimlico_dpa::types::{self, ArrayRequest, BusRequest, Pins};
use pimlico_ports::{Instances, Mismatch, Models};
use pimlico_units::lap::Walk;
use pimlico_units::rank::{
    RankControllerIn, RankControllerOut, RefreshManager, RefreshManagerIn, RefreshManagerOut,
};
use std::any::Any;

/// What the controller is asked for in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    pub array: Option<ArrayRequest>,
    pub bus: Option<BusRequest>,
    /// A head ends here: REFs that were postponed come now.
    pub head_end: bool,
}

/// What it has taken.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub array: bool,
    pub bus: bool,
}

/// What is owed and asked for of REFs, whenever one is due.
#[derive(Clone, PartialEq)]
pub struct Refreshing {
    manager: RefreshManager,
    /// What the manager asks for, and what the controller has heard of that.
    asked: RefreshManagerOut,
    heard: RefreshManagerOut,
}

impl Refreshing {
    /// With so many cycles left or fewer until a REF is due, another may be forced.
    pub const MARGIN: u64 = <RefreshManager>::MARGIN;
}

/// Rank controller and refresh manager.
pub struct Control {
    rank_controller: Box<dyn Instances<RankController>>,
    /// Its inputs without a request.
    controls: RankControllerIn,
    controlled: RankControllerOut,
    refresh_manager: Box<dyn Instances<RefreshManager>>,
    /// Its inputs without an event.
    refresh_controls: RefreshManagerIn,
    refresh: RefreshManagerOut,
    /// In the last cycle, a request was taken, and what the controller had heard.
    has_taken: bool,
    heard: RefreshManagerOut,
}

impl Control {
    /// Both, reset.
    pub fn new(
        timing: &Timing,
        refresh: bool,
        rank_controller: Box<dyn Instances<RankController>>,
        refresh_manager: Box<dyn Instances<RefreshManager>>,
    ) -> Self {
        // There are no RDs: what turns the data lines round is RD_RESULT.
        let rd_to_wr =
            timing.result_to_wr_tck().try_into().expect("checked with the configuration");
        let ports = types::Timing { rd_to_wr, ..timing.ports() };
        let timing_i = ports.in_cycles(SLOTS as u8);
        Self {
            rank_controller,
            controls: RankControllerIn { timing_i, ..Default::default() },
            controlled: RankControllerOut::default(),
            refresh_manager,
            refresh_controls: RefreshManagerIn {
                enable_i: refresh,
                refi_i: timing_i.refi,
                ..Default::default()
            },
            refresh: RefreshManagerOut::default(),
            has_taken: false,
            heard: RefreshManagerOut::default(),
        }
    }

    /// Both models, if they are that.
    fn models(&mut self) -> Option<(&mut RankController, &mut RefreshManager)> {
        let rank_controller: &mut dyn Any = &mut *self.rank_controller;
        let refresh_manager: &mut dyn Any = &mut *self.refresh_manager;
        let rank_controller = rank_controller.downcast_mut::<Models<RankController>>()?.only()?;
        let refresh_manager = refresh_manager.downcast_mut::<Models<RefreshManager>>()?.only()?;
        Some((rank_controller, refresh_manager))
    }

    /// Cycles in which nothing comes to the pins and nothing is taken, if as much is asked for as in the last one, and no
    /// head ends. Of models alone it is known.
    pub fn waits(&mut self) -> u64 {
        let (accepted, idle, hears) = (self.has_taken, self.controlled.idle_o, self.refresh);
        let rests = self.heard == hears && self.pins().iter().all(|pins| !pins.is_some());
        let Some((rank_controller, refresh_manager)) = self.models() else { return 0 };
        if !rests || refresh_manager.requests(idle) != hears {
            return 0;
        }
        rank_controller.waits(accepted).min(refresh_manager.steady_cycles(idle))
    }

    /// So many of the cycles in which it [waits](Self::waits) go by.
    pub fn pass(&mut self, cycles: u64) {
        let idle = self.controlled.idle_o;
        if let Some((rank_controller, refresh_manager)) = self.models() {
            let [row_switch, refresh] = rank_controller.lost_in_wait();
            rank_controller.pass(cycles);
            refresh_manager.pass(cycles, idle);
            self.controlled.lost_row_switch_o = row_switch;
            self.controlled.lost_refresh_o = refresh;
        }
    }

    /// Cycles in which commands to open rows may follow each other whatever REFs are owed. Of models alone it is known.
    pub fn runs_on(&mut self) -> u64 {
        let hears = self.refresh;
        match self.models() {
            Some((_, refresh_manager))
                if !hears.force_o && refresh_manager.requests(false) == hears =>
            {
                refresh_manager.steady_cycles(false)
            }
            _ => 0,
        }
    }

    /// As many of these cycles as have a WR on the pins, and choose the next and take the next of so many requests, whose banks take
    /// turns. Returns how many they are.
    pub fn write_on(
        &mut self,
        count: u64,
        turn: u64,
        request: impl Fn(u64) -> ArrayRequest,
    ) -> u64 {
        let Some((rank_controller, _)) = self.models() else { return 0 };
        let (mut cycles, mut shown) = (0, Pins::default());
        while cycles < count {
            let Some(pins) = rank_controller.write_on(request(cycles)) else { break };
            shown = pins;
            cycles += 1;
            // Behind two turns each is as the one before it; and what all of them leave is what the last one leaves.
            if cycles == 2 * turn {
                let passed = turn * ((count - cycles) / turn).saturating_sub(1);
                cycles += passed;
                rank_controller.pass_writes(passed, [2, 1].map(|before| request(cycles - before)));
            }
        }
        if cycles > 0 {
            self.show(shown);
        }
        self.ran(cycles);
        cycles
    }

    /// One of these cycles, if it has an all-bank read on the pins, and the next is chosen and `request` taken in it. Returns
    /// the pins.
    pub fn read_on(&mut self, request: ArrayRequest) -> Option<Pins> {
        let (rank_controller, _) = self.models()?;
        let pins = rank_controller.read_on(request)?;
        Some(self.show(pins))
    }

    /// What is read of the controller in these cycles: no all-bank read waits for anything.
    fn show(&mut self, pins: Pins) -> Pins {
        self.controlled = RankControllerOut { pins_o: pins, ..RankControllerOut::default() };
        pins
    }

    /// There were so many of these cycles.
    pub fn ran(&mut self, cycles: u64) {
        if cycles == 0 {
            return;
        }
        (self.has_taken, self.heard) = (true, self.refresh);
        if let Some((_, refresh_manager)) = self.models() {
            refresh_manager.pass(cycles, false);
        }
    }

    /// Goes over all of it but the [REFs](Self::refreshing), for [laps](pimlico_units::lap). Of models alone it is known.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Some((rank_controller, _)) = self.models() else { return walk.refuse_if(true) };
        rank_controller.walk(walk);
        let Self {
            rank_controller: _,
            controls: _,
            controlled,
            refresh_manager: _,
            refresh_controls: _,
            refresh: _,
            has_taken,
            heard: _,
        } = self;
        controlled.walk(walk);
        walk.still(*has_taken);
    }

    /// What is owed and asked for of REFs, and cycles until one is due, which is for ever where there are none. Of models alone it
    /// is known.
    pub fn refreshing(&mut self) -> Option<(Refreshing, u64)> {
        let (asked, heard) = (self.refresh, self.heard);
        let (_, refresh_manager) = self.models()?;
        let left = match refresh_manager.left() {
            0 => u64::MAX,
            left => left,
        };
        Some((Refreshing { manager: refresh_manager.with_left(0), asked, heard }, left))
    }

    /// That is so from here on.
    pub fn set_refreshing(&mut self, refreshing: Refreshing, left: u64) {
        let Refreshing { manager, asked, heard } = refreshing;
        if let Some((_, refresh_manager)) = self.models() {
            *refresh_manager = manager.with_left(if left == u64::MAX { 0 } else { left });
            (self.refresh, self.heard) = (asked, heard);
        }
    }

    /// One cycle.
    pub fn step(&mut self, asked: &Asked) -> Result<Taken, Box<Mismatch>> {
        let input = RankControllerIn {
            refresh_i: self.refresh.refresh_o,
            force_i: self.refresh.force_o,
            array_valid_i: asked.array.is_some(),
            array_i: asked.array.unwrap_or_default(),
            bus_valid_i: asked.bus.is_some(),
            bus_i: asked.bus.unwrap_or_default(),
            ..self.controls
        };
        self.heard = self.refresh;
        self.rank_controller.step(&[input], std::slice::from_mut(&mut self.controlled))?;
        let RankControllerOut { idle_o, refresh_issued_o, .. } = self.controlled;
        self.step_refresh_manager(asked.head_end, idle_o, refresh_issued_o)?;
        let taken = Taken {
            array: input.array_valid_i && self.controlled.array_ready_o,
            bus: input.bus_valid_i && self.controlled.bus_ready_o,
        };
        self.has_taken = taken.array || taken.bus;
        Ok(taken)
    }

    fn step_refresh_manager(
        &mut self,
        head_end: bool,
        idle: bool,
        done: bool,
    ) -> Result<(), Box<Mismatch>> {
        let input = RefreshManagerIn {
            head_end_i: head_end,
            idle_i: idle,
            done_i: done,
            ..self.refresh_controls
        };
        self.refresh_manager.step(&[input], std::slice::from_mut(&mut self.refresh))
    }

    /// What the controller has on the pins, slot by slot.
    pub fn pins(&self) -> [Pins; SLOTS] {
        [self.controlled.pins_o, self.controlled.bus_pins_o]
    }

    /// Why no all-bank RD is on the pins, as far as the controller knows.
    pub fn cause(&self) -> Option<Cause> {
        Cause::of(self.controlled.lost_refresh_o, self.controlled.lost_row_switch_o)
    }

    /// Whether nothing is queued and no REF owed.
    pub fn is_settled(&self) -> bool {
        self.controlled.idle_o && self.refresh.owed_o.get() == 0
    }
}
