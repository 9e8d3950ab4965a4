// SPDX-License-Identifier: MIT
//! What the build takes to be the inputs of a unit.
#![cfg(feature = "rtl")]

#[path = "../build/inputs.rs"]
#[allow(dead_code)]
mod inputs;
#[path = "../build/source.rs"]
#[allow(dead_code)]
mod source;

use inputs::{Sources, Stamp, dependencies};
use std::fs;
use std::path::{Path, PathBuf};

const TEXTS: [(&str, &str); 6] = [
    ("pkg.sv", "package pkg; endpackage"),
    ("leaf.sv", "module leaf; endmodule // not middle"),
    ("middle.sv", "module middle import pkg::*; (); leaf u_leaf (); endmodule"),
    ("top.sv", "module top; /* other */ middle #(.N(2)) u_middle (.*); endmodule"),
    ("other.sv", "module other; leaf u_leaf (); endmodule"),
    ("watcher.sv", "module watcher; endmodule\nbind middle watcher u_watcher (.*);"),
];

fn written(folder: &Path) -> Vec<PathBuf> {
    let write = |(name, text): &(&str, &str)| {
        let file = folder.join(name);
        fs::write(&file, text).expect("writable");
        file
    };
    TEXTS.iter().map(write).collect()
}

#[test]
fn a_module_is_made_of_what_it_names_and_of_what_is_bound_to_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sources = Sources::read(written(folder.path())).expect("all are there");
    let stems = |files: Result<Vec<PathBuf>, String>| -> Vec<String> {
        let stem = |file: &PathBuf| file.file_stem().map(|s| s.to_string_lossy().into_owned());
        files.expect("it is there").iter().filter_map(stem).collect()
    };
    let of = |top: &str| stems(sources.of(top));
    assert_eq!(of("leaf"), ["leaf"]);
    assert_eq!(of("middle"), ["pkg", "leaf", "middle", "watcher"]);
    assert_eq!(of("top"), ["pkg", "leaf", "middle", "top", "watcher"]);
    assert_eq!(of("other"), ["leaf", "other"]);
    assert_eq!(stems(sources.of_without("top", "middle")), ["top"]);
    let missing = sources.of("nothing").expect_err("there is no such module");
    assert_eq!(missing, "nothing.sv is not among the sources of the RTL");
}

#[test]
fn a_stamp_holds_until_an_argument_or_a_file_changes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = written(folder.path());
    let stamp = Stamp::of(&folder.path().join("unit"));
    let [arguments, others] = ["-GN=1", "-GN=2"].map(|argument| vec![argument.to_owned()]);
    assert!(!stamp.holds(&arguments), "nothing has been made");
    stamp.write(&arguments, &files[1..3]).expect("writable");
    assert!(stamp.holds(&arguments));
    assert!(!stamp.holds(&others));
    fs::write(&files[0], "package pkg; parameter int A = 1; endpackage").expect("writable");
    assert!(stamp.holds(&arguments), "not one of its files");
    fs::write(&files[2], "module middle; endmodule").expect("writable");
    assert!(!stamp.holds(&arguments));
    fs::write(&files[2], TEXTS[2].1).expect("writable");
    assert!(stamp.holds(&arguments), "as it was");
    fs::remove_file(&files[1]).expect("it is there");
    assert!(!stamp.holds(&arguments));
    stamp.remove();
    assert!(!stamp.holds(&arguments));
}

#[test]
fn verilator_says_what_it_has_read() {
    let text = "out/Vtop.cpp out/Vtop.h  : /usr/bin/verilator_bin rtl/pkg.sv rtl/a.svh \
                /usr/bin/verilator_bin out/configuration.vlt \n";
    let files = ["rtl/pkg.sv", "rtl/a.svh", "out/configuration.vlt"].map(PathBuf::from);
    assert_eq!(dependencies(text), files);
}
