// SPDX-License-Identifier: MIT
//! Which command comes next.

mod of_mem;

use super::lost::{MemLost, PimLost};
use super::state::{Clock, GROUPS, Masks, MemMay, State};
use super::times::{BURST, Times};
use super::{ChannelCommand, ChannelController};
use crate::channel::mem_scheduler::{Taken, View};
use crate::channel::pim_queue::{Operation, PimKind, PimRequest, Queue, Told};

/// What comes on the pins, and what is said of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pins {
    pub command: ChannelCommand,
    pub bank: u8,
    pub all: bool,
    pub row: u16,
    pub column: u8,
    pub count: u8,
    pub first: bool,
    pub last: bool,
    /// Of the request of MEM.
    pub tag: Option<u8>,
    pub of_pim: bool,
    /// Of the operation that is admitted.
    pub estimate: Option<u16>,
    pub mem_lost: MemLost,
    pub pim_lost: PimLost,
}

impl Pins {
    /// A burst of MEM.
    pub fn moves(&self) -> bool {
        matches!(self.command, ChannelCommand::Rd | ChannelCommand::Wr)
    }
}

/// What is decided in a cycle.
#[derive(Debug)]
pub(super) struct Choice {
    pub pins: Pins,
    pub view: View,
    pub taken: Taken,
    pub told: Told,
    pub owner: bool,
    pub mem_may: MemMay,
    /// For the next cycle.
    pub for_refresh: Option<Pins>,
    pub way_ready: u32,
}

fn command(command: ChannelCommand, bank: u8) -> Pins {
    Pins { command, bank, ..Pins::default() }
}

/// What PIM does in a cycle.
#[derive(Debug, Default)]
struct OfPim {
    /// Its command.
    pins: Option<Pins>,
    /// The operation is admitted, with this estimate.
    admits: Option<u64>,
    /// The command is of the head of the queue, or is the operation, a GWRITE.
    takes: bool,
    lost: PimLost,
    /// MEM may have no RD, so that results find the data bus free; and no WR before a GWRITE.
    holds_reads: bool,
    holds_writes: [bool; 2],
    /// MEM may have no ACT in a pseudo-rank.
    holds_acts: [bool; 2],
    /// Banks in the way that may be closed in the next cycle.
    way_ready: u32,
}

/// What a cycle looks at.
struct Look<'a> {
    t: &'a Times,
    clock: &'a Clock,
    state: &'a State,
    operation: Option<&'a Operation>,
    queue: &'a Queue,
    is_admitted: bool,
    /// The operation was there in the last cycle.
    is_known: bool,
    mem_is_empty: bool,
    owed: bool,
}

