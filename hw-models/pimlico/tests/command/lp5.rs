// SPDX-License-Identifier: MIT
//! `run lp5`: matrices times vectors on LPDDR5X-PIM.

use crate::{json, number, pimlico, refused};

#[test]
fn a_product_is_goldens_and_takes_what_was_planned() {
    let report = json("run lp5 gemv --rows 512 --cols 2048 --json");
    assert_eq!((&report["system"], &report["sums"]), (&"lp5".into(), &"bfloat16".into()));
    assert_eq!(report["dram"], "lpddr5x-8533-pim");
    assert_eq!(report["pin_violations"], 0);
    assert_eq!(
        (&report["judged"]["compared"], &report["judged"]["differing"]),
        (&512.into(), &0.into())
    );
    let lp5 = &report["lp5"];
    assert_eq!(lp5["macs"], serde_json::json!([2048, 2048, 2048, 2048]));
    assert_eq!(lp5["macs_asked"], 2048);
    let (tck, plan) = (number(&report, "total.cycles"), number(lp5, "plan_tck"));
    assert!((plan - 11_908.0).abs() < 1.0 && (tck / plan - 1.0).abs() < 0.05, "{tck} of {plan}");
    let slots = &report["operators"][0]["slots"];
    assert_eq!((&slots["used"], &slots["lost"]["bubble"]), (&2048.into(), &0.into()));
    for lost in ["row_switch", "refresh", "fill_drain", "io", "host"] {
        assert!(number(slots, &format!("lost.{lost}")) > 0.0, "{lost}");
    }
    // Two fences of 150 ns: 8 % at the most.
    let fenced = json("run lp5 gemv --rows 512 --cols 2048 --fence-ns 150 --json");
    let more = number(&fenced, "total.cycles") / tck - 1.0;
    assert!(more > 0.01 && more < 0.08, "{more}");
    let without = json("run lp5 gemv --rows 512 --cols 2048 --refresh off --json");
    assert!(number(&without, "total.cycles") < 0.97 * tck);
    assert!(without["operators"][0]["commands"].get("REF").is_none());
}

/// The figures that stand in the literature, of large matrices.
#[test]
fn large_matrices_are_six_times_as_fast_as_the_host() {
    for (device, least, most, tck) in
        [("lpddr5x-8533-pim", 6.0, 6.2, 86_419.0), ("lpddr5x-9600-pim", 5.8, 6.0, 88_218.0)]
    {
        let report = json(&format!(
            "run lp5 gemv --rows 4096 --cols 4096 --elements binary16 --sums binary32 --device {device} --json"
        ));
        let speedup = number(&report, "lp5.speedup");
        assert!((least..=most).contains(&speedup), "{device}: {speedup}");
        assert!((number(&report, "total.cycles") / tck - 1.0).abs() < 0.05, "{device}");
        assert_eq!(
            (&report["judged"]["differing"], &report["pin_violations"]),
            (&0.into(), &0.into())
        );
        assert_eq!(number(&report, "judged.beyond_bound"), 0.0);
    }
}

#[test]
fn formats_and_text() {
    for (how, sums) in [
        ("--elements binary16", "binary16"),
        ("--elements binary16 --sums binary16", "binary16"),
        ("--elements bfloat16 --sums binary32", "binary32"),
        ("--sums BFLOAT16 --seed 9 --threads 1", "bfloat16"),
    ] {
        let report = json(&format!("run lp5 gemv --rows 70 --cols 130 {how} --json"));
        assert_eq!((&report["sums"], &report["judged"]["differing"]), (&sums.into(), &0.into()));
    }
    let text = pimlico("run lp5 gemv --rows 2000 --cols 70 --fence-ns 150").stdout;
    let text = String::from_utf8_lossy(&text);
    for there in [
        "matrix of 2000 x 70 times a vector on lp5",
        "MACs that arrived in each channel: 140, 140, 140, 140 of 140",
        "elements bfloat16, 150 ns for a fence",
        "violations at the DRAM's pins: 0",
        "closed form: ",
        "JESD79-4",
    ] {
        assert!(text.contains(there), "{there}: {text}");
    }
    assert!(!text.contains("so that the programs could run"), "{text}");
}

