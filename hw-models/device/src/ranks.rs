// SPDX-License-Identifier: MIT
//! A device of many ranks behind the host's channels: what they do side by side.
//!
//! Ranks know nothing of each other: each has its chips and its rank PU. They share the pins of their channel
//! with the ranks beside them, and the data lines between buffer chip and chips if their DIMM has only one set
//! of them ([`Mdq::Shared`]). So each rank is run by itself, with the channel and the lines to itself;
//! [`Ranks::together`] then puts the runs of an operator side by side and lets what crosses the channels and
//! the lines take turns (see `channel.rs` and `mdq.rs`). Memory is needed only for the ranks that are being
//! run.
//!
//! * **Computing**, all ranks of a channel work at once. Only operands and results cross the channel.
//! * **As memory**, one rank of a channel at a time: its K and V or weights keep the channel's pins busy
//!   ([`Ranks::one_after_the_other`]). L3's ranksets, of which one takes data while the others compute,
//!   are not modelled: loading and computing do not overlap.

use crate::channel::{self, Late};
use crate::config::Config;
use crate::device::RankDevice;
use crate::mdq;
use crate::statistics::Statistics;
use crate::topology::{Address, Mdq, Topology};
use crate::traffic::HostTransfer;
use std::collections::BTreeMap;
use std::ops::Range;

/// The ranks of a device.
pub struct Ranks<'a> {
    config: &'a Config,
    topology: Topology,
    new_rank: &'a (dyn Fn(Address) -> Box<dyn RankDevice> + Sync),
}

/// What a rank did for an operator.
#[derive(Clone, Debug, Default)]
pub struct RankRun {
    /// The rank, by number.
    pub rank: usize,
    /// What it cost, with the channel to itself.
    pub statistics: Statistics,
    /// What crossed the channel.
    pub transfers: Vec<HostTransfer>,
    /// When data were on the lines between buffer chip and chips, where ranks share them.
    pub mdq: Vec<Range<u64>>,
}

impl RankRun {
    /// Another run of the rank behind this one.
    pub fn then(&mut self, next: Self) {
        let begin_tck = self.statistics.cycles;
        self.transfers.extend(next.transfers.into_iter().map(|transfer| transfer.after(begin_tck)));
        let after = |burst: Range<u64>| burst.start + begin_tck..burst.end + begin_tck;
        self.mdq.extend(next.mdq.into_iter().map(after));
        self.statistics = self.statistics.and(next.statistics);
    }

    /// Its bursts on the data lines of its DIMM, delayed by its wait for the channel.
    fn on_lines(&self, late: &Late) -> mdq::User {
        let later = |burst: &Range<u64>| {
            let waited_tck = late.at(burst.start);
            burst.start + waited_tck..burst.end + waited_tck
        };
        mdq::User {
            cycles: self.statistics.cycles + late.at(u64::MAX),
            bursts: self.mdq.iter().map(later).collect(),
        }
    }
}

/// An operator on several ranks at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Together {
    /// Duration in tCK, until the last rank is done and the last results are being read.
    pub cycles: u64,
    /// The rank that is done last, among the runs.
    pub last: usize,
    /// tCK for which that rank waited for its channel.
    pub waited_tck: u64,
    /// tCK in which data are on the pins of the busiest channel.
    pub channel_tck: u64,
    /// tCK for which that rank waited for the data lines of its DIMM.
    pub mdq_waited_tck: u64,
    /// tCK in which data are on the busiest data lines between a buffer chip and its chips.
    pub mdq_tck: u64,
    /// Lower bound for any order of the bursts on shared data lines; `cycles` is the upper bound.
    pub mdq_least_tck: u64,
    /// tCK of the busiest rank, with its channel to itself.
    pub busiest_tck: u64,
    /// tCK of all ranks.
    pub sum_tck: u64,
}

/// What runs cost each other on their channels.
#[derive(Default)]
struct OnChannels {
    /// How much later each is.
    late: Vec<Late>,
    /// When the host begins to read the last results, channel by channel.
    results_tck: Vec<u64>,
    /// tCK in which data are on the pins of the busiest one.
    busy_tck: u64,
}

impl<'a> Ranks<'a> {
    /// Ranks of one configuration. `new_rank` makes one that has just been reset.
    pub fn new(
        config: &'a Config,
        topology: Topology,
        new_rank: &'a (dyn Fn(Address) -> Box<dyn RankDevice> + Sync),
    ) -> Self {
        Self { config, topology, new_rank }
    }

