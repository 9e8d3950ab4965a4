// SPDX-License-Identifier: MIT
//! What a ping-pong buffer holds: a queue of fillings, and the one that is being written.
//!
//! There are no sides here. A filling joins the queue when it is complete and leaves it when it is
//! released; the oldest is the one to read. That the hardware never fills what is being read follows
//! where its outputs are those of this queue.
//!
//! ```
//! use pimlico_golden::pingpong::Fillings;
//!
//! let mut buffer = Fillings::new(2, 16);
//! assert!(buffer.write(7, false) && buffer.write(8, true));
//! assert_eq!(buffer.oldest(), Some(&[7, 8][..]));
//! ```

use std::collections::VecDeque;

/// Fillings of words.
#[derive(Clone, Debug)]
pub struct Fillings<W> {
    room: usize,
    depth: usize,
    complete: VecDeque<Vec<W>>,
    coming: Vec<W>,
}

impl<W> Fillings<W> {
    /// Nothing yet. There is room for so many fillings of up to `depth` words.
    pub fn new(room: usize, depth: usize) -> Self {
        Self { room, depth, complete: VecDeque::new(), coming: Vec::new() }
    }

    /// Whether a word can be written.
    pub fn has_room(&self) -> bool {
        self.complete.len() < self.room
    }

    /// Adds a word to the filling that is coming, if there is room.
    pub fn write(&mut self, word: W, last: bool) -> bool {
        let taken = self.has_room();
        if taken {
            self.coming.push(word);
            if last || self.coming.len() == self.depth {
                self.complete.push_back(std::mem::take(&mut self.coming));
            }
        }
        taken
    }

    /// The oldest complete filling: the one that can be read.
    pub fn oldest(&self) -> Option<&[W]> {
        self.complete.front().map(Vec::as_slice)
    }

    /// Gives up the oldest complete filling, if there is one.
    pub fn release(&mut self) -> bool {
        self.complete.pop_front().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fillings_leave_in_the_order_in_which_they_came() {
        let mut buffer = Fillings::new(2, 3);
        assert!(!buffer.release());
        for word in 0..5 {
            assert!(buffer.write(word, word == 4), "{word}");
        }
        assert!(!buffer.has_room() && !buffer.write(9, true));
        assert_eq!(buffer.oldest(), Some(&[0, 1, 2][..]), "three words fill a side");
        assert!(buffer.release());
        assert!(buffer.write(5, false));
        assert_eq!(buffer.oldest(), Some(&[3, 4][..]));
        assert!(buffer.release());
        assert_eq!(buffer.oldest(), None, "the next is not complete");
    }
}
