// SPDX-License-Identifier: MIT
//! An iteration on a system: each request of a batch makes a token.

use super::attention::Attention;
use super::estimate::{MhaLatency, PimWork};
use super::npu::Npu;
use super::partition::first_parts;
use super::shard::Shard;
use super::stages::{Operators, Stages};
use super::system::{CHANNELS, INTERLEAVED_FROM, Interleave, System};
use crate::llm::ELEMENT_BYTES;

impl System {
    /// An iteration of requests in their channels.
    pub fn iteration(
        &self,
        shard: &Shard,
        latency: &dyn MhaLatency,
        channels: &[Vec<u64>],
    ) -> BatchIteration {
        let requests = channels.iter().map(Vec::len).sum::<usize>();
        let of = |part: &[Vec<u64>]| Part::of(self, shard, latency, part);
        let whole = of(channels);
        let serial = (whole.operators.serial(shard.blocks), vec![whole], None);
        let interleaved = || {
            let npu = Npu { bandwidth: self.npu.beside, ..self.npu };
            let beside = Self { npu, ..*self };
            let [mut one, mut two] =
                halves(channels).map(|part| Part::of(&beside, shard, latency, &part));
            if self.npu.beside == self.npu.bandwidth {
                let bus =
                    [&one, &two].map(|part| part.attention.bytes.div_ceil(self.npu.bandwidth));
                one.operators.ffn = self.beside(shard, one.operators.ffn, bus[1]);
                two.operators.ffn = self.beside(shard, two.operators.ffn, bus[0]);
            }
            let stages = Stages::of(&[one.operators, two.operators]);
            (stages.total(shard.blocks), vec![one, two], Some(stages))
        };
        let (tck, parts, stages) = match self.interleave {
            Interleave::Off => serial,
            Interleave::On => interleaved(),
            Interleave::From256 if requests < INTERLEAVED_FROM => serial,
            Interleave::From256 => interleaved(),
            Interleave::Auto => {
                [serial, interleaved()].into_iter().min_by_key(|of| of.0).expect("two")
            }
        };
        let link_tck = self.links(shard, requests as u64);
        BatchIteration::of(shard, requests as u64, tck, link_tck, &parts, stages)
    }

    /// tCK of a prompt on the devices of a stage of NPUs alone: matrices of all its tokens, for each head the two products of
    /// attention on the arrays, whole rectangles, and softmax of its rows on the vector units.
    pub fn prompt(&self, shard: &Shard, tokens: u64) -> u64 {
        let npu = &self.npu;
        let matrices =
            npu.matrices(tokens, &shard.qkv()) + npu.matrices(tokens, &shard.projection_ffn());
        let products = [(shard.head_dim, tokens), (tokens, shard.head_dim)];
        let softmax = tokens * shard.heads * npu.softmax_operations(tokens);
        let attention =
            shard.heads * npu.matrices(tokens, &products) + softmax.div_ceil(npu.vector_units);
        shard.blocks * (matrices + attention) + self.links(shard, tokens)
    }

    /// tCK of projection and FFN beside attention that has the buses for `bus` tCK: both share the bandwidth.
    fn beside(&self, shard: &Shard, ffn: u64, bus: u64) -> u64 {
        let weights: u64 =
            shard.projection_ffn().iter().map(|(inputs, outputs)| inputs * outputs).sum();
        ffn.max((ELEMENT_BYTES * weights).div_ceil(self.npu.bandwidth) + bus)
    }

    /// tCK of the links of an iteration: two all-reduces of a block, by a ring, and the way to the next stage.
    fn links(&self, shard: &Shard, requests: u64) -> u64 {
        let Some(gbps) = self.link_gbps else { return 0 };
        let bytes = (requests * shard.hidden * ELEMENT_BYTES) as f64;
        let ring = 2.0 * (shard.tp - 1) as f64 / shard.tp as f64;
        let hop = if shard.pp > 1 { bytes } else { 0.0 };
        // A gigabyte a second is a byte in a tCK of 1 ns.
        ((2.0 * shard.blocks as f64 * ring * bytes + hop) / gbps).ceil() as u64
    }
}

