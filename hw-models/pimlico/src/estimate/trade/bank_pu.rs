// SPDX-License-Identifier: MIT
//! Designs of the bank PU: the same bits at the same ports in the same cycles, for different areas and powers.

use super::{ErrorReport, Options, POWER_CONTEXT, POWER_MODEL, head_of_rank};
use crate::estimate::flow::{self, Flow};
use crate::estimate::picture::{Bar, BarPanel, Picture, Scale};
use crate::estimate::power::{self, DEFAULT_NODE_NM, WINDOW};
use crate::estimate::power_report::{scale_28nm, working};
use crate::estimate::sheet::{self, Sheet};
use crate::estimate::workload::{What, Workload};
use crate::failure::Failure;
use crate::output::{self, grouped};
use crate::schema::Kind;
use pimlico_device::Options as DeviceOptions;
use pimlico_estimate::power::cells::Cells;
use pimlico_estimate::power::{Phase, UnitPower};
use pimlico_estimate::{Area, UnitSpec, paper};
use pimlico_units::arith::Binary16Flush;
use pimlico_units::bank::BankPu;
use pimlico_workload::numerics::NumericsRow;
use pimlico_workload::subnormals;
use serde::Serialize;
use std::collections::BTreeMap;

/// How often the power of L3's bank PU one of ours may take.
const MOST_POWER: f64 = 2.0;

/// The default library, as it names itself: the one whose node is known.
const DEFAULT_LIBRARY_NAME: &str = "osu018_stdcells";

