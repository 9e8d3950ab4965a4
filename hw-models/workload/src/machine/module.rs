// SPDX-License-Identifier: MIT
//! A model on a module of AiM channels: matrices one behind the other, layer after layer, and K and V of each layer's
//! heads behind its matrices.

use super::{Kind, Machine, Matrix, Ran, Resident, Weights};
use crate::aim::attention as on_channels;
use crate::error::WorkloadError;
use crate::error::{DecodeError, Room};
use crate::judge::Findings;
use crate::judge::pins::PinLog;
use crate::report::{Error, Load, Operator, Written};
use crate::results::Attention;
use pimlico_device::aim::{AimHead, AimLayout, Word, Write};
use pimlico_device::{Normalise, Statistics};
use pimlico_host::aim::AimHost;
use pimlico_model::data::Head;

/// A model on a module.
pub struct OnModule<'a> {
    module: &'a mut AimHost,
    pins: &'a PinLog,
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
    /// Lays out a model on a module that has just been reset.
    pub fn new(
        module: &'a mut AimHost,
        pins: &'a PinLog,
        resident: Resident<'a>,
    ) -> Result<Self, WorkloadError> {
        let Resident { weights, shape, tokens, .. } = resident;
        let mut row = 0;
        let mut layers = Vec::with_capacity(weights.layers().len());
        for [qkv, projection, ffn1, ffn2] in weights.layers() {
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
        Ok(Self { module, pins, weights, layers, lm_head })
    }

    /// Writes columns.
    fn write(&mut self, writes: impl IntoIterator<Item = Write>) -> Result<Written, WorkloadError> {
        self.module.begin();
        let mut words = 0;
        self.module.write(&mut writes.into_iter().inspect(|write| words += write.words.len()))?;
        Ok(Written { cost: self.module.end(), bytes: (words * size_of::<Word>()) as u64 })
    }
}

/// Lays out a matrix from `row` on, which is then the row behind it.
fn place(module: &AimHost, row: &mut usize, matrix: &Matrix) -> Result<AimLayout, DecodeError> {
    let Matrix { name, rows, columns } = matrix;
    let layout = AimLayout::new(module.config(), &module.options(), rows.len(), *columns, *row)
        .map_err(|error| DecodeError::Matrix { name: name.clone(), error: Room::Module(error) })?;
    *row = layout.end_row();
    Ok(layout)
}

impl Machine for OnModule<'_> {
    fn normalise(&self) -> Normalise {
        Normalise::Early
    }

    fn load(&mut self) -> Result<Written, WorkloadError> {
        let of_layers = self.layers.iter().flat_map(|layer| layer.matrices);
        let layouts: Vec<AimLayout> = of_layers.chain([self.lm_head]).collect();
        let weights = self.weights;
        let matrices = weights.layers().iter().flatten().chain([weights.lm_head()]);
        let mut all = Written::default();
        for (layout, matrix) in layouts.into_iter().zip(matrices) {
            let element = |row: usize, column: usize| matrix.rows[row][column];
            let writes = (0..layout.groups()).flat_map(|group| {
                let first = group * layout.pus();
                layout.writes(group, move |row, column| element(first + row, column))
            });
            all = all.and(self.write(writes)?);
        }
        Ok(all)
    }

    fn product(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Ran), WorkloadError> {
        let layout = match layer {
            Some(layer) => &self.layers[layer].matrices[kind.place()],
            None => &self.lm_head,
        };
        let (outputs, statistics) = self.module.product(layout, vector)?;
        Ok((outputs, statistics.into()))
    }

    fn append(&mut self, layer: usize, heads: &[Head]) -> Result<Written, WorkloadError> {
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
        heads: &[Head],
    ) -> Result<(Vec<Attention>, Ran), WorkloadError> {
        let mut results = Vec::with_capacity(heads.len());
        let mut cost = Statistics::default();
        for (cache, head) in self.layers[layer].caches.iter().zip(heads) {
            let layout = cache.part(head.k.len());
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
            cost = cost.and(result.statistics);
            results.push(result);
        }
        Ok((results, cost.into()))
    }

    fn operator(&self, kind: Kind, ran: &Ran, macs: u64, error: Error) -> Operator {
        let (config, channels) = (self.module.config(), self.module.options().channels);
        Operator::on_channels(kind.name(), config, channels, &ran.statistics, macs, error)
    }

    fn load_report(&self, written: &Written) -> Load {
        Load::new(self.module.config(), &written.cost, written.bytes)
    }

    fn findings(&self) -> Findings {
        self.pins.findings(self.module.tck())
    }
}
