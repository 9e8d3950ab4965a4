// SPDX-License-Identifier: MIT
//! `run neupims` and `sweep row-buffers`: channels of NeuPIMs.

use crate::{json, number, pimlico, refused};
use serde_json::json as value;

#[test]
fn a_tile_has_the_schedule_of_the_paper() {
    let gemv = "run neupims gemv --rows 320 --cols 512 --refresh off --json";
    let report = json(gemv);
    let tile = &report["tile"];
    assert_eq!(tile["activations"], value!([14, 15, 44, 45, 74, 75, 104, 105]));
    let of = |tile: &serde_json::Value| {
        ["first_dot", "last_dot", "next_precharge"].map(|key| tile[key].as_u64().expect("tCK"))
    };
    assert_eq!(of(tile), [119, 181, 187]);
    assert!((number(&report, "steady_tile_tck") - 184.0).abs() <= 4.0);
    assert_eq!(
        (&report["outputs"]["results"], &report["outputs"]["differing"]),
        (&320.into(), &0.into())
    );
    assert_eq!(report["pins"]["violations"], 0);
    let one = json("run neupims gemv --rows 32 --cols 512 --refresh off --pseudo-ranks 1 --json");
    assert_eq!(of(&one["tile"]), [238, 300, 306]);
    assert_eq!(one["tile"]["activations"], value!([14, 44, 74, 104, 134, 164, 194, 224]));
    let text =
        String::from_utf8(pimlico("run neupims gemv --rows 32 --cols 512 --refresh off").stdout);
    let text = text.expect("text");
    for there in ["matrix of 32 x 512 times a vector on 1 of", "0 differ", " 187 ", "181"] {
        assert!(text.contains(there), "{there}: {text}");
    }
}

#[test]
fn results_are_goldens_and_do_not_depend_on_threads_or_commands() {
    let gemv = "run neupims gemv --rows 100 --cols 1000 --channels 2 --json";
    let without = |more: &str| {
        let mut report = json(&format!("{gemv} {more}"));
        report.as_object_mut().expect("an object").remove("pimlico");
        report
    };
    let report = without("--threads 1");
    assert_eq!(report, without("--threads 3"));
    for more in [
        "--commands fine",
        "--commands fine --precharge bank",
        "--memory blocked",
        "--faw simulator",
        "--sums binary32",
        "--pseudo-ranks 1",
    ] {
        let other = without(more);
        assert_eq!(other["outputs"]["differing"], 0, "{more}");
        assert_eq!(other["pins"], report["pins"], "{more}");
        assert_eq!(other["outputs"] == report["outputs"], !more.contains("sums"), "{more}");
    }
}

/// A report without what says who has made it.
pub(crate) fn anonymous(line: &str) -> serde_json::Value {
    let mut report = json(&format!("{line} --json"));
    let of = match report.get_mut("runs") {
        Some(runs) => &mut runs[0],
        None => &mut report,
    };
    for key in ["backend", "scope", "mismatches"] {
        assert!(of.as_object_mut().expect("an object").remove(key).is_some(), "{key}");
    }
    report.as_object_mut().expect("an object").remove("pimlico");
    report
}

#[test]
fn models_of_the_units_are_the_engine() {
    for (words, more) in [
        (1, ""),
        (2, "--commands fine"),
        (31, "--memory blocked"),
        (32, "--commands fine --precharge bank"),
        (40, "--sums binary32 --pseudo-ranks 1"),
    ] {
        let gemv = format!("run neupims gemv --rows 40 --cols {} {more}", 16 * words);
        let fast = anonymous(&gemv);
        assert_eq!(anonymous(&format!("{gemv} --backend model")), fast, "{gemv}");
        let whole = format!("{gemv} --backend model --lockstep channel");
        assert_eq!(anonymous(&whole), fast, "{gemv}");
    }
    let attention = "run neupims attention --context 5 --tp 16";
    assert_eq!(anonymous(&format!("{attention} --backend model")), anonymous(attention));
}

