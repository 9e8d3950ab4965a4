// SPDX-License-Identifier: MIT
//! Every table as text, Markdown and comma-separated values.

use crate::common;
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
    "stream run --tokens 2",
    "stream profile --tokens 2",
    "stream plan --tokens 2 --limits 1G",
    "stream banks --prompts 1,4",
    "stream simulate",
    "layout copy --rows 64 --cols 9",
    "layout prefill --policy ddb",
    "trace show --trace openr1 --requests 20",
    "serve --trace longbench --requests 4 --policy gpu-only",
    "serve --system neupims --trace alpaca --requests 4 --mha algorithm",
    "sweep latency",
    "sweep serving --study l3-overlap",
    "sweep batch --memory 128 --max-context 32768 --requests 2",
    "sweep groups --contexts 64 --channels 2 --groups 1,2",
    "sweep io-buffers --contexts 64 --channels 2 --tp 512",
    "sweep io-buffers --contexts 64 --channels 2 --tp 512 --assumptions",
    "sweep neupims --paper-table 4 --samples 1",
    "run neupims gemv --rows 64 --cols 512",
    "run neupims attention --context 20",
    "sweep numerics --context 20",
    "sweep programs --contexts 64",
    "sweep row-buffers --tck 5000",
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

/// Whether a cell is a number, or several of them.
fn is_number(cell: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || " .+-,".contains(c);
    cell.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)) && cell.chars().all(is_part)
}

/// Digits of the longest row of them before a point.
fn most_digits(cell: &str) -> usize {
    let whole =
        |word: &str| word.split('.').next().unwrap_or_default().trim_matches(['+', '-', ',']).len();
    cell.split(' ').map(whole).max().unwrap_or(0)
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
        // Thousands are in groups in all of them, and nowhere where a program reads them.
        let of_text =
            text.lines().filter(|line| line.contains(" | ")).flat_map(|line| line.split('|'));
        for cell in of_text.map(str::trim).filter(|cell| is_number(cell)) {
            assert!(most_digits(cell) <= 3, "{command}: {cell}");
        }

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
            let whole =
                |cell: &&String| is_number(cell) && !cell.contains("  ") && !cell.contains(", ");
            let cells = rows[1..].iter().flatten().filter(whole);
            cells.for_each(|cell| assert!(!cell.contains(' '), "{command}: {cell}"));
        }
    }
}

#[test]
fn a_unit_that_no_operator_uses_has_no_column() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let gemv = printed("run l3 gemv --rows 64 --cols 40", folder.path());
    assert!(gemv.contains("adder unit, %") && !gemv.contains("softmax unit"), "{gemv}");
    let attention = printed("run l3 attention --context 40", folder.path());
    assert!(attention.contains("adder unit, % | softmax unit, %"), "{attention}");
}

#[test]
fn a_report_for_people_says_each_thing_once_and_by_its_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (command, expected) in [
        (
            "run aim layer --model llama-3.2-1b --context 64 --timing-only",
            "16 channels, I/O buffers",
        ),
        ("run l3 layer --model llama-3.2-1b --context 64 --timing-only", "scores, I/O buffers"),
        ("run l3 decode --tokens 1", "feed-forward 88, vocabulary of 96\n"),
        ("run aim decode --tokens 1", "16 channels, I/O buffers"),
    ] {
        let text = printed(command, folder.path());
        assert!(text.contains(expected), "{command}: {text}");
        assert_eq!(text.matches("I/O buffers").count(), 1, "{command}: {text}");
        assert_eq!(text.matches("\nSlots of tCCD_L ").count(), 1, "{command}: {text}");
    }
    let small = printed("run l3 gemv --rows 1 --cols 1", folder.path());
    assert!(!small.contains("max ULP: "), "{small}");
    let large = printed("run l3 gemv --rows 300 --cols 300", folder.path());
    assert_eq!(large.matches("max ULP: in units in the last place").count(), 1, "{large}");
    let sweep = printed("sweep io-buffers --contexts 64 --channels 2 --tp 512", folder.path());
    assert!(sweep.contains("\nSlots of tCCD_L for an all-bank RD\n"), "{sweep}");
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
