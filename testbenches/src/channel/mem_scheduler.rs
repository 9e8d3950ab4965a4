// SPDX-License-Identifier: MIT
//! Bench of `mem_scheduler`: candidates are those that `golden` finds among all bursts that wait.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::mem_order::{Burst, MemLog};
use pimlico_ports::{Model, U};
use pimlico_units::channel::{MemScheduler, MemSchedulerIn, MemSchedulerOut};

const KINDS: [&str; 2] = ["reads", "writes"];
const CANDIDATES: [&str; 3] = ["column", "ACT", "PRE"];
const LEVELS: [&str; 3] = ["none", "some", "full"];
const DRAINS: [&str; 5] =
    ["full", "no read", "behind a write", "no more, down to a quarter", "behind a read"];
const CHOICES: [&str; 4] =
    ["oldest of all", "past rows of PIM", "past the other pseudo-rank", "past another bank"];
const CLOSES: [&str; 2] = ["no hits", "after four hits"];

fn rows_of_pim(input: &MemSchedulerIn) -> Vec<u64> {
    let rows = [(input.reserved_i, input.reserved_row_i), (input.held_i, input.held_row_i)];
    rows.into_iter().filter(|(is, _)| *is).map(|(_, row)| row.get()).collect()
}

fn burst(input: &MemSchedulerIn) -> Burst {
    Burst {
        write: input.write_i,
        bank: input.bank_i.get(),
        row: input.row_i.get(),
        column: input.column_i.get(),
        tag: input.tag_i.into(),
    }
}

/// The burst of the candidate for RD or WR.
fn column(output: &MemSchedulerOut) -> Burst {
    Burst {
        write: output.column_write_o,
        bank: output.column_bank_o.get(),
        row: output.column_row_o.get(),
        column: output.column_column_o.get(),
        tag: output.column_tag_o.into(),
    }
}

/// The unit, from its log.
#[derive(Clone, Debug, Default)]
struct Follower {
    log: MemLog,
    staged: Option<Burst>,
    drains: bool,
    /// The outputs of candidates in the next cycle.
    next: MemSchedulerOut,
    /// The last cycle's, for what is a cycle late: rows of PIM, and rows that are opened and closed.
    last: MemSchedulerIn,
    rooms: [usize; 2],
}

impl Follower {
    fn new(reads: usize, writes: usize) -> Self {
        Self { rooms: [reads, writes], ..Self::default() }
    }

    fn expected(&self) -> MemSchedulerOut {
        let staged = self.staged.unwrap_or_default();
        let waits = self.log.count(false) + self.log.count(true);
        MemSchedulerOut {
            ready_o: self.staged.is_none(),
            staged_bank_o: U::new(staged.bank),
            staged_row_o: U::new(staged.row),
            drains_o: self.drains,
            empty_o: self.staged.is_none() && waits == 0,
            ..self.next
        }
    }

    fn cycle(&mut self, input: &MemSchedulerIn) {
        let (log, of_pim, kind) = (&self.log, rows_of_pim(&self.last), self.drains);
        let ready = if kind { input.write_ready_i } else { input.read_ready_i };
        let picked = log.column(kind, ready, &of_pim).filter(|_| !input.column_taken_i);
        let opens = log.act(kind, input.act_ready_i, &of_pim).filter(|_| !input.act_taken_i);
        let closes = log
            .precharge(kind, input.precharge_ready_i, &of_pim)
            .filter(|_| !input.precharge_taken_i);
        let burst = picked.unwrap_or_default();
        let next = MemSchedulerOut {
            column_valid_o: picked.is_some(),
            column_write_o: burst.write,
            column_bank_o: U::new(burst.bank),
            column_row_o: U::new(burst.row),
            column_column_o: U::new(burst.column),
            column_tag_o: burst.tag as u8,
            act_valid_o: opens.is_some(),
            act_bank_o: U::new(opens.map_or(0, |(bank, _)| bank)),
            act_row_o: U::new(opens.map_or(0, |(_, row)| row)),
            precharge_valid_o: closes.is_some(),
            precharge_bank_o: U::new(closes.unwrap_or(0)),
            blocked_o: log.is_blocked(kind, &of_pim),
            ..MemSchedulerOut::default()
        };
        let [reads, writes] = [log.count(false), log.count(true)];
        let behind = self.staged.filter(|staged| log.is_behind(staged));
        self.drains = match (behind, kind) {
            (Some(staged), _) => !staged.write,
            (_, true) if writes == 0 => false,
            (_, true) => reads == 0 || writes > self.rooms[1] / 4,
            (_, false) => writes > 0 && (reads == 0 || writes == self.rooms[1]),
        };
        let room = |staged: &Burst| {
            let of = usize::from(staged.write);
            [reads, writes][of] < self.rooms[of]
        };
        let enters = self.staged.filter(|staged| behind.is_none() && room(staged));
        if input.column_taken_i {
            let moving = column(&self.next);
            self.log.moved(moving);
        }
        if let Some(burst) = enters {
            self.log.come(burst);
            self.staged = None;
        } else if self.staged.is_none() && input.valid_i {
            self.staged = Some(self::burst(input));
        }
        let last = std::mem::replace(&mut self.last, *input);
        (0..32)
            .filter(|bank| last.closes_i >> bank & 1 == 1)
            .for_each(|bank| self.log.closed(bank));
        if last.opens_i {
            self.log.opened(last.opens_bank_i.get(), last.opens_row_i.get());
        }
        self.next = next;
    }
}

