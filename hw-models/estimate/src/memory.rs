// SPDX-License-Identifier: MIT
//! Memories: SRAM macros, which a library of standard cells does not have. Area and access time by models.
//!
//! The area is a line, what a macro has whatever its size and what a bit takes:
//!
//! ```text
//! area = 0.0490 mm2 + 0.243 um2 x bits                    at 32 nm, one port
//! ```
//!
//! It goes through two figures that LoL-PIM (section 7.2) has from CACTI at 32 nm: 0.053 mm2 for a
//! buffer of 2 KB, and 0.48 mm2 for the dispatcher, taken as its two tables of 96 KB alone (the decoding
//! unit and the configuration are small beside them). 0.243 um2 is 1.4 times the cell of 0.171 um2 that
//! foundries had at 32 nm, so the slope is that of an array; the constant is large, as a buffer of 2 KB
//! that a whole chip reads is wide. To another node areas go with its square.
//!
//! A macro with a port to write and another to read is [`TWO_PORTS`] times as large: IHP's SG13G2, the one open PDK
//! with both from one compiler, has 96 267 um2 for `RM_IHPSG13_2P_256x32` and 49 488 for
//! `RM_IHPSG13_1P_256x32`.
//!
//! The time from the clock to the data is another line, of the logarithm of the size:
//!
//! ```text
//! access = 16 FO4 + 4.2 FO4 x log2(bits / 4096)           4 Kb and more
//! ```
//!
//! It is twice that of CACTI, as it stands in OpenROAD's macros for Nangate's 45 nm, which `bsg_fakeram` made by
//! it: 0.204 ns for `fakeram45_256x16` and 0.435 for `fakeram45_2048x39`, where an FO4 is 25.8 ps. The
//! logarithm is also what Amrutur and Horowitz find ("Speed and Power Scaling of SRAMs", IEEE Journal of
//! Solid-State Circuits 35(2), 2000): a gate delay for each doubling, and wires beyond 1 Mb. Twice, as compiled
//! macros are slower than CACTI's: a reference of 32 Kb in 45 nm has 900 MHz, a cycle of 43 FO4, for 28 FO4
//! of access here and 14 by CACTI. SG13G2's macros are slower still: 3.1 ns for 8 Kb, 65 FO4 of the 47 ps
//! that its gate length makes by the rule of [`fo4`](crate::fo4). They are made for low power.
//!
//! The set-up time is [`SETUP_FO4`]: SG13G2's, 0.3 ns, which is more than CACTI's 0.05 ns in 45 nm.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a macro has whatever its size, in mm2.
const MACRO_MM2: f64 = 0.0490;
/// What a bit takes, in um2.
const BIT_UM2: f64 = 0.243;
/// The node of both, in nm.
const NODE_NM: f64 = 32.0;

/// How many times as large a macro is that is read and written at once.
pub const TWO_PORTS: f64 = 96_266.6 / 49_488.5;

/// Access time of the smallest macro in FO4, its size, and what each doubling takes more.
const ACCESS_FO4: f64 = 16.0;
const ACCESS_BITS: f64 = 4096.0;
const DOUBLING_FO4: f64 = 4.2;

/// How long before the clock address, data and enables have to be there, in FO4.
pub const SETUP_FO4: f64 = 6.0;

/// Words up to which a memory is made of flip-flops.
pub const FLIP_FLOP_WORDS: u64 = 16;

/// What as many bits more in a macro take in mm2, at a node in nm.
pub fn bits_mm2(bytes: u64, node_nm: f64) -> f64 {
    area_mm2(bytes, node_nm) - area_mm2(0, node_nm)
}

/// Area of a macro of so many bytes with one port in mm2, at a node in nm.
pub fn area_mm2(bytes: u64, node_nm: f64) -> f64 {
    let at_32nm = MACRO_MM2 + BIT_UM2 * 8.0 * bytes as f64 * 1e-6;
    at_32nm * (node_nm / NODE_NM).powi(2)
}

/// The ports of a memory.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MemoryPorts {
    /// That read.
    pub reads: u64,
    /// That write.
    pub writes: u64,
    /// Whether reads and writes have one address, so that they are one port.
    pub are_shared: bool,
}

impl MemoryPorts {
    /// How many a macro needs.
    pub fn count(&self) -> u64 {
        if self.are_shared { self.reads.max(self.writes) } else { self.reads + self.writes }
    }
}

