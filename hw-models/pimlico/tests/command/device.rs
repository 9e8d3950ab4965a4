// SPDX-License-Identifier: MIT
//! Devices from files as a user meets them: `pimlico device`, `--device`, `pimlico sweep timing`.

use crate::common;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The example: a rank of other sizes and times.
const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/devices/toy.toml");

/// Work on it, small enough for the cycle model.
const WORK: [&str; 3] = [
    "l3 attention --heads 2 --context 700",
    "l3 gemv --rows 60 --cols 2500",
    "l3 decode --tokens 2 --prompt in",
];

fn pimlico(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
    command.args(words).current_dir(env!("CARGO_TARGET_TMPDIR")).output().expect("the command runs")
}

fn printed(words: &[&str]) -> String {
    let output = pimlico(words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn report(work: &str, others: &[&str]) -> Value {
    let words: Vec<_> = work.split_whitespace().chain(others.iter().copied()).collect();
    common::document(printed(&words).as_bytes())
}

/// The one line that a wrong call gives.
fn refused(words: &[&str]) -> String {
    let output = pimlico(words);
    assert_eq!(output.status.code(), Some(2), "{words:?}");
    assert!(output.stdout.is_empty(), "{words:?}");
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, text).expect("a file");
    file
}

fn path(file: &Path) -> &str {
    file.to_str().expect("UTF-8")
}

/// What runs on the toy, without the name of the back end.
fn on_toy(work: &str, backend: &str) -> Value {
    let run = format!("run {work} --json");
    let mut report = report(&run, &["--device", TOY, "--backend", backend]);
    assert_eq!((&report["dram"], &report["pin_violations"]), (&"toy".into(), &0.into()));
    report.as_object_mut().expect("an object").remove("backend");
    report
}

#[test]
fn a_toy_rank_runs_on_engine_and_cycle_model() {
    for work in WORK {
        let fast = on_toy(work, "fast");
        assert_eq!(fast, on_toy(work, "model"), "{work}");
        let of_preset = report(&format!("run {work} --json"), &[]);
        assert_ne!(fast["total"]["cycles"], of_preset["total"]["cycles"], "{work}");
        assert_eq!(fast["host_pins"]["violations"], 0);
    }
}

#[cfg(feature = "rtl")]
#[test]
fn a_toy_rank_runs_in_lockstep() {
    for work in [
        "l3 attention --heads 2 --context 300",
        "l3 gemv --rows 60 --cols 1100",
        "l3 decode --tokens 1 --prompt i",
    ] {
        let mut lockstep = on_toy(work, "lockstep");
        let mismatches = lockstep.as_object_mut().expect("an object").remove("mismatches");
        assert_eq!(mismatches, Some(0.into()), "{work}");
        assert_eq!(lockstep, on_toy(work, "fast"), "{work}");
    }
}

#[test]
fn a_built_in_device_that_is_shown_and_given_back_is_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (device, work) in [
        ("ddr4-3200", WORK[0]),
        ("ddr4-3200", WORK[1]),
        ("ddr4-3200", WORK[2]),
        ("ddr4-3200", "l3 layer --model llama-3.2-1b --context 100 --ranks 2"),
        ("ddr4-3200-16gb", "l3 attention --context 6000"),
        ("gddr6-aim", "aim attention --context 500"),
        ("gddr6-aim", "aim gemv --rows 500 --cols 300"),
    ] {
        let shown = printed(&["device", "show", device]);
        let renamed = shown.replace(&format!("name = \"{device}\""), "name = \"mine\"");
        let [same, other] = [("same.toml", &shown), ("other.toml", &renamed)];
        let run = |file: &str| report(&format!("run {work} --json"), &["--device", file]);
        let built_in = run(device);
        assert_eq!(run(path(&written(folder.path(), same.0, same.1))), built_in, "{work}");
        let mut other = run(path(&written(folder.path(), other.0, other.1)));
        assert_eq!(other["dram"].take(), "mine");
        other["dram"] = device.into();
        assert_eq!(other, built_in, "{work}");
    }
    // Of what has a base, too.
    let whole = written(folder.path(), "whole.toml", &printed(&["device", "show", TOY]));
    assert_eq!(printed(&["device", "show", path(&whole)]), printed(&["device", "show", TOY]));
}

