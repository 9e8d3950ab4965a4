// SPDX-License-Identifier: MIT
//! Timing parameters, and the intervals that follow from them.

use pimlico_dpa::types;
use pimlico_ports::U;
use serde::{Deserialize, Serialize};

/// Timing parameters, under the names that JESD79-4 gives them, in tCK.
///
/// "Same group" and "other group" are bank groups; "WR data" ends tCWL + BL after its WR.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Length of a burst on the data bus.
    #[serde(rename = "BL")]
    pub burst_tck: u64,
    /// From one column command to the next, other group.
    #[serde(rename = "CCD_S")]
    pub ccd_s_tck: u64,
    /// From one column command to the next in the same bank group, and so from one all-bank RD to
    /// the next: a *slot*.
    #[serde(rename = "CCD_L")]
    pub ccd_l_tck: u64,
    /// From one RD_RESULT or WR_SHARED to the next of either: tCCD_S where each bank group has wires of its own to
    /// the data pins, tCCD_L where they share a trunk.
    #[serde(rename = "CCD_RESULT")]
    pub ccd_result_tck: u64,
    /// From one ACT to the next, other group.
    #[serde(rename = "RRD_S")]
    pub rrd_s_tck: u64,
    /// From one ACT to the next, same group.
    #[serde(rename = "RRD_L")]
    pub rrd_l_tck: u64,
    /// The window that holds no more than four ACTs.
    #[serde(rename = "FAW")]
    pub faw_tck: u64,
    /// Banks that may open in that window: a count, not tCK. 4, by ACTs, is JESD79-4's; 16 and 8, by one
    /// ACT_ALL, are of chips whose supply is built for it.
    #[serde(rename = "FAW_BANKS")]
    pub faw_banks: u64,
    /// From ACT to RD.
    #[serde(rename = "RCD")]
    pub rcd_tck: u64,
    /// From ACT to WR.
    #[serde(rename = "RCD_WR")]
    pub rcd_wr_tck: u64,
    /// From ACT to an RD that feeds the bank's PU.
    #[serde(rename = "RCD_MAC")]
    pub rcd_mac_tck: u64,
    /// From an all-bank RD to its columns at the inputs of the banks' PUs: the column path of the array.
    #[serde(rename = "RL_MAC")]
    pub rl_mac_tck: u64,
    /// From ACT to PRE.
    #[serde(rename = "RAS")]
    pub ras_tck: u64,
    /// From PRE to ACT.
    #[serde(rename = "RP")]
    pub rp_tck: u64,
    /// From ACT to ACT, same bank.
    #[serde(rename = "RC")]
    pub rc_tck: u64,
    /// From RD to its data.
    #[serde(rename = "CL")]
    pub cl_tck: u64,
    /// From WR to its data; L3 calls it WL.
    #[serde(rename = "CWL")]
    pub cwl_tck: u64,
    /// Clocks that the data bus lies idle between RD data and WR data: see
    /// [`rd_to_wr_tck`](Self::rd_to_wr_tck).
    #[serde(rename = "RTW_GAP")]
    pub rtw_gap_tck: u64,
    /// From the end of WR data to RD, other group; L3 calls it CDLR.
    #[serde(rename = "WTR_S")]
    pub wtr_s_tck: u64,
    /// From the end of WR data to RD, same group.
    #[serde(rename = "WTR_L")]
    pub wtr_l_tck: u64,
    /// From the end of WR_SHARED data to an all-bank RD or an RD_RESULT, where the shared buffers turn from write to
    /// read as banks do. 0: they have a write port of their own, and neither waits.
    #[serde(rename = "WTR_SHARED")]
    pub wtr_shared_tck: u64,
    /// From the end of WR data to PRE.
    #[serde(rename = "WR")]
    pub wr_tck: u64,
    /// From RD_RESULT to its data: those of registers, not of an array.
    #[serde(rename = "CL_REG")]
    pub cl_reg_tck: u64,
    /// From WR_SHARED to its data: for a buffer, not for an array.
    #[serde(rename = "CWL_GB")]
    pub cwl_gb_tck: u64,
    /// That a channel of AiM takes to change between the mode of its banks, in which all-bank RDs and row commands
    /// come, and that of its registers, in which WR_SHARED and RD_RESULT do: behind the command that changes it. 0
    /// where there is one mode.
    #[serde(rename = "MODCH")]
    pub modch_tck: u64,
    /// From RD to PRE.
    #[serde(rename = "RTP")]
    pub rtp_tck: u64,
    /// From one REF to the next, on average.
    #[serde(rename = "REFI")]
    pub refi_tck: u64,
    /// From REF to any other command.
    #[serde(rename = "RFC")]
    pub rfc_tck: u64,
    /// REFs that may be postponed at any time: a count, not tCK.
    #[serde(rename = "REF_POSTPONED")]
    pub max_postponed_refs: u64,
}

