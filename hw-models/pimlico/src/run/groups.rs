// SPDX-License-Identifier: MIT
//! Options that operators and systems have in common, in groups: a run has the groups that mean something to both.

use super::arguments::{Buffers, DEFAULT_REPORT, RunArguments, SumsFormat, When, read_config};
use super::backend::BackendArgument;
use super::prefill::OnHost;
use super::residency::InBanks;
use crate::failure::Failure;
use crate::mdq::MdqArgument;
use crate::models::{find_model, model_name};
use crate::output::FormatArguments;
use crate::values::{Switch, channels};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use pimlico_model::Model;
use pimlico_model::data::Distribution;
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// The language model whose shapes are used, unless it is said.
const DEFAULT_MODEL: &str = "gpt-175b";

/// Tokens whose K and V are in the device, unless it is said.
pub(super) const DEFAULT_CONTEXT: usize = 2048;

/// Options that are given together, of what every run has.
pub(super) trait Group: Args {
    /// Writes what was given to the arguments of a run.
    fn put(self, to: &mut RunArguments);
}

/// Makes a list of groups one that can be chosen from.
macro_rules! common {
    ($($group:ident),* $(,)?) => {
        /// Groups that operators and systems have in common, in the order of the help. An operator and a system each have a
        /// list of those that mean something to them; a run has what is in both, and [`EVERY`](Self::EVERY).
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(super) enum Common {
            $($group,)*
        }

        impl Common {
            /// All of them.
            pub(super) const ALL: &[Self] = &[$(Self::$group),*];

            /// Puts its options behind those of a command.
            pub(super) fn augment(self, command: Command) -> Command {
                match self {
                    $(Self::$group => $group::augment_args(command),)*
                }
            }

            /// Writes what was given of it to the arguments of a run.
            pub(super) fn put(
                self,
                given: &ArgMatches,
                to: &mut RunArguments,
            ) -> Result<(), clap::Error> {
                match self {
                    $(Self::$group => $group::from_arg_matches(given)?.put(to),)*
                }
                Ok(())
            }
        }
    };
}

common! {
    Seed, Softmax, Sums, WhichDevice, Dram, SharedBuffers, HowMany, InBanks, OnHost, Spread, Sample, Judging, References, Program,
    Longest, Execution, Waveform, Picture,
}

impl Common {
    /// Those that every run has.
    pub(super) const EVERY: [Self; 4] =
        [Self::Seed, Self::WhichDevice, Self::Dram, Self::Execution];
}

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

impl Shapes {
    /// The shapes, and the name that they go by.
    pub(super) fn model(&self) -> Result<(String, Model), Failure> {
        match &self.config {
            Some(file) => Ok((file.display().to_string(), read_config(file)?.model())),
            None => Ok((self.model.clone(), find_model(&self.model)?)),
        }
    }

    /// The file that they come from, if they do.
    pub(super) fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The words that ask for them.
    pub(super) fn words(&self) -> String {
        match &self.config {
            Some(file) => format!("--config {}", file.display()),
            None => format!("--model {}", self.model),
        }
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

#[derive(Clone, Copy, ValueEnum)]
enum Distribute {
    /// Weights of one order of magnitude
    Random,
    /// A few tokens have nearly all the weight
    Peaked,
}

impl Scores {
    /// How they are distributed.
    pub(super) fn distribution(&self) -> Distribution {
        match self.distribution {
            Distribute::Random => Distribution::Random,
            Distribute::Peaked => Distribution::Peaked,
        }
    }

    /// The words that ask for it.
    pub(super) fn words(&self) -> String {
        format!("--distribution {}", self.distribution().name())
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

/// The format of sums.
#[derive(Args)]
#[command(next_help_heading = "Numerics")]
pub(super) struct Sums {
    /// Format of sums in bank PUs and adder unit [default: the device's, binary16]
    #[arg(long, value_enum)]
    sums: Option<SumsFormat>,
}

impl Group for Sums {
    fn put(self, to: &mut RunArguments) {
        to.sums = self.sums;
    }
}

/// The device. Its system's own options are the next.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct WhichDevice {
    /// The device: a built-in one by its name, or a file; see `pimlico device`
    #[arg(long, value_name = "NAME|FILE.toml", alias = "dram")]
    device: Option<String>,
}

impl Group for WhichDevice {
    fn put(self, to: &mut RunArguments) {
        to.device = self.device;
    }
}

/// What the DRAM of all devices has.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct Dram {
    /// Banks that may open in a tFAW, in place of the device's: 16 or 8 by one command, 4 by JEDEC's ACTs
    #[arg(long, value_name = "N", value_parser = ["16", "8", "4"])]
    faw_banks: Option<String>,
    /// Whether rows are refreshed; `off` compares with models that have no refresh
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
    /// been reset, and without data: the costs of all of them, and no results
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
    /// Run without data, and run only one of the K and V heads that are alike: the costs, and no results
    #[arg(long)]
    timing_only: bool,
    /// Threads of this machine that make data and judge results; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

impl Group for Sample {
    fn put(self, to: &mut RunArguments) {
        (to.timing_only, to.threads) = (self.timing_only, self.threads);
    }
}

/// Work on matrices beside that of the device.
#[derive(Args)]
pub(super) struct Judging {
    /// Threads of this machine that judge results; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

impl Group for Judging {
    fn put(self, to: &mut RunArguments) {
        to.threads = self.threads;
    }
}

/// Work on text beside that of the device, be it of one rank.
#[derive(Args)]
pub(super) struct References {
    /// Threads of this machine that compute the model in float64 and judge results; results do not depend on it
    /// [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

impl Group for References {
    fn put(self, to: &mut RunArguments) {
        to.of_references = self.threads;
    }
}

/// Programs of the dispatcher.
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
    /// Draw as SVG which slots of each operator were lost to what and, on one rank, what it did over time
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
    /// What executes the device
    #[arg(long, value_enum, default_value_t = BackendArgument::Fast)]
    backend: BackendArgument,
    /// Folder for the waveforms of a mismatch in lockstep
    #[arg(long, default_value = DEFAULT_REPORT, value_name = "DIR")]
    report: PathBuf,
    #[command(flatten)]
    format: FormatArguments,
}

impl Group for Execution {
    fn put(self, to: &mut RunArguments) {
        (to.backend, to.report, to.format) = (self.backend.into(), self.report, self.format);
    }
}
