// SPDX-License-Identifier: MIT
//! What operators on synthetic data are made of: matrices times vectors, and attention of some heads.

use pimlico_device::gemv::IoBuffers;
use pimlico_model::data::{Distribution, HeadShape};

/// A matrix times a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixTask {
    /// Its name in reports.
    pub operator: &'static str,
    /// Rows: outputs.
    pub rows: usize,
    /// Columns: inputs.
    pub columns: usize,
    /// Seed of the data.
    pub seed: u64,
}

/// Attention of some heads for one token of each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttentionTask {
    /// Elements of a head's vectors.
    pub head_dim: usize,
    /// Query heads.
    pub heads: usize,
    /// Query heads that share K and V; the last K and V may have fewer.
    pub group: usize,
    /// Of each request, the tokens whose K and V are in the device.
    pub contexts: Vec<usize>,
    /// How the scores are distributed.
    pub distribution: Distribution,
    /// Seed of the data.
    pub seed: u64,
    /// Whether writing K and V of each request's last token counts, as an operator of its own.
    pub appends: bool,
}

impl AttentionTask {
    /// K and V heads of a request.
    pub fn kv_heads(&self) -> usize {
        self.heads.div_ceil(self.group)
    }

    /// Query heads of a K and V head: the last may have fewer than the others.
    pub fn group_of(&self, kv_head: usize) -> usize {
        self.group.min(self.heads - kv_head * self.group)
    }

    /// Number of a K and V head of a request among those of all requests: what its data follow from.
    pub fn number(&self, kv_head: usize, request: usize) -> usize {
        kv_head * self.contexts.len() + request
    }

    /// What the data of a K and V head are made of.
    pub fn head_shape(&self, group: usize, context: usize) -> HeadShape {
        let Self { head_dim, distribution, .. } = *self;
        HeadShape { head_dim, context, group, distribution }
    }
}

/// A part of an operator, which a system runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// A matrix times a vector.
    Matrix(MatrixTask),
    /// Attention of some heads.
    Attention(AttentionTask),
}

impl Task {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Matrix(matrix) => matrix.operator,
            Self::Attention(_) => "attention",
        }
    }

    /// Multiply-accumulates.
    pub fn macs(&self) -> u64 {
        match self {
            Self::Matrix(MatrixTask { rows, columns, .. }) => (rows * columns) as u64,
            Self::Attention(AttentionTask { head_dim, heads, contexts, .. }) => {
                (2 * heads * contexts.iter().sum::<usize>() * head_dim) as u64
            }
        }
    }

    /// Elements that are made and written.
    pub fn elements(&self) -> u64 {
        match self {
            Self::Matrix(_) => self.macs(),
            Self::Attention(task) => {
                let tokens = task.contexts.iter().sum::<usize>();
                (2 * task.kv_heads() * tokens * task.head_dim) as u64
            }
        }
    }
}

/// Tasks that run one after the other.
#[derive(Clone, Debug)]
pub struct TaskPlan {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Layers of these for which there must be room.
    pub layers: usize,
    /// How the vectors of matrices come to the shared buffers, on a system that leaves it to the operator.
    pub io_buffers: IoBuffers,
}

impl TaskPlan {
    /// Elements that are made and written.
    pub fn elements(&self) -> u64 {
        self.tasks.iter().map(Task::elements).sum()
    }
}

/// Is told of the work that is done, and of all.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Progress that nobody looks at.
pub const SILENT: Progress<'static> = &|_, _| {};
