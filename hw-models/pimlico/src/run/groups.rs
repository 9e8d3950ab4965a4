// SPDX-License-Identifier: MIT
//! Options that operators have in common, in groups: an operator has the groups that mean something to it.

use super::arguments::{
    Buffers, DEFAULT_CONTEXT, DEFAULT_MODEL, DEFAULT_REPORT, Distribute, RunArguments, Sums,
    Switch, When, channels,
};
use super::backend::Backend;
use super::decode::DecodeArguments;
use crate::gear::GearArgument;
use crate::mdq::MdqArgument;
use crate::output::FormatArguments;
use clap::Args;
use clap::builder::PossibleValuesParser;
use pimlico_model::presets;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::LazyLock;

/// tCK from one look at the status to the next, at the most.
const MOST_POLL_TCK: u64 = 65536;

/// Names of the language models.
static MODELS: LazyLock<Vec<String>> = LazyLock::new(|| presets().into_keys().collect());

/// A language model by its name.
fn model_name() -> PossibleValuesParser {
    PossibleValuesParser::new(MODELS.iter().map(String::as_str))
}

/// Options that are given together.
pub(super) trait Group {
    /// Writes what was given to the arguments of a run.
    fn put(self, to: &mut RunArguments);
}

/// The options of an operator: groups, one after the other.
macro_rules! groups {
    ($(#[$what:meta])* $name:ident: $($field:ident: $group:ty),* $(,)?) => {
        $(#[$what])*
        #[derive(clap::Args)]
        pub(super) struct $name {
            $(#[command(flatten)] $field: $group,)*
        }

        impl $crate::run::groups::Group for $name {
            fn put(self, to: &mut $crate::run::arguments::RunArguments) {
                $($crate::run::groups::Group::put(self.$field, to);)*
            }
        }
    };
}
pub(super) use groups;

/// The language model.
#[derive(Args)]
#[command(next_help_heading = "Language model")]
pub(super) struct Shapes {
    /// The language model whose shapes are used
    #[arg(long, default_value = DEFAULT_MODEL, value_name = "NAME", value_parser = model_name())]
    model: String,
    /// The same from a config.json of Hugging Face
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    config: Option<PathBuf>,
}

impl Group for Shapes {
    fn put(self, to: &mut RunArguments) {
        (to.model, to.config) = (self.model, self.config);
    }
}

/// Requests and heads of attention.
#[derive(Args)]
#[command(next_help_heading = "Requests and heads")]
pub(super) struct Heads {
    /// Tokens whose K and V are in the device, of each request if there are several
    #[arg(long, default_values_t = [DEFAULT_CONTEXT], value_delimiter = ',', value_name = "N,...")]
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
}

impl Group for Heads {
    fn put(self, to: &mut RunArguments) {
        let Self { context, batch, heads, group, head_dim } = self;
        (to.context, to.batch, to.heads) = (context, batch, heads);
        (to.group, to.head_dim) = (group, head_dim);
    }
}

/// How much of the model a layer is.
#[derive(Args)]
#[command(next_help_heading = "Layer")]
pub(super) struct OneLayer {
    /// Tokens whose K and V are in the device
    #[arg(long, default_value_t = DEFAULT_CONTEXT, value_name = "N")]
    context: usize,
    /// Layers for which there must be room; they are alike, and one runs [default: 1]
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
}

impl Group for OneLayer {
    fn put(self, to: &mut RunArguments) {
        (to.context, to.layers) = (vec![self.context], self.layers);
    }
}

/// The synthetic data of scores.
#[derive(Args)]
#[command(next_help_heading = "Data")]
pub(super) struct Scores {
    /// How the scores of the synthetic data are distributed
    #[arg(long, value_enum, default_value_t = Distribute::Random)]
    distribution: Distribute,
}

impl Group for Scores {
    fn put(self, to: &mut RunArguments) {
        to.distribution = self.distribution;
    }
}

/// The seed.
#[derive(Args)]
#[command(next_help_heading = "Data")]
pub(super) struct Seed {
    /// Seed of the data, and of the bits in registers before the reset
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
}

impl Group for Seed {
    fn put(self, to: &mut RunArguments) {
        to.seed = self.seed;
    }
}

/// A matrix.
#[derive(Args)]
#[command(next_help_heading = "Matrix")]
pub(super) struct Matrix {
    /// Rows of the matrix
    #[arg(long, value_name = "R")]
    rows: usize,
    /// Columns of the matrix
    #[arg(long, value_name = "C")]
    cols: usize,
}

impl Group for Matrix {
    fn put(self, to: &mut RunArguments) {
        (to.rows, to.cols) = (Some(self.rows), Some(self.cols));
    }
}

/// How the matrices of a layer are shared out.
#[derive(Args)]
#[command(next_help_heading = "Matrices")]
pub(super) struct Share {
    /// Modules that share the layer out among them: one's share is run
    #[arg(long, value_name = "N")]
    tp: Option<usize>,
    /// The language-model head as well
    #[arg(long)]
    lm_head: bool,
}

impl Group for Share {
    fn put(self, to: &mut RunArguments) {
        (to.tp, to.lm_head) = (self.tp, self.lm_head);
    }
}

/// The files of a whole language model.
#[derive(Args)]
#[command(next_help_heading = "Text")]
pub(super) struct Text {
    #[command(flatten)]
    decode: DecodeArguments,
    /// Shapes of a .safetensors file: a config.json of Hugging Face
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Group for Text {
    fn put(self, to: &mut RunArguments) {
        (to.decode, to.config) = (self.decode, self.config);
    }
}

/// The order of softmax.
#[derive(Args)]
#[command(next_help_heading = "Numerics")]
pub(super) struct Softmax {
    /// When softmax divides by the sum of the exponentials [default: the device's, early]
    #[arg(long, value_enum)]
    normalise: Option<When>,
}

impl Group for Softmax {
    fn put(self, to: &mut RunArguments) {
        to.normalise = self.normalise;
    }
}

/// A rank of DDR4 and its units.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct RankDevice {
    /// Format of sums in bank PUs and adder unit [default: the device's, binary16]
    #[arg(long, value_enum, help_heading = "Numerics")]
    sums: Option<Sums>,
    /// The device: a built-in one by its name, or a file; see `pimlico device` [default: ddr4-3200]
    #[arg(long, value_name = "NAME|FILE.toml", alias = "dram")]
    device: Option<String>,
    /// tCK in a cycle of the rank PU's core [default: the device's, 2]
    #[arg(long, value_enum)]
    gear: Option<GearArgument>,
    /// tCK from one look of the host at the status of a run to the next [default: 64]
    #[arg(long, value_name = "TCK", value_parser = clap::value_parser!(u64).range(1..=MOST_POLL_TCK))]
    poll: Option<u64>,
    /// tCK from one RD_RESULT or WR_SHARED to the next, in place of the device's: 8 if the bank groups share a trunk
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(4..=64))]
    ccd_result: Option<u64>,
    /// tCK from the end of WR_SHARED's data to an RD_ALL or RD_RESULT, in place of the device's: 4 if the shared
    /// buffers turn from write to read as the banks do
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=64))]
    wtr_shared: Option<u64>,
    /// tCK from an RD_ALL to its columns at the PUs, in place of the preset's
    #[arg(long, value_name = "N", value_parser = ["0", "4", "8", "12"])]
    rl_mac: Option<String>,
}

