// SPDX-License-Identifier: MIT
//! Sizes that the units of a channel fix.

/// Banks of a channel.
pub const BANKS: usize = 32;
/// Banks of a group, which a PIM_ACTIVATION opens.
pub const GROUP: usize = 4;
/// Elements of a row of a bank.
pub const PAGE: usize = 512;
/// Elements of a word, which a PU takes at a time.
pub const WORD: usize = 16;
/// Words of a row.
pub const WORDS: usize = PAGE / WORD;
/// Elements of a burst.
pub const BURST: usize = 32;
/// Bursts of a row.
pub const COLUMNS: usize = PAGE / BURST;
