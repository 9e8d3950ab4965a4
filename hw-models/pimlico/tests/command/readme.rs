// SPDX-License-Identifier: MIT
//! The documents show what the command prints: every `console` block in a Markdown file of the repository runs, in a
//! copy of its document. If a fence names a file after its language (`text score.txt`), the block is that file, in the
//! folder in which the commands of the document run. In a block `...` stands for any lines, and `[..]` for any part of
//! a line.
//!
//! `TRYCMD=overwrite cargo test -p pimlico --test readme --features cosim` writes the present output into the documents.

use std::fs;
use std::path::{Path, PathBuf};

/// Beginnings of the commands that do not run here, and the reasons.
const NOT_RUN: [(&str, &str); 2] = [
    ("$ pimlico run l3 decode --weights stories260K.bin", "the weights are not in the repository"),
    ("$ pimlico cosim --coverage", "needs the RTL that scripts/coverage builds"),
];

/// Words of a command that needs a cargo feature, the feature, and whether it is there.
const FEATURES: [(&str, &str, bool); 3] = [
    ("$ pimlico cosim ", "cosim", cfg!(feature = "cosim")),
    ("--backend rtl", "rtl", cfg!(feature = "rtl")),
    ("--backend lockstep", "rtl", cfg!(feature = "rtl")),
];

/// Fence of a block that runs, and the one that replaces it in the copy if the block does not run.
const RUN: &str = "```console";
const LEFT_OUT: &str = "```console,ignore";

/// A fenced block of a document.
struct Block<'a> {
    /// Line of its fence, from 0 on.
    line: usize,
    /// Language, and the name of a file.
    info: &'a str,
    lines: Vec<&'a str>,
}

impl Block<'_> {
    /// The reason why it does not run.
    fn why_not(&self) -> Option<String> {
        let not_run = |line: &&str| NOT_RUN.iter().find(|(start, _)| line.starts_with(start));
        if let Some((_, reason)) = self.lines.iter().find_map(not_run) {
            return Some(reason.to_string());
        }
        let has =
            |word: &str| self.lines.iter().any(|line| is_command(line) && line.contains(word));
        let missing = FEATURES.iter().find(|(word, _, is_built)| !is_built && has(word));
        missing.map(|(_, feature, _)| format!("needs the feature `{feature}`"))
    }
}

/// Whether a line is a command, or the rest of one.
fn is_command(line: &str) -> bool {
    line.starts_with("$ ") || line.starts_with("> ")
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((line, fence)) = lines.next() {
        assert!(!fence.starts_with("$ "), "line {}: a command outside of a block", line + 1);
        if let Some(info) = fence.strip_prefix("```") {
            let lines = lines.by_ref().map(|(_, line)| line);
            let lines = lines.take_while(|line| !line.starts_with("```")).collect();
            blocks.push(Block { line, info, lines });
        }
    }
    blocks
}

/// A document in which the blocks that do not run are marked.
fn copy(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().collect();
    for block in blocks(text).iter().filter(|block| block.info == "console") {
        if let Some(reason) = block.why_not() {
            eprintln!("not run: {}: {reason}", block.lines[0]);
            lines[block.line] = LEFT_OUT;
        }
    }
    lines.join("\n") + "\n"
}

/// Adds the Markdown files below a folder that have a `console` block.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(".");
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            documents(&path, found);
        } else if name.ends_with(".md") {
            let text = fs::read_to_string(&path).expect("a document");
            if blocks(&text).iter().any(|block| block.info == "console") {
                found.push(path);
            }
        }
    }
}

/// Writes the copy of a document, with the files that its commands read in a folder beside it.
fn prepare(document: &Path, to: &Path) {
    let text = fs::read_to_string(document).expect("a document");
    let folder = to.with_extension("in");
    fs::create_dir_all(&folder).expect("a folder");
    for block in blocks(&text) {
        let place = || format!("{}:{}", document.display(), block.line + 1);
        assert!(!block.info.is_empty(), "{}: what kind of block is it?", place());
        let shows = block.lines.iter().any(|line| line.starts_with("$ "));
        assert_eq!(shows, block.info == "console", "{}: a block of commands?", place());
        if let Some((_, file)) = block.info.split_once(' ') {
            fs::write(folder.join(file), block.lines.join("\n") + "\n").expect("a file");
        }
    }
    fs::write(to, copy(&text)).expect("a copy");
}

#[test]
fn the_documents_show_what_the_command_prints() {
    let root = Path::new(pimlico_rtl::FOLDER).parent().expect("the repository");
    let copies = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    fs::remove_dir_all(&copies).ok();
    let mut found = Vec::new();
    documents(root, &mut found);
    let cases = trycmd::TestCases::new();
    cases.register_bin("pimlico", PathBuf::from(env!("CARGO_BIN_EXE_pimlico")));
    let copy_of = |document: &Path| copies.join(document.strip_prefix(root).expect("below"));
    for document in &found {
        prepare(document, &copy_of(document));
        cases.case(copy_of(document));
    }
    assert!(found.contains(&root.join("README.md")), "{found:?}");
    cases.run();
    if std::env::var_os("TRYCMD").is_some_and(|mode| mode == "overwrite") {
        for document in &found {
            let text = fs::read_to_string(copy_of(document)).expect("a copy");
            fs::write(document, text.replace(LEFT_OUT, RUN)).expect("a document");
        }
    }
}

#[test]
fn what_does_not_run_is_there() {
    let root = Path::new(pimlico_rtl::FOLDER).parent().expect("the repository");
    let mut found = Vec::new();
    documents(root, &mut found);
    let texts: Vec<_> = found.iter().map(|path| fs::read_to_string(path).expect("text")).collect();
    let lines: Vec<_> = texts.iter().flat_map(|text| text.lines()).collect();
    for (start, _) in NOT_RUN {
        assert!(lines.iter().any(|line| line.starts_with(start)), "{start}");
    }
}
