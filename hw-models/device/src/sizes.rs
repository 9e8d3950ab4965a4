// SPDX-License-Identifier: MIT
//! Sizes of a rank that its units fix.

/// Chips of a rank.
pub const CHIPS: usize = 8;

/// Elements in the 64 bits that a chip takes from or gives to a column.
pub const LANES: usize = 4;

/// What a column of one logic bank holds: 64 bits in each chip, element `p` at bits `16 p`.
pub type Burst = [u64; CHIPS];

/// Words of 64 bits in a shared buffer: 2 KB.
pub const SHARED_WORDS: usize = 256;

/// Scores that the score buffer holds: 256 KB of binary16.
pub const SCORE_BUFFER: usize = 128 * 1024;

/// Query heads of which the softmax unit keeps maximum and sum.
pub const HEADS: usize = 8;

/// Partial sums of the context: 256 elements of each of eight heads, for eight chips.
pub const PARTIAL_SUMS: usize = 256;
