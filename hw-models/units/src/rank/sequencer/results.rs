// SPDX-License-Identifier: MIT
//! RD_RESULTs on their way: when the next may be requested, which MACs wait for them, and whether one reads the
//! results of a later sum.

use super::SequencerIn;
use crate::lap::Walk;
use crate::rank::RankController;

/// RD_RESULTs that are accepted and not on the pins, at the most.
const ON_THEIR_WAY: usize = 4;

/// Numbers a sum, modulo 256: so many are never in the queues.
pub type SumNumber = u8;

/// An RD_RESULT as those behind it see it.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Reader {
    pub is_context: bool,
    /// It reads what the chips have kept since an RD_RESULT before it.
    pub is_kept: bool,
    /// The sum whose results it reads.
    pub number: SumNumber,
}

/// The queue of RD_RESULTs.
#[derive(Clone, Copy)]
pub struct Queued {
    /// The first that is not sent, once it has been read.
    pub next: Option<Reader>,
    pub is_empty: bool,
    pub is_single: bool,
}

/// RD_RESULTs on their way. The parameters are those of the sequencer.
#[derive(Clone, Default, PartialEq)]
pub struct Readers<
    const CONTEXT_AFTER_CONTEXT: u16,
    const CONTEXT_AFTER_TREE: u16,
    const TREE_AFTER_CONTEXT: u16,
> {
    /// Sums whose results have come.
    made: SumNumber,
    /// RD_RESULTs that are accepted and not on the pins, the oldest at the bottom.
    readers: usize,
    reading: [Reader; ON_THEIR_WAY],
    /// Cycles until an RD_RESULT of the context may be requested, and one of scores or outputs.
    context_gap: u16,
    tree_gap: u16,
}

