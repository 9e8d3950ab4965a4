// SPDX-License-Identifier: MIT
//! `pimlico estimate` where something is missing or wrong: one line that says what, status 2, and no file
//! left behind.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const NANGATE45: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../estimate/libraries/nangate45_areas.lib");

/// A folder with what stands for the tools.
struct Bench {
    folder: TempDir,
    path: &'static str,
}

impl Bench {
    /// With a Python that has pyosys, which fails, and an OpenSTA.
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().expect("a folder"), path: "" };
        bench.program("sta", "exit 0");
        bench.python("0.70");
        bench
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let file = self.file(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("executable");
    }

    fn python(&self, version: &str) {
        let fails = "echo 'ERROR: this Yosys fails' >&2; exit 1";
        let script = format!("case \"$2\" in *importlib*) echo {version};; *) {fails};; esac");
        self.program("python", &script);
    }

    fn library(&self, text: impl AsRef<[u8]>) -> String {
        let file = self.file("cells.lib");
        std::fs::write(&file, text).expect("written");
        file.display().to_string()
    }

    /// The line that the command gives.
    fn refused(&self, arguments: &str, liberty: &str) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_pimlico"))
            .arg("estimate")
            .args(arguments.split_whitespace())
            .args(["--liberty", liberty, "--python"])
            .arg(self.file("python"))
            .env("XDG_CACHE_HOME", self.folder.path())
            .env(
                "PATH",
                if self.path.is_empty() { self.folder.path() } else { Path::new(self.path) },
            )
            .output()
            .expect("the command runs");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{arguments} {liberty}: {said}");
        assert!(output.stdout.is_empty(), "{arguments} {liberty}");
        assert_eq!(said.lines().count(), 1, "{said}");
        said.trim_start_matches("pimlico: ").trim_end().to_owned()
    }
}

#[test]
fn what_is_missing_is_named_with_what_installs_it() {
    let bench = Bench::new();
    std::fs::remove_file(bench.file("sta")).expect("it was there");
    let said = bench.refused("area bank_pu", NANGATE45);
    assert!(said.starts_with("OpenSTA (sta) is missing: apt-get install opensta"), "{said}");

    bench.python("0.69");
    let said = bench.refused("compare", NANGATE45);
    assert!(said.starts_with("pyosys 0.69: expected 0.70"), "{said}");

    std::fs::remove_file(bench.file("python")).expect("it was there");
    for command in ["area", "compare", "libraries", "trade subnormals", "trade pipeline"] {
        let said = bench.refused(command, NANGATE45);
        assert!(said.starts_with("pyosys is missing: run `scripts/estimate`"), "{said}");
    }
}

#[test]
fn a_library_that_is_none_is_refused_with_file_and_line() {
    let bench = Bench::new();
    let text = std::fs::read_to_string(NANGATE45).expect("the library");
    let cut: Vec<_> = text.lines().take(117).collect();
    let cases = [
        (cut.join("\n"), ":117: the file ends, but the { of line 115 is open"),
        (text.replacen("}\n  }", "})\n  }", 1), ":15: a ) where the { of line 13 is open"),
        (text.replace("!(A1 & A2)", "(A1 & A2)"), ": no cell with an area"),
        (text.replace("area : 0.532", "area : 1e300"), ":13: cell INV_X1: expected an area"),
        ("\u{7f}ELF\u{2}\u{1}\u{0}".to_owned(), ":1: a control character"),
        (String::new(), ": expected one library"),
        ("a(b) {".repeat(100_000), ":1: more than 32 brackets in each other"),
        (text.replacen("direction : input;", "direction input", 1), ":14: "),
    ];
    for (text, expected) in cases {
        let file = bench.library(&text);
        let said = bench.refused("area", &file);
        assert!(said.starts_with(&(file + expected)), "{said}, not {expected}");
    }
    let folder = bench.folder.path().display().to_string();
    assert!(bench.refused("libraries", &folder).contains("expected a file of at most"));
    let absent = bench.file("none.lib").display().to_string();
    assert_eq!(
        bench.refused("compare", &absent),
        format!("{absent}: No such file or directory (os error 2)")
    );
    let said = bench.refused(&format!("libraries --second {absent}"), NANGATE45);
    assert!(said.starts_with(&absent), "{said}");
}

#[test]
fn wrong_parameters_are_refused() {
    let bench = Bench::new();
    for (arguments, expected) in [
        ("area nonesuch", "nonesuch: no such unit"),
        ("libraries bank_pu:none", "bank_pu:none: no such unit"),
        ("area --clock 0", "--clock 0: expected more than 0 ns"),
        ("area --fo4 0", "--fo4 0: expected more than 0 ps, up to 5000"),
        ("area --fo4 NaN", "--fo4 NaN: expected more than 0 ps"),
        ("area --fo4=-20", "--fo4 -20: expected more than 0 ps"),
        ("area --fo4 inf", "--fo4 inf: expected more than 0 ps"),
        ("area --sized bank_pu", "--sized: nangate45_areas has no timing"),
        ("compare --clock NaN", "--clock NaN: expected more than 0 ns"),
        ("trade sums --head-dim 0", "--head-dim 0: expected 1 to 256"),
        ("trade pipeline --head-dim 99999999999", "--head-dim 99999999999: expected 1 to 256"),
        ("trade pipeline --context 0", "--context 0: expected 1 to 1048576"),
        ("trade normalise --context 9999999", "--context 9999999: expected 1 to 1048576"),
    ] {
        let said = bench.refused(arguments, NANGATE45);
        assert!(said.starts_with(expected), "{arguments}: {said}");
    }
}

#[test]
fn a_failing_tool_leaves_no_file_behind() {
    let bench = Bench::new();
    let plot = bench.file("trade.svg");
    let said = bench.refused(&format!("trade pipeline --plot {}", plot.display()), NANGATE45);
    assert_eq!(said, "Yosys cannot do fp_mul: ERROR: this Yosys fails");
    assert!(!plot.exists());
    let left = std::fs::read_dir(bench.folder.path()).expect("a folder").count();
    assert_eq!(left, 2, "the two tools");

    let plot = bench.file("no/such/folder/trade.svg");
    for what in ["trade sums", "area", "power"] {
        let said = bench.refused(&format!("{what} --plot {}", plot.display()), NANGATE45);
        assert!(said.contains("no/such/folder") && said.contains("no such folder"), "{said}");
    }
}
