// SPDX-License-Identifier: MIT
//! Every element has a place, and is written there.

use super::*;
use crate::aim::AimMapping;
use std::collections::{HashMap, HashSet};

fn layout(channels: usize, rows: usize, columns: usize, first_row: usize) -> AimLayout {
    let options = AimOptions { channels, ..AimOptions::default() };
    AimLayout::new(&Config::gddr6_aim(), &options, rows, columns, first_row).expect("it fits")
}

#[test]
fn every_element_has_a_place_of_its_own() {
    for (channels, rows, columns) in
        [(1, 1, 1), (1, 40, 1025), (2, 33, 100), (3, 100, 3000), (16, 300, 128), (1, 17, 8)]
    {
        let layout = layout(channels, rows, columns, 7);
        let mut places = HashSet::new();
        let mut elements_there = HashSet::new();
        for group in 0..layout.groups() {
            let first = group * layout.pus();
            let number = |row, column| 1 + ((first + row) * columns + column) as u32;
            // Two passes for the two halves of the number.
            let low = layout.writes(group, |row, column| number(row, column) as u16);
            let high = layout.writes(group, |row, column| (number(row, column) >> 16) as u16);
            for (low, high) in low.flat_map(RowWrites::each).zip(high.flat_map(RowWrites::each)) {
                assert!((7..layout.end_row()).contains(&low.row) && low.column < 64);
                assert!(places.insert((low.bank, low.row, low.column)));
                for (low, high) in low.words.iter().zip(&high.words) {
                    for (low, high) in elements(*low).into_iter().zip(elements(*high)) {
                        let number = u32::from(high) << 16 | u32::from(low);
                        assert!(number == 0 || elements_there.insert(number));
                    }
                }
            }
        }
        assert_eq!(elements_there.len(), rows * columns);
    }
}

#[test]
fn tiles_and_rows_may_be_shorter_and_shared_by_fewer() {
    let mapping = AimMapping { tile_words: 32, ..AimMapping::default() };
    let halves = AimOptions { channels: 1, mapping, ..AimOptions::default() };
    let whole = AimOptions { channels: 1, ..AimOptions::default() };
    let config = Config::gddr6_aim();
    let mut short_rows = config.clone();
    short_rows.organisation.page_bytes = 1024;
    let of = |config, options, columns, sharing| {
        AimLayout::sharing(config, options, 48, columns, 0, sharing).expect("it fits")
    };
    // Two halves of a row to two groups; the second tile is behind the rows of the first.
    let layout = of(&config, &halves, 1024, usize::MAX);
    assert_eq!((layout.tiles(), layout.tile_words(1), layout.end_row()), (2, 32, 4));
    assert_eq!([layout.place(0, 1, 3), layout.place(1, 2, 0)], [(0, 35), (3, 0)]);
    // A tile over two short rows.
    let layout = of(&short_rows, &whole, 1024, usize::MAX);
    assert_eq!((layout.tiles(), layout.end_row()), (1, 6));
    assert_eq!([layout.place(0, 1, 3), layout.place(0, 2, 40)], [(2, 3), (5, 8)]);
    // Keys of 128 elements, each in a row of its own.
    let layout = of(&config, &whole, 128, 1);
    assert_eq!((layout.place(0, 2, 7), layout.end_row()), ((2, 7), 3));
}

#[test]
fn rows_in_use_are_those_that_are_written() {
    let mut short_rows = Config::gddr6_aim();
    short_rows.organisation.page_bytes = 1024;
    for (tile_words, config) in [(64, &short_rows), (64, &Config::gddr6_aim()), (2, &short_rows)] {
        let mapping = AimMapping { tile_words, ..AimMapping::default() };
        let options = AimOptions { channels: 1, mapping, ..AimOptions::default() };
        let room = AimLayout::new(config, &options, 100, 2500, 3).expect("it fits");
        for (rows, columns) in [(1, 1), (17, 520), (40, 1030), (100, 2500)] {
            let layout = room.part(rows, columns);
            let of_group = |group| layout.writes(group, |_, _| 1).map(|writes| writes.row());
            let written: HashSet<_> = (0..layout.groups()).flat_map(of_group).collect();
            let used: Vec<_> = layout.used_rows().collect();
            assert_eq!(used.len(), layout.rows_in_use());
            assert_eq!(used.into_iter().collect::<HashSet<_>>(), written);
            assert_eq!(written.len(), layout.rows_in_use(), "each is named once");
        }
    }
}

#[test]
fn short_tiles_share_a_row_and_full_ones_have_it() {
    // Keys of 128 elements: eight groups to a row.
    let keys = layout(16, 4096, 128, 0);
    assert_eq!((keys.groups(), keys.tiles(), keys.tile_words(0)), (16, 1, 8));
    assert_eq!(keys.place(0, 7, 7), (0, 63));
    assert_eq!(keys.place(0, 8, 0), (1, 0));
    assert_eq!(keys.end_row(), 2);
    // Values: one group, a row for each tile of 1024 tokens.
    let values = layout(16, 128, 2049, 2);
    assert_eq!((values.groups(), values.tiles(), values.tile_words(2)), (1, 3, 1));
    assert_eq!(values.place(2, 0, 0), (4, 0));
    assert_eq!(values.end_row(), 5);
    // 24 columns: two groups to a row, none over its end.
    assert_eq!(layout(1, 64, 384, 0).place(0, 2, 5), (1, 5));
}

