// SPDX-License-Identifier: MIT
//! A processor's last-level cache between its loads and the memory controller: which lines a load brings.
//!
//! Lines of 64 bytes in sets, of which the least recently used leaves. With a prefetcher, a load that misses brings the next line as
//! well, and so does the first that is for a line which came so (tagged prefetch). Only loads of memory that nobody writes go
//! through it, so that no line is ever dirty.

/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;

/// How a cache is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    /// Bytes that it holds.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: usize,
    /// Whether lines are brought ahead.
    pub prefetches: bool,
}

impl Default for CacheShape {
    /// A phone's: 8 MiB in 16 ways, with a prefetcher.
    fn default() -> Self {
        Self { bytes: 8 << 20, ways: 16, prefetches: true }
    }
}

/// A line that is held.
#[derive(Clone, Copy, Debug)]
struct Line {
    number: u64,
    /// It was prefetched, and no load has been for it.
    is_ahead: bool,
}

/// A cache, empty at first.
#[derive(Clone, Debug)]
pub struct Cache {
    shape: CacheShape,
    /// The lines of each set, the one that was used last in front.
    sets: Vec<Vec<Line>>,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Panics
    ///
    /// If its bytes are no sets of so many lines.
    pub fn new(shape: CacheShape) -> Self {
        let of_set = shape.ways as u64 * LINE_BYTES;
        assert!(of_set > 0 && shape.bytes >= of_set && shape.bytes.is_multiple_of(of_set));
        Self { shape, sets: vec![Vec::with_capacity(shape.ways); (shape.bytes / of_set) as usize] }
    }

    /// A load from an address: the numbers of the lines that it brings, the one that it waits for first.
    pub fn load(&mut self, address: u64) -> [Option<u64>; 2] {
        let line = address / LINE_BYTES;
        let (is_miss, is_first) = match self.find(line) {
            Some(held) => (false, std::mem::take(&mut held.is_ahead)),
            None => (true, true),
        };
        if is_miss {
            self.fill(Line { number: line, is_ahead: false });
        }
        let prefetches = is_first && self.shape.prefetches && !self.holds(line + 1);
        if prefetches {
            self.fill(Line { number: line + 1, is_ahead: true });
        }
        [is_miss.then_some(line), prefetches.then_some(line + 1)]
    }

    fn set(&mut self, line: u64) -> &mut Vec<Line> {
        let sets = self.sets.len() as u64;
        &mut self.sets[(line % sets) as usize]
    }

    fn holds(&mut self, line: u64) -> bool {
        self.set(line).iter().any(|held| held.number == line)
    }

    /// A line that is there; it is used.
    fn find(&mut self, line: u64) -> Option<&mut Line> {
        let set = self.set(line);
        let place = set.iter().position(|held| held.number == line)?;
        set[..=place].rotate_right(1);
        set.first_mut()
    }

    fn fill(&mut self, line: Line) {
        let ways = self.shape.ways;
        let set = self.set(line.number);
        set.truncate(ways - 1);
        set.insert(0, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(prefetches: bool) -> Cache {
        // Four sets of two lines.
        Cache::new(CacheShape { bytes: 512, ways: 2, prefetches })
    }

    #[test]
    fn the_least_recently_used_line_leaves() {
        let mut cache = small(false);
        let mut load = |line: u64| cache.load(LINE_BYTES * line + 17)[0].is_some();
        let misses = [0, 4, 0, 8, 0, 4, 1].map(&mut load);
        assert_eq!(misses, [true, true, false, true, false, true, true]);
        // 4 has taken the place of 8, 0 is still there.
        assert_eq!([0, 4, 8].map(load), [false, false, true]);
    }

    #[test]
    fn a_miss_and_the_first_use_of_what_was_prefetched_bring_the_next_line() {
        let mut cache = small(true);
        assert_eq!(cache.load(0), [Some(0), Some(1)]);
        assert_eq!(cache.load(63), [None, None]);
        assert_eq!(cache.load(64), [None, Some(2)], "it was brought");
        assert_eq!(cache.load(64), [None, None]);
        assert_eq!(cache.load(0), [None, None]);
        assert_eq!(small(false).load(128), [Some(2), None]);
    }

    #[test]
    fn what_fits_is_brought_once() {
        let mut cache = Cache::new(CacheShape::default());
        let mut brought = |_| {
            let lines = (0..(4 << 20) / 32).map(|burst| cache.load(32 * burst));
            lines.flatten().flatten().count()
        };
        // And the line behind the last.
        assert_eq!([0, 1].map(&mut brought), [(4 << 20) / 64 + 1, 0]);
    }
}
