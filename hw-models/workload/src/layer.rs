// SPDX-License-Identifier: MIT
//! A decoder layer of a model for one token, on synthetic data: qkv, attention of all heads, projection
//! and the feed-forward network.

use crate::fc;
use crate::machine::Kind;
use crate::operator::Tasks;
use crate::outcome::Outcome;
use crate::report::{JobReport, LayersReport, RollUp, Stages};
use crate::system::System;
use crate::task::{AttentionTask, MatrixTask, Task, TaskPlan};
use pimlico_device::gemv::IoBuffers;
use pimlico_model::Model;
use pimlico_model::data::Distribution;
use serde::Serialize;

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
}

/// A decoder layer, for one token.
#[derive(Clone, Debug, Serialize)]
pub struct DecoderReport {
    /// Name of the language model.
    pub model: String,
    /// Of each request its tokens whose K and V are in the device: of the one that there is.
    pub contexts: Vec<usize>,
    /// Query heads.
    pub heads: usize,
    /// Elements of a head's vectors.
    pub head_dim: usize,
    /// Query heads that share K and V.
    pub group: usize,
    /// Elements of the vector that goes from layer to layer.
    pub hidden: usize,
    /// Elements between the matrices of the feed-forward network.
    pub ffn: usize,
    /// How the scores are distributed: `random` or `peaked`.
    pub distribution: &'static str,
    /// How the vectors come to the shared buffers: `ping-pong` or `single`.
    pub io_buffers: &'static str,
    /// Where the error of attention comes from; the worst of all heads.
    pub stages: Stages,
    /// What follows for more layers.
    pub roll_up: RollUp,
}

impl LayerJob {
    /// The operators of a layer, in their order.
    fn of_layer(&self) -> Vec<Task> {
        let Self { shape, context, distribution, seed, .. } = self;
        let shapes = fc::shapes(shape, 1, false);
        let task = |kind: Kind| match shapes.iter().find(|shape| shape.operator == kind.name()) {
            Some(&fc::MatrixShape { operator, rows, columns }) => {
                // Seeds of heads are this one's jumps; these are others.
                let seed = seed.wrapping_add(1 + kind as u64);
                Task::Matrix(MatrixTask { operator, rows, columns, seed })
            }
            None => Task::Attention(AttentionTask {
                head_dim: shape.head_dim,
                heads: shape.heads,
                group: shape.group(),
                contexts: vec![*context],
                distribution: *distribution,
                seed: *seed,
                appends: true,
            }),
        };
        let of_layer = Kind::ALL.into_iter().filter(|&kind| kind != Kind::LmHead);
        of_layer.map(task).collect()
    }
}

impl Tasks for LayerJob {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn tasks(&self) -> TaskPlan {
        TaskPlan { tasks: self.of_layer(), layers: self.layers, io_buffers: self.io_buffers }
    }

    fn about(&self, system: &dyn System, outcome: &Outcome) -> JobReport {
        let Outcome { operators, bytes_per_rank, stages, .. } = outcome;
        let of_layers =
            |layers| LayersReport::new(system.config(), layers, operators, *bytes_per_rank);
        let roll_up = RollUp {
            layer: of_layers(1),
            token: of_layers(self.layers),
            model: of_layers(self.shape.layers),
        };
        let Model { heads, head_dim, hidden, ffn, .. } = self.shape;
        JobReport::new(DecoderReport {
            model: self.model.clone(),
            contexts: vec![self.context],
            heads,
            head_dim,
            group: self.shape.group(),
            hidden,
            ffn,
            distribution: self.distribution.name(),
            io_buffers: system.io_buffers(self.io_buffers).name(),
            stages: *stages,
            roll_up,
        })
    }
}
