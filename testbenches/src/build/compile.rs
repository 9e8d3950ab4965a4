// SPDX-License-Identifier: MIT
//! Compiling what Verilator made, and nothing twice: an object stays as long as the text that it was
//! compiled from.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The one file of a folder that is compiled. It includes the others.
pub const SOURCE: &str = "all.cpp";

/// The objects of `dirs`, each of whose sources may include files of its own folder and of `shim`.
pub fn compile(compiler: &cc::Build, shim: &Path, dirs: &[PathBuf]) -> Vec<PathBuf> {
    let object = |dir: &Path, what: &str| dir.with_extension(what);
    let mut stale = Vec::new();
    for dir in dirs {
        let digest = digest(&[shim, dir]).to_string();
        let known = fs::read_to_string(object(dir, "digest")).is_ok_and(|known| known == digest);
        if !known || !object(dir, "o").exists() {
            stale.push((dir, digest));
        }
    }
    let mut compiler = compiler.clone();
    for (dir, _) in &stale {
        compiler.include(dir).file(dir.join(SOURCE));
    }
    let compiled = if stale.is_empty() { Vec::new() } else { compiler.compile_intermediates() };
    for ((dir, digest), file) in stale.iter().zip(compiled) {
        fs::rename(&file, object(dir, "o")).expect("OUT_DIR is writable");
        fs::write(object(dir, "digest"), digest).expect("OUT_DIR is writable");
    }
    dirs.iter().map(|dir| object(dir, "o")).collect()
}

/// Of the names and contents of all C++ in the folders.
fn digest(dirs: &[&Path]) -> u64 {
    let mut files: Vec<PathBuf> = dirs
        .iter()
        .flat_map(|dir| fs::read_dir(dir).expect("the folder is there"))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "h" || e == "cpp"))
        .collect();
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
        fs::read(&file).expect("a readable file").hash(&mut hasher);
    }
    hasher.finish()
}
