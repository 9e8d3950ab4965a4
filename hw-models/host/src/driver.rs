// SPDX-License-Identifier: MIT
//! The host's side of the dispatcher: what is in its memories, and the writes that change it.
//!
//! The driver knows what it has written and writes nothing twice. Programs stay in the command buffer
//! until there is no more room; each request has a *slot*: a number in the configuration and a segment of
//! the Va2Pa table.

use crate::program::ProgramError;
use pimlico_device::dispatch::{Made, Start};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{DeviceError, Loads, Runs};
use pimlico_dpa::types::LoadKind;
use pimlico_dpa::{COMMANDS, ENTRIES, NO_ROW, REQUESTS, Request, Tables};

/// Why a request cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// Its program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Its rows.
    #[error("a request of {rows} virtual rows: the Va2Pa table has {ENTRIES} entries")]
    Entries {
        /// Virtual rows.
        rows: usize,
    },
    /// One of its rows cannot be written in the table.
    #[error("row {row} of the banks: the Va2Pa table can name rows 0 to {}", NO_ROW - 1)]
    Row {
        /// The row.
        row: usize,
    },
    /// A program made more or fewer results than its operator has.
    #[error("the program made {got} results of {what}, not {expected}")]
    Results {
        /// Of what.
        what: String,
        /// How many; what is beyond `expected + 1` is not counted.
        got: usize,
        /// How many there are.
        expected: usize,
    },
    /// The device stopped.
    #[error(transparent)]
    Rank(#[from] DeviceError),
}

/// Results as they come, no more than one beyond what is expected.
#[derive(Clone, Debug)]
pub struct Results {
    bits: Vec<u16>,
    expected: usize,
}

impl Results {
    /// None, of so many.
    pub fn new(expected: usize) -> Self {
        Self { bits: Vec::with_capacity(expected), expected }
    }

    /// One more.
    pub fn push(&mut self, bits: u16) {
        self.push_alike(bits, 1);
    }

    /// So many more that are the same.
    pub fn push_alike(&mut self, bits: u16, count: usize) {
        let room = self.expected + 1 - self.bits.len();
        self.bits.resize(self.bits.len() + count.min(room), bits);
    }

    /// All of them, if they are as many as expected.
    pub fn complete(self, what: impl FnOnce() -> String) -> Result<Vec<u16>, DriverError> {
        let (got, expected) = (self.bits.len(), self.expected);
        match got == expected {
            true => Ok(self.bits),
            false => Err(DriverError::Results { what: what(), got, expected }),
        }
    }
}

/// What the host has written, in writes of the interface: a word of the command buffer, an entry of the
/// table, a number of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Words of the command buffer, of eight bytes.
    pub commands: u64,
    /// Entries of the Va2Pa table, of two bytes.
    pub entries: u64,
    /// T_cur of requests, of four bytes.
    pub tokens: u64,
    /// Segments of requests, of four bytes.
    pub segments: u64,
    /// Layers of requests, of four bytes.
    pub layers: u64,
}

impl Writes {
    /// Bytes of the writes.
    pub fn bytes(&self) -> u64 {
        8 * self.commands + 2 * self.entries + 4 * (self.tokens + self.segments + self.layers)
    }

    /// What was written since there were others.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            commands: self.commands - before.commands,
            entries: self.entries - before.entries,
            tokens: self.tokens - before.tokens,
            segments: self.segments - before.segments,
            layers: self.layers - before.layers,
        }
    }

    /// How many writes there are.
    pub fn count(&self) -> u64 {
        self.commands + self.entries + self.tokens + self.segments + self.layers
    }
}

/// The driver of a module. It assumes that nobody else writes to it.
#[derive(Debug)]
pub struct Driver {
    /// The programs in the command buffer, with their first words.
    programs: Vec<(Vec<u64>, u16)>,
    /// The first free word of the command buffer.
    free_word: usize,
    /// What is in the table, the configuration and the segments, as far as it was written.
    table: Box<[Option<u16>]>,
    tokens: [Option<u32>; REQUESTS],
    segments: [Option<u32>; REQUESTS],
    layers: [Option<u32>; REQUESTS],
    writes: Writes,
}

