// SPDX-License-Identifier: MIT
//! Where the elements of a matrix lie (LoL-PIM section 4.3: outputs over channels and banks).
//!
//! A row of the matrix lies in one bank. With `N` channels, row `r` is
//!
//! ```text
//! group   g = r / (16 N)             groups lie behind each other in the same banks
//! channel c = r mod (16 N) / 16      a burst of results of a channel is 16 rows that follow each other
//! bank    b = r mod 16
//! ```
//!
//! and its elements lie along the bank's columns, 16 in each. The vector is cut into *tiles* of 1024
//! elements, a side of the global buffer. Tile after tile, the groups' parts of a tile lie behind each
//! other; each is one stretch of columns, and no stretch that fits a DRAM row goes over the end of one. What is left
//! of a stretch's last column is +0. ([`AimMapping`](super::AimMapping) has shorter tiles, and fewer stretches in a row.)
//!
//! For attention, K is the matrix of the scores: a token to a row. The matrix of the context is V
//! transposed: an element of the head to a row, its tokens along the columns. Both grow with the tokens, in
//! the room that was laid out for the most of them ([`AimLayout::part`]).

use super::units::{AimOptions, BANKS, GLOBAL_WORDS, MULTIPLIERS, SLOTS, Word};
use crate::bursts::{BankOrder, WriteRun};
use crate::config::Config;
use crate::dram::Cells;
use smallvec::SmallVec;
use std::ops::Range;
use std::rc::Rc;

/// Elements of binary16 in the HUB's registers, the GPR: 512 KB (LoL-PIM Table 5).
pub const GPR: usize = 512 * 1024 / 2;

/// Why a matrix cannot be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// It has no element.
    #[error("matrix of {rows} x {columns}: expected at least 1 x 1")]
    Empty {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
    /// The banks have not so many rows.
    #[error(
        "matrix of {rows} x {columns} over {channels} channels: it takes {wanted} rows of the banks, \
         there are {there}"
    )]
    Banks {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
        /// Channels.
        channels: usize,
        /// Rows of the banks that it takes.
        wanted: usize,
        /// Rows of the banks that are left for it.
        there: usize,
    },
    /// The dimension of a head.
    #[error("head dimension {0}: expected 1 to {GPR}")]
    HeadDim(usize),
    /// The tokens of a head.
    #[error(
        "context of {context} tokens: {channels} channels hold 1 to {limit} of head dimension \
         {head_dim}"
    )]
    Context {
        /// What was asked for.
        context: usize,
        /// Channels.
        channels: usize,
        /// What there is room for.
        limit: usize,
        /// Elements of a vector.
        head_dim: usize,
    },
    /// Vector and outputs do not fit the GPR.
    #[error(
        "matrix of {rows} x {columns}: vector and outputs are more than the {GPR} elements of the GPR"
    )]
    Gpr {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
    /// A query that runs side by side with others is longer than a tile.
    #[error("head dimension {head_dim}: with shared rows or a head pipeline 1 to {most}, a tile")]
    Tiles {
        /// Elements of a vector.
        head_dim: usize,
        /// What there is room for.
        most: usize,
    },
    /// Queries that share K and V are not in the global buffers together.
    #[error(
        "shared rows: {queries} queries of head dimension {head_dim} share K and V, the global buffers \
         hold {most} at once"
    )]
    Queries {
        /// Queries.
        queries: usize,
        /// Elements of a vector.
        head_dim: usize,
        /// What there is room for.
        most: usize,
    },
    /// The scores of queries that run side by side do not fit the GPR with what becomes of them.
    #[error("{what}: scores and outputs take {wanted} elements of the GPR, there are {there}")]
    GprQueries {
        /// Who runs side by side.
        what: &'static str,
        /// Elements that they take.
        wanted: usize,
        /// Elements that there are.
        there: usize,
    },
    /// A head's scores or its weights and outputs do not fit a group's part of the GPR.
    #[error(
        "{wanted} elements for a head's scores: of the {GPR} of the GPR each of {groups} groups of \
         channels has {there}"
    )]
    GprPart {
        /// Elements that the head takes.
        wanted: usize,
        /// Groups.
        groups: usize,
        /// Elements that a group has.
        there: usize,
    },
}

