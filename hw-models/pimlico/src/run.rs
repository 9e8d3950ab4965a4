// SPDX-License-Identifier: MIT
//! `pimlico run`: an operator of a language model on the device.

use crate::failure::Failure;
use crate::output::{self, grouped};
use clap::{Args, ValueEnum};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{
    Activation, Config, Mismatch, Normalise, Options, Rank, RankError, RankUnits, RankWave,
    SumFormat,
};
use pimlico_host::attention::{self, AttentionError};
use pimlico_host::data::Distribution;
use pimlico_host::gemv::{self, GemvError};
use pimlico_host::model::{self, Model};
use pimlico_host::report::{
    AttentionReport, Error, GemvReport, JobReport, Lost, Operator, Report, Slots, Stages,
};
use std::fmt::Write;
use std::path::PathBuf;

/// Requests of a batch, at the most.
const MOST_REQUESTS: usize = 1024;

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
    /// Tokens whose K and V are in the device, of each request if there are several
    #[arg(long, default_value = "2048", value_delimiter = ',', value_name = "N")]
    context: Vec<usize>,
    /// Requests, where they are all of one context
    #[arg(long, default_value_t = 1, value_name = "N")]
    batch: usize,
    /// Query heads to run
    #[arg(long, default_value_t = 1, value_name = "N")]
    heads: usize,
    /// Query heads that share K and V, in place of the model's
    #[arg(long, value_name = "N")]
    group: Option<usize>,
    /// Elements of a head's vectors, in place of the model's
    #[arg(long, value_name = "D")]
    head_dim: Option<usize>,
    /// How the scores of the synthetic data are distributed
    #[arg(long, value_enum, default_value_t = Distribute::Random)]
    distribution: Distribute,
    /// When softmax divides by the sum of the exponentials
    #[arg(long, value_enum, default_value_t = When::Early)]
    normalise: When,
    /// Format of sums in bank PUs and adder unit
    #[arg(long, value_enum, default_value_t = Sums::Binary16)]
    sums: Sums,
    /// How rows are opened for the bank PUs
    #[arg(long, value_enum, default_value_t = Activate::AllBank)]
    activation: Activate,
    /// Whether rows are refreshed
    #[arg(long, value_enum, default_value_t = Switch::On)]
    refresh: Switch,
    /// What executes the units
    #[arg(long, value_enum, default_value_t = Backend::Model)]
    backend: Backend,
    /// Rows of the matrix, with --op gemv
    #[arg(long, value_name = "R")]
    rows: Option<usize>,
    /// Columns of the matrix, with --op gemv
    #[arg(long, value_name = "C")]
    cols: Option<usize>,
    /// How the vector comes to the shared buffers, with --op gemv
    #[arg(long, value_enum, default_value_t = Buffers::PingPong)]
    io_buffers: Buffers,
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
    /// A matrix times a vector, of which fully-connected layers are made
    Gemv,
}

#[derive(Clone, Copy, ValueEnum)]
enum Buffers {
    /// Into one half while the other is in use
    PingPong,
    /// Into the one half that there is, when it is no longer in use
    Single,
}

/// What is run.
enum Job {
    Attention(attention::Job),
    Gemv(gemv::Job),
}

#[derive(Clone, Copy, ValueEnum)]
enum Distribute {
    /// Weights of one order of magnitude
    Random,
    /// A few tokens have nearly all the weight
    Peaked,
}

