// SPDX-License-Identifier: MIT
//! A model's matrices in the banks, and the groups in which they are copied.

use super::PrefillError;
use super::gemm::{Held, Operand};
use crate::in_banks::{BankMatrix, Banked};
use pimlico_device::lp5::Lp5Layout;
use pimlico_model::checkpoint::places::{Part, Places, Stored};
use pimlico_stream::host::MATRICES;
use std::ops::Range;

/// The matrices of a model.
pub struct ModelInBanks<'a> {
    /// Format of their elements, of 16 bits.
    pub elements: Stored,
    /// Those of each layer, in the order of [`MATRICES`].
    pub layers: Vec<[BankMatrix<'a>; MATRICES.len()]>,
    /// The language-model head.
    pub head: BankMatrix<'a>,
}

impl<'a> ModelInBanks<'a> {
    /// The matrices of an image, which are those of the model in the order of its files, the head last; `memory` begins with
    /// address 0.
    pub fn new(
        places: &Places,
        matrices: &'a [(String, Lp5Layout)],
        (elements, memory): (Stored, &'a [u8]),
    ) -> Result<Self, PrefillError> {
        let in_banks = |(_, layout): &'a (String, Lp5Layout)| {
            let memory = &memory[layout.base_address() as usize..];
            BankMatrix::whole(Banked::new(layout.clone(), memory))
        };
        let mut left = matrices.iter();
        let mut layers = Vec::new();
        for (number, parts) in places.layers.iter().enumerate() {
            let of_layer = parts.iter().filter(|(_, place)| place.rows > 1);
            let of_layer: Vec<_> =
                of_layer.zip(left.by_ref()).map(|((part, _), matrix)| (*part, matrix)).collect();
            let find = |wanted: Part| -> Result<BankMatrix<'a>, PrefillError> {
                let found = of_layer.iter().find(|(part, _)| *part == wanted);
                let (_, matrix) =
                    found.ok_or(PrefillError::NoMatrix { layer: number, part: name(wanted) })?;
                Ok(in_banks(matrix))
            };
            let [q, k, v, o, gate, up, down] = MATRICES.map(find);
            layers.push([q?, k?, v?, o?, gate?, up?, down?]);
        }
        let no_head = PrefillError::NoMatrix { layer: layers.len(), part: "head" };
        let head = left.next().map(in_banks).ok_or(no_head)?;
        Ok(Self { elements, layers, head })
    }

    /// Bytes of all matrices, without padding.
    pub fn bytes(&self) -> u64 {
        let all = self.layers.iter().flatten().chain([&self.head]);
        all.map(|matrix| matrix.bytes() as u64).sum()
    }

    /// A matrix as GEMM takes it from the banks.
    pub fn in_place<'b>(&self, matrix: &'b BankMatrix<'b>) -> Operand<'b> {
        Operand { shape: matrix.shape(), elements: self.elements, held: Held::Banks(matrix) }
    }

    /// A matrix as GEMM takes it from a copy.
    pub fn copied<'b>(&self, matrix: &BankMatrix<'_>, copy: &'b [u8]) -> Operand<'b> {
        let held = Held::Host(matrix.order(), &copy[..matrix.bytes()]);
        Operand { shape: matrix.shape(), elements: self.elements, held }
    }
}

/// The name of a matrix in messages.
pub(super) fn name(part: Part) -> &'static str {
    match part {
        Part::Q => "Q",
        Part::K => "K",
        Part::V => "V",
        Part::O => "O",
        Part::Gate => "gate",
        Part::Up => "up",
        Part::Down => "down",
        _ => "vector",
    }
}

/// Matrices that are in a buffer together.
pub(super) struct Group<'a> {
    pub(super) layer: usize,
    pub(super) matrices: Vec<Buffered<'a>>,
}

/// A matrix of a group.
pub(super) struct Buffered<'a> {
    pub(super) part: Part,
    pub(super) source: &'a BankMatrix<'a>,
    /// The byte of the buffer at which it begins.
    pub(super) at: usize,
}

impl<'a> Group<'a> {
    /// Some matrices of a layer, by their places in [`MATRICES`].
    fn new(model: &'a ModelInBanks<'a>, layer: usize, matrices: Range<usize>) -> Self {
        let mut end = 0;
        let buffered = |number: usize| {
            let source = &model.layers[layer][number];
            let at = end;
            end += source.bytes();
            Buffered { part: MATRICES[number], source, at }
        };
        Self { layer, matrices: matrices.map(buffered).collect() }
    }

    /// The groups of PIM-SHERPA's buffers: of each layer Q, K, V and O, then gate, up and down.
    pub(super) fn of_layers(model: &'a ModelInBanks<'a>) -> Vec<Self> {
        let of = |layer| [0..4, 4..5, 5..6, 6..7].map(|range| Self::new(model, layer, range));
        (0..model.layers.len()).flat_map(of).collect()
    }

    /// Each matrix by itself.
    pub(super) fn one_by_one(model: &'a ModelInBanks<'a>) -> Vec<Self> {
        let of = |layer| (0..MATRICES.len()).map(move |number| (layer, number..number + 1));
        let all = (0..model.layers.len()).flat_map(of);
        all.map(|(layer, range)| Self::new(model, layer, range)).collect()
    }

    /// Bytes that it takes of a buffer.
    pub(super) fn bytes(&self) -> u64 {
        self.matrices.iter().map(|matrix| matrix.source.bytes() as u64).sum()
    }

    /// Elements of a line and lines of each matrix: parts are of whole lines.
    pub(super) fn shapes(&self) -> Vec<(u64, u64)> {
        let shape = |matrix: &Buffered<'_>| {
            let lines = matrix.source.lines();
            ((matrix.source.bytes() / lines / 2) as u64, lines as u64)
        };
        self.matrices.iter().map(shape).collect()
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> String {
        let names: Vec<_> = self.matrices.iter().map(|matrix| name(matrix.part)).collect();
        format!("{} of layer {}", names.join(", "), self.layer)
    }
}

impl Buffered<'_> {
    /// The lines of one of so many equal parts, and where they are in the buffer.
    pub(super) fn part(&self, part: usize, parts: usize) -> (Range<usize>, Range<usize>) {
        let edge = |part: usize| self.source.lines() * part / parts;
        let lines = edge(part)..edge(part + 1);
        let byte = |line: usize| self.at + self.source.line_bytes() * line;
        (lines.clone(), byte(lines.start)..byte(lines.end))
    }
}
