// SPDX-License-Identifier: MIT
//! A queue of requests.

/// A queue of at most `DEPTH` entries. An entry is *sent* when its port takes it, and stays until what
/// it asks for is *done*, which happens in the order of the entries.
///
/// In hardware: a memory with a write pointer and two read pointers.
#[derive(Clone, Debug)]
pub struct Queue<T, const DEPTH: usize> {
    /// A ring.
    entries: [Option<T>; DEPTH],
    head: usize,
    count: usize,
    /// How many of them, from the oldest, are sent.
    sent: usize,
}

impl<T: Copy, const DEPTH: usize> Queue<T, DEPTH> {
    pub fn new() -> Self {
        Self { entries: [None; DEPTH], head: 0, count: 0, sent: 0 }
    }

    pub fn has_room(&self) -> bool {
        self.count < DEPTH
    }

    /// Takes an entry, if there is room.
    pub fn push(&mut self, entry: T) {
        if self.has_room() {
            self.entries[(self.head + self.count) % DEPTH] = Some(entry);
            self.count += 1;
        }
    }

    /// Whether an entry is sent and not done.
    pub fn has_sent(&self) -> bool {
        self.sent > 0
    }

    fn get(&self, n: usize) -> Option<&T> {
        let place = (self.head + n) % DEPTH;
        if n < self.count { self.entries[place].as_ref() } else { None }
    }

    /// The first that is not sent.
    pub fn next(&self) -> Option<&T> {
        self.get(self.sent)
    }

    /// The next is sent, if there is one.
    pub fn send(&mut self) {
        self.sent = self.count.min(self.sent + 1);
    }

    /// The first that is not done.
    pub fn oldest(&self) -> Option<&T> {
        self.get(0)
    }

    /// The oldest is done, if it is sent.
    pub fn done(&mut self) -> Option<T> {
        self.sent = self.sent.checked_sub(1)?;
        let oldest = self.entries[self.head].take();
        self.head = (self.head + 1) % DEPTH;
        self.count -= 1;
        oldest
    }

    /// All that are not done, in any order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let used = if self.count == 0 { 0 } else { DEPTH };
        self.entries[..used].iter().flatten()
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_stays_until_it_is_done() {
        let mut queue = Queue::<_, 3>::new();
        assert_eq!(queue.done(), None);
        (1..=3).for_each(|entry| queue.push(entry));
        assert!(!queue.has_room());
        assert_eq!(queue.done(), None, "it is not sent");
        queue.send();
        assert_eq!((queue.oldest(), queue.next(), queue.has_sent()), (Some(&1), Some(&2), true));
        assert_eq!(queue.done(), Some(1));
        assert!(!queue.has_sent());
        assert_eq!((queue.oldest(), queue.next()), (Some(&2), Some(&2)));
        assert!(queue.has_room());
        queue.push(4);
        assert_eq!(queue.iter().sum::<i32>(), 9);
    }
}
