// SPDX-License-Identifier: MIT
//! What a channel counts to know what waits for what.

/// Cycles from the last column of a sum on the pins to that in which its results will be in time for a column that
/// relies on it, and to that in which they can be asked for.
const AGED: u32 = 3;
const READY: u32 = 25;

/// The numbers, as they are when a cycle begins.
#[derive(Clone, Default)]
pub(super) struct Numbers {
    /// Fillings that can be read.
    pub filled: u32,
    /// Sides of the global buffer that are filled or to be freed.
    pub used: u32,
    /// Sums whose results have not left.
    pub sums: u32,
    /// Ended sums, not requested, for some cycles.
    pub aged: u32,
    pub ready: u32,
    /// AimResults in the queue.
    pub asked: u32,
    /// Words requested that were not on the lines.
    pub claimed: u32,
    /// Bit `n`: a column that ends a sum was on the pins `n` + 1 cycles ago.
    ended: u32,
}

/// What happens in a cycle.
#[derive(Clone, Copy, Default)]
pub(super) struct Happens {
    /// An AimResults is accepted.
    pub results_accepted: bool,
    /// A column that frees a filling is first requested; is on the pins.
    pub frees_requested: bool,
    pub frees_on_pins: bool,
    /// A column that ends a sum.
    pub last_requested: bool,
    pub last_on_pins: bool,
    /// A word is first requested; it is the last of its filling.
    pub word_requested: bool,
    pub last_word_requested: bool,
    /// The last word of a filling is on the pins.
    pub last_word_on_pins: bool,
    /// A word is on the lines.
    pub operand_taken: bool,
    /// An RD_RESULT is first requested; is on the pins.
    pub results_requested: bool,
    pub results_on_pins: bool,
}

impl Numbers {
    /// The end of a cycle.
    pub fn clock(&mut self, it: &Happens) {
        let ended = self.ended << 1 | u32::from(it.last_on_pins);
        let for_cycles = |cycles: u32| ended >> (cycles - 1) & 1 != 0;
        let count = |number: &mut u32, up: bool, down: bool| {
            *number = (*number + u32::from(up)).saturating_sub(down.into());
        };
        count(&mut self.filled, it.last_word_on_pins, it.frees_requested);
        count(&mut self.used, it.last_word_requested, it.frees_on_pins);
        count(&mut self.sums, it.last_requested, it.results_on_pins);
        count(&mut self.aged, for_cycles(AGED), it.results_requested);
        count(&mut self.ready, for_cycles(READY), it.results_requested);
        count(&mut self.asked, it.results_accepted, it.results_requested);
        count(&mut self.claimed, it.word_requested, it.operand_taken);
        self.ended = ended;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_ages_from_its_last_column_on_the_pins() {
        let mut numbers = Numbers::default();
        let mut seen = Vec::new();
        for cycle in 0..30 {
            seen.push((numbers.aged, numbers.ready));
            numbers.clock(&Happens { last_on_pins: cycle == 0, ..Happens::default() });
        }
        assert_eq!(seen.iter().position(|(aged, _)| *aged > 0), Some(3));
        assert_eq!(seen.iter().position(|(_, ready)| *ready > 0), Some(25));
    }
}
