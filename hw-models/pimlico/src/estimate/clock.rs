// SPDX-License-Identifier: MIT
//! `pimlico estimate clock`: whether every unit and memory makes the clock that it has in the devices.

use super::area::check_fo4;
use super::flow::{self, CLOCK_NS, ToolArguments};
use super::picture::{Bar, Panel, Picture, PlotArgument, Scale};
use super::rates;
use super::sheet::{self, FormatArguments, Sheet};
use crate::failure::Failure;
use crate::gear::GearArgument;
use clap::Args;
use pimlico_estimate::clock::{self, Clocked, Gear};
use pimlico_estimate::hierarchy::Part;
use pimlico_estimate::kept::{self, Hierarchy, Netlist, Netlists};
use pimlico_estimate::memory::{Memory, SETUP_FO4};
use pimlico_estimate::{DEFAULT_LIBRARY, UnitSpec, fo4};
use serde::Serialize;
use std::path::Path;

/// Arguments of `pimlico estimate clock`.
#[derive(Args)]
pub struct ClockArguments {
    /// tCK in a cycle of the rank PU's core
    #[arg(long, value_enum, default_value_t = GearArgument::DEFAULT)]
    gear: GearArgument,
    /// FO4 in ps of the process that the clocks are meant for
    #[arg(long, default_value_t = fo4::NODE_28NM_PS, value_name = "PS")]
    fo4: f64,
    /// Percent of a period that is kept for set-up, skew and wires
    #[arg(long, default_value_t = 10.0, value_name = "PERCENT")]
    reserve: f64,
    /// Write what the units take to the source tree, so that nothing is synthesised where the RTL is the same
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    tools: ToolArguments,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    plot: PlotArgument,
}

/// What `--json` prints.
#[derive(Serialize)]
struct ClockReport {
    liberty: String,
    fo4_ps: f64,
    gear: usize,
    reserve_percent: f64,
    units: Vec<UnitReport>,
    memories: Vec<MemoryReport>,
    /// Units and memories that miss their clock.
    misses: Vec<String>,
}

#[derive(Serialize)]
struct UnitReport {
    system: clock::System,
    unit: String,
    /// In a rank, or in an AiM module.
    count: u64,
    area_ge: f64,
    flip_flops: u64,
    period_fo4: f64,
    #[serde(flatten)]
    slack: Slack,
}

#[derive(Serialize)]
struct MemoryReport {
    system: clock::System,
    unit: String,
    #[serde(flatten)]
    memory: Memory,
    area_mm2_28nm: f64,
    access_fo4: f64,
    setup_fo4: f64,
    #[serde(flatten)]
    slack: Slack,
}

/// A period that is made beside the one that there is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Slack {
    clock: &'static str,
    /// In the device.
    clock_ns: f64,
    /// The shortest.
    period_ns: f64,
    /// Of the clock less the reserve.
    slack_ns: f64,
    is_met: bool,
}

/// The node, and the gear.
#[derive(Clone, Copy)]
struct Node {
    fo4_ps: f64,
    gear: Gear,
    reserve_percent: f64,
}

impl Node {
    /// Of so many FO4 in a clock.
    fn slack(&self, domain: clock::Domain, period_fo4: f64) -> Slack {
        let (clock_ns, period_ns) =
            (domain.period_ns(&rates(), self.gear), period_fo4 * self.fo4_ps / 1e3);
        let slack_ns = clock_ns * (1.0 - self.reserve_percent / 100.0) - period_ns;
        Slack { clock: domain.name(), clock_ns, period_ns, slack_ns, is_met: slack_ns >= 0.0 }
    }
}

/// Runs the command.
pub fn run(arguments: &ClockArguments) -> Result<(), Failure> {
    let ClockArguments { gear, reserve, keep, tools, .. } = arguments;
    let node = Node { fo4_ps: arguments.fo4, gear: (*gear).into(), reserve_percent: *reserve };
    check_fo4(node.fo4_ps)?;
    if !(0.0..100.0).contains(reserve) {
        let message = format!("--reserve {reserve}: expected 0 percent, up to less than 100");
        return Err(Failure::Input(message));
    }
    let is_default = tools.liberty == Path::new(DEFAULT_LIBRARY);
    if *keep && !is_default {
        let message = format!("--keep: what is kept is in {DEFAULT_LIBRARY}");
        return Err(Failure::Input(message));
    }
    arguments.plot.check()?;
    let parts = parts(tools, *keep)?;
    let plan = clock::plan(&parts).map_err(|e| Failure::Input(e.to_string()))?;
    let netlists = netlists(tools, &plan)?;
    if *keep {
        let written = Hierarchy::new(parts).write().and_then(|()| netlists.write());
        written.map_err(|e| Failure::file(&kept::folder(), &e))?;
    }
    let report = report(&netlists, &plan, node);
    arguments.plot.write(|| picture(&report))?;
    let mut sheets = vec![units_sheet(&report)];
    if !report.memories.is_empty() {
        sheets.push(memories_sheet(&report));
    }
    sheet::print(arguments.format, &report, &sheets)?;
    match report.misses.as_slice() {
        [] => Ok(()),
        misses => {
            let all = report.units.len() + report.memories.len();
            let names = misses.join(", ");
            Err(Failure::Check(format!("{} of {all} miss their clock: {names}", misses.len())))
        }
    }
}

