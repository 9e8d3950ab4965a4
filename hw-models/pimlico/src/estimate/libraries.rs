// SPDX-License-Identifier: MIT
//! `pimlico estimate libraries`: whether gate equivalents depend on the library.

use super::flow::{self, FlowArguments};
use super::sheet::{self, FormatArguments, Sheet};
use crate::failure::Failure;
use crate::names;
use crate::schema::Kind;
use clap::Args;
use pimlico_estimate::{Area, Library};
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `pimlico estimate libraries`.
#[derive(Args)]
#[command(after_help = names::with_units("\
Examples:
  pimlico estimate libraries bank_pu adder_unit
  pimlico estimate libraries --second cells.lib"))]
pub struct LibrariesArguments {
    /// Units, as `pimlico cosim --list` names them
    units: Vec<String>,
    /// The second library; by default the areas of the Nangate 45 nm Open Cell Library, which are built in
    #[arg(long, value_name = "FILE")]
    second: Option<PathBuf>,
    #[command(flatten)]
    flow: FlowArguments,
    #[command(flatten)]
    format: FormatArguments,
}

/// By what share a unit may differ before it is said why.
const MOST_DIFFERENCE: f64 = 0.1;

/// What `--json` prints.
#[derive(Serialize)]
struct LibrariesReport {
    libraries: [LibraryReport; 2],
    units: Vec<UnitReport>,
    /// Why units differ that differ by more than a tenth.
    notes: Vec<String>,
}

#[derive(Serialize)]
struct LibraryReport {
    liberty: String,
    nand2_um2: f64,
    corrections: Vec<String>,
}

#[derive(Serialize)]
struct UnitReport {
    unit: String,
    flip_flops: u64,
    /// In each library.
    area_um2: [f64; 2],
    area_ge: [f64; 2],
    logic_ge: [f64; 2],
    flip_flops_ge: [f64; 2],
    /// Of the second library against the first, in percent.
    difference_percent: f64,
    logic_difference_percent: f64,
    flip_flops_difference_percent: f64,
}

/// Runs the command.
pub fn run(arguments: &LibrariesArguments) -> Result<(), Failure> {
    let specs = flow::specs(&arguments.units)?;
    let second = match &arguments.second {
        Some(file) => flow::read(file)?,
        None => Library::nangate45_areas().map_err(|e| Failure::Input(e.to_string()))?,
    };
    let flow = arguments.flow.flow()?;
    let first = flow.areas(&specs)?;
    let others = flow.areas_in(&second, &specs)?;
    let units = specs.iter().zip(first.iter().zip(&others));
    let libraries = [&flow.library, &second];
    let notes = units.clone().filter_map(|(spec, (a, b))| why(&spec.unit, libraries, [a, b]));
    let report = LibrariesReport {
        notes: notes.collect(),
        libraries: libraries.map(|library| LibraryReport {
            liberty: library.name.clone(),
            nand2_um2: library.nand2_um2,
            corrections: library.corrections.clone(),
        }),
        units: units.map(|(spec, (a, b))| unit(spec.unit.clone(), [a, b])).collect(),
    };
    sheet::print(arguments.format, (Kind::EstimateLibraries, &report), &[sheet(&report)])
}

/// Where a unit differs by more than a tenth: what its flip-flops are in each library, as they are what
/// libraries have of most unlike sizes.
fn why(unit: &str, libraries: [&Library; 2], areas: [&Area; 2]) -> Option<String> {
    let difference = areas[1].ge / areas[0].ge - 1.0;
    if difference.abs() <= MOST_DIFFERENCE {
        return None;
    }
    let flip_flops = |(library, area): (&Library, &Area)| {
        let cells = area.cells.iter().filter_map(|(name, count)| {
            let cell = library.cell(name).filter(|cell| cell.holds_state)?;
            Some(format!("{count} {name} of {:.2} GE", cell.area_um2 / library.nand2_um2))
        });
        cells.collect::<Vec<_>>().join(", ")
    };
    let [first, second] = [0, 1].map(|n| flip_flops((libraries[n], areas[n])));
    Some(format!("{unit}: {:+.1} %; flip-flops 1: {first}; 2: {second}", 100.0 * difference))
}

fn unit(unit: String, areas: [&Area; 2]) -> UnitReport {
    let of = |f: fn(&Area) -> f64| [f(areas[0]), f(areas[1])];
    let percent = |[first, second]: [f64; 2]| 100.0 * (second / first - 1.0);
    let area_ge = of(|area| area.ge);
    let logic_ge = of(|area| area.ge - area.flip_flops_ge);
    let flip_flops_ge = of(|area| area.flip_flops_ge);
    UnitReport {
        unit,
        flip_flops: areas[0].flip_flops,
        area_um2: of(|area| area.um2),
        area_ge,
        logic_ge,
        flip_flops_ge,
        difference_percent: percent(area_ge),
        logic_difference_percent: percent(logic_ge),
        flip_flops_difference_percent: percent(flip_flops_ge),
    }
}

fn sheet(report: &LibrariesReport) -> Sheet {
    let LibrariesReport { libraries: [first, second], units, notes: reasons } = report;
    let ge = |ge: f64| format!("{ge:.0}");
    // A unit without flip-flops has no difference of them.
    let percent = |percent: f64| match percent.is_finite() {
        true => format!("{percent:+.1}"),
        false => String::new(),
    };
    let rows = units.iter().map(|unit| {
        let UnitReport { area_ge, logic_ge, flip_flops_ge, .. } = unit;
        vec![
            unit.unit.clone(),
            unit.flip_flops.to_string(),
            ge(area_ge[0]),
            ge(area_ge[1]),
            percent(unit.difference_percent),
            ge(logic_ge[0]),
            ge(logic_ge[1]),
            percent(unit.logic_difference_percent),
            ge(flip_flops_ge[0]),
            ge(flip_flops_ge[1]),
            percent(unit.flip_flops_difference_percent),
        ]
    });
    let [a, b] = [first, second].map(|library| &library.liberty);
    let corrections = [first, second].into_iter().flat_map(|library| {
        library.corrections.iter().map(|correction| format!("{}: {correction}", library.liberty))
    });
    Sheet {
        title: format!(
            "gate equivalents in {a} (1: {} um2) and {b} (2: {} um2)",
            first.nand2_um2, second.nand2_um2
        ),
        columns: vec![
            "unit",
            "flip-flops",
            "1, GE",
            "2, GE",
            "2 more, %",
            "logic 1, GE",
            "logic 2, GE",
            "logic 2 more, %",
            "flip-flops 1, GE",
            "flip-flops 2, GE",
            "flip-flops 2 more, %",
        ],
        rows: rows.collect(),
        notes: corrections.chain(reasons.iter().cloned()).collect(),
    }
}
