// SPDX-License-Identifier: MIT
//! Memory for layers: anonymous maps that are used again and again.
//!
//! Weights are in no `Vec`: an allocator may keep what is given back (glibc raises its limit for maps with each large
//! block that is freed), and then the memory of the process is not what the account says. Nor is the file mapped:
//! pages of a map count as the process' memory when they are touched.

use memmap2::MmapMut;
use std::io;
use std::sync::Mutex;

/// A slot, which one agent has at a time.
pub type Slot = Mutex<MmapMut>;

/// So many slots of so many bytes. No page of them takes memory before it is written.
pub fn slots(count: usize, bytes: u64) -> io::Result<Vec<Slot>> {
    (0..count).map(|_| map(bytes).map(Mutex::new)).collect()
}

/// Anonymous memory, zero throughout.
pub fn map(bytes: u64) -> io::Result<MmapMut> {
    let too_large = |_| io::Error::new(io::ErrorKind::OutOfMemory, format!("{bytes} bytes"));
    MmapMut::map_anon(usize::try_from(bytes).map_err(too_large)?.max(1))
}
