// SPDX-License-Identifier: MIT
//! Open rows of a channel and when which command may come again. Times are cycles since reset.

#[cfg(test)]
mod tests;

use super::choice::Pins;
use super::times::Times;
use std::cell::Cell;
use std::collections::VecDeque;

/// Groups of a channel.
pub(super) const GROUPS: usize = 8;
/// The lowest bank of each group.
const FIRST_OF_GROUPS: u32 = 0x1111_1111;
/// Banks that may be activated in a window of tFAW.
const PLACES: usize = 4;
/// The most REFs that are counted as due.
const MOST_OWED: u8 = 15;
/// Cycles for which an operation is estimated.
const SETTLES: u64 = 4;

/// The cycle, and the next one in which a comparison with it has another answer.
///
/// What is decided in a cycle depends on time by [`reached`](Self::reached) alone: until the next of the times that it has
/// asked for is reached, the same is decided again.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    now: u64,
    next: Cell<u64>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { now: 0, next: Cell::new(u64::MAX) }
    }

    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Whether a time has come.
    #[inline]
    pub(super) fn reached(&self, time: u64) -> bool {
        let reached = self.now >= time;
        if !reached {
            self.next.set(self.next.get().min(time));
        }
        reached
    }

    /// The next cycle.
    #[inline]
    pub(super) fn tick(&mut self) {
        self.now += 1;
    }

    /// A new cycle forgets what was asked for in the last.
    #[inline]
    pub(super) fn forget(&self) {
        self.next.set(u64::MAX);
    }

    #[inline]
    pub(super) fn until_next(&self) -> u64 {
        self.next.get() - self.now
    }

    #[inline]
    pub(super) fn skip(&mut self, cycles: u64) {
        self.now += cycles;
    }
}

/// MEM's rows, by bank.
#[derive(Clone, Debug)]
pub(super) struct Mem {
    pub open: u32,
    pub row: [u16; 32],
    /// When an RD, a WR, a PRE of the open row and an ACT of a closed one may come, but for what other banks forbid.
    pub read_at: [u64; 32],
    pub write_at: [u64; 32],
    pub precharge_at: [u64; 32],
    pub act_at: [u64; 32],
    /// What of these has come.
    pub masks: Masks,
    /// Banks that a command has changed since they were looked at; those of which some has not come, and when the next of each will;
    /// and when the first of these will, or before it.
    touched: u32,
    pending: u32,
    next: [u64; 32],
    pub until: u64,
}

/// Banks that may have an RD, a WR, a PRE of an open row, and an ACT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Masks {
    pub read: u32,
    pub write: u32,
    pub precharge: u32,
    pub act: u32,
}

impl Mem {
    /// Brings the masks up to this cycle.
    pub(super) fn look(&mut self, now: u64) {
        let mut left = std::mem::take(&mut self.touched);
        if now >= self.until {
            self.until = u64::MAX;
            let mut pending = self.pending & !left;
            while pending != 0 {
                let bank = pending.trailing_zeros();
                pending &= pending - 1;
                match self.next[bank as usize] {
                    next if next > now => self.until = self.until.min(next),
                    _ => left |= 1 << bank,
                }
            }
        }
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            self.look_at(bank, now);
        }
    }

    /// The same of a bank.
    fn look_at(&mut self, bank: usize, now: u64) {
        let bit = 1u32 << bank;
        let may = |at: u64| u32::from(at <= now) << bank;
        // A time that has come is none to wait for.
        let left = |at: u64| if at > now { at } else { u64::MAX };
        let masks = &mut self.masks;
        let Masks { read, write, precharge, act } = *masks;
        let rest = |mask: u32| mask & !bit;
        let next = if self.open & bit != 0 {
            let (r, w, p) = (self.read_at[bank], self.write_at[bank], self.precharge_at[bank]);
            masks.read = rest(read) | may(r);
            masks.write = rest(write) | may(w);
            masks.precharge = rest(precharge) | may(p);
            masks.act = rest(act);
            left(r).min(left(w)).min(left(p))
        } else {
            let at = self.act_at[bank];
            masks.read = rest(read);
            masks.write = rest(write);
            masks.precharge = rest(precharge);
            masks.act = rest(act) | may(at);
            left(at)
        };
        self.pending = rest(self.pending) | u32::from(next != u64::MAX) << bank;
        self.next[bank] = next;
        self.until = self.until.min(next);
    }

    /// A PRE of a bank waits until a later cycle. Nothing else of the bank changes.
    #[inline]
    pub(super) fn hold(&mut self, bank: usize, until: u64) {
        let bit = 1u32 << bank;
        let at = until.max(self.precharge_at[bank]);
        self.precharge_at[bank] = at;
        self.masks.precharge &= !bit;
        let others = if self.pending & bit != 0 { self.next[bank] } else { u64::MAX };
        self.pending |= bit;
        self.next[bank] = others.min(at);
        self.until = self.until.min(at);
    }

    /// A command has changed times or rows of banks.
    #[inline]
    pub(super) fn touch(&mut self, banks: u32) {
        self.touched |= banks;
    }

    /// Whether a bank has a row open.
    #[inline]
    pub(super) fn holds(&self, bank: u8, row: u16) -> bool {
        self.open & 1 << bank != 0 && self.row[usize::from(bank)] == row
    }

    /// The banks whose open row is `row`.
    pub(super) fn holding(&self, row: u16) -> u32 {
        // Most often there is none, and all are looked at at once.
        let may_hold = self.row.iter().fold(false, |may, &other| may | (other == row));
        let mut left = if may_hold { self.open } else { 0 };
        let mut banks = 0;
        while left != 0 {
            let bank = left.trailing_zeros();
            banks |= u32::from(self.row[bank as usize] == row) << bank;
            left &= left - 1;
        }
        banks
    }
}

