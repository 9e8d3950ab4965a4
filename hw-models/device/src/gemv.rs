// SPDX-License-Identifier: MIT
//! A matrix times a vector (GEMV), the operator of fully-connected layers: weights are resident in the
//! banks, the vector comes to the shared buffers.
//!
//! ```text
//! WR_SHARED tile 0 ──▶ RD_ALL chunk 0, chunk 1, ...            b columns each
//! WR_SHARED tile 1         └─▶ RD_RESULT ──▶ adder unit ──▶ 16 outputs, or partial sums of them
//! ```
//!
//! A *chunk* is 16 rows of the matrix, one in each logic bank, at the same row and column of the DRAM as
//! K vectors are. The vector is cut into *tiles* of 4096 elements: 1 KB for each chip, half of its
//! shared buffer. Of each tile all chunks are read before the next; the sums of earlier tiles are
//! binary16 numbers in the score buffer, and the adder unit goes on from them.
//!
//! With [`IoBuffers::PingPong`] one half of the shared buffer is filled while the other is in use. With
//! [`IoBuffers::Single`] there is one half only, and the banks wait while it is filled.

use crate::config::Config;
use crate::mapping::{BURST, Place};
use crate::sizes::{SCORE_BUFFER, SHARED_WORDS};
use serde::{Deserialize, Serialize};

/// Words of a tile, at most: half of a shared buffer.
pub const TILE_WORDS: usize = SHARED_WORDS / 2;

/// Words of a tile that is not the last, in banks whose rows have so many columns: a chunk of it fits a row.
pub fn tile_words(bank_columns: usize) -> usize {
    TILE_WORDS.min(bank_columns)
}

/// How the vector comes to the shared buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoBuffers {
    /// Into one half while the other is in use.
    #[default]
    PingPong,
    /// Into the one half that there is, when it is no longer in use.
    Single,
}

impl IoBuffers {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::PingPong => "ping-pong",
            Self::Single => "single",
        }
    }
}

/// Why a matrix cannot be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    /// It has no element.
    #[error("matrix of {rows} x {columns}: expected at least 1 x 1")]
    Empty {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
    /// The banks have not so many rows.
    #[error("matrix of {rows} x {columns}: it takes {wanted} rows of the banks, there are {there}")]
    Banks {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
        /// Rows of the banks that it takes.
        wanted: usize,
        /// Rows of the banks.
        there: usize,
    },
    /// Its partial sums do not fit the score buffer.
    #[error(
        "matrix of {rows} x {columns}: more than {limit} rows have no room for their partial sums"
    )]
    PartialSums {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
        /// Rows for which there is room.
        limit: usize,
    },
}

/// Where the weights of a matrix lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixLayout {
    /// Rows: outputs.
    pub rows: usize,
    /// Columns: inputs.
    pub columns: usize,
    banks: usize,
    groups: usize,
    /// Columns of a row of the banks.
    bank_columns: usize,
    /// The row of the banks in which it begins.
    begin_row: usize,
}

impl MatrixLayout {
    /// Lays out a matrix from row 0 of the banks on.
    pub fn new(config: &Config, rows: usize, columns: usize) -> Result<Self, MatrixError> {
        Self::from_row(config, rows, columns, 0)
    }

    /// Lays out a matrix from row `begin_row` of the banks on.
    pub fn from_row(
        config: &Config,
        rows: usize,
        columns: usize,
        begin_row: usize,
    ) -> Result<Self, MatrixError> {
        if rows == 0 || columns == 0 {
            return Err(MatrixError::Empty { rows, columns });
        }
        let (banks, bank_columns) = (config.banks(), config.columns());
        let groups = config.organisation.bank_groups;
        let layout = Self { rows, columns, banks, groups, bank_columns, begin_row };
        let there = config.organisation.rows.saturating_sub(begin_row);
        // Rows of the banks that the bursts alone take. What fits by that is small enough to lay out.
        let bursts = rows.saturating_mul(columns.div_ceil(BURST));
        let at_least = bursts.div_ceil(banks * bank_columns);
        let wanted = if at_least > there { at_least } else { layout.first_row(layout.tiles()) };
        if wanted > there {
            return Err(MatrixError::Banks { rows, columns, wanted, there });
        }
        if layout.tiles() > 1 && rows > SCORE_BUFFER {
            return Err(MatrixError::PartialSums { rows, columns, limit: SCORE_BUFFER });
        }
        Ok(layout)
    }

    /// Logic banks.
    pub fn banks(&self) -> usize {
        self.banks
    }

    /// Bank groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Columns of a row of the banks.
    pub fn bank_columns(&self) -> usize {
        self.bank_columns
    }

