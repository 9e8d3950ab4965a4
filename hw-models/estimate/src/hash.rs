// SPDX-License-Identifier: MIT
//! Hashes by which results and sources are known.

use sha2::{Digest, Sha256};

/// A hash of parts, each with its length.
#[derive(Default)]
pub(crate) struct Hash(Sha256);

impl Hash {
    /// Adds a part.
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// The hash in hexadecimal digits.
    pub(crate) fn name(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
