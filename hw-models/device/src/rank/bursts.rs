// SPDX-License-Identifier: MIT
//! The rank as memory, burst by burst: the same as tCK by tCK, where the host's commands come when they did, and data
//! reach the arrays as soon as their command is there.
//!
//! ```text
//!   host's data bus   ──────WL──▶ ▒▒▒▒ written        CL + 1 ▶ ▒▒▒▒ read
//!   chips' data bus   ──────CWL───▶ ▒▒▒▒ (WL = CWL - 1)    CL ▶ ▒▒▒▒
//!                     WR                                RD
//! ```
//!
//! In between nothing changes but time: tCK are counted as a whole, and those who watch are told of each burst when it
//! is over, in the order in which they would have been. A run of writes, where those who watch take it, is one step.

use super::engine::Rank;
use crate::bursts::{BURST_TCK, BurstHost, HostLatency, HostStep, WriteRun};
use crate::data_bus::{Beats, relaid, unrelaid};
use crate::pins::BusDriver;
use crate::spd::RELAYOUT_TCK;
use pimlico_dpa::types::{PinCommand, Pins};
use std::collections::VecDeque;

/// A burst on the host's data bus.
struct OnHostBus {
    from_tck: u64,
    beats: Beats,
    read: bool,
}

/// What is on its way.
struct Moving {
    on_host_bus: VecDeque<OnHostBus>,
    on_chip_bus: VecDeque<(u64, BusDriver)>,
    /// Somebody wants to be told of each beat.
    beats: bool,
    /// The present tCK has begun.
    begun: bool,
}

impl Rank {
    /// See [`Dimm::move_bursts`](crate::Dimm::move_bursts).
    pub(super) fn move_bursts(&mut self, host: &mut dyn BurstHost) -> bool {
        if !self.can_move_bursts(host.latency()) {
            return false;
        }
        let (from_tck, refreshed_tck) = (self.now, self.record.refreshed_tck());
        let mut moving = Moving {
            on_host_bus: VecDeque::with_capacity(16),
            on_chip_bus: VecDeque::with_capacity(16),
            beats: self.record.wants_beats(),
            begun: false,
        };
        loop {
            let from_tck_on = self.now + u64::from(moving.begun);
            if let Some(run) = host.run(from_tck_on)
                && self.takes_run(&run, &moving)
            {
                self.take_run(&run, host, &mut moving);
                continue;
            }
            match host.next(from_tck_on) {
                HostStep::Command { at_tck, pins, written } => {
                    self.pass_until(at_tck, &mut moving);
                    if let Some(read) = self.take_command(pins, written.as_ref(), &mut moving) {
                        host.read(read);
                    }
                    if pins.command == PinCommand::Ref {
                        self.pass_stretch(host, &mut moving);
                    }
                }
                HostStep::End { at_tck } => {
                    self.pass_until(at_tck, &mut moving);
                    self.end_moves(from_tck, refreshed_tck);
                    return true;
                }
            }
        }
    }

    /// Whether the host owns the pins, nothing is under way, nobody watches more than pins, and data come when the chips
    /// take and give them.
    fn can_move_bursts(&mut self, latency: HostLatency) -> bool {
        let timing = &self.config.timing;
        latency.write_tck + RELAYOUT_TCK == timing.cwl_tck
            && latency.read_tck == timing.cl_tck + RELAYOUT_TCK
            && timing.burst_tck == BURST_TCK
            && !self.record.draws()
            && self.is_quiet_as_memory()
    }