impl Group for RankDevice {
    fn put(self, to: &mut RunArguments) {
        let Self { sums, device, gear, poll, ccd_result, wtr_shared, rl_mac } = self;
        (to.sums, to.device, to.gear, to.poll) = (sums, device, gear, poll);
        (to.ccd_result, to.wtr_shared, to.rl_mac) = (ccd_result, wtr_shared, rl_mac);
    }
}

/// A module of AiM channels.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct AimDevice {
    /// The device: a built-in one by its name, or a file; see `pimlico device` [default: gddr6-aim]
    #[arg(long, value_name = "NAME|FILE.toml", alias = "dram")]
    device: Option<String>,
    /// Channels of the module [default: the device's, 16]
    #[arg(long, value_name = "N", value_parser = channels)]
    channels: Option<usize>,
    /// Groups of channels, each with a head of attention and a softmax unit [default: the device's, 1]
    #[arg(long, value_name = "N")]
    groups: Option<usize>,
    /// How vectors come to the global buffer, and how results leave [default: the device's, ping-pong]
    #[arg(long, value_enum)]
    io_buffers: Option<Buffers>,
    /// Whether single buffers pay MODCH between words or results and columns
    #[arg(long, value_enum, default_value_t = Switch::On)]
    mode_change: Switch,
}

impl Group for AimDevice {
    fn put(self, to: &mut RunArguments) {
        (to.device, to.channels, to.groups) = (self.device, self.channels, self.groups);
        (to.io_buffers, to.mode_change) = (self.io_buffers, self.mode_change);
    }
}

/// What the DRAM of all devices has.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct Dram {
    /// Banks that may open in a tFAW, in place of the device's: 16 or 8 by one command, 4 by JEDEC's ACTs
    #[arg(long, value_name = "N", value_parser = ["16", "8", "4"])]
    faw_banks: Option<String>,
    /// Whether rows are refreshed
    #[arg(long, value_enum, default_value_t = Switch::On)]
    refresh: Switch,
}