/// The parts of the rank, as they are kept or as Yosys finds them.
fn parts(tools: &ToolArguments, anew: bool) -> Result<Vec<Part>, Failure> {
    let kept = Hierarchy::kept().present().filter(|_| !tools.no_cache && !anew);
    kept.map_or_else(|| tools.flow(CLOCK_NS)?.take_apart(), Ok)
}

/// What each unit takes: as it is kept, or synthesised where it has changed.
fn netlists(tools: &ToolArguments, plan: &[Clocked]) -> Result<Netlists, Failure> {
    let kept = Netlists::kept();
    // Where the default library is not installed, there is nothing that it could differ from.
    let is_absent = tools.liberty == Path::new(DEFAULT_LIBRARY) && !tools.liberty.exists();
    let is_of_library = is_absent || kept.are_in(&flow::read(&tools.liberty)?);
    let is_kept =
        |spec: &UnitSpec| is_of_library && !tools.no_cache && kept.present(spec).is_some();
    let missing: Vec<UnitSpec> =
        plan.iter().map(|unit| &unit.spec).filter(|spec| !is_kept(spec)).cloned().collect();
    if missing.is_empty() {
        let all = plan.iter().filter_map(|unit| kept.present(&unit.spec)).cloned().collect();
        return Ok(Netlists { netlists: sorted(all), ..kept });
    }
    let flow = tools.flow(CLOCK_NS).map_err(|failure| match failure {
        Failure::Input(why) => {
            let (first, more) = (&missing[0].unit, missing.len() - 1);
            let of_these =
                if more > 0 { format!("{first} and {more} more") } else { first.clone() };
            Failure::Input(format!("{of_these}: no kept result of the present RTL; {why}"))
        }
        other => other,
    })?;
    let name = &flow.library.name;
    let no_timing = || Failure::Input(format!("{name} has no timing: there is no clock to make"));
    let fo4_ns = flow.fo4_ns()?.ok_or_else(no_timing)?;
    let areas = flow.sized_areas(&missing)?;
    let made = missing.iter().zip(&areas);
    let made: Option<Vec<_>> = made.map(|(spec, area)| Netlist::new(spec, area, fo4_ns)).collect();
    let known = plan.iter().map(|unit| &unit.spec).filter(|spec| is_kept(spec));
    let known = known.filter_map(|spec| kept.present(spec)).cloned();
    Ok(Netlists::new(&flow.library, known.chain(made.ok_or_else(no_timing)?).collect()))
}

fn sorted(mut netlists: Vec<Netlist>) -> Vec<Netlist> {
    netlists.sort_by(|a, b| a.unit.cmp(&b.unit));
    netlists.dedup();
    netlists
}

fn report(netlists: &Netlists, plan: &[Clocked], node: Node) -> ClockReport {
    let Node { fo4_ps, gear, reserve_percent } = node;
    let gear = gear.tck();
    let (mut units, mut memories, mut misses) = (Vec::new(), Vec::new(), Vec::new());
    for Clocked { system, spec, count, domain, memories: of_memories } in plan {
        let Some(netlist) = netlists.present(spec) else { continue };
        let name = match system {
            clock::System::L3 => spec.unit.clone(),
            clock::System::Aim => format!("{} of AiM", spec.unit),
        };
        let slack = node.slack(*domain, netlist.period_fo4);
        if !slack.is_met {
            misses.push(name.clone());
        }
        units.push(UnitReport {
            system: *system,
            unit: spec.unit.clone(),
            count: *count,
            area_ge: netlist.ge,
            flip_flops: netlist.flip_flops,
            period_fo4: netlist.period_fo4,
            slack,
        });
        for memory in &netlist.memories {
            let access_fo4 = memory.access_fo4();
            let mut slack = node.slack(*of_memories, access_fo4 + SETUP_FO4);
            slack.is_met &= memory.is_clocked;
            if !slack.is_met {
                misses.push(format!("{} of {name}", memory.name));
            }
            memories.push(MemoryReport {
                system: *system,
                unit: spec.unit.clone(),
                memory: memory.clone(),
                area_mm2_28nm: memory.area_mm2(28.0),
                access_fo4,
                setup_fo4: SETUP_FO4,
                slack,
            });
        }
    }
    let liberty = netlists.library.clone();
    ClockReport { liberty, fo4_ps, gear, reserve_percent, units, memories, misses }
}