impl Default for Driver {
    fn default() -> Self {
        Self::new()
    }
}

impl Driver {
    /// Of a module in which anything may be.
    pub fn new() -> Self {
        Self {
            programs: Vec::new(),
            free_word: COMMANDS, // so that the first program clears it
            table: vec![None; ENTRIES].into(),
            tokens: [None; REQUESTS],
            segments: [None; REQUESTS],
            layers: [None; REQUESTS],
            writes: Writes::default(),
        }
    }

    /// What was written so far.
    pub fn writes(&self) -> Writes {
        self.writes
    }

    /// What the dispatcher has of it: the words of the command buffer, and the tables. A request is at its first layer.
    pub fn written(&self) -> (Vec<u64>, Tables) {
        let mut buffer = vec![0; self.free_word];
        for (words, address) in &self.programs {
            let at = usize::from(*address);
            buffer[at..at + words.len()].copy_from_slice(words);
        }
        let of_slot = |slot: usize| {
            let segment = self.segments[slot].unwrap_or(0);
            let (rows, base) = ((segment >> 16) as u16, segment as u16);
            Request { tokens: self.tokens[slot].unwrap_or(0), base, rows }
        };
        let entries = self.table.iter().map(|entry| entry.unwrap_or(NO_ROW)).collect();
        let requests = std::array::from_fn(of_slot);
        (buffer, Tables { requests, va2pa: Some(entries) })
    }

    /// Sees that a program is in the command buffer. Returns its first word.
    pub fn program(&mut self, module: &mut dyn Loads, words: &[u64]) -> Result<u16, DriverError> {
        let there = self.programs.iter().find(|(program, _)| program == words);
        if let Some((_, address)) = there {
            return Ok(*address);
        }
        if words.len() > COMMANDS {
            return Err(ProgramError::Words(words.len()).into());
        }
        if self.free_word + words.len() > COMMANDS {
            module.load(LoadKind::Clear, 0, 0)?;
            self.programs.clear();
            self.free_word = 0;
        }
        let address = self.free_word as u16;
        for (address, word) in (address..).zip(words) {
            module.load(LoadKind::Command, address, *word)?;
        }
        self.writes.commands += words.len() as u64;
        self.free_word += words.len();
        self.programs.push((words.to_vec(), address));
        Ok(address)
    }

    /// Sets T_cur of a slot.
    pub fn tokens(
        &mut self,
        module: &mut dyn Loads,
        slot: u8,
        tokens: u32,
    ) -> Result<(), DeviceError> {
        let known = &mut self.tokens[usize::from(slot)];
        if *known != Some(tokens) {
            module.load(LoadKind::Tokens, slot.into(), tokens.into())?;
            *known = Some(tokens);
            self.writes.tokens += 1;
        }
        Ok(())
    }

    /// Sets the segment of a slot, from an entry of the table on, and the row of each of its virtual rows;
    /// `None` for one that has no row. A slot whose segment changes is at its first layer.
    pub fn rows(
        &mut self,
        module: &mut dyn Loads,
        slot: u8,
        base: usize,
        rows: &[Option<u16>],
    ) -> Result<(), DriverError> {
        self.segment(module, slot, base, rows.len())?;
        self.entries(module, base, rows)
    }

    /// Sets the segment of a slot: so many virtual rows, from an entry of the table on. A slot whose segment changes is
    /// at its first layer.
    pub fn segment(
        &mut self,
        module: &mut dyn Loads,
        slot: u8,
        base: usize,
        rows: usize,
    ) -> Result<(), DriverError> {
        if base + rows > ENTRIES {
            return Err(DriverError::Entries { rows });
        }
        let segment = (rows as u32) << 16 | base as u32;
        let known = &mut self.segments[usize::from(slot)];
        if *known != Some(segment) {
            module.load(LoadKind::Segment, slot.into(), segment.into())?;
            *known = Some(segment);
            self.writes.segments += 1;
        }
        Ok(())
    }

