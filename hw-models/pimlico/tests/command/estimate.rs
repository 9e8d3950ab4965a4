// SPDX-License-Identifier: MIT
//! `pimlico estimate` where something is missing or wrong: one line that says what, status 2, and no file
//! left behind.

use crate::common;
use pimlico_estimate::NANGATE45_AREAS;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The library of a bench.
const NANGATE45: &str = "nangate45_areas.lib";

/// A folder with a library and what stands for the tools.
struct Bench {
    folder: TempDir,
    path: &'static str,
}

impl Bench {
    /// With a Python that has pyosys, which fails, and an OpenSTA.
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().expect("a folder"), path: "" };
        bench.program("sta", "exit 0");
        bench.python("0.70");
        std::fs::write(bench.file(NANGATE45), NANGATE45_AREAS).expect("written");
        bench
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let file = self.file(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("executable");
    }

    fn python(&self, version: &str) {
        let fails = "echo 'ERROR: this Yosys fails' >&2; exit 1";
        let script = format!("case \"$2\" in *importlib*) echo {version};; *) {fails};; esac");
        self.program("python", &script);
    }

    fn library(&self, text: impl AsRef<[u8]>) -> String {
        let file = self.file("cells.lib");
        std::fs::write(&file, text).expect("written");
        file.display().to_string()
    }

    /// The line that the command gives.
    fn refused(&self, arguments: &str, liberty: &str) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_pimlico"))
            .arg("estimate")
            .args(arguments.split_whitespace())
            .arg("--liberty")
            .arg(self.file(liberty))
            .arg("--python")
            .arg(self.file("python"))
            .env("XDG_CACHE_HOME", self.folder.path())
            .env(
                "PATH",
                if self.path.is_empty() { self.folder.path() } else { Path::new(self.path) },
            )
            .output()
            .expect("the command runs");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{arguments} {liberty}: {said}");
        assert!(output.stdout.is_empty(), "{arguments} {liberty}");
        assert_eq!(said.lines().count(), 1, "{said}");
        said.trim_start_matches("pimlico: ").trim_end().to_owned()
    }
}

#[test]
fn what_is_missing_is_named_with_what_installs_it() {
    let bench = Bench::new();
    std::fs::remove_file(bench.file("sta")).expect("it was there");
    let said = bench.refused("area bank_pu", NANGATE45);
    assert!(said.starts_with("OpenSTA (sta) is missing: apt-get install opensta"), "{said}");

    bench.python("0.69");
    let said = bench.refused("compare", NANGATE45);
    assert!(said.starts_with("pyosys 0.69: expected 0.70"), "{said}");

    std::fs::remove_file(bench.file("python")).expect("it was there");
    for command in ["area", "compare", "libraries", "trade subnormals", "trade pipeline"] {
        let said = bench.refused(command, NANGATE45);
        assert!(said.starts_with("pyosys is missing: run `scripts/estimate`"), "{said}");
    }
    let said = bench.refused("clock", NANGATE45);
    assert!(said.contains("no kept result of the present RTL; pyosys is missing: run "), "{said}");
}

#[test]
fn a_library_that_is_none_is_refused_with_file_and_line() {
    let bench = Bench::new();
    let text = NANGATE45_AREAS;
    let cut: Vec<_> = text.lines().take(117).collect();
    let cases = [
        (cut.join("\n"), ":117: the file ends, but the { of line 115 is open"),
        (text.replacen("}\n  }", "})\n  }", 1), ":15: a ) where the { of line 13 is open"),
        (text.replace("!(A1 & A2)", "(A1 & A2)"), ": no cell with an area"),
        (text.replace("area : 0.532", "area : 1e300"), ":13: cell INV_X1: expected an area"),
        ("\u{7f}ELF\u{2}\u{1}\u{0}".to_owned(), ":1: a control character"),
        (String::new(), ": expected one library"),
        ("a(b) {".repeat(100_000), ":1: more than 32 brackets in each other"),
        (text.replacen("direction : input;", "direction input", 1), ":14: "),
    ];
    for (text, expected) in cases {
        let file = bench.library(&text);
        let said = bench.refused("area", &file);
        assert!(said.starts_with(&(file + expected)), "{said}, not {expected}");
    }
    let folder = bench.folder.path().display().to_string();
    assert!(bench.refused("libraries", &folder).contains("expected a file of at most"));
    let absent = bench.file("none.lib").display().to_string();
    assert_eq!(
        bench.refused("compare", &absent),
        format!("{absent}: No such file or directory (os error 2)")
    );
    let said = bench.refused(&format!("libraries --second {absent}"), NANGATE45);
    assert!(said.starts_with(&absent), "{said}");
}

