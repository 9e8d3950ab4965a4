// SPDX-License-Identifier: MIT
//! Reports of operators that are spread over the ranks of a device.

use super::{ELEMENT_BYTES, Load, OperatorReport, Slots, Verdict, ns};
use crate::placement;
use pimlico_device::energy::{self, Power};
use pimlico_device::{Config, Lost, Mdq, RankRun, Ranks, Statistics, Topology};
use serde::Serialize;
use std::collections::BTreeMap;

/// The ranks of a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RanksReport {
    /// Channels of the host.
    pub channels: usize,
    /// DIMMs on a channel.
    pub dimms: usize,
    /// Ranks on a DIMM.
    pub ranks: usize,
    /// Data lines between buffer chip and chips: `private` to each rank, or `shared` by the ranks of a DIMM.
    pub mdq: &'static str,
    /// Ranks with work, in the operator that has most of them.
    pub used: usize,
    /// The busiest rank of each operator, beside the mean of all ranks, summed up over the operators.
    pub imbalance: f64,
}

impl RanksReport {
    pub(crate) fn new(topology: Topology, operators: &[OperatorReport]) -> Self {
        let on_ranks = || operators.iter().filter_map(|operator| operator.ranks);
        let busiest: f64 = on_ranks().map(|ranks| ranks.busiest_tck as f64).sum();
        let mean: f64 = on_ranks().map(|ranks| ranks.mean_tck).sum();
        Self {
            channels: topology.channels(),
            dimms: topology.dimms(),
            ranks: topology.ranks(),
            mdq: topology.mdq().name(),
            used: on_ranks().map(|ranks| ranks.used).max().unwrap_or(1),
            imbalance: if mean > 0.0 { busiest / mean } else { 1.0 },
        }
    }

    /// Ranks in all.
    pub fn count(&self) -> usize {
        self.channels * self.dimms * self.ranks
    }

    /// Whether the ranks of a DIMM share its data lines.
    pub fn share_mdq(&self) -> bool {
        self.mdq == Mdq::Shared.name()
    }
}

/// How an operator is spread over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpreadReport {
    /// Ranks with work.
    pub used: usize,
    /// Work of the busiest rank over the mean of all: 1 where all have equal work.
    pub imbalance: f64,
    /// tCK of the busiest rank, with its channel to itself.
    pub busiest_tck: u64,
    /// tCK of a rank on average, idle ranks included.
    pub mean_tck: f64,
    /// tCK for which the last rank to finish waited for its channel.
    pub waited_tck: u64,
    /// Share of the time in which data were on the pins of the busiest channel.
    pub channel: f64,
    /// tCK for which the last rank to finish waited for the data lines of its DIMM: an upper bound.
    pub mdq_waited_tck: u64,
    /// Share of the time in which data were on the busiest data lines between a buffer chip and its chips.
    pub mdq: f64,
    /// Lower bound in tCK for any order of the bursts on shared data lines; the operator's own tCK are the upper
    /// bound.
    pub mdq_least_tck: u64,
    /// What the bank PUs of all ranks read from the row buffers in that time, padding included, in GB/s (10^9 bytes).
    pub read_gb_per_s: f64,
    /// What the operator needed of it, in GB/s.
    pub use_gb_per_s: f64,
}

/// What an operator on several ranks costs, or several one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// Duration in tCK.
    pub cycles: u64,
    /// What the ranks that were done last did in that time.
    of_last: Statistics,
    /// What all ranks did.
    sum: Statistics,
    energy: Option<energy::Energy>,
    used: usize,
    busiest_tck: u64,
    mean_tck: f64,
    waited_tck: u64,
    channel_tck: u64,
    mdq_waited_tck: u64,
    mdq_tck: u64,
    mdq_least_tck: u64,
}

