// SPDX-License-Identifier: MIT
//! A model on the ranks of a device: of each matrix a block of its rows in every rank, of each K and V head all tokens
//! in one ([`crate::placement`]). In a rank they lie one after the other, layer after layer, with the rows that are
//! kept for a layer's K and V behind its matrices.

use super::{Kind, Machine, Matrix, Ran, Resident, Weights};
use crate::error::WorkloadError;
use crate::error::{DecodeError, Room};
use crate::in_banks::BankMatrix;
use crate::judge::pins::PinLog;
use crate::judge::{Findings, ProductOrder, product};
use crate::l3::attention::{AttentionError, Part, Requests, padding_notes};
use crate::l3::gemv;
use crate::placement::Placement;
use crate::report::{self, Load, OperatorReport, Spread, Verdict, Written};
use crate::results::Attention;
use pimlico_device::data_bus::BEATS;
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{
    CHIPS, Config, HostTransfer, Mdq, RankDevice, RankRun, Ranks, Statistics, Topology,
};
use pimlico_dpa::ENTRIES;
use pimlico_host::driver::KvRows;
use pimlico_host::kv_cache::{self, HostPort, TransferError};
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_model::data::Head;
use std::ops::Range;

/// A rank, its host, and the checkers at its pins.
pub(super) struct Member<'a> {
    pub(super) rank: &'a mut dyn RankDevice,
    pub(super) host: HostPort,
    pub(super) pins: PinLog,
    /// The one request, which goes through K and V of all layers.
    requests: Requests,
    /// K and V heads of a layer that it holds.
    kv_heads: usize,
    /// The first row of the banks that is free.
    pub(super) row: usize,
    /// tCK in which its operands, results, K and V were on the pins of its channel.
    pub(super) channel_tck: u64,
}

impl Member<'_> {
    /// What an operator did that has just ended.
    fn run(&mut self, number: usize, statistics: Statistics) -> RankRun {
        let transfers = self.rank.take_transfers();
        self.channel_tck += on_channel(&transfers);
        let mdq = self.pins.bursts(self.rank.tck() - statistics.cycles);
        RankRun { rank: number, statistics, transfers, mdq }
    }
}

/// tCK of transfers.
fn on_channel(transfers: &[HostTransfer]) -> u64 {
    transfers.iter().map(|transfer| transfer.tck).sum()
}

/// A block of the rows of a matrix in a rank.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) rank: usize,
    pub(super) rows: Range<usize>,
    pub(super) layout: MatrixLayout,
}

/// Where a layer lies.
pub(super) struct ResidentLayer {
    pub(super) matrices: [Vec<Block>; Kind::OF_A_LAYER.len()],
    /// For each K and V head its rank, and the rows for as many tokens as there may be.
    pub(super) caches: Vec<(usize, HeadLayout)>,
}

/// A model on ranks.
pub struct OnRanks<'a> {
    pub(super) config: Config,
    pub(super) members: Vec<Member<'a>>,
    /// The device, if it has several ranks.
    pub(super) together: Option<&'a Ranks<'a>>,
    pub(super) weights: &'a Weights,
    pub(super) layers: Vec<ResidentLayer>,
    pub(super) lm_head: Vec<Block>,
    io_buffers: IoBuffers,
}

impl<'a> OnRanks<'a> {
    /// On one rank that has just been reset, with the checkers at its pins.
    pub fn one(
        rank: &'a mut dyn RankDevice,
        pins: PinLog,
        resident: Resident<'a>,
    ) -> Result<Self, WorkloadError> {
        Self::new(vec![(rank, pins)], None, resident)
    }

