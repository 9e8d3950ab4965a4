// SPDX-License-Identifier: MIT
//! Work in pieces: reports of outcomes that came one by one are those that the command makes alone, to the byte.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Heads of two contexts: 16 pieces.
const SWEEP: &str = "sweep numerics --head-dim 64 --context 40,64";

/// Runs the command in a folder.
fn pimlico(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
    command.args(line.split_whitespace()).current_dir(folder).output().expect("it runs")
}

/// What the command prints, which has to hold.
fn printed(folder: &Path, line: &str) -> Vec<u8> {
    let output = pimlico(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The one line in which the command refuses.
fn refused(folder: &Path, line: &str) -> String {
    let output = pimlico(folder, line);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(output.stdout.is_empty(), "{line}");
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(text.lines().count(), 1, "{line}: {text}");
    text
}

fn lines(folder: &Path, file: &str) -> usize {
    fs::read_to_string(folder.join(file)).expect("lines").lines().count()
}

/// The pieces of the sweep, and how many they are.
fn jobs(folder: &Path) -> usize {
    printed(folder, &format!("{SWEEP} --jobs jobs.jsonl"));
    lines(folder, "jobs.jsonl")
}

/// Runs the pieces of some lines.
fn run(folder: &Path, lines: impl IntoIterator<Item = usize>) {
    for line in lines {
        printed(folder, &format!("job jobs.jsonl {line}"));
    }
}

#[test]
fn a_report_of_pieces_is_that_of_the_command_alone() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let count = jobs(folder);
    assert_eq!(count, 16);
    // In any order, one of them twice.
    run(folder, (1..=count).rev().chain([3]));
    for format in ["", " --json", " --format csv"] {
        let command = format!("{SWEEP}{format}");
        let alone = printed(folder, &command);
        let gathered = printed(folder, &format!("{command} --gather jobs.jsonl.outcomes"));
        assert_eq!(String::from_utf8_lossy(&gathered), String::from_utf8_lossy(&alone));
    }
    let kept = fs::read_dir(folder.join("jobs.jsonl.outcomes")).expect("a folder").count();
    assert_eq!(kept, count, "nothing is left beside the outcomes");
}

#[test]
fn what_is_missing_is_told_and_can_be_written() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    jobs(folder);
    run(folder, (1..=16).filter(|line| ![4, 5, 9].contains(line)));
    let gather = format!("{SWEEP} --gather jobs.jsonl.outcomes");
    let message = refused(folder, &gather);
    assert!(message.contains("3 of 16 pieces are missing, those of line 4-5, 9"), "{message}");
    printed(folder, &format!("{gather} --jobs jobs.jsonl"));
    assert_eq!(lines(folder, "jobs.jsonl"), 3);
    run(folder, 1..=3);
    assert_eq!(printed(folder, &gather), printed(folder, SWEEP));
}

#[test]
fn outcomes_of_other_inputs_are_not_taken() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let count = jobs(folder);
    run(folder, 1..=count);
    fs::write(folder.join("mine.toml"), printed(folder, "device show ddr4-3200")).expect("a file");
    let device = fs::read_to_string(folder.join("mine.toml")).expect("text");
    let slower = device.replace("RTP = 12", "RTP = 13");
    assert_ne!(slower, device);
    fs::write(folder.join("slower.toml"), slower).expect("a file");
    let gather = "--gather jobs.jsonl.outcomes";
    // The file is the device that is built in.
    printed(folder, &format!("{SWEEP} --device mine.toml {gather}"));
    for other in ["--seed 2", "--device slower.toml", "--head-dim 128"] {
        let message =
            refused(folder, &format!("{SWEEP} {other} {gather}").replace("--head-dim 64 ", ""));
        assert!(message.contains("16 of 16 pieces are missing"), "{other}: {message}");
    }
    // Of more contexts those that are new.
    let message = refused(folder, &format!("{SWEEP},80 {gather}"));
    assert!(message.contains("8 of 24 pieces are missing, those of line 17-24"), "{message}");
}

#[test]
fn a_damaged_outcome_is_refused_and_made_again() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let count = jobs(folder);
    run(folder, 1..=count);
    let outcomes = folder.join("jobs.jsonl.outcomes");
    let damaged =
        fs::read_dir(&outcomes).expect("a folder").next().expect("one").expect("one").path();
    fs::write(&damaged, "half").expect("a file");
    let gather = format!("{SWEEP} --gather jobs.jsonl.outcomes");
    let message = refused(folder, &gather);
    assert!(message.contains("not the outcome of the piece"), "{message}");
    run(folder, 1..=count);
    assert_eq!(printed(folder, &gather), printed(folder, SWEEP));
}

#[test]
fn a_line_that_is_none_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    jobs(folder);
    let text = fs::read_to_string(folder.join("jobs.jsonl")).expect("lines");
    let first = text.lines().next().expect("a line");
    let other_digest = first.replacen("\"digest\":\"", "\"digest\":\"0", 1);
    let other_command = first.replace("\"numerics\"", "\"nothing\"");
    let no_pieces = first.replace("\"numerics\"", "\"vendor\"");
    let lines = ["", "{}", "[1]", &other_digest, &other_command, &no_pieces];
    fs::write(folder.join("bad.jsonl"), lines.join("\n")).expect("a file");
    for (line, expected) in [
        (1, "none of number 1"),
        (2, "bad.jsonl:2: expected a line that --jobs wrote: missing field `digest`"),
        (3, "bad.jsonl:3: expected a line"),
        (4, "bad.jsonl:4: no piece has the digest 0"),
        (5, "bad.jsonl:5: unrecognized subcommand 'nothing'"),
        (6, "bad.jsonl:6: unexpected argument"),
        (7, "none of number 7"),
    ] {
        let message = refused(folder, &format!("job bad.jsonl {line}"));
        assert!(message.contains(expected), "{line}: {message}");
    }
    assert!(refused(folder, "job jobs.jsonl 17").contains("16 lines, none of number 17"));
    assert!(refused(folder, "job none.jsonl 1").contains("none.jsonl"));
    assert!(!folder.join("bad.jsonl.outcomes").exists());
}

/// JSON documents but for the words of the command.
fn without_words(document: &[u8]) -> serde_json::Value {
    let mut document: serde_json::Value = serde_json::from_slice(document).expect("JSON");
    document["pimlico"].as_object_mut().expect("an object").remove("argv").expect("words");
    document
}

#[test]
fn results_do_not_depend_on_threads() {
    let folder = TempDir::new().expect("a folder");
    for command in [
        SWEEP,
        "sweep programs --contexts 40,64",
        "sweep batch --memory 64 --max-context 32768 --requests 20",
        "run aim gemv --rows 70 --cols 4096 --channels 2",
        "run aim fc --model qwen1.5-1.8b --tp 64 --channels 2",
        "run l3 decode --tokens 5",
        "run aim decode --tokens 5 --channels 2",
    ] {
        let of = |threads| printed(folder.path(), &format!("{command} --threads {threads} --json"));
        assert_eq!(without_words(&of(1)), without_words(&of(2)), "{command}");
    }
}
