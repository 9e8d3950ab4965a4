// SPDX-License-Identifier: MIT
//! A file that a command writes.

use super::place::{Place, folder_of};
use super::temporary::{TemporaryFile, lock};
use super::{WHOLE, Whole};
use crate::failure::Failure;
use crate::stdout;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// An output that can be written, as was checked when it was opened. What was there before stays until the command has
/// done its work: see [`put`](super::put). FIFOs and devices are written as it comes.
pub struct Output {
    /// As the user named it.
    name: PathBuf,
    to: To,
}

enum To {
    Stdout,
    Through(PathBuf),
    Place { place: PathBuf, new: TemporaryFile },
}

impl Output {
    /// Checks an output, before the work whose outcome it is to hold.
    pub fn open(name: &Path) -> Result<Self, Failure> {
        let open = || {
            Ok(match Place::claim(name)? {
                Place::Stdout => To::Stdout,
                Place::Through(path) => To::Through(path),
                Place::File(place) => {
                    let new = TemporaryFile::new_in(folder_of(&place), place.exists())?;
                    To::Place { place, new }
                }
            })
        };
        let name = name.to_owned();
        match open() {
            Ok(to) => Ok(Self { name, to }),
            Err(error) => Err(unwritten(&name, &error)),
        }
    }

    /// The same of a command whose report goes to standard output.
    pub fn beside_report(name: &Path) -> Result<Self, Failure> {
        let output = Self::open(name)?;
        match output.is_stdout() {
            true => {
                let message = format!("{}: standard output has the report", name.display());
                Err(Failure::Input(message))
            }
            false => Ok(output),
        }
    }

    /// Whether it goes to standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self.to, To::Stdout)
    }

    /// A file for who writes to files by name; see [`whole`](Self::whole).
    pub fn path(&self) -> &Path {
        match &self.to {
            To::Stdout => Path::new("/dev/stdout"),
            To::Through(path) => path,
            To::Place { new, .. } => new.path(),
        }
    }

    /// Why it cannot be written, with the user's name of it.
    pub fn failed(&self, error: &io::Error) -> Failure {
        unwritten(&self.name, error)
    }

    /// Writes it: this is all of it.
    pub fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &self.to {
            To::Stdout => stdout::write(bytes),
            To::Through(path) => {
                let file = File::options().append(true).open(path);
                file.and_then(|mut file| file.write_all(bytes))
            }
            To::Place { new, .. } => {
                let mut file = new.file();
                file.write_all(bytes)
            }
        };
        written.map_err(|error| self.failed(&error))?;
        self.whole()
    }

    /// What was written to its [`path`](Self::path) is all of it.
    pub fn whole(self) -> Result<(), Failure> {
        let Self { name, to } = self;
        let To::Place { place, new } = to else { return Ok(()) };
        new.file().sync_all().map_err(|error| unwritten(&name, &error))?;
        lock(&WHOLE).push(Whole::File(Staged { name, place, new }));
        Ok(())
    }
}

fn unwritten(name: &Path, error: &io::Error) -> Failure {
    Failure::file(name, error)
}

/// A file that is whole, and waits to be put in its place.
pub(super) struct Staged {
    name: PathBuf,
    place: PathBuf,
    new: TemporaryFile,
}

impl Staged {
    /// Whether it can be put there.
    pub(super) fn check(&self) -> Result<(), Failure> {
        replaced(&self.place).map(drop).map_err(|error| unwritten(&self.name, &error))
    }

    /// Puts it there, with the mode of what it replaces.
    pub(super) fn put(self) -> Result<(), Failure> {
        let Self { name, place, new } = self;
        let put = || {
            if let Some(old) = replaced(&place)? {
                take_over(&old, new.file())?;
            }
            new.persist(&place)
        };
        put().map_err(|error| unwritten(&name, &error))
    }
}

/// The file that is replaced, if there is one; what is no file is not.
pub(super) fn replaced(place: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_file() => Ok(Some(found)),
        Ok(_) => Err(io::Error::other("not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a file the owner, if this may be, and the mode of another.
pub(super) fn take_over(old: &Metadata, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = new.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        let _ = fchown(new, Some(old.uid()), Some(old.gid()));
    }
    new.set_permissions(old.permissions())
}
