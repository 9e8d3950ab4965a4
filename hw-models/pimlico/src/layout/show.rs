// SPDX-License-Identifier: MIT
//! `pimlico layout show`: where an element of a matrix lies, step by step.

use crate::failure::Failure;
use crate::output::{self, FormatArguments, Page};
use crate::schema::Kind;
use clap::Args;
use pimlico_device::lp5::layout::{LANES, OUTPUT_REGISTERS};
use pimlico_device::lp5::{AddressField, AddressMap, HostOrder, Lp5Layout};
use serde::Serialize;

/// Arguments of `pimlico layout show`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico layout show --rows 2048 --cols 512 --element 17,3
  pimlico layout show --rows 64 --cols 3 --element 48,0 --map 'row:3 col:2 bank:2 byte:5' --json")]
pub struct ShowArguments {
    /// Rows of the matrix: outputs
    #[arg(long, value_name = "R")]
    rows: u64,
    /// Columns of the matrix: inputs
    #[arg(long, value_name = "C")]
    cols: u64,
    /// The element: its row, a comma, its column
    #[arg(long, value_name = "ROW,COLUMN", value_parser = element)]
    element: (u64, u64),
    /// Fields of an address from the top, with their bits
    #[arg(long, default_value = AddressMap::DEFAULT, value_name = "FIELDS")]
    map: AddressMap,
    /// The first row of each bank that the matrix takes
    #[arg(long, default_value_t = 0, value_name = "ROW")]
    first_row: u64,
    #[command(flatten)]
    format: FormatArguments,
}

/// A row and a column.
fn element(text: &str) -> Result<(u64, u64), String> {
    let both = text.split_once(',');
    let both = both.and_then(|(row, column)| Some((row.parse().ok()?, column.parse().ok()?)));
    both.ok_or_else(|| "expected a row, a comma and a column, as 17,3".to_owned())
}

/// What `layout show --json` prints.
#[derive(Serialize)]
struct Shown {
    rows: u64,
    columns: u64,
    padded_rows: u64,
    registers: u64,
    bank_rows: u64,
    row: u64,
    column: u64,
    vector: u64,
    lane: u64,
    bank_number: u64,
    output_tile: u64,
    output_register: u64,
    burst: u64,
    channel: u64,
    rank: u64,
    bank_group: u64,
    bank: u64,
    bank_row: u64,
    bank_column: u64,
    byte: u64,
    address: u64,
    pim_offset: i64,
    host_column_major: u64,
    host_row_major: u64,
}

/// Runs the command.
pub fn run(arguments: &ShowArguments) -> Result<(), Failure> {
    let ShowArguments { rows, cols, element: (row, column), map, first_row, format } = arguments;
    let (rows, columns, row, column) = (*rows, *cols, *row, *column);
    let free = *first_row..map.count(AddressField::Row);
    let layout = Lp5Layout::new(map, rows, columns, free);
    let layout = layout.map_err(|error| Failure::Input(format!("--rows, --cols: {error}")))?;
    if row >= rows || column >= columns {
        return Err(Failure::Input(format!(
            "--element {row},{column}: expected one of the matrix, {rows} x {columns}"
        )));
    }
    let at = layout.element(row, column);
    let (vector, lane) = (row / LANES as u64, row % LANES as u64);
    let register = vector / map.banks();
    let address = layout.address(row, column);
    let host = |order: HostOrder| order.offset((rows, columns), (row, column));
    let shown = Shown {
        rows,
        columns,
        padded_rows: layout.padded_rows(),
        registers: layout.registers(),
        bank_rows: layout.bank_rows(),
        row,
        column,
        vector,
        lane,
        bank_number: vector % map.banks(),
        output_tile: register / OUTPUT_REGISTERS,
        output_register: register % OUTPUT_REGISTERS,
        burst: (at.row - layout.first_row()) * map.count(AddressField::Column) + at.column,
        channel: at.channel,
        rank: at.rank,
        bank_group: at.bank_group,
        bank: at.bank,
        bank_row: at.row,
        bank_column: at.column,
        byte: at.byte,
        address,
        pim_offset: address as i64 - layout.base_address() as i64,
        host_column_major: host(HostOrder::ColumnMajor),
        host_row_major: host(HostOrder::RowMajor),
    };
    output::report(*format, (Kind::LayoutShow, &shown), &page(&shown, map))
}

fn page(shown: &Shown, map: &AddressMap) -> Page {
    let Shown { rows, columns, padded_rows, registers, bank_rows, row, column, .. } = *shown;
    let title = format!(
        "{rows} x {columns}, padded to {padded_rows} rows: {registers} registers and {bank_rows} rows of each of {} \
         banks\naddress map {map}\n\n",
        map.banks()
    );
    let steps = [
        ("row, r", row),
        ("column, c", column),
        ("vector of 16 rows, v", shown.vector),
        ("lane", shown.lane),
        ("bank of all, B", shown.bank_number),
        ("output tile, o", shown.output_tile),
        ("output register, q", shown.output_register),
        ("burst of the bank, s", shown.burst),
        ("channel", shown.channel),
        ("rank", shown.rank),
        ("bank group", shown.bank_group),
        ("bank", shown.bank),
        ("row of the bank", shown.bank_row),
        ("column of the row", shown.bank_column),
        ("byte of the burst", shown.byte),
        ("physical address", shown.address),
    ];
    let offsets = [
        ("host's offset, column by column", shown.host_column_major),
        ("host's offset, row by row", shown.host_row_major),
    ];
    let rows = |steps: &[(&str, u64)]| -> Vec<Vec<String>> {
        steps.iter().map(|(what, value)| vec![(*what).to_owned(), value.to_string()]).collect()
    };
    let pim = vec!["offset from the matrix' first row".to_owned(), shown.pim_offset.to_string()];
    let table = rows(&steps).into_iter().chain([pim]).chain(rows(&offsets));
    Page::from(title) + output::table(&["step", "value"], table)
}
