// SPDX-License-Identifier: MIT
//! `pimlico estimate compare`: units and totals beside the papers', all at 28 nm.
//!
//! Gate equivalents times the area of a NAND2 in 28 nm give um2 there. Which library the papers had is not
//! known, so that this area, and with it every figure in um2 and every ratio, is a range.

use super::devices::Devices;
use super::flow::{self, Flow, FlowArguments};
use super::parts::{DesignReport, Range, mm2_28nm, range, um2_28nm};
use super::ping_pong::PingPongReport;
use super::sheet::{self, FormatArguments, Sheet};
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::schema::Kind;
use clap::Args;
use pimlico_dpa::clock::{Domain, Gear};
use pimlico_estimate::device::{Buffers, Cost, Level};
use pimlico_estimate::hierarchy::Part;
use pimlico_estimate::paper::{self, lol_pim};
use pimlico_estimate::throughput::{self, PAPER_CLOCK_NS};
use pimlico_estimate::{Area, UnitSpec, clock, memory};
use serde::Serialize;

/// The units that L3's Table 5 has, ours in the sets of parameters that come near.
const UNITS: [&str; 6] =
    ["relayout_unit", "adder_unit", "softmax_unit", "bank_pu:flush", "bank_pu", "bank_pu:sum32"];

/// Arguments of `pimlico estimate compare`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico estimate compare
  pimlico estimate compare --bank-pu bank_pu:flush --format md")]
pub struct CompareArguments {
    /// The bank PU that totals are made of
    #[arg(long, default_value = "bank_pu", value_name = "UNIT", value_parser = UNITS[3..].to_vec())]
    bank_pu: String,
    #[command(flatten)]
    device: DeviceFlag,
    #[command(flatten)]
    flow: FlowArguments,
    #[command(flatten)]
    format: FormatArguments,
}

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
    #[serde(flatten)]
    rank: DesignReport,
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
    /// Where ours is in the rank.
    throughput: Option<ThroughputReport>,
}

/// What a unit does in a time, and the area that takes.
#[derive(Serialize)]
struct ThroughputReport {
    /// The unit's clock in the device.
    device_clock_ns: f64,
    /// Elements in a clock, at the most.
    elements: u64,
    elements_per_ns: f64,
    /// Area of an element in a ns.
    ge: f64,
    /// L3's, where it names how many elements its unit takes in a clock.
    paper: Option<PaperThroughput>,
}

/// The same of L3's unit, if its clock is that of the bank PUs.
#[derive(Serialize)]
struct PaperThroughput {
    elements: u64,
    elements_per_ns: f64,
    ge: Range,
    /// Our area of the same throughput, as a part of L3's.
    ratio: Range,
}

#[derive(Serialize)]
struct LolPim {
    dispatcher_ge: f64,
    dispatcher_logic_mm2_28nm: Range,
    dispatcher_buffers_mm2_28nm: f64,
    paper_dispatcher_mm2_28nm: f64,
    ping_pong: PingPongReport,
}

/// Runs the command.
pub fn run(arguments: &CompareArguments) -> Result<(), Failure> {
    let units = UNITS.iter().map(|name| flow::spec(name)).collect::<Result<Vec<_>, _>>()?;
    let devices = Devices::new(&arguments.device)?;
    let flow = arguments.flow.flow_at(devices.period_ns(Domain::Bank, Gear::DEFAULT))?;
    let areas = flow.areas(&units)?;
    let rank = devices.l3(Gear::DEFAULT);
    let parts = flow.parts(rank)?;
    let mut of_parts = flow.areas(&specs(&parts))?;
    let bank_pu = UNITS.iter().zip(&areas).find(|(unit, _)| **unit == arguments.bank_pu);
    for (part, area) in parts.iter().zip(&mut of_parts) {
        if let Some((_, bank_pu)) = bank_pu.filter(|_| Level::of(part) == Level::Bank) {
            area.clone_from(bank_pu);
        }
    }
    let taken: Vec<_> = of_parts.iter().map(|area| (area.ge, area.memories.as_slice())).collect();
    let of_dispatcher = parts.iter().zip(&of_parts).find(|(part, _)| part.module == "dispatcher");
    let dispatcher_ge = of_dispatcher.map_or(0.0, |(_, area)| area.ge);
    let of_units = units.iter().zip(&areas);
    let report = CompareReport {
        liberty: flow.library.name.clone(),
        nand2_um2: flow.library.nand2_um2,
        clock_ns: flow.clock_ns,
        nand2_28nm_um2: paper::NAND2_28NM_UM2,
        bank_pu: arguments.bank_pu.clone(),
        units: of_units.filter_map(|(spec, area)| unit(spec, area, &devices)).collect(),
        lol_pim: lol_pim(dispatcher_ge, ping_pong(&flow, &devices)?),
        rank: DesignReport::new(rank, &parts, &taken),
    };
    let mut sheets = vec![units_sheet(&report), throughput_sheet(&report)];
    sheets.extend(report.rank.sheets(&format!(" with {}", report.bank_pu)));
    sheets.push(dispatcher_sheet(&report));
    sheets.extend(report.lol_pim.ping_pong.sheets());
    sheet::print(arguments.format, (Kind::EstimateCompare, &report), &sheets)
}

