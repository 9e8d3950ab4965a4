// SPDX-License-Identifier: MIT
//! Layers of a model in files, read one by one into slots.
//!
//! A layer is read with `pread`, tensor by tensor, and kept as it is stored; in a slot each tensor begins at a multiple
//! of [`ALIGNMENT`] bytes. What is mapped instead would count as memory of the process (see [`crate::slots`]).
//!
//! The classifier may be one more layer behind the others ([`LayerSource::with_head_streamed`]). Where it is the embedding
//! too, nothing of either stays: the embedding's row of a token is read when the token is taken.

pub use crate::file::{ReadAt, Reading, Sequential};

use crate::agents::{Halt, Supply};
use crate::event::Load;
use crate::file::{PIECE, Pace};
use memmap2::MmapMut;
use pimlico_model::checkpoint::places::{Part, Place, Places, Stored};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Bytes of which tensors begin at a multiple.
pub const ALIGNMENT: u64 = 64;
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

impl SourceError {
    /// Of a file, and no tensor of it.
    fn whole(file: &str, error: &io::Error) -> Self {
        let (file, tensor, error) = (file.to_owned(), "the file".to_owned(), error.to_string());
        Self::Read { file, tensor, offset: 0, error }
    }
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
    streams_head: bool,
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
            let state = file.state().map_err(|error| SourceError::whole(&name, &error))?;
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
        let bytes_read = AtomicU64::new(0);
        let source = Self { files, places, layers, streams_head: false, reading, bytes_read };
        if reading.cold {
            source.forget_all()?;
        }
        Ok(source)
    }

    /// The same, with the classifier as one more layer behind the others.
    pub fn with_head_streamed(self) -> Self {
        Self { streams_head: true, ..self }
    }

    /// Where the tensors are.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The tensors of a decoder layer in a slot.
    pub fn layer(&self, layer: usize) -> &[InSlot] {
        &self.layers[layer]
    }

    /// The classifier, if it is streamed: it is all of its slot.
    pub fn streamed_head(&self) -> Option<&Place> {
        let Places { classifier, embedding, .. } = &self.places;
        self.streams_head.then(|| classifier.as_ref().unwrap_or(embedding))
    }

    /// Whether the embedding stays in memory. It does not where it is the classifier that is streamed.
    pub fn embedding_stays(&self) -> bool {
        !self.streams_head || self.places.classifier.is_some()
    }

    /// Bytes of a slot that each layer takes, those of a head that is streamed behind the others.
    pub fn slot_bytes(&self) -> Vec<u64> {
        let of = |layer: &Vec<InSlot>| layer.last().map_or(0, |last| last.at + last.place.bytes());
        let layers = self.layers.iter().map(of);
        let all = layers.chain(self.streamed_head().map(Place::bytes));
        all.map(|bytes| (bytes as u64).next_multiple_of(ALIGNMENT)).collect()
    }

    /// Bytes that are read for a layer, or for a head that is streamed.
    pub fn layer_bytes(&self, layer: usize) -> u64 {
        match self.streamed_head() {
            Some(head) if layer == self.layers.len() => head.bytes() as u64,
            _ => self.places.layer_bytes(layer),
        }
    }

    /// Bytes that are read once, as they stay.
    pub fn fixed_bytes(&self) -> u64 {
        self.places.fixed_bytes() - self.streamed_head().map_or(0, |head| head.bytes() as u64)
    }

    /// Bytes that are read for each token that is taken: a row of an embedding that does not stay.
    pub fn token_bytes(&self) -> u64 {
        let Place { columns, stored, .. } = &self.places.embedding;
        if self.embedding_stays() { 0 } else { (columns * stored.bytes()) as u64 }
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

    /// Reads a row of a tensor that is of no layer, without a throttle.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn row(&self, place: &Place, row: usize) -> Result<Vec<f32>, SourceError> {
        assert!(row < place.rows, "row {row} of {}", place.rows);
        let bytes = place.columns * place.stored.bytes();
        let offset = place.offset + (row * bytes) as u64;
        let of_row = Place { offset, rows: 1, ..place.clone() };
        let mut memory = vec![0; bytes];
        let read = self.read(&of_row, &mut memory, None, &Halt::default());
        read.map_err(|error| match error {
            SourceError::Weight { file, tensor, column, weight, .. } => {
                SourceError::Weight { file, tensor, row, column, weight }
            }
            error => error,
        })?;
        let mut numbers = vec![0.0; place.columns];
        place.stored.widen(&memory, &mut numbers);
        Ok(numbers)
    }

    /// Reads a layer, or a head that is streamed, into a slot; leaves off if an agent has failed.
    pub fn read_layer(
        &self,
        layer: usize,
        slot: &mut [u8],
        halt: &Halt,
    ) -> Result<(), SourceError> {
        let mut pace = self.reading.throttle.map(Pace::new);
        if let Some(head) = self.streamed_head().filter(|_| layer == self.layers.len()) {
            return self.read(head, &mut slot[..head.bytes()], pace.as_mut(), halt);
        }
        for InSlot { place, at, .. } in &self.layers[layer] {
            if halt.is_set() {
                return Ok(());
            }
            self.read(place, &mut slot[*at..][..place.bytes()], pace.as_mut(), halt)?;
        }
        Ok(())
    }

    /// Reads the files one after the other from their disk, so many bytes at the most. Nothing, if they are on none.
    pub fn sequential(&self, most: u64) -> Result<Option<Sequential>, SourceError> {
        let mut all = Sequential::default();
        for Opened { name, file, .. } in &self.files {
            let read = all.read(&**file, most - all.bytes);
            read.map_err(|error| SourceError::whole(name, &error))?;
        }
        Ok(Some(all).filter(|all| all.bytes > 0))
    }

    /// Drops the files from the page cache.
    fn forget_all(&self) -> Result<(), SourceError> {
        for Opened { name, file, .. } in &self.files {
            file.forget_all().map_err(|error| SourceError::whole(name, &error))?;
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

    /// A slot keeps its pages for the next layer. Those of a layer that is larger than all others, as a head may be, are
    /// given back: [`Setup::room`](crate::setup::Setup::room) has it in one slot.
    fn destroy(&self, layer: usize, slot: &mut MmapMut) -> Result<(), SourceError> {
        let mut others = self.slot_bytes();
        let bytes = others.swap_remove(layer);
        if others.iter().any(|other| *other >= bytes) {
            return Ok(());
        }
        let map = |bytes| {
            let map = crate::slots::map(bytes);
            map.map_err(|error| SourceError::Memory(error.to_string()))
        };
        let length = slot.len() as u64;
        // Not both at once.
        *slot = map(0)?;
        *slot = map(length)?;
        Ok(())
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
}
