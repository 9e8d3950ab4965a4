// SPDX-License-Identifier: MIT
//! A queue whose users know that there is room: takes and gives one entry in every cycle.
//!
//! Twin of `rtl/prim/fifo.sv`.

/// A queue of at most `DEPTH` entries.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<T, const DEPTH: usize> {
    /// A ring.
    entries: [T; DEPTH],
    head: usize,
    count: usize,
}

impl<T: Copy + Default, const DEPTH: usize> Fifo<T, DEPTH> {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self { entries: [T::default(); DEPTH], head: 0, count: 0 }
    }

    /// The oldest entry.
    pub(crate) fn oldest(&self) -> Option<&T> {
        (self.count > 0).then(|| &self.entries[self.head])
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether there is no room.
    pub(crate) fn is_full(&self) -> bool {
        self.count == DEPTH
    }

    /// How many entries are in it.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Its entries, the oldest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        (0..self.count).map(|place| &self.entries[(self.head + place) % DEPTH])
    }

    /// The same, to be changed.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let (before, behind) = self.entries.split_at_mut(self.head);
        behind.iter_mut().chain(before).take(self.count)
    }

    /// The end of a cycle: the oldest entry leaves, another enters. Nothing leaves an empty queue, and
    /// nothing enters a full one.
    pub(crate) fn clock(&mut self, pop: bool, push: Option<T>) {
        let tail = (self.head + self.count) % DEPTH;
        let enters = push.filter(|_| self.count < DEPTH);
        if pop && self.count > 0 {
            self.head = (self.head + 1) % DEPTH;
            self.count -= 1;
        }
        if let Some(entry) = enters {
            self.entries[tail] = entry;
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_in_the_order_in_which_they_came() {
        let mut fifo = Fifo::<u8, 2>::new();
        fifo.clock(true, Some(1));
        fifo.clock(false, Some(2));
        fifo.clock(false, Some(3)); // it is full
        assert_eq!(fifo.oldest(), Some(&1));
        fifo.clock(true, None);
        assert_eq!(fifo.oldest(), Some(&2));
        fifo.clock(true, Some(4));
        assert_eq!(fifo.oldest(), Some(&4));
        fifo.clock(true, None);
        assert_eq!(fifo.oldest(), None);
    }

    #[test]
    fn all_entries_are_changed_and_no_others() {
        let mut fifo = Fifo::<u8, 4>::new();
        (1..=3).for_each(|entry| fifo.clock(false, Some(entry)));
        (4..=6).for_each(|entry| fifo.clock(true, Some(entry)));
        fifo.all_mut().for_each(|entry| *entry += 10);
        assert_eq!(fifo.all().copied().collect::<Vec<_>>(), [14, 15, 16]);
        assert_eq!(fifo.entries.iter().filter(|entry| **entry < 10).count(), 1);
    }
}