    /// Organisation and timing of each.
    pub fn config(&self) -> &'a Config {
        self.config
    }

    /// How many there are, and how they are joined.
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// A rank by its number, just reset.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub fn rank(&self, number: usize) -> Box<dyn RankDevice> {
        (self.new_rank)(self.topology.address(number))
    }

    /// Bandwidth of all bank PUs with an all-bank RD in every slot, in GB/s (10^9 bytes).
    pub fn peak_gb_per_s(&self) -> f64 {
        self.config.peak_gb_per_s() * self.topology.count() as f64
    }

    /// Puts runs that start together side by side, at most one of each rank.
    pub fn together(&self, runs: &[RankRun]) -> Together {
        let mut together = Together::default();
        let on_channels = self.on_channels(runs);
        let on_lines = self.on_lines(runs, &on_channels.late);
        for (n, run) in runs.iter().enumerate() {
            let waited_tck = on_channels.late[n].at(u64::MAX);
            let mdq_waited_tck = on_lines.waited_tck[n];
            let alone_tck = run.statistics.cycles + waited_tck;
            if alone_tck + mdq_waited_tck > together.cycles {
                together.cycles = alone_tck + mdq_waited_tck;
                together.last = n;
                (together.waited_tck, together.mdq_waited_tck) = (waited_tck, mdq_waited_tck);
            }
            together.mdq_least_tck = together.mdq_least_tck.max(alone_tck);
        }
        for (run, mdq_waited_tck) in runs.iter().zip(&on_lines.waited_tck) {
            // Results are there as much later as their rank is, or sooner.
            let results_tck = on_channels.results_tck[self.topology.address(run.rank).channel];
            together.cycles = together.cycles.max(results_tck + mdq_waited_tck);
            together.mdq_least_tck = together.mdq_least_tck.max(results_tck);
        }
        together.channel_tck = on_channels.busy_tck;
        together.mdq_tck = on_lines.busy_tck;
        together.mdq_least_tck = together.mdq_least_tck.max(on_lines.least_tck);
        together.busiest_tck = runs.iter().map(|run| run.statistics.cycles).max().unwrap_or(0);
        together.sum_tck = runs.iter().map(|run| run.statistics.cycles).sum();
        together
    }

    /// What runs cost each other on their channels.
    fn on_channels(&self, runs: &[RankRun]) -> OnChannels {
        let mut all = OnChannels { late: vec![Late::default(); runs.len()], ..Default::default() };
        for channel in 0..self.topology.channels() {
            let here = |run: &RankRun| self.topology.address(run.rank).channel == channel;
            let on_channel: Vec<_> = runs.iter().enumerate().filter(|(_, run)| here(run)).collect();
            let users: Vec<_> =
                on_channel.iter().map(|(_, run)| run.transfers.as_slice()).collect();
            let shared = channel::share(&users, self.config.timing.rtw_gap_tck);
            for ((n, _), late) in on_channel.into_iter().zip(shared.late) {
                all.late[n] = late;
            }
            all.results_tck.push(shared.results_tck);
            all.busy_tck = all.busy_tck.max(shared.busy_tck);
        }
        all
    }

    /// What runs cost each other on the data lines of their DIMMs, if they share them, behind what they waited for
    /// their channel.
    fn on_lines(&self, runs: &[RankRun], late: &[Late]) -> mdq::Shared {
        let mut all = mdq::Shared { waited_tck: vec![0; runs.len()], ..Default::default() };
        if self.topology.mdq() == Mdq::Private {
            let busy_tck = runs.iter().map(|run| run.statistics.bus_cycles).max();
            return mdq::Shared { busy_tck: busy_tck.unwrap_or(0), ..all };
        }
        let mut dimms = BTreeMap::<_, Vec<usize>>::new();
        for (n, run) in runs.iter().enumerate() {
            let Address { channel, dimm, .. } = self.topology.address(run.rank);
            dimms.entry((channel, dimm)).or_default().push(n);
        }
        for on_dimm in dimms.values() {
            let users = on_dimm.iter().map(|&n| runs[n].on_lines(&late[n])).collect::<Vec<_>>();
            let shared = mdq::share(&users, self.config.timing.rtw_gap_tck);
            for (&n, waited_tck) in on_dimm.iter().zip(shared.waited_tck) {
                all.waited_tck[n] = waited_tck;
            }
            all.busy_tck = all.busy_tck.max(shared.busy_tck);
            all.least_tck = all.least_tck.max(shared.least_tck);
        }
        all
    }

    /// How long accesses of the host take, of which each occupies the channel of its rank: (rank, tCK).
    pub fn one_after_the_other(&self, accesses: impl IntoIterator<Item = (usize, u64)>) -> u64 {
        let mut channels = vec![0; self.topology.channels()];
        for (rank, tck) in accesses {
            channels[self.topology.address(rank).channel] += tck;
        }
        channels.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No rank is run here.
    fn no_rank(_: Address) -> Box<dyn RankDevice> {
        unreachable!("what runs did is given")
    }

    fn run(rank: usize, cycles: u64, operands: &[(u64, u64)]) -> RankRun {
        let transfers =
            operands.iter().map(|&(from_tck, tck)| HostTransfer { from_tck, tck, read: false });
        let statistics = Statistics { cycles, ..Default::default() };
        RankRun { rank, statistics, transfers: transfers.collect(), ..Default::default() }
    }

    fn with<T>(channels: usize, dimms: usize, of: impl FnOnce(&Ranks) -> T) -> T {
        let config = Config::ddr4_3200();
        let topology = Topology::new(channels, dimms, 1).expect("a device");
        of(&Ranks::new(&config, topology, &no_rank))
    }

    #[test]
    fn ranks_compute_at_once_and_share_their_channel() {
        let runs = [run(0, 1000, &[(10, 100)]), run(1, 1000, &[(10, 100)])];
        let one_each = with(2, 1, |ranks| ranks.together(&runs));
        assert_eq!((one_each.cycles, one_each.channel_tck), (1000, 100));
        let shared = with(1, 2, |ranks| ranks.together(&runs));
        assert_eq!((shared.cycles, shared.last, shared.waited_tck), (1000 + 102, 1, 102));
        assert_eq!((shared.channel_tck, shared.busiest_tck, shared.sum_tck), (200, 1000, 2000));
    }

    #[test]
    fn ranks_of_a_dimm_may_share_their_data_lines() {
        let runs = [0, 1].map(|rank| RankRun {
            mdq: (0..10).map(|n| 100 * n..100 * n + 60).collect(),
            statistics: Statistics { cycles: 1000, bus_cycles: 600, ..Default::default() },
            ..run(rank, 0, &[])
        });
        let together = |dimms: usize, ranks: usize, mdq: Mdq| {
            let config = Config::ddr4_3200();
            let topology = Topology::new(1, dimms, ranks).expect("a device").with_mdq(mdq);
            Ranks::new(&config, topology, &no_rank).together(&runs)
        };
        let private = together(1, 2, Mdq::Private);
        assert_eq!((private.cycles, private.mdq_waited_tck), (1000, 0));
        assert_eq!((private.mdq_tck, private.mdq_least_tck), (600, 1000));
        // Of two DIMMs each has lines of its own.
        assert_eq!(together(2, 1, Mdq::Shared), private);
        let shared = together(1, 2, Mdq::Shared);
        assert_eq!((shared.mdq_tck, shared.mdq_least_tck), (1200, 1202));
        assert_eq!((shared.cycles, shared.waited_tck), (1000 + shared.mdq_waited_tck, 0));
        assert!(shared.cycles >= shared.mdq_least_tck, "{shared:?}");
        // In each 100 tCK a gap comes before the burst of either rank.
        assert!(shared.cycles <= 1000 + 600 + 2 * 20, "{shared:?}");
    }

    /// One burst on the data lines.
    fn burst(from_tck: u64, until_tck: u64) -> Vec<std::ops::Range<u64>> {
        std::iter::once(from_tck..until_tck).collect()
    }

    #[test]
    fn operands_that_took_turns_on_the_channel_do_so_on_the_data_lines() {
        // Between buffer chip and chips a tCK later.
        let lines = |rank| RankRun { mdq: burst(11, 111), ..run(rank, 1000, &[(10, 100)]) };
        let config = Config::ddr4_3200();
        let topology = Topology::new(1, 1, 2).expect("a device").with_mdq(Mdq::Shared);
        let together = Ranks::new(&config, topology, &no_rank).together(&[lines(0), lines(1)]);
        assert_eq!((together.waited_tck, together.mdq_waited_tck), (102, 0));
        assert_eq!((together.cycles, together.mdq_least_tck), (1102, 1102));
    }

    #[test]
    fn as_memory_a_channel_has_one_rank_at_a_time() {
        let accesses = [(0, 10), (1, 20), (2, 5), (3, 1)];
        assert_eq!(with(2, 2, |ranks| ranks.one_after_the_other(accesses)), 21);
        assert_eq!(with(4, 1, |ranks| ranks.one_after_the_other(accesses)), 20);
        assert_eq!(with(1, 4, |ranks| ranks.one_after_the_other(accesses)), 36);
    }

    #[test]
    fn runs_of_a_rank_follow_each_other() {
        let mut both = run(0, 100, &[(10, 4)]);
        let next = run(0, 50, &[(20, 4)]);
        both.mdq = burst(12, 16);
        both.then(RankRun { mdq: burst(24, 28), ..next });
        assert_eq!(both.statistics.cycles, 150);
        let from: Vec<_> = both.transfers.iter().map(|transfer| transfer.from_tck).collect();
        assert_eq!(from, [10, 120]);
        assert_eq!(both.mdq, [12..16, 124..128]);
    }

    #[test]
    fn the_ranks_have_the_bandwidth_of_the_paper() {
        let config = Config::ddr4_3200();
        let topology = Topology::new(16, 2, 2).expect("L3's");
        let peak = Ranks::new(&config, topology, &no_rank).peak_gb_per_s();
        assert_eq!((peak / 100.0).floor() / 10.0, 13.1); // L3 Table 2 says 13.0 TB/s
    }
}