impl Timing {
    /// The timings as they are on a port, in tCK.
    ///
    /// # Panics
    ///
    /// If one does not fit: see [`Config::check_rank`](super::Config::check_rank).
    pub fn ports(&self) -> types::Timing {
        let byte = |tck: u64| tck.try_into().expect("checked with the configuration");
        types::Timing {
            ccd_s: byte(self.ccd_s_tck),
            ccd_l: byte(self.ccd_l_tck),
            ccd_result: byte(self.ccd_result_tck),
            rrd_s: byte(self.rrd_s_tck),
            rrd_l: byte(self.rrd_l_tck),
            rcd: byte(self.rcd_tck),
            rcd_wr: byte(self.rcd_wr_tck),
            rcd_mac: byte(self.rcd_mac_tck),
            rl_mac: byte(self.rl_mac_tck),
            ras: byte(self.ras_tck),
            rp: byte(self.rp_tck),
            rc: byte(self.rc_tck),
            rtp: byte(self.rtp_tck),
            faw: byte(self.faw_tck),
            faw_banks: U::new(self.faw_banks),
            rd_to_wr: byte(self.rd_to_wr_tck()),
            wr_to_rd_s: byte(self.wr_to_rd_s_tck()),
            wr_to_rd_l: byte(self.wr_to_rd_l_tck()),
            wr_to_pre: byte(self.wr_to_pre_tck()),
            shared_to_rd: byte(self.shared_to_rd_tck()),
            cl: byte(self.cl_tck),
            cwl: byte(self.cwl_tck),
            rfc: self.rfc_tck.try_into().expect("checked with the configuration"),
            refi: U::new(self.refi_tck),
        }
    }

    /// From RD to WR, any bank: the WR data must not come before the RD data have left the bus and
    /// the strobe has turned round. JESD79-4 gives RL + BL/2 - WL + 2 tCK for a preamble of one tCK
    /// (READ operation, READ to WRITE); BL/2, in beats there, is our BL, and the 2 is `RTW_GAP`.
    pub fn rd_to_wr_tck(&self) -> u64 {
        self.cl_tck + self.burst_tck + self.rtw_gap_tck - self.cwl_tck
    }

    /// From RD_RESULT to WR_SHARED, or to a WR: as from RD to WR, with their own latencies.
    pub fn result_to_wr_tck(&self) -> u64 {
        (self.cl_reg_tck + self.burst_tck + self.rtw_gap_tck)
            .saturating_sub(self.cwl_gb_tck.min(self.cwl_tck))
    }

    /// From a command in one mode to the first in the other: the command that changes it, and the change.
    pub fn mode_change_tck(&self) -> u64 {
        match self.modch_tck {
            0 => 0,
            modch => 1 + modch,
        }
    }

    /// From WR to RD, other group: its data must have arrived, and tWTR_S gone by.
    pub fn wr_to_rd_s_tck(&self) -> u64 {
        self.cwl_tck + self.burst_tck + self.wtr_s_tck
    }

    /// From WR to RD, same group.
    pub fn wr_to_rd_l_tck(&self) -> u64 {
        self.cwl_tck + self.burst_tck + self.wtr_l_tck
    }

    /// From WR to PRE, same bank.
    pub fn wr_to_pre_tck(&self) -> u64 {
        self.cwl_tck + self.burst_tck + self.wr_tck
    }

    /// From WR_SHARED to an all-bank RD or an RD_RESULT; 0 if they do not wait.
    pub fn shared_to_rd_tck(&self) -> u64 {
        match self.wtr_shared_tck {
            0 => 0,
            wtr_shared => self.cwl_gb_tck + self.burst_tck + wtr_shared,
        }
    }
}
