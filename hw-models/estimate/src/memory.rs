// SPDX-License-Identifier: MIT
//! Area of the buffers: SRAM, which a library of standard cells does not have.
//!
//! The model is a line, what a macro has whatever its size and what a bit takes:
//!
//! ```text
//! area = 0.0490 mm2 + 0.243 um2 x bits                    at 32 nm
//! ```
//!
//! It goes through two figures that LoL-PIM (section 7.2) has from CACTI at 32 nm: 0.053 mm2 for a
//! buffer of 2 KB, and 0.48 mm2 for the dispatcher, taken as its two tables of 96 KB alone (the decoding
//! unit and the configuration are small beside them). 0.243 um2 is 1.4 times the cell of 0.171 um2 that
//! foundries had at 32 nm, so the slope is that of an array; the constant is large, as a buffer of 2 KB
//! that a whole chip reads is wide. To another node areas go with its square.

/// What a macro has whatever its size, in mm2.
const MACRO_MM2: f64 = 0.0490;
/// What a bit takes, in um2.
const BIT_UM2: f64 = 0.243;
/// The node of both, in nm.
const NODE_NM: f64 = 32.0;

/// What as many bits more in a macro take in mm2, at a node in nm.
pub fn bits_mm2(bytes: u64, node_nm: f64) -> f64 {
    area_mm2(bytes, node_nm) - area_mm2(0, node_nm)
}

/// Area of a buffer of so many bytes in mm2, at a node in nm.
pub fn area_mm2(bytes: u64, node_nm: f64) -> f64 {
    let at_32nm = MACRO_MM2 + BIT_UM2 * 8.0 * bytes as f64 * 1e-6;
    at_32nm * (node_nm / NODE_NM).powi(2)
}

/// A buffer of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What it is.
    pub name: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Of what there is one.
    pub per: &'static str,
}

/// The buffers of the design.
pub const BUFFERS: [Buffer; 8] = [
    Buffer { name: "shared buffer, one side", bytes: 2 << 10, per: "chip" },
    Buffer { name: "shared buffer, ping-pong", bytes: 4 << 10, per: "chip" },
    Buffer { name: "score buffer", bytes: 256 << 10, per: "rank PU" },
    Buffer { name: "partial sums", bytes: 4 << 10, per: "rank PU" },
    Buffer { name: "operand bursts", bytes: 2 << 10, per: "rank PU" },
    Buffer { name: "context queue", bytes: 2 << 10, per: "rank PU" },
    Buffer { name: "Va2Pa table", bytes: 96 << 10, per: "module" },
    Buffer { name: "command buffer", bytes: 96 << 10, per: "module" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_goes_through_the_papers_figures() {
        assert!((area_mm2(2 << 10, 32.0) - 0.053).abs() < 0.0005);
        assert!((2.0 * area_mm2(96 << 10, 32.0) - 0.48).abs() < 0.005);
        assert!((area_mm2(96 << 10, 16.0) * 4.0 - area_mm2(96 << 10, 32.0)).abs() < 1e-12);
    }
}