impl Spread {
    /// Of what ranks did side by side. Energy: of a rank that waits for the others, or has nothing to do, its standby
    /// current.
    pub fn new(ranks: &Ranks, runs: &[RankRun]) -> Self {
        let together = ranks.together(runs);
        let (config, count) = (ranks.config(), ranks.topology().count());
        let cycles = together.cycles;
        let mut of_last = runs.get(together.last).map(|run| run.statistics).unwrap_or_default();
        let mut sum = Statistics::default();
        let mut energy = Power::of(config).map(|_| energy::Energy::default());
        let idle = vec![Statistics::default(); count.saturating_sub(runs.len())];
        for statistics in runs.iter().map(|run| run.statistics).chain(idle) {
            sum = sum.and(statistics);
            let whole = Statistics { cycles, ..statistics };
            let of_rank = Power::of(config).map(|power| power.energy(config, &whole));
            energy = energy.zip(of_rank).map(|(a, b)| a.and(b));
        }
        // What it waited for the channel, and the channel for its results.
        of_last.lost_tck.io += cycles - of_last.cycles;
        of_last.cycles = cycles;
        Self {
            cycles,
            of_last,
            sum,
            energy,
            used: runs.len(),
            busiest_tck: together.busiest_tck,
            mean_tck: together.sum_tck as f64 / count as f64,
            waited_tck: together.waited_tck,
            channel_tck: together.channel_tck,
            mdq_waited_tck: together.mdq_waited_tck,
            mdq_tck: together.mdq_tck,
            mdq_least_tck: together.mdq_least_tck,
        }
    }

    /// Of writes of the host, of which each occupies the channel of its rank: (rank, what it cost).
    pub fn of_writes(ranks: &Ranks, writes: &[(usize, Statistics)]) -> Self {
        let (config, count) = (ranks.config(), ranks.topology().count());
        let mut of_ranks = BTreeMap::<usize, Statistics>::new();
        for (rank, cost) in writes {
            let of_rank = of_ranks.entry(*rank).or_default();
            *of_rank = of_rank.and(*cost);
        }
        let occupied = of_ranks.iter().map(|(rank, cost)| (*rank, cost.cycles));
        let cycles = ranks.one_after_the_other(occupied);
        let on_bus = of_ranks.iter().map(|(rank, cost)| (*rank, cost.bus_cycles));
        let sum = of_ranks.values().fold(Statistics::default(), |all, cost| all.and(*cost));
        // All ranks stand by in all of the time.
        let all = Statistics { cycles: count as u64 * cycles, ..sum };
        let busiest = || of_ranks.values().copied();
        Self {
            cycles,
            of_last: Statistics {
                cycles,
                lost_tck: Lost { host: cycles, ..Lost::default() },
                ..Statistics::default()
            },
            sum,
            energy: Power::of(config).map(|power| power.energy(config, &all)),
            used: of_ranks.len(),
            busiest_tck: busiest().map(|cost| cost.cycles).max().unwrap_or(0),
            mean_tck: sum.cycles as f64 / count as f64,
            waited_tck: 0,
            channel_tck: ranks.one_after_the_other(on_bus),
            mdq_waited_tck: 0,
            mdq_tck: busiest().map(|cost| cost.bus_cycles).max().unwrap_or(0),
            mdq_least_tck: cycles,
        }
    }

    /// Another operator behind this one.
    pub fn and(self, other: Self) -> Self {
        let energy = |a: energy::Energy, b| a.and(b);
        Self {
            cycles: self.cycles + other.cycles,
            of_last: self.of_last.and(other.of_last),
            sum: self.sum.and(other.sum),
            energy: match (self.energy, other.energy) {
                (Some(a), Some(b)) => Some(energy(a, b)),
                (a, b) => a.or(b),
            },
            used: self.used.max(other.used),
            busiest_tck: self.busiest_tck + other.busiest_tck,
            mean_tck: self.mean_tck + other.mean_tck,
            waited_tck: self.waited_tck + other.waited_tck,
            channel_tck: self.channel_tck + other.channel_tck,
            mdq_waited_tck: self.mdq_waited_tck + other.mdq_waited_tck,
            mdq_tck: self.mdq_tck + other.mdq_tck,
            mdq_least_tck: self.mdq_least_tck + other.mdq_least_tck,
        }
    }

    /// What the ranks that were done last did, and the duration of all.
    pub fn statistics(&self) -> Statistics {
        self.of_last
    }

