// SPDX-License-Identifier: MIT
//! Reads or writes that wait, sorted by their banks. The hardware has one queue: here age is a number.

use super::core::Request;

/// Rows that are told apart when a queue is asked whether one may be wanted.
const SORTS: usize = 64;

/// A request that waits.
#[derive(Clone, Copy, Debug)]
struct Entry {
    request: Request,
    /// Requests of its kind before it since reset.
    age: u64,
    /// Its row is open.
    hit: bool,
}

/// The oldest request of a bank whose row is open, or of those whose is not.
#[derive(Clone, Copy, Debug, Default)]
struct Oldest {
    age: u64,
    place: u8,
}

/// Banks of requests, as masks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Banks {
    /// Some have their row open.
    pub hit: u32,
    /// Some have it not.
    pub other: u32,
    /// There is a request whose row PIM has. It counts in neither.
    pub blocked: bool,
}

/// A queue.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// By bank, the oldest first.
    banks: Vec<Vec<Entry>>,
    /// Banks with requests whose row is open, and with others; and the oldest of each bank of the masks.
    hit: u32,
    other: u32,
    oldest_hit: [Oldest; 32],
    oldest_other: [Oldest; 32],
    len: usize,
    age: u64,
    /// How many want a row of each sort.
    rows: [u8; SORTS],
}

impl Queue {
    /// A queue with room for so many requests of any bank.
    pub(super) fn new(depth: usize) -> Self {
        let banks = (0..32).map(|_| Vec::with_capacity(depth)).collect();
        let oldest = [Oldest::default(); 32];
        Self {
            banks,
            hit: 0,
            other: 0,
            oldest_hit: oldest,
            oldest_other: oldest,
            len: 0,
            age: 0,
            rows: [0; SORTS],
        }
    }

    /// As new; the room stays.
    pub(super) fn clear(&mut self) {
        self.banks.iter_mut().for_each(Vec::clear);
        (self.hit, self.other, self.len, self.age) = (0, 0, 0, 0);
        self.rows = [0; SORTS];
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a request may want a row.
    pub(super) fn may_want(&self, row: u16) -> bool {
        self.rows[usize::from(row) % SORTS] > 0
    }

    /// Whether a request is of the same burst.
    pub(super) fn has(&self, request: &Request) -> bool {
        let of_bank = &self.banks[usize::from(request.bank)];
        self.len > 0 && of_bank.iter().any(|entry| entry.request.is_of(request))
    }

    /// Which banks are wanted, apart from rows that PIM has.
    pub(super) fn banks(&self, of_pim: &[Option<u16>; 2]) -> Banks {
        let mut found = Banks { hit: self.hit, other: self.other, blocked: false };
        if *of_pim == [None; 2] {
            return found;
        }
        (found.hit, found.other) = (0, 0);
        for (bank, entries) in self.banks.iter().enumerate() {
            for entry in entries {
                match (of_pim.contains(&Some(entry.request.row)), entry.hit) {
                    (true, _) => found.blocked = true,
                    (_, true) => found.hit |= 1 << bank,
                    _ => found.other |= 1 << bank,
                }
            }
        }
        found
    }

    /// The oldest request of some banks whose row is open, or is not, and its place.
    pub(super) fn oldest(
        &self,
        mut banks: u32,
        hit: bool,
        of_pim: &[Option<u16>; 2],
    ) -> Option<(usize, Request)> {
        if *of_pim == [None; 2] {
            return self.oldest_of(banks & if hit { self.hit } else { self.other }, hit);
        }
        let mut oldest: Option<(usize, &Entry)> = None;
        while banks != 0 {
            let entries = &self.banks[banks.trailing_zeros() as usize];
            banks &= banks - 1;
            let is_wanted =
                |entry: &&Entry| entry.hit == hit && !of_pim.contains(&Some(entry.request.row));
            let mut places = entries.iter().enumerate();
            if let Some((place, entry)) = places.find(|(_, entry)| is_wanted(entry))
                && oldest.is_none_or(|(_, oldest)| entry.age < oldest.age)
            {
                oldest = Some((place, entry));
            }
        }
        oldest.map(|(place, entry)| (place, entry.request))
    }

    /// The same where PIM has no row that is wanted, of banks that have such a request.
    fn oldest_of(&self, mut banks: u32, hit: bool) -> Option<(usize, Request)> {
        if banks == 0 {
            return None;
        }
        let of_banks = if hit { &self.oldest_hit } else { &self.oldest_other };
        let mut bank = banks.trailing_zeros() as usize;
        banks &= banks - 1;
        while banks != 0 {
            let other = banks.trailing_zeros() as usize;
            banks &= banks - 1;
            if of_banks[other].age < of_banks[bank].age {
                bank = other;
            }
        }
        let place = usize::from(of_banks[bank].place);
        Some((place, self.banks[bank][place].request))
    }

    pub(super) fn push(&mut self, request: Request, hit: bool) {
        let entry = Entry { request, age: self.age, hit };
        self.age += 1;
        self.len += 1;
        self.rows[usize::from(request.row) % SORTS] += 1;
        let of_bank = &mut self.banks[usize::from(request.bank)];
        let oldest = Oldest { age: entry.age, place: of_bank.len() as u8 };
        of_bank.push(entry);
        let (mask, of_banks) = match hit {
            true => (&mut self.hit, &mut self.oldest_hit),
            false => (&mut self.other, &mut self.oldest_other),
        };
        if *mask >> request.bank & 1 == 0 {
            *mask |= 1 << request.bank;
            of_banks[usize::from(request.bank)] = oldest;
        }
    }

    pub(super) fn remove(&mut self, bank: u8, place: usize) {
        let entry = self.banks[usize::from(bank)].remove(place);
        self.len -= 1;
        self.rows[usize::from(entry.request.row) % SORTS] -= 1;
        self.count(bank);
    }

    /// A row is opened.
    pub(super) fn open(&mut self, bank: u8, row: u16) {
        for entry in &mut self.banks[usize::from(bank)] {
            entry.hit = entry.request.row == row;
        }
        self.count(bank);
    }

    /// Rows are closed.
    pub(super) fn close(&mut self, banks: u32) {
        let mut left = banks & self.hit;
        while left != 0 {
            let bank = left.trailing_zeros() as u8;
            left &= left - 1;
            self.banks[usize::from(bank)].iter_mut().for_each(|entry| entry.hit = false);
            self.count(bank);
        }
    }

    /// Brings the masks of a bank and its oldest requests up to date.
    fn count(&mut self, bank: u8) {
        let (bit, at) = (1u32 << bank, usize::from(bank));
        let (mut hit, mut other) = (0, 0);
        // The oldest last.
        for (place, entry) in self.banks[at].iter().enumerate().rev() {
            let oldest = Oldest { age: entry.age, place: place as u8 };
            if entry.hit {
                (hit, self.oldest_hit[at]) = (bit, oldest);
            } else {
                (other, self.oldest_other[at]) = (bit, oldest);
            }
        }
        self.hit = self.hit & !bit | hit;
        self.other = self.other & !bit | other;
    }
}
