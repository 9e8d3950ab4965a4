// SPDX-License-Identifier: MIT
//! `pimlico estimate area`: units synthesised, beside the papers' figures.

use super::blocks;
use super::devices::Devices;
use super::flow::{self, FlowArguments};
use super::picture::{Bar, BarPanel, Picture, PlotArgument, Scale, whole};
use super::sheet::{self, FormatArguments, Sheet};
use super::system::{self, SystemArgument};
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::names;
use crate::output;
use crate::schema::Kind;
use clap::Args;
use pimlico_dpa::clock::{Domain, Gear};
use pimlico_estimate::fo4::{self, AtNode};
use pimlico_estimate::memory::Memory;
use pimlico_estimate::{Area, UnitSpec, clock, paper};
use serde::Serialize;
use std::collections::BTreeMap;

/// Arguments of `pimlico estimate area`.
#[derive(Args)]
#[command(after_help = names::with_units("\
Examples:
  pimlico estimate area bank_pu softmax_unit --sized
  pimlico estimate area --system l3
  pimlico estimate area bank_pu --plot area.svg"))]
pub struct AreaArguments {
    /// Units, as `pimlico cosim --list` names them, or any module of the RTL
    units: Vec<String>,
    /// In place of units, a system by its hierarchy, from the sized netlists of `estimate clock`: parts and memories
    /// of each level, and what the levels add up to
    #[arg(long, value_enum, conflicts_with_all = ["units", "sized", "fo4", "clock"], value_name = "SYSTEM")]
    system: Option<SystemArgument>,
    /// FO4 in ps, the delay of an inverter that drives four, of the process that the clock is meant for; by
    /// default that of 28 nm, on the safe side
    #[arg(long, default_value_t = fo4::NODE_28NM_PS, value_name = "PS")]
    fo4: f64,
    /// Show units with buffers and with cells sized for their loads as well
    #[arg(long)]
    sized: bool,
    #[command(flatten)]
    device: DeviceFlag,
    #[command(flatten)]
    flow: FlowArguments,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    plot: PlotArgument,
}

/// FO4 of a process in ps, at the most: fifty times that of 180 nm.
const MOST_FO4_PS: f64 = 5e3;

/// Refuses an FO4 of a process that there is not.
pub fn check_fo4(flag: &str, fo4_ps: f64) -> Result<(), Failure> {
    match fo4_ps > 0.0 && fo4_ps <= MOST_FO4_PS {
        true => Ok(()),
        false => {
            let fo4 = output::as_given(fo4_ps);
            let message = format!("--{flag} {fo4}: expected more than 0 ps, up to {MOST_FO4_PS}");
            Err(Failure::Input(message))
        }
    }
}

/// The clock, the library's FO4, and that of the process that the clock is meant for.
#[derive(Clone, Copy)]
struct Node {
    clock_ns: f64,
    library_ns: Option<f64>,
    fo4_ps: f64,
}

/// What `--json` prints.
#[derive(Serialize)]
struct AreaReport {
    liberty: String,
    nand2_um2: f64,
    clock_ns: f64,
    /// FO4 of the library; none if it has no timing.
    library_fo4_ps: Option<f64>,
    /// FO4 of the process that the clock is meant for.
    fo4_ps: f64,
    /// What of the library is known to be wrong and was corrected.
    corrections: Vec<String>,
    units: Vec<UnitReport>,
    memories: Vec<MemoryReport>,
}

#[derive(Serialize)]
struct UnitReport {
    unit: String,
    parameters: BTreeMap<String, i64>,
    /// As mapped, without buffers.
    #[serde(flatten)]
    mapped: NetlistReport,
    /// With cells sized for their loads, if asked for.
    sized: Option<NetlistReport>,
    /// The clock period that the unit has in the devices.
    device_clock_ns: Option<f64>,
    /// Not estimated.
    power_mw: Option<f64>,
    paper: Option<PaperReport>,
}