/// Where the elements of a matrix lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AimLayout {
    /// Rows: outputs.
    pub rows: usize,
    /// Columns: elements of the vector.
    pub columns: usize,
    /// Rows and columns that there is room for.
    room: [usize; 2],
    /// PUs that work side by side.
    pus: usize,
    /// Columns of a DRAM row.
    page: usize,
    /// Words of a tile.
    tile: usize,
    /// Groups that may share a DRAM row.
    sharing: usize,
    first_row: usize,
}

impl AimLayout {
    /// Lays out a matrix from row `first_row` of the banks on.
    pub fn new(
        config: &Config,
        options: &AimOptions,
        rows: usize,
        columns: usize,
        first_row: usize,
    ) -> Result<Self, LayoutError> {
        Self::sharing(config, options, rows, columns, first_row, usize::MAX)
    }

    /// The same, with no more than `sharing` groups in a DRAM row.
    ///
    /// # Panics
    ///
    /// If there may be none, or a tile has no word or more than the global buffer.
    pub fn sharing(
        config: &Config,
        options: &AimOptions,
        rows: usize,
        columns: usize,
        first_row: usize,
        sharing: usize,
    ) -> Result<Self, LayoutError> {
        let tile = options.mapping.tile_words;
        assert!((1..=GLOBAL_WORDS).contains(&tile) && sharing > 0, "a tile, and a row for a group");
        if rows == 0 || columns == 0 {
            return Err(LayoutError::Empty { rows, columns });
        }
        let (pus, page) = (options.pus(), config.columns());
        let room = [rows, columns];
        let layout = Self { rows, columns, room, pus, page, tile, sharing, first_row };
        // What fits the GPR is small enough to lay out.
        let kept = rows.checked_next_multiple_of(pus).and_then(|kept| kept.checked_add(columns));
        if kept.is_none_or(|kept| kept > GPR) {
            return Err(LayoutError::Gpr { rows, columns });
        }
        let there = config.organisation.rows.saturating_sub(first_row);
        let wanted = layout.end_row() - first_row;
        if wanted > there {
            let channels = options.channels;
            return Err(LayoutError::Banks { rows, columns, channels, wanted, there });
        }
        Ok(layout)
    }

    /// The first rows and columns of the matrix, where they lie.
    ///
    /// # Panics
    ///
    /// If there are none, or more than there is room for.
    pub fn part(self, rows: usize, columns: usize) -> Self {
        let [most_rows, most_columns] = self.room;
        assert!((1..=most_rows).contains(&rows), "{rows} of {most_rows} rows");
        assert!((1..=most_columns).contains(&columns), "{columns} of {most_columns} columns");
        Self { rows, columns, ..self }
    }

    /// The matrix that there is room for.
    pub fn whole(self) -> Self {
        let [rows, columns] = self.room;
        Self { rows, columns, ..self }
    }

    /// Rows of the matrix that lie side by side.
    pub fn pus(&self) -> usize {
        self.pus
    }

    /// Groups of so many rows.
    pub fn groups(&self) -> usize {
        self.rows.div_ceil(self.pus)
    }

    /// Tiles of the vector.
    pub fn tiles(&self) -> usize {
        words(self.columns).div_ceil(self.tile)
    }

    /// Words of a tile, and so columns of a group's part of it.
    pub fn tile_words(&self, tile: usize) -> usize {
        self.tile.min(words(self.columns) - self.first_word(tile))
    }

    /// The first word of a tile.
    pub fn first_word(&self, tile: usize) -> usize {
        tile * self.tile
    }

    /// Columns that a group's part of a tile has room for.
    pub fn tile_room(&self, tile: usize) -> usize {
        self.tile.min(words(self.room[1]) - self.first_word(tile))
    }

    /// Groups whose parts of a tile share a DRAM row; 0 if a part is longer than a row.
    pub fn groups_per_row(&self, tile: usize) -> usize {
        (self.page / self.tile_room(tile)).min(self.sharing)
    }

    /// DRAM rows that a group's part of a tile takes, where it is longer than one.
    pub fn rows_per_group(&self, tile: usize) -> usize {
        self.tile_room(tile).div_ceil(self.page)
    }

    /// The first row of the banks.
    pub fn first_row(&self) -> usize {
        self.first_row
    }

    /// Columns of a row of the banks.
    pub fn page(&self) -> usize {
        self.page
    }

    /// The row of the banks in which a tile begins.
    fn row_of_tile(&self, tile: usize) -> usize {
        // All tiles but the last are of one length.
        self.first_row + tile * self.rows_of_tile(0)
    }

