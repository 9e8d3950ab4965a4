// SPDX-License-Identifier: MIT
//! A module of AiM channels: operators one after the other, from row 0 of the banks on. Its channels may be in groups, with
//! a head of attention in each ([`Groups`]).

use super::{AttentionSetup, System};
use crate::aim::attention::Piped;
use crate::aim::{Groups, attention, idle_note, matrix};
use crate::error::WorkloadError;
use crate::host_memory;
use crate::judge::pins::PinLog;
use crate::machine::{Machine, OnModule, Resident};
use crate::outcome::Outcome;
use crate::placement::{self, NoRows};
use crate::report::{self, Load, ModuleReport, ScoreBuffer, Stages, Written};
use crate::task::{AttentionTask, Progress, Task, TaskPlan};
use pimlico_device::aim::{Pu, RTL_LANES};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, Normalise};
use pimlico_host::aim::{AimHost, OwnPrograms, OwnProgramsError};

/// A module, with the checker at its pins.
pub struct Module<'a> {
    module: Groups<'a>,
    pins: PinLog,
    timing_only: bool,
    /// The words of the operator's programs, if they are a user's own.
    programs: Option<Vec<u64>>,
}

impl<'a> Module<'a> {
    /// A module that has just been reset, by its groups of channels.
    pub fn new(groups: &'a mut [AimHost]) -> Self {
        let mut module = Groups::new(groups);
        let pins = PinLog::of_module(module.first());
        Self { module, pins, timing_only: false, programs: None }
    }

    /// With a dispatcher that is set up otherwise: programs of one's own stand one behind the other, as
    /// [`OwnPrograms`] has them.
    pub fn with_setup(mut self, setup: AttentionSetup) -> Self {
        self.module.set_longest(setup.longest.unwrap_or(0));
        Self { programs: setup.program, ..self }
    }

    /// Of K and V heads that are alike one is run, and all without data: the same costs, and no results.
    pub fn timing_only(mut self, timing_only: bool) -> Self {
        if timing_only {
            self.module.leave_data_out();
        }
        Self { timing_only, ..self }
    }

    /// Data are made and results judged on so many threads of this machine; results do not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.module.set_threads(threads);
        self
    }

    /// How many sets of K and V heads are in the banks at once: all of them where softmax is beside other heads.
    fn sets_at_once(&self, task: &AttentionTask) -> usize {
        let all = task.kv_heads().div_ceil(self.module.count());
        if self.module.options().head_pipeline { all } else { 1 }
    }

    /// The user's own programs of a task.
    fn own_programs(&self, task: &Task) -> Result<Option<OwnPrograms>, OwnProgramsError> {
        let Some(words) = &self.programs else { return Ok(None) };
        if self.module.options().head_pipeline {
            return Err(OwnProgramsError::HeadPipeline);
        }
        let words = words.clone();
        Ok(Some(match task {
            Task::Matrix(_) => OwnPrograms::of_product(words)?,
            Task::Attention(_) => OwnPrograms::of_attention(words)?,
        }))
    }

    /// Rows of the banks that a task takes.
    fn bank_rows(&self, task: &Task) -> Result<u64, WorkloadError> {
        Ok(match task {
            Task::Matrix(task) => self.module.matrix(task.rows, task.columns, 0)?.end_row() as u64,
            Task::Attention(task) => {
                let layouts = attention::layouts(&self.module, task)?;
                let of_kv_heads = layouts.last().map_or(0, |head| head.v.end_row() as u64);
                of_kv_heads * task.kv_heads().div_ceil(self.module.count()) as u64
            }
        })
    }
}

impl System for Module<'_> {
    fn about(&self) -> report::SystemDescription<'_> {
        let options = self.module.module_options();
        report::SystemDescription {
            name: "aim",
            config: self.module.config(),
            module: Some(ModuleReport {
                channels: options.channels,
                groups: Some(self.module.count()).filter(|&groups| groups > 1),
                io_buffers: options.io_buffers.name(),
                mode_change: options.changes_mode(),
                pu_clocks: (options.pu_clocks != Pu::LATENCY).then_some(options.pu_clocks),
                head_pipeline: options.head_pipeline,
                shared_rows: options.shared_rows,
                softmax_lanes: Some(options.softmax_lanes).filter(|&lanes| lanes != RTL_LANES),
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
        ScoreBuffer { capacity: self.module.gpr(), scores, passes: 1 }
    }

    fn check(&self, plan: &TaskPlan) -> Result<(), WorkloadError> {
        for task in &plan.tasks {
            self.own_programs(task)?;
        }
        let mut rows = plan.tasks.iter().map(|task| self.bank_rows(task));
        let rows = rows.try_fold(0u64, |sum, rows| Ok::<_, WorkloadError>(sum + rows?))?;
        let rows = rows.saturating_mul(plan.layers as u64);
        Ok(NoRows::check(self.module.config(), plan.layers, rows)?)
    }

    fn memory(&self, plan: &TaskPlan) -> Result<u128, WorkloadError> {
        let options = self.module.module_options();
        let (mut rows, mut host) = (0, 0);
        for task in &plan.tasks {
            rows = rows.max(match task {
                Task::Matrix(_) => self.bank_rows(task)?,
                Task::Attention(task) => {
                    let layouts = attention::layouts(&self.module, task)?;
                    let rows = layouts.last().map_or(0, |head| head.v.end_row() as u64);
                    rows * self.sets_at_once(task) as u64
                }
            });
            let at_once = match task {
                Task::Attention(task) => self.module.count() * self.sets_at_once(task),
                Task::Matrix(_) => 1,
            };
            host = host.max(at_once as u128 * host_memory::of_task(task, options.pus()));
        }
        let cells = host_memory::of_rows(self.module.config(), rows, options.channels);
        Ok(host_memory::BESIDE + cells + host)
    }

    fn run(&mut self, plan: &TaskPlan, progress: Progress<'_>) -> Result<Outcome, WorkloadError> {
        let all = plan.elements();
        let (mut operators, mut notes) = (Vec::new(), Vec::new());
        let (mut written, mut stages) = (Written::default(), Stages::default());
        let (mut elements, mut bank_rows) = (0, 0);
        for task in &plan.tasks {
            bank_rows += self.bank_rows(task)?;
            if let Some(programs) = self.own_programs(task)? {
                self.module.set_programs(&programs);
            }
            match task {
                Task::Matrix(task) => {
                    let product =
                        matrix::product(&mut self.module, task, self.timing_only, |done| {
                            progress(elements + done, all);
                        })?;
                    operators.push(product.operator);
                    written = written.and(product.written);
                }
                Task::Attention(task) => {
                    let heads = attention::run(&mut self.module, task, self.timing_only, |done| {
                        progress(elements + done, all);
                    })?;
                    operators.extend(heads.append);
                    operators.extend(heads.operators);
                    stages = stages.worse(heads.stages);
                    written = written.and(heads.written);
                    notes.extend(heads.reopened.note());
                    notes.extend(heads.piped.map(Piped::note));
                    notes.extend(heads.sample.map(|(run, all)| {
                        format!("timing only: {run} of {all} heads were run, one of each kind")
                    }));
                    notes.extend(idle_note(heads.idle.0, heads.idle.1, "queries"));
                }
            }
            elements += task.elements();
            progress(elements, all);
        }
        if self.timing_only {
            notes.push("timing only: there were no data, and no result is judged".to_owned());
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
        Ok(Box::new(OnModule::new(self.module.borrowed(), &self.pins, resident)?))
    }
}
