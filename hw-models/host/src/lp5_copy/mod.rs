// SPDX-License-Identifier: MIT
//! The swizzled memory copy of PIM-SHERPA (section 4.2) as a host of LPDDR5X-PIM does it: which loads and stores its threads have
//! under way, what of them reaches the channels, and when.
//!
//! ```text
//! thread    load of a burst, not cacheable ──▶ store to the copy's line ─┬─ the line is in the cache
//!                                                                         └─ it is filled: a read of it; another line may be written back
//! channel   reads before writes, open rows first; many writes at once
//! ```
//!
//! A thread that is done with a column takes the next that nobody has, so that all of them read about the same row of all banks. Each has so many loads under way,
//! whose stores come in order, and so many lines that are being filled ([`CopyOptions`]). At the end all lines are written back, so
//! that each byte is read, filled and written once: three passes (section 3.3). Stores that are non-temporal are written as they
//! are: two passes.
//!
//! In row-major order ([`HostOrder`]) a thread takes the columns of a line of the copy for 16 rows at once: two squares of 16 x 16
//! elements, so that the lines of those rows are whole when it goes on.
//!
//! * [`lines`]: the lines of the copy, and the cache.
//! * [`queues`]: what waits for a channel.

pub mod lines;
pub mod queues;

use crate::cache::LINE_BYTES;
use crate::swizzle::rows::{LINE_COLUMNS, Square, visit_squares};
use crate::swizzle::{ChannelPlace, MatrixBurst, PimLayout, ReadOrder};
use lines::{Found, LINE_BURSTS, Lines};
use pimlico_device::lp5::address::BURST_BYTES;
use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::{
    AddressField, AddressMap, BurstPlace, HostOrder, Lp5Host, Lp5Layout, Request, Vector,
};
use pimlico_device::mapping::Place;
use queues::{Kind, Queues, WriteQueue};
use std::collections::VecDeque;

/// Sets and ways of the last-level cache: 8 MiB of lines of 64 bytes.
const SETS: usize = 8192;
const WAYS: usize = 16;

/// What threads do with what they have loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stores {
    /// They store it to memory that is cacheable.
    #[default]
    WriteAllocate,
    /// They store it past the cache, a burst at a time.
    NonTemporal,
    /// They have done with it: a pass of reads.
    None,
}

impl Stores {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteAllocate => "write-allocate",
            Self::NonTemporal => "non-temporal",
            Self::None => "none",
        }
    }
}

/// How a host copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// In which order bursts are read.
    pub order: ReadOrder,
    /// In which order the copy has the elements.
    pub target: HostOrder,
    /// What becomes of them.
    pub stores: Stores,
    /// Threads, each on a core.
    pub threads: usize,
    /// Loads that a thread has under way, and whose stores wait.
    pub loads: usize,
    /// Lines that are being filled for a thread.
    pub fills: usize,
    /// Writes that wait for a channel.
    pub writes: WriteQueue,
}

impl Default for CopyOptions {
    /// Four threads, as PIM-SHERPA copies with (section 4.3), each with 128 loads of 32 bytes under way: what four channels bring at
    /// 68 GB/s in 240 ns, which is what a load takes on a phone that is busy. 64 lines are filled for each. 512 writes are 16 KiB of
    /// each channel: more than a controller's own queue, as a last-level cache that writes rows back together has them.
    fn default() -> Self {
        Self {
            order: ReadOrder::RowBuffer,
            target: HostOrder::ColumnMajor,
            stores: Stores::WriteAllocate,
            threads: 4,
            loads: 128,
            fills: 64,
            writes: WriteQueue { room: 512, high: 448, low: 16 },
        }
    }
}

/// Bursts of a copy, by why they are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyCounts {
    /// Loads of the matrix.
    pub loads: u64,
    /// Reads of lines that were stored to.
    pub fills: u64,
    /// Lines that were written back, or stores past the cache.
    pub writes: u64,
}

/// What a read is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A load of a thread.
    Load {
        /// The thread.
        thread: usize,
    },
    /// A burst of a line that a thread has stored to.
    Fill {
        /// The thread.
        thread: usize,
        /// The line.
        line: u64,
        /// Which burst of it.
        burst: u64,
    },
}