    /// Rows of the banks that there are for a tile.
    pub fn rows_of_tile(&self, tile: usize) -> usize {
        let groups = self.room[0].div_ceil(self.pus);
        match self.groups_per_row(tile) {
            0 => groups * self.rows_per_group(tile),
            per_row => groups.div_ceil(per_row),
        }
    }

    /// The row of the banks behind the last.
    pub fn end_row(&self) -> usize {
        let last = words(self.room[1]).div_ceil(self.tile) - 1;
        self.row_of_tile(last) + self.rows_of_tile(last)
    }

    /// How many rows hold an element: of a matrix that grows, those that it has come to.
    pub fn rows_in_use(&self) -> usize {
        let groups = self.groups();
        let of_tile = |tile| match self.groups_per_row(tile) {
            0 => groups * self.tile_words(tile).div_ceil(self.page),
            per_row => groups.div_ceil(per_row),
        };
        (0..self.tiles()).map(of_tile).sum()
    }

    /// These rows.
    pub fn used_rows(&self) -> impl Iterator<Item = usize> + use<> {
        let layout = *self;
        let of_tile = move |tile| {
            let (each, parts) = match layout.groups_per_row(tile) {
                0 => (layout.rows_per_group(tile), layout.tile_words(tile).div_ceil(layout.page)),
                _ => (1, 1),
            };
            let groups = layout.groups().div_ceil(layout.groups_per_row(tile).max(1));
            let row = move |group: usize, part| layout.row_of_tile(tile) + group * each + part;
            (0..groups).flat_map(move |group| (0..parts).map(move |part| row(group, part)))
        };
        (0..self.tiles()).flat_map(of_tile)
    }

    /// Row and column of the banks of a word of a tile in a group.
    pub fn place(&self, tile: usize, group: usize, word: usize) -> (usize, usize) {
        let per_row = self.groups_per_row(tile);
        if per_row == 0 {
            let row = self.row_of_tile(tile) + group * self.rows_per_group(tile);
            return (row + word / self.page, word % self.page);
        }
        let row = self.row_of_tile(tile) + group / per_row;
        (row, group % per_row * self.tile_room(tile) + word)
    }

    /// Writes of the rows of a group, bank by bank with the bank groups taking turns, in the channels that have a row in the
    /// bank. `element` gives the elements by row, counted from the group's first, and column; both exist.
    pub fn writes<'a>(
        &'a self,
        group: usize,
        element: impl Fn(usize, usize) -> u16 + 'a,
    ) -> impl Iterator<Item = RowWrites<'a>> + 'a {
        self.word_writes(group, self.words_of(element))
    }

    /// The same, where `word` gives whole words of rows, by row and by number in the row. What is in them behind the last
    /// column is to be +0.
    pub fn word_writes<'a>(
        &'a self,
        group: usize,
        word: impl Fn(usize, usize) -> Word + 'a,
    ) -> impl Iterator<Item = RowWrites<'a>> + 'a {
        let all = GroupWrites { first: 0, ..self.group_writes(group, Rc::new(word)) };
        all.words(0..words(self.columns))
    }

    /// Writes of a row, in its channel alone. `element` gives the elements by row and column; both exist.
    pub fn row_writes<'a>(
        &'a self,
        row: usize,
        element: impl Fn(usize, usize) -> u16 + 'a,
    ) -> impl Iterator<Item = RowWrites<'a>> + 'a {
        let group = self.group_writes(row / self.pus, Rc::new(self.words_of(element)));
        let banks = BankOrder::new([row % BANKS]);
        let channels = 1 << (row % self.pus / BANKS);
        GroupWrites { banks, channels, ..group }.words(0..words(self.columns))
    }

    /// Writes of a column, in the channels that have a row in the bank, with what stands beside it in its words: the
    /// host has a copy of that. `element` gives the elements by row and column; both exist.
    pub fn column_writes<'a>(
        &'a self,
        column: usize,
        element: impl Fn(usize, usize) -> u16 + 'a,
    ) -> impl Iterator<Item = RowWrites<'a>> + 'a {
        let word = column / MULTIPLIERS;
        let word_of: WordOf<'a> = Rc::new(self.words_of(element));
        (0..self.groups()).flat_map(move |group| {
            self.group_writes(group, Rc::clone(&word_of)).words(word..word + 1)
        })
    }

    /// What gives words of rows, where `element` gives elements.
    fn words_of<'a>(
        &'a self,
        element: impl Fn(usize, usize) -> u16 + 'a,
    ) -> impl Fn(usize, usize) -> Word + 'a {
        let columns = self.columns;
        move |row, word| {
            let there = |column: usize| if column < columns { element(row, column) } else { 0 };
            of_elements(&std::array::from_fn(|n| there(MULTIPLIERS * word + n)))
        }
    }

    /// Writes of the rows of a group in all banks that have one, the bank groups taking turns. `word_of` gives words by row of
    /// the matrix.
    fn group_writes<'a>(&self, group: usize, word_of: WordOf<'a>) -> GroupWrites<'a> {
        let first = group * self.pus;
        let rows = self.pus.min(self.rows - first);
        let banks = (0..BANKS).map(|n| n % 4 * 4 + n / 4).filter(|&bank| bank < rows);
        let banks = BankOrder::new(banks);
        GroupWrites { layout: *self, group, first, rows, banks, channels: u64::MAX, word_of }
    }
}

