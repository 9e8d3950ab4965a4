// SPDX-License-Identifier: MIT
//! Attention of a request in its channel of NeuPIMs: the heads that a device has, a token that is being generated.

use super::report::{ChannelReport, PinsReport, SetupReport, StoreReport};
use super::{LONGEST_TCK, Setup};
use crate::error::WorkloadError;
use crate::judge::neupims::{Compared, HeadOf, heads};
use half::f16;
use pimlico_device::neupims::layout::FIRST_ROW;
use pimlico_device::neupims::{KvLayout, Shape};
use pimlico_host::neupims::{AttentionHost, HeadResults, Softmax, Store};
use pimlico_model::data::{Distribution, Head, HeadShape};
use serde::Serialize;

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct RequestJob {
    /// Heads on this device.
    pub heads: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Tokens.
    pub tokens: usize,
    /// How the scores are distributed.
    pub distribution: Distribution,
    /// Seed of the data.
    pub seed: u64,
}

/// What became of it.
#[derive(Clone, Debug, Serialize)]
pub struct RequestReport {
    /// How the channel worked.
    #[serde(flatten)]
    pub setup: SetupReport,
    /// Heads on this device.
    pub heads: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Tokens.
    pub tokens: usize,
    /// Seed of the data.
    pub seed: u64,
    /// tCK until the last result had come, from the first write of the query on.
    pub tck: u64,
    /// The channel in that time.
    pub channel: ChannelReport,
    /// K and V into the banks.
    pub store: StoreReport,
    /// Scores, weights and contexts beside the reference; contexts against binary64. None: timing alone.
    pub results: Option<Compared>,
    /// What was on the pins.
    pub pins: PinsReport,
}

/// Softmax of scores: in binary64, weights rounded to binary16.
fn softmax(scores: &[u16], scale: f64) -> Vec<u16> {
    let scaled: Vec<f64> =
        scores.iter().map(|&bits| scale * f64::from(f16::from_bits(bits).to_f32())).collect();
    let most = scaled.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exps: Vec<f64> = scaled.iter().map(|score| (score - most).exp()).collect();
    let sum: f64 = exps.iter().sum();
    exps.iter().map(|exp| f16::from_f64(exp / sum).to_bits()).collect()
}

impl RequestJob {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// If it has no room, or no such heads are built.
    pub fn run(&self, setup: &Setup) -> Result<RequestReport, WorkloadError> {
        let shape = Shape {
            heads: self.heads as u64,
            head_dim: self.head_dim as u64,
            tokens: self.tokens as u64,
        };
        let layout = KvLayout::new(shape, FIRST_ROW, setup.spec.organisation.rows)?;
        let data = setup.options.data;
        let of_head = HeadShape {
            head_dim: self.head_dim,
            context: self.tokens,
            group: 1,
            distribution: self.distribution,
        };
        let kv: Vec<_> = (0..if data { self.heads } else { 0 })
            .map(|head| Head::synthetic(of_head, self.seed, head))
            .collect();
        let query: Vec<u16> = match data {
            true => kv.iter().flat_map(|head| head.queries[0].iter().copied()).collect(),
            false => vec![0; self.heads * self.head_dim],
        };

        let counts = [layout.key_tile(0, 0).counts, layout.value_tile(0, 0, 0).counts];
        let most = counts.iter().max_by_key(|counts| counts.len()).map_or(&[][..], Vec::as_slice);
        let (mut channel, log) = setup.channel(0, most, 0)?;
        let mut store = StoreReport::default();
        if data {
            let key = |head: u64, token: u64| &kv[head as usize].k[token as usize];
            let value = |head: u64, token: u64| &kv[head as usize].v[token as usize];
            let mut host = Store::kv(&layout, key, value);
            channel.run(&mut host, LONGEST_TCK)?;
            store = StoreReport { tck: channel.take_statistics().tck, bursts: host.written() };
        }

        let begin = channel.tck();
        let scale = 1.0 / (self.head_dim as f64).sqrt();
        let weigh = move |scores: &[u16]| softmax(scores, scale);
        let weigh: Option<&Softmax> = if data { Some(&weigh) } else { None };
        let sums = setup.options.sums;
        let mut script = AttentionHost::script(&layout, &query, weigh, setup.fine(), sums);
        channel.run(&mut script, LONGEST_TCK)?;
        let results = script.into_results();
        let tck = results.until_tck() - begin;
        let made = results.into_heads();
        let faults = channel.faults().count() + channel.dropped();
        let statistics = channel.take_statistics();
        Ok(RequestReport {
            setup: SetupReport::of(setup),
            heads: self.heads,
            head_dim: self.head_dim,
            tokens: self.tokens,
            seed: self.seed,
            tck,
            channel: ChannelReport::of(&setup.spec, &statistics),
            store,
            results: data.then(|| judged(setup, &kv, &made, scale)),
            pins: PinsReport::of(log.findings(channel.tck()), faults),
        })
    }
}

fn judged(setup: &Setup, kv: &[Head], made: &[HeadResults], scale: f64) -> Compared {
    let vectors: Vec<_> = kv.iter().map(|head| (head.k.slices(), head.v.slices())).collect();
    let of: Vec<_> = kv
        .iter()
        .zip(made)
        .zip(&vectors)
        .map(|((head, made), (k, v))| HeadOf {
            k,
            v,
            q: &head.queries[0],
            scale,
            scores: &made.scores,
            weights: &made.weights,
            context: &made.context,
        })
        .collect();
    heads(setup.options.sums, &of, setup.threads)
}
