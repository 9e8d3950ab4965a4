// SPDX-License-Identifier: MIT
//! A device of NeuPIMs, from a file.

use super::sizes::{BANKS, BURST, GROUP, PAGE, WORD};
use crate::config::ConfigError;
use serde::{Deserialize, Serialize};

/// The devices that are built in: name, and file.
const BUILT_IN: [(&str, &str); 1] =
    [("hbm2-neupims", include_str!("../../presets/hbm2-neupims.toml"))];
/// Rows of a bank at the most: bits of a row's number on the pins.
const MOST_ROWS: u64 = 1 << 15;
/// Channels at the most.
const MOST_CHANNELS: u64 = 1024;

/// A device as a file describes it. Every key is there.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct NeupimsSpec {
    /// Its name.
    pub name: String,
    /// Where the values come from, in a line.
    pub source: String,
    /// Clock period in ps.
    #[serde(rename = "tCK_ps")]
    pub tck_ps: u64,
    /// What there is in a channel.
    pub organisation: ChannelOrganisation,
    /// Timing parameters.
    pub timing: ChannelTiming,
    /// Its PUs and their commands.
    pub pim: PimTable,
    /// How many channels there are.
    pub channels: ChannelCount,
}

/// What there is in a channel.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ChannelOrganisation {
    /// Pseudo-ranks, with a window of tFAW and refreshes of their own.
    pub pseudo_ranks: u64,
    /// Bank groups of a pseudo-rank.
    pub groups_per_rank: u64,
    /// Banks of a group.
    pub banks_per_group: u64,
    /// Bytes of a row buffer.
    pub page_bytes: u64,
    /// Bytes of a burst.
    pub burst_bytes: u64,
    /// Rows of a bank.
    pub rows: u64,
}

/// Timings, in tCK.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the timings of JESD235, but for those with a comment")]
pub struct ChannelTiming {
    /// A burst on the data bus.
    pub bl: u64,
    pub ccd_s: u64,
    pub ccd_l: u64,
    pub rrd_s: u64,
    pub rrd_l: u64,
    pub faw: u64,
    pub rcd: u64,
    pub rcd_wr: u64,
    /// PIM_ACTIVATION to dot products.
    pub rcd_pim: u64,
    pub ras: u64,
    pub rp: u64,
    pub rc: u64,
    pub cl: u64,
    pub cwl: u64,
    /// Between a read's data and a write's.
    pub rtw_gap: u64,
    /// Between bursts of one pseudo-rank, of the other, and results.
    pub rtrs: u64,
    pub wtr_s: u64,
    pub wtr_l: u64,
    pub wr: u64,
    pub rtp: u64,
    /// From REF to REF of a pseudo-rank.
    pub refi: u64,
    pub rfc: u64,
}

/// PUs and their commands.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PimTable {
    /// Multipliers of a PU.
    pub multipliers: u64,
    /// tCK of a GWRITE.
    #[serde(rename = "GWRITE")]
    pub gwrite: u64,
    /// tCK from a dot product to the next.
    #[serde(rename = "DOT")]
    pub dot: u64,
    /// Dot products that fill the pipeline of a PU.
    #[serde(rename = "FILL")]
    pub fill: u64,
}

/// Channels.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ChannelCount {
    /// How many.
    pub count: u64,
}