#[derive(Serialize)]
struct NetlistReport {
    flip_flops: u64,
    flip_flops_ge: f64,
    area_um2: f64,
    area_ge: f64,
    /// The shortest clock period in the library. This, and what follows of time, is none if the library has
    /// no timing.
    period_ns: Option<f64>,
    /// Of the worst path at `clock_ns`, in the library; and its cells.
    slack_ns: Option<f64>,
    path: Vec<String>,
    period_fo4: Option<f64>,
    /// With `fo4_ps`: what the shortest period leaves of `clock_ns`, and the highest clock.
    slack_at_node_ns: Option<f64>,
    highest_mhz_at_node: Option<f64>,
    cells: BTreeMap<String, u64>,
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
    unit: String,
    #[serde(flatten)]
    memory: Memory,
    area_mm2_28nm: f64,
    access_fo4: f64,
}

/// Runs the command.
pub fn run(arguments: &AreaArguments) -> Result<(), Failure> {
    let devices = Devices::new(&arguments.device)?;
    if let Some(of) = arguments.system {
        let AreaArguments { flow, format, plot, .. } = arguments;
        return system::run(of, &devices, &flow.tools, (*format, plot));
    }
    let specs = flow::specs_or_modules(&arguments.units)?;
    arguments.plot.check()?;
    let fo4_ps = arguments.fo4;
    check_fo4("fo4", fo4_ps)?;
    let flow = arguments.flow.flow_at(devices.period_ns(Domain::Bank, Gear::DEFAULT))?;
    if arguments.sized && !flow.library.has_timing {
        let what = "has no timing: there is nothing to size cells by";
        return Err(Failure::Input(format!("--sized: {} {what}", flow.library.name)));
    }
    let library_ns = flow.fo4_ns()?;
    let node = Node { clock_ns: flow.clock_ns, library_ns, fo4_ps };
    let areas = flow.areas(&specs)?;
    let sized = if arguments.sized { flow.sized_areas(&specs)? } else { Vec::new() };
    let sized = sized.into_iter().map(Some).chain(std::iter::repeat(None));
    let memories = specs.iter().zip(&areas).flat_map(|(spec, area)| {
        area.memories.iter().map(|memory| MemoryReport {
            unit: spec.unit.clone(),
            memory: memory.clone(),
            area_mm2_28nm: memory.area_mm2(28.0),
            access_fo4: memory.access_fo4(),
        })
    });
    let memories = memories.collect();
    let units = specs.iter().zip(areas.into_iter().zip(sized));
    let report = AreaReport {
        liberty: flow.library.name.clone(),
        nand2_um2: flow.library.nand2_um2,
        clock_ns: flow.clock_ns,
        library_fo4_ps: library_ns.map(|ns| 1e3 * ns),
        fo4_ps,
        corrections: flow.library.corrections.clone(),
        units: units.map(|(spec, areas)| unit_report(spec, areas, node, &devices)).collect(),
        memories,
    };
    arguments.plot.write(|| picture(&report))?;
    let mut sheets = vec![units_sheet(&report)];
    sheets.extend(times_sheet(&report));
    sheets.extend(blocks::sheet(&named_areas(&report)));
    if !report.memories.is_empty() {
        sheets.push(memories_sheet(&report));
    }
    sheet::print(arguments.format, (Kind::EstimateArea, &report), &sheets)
}

fn unit_report(
    spec: &UnitSpec,
    (mapped, sized): (Area, Option<Area>),
    node: Node,
    devices: &Devices,
) -> UnitReport {
    let paper = paper::figure(&spec.module).filter(|_| !spec.unit.contains("x16")).map(|figure| {
        let [least, _, most] = paper::NAND2_28NM_UM2;
        PaperReport {
            area_um2: figure.um2,
            area_ge: figure.ge(),
            area_ge_range: [figure.um2 / most, figure.um2 / least],
            power_mw: figure.mw,
        }
    });
    UnitReport {
        unit: spec.unit.clone(),
        parameters: spec.parameters.clone(),
        mapped: netlist_report(mapped, node),
        sized: sized.map(|area| netlist_report(area, node)),
        device_clock_ns: clock::of_unit(spec)
            .map(|domain| devices.period_ns(domain, Gear::DEFAULT)),
        power_mw: None,
        paper,
    }
}

