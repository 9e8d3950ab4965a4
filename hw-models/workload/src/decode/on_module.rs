// SPDX-License-Identifier: MIT
//! A model on a module of AiM channels: as on a rank, matrices one behind the other, layer after layer,
//! and K and V of each layer's heads behind its matrices.

use super::machine::Machine;
use super::tally::Kind;
use super::weights::{Matrix, Weights};
use super::{DecodeError, Room};
use crate::aim::{self, attention as on_channels};
use crate::attention::Attention;
use crate::pins::PinLog;
use crate::report::{Error, JobReport, Load, Operator, Report};
use pimlico_device::aim::attention::AimHead;
use pimlico_device::aim::{AimLayout, Module, Operand, Word, Write, gemv};
use pimlico_device::{Config, Normalise, Statistics};
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_model::data::Head;

/// A model on a module.
pub struct OnModule<'a> {
    module: &'a mut Module,
    pins: PinLog,
    weights: &'a Weights,
    layers: Vec<ResidentLayer>,
    lm_head: AimLayout,
}

/// Where a layer lies.
struct ResidentLayer {
    matrices: [AimLayout; Kind::OF_A_LAYER.len()],
    /// For each K and V head, the room for as many tokens as there may be.
    caches: Vec<AimHead>,
}

impl<'a> OnModule<'a> {
    /// Lays out a model with K and V of so many tokens on a module that has just been reset.
    pub fn new(
        module: &'a mut Module,
        weights: &'a Weights,
        shape: &CheckpointShape,
        tokens: usize,
    ) -> Result<Self, DecodeError> {
        let mut row = 0;
        let mut layers = Vec::with_capacity(weights.layers().len());
        for matrices in weights.layers() {
            let [qkv, projection, ffn1, ffn2] = matrices;
            let matrices = [
                place(module, &mut row, qkv)?,
                place(module, &mut row, projection)?,
                place(module, &mut row, ffn1)?,
                place(module, &mut row, ffn2)?,
            ];
            let mut caches = Vec::with_capacity(shape.kv_heads);
            for _ in 0..shape.kv_heads {
                let (config, options) = (module.config(), module.options());
                let cache = AimHead::new(config, &options, shape.head_dim, tokens, row)
                    .map_err(|error| DecodeError::Layout(Room::Module(error)))?;
                row = cache.v.end_row();
                caches.push(cache);
            }
            layers.push(ResidentLayer { matrices, caches });
        }
        let lm_head = place(module, &mut row, weights.lm_head())?;
        let pins = PinLog::of_module(module);
        Ok(Self { module, pins, weights, layers, lm_head })
    }

    /// Writes columns. Returns the cost, and the bytes.
    fn write(
        &mut self,
        writes: impl IntoIterator<Item = Write>,
    ) -> Result<(Statistics, u64), DecodeError> {
        self.module.begin();
        let mut words = 0;
        self.module.write(writes.into_iter().inspect(|write| words += write.words.len()))?;
        Ok((self.module.end(), (words * size_of::<Word>()) as u64))
    }
}

/// Lays out a matrix from `row` on, which is then the row behind it.
fn place(module: &Module, row: &mut usize, matrix: &Matrix) -> Result<AimLayout, DecodeError> {
    let Matrix { name, rows, columns } = matrix;
    let layout = AimLayout::new(module.config(), &module.options(), rows.len(), *columns, *row)
        .map_err(|error| DecodeError::Matrix { name: name.clone(), error: Room::Module(error) })?;
    *row = layout.end_row();
    Ok(layout)
}

impl Machine for OnModule<'_> {
    fn config(&self) -> &Config {
        self.module.config()
    }

    fn normalise(&self) -> Normalise {
        Normalise::Early
    }

    fn load(&mut self) -> Result<(Statistics, u64), DecodeError> {
        let of_layers = self.layers.iter().flat_map(|layer| layer.matrices);
        let layouts: Vec<AimLayout> = of_layers.chain([self.lm_head]).collect();
        let weights = self.weights;
        let matrices = weights.layers().iter().flatten().chain([weights.lm_head()]);
        let (mut cost, mut bytes) = (Statistics::default(), 0);
        for (layout, matrix) in layouts.into_iter().zip(matrices) {
            let element = |row: usize, column: usize| matrix.rows[row][column];
            let writes = (0..layout.groups()).flat_map(|group| {
                let first = group * layout.pus();
                layout.writes(group, move |row, column| element(first + row, column))
            });
            let (of_matrix, bytes_of_matrix) = self.write(writes)?;
            cost = cost.and(of_matrix);
            bytes += bytes_of_matrix;
        }
        Ok((cost, bytes))
    }

    fn product(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Statistics), DecodeError> {
        let layout = match layer {
            Some(layer) => &self.layers[layer].matrices[kind.place()],
            None => &self.lm_head,
        };
        Ok(gemv(self.module, layout, Operand::Vector(vector), 0)?)
    }

    fn append(&mut self, layer: usize, heads: &[Head]) -> Result<(Statistics, u64), DecodeError> {
        let parts = self.layers[layer].caches.iter().zip(heads);
        let parts: Vec<AimHead> = parts.map(|(cache, head)| cache.part(head.k.len())).collect();
        let writes = parts.iter().zip(heads).flat_map(|(AimHead { k, v }, head)| {
            let last = head.k.len() - 1;
            let of_k = k.row_writes(last, |token, element| head.k[token][element]);
            of_k.chain(v.column_writes(last, |element, token| head.v[token][element]))
        });
        self.write(writes)
    }

    fn attention(
        &mut self,
        layer: usize,
        number: usize,
        head: &Head,
    ) -> Result<Attention, DecodeError> {
        let layout = self.layers[layer].caches[number].part(head.k.len());
        let mut result = Attention::default();
        for query in &head.queries {
            let of_query = on_channels::run_query(self.module, &layout, query)?;
            for step in [&of_query.score, &of_query.softmax, &of_query.context] {
                result.statistics = result.statistics.and(step.statistics);
            }
            result.scores.push(of_query.score.values);
            result.weights.push(of_query.softmax.values);
            result.context.push(of_query.context.values);
        }
        Ok(result)
    }

    fn operator(&self, kind: Kind, statistics: &Statistics, macs: u64, error: Error) -> Operator {
        let channels = self.module.options().channels;
        Operator::on_channels(kind.name(), self.config(), channels, statistics, macs, error)
    }

    fn report(&self, job: JobReport, seed: u64, load: Load, operators: Vec<Operator>) -> Report {
        aim::report(self.module, &self.pins, job, seed, load, operators)
    }
}
