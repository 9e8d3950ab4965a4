// SPDX-License-Identifier: MIT
//! A device of LPDDR5X-PIM: matrices times vectors, each from row 0 of the banks on.

use super::System;
use crate::error::WorkloadError;
use crate::host_memory;
use crate::judge::Findings;
use crate::judge::columns::column_product;
use crate::judge::lp5_pins::Lp5PinLog;
use crate::machine::{ElementFormat, Lp5Host, Machine, OnLp5, Resident};
use crate::outcome::Outcome;
use crate::placement;
use crate::report::lp5::{Lp5Report, RULES};
use crate::report::{
    self, Load, ModuleReport, OperatorReport, ScoreBuffer, Stages, Verdict, Written, Wrong,
};
use crate::task::{AttentionTask, MatrixTask, Progress, Task, TaskPlan};
use half::{bf16, f16};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::{
    BlockCounts, BlockElements, Lp5Device, Lp5Layout, Lp5Options, Lp5Spec, Vector,
};
use pimlico_device::{Config, Device, Normalise, Statistics};
use pimlico_host::attribute::{Attribute, MemoryPath, NoContiguous};
use pimlico_host::cache::{Cache, CacheShape};
use pimlico_host::lp5::Lp5Matrix;
use pimlico_host::lp5_path::product_by;
use pimlico_model::data::Operands;
use std::io;
use std::path::Path;

/// A device, with the checkers at its pins.
pub struct Lp5 {
    spec: Lp5Spec,
    device: Lp5Device,
    pins: Vec<Lp5PinLog>,
    fence_ns: u64,
    threads: usize,
    memory: Lp5Memory,
    /// The last product.
    last: Option<Lp5Report>,
    notes: Vec<String>,
}

/// How the host reaches weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lp5Memory {
    /// By which way.
    pub attribute: Attribute,
    /// Whether its cache brings the line behind one that missed.
    pub prefetches: bool,
    /// Bytes of contiguous memory for weights that are not cacheable, if they are limited.
    pub contiguous: Option<u64>,
}

/// Outputs of a product, what it cost, and what arrived in each channel.
type Ran = (Vec<u16>, Statistics, Vec<BlockCounts>);

impl Lp5 {
    /// A device that has just been reset, whose host takes so many ns for a fence.
    ///
    /// # Errors
    ///
    /// If there is no such device.
    pub fn new(spec: Lp5Spec, options: Lp5Options, fence_ns: u64) -> Result<Self, WorkloadError> {
        let device = Lp5Device::new(&spec, options)?;
        Ok(Self::of(device, spec, fence_ns))
    }

    /// The same of a device of `spec` that has just been reset, whoever executes it.
    pub fn of(mut device: Lp5Device, spec: Lp5Spec, fence_ns: u64) -> Self {
        let pins = Lp5PinLog::of(&mut device);
        let memory =
            Lp5Memory { attribute: Attribute::NonCacheable, prefetches: true, contiguous: None };
        let notes = Vec::new();
        Self { spec, device, pins, fence_ns, threads: 1, memory, last: None, notes }
    }

    /// Loads of weights go another way; from cacheable memory each product is run twice.
    pub fn memory(self, memory: Lp5Memory) -> Self {
        Self { memory, ..self }
    }

