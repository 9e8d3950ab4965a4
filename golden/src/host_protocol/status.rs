// SPDX-License-Identifier: MIT
//! What the host reads from the window of the status.

use std::fmt;

/// Owner of the chips' command pins, as the status has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the contract")]
pub enum PinState {
    PinsHost,
    PinsLeft,
    PinsRun,
}

impl fmt::Display for PinState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A counter of the status that goes modulo 65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the contract")]
pub enum Counter {
    Taken,
    Contexts,
    Outputs,
    Runs,
}

impl Counter {
    pub(super) const ALL: [Self; 4] = [Self::Taken, Self::Contexts, Self::Outputs, Self::Runs];
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Taken => "`taken`",
            Self::Contexts => "`contexts`",
            Self::Outputs => "`outputs`",
            Self::Runs => "the number of runs",
        })
    }
}

/// A status, as far as the protocol depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Status {
    pub(super) state: PinState,
    pub(super) waits: bool,
    pub(super) lost: bool,
    pub(super) refused: bool,
    pub(super) fault: u64,
    /// In the order of [`Counter::ALL`].
    pub(super) counts: [u16; 4],
}

/// Bits of word 0 that the status has: bits 6 to 0, 15 to 8, 29 to 16, 47 to 32.
const WORD_0_BITS: u64 = 0xFFFF_3FFF_FF7F;

impl Status {
    /// The status in a burst, or what is wrong with the burst.
    pub(super) fn decode(words: &[u64; 8]) -> Result<Self, &'static str> {
        let word = words[0];
        if word & !WORD_0_BITS != 0 || words[3..].iter().any(|&word| word != 0) {
            return Err("sets bits that are 0");
        }
        let bit = |bit: u32| word >> bit & 1 == 1;
        let state = match word & 3 {
            0 => PinState::PinsHost,
            1 => PinState::PinsLeft,
            2 => PinState::PinsRun,
            _ => return Err("has a state that there is not"),
        };
        let [waits, ended] = [bit(2), bit(3)];
        if ended != (state == PinState::PinsLeft && !waits) {
            return Err("says `ended` otherwise than state and START");
        }
        let counts = [0, 16, 32, 48].map(|shift| (words[1] >> shift) as u16);
        let [lost, refused] = [bit(4), bit(5)];
        Ok(Self { state, waits, lost, refused, fault: word >> 8 & 15, counts })
    }
}
