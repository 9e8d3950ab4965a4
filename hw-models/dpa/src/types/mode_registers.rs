// SPDX-License-Identifier: MIT
//! Codes of the mode registers of a DDR4 chip (JESD79-4), as far as somebody here sets or reads them.

/// CL, by its code in A12, A6 to A4 and A2 of MR0.
const CL: [u64; 24] =
    [9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 23, 17, 19, 21, 25, 26, 27, 28, 29, 30, 31, 32];
/// CWL, by its code in A5 to A3 of MR2.
const CWL: [u64; 8] = [9, 10, 11, 12, 14, 16, 18, 20];

/// The bits of MR0 that say this CL, if it has a code.
pub fn cl_bits(cl_tck: u64) -> Option<u16> {
    let code = CL.iter().position(|tck| *tck == cl_tck)? as u16;
    Some((code >> 4 & 1) << 12 | (code >> 1 & 7) << 4 | (code & 1) << 2)
}

/// The bits of MR2 that say this CWL, if it has a code.
pub fn cwl_bits(cwl_tck: u64) -> Option<u16> {
    CWL.iter().position(|tck| *tck == cwl_tck).map(|code| (code as u16) << 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_the_codes_of_the_standard() {
        for (tck, bits) in [
            (9, Some(0)),
            (16, Some(0b011_0100)),
            (17, Some(0b110_0100)),
            (22, Some(0b101_0000)),
            (23, Some(0b110_0000)),
            (25, Some(1 << 12)),
            (32, Some(1 << 12 | 0b011_0100)),
            (8, None),
            (33, None),
        ] {
            assert_eq!(cl_bits(tck), bits, "{tck}");
        }
        assert_eq!([9, 12, 14, 16, 20].map(cwl_bits), [0, 3, 4, 5, 7].map(|code| Some(code << 3)));
        assert_eq!([8, 13, 15, 17].map(cwl_bits), [None; 4]);
    }
}
