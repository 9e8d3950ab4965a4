// SPDX-License-Identifier: MIT
//! Where each bit of an element goes between the host's side of a rank PU and the chips'.
//!
//! A group of beats of 64 bits holds one element for every chip. On either side an element's bit has
//! a place, a beat and a data line in it:
//!
//! ```text
//! host    the group's bits in their order, an element behind the other:
//!         bit i of element e is bit (e * element_bits + i) of the group, 64 to a beat
//! chips   chip e has chip_bits lines, from line e * chip_bits on, and takes element e in their order:
//!         bit i of element e is in beat (i / chip_bits), on line (e * chip_bits + i mod chip_bits)
//! ```
//!
//! Re-layout moves each bit from the one place to the other. Nothing is said of how.

/// Data lines of the bus: bits of a beat.
pub const LINES: usize = 64;

/// How wide elements and chips are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Bits of an element.
    pub element_bits: usize,
    /// Data lines of a chip.
    pub chip_bits: usize,
}

/// A bit's place in a group.
type Place = (usize, usize); // beat, line

impl Widths {
    /// Chips on the bus, and elements in a group.
    pub fn chips(self) -> usize {
        LINES / self.chip_bits
    }

    /// Beats of a group.
    pub fn beats(self) -> usize {
        self.chips() * self.element_bits / LINES
    }

    /// A group from the host as the chips are to get it.
    ///
    /// # Panics
    ///
    /// If `group` is not of [`beats`](Self::beats).
    pub fn to_chips(self, group: &[u64]) -> Vec<u64> {
        self.moved(group, Self::host, Self::chip)
    }

    /// A group from the chips as the host is to get it.
    ///
    /// # Panics
    ///
    /// If `group` is not of [`beats`](Self::beats).
    pub fn to_host(self, group: &[u64]) -> Vec<u64> {
        self.moved(group, Self::chip, Self::host)
    }

    fn moved(
        self,
        group: &[u64],
        from: impl Fn(Self, usize, usize) -> Place,
        to: impl Fn(Self, usize, usize) -> Place,
    ) -> Vec<u64> {
        assert_eq!(group.len(), self.beats(), "a whole group");
        let mut result = vec![0; group.len()];
        for element in 0..self.chips() {
            for bit in 0..self.element_bits {
                let (beat, line) = from(self, element, bit);
                if group[beat] & 1 << line != 0 {
                    let (beat, line) = to(self, element, bit);
                    result[beat] |= 1 << line;
                }
            }
        }
        result
    }

    fn host(self, element: usize, bit: usize) -> Place {
        let of_group = element * self.element_bits + bit;
        (of_group / LINES, of_group % LINES)
    }

    fn chip(self, element: usize, bit: usize) -> Place {
        (bit / self.chip_bits, element * self.chip_bits + bit % self.chip_bits)
    }
}

/// What chip `chip` holds of a burst of 16-bit elements on x8 chips, lane `p` being bytes `2 p` and
/// `2 p + 1` of what the chip gets: element `8 p + chip` of those that the host has sent.
///
/// # Panics
///
/// If the burst has no such elements.
pub fn chip_lanes(elements: &[u16; 32], chip: usize) -> [u16; 4] {
    std::array::from_fn(|p| elements[8 * p + chip])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_on_x8_chips() {
        let widths = Widths { element_bits: 16, chip_bits: 8 };
        assert_eq!((widths.chips(), widths.beats()), (8, 2));
        // Byte 0 of a beat is on the lowest lines. Byte n of the host's sixteen is n.
        let host: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        // Chip c gets bytes 2c and 2c + 1, in this order.
        let chips =
            [0, 1].map(|half| u64::from_le_bytes(std::array::from_fn(|c| 2 * c as u8 + half)));
        assert_eq!(widths.to_chips(&host), chips);
        assert_eq!(widths.to_host(&chips), host);
    }

    #[test]
    fn groups_of_other_widths() {
        for (element_bits, chip_bits, beats) in [(16, 8, 2), (16, 4, 4), (8, 4, 2), (8, 8, 1)] {
            let widths = Widths { element_bits, chip_bits };
            assert_eq!(widths.beats(), beats);
            for beat in 0..beats {
                for line in 0..LINES {
                    let mut group = vec![0; beats];
                    group[beat] = 1 << line;
                    assert_eq!(widths.to_host(&widths.to_chips(&group)), group);
                }
            }
        }
        let bytes = Widths { element_bits: 8, chip_bits: 8 };
        assert_eq!(bytes.to_chips(&[0x0123_4567_89AB_CDEF]), [0x0123_4567_89AB_CDEF]);
    }

    #[test]
    fn a_chip_holds_every_eighth_element() {
        let elements = std::array::from_fn(|e| e as u16);
        assert_eq!(chip_lanes(&elements, 0), [0, 8, 16, 24]);
        assert_eq!(chip_lanes(&elements, 7), [7, 15, 23, 31]);
    }
}
