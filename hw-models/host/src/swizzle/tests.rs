// SPDX-License-Identifier: MIT
//! Layouts of every device, and copies out of them.

use super::*;
use crate::lp5_image::pack_row;
use pimlico_device::Config;
use pimlico_device::aim::{AimLayout, AimOptions, RowWrites};
use pimlico_device::gemv::MatrixLayout;
use pimlico_device::lp5::{AddressMap, HostOrder, Lp5Layout};
use pimlico_device::mapping::Place;
use std::collections::BTreeMap;

fn layout(rows: u64, columns: u64) -> Lp5Layout {
    let map: AddressMap = AddressMap::DEFAULT.parse().expect("a map");
    Lp5Layout::new(&map, rows, columns, 3..65532).expect("it fits")
}

/// Elements of which neighbours differ, and the memory of the banks with them.
fn matrix(layout: &Lp5Layout) -> (Vec<u16>, Vec<u8>) {
    let (rows, columns) = layout.shape();
    let of = |n: u64| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16;
    let elements: Vec<u16> = (0..rows * columns).map(of).collect();
    let row_bytes = layout.map().row_bytes() as usize;
    let mut memory = vec![0; layout.bank_rows() as usize * row_bytes];
    for (row, to) in memory.chunks_exact_mut(row_bytes).enumerate() {
        pack_row(layout, layout.first_row() + row as u64, &elements, to);
    }
    (elements, memory)
}

#[test]
fn a_copy_is_the_source() {
    let cases = [(8192, 2048), (100, 77), (1040, 9), (9000, 65), (1, 1)];
    for (rows, columns) in cases {
        let layout = layout(rows, columns);
        let (elements, memory) = matrix(&layout);
        let mut source = vec![0; 2 * elements.len()];
        for (n, element) in (0u64..).zip(&elements) {
            let at = HostOrder::ColumnMajor.offset((rows, columns), (n / columns, n % columns));
            source[at as usize..][..2].copy_from_slice(&element.to_le_bytes());
        }
        for (order, threads) in
            [(ReadOrder::RowBuffer, 1), (ReadOrder::RowBuffer, 3), (ReadOrder::BankMajor, 4)]
        {
            let mut copy = vec![0; source.len()];
            let threads = NonZero::new(threads).expect("some");
            swizzled_copy(&layout, &memory, order, threads, &mut copy);
            assert!(copy == source, "{rows} x {columns}, {order:?}, {threads} threads");
        }
    }
}

#[test]
fn quarters_of_the_columns_are_the_whole() {
    for (rows, columns) in [(100, 77), (1040, 9), (33, 3), (9000, 65)] {
        let layout = layout(rows, columns);
        let (_, memory) = matrix(&layout);
        let threads = NonZero::new(2).expect("some");
        let mut whole = vec![0; (2 * rows * columns) as usize];
        swizzled_copy(&layout, &memory, ReadOrder::RowBuffer, threads, &mut whole);
        let mut quarters = vec![0xFF; whole.len()];
        for quarter in 0..4 {
            let of_quarter = columns * quarter / 4..columns * (quarter + 1) / 4;
            let [from, to] = [of_quarter.start, of_quarter.end].map(|c| (2 * rows * c) as usize);
            let how = (ReadOrder::RowBuffer, threads);
            swizzled_lines(&layout, &memory, of_quarter, how, &mut quarters[from..to]);
        }
        assert!(quarters == whole, "{rows} x {columns}");
    }
}

#[test]
fn row_buffer_order_opens_each_row_once_and_changes_channels() {
    let layout = layout(8192, 256);
    let opened = |order: ReadOrder| {
        let (mut open, mut opens, mut same_channel, mut last) = (BTreeMap::new(), 0, 0, None);
        layout.visit(0..256, order, &mut |burst| {
            let ChannelPlace { channel, place: Place { bank, row, .. } } = burst.at;
            opens += u64::from(open.insert((channel, bank), row) != Some(row));
            same_channel += u64::from(last.replace(channel) == Some(channel));
        });
        (opens, same_channel)
    };
    // 64 banks of 32 rows; 8192 * 256 / 16 bursts.
    assert_eq!(opened(ReadOrder::RowBuffer), (64 * 32, 0));
    assert_eq!(opened(ReadOrder::BankMajor), (64 * 32, 131_072 - 64));
}

