// SPDX-License-Identifier: MIT
//! Register in front of lines of double data rate: of two beats, one in each half of a tCK.
//!
//! Twin of `rtl/prim/ddr_out.sv`.

/// A register for beats of type `B`.
#[derive(Clone, Debug)]
pub(crate) struct DdrOut<B> {
    beat: B,
    second: B,
    /// Neither is loaded: the beat is unspecified.
    pub(crate) is_open: bool,
}

impl<B: Copy + Default> DdrOut<B> {
    /// A register that has not been loaded.
    pub(crate) fn new() -> Self {
        Self { beat: B::default(), second: B::default(), is_open: true }
    }

    /// The beat.
    pub(crate) fn beat(&self) -> B {
        self.beat
    }

    /// The end of a beat: of the second of a tCK if `second`, with an edge of the tCK if `ends`.
    pub(crate) fn clock(&mut self, second: bool, ends: bool, pair: [B; 2]) {
        self.beat = if second { pair[0] } else { self.second };
        if ends {
            self.second = pair[1];
            self.is_open = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_of_a_pair_come_in_the_halves_of_the_next_tck() {
        let mut lines = DdrOut::<u8>::new();
        let mut beats = Vec::new();
        for pair in [[1, 2], [3, 4], [0, 0]] {
            for second in [false, true] {
                lines.clock(second, second, pair);
                beats.push(lines.beat());
            }
        }
        assert_eq!(beats[1..], [1, 2, 3, 4, 0]);
    }
}