/// A design: its name, its unit, and its parameters.
type Design = (&'static str, &'static str, [(&'static str, i64); 3]);

const fn parameters(half_stage: i64, sets: i64, result_gates: i64) -> [(&'static str, i64); 3] {
    [("HALF_STAGE", half_stage), ("SETS", sets), ("RESULT_GATES", result_gates)]
}

const FLUSH: &str = "bank_pu:flush";

/// The designs.
const DESIGNS: [Design; 9] = [
    ("rows in one set", FLUSH, parameters(0, 1, 0)),
    ("two sets", FLUSH, parameters(0, 2, 0)),
    ("three sets: the default", FLUSH, parameters(0, 3, 0)),
    ("three sets, gates before the results", FLUSH, parameters(0, 3, 1)),
    ("registers on the falling edge, one set", FLUSH, parameters(1, 1, 0)),
    ("the same, two sets", FLUSH, parameters(1, 2, 0)),
    ("the same, three sets", FLUSH, parameters(1, 3, 0)),
    ("the same, three sets, gates before the results", FLUSH, parameters(1, 3, 1)),
    ("the default, subnormal numbers kept", "bank_pu", parameters(0, 3, 0)),
];

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    trade: &'static str,
    liberty: String,
    nand2_um2: f64,
    clock_ns: f64,
    /// L3's bank PU at the area of a NAND2 of the design's targets, and its power in mW.
    paper_ge: f64,
    paper_mw: f64,
    designs: Vec<DesignReport>,
    /// Under what the power is a mean.
    power_of: String,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct DesignReport {
    name: &'static str,
    unit: &'static str,
    parameters: BTreeMap<&'static str, i64>,
    area_ge: f64,
    sized_ge: f64,
    flip_flops: u64,
    /// Slowest path of the sized netlist, of half a clock twice as much, in FO4.
    path_fo4: Option<f64>,
    score_mw: Option<f64>,
    context_mw: Option<f64>,
    idle_mw: Option<f64>,
    /// Of score and context together.
    glitches: Option<f64>,
    power_mw_28nm: Option<f64>,
    /// Clocks of the netlist in which all outputs were those of the model.
    equal_clocks: Option<u64>,
    tree_latency: u64,
    accumulate_latency: u64,
    /// Of the output of a head, against float64 of the same scores.
    errors: Vec<HeadError>,
    /// No other design is smaller and takes less.
    on_frontier: bool,
}

/// The error of a head's attention.
#[derive(Clone, Serialize)]
struct HeadError {
    context: usize,
    distribution: String,
    error: ErrorReport,
}

impl DesignReport {
    fn largest_error(&self) -> Option<f64> {
        self.errors.iter().map(|head| head.error.max_relative).reduce(f64::max)
    }
}

/// Runs the command.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    options.check()?;
    let flow = options.flow.flow()?;
    let report = report(options, &flow)?;
    options.plot.write(|| picture(&report))?;
    sheet::print(options.format, (Kind::EstimateTradeBankPu, &report), &[sheet(&report)])
}

fn specs() -> Result<Vec<UnitSpec>, Failure> {
    let spec = |(_, unit, parameters): &Design| {
        let mut spec = flow::spec(unit)?;
        spec.parameters.extend(parameters.iter().map(|&(name, value)| (name.to_owned(), value)));
        Ok(spec)
    };
    DESIGNS.iter().map(spec).collect()
}

fn report(options: &Options, flow: &Flow) -> Result<Report, Failure> {
    let specs = specs()?;
    let [kept, flushed] = errors(options)?;
    let areas = flow.areas(&specs)?;
    let sized = flow.sized_areas(&specs)?;
    let (context, seed) = (POWER_CONTEXT, options.seed);
    let what = What {
        model: POWER_MODEL,
        context,
        options: DeviceOptions::default(),
        seed,
        window: WINDOW,
    };
    let workload = Workload::run(what)?;
    let tasks = specs.iter().map(|spec| (spec, workload.stimulus(&spec.unit, WINDOW)));
    let powers = power::of_units(flow, &tasks.collect::<Vec<_>>())?;
    let library = &flow.library;
    let is_default = library.name == DEFAULT_LIBRARY_NAME;
    let volts = Cells::of(library).ok().map(|cells| cells.volts);
    let scale = volts.filter(|_| is_default).map(|volts| scale_28nm(DEFAULT_NODE_NM, volts));
    let fo4_ns = flow.fo4_ns()?;

    let of_design = |number: usize| {
        let (name, unit, parameters) = DESIGNS[number];
        let errors = if unit == FLUSH { &flushed } else { &kept };
        let figures = Figures {
            area: &areas[number],
            sized: &sized[number],
            power: powers[number].as_ref(),
            scale,
            fo4_ns,
        };
        figures.design(name, unit, parameters, errors.clone())
    };
    let mut designs: Vec<_> = (0..DESIGNS.len()).map(of_design).collect();
    mark_frontier(&mut designs);
    let paper = paper::figure("bank_pu").expect("in the paper's table");
    let notes = vec![
        "all designs are equal in every bit at every port in every cycle; the netlist's outputs were \
         compared with the model's in the clocks of the column"
            .to_owned(),
        format!(
            "limits: L3's {} GE and {MOST_POWER} x {} mW at 28 nm; * on the frontier of the flushed designs: \
             no other is smaller and takes less",
            grouped(paper.ge().round() as u64),
            paper.mw
        ),
        format!(
            "FO4 of the sized netlist; a path of half a clock counts twice. mW: at {} ns, mean over {}",
            flow.clock_ns,
            head_of_rank()
        ),
        "largest error of a head's output against float64 of the same scores, relative to its largest element"
            .to_owned(),
    ];
    Ok(Report {
        trade: "bank-pu",
        liberty: library.name.clone(),
        nand2_um2: library.nand2_um2,
        clock_ns: flow.clock_ns,
        paper_ge: paper.ge(),
        paper_mw: paper.mw,
        designs,
        power_of: head_of_rank(),
        notes,
    })
}

/// Errors of heads with subnormal numbers kept, and flushed.
fn errors(options: &Options) -> Result<[Vec<HeadError>; 2], Failure> {
    let Options { head_dim, context, seed, .. } = options;
    let bar = output::progress(2 * context.len() as u64, "heads");
    let rows = subnormals::compare(*head_dim, context, *seed, || bar.inc(1));
    bar.finish_and_clear();
    let rows = rows.map_err(|e| Failure::Input(e.to_string()))?;
    let of = |row: &NumericsRow| {
        let error = row.stages.output_from_scores;
        HeadError {
            context: row.context,
            distribution: row.distribution.to_string(),
            error: ErrorReport {
                max_ulp: error.max_ulp,
                max_relative: error.max_relative,
                rms_relative: error.rms_relative,
            },
        }
    };
    Ok([0, 1].map(|kind| rows.iter().map(|row| of(&row[kind])).collect()))
}

/// What was measured of a design.
struct Figures<'a> {
    area: &'a Area,
    sized: &'a Area,
    power: Option<&'a UnitPower>,
    scale: Option<f64>,
    fo4_ns: Option<f64>,
}

impl Figures<'_> {
    fn design(
        self,
        name: &'static str,
        unit: &'static str,
        parameters: [(&'static str, i64); 3],
        errors: Vec<HeadError>,
    ) -> DesignReport {
        let Self { area, sized, power, scale, fo4_ns } = self;
        let phase = |phase| power.and_then(|power| power.phase(phase));
        let mw = |of| phase(of).map(|phase| phase.power.total());
        let work = || [Phase::Score, Phase::Context].into_iter().filter_map(phase);
        let toggles = |of: fn(f64) -> f64| -> f64 {
            work().map(|p| p.counted as f64 * p.toggles_per_clock * of(p.glitches)).sum()
        };
        let all = toggles(|_| 1.0);
        let period_ns = sized.timing.as_ref().map(|timing| timing.period_ns);
        DesignReport {
            name,
            unit,
            parameters: parameters.into(),
            area_ge: area.ge,
            sized_ge: sized.ge,
            flip_flops: area.flip_flops,
            path_fo4: period_ns.zip(fo4_ns).map(|(period, fo4)| period / fo4),
            score_mw: mw(Phase::Score),
            context_mw: mw(Phase::Context),
            idle_mw: mw(Phase::Idle),
            glitches: (all > 0.0).then(|| toggles(|glitches| glitches) / all),
            power_mw_28nm: power.zip(scale).map(|(power, scale)| working(power).dynamic() * scale),
            equal_clocks: power.map(|power| power.compared),
            tree_latency: BankPu::<Binary16Flush>::TREE_LATENCY,
            accumulate_latency: BankPu::<Binary16Flush>::ACCUMULATE_LATENCY,
            errors,
            on_frontier: false,
        }
    }
}

/// Marks the flushed designs that no other flushed one beats in area and power; none where power is not known.
fn mark_frontier(designs: &mut [DesignReport]) {
    let of = |design: &DesignReport| {
        let mw = design.score_mw.zip(design.context_mw).map(|(score, context)| score + context);
        mw.filter(|_| design.unit == FLUSH).map(|mw| (design.area_ge, mw))
    };
    let all: Vec<_> = designs.iter().filter_map(of).collect();
    for design in designs.iter_mut() {
        let beats = |(ge, mw): (f64, f64), (other_ge, other_mw): (f64, f64)| {
            other_ge <= ge && other_mw <= mw && (other_ge < ge || other_mw < mw)
        };
        design.on_frontier =
            of(design).is_some_and(|one| !all.iter().any(|other| beats(one, *other)));
    }
}

fn sheet(report: &Report) -> Sheet {
    let optional = |value: Option<f64>, digits: usize| {
        value.map_or(String::new(), |value| format!("{value:.digits$}"))
    };
    let rows = report.designs.iter().map(|design| {
        let mark = if design.on_frontier { " *" } else { "" };
        vec![
            format!("{}{mark}", design.name),
            grouped(design.area_ge.round() as u64),
            grouped(design.sized_ge.round() as u64),
            design.flip_flops.to_string(),
            optional(design.path_fo4, 0),
            optional(design.score_mw, 1),
            optional(design.context_mw, 1),
            optional(design.idle_mw, 1),
            optional(design.glitches.map(|share| 100.0 * share), 0),
            optional(design.power_mw_28nm, 3),
            optional(design.power_mw_28nm.map(|mw| mw / report.paper_mw), 2),
            format!("{}, {}", design.tree_latency, design.accumulate_latency),
            design.equal_clocks.map_or(String::new(), |clocks| clocks.to_string()),
            design.largest_error().map_or(String::new(), |error| format!("{error:.1e}")),
        ]
    });
    Sheet {
        title: "bank-pu: designs of the bank PU, equal in every bit and cycle".to_owned(),
        columns: vec![
            "design",
            "GE",
            "sized, GE",
            "flip-flops",
            "FO4",
            "score, mW",
            "context, mW",
            "idle, mW",
            "glitches, %",
            "28 nm, mW",
            "of L3's",
            "cycles",
            "equal clocks",
            "max error",
        ],
        rows: rows.collect(),
        notes: report.notes.clone(),
    }
}

fn picture(report: &Report) -> Picture {
    let panel =
        |title: &str, text: fn(f64) -> String, value: &dyn Fn(&DesignReport) -> Option<f64>| {
            let bars = report.designs.iter().filter_map(|design| {
                let value = value(design)?;
                let colour = usize::from(!design.on_frontier);
                Some(Bar {
                    label: design.name.to_owned(),
                    parts: vec![(value, colour)],
                    text: text(value),
                })
            });
            BarPanel { title: title.to_owned(), bars: bars.collect(), scale: Scale::Linear }
        };
    let whole = |value: f64| grouped(value.round() as u64);
    let one = |value: f64| format!("{value:.1}");
    let panels = [
        panel("area, GE", whole, &|design| Some(design.area_ge)),
        panel("slowest path of the sized netlist, FO4", whole, &|design| design.path_fo4),
        panel("power in score, mW", one, &|design| design.score_mw),
        panel("power in context, mW", one, &|design| design.context_mw),
        panel("idle, mW", one, &|design| design.idle_mw),
        panel("scaled to 28 nm, in L3's", |times| format!("{times:.2}"), &|design| {
            design.power_mw_28nm.map(|mw| mw / report.paper_mw)
        }),
    ];
    Picture {
        title: format!("bank-pu: designs of the bank PU, in {}", report.liberty),
        key: vec!["on the frontier", "not"],
        panels: panels.into_iter().filter(|panel| !panel.bars.is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_estimate::rtl;

    fn design(unit: &'static str, area_ge: f64, mw: Option<f64>) -> DesignReport {
        DesignReport {
            name: "a design",
            unit,
            parameters: BTreeMap::new(),
            area_ge,
            sized_ge: area_ge,
            flip_flops: 1,
            path_fo4: None,
            score_mw: mw,
            context_mw: mw,
            idle_mw: None,
            glitches: None,
            power_mw_28nm: mw,
            equal_clocks: None,
            tree_latency: 4,
            accumulate_latency: 2,
            errors: Vec::new(),
            on_frontier: false,
        }
    }

    #[test]
    fn what_another_beats_is_not_on_the_frontier() {
        let mut designs = [
            design(FLUSH, 100.0, Some(9.0)),
            design(FLUSH, 110.0, Some(9.0)),
            design(FLUSH, 120.0, Some(7.0)),
            design(FLUSH, 130.0, None),
            design("bank_pu", 90.0, Some(1.0)),
        ];
        mark_frontier(&mut designs);
        let marks: Vec<_> = designs.iter().map(|design| design.on_frontier).collect();
        assert_eq!(marks, [true, false, true, false, false]);
    }

    #[test]
    fn one_design_is_what_the_rtl_has_by_default() {
        let specs = specs().expect("units");
        let of = |spec: &UnitSpec| spec.clone().without_defaults(&rtl::sources()).parameters;
        for unit in [FLUSH, "bank_pu"] {
            let default = of(&flow::spec(unit).expect("a unit"));
            let count =
                specs.iter().filter(|spec| spec.unit == unit && of(spec) == default).count();
            assert_eq!(count, 1, "{unit}");
        }
        for (name, _) in DESIGNS[0].2 {
            let other = BTreeMap::from([(name.to_owned(), 9)]);
            let overrides = rtl::overrides(&rtl::sources(), "bank_pu", &other).expect("the module");
            assert_eq!(overrides.len(), 1, "{name} is a parameter of the RTL");
        }
    }

    #[test]
    fn a_row_and_a_bar_say_what_was_measured() {
        let mut designs = vec![design(FLUSH, 1234.0, Some(9.0)), design(FLUSH, 2000.0, None)];
        mark_frontier(&mut designs);
        let report = Report {
            trade: "bank-pu",
            liberty: "cells".to_owned(),
            nand2_um2: 1.0,
            clock_ns: 5.0,
            paper_ge: 6593.0,
            paper_mw: 4.5,
            designs,
            power_of: String::new(),
            notes: Vec::new(),
        };
        let sheet = sheet(&report);
        assert_eq!(sheet.rows[0].len(), sheet.columns.len());
        assert_eq!(sheet.rows[0][..2], ["a design *", "1 234"]);
        assert_eq!(sheet.rows[0][10], "2.00");
        assert_eq!(sheet.rows[1][5], "");
        let picture = picture(&report);
        let bars: Vec<_> = picture.panels.iter().map(|panel| panel.bars.len()).collect();
        assert_eq!(bars, [2, 1, 1, 1]);
        assert_eq!(picture.panels[0].bars[0].parts, [(1234.0, 0)]);
        assert_eq!(picture.panels[0].bars[1].parts, [(2000.0, 1)]);
    }
}