#[test]
fn wrong_parameters_are_refused() {
    let bench = Bench::new();
    for (arguments, expected) in [
        ("area nonesuch", "nonesuch: no such unit"),
        ("libraries bank_pu:none", "bank_pu:none: no such unit"),
        ("area --clock 0", "--clock 0: expected 0.001 to 1000000 ns"),
        ("area --fo4 0", "--fo4 0: expected more than 0 ps, up to 5000"),
        ("area --fo4 NaN", "--fo4 NaN: expected more than 0 ps"),
        ("area --fo4=-20", "--fo4 -20: expected more than 0 ps"),
        ("area --fo4 inf", "--fo4 inf: expected more than 0 ps"),
        ("area --sized bank_pu", "--sized: nangate45_areas has no timing"),
        ("clock --gear 3", "invalid value '3' for '--gear <GEAR>' [possible values: 1, 2, 4]"),
        ("clock --fo4 0", "--fo4 0: expected more than 0 ps, up to 5000"),
        ("clock --reserve 100", "--reserve 100: expected 0 percent"),
        ("clock --reserve NaN", "--reserve NaN: expected 0 percent"),
        ("clock --keep", "--keep: expected no --liberty "),
        ("clock --rtl /nonesuch", "/nonesuch/pimlico.f: No such file"),
        ("trade gear --head-dim 0", "--head-dim 0: expected 1 to 256"),
        ("trade gear --context 64,0", "--context 0: expected 1 to 1048576"),
        ("trade gear --tokens 0", "--tokens 0: expected 1 to 1048576"),
        (
            "area --system aim tree_pu",
            "the argument '--system <SYSTEM>' cannot be used with '[UNITS]...'",
        ),
        (
            "area --system aim --device ddr4-3200",
            "--device ddr4-3200: system = \"l3\", expected \"aim\"",
        ),
        (
            "power --system l3 --device gddr6-aim",
            "--device gddr6-aim: system = \"aim\", expected \"l3\"",
        ),
        ("clock --device nonesuch", "nonesuch: no such file, and no device of "),
        ("compare --device nonesuch", "nonesuch: no such file, and no device of "),
        ("compare --clock NaN", "--clock NaN: expected 0.001 to 1000000 ns"),
        ("trade sums --head-dim 0", "--head-dim 0: expected 1 to 256"),
        ("trade pipeline --head-dim 99999999999", "--head-dim 99999999999: expected 1 to 256"),
        ("trade pipeline --context 0", "--context 0: expected 1 to 1048576"),
        ("trade normalise --context 9999999", "--context 9999999: expected 1 to 1048576"),
    ] {
        let said = bench.refused(arguments, NANGATE45);
        assert!(said.starts_with(expected), "{arguments}: {said}");
    }
}

#[test]
fn a_failing_tool_leaves_no_file_behind() {
    let bench = Bench::new();
    let plot = bench.file("trade.svg");
    let said = bench.refused(&format!("trade pipeline --plot {}", plot.display()), NANGATE45);
    let library = bench.file(NANGATE45);
    let expected = "ERROR: this Yosys fails";
    let what = format!("Yosys cannot do fp_mul in the cells of {}: {expected}", library.display());
    assert_eq!(said, what);
    assert!(!plot.exists());
    let left = std::fs::read_dir(bench.folder.path()).expect("a folder").count();
    assert_eq!(left, 3, "the two tools and the list of areas");

    let plot = bench.file("no/such/folder/trade.svg");
    for what in ["trade sums", "area", "power", "clock"] {
        let said = bench.refused(&format!("{what} --plot {}", plot.display()), NANGATE45);
        assert!(said.contains("no/such/folder") && said.contains("no such folder"), "{said}");
    }
}

/// Clocks from what is kept, where there is no tool: the status, the document, and the line.
fn clocks(arguments: &str) -> (Option<i32>, serde_json::Value, String) {
    kept(&format!("clock {arguments}"))
}

/// The same of an estimate.
fn kept(arguments: &str) -> (Option<i32>, serde_json::Value, String) {
    let nothing = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .arg("estimate")
        .args(arguments.split_whitespace())
        .arg("--json")
        .env("XDG_CACHE_HOME", nothing.path())
        .env("PATH", nothing.path())
        .env("PIMLICO_PYTHON", "/nonesuch")
        .output()
        .expect("the command runs");
    let document = common::document(&output.stdout);
    let said = String::from_utf8(output.stderr).expect("text");
    (output.status.code(), document, said.trim_end().to_owned())
}

