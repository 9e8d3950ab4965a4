// SPDX-License-Identifier: MIT
//! Which of the RTL's sources a module is made of.

use super::BuildError;
use super::cache::Digest;
use super::source;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

#[cfg(test)]
#[path = "inputs_tests.rs"]
mod tests;

/// The file that lists the sources of a tree.
pub const LIST: &str = "pimlico.f";

/// The RTL's sources in order, each with the others that it names.
pub struct Sources {
    folder: PathBuf,
    /// From the folder, but for those of the user's own that stand elsewhere.
    files: Vec<PathBuf>,
    texts: Vec<String>,
    /// Of each file those that it names, and those that name it in a `bind`: they belong to it.
    needs: Vec<Vec<usize>>,
    /// From which file on all belong to every module: their names need not be those of their modules.
    own: usize,
}

impl Sources {
    /// Reads `files` of a folder, each of which holds the module or package that it is named after, and `own` files,
    /// which hold any, and take the place of those with the same name.
    pub fn read(
        folder: &Path,
        mut files: Vec<PathBuf>,
        own: &[PathBuf],
    ) -> Result<Self, BuildError> {
        files.retain(|file| own.iter().all(|own| own.file_stem() != file.file_stem()));
        let first_own = files.len();
        files.extend_from_slice(own);
        let text = |file: &PathBuf| {
            let path = folder.join(file);
            fs::read_to_string(&path).map_err(BuildError::file(&path))
        };
        let texts = files.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        let mut needs = vec![Vec::new(); files.len()];
        // The first file of each name: there are many words.
        let mut numbers = HashMap::new();
        for (number, file) in files.iter().enumerate() {
            let stem = file.file_stem().and_then(OsStr::to_str);
            if let Some(stem) = stem {
                numbers.entry(stem).or_insert(number);
            }
        }
        for (own, text) in texts.iter().enumerate() {
            let words = source::words(text);
            for (word, before) in words.iter().zip(std::iter::once(&"").chain(&words)) {
                if let Some(&other) = numbers.get(word).filter(|other| **other != own) {
                    needs[own].push(other);
                    if *before == "bind" {
                        needs[other].push(own);
                    }
                }
            }
        }
        Ok(Self { folder: folder.to_owned(), files, texts, needs, own: first_own })
    }

    /// The files that the list of a tree has.
    pub fn listed(folder: &Path) -> Result<Vec<PathBuf>, BuildError> {
        let list = folder.join(LIST);
        let text = fs::read_to_string(&list).map_err(BuildError::file(&list))?;
        Ok(text.lines().filter_map(|line| line.strip_prefix("rtl/")).map(PathBuf::from).collect())
    }

    /// Their folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What their folder is in, and its name there.
    pub fn root_and_name(&self) -> (&Path, &Path) {
        match (self.folder.parent(), self.folder.file_name()) {
            (Some(root), Some(name)) => (root, Path::new(name)),
            _ => (&self.folder, Path::new(".")),
        }
    }

    /// All files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether files of the user's own are among them.
    pub fn has_own(&self) -> bool {
        self.own < self.files.len()
    }

    /// The text of the file of that name.
    pub fn text(&self, name: &str) -> Option<&str> {
        let file = self.files.iter().position(|file| file.ends_with(name));
        file.map(|file| self.texts[file].as_str())
    }

    /// The folders of the files of the user's own.
    pub fn own_folders(&self) -> BTreeSet<&Path> {
        self.files[self.own..].iter().filter_map(|file| file.parent()).collect()
    }

    /// Adds the name and text of a file to a digest.
    pub fn add_to(&self, digest: Digest, file: &Path) -> Digest {
        let text = self.files.iter().zip(&self.texts).find(|(own, _)| *own == file);
        let digest = digest.add(file.as_os_str().as_encoded_bytes());
        digest.add(text.map_or("", |(_, text)| text))
    }

    /// The files that module `top` is made of, in order.
    pub fn of(&self, top: &str) -> Result<Vec<PathBuf>, BuildError> {
        self.of_without(top, &[])
    }

    /// The same without the files of the modules `without`, and what only those need.
    pub fn of_without(&self, top: &str, without: &[&str]) -> Result<Vec<PathBuf>, BuildError> {
        let first = self.files.iter().position(|file| names(file, top));
        let first = first.or_else(|| self.declaring(top)).ok_or_else(|| BuildError::NoModule {
            module: top.to_owned(),
            folder: self.folder.clone(),
        })?;
        let mut needed = vec![false; self.files.len()];
        let mut open: Vec<usize> = (self.own..self.files.len()).chain([first]).collect();
        while let Some(file) = open.pop() {
            let is_left_out = without.iter().any(|module| names(&self.files[file], module));
            if !is_left_out && !std::mem::replace(&mut needed[file], true) {
                open.extend(&self.needs[file]);
            }
        }
        let files = self.files.iter().zip(needed).filter(|(_, needed)| *needed);
        Ok(files.map(|(file, _)| file.clone()).collect())
    }

    /// The file of the user's own that declares a module.
    fn declaring(&self, module: &str) -> Option<usize> {
        (self.own..self.files.len()).find(|file| {
            let words = source::words(&self.texts[*file]);
            words.windows(2).any(|pair| pair == ["module", module])
        })
    }
}

fn names(file: &Path, module: &str) -> bool {
    file.file_stem().is_some_and(|stem| stem == module)
}
