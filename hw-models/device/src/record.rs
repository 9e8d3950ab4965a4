// SPDX-License-Identifier: MIT
//! Sums over the tCK of a device: statistics, transfers on the host's channel, a timeline; and the
//! events for observers of the chips' pins.
//!
//! In a tCK a device says first that it [begins](Record::begin_tck), then what is on the pins and what works.

use crate::accounts::{Accounts, Cause, Gap};
use crate::bursts::{Stretches, WriteRun, WriteStretch};
use crate::config::Timing;
use crate::data_bus::Beats;
use crate::pins::{BusDriver, Looks, PinLaps, PinWatch};
use crate::spd::RELAYOUT_TCK;
use crate::statistics::Statistics;
use crate::tape::{Tape, Teller, Told};
use crate::timeline::Timeline;
use crate::traffic::{HostTransfer, Traffic};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_units::lap::Walk;
use std::ops::Range;

/// What a module in its channel has of its `record`; its tCK since the reset is in the field that is named.
macro_rules! recorded {
    ($tck:ident) => {
        fn begin(&mut self) {
            self.record.start(self.$tck);
        }

        fn end(&mut self) -> crate::statistics::Statistics {
            self.record.end(self.$tck)
        }

        fn take_transfers(&mut self) -> Vec<crate::traffic::HostTransfer> {
            self.record.take_transfers()
        }

        fn watch(&mut self, watch: Box<dyn crate::pins::PinWatch>) {
            self.record.watch(watch);
        }

        fn start_timeline(&mut self) {
            self.record.start_timeline();
        }

        fn label(&mut self, operator: &'static str, part: String) {
            self.record.label(operator, part);
        }

        fn leave_out(&mut self) {
            self.record.leave_out();
        }

        fn timeline(&self) -> Option<&crate::timeline::Timeline> {
            self.record.timeline()
        }
    };
}
pub(crate) use recorded;

/// The record of a device.
pub struct Record {
    slot_tck: u64,
    burst_tck: u64,
    rfc_tck: u64,
    accounts: Accounts,
    traffic: Traffic,
    timeline: Option<Timeline>,
    /// An operator goes on that is on the timeline.
    runs: bool,
    /// The next one is not.
    is_access: bool,
    /// Those who watch the pins, and what they are told of the chips'.
    teller: Teller,
    /// What is on the chips' data bus.
    burst: Option<Burst>,
    /// The end of the last REF.
    refreshed_tck: u64,
    /// The tCK that has begun.
    tck: u64,
}

/// A burst on the chips' data bus.
struct Burst {
    from_tck: u64,
    until_tck: u64,
    driver: BusDriver,
}

impl Record {
    /// Of a device that has just been reset.
    pub fn new(timing: &Timing) -> Self {
        Self {
            slot_tck: timing.ccd_l_tck,
            burst_tck: timing.burst_tck,
            rfc_tck: timing.rfc_tck,
            accounts: Accounts::new(timing.ccd_l_tck),
            traffic: Traffic::new(timing.burst_tck),
            timeline: None,
            runs: false,
            is_access: false,
            teller: Teller::default(),
            burst: None,
            refreshed_tck: 0,
            tck: 0,
        }
    }

    /// Keeps what those who watch the chips' pins are told from here on, if there is somebody; returns what was kept before.
    pub fn keep(&mut self, tape: Option<Tape>) -> Option<Tape> {
        let tape = tape.filter(|_| self.teller.watch.is_some());
        self.teller.keep(tape)
    }

    /// Tells nobody anything until [`watch_again`](Self::watch_again). Returns who watches.
    pub fn unwatch(&mut self) -> Option<Box<dyn PinWatch>> {
        self.teller.watch.take()
    }

    /// They watch again.
    pub fn watch_again(&mut self, watch: Option<Box<dyn PinWatch>>) {
        self.teller.watch = watch;
    }

    /// Whether they may be told of laps behind what is on the host's pins meanwhile.
    pub fn takes_laps(&self) -> bool {
        self.teller.watch.as_ref().is_none_or(|watch| watch.takes_laps())
    }