    fn report(&self, config: &Config, macs: u64) -> SpreadReport {
        let Self { cycles, mean_tck, busiest_tck, .. } = *self;
        let of_time = |part: u64| part as f64 / cycles.max(1) as f64;
        let bytes = self.sum.used * config.all_bank_bytes() as u64;
        SpreadReport {
            used: self.used,
            imbalance: if mean_tck > 0.0 { busiest_tck as f64 / mean_tck } else { 1.0 },
            busiest_tck,
            mean_tck,
            waited_tck: self.waited_tck,
            channel: of_time(self.channel_tck),
            mdq_waited_tck: self.mdq_waited_tck,
            mdq: of_time(self.mdq_tck),
            mdq_least_tck: self.mdq_least_tck,
            read_gb_per_s: bytes as f64 / ns(config, cycles.max(1)),
            use_gb_per_s: (ELEMENT_BYTES * macs) as f64 / ns(config, cycles.max(1)),
        }
    }
}

impl OperatorReport {
    /// An operator on several ranks that work side by side.
    pub fn on_ranks(
        operator: &'static str,
        ranks: &Ranks,
        spread: &Spread,
        macs: u64,
        judgement: Verdict,
    ) -> Self {
        let (config, count) = (ranks.config(), ranks.topology().count());
        let cycles = spread.cycles;
        let of_all = Statistics { cycles: cycles * count as u64, ..spread.sum };
        let operator = Self::new(operator, config, 1, &of_all, macs, judgement);
        Self {
            cycles,
            ns: ns(config, cycles),
            ranks: (count > 1).then_some(spread.report(config, macs)),
            slots: Slots::new(config, &spread.of_last, spread.of_last.macs),
            ..operator.with_energy(spread.energy)
        }
    }
}

impl Load {
    /// Of several ranks, each of which occupies its channel: the rank, and what it cost.
    pub fn on_ranks(
        ranks: &Ranks,
        loads: impl Iterator<Item = (usize, Statistics)> + Clone,
        bytes: u64,
    ) -> Self {
        let accesses = loads.clone().map(|(rank, load)| (rank, load.cycles));
        let cycles = ranks.one_after_the_other(accesses);
        let all = loads.fold(Statistics::default(), |all, (_, load)| all.and(load));
        let load = Self::new(ranks.config(), &Statistics { cycles, ..all }, bytes);
        Self { bus: load.bus / ranks.topology().channels() as f64, ..load }
    }
}

/// What a layer's cost comes to, all layers being alike and one after the other. The language-model head, and
/// what the host does between operators, is not in it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RollUp {
    /// The layer that ran.
    pub layer: LayersReport,
    /// So many layers as were asked for, for a token.
    pub token: LayersReport,
    /// All layers of the model, for a token.
    pub model: LayersReport,
}

/// Layers, for one token.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LayersReport {
    /// How many.
    pub layers: usize,
    /// Duration in tCK.
    pub cycles: u64,
    /// Duration in ns.
    pub ns: f64,
    /// Tokens in a second, one after the other.
    pub tokens_per_s: f64,
    /// Energy, where the currents of the device are known.
    pub energy_pj: Option<f64>,
    /// Bytes of the fullest rank that weights, K and V take, in whole rows of all banks.
    pub bytes_per_rank: u64,
    /// Whether there is room for them.
    pub fits: bool,
}

impl LayersReport {
    /// So many layers like one whose operators these are.
    pub fn new(
        config: &Config,
        layers: usize,
        operators: &[OperatorReport],
        bytes_per_rank: u64,
    ) -> Self {
        let cycles = operators.iter().map(|operator| operator.cycles).sum::<u64>() * layers as u64;
        let energy: Option<f64> = operators.iter().map(|operator| operator.energy_pj).sum();
        let bytes_per_rank = bytes_per_rank.saturating_mul(layers as u64);
        let there = config.organisation.rows as u64 * placement::row_bytes(config);
        Self {
            layers,
            cycles,
            ns: ns(config, cycles),
            tokens_per_s: 1e9 / ns(config, cycles.max(1)),
            energy_pj: energy.map(|energy| energy * layers as f64),
            bytes_per_rank,
            fits: bytes_per_rank <= there,
        }
    }
}