impl Group for Dram {
    fn put(self, to: &mut RunArguments) {
        (to.faw_banks, to.refresh) = (self.faw_banks, self.refresh);
    }
}

/// The shared buffers of a rank.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct SharedBuffers {
    /// How the vectors of matrices come to the shared buffers [default: the device's, ping-pong]
    #[arg(long, value_enum)]
    io_buffers: Option<Buffers>,
}

impl Group for SharedBuffers {
    fn put(self, to: &mut RunArguments) {
        to.io_buffers = self.io_buffers;
    }
}

/// How many ranks there are.
#[derive(Args)]
#[command(next_help_heading = "Ranks")]
pub(super) struct HowMany {
    /// Channels of the host [default: the device's, 1]
    #[arg(long, value_name = "N", value_parser = channels)]
    channels: Option<usize>,
    /// DIMMs on each channel [default: the device's, 1]
    #[arg(long, value_name = "N")]
    dimms: Option<usize>,
    /// Ranks on each DIMM [default: the device's, 1]
    #[arg(long, value_name = "N")]
    ranks: Option<usize>,
    /// Data lines between buffer chip and chips, on DIMMs of several ranks. Shared, bursts take turns and hold up
    /// all that follows in their rank: an upper bound of contention, not a model cycle by cycle [default: the
    /// device's, private]
    #[arg(long, value_enum)]
    mdq: Option<MdqArgument>,
}

impl Group for HowMany {
    fn put(self, to: &mut RunArguments) {
        (to.channels, to.dimms, to.ranks) = (self.channels, self.dimms, self.ranks);
        to.mdq = self.mdq;
    }
}

/// How work is spread over ranks.
#[derive(Args)]
#[command(next_help_heading = "Ranks")]
pub(super) struct Spread {
    /// Of pieces of work that are alike (heads, blocks of a matrix) run one, each on a rank that has just
    /// been reset: the costs of all of them; the errors are those of what was run
    #[arg(long)]
    timing_only: bool,
    /// Threads of this machine, for several ranks or a layer; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

impl Group for Spread {
    fn put(self, to: &mut RunArguments) {
        (to.timing_only, to.threads) = (self.timing_only, self.threads);
    }
}

/// How much of the work on a module is run.
#[derive(Args)]
pub(super) struct Sample {
    /// Of K and V heads that are alike run one: the costs of all of them; the errors are those of what was run
    #[arg(long)]
    timing_only: bool,
}

impl Group for Sample {
    fn put(self, to: &mut RunArguments) {
        to.timing_only = self.timing_only;
    }
}

/// A program of the dispatcher.
#[derive(Args)]
#[command(next_help_heading = "Program")]
pub(super) struct Program {
    /// The program to run in place of the one that is built: words if the name ends with `.bin`, otherwise text;
    /// see `pimlico dpa build`
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

impl Group for Program {
    fn put(self, to: &mut RunArguments) {
        to.program = self.program;
    }
}

/// For which contexts it is.
#[derive(Args)]
#[command(next_help_heading = "Program")]
pub(super) struct Longest {
    /// Longest context that program and Va2Pa table provide for [default: the longest of --context]
    #[arg(long, value_name = "N")]
    context_max: Option<usize>,
}

impl Group for Longest {
    fn put(self, to: &mut RunArguments) {
        to.context_max = self.context_max;
    }
}

/// A waveform.
#[derive(Args)]
#[command(next_help_heading = "Execution and output")]
pub(super) struct Waveform {
    /// Write a waveform: the device's commands, the bank PUs of logic bank 0, the adder unit
    #[arg(long, value_name = "FILE")]
    vcd: Option<PathBuf>,
}

impl Group for Waveform {
    fn put(self, to: &mut RunArguments) {
        to.vcd = self.vcd;
    }
}

/// A picture.
#[derive(Args)]
#[command(next_help_heading = "Execution and output")]
pub(super) struct Picture {
    /// Draw what the rank did over time, and which slots were lost to what, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Group for Picture {
    fn put(self, to: &mut RunArguments) {
        to.plot = self.plot;
    }
}

/// What executes, and what is printed.
#[derive(Args)]
#[command(next_help_heading = "Execution and output")]
pub(super) struct Execution {
    /// What executes the device; AiM has no engine, `fast` is its models
    #[arg(long, value_enum, default_value_t = Backend::Fast)]
    backend: Backend,
    /// Folder for the waveforms of a mismatch in lockstep
    #[arg(long, default_value = DEFAULT_REPORT, value_name = "DIR")]
    report: PathBuf,
    #[command(flatten)]
    format: FormatArguments,
}

impl Group for Execution {
    fn put(self, to: &mut RunArguments) {
        (to.backend, to.report, to.format) = (self.backend, self.report, self.format);
    }
}
