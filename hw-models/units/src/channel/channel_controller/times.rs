// SPDX-License-Identifier: MIT
//! Timings and modes of a channel, and what they make together.

use super::ChannelControllerIn;
use crate::channel::GUARD_TCK;

/// Guard with which no estimate of the controller is too low, for GEMVs, in tCK: the estimator's own, and the cycle from the
/// admission to the first command.
pub const CONTROLLER_GUARD_TCK: u8 = GUARD_TCK + 1;

/// Dot products that fill the pipeline of the PUs.
const FILL: u64 = 6;
/// A burst on the data bus, in tCK.
pub(super) const BURST: u64 = 2;

/// Timings, in tCK, each 1 at least where a timer counts it; and modes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub rcd: u64,
    pub rcd_wr: u64,
    pub rcd_pim: u64,
    pub ras: u64,
    pub rp: u64,
    pub rtp: u64,
    pub wr_to_pre: u64,
    pub wr_to_rd_s: u64,
    pub wr_to_rd_l: u64,
    pub rrd_s: u64,
    pub rrd_l: u64,
    pub faw: u64,
    pub copy: u64,
    pub rfc: u64,
    /// None: no refresh.
    pub refi: Option<u64>,
    pub cl: u64,
    pub cwl: u64,
    pub latency: u64,
    pub rtrs: u64,
    pub gap: u64,
    pub dot: u64,
    pub guard: u64,
    pub single: bool,
    pub blocked: bool,
    pub bankwise: bool,
    pub simulator: bool,
    pub steer: bool,
}

/// What is left of a time, or one cycle: commands are one behind the other anyway.
pub(super) fn cycles(time: u64, less: u64) -> u64 {
    time.saturating_sub(less).max(1)
}

impl Times {
    pub(super) fn sample(input: &ChannelControllerIn) -> Self {
        Self {
            rcd: input.rcd_i.into(),
            rcd_wr: input.rcd_wr_i.into(),
            rcd_pim: input.rcd_pim_i.into(),
            ras: input.ras_i.into(),
            rp: input.rp_i.into(),
            rtp: input.rtp_i.into(),
            wr_to_pre: input.wr_to_pre_i.into(),
            wr_to_rd_s: input.wr_to_rd_s_i.into(),
            wr_to_rd_l: input.wr_to_rd_l_i.into(),
            rrd_s: input.rrd_s_i.into(),
            rrd_l: input.rrd_l_i.into(),
            faw: input.faw_i.into(),
            copy: input.copy_i.into(),
            rfc: input.rfc_i.get(),
            refi: Some(input.refi_i.get()).filter(|&refi| refi > 1),
            cl: input.cl_i.get(),
            cwl: input.cwl_i.get(),
            latency: input.latency_i.get(),
            rtrs: input.rtrs_i.get(),
            gap: input.gap_i.get(),
            dot: input.dot_i.get(),
            guard: input.guard_i.into(),
            single: input.single_i,
            blocked: input.blocked_i,
            bankwise: input.bankwise_i,
            simulator: input.simulator_i,
            steer: input.steer_i,
        }
    }

    /// Pseudo-rank of a bank.
    pub(super) fn rank(&self, bank: u8) -> usize {
        if self.single { 0 } else { usize::from(bank >> 4) }
    }

    /// The banks of a pseudo-rank.
    pub(super) fn banks(&self, rank: usize) -> u32 {
        match (self.single, rank) {
            (true, 0) => u32::MAX,
            (true, _) => 0,
            (_, 0) => 0x0000_FFFF,
            _ => 0xFFFF_0000,
        }
    }

    /// The groups of a pseudo-rank.
    pub(super) fn groups(&self, rank: usize) -> u8 {
        match (self.single, rank) {
            (true, 0) => 0xFF,
            (true, _) => 0,
            (_, 0) => 0x0F,
            _ => 0xF0,
        }
    }

    /// RD to WR of any pseudo-rank.
    pub(super) fn rd_to_wr(&self) -> u64 {
        cycles(self.cl + BURST + self.gap, self.cwl)
    }

    /// WR to RD of the other pseudo-rank.
    pub(super) fn wr_to_other_rd(&self) -> u64 {
        cycles(self.cwl + BURST + self.rtrs, self.cl)
    }

    /// RD to RD, and WR to WR, of the other pseudo-rank.
    pub(super) fn other_rank(&self) -> u64 {
        BURST + self.rtrs
    }

    /// RD to a GEMV whose results may come with its last dot product's latency.
    pub(super) fn rd_to_short(&self) -> u64 {
        cycles(self.cl + BURST + self.rtrs, self.latency)
    }

    /// The same from a WR, and from an RDRESULT.
    pub(super) fn wr_to_short(&self) -> u64 {
        cycles(self.cwl + BURST + self.rtrs, self.latency)
    }

    pub(super) fn result_to_short(&self) -> u64 {
        cycles(self.cl + BURST, self.latency)
    }

    /// Whether the results of a GEMV come so soon that a read before it may still have the data bus.
    pub(super) fn is_short(&self, count: u8) -> bool {
        self.last_dot(count) + self.latency < self.cl + BURST + self.rtrs
    }

    /// From the first of `count` + 1 dot products to the last.
    pub(super) fn last_dot(&self, count: u8) -> u64 {
        u64::from(count) * self.dot
    }

    /// From dot products to the first ACT that would hold PIM's next activations back.
    pub(super) fn steer_after(&self, count: u8) -> u64 {
        cycles(self.last_dot(count) + self.rtp + self.rp + 1, self.faw)
    }

    /// Estimate of a GEMV operation: its precharges, activations in a pseudo-rank, dot products less one, and results less one.
    pub(super) fn gemv(&self, precharges: u64, activations: u64, count: u8, results: u8) -> u64 {
        let windows = activations.saturating_sub(1);
        let beats = (u64::from(count) + 1).max(FILL) + u64::from(results);
        precharges * self.rtp + windows * self.faw + self.rcd_pim + beats * self.dot + self.guard
    }

    /// Estimate of a GWRITE. The row is opened for MEM, though with the tRCD of PIM in the formula.
    pub(super) fn gwrite(&self) -> u64 {
        self.rp + self.rcd_pim + self.copy + self.guard
    }
}
