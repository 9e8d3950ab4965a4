// SPDX-License-Identifier: MIT
//! How many banks may be activated within tFAW: the sum over a list of activations, from its definition.
//!
//! ```
//! use pimlico_golden::window::Activations;
//!
//! let mut activations = Activations::new(30);
//! activations.add(100, 4);
//! assert!(!activations.may_add(129, 1));
//! assert!(activations.may_add(130, 4));
//! ```

/// Banks that may be activated in a window (JESD235, tFAW).
const MOST: u64 = 4;

/// Activations of a rank, in the order of time.
#[derive(Clone, Debug)]
pub struct Activations {
    t_faw: u64,
    /// tCK and banks.
    all: Vec<(u64, u64)>,
}

impl Activations {
    /// None yet, with a window of so many tCK.
    pub fn new(t_faw: u64) -> Self {
        Self { t_faw, all: Vec::new() }
    }

    /// So many banks are activated at a tCK.
    pub fn add(&mut self, at_tck: u64, banks: u64) {
        self.all.push((at_tck, banks));
    }

    /// Banks that were activated before a tCK, so near to it that one window holds both.
    pub fn within(&self, at_tck: u64) -> u64 {
        let near = self.all.iter().rev().take_while(|(at, _)| at_tck < at + self.t_faw);
        near.filter(|(at, _)| *at < at_tck).map(|(_, banks)| banks).sum()
    }

    /// Whether so many may be activated at a tCK.
    pub fn may_add(&self, at_tck: u64, banks: u64) -> bool {
        self.within(at_tck) + banks <= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifth_bank_is_a_window_behind_the_first() {
        let mut activations = Activations::new(30);
        for at in [0, 4, 8, 12] {
            assert!(activations.may_add(at, 1));
            activations.add(at, 1);
        }
        assert_eq!(activations.within(12), 3);
        assert!(!activations.may_add(29, 1) && activations.may_add(30, 1));
        assert!(!activations.may_add(41, 4) && activations.may_add(42, 4));
    }
}
