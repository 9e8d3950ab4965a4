// SPDX-License-Identifier: MIT
//! Reads or writes that wait, sorted by their banks. The hardware has one queue: here age is a number.

#[cfg(test)]
mod tests;

use super::core::Request;

/// Rows that are told apart when a queue is asked whether one may be wanted.
const SORTS: usize = 1024;
/// Places of a queue at the most.
pub(super) const PLACES: usize = 128;

/// Places, a bit for each.
type Places = u128;

/// The oldest request of a bank whose row is open, or of those whose is not.
#[derive(Clone, Copy, Debug, Default)]
struct Oldest {
    age: u64,
    place: u8,
}

/// Requests of each bank, and which of each is the oldest.
#[derive(Clone, Debug)]
struct OfBanks {
    /// Banks that have some.
    banks: u32,
    places: [Places; 32],
    oldest: [Oldest; 32],
}

impl OfBanks {
    const fn new() -> Self {
        Self { banks: 0, places: [0; 32], oldest: [Oldest { age: 0, place: 0 }; 32] }
    }

    /// A request that is younger than all.
    fn push(&mut self, bank: u8, youngest: Oldest) {
        let at = usize::from(bank);
        self.places[at] |= 1 << youngest.place;
        if self.banks >> bank & 1 == 0 {
            self.banks |= 1 << bank;
            self.oldest[at] = youngest;
        }
    }

    /// Other requests of a bank than before.
    fn set(&mut self, bank: u8, places: Places, ages: &[u64; PLACES]) {
        let (at, bit) = (usize::from(bank), 1u32 << bank);
        self.places[at] = places;
        if places == 0 {
            self.banks &= !bit;
        } else {
            self.banks |= bit;
            self.oldest[at] = oldest(places, ages);
        }
    }

    /// Banks that have some at other places than these.
    fn without(&self, places: Places) -> u32 {
        let (mut left, mut banks) = (self.banks, 0);
        while left != 0 {
            let bank = left.trailing_zeros();
            left &= left - 1;
            banks |= u32::from(self.places[bank as usize] & !places != 0) << bank;
        }
        banks
    }

    /// The place of the oldest request of some banks, all of which have one.
    fn oldest_of(&self, mut banks: u32) -> u8 {
        let mut found = self.oldest[banks.trailing_zeros() as usize];
        banks &= banks - 1;
        while banks != 0 {
            let other = self.oldest[banks.trailing_zeros() as usize];
            banks &= banks - 1;
            found = if other.age < found.age { other } else { found };
        }
        found.place
    }

    /// The same at other places than these.
    fn oldest_but(&self, mut banks: u32, places: Places, ages: &[u64; PLACES]) -> u8 {
        let mut all = 0;
        while banks != 0 {
            all |= self.places[banks.trailing_zeros() as usize];
            banks &= banks - 1;
        }
        oldest(all & !places, ages).place
    }
}

/// The oldest of some places, of which there is one.
fn oldest(mut places: Places, ages: &[u64; PLACES]) -> Oldest {
    let mut found = Oldest { age: u64::MAX, place: 0 };
    while places != 0 {
        let place = places.trailing_zeros() as u8;
        places &= places - 1;
        let age = ages[usize::from(place) % PLACES];
        if age < found.age {
            found = Oldest { age, place };
        }
    }
    found
}

/// Banks of requests, as masks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Banks {
    /// Some have their row open.
    pub hit: u32,
    /// Some have it not.
    pub other: u32,
    /// Places of requests whose row PIM has. They count in neither.
    pub blocked: Places,
}

/// A queue.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// By place: the request, and how many of its kind came before it since reset.
    requests: [Request; PLACES],
    ages: [u64; PLACES],
    /// Places that are taken.
    taken: Places,
    /// Requests whose row is open, and others.
    hit: OfBanks,
    other: OfBanks,
    len: usize,
    age: u64,
    /// How many want a row of each sort.
    rows: [u8; SORTS],
}

impl Queue {
    /// A queue that is empty.
    pub(super) fn new() -> Self {
        let none = Request { write: false, bank: 0, row: 0, column: 0, tag: 0 };
        Self {
            requests: [none; PLACES],
            ages: [0; PLACES],
            taken: 0,
            hit: OfBanks::new(),
            other: OfBanks::new(),
            len: 0,
            age: 0,
            rows: [0; SORTS],
        }
    }

