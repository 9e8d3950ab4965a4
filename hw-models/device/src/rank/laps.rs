// SPDX-License-Identifier: MIT
//! Rows of a matrix, of K and of V that are alike are gone through at once, where data are of no account.
//!
//! ```text
//!   mark ───lap───▶ mark ───lap───▶ mark ─ ─ played ─ ─▶ a REF that none had, the end of the loop, ...
//!    │ equal, but    │ by the same    │
//!    └─ for what has moved ───────────┘ moved on, by all laps that were played
//! ```
//!
//! A *mark* is set in each row, behind its first RD_ALL. At a mark the state is surveyed ([`lap`](pimlico_units::lap)): all of it
//! that says when something happens, with results of the row before on the data bus and in the adder unit, scores in the softmax unit,
//! words of weights and their WR_SHAREDs on their way. Of three marks between which the same has happened, but for what has moved
//! by the same, the last is the first of laps that do it again. What they hang on is looked at before: the loop does not come to
//! its last repetition in them, no REF becomes due, places and rows are where the commands move them. A lap that was found stays
//! known: behind a REF it goes on from where all stands as it stood then, at a mark or behind the column that was read last there.
//! What is between the last such place before a REF becomes due and the first behind it is a lap as well, once it was seen twice: for
//! all REFs that become due between the soonest and the latest that were seen, as a REF comes where a row ends, or is postponed.
//! Where what is owed is alike no more behind it, as it is the first, all else stands as at a mark, and another lap goes on.
//!
//! In the next run a lap is known as well, and on other ranks of the kind ([`KnownLaps`](crate::KnownLaps)): the state that is compared
//! has the words of the program's loop in it, but neither the virtual row at which that begins nor, where no word looks at it, T_cur,
//! nor how many words of its tables the sequencer has cleared since the run started, if none of the others is looked up.
//!
//! Laps are *played*: those who watch the chips' pins are told what they were told in the lap that was found, as many tCK and rows
//! later, and the host's port is shown the results when they come, while the units stand at the mark. The host does what it likes. Where
//! it has something for them, they are moved on by the laps that are over, and the one that goes on is stepped until there.
//!
//! Those who watch may take that late ([`PinWatch::takes_laps`](crate::PinWatch::takes_laps)). Then they are told of all laps when these
//! are over: of some as a whole, where they know them. And looks of the host at a status that is the same all the time need not be done
//! one by one.

use super::engine::Rank;
use super::host::Shown;
use super::looking::Looking;
use super::play::Play;
use crate::dispatch::Made;
use crate::error::DeviceError;
use crate::laps::{Ahead, Event, Inner, Logs};
use crate::pins::Looks;
use pimlico_dpa::types::PinCommand;
use pimlico_units::lap::Walk;
use pimlico_units::module::HostPortOut;

impl Rank {
    /// Turns of laps that were played to their end, since the reset.
    pub fn passed_laps(&self) -> u64 {
        self.laps.passed
    }

    /// Has laps that are played left so many tCK after they have begun, as where the host has something for the units: for tests.
    pub fn leave_laps_after(&mut self, tck: u64) {
        self.laps.longest_tck = Some(tck.next_multiple_of(self.gear()));
    }

    /// Laps are played from this cycle of the core on, if some begin that are known.
    pub(super) fn begin_play(&mut self, asked: &HostPortOut) -> bool {
        let pins = self.control.pins();
        if !self.laps.wanted || pins.command != PinCommand::RdAll || !self.is_calm() {
            return false;
        }
        let (row, column) = (self.chips.open_row(), pins.column());
        let is_first = self.laps.marks(row);
        if !is_first && self.laps.later_at() != Some(column) {
            return false;
        }
        self.see_asked(asked);
        let ahead = self.mark(row.unwrap_or_default() as u16, column, is_first);
        let (Some(ahead), Some(_)) = (ahead, &self.laps.found) else { return false };
        let lap = self.laps.found.take().expect("it was found");
        self.stop_keeping();
        let mut play = Play::new(lap, ahead, self.now, asked);
        play.shown = self.shown;
        play.is_told_late = self.record.takes_laps();
        self.slots.forget();
        self.play = Some(Box::new(play));
        true
    }

    /// Whether there is nothing that a [walk](Self::walk) does not go over.
    fn is_calm(&self) -> bool {
        !self.slots.is_within()
            && self.results.is_none()
            && !self.refreshed
            && self.wave.is_none()
            && self.watch.is_none()
    }

