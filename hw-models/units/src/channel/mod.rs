// SPDX-License-Identifier: MIT
//! What is a channel of an AiM.

mod aim_channel;

pub use aim_channel::{AimChannel, AimChannelIn, AimChannelOut, AimChannelProbe};
