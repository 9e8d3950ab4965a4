// SPDX-License-Identifier: MIT
//! Queues of commands between the dispatcher and the ports.

use std::collections::VecDeque;

/// A queue of at most `DEPTH` entries. An entry is *sent* when its port takes it, and stays until what
/// it asks for is *done*, which happens in the order of the entries.
///
/// In hardware: a memory with a write pointer and two read pointers.
#[derive(Debug)]
pub struct Queue<T, const DEPTH: usize> {
    entries: VecDeque<T>,
    /// How many of them, from the front, are sent.
    sent: usize,
}

impl<T, const DEPTH: usize> Queue<T, DEPTH> {
    pub fn new() -> Self {
        Self { entries: VecDeque::with_capacity(DEPTH), sent: 0 }
    }

    pub fn has_room(&self) -> bool {
        self.entries.len() < DEPTH
    }

    pub fn push(&mut self, entry: T) {
        debug_assert!(self.has_room());
        self.entries.push_back(entry);
    }

    /// The first that is not sent.
    pub fn next(&self) -> Option<&T> {
        self.entries.get(self.sent)
    }

    /// The same, to be changed.
    pub fn next_mut(&mut self) -> Option<&mut T> {
        self.entries.get_mut(self.sent)
    }

    /// The next is sent.
    pub fn send(&mut self) {
        debug_assert!(self.next().is_some());
        self.sent += 1;
    }

    /// The first that is not done.
    pub fn oldest(&self) -> Option<&T> {
        self.entries.front()
    }

    /// The oldest is done.
    pub fn done(&mut self) -> Option<T> {
        self.sent = self.sent.saturating_sub(1);
        self.entries.pop_front()
    }

    /// All that are not done.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_stays_until_it_is_done() {
        let mut queue = Queue::<_, 3>::new();
        (1..=3).for_each(|entry| queue.push(entry));
        assert!(!queue.has_room());
        queue.send();
        assert_eq!((queue.oldest(), queue.next()), (Some(&1), Some(&2)));
        assert_eq!(queue.done(), Some(1));
        assert_eq!((queue.oldest(), queue.next()), (Some(&2), Some(&2)));
        assert!(queue.has_room());
    }
}