/// Devices of LPDDR5X-PIM and of NeuPIMs, whose files have tables of their own.
#[test]
fn devices_of_other_tables_are_shown_and_given_back() {
    let folder = tempfile::tempdir().expect("a folder");
    for (device, run, part, key) in [
        (
            "lpddr5x-8533-pim",
            "lp5 gemv --rows 32 --cols 40",
            "lp5: 4 x 1 chip of 4 x 4 banks",
            "RTP = 8",
        ),
        ("hbm2-neupims", "", "neupims: 32 x 1 channel of 8 x 4 banks", "RTP = 6"),
    ] {
        let shown = printed(&["device", "show", device]);
        let same = written(folder.path(), "same.toml", &shown);
        assert_eq!(printed(&["device", "show", path(&same)]), shown, "{device}");
        let checked = printed(&["device", "check", path(&same)]);
        assert!(checked.contains(part), "{checked}");
        if !run.is_empty() {
            let words: Vec<_> = ["run"].into_iter().chain(run.split(' ')).collect();
            printed(&[&words[..], &["--device", path(&same)]].concat());
        }
        assert!(shown.contains(key), "{shown}");
        let wrong = written(folder.path(), "wrong.toml", &shown.replace(key, "RTP = 0"));
        assert!(refused(&["device", "check", path(&wrong)]).contains("RTP"));
        assert!(refused(&["device", "show", device, "--json"]).contains("TOML alone"));
    }
    let message = refused(&["device", "show", "none"]);
    assert!(message.contains("gddr6-aim, lpddr5x-8533-pim, lpddr5x-9600-pim, hbm2-neupims"));
}

#[test]
fn devices_are_listed_shown_and_checked() {
    let list = printed(&["device", "list"]);
    for device in [
        "ddr4-3200 ",
        "ddr4-3200-16gb",
        "gddr6-aim",
        "lpddr5x-8533-pim",
        "lpddr5x-9600-pim",
        "hbm2-neupims",
    ] {
        assert!(list.contains(device), "{list}");
    }
    let listed = report("device list --json", &[]);
    assert_eq!(
        (&listed["devices"][0]["name"], &listed["devices"][0]["mt_per_s"]),
        (&"ddr4-3200".into(), &3200.into())
    );
    assert_eq!(
        (&listed["devices"][2]["system"], &listed["devices"][2]["mt_per_s"]),
        (&"aim".into(), &16_000.into())
    );
    let devices = listed["devices"].as_array().expect("a list");
    let of_system = |system: &str| devices.iter().find(|device| device["system"] == system);
    let lp5 = of_system("lp5").expect("it is there");
    // A tCK is whole ps: 8533 MT/s with 938 of them. 16 banks of 32 bytes in four tCK.
    assert_eq!((&lp5["name"], &lp5["mt_per_s"]), (&"lpddr5x-8533-pim".into(), &8528.into()));
    let peak = lp5["peak_gb_per_s"].as_f64().expect("a number");
    assert!((peak - 136.46).abs() < 0.01, "{peak}");
    let neupims = of_system("neupims").expect("it is there");
    assert_eq!((&neupims["mt_per_s"], &neupims["peak_gb_per_s"]), (&2000.into(), &512.0.into()));
    let toy = report("device show --json", &[TOY]);
    assert_eq!((&toy["timing"]["CL"], &toy["timing"]["CCD_S"]), (&20.into(), &4.into()));
    assert!(toy["source"].as_str().is_some_and(|text| text.starts_with("ddr4-3200 but for ")));
    let checked = printed(&["device", "check", TOY]);
    assert!(checked.contains("toy.toml: toy, l3: 8 chips of 4 x 4 banks, 4096 rows"), "{checked}");
    assert_eq!(checked.lines().count(), 1);
}

#[test]
fn what_a_file_says_holds_where_no_option_says_otherwise() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = "base = \"ddr4-3200\"\nname = \"two\"\n[timing]\nCL = 24\n[units]\ngear = 4\nsums = \
                \"binary32\"\n[buffers]\nio = \"single\"\n[topology]\nranks = 2\nmdq = \"shared\"\n";
    let file = written(folder.path(), "two.toml", text);
    let given = report("run l3 gemv --rows 64 --cols 100 --json", &["--device", path(&file)]);
    assert_eq!((&given["gear"], &given["sums"]), (&4.into(), &"binary32".into()));
    assert_eq!((&given["ranks"]["ranks"], &given["ranks"]["mdq"]), (&2.into(), &"shared".into()));
    assert_eq!(given["io_buffers"], "single");
    let options = "run l3 gemv --rows 64 --cols 100 --gear 2 --sums binary16 --io-buffers ping-pong \
                   --mdq private --json";
    let otherwise = report(options, &["--device", path(&file)]);
    assert_eq!((&otherwise["gear"], &otherwise["sums"]), (&2.into(), &"binary16".into()));
    assert_eq!(
        (&otherwise["ranks"]["mdq"], &otherwise["io_buffers"]),
        (&"private".into(), &"ping-pong".into())
    );
    let aim = "base = \"gddr6-aim\"\nname = \"four\"\n[topology]\nchannels = 4\n";
    let aim = written(folder.path(), "four.toml", aim);
    let module = report("run aim attention --context 300 --json", &["--device", path(&aim)]);
    assert_eq!((&module["system"], &module["module"]["channels"]), (&"aim".into(), &4.into()));
}

