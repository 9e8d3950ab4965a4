// SPDX-License-Identifier: MIT
//! Numbers for tests, the same from the same seed.

/// A stream of numbers.
pub struct Draw(pub u64);

impl Draw {
    /// A number below this one.
    pub fn below(&mut self, end: u64) -> u64 {
        // Knuth's multiplier; the upper bits are taken.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A bit for each bank.
    pub fn mask(&mut self) -> u32 {
        (self.below(1 << 16) << 16 | self.below(1 << 16)) as u32
    }
}
