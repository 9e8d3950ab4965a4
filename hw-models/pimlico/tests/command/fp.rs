// SPDX-License-Identifier: MIT
//! `fp`: single operations, computed and checked; and the list of units.

use crate::{pimlico, refused, stdout};
use std::process::{Command, Output, Stdio};

#[test]
fn units_are_listed() {
    let text = String::from_utf8(pimlico("cosim --list").stdout).expect("text");
    for unit in ["fp_mul", "fp_add:bfloat16", "bank_pu", "adder_unit"] {
        assert!(text.lines().any(|line| line.starts_with(&format!("{unit} ("))), "{unit}");
    }
}

/// Runs `pimlico` with standard input.
pub fn fed(arguments: &str, input: &str) -> Output {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

#[test]
fn operations_are_computed() {
    assert_eq!(stdout(&pimlico("fp add 3C00 0x3c00")), "4000\n");
    assert_eq!(stdout(&pimlico("fp mul 0001 3800")), "0000\n"); // a tie, to even
    assert_eq!(stdout(&pimlico("fp mul 0400 3800 --subnormals 0")), "0000\n");
    assert_eq!(stdout(&pimlico("fp mul 0400 3800")), "0200\n");
    assert_eq!(stdout(&pimlico("fp add 3F80 3F80 --format bf16")), "4000\n");
    assert_eq!(stdout(&pimlico("fp recip 4200")), "3555\n");
    assert_eq!(stdout(&pimlico("fp exp BC00")), "35e3\n");
    assert_eq!(stdout(&pimlico("fp max 8000 0000")), "0000\n");
    assert_eq!(stdout(&fed("fp recip", "4200\n4000\n")), "3555\n3800\n");
    assert_eq!(stdout(&fed("fp add", "3C00 3C00\n\n7BFF 7BFF\n")), "4000\n7c00\n");
}

#[test]
fn expected_results_are_checked() {
    let right = "3C00 3C00 4000 00\n7E01 3C00 FFFF 10\n"; // any NaN equals any NaN
    let output = fed("fp add --check", right);
    assert_eq!((stdout(&output), output.status.code()), ("2 checked, 0 different\n", Some(0)));
    let output = fed("fp add --check", "3C00 3C00 4001 00\n3C00 3C00 4000 00\n");
    let expected = "3c00 3c00: 4000, expected 4001\n2 checked, 1 different\n";
    assert_eq!((stdout(&output), output.status.code()), (expected, Some(1)));
    assert_eq!(fed("fp add --check", "").status.code(), Some(1));
    assert_eq!(fed("fp add --check", "3C00 3C00\n").status.code(), Some(2));
}

#[test]
fn wrong_operands_are_refused_in_one_line() {
    for (arguments, expected) in [
        ("fp add 3C00", "2 operands expected, 1 given"),
        ("fp add 3C00 hello", "`hello` is no hexadecimal number"),
        ("fp add 3C00 13C00", "`13C00` is no"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    refused("fp add 0 0 --subnormals 2");
}
