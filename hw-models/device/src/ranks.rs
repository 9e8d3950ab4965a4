// SPDX-License-Identifier: MIT
//! A device of many ranks behind the host's channels: what they do side by side.
//!
//! Ranks know nothing of each other: each has its chips, its rank PU and the bus between them. They share
//! the pins of their channel with the ranks beside them, and nothing else. So each rank is run by itself,
//! with the channel to itself; [`Ranks::together`] then puts the runs of an operator side by side and lets
//! what crosses the channels take turns (see `channel.rs`). Memory is needed for those ranks alone that
//! are being run.
//!
//! * **Computing**, all ranks of a channel work at once. Only operands and results cross the channel.
//! * **As memory**, one rank of a channel at a time: its K and V or weights keep the channel's pins busy
//!   ([`Ranks::one_after_the_other`]). L3's ranksets, of which one takes data while the others compute,
//!   are not modelled: loading and computing do not overlap.

use crate::channel::{self, User};
use crate::config::Config;
use crate::device::Device;
use crate::statistics::Statistics;
use crate::topology::{Address, Topology};
use crate::traffic::HostTransfer;

/// The ranks of a device.
pub struct Ranks<'a> {
    config: &'a Config,
    topology: Topology,
    new_rank: &'a (dyn Fn(Address) -> Box<dyn Device> + Sync),
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
}

impl RankRun {
    /// Another run of the rank behind this one.
    pub fn then(&mut self, statistics: Statistics, transfers: Vec<HostTransfer>) {
        let begin_tck = self.statistics.cycles;
        self.transfers.extend(transfers.into_iter().map(|transfer| transfer.after(begin_tck)));
        self.statistics = self.statistics.and(statistics);
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
    /// tCK of the busiest rank, with its channel to itself.
    pub busiest_tck: u64,
    /// tCK of all ranks.
    pub sum_tck: u64,
}

impl<'a> Ranks<'a> {
    /// Ranks of one configuration. `new_rank` makes one that has just been reset.
    pub fn new(
        config: &'a Config,
        topology: Topology,
        new_rank: &'a (dyn Fn(Address) -> Box<dyn Device> + Sync),
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
    pub fn rank(&self, number: usize) -> Box<dyn Device> {
        (self.new_rank)(self.topology.address(number))
    }

    /// Bandwidth of all bank PUs with an all-bank RD in every slot, in GB/s (10^9 bytes).
    pub fn peak_gb_per_s(&self) -> f64 {
        self.config.peak_gb_per_s() * self.topology.count() as f64
    }

    /// Puts runs that start together side by side, at most one of each rank.
    pub fn together(&self, runs: &[RankRun]) -> Together {
        let mut together = Together::default();
        for channel in 0..self.topology.channels() {
            let here = |run: &RankRun| self.topology.address(run.rank).channel == channel;
            let on_channel: Vec<_> = runs.iter().enumerate().filter(|(_, run)| here(run)).collect();
            let users: Vec<_> = on_channel
                .iter()
                .map(|(_, run)| User { cycles: run.statistics.cycles, transfers: &run.transfers })
                .collect();
            let shared = channel::share(&users, self.config.timing.rtw_gap_tck);
            for ((&(n, _), user), waited_tck) in
                on_channel.iter().zip(&users).zip(shared.waited_tck)
            {
                if user.cycles + waited_tck > together.cycles {
                    together.cycles = user.cycles + waited_tck;
                    (together.last, together.waited_tck) = (n, waited_tck);
                }
            }
            together.cycles = together.cycles.max(shared.results_tck);
            together.channel_tck = together.channel_tck.max(shared.busy_tck);
        }
        together.busiest_tck = runs.iter().map(|run| run.statistics.cycles).max().unwrap_or(0);
        together.sum_tck = runs.iter().map(|run| run.statistics.cycles).sum();
        together
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
    use crate::options::Options;
    use crate::rank::Rank;

    fn rank(config: &Config, options: Options) -> Box<dyn Device> {
        Box::new(Rank::new(config.clone(), options))
    }

    fn run(rank: usize, cycles: u64, operands: &[(u64, u64)]) -> RankRun {
        let transfers =
            operands.iter().map(|&(from_tck, tck)| HostTransfer { from_tck, tck, read: false });
        let statistics = Statistics { cycles, ..Default::default() };
        RankRun { rank, statistics, transfers: transfers.collect() }
    }

    fn with<T>(channels: usize, dimms: usize, of: impl FnOnce(&Ranks) -> T) -> T {
        let (config, options) = (Config::ddr4_3200(), Options::default());
        let new_rank = |_| rank(&config, options);
        let topology = Topology::new(channels, dimms, 1).expect("a device");
        of(&Ranks::new(&config, topology, &new_rank))
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
        both.then(next.statistics, next.transfers);
        assert_eq!(both.statistics.cycles, 150);
        let from: Vec<_> = both.transfers.iter().map(|transfer| transfer.from_tck).collect();
        assert_eq!(from, [10, 120]);
    }

    #[test]
    fn the_ranks_have_the_bandwidth_of_the_paper() {
        let (config, options) = (Config::ddr4_3200(), Options::default());
        let new_rank = |_| rank(&config, options);
        let topology = Topology::new(16, 2, 2).expect("L3's");
        let peak = Ranks::new(&config, topology, &new_rank).peak_gb_per_s();
        assert_eq!((peak / 100.0).floor() / 10.0, 13.1); // L3 Table 2 says 13.0 TB/s
        assert_eq!(Ranks::new(&config, topology, &new_rank).rank(63).tck(), 0);
    }
}
