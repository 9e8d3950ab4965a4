// SPDX-License-Identifier: MIT
//! Runs are judged: what is wrong ends with status 1, whatever the program.

use crate::common;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn pimlico(arguments: &str, folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("the command runs")
}

/// Builds a program for a system, changes words of its text, and runs it; returns its report and what is said of it.
fn changed(
    system: &str,
    build: &str,
    (from, to): (&str, &str),
    run: &str,
) -> (serde_json::Value, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let built =
        pimlico(&format!("dpa build --system {system} {build} --text -o p.txt"), folder.path());
    assert_eq!(built.status.code(), Some(0), "{build}");
    let text = fs::read_to_string(folder.path().join("p.txt")).expect("a program");
    assert!(text.contains(from), "{text}");
    fs::write(folder.path().join("q.txt"), text.replacen(from, to, 1)).expect("written");
    let run =
        |file: &str| pimlico(&format!("run {system} {run} --json --program {file}"), folder.path());
    assert_eq!(run("p.txt").status.code(), Some(0), "{build}");
    let output = run("q.txt");
    assert_eq!(output.status.code(), Some(1), "{build}");
    let message = String::from_utf8(output.stderr).expect("text");
    (common::document(&output.stdout), message)
}

#[test]
fn a_program_with_one_number_changed_ends_with_status_1() {
    let (report, message) = changed(
        "l3",
        "--op attention --model llama-3.1-8b --context-max 4096",
        ("word=0+1@1", "word=1+1@1"),
        "attention --model llama-3.1-8b --heads 4 --context 700 --context-max 4096",
    );
    let wrong = "pimlico: q.txt: attention: score 0 of query head 0 is ";
    assert!(message.starts_with(wrong) && message.lines().count() == 1, "{message}");
    let judged = &report["judged"];
    assert_eq!((&judged["results"], &judged["compared"]), (&6112.into(), &6112.into()));
    assert!(
        judged["differing"].as_u64() > Some(1000) && judged["beyond_bound"].as_u64() > Some(1000)
    );
    assert!(judged["first_wrong"][0].as_str().is_some_and(|first| message.contains(first)));

    let (_, message) = changed(
        "l3",
        "--op gemv --rows 64 --cols 512",
        ("column=16+16@2", "column=26+16@2"),
        "gemv --rows 64 --cols 512",
    );
    assert!(message.starts_with("pimlico: q.txt: gemv: output 16 is "), "{message}");
    assert!(message.contains("expected ") && message.contains(", bound 0; of 64 results 48"));
}

#[test]
fn a_program_of_a_module_with_one_number_changed_ends_with_status_1() {
    let shape = "--head-dim 32 --channels 2 --context-max 2048";
    let build = format!("--op attention {shape}");
    for backend in ["fast --context 700", "model --context 70"] {
        let run = format!("attention {shape} --backend {backend}");
        for (change, result) in [
            (
                ("place=0+16x64@2+32@1", "place=0+16x64@2+64@1"),
                "score: score 32 of query head 0 is ",
            ),
            (("weigh", "weigh place=16"), "softmax: weight 0 of query head 0 is "),
            (
                ("wr_weights place=0", "wr_weights place=32"),
                "context: context 0 of query head 0 is ",
            ),
        ] {
            let (report, message) = changed("aim", &build, change, &run);
            let wrong = format!("pimlico: q.txt: {result}");
            assert!(message.starts_with(&wrong) && message.lines().count() == 1, "{message}");
            assert!(
                message.contains("expected ") && message.contains(", bound 0; of "),
                "{message}"
            );
            let judged = &report["judged"];
            assert_eq!(judged["results"], judged["compared"]);
            assert!(judged["differing"].as_u64() > Some(0), "{judged}");
        }
    }
    let shape = "gemv --rows 70 --cols 300 --channels 2";
    let change = ("mac_score column=0+19@1", "mac_score column=1+19@1");
    let (_, message) = changed("aim", &format!("--op {shape}"), change, shape);
    assert!(message.starts_with("pimlico: q.txt: gemv: output 0 is "), "{message}");
}

#[test]
fn every_result_that_runs_is_judged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (arguments, all) in [
        ("l3 attention --context 100 --heads 2", true),
        ("l3 attention --context 100 --normalise late --sums binary32", true),
        ("l3 gemv --rows 70 --cols 5000", true),
        ("l3 gemv --rows 70 --cols 500 --ranks 2", true),
        ("l3 attention --context 100 --heads 2 --timing-only", false),
        ("l3 decode --tokens 2", true),
        ("aim attention --context 100 --channels 2", true),
        ("aim gemv --rows 70 --cols 5000", true),
        ("aim gemv --rows 70 --cols 5000 --timing-only", false),
        ("aim fc --model llama-3.2-1b --timing-only", false),
        ("aim decode --tokens 2 --channels 2", true),
    ] {
        let output = pimlico(&format!("run {arguments} --json"), folder.path());
        assert_eq!(output.status.code(), Some(0), "{arguments}");
        let report = common::document(&output.stdout);
        let judged = &report["judged"];
        // Where only the time is asked for there are no data, and so nothing to compare.
        let compared = if all { &judged["results"] } else { &0.into() };
        assert!(judged["results"].as_u64() > Some(0), "{arguments}");
        assert_eq!(&judged["compared"], compared, "{arguments}");
        for wrong in ["differing", "beyond_bound"] {
            assert_eq!(judged[wrong], 0, "{arguments}");
        }
        for operator in report["operators"].as_array().expect("a list") {
            let error = &operator["error"];
            let [max, bound] = ["max_relative", "bound"].map(|key| error[key].as_f64());
            assert!(max <= bound, "{arguments}: {error}");
        }
    }
}