    fn take_command(
        &mut self,
        pins: Pins,
        written: Option<&Beats>,
        moving: &mut Moving,
    ) -> Option<Beats> {
        self.record.channel(&self.config.timing, self.now, pins);
        moving.begun = true;
        self.record.begin_tck(self.now);
        self.tell_chips(self.now, moving);
        self.record.command(pins);
        let (cl_tck, cwl_tck) = (self.config.timing.cl_tck, self.config.timing.cwl_tck);
        match (pins.command, written) {
            (PinCommand::Wr, Some(beats)) => {
                self.chips.write_burst(pins, || relaid(beats));
                moving.write(self.now + cwl_tck, beats);
                None
            }
            (PinCommand::Rd, _) => {
                let beats = unrelaid(&self.chips.read_burst(pins));
                moving.read(self.now + cl_tck, &beats);
                Some(beats)
            }
            _ => {
                self.chips.command(self.now, pins);
                self.key.command(pins);
                self.refreshed |= pins.command == PinCommand::Ref;
                None
            }
        }
    }

    /// Behind a REF: all that the host does until the next, if that is known, those who watch take it, and nobody keeps what is
    /// written.
    fn pass_stretch(&mut self, host: &mut dyn BurstHost, moving: &mut Moving) {
        if !self.dram().keeps_nothing() {
            return;
        }
        let stretches = host.stretches();
        let is_taken = self.record.knows(&stretches)
            && !moving.beats
            && moving.on_host_bus.is_empty()
            && moving.on_chip_bus.is_empty()
            && self.chips.is_closed();
        if let Some(stretch) = stretches.known.filter(|_| is_taken) {
            host.take_stretch();
            self.record.stretch(&self.config.timing, &stretch);
            self.pass_until(self.now + stretch.tck, moving);
            self.passed_stretches += 1;
        }
    }

    /// Stretches of a host's writes that were passed at once, since the reset.
    pub fn passed_stretches(&self) -> u64 {
        self.passed_stretches
    }

    /// Whether a run of writes can be one step: not where each beat is told, nor where those who watch do not take it.
    fn takes_run(&mut self, run: &WriteRun, moving: &Moving) -> bool {
        !moving.beats && self.chips.has_open(run) && self.record.takes(run)
    }

    /// All writes of a run. The last of them is on the pins then.
    fn take_run(&mut self, run: &WriteRun, host: &mut dyn BurstHost, moving: &mut Moving) {
        self.begin_tck(run.from_tck, moving);
        self.tell_ahead(moving);
        self.record.writes(&self.config.timing, run);
        match self.chips.writer(run) {
            Some(mut write) => host.take_run(run, Some(&mut write)),
            None => host.take_run(run, None),
        }
        self.begin_tck(run.last_tck(), moving);
    }

    /// Goes on to a tCK that has a command.
    fn begin_tck(&mut self, at_tck: u64, moving: &mut Moving) {
        self.pass_until(at_tck, moving);
        moving.begun = true;
        self.record.begin_tck(at_tck);
    }

    /// Tells of all bursts that are on their way.
    fn tell_ahead(&mut self, moving: &mut Moving) {
        for burst in moving.on_host_bus.drain(..) {
            self.record.host_burst(burst.from_tck, &burst.beats, burst.read);
        }
        for (from_tck, driver) in moving.on_chip_bus.drain(..) {
            self.record.whole_burst(from_tck, driver);
        }
    }

    /// The tCK until before this one.
    fn pass_until(&mut self, until_tck: u64, moving: &mut Moving) {
        let passed = self.now..until_tck;
        if passed.is_empty() {
            return;
        }
        if !std::mem::take(&mut moving.begun) {
            self.record.begin_tck(self.now);
        }
        if moving.beats {
            passed.clone().for_each(|tck| self.tell_beats(tck, moving));
        } else {
            self.tell_bursts(until_tck, moving);
        }
        self.record.host_has(passed);
        self.count_cycles(until_tck);
    }

    /// Tells of the bursts that are over by then.
    fn tell_bursts(&mut self, until_tck: u64, moving: &mut Moving) {
        let is_over = |burst: &OnHostBus| burst.last_tck() < until_tck;
        while let Some(burst) = pop_front_if(&mut moving.on_host_bus, is_over) {
            self.tell_chips(burst.last_tck(), moving);
            self.record.host_burst(burst.from_tck, &burst.beats, burst.read);
        }
        self.tell_chips(until_tck - 1, moving);
    }