/// Banks that MEM may not use, and pseudo-ranks in which PIM holds ACTs back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemMay {
    pub stop: u32,
    pub holds: [bool; 2],
}

/// PIM's rows. All that are open are the same one.
#[derive(Clone, Debug, Default)]
pub(super) struct Pim {
    /// Banks with an open row.
    pub open: u32,
    pub row: u16,
    /// tRAS of the last activation, and the cycle in which it is known.
    pub precharge_at: u64,
    /// tRP of the last precharge of each group.
    pub act_at: [u64; GROUPS],
    /// tRP of the last precharge of all.
    pub closed_at: u64,
}

impl Pim {
    /// Groups without an open row, as a mask.
    pub(super) fn closed_groups(&self) -> u8 {
        let open = self.open | self.open >> 1;
        let any = (open | open >> 2) & FIRST_OF_GROUPS;
        groups(!any & FIRST_OF_GROUPS)
    }

    /// Whether the row is open in some banks of a group and not in all.
    pub(super) fn is_partly_open(&self) -> bool {
        let (any, all) = (self.open | self.open >> 1, self.open & self.open >> 1);
        ((any | any >> 2) ^ (all & all >> 2)) & FIRST_OF_GROUPS != 0
    }

    /// Whether the row of an operation is open in all banks.
    pub(super) fn holds(&self, row: u16) -> bool {
        self.open == u32::MAX && self.row == row
    }

    /// Whether rows have to be closed before that of an operation is opened.
    pub(super) fn differs(&self, row: u16) -> bool {
        self.open != 0 && (self.row != row || self.is_partly_open())
    }
}

/// The bits of the lowest bank of each group, one behind the other.
fn groups(mask: u32) -> u8 {
    let pairs = (mask | mask >> 3) & 0x0303_0303;
    let fours = (pairs | pairs >> 6) & 0x000F_000F;
    (fours | fours >> 12) as u8
}

/// What a channel has to keep.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub mem: Mem,
    pub pim: Pim,
    /// When an RD or WR of a pseudo-rank may come, for the data bus; an RD or GWRITE, for tWTR_S, and of a group, for tWTR_L.
    pub read_at: [u64; 2],
    pub write_at: [u64; 2],
    pub turned_at: [u64; 2],
    pub turned_group_at: [u64; GROUPS],
    /// tRRD, tFAW behind a PIM_ACTIVATION, tRFC, and the places of the window of ACTs.
    pub act_at: [u64; 2],
    pub act_group_at: [u64; GROUPS],
    pub faw_at: [u64; 2],
    pub rfc_at: [u64; 2],
    pub window: [[u64; PLACES]; 2],
    /// When an ACT may come, for the last three.
    pub opens_at: [u64; 2],
    /// When dot products may come: tRCD, those before, the global buffer, and the data bus for short ones.
    pub rcd_pim_at: u64,
    pub dot_at: u64,
    pub copy_at: u64,
    pub short_at: u64,
    /// tRTP behind dot products; results of a sum; the data bus for RDRESULT.
    pub rtp_at: u64,
    pub result_at: u64,
    pub burst_at: u64,
    /// From when on an ACT would hold PIM's next activations back.
    pub steer_at: u64,
    /// When the estimate of the operation is there.
    pub settle_at: u64,
    /// Bursts of results that are to come.
    pub results: VecDeque<u64>,
    /// When the next REF is due, those that are, and the pseudo-rank of the first.
    pub due: u64,
    pub owed: u8,
    pub turn: usize,
    /// With a single row buffer: PIM has the channel.
    pub owner: bool,
    /// In the last cycle: there was an operation; its command was asked for, and was not issued; what was left
    /// to MEM.
    pub is_known: bool,
    pub is_seen: bool,
    pub mem_may: MemMay,
    /// What was decided in the last cycle: what comes for a REF; banks in the way of the operation that may be
    /// closed.
    pub for_refresh: Option<Pins>,
    pub way_ready: u32,
}

