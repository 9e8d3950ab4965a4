// SPDX-License-Identifier: MIT
//! What a device adds up to: the parts of the RTL's top, each on its level, from the bank up to the module.
//!
//! | L3's level | what it consists of |
//! | --- | --- |
//! | bank | `bank_pu` in `pim_chip` |
//! | chip | its banks, and all else in `pim_chip` |
//! | rank PU | all else in `pim_dimm`: `pim_rank` without its chips, the sequencer, the host's side |
//! | rank | its chips and its PU |
//! | buffer chip | two rank PUs, a `dispatcher`, and its [`tables`] |
//! | DIMM | the chips of two ranks, a buffer chip |
//!
//! | an AiM module's level | what it consists of |
//! | --- | --- |
//! | PU | `tree_pu` in `aim_pus` |
//! | AiM | what a channel has on its DRAM chip: its PUs, and all else in `aim_pus` |
//! | channel | its AiM, and all else in `aim_channel`: queues, rank controller, refresh manager |
//! | hub | all else in `aim_hub`: `dispatcher`, decode, feeder, EPU; the tables and the [GPR](gpr) |
//! | module | its channels, and its hub |
//!
//! How many banks, chips, channels and instances there are is the RTL's to say. L3's top has one rank and so a
//! dispatcher for it: a DIMM has one for both.

use crate::hierarchy::Part;
use crate::memory::{Memory, MemoryPorts};
use pimlico_dpa::clock::Gear;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::{Add, Mul};

/// The module of the RTL that is a rank and what drives it.
pub const TOP: &str = "pim_dimm";
/// The module of the RTL that is a hub with its channels of AiMs.
pub const AIM_TOP: &str = "aim_hub";

/// A system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum System {
    /// L3's rank, with what drives it.
    #[serde(rename = "l3")]
    L3,
    /// An AiM module, its buffers ping-pong.
    #[serde(rename = "aim")]
    Aim,
    /// An AiM module with single buffers: what the other has not.
    #[serde(rename = "aim-single")]
    AimSingle,
}

impl System {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::L3 => "L3",
            Self::Aim => "AiM",
            Self::AimSingle => "AiM, single",
        }
    }
}

/// What is taken apart: a top of the RTL in a set of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// A rank of L3 and what drives it, its core at a gear.
    L3(Gear),
    /// A module of AiMs.
    Aim(Buffers, u64),
}

/// The buffers of an AiM's channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Two sides in each, and two queues of commands.
    PingPong,
    /// One side in each, and commands in order.
    Single,
}

/// Channels of an AiM module, as LoL-PIM has them.
pub const CHANNELS: u64 = 16;

impl Design {
    /// L3 as it is where nothing else is said.
    pub const RANK: Self = Self::L3(Gear::DEFAULT);
    /// An AiM module as it is where nothing else is said.
    pub const AIM: Self = Self::Aim(Buffers::PingPong, CHANNELS);
    /// The baseline of its ping-pong buffers.
    pub const AIM_SINGLE: Self = Self::Aim(Buffers::Single, CHANNELS);

    /// Those whose parts are kept.
    pub const KEPT: [Self; 5] = [
        Self::L3(Gear::One),
        Self::L3(Gear::Two),
        Self::L3(Gear::Four),
        Self::AIM,
        Self::AIM_SINGLE,
    ];

    /// The system.
    pub fn system(self) -> System {
        match self {
            Self::L3(_) => System::L3,
            Self::Aim(Buffers::PingPong, _) => System::Aim,
            Self::Aim(Buffers::Single, _) => System::AimSingle,
        }
    }

    /// The module of the RTL.
    pub fn top(self) -> &'static str {
        match self {
            Self::L3(_) => TOP,
            Self::Aim(..) => AIM_TOP,
        }
    }

    /// Its parameters.
    pub fn parameters(self) -> BTreeMap<String, i64> {
        let of = |name: &str, value| (name.to_owned(), value);
        match self {
            Self::L3(gear) => BTreeMap::from([of("GEAR", gear.tck() as i64)]),
            Self::Aim(buffers, channels) => {
                let ping_pong = i64::from(buffers == Buffers::PingPong);
                BTreeMap::from([of("CHANNELS", channels as i64), of("PINGPONG", ping_pong)])
            }
        }
    }

    /// The memories behind the ports of its top.
    pub fn memories(self) -> Vec<Outside> {
        let table = |memory| Outside { port: "dispatcher", count: 1, memory };
        let tables = tables().map(table);
        match self {
            Self::L3(_) => tables.into(),
            Self::Aim(_, channels) => {
                let gpr = Outside { port: AIM_TOP, count: channels, memory: gpr(channels) };
                tables.into_iter().chain([gpr]).collect()
            }
        }
    }
}

/// Bank PUs of a chip, as L3 has them.
pub const BANKS: u64 = 16;
/// Chips of a rank, as L3 has them.
pub const CHIPS: u64 = 8;
/// Ranks of a DIMM.
pub const RANKS: u64 = 2;

