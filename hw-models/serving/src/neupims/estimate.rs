// SPDX-License-Identifier: MIT
//! Algorithm 1: the latency of a request's attention in a channel.
//!
//! K of token t is in bank t mod 32, its elements along rows of 512; V is transposed, element e of a head in bank e mod 32, 512
//! tokens along a row (section 6.3). A tile is one row in each bank.

use super::shard::Shard;
use serde::Serialize;

/// Banks of a channel (Table 2).
pub const BANKS: u64 = 32;
/// Elements of a DRAM row of 1 KB.
pub const PAGE: u64 = 512;
/// Elements that a dot product takes from a row.
const BEAT: u64 = 16;

/// Where PIM's latency comes from. A cycle engine of the channel can take Algorithm 1's place.
pub trait MhaLatency: Sync {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// tCK of a request's attention in a channel that does nothing else.
    fn tck(&self, shard: &Shard, tokens: u64) -> u64;

    /// Whether the writes for GWRITEs and softmax are in it.
    fn has_vectors(&self) -> bool {
        false
    }
}

/// Algorithm 1 with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Algorithm1 {
    /// tCK of a GWRITE.
    pub gwrite: u64,
    /// tCK of a tile.
    pub tile: u64,
    /// Whether quotients are rounded up, as in the authors' simulator; the paper prints none of it.
    pub rounds: bool,
}

impl Algorithm1 {
    /// The authors' parameters.
    pub const AUTHORS: Self = Self { gwrite: 100, tile: 184, rounds: true };

    /// tCK as a number, rounded up or not.
    pub fn latency(&self, shard: &Shard, tokens: u64) -> f64 {
        let quotient = |a: u64, b: u64| {
            let exact = a as f64 / b as f64;
            if self.rounds { exact.ceil() } else { exact }
        };
        let (gwrite, tile, heads) = (self.gwrite as f64, self.tile as f64, shard.heads as f64);
        let query_pages = quotient(shard.embedding(), PAGE);
        let logit_pages = quotient(tokens, PAGE) * heads;
        let key_tiles = quotient(tokens, BANKS) * query_pages;
        let value_tiles = quotient(shard.head_dim, BANKS) * logit_pages;
        gwrite * (query_pages + logit_pages) + tile * (key_tiles + value_tiles)
    }
}

impl MhaLatency for Algorithm1 {
    fn name(&self) -> &'static str {
        if self.rounds { "Algorithm 1" } else { "Algorithm 1 without rounding" }
    }

    fn tck(&self, shard: &Shard, tokens: u64) -> u64 {
        self.latency(shard, tokens).round() as u64
    }
}

/// What a request's attention is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PimWork {
    /// Tiles.
    pub tiles: u64,
    /// Dot products of all banks, 2 tCK each.
    pub beats: u64,
    /// Bursts of results.
    pub results: u64,
    /// GWRITEs.
    pub gwrites: u64,
}

impl PimWork {
    /// The work of a request.
    pub fn of(shard: &Shard, tokens: u64) -> Self {
        let (query_pages, key_blocks) = (shard.embedding().div_ceil(PAGE), tokens.div_ceil(BANKS));
        let (logit_pages, groups) = (tokens.div_ceil(PAGE), shard.head_dim.div_ceil(BANKS));
        let value_tiles = groups * logit_pages * shard.heads;
        let key_beats = key_blocks * shard.embedding().div_ceil(BEAT);
        let value_beats = groups * shard.heads * tokens.div_ceil(BEAT);
        Self {
            tiles: key_blocks * query_pages + value_tiles,
            beats: key_beats + value_beats,
            results: key_blocks * shard.heads + value_tiles,
            gwrites: query_pages + logit_pages * shard.heads,
        }
    }

    /// Commands that the NPU sends where each dot product is one: a header for each tile, dot products, results, GWRITEs.
    pub fn fine_commands(&self) -> u64 {
        self.tiles + self.beats + self.results + self.gwrites
    }

    /// With the work of another.
    pub fn plus(self, other: Self) -> Self {
        Self {
            tiles: self.tiles + other.tiles,
            beats: self.beats + other.beats,
            results: self.results + other.results,
            gwrites: self.gwrites + other.gwrites,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_request_are_counted() {
        let shard =
            Shard { hidden: 4096, heads: 8, head_dim: 128, ffn: 4096, blocks: 32, tp: 4, pp: 1 };
        let work = PimWork::of(&shard, 300);
        assert_eq!((work.tiles, work.fine_commands()), (52, 1422));
    }
}
