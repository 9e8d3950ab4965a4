// SPDX-License-Identifier: MIT
//! A unit's area, flip-flops and slack.

use crate::memory::Memory;
use crate::timing::Timing;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a unit consists of.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Area {
    /// Area of all cells in um2 of the library.
    pub um2: f64,
    /// The same in gate equivalents: two-input NANDs of the library.
    pub ge: f64,
    /// Flip-flops and latches.
    pub flip_flops: u64,
    /// Their share of `ge`.
    pub flip_flops_ge: f64,
    /// Cells by name.
    pub cells: BTreeMap<String, u64>,
    /// Memories, which are macros beside the cells.
    pub memories: Vec<Memory>,
    /// The slowest path; none if the library says nothing of delays.
    pub timing: Option<Timing>,
}
