// SPDX-License-Identifier: MIT
//! Controller of a channel of NeuPIMs: reads and writes through the MEM row buffers, dot products through those of PIM.

mod choice;
mod lost;
mod obey;
mod state;
#[cfg(test)]
mod tests;
mod times;

pub use lost::{MemLost, PimLost};
pub use times::CONTROLLER_GUARD_TCK;

use self::state::{Clock, State};
use super::mem_scheduler::{Request, Scheduler};
use super::pim_queue::{PimRequest, Queue};
use choice::{Choice, Pins};
use pimlico_ports::{
    Model, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};
use times::Times;

ports! {
    /// A controller of a channel.
    unit ChannelController: "channel_controller" {
        inputs ChannelControllerIn {
            /// tRCD, in tCK; sampled in the first cycle after reset, as all timings and modes.
            rcd_i: u8,
            /// tRCD of WR, in tCK.
            rcd_wr_i: u8,
            /// tRCD of dot products, in tCK.
            rcd_pim_i: u8,
            /// max(tRAS, tRC - tRP), in tCK.
            ras_i: u8,
            /// tRP, in tCK.
            rp_i: u8,
            /// tRTP, in tCK.
            rtp_i: u8,
            /// WR to PRE, in tCK.
            wr_to_pre_i: u8,
            /// WR to RD in another bank group, in tCK.
            wr_to_rd_s_i: u8,
            /// WR to RD in the same bank group, in tCK.
            wr_to_rd_l_i: u8,
            /// tRRD_S, in tCK.
            rrd_s_i: u8,
            /// tRRD_L, in tCK.
            rrd_l_i: u8,
            /// tFAW, in tCK.
            faw_i: u8,
            /// Length of a GWRITE, in tCK.
            copy_i: u8,
            /// Time that is added to every estimate, in tCK.
            guard_i: u8,
            /// tRFC, in tCK.
            rfc_i: U<10>,
            /// From one REF that is due to the next, of either pseudo-rank, in tCK; 0 or 1: no refresh.
            refi_i: U<20>,
            /// RD to data, in tCK.
            cl_i: U<5>,
            /// WR to data, in tCK.
            cwl_i: U<5>,
            /// Last dot product to the results, in tCK.
            latency_i: U<5>,
            /// Between bursts of different drivers of the data bus, in tCK.
            rtrs_i: U<4>,
            /// Between a burst from the DRAM and one to it, in tCK.
            gap_i: U<4>,
            /// Dot product to dot product, in tCK.
            dot_i: U<4>,
            /// All banks are of one pseudo-rank; else of two.
            single_i: bool,
            /// The banks have a single row buffer; else two.
            blocked_i: bool,
            /// A PIM_PRECHARGE is of one bank; else of all.
            bankwise_i: bool,
            /// PIM_ACTIVATIONs do not count in the window of ACTs, as in the authors' simulator.
            simulator_i: bool,
            /// ACTs are kept out of the time in which PIM activates.
            steer_i: bool,
            /// A request of MEM.
            mem_valid_i: bool => all_but_one_in(4),
            /// Whether the request is a write; else a read.
            mem_write_i: bool,
            /// Bank of the request for MEM: pseudo-rank, group, bank.
            mem_bank_i: U<5>,
            /// Row of the request for MEM.
            mem_row_i: U<15>,
            /// Column of the request for MEM, in bursts.
            mem_column_i: U<4>,
            /// Tag of the request for MEM.
            mem_tag_i: u8,
            /// A request of PIM.
            pim_valid_i: bool => one_in(4),
            /// Kind of the request: HEADER, GWRITE, GEMV, DOTPRODUCT, RDRESULT from 0 on.
            pim_kind_i: U<3>,
            /// Bank of a GWRITE.
            pim_bank_i: U<5>,
            /// Row of a HEADER or GWRITE.
            pim_row_i: U<15>,
            /// First word of a GEMV or DOTPRODUCT.
            pim_word_i: U<5>,
            /// Dot products of a HEADER or GEMV, less one.
            pim_count_i: U<5>,
            /// Bursts of results of a HEADER, less one.
            pim_results_i: U<3>,
            /// The DOTPRODUCT begins a sum.
            pim_first_i: bool,
            /// The DOTPRODUCT ends a sum; the GEMV or RDRESULT ends the operation.
            pim_last_i: bool,
        }
        outputs ChannelControllerOut {
            /// A request of MEM is accepted.
            mem_ready_o: bool,
            /// A request of PIM is accepted.
            pim_ready_o: bool,
            /// The command on the pins: a `ChannelCommand`.
            command_o: U<4>,
            /// Bank of the command; the first of the pseudo-rank or group that it is for.
            bank_o: U<5>,
            /// The PIM_PRECHARGE is of all banks.
            all_o: bool,
            /// Row of an ACT or PIM_ACTIVATION.
            row_o: U<15>,
            /// Column of an RD or WR; first word of dot products.
            column_o: U<5>,
            /// Dot products of a GEMV, less one.
            count_o: U<5>,
            /// The DOTPRODUCT begins a sum.
            first_o: bool,
            /// The DOTPRODUCT ends a sum.
            last_o: bool,
            /// The command on the pins is of a request of MEM.
            mem_issued_o: bool,
            /// Tag of the request.
            mem_tag_o: u8,
            /// The command on the pins is the next GWRITE, GEMV, DOTPRODUCT or RDRESULT.
            pim_issued_o: bool,
            /// An operation was admitted in the last cycle.
            admit_o: bool,
            /// Estimate of the operation, in tCK, or zero.
            estimate_o: U<15>,
            /// Why MEM moved no burst: a `MemLost`, or zero.
            mem_lost_o: U<3>,
            /// Why PIM made no dot products: a `PimLost`, or zero.
            pim_lost_o: U<4>,
            /// There is no request.
            idle_o: bool,
            /// In the last cycle a request of PIM was dropped.
            fault_o: bool,
        }
        probes ChannelControllerProbe {}
    }
}

