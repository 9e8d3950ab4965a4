// SPDX-License-Identifier: MIT
//! `pimlico estimate clock`: whether every unit and memory makes the clock that it has in the devices.

mod sheets;

use super::area::check_fo4;
use super::devices::Devices;
use super::flow::ToolArguments;
use super::netlists::Maker;
use super::picture::PlotArgument;
use super::sheet::{self, FormatArguments};
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::gear::GearArgument;
use crate::schema::Kind;
use clap::Args;
use pimlico_dpa::clock::Rates;
use pimlico_estimate::clock::{self, Clocked, Gear};
use pimlico_estimate::device::{Design, Outside, System};
use pimlico_estimate::fo4;
use pimlico_estimate::kept::{LIBRARIES, NetlistFigures, Netlists};
use pimlico_estimate::memory::{Memory, SETUP_FO4};
use pimlico_estimate::rtl::Sources;
use serde::Serialize;
use sheets::{dram_sheet, memories_sheet, picture, units_sheet};
use std::path::{Path, PathBuf};

/// FO4 of logic in a DRAM's process: two to three times that of a logic process.
const DRAM_FO4_PS: f64 = 50.0;

/// Arguments of `pimlico estimate clock`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico estimate clock
  pimlico estimate clock --gear 1 --fo4 15
  pimlico estimate clock --device ddr4-3200-16gb --json")]
pub struct ClockArguments {
    /// tCK in a cycle of the rank PU's core
    #[arg(long, value_enum, default_value_t = GearArgument::DEFAULT)]
    gear: GearArgument,
    /// FO4 in ps of the process that the clocks are meant for
    #[arg(long, default_value_t = fo4::NODE_28NM_PS, value_name = "PS")]
    fo4: f64,
    /// FO4 in ps of the DRAM chips' process, in which their units are listed once more; it does not affect the
    /// status
    #[arg(long, default_value_t = DRAM_FO4_PS, value_name = "PS")]
    dram_fo4: f64,
    /// Percent of a period that is kept for set-up, skew and wires
    #[arg(long, default_value_t = 10.0, value_name = "PERCENT")]
    reserve: f64,
    /// RTL in place of the tree's: a folder with a pimlico.f; what differs from the tree's is synthesised
    #[arg(long, value_name = "FOLDER")]
    rtl: Option<PathBuf>,
    /// Write the results to the source tree, so that nothing is synthesised while the RTL is the same
    #[arg(long, conflicts_with = "rtl")]
    keep: bool,
    #[command(flatten)]
    device: DeviceFlag,
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
    /// The devices whose clocks these are: L3's, and the AiMs'.
    devices: [String; 2],
    liberties: Vec<String>,
    fo4_ps: f64,
    gear: usize,
    reserve_percent: f64,
    units: Vec<UnitReport>,
    memories: Vec<MemoryReport>,
    /// Units and memories that miss their clock.
    misses: Vec<String>,
    dram_fo4_ps: f64,
    /// What is on the DRAM chips, in their process.
    in_dram: Vec<DramReport>,
}

#[derive(Serialize)]
struct DramReport {
    system: System,
    unit: String,
    #[serde(flatten)]
    slack: Slack,
}

#[derive(Serialize)]
struct UnitReport {
    system: System,
    unit: String,
    /// In a rank, or in an AiM module.
    count: u64,
    /// In the first library.
    area_ge: f64,
    flip_flops: u64,
    /// In the library where it is the slowest.
    period_fo4: f64,
    #[serde(flatten)]
    slack: Slack,
    libraries: Vec<InLibrary>,
}

#[derive(Serialize)]
struct InLibrary {
    liberty: String,
    area_ge: f64,
    period_fo4: f64,
    is_met: bool,
}

#[derive(Serialize)]
struct MemoryReport {
    system: System,
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
pub(super) struct Slack {
    clock: &'static str,
    /// In the device.
    clock_ns: f64,
    /// The shortest.
    period_ns: f64,
    /// Of the clock less the reserve.
    slack_ns: f64,
    /// Whether there is any.
    pub is_met: bool,
}

/// The node, the gear, and the timings of the DRAMs.
#[derive(Clone, Copy)]
pub(super) struct Node {
    rates: Rates,
    /// FO4 in ps.
    pub fo4_ps: f64,
    pub gear: Gear,
    /// Of a period, for set-up, skew and wires.
    pub reserve_percent: f64,
}

impl Node {
    /// With the built-in devices.
    pub fn built_in(fo4_ps: f64, gear: Gear, reserve_percent: f64) -> Self {
        Self { rates: Devices::default().rates(), fo4_ps, gear, reserve_percent }
    }

    /// A clock's period.
    pub fn clock_ns(&self, domain: clock::Domain) -> f64 {
        domain.period_ns(&self.rates, self.gear)
    }

