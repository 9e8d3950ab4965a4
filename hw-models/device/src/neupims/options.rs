// SPDX-License-Identifier: MIT
//! How a channel works.

use super::preset::NeupimsSpec;
use super::pus::PuSums;
use pimlico_ports::U;
use pimlico_units::channel::{CONTROLLER_GUARD_TCK, ChannelControllerIn};

/// Row buffers of a bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Two: MEM and PIM at once.
    #[default]
    Dual,
    /// One: PIM gets the channel where MEM has no request, and MEM where an operation is over.
    Blocked,
}

/// How a host spells a GEMV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commands {
    /// PIM_GEMV: dot products and their results.
    #[default]
    Composite,
    /// PIM_DOTPRODUCTs, and PIM_RDRESULT.
    Fine,
}

/// What the window of tFAW counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// A PIM_ACTIVATION is four ACTs.
    #[default]
    Paper,
    /// ACTs alone, as in the authors' simulator.
    Simulator,
}

/// Reads that wait in a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadQueue {
    /// 32, as the RTL has them.
    #[default]
    Short,
    /// 128, in the model alone.
    Long,
}

impl ReadQueue {
    /// How many.
    pub fn reads(self) -> u64 {
        match self {
            Self::Short => 32,
            Self::Long => 128,
        }
    }
}

/// How a channel works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelOptions {
    /// Row buffers of a bank.
    pub memory: Memory,
    /// PIM_PRECHARGE is of one bank; else of all.
    pub bankwise: bool,
    /// What the window of tFAW counts.
    pub window: Window,
    /// Reads that wait in the controller.
    pub reads: ReadQueue,
    /// ACTs of MEM are kept out of the time in which PIM activates.
    pub steer: bool,
    /// Rows are refreshed.
    pub refresh: bool,
    /// tCK that are added to the controller's own guard of an operation's estimate.
    pub guard_tck: u64,
    /// Format of sums in the PUs.
    pub sums: PuSums,
    /// There are data; else timing alone.
    pub data: bool,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self {
            memory: Memory::Dual,
            bankwise: false,
            window: Window::Paper,
            reads: ReadQueue::Short,
            steer: true,
            refresh: true,
            guard_tck: 0,
            sums: PuSums::Binary16,
            data: true,
        }
    }
}

/// A time that the preset's checks have found to fit, or the longest that does.
fn byte(tck: u64) -> u8 {
    u8::try_from(tck).unwrap_or(u8::MAX)
}

impl ChannelOptions {
    /// What a channel's controller is told in its first cycle.
    pub(super) fn inputs(&self, spec: &NeupimsSpec) -> ChannelControllerIn {
        let (t, p) = (&spec.timing, &spec.pim);
        let pseudo_ranks = spec.organisation.pseudo_ranks;
        ChannelControllerIn {
            rcd_i: byte(t.rcd),
            rcd_wr_i: byte(t.rcd_wr),
            rcd_pim_i: byte(t.rcd_pim),
            ras_i: byte(t.ras.max(t.rc.saturating_sub(t.rp))),
            rp_i: byte(t.rp),
            rtp_i: byte(t.rtp),
            wr_to_pre_i: byte(t.cwl + t.bl + t.wr),
            wr_to_rd_s_i: byte(t.cwl + t.bl + t.wtr_s),
            wr_to_rd_l_i: byte(t.cwl + t.bl + t.wtr_l),
            rrd_s_i: byte(t.rrd_s),
            rrd_l_i: byte(t.rrd_l),
            faw_i: byte(t.faw),
            copy_i: byte(p.gwrite),
            guard_i: byte(u64::from(CONTROLLER_GUARD_TCK) + self.guard_tck),
            rfc_i: U::new(t.rfc),
            refi_i: U::new(if self.refresh { t.refi / pseudo_ranks } else { 0 }),
            cl_i: U::new(t.cl),
            cwl_i: U::new(t.cwl),
            latency_i: U::new(p.fill * p.dot),
            rtrs_i: U::new(t.rtrs),
            gap_i: U::new(t.rtw_gap),
            dot_i: U::new(p.dot),
            single_i: pseudo_ranks == 1,
            blocked_i: self.memory == Memory::Blocked,
            bankwise_i: self.bankwise,
            simulator_i: self.window == Window::Simulator,
            steer_i: self.steer,
            ..ChannelControllerIn::default()
        }
    }
}