impl Tag {
    /// Its kind.
    fn kind(self) -> Kind {
        match self {
            Self::Load { .. } => Kind::Load,
            Self::Fill { .. } => Kind::Fill,
        }
    }
}

/// A burst that a thread copies.
#[derive(Clone, Copy, Debug)]
struct Piece {
    column: u32,
    /// Which 16 rows of it.
    number: u32,
    channel: u8,
    place: BurstPlace,
}

/// A load of a thread, in the order of its program.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    piece: Piece,
    data: Option<Vector>,
    /// Elements that are stored.
    stored: usize,
}

/// A thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    left: VecDeque<Piece>,
    under_way: VecDeque<UnderWay>,
    filling: usize,
}

/// A host that copies a matrix.
pub struct CopyHost<'a> {
    layout: &'a Lp5Layout,
    options: CopyOptions,
    /// The row of all banks at which the copy begins.
    to_row: u64,
    /// Channel and place of each burst of row 0 of all banks.
    of_row: Vec<(usize, BurstPlace)>,
    threads: Vec<Thread>,
    /// What no thread has yet, of the columns before this one.
    left: VecDeque<Piece>,
    columns: u64,
    lines: Lines,
    /// Lines that are written back at the end; none before.
    flushed: Option<VecDeque<u64>>,
    queues: Vec<Queues>,
    /// Of each channel the reads that were given, in order.
    given: Vec<VecDeque<Tag>>,
    /// Something has happened that threads may wait for.
    is_awake: bool,
    counts: CopyCounts,
}

impl<'a> CopyHost<'a> {
    /// A host that copies a matrix into memory from a row of all banks on, column behind column or row behind row.
    ///
    /// # Panics
    ///
    /// If rows of all banks are not contiguous in the map, a thread has no loads or fills, or stores past the cache are no whole
    /// bursts, as those of rows.
    pub fn new(layout: &'a Lp5Layout, to_row: u64, options: CopyOptions) -> Self {
        let CopyOptions { target, stores, threads, loads, fills, writes, .. } = options;
        let (map, (rows, columns)) = (layout.map(), Lp5Layout::shape(layout));
        assert!(map.has_rows_on_top(), "rows of all banks that are contiguous");
        assert!(threads > 0 && loads > 0 && fills > 0, "a thread with loads and fills");
        let is_whole = rows.is_multiple_of(LANES as u64) && target == HostOrder::ColumnMajor;
        assert!(stores != Stores::NonTemporal || is_whole, "stores of whole bursts");
        let channels = map.count(AddressField::Channel) as usize;
        let in_group = map.count(AddressField::Bank) as u8;
        let bytes = if stores == Stores::None { 0 } else { 2 * rows * columns };
        Self {
            layout,
            options,
            to_row,
            of_row: (0..map.row_bytes()).step_by(BURST_BYTES).map(|at| place_of(map, at)).collect(),
            threads: vec![Thread::default(); threads],
            left: VecDeque::new(),
            columns: 0,
            lines: Lines::new(bytes, SETS, WAYS),
            flushed: None,
            queues: vec![Queues::new(writes, in_group); channels],
            given: vec![VecDeque::new(); channels],
            is_awake: true,
            counts: CopyCounts::default(),
        }
    }

    /// Bursts that were given to the channels.
    pub fn counts(&self) -> CopyCounts {
        self.counts
    }

    /// Gives a thread what is stored together: the next column, or as much of it as is read at once; in row-major order the line of
    /// 16 rows. Returns whether there was some.
    fn deal(&mut self, number: usize) -> bool {
        if self.left.is_empty() {
            self.list();
        }
        let target = self.options.target;
        let together = |piece: &Piece| match target {
            HostOrder::ColumnMajor => (piece.column, 0),
            HostOrder::RowMajor => (piece.column / LINE_COLUMNS as u32, piece.number),
        };
        let left = &mut self.left;
        let Some(first) = left.front().map(together) else { return false };
        let count = left.iter().take_while(|piece| together(piece) == first).count();
        self.threads[number].left.extend(left.drain(..count));
        true
    }

