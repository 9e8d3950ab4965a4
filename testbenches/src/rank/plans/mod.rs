// SPDX-License-Identifier: MIT
//! What the benches of the rank's larger units are to reach.

pub mod rank_controller;
pub mod sequencer;
pub mod softmax_unit;
