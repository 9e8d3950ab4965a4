// SPDX-License-Identifier: MIT
//! The operators of a language model on a module of AiM channels.
//!
//! * [`attention`]: of a layer's heads, score, softmax and context one after the other.
//! * [`matrix`]: matrices times vectors, bare or as the fully-connected operators of a layer.
//! * [`io_buffers`]: ping-pong I/O buffers against single ones, beside LoL-PIM's figures.
//! * [`assumptions`]: the same under what the paper leaves open.

pub mod assumptions;
pub mod attention;
pub mod io_buffers;
pub mod matrix;

use crate::pins::PinLog;
use crate::report::{Exact, JobReport, Load, ModuleReport, Operator, Report, System};
use pimlico_device::Normalise;
use pimlico_device::aim::{AimError, AimLayout, LayoutError, MULTIPLIERS, Module, Word};
use pimlico_golden::dot::{dot, dot_in_parts};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A head or a matrix does not fit.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The device stopped.
    #[error(transparent)]
    Device(#[from] AimError),
}

/// The report of operators on a module.
pub(crate) fn report(
    module: &Module,
    pins: &PinLog,
    job: JobReport,
    seed: u64,
    load: Load,
    operators: Vec<Operator>,
) -> Report {
    let options = module.options();
    let system = System {
        name: "aim",
        config: module.config(),
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
    };
    Report::of_system(&system, pins.violations(module.tck()), job, seed, load, operators)
}

/// Bytes that a matrix takes in the banks.
fn bytes(layout: &AimLayout) -> u64 {
    (layout.rows * layout.columns.div_ceil(MULTIPLIERS) * size_of::<Word>()) as u64
}

/// What `golden` has for an output: a row of the matrix times the vector.
fn golden_output(module: &Module, rows: usize, row: &[u16], vector: &[u16]) -> u16 {
    let precision = Precision::uniform(Format::BINARY16, Subnormals::Gradual);
    let options = module.options();
    if options.sums_stay(rows) {
        dot(precision, MULTIPLIERS, row, vector)
    } else {
        dot_in_parts(precision, MULTIPLIERS, options.tile(), row, vector)
    }
}

/// Multiply-accumulates that `golden` does for an operator, at the most: about a second.
const GOLDEN_MACS: usize = 1 << 22;

/// Which outputs of a matrix are compared with `golden`'s: every one, or, where that would take long,
/// every so many, and the last.
fn is_compared(rows: usize, columns: usize, row: usize) -> bool {
    let every = (rows * columns).div_ceil(GOLDEN_MACS);
    row.is_multiple_of(every) || row + 1 == rows
}

/// Compares results with those of `golden` that there are.
fn compare(got: &[u16], golden: &[Option<u16>]) -> Exact {
    let compared = || got.iter().zip(golden).filter_map(|(got, golden)| Some((got, (*golden)?)));
    Exact {
        outputs: got.len() as u64,
        checked: compared().count() as u64,
        differing: compared().filter(|(got, golden)| **got != *golden).count() as u64,
    }
}
