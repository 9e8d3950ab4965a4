// SPDX-License-Identifier: MIT
//! Organisation and timing of a device, as data.

use crate::sizes::CHIPS;
use pimlico_dpa::clock::Gear;
use pimlico_dpa::types::{self, BankSize};
use pimlico_ports::U;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Chips whose currents are known.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub enum Currents {
    /// 8 Gb x8 chips at 3200 MT/s: `presets/ddr4-3200-power.toml`.
    #[serde(rename = "ddr4-3200")]
    Ddr4x3200,
}

/// What a device is made of and how fast it is: a rank of a DIMM, or a channel of GDDR6. Part of a
/// [`DeviceSpec`](crate::DeviceSpec); see `presets/`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Name of the preset.
    pub name: String,
    /// The chips' currents, if they are known.
    pub power: Option<Currents>,
    /// Clock period in ps.
    pub tck_ps: u64,
    /// GB/s (10^9 bytes) of the link between the host and an AiM's hub, if it is known. Reports account for it; the
    /// models do not wait for it.
    pub link_gb_per_s: Option<u64>,
    /// Chips, banks, rows.
    pub organisation: Organisation,
    /// Timing parameters.
    pub timing: Timing,
}

/// Chips, banks and rows of a device.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Organisation {
    /// Chips that work together.
    pub chips: usize,
    /// Bank groups in a chip.
    pub bank_groups: usize,
    /// Banks in a bank group.
    pub banks_per_group: usize,
    /// Bytes of a row of one bank of one chip.
    pub page_bytes: usize,
    /// Bytes that a column command moves in one bank of one chip.
    pub column_bytes: usize,
    /// Rows in a bank.
    pub rows: usize,
}

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
    /// If one does not fit: see [`Config::check_rank`].
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

    /// What the rank controller counts: key, and the longest wait that comes of it.
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

/// tCK from the last RD_ALL of the next sum until the rank controller has an RD_RESULT of this one, at most and
/// without RL_MAC: two sums are 16 tCK apart, and the request takes up to six. See `rtl/rank/rank_controller.md`.
const RESULT_TCK: u64 = 22;

/// A key, its value, what it may be, and the same in words.
type Range = (&'static str, u64, RangeInclusive<u64>, &'static str);

