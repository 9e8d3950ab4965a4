// SPDX-License-Identifier: MIT
//! Which rank has what: K and V heads and rows of matrices over the ranks of a device.
//!
//! * **Attention.** K and V of a head stay in one rank, whose rank PU has the softmax of all its tokens.
//!   Heads go round the ranks by number; those of the next request go on where the last one's ended. Ranks
//!   are numbered channel first, so that neighbours are on different channels (L3 section 5.1: heads of a
//!   layer on different channels).
//! * **Matrices.** Each is cut by its rows, its outputs, into as many blocks as there are ranks, in units of
//!   the rows that a rank takes at once. No rank has more than one unit above another; where there are too
//!   few, the last ranks have none. All need the whole vector.
//! * **Layers.** Each is spread over all ranks, so that a token's layers, which run one after the other, find
//!   all of them.

use pimlico_device::{Config, Organisation, Topology};
use std::ops::Range;

/// Heads and rows over ranks.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    ranks: usize,
    /// Rows of a matrix that a rank takes at once: one in each logic bank.
    unit: usize,
}

/// A rank has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "rank {rank} of {ranks}: weights, K and V of {layers} layer(s) take {wanted} bytes, a rank has \
     {there}"
)]
pub struct NoRoom {
    /// The fullest rank.
    pub rank: usize,
    /// Ranks that there are.
    pub ranks: usize,
    /// Layers.
    pub layers: usize,
    /// Bytes that it takes, in whole rows of all banks.
    pub wanted: u64,
    /// Bytes that there are.
    pub there: u64,
}

/// The banks of a module's channels have too few rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "weights, K and V of {layers} layer(s) take {wanted} rows of each bank of the module, a bank has {there}"
)]
pub struct NoRows {
    /// Layers.
    pub layers: usize,
    /// Rows of all layers.
    pub wanted: u64,
    /// Rows that there are.
    pub there: u64,
}

impl NoRows {
    /// Whether a channel has so many rows, which are those of so many layers.
    pub fn check(config: &Config, layers: usize, wanted: u64) -> Result<(), Self> {
        let there = config.organisation.rows as u64;
        if wanted > there { Err(Self { layers, wanted, there }) } else { Ok(()) }
    }
}

impl Placement {
    /// Over the ranks of a device.
    pub fn new(config: &Config, topology: Topology) -> Self {
        Self { ranks: topology.count(), unit: config.banks() }
    }

    /// Ranks that there are.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The rank of a K and V head of a request, where each request has `kv_heads` of them.
    pub fn of_head(&self, request: usize, kv_head: usize, kv_heads: usize) -> usize {
        (request * kv_heads + kv_head) % self.ranks
    }

    /// Rank by rank, the rows of a matrix that it has; of the first ranks, as far as there are rows.
    pub fn of_rows(&self, rows: usize) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let Self { ranks, unit } = *self;
        let units = rows.div_ceil(unit);
        let (each, more) = (units / ranks, units % ranks);
        let first = move |rank: usize| (rank * each + rank.min(more)) * unit;
        (0..ranks.min(units)).map(move |rank| (rank, first(rank)..first(rank + 1).min(rows)))
    }

    /// Whether each rank has room. `bank_rows` are, for each rank, the rows of its banks that a layer takes.
    pub fn check_room(
        &self,
        config: &Config,
        bank_rows: &[u64],
        layers: usize,
    ) -> Result<(), NoRoom> {
        let fullest =
            bank_rows.iter().enumerate().max_by_key(|&(rank, rows)| (rows, usize::MAX - rank));
        let (rank, rows) = fullest.map_or((0, 0), |(rank, rows)| (rank, *rows));
        let wanted = rows.saturating_mul(layers as u64).saturating_mul(row_bytes(config));
        let there = config.organisation.rows as u64 * row_bytes(config);
        if wanted > there {
            return Err(NoRoom { rank, ranks: self.ranks, layers, wanted, there });
        }
        Ok(())
    }
}

/// Bytes of a row of all banks of a rank.
pub fn row_bytes(config: &Config) -> u64 {
    let Organisation { chips, page_bytes, .. } = config.organisation;
    (config.banks() * chips * page_bytes) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn topology() -> impl Strategy<Value = Topology> {
        (1..=64usize, 1..=4usize, 1..=4usize).prop_map(|(channels, dimms, ranks)| {
            Topology::new(channels, dimms, ranks).expect("one")
        })
    }

    proptest! {
        #[test]
        fn every_row_is_on_one_rank(topology in topology(), rows in 1..100_000usize) {
            let config = Config::ddr4_3200();
            let placement = Placement::new(&config, topology);
            let blocks: Vec<_> = placement.of_rows(rows).collect();
            let mut next = 0;
            for (n, (rank, block)) in blocks.iter().enumerate() {
                prop_assert_eq!((*rank, block.start), (n, next));
                prop_assert!(block.start < block.end && block.start % 16 == 0);
                next = block.end;
            }
            prop_assert_eq!(next, rows);
            prop_assert!(blocks.len() <= topology.count());
            // As many units everywhere, or one more.
            let units: Vec<_> = blocks.iter().map(|(_, block)| block.len().div_ceil(16)).collect();
            let least = if blocks.len() < topology.count() { 0 } else { *units.iter().min().unwrap() };
            prop_assert!(units.iter().all(|units| units - least <= 1));
        }

        #[test]
        fn heads_are_spread_evenly(
            topology in topology(), kv_heads in 1..200usize, requests in 1..20usize,
        ) {
            let placement = Placement::new(&Config::ddr4_3200(), topology);
            let mut heads = vec![0; topology.count()];
            for request in 0..requests {
                for kv_head in 0..kv_heads {
                    heads[placement.of_head(request, kv_head, kv_heads)] += 1;
                }
            }
            prop_assert_eq!(heads.iter().sum::<usize>(), requests * kv_heads);
            let (least, most) = (heads.iter().min().unwrap(), heads.iter().max().unwrap());
            prop_assert!(most - least <= 1);
        }
    }

    #[test]
    fn neighbours_are_on_different_channels() {
        let topology = Topology::new(4, 2, 2).expect("a device");
        let placement = Placement::new(&Config::ddr4_3200(), topology);
        let channel = |head| topology.address(placement.of_head(0, head, 6)).channel;
        assert_eq!((0..6).map(channel).collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1]);
        // The second request goes on behind the first.
        assert_eq!(placement.of_head(1, 0, 6), 6);
    }

    #[test]
    fn what_has_no_room_is_refused_with_the_fullest_rank() {
        let config = Config::ddr4_3200();
        assert_eq!(row_bytes(&config) * 65536, 8 << 30);
        let placement = Placement::new(&config, Topology::new(1, 1, 2).expect("two ranks"));
        assert_eq!(placement.check_room(&config, &[10, 32768], 2), Ok(()));
        let error = placement.check_room(&config, &[10, 32769], 2).expect_err("no room");
        assert_eq!(
            error.to_string(),
            "rank 1 of 2: weights, K and V of 2 layer(s) take 8590196736 bytes, a rank has 8589934592"
        );
        let far = placement.check_room(&config, &[u64::MAX, 1], usize::MAX).expect_err("no room");
        assert_eq!((far.rank, far.wanted), (0, u64::MAX));
    }
}
