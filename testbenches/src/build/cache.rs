// SPDX-License-Identifier: MIT
//! A folder of what has been made, each under a digest of what it was made from:
//!
//! ```text
//! rtl/fp_mul__bfloat16/3f0c.../unit.so
//! rtl/fp_mul__bfloat16/lock
//! ```
//!
//! It is that of `PIMLICO_CACHE`, or `pimlico` in the user's folder of caches.

use super::BuildError;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, io};

/// How many versions of a thing are kept: those that were used last.
const KEPT: usize = 4;

/// What the name of a version that is being made begins with.
const UNFINISHED: &str = ".making-";

/// A digest of what a thing is made from.
#[derive(Clone, Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Adds a part.
    pub fn add(mut self, part: impl AsRef<[u8]>) -> Self {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// The name of what has it: its first 16 bytes.
    pub fn name(&self) -> String {
        self.0.clone().finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The folder.
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// That of this user.
    pub fn open() -> Result<Self, BuildError> {
        let folder = |name, below: &str| {
            let folder = env::var_os(name).filter(|folder| !folder.is_empty());
            folder.map(|folder| Path::new(&folder).join(below))
        };
        let root = folder("PIMLICO_CACHE", "")
            .or_else(|| folder("XDG_CACHE_HOME", "pimlico"))
            .or_else(|| folder("HOME", ".cache/pimlico"));
        let root = root.ok_or(BuildError::NoCache)?.join("rtl");
        fs::create_dir_all(&root).map_err(BuildError::file(&root))?;
        // Verilator runs in another folder.
        let root = root.canonicalize().map_err(BuildError::file(&root))?;
        Ok(Self { root })
    }

    /// The folder of a version of a thing, whether it is there or not.
    pub fn place(&self, name: &str, digest: &Digest) -> PathBuf {
        self.root.join(name).join(digest.name())
    }

    /// The folder of a version of a thing; `make` fills it if it is not there. It appears when it is whole. Another
    /// process that wants the same waits.
    pub fn product(
        &self,
        name: &str,
        digest: &Digest,
        make: impl FnOnce(&Path) -> Result<(), BuildError>,
    ) -> Result<PathBuf, BuildError> {
        let place = self.place(name, digest);
        if is_used(&place) {
            return Ok(place);
        }
        let versions = self.root.join(name);
        fs::create_dir_all(&versions).map_err(BuildError::file(&versions))?;
        let lock = versions.join("lock");
        let locked = File::create(&lock).and_then(|file| file.lock().map(|()| file));
        let _locked = locked.map_err(BuildError::file(&lock))?;
        if is_used(&place) {
            return Ok(place);
        }
        let failed = BuildError::file(&versions);
        remove_unfinished(&versions).map_err(&failed)?;
        let folder = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&versions);
        let folder = folder.map_err(&failed)?;
        make(folder.path())?;
        fs::rename(folder.keep(), &place).map_err(&failed)?;
        remove_old(&versions).map_err(&failed)?;
        Ok(place)
    }
}

/// Whether a version is there. It counts as used now.
fn is_used(place: &Path) -> bool {
    let now = File::open(place).and_then(|folder| folder.set_modified(SystemTime::now()));
    now.is_ok() || place.is_dir()
}

/// What processes left that were ended: nobody else makes a version, as the lock is ours.
fn remove_unfinished(versions: &Path) -> io::Result<()> {
    for entry in fs::read_dir(versions)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Whoever has loaded a library keeps it when its file is gone.
fn remove_old(versions: &Path) -> io::Result<()> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(versions)? {
        let entry = entry?;
        let data = entry.metadata()?;
        if data.is_dir() {
            folders.push((data.modified()?, entry.path()));
        }
    }
    folders.sort_unstable();
    let old = folders.len().saturating_sub(KEPT);
    folders[..old].iter().try_for_each(|(_, folder)| fs::remove_dir_all(folder))
}
