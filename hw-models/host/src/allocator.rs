// SPDX-License-Identifier: MIT
//! Where the KV caches of requests lie: an allocator of row chunks, and the Va2Pa updates that go with
//! it (LoL-PIM section 5.4).
//!
//! A program on the module names virtual rows; the module's Va2Pa table turns (request, virtual row)
//! into a physical row, one that has the same number in every bank. So the host can give a request any
//! rows, and more of them later, and the program stays as it is.
//!
//! * [`Policy::Lazy`]: a request holds the chunks that its tokens fill, and gets another one, anywhere,
//!   when it outgrows the last.
//! * [`Policy::Static`]: a request holds rows for the maximum length from the beginning, since a
//!   program with physical addresses in it cannot follow a cache that moves or grows.
//!
//! Rows are handed out in chunks of neighbours. A chunk that is free is free for anybody: chunks are all
//! alike, so there is no fragmentation but within a request's last chunk. What was freed last is given
//! out first, in the order of the request that had it.
//!
//! A call that fails changes nothing: an exhausted device refuses the newcomer, or the request that
//! wants to grow, and harms no one.
//!
//! ```
//! use pimlico_host::allocator::{Allocator, Policy, RequestId, Update};
//!
//! let mut rows = Allocator::new(100, 10, Policy::Lazy)?;
//! let first = rows.admit(RequestId(1), 3)?;
//! assert_eq!(first.len(), 10, "a chunk");
//! assert_eq!(rows.grow(RequestId(1), 10)?, [], "there is still room in it");
//! assert_eq!(rows.grow(RequestId(1), 11)?.len(), 10);
//! let freed = rows.finish(RequestId(1))?;
//! assert!(freed.iter().all(|update| update.physical_row.is_none()));
//! assert_eq!(rows.free_rows(), 100);
//! # Ok::<(), pimlico_host::allocator::AllocatorError>(())
//! ```

use std::collections::BTreeMap;

/// A request's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "request {}", self.0)
    }
}

/// When rows are given to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// When it needs them.
    Lazy,
    /// When it begins, and as many as the longest request needs.
    Static {
        /// Rows of the longest request.
        max_rows: u32,
    },
}

/// An entry of the Va2Pa table changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The request whose entry this is.
    pub request: RequestId,
    /// Which of its rows.
    pub virtual_row: u32,
    /// The new place of that row; `None`: it has none any more, and a look-up is a fault.
    pub physical_row: Option<u32>,
}

/// Why rows cannot be given or taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocatorError {
    /// The chunk size.
    #[error("chunks of {chunk_rows} rows in a device of {rows}: expected 1 to {rows}")]
    ChunkRows {
        /// Rows of a chunk.
        chunk_rows: u32,
        /// Rows of the device.
        rows: u32,
    },
    /// The maximum length of the static policy.
    #[error("{max_rows} rows for the longest request in a device of {rows}: expected 1 to {rows}")]
    MaxRows {
        /// Rows of the longest request.
        max_rows: u32,
        /// Rows of the device, in whole chunks.
        rows: u32,
    },
    /// A newcomer has the number of a live request.
    #[error("{0} is live already")]
    Live(RequestId),
    /// No such request is live.
    #[error("{0} is not live")]
    NotLive(RequestId),
    /// More rows than the static policy provides for.
    #[error("{request} wants {rows} rows; the longest request has {max_rows}")]
    TooLong {
        /// Who.
        request: RequestId,
        /// What it wants in total.
        rows: u32,
        /// What it may have.
        max_rows: u32,
    },
    /// The device is full.
    #[error("{request} wants {wanted} more rows; {free} are free")]
    Exhausted {
        /// Who.
        request: RequestId,
        /// What it wants more, in whole chunks.
        wanted: u32,
        /// What there is.
        free: u32,
    },
}

/// The rows of a device and who has them.
#[derive(Clone, Debug)]
pub struct Allocator {
    chunk_rows: u32,
    chunks: u32,
    policy: Policy,
    /// Free chunks, the one to give out next at the end.
    free: Vec<u32>,
    /// The chunks of each live request, in the order of its virtual rows.
    live: BTreeMap<RequestId, Vec<u32>>,
}

