// SPDX-License-Identifier: MIT
//! A folder to which a command writes files.

use super::claims::{self, Identity};
use super::output::{replaced, take_over};
use super::temporary::{TemporaryFolder, lock};
use super::{WHOLE, Whole};
use crate::failure::Failure;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A folder that can be written, as was checked when it was opened. Its files are written to another one beside it and
/// moved there when the command has done its work: all of them, or none.
pub struct OutputFolder {
    /// As the user named it.
    name: PathBuf,
    new: TemporaryFolder,
}

impl OutputFolder {
    /// Checks a folder, which need not be there, before the work whose outcome it is to hold.
    pub fn open(name: &Path) -> Result<Self, Failure> {
        let near = name.ancestors().find(|near| fs::symlink_metadata(near).is_ok());
        let near = near.filter(|near| !near.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let new = TemporaryFolder::new_in(near).map_err(|error| Failure::file(name, &error))?;
        Ok(Self { name: name.to_owned(), new })
    }

    /// Where its files are written until they are whole.
    pub fn path(&self) -> &Path {
        self.new.path()
    }

    /// Why it cannot be written, with the user's name of it.
    pub fn failed(&self, error: &io::Error) -> Failure {
        Failure::file(&self.name, error)
    }

    /// Whether those that it has so far can be put there.
    #[cfg_attr(not(feature = "cosim"), expect(dead_code))]
    pub fn check(&self) -> Result<(), Failure> {
        let moves = moves(self.new.path(), &self.name);
        let checked =
            moves.and_then(|moves| moves.iter().try_for_each(|one| one.check().map(drop)));
        checked.map_err(|error| self.failed(&error))
    }

    /// All its files are written.
    pub fn whole(self) -> Result<(), Failure> {
        let moves = moves(self.new.path(), &self.name).map_err(|error| self.failed(&error))?;
        let Self { name, new } = self;
        lock(&WHOLE).push(Whole::Folder(Staged { name, new, moves }));
        Ok(())
    }
}

/// Files that are whole, and wait to be put in their places.
pub(super) struct Staged {
    name: PathBuf,
    #[expect(dead_code, reason = "removed with this")]
    new: TemporaryFolder,
    moves: Vec<Move>,
}

/// A file and its place.
struct Move {
    from: PathBuf,
    to: PathBuf,
}

impl Staged {
    /// Whether they can be put there.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let claim = |one: &Move| match one.check()? {
            Some(found) => Identity::found(&found).map_or(Ok(()), claims::written),
            None => Ok(()),
        };
        self.moves.iter().try_for_each(claim).map_err(|error| Failure::file(&self.name, &error))
    }

    /// Puts them there, in folders that are made if need be.
    pub(super) fn put(self) -> Result<(), Failure> {
        let missing: Vec<&Path> = self.name.ancestors().take_while(|near| !near.exists()).collect();
        let put = self.moves.iter().try_for_each(Move::put);
        put.map_err(|error| {
            for folder in missing {
                let _ = fs::remove_dir(folder); // it is empty, or was not made
            }
            Failure::file(&self.name, &error)
        })
    }
}

impl Move {
    /// What is replaced, if it may be.
    fn check(&self) -> io::Result<Option<Metadata>> {
        let wrong = |what| io::Error::other(format!("{} is {what}", self.to.display()));
        match fs::metadata(&self.to) {
            Ok(found) if found.is_file() => Ok(Some(found)),
            Ok(_) => Err(wrong("not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => match self.to.is_symlink() {
                true => Err(wrong("a symbolic link to a file that is not there")),
                false => Ok(None),
            },
            Err(error) => Err(error),
        }
    }

    fn put(&self) -> io::Result<()> {
        let Self { from, to } = self;
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        // Where a name leads to a file elsewhere, that is the one to replace.
        let to = fs::canonicalize(to).unwrap_or_else(|_| to.clone());
        if let Some(old) = replaced(&to)? {
            take_over(&old, &File::open(from)?)?;
        }
        fs::rename(from, to)
    }
}

/// The files in a folder and those below it, with their places in another.
fn moves(from: &Path, to: &Path) -> io::Result<Vec<Move>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true => all.extend(moves(&from, &to)?),
            false => {
                File::open(&from)?.sync_all()?;
                all.push(Move { from, to });
            }
        }
    }
    Ok(all)
}
