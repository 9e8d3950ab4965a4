// SPDX-License-Identifier: MIT
//! A file that Verilated code writes.
//!
//! Verilator's `VerilatedVcd` ends the program where a file cannot be written, and waits for itself before it does: what
//! it calls at the end takes a lock that it holds. So it writes to a pipe, which is never full for long and never
//! fails; a thread copies what comes to the file, and keeps what went wrong.

use std::fs::File;
use std::io::{self, PipeWriter};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

/// A file in the making.
pub(crate) struct Spool {
    /// Keeps the pipe open until others have opened it by name.
    pipe: PipeWriter,
    copier: JoinHandle<io::Result<()>>,
}

impl Spool {
    /// Starts a file.
    pub(crate) fn create(file: &Path) -> io::Result<Self> {
        let mut file = File::create(file)?;
        let (mut reader, pipe) = io::pipe()?;
        let copier = thread::spawn(move || {
            let copied = io::copy(&mut reader, &mut file).map(drop);
            if copied.is_err() {
                io::copy(&mut reader, &mut io::sink())?; // who writes does not wait
            }
            copied
        });
        Ok(Self { pipe, copier })
    }

    /// The name by which it is written.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/fd/{}", self.pipe.as_raw_fd()))
    }

    /// Waits until all is in the file. Others have closed it.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Self { pipe, copier } = self;
        drop(pipe);
        copier.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Writes a megabyte by name, as others do, more than a pipe holds.
    fn written_to(file: &Path) -> io::Result<()> {
        let spool = Spool::create(file)?;
        let mut writer = File::options().write(true).open(spool.path())?;
        writer.write_all(&[b'x'; 1 << 20]).expect("a pipe takes all");
        drop(writer);
        spool.finish()
    }

    #[test]
    fn all_that_is_written_is_in_the_file() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        written_to(file.path()).expect("room");
        assert_eq!(std::fs::read(file.path()).expect("a file"), [b'x'; 1 << 20]);
    }

    #[test]
    fn who_writes_does_not_see_a_full_disk_and_who_waits_does() {
        let error = written_to(Path::new("/dev/full")).expect_err("no room");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
