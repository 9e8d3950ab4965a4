// SPDX-License-Identifier: MIT
//! The clock of a rank PU's core: a number of tCK.

/// How many tCK a cycle of the core takes. The chips and the data bus keep their own clocks: a tCK, and a beat
/// of half a tCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gear {
    /// A cycle is a tCK.
    One,
    /// A cycle is two tCK.
    Two,
    /// A cycle is four tCK, a burst on the data bus.
    Four,
}

impl Gear {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Four];

    /// The gear of a device where nothing else is said: the lowest at which the RTL meets its clock.
    pub const DEFAULT: Self = Self::One;

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::Four => "4",
        }
    }

    /// tCK in a cycle of the core.
    pub const fn tck(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }
}

impl Default for Gear {
    fn default() -> Self {
        Self::DEFAULT
    }
}
