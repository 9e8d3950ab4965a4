// SPDX-License-Identifier: MIT
//! `pimlico estimate compare`: units and totals beside the papers', all at 28 nm.
//!
//! Gate equivalents times the area of a NAND2 in 28 nm give um2 there. Which library the papers had is not
//! known, so that this area, and with it every figure in um2 and every ratio, is a range.

use super::flow::{self, FlowArguments};
use super::sheet::{self, FormatArguments, Sheet};
use crate::failure::Failure;
use crate::schema::Kind;
use clap::Args;
use pimlico_estimate::device::{self, Cost, Level, Total};
use pimlico_estimate::hierarchy::Part;
use pimlico_estimate::memory::Memory;
use pimlico_estimate::paper::{self, lol_pim};
use pimlico_estimate::{Area, UnitSpec, memory};
use serde::Serialize;

/// The units that L3's Table 5 has, ours in the sets of parameters that come near.
const UNITS: [&str; 6] =
    ["relayout_unit", "adder_unit", "softmax_unit", "bank_pu:flush", "bank_pu", "bank_pu:sum32"];

/// Ping-pong and single, a result register for each of 16 PUs; and the PU of 16 multipliers.
const RESULTS: [&str; 3] =
    ["pingpong_buffer:width256_depth1", "pingpong_buffer:width256_depth1_single", "tree_pu"];

/// Arguments of `pimlico estimate compare`.
#[derive(Args)]
pub struct CompareArguments {
    /// The bank PU that totals are made of
    #[arg(long, default_value = "bank_pu", value_name = "UNIT", value_parser = UNITS[3..].to_vec())]
    bank_pu: String,
    #[command(flatten)]
    flow: FlowArguments,
    #[command(flatten)]
    format: FormatArguments,
}

/// From the smallest to the largest area of a NAND2.
type Range = [f64; 3];