/// Columns of a slack.
const SLACK: [&str; 5] = ["clock", "period ns", "shortest ns", "slack ns", ""];

fn slack_cells(slack: &Slack) -> [String; 5] {
    let Slack { clock, clock_ns, period_ns, slack_ns, is_met } = slack;
    [
        (*clock).to_owned(),
        format!("{clock_ns:.4}"),
        format!("{period_ns:.3}"),
        format!("{slack_ns:.3}"),
        if *is_met { "met" } else { "missed" }.to_owned(),
    ]
}

fn units_sheet(report: &ClockReport) -> Sheet {
    let ClockReport { liberty, fo4_ps, gear, reserve_percent, units, memories, misses } = report;
    let rows = units.iter().map(|unit| {
        let UnitReport { system, unit, count, area_ge, flip_flops, period_fo4, slack } = unit;
        let mut row = vec![
            system.name().to_owned(),
            unit.clone(),
            count.to_string(),
            format!("{area_ge:.0}"),
            flip_flops.to_string(),
            format!("{period_fo4:.0}"),
        ];
        row.extend(slack_cells(slack));
        row
    });
    let columns = ["system", "unit", "instances", "GE, sized", "flip-flops", "FO4"];
    Sheet {
        title: format!(
            "clocks in {liberty}, cells sized; node: an FO4 of {fo4_ps} ps; the rank PU's core at gear {gear}"
        ),
        columns: columns.into_iter().chain(SLACK).collect(),
        rows: rows.collect(),
        notes: vec![
            format!(
                "instances: in a rank with its dispatcher, or in an AiM module of 16 channels; slack: of the \
                 period less {reserve_percent} % for set-up, skew and wires"
            ),
            "each unit by itself: from register to register, and from and to its ports, which come and go \
             with the clock"
                .to_owned(),
            format!("{} of {} units and memories miss their clock", misses.len(), units.len() + memories.len()),
        ],
    }
}

fn memories_sheet(report: &ClockReport) -> Sheet {
    let rows = report.memories.iter().map(|report| {
        let MemoryReport { unit, memory, area_mm2_28nm, access_fo4, slack, .. } = report;
        let mut row = vec![report.system.name().to_owned(), unit.clone()];
        row.extend(sheet::memory_cells(memory, *area_mm2_28nm));
        row.push(format!("{access_fo4:.0}"));
        row.extend(slack_cells(slack));
        row
    });
    let columns = ["system", "unit"].into_iter().chain(sheet::MEMORY).chain(["access FO4"]);
    Sheet {
        title: "memories of more than 16 words, by models of SRAM".to_owned(),
        columns: columns.chain(SLACK).collect(),
        rows: rows.collect(),
        notes: vec![format!(
            "shortest: access and a set-up of {SETUP_FO4} FO4; what is read in the cycle that asks misses \
             whatever its access time"
        )],
    }
}

