// SPDX-License-Identifier: MIT
//! Options of `run`, its seed, its waveform and its picture.

use crate::{json, pimlico, refused};

#[test]
fn options_reach_the_rank() {
    let cycles = |options: &str| {
        let report = json(&format!("run l3 attention --context 600 --json {options}"));
        report["total"]["cycles"].as_u64().expect("a number")
    };
    let plain = cycles("");
    assert!(cycles("--faw-banks 8") > plain + 50);
    assert!(cycles("--faw-banks 4") > cycles("--faw-banks 8") + 100);
    assert!(cycles("--context 6000 --dram ddr4-3200-16gb") > cycles("--context 6000") + 300);
    assert!(cycles("--refresh off") <= plain);
    assert!(cycles("--sums binary32") > plain);
    assert!(cycles("--batch 3") > 2 * plain);
    let batch = json("run l3 attention --context 50,60 --head-dim 64 --json");
    assert_eq!(batch["contexts"], serde_json::json!([50, 60]));
    let late = json("run l3 attention --context 64 --json --normalise late --distribution peaked");
    assert_eq!((&late["normalise"], &late["distribution"]), (&"late".into(), &"peaked".into()));
    let shared = json("run l3 attention --model llama-3.1-8b --heads 4 --context 64 --json");
    assert_eq!(shared["group"], 4);
    assert_eq!(shared["load"]["bytes"], 2 * 64 * 256);
}

#[test]
fn polling_seldom_costs_up_to_a_poll_for_each_run() {
    let cycles = |poll: u64| {
        let report =
            json(&format!("run l3 attention --context 600 --refresh off --json --poll {poll}"));
        assert_eq!(report["host_pins"]["violations"], 0);
        report["total"]["cycles"].as_u64().expect("a number")
    };
    // One run, whose operands all go out before it: what is left is to find its end. Looks cannot follow each other
    // sooner than they are answered: CL, a tCK of re-layout, a burst.
    let (often, answer_tck) = (cycles(1), 22 + 1 + 4 + 1);
    assert_eq!(cycles(16), often);
    for poll in [32, 64, 256, 1024, 4096] {
        let cycles = cycles(poll);
        assert!((often - answer_tck..=often + poll).contains(&cycles), "{poll}: {cycles} {often}");
    }
    assert_eq!(
        cycles(64),
        json("run l3 attention --context 600 --refresh off --json")["total"]["cycles"]
    );
    assert!(cycles(65536) > 65536);
}

#[test]
fn polling_too_seldom_for_the_results_fails() {
    let output = pimlico("run l3 gemv --rows 4096 --cols 32 --poll 65536");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("looks at the status too seldom"), "{message}");
}

#[test]
fn a_matrix_is_multiplied() {
    let report = json("run l3 gemv --rows 100 --cols 300 --io-buffers single --json");
    assert_eq!(report["operators"][0]["operator"], "gemv");
    assert_eq!((&report["rows"], &report["io_buffers"]), (&100.into(), &"single".into()));
    assert_eq!(report["operators"][0]["slots"]["used"], 7 * 10);
    assert!(report.get("stages").is_none());
    let text = pimlico("run l3 gemv --rows 20 --cols 30").stdout;
    assert!(String::from_utf8_lossy(&text).starts_with("matrix of 20 x 30 times a vector on l3"));
}

#[test]
fn a_report_says_its_gear() {
    let mut cycles = Vec::new();
    for gear in ["1", "2", "4"] {
        let of_gear = format!("run l3 attention --context 64 --gear {gear}");
        let report = json(&format!("{of_gear} --json"));
        assert_eq!(report["gear"].to_string(), gear);
        cycles.push(report["total"]["cycles"].as_u64().expect("a number"));
        let text = String::from_utf8(pimlico(&of_gear).stdout).expect("text");
        assert!(text.contains(&format!("\nback end fast, gear {gear}, seed 1, ")), "{text}");
    }
    assert!(cycles.is_sorted_by(|a, b| a < b), "{cycles:?}");
}

#[test]
fn a_seed_reproduces_a_run() {
    let run = |seed| pimlico(&format!("run l3 attention --context 50 --json --seed {seed}")).stdout;
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn a_waveform_is_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("rank.vcd");
    let output = pimlico(&format!("run l3 attention --context 33 --vcd {}", file.display()));
    assert_eq!(output.status.code(), Some(0));
    let text = std::fs::read_to_string(file).expect("it was written");
    for name in
        ["rank", "commands", "chip7_bank0_bank_pu", "adder_unit", "tree_o[0]", "result_o[3]"]
    {
        assert!(text.contains(&format!(" {name} ")), "{name}");
    }
}

#[test]
fn run_draws_a_picture() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("run.svg");
    let run = format!("run l3 attention --context 300 --json --plot {}", file.display());
    json(&run);
    let svg = std::fs::read_to_string(&file).expect("it was written");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    // The parts of the timeline with something in them, and a bar with four slots' colours at least.
    for text in ["banks", "data bus", "adder unit", "softmax unit", "attention", "row switch"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.matches("<polygon").count() >= 4 && svg.matches("<rect").count() >= 10);

    let message = refused("run l3 attention --context 100 --plot /nowhere/x.svg");
    assert!(message.starts_with("pimlico: /nowhere/x.svg: "), "{message}");
}
