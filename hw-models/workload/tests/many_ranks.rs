// SPDX-License-Identifier: MIT
//! Ranks for tests.

use pimlico_device::{Address, Config, Options, RankDevice, Ranks, Topology};
use pimlico_host::attached::Attached;
use pimlico_workload::system::{ManyRanks, System};

/// Has something done on so many ranks of a channel.
pub fn on_ranks<T>(count: usize, work: impl FnOnce(&mut dyn System) -> T) -> T {
    let config = Config::ddr4_3200();
    let new_rank = |_: Address| -> Box<dyn RankDevice> {
        Box::new(Attached::engine(&config, Options::default()).expect("an L3 rank"))
    };
    let topology = Topology::new(1, 1, count).expect("ranks");
    let ranks = Ranks::new(&config, topology, &new_rank);
    work(&mut ManyRanks::new(&ranks, Options::default(), 1))
}
