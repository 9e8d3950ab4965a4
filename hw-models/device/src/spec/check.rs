// SPDX-License-Identifier: MIT
//! Whether there is such a device: its RTL has fixed widths, and its host is one of DDR4.

use super::file::DeviceSpec;
use super::tables::{SystemKind, TopologyTable, UnitTable};
use crate::aim::{self, GLOBAL_WORDS, MOST_CHANNELS, MULTIPLIERS};
use crate::config::{Config, ConfigError, Organisation, Timing};
use crate::options::{Gear, Normalise, SumFormat};
use crate::sizes::{LANES, SCORE_BUFFER, SHARED_WORDS};
use crate::spd::{Description, Values};
use crate::topology::Mdq;

/// What a host of DDR4 keeps to and no SPD image tells: JESD79-4's tCCD_S, and a preamble of one tCK.
const HOST_CCD_S_TCK: u64 = 4;
const HOST_RTW_GAP_TCK: u64 = 2;

/// tCCD_L up to which sums are taken from the bank PUs before the next ones are there.
const MOST_CCD_L_TCK: u64 = 16;
/// The same of tCCD_RESULT and the result registers of an AiM.
const MOST_AIM_CCD_RESULT_TCK: u64 = 4;
/// GB/s of a link between host and hub, at the most.
const MOST_LINK_GB_PER_S: u64 = 65536;
/// Columns of the window of results: see `rtl/module/host_port.md`.
const WINDOW_COLUMNS: usize = 32;

/// A key, its value, whether it may be, and what it may be.
type Held = (&'static str, u64, bool, &'static str);

impl DeviceSpec {
    /// Whether there is such a device.
    pub fn check(&self) -> Result<(), ConfigError> {
        let config = self.config();
        config.check()?;
        self.check_source()?;
        match self.system {
            SystemKind::L3 => self.check_l3(&config),
            SystemKind::Aim => self.check_aim(&config),
        }
    }

    fn check_source(&self) -> Result<(), ConfigError> {
        let is_line = !self.source.chars().any(char::is_control);
        if is_line && (1..=200).contains(&self.source.chars().count()) {
            return Ok(());
        }
        Err(ConfigError::key(&"source: expected a line of 1 to 200 characters"))
    }

    fn check_l3(&self, config: &Config) -> Result<(), ConfigError> {
        config.check_rank()?;
        let gear = self.units.gear.ok_or_else(|| missing("units.gear"))?;
        let scores = self.buffers.scores.ok_or_else(|| missing("buffers.scores"))?;
        require_all(config, &self.units_of_rank(gear, scores))?;
        require_all(config, &of_host(config))?;
        check_gear(config, gear)?;
        require_all(config, &of_handover(config))?;
        self.check_topology()?;
        let image = Description::of(config).image(Values::Spoofed);
        image.map(drop).map_err(|error| ConfigError::key(&format!("SPD image: {error}")))
    }

    /// What the RTL of a rank's units has.
    fn units_of_rank(&self, gear: u64, scores: usize) -> [Held; 4] {
        let (multipliers, shared_bytes) = (self.units.multipliers, self.buffers.shared_bytes);
        let is_gear = Gear::ALL.into_iter().any(|known| known.tck() as u64 == gear);
        let has_shared = shared_bytes == 8 * SHARED_WORDS;
        [
            ("multipliers", multipliers as u64, multipliers == LANES, "4, the width of a bank PU"),
            ("gear", gear, is_gear, "1, 2 or 4"),
            ("shared_bytes", shared_bytes as u64, has_shared, "2048, the RTL's"),
            ("scores", scores as u64, scores == SCORE_BUFFER, "131072, the RTL's"),
        ]
    }

    fn check_topology(&self) -> Result<(), ConfigError> {
        for (key, is_given) in [
            ("groups", self.topology.groups != 1),
            ("link_gb_per_s", self.topology.link_gb_per_s.is_some()),
        ] {
            if is_given {
                let what = format!("{key}: with system aim only, not with l3");
                return Err(ConfigError::key(&what));
            }
        }
        let topology = self.topology();
        let topology = topology.map_err(|e| ConfigError::key(&format!("topology: {e}")))?;
        if topology.mdq() == Mdq::Shared && topology.ranks() == 1 {
            let message = "mdq = \"shared\": it goes with several ranks on a DIMM";
            return Err(ConfigError::key(&message));
        }
        Ok(())
    }

