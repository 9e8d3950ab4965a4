// SPDX-License-Identifier: MIT
//! How a device of LPDDR5X-PIM works.

use super::blocks::BlockFormats;

/// How a device works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lp5Options {
    /// Formats of the blocks.
    pub formats: BlockFormats,
    /// Whether rows are refreshed.
    pub refresh: bool,
    /// Plain LPDDR5X, without blocks: no row changes the mode, and every read brings data.
    pub plain: bool,
}

impl Default for Lp5Options {
    fn default() -> Self {
        Self { formats: BlockFormats::default(), refresh: true, plain: false }
    }
}