impl NeupimsSpec {
    /// Names of the built-in devices.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.into_iter().map(|(name, _)| name)
    }

    /// A built-in device, by its name.
    pub fn built_in(name: &str) -> Option<Self> {
        Some(Self::parse(Self::file(name)?).expect("tested below"))
    }

    /// The file of a built-in device, by its name.
    pub fn file(name: &str) -> Option<&'static str> {
        let (_, text) = BUILT_IN.into_iter().find(|(known, _)| *known == name)?;
        Some(text)
    }

    /// Reads a file, and checks that there is such a device.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let spec: Self = toml::from_str(text).map_err(|error| ConfigError::syntax(text, &error))?;
        spec.check()?;
        Ok(spec)
    }

    /// The file of it, whole: read again, it is the same.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("plain data")
    }

    /// The same with another number of pseudo-ranks in a channel, which has as many banks.
    ///
    /// # Errors
    ///
    /// If it is neither 1 nor 2.
    pub fn with_pseudo_ranks(mut self, pseudo_ranks: u64) -> Result<Self, ConfigError> {
        let groups = self.organisation.pseudo_ranks * self.organisation.groups_per_rank;
        self.organisation.pseudo_ranks = pseudo_ranks;
        self.organisation.groups_per_rank = groups / pseudo_ranks.max(1);
        self.check()?;
        Ok(self)
    }

    /// GB/s (10^9 bytes) of a channel's data bus.
    pub fn bus_gb_per_s(&self) -> f64 {
        let bytes = self.organisation.burst_bytes as f64;
        bytes * 1000.0 / (self.timing.bl * self.tck_ps) as f64
    }

    /// GB/s (10^9 bytes) of a channel's PUs, with a dot product in every DOT.
    pub fn peak_gb_per_s(&self) -> f64 {
        let bytes = (2 * WORD * BANKS) as f64;
        bytes * 1000.0 / (self.pim.dot * self.tck_ps) as f64
    }

    /// Whether a channel's controller and its PUs are for it.
    fn check(&self) -> Result<(), ConfigError> {
        let (o, t, p) = (&self.organisation, &self.timing, &self.pim);
        let groups = o.pseudo_ranks.saturating_mul(o.groups_per_rank);
        let most = |value: u64, most: u64| (1..=most).contains(&value);
        let byte = u64::from(u8::MAX);
        let wr_to_pre = t.cwl.saturating_add(t.bl).saturating_add(t.wr);
        let wr_to_rd = t.cwl.saturating_add(t.bl).saturating_add(t.wtr_l.max(t.wtr_s));
        let name = &self.name;
        if name.is_empty() || name.len() > 64 || name.contains(|c: char| c.is_control()) {
            return Err(ConfigError::Name(name.clone()));
        }
        for (key, value, holds, expected) in [
            ("tCK_ps", self.tck_ps, most(self.tck_ps, 1_000_000), "1 to 1000000"),
            ("pseudo_ranks", o.pseudo_ranks, most(o.pseudo_ranks, 2), "1 or 2"),
            ("groups_per_rank", o.groups_per_rank, groups == 8, "8 bank groups in a channel"),
            ("banks_per_group", o.banks_per_group, o.banks_per_group == GROUP as u64, "4"),
            ("page_bytes", o.page_bytes, o.page_bytes == 2 * PAGE as u64, "1024"),
            ("burst_bytes", o.burst_bytes, o.burst_bytes == 2 * BURST as u64, "64"),
            ("rows", o.rows, (8..=MOST_ROWS).contains(&o.rows), "8 to 32768"),
            ("BL", t.bl, t.bl == 2, "2: a burst in two tCK"),
            ("CCD_S", t.ccd_s, most(t.ccd_s, t.bl), "1 or 2: the data bus is what bounds bursts"),
            ("CCD_L", t.ccd_l, most(t.ccd_l, t.bl), "1 or 2: the data bus is what bounds bursts"),
            ("RRD_S", t.rrd_s, most(t.rrd_s, byte), "1 to 255"),
            ("RRD_L", t.rrd_l, most(t.rrd_l, byte), "1 to 255"),
            ("FAW", t.faw, most(t.faw, byte), "1 to 255"),
            ("RCD", t.rcd, most(t.rcd, byte), "1 to 255"),
            ("RCD_WR", t.rcd_wr, most(t.rcd_wr, byte), "1 to 255"),
            ("RCD_PIM", t.rcd_pim, most(t.rcd_pim, byte), "1 to 255"),
            ("RAS", t.ras, most(t.ras, byte), "1 to 255"),
            ("RP", t.rp, most(t.rp, byte), "1 to 255"),
            ("RC", t.rc, t.rc <= byte && t.rc >= t.rp, "RP to 255"),
            ("CL", t.cl, most(t.cl, 31), "1 to 31"),
            ("CWL", t.cwl, most(t.cwl, 31.min(t.cl)), "1 to CL"),
            ("RTW_GAP", t.rtw_gap, t.rtw_gap <= 15, "0 to 15"),
            ("RTRS", t.rtrs, t.rtrs <= 15, "0 to 15"),
            ("WTR_S", t.wtr_s, wr_to_rd <= byte, "CWL + BL + WTR up to 255"),
            ("WTR_L", t.wtr_l, wr_to_rd <= byte, "CWL + BL + WTR up to 255"),
            ("WR", t.wr, wr_to_pre <= byte, "CWL + BL + WR up to 255"),
            ("RTP", t.rtp, most(t.rtp, byte), "1 to 255"),
            ("RFC", t.rfc, most(t.rfc, 1023), "1 to 1023"),
            (
                "REFI",
                t.refi,
                t.refi / 2 > t.rfc + 512 && t.refi < 1 << 20,
                "more than 2 (RFC + 512)",
            ),
            ("multipliers", p.multipliers, p.multipliers == WORD as u64, "16"),
            ("GWRITE", p.gwrite, most(p.gwrite, byte), "1 to 255"),
            ("DOT", p.dot, most(p.dot, 15), "1 to 15"),
            ("FILL", p.fill, p.fill == 6, "6, as PUs have it"),
            ("FILL", p.fill, p.fill.saturating_mul(p.dot) <= 31, "FILL DOT up to 31"),
            ("count", self.channels.count, most(self.channels.count, MOST_CHANNELS), "1 to 1024"),
        ] {
            if !holds {
                return Err(ConfigError::Value { preset: name.clone(), key, value, expected });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_golden::pins_dual::DualRules;

    #[test]
    fn the_built_in_device_has_the_numbers_of_the_checker() {
        let NeupimsSpec { name, tck_ps, organisation: o, timing: t, pim: p, channels, .. } =
            NeupimsSpec::built_in("hbm2-neupims").expect("it is there");
        let r = DualRules::NEUPIMS;
        assert_eq!((name.as_str(), tck_ps, channels.count), ("hbm2-neupims", 1000, 32));
        assert_eq!((o.pseudo_ranks, o.groups_per_rank, o.banks_per_group), (2, 4, 4));
        assert_eq!((o.page_bytes, o.burst_bytes, o.rows), (1024, 64, 32_768));
        for (key, ours, theirs) in [
            ("BL", t.bl, r.burst),
            ("CCD_S", t.ccd_s, r.t_ccd_s),
            ("CCD_L", t.ccd_l, r.t_ccd_l),
            ("RRD_S", t.rrd_s, r.t_rrd_s),
            ("RRD_L", t.rrd_l, r.t_rrd_l),
            ("FAW", t.faw, r.t_faw),
            ("RCD", t.rcd, r.t_rcd),
            ("RCD_WR", t.rcd_wr, r.t_rcd_wr),
            ("RCD_PIM", t.rcd_pim, r.t_rcd_pim),
            ("RAS", t.ras, r.t_ras),
            ("RP", t.rp, r.t_rp),
            ("RC", t.rc, r.t_rc),
            ("CL", t.cl, r.cl),
            ("CWL", t.cwl, r.cwl),
            ("WR", t.wr, r.t_wr),
            ("RTP", t.rtp, r.t_rtp),
            ("WTR_S", t.wtr_s, r.t_wtr_s),
            ("WTR_L", t.wtr_l, r.t_wtr_l),
            ("RTW_GAP", t.rtw_gap, r.rtw_gap),
            ("RTRS", t.rtrs, r.t_rtrs),
            ("REFI", t.refi, r.t_refi.expect("refresh is on")),
            ("RFC", t.rfc, r.t_rfc),
            ("GWRITE", p.gwrite, r.gwrite),
            ("DOT", p.dot, r.dot),
            ("FILL DOT", p.fill * p.dot, r.results),
        ] {
            assert_eq!(ours, theirs, "{key}");
        }
    }

    #[test]
    fn a_file_that_is_written_is_read_as_the_same() {
        for spec in NeupimsSpec::names().filter_map(NeupimsSpec::built_in) {
            assert_eq!(NeupimsSpec::parse(&spec.to_toml()).as_ref(), Ok(&spec));
        }
    }

    #[test]
    fn rates_are_those_of_the_paper() {
        let spec = NeupimsSpec::built_in("hbm2-neupims").expect("it is there");
        assert!((spec.bus_gb_per_s() * 32.0 - 1024.0).abs() < 1e-9);
        assert!((spec.peak_gb_per_s() * 32.0 - 16_384.0).abs() < 1e-9);
        let one = spec.clone().with_pseudo_ranks(1).expect("it is one");
        assert_eq!((one.organisation.pseudo_ranks, one.organisation.groups_per_rank), (1, 8));
        assert!(spec.clone().with_pseudo_ranks(0).is_err() && spec.with_pseudo_ranks(3).is_err());
    }

    #[test]
    fn a_key_that_is_missing_unknown_or_wrong_is_named() {
        let text = BUILT_IN[0].1;
        let keys = text.lines().filter_map(|line| line.split_once(" = "));
        for (key, _) in keys {
            let without = |line: &&str| !line.starts_with(&format!("{key} = "));
            let cut: Vec<_> = text.lines().filter(without).collect();
            let error = NeupimsSpec::parse(&cut.join("\n")).expect_err(key).to_string();
            assert!(error.contains(key) && !error.contains('\n'), "{key}: {error}");
        }
        for (from, to, key) in [
            ("FAW = 30", "FAW = 0", "FAW"),
            ("FAW = 30", "FAW = 30\nFAB = 1", "FAB"),
            ("pseudo_ranks = 2", "pseudo_ranks = 4", "pseudo_ranks"),
            ("pseudo_ranks = 2", "pseudo_ranks = 1", "groups_per_rank"),
            ("rows = 32768", "rows = 65536", "rows"),
            ("CWL = 4", "CWL = 15", "CWL"),
            ("REFI = 3900", "REFI = 390", "REFI"),
            ("multipliers = 16", "multipliers = 8", "multipliers"),
            ("FILL = 6", "FILL = 7", "FILL"),
            ("WR = 16", "WR = 18446744073709551615", "WR"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = NeupimsSpec::parse(&text.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(error.contains(key), "{to}: {error}");
        }
        assert_eq!(NeupimsSpec::built_in("hbm3"), None);
    }
}
