// SPDX-License-Identifier: MIT
//! Swizzled copies on the engine of LPDDR5X-PIM: what arrives in the copy, how often each byte is moved, and how fast.

use pimlico_device::Device;
use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::{
    BurstPlace, BusUse, HostOrder, Lp5Device, Lp5Layout, Lp5Options, Lp5Spec, Request, Vector,
};
use pimlico_golden::lp5_layout::{FIELDS, Odometer};
use pimlico_host::lp5::Lp5Matrix;
use pimlico_host::lp5_copy::{CopyCounts, CopyHost, CopyOptions, Stores};
use pimlico_host::swizzle::ReadOrder;

/// What became of a copy.
struct Copied {
    tck: u64,
    counts: CopyCounts,
    use_of: Vec<BusUse>,
    /// Column behind column, as it is in the banks.
    copy: Vec<u16>,
}

fn element(row: u64, column: u64) -> u16 {
    ((row * 8209 + column * 40_503) >> 2) as u16 | 1
}

fn vector(rows: u64) -> impl Fn(u64, u64) -> Vector + Copy {
    move |row, column| {
        std::array::from_fn(|lane| {
            let row = row + lane as u64;
            if row < rows { element(row, column) } else { 0 }
        })
    }
}

/// The copy of a matrix, by golden's addresses.
fn copied(rows: u64, columns: u64, options: CopyOptions) -> Copied {
    let spec = Lp5Spec::built_in("lpddr5x-8533-pim").expect("it is there");
    let mut device = Lp5Device::new(&spec, Lp5Options::default()).expect("a device");
    let map = spec.map().expect("a map");
    let layout = Lp5Layout::new(&map, rows, columns, map.weight_rows()).expect("it fits");
    Lp5Matrix::new(layout.clone(), 0).load(&mut device, vector(rows)).expect("it is written");
    let to_row = layout.bank_rows();
    device.begin();
    let mut host = CopyHost::new(&layout, to_row, options);
    device.serve(&mut host).expect("no waveform");
    let counts = host.counts();
    let use_of = (0..device.channels()).map(|channel| device.bus_use(channel)).collect();
    let tck = device.end().cycles;
    let elements = (rows * columns) as usize;
    let rows_of_copy = (2 * elements as u64).div_ceil(map.row_bytes());
    let places = (0..rows_of_copy * 64).flat_map(move |n| {
        (0..16u8).map(move |bank| {
            let (row, column) = ((to_row + n / 64) as u32, (n % 64) as u8);
            Request::Read(BurstPlace { bank, row, column })
        })
    });
    let odometer = Odometer::new(&spec.address_map);
    let mut copy = vec![0; (rows_of_copy * map.row_bytes() / 2) as usize];
    let read = |channel: usize, place: BurstPlace, data: &Vector| {
        let at = FIELDS.map(|field| match field {
            "row" => u64::from(place.row) - to_row,
            "col" => place.column.into(),
            "bg" => u64::from(place.bank) / 4,
            "bank" => u64::from(place.bank) % 4,
            "ch" => channel as u64,
            _ => 0,
        });
        let first = odometer.address(&at) as usize / 2;
        copy[first..first + LANES].copy_from_slice(data);
    };
    device.run(|_| places.clone(), read).expect("no waveform");
    copy.truncate(elements);
    Copied { tck, counts, use_of, copy }
}

fn is_source(copied: &Copied, rows: u64) -> bool {
    let expected = |n: u64| element(n % rows, n / rows);
    copied.copy.iter().zip(0..).all(|(found, n)| *found == expected(n))
}

/// The same of a copy row behind row.
fn has_rows_of_source(copied: &Copied, columns: u64) -> bool {
    let expected = |n: u64| element(n / columns, n % columns);
    copied.copy.iter().zip(0..).all(|(found, n)| *found == expected(n))
}

fn options(order: ReadOrder, stores: Stores) -> CopyOptions {
    CopyOptions { order, stores, ..CopyOptions::default() }
}

#[test]
fn a_copy_is_the_source() {
    for (rows, columns) in [(100, 77), (1, 3), (1040, 40), (9000, 20), (17, 1)] {
        for order in [ReadOrder::RowBuffer, ReadOrder::BankMajor] {
            for threads in [1, 3] {
                let few = CopyOptions { threads, loads: 3, fills: 2, ..CopyOptions::default() };
                let copied = copied(rows, columns, CopyOptions { order, ..few });
                assert!(is_source(&copied, rows), "{rows} x {columns}, {order:?}, {threads}");
                assert_eq!(copied.counts.loads, rows.div_ceil(16) * columns);
            }
        }
    }
    for order in [ReadOrder::RowBuffer, ReadOrder::BankMajor] {
        let copied = copied(1040, 40, options(order, Stores::NonTemporal));
        assert!(is_source(&copied, 1040), "{order:?}");
        let CopyCounts { loads, fills, writes } = copied.counts;
        assert_eq!((loads, fills, writes), (2600, 0, 2600));
    }
}