/// Weights must not be cacheable: what a cache keeps is no MAC, and a line is two.
#[test]
fn cacheable_weights_fail_with_the_counts() {
    let run = |how: &str| {
        let output = pimlico(&format!("run lp5 gemv --rows 1024 --cols 1024 {how}"));
        let text = String::from_utf8(output.stdout).expect("text");
        (output.status.code(), text, String::from_utf8(output.stderr).expect("text"))
    };
    let (status, text, message) = run("--attribute cacheable");
    assert_eq!(status, Some(1), "{message}");
    assert!(text.contains("product 2: 0, 0, 0, 0 of 1024 MACs reached the banks"), "{text}");
    assert!(!text.contains("product 1: 1024, 1024, 1024, 1024 of"), "{text}");
    // Without a prefetcher a line is two MACs, of which the second is there already.
    let (status, text, message) = run("--attribute cacheable --prefetch off --elements binary16");
    assert_eq!(status, Some(1));
    assert!(message.contains("MACs of channel 0 is 0, expected 1024"), "{message}");
    assert!(text.contains("product 1: 1024, 1024, 1024, 1024 of 1024 MACs"), "{text}");
    assert!(text.contains("product 2: 0, 0, 0, 0 of 1024 MACs"), "{text}");
    let (status, text, message) = run("--attribute non-cacheable");
    assert_eq!(
        (status, text.contains("1 024, 1 024, 1 024, 1 024 of 1 024")),
        (Some(0), true),
        "{message}"
    );
}

#[test]
fn a_waveform_has_the_commands() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("lp5.vcd").display().to_string();
    let output = pimlico(&format!("run lp5 gemv --rows 16 --cols 3 --vcd {file}"));
    assert_eq!(output.status.code(), Some(0));
    let vcd = std::fs::read_to_string(&file).expect("a waveform");
    for there in ["channel0", "commands", "PinAct", "PinWr", "PinRd"] {
        assert!(vcd.contains(there), "{there}");
    }
}

/// The units behind the pins make what the engine makes, and take as long.
#[test]
fn back_ends_agree() {
    let gemv = "run lp5 gemv --rows 1024 --cols 40 --elements binary16 --sums binary32 --json";
    let [fast, model] =
        ["fast", "model"].map(|backend| json(&format!("{gemv} --backend {backend}")));
    for key in ["operators", "total", "load", "lp5", "judged", "pin_violations"] {
        assert_eq!(fast[key], model[key], "{key}");
    }
    assert_eq!(model["backend"], "model");
    assert_eq!(model["judged"]["differing"], 0);
}

