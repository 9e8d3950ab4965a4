// SPDX-License-Identifier: MIT
use super::Config;
use toml::{Table, Value};

const DDR4: &str = include_str!("../../presets/ddr4-3200.toml");
const AIM: &str = include_str!("../../presets/gddr6-aim.toml");

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
