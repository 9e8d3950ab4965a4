// SPDX-License-Identifier: MIT
//! What the C++ of a unit depends on: which of the RTL's sources, and whether any of it has changed.

use crate::source;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The RTL's sources in order, each with the others that it names.
pub struct Sources {
    files: Vec<PathBuf>,
    /// Of each file those that it names, and those that name it in a `bind`: they belong to it.
    needs: Vec<Vec<usize>>,
}

impl Sources {
    /// Reads `files`, each of which holds the module or package that it is named after.
    pub fn read(files: Vec<PathBuf>) -> Result<Self, String> {
        let mut needs = vec![Vec::new(); files.len()];
        let number = |word: &str| files.iter().position(|file| names(file, word));
        for (own, file) in files.iter().enumerate() {
            let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
            let words = source::words(&text);
            for (word, before) in words.iter().zip(std::iter::once(&"").chain(&words)) {
                if let Some(other) = number(word).filter(|other| *other != own) {
                    needs[own].push(other);
                    if *before == "bind" {
                        needs[other].push(own);
                    }
                }
            }
        }
        Ok(Self { files, needs })
    }

    /// All files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The files that module `top` is made of, in order.
    pub fn of(&self, top: &str) -> Result<Vec<PathBuf>, String> {
        self.of_without(top, "")
    }

    /// The same without the file of module `without`, and what only that needs.
    pub fn of_without(&self, top: &str, without: &str) -> Result<Vec<PathBuf>, String> {
        let first = self.files.iter().position(|file| names(file, top));
        let first = first.ok_or_else(|| format!("{top}.sv is not among the sources of the RTL"))?;
        let mut needed = vec![false; self.files.len()];
        let mut open = vec![first];
        while let Some(file) = open.pop() {
            if !names(&self.files[file], without) && !std::mem::replace(&mut needed[file], true) {
                open.extend(&self.needs[file]);
            }
        }
        let files = self.files.iter().zip(needed).filter(|(_, needed)| *needed);
        Ok(files.map(|(file, _)| file.clone()).collect())
    }
}

fn names(file: &Path, module: &str) -> bool {
    file.file_stem().is_some_and(|stem| stem == module)
}

/// The record of what a folder was made from. It stands beside the folder.
pub struct Stamp {
    file: PathBuf,
}

impl Stamp {
    /// The stamp of `dir`.
    pub fn of(dir: &Path) -> Self {
        Self { file: dir.with_extension("stamp") }
    }

    /// Whether the folder was made with these `arguments` from files that have not changed since.
    pub fn holds(&self, arguments: &[String]) -> bool {
        let Ok(text) = fs::read_to_string(&self.file) else { return false };
        let mut lines = text.lines();
        let digest = lines.next();
        let files: Vec<PathBuf> = lines.map(PathBuf::from).collect();
        digest.is_some() && digest == digest_of(arguments, &files).as_deref()
    }

    /// The folder is about to change.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.file);
    }

    /// The folder was made with these `arguments` from `files`.
    pub fn write(&self, arguments: &[String], files: &[PathBuf]) -> Result<(), String> {
        let digest = digest_of(arguments, files).ok_or("a source is gone while it is compiled")?;
        let lines = files.iter().map(|file| format!("{}\n", file.display()));
        let text = format!("{digest}\n{}", lines.collect::<String>());
        fs::write(&self.file, text).map_err(|e| format!("{}: {e}", self.file.display()))
    }
}

/// Of the arguments, and of the names and contents of the files; none if one cannot be read.
fn digest_of(arguments: &[String], files: &[PathBuf]) -> Option<String> {
    let mut hasher = DefaultHasher::new();
    arguments.hash(&mut hasher);
    for file in files {
        file.hash(&mut hasher);
        fs::read(file).ok()?.hash(&mut hasher);
    }
    Some(hasher.finish().to_string())
}

/// The SystemVerilog that Verilator has read, as its dependency file says.
pub fn dependencies(text: &str) -> Vec<PathBuf> {
    let (_, inputs) = text.split_once(" : ").unwrap_or_default();
    let is_source = |path: &&str| [".sv", ".svh", ".vlt"].iter().any(|end| path.ends_with(end));
    let mut files: Vec<PathBuf> =
        inputs.split_whitespace().filter(is_source).map(PathBuf::from).collect();
    files.dedup();
    files
}