/// RTL and models of the mode and of 16 blocks in each channel, every port compared in every cycle.
#[cfg(feature = "cosim")]
#[test]
fn the_rtl_is_in_lockstep() {
    let gemv = "run lp5 gemv --rows 1024 --cols 256 --json";
    let fast = json(gemv);
    let lockstep = json(&format!("{gemv} --backend lockstep"));
    assert_eq!((&lockstep["mismatches"], &lockstep["pin_violations"]), (&0.into(), &0.into()));
    let judged = &lockstep["judged"];
    assert_eq!((&judged["compared"], &judged["differing"]), (&1024.into(), &0.into()));
    assert_eq!(lockstep["total"], fast["total"]);
    assert_eq!(lockstep["lp5"]["macs"], serde_json::json!([256, 256, 256, 256]));
    let rtl = json("run lp5 gemv --rows 100 --cols 20 --backend rtl --json");
    assert_eq!((&rtl["backend"], &rtl["judged"]["differing"]), (&"rtl".into(), &0.into()));
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let gemv = "run lp5 gemv --rows 16 --cols 4";
    for (arguments, expected) in [
        (
            format!("{gemv} --sums binary16"),
            "--sums: with --elements bfloat16 expected bfloat16 or binary32",
        ),
        (format!("{gemv} --sums bfloat16 --elements binary16"), "expected binary16 or binary32"),
        (format!("{gemv} --faw-banks 4"), "--faw-banks: not with `run lp5`"),
        (format!("{gemv} --fence-ns -1"), "--fence-ns"),
        (format!("{gemv} --fence-ns 1000001"), "--fence-ns"),
        (format!("{gemv} --backend slow"), "invalid value 'slow' for '--backend"),
        (format!("{gemv} --channels 2"), "unexpected argument '--channels' found"),
        (
            format!("{gemv} --device ddr4-3200"),
            "--device ddr4-3200: no such file, and no device of lpddr5x-8533-pim, lpddr5x-9600-pim",
        ),
        (
            format!("{gemv} --cma 1K"),
            "--cma: matrix of 16 x 4: 131072 bytes of contiguous memory that is not cacheable, expected at most 1024",
        ),
        (format!("{gemv} --cma 1"), "--cma"),
        (
            format!("{gemv} --cma 1G --attribute cacheable"),
            "--cma: it goes with --attribute non-cacheable",
        ),
        (
            "run lp5 decode --tokens 2 --cma 1M".to_owned(),
            "--cma: weights: 3276800 bytes of contiguous memory that is not cacheable, expected at most 1048576",
        ),
        ("run lp5 gemv --rows 0 --cols 4".to_owned(), "matrix of 0 x 4: expected 1 to"),
        ("run lp5 gemv --rows 1 --cols 4194049".to_owned(), "it takes 65533 rows of each bank"),
        ("run lp5 gemv --rows 2147483648 --cols 2147483648".to_owned(), "rows of each bank"),
        ("run lp5 gemv --rows 99999999999 --cols 9".to_owned(), "matrix of 99999999999 x 9"),
        ("run lp5 fc".to_owned(), "unrecognized subcommand 'fc'; there are gemv, decode"),
        ("run lp5 layer".to_owned(), "unrecognized subcommand 'layer'"),
    ] {
        let message = refused(&arguments);
        assert!(message.contains(expected), "{arguments}: {message}");
        assert_eq!(message.lines().count(), 1, "{arguments}: {message}");
    }
}

/// A device of one's own: what the preset says is refused where the engine has no such device.
#[test]
fn a_device_of_ones_own_is_run_or_refused_by_its_key() {
    let preset = pimlico_device::lp5::Lp5Spec::file("lpddr5x-8533-pim").expect("a preset");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("mine.toml");
    let with = |from: &str, to: &str| {
        assert!(preset.contains(from), "{from}");
        std::fs::write(&file, preset.replacen(from, to, 1)).expect("writable");
        format!("run lp5 gemv --rows 100 --cols 40 --json --device {}", file.display())
    };
    let slower = json(&with("RCD_MAC = 20", "RCD_MAC = 60"));
    let plain = json("run lp5 gemv --rows 100 --cols 40 --json");
    assert!(number(&slower, "total.cycles") > number(&plain, "total.cycles"));
    assert_eq!((&slower["pin_violations"], &slower["judged"]["differing"]), (&0.into(), &0.into()));
    for (from, to, key) in [
        ("FAW = 22", "FAW = 70", "FAW"),
        ("FAW_BANKS = 16", "FAW_BANKS = 4", "FAW_BANKS"),
        ("banks_per_block = 1", "banks_per_block = 2", "banks_per_block"),
        ("REF_POSTPONED = 8", "REF_POSTPONED = 2", "REF_POSTPONED"),
        ("row:16", "row:15", "row:15"),
    ] {
        let message = refused(&with(from, to));
        assert!(message.contains(key) && message.lines().count() == 1, "{to}: {message}");
    }
}
