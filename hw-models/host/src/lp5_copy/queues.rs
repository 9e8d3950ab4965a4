// SPDX-License-Identifier: MIT
//! What waits for a channel in the host's memory controller, and which of it is next:
//!
//! 1. what is for an open row, in another bank group than the one before;
//! 2. what is of the same kind as that, for the bank of the same number in another group, whose row is then opened;
//! 3. what is for an open row;
//! 4. anything.
//!
//! Of these first what is of the same kind, then for banks of the same number in their groups, then for the bank that was used
//! longest ago, then the oldest. So the banks of a number are used by turns until nothing is left for their rows, while those of
//! other numbers close theirs and open the next.
//!
//! Reads of one kind go on until none waits, and so many of the other wait that its rows are worth being opened, or none is under
//! way, so that none of the same kind may follow.
//!
//! Reads go before writes. Writes wait until there are many, or some and nothing is to be read, and are then given until few are
//! left, so that the data lines turn seldom.

use super::Tag;
use pimlico_device::lp5::{BurstPlace, Request, Vector};
use std::collections::VecDeque;

/// Reads that are worth that rows are closed for them: four of each bank.
const WORTH: usize = 64;
/// Banks of a channel.
const BANKS: usize = 16;

/// How many writes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteQueue {
    /// Bursts for which there is room.
    pub room: usize,
    /// With so many, writes are given.
    pub high: usize,
    /// Until so many are left, if there are reads.
    pub low: usize,
}

/// Kinds of what is asked for: those of a kind are to the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Loads of the matrix.
    Load,
    /// Reads of lines.
    Fill,
    /// Writes.
    Write,
}

/// What waits for a channel.
#[derive(Clone, Debug)]
pub struct Queues {
    reads: VecDeque<(BurstPlace, Tag)>,
    writes: VecDeque<(BurstPlace, Vector)>,
    size: WriteQueue,
    is_writing: bool,
    /// Of reads that were given last, and how many of each kind are under way.
    kind: Kind,
    under_way: [usize; 2],
    banks_per_group: u8,
    /// The row of each bank behind what was given.
    open: [Option<u32>; BANKS],
    /// How many were given, and of each bank which was the last.
    given: u64,
    used: [u64; BANKS],
    /// What was given last.
    last: Option<(BurstPlace, Kind)>,
}

impl Queues {
    /// Nothing waits.
    pub fn new(size: WriteQueue, banks_per_group: u8) -> Self {
        let (reads, writes) = (VecDeque::new(), VecDeque::new());
        let (open, last) = ([None; BANKS], None);
        let (kind, under_way) = (Kind::Load, [0; 2]);
        Self {
            reads,
            writes,
            size,
            is_writing: false,
            kind,
            under_way,
            banks_per_group,
            open,
            given: 0,
            used: [0; BANKS],
            last,
        }
    }

    /// A read comes.
    pub fn read(&mut self, place: BurstPlace, tag: Tag) {
        self.reads.push_back((place, tag));
    }

    /// A write comes.
    pub fn write(&mut self, place: BurstPlace, data: Vector) {
        self.writes.push_back((place, data));
    }

    /// Whether so many writes have room.
    pub fn has_room(&self, writes: usize) -> bool {
        self.writes.len() + writes <= self.size.room
    }

    /// The data of the last write to a place that waits: a read need not go to the banks for them.
    pub fn written(&self, place: BurstPlace) -> Option<Vector> {
        let mut writes = self.writes.iter().rev();
        writes.find(|(other, _)| *other == place).map(|(_, data)| *data)
    }

    /// Reads that were given are over.
    pub fn over(&mut self, kind: Kind) {
        self.under_way[kind as usize] -= 1;
    }

    /// Takes what is next, with the tag of a read. With `all`, no more writes are waited for.
    pub fn take(&mut self, all: bool) -> Option<(Request, Option<Tag>)> {
        let (reads, writes) = (self.reads.len(), self.writes.len());
        self.is_writing = match self.is_writing {
            true => writes > if reads == 0 { 0 } else { self.size.low },
            false => {
                let is_idle = reads == 0 && self.under_way == [0; 2];
                writes >= self.size.high
                    || is_idle && writes >= self.size.high / 2
                    || all && reads == 0 && writes > 0
            }
        };
        if self.is_writing {
            let next =
                self.next(self.writes.iter().map(|(place, _)| (*place, Kind::Write)), |_| true)?;
            let (place, data) = self.writes.remove(next)?;
            self.given(place, Kind::Write);
            return Some((Request::Write(place, data), None));
        }
        let same = self.reads.iter().filter(|(_, tag)| tag.kind() == self.kind).count();
        let is_over = reads - same >= WORTH || self.under_way[self.kind as usize] == 0;
        if same == 0 && !is_over {
            return None;
        }
        let waiting = self.reads.iter().map(|(place, tag)| (*place, tag.kind()));
        let next = self.next(waiting, |kind| same == 0 || kind == self.kind)?;
        let (place, tag) = self.reads.remove(next)?;
        self.kind = tag.kind();
        self.under_way[self.kind as usize] += 1;
        self.given(place, tag.kind());
        Some((Request::Read(place), Some(tag)))
    }

