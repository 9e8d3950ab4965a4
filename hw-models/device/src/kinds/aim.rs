// SPDX-License-Identifier: MIT
//! A module of GDDR6-AiM channels: its RTL has fixed widths.

use super::rules::{Parts, Rules};
use super::tables::{TopologyTable, UnitTable};
use crate::aim::{self, GLOBAL_WORDS, MOST_CHANNELS, MULTIPLIERS, RTL_LANES, may_have_lanes};
use crate::config::ConfigError;
use crate::options::{Normalise, SumFormat};
use crate::topology::Mdq;

/// tCCD_RESULT up to which the result registers are read before the next results are there.
const MOST_CCD_RESULT_TCK: u64 = 4;
/// GB/s of a link between host and hub, at most.
const MOST_LINK_GB_PER_S: u64 = 65536;

pub const RULES: Rules = Rules {
    name: "aim",
    presets: &[("gddr6-aim", include_str!("../../presets/gddr6-aim.toml"))],
    lines: 16,
    check,
};

fn check(parts: &Parts<'_>) -> Result<(), ConfigError> {
    let Parts { config, units, buffers, topology } = parts;
    aim::check(config)?;
    let TopologyTable { channels, groups, dimms, ranks, mdq, link_gb_per_s } = **topology;
    let divide = channels.is_multiple_of(groups);
    let UnitTable { multipliers, sums, normalise, gear, softmax_lanes } = **units;
    let softmax_lanes = softmax_lanes.unwrap_or(RTL_LANES);
    let is_wide = may_have_lanes(softmax_lanes);
    let shared_bytes = buffers.shared_bytes;
    let column_bytes = config.organisation.column_bytes;
    let global = shared_bytes == GLOBAL_WORDS * column_bytes;
    let link = link_gb_per_s.unwrap_or(MOST_LINK_GB_PER_S);
    let is_link = (1..=MOST_LINK_GB_PER_S).contains(&link);
    let (lanes, results_tck) = (multipliers as u64, config.timing.ccd_result_tck);
    parts.require_all(&[
        ("multipliers", lanes, multipliers == MULTIPLIERS, "16, the width of a bank PU"),
        ("softmax_lanes", softmax_lanes as u64, is_wide, "2, 4, 8 or 16"),
        ("shared_bytes", shared_bytes as u64, global, "2048, the RTL's"),
        ("CCD_RESULT", results_tck, results_tck <= MOST_CCD_RESULT_TCK, "at most 4"),
        ("channels", channels as u64, (1..=MOST_CHANNELS).contains(&channels), "1 to 64"),
        ("groups", groups as u64, divide, "a number that divides the channels"),
        ("dimms", dimms as u64, dimms == 1, "1 with system aim"),
        ("ranks", ranks as u64, ranks == 1, "1 with system aim"),
        ("link_gb_per_s", link, is_link, "1 to 65536"),
    ])?;
    let is_l3s: [(bool, &str); 5] = [
        (gear.is_some(), "gear"),
        (buffers.scores.is_some(), "scores"),
        (sums != SumFormat::Binary16, "sums other than \"binary16\""),
        (normalise != Normalise::Early, "normalise other than \"early\""),
        (mdq != Mdq::Private, "mdq other than \"private\""),
    ];
    is_l3s.iter().find(|(is_l3s, _)| *is_l3s).map_or(Ok(()), |(_, key)| {
        Err(ConfigError::key(&format!("{key}: with system l3 only, not with aim")))
    })
}
