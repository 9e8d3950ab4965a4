// SPDX-License-Identifier: MIT
//! AiM channels: bursts are 16 elements of a row, and memory is in the order of row, column, bank and channel.
//!
//! Rows of the banks are those of the layout; where a table moves them ([`crate::aim`]), the memory is as if it did not.

use super::layout::{ChannelPlace, MatrixBurst, PimLayout, ReadOrder, by_groups};
use pimlico_device::aim::{AimLayout, BANKS, MULTIPLIERS};
use pimlico_device::lp5::HostOrder;
use pimlico_device::mapping::Place;
use std::ops::Range;

/// Bank groups of a channel.
const GROUPS: usize = 4;

impl PimLayout for AimLayout {
    fn shape(&self) -> (u64, u64) {
        (self.rows as u64, self.columns as u64)
    }

    fn order(&self) -> HostOrder {
        HostOrder::RowMajor
    }

    fn burst_elements(&self) -> u64 {
        MULTIPLIERS as u64
    }

    fn block(&self) -> u64 {
        (self.pus() * self.groups_per_row(0).max(1)) as u64
    }

    fn bytes(&self) -> u64 {
        let rows = self.end_row() - self.first_row();
        (rows * self.page() * self.pus()) as u64 * self.burst_bytes()
    }

    fn burst(&self, line: u64, number: u64) -> ChannelPlace {
        let (line, number) = (line as usize, number as usize);
        assert!(
            line < self.rows && number < self.columns.div_ceil(MULTIPLIERS),
            "burst {number} of row {line}"
        );
        let tile = number / self.tile_room(0);
        let (row, column) = self.place(tile, line / self.pus(), number - self.first_word(tile));
        let place = Place { bank: line % BANKS, row, column };
        ChannelPlace { channel: line % self.pus() / BANKS, place }
    }

    fn offset(&self, at: ChannelPlace) -> u64 {
        let ChannelPlace { channel, place: Place { bank, row, column } } = at;
        let of_bank = ((row - self.first_row()) * self.page() + column) * BANKS + bank;
        (of_bank * (self.pus() / BANKS) + channel) as u64 * self.burst_bytes()
    }

    fn visit(&self, lines: Range<u64>, order: ReadOrder, visit: &mut dyn FnMut(MatrixBurst)) {
        let (pus, channels) = (self.pus(), self.pus() / BANKS);
        let groups = lines.start as usize / pus..(lines.end as usize).div_ceil(pus);
        let tiles = 0..self.tiles();
        let of_tile = |tile: usize| {
            let first = self.first_word(tile);
            first..first + self.tile_words(tile)
        };
        let mut one = |line: usize, number: usize| {
            if lines.contains(&(line as u64)) {
                let (line, number) = (line as u64, number as u64);
                let at = self.burst(line, number);
                visit(MatrixBurst { line, number, at, offset: self.offset(at) });
            }
        };
        match order {
            ReadOrder::RowBuffer => {
                for (tile, group) in tiles.flat_map(|tile| groups.clone().map(move |g| (tile, g))) {
                    for number in of_tile(tile) {
                        for bank in by_groups(BANKS, GROUPS) {
                            let line = |channel| group * pus + channel * BANKS + bank;
                            (0..channels).for_each(|channel| one(line(channel), number));
                        }
                    }
                }
            }
            ReadOrder::BankMajor => {
                for pu in 0..pus {
                    for tile in tiles.clone() {
                        for group in groups.clone() {
                            of_tile(tile).for_each(|number| one(group * pus + pu, number));
                        }
                    }
                }
            }
        }
    }
}