    /// Which of these is next, of kinds that may be.
    fn next(
        &self,
        waiting: impl Iterator<Item = (BurstPlace, Kind)>,
        may_be: impl Fn(Kind) -> bool,
    ) -> Option<usize> {
        let group = |place: BurstPlace| place.bank / self.banks_per_group;
        let last = self.last.map(|(place, kind)| (group(place), self.number(place), kind));
        let rank = |(age, (place, kind)): (usize, (BurstPlace, Kind))| {
            let is_open = self.open[usize::from(place.bank)] == Some(place.row);
            let is_same = last.is_some_and(|(.., last)| last == kind);
            let number = self.number(place);
            let class = match last {
                None => 0,
                Some((of, ..)) if is_open && of != group(place) => 0,
                Some((of, same, _)) if is_same && same == number && of != group(place) => 1,
                _ if is_open => 2,
                _ => 3,
            };
            let is_other = last.is_none_or(|(_, same, _)| same != number);
            (class, !is_same, class < 3 && is_other, self.used[usize::from(place.bank)], age)
        };
        let waiting = waiting.enumerate().filter(|(_, (_, kind))| may_be(*kind));
        waiting.map(rank).min().map(|(.., age)| age)
    }

    /// Number of a bank in its group.
    fn number(&self, place: BurstPlace) -> u8 {
        place.bank % self.banks_per_group
    }

    fn given(&mut self, place: BurstPlace, kind: Kind) {
        self.open[usize::from(place.bank)] = Some(place.row);
        self.last = Some((place, kind));
        self.given += 1;
        self.used[usize::from(place.bank)] = self.given;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(bank: u8, row: u32, column: u8) -> BurstPlace {
        BurstPlace { bank, row, column }
    }

    fn queues() -> Queues {
        Queues::new(WriteQueue { room: 4, high: 4, low: 1 }, 4)
    }

    fn taken(queues: &mut Queues, all: bool) -> Option<BurstPlace> {
        queues.take(all).and_then(|(request, _)| request.place())
    }

    /// A queue whose banks of number 0 have row 5 open.
    fn with_open_rows(tag: Tag) -> Queues {
        let mut queues = queues();
        for group in 0..4 {
            queues.read(place(4 * group, 5, 0), tag);
            assert_eq!(taken(&mut queues, false), Some(place(4 * group, 5, 0)));
        }
        queues
    }

    const LOAD: Tag = Tag::Load { thread: 0 };
    const FILL: Tag = Tag::Fill { thread: 0, line: 0, burst: 0 };

    #[test]
    fn open_rows_go_first_and_groups_take_turns() {
        let mut queues = with_open_rows(LOAD);
        let places = [
            place(12, 5, 1),
            place(1, 5, 1),
            place(0, 6, 1),
            place(12, 5, 2),
            place(0, 5, 1),
            place(4, 5, 1),
        ];
        places.into_iter().for_each(|place| queues.read(place, LOAD));
        let order: Vec<_> = std::iter::from_fn(|| taken(&mut queues, false)).collect();
        let expected = [4, 5, 0, 2, 3, 1].map(|n| places[n]);
        // Bank 0 has the number of bank 12, and its group is another: its row is opened before bank 12 goes on.
        assert_eq!(order, expected);
    }

    #[test]
    fn a_row_is_closed_when_it_is_worth_it() {
        let mut queues = with_open_rows(LOAD);
        let fills = WORTH as u8 - 1;
        (0..fills).for_each(|column| queues.read(place(0, 9, column), FILL));
        assert_eq!(taken(&mut queues, false), None, "loads are under way");
        queues.read(place(0, 9, fills), FILL);
        assert_eq!(taken(&mut queues, false), Some(place(0, 9, 0)));
        queues.read(place(4, 5, 3), LOAD);
        assert_eq!(taken(&mut queues, false), Some(place(0, 9, 1)), "fills wait");
        // When no load is under way that others may follow, fewer are enough.
        let mut queues = with_open_rows(LOAD);
        queues.read(place(0, 9, 0), FILL);
        (0..3).for_each(|_| queues.over(Kind::Load));
        assert_eq!(taken(&mut queues, false), None);
        queues.over(Kind::Load);
        assert_eq!(taken(&mut queues, false), Some(place(0, 9, 0)));
    }

    #[test]
    fn a_read_has_the_write_that_came_last() {
        let mut queues = queues();
        for bits in [3, 5] {
            queues.write(place(2, 7, 1), [bits; 16]);
        }
        assert_eq!(queues.written(place(2, 7, 1)), Some([5; 16]));
        assert_eq!(queues.written(place(2, 7, 2)), None);
    }

    #[test]
    fn writes_wait_until_there_are_many() {
        let mut queues = Queues::new(WriteQueue { room: 7, high: 6, low: 2 }, 4);
        (0..5).for_each(|column| queues.write(place(0, 9, column), [7; 16]));
        queues.read(place(1, 1, 1), LOAD);
        assert_eq!(taken(&mut queues, false), Some(place(1, 1, 1)));
        assert_eq!(taken(&mut queues, false), None, "a read is under way");
        assert_eq!(queues.written(place(0, 9, 1)), Some([7; 16]));
        queues.write(place(0, 9, 5), [8; 16]);
        assert!(queues.has_room(1) && !queues.has_room(2));
        queues.read(place(1, 1, 2), LOAD);
        let order: Vec<_> = std::iter::from_fn(|| taken(&mut queues, false)).collect();
        let columns: Vec<_> = order.iter().map(|place| (place.row, place.column)).collect();
        // Four writes of six, and the read.
        assert_eq!(columns, [(9, 0), (9, 1), (9, 2), (9, 3), (1, 2)]);
        // Two are fewer than half of many.
        (0..2).for_each(|_| queues.over(Kind::Load));
        assert_eq!(taken(&mut queues, false), None);
        queues.write(place(0, 9, 6), [9; 16]);
        assert_eq!(taken(&mut queues, false), Some(place(0, 9, 4)), "nothing is to be read");
        assert_eq!(taken(&mut queues, false), Some(place(0, 9, 5)));
        queues.write(place(0, 9, 7), [9; 16]);
        assert_eq!(taken(&mut queues, true), Some(place(0, 9, 6)));
        assert_eq!(queues.written(place(0, 9, 6)), None);
    }
}