    /// Sets a mark, if it is the first in its row; else it is but looked whether the lap that is known begins. Returns what laps
    /// are ahead, if there are some.
    fn mark(&mut self, row: u16, column: usize, is_first: bool) -> Option<Ahead> {
        let gear = self.gear();
        let mut mark = self.laps.room();
        (mark.tck, mark.row, mark.column) = (self.now, row, column);
        mark.entry = self.front.entry_at();
        self.walk(&mut Walk::survey(&mut mark.survey, row, mark.entry));
        if self.laps.leaves(&mark) {
            mark.logs = self.cut(std::mem::take(&mut mark.logs));
            self.laps.end_record(&mark, gear);
        }
        self.laps.change(&mark);
        let rows = self.config.organisation.rows;
        let row_of = |at| self.front.looked_up(at).filter(|row| usize::from(*row) < rows);
        let mut ahead = self.laps.ahead(&mark, gear, &row_of);
        self.laps.later = is_first && ahead.is_none();
        if ahead.is_none() {
            if is_first {
                self.laps.miss();
            }
            // A lap with a REF goes on, or the column behind which a lap may begin is not the first.
            if self.laps.records() || !is_first {
                self.laps.forget(mark);
                return None;
            }
            mark.logs = self.cut(mark.logs);
            self.laps.find(mark, gear);
            return None;
        }
        if self.laps.records() {
            mark.logs = self.cut(std::mem::take(&mut mark.logs));
            self.laps.end_record(&mark, gear);
            let row_of = |at| self.front.looked_up(at).filter(|row| usize::from(*row) < rows);
            ahead = self.laps.ahead(&mark, gear, &row_of);
        }
        let ahead = ahead.filter(|ahead| !ahead.segments.is_empty());
        if ahead.is_none() {
            mark.logs = self.cut(std::mem::take(&mut mark.logs));
            self.laps.record(mark);
        } else {
            self.laps.forget(mark);
        }
        ahead
    }

    /// What has happened since the last mark; what happens from here on is kept in the room of others.
    fn cut(&mut self, room: Logs) -> Logs {
        let Logs { doings, tape, shown, inner } = room.cleared();
        Logs {
            doings: self.front.keep(Some(doings)).unwrap_or_default(),
            tape: self.record.keep(Some(tape)).unwrap_or_default(),
            shown: std::mem::replace(&mut self.laps.shown, shown),
            inner: std::mem::replace(&mut self.laps.inner, inner),
        }
    }

    /// Cycles of the core at once until a tCK, if they are played. Returns whether there were some: not where results come.
    pub(super) fn play_until(
        &mut self,
        asked: &HostPortOut,
        until_tck: u64,
        looking: &mut Looking<'_>,
        made: &mut dyn FnMut(Made),
    ) -> Result<Option<bool>, DeviceError> {
        let Some(play) = self.played(asked, made)? else { return Ok(None) };
        let (begin_tck, quiet_tck) = (play.begin_tck, play.quiet_until_tck());
        let left_tck = self.laps.longest_tck.map_or(u64::MAX, |tck| begin_tck + tck);
        let until_tck = (until_tck / self.gear() * self.gear()).min(quiet_tck).min(left_tck);
        if until_tck <= self.now {
            return Ok(Some(false));
        }
        self.results = None;
        self.tell_played(until_tck, Some(looking));
        self.now = until_tck;
        self.patience.event(until_tck);
        Ok(Some(true))
    }

    /// Within a cycle of the core that is played, and in which no results come, the host sees at this tCK what its look has given.
    /// Returns whether it looks on, and then all of the cycle is over for the core.
    pub(super) fn look_in_play(
        &mut self,
        from_tck: &mut u64,
        until_tck: u64,
        looking: &mut Looking<'_>,
    ) -> bool {
        let end_tck = self.now + self.gear();
        let is_quiet = |play: &Play| play.quiet_until_tck().min(play.end_tck) >= end_tck;
        let is_within = self.now < until_tck && self.play.as_deref().is_some_and(is_quiet);
        if !is_within || self.laps.longest_tck.is_some() {
            return false;
        }
        self.results = None;
        self.rest(*from_tck..self.now, looking);
        self.tell_look(looking, self.now);
        self.tell_played(end_tck, Some(looking));
        self.rest(self.now..until_tck, looking);
        *from_tck = until_tck;
        let looks_on = looking.host.until_tck() > until_tck;
        self.now = if looks_on { end_tck } else { until_tck };
        looks_on
    }

