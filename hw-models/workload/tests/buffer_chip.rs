// SPDX-License-Identifier: MIT
//! The tables of `docs/buffer-chip.md`, beside what the model has and takes.

use pimlico_device::Config;
use pimlico_device::spd::Description;
use pimlico_dpa::types::{DramPins, Pins};
use pimlico_golden::pin_codes;
use pimlico_ports::{Signal, unpack};

/// The page.
const PAGE: &str = include_str!("../../../docs/buffer-chip.md");

/// The rows of the table with this header, without it: their first cell and the others.
fn table(header: &str) -> Vec<(&'static str, Vec<&'static str>)> {
    let from_header = PAGE.lines().skip_while(|line| !line.starts_with(header));
    let rows = from_header.skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim);
    let rows = rows.map(|row| (cells(row).next().expect("a cell"), cells(row).skip(1).collect()));
    rows.collect()
}

/// The same with counts in all cells but the first.
fn counts<const N: usize>(header: &str) -> Vec<(&'static str, [u64; N])> {
    let of_row = |cells: Vec<&str>| {
        let counts: Vec<u64> = cells.iter().map(|cell| cell.parse().expect("a count")).collect();
        counts.try_into().expect("as many as in the header")
    };
    table(header).into_iter().map(|(name, cells)| (name, of_row(cells))).collect()
}

/// Pins on the host's side of one rank and two, and on the DRAM's side of one rank, of two with private and of
/// two with shared MDQ.
fn pins() -> Vec<(&'static str, [u64; 5])> {
    counts("| pins |")
}

fn of(name: &str) -> [u64; 5] {
    let rows = pins();
    let row = rows.iter().find(|(of, _)| of.starts_with(name));
    row.unwrap_or_else(|| panic!("no {name} in {rows:?}")).1
}

#[test]
fn the_pins_add_up() {
    let rows = pins();
    let (&(name, sums), rows) = rows.split_last().expect("a table");
    assert_eq!((name, rows.len()), ("sum", 15));
    let added = rows.iter().fold([0; 5], |sum, (_, row)| std::array::from_fn(|n| sum[n] + row[n]));
    assert_eq!(added, sums);
    let [host, host_of_two, one, private, shared] = sums;
    let expected = [
        ("one rank", [host + one]),
        ("two ranks, private", [host_of_two + private]),
        ("two ranks, shared", [host_of_two + shared]),
    ];
    assert_eq!(counts("| buffer chip |"), expected);
}

#[test]
fn two_ranks_have_what_one_has_twice_but_what_they_share() {
    for (name, [host, host_of_two, one, private, shared]) in pins() {
        let (of_rank, of_module) = match name {
            "CKE" | "CS_n" | "ODT" => (2, 2),
            "ALERT_n" | "RESET_n" => (1, 1),
            "sum" => continue,
            _ => (1, 2),
        };
        assert_eq!(host_of_two, of_rank * host, "{name}");
        assert_eq!(private, of_module * one, "{name}");
        assert_eq!(shared, if name.contains("MDQ") { one } else { private }, "{name}");
    }
}

#[test]
fn the_pins_are_those_of_the_module() {
    let config = Config::ddr4_3200();
    let module = Description::of(&config).module;
    let lines = module.chip_bits * config.organisation.chips as u64;
    let strobes = 2 * config.organisation.chips as u64;
    assert_eq!((of("DQ;")[0], of("DQ;")[2]), (lines, lines));
    assert_eq!((of("DQS_t")[0], of("DQS_t")[2]), (strobes, strobes));
    // Of a copy, what a chip decodes; the other pins have no code.
    let decoded = ["CS_n", "ACT_n", "RAS_n", "A13", "BG1", "BA1"].map(|name| of(name)[2]);
    assert_eq!(decoded.iter().sum::<u64>(), u64::from(DramPins::WIDTH));
}

/// CS_n, ACT_n, RAS_n, CAS_n and WE_n of a command.
const RD: u32 = 0b01101;
const WR: u32 = 0b01100;
const ZQ: u32 = 0b01110;
const NOP: u32 = 0b01111;
/// A12 of a burst of eight.
const BURST: u32 = 1 << 12;
const A10: u32 = 1 << 10;

/// Whether the levels are those of a command, for the model and for golden.
fn is_command(code: u32, address: u32) -> [bool; 2] {
    let levels = code << 18 | address;
    let shown = unpack::<DramPins>(levels.into()).decode();
    [shown != Pins::NONE, pin_codes::table().decode(levels).is_some()]
}

#[test]
fn what_has_no_code_for_the_page_is_no_command() {
    for command in [RD, WR] {
        assert_eq!(is_command(command, BURST), [true; 2]);
    }
    let first_beats: Vec<_> = (1..8).flat_map(|n| [(RD, BURST | n), (WR, BURST | n)]).collect();
    let refused: [(&str, &[(u32, u32)]); 4] = [
        ("BC4", &[(RD, 0), (WR, 0), (RD, 4)]),
        ("a first beat", &first_beats),
        ("auto-precharge", &[(RD, BURST | A10), (WR, BURST | A10)]),
        ("ZQCL", &[(ZQ, 0), (ZQ, A10), (NOP, 0)]),
    ];
    let page = table("| request |");
    for (name, levels) in refused {
        let row = page.iter().find(|(asked, _)| asked.starts_with(name));
        let (_, cells) = row.unwrap_or_else(|| panic!("no {name} on the page"));
        assert!(cells[0].starts_with("no code"), "{name}: {}", cells[0]);
        for &(code, address) in levels {
            assert_eq!(is_command(code, address), [false; 2], "{name}: {code:05b} {address:#x}");
        }
    }
    let by_code = page.iter().filter(|(_, cells)| cells[0].starts_with("no code"));
    assert_eq!(by_code.count(), refused.len());
}
