// SPDX-License-Identifier: MIT
//! The folder of outcomes: a file of CBOR for each, which holds every number as it is, those that are not finite too.

use crate::failure::Failure;
use crate::files::Output;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of an outcome, at the most.
const LARGEST_FILE: u64 = 1 << 26;

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    /// Digest of the piece.
    digest: String,
    outcome: T,
}

/// A folder of outcomes.
pub struct Folder(PathBuf);

impl Folder {
    /// Of this path, which need not be there.
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Where the outcome of a piece stands.
    pub fn place(&self, digest: &str) -> PathBuf {
        self.0.join(format!("{digest}.cbor"))
    }

    /// The outcome of a piece, if it is there.
    pub fn find<T: DeserializeOwned>(&self, digest: &str) -> Result<Option<T>, Failure> {
        let place = self.place(digest);
        if !place.try_exists().map_err(|error| Failure::file(&place, &error))? {
            return Ok(None);
        }
        // Not as an input of the command, which may put a whole one in the place of one that is damaged.
        let mut bytes = Vec::new();
        let read = |file: File| file.take(LARGEST_FILE).read_to_end(&mut bytes);
        File::open(&place).and_then(read).map_err(|error| Failure::file(&place, &error))?;
        let wrong = || {
            let place = place.display();
            Failure::Input(format!(
                "{place}: not the outcome of the piece that its name tells; remove it and run the piece again"
            ))
        };
        let kept: Kept<T> = ciborium::from_reader(bytes.as_slice()).map_err(|_| wrong())?;
        if kept.digest == digest { Ok(Some(kept.outcome)) } else { Err(wrong()) }
    }

    /// The file of an outcome, before the work whose outcome it is to hold.
    pub fn open(&self, digest: &str) -> Result<Output, Failure> {
        fs::create_dir_all(&self.0).map_err(|error| Failure::file(&self.0, &error))?;
        Output::open(&self.place(digest))
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// What the file of an outcome holds.
pub fn written(digest: &str, outcome: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let kept = Kept { digest: digest.to_owned(), outcome };
    ciborium::into_writer(&kept, &mut bytes).expect("outcomes are plain data");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_finite_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let outcomes = Folder::new(folder.path());
        assert!(outcomes.find::<Vec<f64>>("a").is_ok_and(|outcome| outcome.is_none()));
        let numbers = vec![0.1, -0.0, f64::INFINITY, 5e-324, f64::MAX];
        fs::write(outcomes.place("a"), written("a", &numbers)).expect("a file");
        let found: Vec<f64> = outcomes.find("a").expect("whole").expect("there");
        let bits = |numbers: &[f64]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&numbers));
    }

    #[test]
    fn what_is_no_outcome_of_the_piece_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let outcomes = Folder::new(folder.path());
        let whole = written("a", &7u64);
        for (digest, bytes) in [("a", &whole[..whole.len() - 1]), ("b", &whole), ("a", b"{}")] {
            fs::write(outcomes.place(digest), bytes).expect("a file");
            let error = outcomes.find::<u64>(digest).expect_err("no outcome").to_string();
            assert!(error.contains(&format!("{digest}.cbor: not the outcome")), "{error}");
        }
    }
}
