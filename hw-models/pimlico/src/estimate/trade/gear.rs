// SPDX-License-Identifier: MIT
//! The gears of the rank PU's core: what the core consists of at each and whether its units make their clock,
//! and how many tCK heads, a decoded token and a layer take.

use super::{MOST_CONTEXT, MOST_HEAD_DIM};
use crate::estimate::clock::Node;
use crate::estimate::flow::{CLOCK_NS, ToolArguments};
use crate::estimate::netlists::Maker;
use crate::estimate::power::{self, DEFAULT_NODE_NM, WINDOW};
use crate::estimate::power_report::{scale_28nm, working};
use crate::estimate::sheet::{self, FormatArguments, Sheet};
use crate::estimate::workload::{What, Workload};
use crate::failure::Failure;
use crate::output::{self, grouped};
use crate::schema::Kind;
use crate::workloads::{Machine, Run};
use clap::Args;
use pimlico_device::{Config, Options, Topology};
use pimlico_estimate::clock::{Clocked, Domain, Gear};
use pimlico_estimate::device::Design;
use pimlico_estimate::power::cells::Cells;
use pimlico_estimate::{DEFAULT_LIBRARY, UnitSpec, fo4};
use serde::Serialize;
use std::path::Path;

/// Whose head is computed for the power, and of how many tokens.
const POWER_MODEL: &str = "gpt-175b";
const POWER_CONTEXT: usize = 1024;

/// Arguments of `pimlico estimate trade gear`.
#[derive(Args)]
pub struct GearOptions {
    /// Tokens of the heads
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_values_t = [16_384, 64])]
    context: Vec<usize>,
    /// Elements of the heads' vectors
    #[arg(long, value_delimiter = ',', value_name = "D,...", default_values_t = [128, 64])]
    head_dim: Vec<usize>,
    /// Tokens that the built-in language model decodes
    #[arg(long, default_value_t = 40, value_name = "N")]
    tokens: usize,
    /// Without a decoder layer of llama-3.1-8b, which takes some seconds
    #[arg(long)]
    no_layer: bool,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    #[command(flatten)]
    tools: ToolArguments,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct GearReport {
    trade: &'static str,
    liberty: String,
    fo4_ps: f64,
    reserve_percent: f64,
    seed: u64,
    alternatives: Vec<Alternative>,
    /// Under what the power is a mean.
    power_of: String,
    /// Why no unit has a power, if none has.
    no_power: Option<String>,
}

