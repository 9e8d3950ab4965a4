// SPDX-License-Identifier: MIT
//! Layers of a model in files, read one by one into slots.
//!
//! A layer is read with `pread`, tensor by tensor, and kept as it is stored; in a slot each tensor begins at a multiple
//! of [`ALIGNMENT`] bytes. What is mapped instead would count as memory of the process (see [`crate::slots`]).

use crate::agents::{Halt, Supply};
use crate::event::Load;
use memmap2::MmapMut;
use pimlico_model::checkpoint::places::{Part, Place, Places, Stored};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Bytes of which tensors begin at a multiple.
pub const ALIGNMENT: u64 = 64;
/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// A file of a model, or what stands for one in tests.
pub trait ReadAt: Sync + Send {
    /// Fills a buffer from a place.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Asks that a part of the file is not kept in the page cache.
    fn forget(&self, offset: u64, bytes: u64) -> io::Result<()>;

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
    /// Whether what was read is dropped from the page cache, so that it comes from the disk again.
    pub cold: bool,
}

/// What goes wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It cannot be read.
    #[error("{file}: {tensor} at byte {offset}: {error}")]
    Read {
        /// Which file.
        file: String,
        /// Which tensor.
        tensor: String,
        /// The byte from which on.
        offset: u64,
        /// Why.
        error: String,
    },
    /// A weight that is no number.
    #[error(
        "{file}: {tensor}, row {row}, column {column}: weight {weight}, expected a finite number"
    )]
    Weight {
        /// Which file.
        file: String,
        /// Which tensor.
        tensor: String,
        /// Row of the matrix.
        row: usize,
        /// Column of the matrix.
        column: usize,
        /// The weight.
        weight: String,
    },
    /// It is another one than when it was opened.
    #[error("{file}: it was changed while it was read")]
    Changed {
        /// Which file.
        file: String,
    },
    /// Memory cannot be had.
    #[error("memory for layers: {0}")]
    Memory(String),
}

/// An open file.
struct Opened {
    name: String,
    file: Box<dyn ReadAt>,
    state: (u64, Option<SystemTime>),
}

/// A tensor in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InSlot {
    /// Which of the layer.
    pub part: Part,
    /// Where in the files.
    pub place: Place,
    /// The byte of the slot at which it begins.
    pub at: usize,
}

/// The layers of a model.
pub struct LayerSource {
    files: Vec<Opened>,
    places: Places,
    layers: Vec<Vec<InSlot>>,
    reading: Reading,
    bytes_read: AtomicU64,
}

impl std::fmt::Debug for LayerSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let files: Vec<&str> = self.files.iter().map(|opened| opened.name.as_str()).collect();
        f.debug_struct("LayerSource").field("files", &files).finish_non_exhaustive()
    }
}

impl LayerSource {
    /// Layers at places in files, each with its name for messages.
    pub fn new(
        files: Vec<(String, Box<dyn ReadAt>)>,
        places: Places,
        reading: Reading,
    ) -> Result<Self, SourceError> {
        let opened = |(name, file): (String, Box<dyn ReadAt>)| {
            let state = file.state().map_err(|error| SourceError::Read {
                file: name.clone(),
                tensor: "the file".to_owned(),
                offset: 0,
                error: error.to_string(),
            })?;
            Ok(Opened { name, file, state })
        };
        let files = files.into_iter().map(opened).collect::<Result<_, _>>()?;
        let in_slot = |parts: &Vec<(Part, Place)>| {
            let mut end = 0u64;
            let place = |(part, place): &(Part, Place)| {
                let at = end.next_multiple_of(ALIGNMENT);
                end = at + place.bytes() as u64;
                InSlot { part: *part, place: place.clone(), at: at as usize }
            };
            parts.iter().map(place).collect()
        };
        let layers = places.layers.iter().map(in_slot).collect();
        Ok(Self { files, places, layers, reading, bytes_read: AtomicU64::new(0) })
    }

    /// Where the tensors are.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The tensors of a layer in a slot.
    pub fn layer(&self, layer: usize) -> &[InSlot] {
        &self.layers[layer]
    }

    /// Bytes of a slot that each layer takes.
    pub fn slot_bytes(&self) -> Vec<u64> {
        let of = |layer: &Vec<InSlot>| {
            let end = layer.last().map_or(0, |last| last.at + last.place.bytes());
            (end as u64).next_multiple_of(ALIGNMENT)
        };
        self.layers.iter().map(of).collect()
    }

    /// Bytes that were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Reads a tensor that is of no layer, without a throttle.
    pub fn tensor(&self, place: &Place) -> Result<MmapMut, SourceError> {
        let memory = crate::slots::map(place.bytes() as u64);
        let mut memory = memory.map_err(|error| SourceError::Memory(error.to_string()))?;
        self.read(place, &mut memory[..place.bytes()], None, &Halt::default())?;
        Ok(memory)
    }

    /// Reads a layer into a slot; leaves off if an agent has failed.
    pub fn read_layer(
        &self,
        layer: usize,
        slot: &mut [u8],
        halt: &Halt,
    ) -> Result<(), SourceError> {
        let mut pace = self.reading.throttle.map(Pace::new);
        for InSlot { place, at, .. } in &self.layers[layer] {
            if halt.is_set() {
                return Ok(());
            }
            self.read(place, &mut slot[*at..][..place.bytes()], pace.as_mut(), halt)?;
        }
        Ok(())
    }

