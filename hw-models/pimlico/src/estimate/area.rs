// SPDX-License-Identifier: MIT
//! `pimlico estimate area`: units synthesised, beside the papers' figures.

use super::flow::{self, FlowArguments};
use super::sheet::{self, FormatArguments, Sheet};
use crate::failure::Failure;
use clap::Args;
use pimlico_estimate::{Area, Job, memory, paper};
use serde::Serialize;
use std::collections::BTreeMap;

/// Arguments of `pimlico estimate area`.
#[derive(Args)]
pub struct Arguments {
    /// Units, as `pimlico cosim --list` names them
    units: Vec<String>,
    #[command(flatten)]
    flow: FlowArguments,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    liberty: String,
    nand2_um2: f64,
    clock_ns: f64,
    /// What of the library is known to be wrong and was corrected.
    corrections: Vec<String>,
    units: Vec<UnitReport>,
    memories: Vec<MemoryReport>,
}

#[derive(Serialize)]
struct UnitReport {
    unit: String,
    parameters: BTreeMap<&'static str, i64>,
    flip_flops: u64,
    flip_flops_ge: f64,
    area_um2: f64,
    area_ge: f64,
    /// None if the library has no timing.
    slack_ns: Option<f64>,
    path: Vec<String>,
    cells: BTreeMap<String, u64>,
    /// Not estimated.
    power_mw: Option<f64>,
    paper: Option<PaperReport>,
}

#[derive(Serialize)]
struct PaperReport {
    area_um2: f64,
    area_ge: f64,
    /// With the largest and the smallest gate equivalent of 28 nm.
    area_ge_range: [f64; 2],
    power_mw: f64,
}

#[derive(Serialize)]
struct MemoryReport {
    memory: &'static str,
    per: &'static str,
    bytes: u64,
    area_mm2_28nm: f64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let jobs = flow::jobs(&arguments.units)?;
    let flow = arguments.flow.flow()?;
    let areas = flow.areas(&jobs)?;
    let memories = memory::BUFFERS.map(|memory::Buffer { name, bytes, per }| MemoryReport {
        memory: name,
        per,
        bytes,
        area_mm2_28nm: memory::area_mm2(bytes, 28.0),
    });
    let report = Report {
        liberty: flow.library.name.clone(),
        nand2_um2: flow.library.nand2_um2,
        clock_ns: flow.clock_ns,
        corrections: flow.library.corrections.clone(),
        units: jobs.iter().zip(areas).map(|(job, area)| unit_report(job, area)).collect(),
        memories: memories.into(),
    };
    sheet::print(arguments.format, &report, &[units_sheet(&report), memories_sheet(&report)])
}

fn unit_report(job: &Job, area: Area) -> UnitReport {
    let (slack_ns, path) = area.timing.map(|timing| (timing.slack_ns, timing.path)).unzip();
    let paper = paper::figure(job.module).filter(|_| !job.unit.contains("x16")).map(|figure| {
        let [least, _, most] = paper::NAND2_28NM_UM2;
        PaperReport {
            area_um2: figure.um2,
            area_ge: figure.ge(),
            area_ge_range: [figure.um2 / most, figure.um2 / least],
            power_mw: figure.mw,
        }
    });
    UnitReport {
        unit: job.unit.clone(),
        parameters: job.parameters.iter().copied().collect(),
        flip_flops: area.flip_flops,
        flip_flops_ge: area.flip_flops_ge,
        area_um2: area.um2,
        area_ge: area.ge,
        slack_ns,
        path: path.unwrap_or_default(),
        cells: area.cells,
        power_mw: None,
        paper,
    }
}

fn units_sheet(report: &Report) -> Sheet {
    let Report { liberty, nand2_um2, clock_ns, corrections, units, .. } = report;
    let rows = units.iter().map(|unit| {
        let of_timing = |f: &dyn Fn(f64) -> String| unit.slack_ns.map_or(String::new(), f);
        let of_paper =
            |f: &dyn Fn(&PaperReport) -> String| unit.paper.as_ref().map_or(String::new(), f);
        vec![
            unit.unit.clone(),
            unit.flip_flops.to_string(),
            format!("{:.0}", unit.area_um2),
            format!("{:.0}", unit.area_ge),
            of_timing(&|slack| format!("{slack:.2}")),
            of_timing(&|slack| format!("{:.2}", clock_ns - slack)),
            of_paper(&|paper| format!("{:.0}", paper.area_ge)),
            of_paper(&|paper| format!("{:.2}", unit.area_ge / paper.area_ge)),
        ]
    });
    let [least, used, most] = paper::NAND2_28NM_UM2;
    let mut notes = vec![format!(
        "paper: L3, Table 5, at {used} um2 for a GE of 28 nm; from {most} to {least} um2 its figures \
         are {:.2} to {:.2} times as many",
        used / most,
        used / least
    )];
    notes.extend(corrections.iter().map(|correction| format!("{liberty}: {correction}")));
    if units.iter().all(|unit| unit.slack_ns.is_none()) {
        notes.push(format!("{liberty} has no timing: slack and delay are left open"));
    }
    Sheet {
        title: format!(
            "area of {liberty} at {clock_ns} ns; a gate equivalent (GE) is {nand2_um2} um2"
        ),
        columns: vec![
            "unit",
            "flip-flops",
            "um2",
            "GE",
            "slack ns",
            "delay ns",
            "paper GE",
            "of the paper's",
        ],
        rows: rows.collect(),
        notes,
    }
}

fn memories_sheet(report: &Report) -> Sheet {
    let rows = report.memories.iter().map(|memory| {
        let MemoryReport { memory, per, bytes, area_mm2_28nm } = memory;
        let (memory, per) = ((*memory).to_owned(), (*per).to_owned());
        vec![memory, per, bytes.to_string(), format!("{area_mm2_28nm:.3}")]
    });
    Sheet {
        title: "Buffers, by a model of SRAM at 28 nm".to_owned(),
        columns: vec!["buffer", "one in a", "bytes", "mm2"],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}
