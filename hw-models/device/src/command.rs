// SPDX-License-Identifier: MIT
//! Commands on the pins of a rank's chips.

use crate::sizes::LANES;

/// A command of DDR4, or one of processing in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields say it")]
pub enum DramCommand {
    /// Opens a row.
    Act { bank: usize, row: usize },
    /// Opens a row in all banks.
    ActAll { row: usize },
    /// Closes a bank.
    Pre { bank: usize },
    /// Closes all banks.
    PreAll,
    /// Reads a column.
    Rd { bank: usize, column: usize },
    /// Writes a column.
    Wr { bank: usize, column: usize },
    /// Reads a column of all banks to their PUs.
    RdAll { column: usize },
    /// Reads results of the PUs.
    RdResult { results: Results },
    /// Writes a word of the shared buffers.
    WrShared { word: usize },
    /// Refreshes.
    Ref,
}

impl DramCommand {
    /// Every name, in the order of [`number`](Self::number).
    pub const NAMES: [&str; 10] = [
        "ACT",
        "ACT_ALL_BANK",
        "PRE",
        "PREA",
        "RD",
        "WR",
        "RD_ALL_BANK",
        "RD_RESULT",
        "WR_SHARED",
        "REF",
    ];

    /// Which of the commands it is.
    pub fn number(self) -> usize {
        match self {
            Self::Act { .. } => 0,
            Self::ActAll { .. } => 1,
            Self::Pre { .. } => 2,
            Self::PreAll => 3,
            Self::Rd { .. } => 4,
            Self::Wr { .. } => 5,
            Self::RdAll { .. } => 6,
            Self::RdResult { .. } => 7,
            Self::WrShared { .. } => 8,
            Self::Ref => 9,
        }
    }
}

/// What a burst of results holds: 64 bits of each chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// Score and FC: the sums of the four banks of a bank group.
    Scores {
        /// Bank group.
        group: usize,
    },
    /// Context: one element of the sums, from the same bank of each bank group. With sums of 16 bits
    /// of all four groups; with sums of 32 bits of two of them.
    Context {
        /// Bank in each of the groups.
        bank: usize,
        /// Element of the result register.
        lane: usize,
        /// First bank group: 0, or 2 with sums of 32 bits.
        from_group: usize,
    },
}

/// Bit of an address that tells context from scores.
const CONTEXT: usize = 0x80;
/// Bit of an address that tells the upper two bank groups from the lower.
const UPPER: usize = 0x40;

impl Results {
    /// The eight address bits of RD_RESULT.
    pub fn address(self) -> usize {
        match self {
            Self::Scores { group } => group,
            Self::Context { bank, lane, from_group } => {
                CONTEXT | if from_group == 0 { 0 } else { UPPER } | (bank * LANES + lane)
            }
        }
    }

    /// What an address stands for.
    pub fn from_address(address: usize) -> Self {
        if address & CONTEXT == 0 {
            Self::Scores { group: address % LANES }
        } else {
            let from_group = if address & UPPER == 0 { 0 } else { 2 };
            Self::Context { bank: address / LANES % LANES, lane: address % LANES, from_group }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_results_apart() {
        let scores = (0..LANES).map(|group| Results::Scores { group });
        let context = (0..8 * LANES).map(|n| Results::Context {
            bank: n / 4 % 4,
            lane: n % 4,
            from_group: n / 16 * 2,
        });
        for results in scores.chain(context) {
            assert!(results.address() < 256);
            assert_eq!(Results::from_address(results.address()), results);
        }
    }
}