/// The two sub-batches of Algorithm 3.
pub fn halves(channels: &[Vec<u64>]) -> [Vec<Vec<u64>>; 2] {
    let counts: Vec<usize> = channels.iter().map(Vec::len).collect();
    let split = channels.iter().zip(first_parts(&counts));
    let (one, two) =
        split.map(|(channel, part)| (channel[..part].to_vec(), channel[part..].to_vec())).unzip();
    [one, two]
}

/// A whole or half batch in a block.
#[derive(Clone, Copy)]
struct Part {
    operators: Operators,
    attention: Attention,
}

impl Part {
    fn of(system: &System, shard: &Shard, latency: &dyn MhaLatency, channels: &[Vec<u64>]) -> Self {
        let requests = channels.iter().map(Vec::len).sum::<usize>() as u64;
        let attention = system.attention(shard, latency, channels);
        let qkv = system.npu.matrices(requests, &shard.qkv());
        let ffn = system.npu.matrices(requests, &shard.projection_ffn());
        Self { operators: Operators { qkv, mha: attention.tck, ffn }, attention }
    }
}

/// An iteration: each request makes a token in all blocks of the device.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchIteration {
    /// Requests.
    pub requests: u64,
    /// Its time, with that of the links.
    pub tck: u64,
    /// Time of the links.
    pub link_tck: u64,
    /// Multiply-accumulates of the arrays.
    pub macs: u64,
    /// Mean time that a channel's PIM works.
    pub pim_busy: f64,
    /// What all PIMs do.
    pub work: PimWork,
    /// Bytes on the buses of all channels.
    pub bytes: u64,
    /// Operators of the batch, or of each sub-batch.
    pub operators: Vec<Operators>,
    /// Stages, where two sub-batches are interleaved.
    pub stages: Option<Stages>,
}

impl BatchIteration {
    fn of(
        shard: &Shard,
        requests: u64,
        tck: u64,
        link_tck: u64,
        parts: &[Part],
        stages: Option<Stages>,
    ) -> Self {
        let blocks = shard.blocks;
        let work = parts.iter().fold(PimWork::default(), |sum, part| sum.plus(part.attention.work));
        let weights = parts.len() as u64 * shard.weight_bytes();
        let attention: u64 = parts.iter().map(|part| part.attention.bytes).sum();
        Self {
            requests,
            tck: tck + link_tck,
            link_tck,
            macs: blocks * requests * shard.block_weights(),
            pim_busy: blocks as f64 * parts.iter().map(|part| part.attention.pim_busy).sum::<f64>(),
            work: PimWork {
                tiles: blocks * work.tiles,
                beats: blocks * work.beats,
                results: blocks * work.results,
                gwrites: blocks * work.gwrites,
            },
            bytes: weights + blocks * attention,
            operators: parts.iter().map(|part| part.operators).collect(),
            stages,
        }
    }

    /// Tokens a second of a stage's devices.
    pub fn tokens_per_s(&self) -> f64 {
        self.requests as f64 * 1e9 / self.tck as f64
    }

    /// Multiply-accumulates over the peak.
    pub fn npu_share(&self, npu: &Npu) -> f64 {
        self.macs as f64 / (npu.peak_macs() as f64 * self.tck as f64)
    }

    /// Time that a channel's PIM works over all time.
    pub fn pim_share(&self) -> f64 {
        self.pim_busy / self.tck as f64
    }

    /// Dot products over the most that there can be, one in 2 tCK.
    pub fn beat_share(&self) -> f64 {
        2.0 * self.work.beats as f64 / (CHANNELS as f64 * self.tck as f64)
    }

    /// Bytes on the buses over the most that there can be.
    pub fn bus_share(&self, npu: &Npu) -> f64 {
        self.bytes as f64 / (npu.bandwidth as f64 * self.tck as f64)
    }
}