    /// Tells of the bursts on the chips' data bus that are over when a tCK begins.
    fn tell_chips(&mut self, tck: u64, moving: &mut Moving) {
        let is_over = |burst: &(u64, BusDriver)| burst.0 + BURST_TCK <= tck;
        while let Some((from_tck, driver)) = pop_front_if(&mut moving.on_chip_bus, is_over) {
            self.record.whole_burst(from_tck, driver);
        }
    }

    /// Tells of the host's data bus in a tCK, and of what is over on that of the chips.
    fn tell_beats(&mut self, tck: u64, moving: &mut Moving) {
        self.tell_chips(tck, moving);
        let (mut driven, mut seen) = ([None; 2], [None; 2]);
        if let Some(burst) = moving.on_host_bus.front().filter(|burst| burst.from_tck <= tck) {
            let beat = 2 * (tck - burst.from_tck) as usize;
            let pair = [Some(burst.beats[beat]), Some(burst.beats[beat + 1])];
            *(if burst.read { &mut seen } else { &mut driven }) = pair;
        }
        self.record.channel_data(tck, driven, seen);
        pop_front_if(&mut moving.on_host_bus, |burst| burst.last_tck() <= tck);
    }

    /// Nothing is under way in the rank, and nobody watches its units.
    fn is_quiet_as_memory(&mut self) -> bool {
        let asked = self.host.begin_tck(Pins::NONE);
        asked.memory_o
            && self.host.is_quiet()
            && self.tck == self.now
            && self.watch.is_none()
            && self.chips.is_closed()
            && self.chips.is_idle()
            && self.operands.is_idle()
            && self.operands.buffer_chip.is_idle()
    }

    /// Time goes on until a tCK. The refresh manager counts cycles of the core.
    fn count_cycles(&mut self, until_tck: u64) {
        let cycles = until_tck / self.gear() - self.now / self.gear();
        if cycles > 0 {
            self.control.stand_still(std::mem::take(&mut self.refreshed));
            self.control.stand_still_for(cycles - 1);
        }
        (self.now, self.tck) = (until_tck, until_tck);
    }

    /// The tCK since `from_tck` are over, before which the last REF ended at `refreshed_tck`.
    fn end_moves(&mut self, from_tck: u64, refreshed_tck: u64) {
        let last_cycle = self.now.saturating_sub(1) / self.gear() * self.gear();
        if last_cycle >= from_tck && self.now > from_tck {
            (self.shown, self.results) = (self.shown_as_memory(), None);
            self.patience.event(last_cycle);
        }
        self.host.show(&self.shown, self.results.as_ref());
        let refreshes = [refreshed_tck, self.record.refreshed_tck()];
        self.host.pass(from_tck..self.now, refreshes, self.config.timing.rfc_tck);
    }
}

impl OnHostBus {
    fn last_tck(&self) -> u64 {
        self.from_tck + BURST_TCK - 1
    }
}

impl Moving {
    /// A burst that the chips take from a tCK on.
    fn write(&mut self, chips_tck: u64, beats: &Beats) {
        self.on_chip_bus.push_back((chips_tck, BusDriver::BufferChip));
        let from_tck = chips_tck - RELAYOUT_TCK;
        self.on_host_bus.push_back(OnHostBus { from_tck, beats: *beats, read: false });
    }

    /// A burst that the chips give from a tCK on.
    fn read(&mut self, chips_tck: u64, beats: &Beats) {
        self.on_chip_bus.push_back((chips_tck, BusDriver::Chips));
        let from_tck = chips_tck + RELAYOUT_TCK;
        self.on_host_bus.push_back(OnHostBus { from_tck, beats: *beats, read: true });
    }
}

/// Takes the first of a queue, if it is one of those.
fn pop_front_if<T>(queue: &mut VecDeque<T>, is_one: impl FnOnce(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_one) { queue.pop_front() } else { None }
}
