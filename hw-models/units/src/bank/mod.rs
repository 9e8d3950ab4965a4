// SPDX-License-Identifier: MIT
//! What stands at each bank of each chip.

mod bank_pu;
mod dual_row_buffer;
mod lanes;
mod pim_block;
mod pim_mode;
mod pingpong_buffer;
mod side_by_side;
mod tree_pu;
mod tree_pus;

pub use bank_pu::{BankPu, BankPuIn, BankPuOut, BankPuProbe};
pub use dual_row_buffer::{
    DualRowBuffer, DualRowBufferIn, DualRowBufferOut, DualRowBufferProbe, Row,
};
pub use lanes::{Eight, Four, Lanes, Sixteen};
pub use pim_block::{PimBlock, PimBlockIn, PimBlockOut, PimBlockProbe};
pub use pim_mode::{PimMode, PimModeIn, PimModeOut, PimModeProbe};
pub use pingpong_buffer::{
    PingpongBuffer, PingpongBufferIn, PingpongBufferOut, PingpongBufferProbe,
};
pub use side_by_side::{Beat, SideBySide};
pub(crate) use tree_pu::{Beats, PARTIALS, tree};
pub use tree_pu::{TreePu, TreePuIn, TreePuOut, TreePuProbe};
pub use tree_pus::{TreeBeat, TreePus};
