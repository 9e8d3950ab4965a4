// SPDX-License-Identifier: MIT
//! A model on a rank: its matrices in the banks, one behind the other, layer after layer, and the rows
//! that are kept for each layer's K and V behind that layer's matrices.

use super::machine::Machine;
use super::tally::Kind;
use super::weights::{Matrix, Weights};
use super::{DecodeError, Room};
use crate::attention::{self, Attention};
use crate::gemv;
use crate::pins::PinLog;
use crate::report::{Error, JobReport, Load, Operator, Report};
use pimlico_device::data_bus::BEATS;
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::{BURST, HeadLayout};
use pimlico_device::{CHIPS, Config, Device, Normalise, Statistics};
use pimlico_host::driver::Driver;
use pimlico_host::kv_cache::{self, HostPort, TransferError};
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_model::data::Head;

/// A model on a rank.
pub struct OnRank<'a> {
    rank: &'a mut dyn Device,
    host: HostPort,
    pins: PinLog,
    weights: &'a Weights,
    layers: Vec<ResidentLayer>,
    lm_head: MatrixLayout,
    io_buffers: IoBuffers,
}

/// Where a layer lies.
struct ResidentLayer {
    matrices: [MatrixLayout; Kind::OF_A_LAYER.len()],
    /// For each K and V head, the rows for as many tokens as there may be.
    caches: Vec<HeadLayout>,
}

impl<'a> OnRank<'a> {
    /// Lays out a model with K and V of so many tokens on a rank that has just been reset.
    pub fn new(
        rank: &'a mut dyn Device,
        weights: &'a Weights,
        shape: &CheckpointShape,
        tokens: usize,
        io_buffers: IoBuffers,
    ) -> Result<Self, DecodeError> {
        let config = rank.config();
        let mut row = 0;
        let mut layers = Vec::with_capacity(weights.layers().len());
        for matrices in weights.layers() {
            let [qkv, projection, ffn1, ffn2] = matrices;
            let matrices = [
                place(config, &mut row, qkv)?,
                place(config, &mut row, projection)?,
                place(config, &mut row, ffn1)?,
                place(config, &mut row, ffn2)?,
            ];
            let mut caches = Vec::with_capacity(shape.kv_heads);
            for _ in 0..shape.kv_heads {
                let cache = HeadLayout::new(config, shape.head_dim, tokens, row)
                    .map_err(|error| DecodeError::Layout(Room::Head(error)))?;
                row = cache.end_row();
                caches.push(cache);
            }
            layers.push(ResidentLayer { matrices, caches });
        }
        let lm_head = place(config, &mut row, weights.lm_head())?;
        let host = HostPort::of(config).map_err(TransferError::from)?;
        let pins = PinLog::of(rank);
        Ok(Self { rank, host, pins, weights, layers, lm_head, io_buffers })
    }

    fn layout(&self, kind: Kind, layer: Option<usize>) -> &MatrixLayout {
        match layer {
            Some(layer) => &self.layers[layer].matrices[kind.place()],
            None => &self.lm_head,
        }
    }

    /// Where K and V of a head with so many tokens lie.
    fn cache(&self, layer: usize, number: usize, tokens: usize) -> HeadLayout {
        let mut layout = self.layers[layer].caches[number];
        assert!(tokens <= layout.context, "no room for another token");
        layout.context = tokens;
        layout
    }
}

/// Lays out a matrix from `row` on, which is then the row behind it.
fn place(config: &Config, row: &mut usize, matrix: &Matrix) -> Result<MatrixLayout, DecodeError> {
    let Matrix { name, rows, columns } = matrix;
    let layout = MatrixLayout::from_row(config, rows.len(), *columns, *row)
        .map_err(|error| DecodeError::Matrix { name: name.clone(), error: Room::Matrix(error) })?;
    *row = layout.end_row();
    Ok(layout)
}

impl Machine for OnRank<'_> {
    fn config(&self) -> &Config {
        self.rank.config()
    }

    fn normalise(&self) -> Normalise {
        self.rank.options().normalise
    }

    fn load(&mut self) -> Result<(Statistics, u64), DecodeError> {
        let of_layers = self.layers.iter().flat_map(|layer| &layer.matrices);
        let layouts = of_layers.chain([&self.lm_head]);
        let matrices = self.weights.layers().iter().flatten().chain([self.weights.lm_head()]);
        let (mut cost, mut bytes) = (Statistics::default(), 0);
        for (layout, matrix) in layouts.zip(matrices) {
            cost = cost.and(gemv::load(self.rank, &mut self.host, layout, &matrix.rows)?);
            bytes += (layout.rows * layout.columns.div_ceil(BURST) * BEATS * CHIPS) as u64;
        }
        Ok((cost, bytes))
    }

    fn product(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Statistics), DecodeError> {
        let layout = *self.layout(kind, layer);
        // Attention has written to the module in between: its driver knows nothing of what is there.
        let mut driver = Driver::new();
        Ok(gemv::multiply(&mut driver, self.rank, &layout, vector, self.io_buffers)?)
    }

    fn append(&mut self, layer: usize, heads: &[Head]) -> Result<(Statistics, u64), DecodeError> {
        let layouts: Vec<HeadLayout> = heads
            .iter()
            .enumerate()
            .map(|(number, head)| self.cache(layer, number, head.k.len()))
            .collect();
        let writes: Vec<_> = layouts
            .iter()
            .zip(heads)
            .flat_map(|(layout, head)| kv_cache::appends(layout, head))
            .collect();
        let bytes = (writes.len() * BEATS * CHIPS) as u64;
        Ok((self.host.transfer(self.rank, writes)?.1, bytes))
    }

    fn attention(
        &mut self,
        layer: usize,
        number: usize,
        head: &Head,
    ) -> Result<Attention, DecodeError> {
        let layout = self.cache(layer, number, head.k.len());
        Ok(attention::run_head(self.rank, &layout, &head.queries)?)
    }

    fn operator(&self, kind: Kind, statistics: &Statistics, macs: u64, error: Error) -> Operator {
        Operator::on_device(kind.name(), self.rank.config(), statistics, macs, error)
    }

    fn report(&self, job: JobReport, seed: u64, load: Load, operators: Vec<Operator>) -> Report {
        Report::of_operators(self.rank, &self.pins, job, seed, load, operators)
    }
}
