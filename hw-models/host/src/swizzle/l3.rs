// SPDX-License-Identifier: MIT
//! L3's rank: bursts are 32 elements of a row as they are on the host's data bus, and memory is in the order of row, column and bank.
//!
//! What re-layout makes of a burst in the chips the host does not see.

use super::layout::{ChannelPlace, MatrixBurst, PimLayout, ReadOrder, by_groups};
use pimlico_device::gemv::MatrixLayout;
use pimlico_device::lp5::HostOrder;
use pimlico_device::mapping::{BURST, Place};
use std::ops::Range;

impl PimLayout for MatrixLayout {
    fn shape(&self) -> (u64, u64) {
        (self.rows as u64, self.columns as u64)
    }

    fn order(&self) -> HostOrder {
        HostOrder::RowMajor
    }

    fn burst_elements(&self) -> u64 {
        BURST as u64
    }

    fn block(&self) -> u64 {
        (self.banks() * self.chunks_per_row(0)) as u64
    }

    fn bytes(&self) -> u64 {
        (self.bank_rows().len() * self.bank_columns() * self.banks()) as u64 * self.burst_bytes()
    }

    fn burst(&self, line: u64, number: u64) -> ChannelPlace {
        assert!(
            line < self.rows as u64 && number < self.line_bursts(),
            "burst {number} of row {line}"
        );
        ChannelPlace { channel: 0, place: self.place(line as usize, number as usize) }
    }

    fn offset(&self, at: ChannelPlace) -> u64 {
        let Place { bank, row, column } = at.place;
        let row = row - self.bank_rows().start;
        ((row * self.bank_columns() + column) * self.banks() + bank) as u64 * self.burst_bytes()
    }

    fn visit(&self, lines: Range<u64>, order: ReadOrder, visit: &mut dyn FnMut(MatrixBurst)) {
        let chunks =
            lines.start as usize / self.banks()..(lines.end as usize).div_ceil(self.banks());
        let tiles = 0..self.tiles();
        let of_tile = |tile: usize| {
            let first = self.first_burst(tile);
            first..first + self.bursts(tile)
        };
        let mut one = |line: usize, number: usize| {
            if lines.contains(&(line as u64)) {
                let at = ChannelPlace { channel: 0, place: self.place(line, number) };
                let (line, number) = (line as u64, number as u64);
                visit(MatrixBurst { line, number, at, offset: self.offset(at) });
            }
        };
        match order {
            ReadOrder::RowBuffer => {
                for (tile, chunk) in tiles.flat_map(|tile| chunks.clone().map(move |c| (tile, c))) {
                    for number in of_tile(tile) {
                        let banks = by_groups(self.banks(), self.groups());
                        banks.for_each(|bank| one(chunk * self.banks() + bank, number));
                    }
                }
            }
            ReadOrder::BankMajor => {
                for bank in 0..self.banks() {
                    for tile in tiles.clone() {
                        for chunk in chunks.clone() {
                            let line = chunk * self.banks() + bank;
                            of_tile(tile).for_each(|number| one(line, number));
                        }
                    }
                }
            }
        }
    }
}
