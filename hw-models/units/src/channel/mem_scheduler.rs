// SPDX-License-Identifier: MIT
//! Queues of reads and writes of a channel, and which of their commands is next.

mod core;
mod queue;
#[cfg(test)]
mod tests;

pub(super) use core::{Candidates, Request, RowChange, Scheduler, Taken, View};

use pimlico_ports::{
    Model, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A scheduler of reads and writes.
    unit MemScheduler: "mem_scheduler" {
        inputs MemSchedulerIn {
            /// A request.
            valid_i: bool => all_but_one_in(4),
            /// The request is a write; else a read.
            write_i: bool,
            /// Bank of the request: pseudo-rank, group, bank.
            bank_i: U<5>,
            /// Row of the request.
            row_i: U<15>,
            /// Column of the request, in bursts.
            column_i: U<4>,
            /// Tag of the request, which comes back with its command.
            tag_i: u8,
            /// The row of the staged request is open in this cycle.
            hit_i: bool,
            /// A row is opened for MEM.
            opens_i: bool => one_in(4),
            /// Bank of the row.
            opens_bank_i: U<5>,
            /// Number of the row.
            opens_row_i: U<15>,
            /// Banks whose row is closed for MEM.
            closes_i: u32,
            /// Banks that may have an RD.
            read_ready_i: u32,
            /// Banks that may have a WR.
            write_ready_i: u32,
            /// Banks that may have an ACT.
            act_ready_i: u32,
            /// Banks with an open row that may have a PRE.
            precharge_ready_i: u32,
            /// PIM has reserved a row.
            reserved_i: bool => one_in(4),
            /// The row that PIM has reserved.
            reserved_row_i: U<15>,
            /// PIM holds a row open, or has closed it just now.
            held_i: bool => one_in(4),
            /// The row that PIM holds.
            held_row_i: U<15>,
            /// The candidate for RD or WR is issued.
            column_taken_i: bool,
            /// The candidate for ACT is issued.
            act_taken_i: bool,
            /// The candidate for PRE is issued.
            precharge_taken_i: bool,
        }
        outputs MemSchedulerOut {
            /// A request is accepted.
            ready_o: bool,
            /// Bank of the staged request, or zero.
            staged_bank_o: U<5>,
            /// Row of the staged request, or zero.
            staged_row_o: U<15>,
            /// There is a candidate for RD or WR.
            column_valid_o: bool,
            /// Whether the candidate is a WR.
            column_write_o: bool,
            /// Bank of the RD or WR.
            column_bank_o: U<5>,
            /// Row of the RD or WR, which is open.
            column_row_o: U<15>,
            /// Column of the RD or WR.
            column_column_o: U<4>,
            /// Tag of the RD or WR.
            column_tag_o: u8,
            /// There is a candidate for ACT.
            act_valid_o: bool,
            /// Bank of the ACT.
            act_bank_o: U<5>,
            /// Row of the ACT.
            act_row_o: U<15>,
            /// There is a candidate for PRE.
            precharge_valid_o: bool,
            /// Bank of the PRE.
            precharge_bank_o: U<5>,
            /// A request of the kind that is served wants a row that PIM has.
            blocked_o: bool,
            /// Writes are served; else reads.
            drains_o: bool,
            /// There is no request.
            empty_o: bool,
        }
        probes MemSchedulerProbe {}
    }
}

/// The cycle model of a scheduler of reads and writes.
///
#[doc = contract!("channel/mem_scheduler")]
#[derive(Clone, Debug)]
pub struct MemScheduler<const READS: usize = 32, const WRITES: usize = 32> {
    core: Scheduler<READS, WRITES>,
}

impl<const READS: usize, const WRITES: usize> Unit for MemScheduler<READS, WRITES> {
    const MODULE: &'static str = "mem_scheduler";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("READS", READS as i64), ("WRITES", WRITES as i64)];
    type In = MemSchedulerIn;
    type Out = MemSchedulerOut;
    type Probe = MemSchedulerProbe;

    fn variant() -> String {
        match (READS, WRITES) {
            (32, 32) => String::new(),
            _ => format!("r{READS}_w{WRITES}"),
        }
    }
}

impl<const READS: usize, const WRITES: usize> Model for MemScheduler<READS, WRITES> {
    fn new() -> Self {
        Self { core: Scheduler::new() }
    }

    fn reset(&mut self) {
        self.core.clear();
    }

    fn probe(&self) -> Self::Probe {
        MemSchedulerProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let staged = self.core.staged();
        let Candidates { column, act, precharge, blocked } = *self.core.candidates();
        let request = column.map(|candidate| candidate.request).unwrap_or_default();
        let output = MemSchedulerOut {
            ready_o: staged.is_none(),
            staged_bank_o: U::new(staged.map_or(0, |request| request.bank.into())),
            staged_row_o: U::new(staged.map_or(0, |request| request.row.into())),
            column_valid_o: column.is_some(),
            column_write_o: request.write,
            column_bank_o: U::new(request.bank.into()),
            column_row_o: U::new(request.row.into()),
            column_column_o: U::new(request.column.into()),
            column_tag_o: request.tag,
            act_valid_o: act.is_some(),
            act_bank_o: U::new(act.map_or(0, |(bank, _)| bank.into())),
            act_row_o: U::new(act.map_or(0, |(_, row)| row.into())),
            precharge_valid_o: precharge.is_some(),
            precharge_bank_o: U::new(precharge.map_or(0, u64::from)),
            blocked_o: blocked,
            drains_o: self.core.drains(),
            empty_o: self.core.is_empty(),
        };
        let row = |valid: bool, row: U<15>| valid.then_some(row.get() as u16);
        let view = View {
            read_ready: input.read_ready_i,
            write_ready: input.write_ready_i,
            act_ready: input.act_ready_i,
            precharge_ready: input.precharge_ready_i,
            of_pim: [
                row(input.reserved_i, input.reserved_row_i),
                row(input.held_i, input.held_row_i),
            ],
        };
        let taken = Taken {
            column: input.column_taken_i,
            act: input.act_taken_i,
            precharge: input.precharge_taken_i,
        };
        let change = RowChange {
            opens: input
                .opens_i
                .then_some((input.opens_bank_i.get() as u8, input.opens_row_i.get() as u16)),
            closes: input.closes_i,
        };
        let request = input.valid_i.then_some(Request {
            write: input.write_i,
            bank: input.bank_i.get() as u8,
            row: input.row_i.get() as u16,
            column: input.column_i.get() as u8,
            tag: input.tag_i,
        });
        self.core.step(&view, taken, change, input.hit_i, request);
        output
    }
}
