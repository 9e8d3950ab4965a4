// SPDX-License-Identifier: MIT
//! `pimlico estimate area --system`: what a system consists of, by its hierarchy.

use super::devices::Devices;
use super::flow::ToolArguments;
use super::netlists::Maker;
use super::parts::DesignReport;
use super::picture::{Bar, BarPanel, Picture, PlotArgument, Scale, whole};
use super::sheet::{self, FormatArguments};
use crate::failure::Failure;
use crate::schema::Kind;
use clap::ValueEnum;
use pimlico_device::SystemKind;
use pimlico_dpa::clock::Gear;
use pimlico_estimate::memory::Memory;
use pimlico_estimate::paper;
use pimlico_estimate::{DEFAULT_LIBRARY, UnitSpec};
use serde::Serialize;
use std::path::Path;

/// A system whose units are estimated.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SystemArgument {
    /// L3's bank, chip, rank and DIMM
    L3,
    /// PU, channel, hub and module of AiMs, with the buffers of its device
    Aim,
}

impl From<SystemArgument> for SystemKind {
    fn from(argument: SystemArgument) -> Self {
        match argument {
            SystemArgument::L3 => Self::L3,
            SystemArgument::Aim => Self::Aim,
        }
    }
}

impl SystemArgument {
    /// Of a kind of device; none of one whose units there are no netlists of.
    pub fn of(kind: SystemKind) -> Option<Self> {
        [Self::L3, Self::Aim].into_iter().find(|&system| SystemKind::from(system) == kind)
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct SystemReport {
    system: SystemKind,
    device: String,
    liberty: String,
    /// Areas of a NAND2 at 28 nm, to which the ranges belong.
    nand2_28nm_um2: [f64; 3],
    #[serde(flatten)]
    design: DesignReport,
}

/// Refuses a device of another system than the one that is asked for.
pub fn check(system: SystemArgument, devices: &Devices) -> Result<(), Failure> {
    match devices.named {
        Some(named) if named != system => {
            let device = &devices.of(named).name;
            let [is, expected] = [named, system].map(|system| SystemKind::from(system).name());
            let message = format!("--device {device}: system = \"{is}\", expected \"{expected}\"");
            Err(Failure::Input(message))
        }
        _ => Ok(()),
    }
}

/// Prints what a system consists of, of netlists that are kept or synthesised.
pub fn run(
    system: SystemArgument,
    devices: &Devices,
    tools: &ToolArguments,
    (format, plot): (FormatArguments, &PlotArgument),
) -> Result<(), Failure> {
    check(system, devices)?;
    plot.check()?;
    let design = match system {
        SystemArgument::L3 => devices.l3(Gear::DEFAULT),
        SystemArgument::Aim => devices.aim(devices.buffers()),
    };
    let maker = Maker::new(tools, None)?;
    let parts = maker.parts(design)?;
    let specs: Vec<UnitSpec> = parts.iter().map(UnitSpec::from).collect();
    let liberty = tools.liberty.as_deref().unwrap_or(Path::new(DEFAULT_LIBRARY));
    let (netlists, sources) = (maker.netlists(liberty, &specs)?, maker.sources());
    let netlist = |spec| netlists.present(&sources, spec).expect("it was kept or made");
    let taken: Vec<(f64, &[Memory])> = specs
        .iter()
        .map(netlist)
        .map(|netlist| (netlist.ge, netlist.memories.as_slice()))
        .collect();
    let report = SystemReport {
        system: system.into(),
        device: devices.of(system).name.clone(),
        liberty: netlists.library.clone(),
        nand2_28nm_um2: paper::NAND2_28NM_UM2,
        design: DesignReport::new(design, &parts, &taken),
    };
    plot.write(|| picture(&report))?;
    let of = format!(" of {}, cells of {} sized", report.device, report.liberty);
    sheet::print(format, (Kind::EstimateArea, &report), &report.design.sheets(&of))
}

/// GE of all instances of each part in one of its level.
fn picture(report: &SystemReport) -> Picture {
    let bar =
        |(label, _, ge): (String, f64, f64)| Bar { label, parts: vec![(ge, 0)], text: whole(ge) };
    let panel = BarPanel {
        title: "in one of the level, GE".to_owned(),
        bars: report.design.bars().map(bar).collect(),
        scale: Scale::Linear,
    };
    Picture {
        title: format!("area of {} by level, in {}", report.device, report.liberty),
        key: vec!["logic"],
        panels: vec![panel],
    }
}
