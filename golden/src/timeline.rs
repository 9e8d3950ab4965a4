// SPDX-License-Identifier: MIT
//! Does a simulated schedule of a serving system hold together?
//!
//! A simulator tells a [`TimelineChecker`] of every task that it has placed in time, of every byte that it stores, and of
//! every token that it says it has made. The checker knows nothing of policies and costs. It holds that
//!
//! * a resource does one task at a time ([`TimelineFault::Overlap`]),
//! * no task begins before those that it waits for have ended ([`TimelineFault::Dependency`]),
//! * a memory never holds more than it has, nor gives back more than it holds ([`TimelineFault::Capacity`],
//!   [`TimelineFault::Returned`]), and is empty at the end ([`TimelineFault::Kept`]),
//! * a request makes each of its tokens once, in order and in time ([`TimelineFault::Token`]), and all of them
//!   ([`TimelineFault::Lost`]),
//! * what arrives of a transfer is what was sent ([`TimelineFault::Bytes`]).
//!
//! [`two_sub_batches`] computes a small case by its recurrence, for comparison with a simulator's schedule.
//!
//! ```
//! use pimlico_golden::timeline::{TimelineChecker, WatchedTask};
//!
//! let mut checker = TimelineChecker::default();
//! checker.task(WatchedTask { uses: 0b01, start: 0, end: 10, after: &[] });
//! checker.task(WatchedTask { uses: 0b01, start: 9, end: 12, after: &[] });
//! checker.close();
//! assert_eq!(checker.faults(), 1);
//! assert_eq!(checker.first().expect("one").to_string(), "resource 0 has a task from 9 on that begins before 10, the end of another");
//! ```

use std::collections::BTreeMap;
use std::fmt;

/// A task, as a simulator has placed it in time.
#[derive(Clone, Copy, Debug)]
pub struct WatchedTask<'a> {
    /// The resources that it has for itself, a bit for each of 64.
    pub uses: u64,
    /// When it begins.
    pub start: u64,
    /// When it ends.
    pub end: u64,
    /// The tasks that it waits for, each by its number among those since [`TimelineChecker::close`], with the time that
    /// has to pass behind that one's end.
    pub after: &'a [(u32, u64)],
}

/// What does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineFault {
    /// Two tasks on one resource.
    Overlap {
        /// The resource.
        resource: u32,
        /// When the later one begins.
        start: u64,
        /// When the earlier one ends.
        end: u64,
    },
    /// A task that begins too early, or ends before it begins.
    Dependency {
        /// When it begins.
        start: u64,
        /// When it may.
        ready: u64,
    },
    /// More in a memory than there is room for.
    Capacity {
        /// The memory.
        memory: u32,
        /// What it would hold.
        holds: u64,
        /// What it has room for.
        capacity: u64,
    },
    /// More given back than there was.
    Returned {
        /// The memory.
        memory: u32,
        /// What it held.
        held: u64,
        /// What was given back.
        returned: u64,
    },
    /// Something is left in a memory at the end.
    Kept {
        /// The memory.
        memory: u32,
        /// What is left.
        held: u64,
    },
    /// Tokens that a request cannot have made: of no such request, too many, or back in time.
    Token {
        /// The request.
        request: u32,
        /// The last token, from 1 on.
        token: u64,
        /// When.
        at: u64,
    },
    /// A request that did not make all of its tokens.
    Lost {
        /// The request.
        request: u32,
        /// Tokens that it made.
        made: u64,
        /// Tokens that it was to make.
        wanted: u64,
    },
    /// Bytes that arrived, in place of those that were sent.
    Bytes {
        /// What was sent.
        sent: u64,
        /// What arrived.
        arrived: u64,
    },
}

