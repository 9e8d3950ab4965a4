// SPDX-License-Identifier: MIT
//! What the papers say of the units.

/// Area of a two-input NAND in TSMC's 28 nm in um2, by which L3's areas become gate equivalents: the
/// smallest that is named for a 28 nm library, the one of the design's targets, and the largest.
pub const NAND2_28NM_UM2: [f64; 3] = [0.49, 0.504, 0.63];

/// A unit in a paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Area in um2, 28 nm.
    pub um2: f64,
    /// Power in mW.
    pub mw: f64,
}

impl Figure {
    /// Its area in gate equivalents of the design's targets.
    pub fn ge(&self) -> f64 {
        self.um2 / NAND2_28NM_UM2[1]
    }
}

/// L3's Table 5 (TSMC 28 nm), by RTL module.
pub fn figure(module: &str) -> Option<Figure> {
    let figure = |um2, mw| Some(Figure { um2, mw });
    match module {
        "relayout_unit" => figure(948.0, 0.245),
        "adder_unit" => figure(3446.0, 1.812),
        "softmax_unit" => figure(18506.0, 4.345),
        "bank_pu" => figure(3323.0, 1.129),
        _ => None,
    }
}

/// What L3 (section 6.4) grants the buffer chip of a DIMM, in mm2.
pub const BUFFER_CHIP_MM2: f64 = 100.0;
/// What L3 (section 6.4) grants a DIMM, in W.
pub const DIMM_W: f64 = 10.0;
/// How many times as large logic is in a DRAM process: L3, note to Table 5.
pub const DRAM_PROCESS: f64 = 10.0;

/// Figures of LoL-PIM, by CACTI and synthesis with SAED's 32 nm library.
pub mod lol_pim {
    /// The node of these figures in nm.
    pub const NODE_NM: f64 = 32.0;
    /// The dispatcher with its buffers, in mm2: section 7.2.
    pub const DISPATCHER_MM2: f64 = 0.48;
    /// A second global buffer of 2 KB, in mm2: section 7.2.
    pub const GLOBAL_BUFFER_MM2: f64 = 0.053;
    /// An AiM of 16 PUs and 16 banks, a channel of half a chip, in mm2 of its DRAM process: section 7.2.
    pub const AIM_MM2: f64 = 12.16;
    /// Its banks in Gb: 16 of 16 384 rows of 2 KB.
    pub const AIM_GBIT: f64 = 4.0;
    /// What ping-pong buffers add to a unit of 256 multipliers, in percent: section 6.
    pub const PING_PONG_PERCENT: f64 = 1.7;
    /// Multipliers of that unit.
    pub const MULTIPLIERS: u64 = 256;
}

/// Figures of MERIDIAN (ISCA 2026) for an LPDDR5X-PIM.
pub mod meridian {
    /// A PU of sixteen lanes at a bank, in mm2 of its DRAM process.
    pub const PU_MM2: f64 = 0.15;
    /// A die of 16 Gb, in mm2.
    pub const DIE_MM2: f64 = 47.53;
    /// PUs of a die.
    pub const PUS: u64 = 16;
    /// What the PUs take of the die, in percent.
    pub const PUS_PERCENT: f64 = 5.07;
}

/// Figures of NeuPIMs, section 8.2.
pub mod neupims {
    /// What a second row buffer in each bank adds to the DRAM's area, in percent: CACTI 7.0 at 22 nm.
    pub const ROW_BUFFERS_PERCENT: f64 = 3.11;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_equivalents_are_those_of_the_targets() {
        let ge = |module| figure(module).expect("in the table").ge().round();
        assert_eq!(ge("relayout_unit"), 1881.0);
        assert_eq!(ge("adder_unit"), 6837.0);
        assert_eq!(ge("softmax_unit"), 36718.0);
        assert_eq!(ge("bank_pu"), 6593.0);
    }

    #[test]
    fn the_pus_of_a_die_take_what_meridian_says() {
        let percent = 100.0 * meridian::PUS as f64 * meridian::PU_MM2 / meridian::DIE_MM2;
        assert!((percent - meridian::PUS_PERCENT).abs() < 0.05, "{percent}");
    }
}