    /// Tiles of the vector.
    pub fn tiles(&self) -> usize {
        self.columns.div_ceil(self.tile_words() * BURST)
    }

    /// Bursts of a tile.
    pub fn bursts(&self, tile: usize) -> usize {
        let words = self.tile_words();
        words.min(self.columns.div_ceil(BURST) - tile * words)
    }

    /// The first burst of a tile.
    pub fn first_burst(&self, tile: usize) -> usize {
        tile * self.tile_words()
    }

    /// Words of a tile that is not the last: a chunk of it fits a row of the banks.
    fn tile_words(&self) -> usize {
        tile_words(self.bank_columns)
    }

    /// Chunks: 16 rows each.
    pub fn chunks(&self) -> usize {
        self.rows.div_ceil(self.banks)
    }

    /// Chunks of a tile in a row of the banks: none is split over two.
    pub fn chunks_per_row(&self, tile: usize) -> usize {
        self.bank_columns / self.bursts(tile)
    }

    /// The rows of the banks that it takes.
    pub fn bank_rows(&self) -> std::ops::Range<usize> {
        self.begin_row..self.end_row()
    }

    /// The row of the banks behind the last.
    pub fn end_row(&self) -> usize {
        self.begin_row + self.first_row(self.tiles())
    }

    /// The row in which a tile begins, counted from the matrix's own first.
    fn first_row(&self, tile: usize) -> usize {
        (0..tile).map(|tile| self.chunks().div_ceil(self.chunks_per_row(tile))).sum()
    }

    /// Row and column of the banks of a burst of a tile of a chunk.
    pub fn column(&self, tile: usize, chunk: usize, burst: usize) -> (usize, usize) {
        let (row, column) = self.virtual_column(tile, chunk, burst);
        (self.begin_row + row, column)
    }

    /// The same with the row counted from the matrix's own first.
    pub fn virtual_column(&self, tile: usize, chunk: usize, burst: usize) -> (usize, usize) {
        let per_row = self.chunks_per_row(tile);
        let row = self.first_row(tile) + chunk / per_row;
        (row, chunk % per_row * self.bursts(tile) + burst)
    }

    /// The burst of a row of the matrix that lies in a column of a row of a tile.
    pub fn burst(&self, tile: usize, column: usize) -> usize {
        tile * self.tile_words() + column % self.bursts(tile)
    }

    /// Where a burst of a row of the matrix lies. Rows that fill up the last chunk have places too.
    pub fn place(&self, row: usize, burst: usize) -> Place {
        let (tile, burst) = (burst / self.tile_words(), burst % self.tile_words());
        let (bank_row, column) = self.column(tile, row / self.banks, burst);
        Place { bank: row % self.banks, row: bank_row, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_bursts_share_a_place() {
        let config = Config::ddr4_3200();
        let (mut places, mut begin) = (HashSet::new(), 3);
        for (rows, columns) in [(1, 1), (17, 33), (100, 4096), (40, 4097), (16, 9000), (500, 64)] {
            let layout = MatrixLayout::from_row(&config, rows, columns, begin).expect("it fits");
            for row in 0..rows {
                for burst in 0..columns.div_ceil(BURST) {
                    let Place { bank, row, column } = layout.place(row, burst);
                    assert!(column < config.columns() && bank < config.banks());
                    assert!((begin..layout.end_row()).contains(&row));
                    assert_eq!(layout.burst(burst / layout.tile_words(), column), burst);
                    assert!(places.insert((bank, row, column)));
                }
            }
            begin = layout.end_row();
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let config = Config::ddr4_3200();
        let refused = |rows, columns| {
            let error = MatrixLayout::new(&config, rows, columns).expect_err("it does not fit");
            error.to_string()
        };
        assert!(refused(0, 5).contains("at least 1 x 1"));
        assert!(refused(5, 0).contains("at least 1 x 1"));
        // 65536 rows of the banks hold 65536 chunks of one tile.
        assert!(MatrixLayout::new(&config, 16 * 65536, 4096).is_ok());
        assert!(refused(16 * 65536 + 1, 4096).contains("65537 rows of the banks, there are 65536"));
        assert!(refused(usize::MAX, usize::MAX).contains("there are 65536"));
        let behind = MatrixLayout::from_row(&config, 17, 4096, 65535).expect_err("it does not fit");
        assert!(behind.to_string().contains("it takes 2 rows of the banks, there are 1"));
        assert!(MatrixLayout::from_row(&config, 16, 4096, usize::MAX).is_err());
        assert!(refused(200_000, 4097).contains("more than 131072 rows"));
    }
}
