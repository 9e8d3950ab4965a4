// SPDX-License-Identifier: MIT
//! A decoder layer of a model for one token, on synthetic data: qkv, attention of all heads, projection
//! and the feed-forward network, spread over the ranks of a device.
//!
//! Each piece of an operator runs on a rank that has just been reset ([`crate::spread`]). On a device of one
//! rank each matrix is one piece, and all pieces run one behind the other.

use crate::decode::tally::Kind;
use crate::fc;
use crate::report::{DecoderReport, JobReport, LayersReport, Report, RollUp, System};
use crate::spread::{self, How, SpreadError, Task};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Options, Ranks};
use pimlico_model::Model;
use pimlico_model::data::Distribution;

/// What to run.
#[derive(Clone, Debug)]
pub struct LayerJob {
    /// Name of the language model, for the report.
    pub model: String,
    /// Its shapes.
    pub shape: Model,
    /// Layers for which there must be room. They are alike: one runs.
    pub layers: usize,
    /// Tokens whose K and V are in the device.
    pub context: usize,
    /// How the scores are distributed.
    pub distribution: Distribution,
    /// How the vectors of matrices come to the shared buffers.
    pub io_buffers: IoBuffers,
    /// Seed of the data.
    pub seed: u64,
    /// How it is run.
    pub how: How,
}

impl LayerJob {
    /// The operators of a layer, in their order.
    fn tasks(&self) -> Vec<Task> {
        let Self { shape, context, distribution, seed, .. } = self;
        let shapes = fc::shapes(shape, 1, false);
        let task = |kind: Kind| match shapes.iter().find(|shape| shape.operator == kind.name()) {
            Some(&fc::MatrixShape { operator, rows, columns }) => {
                // Seeds of heads are this one's jumps; these are others.
                let seed = seed.wrapping_add(1 + kind as u64);
                Task::Matrix { operator, rows, columns, seed }
            }
            None => Task::Attention {
                head_dim: shape.head_dim,
                heads: shape.heads,
                group: shape.group(),
                contexts: vec![*context],
                distribution: *distribution,
                seed: *seed,
            },
        };
        let of_layer = Kind::ALL.into_iter().filter(|&kind| kind != Kind::LmHead);
        of_layer.map(task).collect()
    }
}

/// Runs a job on ranks that work as `options` say. `progress` is told how many elements of the matrices, K and
/// V are done, and how many there are.
pub fn run(
    ranks: &Ranks,
    options: Options,
    job: &LayerJob,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Report, SpreadError> {
    let LayerJob { layers, io_buffers, how, .. } = *job;
    let spread = spread::SpreadJob { tasks: job.tasks(), layers, io_buffers, how };
    let done = spread::run(ranks, &spread, progress)?;
    let of_layers =
        |layers| LayersReport::new(ranks.config(), layers, &done.operators, done.bytes_per_rank);
    let roll_up = RollUp {
        layer: of_layers(1),
        token: of_layers(layers),
        model: of_layers(job.shape.layers),
    };
    let Model { heads, head_dim, hidden, ffn, .. } = job.shape;
    let layer = DecoderReport {
        model: job.model.clone(),
        context: job.context,
        heads,
        head_dim,
        group: job.shape.group(),
        hidden,
        ffn,
        distribution: job.distribution.name(),
        io_buffers: job.io_buffers.name(),
        stages: done.stages,
        roll_up,
    };
    let system = System::ranks(ranks.config(), options, ranks.topology());
    Ok(done.report(&system, JobReport::Decoder(layer), job.seed))
}
