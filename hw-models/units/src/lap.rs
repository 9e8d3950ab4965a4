// SPDX-License-Identifier: MIT
//! Of what a state is made, for whoever looks whether a machine does the same again and again.
//!
//! ```text
//!   state ──lap──▶ state ──lap──▶ state ─ ─ ─▶ many laps later
//!     │ survey       │ survey                   ▲
//!     └── equal, but for what moves ────────────┘ moved on
//! ```
//!
//! Behind a *lap* a machine stands as it stood before, but for what has moved: times, numbers of things that are done, the row
//! that is open, the repetition that a loop is at. Each unit that may be moved on has a function `walk`, which goes over all of
//! its state and says of each part whether it moves. One walk [surveys](Walk::survey) a state; another [moves](Walk::on) it
//! by what each part moved in a lap, so many times. A part that a walk would leave out is one that nobody compares: walks take
//! structures apart field by field, so that none is forgotten.

use pimlico_dpa::types::{ArrayRequest, BusRequest, Dispatch, Place, Sum, Weigh};
use pimlico_ports::{Signal, U, pack};

/// What is found in a state.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// What is equal before and behind a lap.
    pub still: Vec<u64>,
    /// What of the rest follows from what is [owed](Timer::owed), and is equal where that is alike.
    pub owing: Vec<u64>,
    /// What moves: the numbers, each in the upper bits, so that differences wrap as the numbers do.
    pub moving: Vec<u64>,
    /// What goes down by one in each cycle.
    pub timers: Vec<Timer>,
    /// Loops that run, the outermost first.
    pub loops: Vec<Loop>,
    /// Words of which some are not cleared yet.
    pub clearing: Option<Clearing>,
    /// Something is under way of which nothing is said here.
    pub refused: bool,
}

/// Something that goes down by one in each cycle, and begins anew where it would come to 0: then something more is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Which of what moves it is.
    pub left: usize,
    /// Where it begins anew.
    pub period: u32,
    /// What is owed.
    pub owed: u64,
    /// So much may be owed without anything being otherwise.
    pub alike: u64,
}

/// A loop that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Which of what moves is the number of its repetition.
    pub number: usize,
    /// Which is what is left behind this repetition.
    pub rest: usize,
    /// What a repetition takes of it. The last takes the rest, if that is not more.
    pub step: u64,
}

/// Words that are cleared one behind the other, in cycles in which no command enters. A command that looks one up waits until it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clearing {
    /// How many are cleared,
    pub cleared: usize,
    /// and how many there are.
    pub words: usize,
}

impl Survey {
    /// Nothing is found.
    pub fn clear(&mut self) {
        let Self { still, owing, moving, timers, loops, clearing, refused } = self;
        for numbers in [still, owing, moving] {
            numbers.clear();
        }
        timers.clear();
        loops.clear();
        (*clearing, *refused) = (None, false);
    }
}

/// A number that moves. It wraps where it has no more bits.
pub trait Moves: Copy {
    /// Bits above it.
    const ABOVE: u32;
    /// As it is.
    fn get(self) -> u64;
    /// A number that fits.
    fn of(number: u64) -> Self;
}

macro_rules! moves {
    ($($ty:ty),*) => {$(
        impl Moves for $ty {
            const ABOVE: u32 = u64::BITS - Self::BITS;

            fn get(self) -> u64 {
                self as u64
            }

            fn of(number: u64) -> Self {
                number as Self
            }
        }
    )*};
}
moves!(u8, u16, u32, u64, usize);

impl<const WIDTH: u32> Moves for U<WIDTH> {
    const ABOVE: u32 = u64::BITS - WIDTH;

    fn get(self) -> u64 {
        U::get(self)
    }

    fn of(number: u64) -> Self {
        Self::new(number)
    }
}

/// A walk over a state.
pub struct Walk<'a> {
    how: How<'a>,
    /// The row that is open in all banks, and the entry of the Va2Pa table that was read last.
    row: u16,
    entry: u16,
}