/// What `--json` prints.
#[derive(Serialize)]
struct CompareReport {
    liberty: String,
    nand2_um2: f64,
    clock_ns: f64,
    /// Areas of a NAND2 at 28 nm, to which the ranges belong.
    nand2_28nm_um2: Range,
    bank_pu: String,
    units: Vec<UnitReport>,
    lol_pim: LolPim,
    parts: Vec<PartReport>,
    memories: Vec<MemoryReport>,
    totals: Vec<TotalReport>,
    not_counted: [&'static str; 3],
}

/// Equal instances on a level.
#[derive(Serialize)]
struct PartReport {
    level: &'static str,
    part: String,
    /// The module that they are in.
    within: String,
    /// In one of the level.
    count: f64,
    area_ge: f64,
    memories_bytes: f64,
    memories_mm2_28nm: f64,
}

/// A memory on a level.
#[derive(Serialize)]
struct MemoryReport {
    level: &'static str,
    part: String,
    /// In one of the level.
    count: f64,
    #[serde(flatten)]
    memory: Memory,
    area_mm2_28nm: f64,
}

#[derive(Serialize)]
struct UnitReport {
    unit: String,
    flip_flops: u64,
    area_ge: f64,
    area_um2_28nm: Range,
    paper_um2_28nm: f64,
    paper_ge: Range,
    ratio: Range,
}

#[derive(Serialize)]
struct LolPim {
    dispatcher_ge: f64,
    dispatcher_logic_mm2_28nm: Range,
    dispatcher_buffers_mm2_28nm: f64,
    paper_dispatcher_mm2_28nm: f64,
    /// What a second side of the result registers takes.
    ping_pong_results_ge: f64,
    /// What a second side of 2 KB takes in the same macro.
    ping_pong_global_buffer_mm2_28nm: f64,
    /// Both, against 16 PUs of 16 multipliers.
    ping_pong_percent: Range,
    paper_ping_pong_percent: f64,
}

#[derive(Serialize)]
struct TotalReport {
    level: &'static str,
    logic_ge: f64,
    logic_mm2_28nm: Range,
    memories_bytes: f64,
    memories_mm2_28nm: f64,
    /// With the logic of DRAM chips ten times as large.
    logic_mm2_dram_process: Range,
    /// What L3's Table 5 adds up to.
    paper_logic_mm2: f64,
    paper_power_mw: f64,
    /// Ours is not estimated.
    power_mw: Option<f64>,
    budget_mm2: Option<f64>,
    /// Of logic and memories on the buffer chip.
    budget_share_percent: Option<Range>,
}

/// Runs the command.
pub fn run(arguments: &CompareArguments) -> Result<(), Failure> {
    let named = |names: &[&str]| names.iter().map(|name| flow::spec(name)).collect();
    let (units, results): (Result<Vec<UnitSpec>, _>, Result<Vec<UnitSpec>, _>) =
        (named(&UNITS), named(&RESULTS));
    let (units, results) = (units?, results?);
    let flow = arguments.flow.flow()?;
    let areas = flow.areas(&units)?;
    let parts = flow.parts()?;
    let mut of_parts = flow.areas(&parts.iter().map(UnitSpec::from).collect::<Vec<_>>())?;
    let bank_pu = UNITS.iter().zip(&areas).find(|(unit, _)| **unit == arguments.bank_pu);
    for (part, area) in parts.iter().zip(&mut of_parts) {
        if let Some((_, bank_pu)) = bank_pu.filter(|_| Level::of(part) == Level::Bank) {
            area.clone_from(bank_pu);
        }
    }
    let costs: Vec<Cost> = of_parts.iter().map(|area| Cost::new(area.ge, &area.memories)).collect();
    let of_dispatcher = parts.iter().zip(&costs).find(|(part, _)| part.module == "dispatcher");
    let dispatcher_ge = of_dispatcher.map_or(0.0, |(_, cost)| cost.ge);
    let results: Vec<f64> = flow.areas(&results)?.iter().map(|area| area.ge).collect();
    let report = CompareReport {
        liberty: flow.library.name.clone(),
        nand2_um2: flow.library.nand2_um2,
        clock_ns: flow.clock_ns,
        nand2_28nm_um2: paper::NAND2_28NM_UM2,
        bank_pu: arguments.bank_pu.clone(),
        units: units.iter().zip(&areas).filter_map(|(spec, area)| unit(spec, area)).collect(),
        lol_pim: lol_pim(dispatcher_ge, [results[0], results[1], results[2]]),
        parts: part_reports(&parts, &costs),
        memories: memory_reports(&parts, &of_parts),
        totals: Level::ALL.map(|level| total(level, device::total(&parts, &costs, level))).into(),
        not_counted: device::NOT_COUNTED,
    };
    let sheets = [
        units_sheet(&report),
        parts_sheet(&report),
        memories_sheet(&report),
        totals_sheet(&report),
        lol_pim_sheet(&report),
    ];
    sheet::print(arguments.format, (Kind::EstimateCompare, &report), &sheets)
}

fn um2_28nm(ge: f64) -> Range {
    paper::NAND2_28NM_UM2.map(|nand2| ge * nand2)
}

fn mm2_28nm(ge: f64) -> Range {
    um2_28nm(ge).map(|um2| um2 * 1e-6)
}

fn unit(spec: &UnitSpec, area: &Area) -> Option<UnitReport> {
    let paper = paper::figure(&spec.module)?;
    let area_um2_28nm = um2_28nm(area.ge);
    Some(UnitReport {
        unit: spec.unit.clone(),
        flip_flops: area.flip_flops,
        area_ge: area.ge,
        area_um2_28nm,
        paper_um2_28nm: paper.um2,
        paper_ge: paper::NAND2_28NM_UM2.map(|nand2| paper.um2 / nand2),
        ratio: area_um2_28nm.map(|um2| um2 / paper.um2),
    })
}

fn lol_pim(dispatcher_ge: f64, [ping_pong, single, pu]: [f64; 3]) -> LolPim {
    let to_28nm = (28.0 / lol_pim::NODE_NM).powi(2);
    let side = memory::bits_mm2(2 << 10, 28.0);
    let results = ping_pong - single;
    let pus = lol_pim::MULTIPLIERS as f64 / 16.0 * pu;
    LolPim {
        dispatcher_ge,
        dispatcher_logic_mm2_28nm: mm2_28nm(dispatcher_ge),
        dispatcher_buffers_mm2_28nm: 2.0 * memory::area_mm2(96 << 10, 28.0),
        paper_dispatcher_mm2_28nm: lol_pim::DISPATCHER_MM2 * to_28nm,
        ping_pong_results_ge: results,
        ping_pong_global_buffer_mm2_28nm: side,
        ping_pong_percent: paper::NAND2_28NM_UM2
            .map(|nand2| 100.0 * (results * nand2 + side * 1e6) / (pus * nand2)),
        paper_ping_pong_percent: lol_pim::PING_PONG_PERCENT,
    }
}

/// The parts, level by level.
fn part_reports(parts: &[Part], costs: &[Cost]) -> Vec<PartReport> {
    let report = |(part, cost): (&Part, &Cost)| PartReport {
        level: Level::of(part).name(),
        part: UnitSpec::from(part).unit,
        within: part.place().to_owned(),
        count: device::per_level(parts, part),
        area_ge: cost.ge,
        memories_bytes: cost.bytes,
        memories_mm2_28nm: cost.memories_mm2,
    };
    by_level(parts).flat_map(|n| parts.iter().zip(costs).nth(n)).map(report).collect()
}

/// Their memories, and the tables of the dispatcher.
fn memory_reports(parts: &[Part], areas: &[Area]) -> Vec<MemoryReport> {
    let report = |level: Level, part: String, count, memory: &Memory| MemoryReport {
        level: level.name(),
        part,
        count,
        memory: memory.clone(),
        area_mm2_28nm: memory.area_mm2(28.0),
    };
    let of_parts = by_level(parts).flat_map(|n| {
        let (part, count) = (&parts[n], device::per_level(parts, &parts[n]));
        let unit = UnitSpec::from(part).unit;
        let memories = areas[n].memories.iter();
        memories.map(move |memory| report(Level::of(part), unit.clone(), count, memory))
    });
    let tables = device::tables();
    let port = || "behind the dispatcher's ports".to_owned();
    let tables = tables.iter().map(|table| report(Level::BufferChip, port(), 1.0, table));
    of_parts.chain(tables).collect()
}

/// Indices of parts, those of a level one after the other.
fn by_level(parts: &[Part]) -> impl Iterator<Item = usize> {
    Level::ALL
        .into_iter()
        .flat_map(move |level| (0..parts.len()).filter(move |&n| Level::of(&parts[n]) == level))
}

fn total(level: Level, total: Total) -> TotalReport {
    let Total { chips, buffer_chip } = total;
    let (chips_ge, buffer_chip_ge) = (chips.ge, buffer_chip.ge);
    let memories_mm2 = chips.memories_mm2 + buffer_chip.memories_mm2;
    let logic_mm2_28nm = mm2_28nm(chips_ge + buffer_chip_ge);
    let (um2, mw) = papers_total(level);
    let is_budgeted = level == Level::BufferChip;
    TotalReport {
        level: level.name(),
        logic_ge: chips_ge + buffer_chip_ge,
        logic_mm2_28nm,
        memories_bytes: chips.bytes + buffer_chip.bytes,
        memories_mm2_28nm: memories_mm2,
        logic_mm2_dram_process: mm2_28nm(paper::DRAM_PROCESS * chips_ge + buffer_chip_ge),
        paper_logic_mm2: um2 * 1e-6,
        paper_power_mw: mw,
        power_mw: None,
        budget_mm2: is_budgeted.then_some(paper::BUFFER_CHIP_MM2),
        budget_share_percent: is_budgeted.then(|| {
            logic_mm2_28nm.map(|mm2| 100.0 * (mm2 + memories_mm2) / paper::BUFFER_CHIP_MM2)
        }),
    }
}

/// What L3's Table 5 adds up to on a level, in um2 and mW.
fn papers_total(level: Level) -> (f64, f64) {
    let sum = |modules: &[&str], count: u64| {
        let figures = modules.iter().filter_map(|module| paper::figure(module));
        let (um2, mw) = figures.fold((0.0, 0.0), |sum, f| (sum.0 + f.um2, sum.1 + f.mw));
        (um2 * count as f64, mw * count as f64)
    };
    let banks = |count| sum(&["bank_pu"], count);
    let rank_pus = |count| sum(&["relayout_unit", "adder_unit", "softmax_unit"], count);
    let both = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
    let of_rank = device::BANKS * device::CHIPS;
    match level {
        Level::Bank => banks(1),
        Level::Chip => banks(device::BANKS),
        Level::RankPu => rank_pus(1),
        Level::Rank => both(banks(of_rank), rank_pus(1)),
        Level::BufferChip => rank_pus(device::RANKS),
        Level::Dimm => both(banks(of_rank * device::RANKS), rank_pus(device::RANKS)),
    }
}

/// `0.49 to 0.63`: the range's ends, the smaller first.
fn range([a, _, b]: Range, digits: usize) -> String {
    let (least, most) = (a.min(b), a.max(b));
    format!("{least:.digits$} to {most:.digits$}")
}

fn units_sheet(report: &CompareReport) -> Sheet {
    let rows = report.units.iter().map(|unit| {
        let UnitReport { area_um2_28nm, paper_um2_28nm, paper_ge, ratio, .. } = *unit;
        vec![
            unit.unit.clone(),
            format!("{:.0}", unit.area_ge),
            range(area_um2_28nm, 0),
            format!("{paper_um2_28nm:.0}"),
            range(paper_ge, 0),
            format!("{:.2}", ratio[1]),
            range(ratio, 2),
        ]
    });
    let [least, used, most] = report.nand2_28nm_um2;
    Sheet {
        title: format!("units, synthesised in {}, at 28 nm beside L3's Table 5", report.liberty),
        columns: vec!["unit", "GE", "um2", "L3 um2", "L3 GE", "of L3's", "range"],
        rows: rows.collect(),
        notes: vec![format!(
            "um2 at 28 nm: gate equivalents (GE) times a NAND2 of {least} to {most} um2; \"of L3's\" is \
             at {used}. Logic and flip-flops as synthesised: no layout, no clock tree."
        )],
    }
}

fn parts_sheet(report: &CompareReport) -> Sheet {
    let rows = report.parts.iter().map(|part| {
        let PartReport { level, part, within, count, area_ge, .. } = part;
        let all = count * area_ge;
        let number = |value: f64| format!("{value:.0}");
        let names = [(*level).to_owned(), part.clone(), within.clone()];
        names.into_iter().chain([number(*count), number(*area_ge), number(all)]).collect()
    });
    Sheet {
        title: "parts, as the RTL has them".to_owned(),
        columns: vec!["level", "part", "in", "in one", "GE", "in all"],
        rows: rows.collect(),
        notes: vec![format!(
            "rest: what a module has beside its parts, with the gates of its clocks. Not counted: {}",
            report.not_counted.join("; ")
        )],
    }
}

fn memories_sheet(report: &CompareReport) -> Sheet {
    let rows = report.memories.iter().map(|report| {
        let MemoryReport { level, part, count, memory, area_mm2_28nm } = report;
        let mut row = vec![(*level).to_owned(), part.clone(), format!("{count:.0}")];
        row.extend(sheet::memory_cells(memory, *area_mm2_28nm));
        row
    });
    Sheet {
        title: "memories, as the RTL has them, by the model of SRAM at 28 nm".to_owned(),
        columns: ["level", "part", "in one"].into_iter().chain(sheet::MEMORY).collect(),
        rows: rows.collect(),
        notes: vec!["a memory of up to 16 words is flip-flops, in the GE of its part".to_owned()],
    }
}

fn totals_sheet(report: &CompareReport) -> Sheet {
    let rows = report.totals.iter().map(|total| {
        let share = |share: Range| format!("{} %", range(share, 2));
        vec![
            total.level.to_owned(),
            format!("{:.0}", total.logic_ge),
            range(total.logic_mm2_28nm, 4),
            format!("{:.0}", total.memories_bytes),
            format!("{:.3}", total.memories_mm2_28nm),
            range(total.logic_mm2_dram_process, 3),
            format!("{:.4}", total.paper_logic_mm2),
            total.budget_share_percent.map_or(String::new(), share),
            format!("{:.2}", total.paper_power_mw),
        ]
    });
    let watts = report.totals.last().map_or(0.0, |dimm| dimm.paper_power_mw / 1e3);
    Sheet {
        title: format!("totals with {}, at 28 nm", report.bank_pu),
        columns: vec![
            "level",
            "logic GE",
            "logic mm2",
            "bytes",
            "memories mm2",
            "logic, DRAM process",
            "L3 logic mm2",
            "of 100 mm2",
            "L3 mW",
        ],
        rows: rows.collect(),
        notes: vec![
            "logic: GE of the parts; memories by the model of SRAM; \"DRAM process\": logic in DRAM chips ten times as large \
             (L3, note to Table 5), that of the buffer chip as it is"
                .to_owned(),
            format!(
                "L3: Table 5 added up: no dispatcher, no controller, no buffers. Its DIMM takes {watts:.2} \
                 W, {:.1} % of {} W",
                100.0 * watts / paper::DIMM_W,
                paper::DIMM_W
            ),
        ],
    }
}

fn lol_pim_sheet(report: &CompareReport) -> Sheet {
    let LolPim {
        dispatcher_ge,
        dispatcher_logic_mm2_28nm,
        dispatcher_buffers_mm2_28nm,
        paper_dispatcher_mm2_28nm,
        ping_pong_results_ge,
        ping_pong_global_buffer_mm2_28nm,
        ping_pong_percent,
        paper_ping_pong_percent,
    } = &report.lol_pim;
    let row = |what: &str, ge: f64, logic: String, memories: f64, paper: String| {
        vec![what.to_owned(), format!("{ge:.0}"), logic, format!("{memories:.4}"), paper]
    };
    Sheet {
        title: "beside LoL-PIM, at 28 nm".to_owned(),
        columns: vec!["what", "logic GE", "logic", "memories mm2", "LoL-PIM"],
        rows: vec![
            row(
                "dispatcher, with tables",
                *dispatcher_ge,
                format!("{} mm2", range(*dispatcher_logic_mm2_28nm, 4)),
                *dispatcher_buffers_mm2_28nm,
                format!("{paper_dispatcher_mm2_28nm:.3} mm2"),
            ),
            row(
                "ping-pong, 256 multipliers",
                *ping_pong_results_ge,
                format!("{} % in all", range(*ping_pong_percent, 2)),
                *ping_pong_global_buffer_mm2_28nm,
                format!("{paper_ping_pong_percent} %"),
            ),
        ],
        notes: vec![
            "LoL-PIM's mm2 are of 32 nm, scaled by (28/32)^2. The model of SRAM goes through its figure \
             for the dispatcher, so that only the logic beside the tables says something"
                .to_owned(),
            "ping-pong: a second side of 16 result registers as synthesised, and of a 2 KB buffer in the \
             same macro, against 16 PUs of 16 multipliers"
                .to_owned(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_totals_are_table_5_added_up() {
        let (um2, mw) = papers_total(Level::RankPu);
        assert!((um2 - 22_900.0).abs() < 1e-9 && (mw - 6.402).abs() < 1e-9);
        let (um2, mw) = papers_total(Level::Dimm);
        assert!((um2 - (256.0 * 3323.0 + 2.0 * 22_900.0)).abs() < 1e-6);
        assert!((mw - (256.0 * 1.129 + 2.0 * 6.402)).abs() < 1e-9);
    }

    #[test]
    fn a_dram_process_enlarges_the_chips_only() {
        let ge = |ge| Cost { ge, ..Cost::default() };
        let of = |chips, buffer_chip| Total { chips: ge(chips), buffer_chip: ge(buffer_chip) };
        let bank = total(Level::Bank, of(1e3, 0.0));
        assert!((bank.logic_mm2_dram_process[1] / bank.logic_mm2_28nm[1] - 10.0).abs() < 1e-9);
        let mut both = of(0.0, 2e3);
        both.buffer_chip.memories_mm2 = 1.5;
        let chip = total(Level::BufferChip, both);
        assert_eq!(chip.logic_mm2_dram_process, chip.logic_mm2_28nm);
        // 2000 GE of 0.504 um2 and the memories: on 100 mm2.
        let share = chip.budget_share_percent.expect("a budget")[1];
        assert!((share - (2e3 * 0.504e-6 + 1.5)).abs() < 1e-9);
        assert_eq!(bank.budget_mm2, None);
    }

    #[test]
    fn parts_are_listed_by_level_with_their_memories() {
        let part = |module: &str, within: &[&str], count| Part {
            module: module.to_owned(),
            parameters: Default::default(),
            within: within.iter().map(|&module| module.to_owned()).collect(),
            count,
        };
        let chip = ["pim_module", "pim_rank", "pim_chip"];
        let parts = [
            part("dispatcher", &chip[..1], 1),
            part("pim_chip", &chip, 8),
            part("bank_pu", &chip, 128),
        ];
        let costs = [1.0, 2.0, 3.0].map(|ge| Cost { ge, ..Cost::default() });
        let reports = part_reports(&parts, &costs);
        let rows: Vec<_> =
            reports.iter().map(|r| (r.level, r.part.as_str(), r.count, r.area_ge)).collect();
        let expected = [
            ("bank", "bank_pu", 1.0, 3.0),
            ("chip", "pim_chip, rest", 1.0, 2.0),
            ("buffer chip", "dispatcher", 1.0, 1.0),
        ];
        assert_eq!(rows, expected);
        let tables = memory_reports(&[], &[]);
        let bytes: u64 = tables.iter().map(|table| table.memory.size_bits() / 8).sum();
        assert_eq!(bytes, 2 * 96 * 1024);
    }

    #[test]
    fn ping_pong_is_counted_against_sixteen_pus() {
        let LolPim { ping_pong_results_ge, ping_pong_percent, .. } =
            lol_pim(0.0, [300.0, 100.0, 1e4]);
        assert_eq!(ping_pong_results_ge, 200.0);
        let side_um2 = memory::bits_mm2(2048, 28.0) * 1e6;
        let percent = 100.0 * (200.0 + side_um2 / 0.504) / 1.6e5;
        assert!((ping_pong_percent[1] - percent).abs() < 1e-9);
    }
}
