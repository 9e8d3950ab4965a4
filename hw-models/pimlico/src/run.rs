// SPDX-License-Identifier: MIT
//! `pimlico run`: an operator of a language model on the device.

use crate::failure::Failure;
use crate::output::{self, grouped};
use clap::{Args, ValueEnum};
use pimlico_device::{Activation, Config, Mismatch, Options, Rank, RankError, RankUnits, RankWave};
use pimlico_host::attention::{self, AttentionError, Job};
use pimlico_host::model::{self, Model};
use pimlico_host::report::{Error, Operator, Report};
use std::fmt::Write;
use std::path::PathBuf;

/// Arguments of `pimlico run`.
#[derive(Args)]
pub struct Arguments {
    /// The device
    #[arg(long, value_enum, default_value_t = System::L3)]
    system: System,
    /// The language model whose shapes are used
    #[arg(long, default_value = "gpt-175b")]
    model: String,
    /// What to run
    #[arg(long, value_enum, default_value_t = Op::Attention)]
    op: Op,
    /// Tokens whose K and V are in the device
    #[arg(long, default_value_t = 2048, value_name = "N")]
    context: usize,
    /// Heads to run, one after the other [default: 1]
    #[arg(long, default_value_t = 1, hide_default_value = true, value_name = "N")]
    heads: usize,
    /// Elements of a head's vectors, in place of the model's
    #[arg(long, value_name = "D")]
    head_dim: Option<usize>,
    /// How rows are opened for the bank PUs
    #[arg(long, value_enum, default_value_t = Activate::AllBank)]
    activation: Activate,
    /// Whether rows are refreshed
    #[arg(long, value_enum, default_value_t = Switch::On)]
    refresh: Switch,
    /// What executes the units
    #[arg(long, value_enum, default_value_t = Backend::Model)]
    backend: Backend,
    /// Seed of the data, and of the bits in registers before the reset
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Write a waveform: the rank's commands, the bank PUs of logic bank 0, the adder unit
    #[arg(long, value_name = "FILE")]
    vcd: Option<PathBuf>,
    /// Folder for the waveforms of a mismatch in lockstep
    #[arg(long, default_value = "pimlico-report", value_name = "DIR")]
    report: PathBuf,
    /// Print one JSON document in place of tables
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum System {
    /// L3's DIMM-PIM: a rank of DDR4-3200
    L3,
}

#[derive(Clone, Copy, ValueEnum)]
enum Op {
    /// Score, softmax and context of a layer's heads, for one token that is being generated
    Attention,
}

#[derive(Clone, Copy, ValueEnum)]
enum Activate {
    /// One command for all banks
    AllBank,
    /// One ACT for each bank, which keep tRRD and tFAW
    Staggered,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// They are
    On,
    /// They are not, to compare with models that have no refresh
    Off,
}

impl Arguments {
    fn options(&self) -> Options {
        Options {
            activation: match self.activation {
                Activate::AllBank => Activation::AllBank,
                Activate::Staggered => Activation::Staggered,
            },
            refresh: self.refresh == Switch::On,
        }
    }
}

/// What executes the units.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// The Rust models
    Model,
    /// The RTL, through Verilator
    Rtl,
    /// Both, every port compared in every cycle
    Lockstep,
}

impl Backend {
    fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Rtl => "rtl",
            Self::Lockstep => "lockstep",
        }
    }

    #[cfg(feature = "rtl")]
    fn units(self, config: &Config, seed: u64) -> Result<RankUnits, Failure> {
        use pimlico_testbenches::rank;
        Ok(match self {
            Self::Model => RankUnits::models(config),
            Self::Rtl => rank::rtl_units(config, seed),
            Self::Lockstep => rank::lockstep_units(config, seed),
        })
    }

    #[cfg(not(feature = "rtl"))]
    fn units(self, config: &Config, _: u64) -> Result<RankUnits, Failure> {
        match self {
            Self::Model => Ok(RankUnits::models(config)),
            _ => Err(Failure::without_rtl(&format!("--backend {}", self.name()))),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let model = find_model(&arguments.model)?;
    if arguments.heads == 0 || arguments.heads > model.heads {
        return Err(Failure::Input(format!(
            "--heads {}: {} has 1 to {}",
            arguments.heads, arguments.model, model.heads
        )));
    }
    let config = match arguments.system {
        System::L3 => Config::ddr4_3200(),
    };
    let job = match arguments.op {
        Op::Attention => Job {
            model: arguments.model.clone(),
            head_dim: arguments.head_dim.unwrap_or(model.head_dim),
            heads: arguments.heads,
            context: arguments.context,
            seed: arguments.seed,
        },
    };
    let units = arguments.backend.units(&config, arguments.seed)?;
    let mut rank = Rank::new(config.clone(), units, arguments.options());
    if let Some(file) = &arguments.vcd {
        let wave = RankWave::create(file, 0, config.tck_ps);
        rank.trace(wave.map_err(|e| Failure::file(file, &e))?);
    }
    let report = simulate(&mut rank, &job, arguments);
    rank.finish_trace().map_err(|e| Failure::Input(e.to_string()))?;
    let report = report?;
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&text(&report, arguments))?;
    }
    match report.first_violations.first() {
        None => Ok(()),
        Some(first) => Err(Failure::Check(format!(
            "{} violations at the DRAM's pins, the first: {first}",
            report.pin_violations
        ))),
    }
}

