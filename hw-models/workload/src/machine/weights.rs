// SPDX-License-Identifier: MIT
//! A model's matrices as the device has them: in elements of 16 bits.
//!
//! Matrices with the same input stand in one: q on k on v, and the gate on w3. So the vector comes to
//! the device once for all of them.

use super::{ElementFormat, Kind};
use crate::error::DecodeError;
use pimlico_model::checkpoint::places::Part;
use pimlico_model::checkpoint::{Checkpoint, CheckpointShape};
use std::borrow::Cow;

/// A matrix in elements of a device.
pub struct Matrix {
    /// Which, for messages.
    pub name: String,
    /// Row by row.
    pub rows: Vec<Vec<u16>>,
    /// ElementFormat of a row.
    pub columns: usize,
}

/// A model's matrices.
pub struct Weights {
    /// Of each layer.
    layers: Vec<[Matrix; Kind::OF_A_LAYER.len()]>,
    lm_head: Matrix,
}

impl Weights {
    /// Rounds those of a model.
    pub fn new(model: &Checkpoint, elements: ElementFormat) -> Result<Self, DecodeError> {
        let shape = &model.shape;
        let layers = model.layers.iter().enumerate().map(|(number, layer)| {
            of_layer(elements, number, shape, |part| {
                Cow::Borrowed(match part {
                    Part::Q => &layer.q,
                    Part::K => &layer.k,
                    Part::V => &layer.v,
                    Part::O => &layer.o,
                    Part::Gate => &layer.gate,
                    Part::Up => &layer.up,
                    _ => &layer.down,
                })
            })
        });
        let layers = layers.collect::<Result<_, DecodeError>>()?;
        let classifier =
            if model.classifier.is_empty() { &model.embedding } else { &model.classifier };
        let name = Kind::LmHead.name().to_owned();
        let lm_head = Matrix::new(elements, name, &[classifier.into()], shape.dim)?;
        Ok(Self { layers, lm_head })
    }

    /// The matrices of each layer, in the order of [`Kind::OF_A_LAYER`].
    pub fn layers(&self) -> &[[Matrix; Kind::OF_A_LAYER.len()]] {
        &self.layers
    }

    /// The language-model head.
    pub fn lm_head(&self) -> &Matrix {
        &self.lm_head
    }

    /// The matrix of an operator, in a layer or in none.
    ///
    /// # Panics
    ///
    /// If there is none ([`Kind::place`]).
    pub fn matrix(&self, kind: Kind, layer: Option<usize>) -> &Matrix {
        match layer {
            Some(layer) => &self.layers[layer][kind.place()],
            None => &self.lm_head,
        }
    }
}

/// The matrices of a layer, rounded, of the numbers of its tensors.
pub fn of_layer<'a>(
    elements: ElementFormat,
    number: usize,
    shape: &CheckpointShape,
    numbers: impl Fn(Part) -> Cow<'a, [f32]>,
) -> Result<[Matrix; Kind::OF_A_LAYER.len()], DecodeError> {
    let matrix = |kind: Kind, parts: &[Part], columns| {
        let parts: Vec<_> = parts.iter().map(|part| numbers(*part)).collect();
        Matrix::new(elements, format!("layer {number}, {}", kind.name()), &parts, columns)
    };
    Ok([
        matrix(Kind::Qkv, &[Part::Q, Part::K, Part::V], shape.dim)?,
        matrix(Kind::Projection, &[Part::O], shape.q_width())?,
        matrix(Kind::Ffn1, &[Part::Gate, Part::Up], shape.dim)?,
        matrix(Kind::Ffn2, &[Part::Down], shape.hidden)?,
    ])
}

impl Matrix {
    /// Matrices of `columns` columns, one under the other.
    fn new(
        elements: ElementFormat,
        name: String,
        parts: &[Cow<'_, [f32]>],
        columns: usize,
    ) -> Result<Self, DecodeError> {
        let count = parts.iter().map(|part| part.len() / columns).sum();
        let mut rows = Vec::with_capacity(count);
        for row in parts.iter().flat_map(|part| part.chunks(columns)) {
            let of_row = elements.bits(row);
            let is_none = |bits: &u16| !elements.widen(*bits).is_finite();
            if let Some(column) = of_row.iter().position(is_none) {
                let (row, weight, format) = (rows.len(), row[column], elements.name());
                return Err(DecodeError::Weight { name, row, column, weight, format });
            }
            rows.push(of_row);
        }
        Ok(Self { name, rows, columns })
    }
}
