// SPDX-License-Identifier: MIT
//! Rows of a matrix that are alike are gone through at once, where data are of no account.
//!
//! ```text
//!   mark ───lap───▶ mark ───lap───▶ mark ─ ─ played ─ ─▶ the REF that is due, the end of the loop, ...
//!    │ equal, but    │ by the same    │
//!    └─ for what has moved ───────────┘ moved on, by all laps that were played
//! ```
//!
//! A *mark* is set in each row, where its slots begin to be passed: but for the MACs on their way, all units rest there. At a mark
//! the state is surveyed ([`lap`](pimlico_units::lap)). Of three marks between which the same has happened, but for what has moved
//! by the same, the last is the first of laps that do it again. What they hang on is looked at before: the loop does not come to
//! its last repetition in them, no REF becomes due, places and rows are where the commands move them. A lap that was found stays
//! known: behind a REF it goes on from where all stands as it stood then, at a mark or behind the column that was read last there.
//!
//! Laps are *played*: those who watch the chips' pins are told what they were told in the lap that was found, as many tCK and rows
//! later, and the host's port is shown the results when they come, while the units stand at the mark. The host does what it likes. Where
//! it has something for them, they are moved on by the laps that are over, and the one that goes on is stepped until there.

use super::engine::Rank;
use super::host::Shown;
use super::lap::{Ahead, Lap};
use super::looking::Looking;
use crate::dispatch::Made;
use crate::error::DeviceError;
use crate::tape::Told;
use pimlico_units::lap::Walk;
use pimlico_units::module::HostPortOut;

/// Laps that are played.
#[derive(Debug)]
pub struct Play {
    lap: Lap,
    ahead: Ahead,
    begin_tck: u64,
    /// What the host's port asks for in all of it.
    asked: HostPortOut,
    /// Laps that were told to their end, and of the next one what was told, how many reads of what is told next, and results.
    over: u64,
    told: usize,
    reads: usize,
    results: usize,
}

impl Play {
    fn end_tck(&self) -> u64 {
        self.begin_tck + self.ahead.laps * self.lap.tck
    }

    /// tCK from the lap that was found to the one that goes on, and rows.
    fn later(&self) -> (u64, u16) {
        let (_, end_tck) = self.lap.tape();
        let laps = self.over + 1;
        let rows = self.lap.rows.wrapping_mul((self.ahead.since + laps) as u16);
        (self.begin_tck + laps * self.lap.tck - end_tck, rows)
    }

    /// What is told next.
    fn next(&self) -> Option<Told> {
        let (tck, rows) = self.later();
        let told = self.lap.tape().0.told.get(self.told)?;
        Some(told.later(tck, rows).without(self.reads))
    }

    /// When results come next, if any come in the lap that goes on.
    fn results_tck(&self) -> Option<u64> {
        let (at_tck, _) = self.lap.results().get(self.results)?;
        Some(at_tck + self.later().0)
    }

    /// Until when nothing but the pins has to be played.
    fn quiet_until_tck(&self) -> u64 {
        let lap_tck = self.begin_tck + (self.over + 1) * self.lap.tck;
        self.results_tck().unwrap_or(lap_tck)
    }
}

impl Rank {
    /// Laps that were played to their end, since the reset.
    pub fn passed_laps(&self) -> u64 {
        self.laps.passed
    }

    /// Has laps that are played left so many tCK after they have begun, as where the host has something for the units: for tests.
    pub fn leave_laps_after(&mut self, tck: u64) {
        self.laps.longest_tck = Some(tck.next_multiple_of(self.gear()));
    }

    /// Laps are played from this cycle of the core on, if some begin that are known.
    pub(super) fn begin_play(&mut self, asked: &HostPortOut) -> bool {
        if !self.laps.wanted || !self.slots.begins() {
            return false;
        }
        let (row, column) = (self.chips.open_row(), self.control.pins().column());
        let is_first = self.laps.marks(row);
        if !is_first && self.laps.later_at() != Some(column) {
            return false;
        }
        self.see_asked(asked);
        let ahead = self.mark(row.unwrap_or_default() as u16, column, is_first);
        let ahead = ahead.filter(|ahead| ahead.laps > 0);
        let (Some(ahead), Some(_)) = (ahead, &self.laps.found) else { return false };
        let lap = self.laps.found.take().expect("it was found");
        self.stop_keeping();
        self.laps.play = Some(Box::new(Play {
            lap,
            ahead,
            begin_tck: self.now,
            asked: *asked,
            over: 0,
            told: 0,
            reads: 0,
            results: 0,
        }));
        true
    }

    /// Sets a mark, if it is the first in its row; else it is but looked whether the lap that is known begins. Returns what laps
    /// are ahead.
    fn mark(&mut self, row: u16, column: usize, is_first: bool) -> Option<Ahead> {
        let mut mark = self.laps.room();
        (mark.tck, mark.row, mark.column) = (self.now, row, column);
        if is_first {
            let doings = std::mem::take(&mut mark.doings).cleared();
            let tape = std::mem::take(&mut mark.tape).cleared();
            mark.doings = self.front.keep(Some(doings)).unwrap_or_default();
            mark.tape = self.record.keep(Some(tape)).unwrap_or_default();
        }
        let entry = self.front.entry_at();
        self.walk(&mut Walk::survey(&mut mark.survey, row, entry));
        let (front, rows, gear) = (&self.front, self.config.organisation.rows, self.gear());
        let row_of = |at| front.looked_up(at).filter(|row| usize::from(*row) < rows);
        match is_first {
            true => self.laps.at(mark, gear, row_of),
            false => self.laps.later(mark, gear, row_of),
        }
    }