impl<const CONTEXT_AFTER_CONTEXT: u16, const CONTEXT_AFTER_TREE: u16, const TREE_AFTER_CONTEXT: u16>
    Readers<CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT>
{
    pub fn made(&self) -> SumNumber {
        self.made
    }

    /// The oldest RD_RESULT that is not done once so many are, unless it is still in the memory.
    fn reader(&self, done: usize, queue: &Queued) -> Option<Reader> {
        match self.readers > done {
            true => self.reading.get(done).copied(),
            false => queue.next,
        }
    }

    /// Whether the next is requested in the next cycle.
    pub fn is_due(&self, input: &SequencerIn, queue: &Queued, sends: bool) -> bool {
        let Some(next) = queue.next else { return false };
        let since = self.made.wrapping_sub(next.number) as i8;
        let is_there = since >= 0 || input.events_i.results && since == -1;
        let may_ask = match next.is_context {
            true => self.context_may(input),
            false => self.tree_may(input),
        };
        !sends && is_there && may_ask
    }

    /// Whether a MAC that would end this sum waits: its results take the place of those before.
    pub fn keeps(
        &self,
        input: &SequencerIn,
        queue: &Queued,
        accumulate: bool,
        number: SumNumber,
    ) -> bool {
        let (none, oldest) = match input.events_i.results_taken {
            true => (queue.is_single, self.reader(1, queue)),
            false => (queue.is_empty, self.reader(0, queue)),
        };
        !none
            && oldest.is_none_or(|oldest| {
                let between = number.wrapping_sub(oldest.number).wrapping_sub(1);
                between < SumNumber::MAX / 2 && (accumulate || oldest.is_context)
            })
    }

    /// Whether the oldest that is not done reads results that are there, and the next come or have come. An RD_RESULT
    /// that goes to the pins in the same cycle reads the next ones. What the chips keep stays for one more sum.
    pub fn overwrites(&self, input: &SequencerIn, queue: &Queued) -> bool {
        let is_overwritten = |oldest: Reader| {
            let since = self.made.wrapping_sub(oldest.number) as i8;
            since >= 0
                && i16::from(since) + i16::from(input.events_i.results) > i16::from(oldest.is_kept)
        };
        !queue.is_empty && self.reader(0, queue).is_some_and(is_overwritten)
    }

    /// Cycles until an RD_RESULT of the context may be requested, and one of scores or outputs, behind one on the
    /// pins.
    fn gaps_after(input: &SequencerIn, of_context: bool) -> [u16; 2] {
        let latency = <RankController>::LATENCY as u16 + 1;
        let gap = |idle: u16| (u16::from(input.burst_i) + idle).saturating_sub(latency);
        match of_context {
            true => [gap(CONTEXT_AFTER_CONTEXT), gap(TREE_AFTER_CONTEXT)],
            false => [gap(CONTEXT_AFTER_TREE), 0],
        }
    }

    /// Whether one of the context keeps a distance from this one before it.
    fn delays_context(reader: &Reader) -> bool {
        CONTEXT_AFTER_CONTEXT > 0 || !reader.is_context
    }

    /// Whether one of the context may be requested in the next cycle: those that delay it are on the pins.
    fn context_may(&self, input: &SequencerIn) -> bool {
        self.may(input, 0, self.context_gap, Self::delays_context)
    }

    /// The same of one of scores or outputs: the ones of the context before it are on the pins.
    fn tree_may(&self, input: &SequencerIn) -> bool {
        TREE_AFTER_CONTEXT == 0 || self.may(input, 1, self.tree_gap, |reader| reader.is_context)
    }

    /// Whether one may be requested in the next cycle: those that delay it are on the pins, and its gap is over.
    fn may(
        &self,
        input: &SequencerIn,
        kind: usize,
        gap: u16,
        delays: impl Fn(&Reader) -> bool,
    ) -> bool {
        let mut on_their_way = self.reading[..self.readers.min(ON_THEIR_WAY)].iter();
        let oldest = on_their_way.next().filter(|oldest| delays(oldest));
        if on_their_way.any(delays) {
            return false;
        }
        match oldest {
            Some(Reader { is_context, .. }) => {
                input.events_i.results_taken && Self::gaps_after(input, *is_context)[kind] == 0
            }
            None => gap <= 1,
        }
    }

    /// Whether a time is over in the next cycle.
    pub fn ends_waiting(&self) -> bool {
        self.context_gap == 1 || self.tree_gap == 1
    }

    /// Cycles before the one in which a time is over, if one goes on.
    pub fn waits(&self) -> u64 {
        let before = |gap: u16| gap.checked_sub(1).map_or(u64::MAX, u64::from);
        before(self.context_gap).min(before(self.tree_gap))
    }

    /// A cycle in which nothing happens.
    pub fn wait(&mut self) {
        self.rest(1);
    }

    /// So many of them.
    pub fn rest(&mut self, cycles: u16) {
        self.context_gap = self.context_gap.saturating_sub(cycles);
        self.tree_gap = self.tree_gap.saturating_sub(cycles);
    }

    /// A cycle: the next is sent, the oldest goes to the pins, results come.
    pub fn step(&mut self, input: &SequencerIn, queue: &Queued, sends: bool) {
        self.wait();
        if input.events_i.results_taken {
            let oldest = self.reader(0, queue).unwrap_or_default();
            let [context_gap, tree_gap] = Self::gaps_after(input, oldest.is_context);
            if Self::delays_context(&oldest) {
                self.context_gap = context_gap;
            }
            if oldest.is_context && TREE_AFTER_CONTEXT > 0 {
                self.tree_gap = tree_gap;
            }
            self.readers = self.readers.saturating_sub(1);
            self.reading.copy_within(1.., 0);
        }
        if sends && let Some(next) = queue.next {
            self.reading[self.readers.min(ON_THEIR_WAY - 1)] = next;
            self.readers += 1;
        }
        self.made = self.made.wrapping_add(input.events_i.results.into());
    }

    /// Goes over all of it, for [laps](crate::lap); `last` is the sum that has entered last.
    pub fn walk(&mut self, walk: &mut Walk<'_>, last: SumNumber) {
        let Self { made, readers, reading, context_gap, tree_gap } = self;
        walk.size(*readers);
        for Reader { is_context, is_kept, number } in &mut reading[..*readers] {
            walk.still(*is_context);
            walk.still(*is_kept);
            walk.number(number, last, SumNumber::MAX.into());
        }
        walk.still(*context_gap);
        walk.still(*tree_gap);
        walk.number(made, last, SumNumber::MAX.into());
    }

    /// A run starts.
    pub fn start(&mut self) {
        (self.context_gap, self.tree_gap) = (0, 0);
    }
}