fn find_model(name: &str) -> Result<Model, Failure> {
    let mut presets = model::presets();
    presets.remove(name).ok_or_else(|| {
        let names: Vec<_> = presets.into_keys().collect();
        Failure::Input(format!("--model {name}: no such model; there are {}", names.join(", ")))
    })
}

fn simulate(rank: &mut Rank, job: &Job, arguments: &Arguments) -> Result<Report, Failure> {
    let bar = output::progress(job.heads as u64, "heads");
    let report = attention::run(rank, job, |heads| bar.set_position(heads as u64));
    bar.finish_and_clear();
    let mut report = report.map_err(|error| match error {
        AttentionError::Layout(error) => Failure::Input(error.to_string()),
        AttentionError::Transfer(error) => Failure::Input(error.to_string()),
        AttentionError::Rank(RankError::Wave(error)) => Failure::Input(error.to_string()),
        AttentionError::Rank(RankError::Mismatch(mismatch)) => {
            let again = again(job, arguments);
            let waveforms = show(&mismatch, rank.config(), job, arguments);
            Failure::Check(format!("{mismatch}\n  again: {again}\n  waveforms: {waveforms}"))
        }
    })?;
    report.backend = arguments.backend.name().to_owned();
    report.mismatches = (arguments.backend == Backend::Lockstep).then_some(0);
    Ok(report)
}

/// Runs the job again to write the waveforms around a mismatch; returns their names.
#[cfg(feature = "rtl")]
fn show(mismatch: &Mismatch, config: &Config, job: &Job, arguments: &Arguments) -> String {
    use pimlico_testbenches::rank;
    match rank::watched_units(config, arguments.seed, mismatch, &arguments.report) {
        Ok((units, files)) => {
            let mut rank = Rank::new(config.clone(), units, arguments.options());
            let _ = attention::run(&mut rank, job, |_| {}); // ends in the same mismatch
            files.map(|file| file.display().to_string()).join(" ")
        }
        Err(error) => format!("{}: {error}", arguments.report.display()),
    }
}

/// Without the RTL there is no mismatch.
#[cfg(not(feature = "rtl"))]
fn show(_: &Mismatch, _: &Config, _: &Job, _: &Arguments) -> String {
    String::new()
}

/// The command that does the same again.
fn again(job: &Job, arguments: &Arguments) -> String {
    let Job { model, head_dim, heads, context, seed } = job;
    let backend = arguments.backend.name();
    format!(
        "pimlico run --op attention --model {model} --head-dim {head_dim} --heads {heads} \
         --context {context} --activation {} --refresh {} --backend {backend} --seed {seed}",
        arguments.options().activation.name(),
        if arguments.options().refresh { "on" } else { "off" },
    )
}

/// The report for people.
fn text(report: &Report, arguments: &Arguments) -> String {
    let Report { model, system, context, heads, head_dim, backend, seed, .. } = report;
    let mut text = format!(
        "attention of {model} on {system}: {heads} head(s) of {head_dim}, context {context}, back \
         end {backend}, seed {seed}\n\n"
    );
    text += &output::table(
        &[
            "operator",
            "tCK",
            "ns",
            "RD slots",
            "lost: row switch",
            "refresh",
            "fill/drain",
            "bubble",
            "bank PUs",
            "bus",
        ],
        report.operators.iter().map(cost_row),
    );
    text += "\nError against float64, relative to the largest element of the reference\n\n";
    let errors = report.operators.iter().map(|o| (o.operator, &o.error));
    let total = [("attention, from K, V and Q", &report.total.error)];
    text += &output::table(
        &["result", "max", "RMS", "max ULP"],
        errors.chain(total).map(|(name, error)| error_row(name, error)),
    );
    let (total, load) = (&report.total, &report.load);
    let _ = writeln!(text, "\ntotal: {} tCK = {:.1} ns", grouped(total.cycles), total.ns);
    let _ = writeln!(
        text,
        "K and V were written by the host in {} tCK, {} bytes, data bus {:.1} % busy",
        grouped(load.cycles),
        grouped(load.bytes),
        100.0 * load.bus
    );
    let _ = writeln!(text, "violations at the DRAM's pins: {}", report.pin_violations);
    if let Some(mismatches) = report.mismatches {
        let _ = writeln!(text, "lockstep: {mismatches} mismatches between model and RTL");
    }
    if let Some(file) = &arguments.vcd {
        let _ = writeln!(text, "waveform: {}", file.display());
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn cost_row(operator: &Operator) -> Vec<String> {
    let name = match operator.runs_on {
        "device" => operator.operator.to_owned(),
        elsewhere => format!("{} (on the {elsewhere})", operator.operator),
    };
    let mut row = vec![name];
    if operator.runs_on == "device" {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        row.extend([
            grouped(operator.cycles),
            format!("{:.1}", operator.ns),
            grouped(operator.slots.used),
            grouped(operator.slots.lost.row_switch),
            grouped(operator.slots.lost.refresh),
            grouped(operator.slots.lost.fill_drain),
            grouped(operator.slots.lost.bubble),
            percent(operator.utilisation.bank_pu),
            percent(operator.utilisation.bus),
        ]);
    } else {
        row.resize(10, String::new());
    }
    row
}

fn error_row(name: &str, error: &Error) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.2e}", error.max_relative),
        format!("{:.2e}", error.rms_relative),
        format!("{:.1}", error.max_ulp),
    ]
}
