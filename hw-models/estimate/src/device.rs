// SPDX-License-Identifier: MIT
//! What a DIMM-PIM adds up to: the parts of the RTL's top, each on its level, from the bank up to the DIMM.
//!
//! | level | what it consists of |
//! | --- | --- |
//! | bank | `bank_pu` in `pim_chip` |
//! | chip | its banks, and all else in `pim_chip` |
//! | rank PU | all else in `pim_dimm`: `pim_rank` without its chips, the sequencer, the host's side |
//! | rank | its chips and its PU |
//! | buffer chip | two rank PUs, a `dispatcher`, and its [`TABLES`] |
//! | DIMM | the chips of two ranks, a buffer chip |
//!
//! How many banks, chips and instances there are is the RTL's to say. Its top has one rank and so a dispatcher for
//! it: a DIMM has one for both.

use crate::hierarchy::Part;
use crate::memory::{Memory, MemoryPorts};
use pimlico_dpa::clock::Gear;
use std::collections::BTreeMap;
use std::ops::{Add, Mul};

/// The module of the RTL that is a rank and what drives it.
pub const TOP: &str = "pim_dimm";
/// Its parameters at a gear.
pub fn parameters(gear: Gear) -> BTreeMap<String, i64> {
    BTreeMap::from([("GEAR".to_owned(), gear.tck() as i64)])
}

/// Bank PUs of a chip, as L3 has them.
pub const BANKS: u64 = 16;
/// Chips of a rank, as L3 has them.
pub const CHIPS: u64 = 8;
/// Ranks of a DIMM.
pub const RANKS: u64 = 2;

/// The memories of the dispatcher, which are behind ports of the RTL (`table_*`, `fetch_*`).
pub fn tables() -> [Memory; 2] {
    let table = |name: &str, words, bits| Memory {
        name: name.to_owned(),
        words,
        bits,
        ports: MemoryPorts { reads: 1, writes: 1, are_shared: true },
        is_clocked: true,
    };
    [table("Va2Pa table", 48 << 10, 16), table("command buffer", 3 << 10, 256)]
}

/// What no total counts.
pub const NOT_COUNTED: [&str; 3] = [
    "the DRAM's arrays, and the latches of their columns",
    "checkers (`*_checks`), which are empty in synthesis",
    "wires, clock trees, pads",
];

/// A level of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A bank of a chip.
    Bank,
    /// A chip.
    Chip,
    /// What a rank has on the buffer chip.
    RankPu,
    /// A rank, its chips and its PU.
    Rank,
    /// What the module has on its buffer chip.
    BufferChip,
    /// A module.
    Dimm,
}

impl Level {
    /// All of them, from the bank up.
    pub const ALL: [Self; 6] =
        [Self::Bank, Self::Chip, Self::RankPu, Self::Rank, Self::BufferChip, Self::Dimm];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bank => "bank",
            Self::Chip => "chip",
            Self::RankPu => "rank PU",
            Self::Rank => "rank",
            Self::BufferChip => "buffer chip",
            Self::Dimm => "DIMM",
        }
    }

    /// The lowest that a part of [`TOP`] is counted on.
    pub fn of(part: &Part) -> Self {
        let is_in_chip = part.within.iter().any(|module| module == "pim_chip");
        match part.module.as_str() {
            "bank_pu" if is_in_chip => Self::Bank,
            _ if is_in_chip => Self::Chip,
            "dispatcher" => Self::BufferChip,
            _ => Self::RankPu,
        }
    }
}

/// What a part or a level takes: logic, and memories beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Gate equivalents of logic.
    pub ge: f64,
    /// Size of its memories in bytes.
    pub bytes: f64,
    /// Their area in mm2, at 28 nm.
    pub memories_mm2: f64,
}

impl Cost {
    /// Of so much logic, with memories.
    pub fn new(ge: f64, memories: &[Memory]) -> Self {
        let bytes = memories.iter().map(|memory| memory.size_bits() as f64 / 8.0).sum();
        let memories_mm2 = memories.iter().map(|memory| memory.area_mm2(28.0)).sum();
        Self { ge, bytes, memories_mm2 }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            ge: self.ge + other.ge,
            bytes: self.bytes + other.bytes,
            memories_mm2: self.memories_mm2 + other.memories_mm2,
        }
    }
}

impl Mul<f64> for Cost {
    type Output = Self;

    fn mul(self, n: f64) -> Self {
        Self { ge: n * self.ge, bytes: n * self.bytes, memories_mm2: n * self.memories_mm2 }
    }
}

/// What a level adds up to: in the chips, which are of a DRAM process, and on the buffer chip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// In DRAM chips.
    pub chips: Cost,
    /// On the buffer chip.
    pub buffer_chip: Cost,
}

