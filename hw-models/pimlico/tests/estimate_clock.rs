// SPDX-License-Identifier: MIT
//! `pimlico estimate clock` of RTL that is not the tree's: a unit with one pipeline stage fewer. What differs is
//! synthesised, for which `scripts/check-clock` installs pyosys, OpenSTA and the default library, and runs this.

use pimlico_estimate::{DEFAULT_LIBRARY, Tools};
use std::path::Path;
use std::process::Command;

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("an entry");
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => drop(std::fs::copy(&path, to.join(name)).expect("a copy")),
        }
    }
}

/// The units that miss their clock, the status, and the last line.
fn misses(arguments: &[&str], rtl: Option<&Path>) -> (Vec<String>, Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(["estimate", "clock", "--json"])
        .args(arguments)
        .args(rtl.map(|folder| format!("--rtl={}", folder.display())))
        .output()
        .expect("the command runs");
    let said = String::from_utf8(output.stderr).expect("text");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect(&said);
    let names = document["misses"].as_array().expect("misses").iter();
    let names = names.map(|name| name.as_str().expect("a name").to_owned()).collect();
    (names, output.status.code(), said)
}

#[test]
#[ignore = "needs pyosys and OpenSTA: scripts/check-clock"]
fn a_unit_with_one_stage_fewer_misses_its_clock() {
    let python = std::env::var_os("PIMLICO_PYTHON").unwrap_or_else(|| "python3".into());
    let there = Tools::find(Path::new(&python)).is_ok() && Path::new(DEFAULT_LIBRARY).exists();
    assert!(there, "pyosys, OpenSTA or {DEFAULT_LIBRARY} is missing: run scripts/check-clock");
    let folder = tempfile::tempdir().expect("a folder");
    copy(Path::new(pimlico_rtl::FOLDER), folder.path());
    let liberty = ["--liberty", DEFAULT_LIBRARY];
    let (as_it_is, status, _) = misses(&liberty, Some(folder.path()));
    assert_eq!((&as_it_is, status), (&misses(&liberty, None).0, misses(&liberty, None).1));
    assert!(!as_it_is.iter().any(|unit| !unit.ends_with(" of AiM")), "{as_it_is:?}");

    // The adders of the adder unit in one cycle, not two.
    let file = folder.path().join("rank/adder_unit.sv");
    let text = std::fs::read_to_string(&file).expect("the unit");
    let stages = "(ADDER_LATENCY - 1)";
    assert_eq!(text.matches(stages).count(), 1);
    std::fs::write(&file, text.replace(stages, "(ADDER_LATENCY - 2)")).expect("written");
    let (planted, status, said) = misses(&liberty, Some(folder.path()));
    assert_eq!(status, Some(1), "{said}");
    let more: Vec<_> = planted.iter().filter(|unit| !as_it_is.contains(unit)).collect();
    assert!(more.iter().any(|unit| unit.starts_with("adder_unit")), "{more:?}");
    assert!(more.iter().all(|unit| unit.starts_with("adder_unit")), "{more:?}");
    assert!(said.contains(" miss their clock: ") && said.contains(more[0].as_str()), "{said}");
}