enum How<'a> {
    Survey(&'a mut Survey),
    On { by: std::slice::Iter<'a, u64>, laps: u64 },
}

impl<'a> Walk<'a> {
    /// One that surveys a state, with this row open in all banks and this entry of the Va2Pa table read last.
    pub fn survey(found: &'a mut Survey, row: u16, entry: u16) -> Self {
        found.clear();
        Self { how: How::Survey(found), row, entry }
    }

    /// One that moves a state on by so many laps, each of which moves what moves by this.
    pub fn on(by: &'a [u64], laps: u64) -> Self {
        Self { how: How::On { by: by.iter(), laps }, row: 0, entry: 0 }
    }

    /// The state is none that laps are compared at.
    pub fn refuse_if(&mut self, refused: bool) {
        if let How::Survey(found) = &mut self.how {
            found.refused |= refused;
        }
    }

    /// It is the same behind a lap.
    pub fn still(&mut self, value: impl Into<u64>) {
        if let How::Survey(found) = &mut self.how {
            found.still.push(value.into());
        }
    }

    /// It follows from what is owed.
    pub fn owes(&mut self, value: impl Into<u64>) {
        if let How::Survey(found) = &mut self.how {
            found.owing.push(value.into());
        }
    }

    /// Words that are cleared: behind a lap that looks up none of the others, and has cycles enough for these, all of them are.
    pub fn clears(&mut self, cleared: &mut usize, words: usize) {
        match &mut self.how {
            How::Survey(found) if *cleared < words => {
                found.clearing = Some(Clearing { cleared: *cleared, words });
            }
            How::Survey(_) => {}
            How::On { .. } => *cleared = words,
        }
    }

    /// The same of all bits of a signal.
    pub fn bits<T: Signal>(&mut self, value: &T) {
        if let How::Survey(found) = &mut self.how {
            found.still.push(pack(value));
        }
    }

    /// The same of a size.
    pub fn size(&mut self, value: usize) {
        self.still(value as u64);
    }

    /// It moves.
    pub fn moves<T: Moves>(&mut self, value: &mut T) {
        match &mut self.how {
            How::Survey(found) => found.moving.push(value.get() << T::ABOVE),
            How::On { by, laps } => {
                let by = by.next().expect("the walk that has surveyed was as long");
                let moved = (value.get() << T::ABOVE).wrapping_add(by.wrapping_mul(*laps));
                *value = T::of(moved >> T::ABOVE);
            }
        }
    }

    /// A cycle or tCK from which something may be done: how far it is ahead is the same, and nothing where it is past.
    pub fn time(&mut self, from: &mut u64, now: u64) {
        self.still(from.saturating_sub(now));
        self.goes_by(from, now, *from <= now);
    }

    /// One that may be past or ahead: how far it is from now is the same.
    pub fn at(&mut self, at: &mut u64, now: u64) {
        self.still(at.wrapping_sub(now));
        self.moves(at);
    }

    /// One in which something was, which is of no more account when it was so long ago.
    pub fn since(&mut self, at: &mut u64, now: u64, longest: u64) {
        let since = now.saturating_sub(*at);
        self.still(since.min(longest));
        self.goes_by(at, now, since >= longest);
    }

    /// A time. If it is past it moves as now does, and stays past: when exactly it was is of no account.
    fn goes_by(&mut self, time: &mut u64, now: u64, is_past: bool) {
        match &mut self.how {
            How::Survey(found) if is_past => found.moving.push(now),
            _ => self.moves(time),
        }
    }

    /// A number of something of which so many have come: how many have come since is the same, up to the most that count.
    pub fn number<T: Moves>(&mut self, number: &mut T, last: T, most: u64) {
        let since = (last.get().wrapping_sub(number.get()) << T::ABOVE) >> T::ABOVE;
        self.still(since.min(most));
        self.moves(number);
    }

    /// What goes down by one in each cycle, and begins anew with a period, where something more is owed; all is alike until more
    /// than this is.
    pub fn timer(&mut self, left: &mut u32, period: u32, owed: &mut u32, alike: u32) {
        if let How::Survey(found) = &mut self.how {
            let (owed, alike) = (u64::from(*owed), u64::from(alike));
            found.timers.push(Timer { left: found.moving.len(), period, owed, alike });
        }
        self.owes(alike);
        self.moves(left);
        self.moves(owed);
    }

    /// A loop that runs.
    pub fn repeats(&mut self, number: &mut u32, rest: &mut u32, step: u32) {
        if let How::Survey(found) = &mut self.how {
            let at = found.moving.len();
            found.loops.push(Loop { number: at, rest: at + 1, step: step.into() });
        }
        self.still(*number == 0);
        self.still(step);
        self.moves(number);
        self.moves(rest);
    }

    /// A row of the banks: how far it is from the open one is the same.
    pub fn row<T: Moves>(&mut self, row: &mut T) {
        self.still((row.get() as u16).wrapping_sub(self.row));
        self.moves(row);
    }

    /// An entry of the Va2Pa table, or a virtual row: how far it is from the last that was read is the same.
    pub fn entry<T: Moves>(&mut self, entry: &mut T) {
        self.still((entry.get() as u16).wrapping_sub(self.entry));
        self.moves(entry);
    }

    /// A request for the banks.
    pub fn array_request(&mut self, request: &mut ArrayRequest) {
        let ArrayRequest { kind, bank, row, column, mac } = request;
        self.bits(kind);
        self.bits(bank);
        self.bits(column);
        self.bits(mac);
        self.row(row);
    }

    /// A request for the data bus.
    pub fn bus_request(&mut self, request: &mut BusRequest) {
        let BusRequest { write, address, host, sum } = request;
        self.still(*write);
        self.still(*address);
        self.still(*host);
        self.sum(sum);
    }

    /// What results are for. Its place moves.
    pub fn sum(&mut self, sum: &mut Sum) {
        self.bits(&Sum { place: Place::default(), ..*sum });
        self.moves(&mut sum.place);
    }

    /// Scores that become a word of weights. Their place moves.
    pub fn weigh(&mut self, weigh: &mut Weigh) {
        self.bits(&Weigh { place: Place::default(), ..*weigh });
        self.moves(&mut weigh.place);
    }

    /// A command as it is dispatched.
    pub fn dispatch(&mut self, dispatch: &mut Dispatch) {
        let Dispatch { kind, request, head, row, place, column, word, first, last, opens, tokens } =
            dispatch;
        self.bits(kind);
        self.bits(request);
        self.bits(head);
        self.bits(tokens);
        for byte in [column, word] {
            self.still(*byte);
        }
        for flag in [first, last, opens] {
            self.still(*flag);
        }
        match kind.has_row() {
            true => self.row(row),
            false => self.moves(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something that counts, and works until a time.
    struct Counter {
        now: u64,
        until: u64,
        count: u8,
        seen: U<3>,
        row: u16,
        left: u32,
    }

    impl Counter {
        /// Some cycles of it.
        fn lap(&mut self) {
            self.now += 10;
            self.until = self.now + 4;
            self.count = self.count.wrapping_add(100);
            self.seen = U::new((self.seen.get() + 3) % 8);
            self.row += 1;
            self.left -= 10;
        }

        fn walk(&mut self, walk: &mut Walk<'_>) {
            let last = self.count;
            let mut before = last.wrapping_sub(2);
            walk.number(&mut before, last, 9);
            walk.time(&mut self.until, self.now);
            walk.moves(&mut self.now);
            walk.moves(&mut self.count);
            walk.moves(&mut self.seen);
            walk.row(&mut self.row);
            walk.timer(&mut self.left, 1000, &mut 0, 0);
        }

        fn survey(&mut self) -> Survey {
            let mut found = Survey::default();
            let row = self.row;
            self.walk(&mut Walk::survey(&mut found, row, 0));
            found
        }
    }

    #[test]
    fn what_was_moved_on_is_what_was_stepped() {
        let new = || Counter { now: 5, until: 9, count: 250, seen: U::new(6), row: 7, left: 900 };
        let (mut stepped, mut moved) = (new(), new());
        let surveys = [0, 1].map(|_| {
            moved.lap();
            moved.survey()
        });
        assert_eq!(surveys[0].still, surveys[1].still);
        let moving = surveys[1].moving.iter().zip(&surveys[0].moving);
        let by: Vec<_> = moving.map(|(behind, before)| behind.wrapping_sub(*before)).collect();
        moved.walk(&mut Walk::on(&by, 20));
        (0..22).for_each(|_| stepped.lap());
        let of = |it: &Counter| (it.now, it.until, it.count, it.seen, it.row, it.left);
        assert_eq!(of(&moved), of(&stepped));
        assert_eq!(moved.survey().still, surveys[1].still);
    }

    #[test]
    fn times_that_are_past_are_alike() {
        let survey = |now| {
            let mut counter = Counter { now, until: 9, count: 0, seen: U::new(0), row: 0, left: 1 };
            counter.survey().still
        };
        assert_eq!(survey(9), survey(700));
        assert_ne!(survey(8), survey(9));
    }
}
