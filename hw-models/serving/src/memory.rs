// SPDX-License-Identifier: MIT
//! Where K and V of requests go, and how much room there is.
//!
//! A memory has *pools*, each with a capacity: the rows of the ranks of each rankset, or the bytes of the GPUs. All ranks of a
//! rankset hold as much: heads are spread over the channels, and the fullest channel counts. A request takes of each pool what
//! its layers there need, in whole DRAM rows of all banks where there are rows.

use pimlico_golden::timeline::TimelineChecker;

/// How K and V of a request's tokens take room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvLayout {
    /// So many bytes for each token, in a request's first pool or evenly in all.
    Bytes {
        /// Bytes of K and V of a token in all layers.
        per_token: u64,
        /// Whether they are in all pools.
        spreads: bool,
    },
    /// Rows of all banks of a rank.
    Rows {
        /// Layers of the model.
        layers: u64,
        /// K and V heads of the rank that has most.
        heads: u64,
        /// Tokens of K of a head in a row.
        k_tokens: u64,
        /// Rows that V of a head takes for `v_tokens`.
        v_rows: u64,
        /// Tokens of V of a head in as many rows.
        v_tokens: u64,
        /// Whether a request's layers go through all ranksets in turn, or stay in one.
        rotates: bool,
    },
}

/// The pools.
#[derive(Clone, Debug)]
pub struct KvMemory {
    layout: KvLayout,
    capacity: Vec<u64>,
    used: Vec<u64>,
    /// Numbers of the pools with a checker.
    watched: Vec<u32>,
}

impl KvLayout {
    /// What a request with so many tokens takes of a pool, whose first layer is in pool `first` of `pools`.
    fn demand(&self, tokens: u64, first: usize, pool: usize, pools: usize) -> u64 {
        match *self {
            Self::Bytes { per_token, spreads: true } => (per_token * tokens).div_ceil(pools as u64),
            Self::Bytes { per_token, .. } if pool == first => per_token * tokens,
            Self::Bytes { .. } => 0,
            Self::Rows { layers, heads, k_tokens, v_rows, v_tokens, rotates } => {
                let rows = tokens.div_ceil(k_tokens) + v_rows * tokens.div_ceil(v_tokens);
                let behind = (pool + pools - first) % pools;
                let there = match rotates {
                    true => (layers + pools as u64 - 1 - behind as u64) / pools as u64,
                    false if behind == 0 => layers,
                    false => 0,
                };
                there * heads * rows
            }
        }
    }
}

impl KvMemory {
    /// Pools of these capacities, which a checker watches.
    pub fn new(layout: KvLayout, capacity: Vec<u64>, checker: &mut TimelineChecker) -> Self {
        let watched = capacity.iter().map(|&capacity| checker.memory(capacity)).collect();
        let used = vec![0; capacity.len()];
        Self { layout, capacity, used, watched }
    }

    /// Pools.
    pub fn pools(&self) -> usize {
        self.capacity.len()
    }

    /// Capacity of all pools.
    pub fn capacity(&self) -> u64 {
        self.capacity.iter().sum()
    }

    /// What is used of it.
    pub fn used(&self) -> u64 {
        self.used.iter().sum()
    }

    fn demands(&self, tokens: u64, first: usize) -> impl Iterator<Item = u64> + use<> {
        let (layout, pools) = (self.layout, self.capacity.len());
        (0..pools).map(move |pool| layout.demand(tokens, first, pool, pools))
    }

    /// Whether a request would ever fit.
    pub fn may_hold(&self, tokens: u64, first: usize) -> bool {
        self.demands(tokens, first)
            .zip(&self.capacity)
            .all(|(wanted, capacity)| wanted <= *capacity)
    }

    /// Whether a newcomer fits now.
    pub fn fits(&self, tokens: u64, first: usize) -> bool {
        let demands = self.demands(tokens, first).enumerate();
        demands.into_iter().all(|(pool, wanted)| self.used[pool] + wanted <= self.capacity[pool])
    }

    /// Gives a request that has room for `from` tokens room for `to`, if there is; 0 for a newcomer.
    pub fn grow(
        &mut self,
        (from, to): (u64, u64),
        first: usize,
        checker: &mut TimelineChecker,
    ) -> bool {
        let more: Vec<u64> = self
            .demands(to, first)
            .zip(self.demands(from, first))
            .map(|(to, from)| to.saturating_sub(from))
            .collect();
        let fits = |pool: usize| self.used[pool] + more[pool] <= self.capacity[pool];
        if !(0..self.pools()).all(fits) {
            return false;
        }
        for (pool, more) in more.into_iter().enumerate().filter(|(_, more)| *more > 0) {
            self.used[pool] += more;
            checker.store(self.watched[pool], more);
        }
        true
    }

    /// Takes back the room of a request that has it for so many tokens.
    pub fn give_back(&mut self, tokens: u64, first: usize, checker: &mut TimelineChecker) {
        let demands = self.demands(tokens, first).enumerate();
        for (pool, wanted) in demands.filter(|(_, wanted)| *wanted > 0) {
            self.used[pool] -= wanted;
            checker.give_back(self.watched[pool], wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(layers: u64, rotates: bool) -> KvLayout {
        KvLayout::Rows { layers, heads: 6, k_tokens: 512, v_rows: 1, v_tokens: 512, rotates }
    }

    #[test]
    fn layers_are_spread_over_the_pools() {
        for layers in [96, 95, 3] {
            for first in 0..4 {
                let taken: Vec<u64> =
                    (0..4).map(|pool| rows(layers, true).demand(512, first, pool, 4)).collect();
                assert_eq!(taken.iter().sum::<u64>(), layers * 12, "{taken:?}");
                let (least, most) = (taken.iter().min(), taken.iter().max());
                assert!(most.expect("4") - least.expect("4") <= 12, "{taken:?}");
            }
        }
        assert_eq!(rows(96, false).demand(513, 2, 2, 4), 96 * 6 * 4);
        assert_eq!(rows(96, false).demand(513, 2, 1, 4), 0);
    }

    #[test]
    fn bytes_are_in_one_pool_or_evenly_in_all() {
        let of = |spreads| {
            let layout = KvLayout::Bytes { per_token: 8, spreads };
            (0..4).map(|pool| layout.demand(9, 1, pool, 4)).collect::<Vec<_>>()
        };
        assert_eq!(of(false), [0, 72, 0, 0]);
        assert_eq!(of(true), [18; 4]);
    }

    #[test]
    fn a_request_grows_while_there_is_room_and_gives_all_back() {
        let mut checker = TimelineChecker::default();
        let mut memory = KvMemory::new(rows(4, true), vec![24; 4], &mut checker);
        assert!(memory.grow((0, 512), 0, &mut checker));
        // In rows that it has, it grows without more.
        assert!(memory.grow((512, 512), 0, &mut checker));
        assert!(memory.grow((512, 513), 0, &mut checker));
        assert!(!memory.grow((0, 1), 1, &mut checker), "full");
        assert!(memory.may_hold(1024, 1) && !memory.may_hold(1025, 1));
        assert_eq!((memory.used(), memory.capacity()), (96, 96));
        memory.give_back(513, 0, &mut checker);
        assert_eq!(memory.used(), 0);
        checker.end();
        assert_eq!(checker.first(), None);
    }
}
