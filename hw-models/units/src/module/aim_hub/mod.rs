// SPDX-License-Identifier: MIT
//! Hub of a module of AiM channels.

mod adders;
mod decode;
mod feeder;
mod model;
mod ports;
mod softmax;

pub use model::AimHub;
pub use ports::{AimHubIn, AimHubOut, AimHubProbe};

/// Channels of a hub.
const CHANNELS: usize = 2;

/// Sixteen elements: a word of the GPR, of a filling, of results.
type Word = [u16; 16];
/// Elements of a word.
const ELEMENTS: usize = 16;
/// Elements of the GPR.
const GPR: u32 = 1 << 18;

/// Memory and line of a word of the GPR.
fn place_of(word: u32) -> (usize, u16) {
    (word as usize % CHANNELS, (word / CHANNELS as u32) as u16)
}
