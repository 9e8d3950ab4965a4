// SPDX-License-Identifier: MIT
//! Every table as text, Markdown and comma-separated values.

mod common;

use std::path::Path;
use std::process::{Command, Output};

/// Commands with tables, quick ones of each kind.
const TABLES: &[&str] = &[
    "run l3 attention --context 40",
    "run l3 gemv --rows 64 --cols 40 --channels 2",
    "run l3 layer --model llama-3.2-1b --context 64 --timing-only",
    "run l3 decode --tokens 2",
    "run aim gemv --rows 9 --cols 9",
    "device list",
    "spd show a.spd",
    "spd check",
    "dpa expand a.bin --tcur 0=40",
    "sweep batch --memory 128 --max-context 32768 --requests 2",
    "sweep io-buffers --contexts 64 --channels 2 --tp 512",
    "sweep io-buffers --contexts 64 --channels 2 --tp 512 --assumptions",
    "sweep numerics --context 20",
    "sweep programs --contexts 64",
    "sweep timing --key RP --from 22 --to 22 --tokens 1",
];

fn pimlico(arguments: &str, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
    command.args(arguments.split_whitespace()).current_dir(folder).output().expect("it runs")
}

fn printed(arguments: &str, folder: &Path) -> String {
    let output = pimlico(arguments, folder);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// The cells of a line of comma-separated values.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            c => cells.last_mut().expect("one").push(c),
        }
    }
    assert!(!is_quoted, "{line}");
    cells
}

#[test]
fn tables_are_printed_in_each_format() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    printed("spd write a.spd", folder);
    printed("dpa build --op gemv --rows 9 --cols 9 -o a.bin", folder);
    for command in TABLES {
        let text = printed(command, folder);
        let is_rule = |line: &str| line.starts_with("---") && line.contains("-+-");
        let of_table = |line: &&str| line.contains(" | ") || is_rule(line);
        let widest = text.lines().filter(of_table).map(|line| line.chars().count()).max();
        assert!(widest.expect(command) <= 120, "{command}: {text}");

        common::document(printed(&format!("{command} --json"), folder).as_bytes());
        let markdown = printed(&format!("{command} --format md"), folder);
        let rules = markdown.lines().filter(|line| line.starts_with("| --")).count();
        let csv = printed(&format!("{command} --format csv"), folder);
        let tables: Vec<_> = csv.split("\n\n").collect();
        assert!(rules > 0 && rules == tables.len(), "{command}: {rules} {markdown}\n{csv}");
        for table in tables {
            let rows: Vec<_> = table.lines().map(cells).collect();
            assert!(rows.len() > 1, "{command}: {table}");
            assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{command}: {table}");
            // Units stand in the heading.
            let bare = |cell: &String| !cell.ends_with('%') && !cell.ends_with("tCK");
            assert!(rows[1..].iter().flat_map(|row| &row[1..]).all(bare), "{command}: {table}");
        }
    }
}

#[test]
fn a_format_is_given_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = pimlico("device list --json --format csv", folder.path());
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("'--json' cannot be used with '--format <FORMAT>'"), "{message}");
    let document = printed("device list --format json", folder.path());
    assert!(document.starts_with("{\n  \"pimlico\": {"), "{document}");
}
