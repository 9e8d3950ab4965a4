// SPDX-License-Identifier: MIT
//! A queue of requests.

use crate::lap::Walk;

/// A queue of at most `DEPTH` entries, a power of two. An entry is *sent* when its port takes it, and keeps its
/// room until what it asks for is *done*, which happens in the order of the entries.
///
/// In hardware: a memory whose next two entries are read ahead, one into its output register and one into a
/// register behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue<T, const DEPTH: usize> {
    /// A ring.
    entries: [T; DEPTH],
    /// Entries that are done, that have been read ahead, that have entered.
    head: u32,
    read: u32,
    tail: u32,
    /// An entry is in the memory's output register.
    fetched: bool,
    /// The first that is not sent.
    next: Option<T>,
}

impl<T: Copy + Default, const DEPTH: usize> Queue<T, DEPTH> {
    const MASK: u32 = 2 * DEPTH as u32 - 1;

    pub fn new() -> Self {
        const { assert!(DEPTH.is_power_of_two()) };
        let entries = [T::default(); DEPTH];
        Self { entries, head: 0, read: 0, tail: 0, fetched: false, next: None }
    }

    pub fn has_room(&self) -> bool {
        self.tail.wrapping_sub(self.head) & DEPTH as u32 == 0
    }

    /// Whether all entries are done.
    pub fn is_empty(&self) -> bool {
        self.tail.wrapping_sub(self.head) & Self::MASK == 0
    }

    /// The first that is not sent, once it has been read.
    pub fn next(&self) -> Option<&T> {
        self.next.as_ref()
    }

    /// Whether one entry is not done.
    pub fn is_single(&self) -> bool {
        self.tail.wrapping_sub(self.head) & Self::MASK == 1
    }

    /// A cycle: the next is sent, the oldest is done. Tells whether anything has happened. What enters comes
    /// behind it.
    pub fn step(&mut self, send: bool, done: bool) -> bool {
        let loads = self.fetched && (self.next.is_none() || send);
        let reads = self.read != self.tail && (!self.fetched || loads);
        if loads {
            self.next = Some(self.entries[self.read.wrapping_sub(1) as usize % DEPTH]);
        } else if send {
            self.next = None;
        }
        self.fetched = reads || self.fetched && !loads;
        self.read = self.read.wrapping_add(reads.into());
        self.head = self.head.wrapping_add(done.into());
        loads || reads || send || done
    }

    /// The first that is not sent, where the one behind it has been read ahead as well.
    pub fn ahead(&self) -> Option<&T> {
        self.next.as_ref().filter(|_| self.fetched)
    }

    /// Cycles go by in which one is sent, one is done, and those behind it are read ahead as before.
    pub fn pass(&mut self) {
        self.next = Some(self.entries[self.read.wrapping_sub(1) as usize % DEPTH]);
        self.read = self.read.wrapping_add(1);
        self.head = self.head.wrapping_add(1);
    }

    /// Goes over what is in it, for [laps](crate::lap), the oldest first.
    pub fn walk(&mut self, walk: &mut Walk<'_>, entry: impl Fn(&mut T, &mut Walk<'_>)) {
        let Self { entries, head, read, tail, fetched, next } = self;
        let count = tail.wrapping_sub(*head) & Self::MASK;
        walk.still(count);
        walk.still(tail.wrapping_sub(*read));
        walk.still(*fetched);
        walk.still(next.is_some());
        for place in 0..count {
            entry(&mut entries[head.wrapping_add(place) as usize % DEPTH], walk);
        }
        next.iter_mut().for_each(|next| entry(next, walk));
        let before = *head;
        [&mut *head, read, tail].into_iter().for_each(|place| walk.moves(place));
        entries.rotate_right(head.wrapping_sub(before) as usize % DEPTH);
    }

    /// An entry enters in this cycle.
    pub fn push(&mut self, entry: T) {
        self.entries[self.tail as usize % DEPTH] = entry;
        self.tail = self.tail.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_ahead_and_keeps_its_room_until_it_is_done() {
        let mut queue = Queue::<_, 2>::new();
        queue.push(1);
        assert!(queue.step(false, false) && queue.next().is_none() && queue.is_single());
        queue.push(2);
        assert!(queue.step(false, false) && !queue.has_room());
        assert_eq!(queue.next(), Some(&1), "three cycles after it has entered");
        assert!(queue.step(true, false));
        assert_eq!(queue.next(), Some(&2), "in the cycle after the one before is sent");
        assert!(!queue.has_room());
        assert!(queue.step(true, true));
        assert_eq!(queue.next(), None);
        assert!(queue.has_room() && queue.is_single());
        assert!(queue.step(false, true) && queue.is_empty());
        assert!(!queue.step(false, false), "nothing happens");
    }
}
