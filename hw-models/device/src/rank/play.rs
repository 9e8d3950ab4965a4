// SPDX-License-Identifier: MIT
//! Laps that are played: what is told and shown next, and when. See `laps`.

use super::course::{Begin, Course, Event};
use super::host::Shown;
use super::lap::{Ahead, Lap, Segment};
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
    /// The segment that goes on, how many laps of it are over, and where the one that goes on begins.
    pub segment: usize,
    pub over: u64,
    pub begin: Begin,
    pub begin_tck: u64,
    /// What of it was told, how many reads of what is told next, and what was shown.
    pub told: usize,
    pub reads: usize,
    pub events: usize,
}

impl Play {
    pub fn new(lap: Lap, Ahead { turn, segments }: Ahead, tck: u64, asked: &HostPortOut) -> Self {
        let length = |segment: &Segment| segment.laps * lap.course(segment.refreshed).tck;
        let end_tck = tck + segments.iter().map(length).sum::<u64>();
        Self {
            lap,
            segments,
            end_tck,
            asked: *asked,
            shown: Shown::default(),
            segment: 0,
            over: 0,
            begin: Begin { tck, turn },
            begin_tck: tck,
            told: 0,
            reads: 0,
            events: 0,
        }
    }

    /// What is played now.
    pub fn course(&self) -> &Course {
        let refreshed = self.segments.get(self.segment).is_some_and(|segment| segment.refreshed);
        self.lap.course(refreshed)
    }

    /// The end of the lap that goes on.
    pub fn lap_end_tck(&self) -> u64 {
        self.begin.tck + self.course().tck
    }

    /// It is over.
    pub fn end_lap(&mut self) {
        let Course { tck, turns, .. } = *self.course();
        self.begin = Begin { tck: self.begin.tck + tck, turn: self.begin.turn + turns };
        (self.told, self.reads, self.events) = (0, 0, 0);
        self.over += 1;
        if self.segments.get(self.segment).is_some_and(|segment| segment.laps == self.over) {
            (self.segment, self.over) = (self.segment + 1, 0);
        }
    }

    /// What is told next.
    pub fn next(&self) -> Option<Told> {
        self.course().told(self.begin, self.lap.rows, self.told, self.reads)
    }

    /// What the host's port is shown next, and when, if something is in the lap that goes on.
    pub fn event(&self) -> Option<Event> {
        let event = self.course().shown().get(self.events)?;
        let at_tck = event.at_tck + self.begin.tck - self.course().begin.tck;
        Some(Event { at_tck, ..*event })
    }

    /// Until when nothing but the pins has to be played.
    pub fn quiet_until_tck(&self) -> u64 {
        self.event().map_or(self.lap_end_tck(), |event| event.at_tck)
    }

    /// By how much everything moves in all laps that are over, and how many turns these are.
    pub fn moved(&self) -> (Vec<u64>, u64) {
        let mut moved = vec![0_u64; self.lap.course(false).by.len()];
        let mut turns = 0;
        let over = self.segments[..self.segment].iter().map(|segment| (*segment, segment.laps));
        let goes_on = self.segments.get(self.segment).map(|segment| (*segment, self.over));
        for (Segment { refreshed, .. }, laps) in over.chain(goes_on) {
            let course = self.lap.course(refreshed);
            for (moved, by) in moved.iter_mut().zip(&course.by) {
                *moved = moved.wrapping_add(by.wrapping_mul(laps));
            }
            turns += laps * course.turns;
        }
        (moved, turns)
    }
}
