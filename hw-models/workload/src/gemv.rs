// SPDX-License-Identifier: MIT
//! A matrix times a vector: bare, as fully-connected layers are made of.

use crate::operator::Tasks;
use crate::outcome::Outcome;
use crate::report::JobReport;
use crate::report::lp5::Lp5Report;
use crate::system::System;
use crate::task::{MatrixTask, Task, TaskPlan};
use pimlico_device::gemv::IoBuffers;
use serde::Serialize;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct GemvJob {
    /// Rows of the matrix: outputs.
    pub rows: usize,
    /// Columns of the matrix: inputs.
    pub columns: usize,
    /// How the vector comes to the shared buffers.
    pub io_buffers: IoBuffers,
    /// Seed of the data.
    pub seed: u64,
}

/// A matrix times a vector.
#[derive(Clone, Debug, Serialize)]
pub struct GemvReport {
    /// Name of the language model: none, the matrix is of no model.
    pub model: Option<String>,
    /// Rows of the matrix: outputs.
    pub rows: usize,
    /// Columns of the matrix: inputs.
    pub columns: usize,
    /// How the vector comes to the shared buffers: `ping-pong` or `single`.
    pub io_buffers: &'static str,
    /// Beside its plan and the host, on LPDDR5X-PIM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lp5: Option<Lp5Report>,
}

impl Tasks for GemvJob {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn tasks(&self) -> TaskPlan {
        let Self { rows, columns, io_buffers, seed } = *self;
        let tasks = vec![Task::Matrix(MatrixTask { operator: "gemv", rows, columns, seed })];
        TaskPlan { tasks, layers: 1, io_buffers }
    }

    fn about(&self, system: &dyn System, _: &Outcome) -> JobReport {
        let Self { rows, columns, io_buffers, .. } = *self;
        let io_buffers = system.io_buffers(io_buffers).name();
        let lp5 = system.lp5();
        JobReport::new(GemvReport { model: None, rows, columns, io_buffers, lp5 })
    }
}