/// Gives words by row and by number in the row.
type WordOf<'a> = Rc<dyn Fn(usize, usize) -> Word + 'a>;

/// Writes of the rows of a group.
struct GroupWrites<'a> {
    layout: AimLayout,
    group: usize,
    /// The first row and how many there are, as `word_of` knows them.
    first: usize,
    rows: usize,
    /// Banks and channels that may take them.
    banks: BankOrder,
    channels: u64,
    word_of: WordOf<'a>,
}

impl<'a> GroupWrites<'a> {
    /// Those of some of the words of a row, as they lie in the rows of the banks.
    fn words(self, numbers: Range<usize>) -> impl Iterator<Item = RowWrites<'a>> + use<'a> {
        let Range { start: mut next, end } = numbers;
        std::iter::from_fn(move || {
            let Self { layout, group, first, rows, banks, channels, ref word_of } = self;
            if next == end {
                return None;
            }
            let (tile, word) = (next / layout.tile, next % layout.tile);
            let of_tile = layout.tile - word;
            let of_row = match layout.groups_per_row(tile) {
                0 => layout.page - word % layout.page,
                _ => of_tile,
            };
            let columns = of_tile.min(of_row).min(end - next);
            let (row, column) = layout.place(tile, group, word);
            let (word, pus, word_of) = (next, layout.pus, Rc::clone(word_of));
            next += columns;
            Some(RowWrites {
                row,
                column,
                columns,
                banks,
                channels,
                pus,
                first,
                rows,
                word,
                word_of,
            })
        })
    }
}

/// Columns of a row of the banks that are written one after the other, and in each column the banks by turns.
#[derive(Clone)]
pub struct RowWrites<'a> {
    row: usize,
    /// The first column, and how many there are.
    column: usize,
    columns: usize,
    /// The banks of a column.
    banks: BankOrder,
    /// The channels that may take them.
    channels: u64,
    /// PUs of all channels.
    pus: usize,
    /// The first row of the matrix in the banks and how many there are, as `word_of` knows them.
    first: usize,
    rows: usize,
    /// The number of the word in the first column.
    word: usize,
    word_of: WordOf<'a>,
}

/// Which banks and columns of a row are written, and in which order.
#[derive(Clone, Copy, PartialEq)]
pub struct WriteShape {
    column: usize,
    columns: usize,
    banks: BankOrder,
}

impl<'a> RowWrites<'a> {
    /// Which banks and columns they write.
    pub(super) fn shape(&self) -> WriteShape {
        let Self { column, columns, banks, .. } = *self;
        WriteShape { column, columns, banks }
    }

    /// Their row.
    pub fn row(&self) -> usize {
        self.row
    }

    /// The banks of a column, in their order.
    pub(super) fn banks(&self) -> &BankOrder {
        &self.banks
    }

    /// How many writes there are.
    pub fn count(&self) -> usize {
        self.columns * self.banks.len()
    }

    /// How many words channels take.
    pub fn words(&self) -> usize {
        let of_bank = |bank| self.takers(bank).count_ones() as usize;
        self.columns * self.banks.iter().map(of_bank).sum::<usize>()
    }

    /// The same in another row.
    pub fn in_row(self, row: usize) -> Self {
        Self { row, ..self }
    }

