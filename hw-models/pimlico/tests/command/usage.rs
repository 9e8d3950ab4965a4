// SPDX-License-Identifier: MIT
//! How the command is spelled and documented: former spellings, help, completions, manual pages, and what a
//! document says of the command that made it.

use super::pimlico;
use crate::common;
use serde_json::{Value, json};
use std::process::Output;

fn printed(arguments: &str) -> String {
    let output = pimlico(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_former_spelling_does_the_same_and_says_the_present_one() {
    for (former, present) in [
        ("run --context 40 --json", "run l3 attention --context 40 --json"),
        ("run --op gemv --rows 9 --cols 9", "run l3 gemv --rows 9 --cols 9"),
        ("run --cols 9 --op gemv --system aim --rows 9", "run aim gemv --cols 9 --rows 9"),
        (
            "run --device gddr6-aim --context 40",
            "run aim attention --device gddr6-aim --context 40",
        ),
    ] {
        let (old, new) = (pimlico(former), pimlico(present));
        assert_eq!((old.status.code(), new.status.code()), (Some(0), Some(0)), "{former}");
        let without_origin = |output: &Output| match output.stdout.starts_with(b"{") {
            true => common::document(&output.stdout).to_string(),
            false => String::from_utf8_lossy(&output.stdout).into_owned(),
        };
        assert_eq!(without_origin(&old), without_origin(&new), "{former}");
        let note = String::from_utf8(old.stderr).expect("text");
        assert_eq!(note.lines().count(), 1, "{note}");
        assert!(note.contains(&format!("`pimlico {present}`")), "{note}");
        assert!(new.stderr.is_empty(), "{present}");
    }
    let refused = pimlico("run --op gemv --heads 2");
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
}

#[test]
fn an_operators_help_has_its_options_alone() {
    let run = printed("run --help");
    assert!(run.contains("pimlico run l3 layer --model llama-3.1-8b"), "{run}");
    let attention = printed("run l3 attention --help");
    for there in
        ["--context-max", "--normalise", "Requests and heads:", "Examples:", "llama-3.1-8b"]
    {
        assert!(attention.contains(there), "{there}: {attention}");
    }
    for absent in ["--rows", "--tp", "--mode-change", "--prompt", "--op", "--system"] {
        assert!(!attention.contains(absent), "{absent}: {attention}");
    }
    for (command, heading) in [("l3 layer", "Layer:"), ("aim fc", "Matrices:")] {
        let help = printed(&format!("run {command} --help"));
        let of_its_own = |line: &str| line == heading || line == "Language model:";
        let headings: Vec<_> = help.lines().filter(|line| of_its_own(line)).collect();
        assert_eq!(headings, [heading, "Language model:"], "{help}");
    }
    let decode = printed("run aim decode --help");
    assert!(decode.contains("--tokenizer") && !decode.contains("--gear"), "{decode}");
}

#[test]
fn the_first_page_says_where_to_start() {
    let page = printed("--help");
    for there in ["Start here:", "pimlico run l3 decode", "Words (GLOSSARY.md has more):", "tCK"] {
        assert!(page.contains(there), "{there}: {page}");
    }
    let widest = page.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{page}");
}

#[test]
fn the_help_of_every_command_with_models_lists_them() {
    for command in [
        "run l3 layer",
        "sweep io-buffers",
        "sweep groups",
        "sweep programs",
        "dpa build",
        "estimate power",
    ] {
        let help = printed(&format!("{command} --help"));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("llama-3.1-8b, llama-3.2-1b"), "{command}: {help}");
    }
    assert!(printed("sweep batch --help").contains("mpt-7b-storywriter"));
}

#[test]
fn the_help_of_every_command_with_units_lists_them() {
    for command in ["cosim", "estimate area", "estimate libraries", "estimate power"] {
        let help = printed(&format!("{command} --help"));
        let (_, units) = help.split_once("\nUnits; ").expect(command);
        let units = units.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            units.contains(": activation_window, adder_unit, aim_channel, "),
            "{command}: {units}"
        );
        assert!(units.ends_with(" tree_pu, vector_unit, weight_path"), "{command}: {units}");
    }
}

