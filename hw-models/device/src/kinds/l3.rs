// SPDX-License-Identifier: MIT
//! L3's ranks: their RTL has fixed widths, and their host is one of DDR4.

use super::rules::{Held, Parts, Rules};
use super::tables::TopologyTable;
use crate::config::{Config, ConfigError, Organisation, Timing};
use crate::options::Gear;
use crate::sizes::{LANES, SCORE_BUFFER, SHARED_WORDS};
use crate::spd::{Description, Values};
use crate::topology::{Mdq, Topology};

/// What a host of DDR4 keeps to and no SPD image tells: JESD79-4's tCCD_S, and a preamble of one tCK.
const HOST_CCD_S_TCK: u64 = 4;
const HOST_RTW_GAP_TCK: u64 = 2;

/// tCCD_L up to which sums are taken from the bank PUs before the next ones are there.
const MOST_CCD_L_TCK: u64 = 16;
/// Columns of the window of results: see `rtl/module/host_port.md`.
const WINDOW_COLUMNS: usize = 32;

pub const RULES: Rules = Rules {
    name: "l3",
    presets: &[
        ("ddr4-3200", include_str!("../../presets/ddr4-3200.toml")),
        ("ddr4-3200-16gb", include_str!("../../presets/ddr4-3200-16gb.toml")),
    ],
    lines: 8,
    check,
};

fn check(parts: &Parts<'_>) -> Result<(), ConfigError> {
    let config = parts.config;
    config.check_rank()?;
    if parts.units.softmax_lanes.is_some() {
        return Err(ConfigError::key(&"softmax_lanes: with system aim only, not with l3"));
    }
    let gear = parts.units.gear.ok_or_else(|| missing("units.gear"))?;
    let scores = parts.buffers.scores.ok_or_else(|| missing("buffers.scores"))?;
    parts.require_all(&of_units(parts, gear, scores))?;
    parts.require_all(&of_host(config))?;
    check_gear(config, gear)?;
    parts.require_all(&of_handover(config))?;
    check_topology(parts.topology)?;
    let image = Description::of(config).image(Values::Spoofed);
    image.map(drop).map_err(|error| ConfigError::key(&format!("SPD image: {error}")))
}

/// What the RTL of a rank's units has.
fn of_units(parts: &Parts<'_>, gear: u64, scores: usize) -> [Held; 4] {
    let (multipliers, shared_bytes) = (parts.units.multipliers, parts.buffers.shared_bytes);
    let is_gear = Gear::ALL.into_iter().any(|known| known.tck() as u64 == gear);
    let has_shared = shared_bytes == 8 * SHARED_WORDS;
    [
        ("multipliers", multipliers as u64, multipliers == LANES, "4, the width of a bank PU"),
        ("gear", gear, is_gear, "1, 2 or 4"),
        ("shared_bytes", shared_bytes as u64, has_shared, "2048, the RTL's"),
        ("scores", scores as u64, scores == SCORE_BUFFER, "131072, the RTL's"),
    ]
}

fn check_topology(table: &TopologyTable) -> Result<(), ConfigError> {
    let TopologyTable { channels, groups, dimms, ranks, mdq, link_gb_per_s } = *table;
    for (key, is_given) in [("groups", groups != 1), ("link_gb_per_s", link_gb_per_s.is_some())] {
        if is_given {
            let what = format!("{key}: with system aim only, not with l3");
            return Err(ConfigError::key(&what));
        }
    }
    let topology = Topology::new(channels, dimms, ranks);
    let topology = topology.map_err(|e| ConfigError::key(&format!("topology: {e}")))?;
    if mdq == Mdq::Shared && topology.ranks() == 1 {
        let message = "mdq = \"shared\": it goes with several ranks on a DIMM";
        return Err(ConfigError::key(&message));
    }
    Ok(())
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

/// The effects of the host's commands that must be over when the module takes the pins, as its timers do not see
/// those commands: the host's last rows are opened for a WR, closed behind it, and tRP goes by. See
/// `rtl/module/host_port.md`.
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