impl fmt::Display for TimelineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Overlap { resource, start, end } => write!(
                f,
                "resource {resource} has a task from {start} on that begins before {end}, the end of another"
            ),
            Self::Dependency { start, ready } => {
                write!(f, "a task begins at {start}; what it waits for is there at {ready}")
            }
            Self::Capacity { memory, holds, capacity } => {
                write!(f, "memory {memory} holds {holds} of {capacity}")
            }
            Self::Returned { memory, held, returned } => {
                write!(f, "memory {memory} gives back {returned} of {held}")
            }
            Self::Kept { memory, held } => write!(f, "memory {memory} has {held} left at the end"),
            Self::Token { request, token, at } => {
                write!(f, "request {request} cannot make its token {token} at {at}")
            }
            Self::Lost { request, made, wanted } => {
                write!(f, "request {request} made {made} tokens of {wanted}")
            }
            Self::Bytes { sent, arrived } => write!(f, "{sent} bytes were sent, {arrived} arrived"),
        }
    }
}

/// A request's tokens.
#[derive(Clone, Copy, Debug)]
struct Made {
    wanted: u64,
    made: u64,
    last: u64,
}

/// What a memory has and holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    capacity: u64,
    held: u64,
}

/// Watches a schedule.
#[derive(Debug, Default)]
pub struct TimelineChecker {
    ends: Vec<u64>,
    on_resource: Vec<Vec<(u64, u64)>>,
    memories: Vec<Held>,
    requests: BTreeMap<u32, Made>,
    faults: u64,
    first: Option<TimelineFault>,
    tasks: u64,
}

impl TimelineChecker {
    /// A task. It has the next number.
    pub fn task(&mut self, task: WatchedTask<'_>) {
        let WatchedTask { uses, start, end, after } = task;
        self.tasks += 1;
        if end < start {
            self.fault(TimelineFault::Dependency { start: end, ready: start });
        }
        for &(other, delay) in after {
            // A task that is told later cannot be waited for.
            let ready = self.ends.get(other as usize).map_or(u64::MAX, |end| end + delay);
            if start < ready {
                self.fault(TimelineFault::Dependency { start, ready });
            }
        }
        self.ends.push(end);
        if end == start {
            return;
        }
        let mut left = uses;
        while left != 0 {
            let resource = left.trailing_zeros() as usize;
            left &= left - 1;
            if self.on_resource.len() <= resource {
                self.on_resource.resize_with(resource + 1, Vec::new);
            }
            self.on_resource[resource].push((start, end));
        }
    }

    /// All tasks of a part of the schedule have been told, in any order of time: those of the next part are numbered from
    /// 0 on again, and have resources of their own.
    pub fn close(&mut self) {
        self.overlaps();
        self.on_resource.iter_mut().for_each(Vec::clear);
        self.ends.clear();
    }

    /// The same, but that the next part is of the same time and resources: its tasks must not begin before the last of a
    /// resource ends.
    pub fn go_on(&mut self) {
        self.overlaps();
        for tasks in &mut self.on_resource {
            let last = tasks.pop();
            tasks.clear();
            tasks.extend(last);
        }
        self.ends.clear();
    }

    /// Sorts the tasks of each resource, and finds those that overlap.
    fn overlaps(&mut self) {
        let mut all = std::mem::take(&mut self.on_resource);
        for (resource, tasks) in all.iter_mut().enumerate() {
            tasks.sort_unstable();
            for pair in tasks.windows(2) {
                let ((_, end), (start, _)) = (pair[0], pair[1]);
                if start < end {
                    let resource = resource as u32;
                    self.fault(TimelineFault::Overlap { resource, start, end });
                }
            }
        }
        self.on_resource = all;
    }

    /// A memory with room for so much. Returns its number.
    pub fn memory(&mut self, capacity: u64) -> u32 {
        self.memories.push(Held { capacity, held: 0 });
        self.memories.len() as u32 - 1
    }

    /// More is stored in a memory.
    ///
    /// # Panics
    ///
    /// If there is no such memory.
    pub fn store(&mut self, memory: u32, amount: u64) {
        let of = &mut self.memories[memory as usize];
        of.held += amount;
        let Held { capacity, held: holds } = *of;
        if holds > capacity {
            self.fault(TimelineFault::Capacity { memory, holds, capacity });
        }
    }