impl Allocator {
    /// An empty device of `rows`, given out in chunks of `chunk_rows`. Rows that fill no chunk are not
    /// used.
    pub fn new(rows: u32, chunk_rows: u32, policy: Policy) -> Result<Self, AllocatorError> {
        if chunk_rows == 0 || chunk_rows > rows {
            return Err(AllocatorError::ChunkRows { chunk_rows, rows });
        }
        let chunks = rows / chunk_rows;
        let rows = chunks * chunk_rows;
        match policy {
            Policy::Static { max_rows } if max_rows == 0 || max_rows > rows => {
                return Err(AllocatorError::MaxRows { max_rows, rows });
            }
            _ => {}
        }
        let free = (0..chunks).rev().collect();
        Ok(Self { chunk_rows, chunks, policy, free, live: BTreeMap::new() })
    }

    /// Takes in a request whose cache fills `rows` now.
    pub fn admit(&mut self, request: RequestId, rows: u32) -> Result<Vec<Update>, AllocatorError> {
        if self.live.contains_key(&request) {
            return Err(AllocatorError::Live(request));
        }
        let provided = self.provided(request, rows)?;
        self.extend(request, provided)
    }

    /// Sees that a live request has `rows` in total. Rows that it has already stay where they are.
    pub fn grow(&mut self, request: RequestId, rows: u32) -> Result<Vec<Update>, AllocatorError> {
        if !self.live.contains_key(&request) {
            return Err(AllocatorError::NotLive(request));
        }
        let provided = self.provided(request, rows)?;
        self.extend(request, provided)
    }

    /// Takes back all that a live request has.
    pub fn finish(&mut self, request: RequestId) -> Result<Vec<Update>, AllocatorError> {
        let chunks = self.live.remove(&request).ok_or(AllocatorError::NotLive(request))?;
        let rows = 0..chunks.len() as u32 * self.chunk_rows;
        self.free.extend(chunks.into_iter().rev());
        Ok(rows.map(|virtual_row| Update { request, virtual_row, physical_row: None }).collect())
    }

    /// The rows that a request gets by the policy which needs `rows`.
    fn provided(&self, request: RequestId, rows: u32) -> Result<u32, AllocatorError> {
        match self.policy {
            Policy::Lazy => Ok(rows),
            Policy::Static { max_rows } if rows > max_rows => {
                Err(AllocatorError::TooLong { request, rows, max_rows })
            }
            Policy::Static { max_rows } => Ok(max_rows),
        }
    }

    /// Gives chunks to a request, which may be new, until it has `rows`.
    fn extend(&mut self, request: RequestId, rows: u32) -> Result<Vec<Update>, AllocatorError> {
        let held = self.live.get(&request).map_or(0, Vec::len);
        let wanted = (rows.div_ceil(self.chunk_rows) as usize).saturating_sub(held);
        let Some(left) = self.free.len().checked_sub(wanted) else {
            let wanted = (wanted as u32).saturating_mul(self.chunk_rows);
            return Err(AllocatorError::Exhausted { request, wanted, free: self.free_rows() });
        };
        let chunks = self.live.entry(request).or_default();
        chunks.extend(self.free.drain(left..).rev());
        let chunk_rows = self.chunk_rows;
        let updates = (held..).zip(&chunks[held..]).flat_map(|(number, chunk)| {
            (0..chunk_rows).map(move |row| Update {
                request,
                virtual_row: number as u32 * chunk_rows + row,
                physical_row: Some(chunk * chunk_rows + row),
            })
        });
        Ok(updates.collect())
    }

    /// Rows that can be given out, in whole chunks, used or free.
    pub fn rows(&self) -> u32 {
        self.chunks * self.chunk_rows
    }

    /// Rows that nobody has.
    pub fn free_rows(&self) -> u32 {
        self.free.len() as u32 * self.chunk_rows
    }

    /// How many requests are live.
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// How many rows a live request has.
    pub fn held(&self, request: RequestId) -> Option<u32> {
        Some(self.live.get(&request)?.len() as u32 * self.chunk_rows)
    }

