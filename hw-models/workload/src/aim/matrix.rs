// SPDX-License-Identifier: MIT
//! Matrices times vectors on a module.

use super::{Groups, bytes};
use crate::error::WorkloadError;

use crate::judge::Reference;
use crate::judge::exact::ExactProduct;
use crate::report::link::Crossing;
use crate::report::{Operator, Written};
use crate::task::MatrixTask;
use pimlico_device::Statistics;
use pimlico_model::data::Operands;

/// A product, and what it took to write the matrix.
pub struct Product {
    /// The operator.
    pub operator: Operator,
    /// What it cost.
    pub cost: Statistics,
    /// Writing the matrix.
    pub written: Written,
}

/// Writes a matrix from row 0 of the banks on, and multiplies. The host has the rows of one group of PUs at a
/// time.
pub fn product(module: &mut Groups<'_>, task: &MatrixTask) -> Result<Product, WorkloadError> {
    let MatrixTask { operator, rows, columns, seed } = *task;
    let options = module.module_options();
    let layout = module.matrix(rows, columns, 0)?;
    let (vector, mut matrix) = Operands::one_by_one(columns, seed);
    let mut reference = Reference::of(&vector, rows);
    let mut exact = ExactProduct::of(options, &vector, rows);
    module.begin();
    for number in 0..layout.groups() {
        let there = options.pus().min(rows - reference.rows());
        let part: Vec<Vec<u16>> = matrix.by_ref().take(there).collect();
        let element = |row: usize, column: usize| part.get(row).map_or(0, |row| row[column]);
        let (element, pus) = (&element, layout.pus());
        module.write(|group| {
            layout.writes(number, move |row, column| element(group * pus + row, column))
        })?;
        for row in &part {
            reference.see(row);
            exact.see(row);
        }
    }
    let written = Written::new(module.end(), bytes(rows, columns));
    let (outputs, together) = module.product(&layout, rows, &vector)?;

    let exact = Some(exact.compare(&outputs));
    let error = reference.beside(outputs).error();
    let macs = (rows * columns) as u64;
    let operator = module.operator(operator, &together, macs, error);
    let operator = operator.on_link(module.config(), Crossing::elements(columns, rows));
    Ok(Product { operator: Operator { exact, ..operator }, cost: together.of_group(), written })
}
