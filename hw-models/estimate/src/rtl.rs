// SPDX-License-Identifier: MIT
//! The RTL that is synthesised: that of the tree from which the program was built.

use include_dir::{Dir, include_dir};
use std::io;
use std::path::{Path, PathBuf};

static RTL: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../rtl");

/// The sources that `pimlico.f` lists, in its order, without the checkers, which are empty in synthesis.
pub fn sources() -> Vec<(&'static Path, &'static [u8])> {
    let list = RTL.get_file("pimlico.f").and_then(|list| list.contents_utf8());
    let paths = list.expect("a list of sources").lines().filter_map(|l| l.strip_prefix("rtl/"));
    let file = |path: &str| RTL.get_file(path).unwrap_or_else(|| panic!("no {path}"));
    let synthesised = paths.filter(|path| !path.ends_with("_checks.sv"));
    synthesised.map(file).map(|file| (file.path(), file.contents())).collect()
}

/// Writes them to a folder; returns the files.
pub fn write(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let write = |(path, contents): (&Path, &[u8])| {
        let file = folder.join(path.file_name().expect("a file"));
        std::fs::write(&file, contents)?;
        Ok(file)
    };
    sources().into_iter().map(write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_there_once() {
        let names: Vec<_> = sources().iter().filter_map(|(path, _)| path.file_name()).collect();
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        assert!(names.contains(&"bank_pu.sv".as_ref()));
        assert!(!names.contains(&"bank_pu_checks.sv".as_ref()));
    }
}