impl State {
    pub(super) fn new() -> Self {
        Self::with(VecDeque::with_capacity(64))
    }

    /// As new; the room of the results stays.
    pub(super) fn clear(&mut self) {
        let mut results = std::mem::take(&mut self.results);
        results.clear();
        *self = Self::with(results);
    }

    fn with(results: VecDeque<u64>) -> Self {
        Self {
            mem: Mem {
                open: 0,
                row: [0; 32],
                read_at: [0; 32],
                write_at: [0; 32],
                precharge_at: [0; 32],
                act_at: [0; 32],
                masks: Masks::default(),
                touched: u32::MAX,
                pending: 0,
                next: [0; 32],
                until: u64::MAX,
            },
            pim: Pim::default(),
            read_at: [0; 2],
            write_at: [0; 2],
            turned_at: [0; 2],
            turned_group_at: [0; GROUPS],
            act_at: [0; 2],
            act_group_at: [0; GROUPS],
            faw_at: [0; 2],
            rfc_at: [0; 2],
            window: [[0; PLACES]; 2],
            opens_at: [0; 2],
            rcd_pim_at: 0,
            dot_at: 0,
            copy_at: 0,
            short_at: 0,
            rtp_at: 0,
            result_at: 0,
            burst_at: 0,
            steer_at: 0,
            settle_at: 0,
            results,
            due: u64::MAX,
            owed: 0,
            turn: 0,
            owner: false,
            is_known: false,
            is_seen: false,
            mem_may: MemMay::default(),
            for_refresh: None,
            way_ready: 0,
        }
    }

    /// The timings are known.
    pub(super) fn begin(&mut self, times: &Times) {
        self.due = times.refi.unwrap_or(u64::MAX);
    }

    /// The operation or PIM's rows have changed in this cycle: it has to be estimated again.
    #[inline]
    pub(super) fn settle(&mut self, now: u64) {
        self.settle_at = now + 1 + SETTLES;
    }

    /// The begin of a cycle. Returns whether a REF is due since.
    pub(super) fn tick(&mut self, times: &Times, clock: &Clock) -> bool {
        clock.forget();
        self.mem.look(clock.now());
        while self.results.front().is_some_and(|&burst| burst < clock.now()) {
            self.results.pop_front();
        }
        // Without refresh none is ever due.
        if !clock.reached(self.due) {
            return false;
        }
        let Some(refi) = times.refi else { return false };
        self.due += refi;
        self.owed = MOST_OWED.min(self.owed + 1);
        // The next one is asked for as well.
        clock.reached(self.due);
        true
    }

    /// The banks that may be activated in a window: one, and a whole group for PIM.
    #[inline]
    pub(super) fn window_has_room(&self, rank: usize, clock: &Clock) -> bool {
        clock.reached(self.window_at(rank))
    }

    /// When a window has room.
    fn window_at(&self, rank: usize) -> u64 {
        let [a, b, c, d] = self.window[rank];
        a.min(b).min(c.min(d))
    }

    /// tRFC, tFAW behind a PIM_ACTIVATION or the window have changed.
    pub(super) fn set_opens_at(&mut self, rank: usize) {
        let window = self.window_at(rank);
        self.opens_at[rank] = self.rfc_at[rank].max(self.faw_at[rank]).max(window);
    }

    #[inline]
    pub(super) fn window_is_empty(&self, rank: usize, clock: &Clock) -> bool {
        clock.reached(self.window[rank].iter().copied().max().unwrap_or(0))
    }

    /// Takes a number of places in the window.
    pub(super) fn take_places(&mut self, rank: usize, places: usize, now: u64, faw: u64) {
        let free = self.window[rank].iter_mut().filter(|until| **until <= now);
        for place in free.take(places) {
            *place = now + faw.max(1);
        }
    }
}