fn netlist_report(area: Area, node: Node) -> NetlistReport {
    let Node { clock_ns, library_ns, fo4_ps } = node;
    let period_ns = area.timing.as_ref().map(|timing| timing.period_ns);
    let (slack_ns, path) = area.timing.map(|timing| (timing.slack_ns, timing.path)).unzip();
    let at_node = period_ns.zip(library_ns);
    let at_node = at_node.map(|(period, library)| AtNode::new(period, library, fo4_ps, clock_ns));
    NetlistReport {
        flip_flops: area.flip_flops,
        flip_flops_ge: area.flip_flops_ge,
        area_um2: area.um2,
        area_ge: area.ge,
        period_ns,
        slack_ns,
        path: path.unwrap_or_default(),
        period_fo4: at_node.map(|at_node| at_node.period_fo4),
        slack_at_node_ns: at_node.map(|at_node| at_node.slack_ns),
        highest_mhz_at_node: at_node.map(|at_node| at_node.highest_mhz),
        cells: area.cells,
    }
}

/// The rows of a table of units: as mapped and, where it is asked for, sized.
fn rows(
    report: &AreaReport,
    row: impl Fn(&UnitReport, String, &NetlistReport) -> Vec<String>,
) -> Vec<Vec<String>> {
    let of_unit = |unit: &UnitReport| {
        let name = |what| unit.unit.clone() + what;
        let sized = unit.sized.as_ref().map(|sized| row(unit, name(", sized"), sized));
        std::iter::once(row(unit, name(""), &unit.mapped)).chain(sized).collect::<Vec<_>>()
    };
    report.units.iter().flat_map(of_unit).collect()
}

