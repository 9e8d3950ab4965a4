// SPDX-License-Identifier: MIT
//! Configuration: timings of the DRAM, size of a bank, how the rank works.

use pimlico_ports::{Signal, U};

/// Timings of the DRAM, in tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "timing_t")]
pub struct Timing {
    /// tCCD_S.
    pub ccd_s: u8,
    /// tCCD_L, and so the slot of the bank PUs.
    pub ccd_l: u8,
    /// tRRD_S.
    pub rrd_s: u8,
    /// tRRD_L.
    pub rrd_l: u8,
    /// tRCD of RD.
    pub rcd: u8,
    /// tRCD of WR.
    pub rcd_wr: u8,
    /// tRCD of RD_ALL.
    pub rcd_mac: u8,
    /// tRAS.
    pub ras: u8,
    /// tRP.
    pub rp: u8,
    /// tRC.
    pub rc: u8,
    /// tRTP.
    pub rtp: u8,
    /// tFAW.
    pub faw: u8,
    /// RD to WR: CL + BL + turnaround - CWL.
    pub rd_to_wr: u8,
    /// WR to RD of another bank group: CWL + BL + tWTR_S.
    pub wr_to_rd_s: u8,
    /// WR to RD of the same bank group: CWL + BL + tWTR_L.
    pub wr_to_rd_l: u8,
    /// WR to PRE: CWL + BL + tWR.
    pub wr_to_pre: u8,
    /// CL.
    pub cl: u8,
    /// CWL.
    pub cwl: u8,
    /// tRFC.
    pub rfc: u16,
    /// tREFI.
    pub refi: U<20>,
}

/// How the rank works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "options_t")]
pub struct Options {
    /// A row is opened by one ACT for each bank; else by one ACT_ALL.
    pub staggered: bool,
    /// Refresh is on.
    pub refresh: bool,
}

/// Size of a bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "bank_size_t")]
pub struct BankSize {
    /// Rows of a bank.
    pub rows: U<17>,
    /// Columns of a row.
    pub columns: U<9>,
}
