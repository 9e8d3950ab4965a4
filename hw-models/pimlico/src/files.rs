// SPDX-License-Identifier: MIT
//! Files that the commands read and write.

use crate::failure::Failure;
use memmap2::Mmap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// Reads a file of at most so many bytes, and no more of a longer one than tells that.
pub fn read(file: &Path, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut read = || File::open(file)?.take(most as u64 + 1).read_to_end(&mut bytes);
    read().map_err(|e| Failure::file(file, &e))?;
    if bytes.len() > most {
        let file = file.display();
        return Err(Failure::Input(format!("{file}: more than {most} bytes")));
    }
    Ok(bytes)
}

/// Maps a file into memory: what is not looked at is not read.
pub fn map(file: &Path) -> Result<Mmap, Failure> {
    try_map(file).map_err(|e| Failure::file(file, &e))
}

/// The same, for a failure that has more to say than the file's name.
pub fn try_map(file: &Path) -> io::Result<Mmap> {
    let opened = File::open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    // SAFETY: the bytes are only read. Who cuts the file off meanwhile ends this process by a
    // signal, which is what a reader of a file that vanishes has to expect of a map.
    unsafe { Mmap::map(&opened) }
}

/// Puts `bytes` in place of the file, all of them or none.
pub fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // Where a name leads to a file elsewhere, that is the one to replace.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("not a regular file, and would be replaced"));
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666)); // and what the umask leaves
    }
    let mut new = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    new.persist(&file)?;
    Ok(())
}