#[test]
fn a_file_that_is_no_device_is_refused_with_file_and_key() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let toy = |lines: &str| format!("base = \"ddr4-3200\"\nname = \"bad\"\n{lines}\n");
    let whole = printed(&["device", "show", "ddr4-3200"]);
    for (text, key) in [
        (whole.replace("RCD_MAC = 22\n", ""), "RCD_MAC"),
        (whole.replace("RCD_MAC = 22\n", "RCD_MAX = 22\n"), "RCD_MAX"),
        (toy("[timing]\nRC = 73"), "RC = 73"),
        (toy("[timing]\nCL = 23"), "CL = 23"),
        (toy("[timing]\nRAS = 256\nRC = 278"), "RAS = 256"),
        (toy("[organisation]\nrows = 1000000000000"), "rows = 1000000000000"),
        (toy("[organisation]\nrows = 99999999999999999999"), "99999999999999999999"),
        ("x".repeat(100_000), "more than 65536 bytes"),
        (String::new(), "name"),
    ] {
        let file = written(folder.path(), "bad.toml", &text);
        for words in [
            ["device", "check", path(&file)].as_slice(),
            &["device", "show", path(&file)],
            &["run", "l3", "attention", "--device", path(&file)],
            &["sweep", "dram", "--device", path(&file)],
            &["sweep", "vendor", "--device", path(&file)],
            &["spd", "check", "--device", path(&file)],
        ] {
            let message = refused(words);
            assert!(message.contains("bad.toml: ") && message.contains(key), "{message}");
        }
    }
    fs::write(folder.path().join("bad.toml"), [0xFF]).expect("a file");
    assert!(refused(&["device", "check", path(&folder.path().join("bad.toml"))]).contains("UTF-8"));
    for (words, expected) in [
        ("run l3 attention --device ddr5", "ddr5: no such file, and no device of ddr4-3200, "),
        (
            "run aim attention --device ddr4-3200",
            "--device ddr4-3200: of `run l3`, not of `run aim`",
        ),
        ("run aim attention --device gddr6-aim --ranks 2", "unexpected argument '--ranks' found"),
        ("sweep dram --device gddr6-aim", "--device gddr6-aim: system = \"aim\", expected \"l3\""),
        (
            "sweep vendor --device gddr6-aim",
            "--device gddr6-aim: system = \"aim\", expected \"l3\"",
        ),
        ("sweep timing --key X --from 1 --to 2", "--key: no such timing: \"X\"; there are BL,"),
        ("sweep timing --key RP --from 9 --to 8", "--from 9 --to 8: expected no less"),
        ("sweep timing --key RP --from 9 --to 999999", "at most 256 values"),
        ("sweep timing --key CL --from 22 --to 24", "--key CL, at 23: "),
        ("sweep timing --key RCD --from 22 --to 24 --alone", "RCD_MAC = 22, expected at least RCD"),
    ] {
        let words: Vec<_> = words.split_whitespace().collect();
        let message = refused(&words);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_timing_is_swept() {
    let report = report("sweep timing --key RCD --from 18 --to 26 --step 4 --tokens 1 --json", &[]);
    assert_eq!((&report["key"], &report["device"]), (&"RCD".into(), &"ddr4-3200".into()));
    let values = report["values"].as_array().expect("a list");
    let tck = |row: &Value| -> Vec<_> {
        let runs = row["runs"].as_array().expect("a list");
        runs.iter().map(|run| run["tck"].as_u64().expect("tCK")).collect()
    };
    assert_eq!(
        values.iter().map(|row| row["value"].as_u64()).collect::<Vec<_>>(),
        [18, 22, 26].map(Some)
    );
    for pair in values.windows(2) {
        let [less, more] = [tck(&pair[0]), tck(&pair[1])];
        assert!(less.len() >= 5 && less.iter().zip(&more).all(|(less, more)| less < more));
    }
}

#[test]
fn a_vendors_choices_are_swept_on_one_device() {
    let sweep = "sweep vendor --quick --tokens 1 --json";
    let of_toy = report(sweep, &["--device", TOY]);
    let rows = of_toy["rows"].as_array().expect("a list");
    for row in rows {
        let cells = row["cells"].as_array().expect("a list");
        let choice = |cell: &Value| (cell["faw_banks"].as_u64(), cell["mdq"].clone());
        let choices: Vec<_> = cells.iter().map(choice).collect();
        let expected = [(16, "private"), (16, "shared"), (4, "private"), (4, "shared")];
        assert_eq!(choices, expected.map(|(banks, mdq)| (Some(banks), mdq.into())));
        assert!(cells.iter().all(|cell| cell["dram"] == "toy"), "{cells:?}");
        // Chips of 256 Mb.
        assert!(cells.iter().all(|cell| cell.get("chip_gbit").is_none()), "{cells:?}");
    }
    // The same as the sweep of presets has of one of them.
    let alone = report(sweep, &["--device", "ddr4-3200-16gb"]);
    let all = report(sweep, &[]);
    let pairs = alone["rows"]
        .as_array()
        .expect("a list")
        .iter()
        .zip(all["rows"].as_array().expect("a list"));
    for (alone, all) in pairs {
        assert_eq!(
            alone["cells"].as_array().expect("a list"),
            &all["cells"].as_array().expect("a list")[4..]
        );
    }
}