    /// Lists what is read of the next block.
    fn list(&mut self) {
        let Self { layout, options, left, columns, .. } = self;
        let CopyOptions { order, target, .. } = *options;
        let all = layout.lines();
        let block = match (order, target) {
            (ReadOrder::RowBuffer, HostOrder::ColumnMajor) => layout.block(),
            _ => all,
        };
        let of_block = *columns..(*columns + block).min(all);
        *columns = of_block.end;
        if of_block.is_empty() {
            return;
        }
        let mut push = |line: u64, number: u64, at: ChannelPlace| {
            let Place { bank, row, column } = at.place;
            let place = BurstPlace { bank: bank as u8, row: row as u32, column: column as u8 };
            let (column, number) = (line as u32, number as u32);
            left.push_back(Piece { column, number, channel: at.channel as u8, place });
        };
        match target {
            HostOrder::ColumnMajor => layout.visit(of_block, order, &mut |burst| {
                let MatrixBurst { line, number, at, .. } = burst;
                push(line, number, at);
            }),
            HostOrder::RowMajor => {
                let vectors = 0..layout.vectors();
                visit_squares(layout, &vectors, order, &mut |Square { number, columns }| {
                    columns.for_each(|line| push(line, number, layout.burst(line, number)));
                });
            }
        }
    }

    /// All threads do what they can.
    fn advance(&mut self) {
        while std::mem::take(&mut self.is_awake) {
            for thread in 0..self.threads.len() {
                self.store(thread);
                self.load(thread);
            }
            let is_idle = |thread: &Thread| thread.under_way.is_empty() && thread.filling == 0;
            if self.threads.iter().all(is_idle) {
                self.flush();
            }
        }
    }

    /// Issues the loads of a thread.
    fn load(&mut self, number: usize) {
        while self.threads[number].under_way.len() < self.options.loads {
            if self.threads[number].left.is_empty() {
                if !self.deal(number) {
                    return;
                }
                continue;
            }
            let thread = &mut self.threads[number];
            let Some(piece) = thread.left.pop_front() else { return };
            thread.under_way.push_back(UnderWay { piece, data: None, stored: 0 });
            self.queues[usize::from(piece.channel)].read(piece.place, Tag::Load { thread: number });
        }
    }

    /// Stores what a thread has loaded, in the order of its program.
    fn store(&mut self, number: usize) {
        while let Some(UnderWay { piece, data: Some(data), stored }) =
            self.threads[number].under_way.front().copied()
        {
            let (there, stores) = (self.elements(piece), self.options.stores);
            let stored = match stores {
                Stores::None => there,
                Stores::WriteAllocate => self.store_to_lines(number, piece, (stored, &data)),
                Stores::NonTemporal if self.store_past(piece, &data) => there,
                Stores::NonTemporal => 0,
            };
            let under_way = &mut self.threads[number].under_way;
            if stored < there {
                under_way[0].stored = stored;
                return;
            }
            under_way.pop_front();
        }
    }

    /// Elements of a burst.
    fn elements(&self, piece: Piece) -> usize {
        let (rows, _) = Lp5Layout::shape(self.layout);
        LANES.min((rows - u64::from(piece.number) * LANES as u64) as usize)
    }

    /// The byte of the copy with which an element of a burst begins.
    fn in_copy(&self, Piece { column, number, .. }: Piece, element: usize) -> u64 {
        let row = u64::from(number) * LANES as u64 + element as u64;
        self.options.target.offset(Lp5Layout::shape(self.layout), (row, column.into()))
    }

    /// Stores to the lines that a burst goes to, from one of its elements on. Returns how many elements are stored: if not all, the
    /// thread has to wait.
    fn store_to_lines(
        &mut self,
        number: usize,
        piece: Piece,
        (stored, data): (usize, &Vector),
    ) -> usize {
        let (there, mut last) = (self.elements(piece), None);
        for (element, bits) in data.iter().enumerate().take(there).skip(stored) {
            let at = self.in_copy(piece, element);
            let line = at / LINE_BYTES;
            if last != Some(line) && !self.bring(number, line) {
                return element;
            }
            last = Some(line);
            self.lines.store(line, (at % LINE_BYTES / 2) as usize, &[*bits]);
        }
        there
    }

