// SPDX-License-Identifier: MIT
//! A model's matrices in the banks, one behind the other, and the rows that are kept for K and V.
//!
//! Matrices with the same input stand in one: q on k on v, and the gate on w3. So the vector comes to
//! the shared buffers once for all of them.

use super::DecodeError;
use super::tally::Kind;
use crate::checkpoint::{Checkpoint, Layer};
use crate::gemv;
use crate::kv_cache::HostPort;
use half::f16;
use pimlico_device::data_bus::BEATS;
use pimlico_device::gemv::MatrixLayout;
use pimlico_device::mapping::{BURST, HeadLayout};
use pimlico_device::{CHIPS, Config, Rank, Statistics};

/// A matrix in binary16, and where it lies.
pub struct Matrix {
    /// Where.
    pub layout: MatrixLayout,
    /// Row by row.
    pub rows: Vec<Vec<u16>>,
}

/// A layer's matrices, and room for its K and V.
pub struct ResidentLayer {
    /// q on k on v.
    pub qkv: Matrix,
    /// What the heads' outputs go through.
    pub projection: Matrix,
    /// The gate on w3.
    pub ffn1: Matrix,
    /// The way back.
    pub ffn2: Matrix,
    /// For each K and V head, the rows for as many tokens as there may be.
    pub caches: Vec<HeadLayout>,
}

/// A model in the banks.
pub struct Resident {
    /// The layers.
    pub layers: Vec<ResidentLayer>,
    /// The language-model head.
    pub lm_head: Matrix,
}

/// Lays out matrices from row to row.
struct Placer<'a> {
    config: &'a Config,
    row: usize,
}

impl Resident {
    /// Lays out a model with K and V of so many tokens.
    pub fn new(config: &Config, model: &Checkpoint, tokens: usize) -> Result<Self, DecodeError> {
        let mut placer = Placer { config, row: 0 };
        let shape = &model.shape;
        let width = shape.dim;
        let layers = model.layers.iter().enumerate().map(|(number, layer)| {
            let name = |operator: &str| format!("layer {number}, {operator}");
            let Layer { q, k, v, o, gate, up, down, .. } = layer;
            Ok(ResidentLayer {
                qkv: placer.matrix(&name("qkv"), &[q, k, v], width)?,
                projection: placer.matrix(&name("projection"), &[o], shape.q_width())?,
                ffn1: placer.matrix(&name("ffn1"), &[gate, up], width)?,
                ffn2: placer.matrix(&name("ffn2"), &[down], shape.hidden)?,
                caches: (0..shape.kv_heads)
                    .map(|_| placer.cache(shape.head_dim, tokens))
                    .collect::<Result<_, _>>()?,
            })
        });
        let layers = layers.collect::<Result<_, DecodeError>>()?;
        let classifier =
            if model.classifier.is_empty() { &model.embedding } else { &model.classifier };
        Ok(Self { layers, lm_head: placer.matrix("lm_head", &[classifier], width)? })
    }

    /// The matrix of an operator, in a layer or in none.
    ///
    /// # Panics
    ///
    /// If there is none: attention has no weights, and only the language-model head is in no layer.
    pub fn matrix(&self, kind: Kind, layer: Option<usize>) -> &Matrix {
        match (kind, layer.map(|layer| &self.layers[layer])) {
            (Kind::Qkv, Some(layer)) => &layer.qkv,
            (Kind::Projection, Some(layer)) => &layer.projection,
            (Kind::Ffn1, Some(layer)) => &layer.ffn1,
            (Kind::Ffn2, Some(layer)) => &layer.ffn2,
            (Kind::LmHead, None) => &self.lm_head,
            (kind, _) => panic!("{} has no such matrix", kind.name()),
        }
    }

    fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        let of_layer = |layer: usize| {
            let kinds = [Kind::Qkv, Kind::Projection, Kind::Ffn1, Kind::Ffn2];
            kinds.map(|kind| self.matrix(kind, Some(layer)))
        };
        (0..self.layers.len()).flat_map(of_layer).chain([&self.lm_head])
    }

    /// Writes the matrices into the banks. Returns the cost, and the bytes.
    pub fn load(
        &self,
        rank: &mut Rank,
        host: &mut HostPort,
    ) -> Result<(Statistics, u64), DecodeError> {
        let (mut cost, mut bytes) = (Statistics::default(), 0);
        for Matrix { layout, rows } in self.matrices() {
            cost = cost.and(gemv::load(rank, host, layout, rows)?);
            bytes += (layout.rows * layout.columns.div_ceil(BURST) * BEATS * CHIPS) as u64;
        }
        Ok((cost, bytes))
    }
}

impl Placer<'_> {
    /// Matrices of `columns` columns, one under the other.
    fn matrix(
        &mut self,
        name: &str,
        parts: &[&Vec<f32>],
        columns: usize,
    ) -> Result<Matrix, DecodeError> {
        let rows = parts.iter().map(|part| part.len() / columns).sum();
        let layout = MatrixLayout::from_row(self.config, rows, columns, self.row)
            .map_err(|error| DecodeError::Matrix { name: name.to_owned(), error })?;
        self.row = layout.end_row();
        let mut bits = Vec::with_capacity(rows);
        for row in parts.iter().flat_map(|part| part.chunks(columns)) {
            let of_row: Vec<f16> = row.iter().map(|&weight| f16::from_f32(weight)).collect();
            if let Some(column) = of_row.iter().position(|weight| !weight.is_finite()) {
                let (name, weight) = (name.to_owned(), row[column]);
                return Err(DecodeError::Weight { name, row: bits.len(), column, weight });
            }
            bits.push(of_row.into_iter().map(f16::to_bits).collect());
        }
        Ok(Matrix { layout, rows: bits })
    }

    fn cache(&mut self, head_dim: usize, tokens: usize) -> Result<HeadLayout, DecodeError> {
        let layout = HeadLayout::new(self.config, head_dim, tokens, self.row)?;
        self.row = layout.end_row();
        Ok(layout)
    }
}