impl Look<'_> {
    /// Whether a time has come.
    #[inline]
    fn reached(&self, time: u64) -> bool {
        self.clock.reached(time)
    }

    /// Whether it has come in the next cycle.
    fn soon(&self, time: u64) -> bool {
        self.reached(time.saturating_sub(1))
    }

    /// tRFC is over.
    fn rfc_is_over(&self, rank: usize) -> bool {
        self.reached(self.state.rfc_at[rank])
    }

    /// Whether what takes so long is over before the next REF is due.
    fn fits(&self, takes: u64) -> bool {
        self.t.refi.is_none() || !self.reached(self.state.due.saturating_sub(takes))
    }

    /// The operation's next command. A GEMV is known when it has been asked for in a cycle.
    fn command(&self) -> Option<(PimKind, &PimRequest)> {
        let is_known = |kind| kind != PimKind::Gemv || self.state.is_seen;
        self.queue.command().filter(|(kind, _)| is_known(*kind))
    }

    /// What banks alone allow MEM.
    #[inline]
    fn masks(&self) -> Masks {
        self.reached(self.state.mem.until);
        self.state.mem.masks
    }

    /// tRTP and tRAS of PIM are over.
    fn pim_may_precharge(&self) -> bool {
        self.reached(self.state.rtp_at) && self.reached(self.state.pim.precharge_at)
    }

    fn pim_precharge(&self, of: u32) -> Pins {
        let bank = if self.t.bankwise { (self.state.pim.open & of).trailing_zeros() } else { 0 };
        Pins { all: !self.t.bankwise, ..command(ChannelCommand::PimPrecharge, bank as u8) }
    }

    /// Whether PIM holds a row open, or has closed it within tRP.
    #[inline]
    fn pim_holds_rows(&self) -> bool {
        self.state.pim.open != 0 || !self.reached(self.state.pim.closed_at)
    }

    /// tRRD and tRFC are over, and tFAW behind a PIM_ACTIVATION.
    fn may_activate(&self, rank: usize, group: usize) -> bool {
        self.rfc_is_over(rank)
            && self.reached(self.state.faw_at[rank])
            && self.reached(self.state.act_at[rank])
            && self.reached(self.state.act_group_at[group])
    }

    /// tWTR is over.
    #[inline]
    fn turned(&self, rank: usize, group: usize) -> bool {
        self.reached(self.state.turned_at[rank]) && self.reached(self.state.turned_group_at[group])
    }

    /// Whether all banks of a pseudo-rank are closed, for tRP.
    fn is_quiet(&self, rank: usize) -> bool {
        let banks = self.t.banks(rank);
        (self.state.mem.open | self.state.pim.open) & banks == 0
            && (0..32).filter(|bank| banks >> bank & 1 == 1).all(|bank| {
                self.reached(self.state.mem.act_at[bank])
                    && self.reached(self.state.pim.act_at[bank / 4])
            })
    }

    /// Whether PIM may open its row in a group: closed for tRP, and the row not within it in MEM.
    fn group_is_ready(&self, group: usize, row: u16) -> bool {
        let (mem, pim) = (&self.state.mem, &self.state.pim);
        self.reached(pim.act_at[group])
            && (4 * group..4 * group + 4).all(|bank| {
                mem.row[bank] != row || mem.open >> bank & 1 == 0 && self.reached(mem.act_at[bank])
            })
    }

    /// REF, which is owed, and what has to be closed before it: for the next cycle. What comes in this one has to be seen first.
    fn for_refresh(&self) -> Option<Pins> {
        if !self.owed || self.state.for_refresh.is_some() {
            return None;
        }
        let rank = self.state.turn;
        let banks = self.t.banks(rank);
        let first = banks.trailing_zeros() as u8;
        if self.is_quiet(rank) && self.rfc_is_over(rank) {
            return Some(command(ChannelCommand::Ref, first));
        }
        let open = self.state.mem.open & banks;
        if open != 0 && self.masks().precharge & open == open {
            return Some(command(ChannelCommand::PreAll, first));
        }
        (self.state.pim.open & banks != 0 && self.pim_may_precharge())
            .then(|| self.pim_precharge(banks))
    }

    /// Banks that have to be closed for MEM before the operation can be admitted.
    fn in_the_way(&self, operation: &Operation) -> u32 {
        let mem = &self.state.mem;
        if !self.is_known {
            return 0;
        }
        match operation {
            Operation { gwrite: true, bank, row, .. } => {
                if mem.holds(*bank, *row) {
                    0
                } else {
                    mem.open & 1 << bank
                }
            }
            _ if self.t.blocked => mem.open,
            Operation { row, .. } => mem.holding(*row),
        }
    }

    /// Whether the row of a GWRITE is in PIM's row buffers, so that these have to be closed first.
    fn clashes(&self, operation: &Operation) -> bool {
        self.t.blocked || self.state.pim.row == operation.row
    }

    fn estimate(&self, operation: &Operation) -> u64 {
        let Operation { gwrite, row, count, results, .. } = *operation;
        if gwrite {
            return self.t.gwrite();
        }
        let precharges = match (self.state.pim.differs(row), self.t.bankwise) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 32,
        };
        let activations = match (self.state.pim.holds(row), self.t.single) {
            (true, _) => 0,
            (false, false) => 4,
            (false, true) => 8,
        };
        self.t.gemv(precharges, activations, count, results)
    }

    /// Whether the operation's first command could come in the next cycle, from which its estimate is counted.
    fn may_begin(&self, operation: &Operation) -> bool {
        let Operation { gwrite, row, .. } = *operation;
        let pim = &self.state.pim;
        if gwrite {
            return (pim.open == 0 || !self.clashes(operation)) && self.soon(self.state.dot_at);
        }
        if pim.differs(row) {
            return self.soon(self.state.rtp_at) && self.soon(pim.precharge_at);
        }
        if pim.holds(row) {
            return self.soon(self.state.dot_at);
        }
        let closed = pim.closed_groups();
        let mut groups = (0..GROUPS).filter(|group| closed >> group & 1 == 1);
        groups.all(|group| self.group_is_ready(group, row))
            && (!self.t.blocked || self.state.mem.act_at.iter().all(|&at| self.reached(at)))
    }

    /// What PIM does with an operation that is not admitted yet.
    fn before(&self, operation: &Operation, of: &mut OfPim) {
        let state = self.state;
        let may_own = !self.t.blocked || state.owner && self.mem_is_empty;
        if self.owed || !self.rfc_is_over(0) || !self.rfc_is_over(1) {
            of.lost = PimLost::Refresh;
        } else if operation.gwrite || !self.reached(state.copy_at) {
            of.lost = PimLost::Gwrite;
        }
        let lost = |of: &mut OfPim, cause| {
            if of.lost == PimLost::None {
                of.lost = cause;
            }
        };
        if self.owed {
            return;
        }
        let way = self.in_the_way(operation);
        if !may_own || way != 0 {
            lost(of, PimLost::MemRow);
        }
        if !may_own {
            return;
        }
        of.way_ready = way & self.masks().precharge;
        // PIM's row buffers for a GWRITE, and MEM's for either operation.
        if operation.gwrite && state.pim.open != 0 && self.clashes(operation) {
            if self.pim_may_precharge() {
                of.pins = Some(self.pim_precharge(u32::MAX));
            }
            return;
        }
        if way != 0 {
            let ready = state.way_ready & state.mem.open;
            if ready != 0 {
                of.pins = Some(command(ChannelCommand::Pre, ready.trailing_zeros() as u8));
            }
            return;
        }
        let estimate = self.estimate(operation);
        let is_settled = self.reached(state.settle_at);
        // The slack was compared in the cycle before.
        let fits = self.t.refi.is_none() || !self.reached((state.due + 1).saturating_sub(estimate));
        if is_settled && !fits {
            lost(of, PimLost::Admission);
        }
        lost(of, PimLost::Activation);
        let rests = self.rfc_is_over(0) && self.rfc_is_over(1) && self.soon(state.copy_at);
        if is_settled && fits && rests && self.may_begin(operation) {
            of.admits = Some(estimate);
        }
    }

    /// The command of a GEMV operation that is admitted.
    fn gemv(&self, operation: &Operation, of: &mut OfPim) {
        let (state, row) = (self.state, operation.row);
        if state.pim.differs(row) {
            of.lost = PimLost::Activation;
            of.holds_acts = [self.t.steer; 2];
            of.pins = self.pim_may_precharge().then(|| self.pim_precharge(u32::MAX));
            return;
        }
        let closed = state.pim.closed_groups();
        if closed == 0 {
            return self.dots(of);
        }
        of.lost = PimLost::Activation;
        for rank in 0..2 {
            let of_rank = closed & self.t.groups(rank);
            if of_rank == 0 {
                continue;
            }
            let group = of_rank.trailing_zeros() as usize;
            let is_ready = self.group_is_ready(group, row);
            let window = self.t.simulator || state.window_is_empty(rank, self.clock);
            let in_faw = !window || !self.reached(state.faw_at[rank]);
            if is_ready && self.may_activate(rank, group) && window {
                if of.pins.is_none() {
                    of.pins = Some(Pins {
                        row,
                        ..command(ChannelCommand::PimActivation, 4 * group as u8)
                    });
                }
            } else if is_ready && in_faw && of.lost == PimLost::Activation {
                of.lost = PimLost::Window;
            }
            of.holds_acts[rank] = self.t.steer || is_ready;
        }
    }

    /// The next command of an operation whose row is open.
    fn dots(&self, of: &mut OfPim) {
        let state = self.state;
        if !self.reached(state.rcd_pim_at) {
            of.lost = PimLost::Activation;
        }
        let Some((kind, head)) = self.command() else {
            if of.lost == PimLost::None {
                of.lost = PimLost::Feed;
            }
            return;
        };
        let is_read = kind == PimKind::ReadResult;
        let is_short = kind == PimKind::Gemv && self.t.is_short(head.count);
        let takes = match kind {
            PimKind::Gemv => self.t.last_dot(head.count) + self.t.dot,
            PimKind::DotProduct => self.t.dot,
            _ => 0,
        };
        let (is_ready, bus) = if is_read {
            (self.reached(state.result_at), self.reached(state.burst_at))
        } else {
            let dots = self.reached(state.rcd_pim_at)
                && self.reached(state.dot_at)
                && self.reached(state.copy_at);
            (dots, !is_short || self.reached(state.short_at))
        };
        of.holds_reads = is_short || is_read && is_ready;
        let fits = self.fits(takes);
        if of.lost == PimLost::None && is_ready {
            of.lost = if !fits { PimLost::Admission } else { PimLost::Bus };
        }
        if !(is_ready && bus && fits) {
            return;
        }
        of.lost = PimLost::None;
        of.takes = true;
        let (name, count) = match kind {
            PimKind::Gemv => (ChannelCommand::PimGemv, head.count),
            PimKind::DotProduct => (ChannelCommand::PimDotProduct, 0),
            _ => (ChannelCommand::PimReadResult, 0),
        };
        let is_dot = kind == PimKind::DotProduct;
        of.pins = Some(Pins {
            column: if is_read { 0 } else { head.word },
            count,
            first: is_dot && head.first,
            last: is_dot && head.last,
            of_pim: true,
            ..command(name, 0)
        });
    }

    /// The command of a GWRITE that is admitted.
    fn gwrite(&self, operation: &Operation, of: &mut OfPim) {
        let Operation { bank, row, .. } = *operation;
        let (state, at) = (self.state, usize::from(bank));
        let (rank, group) = (self.t.rank(bank), at / 4);
        of.lost = PimLost::Gwrite;
        of.holds_writes[rank] = true;
        let fits = self.fits(self.t.copy);
        if state.mem.open & 1 << bank == 0 {
            of.holds_acts[rank] = true;
            let is_ready = self.reached(state.mem.act_at[at])
                && !(self.clashes(operation) && self.pim_holds_rows());
            let may = is_ready
                && self.may_activate(rank, group)
                && state.window_has_room(rank, self.clock);
            if may && fits {
                of.pins = Some(Pins { row, ..command(ChannelCommand::Act, bank) });
            }
            return;
        }
        let is_ready = self.reached(state.mem.read_at[at]) && self.turned(rank, group);
        if is_ready && self.reached(state.dot_at) && self.reached(state.copy_at) && fits {
            of.takes = true;
            of.pins = Some(Pins { of_pim: true, ..command(ChannelCommand::PimGwrite, bank) });
        }
    }

    /// What PIM does with its operation in this cycle.
    fn of_pim(&self, operation: &Operation) -> OfPim {
        let mut of = OfPim::default();
        if !self.is_admitted || self.owed {
            self.before(operation, &mut of);
            if !operation.gwrite && !self.state.pim.holds(operation.row) {
                let is_soon = self.t.steer
                    && !self.owed
                    && self.reached(self.state.steer_at)
                    && !self.reached(self.state.rtp_at);
                of.holds_acts = [is_soon; 2];
            }
        } else if operation.gwrite {
            self.gwrite(operation, &mut of);
        } else {
            self.gemv(operation, &mut of);
        }
        if !self.reached(self.state.dot_at) {
            of.lost = PimLost::None;
        }
        of
    }

    /// Whether a burst that begins `latency` from now would meet results, with a rest before them and one behind them.
    #[inline]
    fn meets(&self, latency: u64, before: u64, behind: u64) -> bool {
        self.state.results.iter().any(|&at| {
            self.reached((at + 1).saturating_sub(latency + BURST + before))
                && !self.reached((at + BURST + behind).saturating_sub(latency))
        })
    }
}

