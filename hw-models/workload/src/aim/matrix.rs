// SPDX-License-Identifier: MIT
//! Matrices times vectors on a module: bare, or the fully-connected operators of a layer.

use super::{RunError, bytes, compare, golden_output, is_compared};
use crate::fc::{self, MatrixShape};
use crate::gemv::{self, Operands};
use crate::pins::PinLog;
use crate::report::{Error, GemvReport, JobReport, Load, Operator, Report};
use pimlico_device::Statistics;
use pimlico_device::aim::{self as device, AimLayout, Module, Operand};
use pimlico_golden::error::ErrorReport;
use pimlico_golden::format::Format;

/// Multiplies a matrix of so many rows and columns with a vector.
pub fn run(
    module: &mut Module,
    rows: usize,
    columns: usize,
    seed: u64,
) -> Result<Report, RunError> {
    let pins = PinLog::of_module(module);
    let shape = MatrixShape { operator: "gemv", rows, columns };
    let Product { operator, load, bytes, .. } = product(module, shape, seed)?;
    let io_buffers = module.options().io_buffers.name();
    let job = JobReport::Gemv(GemvReport { rows, columns, io_buffers });
    let load = Load::new(module.config(), &load, bytes);
    Ok(super::report(module, &pins, job, seed, load, vec![operator]))
}

/// Runs the fully-connected operators of a layer, each from row 0 of the banks on. `progress` is told
/// after each.
pub fn run_layer(
    module: &mut Module,
    job: &fc::FcJob,
    mut progress: impl FnMut(),
) -> Result<Report, RunError> {
    for &MatrixShape { rows, columns, .. } in &job.shapes {
        AimLayout::new(module.config(), &module.options(), rows, columns, 0)?;
    }
    let pins = PinLog::of_module(module);
    let mut operators = Vec::new();
    let (mut load, mut bytes) = (Statistics::default(), 0);
    for (seed, shape) in job.seeds().zip(&job.shapes) {
        let product = product(module, *shape, seed)?;
        operators.push(product.operator);
        load = load.and(product.load);
        bytes += product.bytes;
        progress();
    }
    let load = Load::new(module.config(), &load, bytes);
    Ok(super::report(module, &pins, job.report(), job.seed, load, operators))
}

/// A product, and what it took to write the matrix.
pub(super) struct Product {
    pub operator: Operator,
    pub cost: Statistics,
    load: Statistics,
    bytes: u64,
}

/// Writes a matrix from row 0 of the banks on, and multiplies. The host has the rows of one group at a
/// time.
pub(super) fn product(
    module: &mut Module,
    shape: MatrixShape,
    seed: u64,
) -> Result<Product, RunError> {
    let MatrixShape { operator, rows, columns } = shape;
    let layout = AimLayout::new(module.config(), &module.options(), rows, columns, 0)?;
    let (vector, mut matrix) = Operands::one_by_one(columns, seed);
    let in_float64 = gemv::decoded(&vector);
    let (mut expected, mut golden) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    module.begin();
    for group in 0..layout.groups() {
        let there = layout.pus().min(rows - expected.len());
        let part: Vec<Vec<u16>> = matrix.by_ref().take(there).collect();
        module.write(layout.writes(group, |row, column| part[row][column]))?;
        for row in &part {
            let compared = is_compared(rows, columns, expected.len());
            golden.push(compared.then(|| golden_output(module, rows, row, &vector)));
            expected.push(gemv::dot(row, &in_float64));
        }
    }
    let load = module.end();
    let (outputs, cost) = device::gemv(module, &layout, Operand::Vector(&vector), 0)?;

    let error = Error::from(ErrorReport::new(Format::BINARY16, &outputs, &expected));
    let (channels, macs) = (module.options().channels, (rows * columns) as u64);
    let operator = Operator::on_channels(operator, module.config(), channels, &cost, macs, error);
    let operator = Operator { exact: Some(compare(&outputs, &golden)), ..operator };
    Ok(Product { operator, cost, load, bytes: bytes(&layout) })
}
