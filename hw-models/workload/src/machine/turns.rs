// SPDX-License-Identifier: MIT
//! A model whose layers come into the banks of ranks and go: layer *k* in rank *k* mod R.
//!
//! ```text
//! rank 0   K, V of 0, 2, ...   [head]   layer 0   layer 2   free ...
//! rank 1   K, V of 1, 3, ...            layer 1   free ...
//! row      0 ....................       kept ->   chunks of as many rows as a layer takes
//! ```
//!
//! While the rank PU of a rank computes, the host cannot write into that rank's banks. So neighbouring layers are in
//! different ranks: one computes while the next is written. K and V of a layer are in its rank, the head is in rank
//! L mod R behind the last layer's, and both stay. The rows behind them are the [`Allocator`]'s of the rank: a layer is a
//! request of it, admitted when it is to be written and finished when it is of no further use. As all layers have the same
//! sizes a chunk is a layer, which lies in neighbouring rows wherever its chunk is.
//!
//! On each rank is one request whose entries of the Va2Pa table are those of the layer that computes: with a prompt in one
//! pass a layer's tokens come one after the other, so that layers do not take turns as the dispatcher would have them.

use super::ranks::{Block, OnRanks, ResidentLayer};
use super::{Kind, LayerBanks, Matrix, Resident};
use crate::error::WorkloadError;
use crate::judge::pins::PinLog;
use crate::l3::attention::Requests;
use crate::machine::Machine;
use crate::report::Written;
use pimlico_device::{Mdq, RankDevice, Ranks};
use pimlico_dpa::NO_ROW;
use pimlico_host::allocator::{Allocator, Policy, RequestId, Update};
use std::ops::Range;

/// A model whose layers come and go.
pub struct InTurns<'a> {
    on: OnRanks<'a>,
    /// Rows of each rank behind those that are kept.
    rows: Vec<Allocator>,
    layer_rows: u32,
}

impl<'a> InTurns<'a> {
    /// On all ranks of a device, which have just been reset.
    pub fn new(
        ranks: &'a Ranks<'a>,
        devices: impl IntoIterator<Item = &'a mut dyn RankDevice>,
        resident: Resident<'a>,
    ) -> Result<Self, WorkloadError> {
        let Resident { weights, shape, tokens, .. } = resident;
        let watched = |rank: &'a mut dyn RankDevice| {
            let pins = PinLog::of(rank);
            pins.keep_opened();
            if ranks.topology().mdq() == Mdq::Shared {
                pins.keep_bursts();
            }
            (rank, pins)
        };
        let devices = devices.into_iter().map(watched).collect();
        let mut on = OnRanks::empty(devices, Some(ranks), resident, &|_, longest| {
            Ok((Requests::new(longest)?, shape.kv_heads))
        })?;
        let count = on.members.len();
        for layer in 0..weights.layers().len() {
            let cache = |_| on.place_cache(layer % count, shape, tokens);
            let caches = (0..shape.kv_heads).map(cache).collect::<Result<_, _>>()?;
            on.layers.push(ResidentLayer { matrices: Default::default(), caches });
        }
        let head = weights.lm_head();
        let of_head = (weights.layers().len() % count, 0..head.rows.len());
        on.lm_head = on.place(head, std::iter::once(of_head))?;
        let layer_rows = match weights.layers().first() {
            Some(matrices) => blocks(&on, 0, matrices, 0)?.1 as u32,
            None => 1,
        };
        // The last row that the Va2Pa table can name is the one before the windows'.
        let all = on.config.organisation.rows.min(NO_ROW.into());
        let behind = |row: usize| {
            let rows = all.saturating_sub(row) as u32;
            Allocator::new(rows, layer_rows, Policy::Lazy)
        };
        let rows = on.members.iter().map(|member| behind(member.row)).collect::<Result<_, _>>()?;
        Ok(Self { on, rows, layer_rows })
    }

    /// The rank of a layer.
    fn rank(&self, layer: usize) -> usize {
        layer % self.rows.len()
    }
}

/// The number of a layer among the requests of an allocator.
fn request(layer: usize) -> RequestId {
    RequestId(layer as u32)
}