#[test]
fn clocks_come_from_what_is_kept_and_a_miss_is_status_1() {
    // With no time in any gate nothing misses but memories that are read in the cycle that asks.
    let (_, none, _) = clocks("--fo4 0.001 --reserve 0");
    let misses = none["misses"].as_array().expect("misses").len();
    let memories = none["memories"].as_array().expect("memories");
    let asking = memories.iter().filter(|memory| memory["is_clocked"] == false).count();
    assert_eq!(misses, asking);

    // With much of it everything does, and each is named.
    let (status, all, said) = clocks("--fo4 5000");
    assert_eq!(status, Some(1));
    assert_eq!(said.lines().count(), 1, "{said}");
    for unit in all["units"].as_array().expect("units") {
        let name = unit["unit"].as_str().expect("a name");
        assert!(said.contains(name), "{name}: {said}");
    }

    // A clock that is too short by a little: the slowest bank PU, at the FO4 where it is just not met.
    let bank = all["units"].as_array().expect("units").iter();
    let bank = bank.clone().find(|unit| unit["clock"] == "bank").expect("a bank PU").clone();
    let edge = 5.0 * 0.9 * 1e3 / bank["period_fo4"].as_f64().expect("a number");
    let missed = |fo4: f64| {
        let (_, document, _) = clocks(&format!("--fo4 {fo4}"));
        let units = document["units"].as_array().expect("units").clone();
        let unit = units.into_iter().find(|unit| unit["unit"] == bank["unit"]).expect("it");
        unit["is_met"] == false
    };
    assert!(missed(edge * 1.001) && !missed(edge * 0.999));
}

#[test]
fn a_gear_is_a_longer_period_of_the_core_alone() {
    let periods = |gear: u32| -> Vec<(String, f64)> {
        let (_, document, _) = clocks(&format!("--gear {gear}"));
        let units = document["units"].as_array().expect("units").iter();
        let of = |unit: &serde_json::Value| {
            let clock = unit["clock"].as_str().expect("a name").to_owned();
            (clock, unit["clock_ns"].as_f64().expect("a number"))
        };
        units.map(of).collect()
    };
    let [one, two, four] = [1, 2, 4].map(periods);
    // A gear has units of its own: of each clock there is one period.
    let period = |units: &[(String, f64)], of: &str| {
        let of_clock = |(clock, ns): &(String, f64)| (clock == of).then_some(*ns);
        let mut periods: Vec<f64> = units.iter().filter_map(of_clock).collect();
        periods.dedup();
        assert_eq!(periods.len(), 1, "{of}: {periods:?}");
        periods[0]
    };
    for (clock, _) in &one {
        let ratio = [&two, &four].map(|units| period(units, clock) / period(&one, clock));
        assert_eq!(ratio, if clock == "core" { [2.0, 4.0] } else { [1.0; 2] }, "{clock}");
    }
}

#[test]
fn what_is_kept_is_in_two_libraries_and_of_each_gear() {
    for gear in [1, 2, 4] {
        let (_, document, _) = clocks(&format!("--gear {gear}"));
        let libraries = document["liberties"].as_array().expect("libraries").len();
        assert_eq!(libraries, 2);
        let units = document["units"].as_array().expect("units");
        let adder = units.iter().find(|unit| {
            let name = unit["unit"].as_str().expect("a name");
            unit["system"] == "l3" && name.starts_with("adder_unit")
        });
        let lanes = if gear == 1 { String::new() } else { format!(" GEAR={gear}") };
        assert_eq!(adder.expect("an adder unit")["unit"], format!("adder_unit{lanes}"));
        for unit in units {
            let of: Vec<f64> = unit["libraries"]
                .as_array()
                .expect("libraries")
                .iter()
                .map(|library| library["period_fo4"].as_f64().expect("a number"))
                .collect();
            assert_eq!(of.len(), libraries, "{}", unit["unit"]);
            let slowest = of.iter().copied().fold(0.0, f64::max);
            assert_eq!(unit["period_fo4"], slowest, "{}", unit["unit"]);
        }
    }
}

/// The entry of a list whose field is this.
fn entry<'a>(list: &'a serde_json::Value, field: &str, is: &str) -> &'a serde_json::Value {
    let mut entries = list.as_array().expect("a list").iter();
    entries.find(|entry| entry[field] == is).unwrap_or_else(|| panic!("no {is}"))
}

