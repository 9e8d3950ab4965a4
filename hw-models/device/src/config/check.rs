// SPDX-License-Identifier: MIT
//! What the values of a device may be: of any DRAM, and of what a rank's units can be built for.

use super::error::ConfigError;
use super::timing::Timing;
use super::{Config, Organisation};
use crate::sizes::CHIPS;
use std::ops::RangeInclusive;

/// tCK from the last RD_ALL of the next sum until the rank controller has an RD_RESULT of this one, at most and
/// without RL_MAC: two sums are 16 tCK apart, and the request takes up to six. See `rtl/rank/rank_controller.md`.
const RESULT_TCK: u64 = 22;

/// A key, its value, what it may be, and the same in words.
type Range = (&'static str, u64, RangeInclusive<u64>, &'static str);

impl Timing {
    /// The range of each value on its own. Limits are those of 16 bits and less, far above what any
    /// standard has: they keep sums of them from overflowing.
    fn ranges(&self) -> [Range; 29] {
        [
            ("BL", self.burst_tck, 1..=16, "1 to 16"),
            ("CCD_S", self.ccd_s_tck, 1..=64, "1 to 64"),
            ("CCD_L", self.ccd_l_tck, 1..=64, "1 to 64"),
            ("CCD_RESULT", self.ccd_result_tck, 1..=64, "1 to 64"),
            ("RRD_S", self.rrd_s_tck, 1..=256, "1 to 256"),
            ("RRD_L", self.rrd_l_tck, 1..=256, "1 to 256"),
            ("FAW", self.faw_tck, 1..=1024, "1 to 1024"),
            ("FAW_BANKS", self.faw_banks, 4..=16, "4, 8 or 16"),
            ("RCD", self.rcd_tck, 1..=256, "1 to 256"),
            ("RCD_WR", self.rcd_wr_tck, 1..=256, "1 to 256"),
            ("RCD_MAC", self.rcd_mac_tck, 1..=256, "1 to 256"),
            ("RL_MAC", self.rl_mac_tck, 0..=64, "0 to 64"),
            ("RAS", self.ras_tck, 1..=1024, "1 to 1024"),
            ("RP", self.rp_tck, 1..=256, "1 to 256"),
            ("RC", self.rc_tck, 1..=2048, "1 to 2048"),
            ("CL", self.cl_tck, 1..=256, "1 to 256"),
            ("CWL", self.cwl_tck, 1..=256, "1 to 256"),
            ("RTW_GAP", self.rtw_gap_tck, 1..=8, "1 to 8"),
            ("WTR_S", self.wtr_s_tck, 1..=256, "1 to 256"),
            ("WTR_L", self.wtr_l_tck, 1..=256, "1 to 256"),
            ("WTR_SHARED", self.wtr_shared_tck, 0..=256, "0 to 256"),
            ("CL_REG", self.cl_reg_tck, 0..=256, "0 to 256"),
            ("CWL_GB", self.cwl_gb_tck, 0..=256, "0 to 256"),
            ("MODCH", self.modch_tck, 0..=256, "0 to 256"),
            ("WR", self.wr_tck, 1..=256, "1 to 256"),
            ("RTP", self.rtp_tck, 1..=256, "1 to 256"),
            ("REFI", self.refi_tck, 1..=1 << 20, "1 to 1048576"),
            ("RFC", self.rfc_tck, 1..=1 << 16, "1 to 65536"),
            ("REF_POSTPONED", self.max_postponed_refs, 1..=8, "1 to 8"),
        ]
    }