/// A command on the pins of a channel of NeuPIMs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelCommand {
    /// No command.
    #[default]
    None = 0,
    /// Opens a row for MEM.
    Act = 1,
    /// Closes the row of MEM in a bank.
    Pre = 2,
    /// Closes the rows of MEM in a pseudo-rank.
    PreAll = 3,
    /// Reads a burst.
    Rd = 4,
    /// Writes a burst.
    Wr = 5,
    /// Refreshes a pseudo-rank.
    Ref = 6,
    /// Opens a row for PIM in the banks of a group.
    PimActivation = 7,
    /// Closes the row of PIM in a bank, or in all.
    PimPrecharge = 8,
    /// Copies the row of MEM in a bank to the global buffer.
    PimGwrite = 9,
    /// A dot product in all banks.
    PimDotProduct = 10,
    /// Dot products in all banks, and their results.
    PimGemv = 11,
    /// The results of all banks.
    PimReadResult = 12,
}

/// A request of MEM, from the ports.
fn mem_request(input: &ChannelControllerIn) -> Request {
    Request {
        write: input.mem_write_i,
        bank: input.mem_bank_i.get() as u8,
        row: input.mem_row_i.get() as u16,
        column: input.mem_column_i.get() as u8,
        tag: input.mem_tag_i,
    }
}

/// The cycle model of a controller of a channel.
///
/// Where nothing can happen for a while it need not be stepped: [`rest_limit`](Self::rest_limit) says for how long, and
/// [`rest`](Self::rest) is as good as that many steps.
///
#[doc = contract!("channel/channel_controller")]
#[derive(Clone, Debug)]
pub struct ChannelController<const READS: usize = 32, const WRITES: usize = 32> {
    /// None in the first cycle after reset.
    times: Option<Times>,
    clock: Clock,
    state: State,
    scheduler: Scheduler<READS, WRITES>,
    queue: Queue,
    /// What was chosen in the last cycle.
    pins: Pins,
    /// What the last cycle has changed may have its effect in the next.
    busy: bool,
}

impl<const READS: usize, const WRITES: usize> ChannelController<READS, WRITES> {
    /// Cycles from now on in which nothing happens if no request comes: all have the same outputs.
    pub fn rest_limit(&self) -> u64 {
        if self.busy { 0 } else { self.clock.until_next() }
    }

    /// So many cycles without a request, at most [`rest_limit`](Self::rest_limit) of them: the outputs of each.
    pub fn rest(&mut self, cycles: u64) -> ChannelControllerOut {
        debug_assert!(cycles <= self.rest_limit(), "something happens in between");
        self.clock.skip(cycles);
        self.output()
    }

    /// Whether a request of MEM is accepted in the cycle to come.
    pub fn mem_ready(&self) -> bool {
        self.scheduler.staged().is_none()
    }

    /// Whether a request of PIM is accepted in the cycle to come.
    pub fn pim_ready(&self) -> bool {
        self.queue.is_ready()
    }

