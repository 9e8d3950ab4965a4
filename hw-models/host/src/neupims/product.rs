// SPDX-License-Identifier: MIT
//! A matrix times a vector in a channel.
//!
//! ```text
//! for each page of 512 elements of the vector:
//!     WR of 16 bursts, GWRITE
//!     for each 32 rows of the matrix:  HEADER, GEMV
//! ```
//!
//! A tile of one word of a row that holds nothing stands before and behind them: the first tile of the product finds a row open in the PIM
//! row buffers, as between operators, and the last is closed. Its results are dropped.

use super::script::{Operands, ResultSink, Script};
use super::sums::PartSums;
use pimlico_device::neupims::request::operation;
use pimlico_device::neupims::{BANKS, MatrixTiles, PAGE, PimRequest, PuSums};

/// A product's results.
#[derive(Clone, Debug)]
pub struct ProductResults {
    groups: u64,
    pages: u64,
    /// Results that have come.
    come: u64,
    sums: PartSums,
    until_tck: u64,
}

/// The host of a product.
pub struct ProductHost;

impl ProductHost {
    /// A product of a matrix with a vector, in composite or fine commands; `idle_row` holds nothing.
    ///
    /// # Panics
    ///
    /// If there are not as many elements as columns.
    pub fn script<'a>(
        tiles: &'a MatrixTiles,
        vector: &[u16],
        idle_row: u16,
        fine: bool,
        sums: PuSums,
    ) -> Script<'a, ProductResults> {
        let (rows, columns) = tiles.shape();
        assert_eq!(vector.len() as u64, columns, "an element for each column");
        let mut operands = Operands::default();
        vector.chunks(PAGE).for_each(|page| operands.put(0, page.to_vec()));
        let idle = move || Self::tile(idle_row, &[1], fine);
        let pages = (0..tiles.pages()).flat_map(move |page| {
            let gwrite = PimRequest::Gwrite { bank: 0, row: 0 };
            let of_groups = (0..tiles.groups()).flat_map(move |group| {
                let tile = tiles.tile(group, page);
                Self::tile(tile.row, &tile.counts, fine)
            });
            std::iter::once(gwrite).chain(of_groups)
        });
        let results = ProductResults {
            groups: tiles.groups(),
            pages: tiles.pages(),
            come: 0,
            sums: PartSums::new(sums, rows as usize),
            until_tck: 0,
        };
        Script::new(idle().into_iter().chain(pages).chain(idle()), operands, results)
    }

    fn tile(row: u16, counts: &[u8], fine: bool) -> Vec<PimRequest> {
        let mut list = Vec::new();
        operation(row, counts, fine, &mut list);
        list
    }
}

impl ProductResults {
    /// An output for each row.
    pub fn outputs(&self) -> Vec<u16> {
        self.sums.elements()
    }

    /// When the last of the product's results had come.
    pub fn until_tck(&self) -> u64 {
        self.until_tck
    }
}

impl ResultSink for ProductResults {
    fn take(&mut self, now: u64, results: &[u16; BANKS], _: &mut Operands) {
        // The first and the last are of the tiles beside the product.
        let number = self.come.wrapping_sub(1);
        if number < self.groups * self.pages {
            let (page, group) = (number / self.groups, number % self.groups);
            self.sums.add(BANKS * group as usize, page == 0, results);
            self.until_tck = now;
        }
        self.come += 1;
    }

    fn is_done(&self) -> bool {
        self.come == self.groups * self.pages + 2
    }
}