    /// On all ranks of a device, which have just been reset.
    pub fn all(
        ranks: &'a Ranks<'a>,
        devices: impl IntoIterator<Item = &'a mut dyn RankDevice>,
        resident: Resident<'a>,
    ) -> Result<Self, WorkloadError> {
        let watched = |rank: &'a mut dyn RankDevice| {
            let pins = PinLog::of(rank);
            if ranks.topology().mdq() == Mdq::Shared {
                pins.keep_bursts();
            }
            (rank, pins)
        };
        Self::new(devices.into_iter().map(watched).collect(), Some(ranks), resident)
    }

    fn new(
        ranks: Vec<(&'a mut dyn RankDevice, PinLog)>,
        together: Option<&'a Ranks<'a>>,
        resident: Resident<'a>,
    ) -> Result<Self, WorkloadError> {
        let Resident { weights, shape, tokens, .. } = resident;
        let topology = together.map_or(Topology::ONE, |ranks| ranks.topology());
        let placement = Placement::new(ranks[0].0.config(), topology);
        let rank_of = |head| placement.of_head(0, head, shape.kv_heads);
        let mut all = Self::empty(ranks, together, resident, &|number, longest| {
            let kv_heads = (0..shape.kv_heads).filter(|head| rank_of(*head) == number).count();
            Ok((one_request(longest, weights.layers().len() * kv_heads)?, kv_heads))
        })?;
        for [qkv, projection, ffn1, ffn2] in weights.layers() {
            let mut place =
                |matrix: &Matrix| all.place(matrix, placement.of_rows(matrix.rows.len()));
            let matrices = [place(qkv)?, place(projection)?, place(ffn1)?, place(ffn2)?];
            let heads = 0..shape.kv_heads;
            let caches = heads.map(|head| all.place_cache(rank_of(head), shape, tokens));
            let caches = caches.collect::<Result<_, _>>()?;
            all.layers.push(ResidentLayer { matrices, caches });
        }
        let lm_head = weights.lm_head();
        all.lm_head = all.place(lm_head, placement.of_rows(lm_head.rows.len()))?;
        Ok(all)
    }

    /// On ranks in whose banks there is nothing yet. `requests` makes those of a rank by its number, and says how many K and
    /// V heads of a layer it holds.
    pub(super) fn empty(
        ranks: Vec<(&'a mut dyn RankDevice, PinLog)>,
        together: Option<&'a Ranks<'a>>,
        resident: Resident<'a>,
        requests: &dyn Fn(usize, HeadLayout) -> Result<(Requests, usize), AttentionError>,
    ) -> Result<Self, WorkloadError> {
        let Resident { weights, shape, tokens, io_buffers } = resident;
        let config = ranks[0].0.config().clone();
        let longest = HeadLayout::new(&config, shape.head_dim, tokens, 0)
            .map_err(|error| DecodeError::Layout(Room::Head(error)))?;
        let member = |(number, (rank, pins)): (usize, (&'a mut dyn RankDevice, PinLog))| {
            let host = HostPort::of(rank.config()).map_err(TransferError::from)?;
            let (requests, kv_heads) = requests(number, longest)?;
            Ok(Member { rank, host, pins, requests, kv_heads, row: 0, channel_tck: 0 })
        };
        let members = ranks.into_iter().enumerate().map(member);
        let members = members.collect::<Result<_, AttentionError>>()?;
        let layers = Vec::with_capacity(weights.layers().len());
        let lm_head = Vec::new();
        Ok(Self { config, members, together, weights, layers, lm_head, io_buffers })
    }

    /// Lays out a matrix, in blocks of its rows, behind what is in the ranks.
    pub(super) fn place(
        &mut self,
        matrix: &Matrix,
        blocks: impl Iterator<Item = (usize, Range<usize>)>,
    ) -> Result<Vec<Block>, DecodeError> {
        let block = |(rank, rows): (usize, Range<usize>)| {
            let row = &mut self.members[rank].row;
            let block = Block::new(&self.config, matrix, (rank, rows), *row)?;
            *row = block.layout.end_row();
            Ok(block)
        };
        blocks.map(block).collect()
    }

    /// Lays out K and V of a head, for so many tokens, behind what is in a rank.
    pub(super) fn place_cache(
        &mut self,
        rank: usize,
        shape: &CheckpointShape,
        tokens: usize,
    ) -> Result<(usize, HeadLayout), DecodeError> {
        let row = &mut self.members[rank].row;
        let cache = HeadLayout::new(&self.config, shape.head_dim, tokens, *row)
            .map_err(|error| DecodeError::Layout(Room::Head(error)))?;
        *row = cache.end_row();
        Ok((rank, cache))
    }

    /// Writes the blocks of a matrix into their ranks. Adds what that cost, rank by rank; returns bytes.
    pub(super) fn write(
        &mut self,
        blocks: &[Block],
        matrix: &Matrix,
        writes: &mut Vec<(usize, Statistics)>,
    ) -> Result<u64, WorkloadError> {
        let mut bytes = 0;
        for Block { rank, rows, layout } in blocks {
            let Member { rank: device, host, .. } = &mut self.members[*rank];
            let rows = &matrix.rows[rows.clone()];
            writes.push((*rank, gemv::load(*device, host, layout, rows)?));
            bytes += gemv::bytes(layout);
        }
        Ok(bytes)
    }

    pub(super) fn blocks(&self, kind: Kind, layer: Option<usize>) -> Vec<Block> {
        match layer {
            Some(layer) => self.layers[layer].matrices[kind.place()].clone(),
            None => self.lm_head.clone(),
        }
    }

    /// The layer of the rank's request that K and V of a head are.
    fn part(&self, layer: usize, number: usize) -> Part {
        let caches = &self.layers[layer].caches;
        let (rank, _) = caches[number];
        let before = caches[..number].iter().filter(|(of, _)| *of == rank).count();
        let Member { requests, kv_heads, .. } = &self.members[rank];
        let layer = if requests.layers() > 1 { layer * kv_heads + before } else { 0 };
        Part { request: 0, layer }
    }

    /// Rank and place of K and V of a head with so many tokens.
    fn cache(&self, layer: usize, number: usize, tokens: usize) -> (usize, HeadLayout) {
        let (rank, mut layout) = self.layers[layer].caches[number];
        assert!(tokens <= layout.context, "no room for another token");
        layout.context = tokens;
        (rank, layout)
    }

    /// What ranks cost side by side.
    fn side_by_side(&self, runs: &[RankRun]) -> Ran {
        match self.together {
            Some(ranks) => Spread::new(ranks, runs).into(),
            None => runs.iter().fold(Ran::default(), |all, run| all.and(run.statistics.into())),
        }
    }

    /// What writes cost, of which each occupies the channel of its rank.
    pub(super) fn written(&self, writes: &[(usize, Statistics)], bytes: u64) -> Written {
        let cost = writes.iter().fold(Statistics::default(), |all, (_, cost)| all.and(*cost));
        let Some(ranks) = self.together else { return Written::new(cost, bytes) };
        let spread = Spread::of_writes(ranks, writes);
        let cost = Statistics { cycles: spread.cycles, ..cost };
        Written { cost, bytes, spread: Some(spread) }
    }
}

/// The one request of a rank, of so many layers. Each has its entries of the Va2Pa table, if there is room for those of
/// a matrix beside them; else they take turns.
fn one_request(longest: HeadLayout, layers: usize) -> Result<Requests, AttentionError> {
    let (k, v) = KvRows::wanted(&longest);
    match layers.max(1) {
        layers if layers * (k + v) <= ENTRIES / 2 => Requests::with_layers(longest, layers),
        _ => Requests::new(longest),
    }
}

impl Block {
    /// Rows of a matrix in a rank, from a row of its banks on.
    pub(super) fn new(
        config: &Config,
        matrix: &Matrix,
        (rank, rows): (usize, Range<usize>),
        row: usize,
    ) -> Result<Self, DecodeError> {
        let layout = MatrixLayout::from_row(config, rows.len(), matrix.columns, row);
        let layout = layout.map_err(|error| DecodeError::Matrix {
            name: matrix.name.clone(),
            error: Room::Matrix(error),
        })?;
        Ok(Self { rank, rows, layout })
    }
}

impl Machine for OnRanks<'_> {
    fn judge(&self, matrix: &Matrix, vector: &[u16], outputs: &[u16], threads: usize) -> Verdict {
        let order = ProductOrder::on_rank(&self.config, self.members[0].rank.options().sums);
        product(order, &matrix.rows, vector, outputs, threads)
    }

    fn fetch(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        rows: &[usize],
    ) -> Result<(Vec<BankMatrix<'static>>, Option<Written>), WorkloadError> {
        self.fetch_blocks(kind, layer, rows)
    }

    fn load(&mut self) -> Result<Written, WorkloadError> {
        let of_layers = self.layers.iter().flat_map(|layer| &layer.matrices);
        let blocks: Vec<Vec<Block>> = of_layers.chain([&self.lm_head]).cloned().collect();
        let weights = self.weights;
        let matrices = weights.layers().iter().flatten().chain([weights.lm_head()]);
        let (mut writes, mut bytes) = (Vec::new(), 0);
        for (blocks, matrix) in blocks.iter().zip(matrices) {
            bytes += self.write(blocks, matrix, &mut writes)?;
        }
        Ok(self.written(&writes, bytes))
    }

    fn product(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Ran), WorkloadError> {
        let io_buffers = self.io_buffers;
        let (mut outputs, mut runs) = (Vec::new(), Vec::new());
        for Block { rank, layout, .. } in self.blocks(kind, layer) {
            let member = &mut self.members[rank];
            // Beside the entries of K and V, which stay.
            let slot = member.requests.free(1);
            let driver = member.requests.driver_mut();
            member.rank.label(kind.name(), String::new());
            let product =
                gemv::multiply_in(slot, driver, member.rank, (&layout, vector), io_buffers);
            let (of_block, cost) =
                product.map_err(|error| WorkloadError::matrix(kind.name(), error))?;
            outputs.extend(of_block);
            let macs = (layout.rows * layout.columns) as u64;
            runs.push(member.run(rank, Statistics { macs, ..cost }));
        }
        Ok((outputs, self.side_by_side(&runs)))
    }

    fn append(&mut self, layer: usize, heads: &[Head]) -> Result<Written, WorkloadError> {
        // Rank by rank, what it takes of all its heads.
        let mut of_ranks = vec![Vec::new(); self.members.len()];
        for (number, head) in heads.iter().enumerate() {
            let (rank, layout) = self.cache(layer, number, head.k.len());
            of_ranks[rank].extend(kv_cache::appends(&layout, head));
        }
        let (mut writes, mut bytes) = (Vec::new(), 0);
        for (rank, of_rank) in of_ranks.into_iter().enumerate().filter(|(_, all)| !all.is_empty()) {
            bytes += (of_rank.len() * BEATS * CHIPS) as u64;
            let Member { rank: device, host, channel_tck, .. } = &mut self.members[rank];
            let (_, cost) = host.transfer(*device, of_rank)?;
            *channel_tck += cost.cycles;
            writes.push((rank, cost));
        }
        Ok(self.written(&writes, bytes))
    }

    fn attention(
        &mut self,
        layer: usize,
        heads: &[Head],
    ) -> Result<(Vec<Attention>, Ran), WorkloadError> {
        let mut results = Vec::with_capacity(heads.len());
        let mut runs: Vec<RankRun> = Vec::new();
        for (number, head) in heads.iter().enumerate() {
            let (rank, layout) = self.cache(layer, number, head.k.len());
            let part = self.part(layer, number);
            let rows = KvRows::adjacent(&self.layers[layer].caches[number].1)
                .map_err(AttentionError::from)?;
            let Member { rank: device, requests, pins, channel_tck, .. } = &mut self.members[rank];
            device.label(Kind::Attention.name(), number.to_string());
            let mut result = requests.run(*device, part, &layout, &rows, &head.queries)?;
            let mdq = pins.bursts(device.tck() - result.statistics.cycles);
            let transfers = std::mem::take(&mut result.transfers);
            *channel_tck += on_channel(&transfers);
            let macs = (2 * head.queries.len() * layout.context * layout.head_dim) as u64;
            let statistics = Statistics { macs, ..result.statistics };
            let run = RankRun { rank, statistics, transfers, mdq };
            match runs.iter_mut().find(|earlier| earlier.rank == rank) {
                Some(earlier) => earlier.then(run),
                None => runs.push(run),
            }
            results.push(result);
        }
        Ok((results, self.side_by_side(&runs)))
    }

    fn append_operator(&self, written: &Written) -> OperatorReport {
        match (self.together, &written.spread) {
            (Some(ranks), Some(spread)) => {
                OperatorReport::on_ranks(report::APPEND, ranks, spread, 0, Verdict::default())
            }
            _ => OperatorReport::written(&self.config, &written.cost),
        }
    }

    fn operator(&self, kind: Kind, ran: &Ran, macs: u64, judged: Verdict) -> OperatorReport {
        match (self.together, &ran.spread) {
            (Some(ranks), Some(spread)) => {
                OperatorReport::on_ranks(kind.name(), ranks, spread, macs, judged)
            }
            _ => {
                OperatorReport::on_device(kind.name(), &self.config, &ran.statistics, macs, judged)
            }
        }
    }

    fn load_report(&self, written: &Written) -> Load {
        let load = Load::new(&self.config, &written.cost, written.bytes);
        let channels = self.together.map_or(1, |ranks| ranks.topology().channels());
        Load { bus: load.bus / channels as f64, ..load }
    }

    fn findings(&self) -> Findings {
        let of = |member: &Member<'_>| member.pins.findings(member.rank.tck());
        self.members.iter().map(of).fold(Findings::default(), Findings::and)
    }
    fn notes(&self) -> Vec<String> {
        let layout = self.layers.first().and_then(|layer| layer.caches.first());
        layout.map_or(Vec::new(), |(_, layout)| padding_notes(&self.config, layout.head_dim))
    }
}
