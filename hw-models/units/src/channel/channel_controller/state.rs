// SPDX-License-Identifier: MIT
//! Open rows of a channel and when which command may come again. Times are cycles since reset.

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

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Whether a time has come.
    pub(super) fn reached(&self, time: u64) -> bool {
        let reached = self.now >= time;
        if !reached {
            self.next.set(self.next.get().min(time));
        }
        reached
    }

    /// The next cycle.
    pub(super) fn tick(&mut self) {
        self.now += 1;
    }

    /// A new cycle forgets what was asked for in the last.
    pub(super) fn forget(&self) {
        self.next.set(u64::MAX);
    }

    pub(super) fn until_next(&self) -> u64 {
        self.next.get() - self.now
    }

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
    /// Banks that a command has changed since they were looked at; those of which some has not come; and when the next will, or
    /// before it.
    touched: u32,
    pending: u32,
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
        let mut left = self.touched;
        if now >= self.until {
            (left, self.until) = (left | self.pending, u64::MAX);
        }
        self.touched = 0;
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let mut next = u64::MAX;
            let is_open = self.open & bit != 0;
            let mut ask = |mask: &mut u32, at: u64, open: bool| {
                let may = is_open == open && at <= now;
                *mask = if may { *mask | bit } else { *mask & !bit };
                if is_open == open && at > now {
                    next = next.min(at);
                }
            };
            ask(&mut self.masks.read, self.read_at[bank], true);
            ask(&mut self.masks.write, self.write_at[bank], true);
            ask(&mut self.masks.precharge, self.precharge_at[bank], true);
            ask(&mut self.masks.act, self.act_at[bank], false);
            self.pending = if next == u64::MAX { self.pending & !bit } else { self.pending | bit };
            self.until = self.until.min(next);
        }
    }

    /// A command has changed times or rows of banks.
    pub(super) fn touch(&mut self, banks: u32) {
        self.touched |= banks;
    }

    /// Whether a bank has a row open.
    pub(super) fn holds(&self, bank: u8, row: u16) -> bool {
        self.open & 1 << bank != 0 && self.row[usize::from(bank)] == row
    }

    /// The banks whose open row is `row`.
    pub(super) fn holding(&self, row: u16) -> u32 {
        let mut left = self.open;
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
    /// tRAS of the last activation.
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
    (0..GROUPS).fold(0, |groups, group| groups | ((mask >> (4 * group) & 1) as u8) << group)
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
        }
    }

    /// The timings are known.
    pub(super) fn begin(&mut self, times: &Times) {
        self.due = times.refi.unwrap_or(u64::MAX);
    }

    /// The operation or PIM's rows have changed in this cycle: it has to be estimated again.
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
        let Some(refi) = times.refi.filter(|_| clock.reached(self.due)) else { return false };
        self.due += refi;
        self.owed = MOST_OWED.min(self.owed + 1);
        // The next one is asked for as well.
        clock.reached(self.due);
        true
    }

    /// The banks that may be activated in a window: one, and a whole group for PIM.
    pub(super) fn window_has_room(&self, rank: usize, clock: &Clock) -> bool {
        clock.reached(self.window[rank].iter().copied().min().unwrap_or(0))
    }

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
