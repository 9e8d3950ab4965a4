// SPDX-License-Identifier: MIT
//! `pimlico cosim --rtl`: RTL of the user's own.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The built-in multiplier.
const MULTIPLIER: &str = pimlico_rtl::text!("arith/fp_mul.sv");

/// A folder with one file.
fn folder(name: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join(name), text).expect("writable");
    folder
}

/// A text with one place in it changed.
fn changed(text: &str, right: &str, wrong: &str) -> String {
    assert_eq!(text.matches(right).count(), 1, "`{right}` stands once in the text");
    text.replace(right, wrong)
}

/// Exit status, standard output and standard error of `cosim` with the RTL in a folder.
fn cosim(arguments: &str, rtl: &Path) -> (Option<i32>, String, String) {
    let reports = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .arg("cosim")
        .args(arguments.split(' '))
        .arg("--rtl")
        .arg(rtl)
        .arg("--report")
        .arg(reports.path())
        .output()
        .expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// What is said, in one line, of what is refused.
fn refused(arguments: &str, rtl: &Path) -> String {
    let (status, _, said) = cosim(arguments, rtl);
    assert_eq!((status, said.lines().count()), (Some(2), 1), "{arguments}: {said}");
    said
}

const MINE: &str = "fp_mul: --cycles 2000 --module my_mul";

#[test]
fn a_module_of_another_name_is_compared_without_its_registers() {
    let right = folder("any.sv", &changed(MULTIPLIER, "module fp_mul", "module my_mul"));
    let (status, table, said) = cosim(MINE, right.path());
    assert_eq!(status, Some(0), "{said}");
    assert!(table.contains("fp_mul |           2 000"), "{table}");

    // Its stages are those of its own default, and may be chosen.
    let (status, _, said) = cosim(&format!("{MINE} --parameter STAGES=1"), right.path());
    assert_eq!(status, Some(1), "a result that comes too soon");
    let again = format!("--rtl {} --module my_mul --parameter STAGES=1", right.path().display());
    assert!(said.contains("result_o model") && said.contains(&again), "{said}");

    // It has one of the registers that are compared under another name.
    let text = pimlico_rtl::text!("bank/pingpong_buffer.sv").replace("write_side_q", "half_q");
    let other = folder("any.sv", &changed(&text, "module pingpong_buffer", "module my_buffer"));
    let (status, _, said) =
        cosim("pingpong_buffer: --cycles 2000 --module my_buffer", other.path());
    assert_eq!(status, Some(0), "{said}");
}

#[test]
fn a_module_takes_the_place_of_the_one_with_its_name() {
    let fault = changed(MULTIPLIER, ".data_i(result)", ".data_i(result ^ WIDTH'(a_i[4:0] == 7))");
    let wrong = folder("fp_mul.sv", &fault);
    for unit in ["fp_mul:", "bank_pu:"] {
        let (status, _, said) = cosim(&format!("{unit} --cycles 20000"), wrong.path());
        assert_eq!(status, Some(1), "{unit}: {said}");
    }
    let (status, _, said) = cosim("fp_add: --cycles 2000", wrong.path());
    assert_eq!(status, Some(0), "it has no multiplier: {said}");
}

#[test]
fn a_whole_tree_takes_the_place_of_the_built_in_one() {
    let tree = tempfile::tempdir().expect("a temporary folder");
    let file = |path: &str| {
        let file = tree.path().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
        file
    };
    for (path, text) in pimlico_rtl::sources!() {
        fs::write(file(path), text).expect("writable");
    }
    assert_eq!(cosim("fp_max: --cycles 2000", tree.path()).0, Some(0));
    let package = pimlico_rtl::text!("pimlico_pkg.sv");
    let item = package.lines().find(|line| line.contains("PinAct ")).expect("an enum");
    let other = package.replacen(item, &item.replace("4'd1", "4'd15"), 1);
    fs::write(file("pimlico_pkg.sv"), other).expect("writable");
    assert!(refused("fp_max:", tree.path()).contains("declare types differently: enum "));
}

#[test]
fn ports_that_differ_are_named() {
    let mine = changed(MULTIPLIER, "module fp_mul", "module my_mul");
    let port = "input  logic [WIDTH-1:0] b_i";
    for (right, wrong, said) in [
        (port, "input  logic [7:0] b_i", "input b_i is 16 bits wide in hw-models, 8 in rtl"),
        (port, "input  logic [WIDTH-1:0] c_i", "input b_i is missing in rtl; input c_i is missing"),
    ] {
        let text = changed(&mine, right, wrong);
        let body = text.find("localparam int unsigned PRODUCT_WIDTH").expect("a body");
        let (head, _) = text.split_at(body);
        let head = head.rsplit_once("  ").expect("an indentation").0;
        let own = folder("any.sv", &format!("{head}\n  assign result_o = a_i;\nendmodule\n"));
        let found = refused(MINE, own.path());
        assert!(found.contains(said), "{found}");
    }
}

#[test]
fn what_cannot_be_made_is_refused() {
    let right = folder("any.sv", &changed(MULTIPLIER, "module fp_mul", "module my_mul"));
    let path = right.path();
    let none = format!("there is no module nothing among the sources in {}", path.display());
    for (arguments, said) in [
        ("fp_mul: --module nothing", none.as_str()),
        ("fp_mul: --stratified --module nothing", none.as_str()),
        ("fp_mul --module my_mul", "--module: expected one unit in one set of parameters"),
        ("fp_mul: --module my_mul --parameter STAGE=1", "not found in the design: STAGE"),
        ("fp_mul: --module my_mul --parameter STAGES=9", "expected 0 or 1, 0 to 3"),
    ] {
        let found = refused(arguments, path);
        assert!(found.contains(said), "{found}");
    }
    let empty = tempfile::tempdir().expect("a temporary folder");
    assert!(refused("fp_mul:", empty.path()).contains("expected a folder with SystemVerilog"));
    assert!(refused("fp_mul:", &path.join("none")).contains("No such file or directory"));
    let broken = folder("fp_mul.sv", "module fp_mul (;\nendmodule\n");
    let found = refused("fp_mul:", broken.path());
    assert!(found.contains("verilator refuses fp_mul: %Error") && found.contains("fp_mul.sv:1"));
}