/// Equal memories behind the ports of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    /// The module.
    pub port: &'static str,
    /// How many there are.
    pub count: u64,
    /// Each.
    pub memory: Memory,
}

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

/// The share of a channel in the GPR of a hub: 2^18 elements of binary16 in words of 16.
pub fn gpr(channels: u64) -> Memory {
    let ports = MemoryPorts { reads: 1, writes: 1, are_shared: false };
    let (name, words) = ("GPR".to_owned(), (1 << 14) / channels.max(1));
    Memory { name, words, bits: 256, ports, is_clocked: true }
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
    /// The PU of an AiM's bank.
    Pu,
    /// What a channel has on its DRAM chip.
    Aim,
    /// A channel, its AiM and its controller.
    Channel,
    /// What a module of AiMs has beside its channels.
    Hub,
    /// A module of AiMs.
    Module,
}

impl Level {
    /// Those of a system, from the bank up.
    pub fn all(system: System) -> &'static [Self] {
        const L3: [Level; 6] =
            [Level::Bank, Level::Chip, Level::RankPu, Level::Rank, Level::BufferChip, Level::Dimm];
        const AIM: [Level; 5] = [Level::Pu, Level::Aim, Level::Channel, Level::Hub, Level::Module];
        match system {
            System::L3 => &L3,
            System::Aim | System::AimSingle => &AIM,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bank => "bank",
            Self::Chip => "chip",
            Self::RankPu => "rank PU",
            Self::Rank => "rank",
            Self::BufferChip => "buffer chip",
            Self::Dimm => "DIMM",
            Self::Pu => "PU",
            Self::Aim => "AiM",
            Self::Channel => "channel",
            Self::Hub => "hub",
            Self::Module => "module",
        }
    }

    /// The lowest that a part of its top is counted on.
    pub fn of(part: &Part) -> Self {
        let is_in = |module: &str| part.within.iter().any(|name| name == module);
        if part.within.first().is_some_and(|top| top == AIM_TOP) {
            return match part.module.as_str() {
                "tree_pu" if is_in("aim_pus") => Self::Pu,
                _ if is_in("aim_pus") => Self::Aim,
                _ if is_in("aim_channel") => Self::Channel,
                _ => Self::Hub,
            };
        }
        match part.module.as_str() {
            "bank_pu" if is_in("pim_chip") => Self::Bank,
            _ if is_in("pim_chip") => Self::Chip,
            "dispatcher" => Self::BufferChip,
            _ => Self::RankPu,
        }
    }

    /// The level whose totals have the memories behind the ports of a top.
    pub fn of_memories(system: System) -> Self {
        match system {
            System::L3 => Self::BufferChip,
            System::Aim | System::AimSingle => Self::Hub,
        }
    }

    /// Whether a part of the level is on a DRAM chip, in that chip's process.
    pub fn is_in_dram(self) -> bool {
        matches!(self, Self::Bank | Self::Chip | Self::Pu | Self::Aim)
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

/// What a level adds up to: in the chips, which are of a DRAM process, and beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// In DRAM chips.
    pub chips: Cost,
    /// On the buffer chip; of AiMs, in controllers and hub.
    pub buffer_chip: Cost,
}

/// How many of a level there are in its top.
fn count(parts: &[Part], level: Level) -> u64 {
    let count = |is_one: fn(&Part) -> bool| -> u64 {
        parts.iter().filter(|part| is_one(part)).map(|part| part.count).sum()
    };
    match level {
        Level::Bank => count(|part| Level::of(part) == Level::Bank),
        Level::Chip => count(|part| part.module == "pim_chip" && part.is_rest()),
        Level::Pu => count(|part| Level::of(part) == Level::Pu),
        Level::Aim => count(|part| part.module == "aim_pus" && part.is_rest()),
        Level::Channel => count(|part| part.module == "aim_channel" && part.is_rest()),
        _ => 1,
    }
}

/// How many instances of a part there are in one of its level.
pub fn per_level(parts: &[Part], part: &Part) -> f64 {
    part.count as f64 / count(parts, Level::of(part)) as f64
}

