// SPDX-License-Identifier: MIT
//! The RTL that is synthesised: that of the tree from which the program was built.

use include_dir::{Dir, include_dir};
use std::io;
use std::path::{Path, PathBuf};

static RTL: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../rtl");

/// The sources, by path.
pub fn sources() -> Vec<(&'static Path, &'static [u8])> {
    let mut sources = Vec::new();
    let mut folders = vec![&RTL];
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        let files = folder.files().filter(|f| f.path().extension().is_some_and(|e| e == "sv"));
        sources.extend(files.map(|file| (file.path(), file.contents())));
    }
    sources.sort();
    sources
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
    }
}
