// SPDX-License-Identifier: MIT
//! A matrix that lies in banks for PIM, whatever the device: which elements a burst has, and where it is.
//!
//! A burst holds neighbours of one *line* of the matrix: of a column in LPDDR5X-PIM, of a row on L3's rank and in AiM
//! channels. Line behind line is the order of the host's memory in which bursts stay whole, so that a copy is a permutation of them.
//!
//! ```text
//!             lines      elements of a burst    memory's order, from the slowest
//! lp5         columns    16                     the host's address map
//! l3          rows       32                     row, column, bank
//! aim         rows       16                     row, column, bank, channel
//! ```

use pimlico_device::lp5::HostOrder;
use pimlico_device::mapping::Place;
use std::ops::Range;

/// In which order bursts are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadOrder {
    /// All banks in turn, and of each one row after the other: each read goes to another channel or bank group, and hits an
    /// open row.
    #[default]
    RowBuffer,
    /// Bank after bank: the bad example, in which one bank works at a time.
    BankMajor,
}

impl ReadOrder {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::RowBuffer => "row-buffer",
            Self::BankMajor => "bank-major",
        }
    }
}

/// A column of a bank of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelPlace {
    /// Channel.
    pub channel: usize,
    /// Where it is there.
    pub place: Place,
}

/// A burst of a matrix: elements of a line from a multiple of [`PimLayout::burst_elements`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixBurst {
    /// The line.
    pub line: u64,
    /// Which burst of it.
    pub number: u64,
    /// Where it is.
    pub at: ChannelPlace,
    /// The byte of the matrix' memory with which it begins: [`PimLayout::offset`] of the place.
    pub offset: u64,
}

/// A matrix that lies in banks for PIM.
pub trait PimLayout: Sync {
    /// Rows and columns.
    fn shape(&self) -> (u64, u64);

    /// Which elements are neighbours in a burst: [`HostOrder::ColumnMajor`], if lines are columns.
    fn order(&self) -> HostOrder;

    /// Elements of a burst, of 16 bits each; the last of a line may have fewer.
    fn burst_elements(&self) -> u64;

    /// Lines that are copied together: those that share rows of all banks.
    fn block(&self) -> u64;

    /// Bytes of the memory from its first row of the banks to its last.
    fn bytes(&self) -> u64;

    /// Where a burst of a line is, by its number.
    ///
    /// # Panics
    ///
    /// If there is no such burst.
    fn burst(&self, line: u64, number: u64) -> ChannelPlace;

    /// The byte of the memory with which a place begins.
    fn offset(&self, at: ChannelPlace) -> u64;

    /// Visits the bursts of some lines in order; those of padding alone are left out.
    fn visit(&self, lines: Range<u64>, order: ReadOrder, visit: &mut dyn FnMut(MatrixBurst));

    /// How many lines there are.
    fn lines(&self) -> u64 {
        let (rows, columns) = self.shape();
        if self.order() == HostOrder::ColumnMajor { columns } else { rows }
    }

    /// Elements of a line.
    fn line_elements(&self) -> u64 {
        let (rows, columns) = self.shape();
        if self.order() == HostOrder::ColumnMajor { rows } else { columns }
    }

    /// Bytes of a line in the host's memory.
    fn line_bytes(&self) -> u64 {
        2 * self.line_elements()
    }

    /// Bytes of a burst.
    fn burst_bytes(&self) -> u64 {
        2 * self.burst_elements()
    }

    /// Bursts of a line.
    fn line_bursts(&self) -> u64 {
        self.line_elements().div_ceil(self.burst_elements())
    }

    /// The byte of the memory with which an element begins.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    fn element_offset(&self, row: u64, column: u64) -> u64 {
        let by_column = self.order() == HostOrder::ColumnMajor;
        let (line, element) = if by_column { (column, row) } else { (row, column) };
        let (number, within) = (element / self.burst_elements(), element % self.burst_elements());
        self.offset(self.burst(line, number)) + 2 * within
    }
}

/// The memory of a matrix, from its elements row by row.
///
/// # Panics
///
/// If there are not as many elements, or bytes.
pub fn pack(layout: &dyn PimLayout, elements: &[u16], memory: &mut [u8]) {
    let (rows, columns) = layout.shape();
    assert_eq!(elements.len() as u64, rows * columns, "elements of the matrix");
    assert_eq!(memory.len() as u64, layout.bytes(), "bytes of the matrix' memory");
    memory.fill(0);
    let by_column = layout.order() == HostOrder::ColumnMajor;
    layout.visit(0..layout.lines(), ReadOrder::RowBuffer, &mut |burst| {
        let begin = burst.number * layout.burst_elements();
        let end = (begin + layout.burst_elements()).min(layout.line_elements());
        let to = memory[burst.offset as usize..].chunks_exact_mut(2);
        for (element, to) in (begin..end).zip(to) {
            let (row, column) =
                if by_column { (element, burst.line) } else { (burst.line, element) };
            to.copy_from_slice(&elements[(row * columns + column) as usize].to_le_bytes());
        }
    });
}

/// The banks of a rank, each in another group than the one before.
pub(super) fn by_groups(banks: usize, groups: usize) -> impl Iterator<Item = usize> + Clone {
    (0..banks).map(move |n| n % groups * (banks / groups) + n / groups)
}