    /// Looks of the host that give what the last one gave, as long as the host's port is shown nothing, come and go; but the last of
    /// them, behind which the port is as behind all of them.
    pub(super) fn pass_looks(&mut self, asked: &HostPortOut, looking: &mut Looking<'_>) {
        let is_late = |play: &&Play| play.is_told_late && asks_the_same(&play.asked, asked);
        let Some(play) = self.play.as_deref().filter(is_late) else { return };
        let Some(looks) = looking.host.looks() else { return };
        if self.laps.longest_tck.is_some() || self.host.status() != looks.beats {
            return;
        }
        let over_tck = looking.host.until_tck();
        let until_tck = play.shows_nothing_until_tck();
        let count = until_tck.saturating_sub(over_tck) / looks.every_tck;
        if count > 0 {
            self.record.looks(&self.config.timing, &Looks { count, ..looks });
            looking.host.skip(count);
        }
    }

    /// A cycle of the core, if it is played.
    pub(super) fn play_cycle(
        &mut self,
        asked: &HostPortOut,
        made: &mut dyn FnMut(Made),
    ) -> Result<Option<Shown>, DeviceError> {
        if self.played(asked, made)?.is_none() {
            return Ok(None);
        }
        self.patience.event(self.now);
        let (now, behind_tck) = (self.now, self.now + self.gear());
        self.results = None;
        let mut shown = self.shown;
        if let Some(play) = &mut self.play {
            shown = play.shown;
            if let Some(event) = play.event().filter(|event| event.at_tck == now) {
                shown.refreshes = event.refreshes;
                self.results = event.results;
                play.events += 1;
            }
        }
        if let Some(results) = &self.results {
            results.outputs().for_each(|bits| made(Made::Output(bits)));
        }
        self.tell_played(behind_tck, None);
        Ok(Some(shown))
    }

    /// What is played in this cycle of the core, where the host's port asks for this.
    fn played(
        &mut self,
        asked: &HostPortOut,
        made: &mut dyn FnMut(Made),
    ) -> Result<Option<&Play>, DeviceError> {
        if let Some(play) = &self.play {
            let is_long = self.laps.longest_tck.is_some_and(|tck| self.now >= play.begin_tck + tck);
            if self.now == play.end_tck {
                self.end_play(made);
            } else if is_long || !asks_the_same(&play.asked, asked) {
                self.leave_play(self.now, made)?;
            }
        }
        Ok(self.play.as_deref())
    }

    /// Until a tCK it is played. Those who watch the pins are told of that, if not later; between that, of what the host does that
    /// looks on.
    fn tell_played(&mut self, until_tck: u64, looking: Option<&mut Looking<'_>>) {
        let Some(mut play) = self.play.take() else { return };
        if !play.is_told_late {
            self.tell_each(&mut play, until_tck, looking);
        }
        play.go_on(until_tck);
        self.play = Some(play);
    }

    /// Those who watch the pins are told of what was played until a tCK, if they were not: of laps as a whole, where they take that.
    fn tell_late(&mut self, until_tck: u64) {
        let Some(mut play) = self.play.take_if(|play| play.is_told_late) else { return };
        while let Some(laps) = play.untold(until_tck) {
            match self.record.laps(&laps) {
                0 => self.tell_each(&mut play, laps.from_tck + laps.tck, None),
                taken => play.pass_told(taken),
            }
        }
        self.tell_each(&mut play, until_tck, None);
        self.play = Some(play);
    }

    fn tell_each(
        &mut self,
        play: &mut Play,
        until_tck: u64,
        mut looking: Option<&mut Looking<'_>>,
    ) {
        loop {
            let Some(told) = play.next() else {
                if play.tell_next(until_tck) {
                    continue;
                }
                break;
            };
            if told.at_tck() >= until_tck {
                break;
            }
            let mut before_tck = until_tck;
            if let Some(looking) = &mut looking {
                self.tell_look(looking, told.at_tck());
                before_tck = looking.host.reads_tck().unwrap_or(u64::MAX).min(until_tck);
            }
            let (told, count) = told.before(before_tck);
            let reads = play.course(&play.telling).tape().reads(&told);
            self.record.tell_again(&told, reads);
            play.reads += count;
            if play.next().is_none_or(|next| next.is_over()) {
                (play.told, play.reads) = (play.told + 1, 0);
            }
        }
    }

