// SPDX-License-Identifier: MIT
//! A module of AiM channels: operators one after the other, from row 0 of the banks on.

use super::System;
use crate::aim::{attention, matrix};
use crate::error::WorkloadError;
use crate::judge::pins::PinLog;
use crate::machine::{Machine, OnModule, Resident};
use crate::outcome::Outcome;
use crate::placement::{self, NoRows};
use crate::report::{self, Load, ModuleReport, ScoreBuffer, Stages, Written};
use crate::task::{AttentionTask, Progress, Task, TaskPlan};
use pimlico_device::aim::{AimDevice, AimLayout, GPR};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, Normalise};

/// A module, with the checker at its pins.
pub struct Module<'a> {
    module: &'a mut dyn AimDevice,
    pins: PinLog,
    timing_only: bool,
}

impl<'a> Module<'a> {
    /// A module that has just been reset.
    pub fn new(module: &'a mut dyn AimDevice) -> Self {
        let pins = PinLog::of_module(module);
        Self { module, pins, timing_only: false }
    }

    /// Of K and V heads that are alike one is run: the same costs, and the errors of what was run.
    pub fn timing_only(self, timing_only: bool) -> Self {
        Self { timing_only, ..self }
    }

    /// Rows of the banks that a task takes.
    fn bank_rows(&self, task: &Task) -> Result<u64, WorkloadError> {
        let (config, options) = (self.module.config(), self.module.options());
        Ok(match task {
            Task::Matrix(task) => {
                AimLayout::new(config, &options, task.rows, task.columns, 0)?.end_row() as u64
            }
            Task::Attention(task) => {
                let layouts = attention::layouts(config, &options, task)?;
                let of_kv_head = layouts.last().map_or(0, |head| head.v.end_row() as u64);
                of_kv_head * task.kv_heads() as u64
            }
        })
    }
}

impl System for Module<'_> {
    fn about(&self) -> report::System<'_> {
        let options = self.module.options();
        report::System {
            name: "aim",
            config: self.module.config(),
            module: Some(ModuleReport {
                channels: options.channels,
                io_buffers: options.io_buffers.name(),
                mode_change: options.changes_mode(),
            }),
            topology: None,
            refresh: options.refresh,
            normalise: Normalise::Early.name(),
            sums: "binary16",
            gear: None,
        }
    }

    fn config(&self) -> &Config {
        self.module.config()
    }

    fn io_buffers(&self, _: IoBuffers) -> IoBuffers {
        self.module.options().io_buffers
    }

    fn score_buffer(&self, task: &AttentionTask) -> ScoreBuffer {
        let scores = task.contexts.iter().copied().max().unwrap_or(0);
        ScoreBuffer { capacity: GPR, scores, passes: 1 }
    }

    fn check(&self, plan: &TaskPlan) -> Result<(), WorkloadError> {
        let mut rows = plan.tasks.iter().map(|task| self.bank_rows(task));
        let rows = rows.try_fold(0u64, |sum, rows| Ok::<_, WorkloadError>(sum + rows?))?;
        let rows = rows.saturating_mul(plan.layers as u64);
        Ok(NoRows::check(self.module.config(), plan.layers, rows)?)
    }

    fn run(&mut self, plan: &TaskPlan, progress: Progress<'_>) -> Result<Outcome, WorkloadError> {
        let all = plan.elements();
        let (mut operators, mut notes) = (Vec::new(), Vec::new());
        let (mut written, mut stages) = (Written::default(), Stages::default());
        let (mut elements, mut bank_rows) = (0, 0);
        for task in &plan.tasks {
            bank_rows += self.bank_rows(task)?;
            match task {
                Task::Matrix(task) => {
                    let product = matrix::product(self.module, task)?;
                    operators.push(product.operator);
                    written = written.and(product.written);
                }
                Task::Attention(task) => {
                    let heads = attention::run(self.module, task, self.timing_only, |done| {
                        progress(elements + done, all);
                    })?;
                    operators.extend(heads.operators);
                    stages = stages.worse(heads.stages);
                    written = written.and(heads.written);
                    notes.extend(heads.reopened.note());
                    notes.extend(heads.sample.map(|(run, all)| {
                        format!("timing only: {run} of {all} heads were run, one of each kind; the errors are theirs")
                    }));
                }
            }
            elements += task.elements();
            progress(elements, all);
        }
        let config = self.module.config();
        Ok(Outcome {
            operators,
            stages,
            load: Load::new(config, &written.cost, written.bytes),
            findings: self.pins.findings(self.module.tck()),
            bytes_per_rank: bank_rows * placement::row_bytes(config),
            notes,
        })
    }

    fn machine<'b>(
        &'b mut self,
        resident: Resident<'b>,
    ) -> Result<Box<dyn Machine + 'b>, WorkloadError> {
        Ok(Box::new(OnModule::new(self.module, &self.pins, resident)?))
    }
}