    /// One of the writes, by its number.
    ///
    /// # Panics
    ///
    /// If there is no such write.
    pub fn write(&self, number: usize) -> Write {
        let Self { row, pus, .. } = *self;
        let (bank, column) = self.place(number);
        let channels = self.takers(bank);
        let of_channel = |channel: usize| match channels >> channel & 1 {
            1 => self.word_in(channel * BANKS + bank, column),
            _ => Word::default(),
        };
        let words = (0..pus / BANKS).map(of_channel).collect();
        Write { bank, row, column, words, channels }
    }

    /// Write after write.
    pub fn each(self) -> impl Iterator<Item = Write> + use<'a> {
        (0..self.count()).map(move |number| self.write(number))
    }

    /// Bank and column of a write.
    pub(super) fn place(&self, number: usize) -> (usize, usize) {
        assert!(number < self.count(), "write {number} of {}", self.count());
        let banks = self.banks.len();
        (self.banks.bank(number % banks), self.column + number / banks)
    }

    /// Some of them, the first at this tCK, as a run.
    pub(super) fn run(&self, numbers: Range<usize>, from_tck: u64) -> WriteRun {
        let (row, banks, count) = (self.row, self.banks, numbers.len() as u64);
        let (place, column) = (numbers.start % banks.len(), self.place(numbers.start).1);
        WriteRun { from_tck, every_tck: SLOTS as u64, count, row, column, place, banks }
    }

    /// What writes of a run of these leave in the arrays.
    pub(super) fn land(&self, run: &WriteRun, cells: &mut Cells<Word>) {
        let Some(row) = cells.row(self.row) else { return };
        for (bank, column) in run.places() {
            let all_pus = &mut row[column * self.pus..][..self.pus];
            let mut channels = self.takers(bank);
            while channels != 0 {
                let pu = channels.trailing_zeros() as usize * BANKS + bank;
                all_pus[pu] = self.word_in(pu, column);
                channels &= channels - 1;
            }
        }
    }

    /// The channels that take the words of a bank: a bit for each.
    fn takers(&self, bank: usize) -> u64 {
        let there = (self.rows - bank).div_ceil(BANKS);
        u64::MAX >> (u64::BITS as usize - there) & self.channels
    }

    /// The word of a PU in a column.
    fn word_in(&self, pu: usize, column: usize) -> Word {
        (self.word_of)(self.first + pu, self.word + column - self.column)
    }
}

impl Write {
    /// The channels that take it, with the elements of each.
    pub fn taken(&self) -> impl Iterator<Item = (usize, Word)> {
        let all = self.words.iter().copied().enumerate();
        all.filter(|(channel, _)| self.channels >> channel & 1 == 1)
    }
}

/// Words of so many elements.
fn words(elements: usize) -> usize {
    elements.div_ceil(MULTIPLIERS)
}

/// A column that is written in one bank of some channels.
///
/// Commands and addresses are common to all channels, their data lines are not. A channel that does not take the column
/// keeps what it has: it is assumed that its WR is masked. GDDR6 has such masks (WDM and WSM of JESD250, with a bit for
/// each two bytes or each byte of the burst, on the command lines). Within a column nothing is masked: the host writes
/// all 32 bytes of it, from its copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Bank.
    pub bank: usize,
    /// Row.
    pub row: usize,
    /// Column.
    pub column: usize,
    /// For each channel its elements; +0 where it does not take them.
    pub words: SmallVec<[Word; 1]>,
    /// The channels that take them: a bit for each, the lowest of the first.
    pub channels: u64,
}

/// A word of a vector, filled up with +0.
pub fn word_of(vector: &[u16], word: usize) -> Word {
    let there = vector.get(MULTIPLIERS * word..).unwrap_or_default();
    match there.first_chunk() {
        Some(elements) => of_elements(elements),
        None => of_elements(&std::array::from_fn(|e| there.get(e).copied().unwrap_or(0))),
    }
}

/// A word of elements.
pub fn of_elements(elements: &[u16; MULTIPLIERS]) -> Word {
    let part = |n: usize| &elements[4 * n..][..4];
    std::array::from_fn(|n| part(n).iter().rfold(0, |bits, e| bits << 16 | u64::from(*e)))
}

/// The elements of a word.
pub fn elements(word: Word) -> [u16; MULTIPLIERS] {
    std::array::from_fn(|e| (word[e / 4] >> (16 * (e % 4))) as u16)
}

#[cfg(test)]
mod tests;
