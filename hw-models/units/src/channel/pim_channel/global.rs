// SPDX-License-Identifier: MIT
//! The global buffer, and its filling from a row of a bank.

/// The columns of a row.
const COLUMNS: usize = 16;

/// A column that is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fill {
    pub(super) bank: usize,
    pub(super) column: usize,
}

/// The global buffer.
#[derive(Clone, Debug)]
pub(super) struct GlobalBuffer {
    /// What is read next.
    fill: Option<Fill>,
    /// The column that comes in this cycle.
    coming: Option<usize>,
    words: [[u64; 4]; 2 * COLUMNS],
    /// The word of the last cycle's beat.
    word: [u64; 4],
}

impl GlobalBuffer {
    pub(super) fn new() -> Self {
        Self { fill: None, coming: None, words: [[0; 4]; 2 * COLUMNS], word: [0; 4] }
    }

    /// The column that a bank is to read.
    pub(super) fn fill(&self) -> Option<Fill> {
        self.fill
    }

    /// The word of the last cycle's beat, or zero.
    pub(super) fn word(&self) -> [u64; 4] {
        self.word
    }

    /// A cycle: a GWRITE of a bank, whether a column is read, the column that was read in the last cycle, a beat.
    pub(super) fn step(
        &mut self,
        copy: Option<usize>,
        is_taken: bool,
        data: &[u64; 8],
        beat: Option<usize>,
    ) {
        self.word = beat.map_or([0; 4], |word| self.words[word]);
        if let Some(column) = self.coming.take() {
            let (low, high) = data.split_at(4);
            self.words[2 * column].copy_from_slice(low);
            self.words[2 * column + 1].copy_from_slice(high);
        }
        if let Some(Fill { bank, column }) = self.fill.filter(|_| is_taken) {
            self.coming = Some(column);
            self.fill = (column + 1 < COLUMNS).then_some(Fill { bank, column: column + 1 });
        }
        if let Some(bank) = copy {
            self.fill = Some(Fill { bank, column: 0 });
        }
    }
}