/// A line leaves the cache before all of it is stored, and comes again.
#[test]
fn lines_that_come_again_have_what_was_written_back() {
    let copied = copied(8192, 640, options(ReadOrder::BankMajor, Stores::WriteAllocate));
    assert!(is_source(&copied, 8192));
    let CopyCounts { loads, fills, writes } = copied.counts;
    assert_eq!(loads, 512 * 640);
    assert!(fills > loads && writes > loads, "{fills}, {writes}");
}

/// PIM-SHERPA, 3.3: a byte is read, filled and written back; and the orders of 4.2.
#[test]
fn a_copy_is_three_passes() {
    let columns = 1024;
    let of = |order, stores| copied(8192, columns, options(order, stores));
    let [reads, by_bank] =
        [ReadOrder::RowBuffer, ReadOrder::BankMajor].map(|order| of(order, Stores::None));
    // Bytes of all channels' data lines in a tCK.
    let share = |copied: &Copied| (16 * columns * 1024) as f64 / (copied.tck * 64) as f64;
    assert!(share(&reads) >= 0.85, "{}", share(&reads));
    assert!(share(&by_bank) <= 0.13, "{}", share(&by_bank));
    for (stores, passes, fills) in
        [(Stores::WriteAllocate, 3.0..3.6, 512 * columns), (Stores::NonTemporal, 2.0..2.5, 0)]
    {
        let copied = of(ReadOrder::RowBuffer, stores);
        assert!(is_source(&copied, 8192), "{stores:?}");
        let CopyCounts { loads, fills: found, writes } = copied.counts;
        assert_eq!([loads, found, writes], [512 * columns, fills, 512 * columns]);
        let found = copied.tck as f64 / reads.tck as f64;
        assert!(passes.contains(&found), "{stores:?}: {found}");
        for use_of in copied.use_of {
            // Each burst is two tCK, and all channels have as many.
            assert_eq!(use_of.read_tck, 2 * (loads + fills) / 4);
            assert_eq!(use_of.write_tck, 2 * writes / 4);
            assert_eq!(use_of.total_tck(), copied.tck);
        }
    }
}

/// With few loads under way a thread waits for each.
#[test]
fn few_loads_are_slow() {
    let of = |loads| {
        let options = options(ReadOrder::RowBuffer, Stores::None);
        copied(1024, 256, CopyOptions { threads: 1, loads, ..options }).tck as f64
    };
    let [one, eight, many] = [1, 8, 128].map(of);
    assert!(one / eight > 5.0 && eight / many > 2.0, "{one}, {eight}, {many}");
}

#[test]
fn a_copy_has_the_rows_of_the_source() {
    for (rows, columns) in [(100, 77), (1, 3), (1040, 40), (9000, 20), (17, 1), (48, 64)] {
        for order in [ReadOrder::RowBuffer, ReadOrder::BankMajor] {
            for (threads, loads, fills) in [(1, 3, 2), (3, 5, 1), (4, 128, 64)] {
                let target = HostOrder::RowMajor;
                let options =
                    CopyOptions { order, target, threads, loads, fills, ..CopyOptions::default() };
                let copied = copied(rows, columns, options);
                let what = format!("{rows} x {columns}, {order:?}, {threads}");
                assert!(has_rows_of_source(&copied, columns), "{what}");
                assert_eq!(copied.counts.loads, rows.div_ceil(16) * columns, "{what}");
            }
        }
    }
}

/// Lines are whole when a thread goes on, so that each byte is moved three times here too.
#[test]
fn a_copy_row_by_row_is_three_passes() {
    let columns = 128;
    let options = CopyOptions { target: HostOrder::RowMajor, ..CopyOptions::default() };
    let copied = copied(8192, columns, options);
    assert!(has_rows_of_source(&copied, columns));
    let CopyCounts { loads, fills, writes } = copied.counts;
    assert_eq!([loads, fills, writes], [512 * columns; 3]);
}

/// In bank-major order one channel works at a time: the others are asked for nothing, and their REFs keep nobody waiting.
#[test]
fn channels_that_are_asked_for_nothing_wait_for_the_host() {
    let of = |order| copied(2048, 1024, options(order, Stores::None));
    for (order, host, refresh) in [
        (ReadOrder::BankMajor, 0.6..0.75, 0.0..0.05),
        (ReadOrder::RowBuffer, 0.0..0.08, 0.04..0.12),
    ] {
        let copied = of(order);
        let all: u64 = copied.use_of.iter().map(BusUse::total_tck).sum();
        assert_eq!(all, 4 * copied.tck, "{order:?}");
        let share =
            |of: fn(&BusUse) -> u64| copied.use_of.iter().map(of).sum::<u64>() as f64 / all as f64;
        let found = share(|use_of| use_of.host_tck);
        assert!(host.contains(&found), "{order:?}: {found}");
        let found = share(|use_of| use_of.refresh_tck);
        assert!(refresh.contains(&found), "{order:?}: {found}");
    }
}
