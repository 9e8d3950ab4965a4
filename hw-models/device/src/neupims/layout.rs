// SPDX-License-Identifier: MIT
//! Matrices, K and V in the banks of a channel (section 6.3).
//!
//! ```text
//! matrix  row r in bank r mod 32, 512 columns along a row of the bank; a tile is 32 rows by 512 columns: a row of all banks
//! K       token t in bank t mod 32, elements of all heads along rows of 512
//! V       transposed: element e of a head in bank e mod 32, 512 tokens along a row
//! ```
//!
//! Rows 0 and 1 hold operands for the global buffer; the last row holds nothing and is opened between operators.

use super::sizes::{BANKS, PAGE, WORD};
use crate::config::ConfigError;

/// Rows of a bank before the first of a matrix: operands for the global buffer.
pub const FIRST_ROW: u64 = 2;
/// Bank and row of the operands, used in turn; they are in different groups.
pub const STAGES: [(u8, u16); 2] = [(0, 0), (20, 1)];

/// Where an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementPlace {
    /// Bank.
    pub bank: u8,
    /// Row of the bank.
    pub row: u16,
    /// Element of the row.
    pub element: u16,
}

/// A row of all banks, and what of it is used: words of each of its sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The row.
    pub row: u16,
    /// Words of each sum.
    pub counts: Vec<u8>,
}

fn words(elements: u64) -> u8 {
    elements.div_ceil(WORD as u64) as u8
}

/// Whether rows from `first` on are there; the last row of a bank is left.
fn room(what: &str, first: u64, needed: u64, rows: u64) -> Result<(), ConfigError> {
    let has_room = first.checked_add(needed).is_some_and(|end| end < rows);
    let left = rows.saturating_sub(first + 1);
    match has_room {
        true => Ok(()),
        false => {
            let message =
                format!("{what} takes {needed} rows of each bank of a channel, {left} are free");
            Err(ConfigError::key(&message))
        }
    }
}

/// A matrix in a channel, or the part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixTiles {
    rows: u64,
    columns: u64,
    first_row: u64,
}

impl MatrixTiles {
    /// A matrix from a row of the banks on, which have so many.
    ///
    /// # Errors
    ///
    /// If it has no room, or no element.
    pub fn new(
        (rows, columns): (u64, u64),
        first_row: u64,
        bank_rows: u64,
    ) -> Result<Self, ConfigError> {
        if rows == 0 || columns == 0 {
            return Err(ConfigError::key(&"a matrix has a row and a column"));
        }
        let tiles = rows.div_ceil(BANKS as u64).checked_mul(columns.div_ceil(PAGE as u64));
        room("the matrix", first_row, tiles.unwrap_or(u64::MAX), bank_rows)?;
        Ok(Self { rows, columns, first_row })
    }

    /// Rows and columns.
    pub fn shape(&self) -> (u64, u64) {
        (self.rows, self.columns)
    }

    /// Pages of the vector.
    pub fn pages(&self) -> u64 {
        self.columns.div_ceil(PAGE as u64)
    }

    /// Groups of 32 rows.
    pub fn groups(&self) -> u64 {
        self.rows.div_ceil(BANKS as u64)
    }

    /// The tile of a group and a page.
    pub fn tile(&self, group: u64, page: u64) -> Tile {
        let left = self.columns - page * PAGE as u64;
        Tile { row: self.bank_row(group, page), counts: vec![words(left.min(PAGE as u64))] }
    }

    /// Where an element is.
    pub fn element(&self, row: u64, column: u64) -> ElementPlace {
        let (banks, page) = (BANKS as u64, PAGE as u64);
        ElementPlace {
            bank: (row % banks) as u8,
            row: self.bank_row(row / banks, column / page),
            element: (column % page) as u16,
        }
    }

    fn bank_row(&self, group: u64, page: u64) -> u16 {
        (self.first_row + page * self.groups() + group) as u16
    }
}

/// K and V of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Heads on this device.
    pub heads: u64,
    /// Elements of a head.
    pub head_dim: u64,
    /// Tokens.
    pub tokens: u64,
}

/// K and V of a request in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvLayout {
    shape: Shape,
    first_row: u64,
}

impl KvLayout {
    /// K and V from a row of the banks on, which have so many.
    ///
    /// # Errors
    ///
    /// If they have no room, there are none, or a row holds no whole number of heads.
    pub fn new(shape: Shape, first_row: u64, bank_rows: u64) -> Result<Self, ConfigError> {
        let Shape { heads, head_dim, tokens } = shape;
        let layout = Self { shape, first_row };
        if heads == 0 || tokens == 0 {
            return Err(ConfigError::key(&"a request has a head and a token"));
        }
        // Sums of a row are counted in 3 bits.
        if !(64..=PAGE as u64).contains(&head_dim) || !(PAGE as u64).is_multiple_of(head_dim) {
            let message = format!("heads of {head_dim} elements, expected 64, 128, 256 or 512");
            return Err(ConfigError::key(&message));
        }
        if heads > 4096 || tokens > 1 << 20 {
            let message =
                format!("{heads} heads of {tokens} tokens, expected 4096 of 1048576 or less");
            return Err(ConfigError::key(&message));
        }
        room("the request", first_row, layout.key_rows() + layout.value_rows(), bank_rows)?;
        Ok(layout)
    }