#[test]
fn whole_words_are_written_as_elements_are() {
    for (channels, rows, columns) in [(1, 1, 1), (1, 40, 1025), (3, 100, 300), (16, 300, 128)] {
        let layout = layout(channels, rows, columns, 7);
        let matrix: Vec<Vec<u16>> = (0..rows)
            .map(|row| (0..columns).map(|c| (1 + row * columns + c) as u16).collect())
            .collect();
        for group in 0..layout.groups() {
            let first = group * layout.pus();
            let elements = || layout.writes(group, |row, column| matrix[first + row][column]);
            let whole = |row: usize, word| word_of(&matrix[first + row], word);
            assert!(
                elements()
                    .flat_map(RowWrites::each)
                    .eq(layout.word_writes(group, whole).flat_map(RowWrites::each)),
                "{channels}, {rows}"
            );
            let words: usize = elements().map(|writes| writes.words()).sum();
            let taken = |write: Write| write.taken().count();
            assert_eq!(words, elements().flat_map(RowWrites::each).map(taken).sum());
        }
    }
}

#[test]
fn what_grows_stays_where_it_is() {
    for (channels, rows, columns) in [(1, 40, 2500), (2, 70, 30), (1, 100, 1100)] {
        let room = layout(channels, rows, columns, 3);
        let element = |row: usize, column: usize| (1 + row * 31 + column) as u16;
        let mut cells = HashMap::new();
        let mut keep = |writes: &mut dyn Iterator<Item = Write>| {
            for write in writes {
                let Write { bank, row, column, .. } = write;
                let taken = write.taken();
                cells.extend(taken.map(|(channel, word)| ((channel, bank, row, column), word)));
            }
        };
        // Row after row, of all columns; then column after column, of all rows.
        for row in 0..rows / 2 {
            let part = room.part(row + 1, columns);
            keep(&mut part.row_writes(row, element).flat_map(RowWrites::each));
        }
        for column in 0..columns {
            let part = room.part(rows, column + 1);
            keep(&mut part.column_writes(column, element).flat_map(RowWrites::each));
        }
        let whole = (0..room.groups()).flat_map(|group| {
            room.writes(group, move |row, c| element(group * room.pus() + row, c))
        });
        let mut written = 0;
        for Write { bank, row, column, words, .. } in whole.flat_map(RowWrites::each) {
            for (channel, word) in words.into_iter().enumerate() {
                // A channel without a row of the matrix was not written.
                let cell = cells.get(&(channel, bank, row, column)).copied();
                written += usize::from(cell.is_some());
                assert_eq!(cell.unwrap_or_default(), word);
            }
        }
        assert_eq!(written, cells.len());
    }
}

#[test]
fn what_is_added_is_written_where_it_is_alone() {
    // A head of 128 elements, on 256 PUs.
    let (k, v) = (layout(16, 1000, 128, 0), layout(16, 128, 1000, 10));
    let row: Vec<_> = k.row_writes(300, |_, _| 1).flat_map(RowWrites::each).collect();
    // 300 = 256 + 2 x 16 + 12.
    assert_eq!(row.len(), 8);
    assert!(row.iter().all(|write| (write.bank, write.channels) == (12, 1 << 2)));
    let column: Vec<_> = v.column_writes(500, |_, _| 1).flat_map(RowWrites::each).collect();
    assert_eq!(column.len(), 16);
    assert!(column.iter().all(|write| write.channels == 0xff));
    // Of 20 rows four banks have two.
    let few = layout(16, 20, 1000, 0);
    let channels =
        few.column_writes(0, |_, _| 1).flat_map(RowWrites::each).map(|write| write.channels);
    assert_eq!(channels.filter(|&channels| channels == 3).count(), 4);
    let whole = layout(64, 1024, 16, 0);
    assert!(
        whole.writes(0, |_, _| 1).flat_map(RowWrites::each).all(|write| write.channels == u64::MAX)
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let config = Config::gddr6_aim();
    let options = AimOptions { channels: 1, ..AimOptions::default() };
    let refused = |rows, columns, first_row| {
        let error = AimLayout::new(&config, &options, rows, columns, first_row);
        error.expect_err("it does not fit").to_string()
    };
    assert!(refused(0, 5, 0).contains("at least 1 x 1"));
    assert!(refused(5, 0, 0).contains("at least 1 x 1"));
    assert!(refused(GPR, 1, 0).contains("the GPR"));
    assert!(refused(usize::MAX, usize::MAX, 0).contains("the GPR"));
    // 16 rows of 1024 elements fill a row of the banks.
    assert!(AimLayout::new(&config, &options, 32, 8192 * 1024 / 64, 16384 - 256).is_ok());
    assert!(refused(33, 8192 * 1024 / 64, 16384 - 256).contains("there are 256"));
    assert!(refused(1, 1, 20_000).contains("there are 0"));
}

#[test]
fn a_word_has_the_first_element_in_its_low_bits() {
    let vector: Vec<u16> = (0..20).collect();
    assert_eq!(word_of(&vector, 0)[1], 4 | 5 << 16 | 6 << 32 | 7 << 48);
    assert_eq!(elements(word_of(&vector, 1))[..5], [16, 17, 18, 19, 0]);
}