    /// The rows of a live request, virtual row by virtual row.
    pub fn rows_of(&self, request: RequestId) -> Option<impl Iterator<Item = u32> + '_> {
        let chunks = self.live.get(&request)?;
        let rows = |chunk: &u32| chunk * self.chunk_rows..(chunk + 1) * self.chunk_rows;
        Some(chunks.iter().flat_map(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const A: RequestId = RequestId(1);
    const B: RequestId = RequestId(2);

    fn lazy(rows: u32, chunk_rows: u32) -> Allocator {
        Allocator::new(rows, chunk_rows, Policy::Lazy).expect("a valid size")
    }

    #[test]
    fn a_cache_grows_into_rows_that_are_not_adjacent() {
        let mut rows = lazy(12, 2);
        rows.admit(A, 1).expect("room");
        rows.admit(B, 2).expect("room");
        let updates = rows.grow(A, 3).expect("room");
        let update = |virtual_row, row| Update { request: A, virtual_row, physical_row: Some(row) };
        assert_eq!(updates, [update(2, 4), update(3, 5)]);
        assert_eq!(rows.rows_of(A).expect("live").collect::<Vec<_>>(), [0, 1, 4, 5]);
        let updates = rows.finish(B).expect("live");
        assert_eq!(updates.len(), 2);
        let updates = rows.grow(A, 5).expect("room");
        assert_eq!(updates[0].physical_row, Some(2), "what the other has left");
    }

    #[test]
    fn a_full_device_refuses_and_changes_nothing() {
        let mut rows = lazy(10, 2);
        rows.admit(A, 6).expect("room");
        let before = format!("{rows:?}");
        let exhausted = |request, wanted| AllocatorError::Exhausted { request, wanted, free: 4 };
        assert_eq!(rows.admit(B, 5), Err(exhausted(B, 6)));
        assert_eq!(rows.grow(A, 11), Err(exhausted(A, 6)));
        assert_eq!(rows.admit(A, 1), Err(AllocatorError::Live(A)));
        assert_eq!(rows.grow(B, 1), Err(AllocatorError::NotLive(B)));
        assert_eq!(rows.finish(B), Err(AllocatorError::NotLive(B)));
        assert!(matches!(rows.grow(A, u32::MAX), Err(AllocatorError::Exhausted { .. })));
        assert_eq!(format!("{rows:?}"), before);
        rows.admit(B, 4).expect("just enough");
    }

    #[test]
    fn static_allocation_holds_the_maximum_from_the_beginning() {
        let mut rows = Allocator::new(10, 1, Policy::Static { max_rows: 5 }).expect("valid");
        assert_eq!(rows.admit(A, 1).expect("room").len(), 5);
        assert_eq!(rows.grow(A, 5), Ok(vec![]));
        let too_long = AllocatorError::TooLong { request: A, rows: 6, max_rows: 5 };
        assert_eq!(rows.grow(A, 6), Err(too_long));
        rows.admit(B, 5).expect("room");
        assert!(matches!(rows.admit(RequestId(3), 1), Err(AllocatorError::Exhausted { .. })));
    }

    #[test]
    fn sizes_are_checked() {
        let new = |rows, chunk, policy| Allocator::new(rows, chunk, policy).map(|a| a.rows());
        assert_eq!(new(10, 3, Policy::Lazy), Ok(9));
        for chunk_rows in [0, 11] {
            let error = AllocatorError::ChunkRows { chunk_rows, rows: 10 };
            assert_eq!(new(10, chunk_rows, Policy::Lazy), Err(error));
        }
        for max_rows in [0, 10] {
            let error = AllocatorError::MaxRows { max_rows, rows: 9 };
            assert_eq!(new(10, 3, Policy::Static { max_rows }), Err(error));
        }
    }

    /// What may happen to a request.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Arrive(u32),
        Grow(u32),
        Finish,
    }

    fn event() -> impl Strategy<Value = (u32, Event)> {
        let event = prop_oneof![
            2 => (0..40u32).prop_map(Event::Arrive),
            3 => (0..80u32).prop_map(Event::Grow),
            1 => Just(Event::Finish),
        ];
        (0..24u32, event)
    }

    /// The Va2Pa table that the updates make, beside the allocator.
    #[derive(Default)]
    struct Table {
        entries: HashMap<(RequestId, u32), u32>,
        owner: HashMap<u32, RequestId>,
    }

    impl Table {
        fn apply(&mut self, updates: &[Update]) {
            for update in updates {
                let key = (update.request, update.virtual_row);
                let old = match update.physical_row {
                    Some(row) => {
                        let other = self.owner.insert(row, update.request);
                        assert_eq!(other, None, "row {row} has an owner");
                        self.entries.insert(key, row)
                    }
                    None => {
                        let row = self.entries.remove(&key).expect("what goes has been there");
                        assert_eq!(self.owner.remove(&row), Some(update.request));
                        None
                    }
                };
                assert_eq!(old, None, "rows do not move");
            }
        }
    }

    fn run(events: &[(u32, Event)], rows: u32, chunk_rows: u32, policy: Policy) -> usize {
        let mut allocator = Allocator::new(rows, chunk_rows, policy).expect("a valid size");
        let mut table = Table::default();
        // What each live request has asked for at the most.
        let mut asked: HashMap<RequestId, u32> = HashMap::new();
        let mut refused = 0;
        for &(number, event) in events {
            let request = RequestId(number);
            let live = asked.get(&request).copied();
            let free = allocator.free_rows();
            let result = match event {
                Event::Arrive(rows) => allocator.admit(request, rows).inspect(|_| {
                    assert_eq!(live, None);
                    asked.insert(request, rows);
                }),
                Event::Grow(rows) => allocator.grow(request, rows).inspect(|_| {
                    asked.insert(request, live.expect("only the live grow").max(rows));
                }),
                Event::Finish => allocator.finish(request).inspect(|_| {
                    asked.remove(&request).expect("only the live finish");
                }),
            };
            match result {
                Ok(updates) => table.apply(&updates),
                Err(error) => {
                    refused += usize::from(matches!(error, AllocatorError::Exhausted { .. }));
                    assert_eq!(allocator.free_rows(), free);
                    match error {
                        AllocatorError::Live(_) => assert!(live.is_some()),
                        AllocatorError::NotLive(_) => assert!(live.is_none()),
                        AllocatorError::Exhausted { wanted, .. } => assert!(wanted > free),
                        _ => {}
                    }
                }
            }
            // Nothing has leaked, nobody has too little, and the table is the allocator's.
            assert_eq!(allocator.live(), asked.len());
            let held = table.owner.len() as u32;
            assert_eq!(held + allocator.free_rows(), allocator.rows());
            if let Some(&wanted) = asked.get(&request) {
                let of_request: Vec<_> = allocator.rows_of(request).expect("live").collect();
                assert!(of_request.len() as u32 >= wanted);
                for (virtual_row, row) in (0..).zip(of_request) {
                    assert!(row < allocator.rows());
                    assert_eq!(table.entries.get(&(request, virtual_row)), Some(&row));
                }
            }
        }
        let live: Vec<_> = asked.into_keys().collect();
        for request in live {
            table.apply(&allocator.finish(request).expect("live"));
        }
        assert!(table.owner.is_empty() && table.entries.is_empty());
        assert_eq!(allocator.free_rows(), allocator.rows());
        refused
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn no_row_is_shared_and_none_leaks(
            events in prop::collection::vec(event(), 1..500),
            rows in 80..600u32,
            chunk_rows in 1..20u32,
            fixed in any::<bool>(),
        ) {
            let policy = if fixed { Policy::Static { max_rows: 60 } } else { Policy::Lazy };
            run(&events, rows, chunk_rows, policy);
        }
    }

    #[test]
    fn nothing_leaks_over_100_000_events() {
        use proptest::strategy::ValueTree;
        use proptest::test_runner::TestRunner;
        let mut runner = TestRunner::deterministic();
        for policy in [Policy::Lazy, Policy::Static { max_rows: 60 }] {
            let events = prop::collection::vec(event(), 100_000).new_tree(&mut runner);
            let events = events.expect("the strategy rejects nothing").current();
            let refused = run(&events, 400, 3, policy);
            assert!(refused > 1000, "the device is exhausted often: {refused}");
        }
    }
}
