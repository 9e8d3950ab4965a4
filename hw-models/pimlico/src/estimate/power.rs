// SPDX-License-Identifier: MIT
//! `pimlico estimate power`: what the units take while a head's attention is computed.

use super::devices::Devices;
use super::flow::{self, CLOCK_NS, Flow, LEAST_CLOCK_NS, MOST_CLOCK_NS, cache_folder, specs};
use super::picture::PlotArgument;
use super::power_report::{PowerReport, UnitReport, WorkloadReport};
use super::sheet::{self, FormatArguments};
use super::system::{self, SystemArgument};
use super::workload::{AimWhat, What, Workload};
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::files::OutputFolder;
use crate::models::model_name;
use crate::names;
use crate::output;
use crate::schema::Kind;
use crate::sweep::cores;
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use pimlico_estimate::device::Buffers;
use pimlico_estimate::power::cells::Cells;
use pimlico_estimate::power::netlist::Netlist;
use pimlico_estimate::power::{
    self, Delays, Options, PowerError, Stimulus, Store, Surroundings, UnitPower, export,
};
use pimlico_estimate::{DEFAULT_LIBRARY, Library, Tools, UnitSpec};
use pimlico_workload::parallel;
use std::path::{Path, PathBuf};

/// The units that are shown where none are asked for: those of L3's Table 5.
const UNITS: [&str; 5] =
    ["relayout_unit", "adder_unit", "softmax_unit", "bank_pu:flush", "bank_pu"];

/// The same of a module of AiMs: those without memories, of which no library says what they take.
const AIM_UNITS: [&str; 5] =
    ["tree_pu", "adder_unit:gear1", "softmax_unit", "rank_controller:slots2", "refresh_manager"];

/// Its result registers.
fn result_registers(buffers: Buffers) -> &'static str {
    match buffers {
        Buffers::PingPong => "pingpong_buffer:width256_depth1",
        Buffers::Single => "pingpong_buffer:width256_depth1_single",
    }
}

/// Clocks of a phase that are counted, at most.
const MOST_WINDOW: usize = 1 << 16;

/// Clocks of each phase that are counted, unless told otherwise.
pub(super) const WINDOW: usize = 2048;

/// Slew of clock and ports in ns, unless told otherwise.
const SLEW_NS: f64 = 0.1;

/// Feature size of the default library in nm.
pub(super) const DEFAULT_NODE_NM: f64 = 180.0;

/// Arguments of `pimlico estimate power`.
#[derive(Args)]
#[command(after_help = names::with_units("\
Examples:
  pimlico estimate power
  pimlico estimate power bank_pu --model llama-3.1-8b --context 4096
  pimlico estimate power --system aim --plot power.svg"))]
pub(super) struct PowerArguments {
    /// Units, as `pimlico cosim --list` names them
    units: Vec<String>,
    /// Whose units these are [default: that of the device, l3]
    #[arg(long, value_enum, value_name = "SYSTEM")]
    system: Option<SystemArgument>,
    #[command(flatten)]
    device: DeviceFlag,
    /// Library of standard cells, with internal_power and leakage
    #[arg(long, default_value = DEFAULT_LIBRARY, value_name = "FILE")]
    liberty: PathBuf,
    /// Feature size of the library in nm, to scale to 28 nm; 180 for the default library
    #[arg(long, value_name = "NM")]
    node: Option<f64>,
    /// Clock period in ns at which power is shown; energy per clock hardly depends on it
    #[arg(long, default_value_t = CLOCK_NS, value_name = "NS")]
    clock: f64,
    /// Language model whose head is computed
    #[arg(long, default_value = "gpt-175b", value_name = "NAME", value_parser = model_name())]
    model: String,
    /// Tokens whose K and V are in the device
    #[arg(long, default_value_t = 1024, value_name = "N")]
    context: usize,
    /// Seed of the data
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
    /// Clocks of each phase that are simulated with delays and counted, at most: the second half of
    /// the phase's first 2 N clocks
    #[arg(long, default_value_t = WINDOW, value_name = "N")]
    window: usize,
    /// Delays of the netlist: none, so that there are no glitches; all 1 ps; or those of the library
    #[arg(long, value_enum, default_value_t = DelayChoice::Liberty)]
    delays: DelayChoice,
    /// Slew of clock and ports in ns
    #[arg(long, default_value_t = SLEW_NS, value_name = "NS")]
    slew: f64,
    /// Capacitance of a wire in fF, for each pin that it goes to
    #[arg(long, default_value_t = 0.0, value_name = "FF")]
    wire: f64,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    plot: PlotArgument,
    /// Write what another simulator needs to count the same into a folder for each unit
    #[arg(long, value_name = "FOLDER")]
    export: Option<PathBuf>,
    /// Python interpreter that has pyosys
    #[arg(long, env = "PIMLICO_PYTHON", default_value = "python3", value_name = "FILE")]
    python: PathBuf,
    /// Synthesise and simulate again what is known
    #[arg(long)]
    no_cache: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DelayChoice {
    /// None
    Zero,
    /// 1 ps
    Unit,
    /// By load and slew
    Liberty,
}

impl From<DelayChoice> for Delays {
    fn from(choice: DelayChoice) -> Self {
        match choice {
            DelayChoice::Zero => Self::Zero,
            DelayChoice::Unit => Self::Unit,
            DelayChoice::Liberty => Self::Liberty,
        }
    }
}

impl PowerArguments {
    fn check(&self) -> Result<(), Failure> {
        let within = |flag: &str, value: f64, least: f64, most: f64, unit: &str| {
            if value >= least && value <= most {
                return Ok(());
            }
            let value = output::as_given(value);
            let message = format!("--{flag} {value}: expected {least} to {most} {unit}");
            Err(Failure::Input(message))
        };
        within("clock", self.clock, LEAST_CLOCK_NS, MOST_CLOCK_NS, "ns")?;
        within("slew", self.slew, 0.0, 1e3, "ns")?;
        within("wire", self.wire, 0.0, 1e6, "fF")?;
        within("window", self.window as f64, 1.0, MOST_WINDOW as f64, "clocks")?;
        within("context", self.context as f64, 1.0, f64::MAX, "tokens")?;
        self.node.map_or(Ok(()), |node| within("node", node, 1.0, 1e4, "nm"))
    }

