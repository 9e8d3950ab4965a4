// SPDX-License-Identifier: MIT
//! What holds the next request of each queue back.

use super::item::{Item, State};
use super::{ARRAY, Judge, OPERANDS, RESULTS, SOFTMAX, WORDS};
use crate::sequencer::opcode::{FINISH, MAC_CONTEXT, WR_SHARED, WR_WEIGHTS};
use crate::sequencer::{Bus, Command};

impl Judge {
    /// The next of a queue.
    pub(super) fn next(&self, queue: usize) -> Option<(usize, &Item)> {
        let index = *self.waiting[queue].front()?;
        Some((index, &self.items[index]))
    }

    /// The next write, without those that may have been dropped if it is not one of them.
    pub(super) fn next_write(&self, asked: Option<Bus>) -> Option<(usize, &Item)> {
        let mut writes = self.waiting[OPERANDS].iter().map(|&index| (index, &self.items[index]));
        writes.find(|(_, item)| !item.is_uncertain || asked == Some(self.write_of(item)))
    }

    /// Whether all commands before one are done, and all that comes of them.
    pub(super) fn all_before_done(&self, index: usize) -> bool {
        let mut open = self.waiting.iter().chain(&self.sent).flatten();
        open.all(|&other| other >= index || self.items[other].is_uncertain) && self.is_quiet()
    }

    pub(super) fn is_quiet(&self) -> bool {
        [self.scores, self.elements, self.finishing, self.words.into()] == [0; 4]
    }

    /// The last write that a MAC needs is done.
    pub(super) fn is_written(&self, mac: &Item) -> bool {
        let mut write = mac.after;
        while let Some(index) = write {
            let item = &self.items[index];
            match item.state {
                State::Dropped => write = item.before,
                State::Waiting if item.is_uncertain => write = item.before,
                state => return state == State::Done,
            }
        }
        true
    }

    /// The oldest RD_RESULT that is not on the pins.
    pub(super) fn oldest_results(&self) -> Option<&Item> {
        let oldest = self.sent[RESULTS].front().or(self.waiting[RESULTS].front());
        oldest.map(|&index| &self.items[index])
    }

    /// Whether a command that is accepted in this cycle or later is so many cycles behind something.
    pub(super) fn is_behind(&self, time: Option<u64>, cycles: u64) -> bool {
        let time = time.filter(|&time| time >= self.started);
        time.is_none_or(|time| self.clock + self.sizes.latency >= time + cycles)
    }

    /// What keeps a MAC from being requested.
    pub(super) fn keeps_mac(&self, mac: &Item) -> Option<&'static str> {
        let Command { last, opcode, .. } = mac.command;
        let ends = |&index: &usize| self.items[index].is_mac() && self.items[index].command.last;
        let yields =
            |oldest: &Item| oldest.sum < mac.sum && (opcode == MAC_CONTEXT || oldest.is_context());
        if !self.is_written(mac) {
            return Some("its word is not written");
        }
        if last && self.oldest_results().is_some_and(yields) {
            return Some("results before it have not left");
        }
        // Four RD_RESULTs leave in so many cycles; a port has one every two cycles.
        let soon = self.sent[ARRAY].iter().any(ends)
            || !self.is_behind(self.sum_read, 4 * self.sizes.burst.max(2));
        (last && soon).then_some("the results of a chunk have not had their time")
    }

    /// Whether an entry of a queue waits that is before an item.
    pub(super) fn waits_before(&self, queue: usize, item: &Item) -> bool {
        self.waiting[queue].front().is_some_and(|&other| other < item.index)
    }

    /// What keeps an RD_RESULT from being requested.
    pub(super) fn keeps_results(&self, results: &Item) -> Option<&'static str> {
        let [after_context, after_tree, back] = self.sizes.idle;
        let is_context = results.is_context();
        let mut on_their_way =
            self.sent[RESULTS].iter().map(|&index| self.items[index].is_context());
        if results.sum > self.sums_made {
            return Some("its results are not there");
        }
        if results.is_scores() && self.waits_before(SOFTMAX, results) {
            return Some("the softmax unit has not taken what works on the scores before");
        }
        // The data bus has room for a burst behind a burst in any case.
        let idle = match is_context {
            true => [Some(after_tree), Some(after_context).filter(|&idle| idle > 0)],
            false => [None, Some(back).filter(|&idle| idle > 0)],
        };
        if on_their_way.any(|of_context| idle[usize::from(of_context)].is_some()) {
            return Some("one before it is not on the pins");
        }
        let in_time = self.results_read.iter().zip(idle).all(|(&time, idle)| {
            idle.is_none_or(|idle| self.is_behind(time, self.sizes.burst + idle))
        });
        (!in_time).then_some("the adder unit is not ready")
    }

    /// What keeps a write from being requested.
    pub(super) fn keeps_write(&self, write: &Item) -> Option<&'static str> {
        let read = write.after.is_none_or(|mac| self.items[mac].state == State::Done);
        let reads_before = || {
            let on_their_way = self.sent[ARRAY].front();
            self.waits_before(ARRAY, write)
                || on_their_way.is_some_and(|&mac| self.items[mac].index < write.index)
        };
        match write.command.opcode {
            _ if !read => Some("a MAC of its word is not on the pins"),
            WR_SHARED if write.command.first && reads_before() => {
                Some("a MAC before it is not on the pins")
            }
            WR_WEIGHTS if self.complete == 0 => Some("no word of weights is complete"),
            WR_SHARED if self.operands == 0 => Some("the host has no burst"),
            WR_SHARED if !self.operand_there => Some("the burst of the host is not there"),
            _ => None,
        }
    }

    /// Whether the next write is one for which the burst of the host is to come.
    pub(super) fn waits_for_host(&self) -> bool {
        let of_host = |(_, write): (usize, &Item)| write.command.opcode == WR_SHARED;
        self.operands > 0 && !self.operand_there && self.next_write(None).is_some_and(of_host)
    }

    /// What keeps a FINISH or a WEIGH from being requested.
    pub(super) fn keeps_softmax(&self, (index, item): (usize, &Item)) -> Option<&'static str> {
        let before = self.waiting[RESULTS].iter().chain(&self.sent[RESULTS]);
        let mut before = before.filter(|&&other| other < index);
        if self.scores > 0 || before.any(|&other| self.items[other].is_scores()) {
            return Some("scores before it are not there");
        }
        if item.command.opcode == FINISH {
            return None;
        }
        match (self.finishing, self.words) {
            (1.., _) => Some("a reciprocal before it is not there"),
            (_, WORDS..) => Some("there is no room for a word of weights"),
            _ => None,
        }
    }

    /// Whether nothing holds the next of a queue back: neither what it works on nor a command before it.
    pub(super) fn could_be_requested(&self, queue: usize) -> bool {
        let Some((index, item)) = self.next(queue) else { return false };
        if self.waiting.iter().flatten().any(|&other| other < index) || item.is_uncertain {
            return false;
        }
        match queue {
            ARRAY if item.is_mac() => self.keeps_mac(item).is_none(),
            ARRAY => self.all_before_done(index),
            RESULTS => self.keeps_results(item).is_none(),
            OPERANDS => self.keeps_write(item).is_none(),
            _ => self.keeps_softmax((index, item)).is_none(),
        }
    }
}
