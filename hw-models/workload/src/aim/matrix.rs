// SPDX-License-Identifier: MIT
//! Matrices times vectors on a module.

use super::{Groups, bytes};
use crate::error::WorkloadError;
use crate::judge::{ProductOrder, Reference};
use crate::report::link::Crossing;
use crate::report::{OperatorReport, Together, Verdict, Written};
use crate::task::MatrixTask;
use pimlico_device::Statistics;
use pimlico_device::aim::{AimLayout, Word, word_of};
use pimlico_model::data::Operands;

/// A product, and what it took to write the matrix.
pub struct Product {
    /// The operator.
    pub operator: OperatorReport,
    /// What it cost.
    pub cost: Statistics,
    /// Writing the matrix.
    pub written: Written,
}

/// What became of a matrix.
type Ran = (Written, Together, Verdict);

/// Writes a matrix from row 0 of the banks on, and multiplies; with `timing_only` without data. `progress` receives the
/// elements that are written.
pub fn product(
    module: &mut Groups<'_>,
    task: &MatrixTask,
    timing_only: bool,
    progress: impl Fn(u64),
) -> Result<Product, WorkloadError> {
    let MatrixTask { operator, rows, columns, .. } = *task;
    let layout = module.matrix(rows, columns, 0)?;
    module.hold(&[layout])?;
    let (written, together, judged) = match timing_only {
        true => without_data(module, task, &layout)?,
        false => with_data(module, task, &layout, progress)?,
    };
    module.release(&[layout]);
    let macs = (rows * columns) as u64;
    let operator = module.operator(operator, &together, macs, judged);
    let operator = operator.on_link(module.config(), Crossing::elements(columns, rows));
    Ok(Product { operator, cost: together.of_group(), written })
}

/// For the cost alone.
fn without_data(
    module: &mut Groups<'_>,
    task: &MatrixTask,
    layout: &AimLayout,
) -> Result<Ran, WorkloadError> {
    let MatrixTask { rows, columns, .. } = *task;
    module.begin();
    for number in 0..layout.groups() {
        module.write(|_| layout.word_writes(number, |_, _| Word::default()))?;
    }
    let written = Written::new(module.end(), bytes(rows, columns));
    let (_, together) = module.product(layout, rows, &vec![0; columns])?;
    Ok((written, together, Verdict::not_run(rows)))
}

/// With synthetic data, of which the host has the rows of one group of PUs at a time.
fn with_data(
    module: &mut Groups<'_>,
    task: &MatrixTask,
    layout: &AimLayout,
    progress: impl Fn(u64),
) -> Result<Ran, WorkloadError> {
    let MatrixTask { rows, columns, seed, .. } = *task;
    let options = module.module_options();
    let (vector, mut matrix) = Operands::one_by_one(columns, seed);
    let order = ProductOrder::on_module(&options, rows);
    let mut reference = Reference::of(order, &vector, rows);
    if module.has_own_programs() {
        reference = reference.or(Reference::of(order.other_on_module(&options), &vector, rows));
    }
    module.begin();
    for number in 0..layout.groups() {
        let there = options.pus().min(rows - reference.rows());
        let part: Vec<Vec<u16>> = matrix.by_ref().take(there).collect();
        let word =
            |row: usize, word| part.get(row).map_or(Word::default(), |row| word_of(row, word));
        let (word, pus) = (&word, layout.pus());
        module.write(|group| {
            layout.word_writes(number, move |row, number| word(group * pus + row, number))
        })?;
        reference.see_all(&part, module.threads());
        progress((reference.rows() * columns) as u64);
    }
    let written = Written::new(module.end(), bytes(rows, columns));
    let (outputs, together) = module.product(layout, rows, &vector)?;
    Ok((written, together, reference.beside(outputs).judgement()))
}
