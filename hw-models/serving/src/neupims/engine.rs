// SPDX-License-Identifier: MIT
//! PIM's latency from the engine of a channel: a request's attention, command by command, without data.
//!
//! Nothing is interpolated. Which commands come follows from the tokens in units of 16, the elements of a word: groups of 32 tokens
//! of K, words of V's rows, bursts of softmax's weights, vector operations for 128 tokens. Of all lengths that need as many units
//! one is run, from the reset of its channel on, with refresh.

use super::estimate::MhaLatency;
use super::shard::Shard;
use super::system::RowBuffers;
use crate::error::ServingError;
use pimlico_device::neupims::{ChannelOptions, Commands, Memory, NeupimsSpec, WORD};
use pimlico_model::data::Distribution;
use pimlico_workload::neupims::attention::RequestJob;
use pimlico_workload::neupims::{ChannelsBy, Setup};
use pimlico_workload::parallel;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Heads, elements of a head, and units of 16 tokens.
type Kind = (u64, u64, u64);

/// Latencies of requests that were run.
#[derive(Debug)]
pub struct EngineLatency {
    setup: Setup,
    known: Mutex<BTreeMap<Kind, u64>>,
}

fn kind(shard: &Shard, tokens: u64) -> Kind {
    (shard.heads, shard.head_dim, tokens.div_ceil(WORD as u64).max(1))
}

impl EngineLatency {
    /// Of a device's channels: with single row buffers each dot product is a command, as in Newton.
    pub fn new(spec: &NeupimsSpec, memory: RowBuffers) -> Self {
        let (memory, commands) = match memory {
            RowBuffers::Dual => (Memory::Dual, Commands::Composite),
            RowBuffers::Single | RowBuffers::Plain => (Memory::Blocked, Commands::Fine),
        };
        let options = ChannelOptions { memory, data: false, ..ChannelOptions::default() };
        let by = ChannelsBy::ENGINE;
        let setup = Setup { spec: spec.clone(), options, commands, threads: 1, by };
        Self { setup, known: Mutex::default() }
    }

    /// Runs what is not known of requests, each with its shard and tokens.
    ///
    /// # Errors
    ///
    /// If one has no room in a channel.
    pub fn prepare<'a>(
        &self,
        requests: impl IntoIterator<Item = (&'a Shard, u64)>,
        threads: usize,
    ) -> Result<(), ServingError> {
        let mut kinds: BTreeSet<Kind> =
            requests.into_iter().map(|(shard, tokens)| kind(shard, tokens)).collect();
        kinds.retain(|kind| self.find(*kind).is_none());
        let kinds: Vec<Kind> = kinds.into_iter().collect();
        let weight = |&(heads, _, units): &Kind| heads * units;
        let run = |&kind: &Kind| self.run(kind);
        let made = parallel::map(&kinds, threads, weight, run, |_, _| {})?;
        self.known.lock().expect("nobody panics with it").extend(kinds.into_iter().zip(made));
        Ok(())
    }

    /// Requests that were run.
    pub fn runs(&self) -> usize {
        self.known.lock().expect("nobody panics with it").len()
    }

    fn find(&self, kind: Kind) -> Option<u64> {
        self.known.lock().expect("nobody panics with it").get(&kind).copied()
    }

    fn run(&self, (heads, head_dim, units): Kind) -> Result<u64, ServingError> {
        let job = RequestJob {
            heads: heads as usize,
            head_dim: head_dim as usize,
            tokens: units as usize * WORD,
            distribution: Distribution::Random,
            seed: 1,
        };
        let report = job.run(&self.setup)?;
        match report.pins.wrong() {
            Some(wrong) => Err(ServingError::Setup(wrong)),
            None => Ok(report.tck),
        }
    }
}

impl MhaLatency for EngineLatency {
    fn name(&self) -> &'static str {
        "the channel's engine, command by command, with refresh"
    }

    /// # Panics
    ///
    /// If the request has no room in a channel, of which [`prepare`](Self::prepare) tells.
    fn tck(&self, shard: &Shard, tokens: u64) -> u64 {
        let kind = kind(shard, tokens);
        self.find(kind).unwrap_or_else(|| {
            let tck = self.run(kind).expect("it has room");
            self.known.lock().expect("nobody panics with it").insert(kind, tck);
            tck
        })
    }

    fn has_vectors(&self) -> bool {
        true
    }
}

/// What the requests of a system take, by its row buffers.
#[derive(Debug)]
pub struct Engines {
    dual: EngineLatency,
    single: EngineLatency,
}

impl Engines {
    /// Of a device's channels.
    pub fn new(spec: &NeupimsSpec) -> Self {
        let of = |memory| EngineLatency::new(spec, memory);
        Self { dual: of(RowBuffers::Dual), single: of(RowBuffers::Single) }
    }

    /// Of banks with such row buffers. Without PIM none is asked for.
    pub fn of(&self, memory: RowBuffers) -> &EngineLatency {
        match memory {
            RowBuffers::Dual => &self.dual,
            RowBuffers::Single | RowBuffers::Plain => &self.single,
        }
    }
}
