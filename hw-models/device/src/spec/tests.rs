// SPDX-License-Identifier: MIT
use super::{DeviceSpec, Sweep};
use crate::aim::AimOptions;
use crate::config::Config;
use crate::kinds;
use crate::options::Options;
use crate::spd::{Description, SpdTiming};
use crate::topology::Topology;
use toml::Table;

/// The one-line error for a file that is refused.
fn refusal(text: &str) -> String {
    let error = DeviceSpec::parse(text).expect_err(text).to_string();
    assert!(!error.contains('\n') && error.len() < 500, "{error}");
    error
}

fn toy(lines: &str) -> String {
    format!("base = \"ddr4-3200\"\nname = \"toy\"\n{lines}")
}

#[test]
fn a_built_in_device_is_what_its_file_says() {
    for (name, text) in kinds::built_in() {
        let spec = DeviceSpec::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(spec.name, name);
        assert_eq!(spec, DeviceSpec::parse(&spec.to_toml()).expect("it is whole"));
        assert_eq!(spec.config(), Config::parse(&spec.to_toml()).expect("its DRAM"));
    }
    let rank = DeviceSpec::built_in("ddr4-3200").expect("a rank");
    assert_eq!((rank.options(), rank.topology()), (Options::default(), Ok(Topology::ONE)));
    let module = DeviceSpec::built_in("gddr6-aim").expect("a module");
    assert_eq!(module.aim_options(), AimOptions::default());
    let wide = "base = \"gddr6-aim\"\nname = \"a\"\n[units]\nsoftmax_lanes = 8";
    let wide = DeviceSpec::parse(wide).expect("a module");
    assert_eq!(wide.aim_options().softmax_lanes, 8);
    assert_eq!(wide, DeviceSpec::parse(&wide.to_toml()).expect("it is whole"));
    assert_eq!(DeviceSpec::built_in("ddr5"), None);
}

#[test]
fn a_file_without_a_base_has_every_key() {
    for (name, text) in kinds::built_in() {
        let whole: Table = text.parse().expect("TOML");
        for (key, value) in &whole {
            let within = value.as_table().into_iter().flat_map(Table::keys).map(Some);
            for inner in within.chain([None]) {
                let mut lacking = whole.clone();
                match inner {
                    Some(inner) => lacking[key].as_table_mut().expect("a table").remove(inner),
                    None => lacking.remove(key),
                };
                let lacks = inner.unwrap_or(key);
                if lacks == "power" {
                    assert_eq!(DeviceSpec::parse(&lacking.to_string()).map(|s| s.power), Ok(None));
                    continue;
                }
                if lacks == "link_gb_per_s" {
                    let spec = DeviceSpec::parse(&lacking.to_string()).expect("there is no limit");
                    assert_eq!(spec.config().link_gb_per_s, None);
                    continue;
                }
                let error = refusal(&lacking.to_string());
                assert!(error.contains("missing field `"), "{name}: {error}");
                assert!(error.contains(&format!("{lacks}`")), "{name}: {error}");
            }
        }
    }
}

#[test]
fn a_file_with_a_base_says_what_is_other() {
    let spec = DeviceSpec::parse(&toy("[timing]\nRTP = 14\n[topology]\nranks = 2\n"));
    let spec = spec.expect("a device");
    let mut base = DeviceSpec::built_in("ddr4-3200").expect("the base");
    base.timing.rtp_tck = 14;
    base.topology.ranks = 2;
    (base.name, base.source) = ("toy".to_owned(), "ddr4-3200 but for RTP, ranks".to_owned());
    assert_eq!(spec, base);
    assert_eq!(DeviceSpec::parse(&spec.to_toml()), Ok(spec));
}

#[test]
fn the_link_of_a_module_is_the_preset_s_or_a_file_s() {
    assert_eq!(Config::gddr6_aim().link_gb_per_s, Some(64));
    assert_eq!(Config::ddr4_3200().link_gb_per_s, None);
    let text = "base = \"gddr6-aim\"\nname = \"a\"\n[topology]\nlink_gb_per_s = 32";
    let spec = DeviceSpec::parse(text).expect("a module");
    assert_eq!(spec.config().link_gb_per_s, Some(32));
    assert_eq!(DeviceSpec::parse(&spec.to_toml()), Ok(spec));
}

