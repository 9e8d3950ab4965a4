// SPDX-License-Identifier: MIT
//! The fully-connected operators of a decoder layer, and one module's share of them.

use crate::operator::Tasks;
use crate::outcome::Outcome;
use crate::report::JobReport;
use crate::system::System;
use crate::task::{MatrixTask, Task, TaskPlan};
use pimlico_device::gemv::IoBuffers;
use pimlico_model::Model;
use pimlico_model::data;
use rand_xoshiro::rand_core::RngCore;
use serde::Serialize;
use std::collections::BTreeMap;

/// An operator: a matrix times a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixShape {
    /// Its name.
    pub operator: &'static str,
    /// Rows of the matrix: outputs.
    pub rows: usize,
    /// Columns of the matrix: inputs.
    pub columns: usize,
}

/// What to run.
#[derive(Clone, Debug)]
pub struct FcJob {
    /// Name of the language model, for the report.
    pub model: String,
    /// Modules that share the layer out among them.
    pub tp: usize,
    /// The operators.
    pub shapes: Vec<MatrixShape>,
    /// How the vectors come to the shared buffers.
    pub io_buffers: IoBuffers,
    /// Seed of the data.
    pub seed: u64,
}

/// The fully-connected operators of a decoder layer.
#[derive(Clone, Debug, Serialize)]
pub struct FcReport {
    /// Name of the language model.
    pub model: String,
    /// Modules that share the layer out among them (tensor parallelism).
    pub tp: usize,
    /// Rows and columns of each operator's matrix, by its name.
    pub shapes: BTreeMap<&'static str, [usize; 2]>,
}

impl FcJob {
    /// A layer of a model.
    pub fn new(name: &str, model: &Model, tp: usize, lm_head: bool, seed: u64) -> Self {
        let shapes = shapes(model, tp, lm_head);
        Self { model: name.to_owned(), tp, shapes, io_buffers: IoBuffers::default(), seed }
    }

    /// A seed for the data of each operator.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let mut random = data::generator(self.seed);
        std::iter::repeat_with(move || random.next_u64())
    }
}

/// The largest share that one of `tp` modules has of a layer's operators, and, if asked for, of the
/// language-model head. Tensor parallelism cuts `qkv` and `ffn1` by their outputs, `projection` and
/// `ffn2` by their inputs (LoL-PIM section 4.1), and the head by its outputs. Where a model is gated, its
/// two first matrices are one, stacked.
///
/// # Panics
///
/// If `tp` is 0.
pub fn shapes(model: &Model, tp: usize, lm_head: bool) -> Vec<MatrixShape> {
    let share = |dimension: usize| dimension.div_ceil(tp);
    let Model { heads, head_dim, hidden, ffn, .. } = *model;
    let kv_heads = model.kv_heads.unwrap_or(heads);
    let ffn1 = if model.gated { 2 * ffn } else { ffn };
    let head = lm_head.then_some(("lm_head", share(model.vocab), hidden));
    [
        ("qkv", share((heads + 2 * kv_heads) * head_dim), hidden),
        ("projection", hidden, share(heads * head_dim)),
        ("ffn1", share(ffn1), hidden),
        ("ffn2", hidden, share(ffn)),
    ]
    .into_iter()
    .chain(head)
    .map(|(operator, rows, columns)| MatrixShape { operator, rows, columns })
    .collect()
}

impl Tasks for FcJob {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn tasks(&self) -> TaskPlan {
        let task = |(seed, &MatrixShape { operator, rows, columns })| {
            Task::Matrix(MatrixTask { operator, rows, columns, seed })
        };
        let tasks = self.seeds().zip(&self.shapes).map(task).collect();
        TaskPlan { tasks, layers: 1, io_buffers: self.io_buffers }
    }

    fn about(&self, _: &dyn System, _: &Outcome) -> JobReport {
        let shape = |shape: &MatrixShape| (shape.operator, [shape.rows, shape.columns]);
        JobReport::new(FcReport {
            model: self.model.clone(),
            tp: self.tp,
            shapes: self.shapes.iter().map(shape).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_model::presets;

    fn shape(model: &str, tp: usize, operator: &str) -> (usize, usize) {
        let shapes = shapes(&presets()[model], tp, true);
        let shape = shapes.into_iter().find(|shape| shape.operator == operator);
        shape.map(|shape| (shape.rows, shape.columns)).expect("there is such an operator")
    }

    #[test]
    fn shapes_are_those_of_the_models() {
        // A gated network of 11008, and one that is not.
        assert_eq!(shape("qwen1.5-7b", 1, "qkv"), (3 * 4096, 4096));
        assert_eq!(shape("qwen1.5-7b", 1, "ffn1"), (2 * 11008, 4096));
        assert_eq!(shape("qwen1.5-7b", 1, "ffn2"), (4096, 11008));
        assert_eq!(shape("gpt-175b", 1, "ffn1"), (49152, 12288));
        // Eight K and V heads to 32 of Q.
        assert_eq!(shape("llama-3.1-8b", 1, "qkv"), (4096 + 2 * 1024, 4096));
        assert_eq!(shape("llama-3.1-8b", 1, "lm_head"), (128_256, 4096));
    }

    #[test]
    fn modules_share_outputs_or_inputs() {
        assert_eq!(shape("qwen1.5-7b", 8, "qkv"), (3 * 512, 4096));
        assert_eq!(shape("qwen1.5-7b", 8, "projection"), (4096, 512));
        assert_eq!(shape("qwen1.5-7b", 8, "ffn1"), (2 * 1376, 4096));
        assert_eq!(shape("qwen1.5-7b", 8, "ffn2"), (4096, 1376));
        assert_eq!(shape("qwen1.5-7b", 3, "ffn2"), (4096, 3670));
    }
}