    /// Results are judged on so many threads of this machine.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Writes a waveform of what follows: the commands of channel 0.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn trace(&mut self, file: &Path) -> io::Result<()> {
        self.device.trace(file)
    }

    /// Ends the waveform.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish_trace(&mut self) -> io::Result<()> {
        self.device.finish_trace()
    }

    /// Where the matrix of a task lies.
    fn layout(&self, task: &Task) -> Result<Lp5Layout, WorkloadError> {
        let Task::Matrix(MatrixTask { rows, columns, .. }) = *task else {
            return Err(WorkloadError::NotBuilt { operator: task.name(), system: "lp5" });
        };
        let map = self.spec.map()?;
        let free = map.weight_rows();
        Ok(Lp5Layout::new(&map, rows as u64, columns as u64, free)?)
    }

    /// The way of loads to a matrix.
    fn path(&self, matrix: &Lp5Matrix) -> MemoryPath {
        let layout = matrix.layout();
        let (map, begin) = (layout.map(), layout.base_address());
        let region = match map.has_rows_on_top() {
            true => begin..begin + layout.bank_rows() * map.row_bytes(),
            false => 0..map.capacity(),
        };
        let shape = CacheShape { prefetches: self.memory.prefetches, ..CacheShape::default() };
        MemoryPath::new(region, self.memory.attribute, Cache::new(shape))
    }

    /// A product: its outputs, what it cost, and what arrived in each channel.
    fn product(
        &mut self,
        matrix: &Lp5Matrix,
        vector: &[u16],
        path: &mut MemoryPath,
    ) -> Result<Ran, WorkloadError> {
        self.device.begin();
        let outputs = match self.memory.attribute {
            Attribute::NonCacheable => matrix.multiply(&mut self.device, vector)?,
            Attribute::Cacheable => {
                let requests = product_by(matrix, vector, path);
                let of_channel = |channel: usize| requests[channel].iter().copied();
                matrix.multiply_by(&mut self.device, of_channel)?
            }
        };
        let channels = 0..self.device.channels();
        let counts = channels.map(|channel| self.device.counts(channel)).collect();
        Ok((outputs, self.device.end(), counts))
    }

    /// Notes what arrived in the channels.
    fn tell(&mut self, product: usize, matrix: &Lp5Matrix, counts: &[BlockCounts]) {
        let asked = matrix.asked().macs;
        let arrived: Vec<_> = counts.iter().map(|counts| counts.macs.to_string()).collect();
        let arrived = arrived.join(", ");
        self.notes.push(format!(
            "cacheable weights, product {product}: {arrived} of {asked} MACs reached the banks of each channel"
        ));
    }

    /// A task's product, and the cost of writing its matrix.
    fn matrix(
        &mut self,
        task: &Task,
        progress: impl Fn(u64),
    ) -> Result<(OperatorReport, Written), WorkloadError> {
        let layout = self.layout(task)?;
        let fence_tck = Lp5Matrix::tck_of_ns(&self.device, self.fence_ns);
        let matrix = Lp5Matrix::new(layout, fence_tck);
        let (rows, columns) = matrix.layout().shape();
        let (rows, columns) = (rows as usize, columns as usize);
        let seed = if let Task::Matrix(task) = task { task.seed } else { 0 };
        let options = self.device.options();
        let (weights, vector) = data(options.formats.elements, (rows, columns), seed);

        self.device.begin();
        matrix.load(&mut self.device, burst(&weights, (rows, columns)))?;
        let written = Written::new(self.device.end(), (2 * rows * columns) as u64);
        progress((rows * columns / 2) as u64);

        let mut path = self.path(&matrix);
        let (outputs, cost, counts) = self.product(&matrix, &vector, &mut path)?;
        let verdict = column_product(options.formats, &weights, &vector, &outputs, self.threads);
        let mut found = unlike(&matrix, &counts);
        if self.memory.attribute == Attribute::Cacheable {
            self.tell(1, &matrix, &counts);
            let (_, _, counts) = self.product(&matrix, &vector, &mut path)?;
            self.tell(2, &matrix, &counts);
            found = found.or(unlike(&matrix, &counts));
        }
        let verdict = Verdict { first: found.or(verdict.first), ..verdict };

        let how = (options.refresh, self.fence_ns);
        let took = (cost.cycles, &counts[..]);
        self.last = Some(Lp5Report::new(&self.spec, options.formats, how, &matrix, took));
        let (config, channels) = (self.device.config(), self.device.channels());
        let macs = (rows * columns) as u64;
        Ok((OperatorReport::new(task.name(), config, channels, &cost, macs, verdict), written))
    }
}

/// The first channel at whose blocks something else arrived than was asked for.
fn unlike(matrix: &Lp5Matrix, counts: &[BlockCounts]) -> Option<Wrong> {
    let (index, result, found, asked) = Lp5Report::unlike(matrix.asked(), counts)?;
    let (value, expected) = (found as f64, asked as f64);
    Some(Wrong { result, head: None, index, value, expected, bound: 0.0 })
}

/// A matrix, row behind row, and a vector.
fn data(
    elements: BlockElements,
    (rows, columns): (usize, usize),
    seed: u64,
) -> (Vec<u16>, Vec<u16>) {
    let (mut vector, matrix) = Operands::one_by_one(columns, seed);
    let mut weights = Vec::with_capacity(rows * columns);
    matrix.take(rows).for_each(|row| weights.extend_from_slice(&row));
    if elements == BlockElements::Bfloat16 {
        let rounded =
            |bits: &mut u16| *bits = bf16::from_f32(f16::from_bits(*bits).to_f32()).to_bits();
        weights.iter_mut().chain(&mut vector).for_each(rounded);
    }
    (weights, vector)
}

