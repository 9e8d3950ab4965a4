// SPDX-License-Identifier: MIT
//! Channel of an AiM with its controller.

mod data;
mod lines;
mod model;
mod modes;
mod numbers;
mod ports;

pub use model::AimChannel;
pub use ports::{AimChannelIn, AimChannelOut, AimChannelProbe};