    /// What the rank controller counts: key, and the longest wait that results.
    fn counted(&self) -> [(&'static str, u64); 18] {
        [
            ("CCD_S", self.ccd_s_tck),
            ("CCD_L", self.ccd_l_tck),
            ("CCD_RESULT", self.ccd_result_tck),
            ("RRD_S", self.rrd_s_tck),
            ("RRD_L", self.rrd_l_tck),
            ("FAW", self.faw_tck),
            ("RCD", self.rcd_tck),
            ("RCD_WR", self.rcd_wr_tck),
            ("RCD_MAC", self.rcd_mac_tck),
            ("RAS", self.ras_tck),
            ("RP", self.rp_tck),
            ("RC", self.rc_tck),
            ("RTP", self.rtp_tck),
            ("CL", self.rd_to_wr_tck()),
            ("CL_REG", self.result_to_wr_tck()),
            ("WTR_L", self.wr_to_rd_l_tck()),
            ("WR", self.wr_to_pre_tck()),
            ("WTR_SHARED", self.shared_to_rd_tck()),
        ]
    }

    /// What must hold between values: (key, its value, the least it may be, and why).
    fn lower_bounds(&self) -> [(&'static str, u64, u64, &'static str); 12] {
        [
            ("CCD_S", self.ccd_s_tck, self.burst_tck, "at least BL"),
            ("CCD_L", self.ccd_l_tck, self.ccd_s_tck, "at least CCD_S"),
            ("CCD_RESULT", self.ccd_result_tck, self.ccd_s_tck, "at least CCD_S"),
            ("RRD_L", self.rrd_l_tck, self.rrd_s_tck, "at least RRD_S"),
            ("FAW", self.faw_tck, self.rrd_l_tck, "at least RRD_L"),
            ("RAS", self.ras_tck, self.rcd_tck, "at least RCD"),
            ("RC", self.rc_tck, self.ras_tck + self.rp_tck, "at least RAS + RP"),
            ("RCD_MAC", self.rcd_mac_tck, self.rcd_tck, "at least RCD"),
            ("CL", self.cl_tck, self.cwl_tck, "at least CWL"),
            ("WTR_L", self.wtr_l_tck, self.wtr_s_tck, "at least WTR_S"),
            ("RFC", self.rfc_tck, self.rc_tck, "at least RC"),
            ("REFI", self.refi_tck, self.rfc_tck + 1, "more than RFC"),
        ]
    }
}

impl Config {
    /// Whether the values can be at all, of any DRAM.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let of_a_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !(1..=64).contains(&self.name.len()) || !self.name.chars().all(of_a_name) {
            return Err(ConfigError::Name(self.name.clone()));
        }
        let Organisation { chips, bank_groups, banks_per_group, page_bytes, column_bytes, rows } =
            self.organisation;
        let sizes: [Range; 5] = [
            ("tCK_ps", self.tck_ps, 1..=100_000, "1 to 100000"),
            ("chips", chips as u64, 1..=64, "1 to 64"),
            ("bank_groups", bank_groups as u64, 1..=16, "1 to 16"),
            ("banks_per_group", banks_per_group as u64, 1..=16, "1 to 16"),
            ("rows", rows as u64, 1..=1 << 20, "1 to 1048576"),
        ];
        for (key, value, range, expected) in sizes.into_iter().chain(self.timing.ranges()) {
            self.require(key, value, range.contains(&value), expected)?;
        }
        let page_fits = page_bytes.is_power_of_two() && (64..=65536).contains(&page_bytes);
        self.require("page_bytes", page_bytes as u64, page_fits, "a power of two, 64 to 65536")?;
        let column_fits = column_bytes.is_power_of_two() && (2..=64).contains(&column_bytes);
        self.require("column_bytes", column_bytes as u64, column_fits, "a power of two, 2 to 64")?;
        for (key, value, least, expected) in self.timing.lower_bounds() {
            self.require(key, value, value >= least, expected)?;
        }
        Ok(())
    }

    /// Whether a [`Rank`](crate::Rank) can be built of it, whose units have fixed widths.
    pub fn check_rank(&self) -> Result<(), ConfigError> {
        let Organisation { chips, bank_groups, banks_per_group, column_bytes, .. } =
            self.organisation;
        let Timing { burst_tck, ccd_l_tck, .. } = self.timing;
        let in_bursts = ccd_l_tck.is_multiple_of(burst_tck);
        for (key, value, holds, expected) in [
            ("chips", chips as u64, chips == CHIPS, "8, the width of the adder unit"),
            ("bank_groups", bank_groups as u64, bank_groups == 4, "4, weights in a 64-bit word"),
            ("banks_per_group", banks_per_group as u64, banks_per_group == 4, "4"),
            ("column_bytes", column_bytes as u64, column_bytes == 8, "8, the width of a bank PU"),
            ("BL", burst_tck, burst_tck == 4, "4: eight beats, two in each tCK"),
            ("CCD_L", ccd_l_tck, in_bursts, "a multiple of BL"),
        ] {
            self.require(key, value, holds, expected)?;
        }
        self.check_rl_mac()?;
        self.check_one_mode()?;
        self.check_control()
    }

    /// Whether registers and buffers are read and written as arrays are, and there is one mode: what only an AiM has
    /// otherwise.
    fn check_one_mode(&self) -> Result<(), ConfigError> {
        let Timing { cl_tck, cwl_tck, cl_reg_tck, cwl_gb_tck, modch_tck, .. } = self.timing;
        self.require("CL_REG", cl_reg_tck, cl_reg_tck == cl_tck, "CL, in a rank")?;
        self.require("CWL_GB", cwl_gb_tck, cwl_gb_tck == cwl_tck, "CWL, in a rank")?;
        self.require("MODCH", modch_tck, modch_tck == 0, "0, in a rank")
    }

    /// Whether the columns of an RD_ALL are at the PUs while the row is open, and before what is commanded behind it
    /// counts: see `rtl/rank/pim_chip.md`.
    fn check_rl_mac(&self) -> Result<(), ConfigError> {
        let Timing { burst_tck, rl_mac_tck, cwl_tck, rtp_tck, rp_tck, .. } = self.timing;
        for (holds, expected) in [
            (rl_mac_tck <= 12, "at most 12, for the chips"),
            (rl_mac_tck.is_multiple_of(burst_tck), "a multiple of BL: RD_RESULTs between RD_ALLs"),
            (rl_mac_tck <= rtp_tck, "at most RTP: the row is open until then"),
            (rl_mac_tck <= cwl_tck, "at most CWL: no WR_SHARED overtakes an RD_ALL"),
            (
                rl_mac_tck + RESULT_TCK <= rtp_tck + rp_tck,
                "at most RTP + RP - 22: RD_RESULTs before a REF",
            ),
        ] {
            self.require("RL_MAC", rl_mac_tck, holds, expected)?;
        }
        Ok(())
    }

    /// Whether rank controller and refresh manager can count its times: their ports have fixed widths.
    pub(crate) fn check_control(&self) -> Result<(), ConfigError> {
        for (key, value) in self.timing.counted() {
            self.require(key, value, value < 1 << 8, "at most 255, for the rank controller")?;
        }
        let Timing { faw_banks, rfc_tck, refi_tck, max_postponed_refs, .. } = self.timing;
        let (rows, columns) = (self.organisation.rows, self.columns());
        for (key, value, holds, expected) in [
            ("FAW_BANKS", faw_banks, [4, 8, 16].contains(&faw_banks), "4, 8 or 16"),
            ("RFC", rfc_tck, rfc_tck < 1 << 16, "at most 65535, for the rank controller"),
            ("REFI", refi_tck, refi_tck < 1 << 20, "at most 1048575, for the refresh manager"),
            ("REF_POSTPONED", max_postponed_refs, max_postponed_refs == 8, "8"),
            ("rows", rows as u64, rows <= 1 << 16, "at most 65536, for the rank controller"),
            ("page_bytes", columns as u64, columns <= 1 << 7, "at most 128 columns"),
        ] {
            self.require(key, value, holds, expected)?;
        }
        Ok(())
    }

    /// Refuses a value that does not hold.
    pub(crate) fn require(
        &self,
        key: &'static str,
        value: u64,
        holds: bool,
        expected: &'static str,
    ) -> Result<(), ConfigError> {
        let preset = || self.name.clone();
        if holds {
            Ok(())
        } else {
            Err(ConfigError::Value { preset: preset(), key, value, expected })
        }
    }
}
