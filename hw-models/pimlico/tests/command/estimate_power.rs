// SPDX-License-Identifier: MIT
//! `pimlico estimate power` as a user meets it.

use crate::common;
use std::path::Path;
use std::process::{Command, Output};

fn power(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
    command.args(["estimate", "power"]).args(arguments).output().expect("the command runs")
}

/// The one line that a wrong call gives.
fn refused(arguments: &[&str]) -> String {
    let output = power(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

const SMALL: &str = r#"library(small) { nom_voltage : 1.0; leakage_power_unit : "1nW";
  cell(NAND) { area : 2; pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "!(A B)"; } } }"#;

#[test]
fn what_is_wrong_is_said_in_a_line() {
    for (flag, message) in [
        ("--clock=-1", "--clock -1: expected 0.001 to 1000000 ns"),
        ("--clock=nan", "--clock NaN"),
        ("--slew=-0.1", "--slew -0.1"),
        ("--wire=inf", "--wire inf"),
        ("--window=0", "--window 0: expected 1 to 65536 clocks"),
        ("--context=0", "--context 0"),
        ("--node=0", "--node 0"),
        ("--liberty=/nowhere/x.lib", "/nowhere/x.lib"),
        ("relayout", "relayout: no such unit"),
    ] {
        let error = refused(&[flag]);
        assert!(error.contains(message), "{flag}: {error}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("small.lib");
    std::fs::write(&file, SMALL).expect("written");
    let liberty = format!("--liberty={}", file.display());
    let error = refused(&[&liberty]);
    assert!(error.contains("small.lib: expected capacitive_load_unit"), "{error}");
    let python = ["--python=/nowhere/python"];
    if Path::new(pimlico_estimate::DEFAULT_LIBRARY).exists() {
        assert!(refused(&python).contains("pyosys is missing"));
        assert!(refused(&["--model=gpt-0"]).contains("gpt-0"));
    }
}

#[test]
fn a_unit_takes_power_and_does_what_its_model_does() {
    let arguments = ["relayout_unit", "--context=16", "--window=64", "--no-cache", "--json"];
    let output = power(&arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("is missing") || errors.contains("apt-get install") {
        eprintln!("skipped: {errors}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let report = common::document(&output.stdout);
    let unit = &report["units"][0];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let sum: f64 =
        ["internal", "switching", "leakage"].iter().map(|p| number(&unit["power_mw"][p])).sum();
    assert!((sum / number(&unit["power_mw"]["total"]) - 1.0).abs() < 1e-9);
    assert!(number(&unit["power_mw"]["switching"]) > 0.0);
    assert_eq!(unit["paper"]["power_mw"], 0.245);
    let phases = unit["phases"].as_array().expect("phases");
    assert_eq!((&phases[0]["phase"], &phases[0]["counted_clocks"]), (&"load".into(), &64.into()));
    assert!(number(&unit["compared_clocks"]) > 64.0);
}