/// A memory that the RTL has.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Memory {
    /// Its path in the netlist.
    pub name: String,
    /// Its words.
    pub words: u64,
    /// Width of a word.
    pub bits: u64,
    /// Its ports.
    pub ports: MemoryPorts,
    /// Whether data come with the clock after the address. What is read in the cycle that asks is no macro.
    pub is_clocked: bool,
}

impl Memory {
    /// Its size.
    pub fn size_bits(&self) -> u64 {
        self.words * self.bits
    }

    /// Its area in mm2, at a node in nm.
    pub fn area_mm2(&self, node_nm: f64) -> f64 {
        let one_port = area_mm2(self.size_bits().div_ceil(8), node_nm);
        // A macro has one port to read: for another one there is another macro.
        let macros = self.ports.reads.max(1) as f64;
        if self.ports.count() > 1 { TWO_PORTS * macros * one_port } else { one_port }
    }

    /// The time from the clock to its data, in FO4.
    pub fn access_fo4(&self) -> f64 {
        ACCESS_FO4 + DOUBLING_FO4 * (self.size_bits() as f64 / ACCESS_BITS).log2().max(0.0)
    }
}

/// Joins memories that are one: those of an instance that have the same words and ports, which are elements
/// of its words. `gen_element[1].words_q` is an element of `words_q`.
pub(crate) fn join(memories: Vec<Memory>) -> Vec<Memory> {
    let mut joined: BTreeMap<(String, u64, MemoryPorts, bool), u64> = BTreeMap::new();
    for Memory { name, words, bits, ports, is_clocked } in memories {
        let mut path: Vec<&str> = name.split('.').collect();
        let own = path.pop().unwrap_or_default();
        while path.last().is_some_and(|scope| scope.starts_with("gen_")) {
            path.pop();
        }
        path.push(own);
        *joined.entry((path.join("."), words, ports, is_clocked)).or_default() += bits;
    }
    let memories = joined.into_iter().map(|((name, words, ports, is_clocked), bits)| Memory {
        name,
        words,
        bits,
        ports,
        is_clocked,
    });
    memories.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(name: &str, words: u64, bits: u64) -> Memory {
        let ports = MemoryPorts { reads: 1, writes: 1, are_shared: false };
        Memory { name: name.to_owned(), words, bits, ports, is_clocked: true }
    }

    #[test]
    fn the_line_goes_through_the_papers_figures() {
        assert!((area_mm2(2 << 10, 32.0) - 0.053).abs() < 0.0005);
        assert!((2.0 * area_mm2(96 << 10, 32.0) - 0.48).abs() < 0.005);
        assert!((area_mm2(96 << 10, 16.0) * 4.0 - area_mm2(96 << 10, 32.0)).abs() < 1e-12);
    }

    #[test]
    fn access_times_are_twice_cactis() {
        const FO4_NS: f64 = 0.0258;
        for (words, bits, cacti_ns) in [(256, 16, 0.204), (2048, 39, 0.435)] {
            let ns = memory("", words, bits).access_fo4() * FO4_NS;
            assert!((ns / (2.0 * cacti_ns) - 1.0).abs() < 0.02, "{words} x {bits}: {ns}");
        }
        assert_eq!(memory("", 32, 8).access_fo4(), ACCESS_FO4);
    }

    #[test]
    fn two_ports_take_more_than_one() {
        let two = memory("", 256, 32);
        let mut one = two.clone();
        one.ports.are_shared = true;
        assert_eq!([one.ports.count(), two.ports.count()], [1, 2]);
        assert!((two.area_mm2(28.0) / one.area_mm2(28.0) - 1.945).abs() < 1e-3);
    }

    #[test]
    fn elements_of_a_word_are_one_memory_and_two_sides_are_two() {
        let joined = join(vec![
            memory("u_scores.gen_element[0].words_q", 32768, 16),
            memory("u_scores.gen_element[1].words_q", 32768, 16),
            memory("gen_side[0].gen_ram.u_ram.words_q", 64, 256),
            memory("gen_side[1].gen_ram.u_ram.words_q", 64, 256),
        ]);
        let expected = [
            memory("gen_side[0].gen_ram.u_ram.words_q", 64, 256),
            memory("gen_side[1].gen_ram.u_ram.words_q", 64, 256),
            memory("u_scores.words_q", 32768, 32),
        ];
        assert_eq!(joined, expected);
    }
}
