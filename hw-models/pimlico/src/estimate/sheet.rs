// SPDX-License-Identifier: MIT
//! Tables of an estimate, in the format that is asked for.

use crate::failure::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use pimlico_estimate::memory::Memory;
use serde::Serialize;
use std::fmt::Write;

/// How a result is printed.
#[derive(Args, Clone, Copy, Default)]
pub struct FormatArguments {
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// The same as --format json
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Table,
    /// Markdown
    Md,
    /// Comma-separated values
    Csv,
    /// One document
    Json,
}

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
pub const MEMORY: [&str; 5] = ["memory", "words x bits", "ports", "read", "mm2"];

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

/// Prints a report as tables, or as one document.
pub fn print(
    arguments: FormatArguments,
    report: &impl Serialize,
    sheets: &[Sheet],
) -> Result<(), Failure> {
    let format = if arguments.json { Format::Json } else { arguments.format };
    let text = |of: fn(&Sheet) -> String| sheets.iter().map(of).collect::<Vec<_>>().join("\n");
    match format {
        Format::Json => output::print_json(report),
        Format::Table => output::print(&text(for_people)),
        Format::Md => output::print(&text(markdown)),
        Format::Csv => output::print(&text(separated)),
    }
}

fn for_people(sheet: &Sheet) -> String {
    let Sheet { title, columns, rows, notes } = sheet;
    let table = output::table(columns, rows.iter().cloned());
    let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
    format!("{title}\n\n{table}{notes}")
}

fn markdown(sheet: &Sheet) -> String {
    let Sheet { title, columns, rows, notes } = sheet;
    let mut text = format!("{title}\n\n| {} |\n", columns.join(" | "));
    let _ = writeln!(text, "| {} |", vec!["---"; columns.len()].join(" | "));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    for note in notes {
        let _ = write!(text, "\n{note}\n");
    }
    text
}

/// Titles and notes are left out: what reads this reads columns.
fn separated(sheet: &Sheet) -> String {
    let line = |cells: Vec<&str>| {
        let quoted = cells.iter().map(|cell| match cell.contains([',', '"', '\n']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => (*cell).to_owned(),
        });
        quoted.collect::<Vec<_>>().join(",") + "\n"
    };
    let rows = sheet.rows.iter().map(|row| line(row.iter().map(String::as_str).collect()));
    line(sheet.columns.clone()) + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        Sheet {
            title: "areas".to_owned(),
            columns: vec!["unit", "GE"],
            rows: vec![vec!["a, \"b\"".to_owned(), "1".to_owned()]],
            notes: vec!["GE: gate equivalents".to_owned()],
        }
    }

    #[test]
    fn values_with_separators_are_quoted() {
        assert_eq!(separated(&sheet()), "unit,GE\n\"a, \"\"b\"\"\",1\n");
    }

    #[test]
    fn markdown_has_a_rule_below_the_names() {
        let text =
            "areas\n\n| unit | GE |\n| --- | --- |\n| a, \"b\" | 1 |\n\nGE: gate equivalents\n";
        assert_eq!(markdown(&sheet()), text);
    }
}
