// SPDX-License-Identifier: MIT
//! What attention of requests takes, on PIM and on the NPU.

use super::estimate::{MhaLatency, PimWork};
use super::shard::Shard;
use super::system::{NpuAttention, RowBuffers, System};
use crate::llm::ELEMENT_BYTES;

/// Bytes of a channel's bus in a tCK.
const CHANNEL_BANDWIDTH: u64 = 32;
/// Bytes of a burst.
const BURST: u64 = 64;
/// A V append writes 2 bytes into a row of its own for each element; two pseudo-ranks open eight of them in a tFAW of 30 tCK.
const APPEND_ROWS: u64 = 8;
const FAW: u64 = 30;
/// tCK of a tile's activations in the window of a pseudo-rank: 16 of 4 in 30.
const TILE_WINDOW: u64 = 120;
/// tCK of a full pipeline of the arrays, for each 128 tokens of a head.
const ARRAY_TOKENS: u64 = 128;

/// Attention of a part of a batch in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attention {
    /// Its time.
    pub tck: u64,
    /// Mean time that a channel's PIM works.
    pub pim_busy: f64,
    /// What PIM does, of all channels.
    pub work: PimWork,
    /// Bytes on the channels' buses.
    pub bytes: u64,
}

/// The sums of a channel's requests.
#[derive(Clone, Copy, Default)]
struct Channel {
    pim: u64,
    window: u64,
    staging: u64,
    append: u64,
}

impl System {
    /// Attention of requests, by their tokens in each channel.
    pub fn attention(
        &self,
        shard: &Shard,
        latency: &dyn MhaLatency,
        channels: &[Vec<u64>],
    ) -> Attention {
        match self.memory {
            RowBuffers::Plain => self.streamed(shard, channels),
            RowBuffers::Single | RowBuffers::Dual => self.in_memory(shard, latency, channels),
        }
    }

    /// K and V streamed to the NPU.
    fn streamed(&self, shard: &Shard, channels: &[Vec<u64>]) -> Attention {
        let npu = &self.npu;
        let all = || channels.iter().flatten().copied();
        // Nothing is transposed without PIM: a new token's K and V are as long as any other's.
        let new = u64::from(self.kv_append);
        let bytes: u64 = all().map(|tokens| shard.kv_bytes(tokens + new)).sum();
        let compute = match self.npu_attention {
            NpuAttention::Bandwidth => {
                let lanes = npu.vector_units * npu.lanes;
                let macs: u64 = all().map(|tokens| 2 * tokens * shard.embedding()).sum();
                macs.div_ceil(lanes) + self.softmax(shard, channels)
            }
            NpuAttention::Arrays => {
                let pipelines = |tokens: u64| tokens.div_ceil(ARRAY_TOKENS) * shard.heads;
                npu.fill * all().map(pipelines).sum::<u64>()
            }
        };
        let tck = bytes.div_ceil(npu.bandwidth).max(compute);
        Attention { tck, bytes, ..Attention::default() }
    }

    fn in_memory(
        &self,
        shard: &Shard,
        latency: &dyn MhaLatency,
        channels: &[Vec<u64>],
    ) -> Attention {
        let mut work = PimWork::default();
        let mut sums = Vec::with_capacity(channels.len());
        for tokens in channels {
            let mut sum =
                Channel { append: self.append(shard, tokens.len()), ..Channel::default() };
            for &tokens in tokens {
                let request = PimWork::of(shard, tokens);
                work = work.plus(request);
                sum.pim += latency.tck(shard, tokens);
                sum.window += request.tiles * TILE_WINDOW;
                sum.staging += staging_bytes(shard, tokens).div_ceil(CHANNEL_BANDWIDTH);
            }
            sums.push(sum);
        }
        let most = |of: fn(&Channel) -> u64| sums.iter().map(of).max().unwrap_or(0);
        let softmax = self.softmax(shard, channels);
        let tck = match self.memory {
            RowBuffers::Dual => {
                let pim = most(|sum| sum.pim.max(sum.window + sum.append));
                // What a latency from a run has waited for already.
                let first_head = match latency.has_vectors() {
                    true => 0,
                    false => (softmax + most(|sum| sum.staging)) / shard.heads,
                };
                pim.max(softmax) + first_head
            }
            _ => {
                let fed = self.pim_issue.map_or(0, |rate| work.fine_commands().div_ceil(rate));
                let vectors = |staging: u64| staging + softmax;
                match latency.has_vectors() {
                    true => {
                        let fed = fed + vectors(most(|sum| sum.staging));
                        most(|sum| sum.pim + sum.append).max(fed)
                    }
                    false => {
                        most(|sum| sum.pim).max(fed) + vectors(most(|sum| sum.staging + sum.append))
                    }
                }
            }
        };
        let busy: u64 = sums.iter().map(|sum| sum.pim).sum();
        let staged: u64 = channels.iter().flatten().map(|&n| staging_bytes(shard, n)).sum();
        let pim_busy = busy as f64 / channels.len().max(1) as f64;
        let requests = channels.iter().map(Vec::len).sum::<usize>() as u64;
        let appended = if self.kv_append { requests * append_bytes(shard) } else { 0 };
        Attention { tck, pim_busy, work, bytes: staged + appended + BURST * work.results }
    }

    /// Softmax of all requests on the vector units, where it is counted.
    fn softmax(&self, shard: &Shard, channels: &[Vec<u64>]) -> u64 {
        if !self.softmax {
            return 0;
        }
        let of = |&tokens: &u64| shard.heads * self.npu.softmax_operations(tokens);
        channels.iter().flatten().map(of).sum::<u64>().div_ceil(self.npu.vector_units)
    }

    /// tCK to append K and V of a token to each of so many requests of a channel: K in bursts of 64 bytes and 2 tCK, V scattered.
    fn append(&self, shard: &Shard, requests: usize) -> u64 {
        if !self.kv_append {
            return 0;
        }
        let keys = (ELEMENT_BYTES * shard.embedding()).div_ceil(CHANNEL_BANDWIDTH);
        let values = (shard.embedding() * FAW).div_ceil(APPEND_ROWS);
        requests as u64 * (keys + values)
    }
}

/// Bytes that are written to a channel for the GWRITEs of a request: its query, and softmax's weights of each head.
fn staging_bytes(shard: &Shard, tokens: u64) -> u64 {
    ELEMENT_BYTES * (shard.embedding() + shard.heads * tokens)
}

/// Bytes on the bus to append a token: K's bursts, and one for each element of V.
fn append_bytes(shard: &Shard) -> u64 {
    (ELEMENT_BYTES + BURST) * shard.embedding()
}
