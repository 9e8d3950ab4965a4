// SPDX-License-Identifier: MIT
//! What a DIMM-PIM consists of: logic as modules of the RTL, memories by their size, from the bank up to
//! the DIMM.
//!
//! | level | logic | memories |
//! | --- | --- | --- |
//! | bank | a bank PU | |
//! | chip | 16 banks; queues and timers of its data lines | shared buffer |
//! | rank PU | re-layout, adder and softmax unit, controller, refresh manager, result path, slot timer | score buffer, partial sums, queues of bursts |
//! | rank | 8 chips, a rank PU | |
//! | buffer chip | 2 rank PUs, a dispatcher | Va2Pa table, command buffer |
//! | DIMM | 16 chips, a buffer chip | |
//!
//! Not counted: the latches of the columns (a chip has them as a memory), clock gates, what `operand_path`
//! has around its queues, and `pim_rank`'s own registers and two short queues.

use crate::{UnitSpec, memory};

/// Bank PUs of a chip.
pub const BANKS: u64 = 16;
/// Chips of a rank.
pub const CHIPS: u64 = 8;
/// Ranks of a DIMM.
pub const RANKS: u64 = 2;

/// tCK of DDR4-3200 in ns.
const TCK_NS: f64 = 0.625;

/// The clock period in ns that a unit has in the devices, as the head of its RTL says: a beat on the data
/// bus, a tCK, or the time from one read of all banks to the next (tCCD_L of DDR4-3200; the PUs of sixteen
/// lanes are an AiM's, whose tCCD is 1 ns). None for a part of a unit.
pub fn clock_ns(spec: &UnitSpec) -> Option<f64> {
    let is_aim = spec.parameters.contains(&("LANES", 16));
    match spec.module {
        "relayout_unit" => Some(TCK_NS / 2.0),
        "adder_unit" | "softmax_unit" | "rank_controller" | "refresh_manager" | "dispatcher" => {
            Some(TCK_NS)
        }
        "bank_pu" if is_aim => Some(1.0),
        "bank_pu" => Some(8.0 * TCK_NS),
        _ => None,
    }
}

/// A module of the RTL, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The module.
    pub module: &'static str,
    /// Parameters, where they are not the defaults.
    pub parameters: &'static [(&'static str, i64)],
    /// How many.
    pub count: u64,
}

const fn part(module: &'static str, count: u64) -> Part {
    Part { module, parameters: &[], count }
}

/// What a chip has beside its banks: queues of words and of results, timers of both directions.
pub const CHIP: [Part; 3] = [
    Part { module: "fifo", parameters: &[("WIDTH", 8), ("DEPTH", 16)], count: 1 },
    Part { module: "fifo", parameters: &[("WIDTH", 64), ("DEPTH", 16)], count: 1 },
    part("burst_timer", 2),
];

/// What a rank PU has.
pub const RANK_PU: [Part; 7] = [
    part("relayout_unit", 1),
    part("adder_unit", 1),
    part("softmax_unit", 1),
    part("rank_controller", 1),
    part("refresh_manager", 1),
    part("result_path", 1),
    part("slot_timer", 1),
];

/// What a buffer chip has beside its rank PUs.
pub const MODULE: [Part; 1] = [part("dispatcher", 1)];

impl From<Part> for UnitSpec {
    fn from(Part { module, parameters, .. }: Part) -> Self {
        let values = parameters.iter().map(|(name, value)| format!(" {name}={value}"));
        Self { unit: module.to_owned() + &values.collect::<String>(), module, parameters }
    }
}

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
}

/// What a level adds up to: in the chips, which are of a DRAM process, and on the buffer chip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Gate equivalents of logic in DRAM chips.
    pub chips_ge: f64,
    /// Gate equivalents of logic on the buffer chip.
    pub buffer_chip_ge: f64,
    /// Memories in DRAM chips, in bytes.
    pub chips_bytes: u64,
    /// Memories on the buffer chip, in bytes.
    pub buffer_chip_bytes: u64,
    /// Area of all memories in mm2, at 28 nm.
    pub memories_mm2: f64,
}

impl Total {
    fn times(self, count: u64) -> Self {
        let n = count as f64;
        Self {
            chips_ge: n * self.chips_ge,
            buffer_chip_ge: n * self.buffer_chip_ge,
            chips_bytes: count * self.chips_bytes,
            buffer_chip_bytes: count * self.buffer_chip_bytes,
            memories_mm2: n * self.memories_mm2,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            chips_ge: self.chips_ge + other.chips_ge,
            buffer_chip_ge: self.buffer_chip_ge + other.buffer_chip_ge,
            chips_bytes: self.chips_bytes + other.chips_bytes,
            buffer_chip_bytes: self.buffer_chip_bytes + other.buffer_chip_bytes,
            memories_mm2: self.memories_mm2 + other.memories_mm2,
        }
    }
}

