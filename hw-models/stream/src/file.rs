// SPDX-License-Identifier: MIT
//! Files that are read at places: by whom, at what pace, and how fast their disk is.

use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant, SystemTime};

/// Bytes that are read at once.
pub(crate) const PIECE: usize = 1 << 20;

/// A file of a model, or what stands for one in tests.
pub trait ReadAt: Sync + Send {
    /// Fills a buffer from a place.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Asks that a part of the file is not kept in the page cache.
    fn forget(&self, offset: u64, bytes: u64) -> io::Result<()>;

    /// Asks that nothing of the file is kept in the page cache. Returns whether there is a disk behind it.
    fn forget_all(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// Size, and when it was changed last.
    fn state(&self) -> io::Result<(u64, Option<SystemTime>)>;
}

impl ReadAt for File {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset)
    }

    fn forget(&self, offset: u64, bytes: u64) -> io::Result<()> {
        Ok(fadvise(self, offset, NonZero::new(bytes), Advice::DontNeed)?)
    }

    fn forget_all(&self) -> io::Result<bool> {
        // Pages that are not on the disk yet would stay. Where they cannot be written, there are none.
        let _ = self.sync_data();
        self.forget(0, 0)?;
        Ok(true)
    }

    fn state(&self) -> io::Result<(u64, Option<SystemTime>)> {
        let metadata = self.metadata()?;
        Ok((metadata.len(), metadata.modified().ok()))
    }
}

/// A file that is built in.
impl ReadAt for &'static [u8] {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let from = from.and_then(|from| from.get(..buffer.len()));
        buffer.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn forget(&self, _offset: u64, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn state(&self) -> io::Result<(u64, Option<SystemTime>)> {
        Ok((self.len() as u64, None))
    }
}

/// How files are read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Bytes per second of each loader, at the most.
    pub throttle: Option<f64>,
    /// Whether files are dropped from the page cache when they are opened and again as they are read, so that all comes
    /// from the disk.
    pub cold: bool,
}

/// Bytes that were read one after the other from the disk, and the time that this took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sequential {
    /// Bytes.
    pub bytes: u64,
    /// The time.
    pub time: Duration,
}

impl Sequential {
    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64().max(1e-9)
    }

    /// Reads a file from its beginning, so many bytes of it at the most, and adds what that took. The file is dropped from
    /// the page cache before, and again behind each piece. What is on no disk adds nothing.
    pub(crate) fn read(&mut self, file: &dyn ReadAt, most: u64) -> io::Result<()> {
        if !file.forget_all()? {
            return Ok(());
        }
        let (end, _) = file.state()?;
        let end = end.min(most);
        let mut piece = vec![0; PIECE.min(end as usize)];
        let begun = Instant::now();
        let mut offset = 0;
        while offset < end {
            let bytes = (end - offset).min(PIECE as u64);
            file.read_exact_at(&mut piece[..bytes as usize], offset)?;
            file.forget(offset, bytes)?;
            offset += bytes;
        }
        self.bytes += end;
        self.time += begun.elapsed();
        Ok(())
    }
}

/// The pace of a loader that is slowed down.
pub(crate) struct Pace {
    start: Instant,
    bytes: u64,
    rate: f64,
}

impl Pace {
    pub(crate) fn new(rate: f64) -> Self {
        Self { start: Instant::now(), bytes: 0, rate }
    }

    /// When so many bytes more are due.
    pub(crate) fn after(&mut self, bytes: u64) -> Instant {
        self.bytes += bytes;
        let due = Duration::try_from_secs_f64(self.bytes as f64 / self.rate);
        self.start + due.unwrap_or(Duration::from_secs(1 << 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_kept() {
        let mut pace = Pace::new(1e6);
        assert_eq!(pace.after(500_000) - pace.start, Duration::from_millis(500));
        assert_eq!(pace.after(1_000_000) - pace.start, Duration::from_millis(1500));
        // A rate near 0 is no panic.
        Pace::new(1e-300).after(1);
    }

    #[test]
    fn a_disk_is_read_once_from_end_to_end() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        let length = 2 * PIECE + 1000;
        io::Write::write_all(&mut file, &vec![7; length]).expect("room");
        let mut read = Sequential::default();
        read.read(&file, u64::MAX).expect("it is read");
        assert_eq!(read.bytes, length as u64);
        assert!(read.time > Duration::ZERO && read.rate() > 0.0);
        read.read(&file, 1000).expect("it is read");
        assert_eq!(read.bytes, length as u64 + 1000);
        // What is in memory has no disk.
        let built_in: &'static [u8] = &[1, 2, 3];
        let mut none = Sequential::default();
        none.read(&built_in, u64::MAX).expect("nothing to read");
        assert_eq!(none, Sequential::default());
    }
}