    /// As new.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a request may want a row.
    #[inline]
    fn may_want(&self, row: u16) -> bool {
        self.rows[usize::from(row) % SORTS] > 0
    }

    /// Whether a request is of the same burst.
    #[inline]
    pub(super) fn has(&self, request: &Request) -> bool {
        self.may_want(request.row) && self.finds(request)
    }

    fn finds(&self, request: &Request) -> bool {
        let bank = usize::from(request.bank);
        let mut left = self.hit.places[bank] | self.other.places[bank];
        while left != 0 {
            if self.requests[left.trailing_zeros() as usize].is_of(request) {
                return true;
            }
            left &= left - 1;
        }
        false
    }

    /// Which banks are wanted, apart from rows that PIM has.
    #[inline]
    pub(super) fn banks(&self, of_pim: &[Option<u16>; 2]) -> Banks {
        if of_pim.iter().flatten().any(|&row| self.may_want(row)) {
            return self.banks_but(of_pim);
        }
        Banks { hit: self.hit.banks, other: self.other.banks, blocked: 0 }
    }

    fn banks_but(&self, of_pim: &[Option<u16>; 2]) -> Banks {
        let mut found = Banks { hit: self.hit.banks, other: self.other.banks, blocked: 0 };
        let mut left = self.taken;
        while left != 0 {
            let place = left.trailing_zeros();
            left &= left - 1;
            let row = Some(self.requests[place as usize].row);
            found.blocked |= Places::from(of_pim.contains(&row)) << place;
        }
        if found.blocked != 0 {
            found.hit = self.hit.without(found.blocked);
            found.other = self.other.without(found.blocked);
        }
        found
    }

    /// The oldest request of some banks, all of which have one, whose row is open, or is not, and its place.
    #[inline]
    pub(super) fn oldest(&self, banks: u32, hit: bool, blocked: Places) -> Option<(u8, Request)> {
        (banks != 0).then(|| {
            let place = self.oldest_place(banks, hit, blocked);
            (place, self.requests[usize::from(place) % PLACES])
        })
    }

    fn oldest_place(&self, banks: u32, hit: bool, blocked: Places) -> u8 {
        let of_banks = if hit { &self.hit } else { &self.other };
        match blocked {
            0 => of_banks.oldest_of(banks),
            _ => of_banks.oldest_but(banks, blocked, &self.ages),
        }
    }

    pub(super) fn push(&mut self, request: Request, hit: bool) {
        let place = self.taken.trailing_ones() as u8;
        let (at, youngest) = (usize::from(place), Oldest { age: self.age, place });
        self.taken |= 1 << place;
        (self.requests[at], self.ages[at]) = (request, self.age);
        self.age += 1;
        self.len += 1;
        self.rows[usize::from(request.row) % SORTS] += 1;
        let of_banks = if hit { &mut self.hit } else { &mut self.other };
        of_banks.push(request.bank, youngest);
    }

    pub(super) fn remove(&mut self, place: u8) {
        let Request { bank, row, .. } = self.requests[usize::from(place) % PLACES];
        let bit: Places = 1 << place;
        self.taken &= !bit;
        self.len -= 1;
        self.rows[usize::from(row) % SORTS] -= 1;
        let at = usize::from(bank);
        let of_banks = if self.hit.places[at] & bit != 0 { &mut self.hit } else { &mut self.other };
        of_banks.set(bank, of_banks.places[at] & !bit, &self.ages);
    }

    /// A row is opened.
    pub(super) fn open(&mut self, bank: u8, row: u16) {
        let at = usize::from(bank);
        let all = self.hit.places[at] | self.other.places[at];
        let (mut left, mut hit) = (all, 0);
        while left != 0 {
            let place = left.trailing_zeros();
            left &= left - 1;
            hit |= Places::from(self.requests[place as usize].row == row) << place;
        }
        self.hit.set(bank, hit, &self.ages);
        self.other.set(bank, all & !hit, &self.ages);
    }

    /// Rows are closed.
    pub(super) fn close(&mut self, banks: u32) {
        let mut left = banks & self.hit.banks;
        while left != 0 {
            let bank = left.trailing_zeros() as u8;
            left &= left - 1;
            let at = usize::from(bank);
            let all = self.hit.places[at] | self.other.places[at];
            self.hit.set(bank, 0, &self.ages);
            self.other.set(bank, all, &self.ages);
        }
    }
}