    fn options(&self) -> Options {
        let surroundings = Surroundings { slew_ps: 1e3 * self.slew, wire_ff: self.wire };
        Options { delays: self.delays.into(), surroundings, clock_ns: self.clock }
    }
}

/// Runs the command.
pub(super) fn run(arguments: &PowerArguments) -> Result<(), Failure> {
    arguments.check()?;
    arguments.plot.check()?;
    let export = arguments.export.as_deref().map(OutputFolder::open).transpose()?;
    let devices = Devices::new(&arguments.device)?;
    let system = arguments.system.or(devices.named).unwrap_or(SystemArgument::L3);
    system::check(system, &devices)?;
    let names = match (arguments.units.as_slice(), system) {
        ([], SystemArgument::L3) => UNITS.map(str::to_owned).to_vec(),
        ([], SystemArgument::Aim) => {
            let results = result_registers(devices.buffers());
            AIM_UNITS.into_iter().chain([results]).map(str::to_owned).collect()
        }
        (units, _) => units.to_vec(),
    };
    let specs = specs(&names)?;
    let library = flow::read(&arguments.liberty)?;
    let wrong = |what| PowerError::Library { file: arguments.liberty.clone(), what };
    let cells = Cells::of(&library).map_err(|what| Failure::Input(wrong(what).to_string()))?;

    let PowerArguments { context, seed, window, .. } = *arguments;
    let workload = workload(arguments, &devices, system)?;
    let of = match system {
        SystemArgument::L3 => "an L3 rank",
        SystemArgument::Aim => "a module of AiMs, without memories",
    };
    let stimulus = |spec: &UnitSpec| {
        let message = || format!("{}: expected a unit of {of}, in binary16", spec.unit);
        workload.stimulus(&spec.unit, window).ok_or_else(|| Failure::Input(message()))
    };
    let tasks = specs.iter().map(|spec| Ok((spec, stimulus(spec)?)));
    let tasks: Vec<_> = tasks.collect::<Result<_, Failure>>()?;

    let tools = Tools::find(&arguments.python).map_err(|e| Failure::Input(e.to_string()))?;
    let bar = output::progress(tasks.len() as u64, "units");
    let cache = cache_folder().filter(|_| !arguments.no_cache);
    let bench = Bench {
        store: store(cache.as_deref()),
        tools: &tools,
        library: &library,
        cells: &cells,
        options: arguments.options(),
        export: export.as_ref(),
    };
    let powers = bench.run(&tasks, &bar)?;
    bar.finish_and_clear();
    export.map_or(Ok(()), OutputFolder::whole)?;

    let is_default = arguments.liberty.as_os_str() == DEFAULT_LIBRARY;
    let node_nm = arguments.node.or(is_default.then_some(DEFAULT_NODE_NM));
    let workload = WorkloadReport::new(&workload, &arguments.model, context, seed, window);
    let report = PowerReport::new(&library, cells.volts, node_nm, arguments.options(), workload);
    let report = report.of(system.into(), &devices.of(system).name);
    let units = specs.iter().zip(powers).map(|(spec, power)| UnitReport::new(spec, power, &report));
    let units: Vec<_> = units.collect();
    let report = report.with(units);
    arguments.plot.write(|| report.picture())?;
    sheet::print(arguments.format, (Kind::EstimatePower, &report), &report.sheets())
}

/// A head on the device.
fn workload(
    arguments: &PowerArguments,
    devices: &Devices,
    system: SystemArgument,
) -> Result<Workload, Failure> {
    let PowerArguments { model, context, seed, window, .. } = arguments;
    let (context, seed, window, spec) = (*context, *seed, *window, devices.of(system));
    match system {
        SystemArgument::L3 => {
            let options = spec.options();
            Workload::run_on(&spec.config(), What { model, context, options, seed, window })
        }
        SystemArgument::Aim => {
            let options = spec.aim_options();
            let io_buffers = options.io_buffers;
            let what = AimWhat { model, context, io_buffers, seed, window };
            Workload::run_on_module((spec.config(), options), what)
        }
    }
}

/// Power of units at the flow's clock, each under what it is given: `None` for one that is given nothing, or
/// where the library does not say what is needed.
pub(super) fn of_units(
    flow: &Flow,
    tasks: &[(&UnitSpec, Option<Stimulus>)],
) -> Result<Vec<Option<UnitPower>>, Failure> {
    let Ok(cells) = Cells::of(&flow.library) else { return Ok(vec![None; tasks.len()]) };
    let surroundings = Surroundings { slew_ps: 1e3 * SLEW_NS, wire_ff: 0.0 };
    let bench = Bench {
        store: store(flow.cache()),
        tools: flow.tools(),
        library: &flow.library,
        cells: &cells,
        options: Options { delays: Delays::Liberty, surroundings, clock_ns: flow.clock_ns },
        export: None,
    };
    let bar = output::progress(tasks.len() as u64, "power of units");
    let of = |(spec, stimulus): &(&UnitSpec, Option<Stimulus>)| {
        bar.set_message(format!("power of units: {}", spec.unit));
        let power = stimulus.as_ref().map(|stimulus| bench.estimate(spec, stimulus)).transpose();
        bar.inc(1);
        power
    };
    let powers = tasks.iter().map(of).collect();
    bar.finish_and_clear();
    powers
}

/// Where netlists and powers are kept: beside the areas.
fn store(areas: Option<&Path>) -> Store {
    Store::new(areas.map(|folder| folder.with_file_name("power")).as_deref())
}

/// What all units are estimated with.
struct Bench<'a> {
    store: Store,
    tools: &'a Tools,
    library: &'a Library,
    cells: &'a Cells,
    options: Options,
    export: Option<&'a OutputFolder>,
}