    /// Of a memory, which misses whatever its access time if it is read in the cycle that asks.
    pub fn slack_of(&self, memory: &Memory, domain: clock::Domain) -> Slack {
        let slack = self.slack(domain, memory.access_fo4() + SETUP_FO4);
        Slack { is_met: slack.is_met && memory.is_clocked, ..slack }
    }

    /// Of so many FO4 in a clock.
    pub fn slack(&self, domain: clock::Domain, period_fo4: f64) -> Slack {
        let (clock_ns, period_ns) = (self.clock_ns(domain), period_fo4 * self.fo4_ps / 1e3);
        let slack_ns = clock_ns * (1.0 - self.reserve_percent / 100.0) - period_ns;
        Slack { clock: domain.name(), clock_ns, period_ns, slack_ns, is_met: slack_ns >= 0.0 }
    }
}

/// Runs the command.
pub fn run(arguments: &ClockArguments) -> Result<(), Failure> {
    let ClockArguments { gear, reserve, keep, tools, .. } = arguments;
    let (devices, gear) = (Devices::new(&arguments.device)?, (*gear).into());
    let rates = devices.rates();
    let node = Node { rates, fo4_ps: arguments.fo4, gear, reserve_percent: *reserve };
    check_fo4("fo4", node.fo4_ps)?;
    check_fo4("dram-fo4", arguments.dram_fo4)?;
    if !(0.0..100.0).contains(reserve) {
        let message = format!("--reserve {reserve}: expected 0 percent, up to less than 100");
        return Err(Failure::Input(message));
    }
    if let Some(liberty) = tools.liberty.as_deref().filter(|_| *keep) {
        let (liberty, [first, second]) = (liberty.display(), LIBRARIES.map(|kept| kept.liberty));
        let message =
            format!("--keep: expected no --liberty {liberty}; kept are {first} and {second}");
        return Err(Failure::Input(message));
    }
    arguments.plot.check()?;
    let maker = Maker::new(tools, arguments.rtl.as_deref())?;
    if *keep {
        maker.keep()?;
    }
    let designs = devices.designs(gear);
    let plan = maker.plan(&designs)?;
    let (netlists, without) = netlists(&maker, tools, &plan)?;
    let mut report = report(&maker.sources(), &netlists, &plan, (node, arguments.dram_fo4));
    report.devices = devices.names();
    report.add_outside(&designs, node);
    arguments.plot.write(|| picture(&report))?;
    let mut sheets = vec![units_sheet(&report)];
    sheets[0].notes.extend(without);
    if !report.memories.is_empty() {
        sheets.push(memories_sheet(&report));
    }
    sheets.push(dram_sheet(&report));
    sheet::print(arguments.format, (Kind::EstimateClock, &report), &sheets)?;
    match report.misses.as_slice() {
        [] => Ok(()),
        misses => {
            let all = report.units.len() + report.memories.len();
            let names = misses.join(", ");
            Err(Failure::Check(format!("{} of {all} miss their clock: {names}", misses.len())))
        }
    }
}

/// What each unit takes in the library that is asked for; else in those whose results are kept, and a note for
/// one that is not installed where synthesis is wanted.
fn netlists(
    maker: &Maker<'_>,
    tools: &ToolArguments,
    plan: &[Clocked],
) -> Result<(Vec<Netlists>, Option<String>), Failure> {
    let units: Vec<_> = plan.iter().map(|clocked| clocked.spec.clone()).collect();
    if let Some(liberty) = &tools.liberty {
        return Ok((vec![maker.netlists(liberty, &units)?], None));
    }
    let [first, second] = &LIBRARIES;
    let mut all = vec![maker.netlists(Path::new(first.liberty), &units)?];
    let other = Path::new(second.liberty);
    if !other.exists() && (tools.no_cache || !maker.are_kept(second, &units)) {
        let note =
            format!("not in {}, which is not installed and has no kept results", second.liberty);
        return Ok((all, Some(note)));
    }
    all.push(maker.netlists(other, &units)?);
    Ok((all, None))
}

/// The report, with the netlists of one library or more.
fn report(
    sources: &Sources<'_>,
    netlists: &[Netlists],
    plan: &[Clocked],
    (node, dram_fo4_ps): (Node, f64),
) -> ClockReport {
    let Node { fo4_ps, gear, reserve_percent, .. } = node;
    let dram_node = Node { fo4_ps: dram_fo4_ps, ..node };
    let (mut units, mut memories, mut misses) = (Vec::new(), Vec::new(), Vec::new());
    let mut of_dram = Vec::new();
    for Clocked { system, spec, count, domain, memories: of_memories, in_dram } in plan {
        let present = |library| Netlists::present(library, sources, spec);
        let of_unit: Vec<_> =
            netlists.iter().filter_map(|library| Some((library, present(library)?))).collect();
        let Some((_, first)) = of_unit.first() else { continue };
        let name = named(*system, &spec.unit);
        let in_library = |(library, netlist): &(&Netlists, &NetlistFigures)| InLibrary {
            liberty: library.library.clone(),
            area_ge: netlist.ge,
            period_fo4: netlist.period_fo4,
            is_met: node.slack(*domain, netlist.period_fo4).is_met,
        };
        let libraries: Vec<InLibrary> = of_unit.iter().map(in_library).collect();
        misses.extend(miss(&name, &libraries));
        let period_fo4 = libraries.iter().map(|library| library.period_fo4).fold(0.0, f64::max);
        if *in_dram {
            let slack = dram_node.slack(*domain, period_fo4);
            of_dram.push(DramReport { system: *system, unit: spec.unit.clone(), slack });
        }
        units.push(UnitReport {
            system: *system,
            unit: spec.unit.clone(),
            count: *count,
            area_ge: first.ge,
            flip_flops: first.flip_flops,
            period_fo4,
            slack: node.slack(*domain, period_fo4),
            libraries,
        });
        for memory in &first.memories {
            let slack = node.slack_of(memory, *of_memories);
            if !slack.is_met {
                misses.push(format!("{} of {name}", memory.name));
            }
            memories.push(MemoryReport {
                system: *system,
                unit: spec.unit.clone(),
                memory: memory.clone(),
                area_mm2_28nm: memory.area_mm2(28.0),
                access_fo4: memory.access_fo4(),
                setup_fo4: SETUP_FO4,
                slack,
            });
        }
    }
    let liberties = netlists.iter().map(|library| library.library.clone()).collect();
    let gear = gear.tck();
    ClockReport {
        devices: [String::new(), String::new()],
        liberties,
        fo4_ps,
        gear,
        reserve_percent,
        units,
        memories,
        misses,
        dram_fo4_ps,
        in_dram: of_dram,
    }
}

/// A unit's or a memory's name with that of its system.
fn named(system: System, unit: &str) -> String {
    match system {
        System::L3 => unit.to_owned(),
        System::Aim | System::AimSingle => format!("{unit} of AiM"),
    }
}

impl ClockReport {
    /// Adds the memories behind the ports of designs: once for a system and its baseline.
    fn add_outside(&mut self, designs: &[Design], node: Node) {
        let tops = designs.iter().map(|design| design.top());
        let firsts = designs
            .iter()
            .enumerate()
            .filter(|(n, design)| tops.clone().position(|top| top == design.top()) == Some(*n));
        for (_, design) in firsts {
            let system = design.system();
            for Outside { port, memory, .. } in design.memories() {
                let slack = node.slack_of(&memory, clock::of_memories(system));
                if !slack.is_met {
                    self.misses.push(named(system, &format!("{} behind {port}", memory.name)));
                }
                self.memories.push(MemoryReport {
                    system,
                    unit: format!("behind the ports of {port}"),
                    area_mm2_28nm: memory.area_mm2(28.0),
                    access_fo4: memory.access_fo4(),
                    setup_fo4: SETUP_FO4,
                    slack,
                    memory,
                });
            }
        }
    }
}

/// The name of a unit that misses its clock, and in which library if not in all.
fn miss(name: &str, libraries: &[InLibrary]) -> Option<String> {
    let missed = libraries.iter().filter(|library| !library.is_met);
    let missed: Vec<&str> = missed.map(|library| library.liberty.as_str()).collect();
    match missed.len() {
        0 => None,
        count if count == libraries.len() => Some(name.to_owned()),
        _ => Some(format!("{name} in {}", missed.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_estimate::clock::Domain;
    use pimlico_estimate::kept::{self, Hierarchy};
    use pimlico_estimate::rtl;

    const RATES: Rates = Rates { tck_ps: 625, ccd_l_tck: 8, aim_tck_ps: 500, aim_ccd_tck: 2 };
    const NODE: Node = Node { rates: RATES, fo4_ps: 20.0, gear: Gear::One, reserve_percent: 10.0 };

    fn unit(unit: &str) -> Clocked {
        let kept = Hierarchy::kept();
        let design = Design::L3(Gear::One);
        let plan = clock::plan(&[(design, kept.parts(design))]).expect("clocks");
        plan.into_iter().find(|clocked| clocked.spec.unit == unit).expect("a unit")
    }

    /// A unit with so many FO4.
    fn netlist(of: &Clocked, period_fo4: f64, memories: Vec<Memory>) -> NetlistFigures {
        let (unit, digest) = (of.spec.unit.clone(), kept::digest(&rtl::sources(), &of.spec));
        NetlistFigures { unit, digest, ge: 1.0, flip_flops: 1, period_fo4, memories }
    }

    /// A report of one library, in which units have so many FO4.
    fn report_of(units: &[(&Clocked, f64)], node: Node) -> ClockReport {
        report_in(&[units], node)
    }

    fn report_in(libraries: &[&[(&Clocked, f64)]], node: Node) -> ClockReport {
        let library = |units: &&[(&Clocked, f64)]| Netlists {
            library: format!("of {}", units[0].1),
            netlists: units.iter().map(|(unit, fo4)| netlist(unit, *fo4, Vec::new())).collect(),
            ..Netlists::default()
        };
        let netlists: Vec<_> = libraries.iter().map(library).collect();
        let plan: Vec<Clocked> = libraries[0].iter().map(|(unit, _)| (*unit).clone()).collect();
        report(&rtl::sources(), &netlists, &plan, (node, DRAM_FO4_PS))
    }

    #[test]
    fn the_slowest_library_decides_and_is_named() {
        let adder = unit("adder_unit");
        let in_both = |fo4: [f64; 2]| report_in(&[&[(&adder, fo4[0])], &[(&adder, fo4[1])]], NODE);
        assert!(in_both([28.0, 27.0]).misses.is_empty());
        assert_eq!(in_both([29.0, 30.0]).misses, ["adder_unit"]);
        let report = in_both([28.0, 29.0]);
        assert_eq!(report.misses, ["adder_unit in of 29"]);
        assert_eq!(report.units[0].period_fo4, 29.0);
        assert!(!report.units[0].slack.is_met);
        let sheet = units_sheet(&report);
        assert_eq!(sheet.columns.len(), sheet.rows[0].len());
        assert!(sheet.columns.contains(&"FO4, second"));
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
        assert_eq!(at(NODE), ["adder_unit", "relayout_unit"]);
        // Re-layout is at the beats, which have no gear.
        assert_eq!(at(Node { gear: Gear::Two, ..NODE }), ["relayout_unit"]);
        assert!(at(Node { gear: Gear::Two, fo4_ps: 18.0, ..NODE }).is_empty());
        let one_stage_fewer = report_of(&[(&adder, 2.0 * 56.0)], Node { gear: Gear::Two, ..NODE });
        assert_eq!(one_stage_fewer.misses, ["adder_unit"]);
    }

    #[test]
    fn a_memory_that_is_read_in_the_cycle_that_asks_misses() {
        let queue = unit("context_queue");
        let ports =
            pimlico_estimate::memory::MemoryPorts { reads: 1, writes: 1, are_shared: false };
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
            report(&rtl::sources(), &[netlists], std::slice::from_ref(&queue), (NODE, DRAM_FO4_PS))
        };
        assert!(report(true).misses.is_empty());
        assert_eq!(report(false).misses, ["words_q of context_queue"]);
        let sheet = memories_sheet(&report(false));
        assert!(sheet.rows[0].contains(&"in the cycle that asks: no macro".to_owned()));
        assert!(sheet.rows.iter().all(|row| row.len() == sheet.columns.len()));
    }

    #[test]
    fn what_is_in_the_dram_is_listed_in_its_process_and_decides_of_nothing() {
        let (pu, adder) = (unit("bank_pu"), unit("adder_unit"));
        // 125 FO4 are 2.5 ns at 20 ps, and 6.25 ns at 50.
        let report = report_of(&[(&pu, 125.0), (&adder, 25.0)], NODE);
        assert_eq!(report.misses, [""; 0]);
        let [in_dram] = report.in_dram.as_slice() else { panic!("the PU alone is on a chip") };
        assert_eq!((in_dram.unit.as_str(), in_dram.slack.is_met), ("bank_pu", false));
        assert!((in_dram.slack.period_ns - 6.25).abs() < 1e-9);
        assert!(dram_sheet(&report).rows[0].contains(&"144".to_owned()));
    }

    #[test]
    fn memories_behind_ports_have_the_clock_of_their_system() {
        let adder = unit("adder_unit");
        let mut report = report_of(&[(&adder, 1.0)], NODE);
        report.add_outside(&[Design::RANK, Design::AIM, Design::AIM_SINGLE], NODE);
        let of = |m: &MemoryReport| (m.memory.name.clone(), m.slack.clock_ns);
        let expected = [
            ("Va2Pa table", 0.625),
            ("command buffer", 0.625),
            ("Va2Pa table", 2.0),
            ("command buffer", 2.0),
            ("GPR", 2.0),
        ];
        let expected = expected.map(|(name, ns)| (name.to_owned(), ns));
        assert_eq!(report.memories.iter().map(of).collect::<Vec<_>>(), expected);
        let gpr = "GPR behind aim_hub of AiM".to_owned();
        assert!(!report.misses.contains(&gpr));
        report.add_outside(&[Design::AIM], Node { fo4_ps: 50.0, ..NODE });
        assert!(report.misses.contains(&gpr));
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