/// The shortest period of each unit, as a share of the one that it has.
fn picture(report: &ClockReport) -> Picture {
    let bar = |label: String, slack: &Slack| Bar {
        label,
        parts: vec![(slack.period_ns / slack.clock_ns, usize::from(!slack.is_met))],
        text: format!("{:.2} of {:.3} ns", slack.period_ns, slack.clock_ns),
    };
    let units = report.units.iter().map(|unit| (unit.system, unit.unit.clone(), &unit.slack));
    let units = units.map(|(system, unit, slack)| bar(format!("{}: {unit}", system.name()), slack));
    let memories = report.memories.iter();
    let memories = memories.map(|m| bar(format!("{}: {}", m.unit, m.memory.name), &m.slack));
    let panel =
        |title: &str, bars: Vec<Bar>| Panel { title: title.to_owned(), bars, scale: Scale::Linear };
    let title = "shortest period over the device's";
    let panels = [
        panel(&format!("units: {title}"), units.collect()),
        panel(&format!("memories: {title}"), memories.collect()),
    ];
    Picture {
        title: format!("clocks at {} ps an FO4, gear {}", report.fo4_ps, report.gear),
        key: vec!["met", "missed"],
        panels: panels.into_iter().filter(|panel| !panel.bars.is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_estimate::clock::Domain;

    const NODE: Node = Node { fo4_ps: 20.0, gear: Gear::One, reserve_percent: 10.0 };

    /// A unit with the parameters that it has in the device.
    fn unit(module: &str) -> Clocked {
        let plan = clock::plan(&Hierarchy::kept().parts).expect("clocks");
        let is_it = |clocked: &Clocked| clocked.spec.unit.split(' ').next() == Some(module);
        plan.into_iter().find(is_it).expect("a unit")
    }

    /// A unit with so many FO4.
    fn netlist(of: &Clocked, period_fo4: f64, memories: Vec<Memory>) -> Netlist {
        let (unit, digest) = (of.spec.unit.clone(), kept::digest(&of.spec));
        Netlist { unit, digest, ge: 1.0, flip_flops: 1, period_fo4, memories }
    }

    fn report_of(units: &[(&Clocked, f64)], node: Node) -> ClockReport {
        let netlists = units.iter().map(|(unit, fo4)| netlist(unit, *fo4, Vec::new())).collect();
        let netlists = Netlists { netlists, ..Netlists::default() };
        let plan: Vec<Clocked> = units.iter().map(|(unit, _)| (*unit).clone()).collect();
        report(&netlists, &plan, node)
    }

    #[test]
    fn a_tenth_of_the_period_is_kept() {
        // 0.5625 ns of 0.625: 28.125 FO4 of 20 ps.
        let slack = |fo4| NODE.slack(Domain::Core, fo4);
        assert!(slack(28.1).is_met && !slack(28.2).is_met);
        assert!((slack(20.0).slack_ns - 0.1625).abs() < 1e-12);
        let all = Node { reserve_percent: 0.0, ..NODE };
        assert!(all.slack(Domain::Core, 31.0).is_met);
    }

    #[test]
    fn a_unit_that_is_too_slow_is_named_and_a_gear_helps_it() {
        let (adder, relayout) = (unit("adder_unit"), unit("relayout_unit"));
        let at = |node| report_of(&[(&adder, 56.0), (&relayout, 15.0)], node).misses;
        assert_eq!(at(NODE), [adder.spec.unit.as_str(), &relayout.spec.unit]);
        // Re-layout is at the beats, which have no gear.
        assert_eq!(at(Node { gear: Gear::Two, ..NODE }), [relayout.spec.unit.as_str()]);
        assert!(at(Node { gear: Gear::Two, fo4_ps: 18.0, ..NODE }).is_empty());
        let one_stage_fewer = report_of(&[(&adder, 2.0 * 56.0)], Node { gear: Gear::Two, ..NODE });
        assert_eq!(one_stage_fewer.misses, [adder.spec.unit.as_str()]);
    }

    #[test]
    fn a_memory_that_is_read_in_the_cycle_that_asks_misses() {
        let queue = unit("context_queue");
        let ports = pimlico_estimate::memory::Ports { reads: 1, writes: 1, are_shared: false };
        let memory = |is_clocked| Memory {
            name: "words_q".to_owned(),
            words: 128,
            bits: 32,
            ports,
            is_clocked,
        };
        let report = |is_clocked| {
            let netlists = vec![netlist(&queue, 1.0, vec![memory(is_clocked)])];
            let netlists = Netlists { netlists, ..Netlists::default() };
            report(&netlists, std::slice::from_ref(&queue), NODE)
        };
        assert!(report(true).misses.is_empty());
        assert_eq!(report(false).misses, [format!("words_q of {}", queue.spec.unit)]);
        let sheet = memories_sheet(&report(false));
        assert!(sheet.rows[0].contains(&"in the cycle that asks: no macro".to_owned()));
        assert!(sheet.rows.iter().all(|row| row.len() == sheet.columns.len()));
    }

    #[test]
    fn tables_and_pictures_have_every_unit() {
        let (adder, relayout) = (unit("adder_unit"), unit("relayout_unit"));
        let report = report_of(&[(&adder, 56.0), (&relayout, 15.0)], NODE);
        let sheet = units_sheet(&report);
        assert_eq!(sheet.rows.len(), 2);
        assert!(sheet.rows.iter().all(|row| row.len() == sheet.columns.len()));
        let drawn = picture(&report);
        assert_eq!(drawn.panels.len(), 1, "no memories");
        assert_eq!(drawn.panels[0].bars[0].parts, [(1.12 / 0.625, 1)]);
    }
}
