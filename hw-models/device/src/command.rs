// SPDX-License-Identifier: MIT
//! Commands on the pins of a rank's chips.

use crate::sizes::LANES;
use pimlico_dpa::types::{PinCommand, ResultAddress};

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
        self.on_pins() as usize - PinCommand::Act as usize
    }

    /// What stands on the command pins for it.
    pub fn on_pins(self) -> PinCommand {
        match self {
            Self::Act { .. } => PinCommand::Act,
            Self::ActAll { .. } => PinCommand::ActAll,
            Self::Pre { .. } => PinCommand::Pre,
            Self::PreAll => PinCommand::PreAll,
            Self::Rd { .. } => PinCommand::Rd,
            Self::Wr { .. } => PinCommand::Wr,
            Self::RdAll { .. } => PinCommand::RdAll,
            Self::RdResult { .. } => PinCommand::RdResult,
            Self::WrShared { .. } => PinCommand::WrShared,
            Self::Ref => PinCommand::Ref,
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

impl Results {
    /// The eight address bits of RD_RESULT.
    pub fn address(self) -> usize {
        let address = match self {
            Self::Scores { group } => ResultAddress::scores(group as u8),
            Self::Context { bank, lane, from_group } => {
                ResultAddress::context(bank as u8, lane as u8, from_group != 0)
            }
        };
        address.bits().into()
    }

    /// What an address stands for.
    pub fn from_address(address: usize) -> Self {
        let ResultAddress { context_sums, upper, bank, lane, .. } =
            ResultAddress::of_bits(address as u8);
        let (bank, lane) = (bank.get() as usize, lane.get() as usize);
        match context_sums {
            true => Self::Context { bank, lane, from_group: if upper { LANES / 2 } else { 0 } },
            false => Self::Scores { group: lane },
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