/// The blocks of a layer's matrices in a rank, from a row on, and the row behind them.
fn blocks(
    on: &OnRanks<'_>,
    rank: usize,
    matrices: &[Matrix; Kind::OF_A_LAYER.len()],
    mut row: usize,
) -> Result<([Vec<Block>; Kind::OF_A_LAYER.len()], usize), WorkloadError> {
    let mut all: [Vec<Block>; Kind::OF_A_LAYER.len()] = Default::default();
    for (blocks, matrix) in all.iter_mut().zip(matrices) {
        let block = Block::new(&on.config, matrix, (rank, 0..matrix.rows.len()), row)?;
        row = block.layout.end_row();
        blocks.push(block);
    }
    Ok((all, row))
}

impl LayerBanks for InTurns<'_> {
    fn layer_rows(&self) -> u64 {
        self.layer_rows.into()
    }

    fn kept(&self) -> Vec<Range<usize>> {
        self.on.members.iter().map(|member| 0..member.row).collect()
    }

    fn admit(&mut self, layer: usize) -> Result<(usize, Vec<usize>), WorkloadError> {
        let rank = self.rank(layer);
        let given = self.rows[rank].admit(request(layer), self.layer_rows)?;
        let behind = self.on.members[rank].row;
        let row = |update: Update| behind + update.physical_row.expect("a row") as usize;
        let rows: Vec<usize> = given.into_iter().map(row).collect();
        let (blocks, _) = blocks(&self.on, rank, &self.on.weights.layers()[layer], rows[0])?;
        self.on.layers[layer].matrices = blocks;
        Ok((rank, rows))
    }

    fn write_layer(
        &mut self,
        layer: usize,
        matrices: &[Matrix; Kind::OF_A_LAYER.len()],
    ) -> Result<Written, WorkloadError> {
        let blocks = self.on.layers[layer].matrices.clone();
        let (mut writes, mut bytes) = (Vec::new(), 0);
        for (blocks, matrix) in blocks.iter().zip(matrices) {
            bytes += self.on.write(blocks, matrix, &mut writes)?;
        }
        Ok(self.on.written(&writes, bytes))
    }

    fn give_back(&mut self, layer: usize) -> Result<(), WorkloadError> {
        let rank = self.rank(layer);
        let rows = self.rows[rank].rows_of(request(layer)).into_iter().flatten();
        let behind = self.on.members[rank].row;
        let rows: Vec<usize> = rows.map(|row| behind + row as usize).collect();
        self.rows[rank].finish(request(layer))?;
        if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
            self.on.members[rank].rank.forget(*first..last + 1);
        }
        self.on.layers[layer].matrices = Default::default();
        Ok(())
    }

    fn in_use(&self) -> u64 {
        let of = |rows: &Allocator| u64::from(rows.rows() - rows.free_rows());
        let kept: usize = self.on.members.iter().map(|member| member.row).sum();
        kept as u64 + self.rows.iter().map(of).sum::<u64>()
    }

    fn held(&self) -> Option<u64> {
        // What the host writes into the windows lands in a row as well.
        let but_windows = |rows: usize| rows.saturating_sub(1) as u64;
        self.on.members.iter().map(|member| member.rank.rows_held().map(but_windows)).sum()
    }

    fn take_opened(&mut self) -> Vec<(usize, usize)> {
        let members = self.on.members.iter().enumerate();
        let of = |(rank, member): (usize, &super::ranks::Member<'_>)| {
            let opened = member.pins.take_opened().into_iter();
            // Through the windows the host has the module's memories, not its cells.
            let of_cells = opened.filter(|row| *row != usize::from(NO_ROW));
            of_cells.map(move |row| (rank, row)).collect::<Vec<_>>()
        };
        members.flat_map(of).collect()
    }

    fn take_channel_tck(&mut self) -> u64 {
        self.on.members.iter_mut().map(|member| std::mem::take(&mut member.channel_tck)).sum()
    }

    fn channel(&self, rank: usize) -> usize {
        self.on.together.map_or(0, |ranks| ranks.topology().address(rank).channel)
    }

    fn as_machine(&mut self) -> &mut dyn Machine {
        &mut self.on
    }

    fn machine(&self) -> &dyn Machine {
        &self.on
    }
}
