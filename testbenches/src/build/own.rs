// SPDX-License-Identifier: MIT
//! RTL of the user's own, in place of the built-in one.

use super::BuildError;
use super::inputs::LIST;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// RTL of the user's own.
///
/// A folder with a list `pimlico.f` is a whole tree in place of the built-in one. Another has modules that stand beside
/// the built-in ones, and in place of those of the same name.
#[derive(Clone, Debug)]
pub struct Own {
    /// The folder.
    pub folder: PathBuf,
    /// The module that is simulated in place of the unit's.
    pub module: Option<String>,
    /// Parameters of the module, in place of the unit's of the same name. A module of another name gets no others.
    pub parameters: Vec<(String, i64)>,
}

impl Own {
    /// The folder, with its path from the root.
    pub(super) fn root(&self) -> Result<PathBuf, BuildError> {
        let root = self.folder.canonicalize().map_err(BuildError::file(&self.folder))?;
        if root.is_dir() { Ok(root) } else { Err(BuildError::NoSources(self.folder.clone())) }
    }

    /// Whether the folder is a whole tree.
    pub(super) fn is_tree(&self) -> bool {
        self.folder.join(LIST).is_file()
    }

    /// The SHA-256 of all that the RTL is made of: of the paths and the texts of the sources, headers and lists.
    pub fn sha256(&self) -> Result<String, BuildError> {
        let (root, mut files) = (self.root()?, Vec::new());
        collect(&root, &["sv", "v", "svh", "vh", "f"], &mut files)?;
        files.sort();
        let mut hash = Sha256::new();
        for file in files {
            let text = fs::read(&file).map_err(BuildError::file(&file))?;
            let path = file.strip_prefix(&root).unwrap_or(&file).as_os_str().as_encoded_bytes();
            for part in [path, &text] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The sources in the folder, sorted.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, BuildError> {
        let mut files = Vec::new();
        collect(&self.root()?, &["sv", "v"], &mut files)?;
        files.sort();
        if files.is_empty() { Err(BuildError::NoSources(self.folder.clone())) } else { Ok(files) }
    }
}

/// Adds the files with these ends in a folder and those below it. Links are not followed into folders: they may be circular.
fn collect(folder: &Path, ends: &[&str], files: &mut Vec<PathBuf>) -> Result<(), BuildError> {
    let failed = BuildError::file(folder);
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        let path = entry.path();
        let is_source = path.extension().is_some_and(|end| ends.iter().any(|e| end == *e));
        if entry.file_type().map_err(&failed)?.is_dir() {
            collect(&path, ends, files)?;
        } else if is_source {
            files.push(path);
        }
    }
    Ok(())
}