    /// The outputs, which are registers.
    fn output(&self) -> ChannelControllerOut {
        let pins = &self.pins;
        ChannelControllerOut {
            mem_ready_o: self.mem_ready(),
            pim_ready_o: self.pim_ready(),
            command_o: U::new(pins.command as u64),
            bank_o: U::new(pins.bank.into()),
            all_o: pins.all,
            row_o: U::new(pins.row.into()),
            column_o: U::new(pins.column.into()),
            count_o: U::new(pins.count.into()),
            first_o: pins.first,
            last_o: pins.last,
            mem_issued_o: pins.tag.is_some(),
            mem_tag_o: pins.tag.unwrap_or(0),
            pim_issued_o: pins.of_pim,
            admit_o: pins.estimate.is_some(),
            estimate_o: U::new(pins.estimate.unwrap_or(0).into()),
            mem_lost_o: U::new(pins.mem_lost as u64),
            pim_lost_o: U::new(pins.pim_lost as u64),
            idle_o: self.scheduler.is_empty() && self.queue.is_empty(),
            fault_o: self.queue.has_fault(),
        }
    }
}

impl<const READS: usize, const WRITES: usize> Unit for ChannelController<READS, WRITES> {
    const MODULE: &'static str = "channel_controller";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("READS", READS as i64), ("WRITES", WRITES as i64)];
    type In = ChannelControllerIn;
    type Out = ChannelControllerOut;
    type Probe = ChannelControllerProbe;

    fn variant() -> String {
        match (READS, WRITES) {
            (32, 32) => String::new(),
            _ => format!("r{READS}_w{WRITES}"),
        }
    }
}

impl<const READS: usize, const WRITES: usize> Model for ChannelController<READS, WRITES> {
    fn new() -> Self {
        Self {
            times: None,
            clock: Clock::new(),
            state: State::new(),
            scheduler: Scheduler::new(),
            queue: Queue::new(),
            pins: Pins::default(),
            busy: true,
        }
    }

    fn reset(&mut self) {
        let Self { times, clock, state, scheduler, queue, pins, busy } = self;
        state.clear();
        scheduler.clear();
        (*times, *clock, *queue) = (None, Clock::new(), Queue::new());
        (*pins, *busy) = (Pins::default(), true);
    }

    fn probe(&self) -> Self::Probe {
        ChannelControllerProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.output();
        let mem = (input.mem_valid_i && self.mem_ready()).then(|| mem_request(input));
        let pim = (input.pim_valid_i && self.pim_ready()).then(|| PimRequest {
            kind: input.pim_kind_i.get() as u8,
            bank: input.pim_bank_i.get() as u8,
            row: input.pim_row_i.get() as u16,
            word: input.pim_word_i.get() as u8,
            count: input.pim_count_i.get() as u8,
            results: input.pim_results_i.get() as u8,
            first: input.pim_first_i,
            last: input.pim_last_i,
        });
        let Some(times) = self.times.as_ref() else {
            let times = Times::sample(input);
            self.state.begin(&times);
            self.times = Some(times);
            self.scheduler.step(
                &Default::default(),
                Default::default(),
                Default::default(),
                false,
                mem,
            );
            self.queue.step(Default::default(), pim);
            self.clock.tick();
            return output;
        };
        let ticks = self.state.tick(times, &self.clock);
        let Choice { pins, view, taken, told, owner, mem_may, for_refresh, way_ready } =
            self.choose(times);
        let staged = self.scheduler.staged();
        let staged_hits =
            staged.is_some_and(|staged| self.state.mem.holds(staged.bank, staged.row));
        let change = self.state.obey(times, &pins, self.clock.now());
        let had_operation = self.queue.operation().is_some();
        let is_seen = self.queue.command().is_some() && !told.taken;
        let mut busy = ticks
            || self.pins.moves()
            || pins.command != ChannelCommand::None
            || pins.estimate.is_some();
        busy |= self.scheduler.step(&view, taken, change, staged_hits, mem);
        busy |= self.queue.step(told, pim);
        if !had_operation && self.queue.operation().is_some() {
            self.state.settle(self.clock.now());
        }
        let state = &mut self.state;
        busy |= (owner, had_operation, is_seen, mem_may)
            != (state.owner, state.is_known, state.is_seen, state.mem_may);
        busy |= (for_refresh, way_ready) != (state.for_refresh, state.way_ready);
        (state.owner, state.is_known) = (owner, had_operation);
        (state.is_seen, state.mem_may) = (is_seen, mem_may);
        (state.for_refresh, state.way_ready) = (for_refresh, way_ready);
        self.pins = pins;
        self.busy = busy;
        self.clock.tick();
        output
    }
}