impl Bench<'_> {
    /// Each unit's power, as many at a time as there are cores.
    fn run(
        &self,
        tasks: &[(&UnitSpec, Stimulus)],
        bar: &ProgressBar,
    ) -> Result<Vec<UnitPower>, Failure> {
        let estimate = |(spec, stimulus): &(&UnitSpec, Stimulus)| self.estimate(spec, stimulus);
        parallel::map(tasks, cores(), |_| 1, estimate, |done, _| bar.set_position(done))
    }

    fn estimate(&self, spec: &UnitSpec, stimulus: &Stimulus) -> Result<UnitPower, Failure> {
        let Self { store, tools, library, cells, options, export } = self;
        let failure = |error: PowerError| match &error {
            error if error.is_difference() => Failure::Check(error.to_string()),
            PowerError::Netlist { .. } => {
                Failure::Input(format!("{error}; cells of {}", library.source.display()))
            }
            _ => Failure::Input(error.to_string()),
        };
        let text = store.netlist(tools, spec, library).map_err(|e| failure(e.into()))?;
        let wrong = |what| PowerError::Netlist { unit: spec.unit.clone(), what };
        let netlist = Netlist::parse(&text).map_err(|what| failure(wrong(what)))?;
        if let Some(export) = export {
            let activity = power::simulate(&netlist, cells, library, stimulus, *options);
            let folder = export.path().join(spec.unit.replace(':', "_"));
            let written = export::write(
                &folder,
                &text,
                &activity.map_err(failure)?,
                stimulus,
                options.delays,
            );
            written.map_err(|e| export.failed(&e))?;
        }
        let estimate = || power::estimate(&netlist, cells, library, stimulus, *options);
        store.power(&text, library, stimulus, *options, estimate).map_err(failure)
    }
}
