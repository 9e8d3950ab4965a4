// SPDX-License-Identifier: MIT
//! The fully-connected operators of a decoder layer, and one module's share of them.

use crate::gemv::{self, GemvError};
use crate::pins::PinLog;
use crate::report::{FcReport, JobReport, Load, Report, System};
use crate::spread::{self, How, SpreadError, Task};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::{Device, Options, Ranks, Statistics};
use pimlico_host::kv_cache::{HostPort, TransferError};
use pimlico_model::Model;
use pimlico_model::data;
use rand_xoshiro::rand_core::RngCore;

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
    /// Seed of the data.
    pub seed: u64,
}

impl FcJob {
    /// A layer of a model.
    pub fn new(name: &str, model: &Model, tp: usize, lm_head: bool, seed: u64) -> Self {
        Self { model: name.to_owned(), tp, shapes: shapes(model, tp, lm_head), seed }
    }

    /// A seed for the data of each operator.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let mut random = data::generator(self.seed);
        std::iter::repeat_with(move || random.next_u64())
    }

    /// What was run, for the report.
    pub fn report(&self) -> JobReport {
        let shape = |shape: &MatrixShape| (shape.operator, [shape.rows, shape.columns]);
        JobReport::Layer(FcReport {
            model: self.model.clone(),
            tp: self.tp,
            shapes: self.shapes.iter().map(shape).collect(),
        })
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

/// Runs a job on a rank, operator after operator from row 0 of the banks on. `progress` is told after
/// each.
pub fn run(
    rank: &mut dyn Device,
    job: &FcJob,
    io_buffers: IoBuffers,
    mut progress: impl FnMut(),
) -> Result<Report, GemvError> {
    for &MatrixShape { rows, columns, .. } in &job.shapes {
        MatrixLayout::new(rank.config(), rows, columns)?; // before any data are made
    }
    let mut host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let pins = PinLog::of(rank);
    let mut operators = Vec::new();
    let (mut load, mut bytes) = (Statistics::default(), 0);
    for (seed, &MatrixShape { operator, rows, columns }) in job.seeds().zip(&job.shapes) {
        let job = gemv::GemvJob { rows, columns, io_buffers, seed };
        let product = gemv::product(rank, &mut host, operator, &job, None)?;
        operators.push(product.operator);
        load = load.and(product.load);
        bytes += product.bytes;
        progress();
    }
    let load = Load::new(rank.config(), &load, bytes);
    Ok(Report::of_operators(rank, &pins, job.report(), job.seed, load, operators))
}

/// Runs a job on the ranks of a device, each operator spread over all of them.
pub fn run_on_ranks(
    ranks: &Ranks,
    options: Options,
    job: &FcJob,
    (io_buffers, how): (IoBuffers, impl Into<How>),
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Report, SpreadError> {
    let tasks =
        job.seeds().zip(&job.shapes).map(|(seed, &MatrixShape { operator, rows, columns })| {
            Task::Matrix { operator, rows, columns, seed }
        });
    let spread =
        spread::SpreadJob { tasks: tasks.collect(), layers: 1, io_buffers, how: how.into() };
    let system = System::ranks(ranks.config(), options, ranks.topology());
    Ok(spread::run(ranks, &spread, progress)?.report(&system, job.report(), job.seed))
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