#[test]
fn attention_of_a_request_is_near_the_estimate() {
    let report =
        json("run neupims attention --model gpt3-7b --tp 4 --context 1,300 --refresh off --json");
    let runs = report["runs"].as_array().expect("runs");
    for (run, estimated) in runs.iter().zip([7256.0, 10_568.0]) {
        assert_eq!(number(run, "estimated_tck"), estimated);
        assert_eq!(run["results"]["differing"], 0);
        assert_eq!(run["pins"]["violations"], 0);
        assert!(number(run, "results.relative_error") < 0.01);
    }
    assert!((number(&runs[1], "ratio") - 1.0).abs() < 0.1);
    let rows = number(&runs[1], "store.bursts");
    // K: 1024 elements of a token; V: 1024 elements, 300 tokens along rows of 512.
    assert_eq!(rows, f64::from(300 * 32 + 1024 * 10));
    let timing = json("run neupims attention --context 300 --timing-only --refresh off --json");
    // No rows of MEM are open where nothing was written.
    assert!((number(&timing["runs"][0], "tck") / number(&runs[1], "tck") - 1.0).abs() < 0.01);
    assert_eq!(timing["runs"][0]["results"], serde_json::Value::Null);
}

#[test]
fn two_row_buffers_serve_both_at_once() {
    let sweep = json("sweep row-buffers --tck 60000 --json");
    let rows = sweep["rows"].as_array().expect("rows");
    let of = |row: usize, key: &str| number(&rows[row], key);
    assert!(of(0, "mem_share_percent") >= 84.0 && of(0, "pim_share_percent") >= 90.0);
    assert!(of(1, "mem_share_percent") >= 90.0 && of(1, "pim_share_percent") >= 90.0);
    assert!(of(2, "pim_share_percent") < of(0, "pim_share_percent"));
    assert!(of(3, "mem_share_percent") + of(3, "pim_share_percent") <= 105.0);
    for row in rows {
        assert_eq!(row["pins"]["violations"], 0);
        assert_eq!(row["both"]["operations"]["above_estimate"], 0);
    }
    // Of four heads of K; HEADER is not on the pins.
    let heads = json("sweep row-buffers --tck 20000 --sums 4 --json");
    assert!((number(&heads["rows"][0], "slots_per_operation") - 13.0).abs() < 0.3);
    for (precharge, slots) in [("all", 45.0), ("bank", 76.0)] {
        let fine = format!(
            "sweep row-buffers --tck 20000 --sums 4 --commands fine --precharge {precharge} --json"
        );
        let sweep = json(&fine);
        let found = number(&sweep["rows"][0], "slots_per_operation");
        assert!((found - slots).abs() < 1.5, "{precharge}: {found}");
    }
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let preset = pimlico_device::neupims::NeupimsSpec::file("hbm2-neupims").expect("a preset");
    let file = folder.path().join("mine.toml");
    let without: Vec<_> = preset.lines().filter(|line| !line.starts_with("FAW")).collect();
    std::fs::write(&file, without.join("\n")).expect("writable");
    let gemv = "run neupims gemv --rows 32 --cols 512";
    let attention = "run neupims attention";
    for (arguments, expected) in [
        (format!("{gemv} --device {}", file.display()), "missing field `FAW`"),
        (
            format!("{gemv} --device hbm3"),
            "--device hbm3: no such file, and no device of hbm2-neupims",
        ),
        (format!("{gemv} --channels 33"), "--channels 33: expected 1 to 32"),
        (format!("{gemv} --pseudo-ranks 3"), "--pseudo-ranks"),
        ("run neupims gemv --rows 0 --cols 4".to_owned(), "--rows"),
        ("run neupims gemv --rows 268435456 --cols 9".to_owned(), "elements or fewer"),
        ("run neupims gemv --rows 200000000 --cols 1".to_owned(), "rows of each bank of a channel"),
        (format!("{attention} --context 0"), "--context"),
        (format!("{attention} --context 32769"), "--context"),
        (format!("{attention} --tp 0"), "gpt3-7b: 32 heads cannot be divided"),
        (format!("{attention} --model llama-3.1-8b"), "one K and V head per query head"),
        (format!("{attention} --model none"), "--model"),
        ("sweep row-buffers --tck 10".to_owned(), "--tck"),
        (format!("{gemv} --lockstep channel"), "--lockstep channel: not with --backend fast"),
        ("run neupims decode".to_owned(), "unrecognized subcommand 'decode'"),
    ] {
        let message = refused(&arguments);
        assert!(message.contains(expected), "{arguments}: {message}");
        assert_eq!(message.lines().count(), 1, "{arguments}: {message}");
    }
}

#[test]
fn what_a_channel_does_does_not_depend_on_who_watches() {
    let line = "sweep row-buffers --tck 5000 --json";
    let (watched, mut alone) = (json(line), json(&format!("{line} --unwatched")));
    assert_eq!((&watched["watched"], &alone["watched"]), (&true.into(), &false.into()));
    alone["watched"] = watched["watched"].clone();
    assert_eq!(watched, alone);
}
