// SPDX-License-Identifier: MIT
//! What operators run on: a device with its host.
//!
//! * [`Rank`]: one rank, from beginning to end.
//! * [`ManyRanks`]: the ranks of a device, each piece of the work on one that has just been reset.
//! * [`Module`]: a module of AiM channels.
//! * [`Lp5`]: a device of LPDDR5X-PIM, for matrices, and for a model whose attention is the host's.

mod lp5;
mod module;
mod rank;
mod ranks;

pub use lp5::{Lp5, Lp5Memory};
pub use module::Module;
pub use rank::{AttentionSetup, Rank};
pub use ranks::{How, ManyRanks};

use crate::error::{ResidencyError, WorkloadError};
use crate::machine::{ElementFormat, LayerBanks, Machine, Resident};
use crate::outcome::Outcome;
use crate::report::lp5::Lp5Report;
use crate::report::{self, ScoreBuffer};
use crate::task::Progress;
use crate::task::{AttentionTask, TaskPlan};
use pimlico_device::Config;
use pimlico_device::gemv::IoBuffers;

/// A device with its host.
pub trait System {
    /// What it is, for reports.
    fn about(&self) -> report::SystemDescription<'_>;

    /// Organisation and timing of a rank or a channel.
    fn config(&self) -> &Config;

    /// How the vectors of matrices come to its PUs, where an operator asks for `asked`.
    fn io_buffers(&self, asked: IoBuffers) -> IoBuffers;

    /// How full what holds the scores will be.
    fn score_buffer(&self, task: &AttentionTask) -> ScoreBuffer;

    /// The last product beside its plan and the host, on LPDDR5X-PIM.
    fn lp5(&self) -> Option<Lp5Report> {
        None
    }

    /// Whether tasks can be laid out, and all of them have room: before any data are made.
    fn check(&self, plan: &TaskPlan) -> Result<(), WorkloadError>;

    /// Bytes of this machine's memory that a run of tasks which can be laid out takes, about.
    fn memory(&self, plan: &TaskPlan) -> Result<u128, WorkloadError>;

    /// Runs tasks that have been checked, one after the other.
    fn run(&mut self, plan: &TaskPlan, progress: Progress<'_>) -> Result<Outcome, WorkloadError>;

    /// The format of the elements in which it has a model's weights.
    fn elements(&self) -> ElementFormat {
        ElementFormat::BINARY16
    }

    /// Lays out a model that stays in the banks from token to token. The device has just been reset.
    fn machine<'a>(
        &'a mut self,
        resident: Resident<'a>,
    ) -> Result<Box<dyn Machine + 'a>, WorkloadError>;

    /// Lays out a model whose layers come into the banks and go. The device has just been reset.
    fn streamed<'a>(
        &'a mut self,
        _resident: Resident<'a>,
    ) -> Result<Box<dyn LayerBanks + 'a>, WorkloadError> {
        Err(ResidencyError::System.into())
    }
}
