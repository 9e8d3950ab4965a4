// SPDX-License-Identifier: MIT
//! Files that the commands read and write.
//!
//! * [`output`]: a file that is written: beside its place, and put there when the command has done its work.
//! * [`folder`]: the same for a folder of files.
//! * [`place`]: where an output goes.
//! * [`claims`]: what the command reads and writes, which must not be the same file.
//! * [`temporary`]: what is removed when the command ends, whichever way.

mod claims;
mod folder;
mod output;
mod place;
mod temporary;

pub use claims::read_from;
pub use folder::OutputFolder;
pub use output::Output;
pub use temporary::Scratch;

use crate::failure::Failure;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;

/// Reads a file of at most so many bytes, and no more of a longer one than tells that.
pub fn read(file: &Path, most: usize) -> Result<Vec<u8>, Failure> {
    let bytes = read_start(file, most + 1).map_err(|e| Failure::file(file, &e))?;
    if bytes.len() > most {
        let file = file.display();
        return Err(Failure::Input(format!("{file}: more than {most} bytes")));
    }
    Ok(bytes)
}

/// Reads so many bytes of a file, or all that it has.
pub fn read_start(file: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let opened = File::open(file)?;
    claims::read(&opened.metadata()?)?;
    opened.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Maps a file into memory: what is not looked at is not read.
pub fn map(file: &Path) -> Result<Mmap, Failure> {
    try_map(file).map_err(|e| Failure::file(file, &e))
}

/// The same, for a failure that has more to say than the file's name.
pub fn try_map(file: &Path) -> io::Result<Mmap> {
    let opened = File::open(file)?;
    let metadata = opened.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    claims::read(&metadata)?;
    // SAFETY: the bytes are only read. Who cuts the file off meanwhile ends this process by a
    // signal, which is what a reader of a file that vanishes has to expect of a map.
    unsafe { Mmap::map(&opened) }
}

/// Outputs that are whole, to be put in place when the command ends.
static WHOLE: Mutex<Vec<Whole>> = Mutex::new(Vec::new());

/// An output that is whole.
enum Whole {
    File(output::Staged),
    Folder(folder::Staged),
}

/// Puts the outputs that are whole in place; where one cannot be, says which.
pub fn put() -> Result<(), Failure> {
    let whole = std::mem::take(&mut *temporary::lock(&WHOLE));
    for one in &whole {
        match one {
            Whole::File(file) => file.check()?,
            Whole::Folder(folder) => folder.check()?,
        }
    }
    whole.into_iter().try_for_each(|one| match one {
        Whole::File(file) => file.put(),
        Whole::Folder(folder) => folder.put(),
    })
}

/// Removes the outputs that are whole: the command has failed.
pub fn discard() {
    temporary::lock(&WHOLE).clear();
}
