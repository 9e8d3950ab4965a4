// SPDX-License-Identifier: MIT
//! Where in its files the tensors of a model are, so that each can be read by itself.
//!
//! [`llama2c`](super::llama2c) and [`safetensors`](super::safetensors) find the places; here they are read from files
//! that are in memory.

use super::{Arithmetic, Checkpoint, CheckpointShape, Layer, Malformed, held};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// How numbers are stored, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// binary32.
    F32,
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
}

impl Stored {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Numbers as float32, which holds all of them.
    ///
    /// # Panics
    ///
    /// If there are not as many as there is room for.
    pub fn widen(self, bytes: &[u8], to: &mut [f32]) {
        assert_eq!(bytes.len(), to.len() * self.bytes(), "bytes of {} numbers", to.len());
        let words = || bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
        match self {
            Self::F32 => {
                for (to, b) in to.iter_mut().zip(bytes.chunks_exact(4)) {
                    *to = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                }
            }
            Self::F16 => {
                // In pieces, which the crate converts by the processor's own instructions.
                const PIECE: usize = 64;
                let mut piece = [f16::ZERO; PIECE];
                for (to, b) in to.chunks_mut(PIECE).zip(bytes.chunks(2 * PIECE)) {
                    for (half, b) in piece.iter_mut().zip(b.chunks_exact(2)) {
                        *half = f16::from_bits(u16::from_le_bytes([b[0], b[1]]));
                    }
                    piece[..to.len()].convert_to_f32_slice(to);
                }
            }
            Self::Bf16 => {
                to.iter_mut()
                    .zip(words())
                    .for_each(|(to, word)| *to = bf16::from_bits(word).to_f32());
            }
        }
    }
}

/// Where a tensor is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name in messages.
    pub name: String,
    /// Which of the files.
    pub file: usize,
    /// The byte at which it begins there.
    pub offset: u64,
    /// Rows of a matrix; of a vector one.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// How they are stored.
    pub stored: Stored,
}

impl Place {
    /// Its numbers.
    pub fn numbers(&self) -> usize {
        self.rows * self.columns
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        self.numbers() * self.stored.bytes()
    }

    /// Its numbers, from the files.
    fn read(&self, files: &[&[u8]]) -> Vec<f32> {
        let bytes = &files[self.file][self.offset as usize..][..self.bytes()];
        let mut numbers = vec![0.0; self.numbers()];
        self.stored.widen(bytes, &mut numbers);
        numbers
    }

    /// The same of a matrix of the device.
    fn read_held(&self, files: &[&[u8]]) -> Result<Vec<f32>, Malformed> {
        held(self.read(files), self.columns, || self.name.clone())
    }
}

/// Which tensor of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`Layer::attention_norm`].
    AttentionNorm,
    /// [`Layer::q`].
    Q,
    /// [`Layer::k`].
    K,
    /// [`Layer::v`].
    V,
    /// The first of [`Layer::bias`]: q's.
    QBias,
    /// The second: k's.
    KBias,
    /// The third: v's.
    VBias,
    /// [`Layer::q_norm`].
    QNorm,
    /// [`Layer::k_norm`].
    KNorm,
    /// [`Layer::o`].
    O,
    /// [`Layer::ffn_norm`].
    FfnNorm,
    /// [`Layer::gate`].
    Gate,
    /// [`Layer::up`].
    Up,
    /// [`Layer::down`].
    Down,
}

impl Part {
    /// Number of tensors that a layer may have.
    pub const COUNT: usize = 14;
}

/// Where the tensors of a model are.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    /// The model's sizes.
    pub shape: CheckpointShape,
    /// What it computes between the matrices.
    pub arithmetic: Arithmetic,
    /// `vocab` x `dim`.
    pub embedding: Place,
    /// `dim`.
    pub norm: Place,
    /// `vocab` x `dim`; none where it is the embedding.
    pub classifier: Option<Place>,
    /// The tensors that each layer has, the first layer first.
    pub layers: Vec<Vec<(Part, Place)>>,
}

impl Places {
    /// Bytes of the tensors of a layer.
    pub fn layer_bytes(&self, layer: usize) -> u64 {
        self.layers[layer].iter().map(|(_, place)| place.bytes() as u64).sum()
    }

    /// Bytes of the tensors that are of no layer.
    pub fn fixed_bytes(&self) -> u64 {
        let classifier = self.classifier.as_ref().map_or(0, Place::bytes);
        (self.embedding.bytes() + self.norm.bytes() + classifier) as u64
    }

    /// Reads the model from its files.
    pub(super) fn read(&self, files: &[&[u8]]) -> Result<Checkpoint, Malformed> {
        let layers = self.layers.iter().map(|layer| read_layer(layer, files));
        let layers = layers.collect::<Result<_, _>>()?;
        let (embedding, classifier) = match &self.classifier {
            Some(classifier) => (self.embedding.read(files), classifier.read_held(files)?),
            None => (self.embedding.read_held(files)?, Vec::new()),
        };
        let norm = self.norm.read(files);
        Ok(Checkpoint {
            shape: self.shape,
            arithmetic: self.arithmetic,
            embedding,
            layers,
            norm,
            classifier,
        })
    }
}

fn read_layer(parts: &[(Part, Place)], files: &[&[u8]]) -> Result<Layer, Malformed> {
    let vector = |wanted: Part| {
        let place = parts.iter().find(|(part, _)| *part == wanted);
        place.map_or(Vec::new(), |(_, place)| place.read(files))
    };
    let matrix = |wanted: Part| {
        let place = parts.iter().find(|(part, _)| *part == wanted);
        place.map_or(Ok(Vec::new()), |(_, place)| place.read_held(files))
    };
    Ok(Layer {
        attention_norm: vector(Part::AttentionNorm),
        q: matrix(Part::Q)?,
        k: matrix(Part::K)?,
        v: matrix(Part::V)?,
        bias: [Part::QBias, Part::KBias, Part::VBias].into_iter().flat_map(vector).collect(),
        q_norm: vector(Part::QNorm),
        k_norm: vector(Part::KNorm),
        o: matrix(Part::O)?,
        ffn_norm: vector(Part::FfnNorm),
        gate: matrix(Part::Gate)?,
        up: matrix(Part::Up)?,
        down: matrix(Part::Down)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_16_bits_is_widened() {
        let words: Vec<u16> = (0..=u16::MAX).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut wide = vec![0.0; words.len()];
        Stored::F16.widen(&bytes, &mut wide);
        for (word, wide) in words.iter().zip(&wide) {
            let expected = f16::from_bits(*word).to_f32();
            assert!(expected.to_bits() == wide.to_bits() || expected.is_nan() && wide.is_nan());
        }
        Stored::Bf16.widen(&bytes, &mut wide);
        for (word, wide) in words.iter().zip(&wide) {
            let expected = f32::from_bits(u32::from(*word) << 16);
            assert!(expected.to_bits() == wide.to_bits() || expected.is_nan() && wide.is_nan());
        }
        // Not a multiple of a piece.
        Stored::F16.widen(&bytes[..2 * 101], &mut wide[..101]);
        assert_eq!(wide[100], f16::from_bits(100).to_f32());
    }
}