impl<const READS: usize, const WRITES: usize> ChannelController<READS, WRITES> {
    /// What is decided in this cycle.
    pub(super) fn choose(&self, t: &Times) -> Choice {
        let (clock, state) = (&self.clock, &self.state);
        let look = Look {
            t,
            clock,
            state,
            operation: self.queue.operation(),
            queue: &self.queue,
            is_admitted: self.queue.is_admitted(),
            is_known: state.is_known,
            mem_is_empty: self.scheduler.is_empty(),
            owed: state.owed > 0,
        };
        if look.operation.is_none() && !look.owed && !t.blocked {
            // MEM is alone.
            let (view, mem_may, taken, mut pins, mem_lost) =
                self.of_mem(&look, &OfPim::default(), false);
            pins.mem_lost = if self.pins.moves() { MemLost::None } else { mem_lost };
            return Choice {
                pins,
                view,
                taken,
                told: Told::default(),
                owner: false,
                mem_may,
                for_refresh: None,
                way_ready: 0,
            };
        }
        let for_refresh = look.for_refresh();
        let of = look.operation.map_or_else(OfPim::default, |operation| look.of_pim(operation));
        let (release, owner) = self.ownership(&look);
        let told = Told { admit: of.admits.is_some(), refresh: look.owed, taken: of.takes };
        // At most one of the three: there are neither admissions nor operations under way while a REF is due.
        let pins = state.for_refresh.or(of.pins).or(release);
        let (view, mem_may, taken, of_mem, mem_lost) = self.of_mem(&look, &of, pins.is_some());
        let mut pins = pins.unwrap_or(of_mem);
        // As wide as the port, and more.
        pins.estimate = of.admits.map(|estimate| estimate as u16);
        // The burst of an RD or WR in the last cycle has the data bus in this one too.
        let mem_lost = if self.pins.moves() { MemLost::None } else { mem_lost };
        (pins.mem_lost, pins.pim_lost) = (mem_lost, of.lost);
        Choice { pins, view, taken, told, owner, mem_may, for_refresh, way_ready: of.way_ready }
    }

    /// With a single row buffer: what PIM closes for MEM, and who has the channel in the next cycle.
    fn ownership(&self, look: &Look<'_>) -> (Option<Pins>, bool) {
        let state = look.state;
        if !look.t.blocked {
            return (None, false);
        }
        if !state.owner {
            return (None, look.operation.is_some() && look.mem_is_empty);
        }
        // Nothing is admitted while MEM has a request.
        if look.mem_is_empty || look.is_admitted {
            return (None, true);
        }
        if state.pim.open != 0 {
            let may = !look.owed && look.pim_may_precharge();
            return (may.then(|| look.pim_precharge(u32::MAX)), true);
        }
        let is_over = look.reached(state.pim.closed_at) && look.reached(state.copy_at);
        (None, !is_over)
    }
}
