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
    /// RD_RESULT or WR_SHARED to the next of either.
    pub ccd_result: u8,
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
    /// RD_ALL to its columns at the bank PUs: RL_MAC.
    pub rl_mac: u8,
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
    /// Banks that may open in a tFAW: 16 or 8, by one ACT_ALL; 4, by ACTs.
    pub faw_banks: U<5>,
    /// RD to WR: CL + BL + turnaround - CWL.
    pub rd_to_wr: u8,
    /// WR to RD of another bank group: CWL + BL + tWTR_S.
    pub wr_to_rd_s: u8,
    /// WR to RD of the same bank group: CWL + BL + tWTR_L.
    pub wr_to_rd_l: u8,
    /// WR to PRE: CWL + BL + tWR.
    pub wr_to_pre: u8,
    /// WR_SHARED to RD_ALL and RD_RESULT: CWL + BL + tWTR_SHARED; 0: they do not wait.
    pub shared_to_rd: u8,
    /// CL.
    pub cl: u8,
    /// CWL.
    pub cwl: u8,
    /// tRFC.
    pub rfc: u16,
    /// tREFI.
    pub refi: U<20>,
}

impl Timing {
    /// Whether ACTs open the row of an all-bank read, one for each bank; else ACT_ALLs do.
    pub fn opens_one_by_one(&self) -> bool {
        self.faw_banks.get() < 8
    }

    /// The timings in cycles of a core whose cycle is so many tCK: no shorter, but for tREFI, which is no
    /// longer.
    pub fn in_cycles(&self, gear: u8) -> Self {
        Self {
            ccd_s: self.ccd_s.div_ceil(gear),
            ccd_l: self.ccd_l.div_ceil(gear),
            ccd_result: self.ccd_result.div_ceil(gear),
            rrd_s: self.rrd_s.div_ceil(gear),
            rrd_l: self.rrd_l.div_ceil(gear),
            rcd: self.rcd.div_ceil(gear),
            rcd_wr: self.rcd_wr.div_ceil(gear),
            rcd_mac: self.rcd_mac.div_ceil(gear),
            rl_mac: self.rl_mac.div_ceil(gear),
            ras: self.ras.div_ceil(gear),
            rp: self.rp.div_ceil(gear),
            rc: self.rc.div_ceil(gear),
            rtp: self.rtp.div_ceil(gear),
            faw: self.faw.div_ceil(gear),
            faw_banks: self.faw_banks,
            rd_to_wr: self.rd_to_wr.div_ceil(gear),
            wr_to_rd_s: self.wr_to_rd_s.div_ceil(gear),
            wr_to_rd_l: self.wr_to_rd_l.div_ceil(gear),
            wr_to_pre: self.wr_to_pre.div_ceil(gear),
            shared_to_rd: self.shared_to_rd.div_ceil(gear),
            cl: self.cl.div_ceil(gear),
            cwl: self.cwl.div_ceil(gear),
            rfc: self.rfc.div_ceil(gear.into()),
            refi: U::new(self.refi.get() / u64::from(gear)),
        }
    }
}

/// How the rank works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "options_t")]
pub struct Options {
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
