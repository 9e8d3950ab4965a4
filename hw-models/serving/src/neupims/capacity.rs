// SPDX-License-Identifier: MIT
//! What weights, K and V take of a device's memory.

use super::estimate::{BANKS, PAGE};
use super::shard::Shard;
use super::system::CHANNELS;
use crate::error::ServingError;

/// Bytes of a channel.
pub const CHANNEL_BYTES: u64 = 1 << 30;
/// Bytes of a row in each bank of a channel.
const ROWS_BYTES: u64 = BANKS << 10;

/// Bytes of K and V of a request in all blocks, in pages: K of 32 tokens, V of 512.
pub fn request_bytes(shard: &Shard, tokens: u64) -> u64 {
    let keys = tokens.div_ceil(BANKS) * shard.embedding().div_ceil(PAGE);
    let values = tokens.div_ceil(PAGE) * shard.embedding().div_ceil(BANKS);
    shard.blocks * (keys + values) * ROWS_BYTES
}

/// Bytes that the weights, spread over all channels, leave of each. Where they have no room that is an error about `what`.
pub fn left_by_weights(shard: &Shard, what: &str) -> Result<u64, ServingError> {
    let weights = shard.weight_bytes().div_ceil(CHANNELS as u64);
    CHANNEL_BYTES.checked_sub(weights).filter(|left| *left > 0).ok_or_else(|| {
        let there = CHANNELS as u64 * CHANNEL_BYTES;
        let of = "the channels of a device".into();
        ServingError::NoRoom { what: what.into(), wanted: shard.weight_bytes(), of, there }
    })
}

/// Whether weights, spread over all channels, and the requests of each channel have room.
pub fn check(shard: &Shard, channels: &[Vec<u64>], what: &str) -> Result<(), ServingError> {
    let weights = shard.weight_bytes().div_ceil(channels.len() as u64);
    let of = |tokens: &Vec<u64>| tokens.iter().map(|&n| request_bytes(shard, n)).sum::<u64>();
    let most = channels.iter().map(of).max().unwrap_or(0);
    let wanted = weights + most;
    if wanted <= CHANNEL_BYTES {
        return Ok(());
    }
    let what = format!("{what}: weights, K and V of the fullest channel");
    Err(ServingError::NoRoom {
        what,
        wanted,
        of: "the banks of a channel".into(),
        there: CHANNEL_BYTES,
    })
}