    /// Checks that the files are those that were opened.
    pub fn check_unchanged(&self) -> Result<(), SourceError> {
        let is_same = |opened: &Opened| opened.file.state().is_ok_and(|now| now == opened.state);
        match self.files.iter().find(|opened| !is_same(opened)) {
            Some(opened) => Err(SourceError::Changed { file: opened.name.clone() }),
            None => Ok(()),
        }
    }

    fn read(
        &self,
        place: &Place,
        to: &mut [u8],
        mut pace: Option<&mut Pace>,
        halt: &Halt,
    ) -> Result<(), SourceError> {
        let Opened { name, file, .. } = &self.files[place.file];
        let failed = |offset: u64, error: io::Error| SourceError::Read {
            file: name.clone(),
            tensor: place.name.clone(),
            offset,
            error: match error.kind() {
                io::ErrorKind::UnexpectedEof => "the file ends in it".to_owned(),
                _ => error.to_string(),
            },
        };
        for (number, piece) in to.chunks_mut(PIECE).enumerate() {
            let offset = place.offset + (number * PIECE) as u64;
            file.read_exact_at(piece, offset).map_err(|error| failed(offset, error))?;
            let bytes = piece.len() as u64;
            self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
            if self.reading.cold {
                file.forget(offset, bytes).map_err(|error| failed(offset, error))?;
            }
            if let Some(pace) = pace.as_deref_mut() {
                halt.sleep_until(pace.after(bytes));
            }
            if halt.is_set() {
                return Ok(());
            }
        }
        match not_finite(place.stored, to) {
            None => Ok(()),
            Some((number, weight)) => Err(SourceError::Weight {
                file: name.clone(),
                tensor: place.name.clone(),
                row: number / place.columns,
                column: number % place.columns,
                weight: weight.to_string(),
            }),
        }
    }
}

impl Supply<MmapMut> for LayerSource {
    type Error = SourceError;

    fn load(&self, load: Load, slot: &mut MmapMut, halt: &Halt) -> Result<(), SourceError> {
        self.read_layer(load.layer, slot, halt)
    }
}

/// The pace of a loader that is slowed down.
struct Pace {
    start: Instant,
    bytes: u64,
    rate: f64,
}

impl Pace {
    fn new(rate: f64) -> Self {
        Self { start: Instant::now(), bytes: 0, rate }
    }

    /// When so many bytes more are due.
    fn after(&mut self, bytes: u64) -> Instant {
        self.bytes += bytes;
        let due = Duration::try_from_secs_f64(self.bytes as f64 / self.rate);
        self.start + due.unwrap_or(Duration::from_secs(1 << 32))
    }
}

/// The first number that is not finite.
fn not_finite(stored: Stored, bytes: &[u8]) -> Option<(usize, f32)> {
    // A whole piece at once: the processor compares many.
    let has = |bytes: &[u8]| match stored {
        Stored::F32 => {
            let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            bytes.chunks_exact(4).fold(false, |has, b| has | (word(b) & 0x7F80_0000 == 0x7F80_0000))
        }
        Stored::F16 | Stored::Bf16 => {
            let exponent = if stored == Stored::F16 { 0x7C00 } else { 0x7F80 };
            let word = |b: &[u8]| u16::from_le_bytes([b[0], b[1]]);
            bytes.chunks_exact(2).fold(false, |has, b| has | (word(b) & exponent == exponent))
        }
    };
    const AT_ONCE: usize = 4096;
    let (piece, bytes) = bytes.chunks(AT_ONCE).enumerate().find(|(_, piece)| has(piece))?;
    let mut numbers = vec![0.0; bytes.len() / stored.bytes()];
    stored.widen(bytes, &mut numbers);
    let at = numbers.iter().position(|number| !number.is_finite())?;
    Some((piece * AT_ONCE / stored.bytes() + at, numbers[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_is_found() {
        let mut bytes: Vec<u8> = (0..3000).flat_map(|n| (n as f32).to_le_bytes()).collect();
        assert_eq!(not_finite(Stored::F32, &bytes), None);
        bytes[4 * 2500..][..4].copy_from_slice(&f32::NEG_INFINITY.to_le_bytes());
        assert_eq!(not_finite(Stored::F32, &bytes), Some((2500, f32::NEG_INFINITY)));
        let mut halves = vec![0u8; 2 * 5000];
        assert_eq!(not_finite(Stored::F16, &halves), None);
        halves[2 * 4999 + 1] = 0x7F;
        assert!(
            not_finite(Stored::F16, &halves)
                .is_some_and(|(at, weight)| at == 4999 && weight.is_nan())
        );
        assert_eq!(not_finite(Stored::Bf16, &halves), None);
        halves[2 * 4999] = 0x80;
        assert_eq!(not_finite(Stored::Bf16, &halves), Some((4999, f32::INFINITY)));
    }

    #[test]
    fn a_pace_is_kept() {
        let mut pace = Pace::new(1e6);
        assert_eq!(pace.after(500_000) - pace.start, Duration::from_millis(500));
        assert_eq!(pace.after(1_000_000) - pace.start, Duration::from_millis(1500));
        // A rate near 0 is no panic.
        Pace::new(1e-300).after(1);
    }
}