/// Each netlist with its GE.
fn named_areas(report: &AreaReport) -> Vec<(String, f64)> {
    let of_unit = |unit: &UnitReport| {
        let sized = unit.sized.iter().map(|sized| (format!("{}, sized", unit.unit), sized.area_ge));
        std::iter::once((unit.unit.clone(), unit.mapped.area_ge)).chain(sized).collect::<Vec<_>>()
    };
    report.units.iter().flat_map(of_unit).collect()
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

fn units_sheet(report: &AreaReport) -> Sheet {
    let AreaReport { liberty, nand2_um2, .. } = report;
    let row = |unit: &UnitReport, name: String, netlist: &NetlistReport| {
        let of_paper = unit.paper.as_ref().map(|paper| paper.area_ge);
        vec![
            name,
            netlist.flip_flops.to_string(),
            format!("{:.0}", netlist.area_um2),
            format!("{:.0}", netlist.area_ge),
            shown(of_paper, 0),
            shown(of_paper.map(|paper| netlist.area_ge / paper), 2),
        ]
    };
    Sheet {
        title: format!("area of {liberty}; a gate equivalent (GE) is {nand2_um2} um2"),
        columns: vec!["unit", "flip-flops", "area, um2", "area, GE", "L3's, GE", "of L3's"],
        rows: rows(report, row),
        notes: units_notes(report),
    }
}

/// The slowest paths; none if the library has no timing.
fn times_sheet(report: &AreaReport) -> Option<Sheet> {
    let AreaReport { liberty, clock_ns, fo4_ps, units, .. } = report;
    if units.iter().all(|unit| unit.mapped.slack_ns.is_none()) {
        return None;
    }
    let is_met = |slack: f64| if slack < 0.0 { "missed" } else { "met" };
    let row = |unit: &UnitReport, name: String, netlist: &NetlistReport| {
        vec![
            name,
            shown(netlist.period_ns, 2),
            shown(netlist.slack_ns, 2),
            shown(netlist.period_fo4, 0),
            shown(netlist.slack_at_node_ns, 2),
            netlist.slack_at_node_ns.map_or("", is_met).to_owned(),
            shown(netlist.highest_mhz_at_node, 0),
            shown(unit.device_clock_ns.map(|ns| 1e3 / ns), 0),
        ]
    };
    Some(Sheet {
        title: format!(
            "time: a clock of {clock_ns} ns, in {liberty} and at a node with an FO4 of {fo4_ps} ps"
        ),
        columns: vec![
            "unit",
            "delay, ns",
            "slack, ns",
            "delay, FO4",
            "slack at node, ns",
            "clock at node",
            "makes at node, MHz",
            "device, MHz",
        ],
        rows: rows(report, row),
        notes: misses(report).into_iter().collect(),
    })
}

/// What has to be known to read the table of units.
fn units_notes(report: &AreaReport) -> Vec<String> {
    let AreaReport { liberty, corrections, .. } = report;
    let [least, used, most] = paper::NAND2_28NM_UM2;
    let mut notes = vec![format!(
        "L3's: Table 5, at {used} um2 for a GE of 28 nm; from {most} to {least} um2 its figures \
         are {:.2} to {:.2} times as many",
        used / most,
        used / least
    )];
    notes.extend(corrections.iter().map(|correction| format!("{liberty}: {correction}")));
    if report.units.iter().all(|unit| unit.mapped.slack_ns.is_none()) {
        notes.push(format!("{liberty} has no timing: slack and delay are left open"));
    } else if report.library_fo4_ps.is_none() {
        notes.push(format!("{liberty} has no inverter with timing: FO4 are left open"));
    }
    notes
}

/// How many units are too slow at the node, for the clock and for that of the device; none if the library
/// has no timing.
fn misses(report: &AreaReport) -> Option<String> {
    let AreaReport { clock_ns, library_fo4_ps, fo4_ps, units, .. } = report;
    let library_fo4_ps = (*library_fo4_ps)?;
    let count = |netlist: fn(&UnitReport) -> Option<&NetlistReport>| {
        let netlists = units.iter().filter_map(|unit| Some((netlist(unit)?, unit.device_clock_ns)));
        let speeds = netlists.filter_map(|(netlist, ns)| Some((netlist.highest_mhz_at_node?, ns)));
        let device = speeds.clone().filter_map(|(mhz, ns)| Some((mhz, ns?)));
        let slow = speeds.clone().filter(|(mhz, _)| mhz * clock_ns < 1e3).count();
        let slow_in_device = device.clone().filter(|(mhz, ns)| mhz * ns < 1e3).count();
        let (all, all_in_device) = (speeds.count(), device.count());
        format!(
            "{slow} of {all} miss {clock_ns} ns, {slow_in_device} of {all_in_device} the clock that they \
             have in the device"
        )
    };
    let mapped = count(|unit| Some(&unit.mapped));
    let sized = units.iter().any(|unit| unit.sized.is_some());
    let sized = sized.then(|| format!("; sized, {}", count(|unit| unit.sized.as_ref())));
    Some(format!(
        "delay: the shortest clock period; node: its FO4, {library_fo4_ps:.1} ps in the library, at {fo4_ps} \
         ps: {mapped}{}",
        sized.unwrap_or_default()
    ))
}

fn memories_sheet(report: &AreaReport) -> Sheet {
    let rows = report.memories.iter().map(|report| {
        let MemoryReport { unit, memory, area_mm2_28nm, access_fo4 } = report;
        let mut row = vec![unit.clone()];
        row.extend(sheet::memory_cells(memory, *area_mm2_28nm));
        row.push(format!("{access_fo4:.0}"));
        row
    });
    Sheet {
        title: "memories of more than 16 words, by a model of SRAM at 28 nm; they are in no GE"
            .to_owned(),
        columns: ["unit"].into_iter().chain(sheet::MEMORY).chain(["access, FO4"]).collect(),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// Logic and flip-flops of each unit, and below it the paper's figure; what clocks come to at the node.
fn picture(report: &AreaReport) -> Picture {
    let [logic, flip_flops, paper, period] = [0, 1, 2, 3];
    let (mut areas, mut periods) = (Vec::new(), Vec::new());
    for unit in &report.units {
        let sized = unit.sized.iter().map(|netlist| (format!("{}, sized", unit.unit), netlist));
        for (label, netlist) in std::iter::once((unit.unit.clone(), &unit.mapped)).chain(sized) {
            let NetlistReport { area_ge, flip_flops_ge, slack_at_node_ns, .. } = *netlist;
            areas.push(Bar {
                label: label.clone(),
                parts: vec![(area_ge - flip_flops_ge, logic), (flip_flops_ge, flip_flops)],
                text: whole(area_ge),
            });
            periods.extend(
                slack_at_node_ns.map(|slack_ns| report.clock_ns - slack_ns).map(|ns| Bar {
                    label,
                    parts: vec![(ns, period)],
                    text: format!("{ns:.2}"),
                }),
            );
        }
        areas.extend(unit.paper.as_ref().map(|figure| Bar {
            label: "L3, Table 5, 28 nm".to_owned(),
            parts: vec![(figure.area_ge, paper)],
            text: whole(figure.area_ge),
        }));
    }
    let panel = |title: String, bars: Vec<Bar>| BarPanel { title, bars, scale: Scale::Linear };
    let panels = [
        panel("area, GE".to_owned(), areas),
        panel(format!("shortest clock period with {} ps an FO4, ns", report.fo4_ps), periods),
    ];
    Picture {
        title: format!(
            "area of units as synthesised in {}; a GE is {} um2 there",
            report.liberty, report.nand2_um2
        ),
        key: vec!["logic", "flip-flops", "L3, Table 5", "clock period"],
        panels: panels.into_iter().filter(|panel| !panel.bars.is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_estimate::Timing;

    const NODE: Node = Node { clock_ns: 5.0, library_ns: Some(0.1), fo4_ps: 20.0 };

    /// A unit whose shortest period has so many ns in the library, if it has timing.
    fn unit(name: &str, period_ns: Option<f64>, node: Node) -> UnitReport {
        let timing = period_ns.map(|period_ns| {
            let slack_ns = node.clock_ns - period_ns;
            Timing { slack_ns, period_ns, path: Vec::new() }
        });
        let area = Area {
            um2: 1.0,
            ge: 1.0,
            flip_flops: 0,
            flip_flops_ge: 0.0,
            cells: BTreeMap::new(),
            memories: Vec::new(),
            timing,
        };
        let spec = flow::spec(name).expect("a unit");
        unit_report(&spec, (area, None), node, &Devices::default())
    }

    fn report(units: Vec<UnitReport>, node: Node) -> AreaReport {
        AreaReport {
            liberty: "small".to_owned(),
            nand2_um2: 1.0,
            clock_ns: node.clock_ns,
            library_fo4_ps: node.library_ns.map(|ns| 1e3 * ns),
            fo4_ps: node.fo4_ps,
            corrections: Vec::new(),
            units,
            memories: Vec::new(),
        }
    }

    #[test]
    fn slack_at_the_node_is_of_the_period_in_inverters() {
        // 20 ns are 200 FO4 and 4 ns, 30 ns are 300 and 6.
        let [fast, slow] = [20.0, 30.0].map(|ns| unit("bank_pu", Some(ns), NODE));
        let near = |a: Option<f64>, b: f64| (a.expect("timing") - b).abs() < 1e-9;
        let UnitReport { mapped, device_clock_ns, .. } = fast;
        assert!(near(mapped.slack_ns, -15.0) && near(mapped.period_ns, 20.0));
        assert!(near(mapped.period_fo4, 200.0) && near(mapped.slack_at_node_ns, 1.0));
        assert!(near(mapped.highest_mhz_at_node, 250.0) && near(device_clock_ns, 5.0));
        assert!(near(slow.mapped.slack_at_node_ns, -1.0));
    }

    #[test]
    fn units_that_miss_their_clock_are_marked_and_counted() {
        // The adder unit's clock in the device is 0.625 ns: it makes the one of 5 ns and not that.
        let units = [("bank_pu", 20.0), ("bank_pu", 30.0), ("adder_unit", 10.0), ("fp_mul", 99.0)];
        let units = units.map(|(name, ns)| unit(name, Some(ns), NODE));
        let report = report(units.into(), NODE);
        let sheet = times_sheet(&report).expect("there is timing");
        let marks: Vec<&str> = sheet.rows.iter().map(|row| row[5].as_str()).collect();
        assert_eq!(marks, ["met", "missed", "met", "missed"]);
        assert!(sheet.rows.iter().all(|row| row.len() == sheet.columns.len()));
        let summary = &sheet.notes[0];
        assert!(summary.contains("2 of 4 miss 5 ns, 2 of 3 the clock"), "{summary}");
    }

    #[test]
    fn a_unit_is_shown_as_mapped_and_sized() {
        let mut slow = unit("bank_pu", Some(30.0), NODE);
        slow.sized = Some(unit("bank_pu", Some(15.0), NODE).mapped);
        let report = report(vec![slow, unit("fp_mul", Some(99.0), NODE)], NODE);
        let names = |sheet: &Sheet| sheet.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        let sheet = times_sheet(&report).expect("there is timing");
        for sheet in [&sheet, &units_sheet(&report)] {
            assert_eq!(names(sheet), ["bank_pu", "bank_pu, sized", "fp_mul"]);
            assert!(sheet.rows.iter().all(|row| row.len() == sheet.columns.len()));
        }
        let cells = |n: usize| sheet.rows.iter().map(|row| row[n].clone()).collect::<Vec<_>>();
        assert_eq!(cells(5), ["missed", "met", "missed"]);
        let summary = &sheet.notes[0];
        assert!(summary.contains("2 of 2 miss 5 ns, 1 of 1 the clock"), "{summary}");
        assert!(
            summary.ends_with(
                "; sized, 0 of 1 miss 5 ns, 0 of 1 the clock that they have in the device"
            )
        );
        let json = serde_json::to_value(&report).expect("a document");
        assert_eq!(json["units"][0]["period_ns"], 30.0);
        assert_eq!(json["units"][0]["sized"]["period_ns"], 15.0);
        assert!(json["units"][1]["sized"].is_null());
    }

    #[test]
    fn without_timing_nothing_is_said_of_time() {
        let node = Node { library_ns: None, ..NODE };
        let report = report(vec![unit("bank_pu", None, node)], node);
        assert!(times_sheet(&report).is_none());
        let sheet = units_sheet(&report);
        assert!(sheet.notes.iter().all(|note| !note.contains("miss ")));
        assert_eq!(sheet.notes[1], "small has no timing: slack and delay are left open");
    }

    #[test]
    fn the_picture_has_a_unit_above_its_paper_and_periods_where_there_is_timing() {
        let with_areas = |mut unit: UnitReport| {
            (unit.mapped.area_ge, unit.mapped.flip_flops_ge) = (1000.0, 400.0);
            unit
        };
        let of = |name, path_ns| with_areas(unit(name, path_ns, NODE));
        let mut relayout = of("relayout_unit", Some(6.0));
        relayout.sized = Some(of("relayout_unit", Some(3.0)).mapped);
        let mut report = report(vec![relayout, of("dispatcher", None)], NODE);
        let drawn = picture(&report);
        let bars = |panel: usize| {
            let bars = drawn.panels[panel].bars.iter();
            bars.map(|bar| (bar.label.trim(), bar.parts.clone())).collect::<Vec<_>>()
        };
        let ours = || vec![(600.0, 0), (400.0, 1)];
        let expected = [
            ("relayout_unit", ours()),
            ("relayout_unit, sized", ours()),
            ("L3, Table 5, 28 nm", vec![(948.0 / paper::NAND2_28NM_UM2[1], 2)]),
            ("dispatcher", ours()),
        ];
        assert_eq!(bars(0), expected);
        // 6 and 3 ns are 60 and 30 FO4.
        let periods: Vec<_> = drawn.panels[1].bars.iter().map(|bar| bar.text.as_str()).collect();
        assert_eq!(periods, ["1.20", "0.60"]);

        report.units.remove(0);
        assert_eq!(picture(&report).panels.len(), 1, "no timing, no periods");
    }
}
