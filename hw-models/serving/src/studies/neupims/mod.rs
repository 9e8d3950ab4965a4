// SPDX-License-Identifier: MIT
//! NeuPIMs' figures: systems on seeded warm batches, beside the paper's.
//!
//! * [`throughput`]: figure 12.
//! * [`ablation`]: figure 13.
//! * [`parallel`]: figure 14.
//! * [`utilisation`]: Tables 4 and 5.
//! * [`timeline`]: figure 11.

pub mod ablation;
pub mod parallel;
pub mod throughput;
pub mod timeline;
pub mod utilisation;

use crate::error::ServingError;
use crate::neupims::capacity;
use crate::neupims::engine::Engines;
use crate::neupims::estimate::{Algorithm1, MhaLatency};
use crate::neupims::iteration::BatchIteration;
use crate::neupims::rates::MatrixRates;
use crate::neupims::shard::{MODELS, Shard};
use crate::neupims::system::{
    Assign, CHANNELS, Interleave, NpuAttention, RowBuffers, System, latencies,
};
use crate::neupims::workload::{DATASETS, Dataset, LiveRequest, warm_batch};
use crate::studies::lab::llm;
use pimlico_workload::parallel as threads;
use std::sync::Arc;

/// Batches of figures 12 and 13.
pub const BATCHES: [usize; 5] = [64, 128, 256, 384, 512];

/// What the command changes of the systems' assumptions; what is not given stays.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// How NeuPIMs' requests get their channels.
    pub assign: Option<Assign>,
    /// Whether NeuPIMs interleaves.
    pub interleave: Option<Interleave>,
    /// Where the NPU-only system computes attention.
    pub npu_attention: Option<NpuAttention>,
    /// Whether K and V of new tokens take time.
    pub kv_append: bool,
    /// Gigabytes a second of the links.
    pub link_gbps: Option<f64>,
}

/// What all studies of NeuPIMs share.
#[derive(Clone, Debug)]
pub struct NeupimsLab {
    /// Batches of a point.
    pub samples: u64,
    /// Seed of the first.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
    /// What feeds the baseline's PIMs: commands in a tCK, or no limit, each beside the others.
    pub feeds: Vec<Option<u64>>,
    /// Whether a batch without room is refused.
    pub checks_room: bool,
    /// The engines that tell PIM's latency; Algorithm 1 does without them.
    pub engines: Option<Arc<Engines>>,
    /// What matrices have of the buses; their peak without it.
    pub rates: Option<MatrixRates>,
    /// What is changed.
    pub changes: Changes,
}

/// A model, a data set and a batch size.
#[derive(Clone)]
pub struct Point {
    /// The model's name.
    pub model: &'static str,
    /// The part of it on a device.
    pub shard: Shard,
    /// The data set.
    pub dataset: Dataset,
    /// Requests on a device.
    pub requests: usize,
}

/// A point with its warm batches, and the estimates by which they were packed.
pub struct Warm {
    /// The point.
    pub point: Point,
    table: Vec<u64>,
    batches: Vec<Vec<LiveRequest>>,
    engines: Option<Arc<Engines>>,
    rates: Option<MatrixRates>,
}

impl Point {
    /// A point on Table 3's devices.
    pub fn of_table_3(model: usize, dataset: usize, requests: usize) -> Result<Self, ServingError> {
        let (name, tp, pp) = MODELS[model];
        let shard = Shard::new(&llm(name)?, tp, pp)?;
        Ok(Self { model: name, shard, dataset: DATASETS[dataset], requests })
    }

    fn name(&self) -> String {
        format!("{}, {}, {} requests", self.model, self.dataset.name, self.requests)
    }
}

impl NeupimsLab {
    /// A system with what the command changes.
    pub fn changed(&self, system: System) -> System {
        let changes = &self.changes;
        let mut changed = System {
            kv_append: changes.kv_append,
            link_gbps: changes.link_gbps,
            npu_attention: changes.npu_attention.unwrap_or(system.npu_attention),
            ..system
        };
        if system.interleave != Interleave::Off {
            changed.interleave = changes.interleave.unwrap_or(system.interleave);
        }
        if system.assign != Assign::RoundRobin {
            changed.assign = changes.assign.unwrap_or(system.assign);
        }
        changed
    }

    /// NPU+PIM with a feed.
    pub fn npu_pim(&self, feed: Option<u64>) -> System {
        System { pim_issue: feed, ..self.changed(System::NPU_PIM) }
    }