/// A gear.
#[derive(Serialize)]
struct Alternative {
    /// tCK in a cycle.
    gear: usize,
    clock_ns: f64,
    /// Of the core, with cells sized for their loads.
    area_ge: f64,
    flip_flops: u64,
    memories_mm2_28nm: f64,
    /// Units and memories of the rank, of the core or not, that miss their clock.
    misses: Vec<String>,
    /// Of the units that have one, scaled to 28 nm, at the core's clock.
    power_mw_28nm: Option<f64>,
    units: Vec<UnitReport>,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct UnitReport {
    #[serde(skip)]
    spec: UnitSpec,
    unit: String,
    area_ge: f64,
    flip_flops: u64,
    period_fo4: f64,
    is_met: bool,
    power_mw_28nm: Option<f64>,
    /// Why it has none.
    no_power: Option<&'static str>,
}

/// Runs the command.
pub fn run(options: &GearOptions) -> Result<(), Failure> {
    options.check()?;
    let maker = Maker::new(&options.tools, None)?;
    let runs = runs(options)?;
    let alternatives =
        Gear::ALL.into_iter().zip(runs).map(|(gear, runs)| hardware(options, &maker, gear, runs));
    let (alternatives, liberties): (Vec<_>, Vec<_>) =
        alternatives.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let mut report = GearReport {
        trade: "gear",
        liberty: liberties.into_iter().next().unwrap_or_default(),
        fo4_ps: NODE.0,
        reserve_percent: NODE.1,
        seed: options.seed,
        alternatives,
        power_of: format!(
            "score and context of a head of {POWER_MODEL} of {} tokens",
            grouped(POWER_CONTEXT as u64)
        ),
        no_power: None,
    };
    report.no_power = add_power(options, &mut report.alternatives)?;
    sheet::print(
        options.format,
        (Kind::EstimateTradeGear, &report),
        &[gears_sheet(&report), units_sheet(&report)],
    )
}

impl GearOptions {
    /// Refuses what would be found wrong only after much work.
    fn check(&self) -> Result<(), Failure> {
        let within = |flag: &str, values: &[usize], most: usize| match values
            .iter()
            .find(|value| !(1..=most).contains(*value))
        {
            Some(wrong) => Err(Failure::Input(format!("--{flag} {wrong}: expected 1 to {most}"))),
            None => Ok(()),
        };
        within("head-dim", &self.head_dim, MOST_HEAD_DIM)?;
        within("context", &self.context, MOST_CONTEXT)?;
        within("tokens", &[self.tokens], MOST_CONTEXT)
    }
}

/// FO4 of the node in ps, and the share of a period that is kept, as `estimate clock` has them.
const NODE: (f64, f64) = (fo4::NODE_28NM_PS, 10.0);

/// What the core consists of, and the name of the library.
fn hardware(
    options: &GearOptions,
    maker: &Maker<'_>,
    gear: Gear,
    runs: Vec<Run>,
) -> Result<(Alternative, String), Failure> {
    let plan = maker.plan(&[Design::L3(gear)])?;
    let specs: Vec<UnitSpec> = plan.iter().map(|clocked| clocked.spec.clone()).collect();
    let liberty = options.tools.liberty.as_deref().unwrap_or(Path::new(DEFAULT_LIBRARY));
    let netlists = maker.netlists(liberty, &specs)?;
    let (node, sources) = (Node::built_in(NODE.0, gear, NODE.1), maker.sources());
    let (mut units, mut misses, mut memories_mm2) = (Vec::new(), Vec::new(), 0.0);
    for Clocked { spec, count, domain, memories, .. } in plan {
        let Some(netlist) = netlists.present(&sources, &spec) else { continue };
        let is_met = node.slack(domain, netlist.period_fo4).is_met;
        if !is_met {
            misses.push(spec.unit.clone());
        }
        let missed =
            netlist.memories.iter().filter(|memory| !node.slack_of(memory, memories).is_met);
        misses.extend(missed.map(|memory| format!("{} of {}", memory.name, spec.unit)));
        if memories == Domain::Core {
            let areas = netlist.memories.iter().map(|memory| memory.area_mm2(28.0));
            memories_mm2 += count as f64 * areas.sum::<f64>();
        }
        if domain != Domain::Core {
            continue;
        }
        units.push(UnitReport {
            unit: spec.module.clone() + if spec.alone { ", rest" } else { "" },
            area_ge: count as f64 * netlist.ge,
            flip_flops: count * netlist.flip_flops,
            period_fo4: netlist.period_fo4,
            is_met,
            power_mw_28nm: None,
            no_power: None,
            spec,
        });
    }
    let alternative = Alternative {
        gear: gear.tck(),
        clock_ns: node.clock_ns(Domain::Core),
        area_ge: units.iter().map(|unit| unit.area_ge).sum(),
        flip_flops: units.iter().map(|unit| unit.flip_flops).sum(),
        memories_mm2_28nm: memories_mm2,
        misses,
        power_mw_28nm: None,
        units,
        runs,
    };
    Ok((alternative, netlists.library))
}

/// Adds what the units take. Where there is no tool, or the library says nothing of power, no unit has any: why.
fn add_power(
    options: &GearOptions,
    alternatives: &mut [Alternative],
) -> Result<Option<String>, Failure> {
    let flow = match options.tools.flow(CLOCK_NS) {
        Ok(flow) => flow,
        Err(Failure::Input(why)) => return Ok(Some(why)),
        Err(other) => return Err(other),
    };
    let cells = match Cells::of(&flow.library) {
        Ok(cells) if options.tools.liberty.is_none() => cells,
        Ok(_) => {
            return Ok(Some("no feature size of the library, to scale power to 28 nm".to_owned()));
        }
        Err(what) => return Ok(Some(format!("{}: {what}", flow.library.name))),
    };
    let scale = scale_28nm(DEFAULT_NODE_NM, cells.volts);
    for (alternative, gear) in alternatives.iter_mut().zip(Gear::ALL) {
        let what = What {
            model: POWER_MODEL,
            context: POWER_CONTEXT,
            options: Options { gear, ..Options::default() },
            seed: options.seed,
            window: WINDOW,
        };
        let workload = Workload::run(what)?;
        let tasks: Vec<_> = alternative
            .units
            .iter()
            .map(|unit| (&unit.spec, workload.stimulus(&recorded(&unit.spec, gear), WINDOW)))
            .collect();
        let powers = power::of_units(&flow, &tasks)?;
        for (unit, power) in alternative.units.iter_mut().zip(powers) {
            // mW x ns = pJ of a clock
            let pj = power.map(|power| working(&power).dynamic() * CLOCK_NS * scale);
            unit.power_mw_28nm = pj.map(|pj| pj / alternative.clock_ns);
            unit.no_power = pj.is_none().then_some("its inputs in the device are not recorded");
        }
        let powers = alternative.units.iter().filter_map(|unit| unit.power_mw_28nm);
        alternative.power_mw_28nm = Some(powers.sum());
    }
    Ok(None)
}

/// A part of the core as `pimlico cosim --list` names it.
fn recorded(spec: &UnitSpec, gear: Gear) -> String {
    let has_gear = ["adder_unit", "softmax_unit"].contains(&spec.module.as_str());
    match has_gear && gear != Gear::DEFAULT {
        true => format!("{}:gear{}", spec.module, gear.tck()),
        false if spec.alone => String::new(),
        false => spec.module.clone(),
    }
}

/// The workloads at each gear.
fn runs(options: &GearOptions) -> Result<Vec<Vec<Run>>, Failure> {
    let heads = options.head_dim.len() * options.context.len();
    let each = heads + 1 + usize::from(!options.no_layer);
    let bar = output::progress((each * Gear::ALL.len()) as u64, "runs");
    let of_gear = |gear| {
        let options_of_gear = Options { gear, ..Options::default() };
        let machine = Machine { config: Config::ddr4_3200(), options: options_of_gear };
        let mut runs = Vec::new();
        let mut add = |run: Result<Run, Failure>| {
            bar.inc(1);
            run.map(|run| runs.push(run))
        };
        for &head_dim in &options.head_dim {
            for &context in &options.context {
                add(machine.head(head_dim, context, options.seed))?;
            }
        }
        add(machine.token(options.tokens, options.seed))?;
        if !options.no_layer {
            add(machine.layer(Topology::ONE, options.seed))?;
        }
        Ok(runs)
    };
    let runs = Gear::ALL.into_iter().map(of_gear).collect();
    bar.finish_and_clear();
    runs
}

/// A column for each gear.
const COLUMNS: [&str; 4] = ["", "gear 1", "gear 2", "gear 4"];

fn gears_sheet(report: &GearReport) -> Sheet {
    let of_each = |name: &str, text: &dyn Fn(&Alternative) -> String| {
        let cells = report.alternatives.iter().map(text);
        [name.to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let whole = |number: f64| grouped(number.round() as u64);
    let mut rows = vec![
        of_each("cycle of the core, ns", &|a| format!("{:.3}", a.clock_ns)),
        of_each(
            "units and memories of the rank that miss their clock",
            &|a| match a.misses.len() {
                0 => "none".to_owned(),
                count => count.to_string(),
            },
        ),
        of_each("logic of the core, GE", &|a| whole(a.area_ge)),
        of_each("flip-flops in it", &|a| grouped(a.flip_flops)),
        of_each("memories of the core, mm2", &|a| format!("{:.3}", a.memories_mm2_28nm)),
        of_each("mW", &|a| a.power_mw_28nm.map_or("-".to_owned(), |mw| format!("{mw:.1}"))),
    ];
    let workloads = report.alternatives.first().map_or(0, |a| a.runs.len());
    for n in 0..workloads {
        let run = |a: &Alternative| a.runs[n].clone();
        let name = run(&report.alternatives[0]).workload;
        rows.push(of_each(&format!("{name}: tCK"), &|a| grouped(run(a).tck)));
        if report.alternatives.iter().any(|a| run(a).bubbles.is_some_and(|slots| slots > 0)) {
            let bubbles = |a: &Alternative| run(a).bubbles.map_or(String::new(), grouped);
            rows.push(of_each(&format!("{name}: slots lost to bubbles"), &bubbles));
        }
    }
    let misses = |a: &Alternative| format!("gear {} misses: {}", a.gear, a.misses.join(", "));
    let mut notes = vec![format!(
        "core: the rank PU's units at its clock, with the dispatcher; sized in {}, an FO4 of {} ps, {} % of a period kept",
        report.liberty, report.fo4_ps, report.reserve_percent
    )];
    notes.extend(report.alternatives.iter().filter(|a| !a.misses.is_empty()).map(misses));
    notes.push(match &report.no_power {
        Some(why) => format!("no power: {why}"),
        None => format!(
            "mW: at the core's clock, scaled to 28 nm and 0.9 V, mean over {}, of the units that have one below",
            report.power_of
        ),
    });
    Sheet {
        title: "gear: the rank PU's core, and what runs on it".to_owned(),
        columns: COLUMNS.to_vec(),
        rows,
        notes,
    }
}

/// A row for each unit of the core.
fn units_sheet(report: &GearReport) -> Sheet {
    let mut names: Vec<&str> = Vec::new();
    for unit in report.alternatives.iter().flat_map(|a| &a.units) {
        if !names.contains(&unit.unit.as_str()) {
            names.push(&unit.unit);
        }
    }
    let of_gears = |name: &str, text: &dyn Fn(&UnitReport) -> String| {
        let cell = |a: &Alternative| {
            a.units.iter().find(|unit| unit.unit == name).map_or(String::new(), text)
        };
        report.alternatives.iter().map(cell).collect::<Vec<_>>()
    };
    let rows = names.iter().map(|name| {
        let mut row = vec![(*name).to_owned()];
        row.extend(of_gears(name, &|unit| format!("{:.0}", unit.area_ge)));
        row.extend(of_gears(name, &|unit| {
            let missed = if unit.is_met { "" } else { ", missed" };
            format!("{:.0}{missed}", unit.period_fo4)
        }));
        row.extend(of_gears(name, &|unit| {
            unit.power_mw_28nm.map_or("-".to_owned(), |mw| format!("{mw:.2}"))
        }));
        row
    });
    let mut reasons: Vec<&str> = report
        .alternatives
        .iter()
        .flat_map(|a| &a.units)
        .filter_map(|unit| unit.no_power)
        .collect();
    reasons.dedup();
    Sheet {
        title: "the units of the core".to_owned(),
        columns: vec![
            "unit",
            "gear 1, GE",
            "gear 2, GE",
            "gear 4, GE",
            "gear 1, FO4",
            "gear 2, FO4",
            "gear 4, FO4",
            "gear 1, mW",
            "gear 2, mW",
            "gear 4, mW",
        ],
        rows: rows.collect(),
        notes: reasons.into_iter().map(|why| format!("-: {why}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> GearOptions {
        GearOptions {
            context: vec![64],
            head_dim: vec![16],
            tokens: 1,
            no_layer: true,
            seed: 1,
            tools: ToolArguments { liberty: None, python: "/nonesuch".into(), no_cache: false },
            format: FormatArguments::default(),
        }
    }

    #[test]
    fn each_gear_has_its_core_and_its_cycles() {
        let options = options();
        let maker = Maker::new(&options.tools, None).expect("the RTL");
        let runs = runs(&options).expect("runs");
        let of = |(gear, runs)| hardware(&options, &maker, gear, runs).expect("kept results").0;
        let gears: Vec<Alternative> = Gear::ALL.into_iter().zip(runs).map(of).collect();
        let periods: Vec<f64> = gears.iter().map(|gear| gear.clock_ns).collect();
        assert_eq!(periods, [0.625, 1.25, 2.5]);
        // Lanes are paid for in logic, and a longer cycle in tCK where there is little to hide it.
        for pair in gears.windows(2) {
            assert!(pair[0].area_ge < pair[1].area_ge);
            for (a, b) in pair[0].runs.iter().zip(&pair[1].runs) {
                assert!(
                    a.tck < b.tck && a.workload == b.workload,
                    "{}: {} {}",
                    a.workload,
                    a.tck,
                    b.tck
                );
            }
        }
        assert!(gears[0].misses.contains(&"adder_unit".to_owned()), "{:?}", gears[0].misses);
        assert_eq!(gears[1].misses, [""; 0], "gear 2");
        // Units at another clock than the core's are counted where they miss theirs.
        let beats =
            |gear: &Alternative| gear.misses.iter().any(|unit| unit.starts_with("pim_rank"));
        assert_eq!([0, 1, 2].map(|n| beats(&gears[n])), [false, false, true]);
        // Every unit of the core is there at every gear.
        let names =
            |gear: &Alternative| gear.units.iter().map(|u| u.unit.clone()).collect::<Vec<_>>();
        assert!(gears.iter().all(|gear| names(gear) == names(&gears[1])));
        assert!(names(&gears[0]).contains(&"sequencer".to_owned()));

        let mut report = GearReport {
            trade: "gear",
            liberty: String::new(),
            fo4_ps: NODE.0,
            reserve_percent: NODE.1,
            seed: 1,
            alternatives: gears,
            power_of: String::new(),
            no_power: None,
        };
        report.no_power = add_power(&options, &mut report.alternatives).expect("no failure");
        // Library or tools: whichever is not there is named with what installs it.
        assert!(report.no_power.as_deref().is_some_and(|why| why.contains("scripts/estimate")));
        for sheet in [gears_sheet(&report), units_sheet(&report)] {
            assert!(sheet.rows.iter().all(|row| row.len() == sheet.columns.len()));
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let wrong = |options: GearOptions| options.check().is_err();
        assert!(!wrong(options()));
        assert!(wrong(GearOptions { context: vec![0], ..options() }));
        assert!(wrong(GearOptions { head_dim: vec![257], ..options() }));
        assert!(wrong(GearOptions { tokens: 0, ..options() }));
        let machine = Machine { config: Config::ddr4_3200(), options: Options::default() };
        assert!(machine.token(1 << 20, 1).is_err(), "more than the model's context");
    }
}
