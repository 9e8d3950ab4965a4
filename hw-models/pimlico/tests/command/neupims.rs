// SPDX-License-Identifier: MIT
//! `sweep neupims`: figures and tables of NeuPIMs, and what is refused.

use crate::{json, refused};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Our figure whose name begins so.
fn ours(report: &Value, what: &str) -> f64 {
    let figures = report["figures"].as_array().expect("a list");
    let named =
        |figure: &&Value| figure["what"].as_str().is_some_and(|name| name.starts_with(what));
    let figure = figures.iter().find(named).unwrap_or_else(|| panic!("{what}: {report}"));
    figure["ours"].as_f64().expect("a number")
}

#[test]
fn a_figure_is_the_same_on_any_threads() {
    let line = "sweep neupims --figure 13 --samples 2 --json";
    let mut reports = ["1", "2"].map(|threads| json(&format!("{line} --threads {threads}")));
    for report in &mut reports {
        report.as_object_mut().expect("an object").remove("pimlico");
    }
    assert_eq!(reports[0], reports[1]);
    assert!(ours(&reports[0], "mean gain of dual row buffers, %, pim-issue 1/tCK") > 20.0);
    assert!(ours(&reports[0], "least gain of packing") > 0.0);
}

#[test]
fn the_feed_is_one_or_both() {
    let both = json("sweep neupims --paper-table 4 --samples 1 --json");
    assert!(ours(&both, "NeuPIMs' NPU below the bound") <= 50.0);
    let slow = ours(&both, "NPU+PIM's bandwidth, %, pim-issue 1/tCK");
    assert!(slow < ours(&both, "NPU+PIM's bandwidth, %, pim-issue unlimited"));
    let one = json("sweep neupims --paper-table 4 --samples 1 --pim-issue 1 --json");
    assert_eq!(ours(&one, "NPU+PIM's bandwidth, %, pim-issue 1/tCK"), slow);
    assert!(!one["figures"].to_string().contains("unlimited"));
}

#[test]
fn power_has_parts_and_divisions_are_compared() {
    let power = json("sweep neupims --paper-table 5 --samples 1 --json");
    let rows = power["tables"][0]["rows"].as_array().expect("rows");
    // Parts of NeuPIMs' power add up, but for their rounding.
    let cell = |row: &Value| row[3].as_f64().expect("a number");
    let parts: f64 = rows[..8].iter().map(cell).sum();
    assert!((parts - cell(&rows[8])).abs() < 0.5, "{parts}");
    let divisions = json("sweep neupims --figure 14 --samples 1 --json");
    let rows = divisions["tables"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 10);
}

#[test]
fn latencies_are_those_of_the_engine_where_it_is_asked() {
    let line = "sweep neupims --paper-table 4 --samples 1 --pim-issue 1 --json";
    let (algorithm, engine) = (json(line), json(&format!("{line} --mha engine --threads 2")));
    let note = |report: &Value| report["notes"][0].as_str().expect("text").to_owned();
    assert!(note(&algorithm).contains("Algorithm 1; no command is executed"));
    assert!(note(&engine).contains("engine, command by command, with refresh; packing is by"));
    // Dot products are as many, and an iteration takes longer: its matrices have less than the peak of the buses.
    let pim = |report: &Value| ours(report, "NeuPIMs' PIM");
    assert!(pim(&engine) < pim(&algorithm), "{} {}", pim(&engine), pim(&algorithm));
    assert_eq!(json(&format!("{line} --mha engine --threads 1")), engine);
}

#[test]
fn table_4_is_near_the_papers_with_the_simulators_queue_of_reads() {
    let off = |queue: &str| -> Vec<String> {
        let line = format!("sweep neupims --paper-table 4 --pim-issue 1 --matrices {queue} --json");
        let report = json(&line);
        let figures = report["figures"].as_array().expect("figures").clone();
        let off = figures.iter().filter(|figure| figure["holds"] == false);
        off.map(|figure| figure["what"].as_str().expect("text").to_owned()).collect()
    };
    // Two sub-batches read the weights twice, which bounds the NPU to half of the peak.
    const NPU: &str = "NeuPIMs' NPU, %";
    assert_eq!(off("reads-128"), ["NPU+PIM's bandwidth, %, pim-issue 1/tCK", NPU]);
    // A shorter queue leaves NeuPIMs less of the buses beside PIM.
    assert_eq!(off("reads-32"), ["NeuPIMs' PIM, %", NPU, "NeuPIMs' bandwidth, %"]);
}

#[test]
fn the_timeline_is_drawn() {
    let report = json("sweep neupims --figure 11 --plot neupims.svg --json");
    assert_eq!(report["violations"], 0);
    assert!(ours(&report, "two sub-batches: run and formula") <= 1.0);
    // T = A + B + 3 (C + D) + E + F.
    let table = |at: usize| report["tables"][at]["rows"].as_array().expect("rows").clone();
    let stages: Vec<u64> =
        table(1)[0].as_array().expect("A to F").iter().filter_map(Value::as_u64).collect();
    let [a, b, c, d, e, f] = stages[..] else { panic!("{stages:?}") };
    let total = a + b + 3 * (c + d) + e + f;
    assert_eq!((&table(2)[1][1], &table(2)[1][2]), (&total.into(), &total.into()));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("neupims.svg");
    let svg = fs::read_to_string(file).expect("it is there");
    assert!(
        svg.starts_with("<svg") && svg.contains("(b) two sub-batches") && svg.contains("MHA 4")
    );
}

#[test]
fn wrong_input_is_one_line() {
    for (flags, expected) in [
        ("--figure 13 --pim-issue 0", "expected unlimited, or 1 to 1024 commands"),
        ("--figure 13 --pim-issue some", "expected unlimited, or 1 to 1024 commands"),
        ("--figure 15", "15"),
        ("--figure 12 --paper-table 4", "cannot be used with"),
        ("--figure 14 --link-gbps nan", "expected gigabytes a second"),
        ("--figure 14 --pim-issue 1", "--pim-issue: it does nothing here"),
        ("--paper-table 4 --samples 0", "--samples"),
        ("--paper-table 4 --mha table", "invalid value 'table'"),
        ("--figure 13 --capacity check --samples 1", "weights, K and V of the fullest channel"),
    ] {
        let message = refused(&format!("sweep neupims {flags}"));
        assert!(message.contains(expected), "{flags}: {message}");
    }
}