    /// What was stored in a memory is given back.
    ///
    /// # Panics
    ///
    /// If there is no such memory.
    pub fn give_back(&mut self, memory: u32, returned: u64) {
        let of = &mut self.memories[memory as usize];
        let held = of.held;
        of.held = held.saturating_sub(returned);
        if returned > held {
            self.fault(TimelineFault::Returned { memory, held, returned });
        }
    }

    /// A request that is to make so many tokens, from a time on.
    pub fn request(&mut self, request: u32, wanted: u64, arrival: u64) {
        self.requests.insert(request, Made { wanted, made: 0, last: arrival });
    }

    /// A request makes so many tokens, the last of them at a time.
    pub fn tokens(&mut self, request: u32, count: u64, at: u64) {
        let fits = self.requests.get_mut(&request).is_some_and(|of| {
            let fits = at >= of.last && of.made + count <= of.wanted;
            *of = Made { made: of.made + count, last: at, ..*of };
            fits
        });
        if !fits {
            let token = self.requests.get(&request).map_or(count, |of| of.made);
            self.fault(TimelineFault::Token { request, token, at });
        }
    }

    /// Bytes of a transfer at both of its ends.
    pub fn bytes(&mut self, sent: u64, arrived: u64) {
        if sent != arrived {
            self.fault(TimelineFault::Bytes { sent, arrived });
        }
    }

    /// All has been told: requests have made their tokens, and memories are empty.
    pub fn end(&mut self) {
        self.close();
        let lost: Vec<_> = self.requests.iter().filter(|(_, of)| of.made < of.wanted).collect();
        let lost: Vec<_> = lost
            .into_iter()
            .map(|(&request, &Made { made, wanted, .. })| TimelineFault::Lost {
                request,
                made,
                wanted,
            })
            .collect();
        let kept = self.memories.iter().enumerate().filter(|(_, of)| of.held > 0);
        let kept: Vec<_> = kept
            .map(|(memory, of)| TimelineFault::Kept { memory: memory as u32, held: of.held })
            .collect();
        for fault in lost.into_iter().chain(kept) {
            self.fault(fault);
        }
    }

    /// How much does not hold.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// The first that does not hold.
    pub fn first(&self) -> Option<TimelineFault> {
        self.first
    }

    /// Tasks that were watched.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }

    fn fault(&mut self, fault: TimelineFault) {
        self.faults += 1;
        self.first.get_or_insert(fault);
    }
}