/// Why a preset is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is not the TOML of a [`Config`].
    #[error("preset, line {line}: {message}")]
    Syntax {
        /// Line, counted from 1; of a missing key, that of the table that lacks it.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// A key is missing, unknown or of another type, or its value cannot be.
    #[error("{0}")]
    Key(String),
    /// Its name would not do in a report or a file's name.
    #[error("preset name {0:?}, expected 1 to 64 letters, digits, '-', '_' or '.'")]
    Name(String),
    /// A value cannot be.
    #[error("preset {preset}: {key} = {value}, expected {expected}")]
    Value {
        /// Name of the preset.
        preset: String,
        /// The key.
        key: &'static str,
        /// Its value.
        value: u64,
        /// What it may be.
        expected: &'static str,
    },
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

    /// The same for a rank PU whose core has this gear: bursts and slots begin with a cycle of it, so that CL,
    /// CWL (both are mode registers of the chips) and CCD_L are multiples of its tCK, as RL_MAC is in any case.
    pub fn at_gear(&self, gear: Gear) -> Self {
        let mut config = self.clone();
        let Timing { cl_tck, cwl_tck, cl_reg_tck, cwl_gb_tck, ccd_l_tck, .. } = &mut config.timing;
        for tck in [cl_tck, cwl_tck, cl_reg_tck, cwl_gb_tck, ccd_l_tck] {
            *tck = tck.next_multiple_of(gear.tck() as u64);
        }
        config
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

    /// Size of a bank, as it is on a port.
    pub fn bank_size(&self) -> BankSize {
        BankSize {
            rows: U::new(self.organisation.rows as u64),
            columns: U::new(self.columns() as u64),
        }
    }

    /// Logic banks: a bank of the same number in every chip, working together.
    pub fn banks(&self) -> usize {
        self.organisation.bank_groups * self.organisation.banks_per_group
    }

    /// Bursts in a row: columns of each chip.
    pub fn columns(&self) -> usize {
        self.organisation.page_bytes / self.organisation.column_bytes
    }

    /// Multipliers of a bank's PU: one for each 16-bit element of a column.
    pub fn multipliers(&self) -> usize {
        self.organisation.column_bytes / 2
    }

    /// Bytes that an all-bank RD moves to the bank PUs.
    pub fn all_bank_bytes(&self) -> usize {
        self.banks() * self.organisation.chips * self.organisation.column_bytes
    }

    /// Bandwidth of the bank PUs with an all-bank RD in every slot, in GB/s (10^9 bytes).
    pub fn peak_gb_per_s(&self) -> f64 {
        self.all_bank_bytes() as f64 * 1000.0 / (self.timing.ccd_l_tck * self.tck_ps) as f64
    }
}

impl ConfigError {
    /// One line from what is said of a key.
    pub(crate) fn key(error: &dyn std::fmt::Display) -> Self {
        Self::Key(printable(&error.to_string()))
    }

    /// One line from what the parser says, with the text of the line if it quotes the value alone.
    pub(crate) fn syntax(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = &text.as_bytes()[..at];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let source = text.lines().nth(line - 1).unwrap_or_default().trim();
        let message = format!("{} (in: {source})", error.message());
        Self::Syntax { line, message: printable(&message) }
    }
}

/// The first of a message as a line.
fn printable(message: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    message.trim().chars().map(printable).take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::{Table, Value};

    const DDR4: &str = include_str!("../presets/ddr4-3200.toml");
    const AIM: &str = include_str!("../presets/gddr6-aim.toml");

    fn refusal(text: &str, what: &str) -> String {
        let error = Config::parse(text).expect_err(what).to_string();
        assert!(!error.contains('\n'), "{what}: {error}");
        error
    }

    #[test]
    fn the_rank_has_the_bandwidth_of_the_paper() {
        let config = Config::ddr4_3200();
        assert_eq!(config.check_rank().err().map(|e| e.to_string()), None);
        assert_eq!(config.columns(), 128);
        assert_eq!(config.multipliers(), 4);
        assert_eq!(config.all_bank_bytes(), 1024);
        assert_eq!(config.peak_gb_per_s(), 204.8);
        for name in Config::RANKS {
            let config = Config::of_rank(name).expect("a preset");
            assert_eq!((config.name.as_str(), config.check_rank().is_ok()), (name, true));
        }
        assert_eq!(Config::of_rank("gddr6-aim"), None);
        // 16 channels of 2 DIMMs of 2 ranks: L3 Table 2 says 13.0 TB/s.
        assert_eq!((config.peak_gb_per_s() * 64.0 / 100.0).round() / 10.0, 13.1);
    }

    #[test]
    fn the_channel_has_the_bandwidth_of_the_paper() {
        let config = Config::gddr6_aim();
        assert_eq!((config.banks(), config.columns(), config.multipliers()), (16, 64, 16));
        // LoL-PIM Table 5: 512 GB/s in a channel, PUs at 1 GHz.
        assert_eq!(config.peak_gb_per_s(), 512.0);
        assert_eq!(config.timing.ccd_l_tck * config.tck_ps, 1000);
        let error = config.check_rank().expect_err("not a rank").to_string();
        assert_eq!(error, "preset gddr6-aim: chips = 1, expected 8, the width of the adder unit");
    }

    #[test]
    fn timings_are_those_of_the_paper() {
        let Config { timing, .. } = Config::ddr4_3200();
        // L3 Table 2, in its order.
        assert_eq!((timing.burst_tck, timing.ccd_s_tck, timing.ccd_l_tck), (4, 4, 8));
        assert_eq!((timing.rrd_s_tck, timing.rrd_l_tck, timing.rcd_tck), (4, 8, 22));
        assert_eq!((timing.ras_tck, timing.rp_tck, timing.rc_tck), (52, 22, 74));
        assert_eq!((timing.cl_tck, timing.cwl_tck), (22, 16));
        assert_eq!((timing.wtr_s_tck, timing.wtr_l_tck), (4, 12));
        assert_eq!((timing.wr_tck, timing.rtp_tck), (24, 12));
        assert_eq!((timing.faw_tck, timing.refi_tck, timing.rfc_tck), (34, 12480, 560));
        // Between commands, by JESD79-4: 22 + 4 - 16 + 2, 16 + 4 + ...
        assert_eq!(timing.rd_to_wr_tck(), 12);
        assert_eq!((timing.wr_to_rd_s_tck(), timing.wr_to_rd_l_tck()), (24, 32));
        assert_eq!(timing.wr_to_pre_tck(), 44);
        assert_eq!(Config::gddr6_aim().timing.rd_to_wr_tck(), 48);
    }

    /// Every key of a preset's DRAM, with the table it stands in.
    fn keys(text: &str) -> Vec<(Option<String>, String)> {
        let mut keys = Vec::new();
        let of_dram = |key: &str| ["name", "tCK_ps", "organisation", "timing"].contains(&key);
        for (name, value) in text.parse::<Table>().expect("TOML") {
            match value {
                _ if !of_dram(&name) => {}
                Value::Table(table) => {
                    keys.push((None, name.clone()));
                    keys.extend(table.into_iter().map(|(key, _)| (Some(name.clone()), key)));
                }
                _ => keys.push((None, name)),
            }
        }
        keys
    }

    /// The preset with one key changed or, without a value, removed.
    fn with(text: &str, (table, key): &(Option<String>, String), value: Option<Value>) -> String {
        let mut root: Table = text.parse().expect("TOML");
        let table = match table {
            Some(table) => root[table].as_table_mut().expect("a table"),
            None => &mut root,
        };
        table.remove(key).expect("the key is there");
        table.extend(value.map(|value| (key.clone(), value)));
        root.to_string()
    }

    #[test]
    fn every_key_is_required_and_checked() {
        for text in [DDR4, AIM] {
            let keys = keys(text);
            assert_eq!(keys.len(), 4 + 6 + 29);
            for key in &keys {
                let (_, name) = key;
                let missing = refusal(&with(text, key, None), name);
                assert!(missing.contains(&format!("missing field `{name}`")), "{missing}");
                if ["organisation", "timing"].contains(&name.as_str()) {
                    continue;
                }
                let wrong_type = refusal(&with(text, key, Some(Value::Boolean(true))), name);
                assert!(wrong_type.contains(&format!("{name} = true")), "{wrong_type}");
                if name == "name" {
                    continue;
                }
                // Nothing waits for a WTR_SHARED or a MODCH of 0, and the others are no time.
                let may_be_0 = ["WTR_SHARED", "RL_MAC", "CL_REG", "CWL_GB", "MODCH"];
                let may_be_0 = may_be_0.contains(&name.as_str());
                let least = if may_be_0 { 1 << 40 } else { 0 };
                for value in [least, 1 << 40, i64::MAX] {
                    let error = refusal(&with(text, key, Some(Value::Integer(value))), name);
                    assert!(error.contains(&format!(": {name} = {value}, expected ")), "{error}");
                }
                let negative = refusal(&with(text, key, Some(Value::Integer(-1))), name);
                assert!(negative.contains(&format!("{name} = -1")), "{negative}");
            }
        }
    }

    #[test]
    fn values_that_contradict_each_other_are_refused() {
        for (from, to, expected) in [
            ("CCD_S = 4", "CCD_S = 3", "CCD_S = 3, expected at least BL"),
            ("CCD_L = 8", "CCD_L = 3", "CCD_L = 3, expected at least CCD_S"),
            ("CCD_RESULT = 4", "CCD_RESULT = 3", "CCD_RESULT = 3, expected at least CCD_S"),
            ("RRD_L = 8", "RRD_L = 3", "RRD_L = 3, expected at least RRD_S"),
            ("FAW = 34", "FAW = 7", "FAW = 7, expected at least RRD_L"),
            ("RAS = 52", "RAS = 21", "RAS = 21, expected at least RCD"),
            ("RC = 74", "RC = 73", "RC = 73, expected at least RAS + RP"),
            ("RCD_MAC = 22", "RCD_MAC = 21", "RCD_MAC = 21, expected at least RCD"),
            ("CL = 22", "CL = 15", "CL = 15, expected at least CWL"),
            ("WTR_L = 12", "WTR_L = 3", "WTR_L = 3, expected at least WTR_S"),
            ("RFC = 560", "RFC = 73", "RFC = 73, expected at least RC"),
            ("REFI = 12480", "REFI = 560", "REFI = 560, expected more than RFC"),
            ("page_bytes = 1024", "page_bytes = 1000", "page_bytes = 1000, expected a power"),
            ("column_bytes = 8", "column_bytes = 6", "column_bytes = 6, expected a power"),
        ] {
            // The line break keeps the key from being found as the end of a longer one.
            let text = DDR4.replace(&format!("\n{from}"), &format!("\n{to}"));
            let error = refusal(&text, to);
            assert!(error.starts_with("preset ddr4-3200: ") && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_preset_is_refused_with_the_name_of_what_is_wrong() {
        for (from, to, expected) in [
            ("CCD_L = 8", "CCD_L = 8\nCCD_X = 1", "line 21: unknown field `CCD_X`"),
            ("CCD_L = 8", "CCD_L = 8\nCCD_L = 8", "line 21: duplicate key"),
            ("tCK_ps = 625", "tCK_ps = 625\nx = 1", "unknown field `x`"),
            ("chips = 8", "x = 1\nchips = 8", "unknown field `x`"),
            ("CCD_L = 8", "CCD_L = 8.0", "line 20: invalid type: floating point `8.0`"),
            ("CCD_L = 8", "CCD_L = ", "line 20: "),
            ("CCD_L = 8", "\"C\\nC\" = 8", "unknown field `C C`"),
            ("name = \"ddr4-3200\"", "name = \"a\\nb\"", "preset name \"a\\nb\", expected"),
            ("name = \"ddr4-3200\"", "name = \"\"", "preset name \"\", expected"),
        ] {
            let error = refusal(&DDR4.replace(from, to), to);
            assert!(error.contains(expected), "{error}");
        }
        refusal("", "an empty preset");
        refusal(&"[".repeat(100_000), "nothing but brackets");
    }

    #[test]
    fn a_rank_has_the_widths_of_its_units() {
        for (from, to, expected) in [
            ("chips = 8", "chips = 4", "chips = 4"),
            ("bank_groups = 4", "bank_groups = 2", "bank_groups = 2"),
            ("banks_per_group = 4", "banks_per_group = 8", "banks_per_group = 8"),
            ("column_bytes = 8", "column_bytes = 16", "column_bytes = 16"),
            ("\nBL = 4", "\nBL = 2", "BL = 2"),
            ("CCD_L = 8", "CCD_L = 7", "CCD_L = 7"),
            ("CL_REG = 22", "CL_REG = 21", "CL_REG = 21, expected CL"),
            ("CWL_GB = 16", "CWL_GB = 1", "CWL_GB = 1, expected CWL"),
            ("MODCH = 0", "MODCH = 32", "MODCH = 32, expected 0"),
            ("RL_MAC = 8", "RL_MAC = 16", "RL_MAC = 16, expected at most 12"),
            ("RL_MAC = 8", "RL_MAC = 10", "RL_MAC = 10, expected a multiple of BL"),
            ("RTP = 12", "RTP = 7", "RL_MAC = 8, expected at most RTP"),
            ("CWL = 16", "CWL = 7", "RL_MAC = 8, expected at most CWL"),
            ("\nRP = 22", "\nRP = 17", "RL_MAC = 8, expected at most RTP + RP - 22"),
        ] {
            let config = Config::parse(&DDR4.replace(from, to)).expect(to);
            let error = config.check_rank().expect_err(to).to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }
}