/// How many of a level there are in [`TOP`].
fn count(parts: &[Part], level: Level) -> u64 {
    let count = |is_one: fn(&Part) -> bool| -> u64 {
        parts.iter().filter(|part| is_one(part)).map(|part| part.count).sum()
    };
    match level {
        Level::Bank => count(|part| Level::of(part) == Level::Bank),
        Level::Chip => count(|part| part.module == "pim_chip" && part.is_rest()),
        _ => 1,
    }
}

/// How many instances of a part there are in one of its level.
pub fn per_level(parts: &[Part], part: &Part) -> f64 {
    part.count as f64 / count(parts, Level::of(part)) as f64
}

/// What a level adds up to, from the parts of [`TOP`] and what an instance of each takes.
pub fn total(parts: &[Part], costs: &[Cost], level: Level) -> Total {
    let own = |level| {
        let of_level = parts.iter().zip(costs).filter(|(part, _)| Level::of(part) == level);
        let costs = of_level.map(|(part, cost)| *cost * per_level(parts, part));
        costs.fold(Cost::default(), Add::add)
    };
    let (banks, chips) = (count(parts, Level::Bank) as f64, count(parts, Level::Chip) as f64);
    let bank = own(Level::Bank);
    let chip = if chips > 0.0 { bank * (banks / chips) + own(Level::Chip) } else { bank };
    let rank_pu = own(Level::RankPu);
    let ranks = RANKS as f64;
    let buffer_chip = rank_pu * ranks + own(Level::BufferChip) + Cost::new(0.0, &tables());
    let (chips, buffer_chip) = match level {
        Level::Bank => (bank, Cost::default()),
        Level::Chip => (chip, Cost::default()),
        Level::RankPu => (Cost::default(), rank_pu),
        Level::Rank => (chip * chips, rank_pu),
        Level::BufferChip => (Cost::default(), buffer_chip),
        Level::Dimm => (chip * (chips * ranks), buffer_chip),
    };
    Total { chips, buffer_chip }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(module: &str, within: &[&str], count: u64) -> Part {
        let within = within.iter().map(|&module| module.to_owned()).collect();
        Part { module: module.to_owned(), parameters: Default::default(), within, count }
    }

    /// A rank of two chips with four banks each.
    fn parts() -> Vec<Part> {
        let chip = ["pim_module", "pim_rank", "pim_chip"];
        vec![
            part("pim_module", &chip[..1], 1),
            part("dispatcher", &chip[..1], 1),
            part("sequencer", &chip[..1], 1),
            part("pim_rank", &chip[..2], 1),
            part("pim_chip", &chip, 2),
            part("fifo", &chip, 6),
            part("bank_pu", &chip, 8),
        ]
    }

    #[test]
    fn a_level_adds_up_what_is_on_it_and_below() {
        let ge = [1.0, 1e9, 10.0, 100.0, 1e3, 1e4, 1e5];
        let costs = ge.map(|ge| Cost { ge, ..Cost::default() });
        let total = |level| total(&parts(), &costs, level);
        let ge = |level| (total(level).chips.ge, total(level).buffer_chip.ge);
        assert_eq!(ge(Level::Bank), (1e5, 0.0));
        assert_eq!(ge(Level::Chip), (4e5 + 3e4 + 1e3, 0.0));
        assert_eq!(ge(Level::RankPu), (0.0, 111.0));
        assert_eq!(ge(Level::Rank), (2.0 * 431e3, 111.0));
        assert_eq!(ge(Level::BufferChip), (0.0, 1e9 + 222.0));
        assert_eq!(ge(Level::Dimm), (4.0 * 431e3, 1e9 + 222.0));
    }

    #[test]
    fn a_module_in_the_rank_that_no_list_has_is_in_its_total() {
        let mut parts = parts();
        let cost = Cost { ge: 7.0, ..Cost::default() };
        let mut costs = vec![Cost::default(); parts.len()];
        parts.push(part("newcomer", &["pim_module", "pim_rank"], 3));
        costs.push(cost);
        assert_eq!(total(&parts, &costs, Level::RankPu).buffer_chip.ge, 21.0);
        assert_eq!(total(&parts, &costs, Level::Dimm).buffer_chip.ge, 42.0);
    }

    #[test]
    fn memories_are_counted_where_they_are() {
        let ports = MemoryPorts { reads: 1, writes: 1, are_shared: false };
        let memory = Memory { name: "m".into(), words: 256, bits: 64, ports, is_clocked: true };
        let mut costs = vec![Cost::default(); parts().len()];
        costs[4] = Cost::new(0.0, std::slice::from_ref(&memory));
        let dimm = total(&parts(), &costs, Level::Dimm);
        assert_eq!(dimm.chips.bytes, 4.0 * 2048.0);
        assert_eq!(dimm.chips.memories_mm2, 4.0 * memory.area_mm2(28.0));
        assert_eq!(dimm.buffer_chip.bytes, 2.0 * 96.0 * 1024.0, "the tables");
    }
}
