// SPDX-License-Identifier: MIT
//! What of the queues moves in a lap: see [`lap`](pimlico_units::lap). A lap is of rows that are read: it begins where the first
//! column of one is next.

use super::{ForBus, Queues};
use crate::aim::place::{WorkPlace, WorkShape};
use crate::aim::program::Stretch;
use crate::aim::requests::Requests;
use pimlico_units::lap::Walk;

impl<'a> Queues<'a> {
    /// The stretch that begins a row, if its first column is next.
    pub fn begins_row(&self) -> Option<usize> {
        let next = self.next_read().filter(|_| self.next.read.number == 0)?;
        (self.row != Some(next.row)).then_some(self.next.read.stretch)
    }

    /// The next row that is read.
    pub fn row(&self) -> usize {
        self.next_read().map_or(0, |stretch| stretch.row)
    }

    /// What is next.
    pub fn place(&self) -> WorkPlace {
        self.next
    }

    /// What was taken of the work from a place on.
    pub fn since(&self, place: WorkPlace) -> WorkShape {
        self.work.between(place, self.next)
    }

    /// Whether that is ahead.
    pub fn has_ahead(&self, ahead: &WorkShape) -> bool {
        self.work.has_ahead(self.next, ahead)
    }

    /// It was moved on: what is offered of columns is another.
    pub fn ask_again(&self, requests: &mut Requests) {
        requests.array = self.array_request();
    }

    /// Goes over all of it, at `now`.
    pub fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        let work = self.work;
        let Self {
            work: _,
            operands: _,
            single: _,
            sides: _,
            to_result_tck: _,
            read_to_result: _,
            modes,
            operand_tck: _,
            results_tck: _,
            opens,
            next,
            released,
            readable_tck,
            asked_sums,
            left_sums,
            ready_tck,
            taken_reads,
            taken_bus,
            offered_read,
            offered_bus,
            row,
            held,
        } = self;
        modes.walk(walk, now);
        walk.still(*opens && next.read.stretch == 0);
        let WorkPlace { read, fill, sum } = next;
        let (next_read, next_filling) = (read.stretch, fill.filling);
        walk.size(taken_reads.len());
        for (read, gap) in taken_reads.iter_mut().chain(&mut *offered_read) {
            let stretch = work.stretches.get(read.stretch);
            stretch.into_iter().for_each(|stretch| walk_stretch(stretch, walk));
            walk.still(*gap as u8);
            read.walk(walk, next_read);
        }
        walk.still(offered_read.is_some());
        walk.size(taken_bus.len());
        for of in taken_bus.iter_mut().chain(&mut *offered_bus) {
            match of {
                ForBus::Results => walk.still(false),
                ForBus::Word(fill) => {
                    walk.still(true);
                    let words = work.fillings.get(fill.filling).map_or(0, |of| of.words);
                    walk.size(words);
                    fill.walk(walk, next_filling);
                }
            }
        }
        walk.still(offered_bus.is_some());
        read.walk(walk, next_read);
        walk.size(next_filling.wrapping_sub(*released));
        walk.moves(released);
        fill.walk(walk, next_filling);
        walk.size(*asked_sums - *left_sums);
        walk.size(*sum - *left_sums);
        for number in [asked_sums, left_sums, sum] {
            walk.moves(number);
        }
        for times in [readable_tck, ready_tck] {
            walk.size(times.len());
            times.iter_mut().for_each(|from| walk.time(from, now));
        }
        walk.still(row.is_some());
        row.iter_mut().for_each(|row| walk.row(row));
        walk.still(*held);
    }
}

/// Goes over what of a stretch a column on its way still says.
fn walk_stretch(stretch: &Stretch, walk: &mut Walk<'_>) {
    let &Stretch { row: _, column, word, count, first, last, filling: _, release } = stretch;
    [column, word, count].into_iter().for_each(|number| walk.size(number));
    [first, last, release].into_iter().for_each(|flag| walk.still(flag));
}
