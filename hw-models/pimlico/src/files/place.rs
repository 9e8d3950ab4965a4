// SPDX-License-Identifier: MIT
//! Where an output goes.

use super::claims::{self, Identity};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Where an output goes.
#[derive(Debug)]
pub(super) enum Place {
    /// To standard output.
    Stdout,
    /// To a FIFO, a device or an open descriptor, as it comes.
    Through(PathBuf),
    /// To a regular file, by its own name.
    File(PathBuf),
}

/// Symbolic links that are followed, at the most.
const MOST_LINKS: usize = 40;

impl Place {
    /// That of an output of this name. It can be written, and is no other file of this command.
    pub(super) fn claim(name: &Path) -> io::Result<Self> {
        match descriptor(name).as_deref() {
            Some("1") => {
                claims::written(Identity::Stdout)?;
                return Ok(Self::Stdout);
            }
            Some(_) => return Ok(Self::Through(name.to_owned())),
            None => {}
        }
        match fs::symlink_metadata(name) {
            Ok(_) => Self::found(name),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::new(name),
            Err(error) => Err(error),
        }
    }

    /// One where there is something.
    fn found(name: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(name).map_err(|error| match error.kind() {
            ErrorKind::NotFound => io::Error::other("a symbolic link to a file that is not there"),
            _ => error,
        })?;
        let kind = metadata.file_type();
        if !(kind.is_file() || kind.is_fifo() || kind.is_char_device()) {
            return Err(io::Error::other("not a regular file"));
        }
        if let Some(identity) = Identity::found(&metadata) {
            is_not_stdout(&identity)?;
            claims::written(identity)?;
        }
        if kind.is_fifo() {
            return Ok(Self::Through(name.to_owned())); // to open it is to wait for a reader
        }
        OpenOptions::new().write(true).open(name)?;
        match kind.is_file() {
            true => Ok(Self::File(fs::canonicalize(name)?)),
            false => Ok(Self::Through(name.to_owned())),
        }
    }

    /// One where there is nothing.
    fn new(name: &Path) -> io::Result<Self> {
        let is_folder = name.as_os_str().as_encoded_bytes().ends_with(b"/");
        let Some(file) = name.file_name().filter(|_| !is_folder) else {
            return Err(io::Error::other("expected the name of a file"));
        };
        let folder = fs::canonicalize(folder_of(name))?;
        claims::written(Identity::new(&fs::metadata(&folder)?, file.to_owned()))?;
        Ok(Self::File(folder.join(file)))
    }
}

/// The folder that a file is in.
pub(super) fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// What the number of the open descriptor is that a name leads to, `-` being standard output.
fn descriptor(name: &Path) -> Option<String> {
    let mut name = name.to_owned();
    for _ in 0..MOST_LINKS {
        match name.to_str() {
            Some("-" | "/dev/stdout") => return Some("1".to_owned()),
            Some("/dev/stderr") => return Some("2".to_owned()),
            _ => {}
        }
        let folder = folder_of(&name);
        if [Path::new("/dev/fd"), Path::new("/proc/self/fd")].contains(&folder) {
            return Some(name.file_name()?.to_str()?.to_owned());
        }
        let to = fs::read_link(&name).ok()?;
        name = folder.join(to);
    }
    None
}

/// Refuses the file that standard output goes to: what is printed would be lost.
fn is_not_stdout(identity: &Identity) -> io::Result<()> {
    let own = io::stdout().as_fd().try_clone_to_owned();
    let own = own.and_then(|stdout| fs::File::from(stdout).metadata());
    let own: Option<Metadata> = own.ok().filter(Metadata::is_file);
    match own.and_then(|own| Identity::found(&own)) {
        Some(own) if own == *identity => {
            Err(io::Error::other("standard output goes there; `-` writes to it"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_standard_output_are_known() {
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            assert_eq!(descriptor(Path::new(name)).as_deref(), Some("1"), "{name}");
        }
        assert_eq!(descriptor(Path::new("/dev/fd/63")).as_deref(), Some("63"));
        for name in ["./-", "a", "/dev/null", "fd/1", ""] {
            assert_eq!(descriptor(Path::new(name)), None, "{name}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/stdout", &link).expect("a link");
        assert_eq!(descriptor(&link).as_deref(), Some("1"));
        let round = folder.path().join("round");
        std::os::unix::fs::symlink("round", &round).expect("a link");
        assert_eq!(descriptor(&round), None);
        assert!(Place::claim(&round).is_err());
    }

    #[test]
    fn a_place_is_one_output_by_any_of_its_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(folder.path(), at("same")).expect("a link");
        fs::write(at("there"), "").expect("writable");
        std::os::unix::fs::symlink("there", at("link")).expect("a link");
        for (one, other) in [("new", "same/./new"), ("there", "same/link")] {
            Place::claim(&at(one)).expect("the first");
            let error = Place::claim(&at(other)).expect_err("the second").to_string();
            assert_eq!(error, "another output of the same command");
        }
        for _ in 0..2 {
            assert!(matches!(Place::claim(Path::new("/dev/null")), Ok(Place::Through(_))));
        }
    }
}