    /// Heads, their elements, and tokens.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Elements of K of a token.
    pub fn embedding(&self) -> u64 {
        self.shape.heads * self.shape.head_dim
    }

    /// Rows that K takes in each bank.
    pub fn key_rows(&self) -> u64 {
        self.key_groups() * self.query_pages()
    }

    /// Rows that V takes in each bank.
    pub fn value_rows(&self) -> u64 {
        self.shape.heads * self.chunks() * self.value_tiles()
    }

    /// Pages of the query.
    pub fn query_pages(&self) -> u64 {
        self.embedding().div_ceil(PAGE as u64)
    }

    /// Groups of 32 tokens of K.
    pub fn key_groups(&self) -> u64 {
        self.shape.tokens.div_ceil(BANKS as u64)
    }

    /// Heads in a page.
    pub fn page_heads(&self) -> u64 {
        PAGE as u64 / self.shape.head_dim
    }

    /// Chunks of 512 tokens of V.
    pub fn chunks(&self) -> u64 {
        self.shape.tokens.div_ceil(PAGE as u64)
    }

    /// Rows of all banks that hold a chunk of a head of V.
    pub fn value_tiles(&self) -> u64 {
        self.shape.head_dim.div_ceil(BANKS as u64)
    }

    /// Tokens of a chunk.
    pub fn chunk_tokens(&self, chunk: u64) -> u64 {
        (self.shape.tokens - chunk * PAGE as u64).min(PAGE as u64)
    }

    /// The tile of K of a group of tokens and a page of heads: a sum for each head.
    pub fn key_tile(&self, group: u64, page: u64) -> Tile {
        let heads = (self.shape.heads - page * self.page_heads()).min(self.page_heads());
        let counts = vec![words(self.shape.head_dim); heads as usize];
        Tile { row: self.key_row(group, page), counts }
    }

    /// The tile of V of a chunk of a head.
    pub fn value_tile(&self, head: u64, chunk: u64, tile: u64) -> Tile {
        let counts = vec![words(self.chunk_tokens(chunk))];
        Tile { row: self.value_row(head, chunk, tile), counts }
    }

    /// Where an element of K of a token is, counted through all heads.
    pub fn key(&self, token: u64, element: u64) -> ElementPlace {
        let (banks, page) = (BANKS as u64, PAGE as u64);
        ElementPlace {
            bank: (token % banks) as u8,
            row: self.key_row(token / banks, element / page),
            element: (element % page) as u16,
        }
    }

    /// Where an element of a head of V of a token is.
    pub fn value(&self, head: u64, element: u64, token: u64) -> ElementPlace {
        let (banks, page) = (BANKS as u64, PAGE as u64);
        ElementPlace {
            bank: (element % banks) as u8,
            row: self.value_row(head, token / page, element / banks),
            element: (token % page) as u16,
        }
    }

    fn key_row(&self, group: u64, page: u64) -> u16 {
        (self.first_row + group * self.query_pages() + page) as u16
    }

    fn value_row(&self, head: u64, chunk: u64, tile: u64) -> u16 {
        let before = (head * self.chunks() + chunk) * self.value_tiles();
        (self.first_row + self.key_rows() + before + tile) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_element_has_a_place_of_its_own() {
        let shape = Shape { heads: 3, head_dim: 128, tokens: 520 };
        let layout = KvLayout::new(shape, FIRST_ROW, 32_768).expect("it fits");
        let mut places = BTreeSet::new();
        for token in 0..shape.tokens {
            for element in 0..layout.embedding() {
                let head = element / shape.head_dim;
                let key = layout.key(token, element);
                let value = layout.value(head, element % shape.head_dim, token);
                for place in [key, value] {
                    let ElementPlace { bank, row, element } = place;
                    assert!(places.insert((bank, row, element)), "{place:?}");
                    let rows = FIRST_ROW..FIRST_ROW + layout.key_rows() + layout.value_rows();
                    assert!(rows.contains(&row.into()));
                }
            }
        }
        let tile = layout.key_tile(2, 0);
        assert_eq!((tile.row, tile.counts), (layout.key(64, 0).row, vec![8; 3]));
        let tile = layout.value_tile(1, 1, 3);
        assert_eq!((tile.row, tile.counts), (layout.value(1, 96, 512).row, vec![1]));
    }

    #[test]
    fn what_has_no_room_is_refused() {
        assert!(MatrixTiles::new((32, 512), FIRST_ROW, 4).is_ok());
        let error = MatrixTiles::new((33, 512), FIRST_ROW, 4).expect_err("no room").to_string();
        assert_eq!(error, "the matrix takes 2 rows of each bank of a channel, 1 are free");
        assert!(MatrixTiles::new((u64::MAX, u64::MAX), FIRST_ROW, 4).is_err());
        assert!(MatrixTiles::new((0, 1), FIRST_ROW, 4).is_err());
        for (heads, head_dim, tokens) in [(0, 128, 1), (1, 96, 1), (1, 128, 0), (1, 32, 1)] {
            assert!(KvLayout::new(Shape { heads, head_dim, tokens }, 2, 32_768).is_err());
        }
    }
}