fn specs(parts: &[Part]) -> Vec<UnitSpec> {
    parts.iter().map(UnitSpec::from).collect()
}

/// What ping-pong buffers add to the module's channels.
fn ping_pong(flow: &Flow, devices: &Devices) -> Result<PingPongReport, Failure> {
    let of = |buffers| -> Result<(Vec<Part>, Vec<Cost>), Failure> {
        let parts = flow.parts(devices.aim(buffers))?;
        let is_of_channel = |part: &Part| Level::of(part) != Level::Hub;
        let parts: Vec<Part> = parts.into_iter().filter(is_of_channel).collect();
        let areas = flow.areas(&specs(&parts))?;
        let costs = areas.iter().map(|area| Cost::new(area.ge, &area.memories)).collect();
        Ok((parts, costs))
    };
    let ((parts, costs), (parts_of_two, costs_of_two)) =
        (of(Buffers::Single)?, of(Buffers::PingPong)?);
    Ok(PingPongReport::new((&parts, &costs), (&parts_of_two, &costs_of_two)))
}

fn unit(spec: &UnitSpec, area: &Area, devices: &Devices) -> Option<UnitReport> {
    let paper = paper::figure(&spec.module)?;
    let area_um2_28nm = um2_28nm(area.ge);
    let paper_ge = paper::NAND2_28NM_UM2.map(|nand2| paper.um2 / nand2);
    Some(UnitReport {
        unit: spec.unit.clone(),
        flip_flops: area.flip_flops,
        area_ge: area.ge,
        area_um2_28nm,
        paper_um2_28nm: paper.um2,
        paper_ge,
        ratio: area_um2_28nm.map(|um2| um2 / paper.um2),
        throughput: at_throughput(spec, area.ge, paper_ge, devices),
    })
}

/// The areas of a unit by what it does in a ns.
fn at_throughput(
    spec: &UnitSpec,
    area_ge: f64,
    paper_ge: Range,
    devices: &Devices,
) -> Option<ThroughputReport> {
    let device_clock_ns = devices.period_ns(clock::of_unit(spec)?, Gear::DEFAULT);
    let elements = throughput::of_ours(&spec.module, Gear::DEFAULT)?;
    let elements_per_ns = throughput::per_ns(elements, device_clock_ns);
    let ge = area_ge / elements_per_ns;
    let paper = throughput::of_paper(&spec.module).map(|elements| {
        let elements_per_ns = throughput::per_ns(elements, PAPER_CLOCK_NS);
        let of_paper = paper_ge.map(|ge| ge / elements_per_ns);
        let ratio = of_paper.map(|of_paper| ge / of_paper);
        PaperThroughput { elements, elements_per_ns, ge: of_paper, ratio }
    });
    Some(ThroughputReport { device_clock_ns, elements, elements_per_ns, ge, paper })
}