/// 16 rows of a column of a matrix, from a row on; rows beyond the last are zero.
fn burst(
    weights: &[u16],
    (rows, columns): (usize, usize),
) -> impl Fn(u64, u64) -> Vector + Copy + '_ {
    move |row, column| {
        let (row, column) = (row as usize, column as usize);
        let mut vector = [0; LANES];
        let there = LANES.min(rows - row);
        for (lane, bits) in vector[..there].iter_mut().enumerate() {
            *bits = weights[(row + lane) * columns + column];
        }
        vector
    }
}

impl System for Lp5 {
    fn about(&self) -> report::SystemDescription<'_> {
        let options = self.device.options();
        report::SystemDescription {
            name: "lp5",
            config: self.device.config(),
            module: Some(ModuleReport {
                channels: self.device.channels(),
                groups: None,
                io_buffers: IoBuffers::Single.name(),
                mode_change: true,
                pu_clocks: None,
                softmax_lanes: None,
                head_pipeline: false,
                shared_rows: false,
            }),
            topology: None,
            refresh: options.refresh,
            normalise: Normalise::Early.name(),
            sums: options.formats.sums(),
            gear: None,
        }
    }

    fn config(&self) -> &Config {
        self.device.config()
    }

    fn io_buffers(&self, _: IoBuffers) -> IoBuffers {
        IoBuffers::Single
    }

    fn score_buffer(&self, _: &AttentionTask) -> ScoreBuffer {
        ScoreBuffer { capacity: 0, scores: 0, passes: 0 }
    }

    fn lp5(&self) -> Option<Lp5Report> {
        self.last.clone()
    }

    fn check(&self, plan: &TaskPlan) -> Result<(), WorkloadError> {
        plan.tasks.iter().try_for_each(|task| {
            let layout = self.layout(task)?;
            let (rows, columns) = layout.shape();
            let what = format!("matrix of {rows} x {columns}");
            let bytes = layout.bank_rows() * layout.map().row_bytes();
            Ok(NoContiguous::check(&what, bytes, self.memory.contiguous)?)
        })
    }

    fn memory(&self, plan: &TaskPlan) -> Result<u128, WorkloadError> {
        let mut most = 0;
        for task in &plan.tasks {
            let layout = self.layout(task)?;
            let (config, channels) = (self.device.config(), self.device.channels());
            let cells = host_memory::of_rows(config, layout.bank_rows(), channels);
            most = most.max(cells + 2 * u128::from(task.elements()));
        }
        Ok(host_memory::BESIDE + most)
    }

    fn run(&mut self, plan: &TaskPlan, progress: Progress<'_>) -> Result<Outcome, WorkloadError> {
        let all = plan.elements();
        let (mut operators, mut written, mut elements) = (Vec::new(), Written::default(), 0);
        let mut bank_rows = 0;
        for task in &plan.tasks {
            bank_rows = self.layout(task)?.bank_rows().max(bank_rows);
            let (operator, load) = self.matrix(task, |done| progress(elements + done, all))?;
            operators.push(operator);
            written = written.and(load);
            elements += task.elements();
            progress(elements, all);
        }
        let mut notes = std::mem::take(&mut self.notes);
        notes.push(RULES.to_owned());
        let config = self.device.config();
        Ok(Outcome {
            operators,
            stages: Stages::default(),
            load: Load::new(config, &written.cost, written.bytes),
            findings: self.findings(),
            bytes_per_rank: bank_rows * placement::row_bytes(config),
            notes,
        })
    }

    fn elements(&self) -> ElementFormat {
        ElementFormat(self.device.options().formats.elements)
    }

    fn machine<'a>(
        &'a mut self,
        resident: Resident<'a>,
    ) -> Result<Box<dyn Machine + 'a>, WorkloadError> {
        let Lp5Memory { attribute, prefetches, contiguous } = self.memory;
        let fence_tck = Lp5Matrix::tck_of_ns(&self.device, self.fence_ns);
        let host = Lp5Host { attribute, prefetches, contiguous, fence_tck };
        let map = self.spec.map()?;
        Ok(Box::new(OnLp5::new(&mut self.device, &self.pins, &map, host, resident)?))
    }
}

impl Lp5 {
    fn findings(&self) -> Findings {
        Lp5PinLog::findings(&self.pins, self.device.tck())
    }
}