    /// Cycles of the core at once until a tCK, if they are played. Returns whether there were some: not where results come.
    pub(super) fn play_until(
        &mut self,
        asked: &HostPortOut,
        until_tck: u64,
        looking: &mut Looking<'_>,
    ) -> Result<Option<bool>, DeviceError> {
        let Some(play) = self.played(asked)? else { return Ok(None) };
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
        let is_quiet = |play: &Play| play.quiet_until_tck().min(play.end_tck()) >= end_tck;
        let is_within = self.now < until_tck && self.laps.play.as_deref().is_some_and(is_quiet);
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

    /// A cycle of the core, if it is played.
    pub(super) fn play_cycle(
        &mut self,
        asked: &HostPortOut,
        made: &mut dyn FnMut(Made),
    ) -> Result<Option<Shown>, DeviceError> {
        if self.played(asked)?.is_none() {
            return Ok(None);
        }
        self.patience.event(self.now);
        let (now, behind_tck) = (self.now, self.now + self.gear());
        self.results = None;
        if let Some(play) = &mut self.laps.play
            && play.results_tck() == Some(now)
        {
            let (_, results) = play.lap.results()[play.results];
            results.outputs().for_each(|bits| made(Made::Output(bits)));
            self.results = Some(results);
            play.results += 1;
        }
        self.tell_played(behind_tck, None);
        Ok(Some(self.shown))
    }

    /// What is played in this cycle of the core, where the host's port asks for this.
    fn played(&mut self, asked: &HostPortOut) -> Result<Option<&Play>, DeviceError> {
        if let Some(play) = &self.laps.play {
            let is_long = self.laps.longest_tck.is_some_and(|tck| self.now >= play.begin_tck + tck);
            if self.now == play.end_tck() {
                self.end_play();
            } else if is_long || !asks_the_same(&play.asked, asked) {
                self.leave_play(self.now)?;
            }
        }
        Ok(self.laps.play.as_deref())
    }

    /// Those who watch the pins are told of what is played before a tCK; between that, of what the host does that looks on.
    fn tell_played(&mut self, until_tck: u64, mut looking: Option<&mut Looking<'_>>) {
        let Some(mut play) = self.laps.play.take() else { return };
        loop {
            let Some(told) = play.next() else {
                let is_over = play.begin_tck + (play.over + 1) * play.lap.tck <= until_tck;
                if !is_over {
                    break;
                }
                play.over += 1;
                (play.told, play.results) = (0, 0);
                continue;
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
            let reads = play.lap.tape().0.reads(&told);
            self.record.tell_again(&told, reads);
            play.reads += count;
            if play.next().is_none_or(|next| next.is_over()) {
                (play.told, play.reads) = (play.told + 1, 0);
            }
        }
        self.laps.play = Some(play);
    }

    /// All laps are played to their end.
    fn end_play(&mut self) {
        let Some(play) = self.laps.play.take() else { return };
        let Play { lap, ahead, .. } = *play;
        self.walk(&mut Walk::on(&lap.by, ahead.laps));
        self.laps.played(lap, ahead.laps, self.chips.open_row());
    }

    /// Until this tCK laps were played; from here on units are stepped. The one that goes on is stepped until there. Of all in
    /// it those who watch have been told.
    pub(super) fn leave_play(&mut self, tck: u64) -> Result<(), DeviceError> {
        let Some(play) = self.laps.play.take() else { return Ok(()) };
        let Play { lap, begin_tck, asked, .. } = *play;
        let (now, results) = (self.now, self.results);
        let laps = (tck - begin_tck) / lap.tck;
        self.walk(&mut Walk::on(&lap.by, laps));
        self.now = begin_tck + laps * lap.tck;
        self.laps.played(lap, laps, self.chips.open_row());
        let watch = self.record.unwatch();
        while self.now < tck {
            self.shown = self.step_run(&asked, &mut |_| {})?;
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
        if !shown.is_plain(None, &self.shown) {
            self.spoil_laps();
        }
        self.laps.show(self.now, self.results.as_ref());
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

    /// Goes over all of its state but the host's port and what it is shown. But for MACs on their way all units rest.
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let is_quiet = self.rests_in_slots()
            && self.operands.is_idle()
            && !self.chips_drive(self.tck)
            && self.chips_drive.is_empty()
            && self.results.is_none()
            && !self.refreshed;
        walk.refuse_if(!is_quiet);
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
            operands: _,
            sums,
            // It rests in all of a lap.
            softmax: _,
            record,
            wave: _,
            watch: _,
            chips_drive: _,
            slots,
            laps: _,
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
        sums.walk(walk, *tck);
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