#[test]
fn what_is_no_device_is_refused_with_its_key() {
    for (lines, expected) in [
        ("[timing]\nRC = 73", "preset toy: RC = 73, expected at least RAS + RP"),
        ("[timing]\nFAW = 7", "FAW = 7, expected at least RRD_L"),
        ("[timing]\nCL = 23", "CL = 23, expected a multiple of the gear"),
        ("[units]\ngear = 3", "gear = 3, expected 1, 2 or 4"),
        ("[units]\ngear = 4", "CL = 22, expected a multiple of the gear"),
        ("[units]\nmultipliers = 8", "multipliers = 8, expected 4"),
        ("[units]\nsums = \"binary64\"", "unknown variant `binary64`"),
        ("[buffers]\nscores = 64", "scores = 64, expected 131072"),
        ("[buffers]\nshared_bytes = 4096", "shared_bytes = 4096, expected 2048"),
        ("[organisation]\nrows = 1000000000000", "rows = 1000000000000, expected 1 to 1048576"),
        ("[organisation]\nrows = 65537", "rows = 65537, expected at most 65536"),
        ("[organisation]\nrows = 1", "rows = 1, expected 2 or more"),
        ("[organisation]\npage_bytes = 128", "page_bytes = 128, expected 256 or more"),
        ("[organisation]\nchips = 4", "chips = 4, expected 8"),
        ("[timing]\nRAS = 300\nRC = 322", "RAS = 300, expected at most 255"),
        ("[timing]\nCCD_S = 5\nCCD_RESULT = 5", "CCD_S = 5, expected 4"),
        ("[timing]\nRTW_GAP = 3", "RTW_GAP = 3, expected at most 2"),
        ("[timing]\nRC = 89", "RC = 89, expected at most RCD_WR + CWL + BL + WR + RP"),
        ("[timing]\nFAW = 89", "FAW = 89, expected at most RCD_WR + CWL + BL + WR + RP"),
        ("[timing]\nWTR_L = 69", "WTR_L = 69, expected at most WR + RP + RCD_MAC"),
        ("[timing]\nCCD_L = 20", "CCD_L = 20, expected at most 16"),
        ("[timing]\nRTP = 3\nRL_MAC = 0", "SPD image: RTP = 3 tCK, expected 4 to 64 tCK"),
        ("[timing]\nCCD_X = 1", "unknown field `CCD_X`"),
        ("[timing]\nRCD = \"fast\"", "RCD"),
        ("[timing]\nRCD = -1", "RCD"),
        ("[timing]\nRCD = 22.0", "RCD"),
        ("timing = 3", "timing"),
        ("[cache]\nways = 2", "unknown field `cache`"),
        ("[topology]\nranks = 5", "5 ranks on a DIMM: expected 1 to 4"),
        ("[topology]\nmdq = \"shared\"", "mdq = \"shared\": it goes with several ranks"),
        ("source = \"a\\nb\"", "source: expected a line"),
        ("power = \"lpddr5\"", "unknown variant `lpddr5`"),
        ("system = \"aim\"", "chips = 8, expected 1"),
        ("[timing]\nCL = 22\nCL = 22", "line 5: duplicate key"),
        ("[timing", "line 3: "),
    ] {
        let error = refusal(&toy(lines));
        assert!(error.contains(expected), "{lines}: {error}");
    }
    for (text, expected) in [
        ("base = \"ddr5\"\nname = \"a\"", "base = \"ddr5\": expected one of ddr4-3200, "),
        ("base = 1\nname = \"a\"", "base = 1: expected one of"),
        ("base = \"ddr4-3200\"", "missing field `name`"),
        ("", "missing field `name`"),
        ("base = \"gddr6-aim\"\nname = \"a\"\n[units]\ngear = 2", "gear: with system l3 only"),
        ("base = \"gddr6-aim\"\nname = \"a\"\n[units]\nsums = \"binary32\"", "sums other than"),
        (
            "base = \"gddr6-aim\"\nname = \"a\"\n[timing]\nCCD_RESULT = 5",
            "CCD_RESULT = 5, expected at most 4",
        ),
        ("base = \"gddr6-aim\"\nname = \"a\"\n[topology]\ndimms = 2", "dimms = 2, expected 1"),
        (
            "base = \"gddr6-aim\"\nname = \"a\"\n[units]\nsoftmax_lanes = 32",
            "softmax_lanes = 32, expected 2, 4, 8 or 16",
        ),
        (
            "base = \"ddr4-3200\"\nname = \"a\"\n[units]\nsoftmax_lanes = 2",
            "softmax_lanes: with system aim only",
        ),
        (
            "base = \"gddr6-aim\"\nname = \"a\"\n[topology]\nlink_gb_per_s = 0",
            "link_gb_per_s = 0, expected 1 to 65536",
        ),
        (
            "base = \"ddr4-3200\"\nname = \"a\"\n[topology]\nlink_gb_per_s = 64",
            "link_gb_per_s: with system aim only",
        ),
    ] {
        let error = refusal(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
    refusal(&"[".repeat(100_000));
}

#[test]
fn the_image_of_the_preset_is_that_of_its_chips() {
    let (mut config, described) = (Config::ddr4_3200(), Description::ddr4_3200());
    assert_eq!(Description::of(&config), described);
    let SpdTiming { rfc2_tck, rfc4_tck, .. } = described.timing;
    let of_chips = SpdTiming { rfc2_tck, rfc4_tck, ..SpdTiming::of_chips(&config) };
    assert_eq!(of_chips, described.timing);
    config.timing.rfc_tck += 1;
    let mut of_config = Description::of(&config).module;
    of_config.ranks = 2;
    of_config.part_number.clone_from(&described.module.part_number);
    assert_eq!(of_config, described.module);
}

#[test]
fn timings_that_are_one_go_together() {
    let spec = DeviceSpec::built_in("ddr4-3200").expect("a rank");
    let sweep = Sweep::new(&spec, "RCD", false).expect("a timing");
    for rcd in [18, 22, 26] {
        let timing = sweep.at(rcd).expect("a device").timing;
        assert_eq!([timing.rcd_tck, timing.rcd_wr_tck, timing.rcd_mac_tck], [rcd; 3]);
    }
    let cycle = Sweep::new(&spec, "RP", false).expect("a timing").at(30).expect("a device");
    assert_eq!(cycle.timing.rc_tck, 82);
    let alone = Sweep::new(&spec, "RCD", true).expect("a timing").at(23);
    let error = alone.expect_err("RCD_MAC is less").to_string();
    assert!(error.contains("RCD_MAC = 22, expected at least RCD"), "{error}");
    for value in [0, 1 << 40, u64::MAX] {
        sweep.at(value).expect_err("no such time");
    }
    let error = Sweep::new(&spec, "tRCD", false).expect_err("no such key").to_string();
    assert!(error.contains("no such timing: \"tRCD\"; there are BL, "), "{error}");
}