    /// Sets the layers of a slot: how many, and entries of the table from one to the next. A slot for which they change
    /// is at its first layer.
    pub fn layers(
        &mut self,
        module: &mut dyn Loads,
        slot: u8,
        layers: u16,
        stride: u16,
    ) -> Result<(), DeviceError> {
        let of_slot = u32::from(layers) << 16 | u32::from(stride);
        let known = &mut self.layers[usize::from(slot)];
        if *known != Some(of_slot) {
            module.load(LoadKind::Layers, slot.into(), of_slot.into())?;
            *known = Some(of_slot);
            self.writes.layers += 1;
        }
        Ok(())
    }

    /// Sets entries of the table, from one on, to the rows of virtual rows; `None` for one that has no row.
    pub fn entries(
        &mut self,
        module: &mut dyn Loads,
        base: usize,
        rows: &[Option<u16>],
    ) -> Result<(), DriverError> {
        if base + rows.len() > ENTRIES {
            return Err(DriverError::Entries { rows: rows.len() });
        }
        for (entry, row) in (base..).zip(rows) {
            let row = row.unwrap_or(NO_ROW);
            if self.table[entry] != Some(row) {
                module.load(LoadKind::Entry, entry as u16, row.into())?;
                self.table[entry] = Some(row);
                self.writes.entries += 1;
            }
        }
        Ok(())
    }

    /// Runs a request; see [`Runs::run`].
    pub fn run(
        &self,
        rank: &mut dyn Runs,
        start: Start<'_>,
        made: &mut dyn FnMut(Made),
    ) -> Result<(), DeviceError> {
        rank.run(start, made)
    }
}

/// The rows of the banks that hold a request's K and V, wherever they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KvRows {
    k: Vec<u16>,
    v: Vec<u16>,
}

impl KvRows {
    /// The rows of a layout, one after the other.
    pub fn adjacent(layout: &HeadLayout) -> Result<Self, DriverError> {
        let first = layout.k_column(0, 0).0;
        let mut rows = Self::default();
        rows.grow(layout, first..layout.end_row())?;
        Ok(rows)
    }

    /// How many rows of K and of V a layout takes.
    pub fn wanted(layout: &HeadLayout) -> (usize, usize) {
        let k = layout.chunks().div_ceil(layout.chunks_per_row());
        (k, layout.parts() * layout.quads().div_ceil(layout.columns()))
    }

    /// Takes more rows, K's first, until there are those of a layout. What is left of `free` is not taken.
    pub fn grow(
        &mut self,
        layout: &HeadLayout,
        free: impl IntoIterator<Item = usize>,
    ) -> Result<(), DriverError> {
        let (k, v) = Self::wanted(layout);
        let mut free = free.into_iter();
        for (rows, wanted) in [(&mut self.k, k), (&mut self.v, v)] {
            let missing = wanted.saturating_sub(rows.len());
            for row in free.by_ref().take(missing) {
                let named = u16::try_from(row).ok().filter(|&row| row != NO_ROW);
                rows.push(named.ok_or(DriverError::Row { row })?);
            }
        }
        Ok(())
    }

    /// Rows in all.
    pub fn len(&self) -> usize {
        self.k.len() + self.v.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row that takes the place of a row of the layout.
    pub fn of_layout(&self, layout: &HeadLayout, row: usize) -> Option<usize> {
        let (k_row, v_row) = (layout.k_column(0, 0).0, layout.v_column(0, 0).0);
        let row = if row < v_row { self.k.get(row - k_row) } else { self.v.get(row - v_row) };
        row.map(|row| (*row).into())
    }

    /// The virtual rows of a program for contexts up to that of `longest`, and where they are.
    pub fn virtual_rows(&self, longest: &HeadLayout) -> Vec<Option<u16>> {
        let (k, v) = Self::wanted(longest);
        let mut rows = vec![None; k + v];
        let (of_k, of_v) = rows.split_at_mut(k);
        of_k.iter_mut().zip(&self.k).for_each(|(place, row)| *place = Some(*row));
        of_v.iter_mut().zip(&self.v).for_each(|(place, row)| *place = Some(*row));
        rows
    }
}