fn lol_pim(dispatcher_ge: f64, ping_pong: PingPongReport) -> LolPim {
    let to_28nm = (28.0 / lol_pim::NODE_NM).powi(2);
    LolPim {
        dispatcher_ge,
        dispatcher_logic_mm2_28nm: mm2_28nm(dispatcher_ge),
        dispatcher_buffers_mm2_28nm: 2.0 * memory::area_mm2(96 << 10, 28.0),
        paper_dispatcher_mm2_28nm: lol_pim::DISPATCHER_MM2 * to_28nm,
        ping_pong,
    }
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
        columns: vec!["unit", "GE", "um2", "L3's, um2", "L3's, GE", "of L3's", "range"],
        rows: rows.collect(),
        notes: vec![format!(
            "um2 at 28 nm: gate equivalents (GE) times a NAND2 of {least} to {most} um2; \"of L3's\" is \
             at {used}. Logic and flip-flops as synthesised: no layout, no clock tree."
        )],
    }
}

fn throughput_sheet(report: &CompareReport) -> Sheet {
    let rows = report.units.iter().filter_map(|unit| {
        let ThroughputReport { device_clock_ns, elements, elements_per_ns, ge, paper } =
            unit.throughput.as_ref()?;
        let of_paper =
            |cell: fn(&PaperThroughput) -> String| paper.as_ref().map_or_else(String::new, cell);
        Some(vec![
            unit.unit.clone(),
            format!("{device_clock_ns}"),
            elements.to_string(),
            format!("{elements_per_ns:.1}"),
            of_paper(|paper| format!("{:.1}", paper.elements_per_ns)),
            format!("{ge:.0}"),
            of_paper(|paper| range(paper.ge, 0)),
            of_paper(|paper| format!("{:.2}", paper.ratio[1])),
        ])
    });
    Sheet {
        title: "the same at equal throughput: area of an element in a ns".to_owned(),
        columns: vec![
            "unit",
            "clock, ns",
            "elements in a clock",
            "elements per ns",
            "L3's",
            "GE",
            "L3's, GE",
            "of L3's",
        ],
        rows: rows.collect(),
        notes: vec![format!(
            "Table 5 names no clock. Here L3's units have the {PAPER_CLOCK_NS} ns of its bank PUs; if they keep up with \
             the data bus, as ours do, the ratios are those of the table above. L3 names no rate of its softmax unit."
        )],
    }
}

fn dispatcher_sheet(report: &CompareReport) -> Sheet {
    let LolPim {
        dispatcher_ge,
        dispatcher_logic_mm2_28nm,
        dispatcher_buffers_mm2_28nm,
        paper_dispatcher_mm2_28nm,
        ..
    } = &report.lol_pim;
    Sheet {
        title: "beside LoL-PIM, at 28 nm".to_owned(),
        columns: vec!["what", "logic, GE", "logic, mm2", "memories, mm2", "LoL-PIM's, mm2"],
        rows: vec![vec![
            "dispatcher, with tables".to_owned(),
            format!("{dispatcher_ge:.0}"),
            range(*dispatcher_logic_mm2_28nm, 4),
            format!("{dispatcher_buffers_mm2_28nm:.4}"),
            format!("{paper_dispatcher_mm2_28nm:.3}"),
        ]],
        notes: vec![
            "LoL-PIM's mm2 are of 32 nm, scaled by (28/32)^2. The model of SRAM goes through its figure \
             for the dispatcher, so that only the logic beside the tables says something"
                .to_owned(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of units as large as L3's, those that do sixteen or eight times as much in a ns have a part of the area.
    #[test]
    fn areas_are_compared_at_equal_throughput() {
        let devices = Devices::default();
        for (name, times) in [("relayout_unit", 16.0), ("adder_unit", 8.0), ("bank_pu", 1.0)] {
            let ge = paper::figure(name).expect("of Table 5").ge();
            let throughput =
                at_throughput(&flow::spec(name).expect("a unit"), ge, [ge; 3], &devices);
            let paper = throughput.and_then(|of| of.paper).expect("a rate");
            assert!((paper.ratio[1] * times - 1.0).abs() < 1e-9, "{name} {:?}", paper.ratio);
        }
        let softmax = flow::spec("softmax_unit").expect("a unit");
        let of_softmax = at_throughput(&softmax, 1.0, [1.0; 3], &devices).expect("in the rank");
        assert!(of_softmax.paper.is_none() && of_softmax.elements_per_ns == 1.6);
    }
}