impl<const READS: usize, const WRITES: usize> Bench for MemScheduler<READS, WRITES> {
    /// Checks all outputs in every cycle.
    fn oracle(inputs: &[MemSchedulerIn], outputs: &[MemSchedulerOut]) -> Result<u64, OracleError> {
        let mut follower = Follower::new(READS, WRITES);
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            OracleError::unless_equal(cycle, output, &follower.expected())?;
            follower.cycle(input);
        }
        Ok(outputs.len() as u64)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("candidate, of", &CANDIDATES, &KINDS);
        bins.cross("issued, of", &CANDIDATES, &KINDS);
        bins.cross("level, of", &LEVELS, &KINDS);
        bins.declare("kind changes", DRAINS);
        bins.cross("column, of", &CHOICES, &KINDS);
        bins.cross("PRE, with", &CLOSES, &KINDS);
        bins.declare("staged request", ["enters", "waits for room", "waits for the other queue"]);
        bins.declare("no candidate", ["rows of PIM alone", "banks are not ready", "all"]);
        bins.declare("pseudo-rank", ["stays", "changes", "changes after sixteen"]);
    }

    fn cover(inputs: &[MemSchedulerIn], outputs: &[MemSchedulerOut], bins: &mut Bins) {
        let mut follower = Follower::new(READS, WRITES);
        for (input, output) in inputs.iter().zip(outputs) {
            let kind = usize::from(output.drains_o);
            let log = &follower.log;
            let candidates = [output.column_valid_o, output.act_valid_o, output.precharge_valid_o];
            let taken = [input.column_taken_i, input.act_taken_i, input.precharge_taken_i];
            for nth in 0..3 {
                let of = if nth == 0 { usize::from(output.column_write_o) } else { kind };
                if candidates[nth] {
                    bins.hit_cross("candidate, of", nth, of);
                }
                if taken[nth] {
                    bins.hit_cross("issued, of", nth, of);
                }
            }
            for (of, room) in [READS, WRITES].into_iter().enumerate() {
                let count = log.count(of == 1);
                let level = if count == 0 { 0 } else { 1 + usize::from(count == room) };
                bins.hit_cross("level, of", level, of);
            }
            let rank = log.preferred();
            let of_pim = rows_of_pim(&follower.last);
            if input.column_taken_i {
                let last = log.last_rank();
                let stays = output.column_bank_o.get() / 16 == last;
                bins.hit(
                    "pseudo-rank",
                    match (stays, rank == last) {
                        (true, _) => 0,
                        (false, true) => 1,
                        _ => 2,
                    },
                );
            }
            let ready = if output.drains_o { input.write_ready_i } else { input.read_ready_i };
            if let Some(burst) = log.column(output.drains_o, ready, &of_pim) {
                let oldest = log.oldest_hit(output.drains_o).unwrap_or(burst);
                let choice = match oldest {
                    oldest if oldest == burst => 0,
                    oldest if of_pim.contains(&oldest.row) => 1,
                    oldest if oldest.bank / 16 != rank && burst.bank / 16 == rank => 2,
                    _ => 3,
                };
                bins.hit_cross("column, of", choice, kind);
            } else if log.count(output.drains_o) > 0 && !output.column_valid_o {
                let act = log.act(output.drains_o, input.act_ready_i, &of_pim).is_some();
                if !act {
                    let any = log.column(output.drains_o, u32::MAX, &of_pim).is_some()
                        || log.act(output.drains_o, u32::MAX, &of_pim).is_some();
                    bins.hit("no candidate", usize::from(any));
                }
            } else if output.empty_o {
                bins.hit("no candidate", 2);
            }
            if let Some(bank) = log.precharge(output.drains_o, input.precharge_ready_i, &of_pim) {
                let hits = log.hits(output.drains_o, bank, &of_pim);
                bins.hit_cross("PRE, with", usize::from(hits), kind);
            }
            let before = follower.clone();
            follower.cycle(input);
            let behind = before.staged.filter(|staged| before.log.is_behind(staged));
            if let Some(staged) = before.staged {
                let way = match (behind, follower.staged) {
                    (Some(_), _) => 2,
                    (_, Some(after)) if after == staged => 1,
                    _ => 0,
                };
                bins.hit("staged request", way);
            }
            if before.drains != follower.drains {
                let why = match (follower.drains, behind.is_some()) {
                    (true, true) => 2,
                    (true, _) if before.log.count(false) == 0 => 1,
                    (true, _) => 0,
                    (_, true) => 4,
                    _ => 3,
                };
                bins.hit("kind changes", why);
            }
        }
    }

    /// Rows are open as commands have opened them; banks are ready at random, for some of the time none is.
    fn arrange(inputs: &mut [MemSchedulerIn]) {
        let Some(first) = inputs.first() else { return };
        // How many banks and rows there are, which kind prevails, and how fast all goes.
        let habit = first.row_i.get();
        let (banks, rows) =
            ([0x1F, 0x13, 0x10, 0x1][(habit & 3) as usize], [1, 3, 7][(habit >> 2) as usize % 3]);
        let (mostly, slow) = (habit >> 5 & 3, habit >> 7 & 3);
        // Which they are differs from episode to episode.
        let (other_bank, other_row) = (first.opens_bank_i.get(), first.opens_row_i.get() & !7);
        let few = |row: u64| U::new(row & rows | other_row);
        let mut unit = Self::new();
        let mut open: [Option<U<15>>; 32] = [None; 32];
        for input in inputs {
            let draw = input.held_row_i.get();
            input.bank_i = U::new(input.bank_i.get() & banks ^ other_bank);
            input.row_i = few(input.row_i.get());
            input.write_i = match mostly {
                0 => input.write_i && draw & 12 == 0,
                1 => input.write_i || draw & 12 != 0,
                _ => input.write_i,
            };
            if draw & 3 == 0 {
                // Few columns: some are asked for again.
                input.column_i = U::new(input.column_i.get() & 1);
            }
            input.reserved_row_i = few(input.reserved_row_i.get());
            input.held_row_i = few(draw >> 4);
            let is_open = (0..32).filter(|&bank| open[bank].is_some());
            let is_open = is_open.fold(0u32, |mask, bank| mask | 1 << bank);
            let stopped = draw >> 8 & 7 < [0, 2, 5, 7][slow as usize];
            let may =
                |mask: u32, other: u32| if stopped { mask & other & 0x1111 } else { mask | other };
            input.read_ready_i = may(input.read_ready_i, input.closes_i) & is_open;
            input.write_ready_i = may(input.write_ready_i, input.closes_i) & is_open;
            input.precharge_ready_i = may(input.precharge_ready_i, input.read_ready_i) & is_open;
            input.act_ready_i &= !is_open;
            let wanted = [input.column_taken_i, input.act_taken_i, input.precharge_taken_i];
            let now = unit.settle(input);
            let staged = now.staged_bank_o.get() as usize;
            input.hit_i = !now.ready_o && open[staged] == Some(now.staged_row_o);
            let bit = |bank: U<5>| 1u32 << bank.get();
            let taken = [
                wanted[0]
                    && now.column_valid_o
                    && is_open & bit(now.column_bank_o) != 0
                    && open[now.column_bank_o.get() as usize] == Some(now.column_row_o),
                wanted[1] && now.act_valid_o && is_open & bit(now.act_bank_o) == 0,
                wanted[2] && now.precharge_valid_o && is_open & bit(now.precharge_bank_o) != 0,
            ];
            let nth = if stopped && draw >> 11 & 1 == 1 {
                None
            } else {
                taken.iter().position(|taken| *taken)
            };
            input.column_taken_i = nth == Some(0);
            input.act_taken_i = nth == Some(1);
            input.precharge_taken_i = nth == Some(2);
            // Another one opens or closes rows as well, where the scheduler does not.
            let other = nth.is_none() && input.opens_i && draw >> 12 == 7;
            let mut closes = 0;
            if nth == Some(2) {
                closes = bit(now.precharge_bank_o);
            } else if nth.is_none() && draw >> 12 == 3 {
                closes = input.closes_i;
            }
            input.closes_i = closes;
            input.opens_i =
                nth == Some(1) || other && is_open & bit(input.opens_bank_i) == 0 && closes == 0;
            if nth == Some(1) {
                (input.opens_bank_i, input.opens_row_i) = (now.act_bank_o, now.act_row_o);
            } else {
                input.opens_row_i = few(input.opens_row_i.get());
            }
            (0..32).filter(|bank| closes >> bank & 1 == 1).for_each(|bank| open[bank] = None);
            if input.opens_i {
                open[input.opens_bank_i.get() as usize] = Some(input.opens_row_i);
            }
            unit.step(input);
        }
    }
}
