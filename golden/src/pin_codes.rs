// SPDX-License-Identifier: MIT
//! What the levels on a chip's command pins say, by the table of `rtl/rank/pin_codes.md` alone.
//!
//! ```
//! use pimlico_golden::pin_codes::table;
//!
//! // PRE of bank 6: CS_n, RAS_n and WE_n low, BG and BA 1 and 2.
//! let code = table().decode(0b0_1_010_01_10_00000000000000).expect("a code");
//! assert_eq!((code.command, code.bank, code.row, code.column), ("PRE", 6, 0, 0));
//! ```

use std::sync::LazyLock;

/// The contract that has the table.
const TEXT: &str = pimlico_rtl::text!("rank/pin_codes.md");
/// Pins: CS_n, ACT_n, RAS_n, CAS_n, WE_n, BG1, BG0, BA1, BA0, A13 to A0.
const PINS: usize = 23;

/// The opcodes of the key, by their names in the contract.
pub const KEY: [&str; 4] = ["key, first", "key, second", "key, third", "key, fourth"];

/// An opcode of the contract's second table: of key or lock.
///
/// # Panics
///
/// If the table has none of this name, or its levels are those of another number.
pub fn opcode(name: &str) -> usize {
    let cells = TEXT.lines().find_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        (cells[0] == name).then_some(cells)
    });
    let cells = cells.unwrap_or_else(|| panic!("no opcode {name}"));
    let bit = |level| usize::from(level == "H");
    let levels = cells[1].split_whitespace().fold(0, |bits, level| bits << 1 | bit(level));
    let number = usize::from_str_radix(cells[2].trim_start_matches("0x"), 16);
    assert_eq!(Ok(levels), number, "{name}");
    levels
}

/// A command that was on the pins, with what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code<'a> {
    /// Its name in the table.
    pub command: &'a str,
    /// Bits b.
    pub bank: u32,
    /// Bits r.
    pub row: u32,
    /// Bits c.
    pub column: u32,
}

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Entry {
    command: String,
    /// The pins with a level, and their levels.
    fixed: u32,
    levels: u32,
    /// The letter and bit of each pin that has one.
    fields: Vec<(usize, char, u32)>,
}

/// The table.
#[derive(Clone, Debug)]
pub struct Table(Vec<Entry>);

/// The table of the contract.
pub fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(TEXT));
    &TABLE
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [command, pins @ .., _jedec] = cells.as_slice() else { return None };
        let pins: Vec<&str> = pins.iter().flat_map(|cell| cell.split_whitespace()).collect();
        let mut entry =
            Self { command: (*command).to_owned(), fixed: 0, levels: 0, fields: Vec::new() };
        if pins.len() != PINS {
            return None;
        }
        for (n, pin) in pins.into_iter().enumerate() {
            let bit = PINS - 1 - n;
            match pin {
                "L" => entry.fixed |= 1 << bit,
                "H" => {
                    entry.fixed |= 1 << bit;
                    entry.levels |= 1 << bit;
                }
                field => {
                    let (letter, number) = field.split_at_checked(1)?;
                    let letter = letter.chars().next().filter(|letter| "brc".contains(*letter))?;
                    entry.fields.push((bit, letter, number.parse().ok()?));
                }
            }
        }
        Some(entry)
    }

    fn field(&self, pins: u32, letter: char) -> u32 {
        let of_letter = self.fields.iter().filter(|(_, of, _)| *of == letter);
        of_letter.map(|(bit, _, number)| (pins >> bit & 1) << number).sum()
    }

    /// Whether some levels are a code of both.
    fn overlaps(&self, other: &Self) -> bool {
        self.fixed & other.fixed & (self.levels ^ other.levels) == 0
    }
}

impl Table {
    /// The rows of the text that are rows of the table.
    fn parse(text: &str) -> Self {
        Self(text.lines().filter(|line| line.starts_with('|')).filter_map(Entry::parse).collect())
    }

    /// What the pins say, CS_n at the top and A0 at the bottom.
    pub fn decode(&self, pins: u32) -> Option<Code<'_>> {
        let entry = self.0.iter().find(|entry| (pins ^ entry.levels) & entry.fixed == 0)?;
        Some(Code {
            command: &entry.command,
            bank: entry.field(pins, 'b'),
            row: entry.field(pins, 'r'),
            column: entry.field(pins, 'c'),
        })
    }

    /// Names of the commands.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| entry.command.as_str())
    }

    /// Commands of which a code is another's as well.
    pub fn shared(&self) -> Vec<(&str, &str)> {
        let mut shared = Vec::new();
        for (n, one) in self.0.iter().enumerate() {
            let others = self.0[n + 1..].iter().filter(|other| one.overlaps(other));
            shared.extend(others.map(|other| (one.command.as_str(), other.command.as_str())));
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_whole_and_no_code_has_two_meanings() {
        assert_eq!(table().commands().count(), 13);
        assert_eq!(table().shared(), []);
        // A bit of a field has one place.
        for entry in &table().0 {
            let mut bits: Vec<_> = entry.fields.iter().map(|(_, of, bit)| (*of, *bit)).collect();
            bits.sort_unstable();
            bits.dedup();
            assert_eq!(bits.len(), entry.fields.len(), "{}", entry.command);
        }
    }

    #[test]
    fn two_meanings_are_found() {
        let pins = |a11: &str| format!("L H H L H | L L L L | L H {a11} L | L L L L L L L | L L L");
        let text = format!("| A | {} | x |\n| B | {} | x |\n", pins("L"), pins("c0"));
        assert_eq!(Table::parse(&text).shared(), [("A", "B")]);
    }

    #[test]
    fn key_and_lock_are_read() {
        assert_eq!(KEY.map(opcode), [0x2A5C, 0x35A3, 0x2C39, 0x33C6]);
        assert_eq!(opcode("lock"), 0x2000);
    }

    /// By hand, from the Command Truth Table of JESD79-4.
    #[test]
    fn codes_of_jedec_are_those_of_the_standard() {
        let pins =
            |cs_act_ras_cas_we: u32, bg_ba: u32, a: u32| cs_act_ras_cas_we << 18 | bg_ba << 14 | a;
        let code = |command, bank, row, column| Some(Code { command, bank, row, column });
        for (pins, expected) in [
            (pins(0b11111, 0, 0), code("NONE", 0, 0, 0)),
            (pins(0b00010, 13, 0x2BCD), code("ACT", 13, 0xABCD, 0)),
            (pins(0b01010, 7, 0), code("PRE", 7, 0, 0)),
            (pins(0b01010, 0, 1 << 10), code("PREA", 0, 0, 0)),
            (pins(0b01001, 0, 0), code("REF", 0, 0, 0)),
            (pins(0b01101, 9, 1 << 12 | 0x55 << 3), code("RD", 9, 0, 0x55)),
            (pins(0b01100, 9, 1 << 12 | 0x2A << 3), code("WR", 9, 0, 0x2A)),
            (pins(0b01000, 6, 0x2C17), code("MRS", 6, 0x2C17, 0)),
            (pins(0b01000, 8, 0), None),         // BG1 high in an MRS
            (pins(0b01110, 0, 0), None),         // ZQCS
            (pins(0b01101, 9, 0x55 << 3), None), // RD of four beats
            (pins(0b01101, 9, 1 << 12 | 1 << 10), None), // RD with auto-precharge
            (pins(0b01101, 9, 1 << 12 | 1), None), // RD from another beat
        ] {
            assert_eq!(table().decode(pins), expected, "{pins:023b}");
        }
    }
}