    fn check_aim(&self, config: &Config) -> Result<(), ConfigError> {
        aim::check(config)?;
        let TopologyTable { channels, groups, dimms, ranks, mdq, link_gb_per_s } = self.topology;
        let divide = channels.is_multiple_of(groups);
        let UnitTable { multipliers, sums, normalise, gear } = self.units;
        let shared_bytes = self.buffers.shared_bytes;
        let column_bytes = config.organisation.column_bytes;
        let global = shared_bytes == GLOBAL_WORDS * column_bytes;
        let link = link_gb_per_s.unwrap_or(MOST_LINK_GB_PER_S);
        let is_link = (1..=MOST_LINK_GB_PER_S).contains(&link);
        let (lanes, results_tck) = (multipliers as u64, config.timing.ccd_result_tck);
        require_all(
            config,
            &[
                ("multipliers", lanes, multipliers == MULTIPLIERS, "16, the width of a bank PU"),
                ("shared_bytes", shared_bytes as u64, global, "2048, the RTL's"),
                ("CCD_RESULT", results_tck, results_tck <= MOST_AIM_CCD_RESULT_TCK, "at most 4"),
                ("channels", channels as u64, (1..=MOST_CHANNELS).contains(&channels), "1 to 64"),
                ("groups", groups as u64, divide, "a number that divides the channels"),
                ("dimms", dimms as u64, dimms == 1, "1 with system aim"),
                ("ranks", ranks as u64, ranks == 1, "1 with system aim"),
                ("link_gb_per_s", link, is_link, "1 to 65536"),
            ],
        )?;
        let is_l3s: [(bool, &str); 5] = [
            (gear.is_some(), "gear"),
            (self.buffers.scores.is_some(), "scores"),
            (sums != SumFormat::Binary16, "sums other than \"binary16\""),
            (normalise != Normalise::Early, "normalise other than \"early\""),
            (mdq != Mdq::Private, "mdq other than \"private\""),
        ];
        is_l3s.iter().find(|(is_l3s, _)| *is_l3s).map_or(Ok(()), |(_, key)| {
            Err(ConfigError::key(&format!("{key}: with system l3 only, not with aim")))
        })
    }
}

fn require_all(config: &Config, held: &[Held]) -> Result<(), ConfigError> {
    let require =
        |&(key, value, holds, expected): &Held| config.require(key, value, holds, expected);
    held.iter().try_for_each(require)
}

/// What a host of DDR4 keeps, and where the windows of its module are.
fn of_host(config: &Config) -> [Held; 4] {
    let Timing { ccd_s_tck, rtw_gap_tck, .. } = config.timing;
    let Organisation { rows, page_bytes, .. } = config.organisation;
    let has_window = config.columns() >= WINDOW_COLUMNS;
    [
        ("rows", rows as u64, rows > 1, "2 or more"),
        ("page_bytes", page_bytes as u64, has_window, "256 or more: a window has 32 columns"),
        ("CCD_S", ccd_s_tck, ccd_s_tck == HOST_CCD_S_TCK, "4, a DDR4 host's"),
        ("RTW_GAP", rtw_gap_tck, rtw_gap_tck <= HOST_RTW_GAP_TCK, "at most 2, a DDR4 host's"),
    ]
}

/// Bursts and slots begin with a cycle of the core.
fn check_gear(config: &Config, gear: u64) -> Result<(), ConfigError> {
    let timing = &config.timing;
    let keys = [("CL", timing.cl_tck), ("CWL", timing.cwl_tck), ("CCD_L", timing.ccd_l_tck)];
    keys.into_iter().try_for_each(|(key, tck)| {
        config.require(key, tck, tck.is_multiple_of(gear), "a multiple of the gear")
    })
}

/// What of the host's commands must be over when the module takes the pins, as its timers know nothing of them: the
/// host's last rows are opened for a WR, closed behind it, and tRP goes by. See `rtl/module/host_port.md`.
fn of_handover(config: &Config) -> [Held; 4] {
    let Timing { rcd_wr_tck, rcd_mac_tck, wr_tck, rp_tck, .. } = config.timing;
    let Timing { rc_tck, faw_tck, wtr_l_tck, ccd_l_tck, .. } = config.timing;
    let closed_tck = rcd_wr_tck + config.timing.wr_to_pre_tck() + rp_tck;
    let read_tck = wr_tck + rp_tck + rcd_mac_tck;
    let opened = "at most RCD_WR + CWL + BL + WR + RP: the module takes the pins then";
    let written = "at most WR + RP + RCD_MAC: the module reads then what the host wrote";
    [
        ("RC", rc_tck, rc_tck <= closed_tck, opened),
        ("FAW", faw_tck, faw_tck <= closed_tck, opened),
        ("WTR_L", wtr_l_tck, wtr_l_tck <= read_tck, written),
        ("CCD_L", ccd_l_tck, ccd_l_tck <= MOST_CCD_L_TCK, "at most 16, for the bank PUs"),
    ]
}

fn missing(key: &str) -> ConfigError {
    ConfigError::key(&format!("missing field `{key}`: with system l3 it is needed"))
}
