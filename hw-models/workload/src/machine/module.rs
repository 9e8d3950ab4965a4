// SPDX-License-Identifier: MIT
//! A model on a module of AiM channels: matrices one behind the other, layer after layer, and K and V of each layer's
//! heads behind its matrices.

use super::{Kind, Machine, Matrix, Ran, Resident, Weights};
use crate::aim::attention as on_channels;
use crate::error::WorkloadError;
use crate::error::{DecodeError, Room};
use crate::judge::Findings;
use crate::judge::pins::PinLog;
use crate::placement::NoRows;
use crate::report;
use crate::report::link::Crossing;
use crate::report::{Error, Load, Operator, Written};
use crate::results::Attention;
use pimlico_device::aim::attention::AimHead;
use pimlico_device::aim::{AimDevice, AimLayout, AimOptions, Word, Write};
use pimlico_device::{Config, Normalise, Statistics};
use pimlico_model::data::Head;

/// More rows than any model takes.
const ENDLESS_ROWS: usize = 1 << 40;

/// A model on a module.
pub struct OnModule<'a> {
    module: &'a mut dyn AimDevice,
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
        module: &'a mut dyn AimDevice,
        pins: &'a PinLog,
        resident: Resident<'a>,
    ) -> Result<Self, WorkloadError> {
        let Resident { weights, shape, tokens, .. } = resident;
        // All is laid out before it is held against what there is, so that a refusal can name the sum.
        let config = &endless(module.config());
        let options = module.options();
        let mut row = 0;
        let mut layers = Vec::with_capacity(weights.layers().len());
        for [qkv, projection, ffn1, ffn2] in weights.layers() {
            let matrices = [
                place(config, &options, &mut row, qkv)?,
                place(config, &options, &mut row, projection)?,
                place(config, &options, &mut row, ffn1)?,
                place(config, &options, &mut row, ffn2)?,
            ];
            let mut caches = Vec::with_capacity(shape.kv_heads);
            for _ in 0..shape.kv_heads {
                let cache = AimHead::new(config, &options, shape.head_dim, tokens, row)
                    .map_err(|error| DecodeError::Layout(Room::Module(error)))?;
                row = cache.v.end_row();
                caches.push(cache);
            }
            layers.push(ResidentLayer { matrices, caches });
        }
        let lm_head = place(config, &options, &mut row, weights.lm_head())?;
        NoRows::check(module.config(), weights.layers().len(), row as u64)?;
        Ok(Self { module, pins, weights, layers, lm_head })
    }

    /// Writes columns.
    fn write(&mut self, writes: impl IntoIterator<Item = Write>) -> Result<Written, WorkloadError> {
        self.module.begin();
        let mut words = 0;
        self.module
            .write(&mut writes.into_iter().inspect(|write| words += write.taken().count()))?;
        Ok(Written { cost: self.module.end(), bytes: (words * size_of::<Word>()) as u64 })
    }
}

/// A channel like another, with rows for all that is laid out.
fn endless(channel: &Config) -> Config {
    let mut config = channel.clone();
    config.organisation.rows = ENDLESS_ROWS;
    config
}

/// Lays out a matrix from `row` on, which is then the row behind it.
fn place(
    config: &Config,
    options: &AimOptions,
    row: &mut usize,
    matrix: &Matrix,
) -> Result<AimLayout, DecodeError> {
    let Matrix { name, rows, columns } = matrix;
    let layout = AimLayout::new(config, options, rows.len(), *columns, *row)
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
        let link = Crossing::elements(vector.len(), outputs.len());
        Ok((outputs, Ran { link, ..statistics.into() }))
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
        let mut link = Crossing::default();
        let mut cost = Statistics::default();
        for (cache, head) in self.layers[layer].caches.iter().zip(heads) {
            let layout = cache.part(head.k.len());
            let mut result = Attention::default();
            for query in &head.queries {
                let of_query = on_channels::run_query(self.module, &layout, query)?;
                for step in [&of_query.score, &of_query.softmax, &of_query.context] {
                    result.statistics = result.statistics.and(step.statistics);
                }
                link = link.and(Crossing::elements(query.len(), of_query.context.values.len()));
                result.scores.push(of_query.score.values);
                result.weights.push(of_query.softmax.values);
                result.context.push(of_query.context.values);
            }
            cost = cost.and(result.statistics);
            results.push(result);
        }
        Ok((results, Ran { link, ..cost.into() }))
    }

    fn append_operator(&self, written: &Written) -> Option<Operator> {
        let (config, channels) = (self.module.config(), self.module.options().channels);
        let Written { cost, bytes } = written;
        let error = Error::default();
        let operator = Operator::on_channels(report::APPEND, config, channels, cost, 0, error);
        Some(operator.on_link(config, Crossing { to_hub: *bytes, to_host: 0 }))
    }

    fn operator(&self, kind: Kind, ran: &Ran, macs: u64, error: Error) -> Operator {
        let (config, channels) = (self.module.config(), self.module.options().channels);
        Operator::on_channels(kind.name(), config, channels, &ran.statistics, macs, error)
            .on_link(config, ran.link)
    }

    fn load_report(&self, written: &Written) -> Load {
        Load::new(self.module.config(), &written.cost, written.bytes)
    }

    fn findings(&self) -> Findings {
        self.pins.findings(self.module.tck())
    }
}
