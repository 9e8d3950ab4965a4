// SPDX-License-Identifier: MIT
//! What a command reads and writes: no output of it is an input, nor another output.

use super::temporary::lock;
use crate::failure::Failure;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Mutex;

/// What two names of one file have in common.
#[derive(PartialEq, Eq)]
pub(super) enum Identity {
    /// A file that is there: its device and number.
    Found(u64, u64),
    /// One that is not there yet: those of its folder, and its name.
    New(u64, u64, OsString),
    /// Standard output.
    Stdout,
}

impl Identity {
    /// Of a file that is there; of none that may be read and written at once, as `/dev/null` may.
    pub(super) fn found(metadata: &Metadata) -> Option<Self> {
        let is_device = metadata.file_type().is_char_device();
        (!is_device).then(|| Self::Found(metadata.dev(), metadata.ino()))
    }

    /// Of a file that is not there yet.
    pub(super) fn new(folder: &Metadata, name: OsString) -> Self {
        Self::New(folder.dev(), folder.ino(), name)
    }
}

/// Inputs and outputs.
struct Claims {
    inputs: Vec<Identity>,
    outputs: Vec<Identity>,
}

static CLAIMS: Mutex<Claims> = Mutex::new(Claims { inputs: Vec::new(), outputs: Vec::new() });

/// Notes that a file is read.
pub(super) fn read(metadata: &Metadata) -> io::Result<()> {
    let Some(identity) = Identity::found(metadata) else { return Ok(()) };
    let mut claims = lock(&CLAIMS);
    if claims.outputs.contains(&identity) {
        return Err(io::Error::other("an output of the same command"));
    }
    claims.inputs.push(identity);
    Ok(())
}

/// Notes that a file is read, by who reads it in another way; whether it is there is told there.
pub fn read_from(file: &Path) -> Result<(), Failure> {
    let Ok(metadata) = fs::metadata(file) else { return Ok(()) };
    read(&metadata).map_err(|e| Failure::file(file, &e))
}

/// Notes that a file is written.
pub(super) fn written(identity: Identity) -> io::Result<()> {
    let mut claims = lock(&CLAIMS);
    if claims.inputs.contains(&identity) {
        return Err(io::Error::other("an input of the same command"));
    }
    if claims.outputs.contains(&identity) {
        return Err(io::Error::other("another output of the same command"));
    }
    claims.outputs.push(identity);
    Ok(())
}
