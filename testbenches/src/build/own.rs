// SPDX-License-Identifier: MIT
//! RTL of the user's own, in place of the built-in one.

use super::BuildError;
use super::inputs::LIST;
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

    /// The sources in the folder, sorted.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, BuildError> {
        let mut files = Vec::new();
        collect(&self.root()?, &mut files)?;
        files.sort();
        if files.is_empty() { Err(BuildError::NoSources(self.folder.clone())) } else { Ok(files) }
    }
}

/// Adds the sources in a folder and those below it. Links are not followed into folders: they may be circular.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), BuildError> {
    let failed = BuildError::file(folder);
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        let path = entry.path();
        let is_source = path.extension().is_some_and(|e| e == "sv" || e == "v");
        if entry.file_type().map_err(&failed)?.is_dir() {
            collect(&path, files)?;
        } else if is_source {
            files.push(path);
        }
    }
    Ok(())
}