#[derive(Clone, Copy, ValueEnum)]
enum When {
    /// Each weight, before it is used: L3's order
    Early,
    /// The context, once
    Late,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sums {
    /// That of the elements
    Binary16,
    /// A wider one
    Binary32,
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
            normalise: match self.normalise {
                When::Early => Normalise::Early,
                When::Late => Normalise::Late,
            },
            sums: match self.sums {
                Sums::Binary16 => SumFormat::Binary16,
                Sums::Binary32 => SumFormat::Binary32,
            },
        }
    }

    /// What to run.
    fn job(&self) -> Result<Job, Failure> {
        match (self.op, self.rows, self.cols) {
            (Op::Attention, None, None) => Ok(Job::Attention(self.attention()?)),
            (Op::Attention, ..) => {
                Err(Failure::Input("--rows and --cols: they go with --op gemv".to_owned()))
            }
            (Op::Gemv, Some(rows), Some(columns)) => {
                let io_buffers = match self.io_buffers {
                    Buffers::PingPong => IoBuffers::PingPong,
                    Buffers::Single => IoBuffers::Single,
                };
                Ok(Job::Gemv(gemv::Job { rows, columns, io_buffers, seed: self.seed }))
            }
            (Op::Gemv, ..) => {
                Err(Failure::Input("--op gemv: expected --rows R and --cols C".to_owned()))
            }
        }
    }

    /// Attention of the model.
    fn attention(&self) -> Result<attention::Job, Failure> {
        let model = find_model(&self.model)?;
        if self.heads == 0 || self.heads > model.heads {
            let (heads, name, most) = (self.heads, &self.model, model.heads);
            return Err(Failure::Input(format!("--heads {heads}: {name} has 1 to {most}")));
        }
        let group = self.group.unwrap_or(model.group());
        if group == 0 || group > model.heads {
            let (name, most) = (&self.model, model.heads);
            return Err(Failure::Input(format!("--group {group}: {name} has 1 to {most} heads")));
        }
        let contexts = match (self.context.as_slice(), self.batch) {
            ([context], 1..=MOST_REQUESTS) => vec![*context; self.batch],
            (contexts, 1) if contexts.len() <= MOST_REQUESTS => contexts.to_vec(),
            (_, 1..=MOST_REQUESTS) => {
                let message = "--batch: with several contexts the batch is their number";
                return Err(Failure::Input(message.to_owned()));
            }
            _ => {
                let message = format!("--batch: expected 1 to {MOST_REQUESTS} requests");
                return Err(Failure::Input(message));
            }
        };
        Ok(attention::Job {
            model: self.model.clone(),
            head_dim: self.head_dim.unwrap_or(model.head_dim),
            heads: self.heads,
            group,
            contexts,
            distribution: match self.distribution {
                Distribute::Random => Distribution::Random,
                Distribute::Peaked => Distribution::Peaked,
            },
            seed: self.seed,
        })
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
    fn units(self, config: &Config, options: Options, seed: u64) -> Result<RankUnits, Failure> {
        use pimlico_testbenches::rank;
        Ok(match self {
            Self::Model => RankUnits::models(config, options),
            Self::Rtl => rank::rtl_units(config, options, seed),
            Self::Lockstep => rank::lockstep_units(config, options, seed),
        })
    }

    #[cfg(not(feature = "rtl"))]
    fn units(self, config: &Config, options: Options, _: u64) -> Result<RankUnits, Failure> {
        match self {
            Self::Model => Ok(RankUnits::models(config, options)),
            _ => Err(Failure::without_rtl(&format!("--backend {}", self.name()))),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let job = arguments.job()?;
    let config = match arguments.system {
        System::L3 => Config::ddr4_3200(),
    };
    let options = arguments.options();
    let units = arguments.backend.units(&config, options, arguments.seed)?;
    let mut rank = Rank::new(config.clone(), units, options);
    if let Some(file) = &arguments.vcd {
        let wave = RankWave::create(file, 0, config.tck_ps, options.sums);
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
    let mut report = run_job(rank, job).map_err(|error| match error {
        Stop::Input(message) => Failure::Input(message),
        Stop::Rank(RankError::Wave(error)) => Failure::Input(error.to_string()),
        Stop::Rank(RankError::Mismatch(mismatch)) => {
            let again = again(job, arguments);
            let waveforms = show(&mismatch, rank.config(), job, arguments);
            Failure::Check(format!("{mismatch}\n  again: {again}\n  waveforms: {waveforms}"))
        }
    })?;
    report.backend = arguments.backend.name().to_owned();
    report.mismatches = (arguments.backend == Backend::Lockstep).then_some(0);
    Ok(report)
}

/// Why a job has not come to its end.
enum Stop {
    /// It cannot be run.
    Input(String),
    /// The device stopped.
    Rank(RankError),
}

fn run_job(rank: &mut Rank, job: &Job) -> Result<Report, Stop> {
    match job {
        Job::Attention(job) => {
            let bar = output::progress(job.heads as u64, "heads");
            let report = attention::run(rank, job, |heads| bar.set_position(heads as u64));
            bar.finish_and_clear();
            report.map_err(|error| match error {
                AttentionError::Rank(error) => Stop::Rank(error),
                error => Stop::Input(error.to_string()),
            })
        }
        Job::Gemv(job) => gemv::run(rank, job).map_err(|error| match error {
            GemvError::Rank(error) => Stop::Rank(error),
            error => Stop::Input(error.to_string()),
        }),
    }
}

/// Runs the job again to write the waveforms around a mismatch; returns their names.
#[cfg(feature = "rtl")]
fn show(mismatch: &Mismatch, config: &Config, job: &Job, arguments: &Arguments) -> String {
    use pimlico_testbenches::rank;
    let options = arguments.options();
    match rank::watched_units(config, options, arguments.seed, mismatch, &arguments.report) {
        Ok((units, files)) => {
            let mut rank = Rank::new(config.clone(), units, options);
            let _ = run_job(&mut rank, job); // ends in the same mismatch
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
    let Options { activation, refresh, normalise, sums } = arguments.options();
    let what = match job {
        Job::Attention(job) => {
            let attention::Job { model, head_dim, heads, group, contexts, distribution, .. } = job;
            let contexts: Vec<_> = contexts.iter().map(usize::to_string).collect();
            format!(
                "attention --model {model} --head-dim {head_dim} --heads {heads} --group {group} \
                 --context {} --distribution {}",
                contexts.join(","),
                distribution.name()
            )
        }
        Job::Gemv(gemv::Job { rows, columns, io_buffers, .. }) => {
            format!("gemv --rows {rows} --cols {columns} --io-buffers {}", io_buffers.name())
        }
    };
    format!(
        "pimlico run --op {what} --activation {} --refresh {} --normalise {} --sums {} \
         --backend {} --seed {}",
        activation.name(),
        if refresh { "on" } else { "off" },
        normalise.name(),
        sums.name(),
        arguments.backend.name(),
        arguments.seed
    )
}

/// What was run, for people.
fn title(report: &Report) -> String {
    let Report { system, backend, seed, .. } = report;
    let (what, numbers) = match &report.job {
        JobReport::Attention(attention) => {
            let AttentionReport { model, head_dim, contexts, heads, group, .. } = attention;
            let context = match contexts.as_slice() {
                [context] => format!("context {context}"),
                contexts => format!(
                    "{} requests of context {} to {}",
                    contexts.len(),
                    contexts.iter().min().unwrap_or(&0),
                    contexts.iter().max().unwrap_or(&0)
                ),
            };
            let what = format!(
                "attention of {model} on {system}: {heads} head(s) of {head_dim}, {group} to a K and \
                 V, {context}"
            );
            (what, format!("{} scores, normalisation {}", attention.distribution, report.normalise))
        }
        JobReport::Gemv(GemvReport { rows, columns, io_buffers }) => {
            let what = format!("matrix of {rows} x {columns} times a vector on {system}");
            (what, format!("I/O buffers {io_buffers}"))
        }
    };
    format!(
        "{what}\nback end {backend}, seed {seed}, {numbers}, sums {}, activation {}, refresh {}\n\n",
        report.sums,
        report.activation,
        if report.refresh { "on" } else { "off" }
    )
}

/// Errors by stage, for people.
fn errors(report: &Report) -> String {
    let stages = report.attention().map(|attention| attention.stages).map(
        |Stages { score, softmax, context, output_from_scores, output }| {
            vec![
                ("score, from K and Q", score),
                ("softmax, from its scores", softmax),
                ("context, from its weights and V", context),
                ("output, from the scores and V", output_from_scores),
                ("output, from K, V and Q", output),
            ]
        },
    );
    let all = report.operators.iter().map(|operator| (operator.operator, operator.error));
    let rows = stages.unwrap_or_else(|| all.collect());
    output::table(
        &["result", "max", "RMS", "max ULP"],
        rows.into_iter().map(|(name, error)| error_row(name, &error)),
    )
}

/// The report for people.
fn text(report: &Report, arguments: &Arguments) -> String {
    let mut text = title(report);
    text += &output::table(
        &["operator", "tCK", "ns", "bank PUs", "data bus", "adder unit", "softmax unit"],
        report.operators.iter().map(cost_row),
    );
    text += "\nSlots of tCCD_L for an all-bank RD\n\n";
    text += &output::table(
        &["operator", "used", "row switch", "refresh", "fill/drain", "bubble"],
        report.operators.iter().map(slot_row),
    );
    text += "\nError against float64, relative to the largest element of the reference\n\n";
    text += &errors(report);
    let (total, load) = (&report.total, &report.load);
    let _ = writeln!(
        text,
        "\ntotal: {} tCK = {:.1} ns; bank PUs took {:.1} GB/s, {:.1} % of {:.1}",
        grouped(total.cycles),
        total.ns,
        total.gb_per_s,
        100.0 * total.gb_per_s / total.peak_gb_per_s,
        total.peak_gb_per_s
    );
    let _ = writeln!(
        text,
        "the host wrote {1} bytes to the banks in {0} tCK, data bus {2:.1} % busy",
        grouped(load.cycles),
        grouped(load.bytes),
        100.0 * load.bus
    );
    if let Some(AttentionReport { score_buffer, .. }) = report.attention() {
        let _ = writeln!(
            text,
            "score buffer: {} of {} places, {} pass(es)",
            grouped(score_buffer.scores as u64),
            grouped(score_buffer.capacity as u64),
            score_buffer.passes
        );
    }
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
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let shares = &operator.utilisation;
    vec![
        operator.operator.to_owned(),
        grouped(operator.cycles),
        format!("{:.1}", operator.ns),
        percent(shares.bank_pu),
        percent(shares.bus),
        percent(shares.adder_unit),
        percent(shares.softmax_unit),
    ]
}

fn slot_row(operator: &Operator) -> Vec<String> {
    let Slots { used, lost } = &operator.slots;
    let Lost { row_switch, refresh, fill_drain, bubble } = *lost;
    let counts = [*used, row_switch, refresh, fill_drain, bubble];
    std::iter::once(operator.operator.to_owned()).chain(counts.map(grouped)).collect()
}

fn error_row(name: &str, error: &Error) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.2e}", error.max_relative),
        format!("{:.2e}", error.rms_relative),
        format!("{:.1}", error.max_ulp),
    ]
}