    /// Sees that a line is in the cache. Returns false, if the thread has to wait.
    fn bring(&mut self, number: usize, line: u64) -> bool {
        let leaves = match self.lines.find(line) {
            Found::Hit => return true,
            Found::Miss { leaves } => leaves,
            Found::Full => return false,
        };
        if self.threads[number].filling == self.options.fills {
            return false;
        }
        if let Some(leaves) = leaves
            && !self.write_back(leaves)
        {
            return false;
        }
        self.lines.allocate(line, leaves);
        self.threads[number].filling += 1;
        for burst in 0..LINE_BURSTS {
            let (channel, place) = self.place(line, burst);
            match self.queues[channel].written(place) {
                Some(data) => self.filled(number, line, burst, &data),
                None => {
                    let tag = Tag::Fill { thread: number, line, burst };
                    self.queues[channel].read(place, tag);
                }
            }
        }
        true
    }

    /// A burst of a line is there.
    fn filled(&mut self, number: usize, line: u64, burst: u64, data: &Vector) {
        if self.lines.fill(line, burst, data) {
            self.threads[number].filling -= 1;
        }
    }

    /// Writes a line back. Returns false, if there is no room for it.
    fn write_back(&mut self, line: u64) -> bool {
        let places: [_; LINE_BURSTS as usize] =
            std::array::from_fn(|burst| self.place(line, burst as u64));
        if places.iter().any(|(channel, _)| !self.queues[*channel].has_room(places.len())) {
            return false;
        }
        for ((channel, place), burst) in places.into_iter().zip(0..) {
            let data = self.lines.burst(line, burst);
            self.queues[channel].write(place, data);
        }
        true
    }

    /// Stores a burst past the cache. Returns false, if there is no room for it.
    fn store_past(&mut self, piece: Piece, data: &Vector) -> bool {
        let begin = self.in_copy(piece, 0);
        let (line, burst) = (begin / LINE_BYTES, begin % LINE_BYTES / BURST_BYTES as u64);
        let (channel, place) = self.place(line, burst);
        let has_room = self.queues[channel].has_room(1);
        if has_room {
            self.queues[channel].write(place, *data);
        }
        has_room
    }

    /// Writes back all lines, as far as there is room.
    fn flush(&mut self) {
        let lines = &mut self.lines;
        let mut left = self.flushed.take().unwrap_or_else(|| lines.flush().into());
        while let Some(line) = left.front()
            && self.write_back(*line)
        {
            left.pop_front();
        }
        self.flushed = Some(left);
    }

    /// Channel and place of a burst of a line.
    fn place(&self, line: u64, burst: u64) -> (usize, BurstPlace) {
        let burst = line * LINE_BURSTS + burst;
        let in_row = self.of_row.len() as u64;
        let (channel, place) = self.of_row[(burst % in_row) as usize];
        (channel, BurstPlace { row: (self.to_row + burst / in_row) as u32, ..place })
    }
}

/// Channel and place of an address.
fn place_of(map: &AddressMap, address: u64) -> (usize, BurstPlace) {
    let at = map.decode(address);
    let bank = (at.bank_group * map.count(AddressField::Bank) + at.bank) as u8;
    let place = BurstPlace { bank, row: at.row as u32, column: at.column as u8 };
    (at.channel as usize, place)
}

impl Lp5Host for CopyHost<'_> {
    fn next(&mut self, channel: usize, _: u64) -> Option<Request> {
        self.advance();
        let (request, tag) = self.queues[channel].take(self.flushed.is_some())?;
        match tag {
            Some(tag) => {
                let is_load = matches!(tag, Tag::Load { .. });
                *(if is_load { &mut self.counts.loads } else { &mut self.counts.fills }) += 1;
                self.given[channel].push_back(tag);
            }
            // There is room for another write.
            None => {
                self.counts.writes += 1;
                self.is_awake = true;
            }
        }
        Some(request)
    }

    fn read(&mut self, channel: usize, _: u64, place: BurstPlace, data: &Vector) {
        let tag = self.given[channel].pop_front();
        if let Some(tag) = tag {
            self.queues[channel].over(tag.kind());
        }
        match tag {
            Some(Tag::Load { thread }) => {
                let mut waiting = self.threads[thread].under_way.iter_mut();
                let is_it = |load: &&mut UnderWay| {
                    let Piece { channel: of, place: at, .. } = load.piece;
                    usize::from(of) == channel && at == place && load.data.is_none()
                };
                if let Some(load) = waiting.find(is_it) {
                    load.data = Some(*data);
                }
            }
            Some(Tag::Fill { thread, line, burst }) => self.filled(thread, line, burst, data),
            None => {}
        }
        self.is_awake = true;
    }
}
