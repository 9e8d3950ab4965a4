// SPDX-License-Identifier: MIT
//! LPDDR5X-PIM: bursts are 16 rows of a column, and memory is in the order of physical addresses.

use super::layout::{ChannelPlace, MatrixBurst, PimLayout, ReadOrder};
use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::{AddressField, Coordinates, HostOrder, Lp5Layout};
use pimlico_device::mapping::Place;
use std::ops::Range;

/// What a bank adds to an address, and which it is.
struct Bank {
    address: u64,
    channel: usize,
    number: usize,
}

impl Bank {
    fn of(layout: &Lp5Layout, bank: u64) -> Self {
        let map = layout.map();
        let at = Coordinates { row: 0, column: 0, ..layout.vector_of(bank, (0, 0), 0) };
        let ChannelPlace { channel, place } = place_of(layout, &at);
        Self { address: map.encode(&at), channel, number: place.bank }
    }
}

/// Where coordinates are on their channel: banks are numbered rank by rank, in a rank group by group.
fn place_of(layout: &Lp5Layout, at: &Coordinates) -> ChannelPlace {
    let map = layout.map();
    let [groups, in_group] =
        [AddressField::BankGroup, AddressField::Bank].map(|field| map.count(field));
    let bank = ((at.rank * groups + at.bank_group) * in_group + at.bank) as usize;
    let place = Place { bank, row: at.row as usize, column: at.column as usize };
    ChannelPlace { channel: at.channel as usize, place }
}

impl PimLayout for Lp5Layout {
    fn shape(&self) -> (u64, u64) {
        Self::shape(self)
    }

    fn order(&self) -> HostOrder {
        HostOrder::ColumnMajor
    }

    fn burst_elements(&self) -> u64 {
        LANES as u64
    }

    fn block(&self) -> u64 {
        (self.map().count(AddressField::Column) / self.tile_registers(0)).max(1)
    }

    fn bytes(&self) -> u64 {
        self.bank_rows() * self.map().row_bytes()
    }

    fn burst(&self, line: u64, number: u64) -> ChannelPlace {
        let (_, columns) = Self::shape(self);
        assert!(number < self.vectors() && line < columns, "burst {number} of column {line}");
        place_of(self, &self.vector(number, line))
    }

    fn offset(&self, at: ChannelPlace) -> u64 {
        let map = self.map();
        let [groups, in_group] =
            [AddressField::BankGroup, AddressField::Bank].map(|field| map.count(field));
        let ChannelPlace { channel, place: Place { bank, row, column } } = at;
        let (group, bank) = (bank as u64 / in_group, bank as u64 % in_group);
        let at = Coordinates {
            row: row as u64,
            column: column as u64,
            rank: group / groups,
            bank_group: group % groups,
            bank,
            channel: channel as u64,
            byte: 0,
        };
        map.encode(&at) - self.base_address()
    }

    fn visit(&self, lines: Range<u64>, order: ReadOrder, visit: &mut dyn FnMut(MatrixBurst)) {
        let map = self.map();
        let banks: Vec<Bank> = (0..map.banks()).map(|bank| Bank::of(self, bank)).collect();
        // Fields of an address do not overlap: those of a bank are added to those of row and column.
        let of_register = |(tile, q): (u64, u64), line: u64| {
            let Coordinates { row, column, .. } = self.vector_of(0, (tile, q), line);
            let address = map.encode(&Coordinates { row, column, ..Coordinates::default() });
            (row as usize, column as usize, address - self.base_address())
        };
        let registers = |tile: u64| (0..self.tile_registers(tile)).map(move |q| (tile, q));
        let first = |(tile, q): (u64, u64)| (tile * self.tile_registers(0) + q) * map.banks();
        let mut one = |of_banks: Range<usize>, register: (u64, u64), line: u64| {
            let (row, column, begin) = of_register(register, line);
            let first = first(register);
            let there = self.vectors().saturating_sub(first).min(map.banks()) as usize;
            let of_banks = (first..).zip(&banks).take(there.min(of_banks.end)).skip(of_banks.start);
            for (vector, &Bank { address, channel, number }) in of_banks {
                let at = ChannelPlace { channel, place: Place { bank: number, row, column } };
                visit(MatrixBurst { line, number: vector, at, offset: begin + address });
            }
        };
        match order {
            ReadOrder::RowBuffer => {
                for tile in 0..self.tiles() {
                    for line in lines.clone() {
                        registers(tile).for_each(|register| one(0..banks.len(), register, line));
                    }
                }
            }
            ReadOrder::BankMajor => {
                for bank in 0..banks.len() {
                    for tile in 0..self.tiles() {
                        for line in lines.clone() {
                            registers(tile)
                                .for_each(|register| one(bank..bank + 1, register, line));
                        }
                    }
                }
            }
        }
    }
}
