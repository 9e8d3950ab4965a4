// SPDX-License-Identifier: MIT
//! Addresses and layouts beside `golden`, which finds places by search.

use super::{AddressField, AddressMap, Coordinates, HostOrder, Lp5Layout, Lp5LayoutError};
use pimlico_golden::lp5_layout;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::HashSet;

fn map(text: &str) -> AddressMap {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// A map with few rows: pieces of fields in any order, some in two, and the byte last.
fn any_map() -> impl Strategy<Value = String> {
    let bits = (0u32..=2, 0u32..=1, 0u32..=2, 0u32..=2, 1u32..=4, 0u32..=1);
    let pieces = bits.prop_flat_map(|(channel, rank, group, bank, column, upper)| {
        let pieces = vec![
            ("ch", channel),
            ("rank", rank),
            ("bg", group),
            ("bank", bank),
            ("col", column),
            ("col", upper),
            ("row", 7),
            ("row", 8),
        ];
        Just(pieces).prop_shuffle()
    });
    pieces.prop_map(|pieces| {
        let words: Vec<_> = pieces.iter().map(|(name, bits)| format!("{name}:{bits}")).collect();
        format!("{} byte:5", words.join(" "))
    })
}

#[test]
fn a_layout_is_a_bijection_and_that_of_golden() {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(10_000));
    let cases = (any_map(), 1u64..=5, 1u64..=9, 0u64..=15, 1u64..=7, 0u64..100);
    let outcome = runner.run(&cases, |(text, vectors, deals, odd, columns, first_row)| {
        let map = map(&text);
        // Up to nine registers of each bank, so that there are two tiles, while banks are few.
        let few = (deals * map.banks()).min(24);
        let rows = (16 * (few + vectors)).saturating_sub(odd).max(1);
        let layout = Lp5Layout::new(&map, rows, columns, first_row..1 << 15)?;
        let golden = lp5_layout::addresses(&text, rows as usize, columns as usize, first_row);
        let mut taken = HashSet::new();
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |c| (row, c))) {
            let address = layout.address(row, column);
            prop_assert_eq!(golden[(row * columns + column) as usize], address);
            if row % 16 == 0 || row + 1 == rows {
                let place = map.decode(address);
                prop_assert_eq!(place, layout.element(row, column));
                prop_assert_eq!(layout.element_at(place), Some((row, column)));
                prop_assert!(place.row < first_row + layout.bank_rows());
                prop_assert!(taken.insert(address), "two elements at {}", address);
            }
        }
        // Padding is no element, and has a place of its own.
        for row in rows..layout.padded_rows() {
            let place = layout.element(row, 0);
            prop_assert_eq!(layout.element_at(place), None);
            let is_free = row % 16 != 0 || taken.insert(map.encode(&place));
            prop_assert!(is_free, "padding on an element");
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_toy_of_figure_3() {
    let map = map("row:0 col:2 bank:2 byte:5");
    let layout = Lp5Layout::new(&map, 64, 3, 0..1).expect("it fits");
    let at = |bank, column, byte| Coordinates { bank, column, byte, ..Coordinates::default() };
    assert_eq!(layout.vector(3, 0), at(3, 0, 0));
    assert_eq!(layout.element(63, 0), at(3, 0, 30));
    for (vector, column) in (0..4).flat_map(|v| (0..3).map(move |c| (v, c))) {
        assert_eq!(layout.vector(vector, column), at(vector, column, 0), "as drawn");
        let host = HostOrder::ColumnMajor.offset(layout.shape(), (16 * vector, column));
        assert_eq!(host, 32 * (4 * column + vector), "Figure 3 b");
    }
    assert_eq!(layout.padded_rows(), 64);
}

#[test]
fn the_default_map_is_as_drawn() {
    let map = map(AddressMap::DEFAULT);
    assert_eq!((map.capacity(), map.banks(), map.row_bytes()), (8 << 30, 64, 128 << 10));
    assert_eq!(AddressField::ALL.map(AddressField::name), lp5_layout::FIELDS);
    let small = lp5_layout::Odometer::new("row:1 rank:0 col:5 bank:2 bg:2 ch:2 col:1 byte:5");
    for (address, place) in small.places().iter().enumerate() {
        let found = map.decode(address as u64);
        assert_eq!(AddressField::ALL.map(|field| found.field(field)), *place, "{address}");
    }
    assert_eq!(map.to_string(), AddressMap::DEFAULT);
    assert!(map.has_rows_on_top());
    assert!(!self::map("row:3 ch:1 row:1 byte:5").has_rows_on_top());
}

#[test]
fn rows_are_padded_to_the_registers_of_all_banks() {
    let map = map(AddressMap::DEFAULT);
    let padded =
        |rows| Lp5Layout::new(&map, rows, 2048, map.weight_rows()).expect("it fits").padded_rows();
    // Llama 3.2 1B: K and V, Q, feed-forward, LM head.
    assert_eq!([512, 2048, 8192, 128_256].map(padded), [1024, 2048, 8192, 131_072]);
    assert_eq!([1, 1025, 8193].map(padded), [1024, 2048, 16384]);
    let padding = 2 * 2048 * (32 * 512 + 131_072 - 128_256);
    assert_eq!(padding, 75 << 20, "bytes of padding of Llama 3.2 1B");
}

#[test]
fn a_matrix_that_does_not_fit_is_refused() {
    let map = map(AddressMap::DEFAULT);
    // A row of all banks holds 64 columns of 1024 rows.
    let new = |rows, columns, of| Lp5Layout::new(&map, rows, columns, of);
    assert_eq!(map.weight_rows(), 0..65532);
    assert!(new(1024, 64 * 65532, map.weight_rows()).is_ok());
    let error = new(1024, 64 * 65532 + 1, map.weight_rows()).expect_err("one too many");
    assert_eq!(
        error.to_string(),
        "matrix of 1024 x 4194049: it takes 65533 rows of each bank, expected at most 65532 from row 0 on"
    );
    assert!(matches!(new(16, 1, 9..9), Err(Lp5LayoutError::Full { .. })));
    assert!(matches!(new(16, 1, 1 << 40..1 << 41), Err(Lp5LayoutError::Full { .. })));
    for (rows, columns) in [(0, 1), (1, 0), (u64::MAX, 1), (1, 1 << 40)] {
        let error = new(rows, columns, map.weight_rows()).expect_err("no shape");
        assert_eq!(error, Lp5LayoutError::Shape { rows, columns });
    }
}

#[test]
fn what_is_no_map_is_refused_in_a_line() {
    for (text, part) in [
        ("", "no field"),
        ("row", "\"row\""),
        ("row:", "\"row:\""),
        ("row:+3 byte:5", "\"row:+3\""),
        ("row:x byte:5", "\"row:x\""),
        ("lane:3 byte:5", "\"lane:3\""),
        ("row:44 byte:5", "49 bits"),
        ("row:4294967295 byte:5", "\"row:4294967295\""),
        ("byte:5 row:4", "row:4 at the end"),
        ("byte:5 row:4 byte:5", "10 bits of byte"),
        ("row:4 byte:6", "byte:6 at the end"),
    ] {
        let error = text.parse::<AddressMap>().expect_err(text).to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{text}: {error}");
    }
}
