// SPDX-License-Identifier: MIT
//! Tables of an estimate, in the format that is asked for.

use crate::failure::Failure;
pub use crate::output::FormatArguments;
use crate::output::{self, Page};
use crate::schema::Kind;
use pimlico_estimate::memory::Memory;
use serde::Serialize;

/// A table.
pub struct Sheet {
    /// What it is a table of.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Its rows: a cell for each column.
    pub rows: Vec<Vec<String>>,
    /// What has to be known to read it, a line each.
    pub notes: Vec<String>,
}

/// Columns of a memory.
pub const MEMORY: [&str; 5] = ["memory", "words x bits", "ports", "read", "area, mm2"];

/// A memory's cells in these columns.
pub fn memory_cells(memory: &Memory, area_mm2: f64) -> [String; 5] {
    let Memory { name, words, bits, ports, is_clocked } = memory;
    let read = if *is_clocked { "with the clock" } else { "in the cycle that asks: no macro" };
    let ports = match ports.are_shared {
        true => "1".to_owned(),
        false => format!("{} read, {} write", ports.reads, ports.writes),
    };
    let size = format!("{words} x {bits}");
    [name.clone(), size, ports, read.to_owned(), format!("{area_mm2:.4}")]
}

impl From<&Sheet> for Page {
    fn from(sheet: &Sheet) -> Self {
        let Sheet { title, columns, rows, notes } = sheet;
        let mut page = Self::from(format!("{title}\n\n"));
        page += output::table(columns, rows.iter().cloned());
        notes.iter().for_each(|note| page += format!("{note}\n"));
        page
    }
}

/// Prints a report as tables, or as one document.
pub fn print(
    arguments: FormatArguments,
    (kind, report): (Kind, &impl Serialize),
    sheets: &[Sheet],
) -> Result<(), Failure> {
    let mut page = Page::default();
    for (n, sheet) in sheets.iter().enumerate() {
        page += if n > 0 { "\n" } else { "" };
        page += sheet;
    }
    output::report(arguments, (kind, report), &page)
}
