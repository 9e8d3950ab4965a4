// SPDX-License-Identifier: MIT
//! The scheduler behind its ports: the channel's controller has it without them.

use super::queue::{Banks, PLACES, Queue};

/// Row hits of a bank after which another row may be opened in it.
const HITS: u8 = 4;
/// Bursts in a row of one pseudo-rank after which the other one is preferred.
const RUN: u8 = 15;

/// A read or write of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::channel) struct Request {
    pub write: bool,
    pub bank: u8,
    pub row: u16,
    pub column: u8,
    pub tag: u8,
}

impl Request {
    /// Whether the other is of the same burst.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        (self.bank, self.row, self.column) == (other.bank, other.row, other.column)
    }
}

/// What may come in this cycle: masks of banks, and rows that PIM has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::channel) struct View {
    pub read_ready: u32,
    pub write_ready: u32,
    pub act_ready: u32,
    pub precharge_ready: u32,
    pub of_pim: [Option<u16>; 2],
}

/// Which candidates are issued in this cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::channel) struct Taken {
    pub column: bool,
    pub act: bool,
    pub precharge: bool,
}

/// The rows that the command of this cycle opens and closes for MEM.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::channel) struct RowChange {
    /// Bank and row.
    pub opens: Option<(u8, u16)>,
    /// Banks.
    pub closes: u32,
}

/// A read or write whose row is open, and its place in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::channel) struct Column {
    pub request: Request,
    place: u8,
}

/// The candidates of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::channel) struct Candidates {
    pub column: Option<Column>,
    /// Bank and row.
    pub act: Option<(u8, u16)>,
    /// Bank.
    pub precharge: Option<u8>,
    /// A request wants a row that PIM has.
    pub blocked: bool,
}

/// Queues and candidates.
#[derive(Clone, Debug)]
pub(in crate::channel) struct Scheduler<const READS: usize, const WRITES: usize> {
    staged: Option<Request>,
    reads: Queue,
    writes: Queue,
    drains: bool,
    /// Row hits of each bank since its ACT, up to [`HITS`], and the banks that have had so many.
    hits: [u8; 32],
    capped: u32,
    /// Pseudo-rank of the last burst, and bursts of it behind the first, up to [`RUN`].
    rank: u8,
    run: u8,
    candidates: Candidates,
    /// Rows that PIM had in the last cycle, and rows that were opened and closed in it.
    of_pim: [Option<u16>; 2],
    change: RowChange,
}

impl<const READS: usize, const WRITES: usize> Scheduler<READS, WRITES> {
    /// Writes that stay in the queue while there are reads.
    const LOW: usize = WRITES / 4;

    pub(in crate::channel) fn new() -> Self {
        const { assert!(READS <= PLACES && WRITES <= PLACES, "a queue has a place for each") };
        Self {
            staged: None,
            reads: Queue::new(),
            writes: Queue::new(),
            drains: false,
            hits: [0; 32],
            capped: 0,
            rank: 0,
            run: 0,
            candidates: Candidates::default(),
            of_pim: [None; 2],
            change: RowChange::default(),
        }
    }

    /// As new; the room of the queues stays.
    pub(in crate::channel) fn clear(&mut self) {
        let Self {
            staged,
            reads,
            writes,
            drains,
            hits,
            capped,
            rank,
            run,
            candidates,
            of_pim,
            change,
        } = self;
        reads.clear();
        writes.clear();
        (*staged, *drains) = (None, false);
        (*hits, *capped, *rank, *run) = ([0; 32], 0, 0, 0);
        *candidates = Candidates::default();
        (*of_pim, *change) = ([None; 2], RowChange::default());
    }

    /// The request that has not entered its queue yet.
    pub(in crate::channel) fn staged(&self) -> Option<&Request> {
        self.staged.as_ref()
    }

    pub(in crate::channel) fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    pub(in crate::channel) fn drains(&self) -> bool {
        self.drains
    }

    pub(in crate::channel) fn is_empty(&self) -> bool {
        self.staged.is_none() && self.reads.is_empty() && self.writes.is_empty()
    }