/// The end of `layers` layers of two sub-batches that take turns on two devices: sub-batch `i` has `first[i]` on the first
/// device, then `second[i]` on the second, layer after layer, and `last[i]` on the first behind its last layer. Each device
/// serves sub-batch 0 before sub-batch 1 in every layer.
pub fn two_sub_batches(first: [u64; 2], second: [u64; 2], last: [u64; 2], layers: u32) -> u64 {
    let (mut one_free, mut other_free) = (0, 0);
    let mut ready = [0, 0];
    for _ in 0..layers {
        for i in 0..2 {
            one_free = u64::max(one_free, ready[i]) + first[i];
            other_free = u64::max(other_free, one_free) + second[i];
            ready[i] = other_free;
        }
    }
    for i in 0..2 {
        one_free = u64::max(one_free, ready[i]) + last[i];
    }
    one_free
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(uses: u64, start: u64, end: u64, after: &[(u32, u64)]) -> WatchedTask<'_> {
        WatchedTask { uses, start, end, after }
    }

    fn first(watch: impl FnOnce(&mut TimelineChecker)) -> Option<TimelineFault> {
        let mut checker = TimelineChecker::default();
        watch(&mut checker);
        checker.end();
        checker.first()
    }

    #[test]
    fn a_schedule_that_holds_has_no_fault() {
        let right = |checker: &mut TimelineChecker| {
            let memory = checker.memory(100);
            checker.request(7, 3, 5);
            checker.store(memory, 100);
            checker.task(task(0b11, 0, 10, &[]));
            checker.task(task(0b10, 12, 20, &[(0, 2)]));
            checker.task(task(0b01, 10, 15, &[(0, 0)]));
            checker.close();
            // The next part has a time of its own.
            checker.task(task(0b01, 0, 5, &[]));
            checker.tokens(7, 1, 5);
            checker.tokens(7, 2, 9);
            checker.give_back(memory, 100);
            checker.bytes(8, 8);
        };
        assert_eq!(first(right), None);
    }

    #[test]
    fn tasks_that_overlap_are_found_whatever_their_order() {
        let overlap = |checker: &mut TimelineChecker| {
            checker.task(task(0b110, 5, 9, &[]));
            checker.task(task(0b010, 0, 6, &[]));
        };
        assert_eq!(first(overlap), Some(TimelineFault::Overlap { resource: 1, start: 5, end: 6 }));
    }

    #[test]
    fn parts_of_one_time_do_not_overlap_either() {
        let parts = |start| {
            first(move |checker| {
                checker.task(task(0b01, 0, 4, &[]));
                checker.task(task(0b01, 4, 10, &[]));
                checker.go_on();
                checker.task(task(0b01, start, 12, &[]));
            })
        };
        assert_eq!(parts(10), None);
        assert_eq!(parts(9), Some(TimelineFault::Overlap { resource: 0, start: 9, end: 10 }));
    }

    #[test]
    fn a_task_waits_for_those_before_it_and_for_the_time_between() {
        let early = |delay| {
            move |checker: &mut TimelineChecker| {
                checker.task(task(1, 0, 6, &[]));
                checker.task(task(2, 7, 8, &[(0, delay)]));
            }
        };
        assert_eq!(first(early(1)), None);
        assert_eq!(first(early(2)), Some(TimelineFault::Dependency { start: 7, ready: 8 }));
        let unknown = |checker: &mut TimelineChecker| checker.task(task(1, 7, 8, &[(0, 0)]));
        assert!(matches!(first(unknown), Some(TimelineFault::Dependency { .. })));
    }

    #[test]
    fn tokens_are_made_once_and_all_of_them() {
        let of = |counts: &'static [(u64, u64)]| {
            first(move |checker| {
                checker.request(1, 4, 10);
                counts.iter().for_each(|&(count, at)| checker.tokens(1, count, at));
            })
        };
        assert_eq!(of(&[(3, 10), (1, 20)]), None);
        let lost = TimelineFault::Lost { request: 1, made: 3, wanted: 4 };
        assert_eq!(of(&[(3, 20)]), Some(lost));
        let twice = TimelineFault::Token { request: 1, token: 5, at: 20 };
        assert_eq!(of(&[(3, 10), (2, 20)]), Some(twice));
        assert!(matches!(of(&[(1, 9)]), Some(TimelineFault::Token { .. })));
        assert!(matches!(of(&[(3, 30), (1, 20)]), Some(TimelineFault::Token { .. })));
    }

    #[test]
    fn a_memory_holds_no_more_than_it_has() {
        let of = |stored, returned| {
            first(move |checker| {
                let memory = checker.memory(10);
                checker.store(memory, stored);
                checker.give_back(memory, returned);
            })
        };
        assert_eq!(of(10, 10), None);
        assert!(matches!(of(11, 11), Some(TimelineFault::Capacity { holds: 11, .. })));
        assert!(matches!(of(5, 6), Some(TimelineFault::Returned { held: 5, .. })));
        assert_eq!(of(5, 4), Some(TimelineFault::Kept { memory: 0, held: 1 }));
        let bytes = first(|checker| checker.bytes(8, 7));
        assert_eq!(bytes, Some(TimelineFault::Bytes { sent: 8, arrived: 7 }));
    }

    #[test]
    fn sub_batches_that_are_alike_hide_one_device_behind_the_other() {
        // One sub-batch: nothing is hidden.
        assert_eq!(two_sub_batches([5, 0], [7, 0], [1, 0], 3), 3 * 12 + 1);
        // Two that are alike: the slower device is always busy.
        assert_eq!(two_sub_batches([5, 5], [7, 7], [1, 1], 3), 5 + 6 * 7 + 1);
    }
}
