// SPDX-License-Identifier: MIT
//! Benches of what is in the rank PU.

mod adder_unit;
mod burst_source;
mod burst_timer;
mod context_queue;
pub(crate) mod judge;
mod operand_path;
mod pim_chip;
mod plans;
mod rank_controller;
mod refresh_manager;
mod relayout_unit;
mod result_path;
mod sequencer;
mod slot_timer;
mod softmax_unit;
mod weight_path;
