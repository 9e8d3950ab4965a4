// SPDX-License-Identifier: MIT
//! What stands in the rank PU, on the module's buffer chip.

mod adder_unit;
mod burst_source;
mod burst_timer;
mod command_path;
mod context_queue;
mod operand_path;
mod pim_chip;
mod pim_key;
mod pim_rank;
mod rank_controller;
mod refresh_manager;
mod relayout_unit;
mod result_path;
mod sequencer;
mod slot_timer;
mod softmax_heads;
mod softmax_path;
mod softmax_sum;
mod softmax_unit;
mod weight_path;

pub use adder_unit::{
    AdderUnit, AdderUnitIn, AdderUnitOut, AdderUnitProbe, sums_of_chips, sums_over_chips,
};
pub use burst_source::{BurstSource, BurstSourceIn, BurstSourceOut, BurstSourceProbe};
pub use burst_timer::{BurstTimer, BurstTimerIn, BurstTimerOut, BurstTimerProbe};
pub use command_path::{CommandPath, CommandPathIn, CommandPathOut, CommandPathProbe};
pub use context_queue::{ContextQueue, ContextQueueIn, ContextQueueOut, ContextQueueProbe};
pub use operand_path::{OperandPath, OperandPathIn, OperandPathOut, OperandPathProbe};
pub use pim_chip::{PimChip, PimChipIn, PimChipOut, PimChipProbe};
pub use pim_key::PimKey;
pub use pim_rank::{PimRank, PimRankIn, PimRankOut, PimRankProbe};
pub use rank_controller::{
    RankController, RankControllerIn, RankControllerOut, RankControllerProbe,
};
pub use refresh_manager::{
    RefreshManager, RefreshManagerIn, RefreshManagerOut, RefreshManagerProbe,
};
pub use relayout_unit::{
    Direction, RelayoutUnit, RelayoutUnitIn, RelayoutUnitOut, RelayoutUnitProbe,
};
pub use result_path::{ResultPath, ResultPathIn, ResultPathOut, ResultPathProbe};
pub use sequencer::{
    Command, Results, SequencedGear, Sequencer, SequencerIn, SequencerOut, SequencerProbe,
    SequencerSlots, WORDS, decode,
};
pub use slot_timer::{SlotTimer, SlotTimerIn, SlotTimerOut, SlotTimerProbe};
pub use softmax_heads::SoftmaxHeads;
pub use softmax_path::{SoftmaxPath, SoftmaxPathIn, SoftmaxPathOut, SoftmaxPathProbe};
pub use softmax_unit::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut, SoftmaxUnitProbe};
pub use weight_path::{WeightPath, WeightPathIn, WeightPathOut, WeightPathProbe};
