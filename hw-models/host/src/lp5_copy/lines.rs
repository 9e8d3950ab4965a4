// SPDX-License-Identifier: MIT
//! The lines of the host's memory that a copy writes: which of them are in the last-level cache, and what they hold.
//!
//! A store to a line that is not there allocates it: its other bytes are filled from memory. A line leaves when its set is full and
//! it was stored to least recently, and is written back. Lines come by stores alone, so that each is dirty.

use crate::cache::LINE_BYTES;
use pimlico_device::lp5::Vector;
use pimlico_device::lp5::address::BURST_BYTES;
use pimlico_device::lp5::layout::LANES;

/// Bursts of a line.
pub const LINE_BURSTS: u64 = LINE_BYTES / BURST_BYTES as u64;
/// Elements of a line.
const LINE_ELEMENTS: usize = LANES * LINE_BURSTS as usize;

/// What a line holds.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    elements: [u16; LINE_ELEMENTS],
    /// Those that are the newest: a bit for each. What comes from memory is for the others.
    newest: u32,
}

/// A line in the cache.
#[derive(Clone, Copy, Debug)]
struct Held {
    line: u64,
    /// Bursts that are on their way from memory.
    filling: u64,
}

/// What a store finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The line.
    Hit,
    /// Not the line, for which another one leaves if the set is full.
    Miss {
        /// The line that leaves.
        leaves: Option<u64>,
    },
    /// Not the line, and all lines of its set are being filled.
    Full,
}

/// The lines of a piece of memory, and a cache.
#[derive(Clone, Debug)]
pub struct Lines {
    lines: Vec<Line>,
    /// The line that was stored to last in front.
    sets: Vec<Vec<Held>>,
    ways: usize,
}

impl Lines {
    /// So many bytes of memory, and an empty cache of sets with so many ways.
    ///
    /// # Panics
    ///
    /// If there are no sets, or no ways.
    pub fn new(bytes: u64, sets: usize, ways: usize) -> Self {
        assert!(sets > 0 && ways > 0, "a cache of {sets} sets of {ways} lines");
        let lines = vec![Line::default(); bytes.div_ceil(LINE_BYTES) as usize];
        Self { lines, sets: vec![Vec::with_capacity(ways); sets], ways }
    }

    fn set(&mut self, line: u64) -> &mut Vec<Held> {
        let sets = self.sets.len() as u64;
        &mut self.sets[(line % sets) as usize]
    }

    /// What a store to a line would find. A hit is counted as a use.
    pub fn find(&mut self, line: u64) -> Found {
        let ways = self.ways;
        let set = self.set(line);
        if let Some(at) = set.iter().position(|held| held.line == line) {
            set[..=at].rotate_right(1);
            return Found::Hit;
        }
        if set.len() < ways {
            return Found::Miss { leaves: None };
        }
        match set.iter().rev().find(|held| held.filling == 0) {
            Some(held) => Found::Miss { leaves: Some(held.line) },
            None => Found::Full,
        }
    }

    /// A line comes, perhaps in the place of another one.
    pub fn allocate(&mut self, line: u64, leaves: Option<u64>) {
        let set = self.set(line);
        set.retain(|held| Some(held.line) != leaves);
        set.insert(0, Held { line, filling: LINE_BURSTS });
        self.lines[line as usize].newest = 0;
    }

    /// Elements are stored to a line, from one of its elements on.
    pub fn store(&mut self, line: u64, first: usize, elements: &[u16]) {
        let held = &mut self.lines[line as usize];
        held.elements[first..first + elements.len()].copy_from_slice(elements);
        (first..first + elements.len()).for_each(|element| held.newest |= 1 << element);
    }

    /// A burst of a line has come from memory. Returns whether it was the last.
    pub fn fill(&mut self, line: u64, burst: u64, data: &Vector) -> bool {
        let held = &mut self.lines[line as usize];
        for (element, bits) in (burst as usize * LANES..).zip(data) {
            if held.newest >> element & 1 == 0 {
                held.elements[element] = *bits;
            }
        }
        let Some(held) = self.set(line).iter_mut().find(|held| held.line == line) else {
            return true;
        };
        held.filling -= 1;
        held.filling == 0
    }

    /// A burst of a line.
    pub fn burst(&self, line: u64, burst: u64) -> Vector {
        let elements = &self.lines[line as usize].elements;
        std::array::from_fn(|lane| elements[burst as usize * LANES + lane])
    }

    /// The lines of the cache in the order of their addresses, which all leave.
    pub fn flush(&mut self) -> Vec<u64> {
        let mut lines: Vec<_> =
            self.sets.iter_mut().flat_map(|set| set.drain(..)).map(|held| held.line).collect();
        lines.sort_unstable();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_full_leaves_for_another() {
        let mut lines = Lines::new(64 * 8, 2, 2);
        for line in [0, 2] {
            assert_eq!(lines.find(line), Found::Miss { leaves: None });
            lines.allocate(line, None);
        }
        assert_eq!(lines.find(4), Found::Full, "both are being filled");
        assert!(!lines.fill(0, 0, &[7; LANES]));
        assert!(lines.fill(0, 1, &[7; LANES]));
        assert_eq!(lines.find(0), Found::Hit);
        // The other one was used longer ago, and is being filled.
        assert_eq!(lines.find(4), Found::Miss { leaves: Some(0) });
        lines.allocate(4, Some(0));
        lines.allocate(1, None);
        assert_eq!(lines.flush(), [1, 2, 4]);
        assert!(lines.flush().is_empty());
    }

    #[test]
    fn what_was_stored_is_newer_than_what_memory_has() {
        let mut lines = Lines::new(128, 1, 1);
        lines.allocate(1, None);
        lines.store(1, 15, &[1, 2]);
        lines.fill(1, 1, &[9; LANES]);
        lines.fill(1, 0, &[8; LANES]);
        let [low, high] = [0, 1].map(|burst| lines.burst(1, burst));
        assert_eq!((low[14], low[15], high[0], high[1]), (8, 1, 2, 9));
        // Another time it all comes from memory.
        lines.allocate(1, Some(1));
        lines.fill(1, 0, &[3; LANES]);
        assert_eq!(lines.burst(1, 0), [3; LANES]);
    }
}