    /// What a cycle picks for the next. What was issued is not a candidate again: its entry and the row have only just changed.
    fn pick(&self, view: &View, taken: Taken) -> Candidates {
        let (queue, column_ready) = match self.drains {
            true => (&self.writes, view.write_ready),
            false => (&self.reads, view.read_ready),
        };
        let Banks { hit, other, blocked } = queue.banks(&self.of_pim);
        let mut picked = Candidates { blocked: blocked != 0, ..Candidates::default() };
        let may_hit = column_ready & hit & !(self.capped & other);
        let may_act = view.act_ready & other;
        let may_close = view.precharge_ready & other & (self.capped | !hit);
        // The other pseudo-rank is the second choice, or the first after a long run.
        let first = if (self.rank == 1) != (self.run == RUN) { 0xFFFF_0000 } else { 0x0000_FFFF };
        let may_hit = if may_hit & first == 0 { may_hit } else { may_hit & first };
        let unless = |taken: bool, banks: u32| if taken { 0 } else { banks };
        picked.column = queue
            .oldest(unless(taken.column, may_hit), true, blocked)
            .map(|(place, request)| Column { request, place });
        let opens = queue.oldest(unless(taken.act, may_act), false, blocked);
        picked.act = opens.map(|(_, request)| (request.bank, request.row));
        let closes = queue.oldest(unless(taken.precharge, may_close), false, blocked);
        picked.precharge = closes.map(|(_, request)| request.bank);
        picked
    }

    /// A cycle. Returns whether anything has changed, so that another cycle with the same inputs and no request could differ.
    pub(in crate::channel) fn step(
        &mut self,
        view: &View,
        taken: Taken,
        change: RowChange,
        staged_hits: bool,
        request: Option<Request>,
    ) -> bool {
        let picked = self.pick(view, taken);
        let is_behind = self.staged.is_some_and(|request| self.is_behind(&request));
        let drains = self.next_drain(is_behind);
        let enters = self.staged.filter(|request| !is_behind && self.has_room(request));
        let mut changes = drains != self.drains || enters.is_some();

        let leaving = self.candidates.column.filter(|_| taken.column);
        if let Some(Column { request, place }) = leaving {
            self.queue(request.write).remove(place);
            self.count_hit(request.bank);
        }
        if let Some(request) = enters {
            self.queue(request.write).push(request, staged_hits);
            self.staged = None;
        } else if self.staged.is_none() {
            self.staged = request;
            changes |= request.is_some();
        }
        let before = std::mem::replace(&mut self.change, change);
        changes |= before.opens.is_some() || before.closes != 0;
        self.change_rows(before);

        changes |= leaving.is_some() || change.opens.is_some() || change.closes != 0;
        changes = changes || picked != self.candidates || view.of_pim != self.of_pim;
        (self.candidates, self.drains) = (picked, drains);
        self.of_pim = view.of_pim;
        changes
    }

    fn queue(&mut self, write: bool) -> &mut Queue {
        if write { &mut self.writes } else { &mut self.reads }
    }

    /// Whether the staged request may enter its queue, but for one of its address in the other.
    fn has_room(&self, request: &Request) -> bool {
        match request.write {
            true => self.writes.len() != WRITES,
            false => self.reads.len() != READS,
        }
    }

    /// Whether a request of the other kind has the same address.
    fn is_behind(&self, request: &Request) -> bool {
        let others = if request.write { &self.reads } else { &self.writes };
        others.has(request)
    }

    /// Which kind is served in the next cycle. The staged request may be behind one of the other kind.
    fn next_drain(&self, is_behind: bool) -> bool {
        if let Some(request) = &self.staged
            && is_behind
        {
            return !request.write;
        }
        let (reads, writes) = (self.reads.len(), self.writes.len());
        match self.drains {
            true => writes > 0 && (reads == 0 || writes > Self::LOW),
            false => writes == WRITES || reads == 0 && writes > 0,
        }
    }

    fn count_hit(&mut self, bank: u8) {
        let hits = &mut self.hits[usize::from(bank)];
        *hits = HITS.min(*hits + 1);
        if *hits == HITS {
            self.capped |= 1 << bank;
        }
        let rank = bank >> 4;
        self.run = if rank == self.rank { RUN.min(self.run + 1) } else { 0 };
        self.rank = rank;
    }

    fn change_rows(&mut self, change: RowChange) {
        if change.closes != 0 {
            self.reads.close(change.closes);
            self.writes.close(change.closes);
        }
        if let Some((bank, row)) = change.opens {
            self.reads.open(bank, row);
            self.writes.open(bank, row);
            self.hits[usize::from(bank)] = 0;
            self.capped &= !(1 << bank);
        }
    }
}
