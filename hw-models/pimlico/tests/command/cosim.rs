// SPDX-License-Identifier: MIT
//! Co-simulation.

use crate::{json, pimlico, refused};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn pairs_of_operands_are_counted() {
    let report = json("cosim fp_max --stratified --json");
    assert_eq!(report["operands"], "stratified");
    assert_eq!(report["mismatches"], 0);
    for unit in report["units"].as_array().expect("a list") {
        assert_eq!(unit["cases"], 1 << 24);
    }
    assert_eq!(report["left_out"][0], "fp_max:stages1");
    assert!(refused("cosim adder_unit --exhaustive").contains("adder_unit:sum32_gear1: only"));
}

#[test]
fn cosim_prints_the_stable_keys() {
    let report = json("cosim bank_pu fp_mul:bfloat16 --cycles 5000 --seed 9 --json");
    assert_eq!(report["seed"], 9);
    assert_eq!(report["mismatches"], 0);
    let units = report["units"].as_array().expect("a list");
    assert_eq!(units.len(), 7); // bank_pu in six variants
    for unit in units {
        assert_eq!(unit["cycles"], 5000);
        assert_eq!(unit["mismatches"], 0);
        assert!(unit["first_mismatch"].is_null());
        assert!(unit["coverage"].is_null(), "nobody asked for it");
        assert!(unit["oracle_checks"].as_u64().expect("a number") > 0);
    }
}

#[test]
fn cosim_refuses_what_it_does_not_know() {
    assert!(refused("cosim fp_sub").contains("fp_sub: no such unit; the nearest: fp_mul,"));
    assert!(refused("cosim --all --cycles 0").contains("nothing would be compared"));
}

/// Stands in the place of a compiler, makes empty files, and lists beside itself what it is called with.
const COMPILER: &str = "#!/bin/sh
[ $1 = --version ] && echo \"$VERSION\" && exit
echo \"$@\" >> \"$0.calls\"
for word; do
  [ \"$last\" = -o ] && : > \"$word\"
  last=$word
done
";

/// What a compiler of this version is called with for a unit.
fn calls(version: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let compiler = folder.path().join("compiler");
    fs::write(&compiler, COMPILER).expect("written");
    fs::set_permissions(&compiler, PermissionsExt::from_mode(0o755)).expect("own");
    let output = Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(["cosim", "fp_max:"])
        .env("CXX", &compiler)
        .env("VERSION", version)
        .env("PIMLICO_CACHE", folder.path().join("cache"))
        .output();
    let output = output.expect("the command runs");
    assert_eq!(output.status.code(), Some(2), "what it makes is empty");
    let calls = fs::read_to_string(folder.path().join("compiler.calls")).expect("it was called");
    calls.lines().map(str::to_owned).collect()
}

#[test]
fn compilers_other_than_gcc_are_given_nothing_that_is_gccs_alone() {
    let [gcc, clang] =
        ["g++ 12\nCopyright Free Software Foundation", "clang version 14"].map(calls);
    let has =
        |calls: &[String], what: &str| calls.iter().filter(|call| call.contains(what)).count();
    assert_eq!(gcc.len(), clang.len() + 1, "{gcc:#?} {clang:#?}");
    for (what, of_gcc, of_clang) in
        [(".gch", 1, 0), ("-latomic", 0, 1), ("-fno-tree", gcc.len(), 0), ("-shared", 1, 1)]
    {
        let is_quick = cfg!(debug_assertions) || cfg!(feature = "coverage");
        let of_gcc = if what == "-fno-tree" && !is_quick { 0 } else { of_gcc };
        assert_eq!((has(&gcc, what), has(&clang, what)), (of_gcc, of_clang), "{what}");
    }
}

#[cfg(not(feature = "coverage"))]
#[test]
fn coverage_needs_a_build_for_it() {
    let message = refused("cosim fp_add: --coverage");
    assert!(message.contains("run `scripts/coverage`"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[cfg(feature = "coverage")]
#[test]
fn coverage_is_in_parts_of_1_and_lists_what_is_missing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cosim = |cycles: u32| {
        let report = folder.path().display();
        json(&format!("cosim adder_unit: --coverage --cycles {cycles} --report {report} --json"))
    };
    let part = |report: &serde_json::Value, kind: &str| {
        report["units"][0]["coverage"][kind].as_f64().expect("a number")
    };
    let [short, long] = [20, 20_000].map(cosim);
    for kind in ["line", "toggle", "functional"] {
        assert!((0.0..=1.0).contains(&part(&short, kind)), "{kind}");
        assert!(part(&short, kind) <= part(&long, kind), "{kind}");
    }
    assert!(part(&short, "functional") < 0.9 && part(&long, "functional") > 0.9);
    assert!(part(&long, "toggle") > 0.9);
    let missing = std::fs::read_to_string(folder.path().join("adder_unit.coverage.txt"));
    assert!(missing.expect("it was written").contains("Bins that were not hit: "));
}

#[test]
fn cosim_writes_waveforms() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let arguments = format!("cosim adder_unit: --cycles 1000 --vcd {}", folder.path().display());
    assert_eq!(pimlico(&arguments).status.code(), Some(0));
    let read = |side: &str| {
        let file = folder.path().join(format!("adder_unit.{side}.vcd"));
        std::fs::read_to_string(file).expect("it was written")
    };
    let (model, rtl) = (read("model"), read("rtl"));
    assert!(model == rtl, "ports of model and RTL are written alike");
    assert!(model.contains(" lanes_o[7] [15:0] ") && model.contains("bxxxxxxxxxxxxxxxx "));
    assert!(model.contains("pimlico cosim adder_unit: --seed 1 --cycles "), "how to repeat it");
    assert!(read("inside").contains(" lanes_o "), "what Verilator writes");
}

#[test]
fn waveforms_that_cannot_be_written_leave_nothing_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("adder_unit.rtl.vcd");
    std::fs::create_dir(&file).expect("writable");
    let output =
        pimlico(&format!("cosim adder_unit: --cycles 9 --vcd {}", folder.path().display()));
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    assert!(message.contains("adder_unit.rtl.vcd is not a regular file"), "{message}");
    let left = std::fs::read_dir(folder.path()).expect("it is there");
    assert_eq!(left.count(), 1, "nothing but what was there");
}