/// Areas of the parts in gate equivalents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// A bank PU.
    pub bank_pu: f64,
    /// [`CHIP`], each times its number.
    pub chip: f64,
    /// [`RANK_PU`], likewise.
    pub rank_pu: f64,
    /// [`MODULE`], likewise.
    pub module: f64,
}

impl Parts {
    /// What a level adds up to.
    pub fn total(&self, level: Level) -> Total {
        let buffers = |names: &[&str]| -> (u64, f64) {
            let of = memory::BUFFERS.iter().filter(|buffer| names.contains(&buffer.name));
            let sizes = of.map(|buffer| (buffer.bytes, memory::area_mm2(buffer.bytes, 28.0)));
            sizes.fold((0, 0.0), |(bytes, mm2), buffer| (bytes + buffer.0, mm2 + buffer.1))
        };
        match level {
            Level::Bank => Total { chips_ge: self.bank_pu, ..Total::default() },
            Level::Chip => {
                let (chips_bytes, memories_mm2) = buffers(&["shared buffer, one side"]);
                let own =
                    Total { chips_ge: self.chip, chips_bytes, memories_mm2, ..Total::default() };
                self.total(Level::Bank).times(BANKS).and(own)
            }
            Level::RankPu => {
                let (buffer_chip_bytes, memories_mm2) =
                    buffers(&["score buffer", "partial sums", "operand bursts", "context queue"]);
                let buffer_chip_ge = self.rank_pu;
                Total { buffer_chip_ge, buffer_chip_bytes, memories_mm2, ..Total::default() }
            }
            Level::Rank => self.total(Level::Chip).times(CHIPS).and(self.total(Level::RankPu)),
            Level::BufferChip => {
                let (buffer_chip_bytes, memories_mm2) = buffers(&["Va2Pa table", "command buffer"]);
                let buffer_chip_ge = self.module;
                let own =
                    Total { buffer_chip_ge, buffer_chip_bytes, memories_mm2, ..Total::default() };
                self.total(Level::RankPu).times(RANKS).and(own)
            }
            Level::Dimm => {
                let chips = self.total(Level::Chip).times(CHIPS * RANKS);
                chips.and(self.total(Level::BufferChip))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_has_the_clock_that_its_rtl_says() {
        let spec = |unit: &str| {
            let units = pimlico_units::units();
            units.into_iter().find(|info| info.name == unit).map(UnitSpec::from).expect("a unit")
        };
        assert_eq!(clock_ns(&spec("bank_pu")), Some(5.0));
        assert_eq!(clock_ns(&spec("bank_pu:x16")), Some(1.0));
        assert_eq!(clock_ns(&spec("adder_unit")), Some(0.625));
        assert_eq!(clock_ns(&spec("relayout_unit")), Some(0.3125));
        assert_eq!(clock_ns(&spec("fp_mul")), None);
    }
    use crate::rtl;

    #[test]
    fn all_parts_are_modules_of_the_rtl_with_these_parameters() {
        for part in CHIP.iter().chain(&RANK_PU).chain(&MODULE) {
            let named = |path: &std::path::Path| path.file_stem() == Some(part.module.as_ref());
            let sources = rtl::sources();
            let (_, text) = sources.iter().find(|(path, _)| named(path)).expect(part.module);
            let text = std::str::from_utf8(text).expect("text");
            for (name, _) in part.parameters {
                let declared = |line: &str| {
                    line.trim_start().starts_with("parameter")
                        && line.contains(&format!(" {name} "))
                };
                assert!(text.lines().any(declared), "{} {name}", part.module);
            }
        }
    }

    #[test]
    fn a_dimm_is_256_banks_16_chips_2_rank_pus_and_a_dispatcher() {
        let parts = Parts { bank_pu: 1.0, chip: 1e3, rank_pu: 1e6, module: 1e9 };
        let total = |level| parts.total(level);
        assert_eq!(total(Level::Bank).chips_ge, 1.0);
        assert_eq!(total(Level::Chip).chips_ge, 1_016.0);
        assert_eq!(total(Level::RankPu).buffer_chip_ge, 1e6);
        assert_eq!(total(Level::Rank).chips_ge, 8_128.0);
        assert_eq!(total(Level::BufferChip).buffer_chip_ge, 1_002_000_000.0);
        assert_eq!(total(Level::BufferChip).chips_ge, 0.0);
        let dimm = total(Level::Dimm);
        assert_eq!((dimm.chips_ge, dimm.buffer_chip_ge), (16_256.0, 1_002_000_000.0));
        assert_eq!(dimm.chips_bytes, 16 * 2048);
        assert_eq!(dimm.buffer_chip_bytes, 2 * (256 * 1024 + 4096 + 4096) + 2 * 96 * 1024);
        let mm2 = |bytes| memory::area_mm2(bytes, 28.0);
        let memories = 16.0 * mm2(2048)
            + 2.0 * (mm2(256 << 10) + mm2(4096) + 2.0 * mm2(2048))
            + 2.0 * mm2(96 << 10);
        assert!((dimm.memories_mm2 - memories).abs() < 1e-9);
    }
}