/// Layouts of every device, of matrices with parts of lines, tiles and groups.
fn of_devices() -> Vec<(&'static str, Box<dyn PimLayout>)> {
    let mut all: Vec<(_, Box<dyn PimLayout>)> = Vec::new();
    for (rows, columns) in [(1, 1), (100, 77), (33, 3), (40, 4200)] {
        all.push(("lp5", Box::new(layout(rows, columns))));
        let (rows, columns) = (rows as usize, columns as usize);
        let of_rank = MatrixLayout::from_row(&Config::ddr4_3200(), rows, columns, 5);
        all.push(("l3", Box::new(of_rank.expect("it fits"))));
        for channels in [1, 3] {
            let options = AimOptions { channels, ..AimOptions::default() };
            let of_channels = AimLayout::new(&Config::gddr6_aim(), &options, rows, columns, 7);
            all.push(("aim", Box::new(of_channels.expect("it fits"))));
        }
    }
    all
}

#[test]
fn a_copy_is_the_source_on_every_device() {
    for (device, layout) in of_devices() {
        let layout = &*layout;
        let (rows, columns) = layout.shape();
        let elements: Vec<u16> = (0..rows * columns).map(|n| ((n * 40_503) >> 3) as u16).collect();
        let mut memory = vec![0xFF; layout.bytes() as usize];
        pack(layout, &elements, &mut memory);
        let mut source = vec![0; 2 * elements.len()];
        for (n, element) in (0u64..).zip(&elements) {
            let (row, column) = (n / columns, n % columns);
            let at = layout.order().offset((rows, columns), (row, column)) as usize;
            source[at..at + 2].copy_from_slice(&element.to_le_bytes());
            let at = layout.element_offset(row, column) as usize;
            assert_eq!(memory[at..at + 2], element.to_le_bytes(), "{device} {row}, {column}");
        }
        for (order, threads) in [(ReadOrder::RowBuffer, 2), (ReadOrder::BankMajor, 3)] {
            let mut copy = vec![0; source.len()];
            let threads = NonZero::new(threads).expect("some");
            swizzled_copy(layout, &memory, order, threads, &mut copy);
            assert!(copy == source, "{device} {rows} x {columns}, {order:?}");
        }
    }
}

/// Each burst is visited once, where it is, and no other has its place.
#[test]
fn bursts_are_visited_once_and_where_they_are() {
    for (device, layout) in of_devices() {
        for order in [ReadOrder::RowBuffer, ReadOrder::BankMajor] {
            for lines in [0..layout.lines(), layout.lines() / 3..layout.lines() / 2 + 1] {
                let mut offsets = BTreeMap::new();
                layout.visit(lines.clone(), order, &mut |burst| {
                    let MatrixBurst { line, number, at, offset } = burst;
                    assert!(lines.contains(&line) && number < layout.line_bursts());
                    assert_eq!(layout.burst(line, number), at, "{device} {line}, {number}");
                    assert_eq!(layout.offset(at), offset, "{device} {line}, {number}");
                    assert!(offset + layout.burst_bytes() <= layout.bytes());
                    assert!(offset.is_multiple_of(layout.burst_bytes()));
                    let before = offsets.insert(offset, (line, number));
                    assert_eq!(before, None, "{device} {line}, {number}");
                });
                let there_are = (lines.end - lines.start) * layout.line_bursts();
                assert_eq!(offsets.len() as u64, there_are, "{device} {order:?}");
            }
        }
    }
}

/// A channel's banks are written where AiM's own writes go.
#[test]
fn aim_bursts_are_where_its_host_writes_them() {
    let options = AimOptions { channels: 2, ..AimOptions::default() };
    for (rows, columns) in [(100, 77), (40, 4200)] {
        let layout = AimLayout::new(&Config::gddr6_aim(), &options, rows, columns, 7);
        let layout = layout.expect("it fits");
        let mut written = BTreeMap::new();
        for group in 0..layout.groups() {
            let first = group * layout.pus();
            let element = |row, column| ((first + row) * columns + column) as u16;
            for write in layout.writes(group, element).flat_map(RowWrites::each) {
                for (channel, word) in write.taken() {
                    written.insert((channel, write.row, write.column, write.bank), word[0] as u16);
                }
            }
        }
        layout.visit(0..rows as u64, ReadOrder::RowBuffer, &mut |burst| {
            let ChannelPlace { channel, place: Place { bank, row, column } } = burst.at;
            let first = (burst.line * columns as u64 + 16 * burst.number) as u16;
            assert_eq!(written.remove(&(channel, row, column, bank)), Some(first));
        });
        assert_eq!(written.len(), 0);
    }
}