    /// Warms up the batches of points, on all threads.
    pub fn warm(&self, points: Vec<Point>) -> Result<Vec<Warm>, ServingError> {
        let work = |point: &Point| -> Result<Warm, ServingError> {
            let table = latencies(&point.shard, &Algorithm1::AUTHORS);
            let seeds = self.seed..self.seed.saturating_add(self.samples);
            let batch = |seed| warm_batch(&point.dataset, point.requests, CHANNELS, &table, seed);
            let batches: Vec<Vec<LiveRequest>> = seeds.map(batch).collect();
            let engines = self.engines.clone();
            let (point, rates) = (point.clone(), self.rates);
            let warm = Warm { point, table, batches, engines, rates };
            if self.checks_room {
                warm.check_room(&self.changed(System::NEUPIMS))?;
            }
            Ok(warm)
        };
        let weight = |point: &Point| point.requests as u64;
        let warm = threads::map(&points, self.threads, weight, work, |_, _| {})?;
        if let Some(engines) = &self.engines {
            for memory in [RowBuffers::Dual, RowBuffers::Single] {
                let requests = warm.iter().flat_map(Warm::requests);
                engines.of(memory).prepare(requests, self.threads)?;
            }
        }
        Ok(warm)
    }

    /// What feeds are called.
    pub fn feed_name(feed: Option<u64>) -> String {
        feed.map_or_else(|| "unlimited".to_owned(), |rate| format!("{rate}/tCK"))
    }

    /// What is to know about the figures of all studies.
    pub fn notes(&self, warm: &[Warm]) -> Vec<String> {
        let latencies = match &self.engines {
            Some(engines) => format!(
                "{}; packing is by {}",
                engines.of(RowBuffers::Dual).name(),
                Algorithm1::AUTHORS.name()
            ),
            None => format!(
                "{}; no command is executed for them, and refresh is in none",
                Algorithm1::AUTHORS.name()
            ),
        };
        let mut notes = vec![
            format!("PIM latencies: {latencies}"),
            "lengths: seeded log-normal samples with the paper's means; their deviations are ours".to_owned(),
            "the batch is a device's; layer norm, residual additions, GELU and the language-model head are left out".to_owned(),
        ];
        if let Some(MatrixRates { reads, alone, beside }) = self.rates {
            notes.push(format!(
                "matrices have {alone:.1} % of the buses, and {beside:.1} % beside PIM, as reads without end on a channel with refresh, {reads} of them in its controller"
            ));
        }
        let system = self.changed(System::NEUPIMS);
        let full = warm.iter().filter(|warm| warm.check_room(&system).is_err());
        let full: Vec<String> = full.map(|warm| warm.point.name()).collect();
        if !full.is_empty() {
            notes.push(format!(
                "without room in the fullest channel, in pages of 512 tokens of V (--capacity check refuses them): {}",
                full.join("; ")
            ));
        }
        notes
    }
}

impl Warm {
    /// An iteration of each batch on a system.
    pub fn run(&self, system: &System) -> Vec<BatchIteration> {
        let system = &self.rates.map_or(*system, |rates| rates.bound(system));
        let latency: &dyn MhaLatency = match &self.engines {
            Some(engines) => engines.of(system.memory),
            None => &system.estimate,
        };
        let of = |batch: &Vec<LiveRequest>| {
            system.iteration(&self.point.shard, latency, &self.channels(system, batch))
        };
        self.batches.iter().map(of).collect()
    }

    /// The requests of all batches.
    fn requests(&self) -> impl Iterator<Item = (&Shard, u64)> {
        let live = self.batches.iter().flatten();
        live.map(|live| (&self.point.shard, live.tokens))
    }

    /// Mean tokens a second.
    pub fn tokens_per_s(&self, system: &System) -> f64 {
        let all = self.run(system);
        all.iter().map(BatchIteration::tokens_per_s).sum::<f64>() / all.len() as f64
    }

    fn channels(&self, system: &System, batch: &[LiveRequest]) -> Vec<Vec<u64>> {
        system.channels(&self.table, batch)
    }

    fn check_room(&self, system: &System) -> Result<(), ServingError> {
        let name = self.point.name();
        let mut channels = self.batches.iter().map(|batch| self.channels(system, batch));
        channels.try_for_each(|channels| capacity::check(&self.point.shard, &channels, &name))
    }
}

/// The mean of numbers.
pub fn mean(of: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = of.into_iter().fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    sum / f64::from(count.max(1))
}

/// A band around a figure of the paper, with so many digits as a table needs.
pub fn around(paper: f64, off: f64) -> [f64; 2] {
    [paper - off, paper + off].map(|bound| (1000.0 * bound).round() / 1000.0)
}