#[test]
fn the_help_of_expand_shows_the_files_that_it_reads() {
    let help = printed("dpa expand --help");
    let lines_of = |begin: &str, end: &str| {
        let lines = help.lines().map(str::trim_end).skip_while(|line| *line != begin);
        lines.take_while(|line| !line.starts_with(end)).collect::<Vec<_>>().join("\n") + "\n"
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let [rows, program] = ["rows.txt", "score.txt"].map(file);
    std::fs::write(&rows, lines_of("  # request, virtual row, row", "The text")).expect("writable");
    std::fs::write(&program, lines_of("  loop all/512 {", "N+S@L")).expect("writable");
    let text = printed(&format!("dpa expand {program} --tcur 5=530 --va2pa {rows}"));
    assert!(text.contains("request 5, T_cur 530: ") && text.contains(" 100 |"), "{text}");
}

#[test]
fn the_examples_of_the_help_are_read() {
    let mut read = 0;
    for command in
        ["run", "run l3 attention", "run l3 gemv", "run l3 fc", "run l3 layer", "run l3 decode"]
    {
        let help = printed(&format!("{command} --help"));
        for line in help.lines().filter_map(|line| line.strip_prefix("  pimlico ")) {
            let line = line.split("   ").next().expect("a command");
            // Nothing runs: the seed is wrong, which is told where all before it is understood.
            let output = pimlico(&format!("{line} --seed x").replace("'in a small town'", "town"));
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("invalid value 'x' for '--seed <S>'"), "{line}: {said}");
            read += 1;
        }
    }
    assert!(read > 12, "{read}");
}

#[test]
fn shells_complete_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&format!("completions {shell}"));
        for word in ["attention", "sweep", "numerics"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // clap_complete's fish goes no deeper than two subcommands.
        assert!(script.contains("rl-mac") || shell == "fish", "{shell}");
    }
    assert_eq!(pimlico("completions tcsh").status.code(), Some(2));
}

#[test]
fn there_is_a_page_for_each_command() {
    let page = printed("man");
    assert!(page.contains(".TH pimlico 1") && page.contains("pimlico\\-run(1)"), "{page}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let inner = folder.path().join("man1");
    assert_eq!(printed(&format!("man --dir {}", inner.display())), "");
    for page in ["pimlico.1", "pimlico-run-l3-attention.1", "pimlico-sweep-dram.1"] {
        let text = std::fs::read_to_string(inner.join(page)).expect(page);
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(!inner.join("pimlico-run-aim-program.1").exists());
}

#[test]
fn each_kind_of_document_has_a_schema() {
    let kinds = printed("schema");
    assert!(kinds.lines().count() > 20 && kinds.starts_with("run\n"), "{kinds}");
    for kind in kinds.lines() {
        let schema: Value = serde_json::from_str(&printed(&format!("schema {kind}"))).expect(kind);
        assert_eq!(schema["required"][0], "pimlico", "{kind}");
    }
    assert_eq!(pimlico("schema nothing").status.code(), Some(2));
}

#[test]
fn a_document_begins_with_what_made_it() {
    let of = |arguments: &str| -> Value {
        let document = printed(arguments);
        common::document(document.as_bytes());
        serde_json::from_str::<Value>(&document).expect("one")["pimlico"].take()
    };
    let run = of("run l3 gemv --rows 9 --cols 9 --seed 7 --json");
    let argv =
        ["pimlico", "run", "l3", "gemv", "--rows", "9", "--cols", "9", "--seed", "7", "--json"];
    assert_eq!(run["argv"], json!(argv));
    assert_eq!((&run["version"], &run["seed"]), (&env!("CARGO_PKG_VERSION").into(), &7.into()));
    assert_eq!(run["schema"], "run/1");
    let digits = run["rtl_sha256"].as_str().expect("text");
    assert!(digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit()), "{digits}");
    assert_eq!(run.as_object().expect("an object").len(), 5);
    assert_eq!(of("sweep numerics --context 20 --json")["seed"], 1, "where none is given");
    for without in [
        "device list --json",
        "sweep programs --contexts 64 --json",
        "device show gddr6-aim --json",
    ] {
        assert_eq!(of(without)["seed"], Value::Null, "{without}");
    }
}