#[test]
fn a_system_is_its_hierarchy_from_what_is_kept() {
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    for (system, levels) in [
        ("l3", &["bank", "chip", "rank PU", "rank", "buffer chip", "DIMM"][..]),
        ("aim", &["PU", "AiM", "channel", "hub", "module"][..]),
    ] {
        let (status, document, said) = kept(&format!("area --system {system}"));
        assert_eq!(status, Some(0), "{said}");
        let names = document["totals"].as_array().expect("totals").iter();
        let names: Vec<_> = names.map(|total| total["level"].as_str().expect("a name")).collect();
        assert_eq!(names, levels);
    }

    let (_, document, _) = kept("area --system aim");
    let of = |level: &str, field: &str| number(&entry(&document["totals"], "level", level)[field]);
    for field in ["logic_ge", "memories_bytes", "memories_mm2_28nm"] {
        let module = 16.0 * of("channel", field) + of("hub", field);
        assert!((of("module", field) / module - 1.0).abs() < 1e-9, "{field}");
    }
    // Two sides of 2 KB on the chip; of the hub a GPR of 2^18 numbers, the dispatcher's tables, and FIFOs.
    assert_eq!(of("AiM", "memories_bytes"), 4096.0);
    assert!(of("hub", "memories_bytes") > 1024.0 * (512.0 + 2.0 * 96.0));
    assert_eq!(of("AiM", "budget_mm2"), 12.16);
    let pu = number(&entry(&document["parts"], "part", "tree_pu")["area_ge"]);
    assert!(of("AiM", "logic_ge") > 16.0 * pu);
}

#[test]
fn every_module_of_the_hub_and_its_channels_has_a_clock() {
    let (_, document, _) = clocks("");
    for (system, unit, count) in [
        ("aim", "aim_hub CHANNELS=16 PINGPONG=1, rest", 1),
        ("aim", "aim_decode CHANNELS=16", 1),
        ("aim", "aim_feeder CHANNELS=16", 1),
        ("aim", "aim_adders CHANNELS=16, rest", 1),
        ("aim", "aim_softmax CHANNELS=16, rest", 1),
        ("aim", "softmax_unit GEAR=2", 1),
        ("aim", "dispatcher", 1),
        ("aim", "aim_channel, rest", 16),
        ("aim", "aim_array_port", 16),
        ("aim", "aim_bus_port", 16),
        ("aim", "aim_sums", 16),
        ("aim", "aim_pus, rest", 16),
        ("aim", "rank_controller SLOTS=2", 16),
        ("aim", "tree_pu", 256),
        ("aim-single", "aim_modes", 16),
        ("aim-single", "aim_array_port PINGPONG=0", 16),
    ] {
        let units = document["units"].as_array().expect("units").iter();
        let is_it = |of: &&serde_json::Value| of["system"] == system && of["unit"] == unit;
        let found = units.clone().find(is_it).unwrap_or_else(|| panic!("{system}: no {unit}"));
        assert_eq!(found["count"], count, "{unit}");
    }
    // What both have is listed once.
    let units = document["units"].as_array().expect("units").iter();
    assert_eq!(units.filter(|unit| unit["unit"] == "tree_pu").count(), 1);
    let memory = entry(&document["memories"], "name", "GPR");
    assert_eq!((&memory["words"], &memory["bits"]), (&1024.into(), &256.into()));
}

#[test]
fn a_device_has_its_clocks_and_its_system_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("slow.toml");
    let text = "base = \"gddr6-aim\"\nname = \"slow\"\ntCK_ps = 1000\n";
    std::fs::write(&file, text).expect("written");
    let (_, slow, _) = clocks(&format!("--device {}", file.display()));
    let (_, built_in, _) = clocks("");
    assert_eq!(slow["devices"], serde_json::json!(["ddr4-3200", "slow"]));
    let pairs = slow["units"].as_array().expect("units").iter();
    for (slow, unit) in pairs.zip(built_in["units"].as_array().expect("units")) {
        let ns = |unit: &serde_json::Value| unit["clock_ns"].as_f64().expect("a number");
        let times = if unit["system"] == "l3" { 1.0 } else { 2.0 };
        assert_eq!(ns(slow), times * ns(unit), "{}", unit["unit"]);
    }

    // A hub of the RTL has a power of two channels.
    let text = format!("{text}[topology]\nchannels = 3\n");
    std::fs::write(&file, text).expect("written");
    let said = Bench::new().refused(&format!("clock --device {}", file.display()), NANGATE45);
    assert!(said.starts_with("slow: channels = 3: expected a power of two, up to 32"), "{said}");
}