/// What a level adds up to, from the parts of a design and what an instance of each takes.
pub fn total(design: Design, parts: &[Part], costs: &[Cost], level: Level) -> Total {
    let own = |level| {
        let of_level = parts.iter().zip(costs).filter(|(part, _)| Level::of(part) == level);
        let costs = of_level.map(|(part, cost)| *cost * per_level(parts, part));
        costs.fold(Cost::default(), Add::add)
    };
    let outside = |level| {
        let memories = design.memories().into_iter();
        let memories = memories.filter(|_| level == Level::of_memories(design.system()));
        let cost = |outside: Outside| Cost::new(0.0, &[outside.memory]) * outside.count as f64;
        memories.map(cost).fold(Cost::default(), Add::add)
    };
    let several = |inner: Level, outer: Level| match count(parts, outer) {
        0 => 1.0,
        outer => count(parts, inner) as f64 / outer as f64,
    };
    let dram = |chips| Total { chips, buffer_chip: Cost::default() };
    let logic = |buffer_chip| Total { chips: Cost::default(), buffer_chip };
    let chip = || own(Level::Bank) * several(Level::Bank, Level::Chip) + own(Level::Chip);
    let chips = || chip() * count(parts, Level::Chip) as f64;
    let buffer_chip =
        || own(Level::RankPu) * RANKS as f64 + own(Level::BufferChip) + outside(Level::BufferChip);
    let aim = || own(Level::Pu) * several(Level::Pu, Level::Aim) + own(Level::Aim);
    let hub = || own(Level::Hub) + outside(Level::Hub);
    let channels = count(parts, Level::Channel) as f64;
    match level {
        Level::Bank | Level::Pu => dram(own(level)),
        Level::Chip => dram(chip()),
        Level::RankPu => logic(own(level)),
        Level::Rank => Total { chips: chips(), buffer_chip: own(Level::RankPu) },
        Level::BufferChip => logic(buffer_chip()),
        Level::Dimm => Total { chips: chips() * RANKS as f64, buffer_chip: buffer_chip() },
        Level::Aim => dram(aim()),
        Level::Channel => Total { chips: aim(), buffer_chip: own(Level::Channel) },
        Level::Hub => logic(hub()),
        Level::Module => {
            Total { chips: aim() * channels, buffer_chip: own(Level::Channel) * channels + hub() }
        }
    }
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
        let total = |level| total(Design::RANK, &parts(), &costs, level);
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
        assert_eq!(total(Design::RANK, &parts, &costs, Level::RankPu).buffer_chip.ge, 21.0);
        assert_eq!(total(Design::RANK, &parts, &costs, Level::Dimm).buffer_chip.ge, 42.0);
    }

    #[test]
    fn memories_are_counted_where_they_are() {
        let ports = MemoryPorts { reads: 1, writes: 1, are_shared: false };
        let memory = Memory { name: "m".into(), words: 256, bits: 64, ports, is_clocked: true };
        let mut costs = vec![Cost::default(); parts().len()];
        costs[4] = Cost::new(0.0, std::slice::from_ref(&memory));
        let dimm = total(Design::RANK, &parts(), &costs, Level::Dimm);
        assert_eq!(dimm.chips.bytes, 4.0 * 2048.0);
        assert_eq!(dimm.chips.memories_mm2, 4.0 * memory.area_mm2(28.0));
        assert_eq!(dimm.buffer_chip.bytes, 2.0 * 96.0 * 1024.0, "the tables");
    }

    /// A module of two AiMs with four PUs each.
    fn parts_of_aims() -> Vec<Part> {
        let pus = ["aim_hub", "aim_channel", "aim_pus"];
        vec![
            part("aim_hub", &pus[..1], 1),
            part("aim_decode", &pus[..1], 1),
            part("aim_channel", &pus[..2], 2),
            part("aim_sums", &pus[..2], 2),
            part("aim_pus", &pus, 2),
            part("pingpong_buffer", &pus, 4),
            part("tree_pu", &pus, 8),
        ]
    }

    #[test]
    fn an_aim_has_pus_and_a_module_has_channels() {
        let ge = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
        let costs = ge.map(|ge| Cost { ge, ..Cost::default() });
        let design = Design::Aim(Buffers::PingPong, 2);
        let ge = |level| {
            let total = total(design, &parts_of_aims(), &costs, level);
            (total.chips.ge, total.buffer_chip.ge)
        };
        let aim = 4e6 + 2e5 + 1e4;
        assert_eq!(ge(Level::Pu), (1e6, 0.0));
        assert_eq!(ge(Level::Aim), (aim, 0.0));
        assert_eq!(ge(Level::Channel), (aim, 1100.0));
        assert_eq!(ge(Level::Hub), (0.0, 11.0));
        assert_eq!(ge(Level::Module), (2.0 * aim, 2200.0 + 11.0));
    }

    #[test]
    fn a_hub_has_a_gpr_of_half_a_megabyte_however_many_channels() {
        for channels in [1, 2, 16, 32] {
            let design = Design::Aim(Buffers::Single, channels);
            let costs = vec![Cost::default(); parts_of_aims().len()];
            let hub = total(design, &parts_of_aims(), &costs, Level::Hub).buffer_chip;
            assert_eq!(hub.bytes, (512.0 + 2.0 * 96.0) * 1024.0);
        }
    }

    #[test]
    fn every_part_is_on_a_level_of_its_system() {
        for (system, parts) in [(System::L3, parts()), (System::Aim, parts_of_aims())] {
            assert!(parts.iter().all(|part| Level::all(system).contains(&Level::of(part))));
        }
    }
}