    /// All laps are played to their end: where one ends, another may begin.
    fn end_play(&mut self, made: &mut dyn FnMut(Made)) {
        self.tell_late(self.now);
        self.end_laps(made);
        self.laps.mark_next();
    }

    /// Units are moved on by the laps that are over, and what was made within the rank in these is told. Returns where the last of
    /// them ends.
    fn end_laps(&mut self, made: &mut dyn FnMut(Made)) -> Option<(u64, HostPortOut)> {
        let play = self.play.take()?;
        play.inner().for_each(|inner| made(inner.made()));
        let (moved, turns) = play.moved();
        self.walk(&mut Walk::on(&moved, 1));
        let Play { lap, at, asked, shown, .. } = *play;
        self.shown = shown;
        self.laps.played(lap, turns, self.chips.open_row());
        Some((at.begin.tck, asked))
    }

    /// Until this tCK laps were played; from here on units are stepped. The one that goes on is stepped until there. Of all in
    /// it those who watch have been told.
    pub(super) fn leave_play(
        &mut self,
        tck: u64,
        made: &mut dyn FnMut(Made),
    ) -> Result<(), DeviceError> {
        let (now, results) = (self.now, self.results);
        self.tell_late(tck);
        let Some((begin_tck, asked)) = self.end_laps(made) else { return Ok(()) };
        self.now = begin_tck;
        let watch = self.record.unwatch();
        while self.now < tck {
            // The host has had its results.
            let mut inner = |of: Made| {
                if Inner::of(of).is_some() {
                    made(of)
                }
            };
            self.shown = self.step_run(&asked, &mut inner)?;
            self.now += self.gear();
        }
        self.record.watch_again(watch);
        (self.now, self.results) = (now, results);
        Ok(())
    }

    /// Something happens that is in no lap.
    pub(super) fn spoil_laps(&mut self) {
        if self.laps.keeps() {
            self.stop_keeping();
            self.laps.spoil();
        }
    }

    /// A cycle of the core that is not played: what the host's port asks for, and what it is shown.
    pub(super) fn see_cycle(&mut self, asked: &HostPortOut, shown: &Shown) {
        self.see_asked(asked);
        let (at_tck, refreshes, results) = (self.now, shown.refreshes, self.results);
        let is_of_lap = Shown { refreshes: refreshes && !self.laps.records(), ..*shown };
        if !is_of_lap.is_plain(None, &self.shown) {
            self.spoil_laps();
        } else if refreshes || results.is_some() {
            self.laps.shown.push(Event { at_tck, refreshes, results });
        }
    }

    /// The host's port asks for this. Where it is not what it has asked for since the mark, that is in no lap.
    fn see_asked(&mut self, asked: &HostPortOut) {
        if self.laps.keeps() && !asks_the_same(&self.laps.asked, asked) {
            self.spoil_laps();
        }
        if !self.laps.keeps() {
            self.laps.asked = *asked;
        }
    }

    fn stop_keeping(&mut self) {
        self.front.keep(None);
        self.record.keep(None);
    }

    /// Goes over all of its state but the host's port and what it is shown, where it is [calm](Self::is_calm).
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            config: _,
            options: _,
            now: _,
            tck,
            host: _,
            shown,
            // Something happens in each lap.
            patience: _,
            front,
            sequencer,
            control,
            chips,
            // No mode register is set in a run.
            key: _,
            operands,
            sums,
            softmax,
            record,
            wave: _,
            watch: _,
            chips_drive,
            slots,
            laps: _,
            play: _,
            passed_waits: _,
            passed_stretches: _,
            refreshed: _,
            results: _,
        } = self;
        shown.walk(walk);
        front.walk(walk);
        sequencer.walk(walk);
        control.walk(walk);
        chips.walk(walk);
        operands.walk(walk, *tck);
        walk.size(chips_drive.len());
        chips_drive.iter_mut().for_each(|from_tck| walk.at(from_tck, *tck));
        sums.walk(walk, *tck);
        softmax.walk(walk);
        record.walk(walk, *tck);
        slots.walk(walk);
        walk.moves(tck);
    }
}

/// Whether the rank sees no difference.
fn asks_the_same(one: &HostPortOut, other: &HostPortOut) -> bool {
    let seen = |of: &HostPortOut| (of.operands_o, of.operand_valid_o, of.operand_o, of.scale_o);
    seen(one) == seen(other)
}