    /// Laps begin: how many of them need not be told.
    pub fn laps(&mut self, laps: &PinLaps) -> u64 {
        self.teller.watch.as_mut().map_or(laps.count, |watch| watch.laps(laps))
    }

    /// The host's looks, where those who watch take [laps](Self::takes_laps).
    pub fn looks(&mut self, timing: &Timing, looks: &Looks) {
        let data_tck = timing.cl_tck + RELAYOUT_TCK;
        if let Some(watch) = &mut self.teller.watch {
            watch.looks(looks, data_tck);
        }
        let bursts = (0..looks.count).map(|n| looks.from_tck + n * looks.every_tck + data_tck);
        bursts.for_each(|from_tck| self.traffic.burst(from_tck, true));
    }

    /// Tells them again of something that was kept.
    pub fn tell_again(&mut self, told: &Told, reads: &[Pins]) {
        self.teller.again(told, reads);
    }

    /// Goes over all of it that is not the host's, for [laps](pimlico_units::lap), in a tCK.
    pub fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        walk.refuse_if(self.draws());
        let Self {
            slot_tck: _,
            burst_tck: _,
            rfc_tck: _,
            accounts,
            traffic: _,
            timeline: _,
            runs: _,
            is_access: _,
            teller: _,
            burst,
            refreshed_tck,
            tck,
        } = self;
        walk.still(burst.is_some());
        if let Some(Burst { from_tck, until_tck, driver }) = burst {
            walk.at(from_tck, now);
            walk.at(until_tck, now);
            walk.still(*driver == BusDriver::Chips);
        }
        accounts.walk(walk, now);
        // The host may ask when it was, be it past.
        walk.still(refreshed_tck.saturating_sub(now));
        walk.moves(refreshed_tck);
        walk.still(now - *tck);
        walk.moves(tck);
    }

    /// Has the pins of chips and host watched from here on.
    pub fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.teller.watch = Some(watch);
    }

    /// Has a timeline made of what follows.
    pub fn start_timeline(&mut self) {
        self.timeline = Some(Timeline::new(self.slot_tck));
    }

    /// Names what the operators that follow are, for the timeline.
    pub fn label(&mut self, operator: &'static str, part: String) {
        if let Some(timeline) = &mut self.timeline {
            timeline.label(operator, part);
        }
    }

    /// The next operator is an access of the host, which is not on the timeline.
    pub fn leave_out(&mut self) {
        self.is_access = true;
    }

    /// The timeline so far, if one is made.
    pub fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }

    /// Starts an operator.
    pub fn start(&mut self, at_tck: u64) {
        self.accounts.restart(at_tck);
        self.traffic.restart(at_tck);
        self.runs = !std::mem::take(&mut self.is_access);
        if let Some(timeline) = self.timeline.as_mut().filter(|_| self.runs) {
            timeline.begin();
        }
    }

    /// Ends an operator.
    pub fn end(&mut self, at_tck: u64) -> Statistics {
        self.runs = false;
        self.accounts.finish(at_tck)
    }

    /// What crossed the host's channel for the operator that has ended.
    pub fn take_transfers(&mut self) -> Vec<HostTransfer> {
        self.traffic.finish()
    }

    /// A tCK begins: observers receive a burst that is over.
    pub fn begin_tck(&mut self, tck: u64) {
        self.tck = tck;
        let burst_tck = self.burst_tck;
        let is_over = |burst: &mut Burst| {
            burst.until_tck < tck || burst.until_tck == burst.from_tck + burst_tck
        };
        if let Some(burst) = self.burst.take_if(is_over) {
            self.accounts.statistics.bus_cycles += burst.until_tck - burst.from_tck;
            self.tell(&burst);
        }
    }

    /// A command is on the pins.
    pub fn command(&mut self, pins: Pins) {
        self.teller.command(self.tck, pins);
        if pins.command == PinCommand::Ref {
            self.refreshed_tck = self.tck + self.rfc_tck;
        }
        if let Some(timeline) = self.timeline.as_mut().filter(|_| self.runs)
            && pins.command == PinCommand::RdAll
        {
            timeline.read(pins.read_all().accumulate);
        }
        self.accounts.statistics.commands[pins.command as usize] += 1;
    }

    /// All-bank RDs at equal distances, the first in a tCK that has begun: in place of [`command`](Self::command) for each.
    pub fn reads(&mut self, from_tck: u64, every_tck: u64, reads: &[Pins]) {
        self.teller.reads(from_tck, every_tck, reads);
        self.accounts.statistics.commands[PinCommand::RdAll as usize] += reads.len() as u64;
    }

    /// Somebody drives the chips' data bus in a clock of this tCK.
    pub fn data(&mut self, driver: BusDriver) {
        let until_tck = self.tck + 1;
        match &mut self.burst {
            Some(burst) if burst.driver == driver => burst.until_tck = until_tck,
            other => {
                let burst = Burst { from_tck: self.tck, until_tck, driver };
                if let Some(before) = other.replace(burst) {
                    self.tell(&before);
                }
            }
        }
    }

    fn tell(&mut self, burst: &Burst) {
        self.teller.data(self.tck, (burst.from_tck, burst.until_tck), burst.driver);
    }

    /// An all-bank RD is on the pins; `opens` if it is the first of an operator.
    pub fn read(&mut self, opens: bool) {
        self.accounts.used(self.tck, if opens { Gap::Fill } else { Gap::Bubble });
    }

    /// None is, as far as the rank controller knows for this cause.
    pub fn no_read(&mut self, cause: Option<Cause>) {
        let refreshes = self.tck < self.refreshed_tck;
        self.accounts.idle(self.tck, if refreshes { Some(Cause::Refresh) } else { cause });
    }

    /// The same in all of these tCK. All of a refresh that goes on in them is known.
    pub fn no_reads(&mut self, tck: Range<u64>, cause: Option<Cause>) {
        let refreshed = self.refreshed_tck.clamp(tck.start, tck.end);
        self.accounts.idle_until(tck.start..refreshed, Some(Cause::Refresh));
        self.accounts.idle_until(refreshed..tck.end, cause);
    }

    /// The host has had the pins in these tCK.
    pub fn host_has(&mut self, tck: Range<u64>) {
        self.no_reads(tck, Some(Cause::Host));
    }

    /// The end of the last REF.
    pub fn refreshed_tck(&self) -> u64 {
        self.refreshed_tck
    }

    /// Whether what goes on is drawn on a timeline, tCK by tCK.
    pub fn draws(&self) -> bool {
        self.runs && self.timeline.is_some()
    }

    /// Whether somebody wants the beats of the host's data bus.
    pub fn wants_beats(&self) -> bool {
        self.teller.watch.as_ref().is_some_and(|watch| watch.wants_beats())
    }

    /// A burst of the chips' data bus is over that [`data`](Self::data) was not told of.
    pub fn whole_burst(&mut self, from_tck: u64, driver: BusDriver) {
        let burst = Burst { from_tck, until_tck: from_tck + self.burst_tck, driver };
        self.accounts.statistics.bus_cycles += self.burst_tck;
        self.tell(&burst);
    }

    /// A burst of the host's data bus ends with this tCK that [`channel_data`](Self::channel_data) was not told of.
    pub fn host_burst(&mut self, from_tck: u64, beats: &Beats, read: bool) {
        if let Some(watch) = &mut self.teller.watch {
            watch.host_burst(from_tck, beats, read);
        }
    }

    /// Whether those who watch the pins take a run of writes as a whole.
    pub fn takes(&mut self, run: &WriteRun) -> bool {
        self.teller.takes(run)
    }

    /// A run of writes of the host, all of it, where those who watch the pins take it: in place of
    /// [`channel`](Self::channel), [`command`](Self::command), [`whole_burst`](Self::whole_burst) and [`host_burst`](Self::host_burst) for each.
    pub fn writes(&mut self, timing: &Timing, run: &WriteRun) {
        // Re-layout takes a tCK.
        let chips_tck = run.from_tck + timing.cwl_tck;
        self.teller.writes(run, [chips_tck - 1, chips_tck]);
        self.traffic.bursts(chips_tck - 1, run.count, false);
        let statistics = &mut self.accounts.statistics;
        statistics.commands[PinCommand::Wr as usize] += run.count;
        statistics.bus_cycles += run.count * self.burst_tck;
    }

    /// A REF is between these stretches. Whether those who watch the pins take the one that begins as a whole.
    pub fn knows(&mut self, stretches: &Stretches) -> bool {
        self.teller.watch.as_mut().is_none_or(|watch| watch.knows(self.tck, stretches))
    }

    /// All of a stretch behind the REF in this tCK, which they take: what is told of its commands and data.
    pub fn stretch(&mut self, timing: &Timing, stretch: &WriteStretch) {
        if let Some(watch) = &mut self.teller.watch {
            watch.stretch(stretch);
        }
        for &(from_tck, count) in &stretch.writes {
            self.traffic.bursts(self.tck + from_tck + timing.cwl_tck - 1, count, false);
        }
        let statistics = &mut self.accounts.statistics;
        for (all, more) in statistics.commands.iter_mut().zip(stretch.commands) {
            *all += more;
        }
        statistics.bus_cycles += stretch.count() * self.burst_tck;
    }

    /// Whether the adder unit took an element of each chip.
    pub fn adder_unit(&mut self, works: bool) {
        self.accounts.statistics.adder_unit_cycles += u64::from(works);
    }

    /// Whether the softmax unit took a score, a weight or a sum.
    pub fn softmax_unit(&mut self, works: bool) {
        self.accounts.statistics.softmax_unit_cycles += u64::from(works);
    }

    /// The host has a command on its pins, which may move a burst on its data bus. Told before those of the chips.
    pub fn channel(&mut self, timing: &Timing, at_tck: u64, pins: Pins) {
        if let Some(watch) = self.teller.watch.as_mut().filter(|_| pins.is_some()) {
            watch.host_command(at_tck, pins);
        }
        // Re-layout takes a tCK in either direction.
        match pins.command {
            PinCommand::Wr => self.traffic.burst(at_tck + timing.cwl_tck - 1, false),
            PinCommand::Rd => self.traffic.burst(at_tck + timing.cl_tck + 1, true),
            _ => {}
        }
    }

    /// What host and module drive on the host's data bus in a tCK.
    pub fn channel_data(&mut self, at_tck: u64, driven: [Option<u64>; 2], seen: [Option<u64>; 2]) {
        if let Some(watch) = &mut self.teller.watch {
            watch.host_data(at_tck, driven, seen);
        }
    }

    /// A tCK ends.
    pub fn end_tck(&mut self) {
        if let Some(timeline) = self.timeline.as_mut().filter(|_| self.runs) {
            timeline.tick(&self.accounts.statistics);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn what_a_refresh_takes_is_in_its_account() {
        let timing = Config::ddr4_3200().timing;
        let mut record = Record::new(&timing);
        record.start(0);
        for tck in 0..timing.rfc_tck + 20 {
            record.begin_tck(tck);
            match tck {
                // Until the REF is on the pins the rank controller knows what it waits for.
                0..5 => record.no_read(Some(Cause::Refresh)),
                5 => {
                    record.command(Pins { command: PinCommand::Ref, ..Pins::default() });
                    record.no_read(None);
                }
                _ => record.no_read(Some(Cause::RowSwitch)),
            }
            record.end_tck();
        }
        let lost = record.end(timing.rfc_tck + 20).lost_tck;
        assert_eq!((lost.refresh, lost.row_switch), (5 + timing.rfc_tck, 15));
        assert_eq!(lost.total(), timing.rfc_tck + 20);
    }
}
