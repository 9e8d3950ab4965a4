// SPDX-License-Identifier: MIT
//! What stands in the rank PU, on the module's buffer chip.

mod adder_unit;
mod rank_controller;
mod refresh_manager;
mod relayout_unit;
mod sequencer;
mod softmax_unit;

pub use adder_unit::{AdderUnit, AdderUnitIn, AdderUnitOut, AdderUnitProbe};
pub use rank_controller::{
    RankController, RankControllerIn, RankControllerOut, RankControllerProbe,
};
pub use refresh_manager::{
    RefreshManager, RefreshManagerIn, RefreshManagerOut, RefreshManagerProbe,
};
pub use relayout_unit::{
    Direction, RelayoutUnit, RelayoutUnitIn, RelayoutUnitOut, RelayoutUnitProbe,
};
pub use sequencer::{Sequencer, SequencerIn, SequencerOut, SequencerProbe};
pub use softmax_unit::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut, SoftmaxUnitProbe};
