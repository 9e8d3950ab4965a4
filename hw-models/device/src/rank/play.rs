// SPDX-License-Identifier: MIT
//! Laps that are played: what is told and shown next, and when. See `laps`.

use super::host::Shown;
use crate::laps::{Ahead, Begin, Course, Event, Inner, Lap, Segment};
use crate::pins::PinLaps;
use crate::tape::Told;
use pimlico_units::module::HostPortOut;

/// Laps that are played.
#[derive(Debug)]
pub struct Play {
    pub lap: Lap,
    pub segments: Vec<Segment>,
    pub end_tck: u64,
    /// What the host's port asks for in all of it, and what it is shown where nothing else comes.
    pub asked: HostPortOut,
    pub shown: Shown,
    pub begin_tck: u64,
    /// Those who watch the pins are told when it is over.
    pub is_told_late: bool,
    /// The lap that goes on, and what of it was shown.
    pub at: LapPlace,
    pub events: usize,
    /// The lap of which those who watch are told next, what of it they were told, and how many reads of what comes next.
    pub telling: LapPlace,
    pub told: usize,
    pub reads: usize,
}

/// A lap that is played: of which segment, how many laps of that are over, and where it begins.
#[derive(Clone, Copy, Debug)]
pub struct LapPlace {
    segment: usize,
    over: u64,
    pub begin: Begin,
}

impl Play {
    pub fn new(lap: Lap, Ahead { turn, segments }: Ahead, tck: u64, asked: &HostPortOut) -> Self {
        let length = |segment: &Segment| segment.laps * lap.course(segment.refreshed).tck;
        let end_tck = tck + segments.iter().map(length).sum::<u64>();
        let first = LapPlace { segment: 0, over: 0, begin: Begin { tck, turn } };
        Self {
            lap,
            segments,
            end_tck,
            asked: *asked,
            shown: Shown::default(),
            begin_tck: tck,
            is_told_late: false,
            at: first,
            events: 0,
            telling: first,
            told: 0,
            reads: 0,
        }
    }

    /// What is done in a lap.
    pub fn course(&self, place: &LapPlace) -> &Course {
        let refreshed = self.segments.get(place.segment).and_then(|segment| segment.refreshed);
        self.lap.course(refreshed)
    }

    /// The end of a lap.
    fn end_tck(&self, place: &LapPlace) -> u64 {
        place.begin.tck + self.course(place).tck
    }

    /// The lap that comes behind so many of this kind, of which there are so many at least.
    fn behind(&self, place: &LapPlace, laps: u64) -> LapPlace {
        let Course { tck, turns, .. } = *self.course(place);
        let Begin { tck: begin_tck, turn } = place.begin;
        let begin = Begin { tck: begin_tck + laps * tck, turn: turn + laps * turns };
        let over = place.over + laps;
        match self.segments.get(place.segment) {
            Some(segment) if segment.laps > over => LapPlace { over, begin, ..*place },
            _ => LapPlace { segment: place.segment + 1, over: 0, begin },
        }
    }

    /// Whether there is a lap, and it is over by a tCK.
    fn is_over(&self, place: &LapPlace, tck: u64) -> bool {
        place.begin.tck != self.end_tck && self.end_tck(place) <= tck
    }

    /// It is played until a tCK.
    pub fn go_on(&mut self, tck: u64) {
        while self.is_over(&self.at, tck) {
            (self.at, self.events) = (self.behind(&self.at, 1), 0);
        }
    }

    /// Of the lap of which they are told all is told, if it is over by a tCK: then they are told of the next one.
    pub fn tell_next(&mut self, tck: u64) -> bool {
        let is_over = self.is_over(&self.telling, tck);
        if is_over {
            self.pass_told(1);
        }
        is_over
    }

    /// What is told next.
    pub fn next(&self) -> Option<Told> {
        let LapPlace { begin, .. } = self.telling;
        self.course(&self.telling).told(begin, self.lap.rows, self.told, self.reads)
    }

