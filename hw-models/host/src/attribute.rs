// SPDX-License-Identifier: MIT
//! How a processor reaches memory: each load by itself, or through its caches (PIM-SHERPA, sections 2.4 and 3.1).
//!
//! The blocks of LPDDR5X-PIM count on a load being a read: a MAC. From cacheable memory a load that hits is none, one that misses is a whole
//! line, two bursts, and a prefetcher's lines are reads that nobody asked for.

use crate::cache::{Cache, LINE_BYTES};
use pimlico_device::lp5::address::BURST_BYTES;
use std::ops::Range;

/// How loads from a region go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attribute {
    /// Each is a request to the memory controller, in the order of the program.
    #[default]
    NonCacheable,
    /// Through the last-level cache.
    Cacheable,
}

impl Attribute {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NonCacheable => "non-cacheable",
            Self::Cacheable => "cacheable",
        }
    }
}

/// Weights that are not cacheable have no contiguous memory that is large enough: what a device of Linux keeps for such (CMA), of
/// which PIM-SHERPA's phone has about 1 GB (section 5).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what}: {wanted} bytes of contiguous memory that is not cacheable, expected at most {there}"
)]
pub struct NoContiguous {
    /// What needs it.
    pub what: String,
    /// Bytes that it needs.
    pub wanted: u64,
    /// Bytes that there are.
    pub there: u64,
}

impl NoContiguous {
    /// Whether something fits; `there` is none, if memory is not limited.
    pub fn check(what: &str, wanted: u64, there: Option<u64>) -> Result<(), Self> {
        match there.filter(|there| *there < wanted) {
            Some(there) => Err(Self { what: what.to_owned(), wanted, there }),
            None => Ok(()),
        }
    }
}

/// A processor's way to memory: one region is as its attribute says, all others are not cacheable.
#[derive(Clone, Debug)]
pub struct MemoryPath {
    region: Range<u64>,
    attribute: Attribute,
    cache: Cache,
}

impl MemoryPath {
    /// A path with an empty cache.
    pub fn new(region: Range<u64>, attribute: Attribute, cache: Cache) -> Self {
        Self { region, attribute, cache }
    }

    /// A load of a burst: the addresses of the bursts that the memory controller is asked for.
    pub fn load(&mut self, address: u64, mut burst: impl FnMut(u64)) {
        if self.attribute == Attribute::NonCacheable || !self.region.contains(&address) {
            burst(address);
            return;
        }
        let lines = self.cache.load(address).into_iter().flatten().map(|line| line * LINE_BYTES);
        // A prefetcher stays within the region, as it stays within a page.
        for line in lines.filter(|line| self.region.contains(line)) {
            (line..line + LINE_BYTES).step_by(BURST_BYTES).for_each(&mut burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::CacheShape;

    #[test]
    fn what_does_not_fit_is_named_with_its_bytes() {
        assert_eq!(NoContiguous::check("a", 5, None), Ok(()));
        assert_eq!(NoContiguous::check("a", 5, Some(5)), Ok(()));
        let error = NoContiguous::check("a", 5, Some(4)).expect_err("a byte more");
        assert_eq!(
            error.to_string(),
            "a: 5 bytes of contiguous memory that is not cacheable, expected at most 4"
        );
    }

    #[test]
    fn a_load_is_a_burst_or_lines() {
        let path =
            |attribute| MemoryPath::new(128..1024, attribute, Cache::new(CacheShape::default()));
        let bursts = |path: &mut MemoryPath, address| {
            let mut found = Vec::new();
            path.load(address, |burst| found.push(burst));
            found
        };
        let mut plain = path(Attribute::NonCacheable);
        assert_eq!(
            [160, 160, 64].map(|at| bursts(&mut plain, at)),
            [vec![160], vec![160], vec![64]]
        );
        let mut cached = path(Attribute::Cacheable);
        assert_eq!(bursts(&mut cached, 160), [128, 160, 192, 224]);
        assert_eq!(bursts(&mut cached, 128), [0; 0]);
        assert_eq!(bursts(&mut cached, 224), [256, 288], "the line behind one that was prefetched");
        assert_eq!([64, 64].map(|at| bursts(&mut cached, at)), [[64]; 2], "outside of the region");
        assert_eq!(bursts(&mut cached, 960), [960, 992], "the next line is outside of it");
    }
}