    /// Laps of a kind of which nothing was told yet and that are over by a tCK, if there are some.
    pub fn untold(&self, tck: u64) -> Option<PinLaps> {
        let LapPlace { segment, over, begin } = self.telling;
        let &Course { number, tck: of_lap, .. } = self.course(&self.telling);
        let left = self.segments.get(segment).map_or(0, |segment| segment.laps - over);
        let count = left.min(tck.saturating_sub(begin.tck) / of_lap);
        let is_new = self.told == 0 && self.reads == 0;
        if count == 0 || !is_new {
            return None;
        }
        let goes_on = self.is_over(&self.behind(&self.telling, count), tck);
        // Laps without one are many.
        let with_refs = if self.course(&self.telling).due.is_some() { count } else { 0 };
        let laps = (0..with_refs).map(|lap| self.behind(&self.telling, lap));
        let refs = laps.flat_map(|lap| self.refs(lap)).collect();
        Some(PinLaps { number, from_tck: begin.tck, tck: of_lap, count, refs, goes_on })
    }

    /// REFs in a lap.
    fn refs(&self, place: LapPlace) -> impl Iterator<Item = u64> {
        let course = self.course(&place);
        let later_tck = place.begin.tck.wrapping_sub(course.begin.tck);
        course.tape().refs().map(move |at_tck| at_tck.wrapping_add(later_tck))
    }

    /// So many laps were told.
    pub fn pass_told(&mut self, laps: u64) {
        self.telling = self.behind(&self.telling, laps);
        (self.told, self.reads) = (0, 0);
    }

    /// What the host's port is shown next, and when, if something is in the lap that goes on.
    pub fn event(&self) -> Option<Event> {
        self.event_of(&self.at, self.events)
    }

    fn event_of(&self, place: &LapPlace, events: usize) -> Option<Event> {
        let course = self.course(place);
        let event = course.shown().get(events)?;
        let at_tck = event.at_tck - course.begin.tck + place.begin.tck;
        Some(Event { at_tck, ..*event })
    }

    /// Until when nothing but the pins has to be played.
    pub fn quiet_until_tck(&self) -> u64 {
        self.event().map_or(self.end_tck(&self.at), |event| event.at_tck)
    }

    /// Until when the host's port is shown nothing.
    pub fn shows_nothing_until_tck(&self) -> u64 {
        let (mut place, mut events) = (self.at, self.events);
        while place.begin.tck < self.end_tck {
            if let Some(event) = self.event_of(&place, events) {
                return event.at_tck;
            }
            // Where a lap shows nothing, no other of its kind does.
            let laps = self.segments.get(place.segment).map_or(1, |of| of.laps - place.over);
            let is_silent = self.course(&place).shown().is_empty();
            (place, events) = (self.behind(&place, if is_silent { laps } else { 1 }), 0);
        }
        self.end_tck
    }

    /// Laps that are over: what is done in each of a kind, and how many they are.
    fn over(&self) -> impl Iterator<Item = (&Course, u64)> {
        let LapPlace { segment: goes_on, over, .. } = self.at;
        let over_all = self.segments[..goes_on].iter().map(|segment| (segment, segment.laps));
        let goes_on = self.segments.get(goes_on).map(|segment| (segment, over));
        over_all.chain(goes_on).map(|(of, laps)| (self.lap.course(of.refreshed), laps))
    }

    /// What was made within the rank in all laps that are over.
    pub fn inner(&self) -> impl Iterator<Item = Inner> {
        self.over().flat_map(|(course, laps)| course.inner().iter().map(move |of| of.in_laps(laps)))
    }

    /// By how much everything moves in all laps that are over, and how many turns these are.
    pub fn moved(&self) -> (Vec<u64>, u64) {
        let mut moved = vec![0_u64; self.lap.course(None).by.len()];
        let mut turns = 0;
        for (course, laps) in self.over() {
            for (moved, by) in moved.iter_mut().zip(&course.by) {
                *moved = moved.wrapping_add(by.wrapping_mul(laps));
            }
            turns += laps * course.turns;
        }
        (moved, turns)
    }
}
