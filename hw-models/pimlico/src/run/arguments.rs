// SPDX-License-Identifier: MIT
//! The arguments of `pimlico run`, and the job that they ask for.

use super::backend::Backend;
use super::{Job, decode};
use crate::device;
use crate::dpa;
use crate::failure::Failure;
use crate::files;
use crate::gear::GearArgument;
use crate::mdq::MdqArgument;
use clap::{Args, ValueEnum};
use pimlico_device::aim::{AimOptions, MOST_CHANNELS};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::spec::TopologyTable;
use pimlico_device::{
    Config, DeviceSpec, Gear, Mdq, Normalise, Options, SumFormat, SystemKind, Topology,
};
use pimlico_model::checkpoint::config::Config as ModelConfig;
use pimlico_model::data::Distribution;
use pimlico_model::{Model, presets};
use pimlico_workload::attention::AttentionSetup;
use pimlico_workload::spread::How;
use pimlico_workload::{attention, fc, gemv, layer};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Requests of a batch, at the most.
const MOST_REQUESTS: usize = 1024;

/// tCK from one look at the status to the next, at the most.
const MOST_POLL_TCK: u64 = 65536;

/// Modules among which a layer is shared out, at the most.
pub const MOST_MODULES: usize = 1024;

/// The language model whose shapes are used, unless it is said.
const DEFAULT_MODEL: &str = "gpt-175b";

/// Arguments of `pimlico run`.
#[derive(Args)]
pub struct RunArguments {
    /// The kind of device [default: that of --device, else l3]
    #[arg(long, value_enum)]
    pub(super) system: Option<System>,
    /// The device: a built-in one by its name, or a file; see `pimlico device` [default: ddr4-3200, or with
    /// --system aim gddr6-aim]
    #[arg(long, value_name = "NAME|FILE.toml", alias = "dram")]
    pub(super) device: Option<String>,
    /// What that is
    #[arg(skip)]
    spec: Option<DeviceSpec>,
    /// The language model whose shapes are used
    #[arg(long, default_value = DEFAULT_MODEL)]
    pub(super) model: String,
    /// The same from a config.json of Hugging Face
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub(super) config: Option<PathBuf>,
    #[command(flatten)]
    pub(super) decode: decode::DecodeArguments,
    /// What to run
    #[arg(long, value_enum, default_value_t = Op::Attention)]
    pub(super) op: Op,
    /// Tokens whose K and V are in the device, of each request if there are several
    #[arg(long, default_value = "2048", value_delimiter = ',', value_name = "N")]
    pub(super) context: Vec<usize>,
    /// Requests, where they are all of one context
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) batch: usize,
    /// Query heads to run
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) heads: usize,
    /// Query heads that share K and V, in place of the model's
    #[arg(long, value_name = "N")]
    pub(super) group: Option<usize>,
    /// Elements of a head's vectors, in place of the model's
    #[arg(long, value_name = "D")]
    pub(super) head_dim: Option<usize>,
    /// How the scores of the synthetic data are distributed
    #[arg(long, value_enum, default_value_t = Distribute::Random)]
    pub(super) distribution: Distribute,
    /// When softmax divides by the sum of the exponentials [default: the device's, early]
    #[arg(long, value_enum)]
    pub(super) normalise: Option<When>,
    /// Format of sums in bank PUs and adder unit [default: the device's, binary16]
    #[arg(long, value_enum)]
    pub(super) sums: Option<Sums>,
    /// tCK in a cycle of the rank PU's core [default: the device's, 2]
    #[arg(long, value_enum)]
    pub(super) gear: Option<GearArgument>,
    /// tCK from one look of the host at the status of a run to the next [default: 64]
    #[arg(long, value_name = "TCK", value_parser = clap::value_parser!(u64).range(1..=MOST_POLL_TCK))]
    pub(super) poll: Option<u64>,
    /// Banks that may open in a tFAW, in place of the device's: 16 or 8 by one command, 4 by JEDEC's ACTs
    #[arg(long, value_name = "N", value_parser = ["16", "8", "4"])]
    pub(super) faw_banks: Option<String>,
    /// tCK from one RD_RESULT or WR_SHARED to the next, in place of the device's: 8 if the bank groups share a trunk
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(4..=64))]
    pub(super) ccd_result: Option<u64>,
    /// tCK from the end of WR_SHARED's data to an RD_ALL or RD_RESULT, in place of the device's: 4 if the shared
    /// buffers turn from write to read as the banks do
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=64))]
    pub(super) wtr_shared: Option<u64>,
    /// tCK from an RD_ALL to its columns at the PUs, in place of the preset's
    #[arg(long, value_name = "N", value_parser = ["0", "4", "8", "12"])]
    pub(super) rl_mac: Option<String>,
    /// Whether rows are refreshed
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(super) refresh: Switch,
    /// What executes the device; AiM has no engine, `fast` is its models
    #[arg(long, value_enum, default_value_t = Backend::Fast)]
    pub(super) backend: Backend,
    /// Rows of the matrix, with --op gemv
    #[arg(long, value_name = "R")]
    pub(super) rows: Option<usize>,
    /// Columns of the matrix, with --op gemv
    #[arg(long, value_name = "C")]
    pub(super) cols: Option<usize>,
    /// How the vectors of matrices come to the shared buffers; with --system aim also how results
    /// leave [default: the device's, ping-pong]
    #[arg(long, value_enum)]
    pub(super) io_buffers: Option<Buffers>,
    /// Whether single buffers of an AiM pay MODCH between words or results and columns
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(super) mode_change: Switch,
    /// Channels of the host, or with --system aim of the module [default: the device's, 1 or 16]
    #[arg(long, value_name = "N", value_parser = channels)]
    pub(super) channels: Option<usize>,
    /// DIMMs on each channel [default: the device's, 1]
    #[arg(long, value_name = "N")]
    pub(super) dimms: Option<usize>,
    /// Ranks on each DIMM [default: the device's, 1]
    #[arg(long, value_name = "N")]
    pub(super) ranks: Option<usize>,
    /// Data lines between buffer chip and chips, on DIMMs of several ranks. Shared, bursts take turns and hold up
    /// all that follows in their rank: an upper bound of contention, not a model cycle by cycle [default: the
    /// device's, private]
    #[arg(long, value_enum)]
    pub(super) mdq: Option<MdqArgument>,
    /// Layers for which there must be room, with --op layer; they are alike, and one runs [default: 1]
    #[arg(long, value_name = "N")]
    pub(super) layers: Option<usize>,
    /// Modules that share the layer out among them, with --op fc: one's share is run
    #[arg(long, value_name = "N")]
    pub(super) tp: Option<usize>,
    /// With --op fc: the language-model head as well
    #[arg(long)]
    pub(super) lm_head: bool,
    /// The program to run, with --op attention or gemv, in place of the one that is built: words if the name
    /// ends with `.bin`, otherwise text; see `pimlico dpa build`
    #[arg(long, value_name = "FILE")]
    pub(super) program: Option<PathBuf>,
    /// Longest context that program and Va2Pa table provide for, with --op attention [default: the longest
    /// of --context]
    #[arg(long, value_name = "N")]
    pub(super) context_max: Option<usize>,
    /// Seed of the data, and of the bits in registers before the reset
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub(super) seed: u64,
    /// Threads of this machine, with --op layer or several ranks; results do not depend on it [default: all
    /// cores]
    #[arg(long, value_name = "N")]
    pub(super) threads: Option<NonZero<usize>>,
    /// Of pieces of work that are alike (heads, blocks of a matrix) run one, each on a rank that has just
    /// been reset: the costs of all of them; the errors are those of what was run
    #[arg(long)]
    pub(super) timing_only: bool,
    /// Write a waveform: the rank's commands, the bank PUs of logic bank 0, the adder unit
    #[arg(long, value_name = "FILE")]
    pub(super) vcd: Option<PathBuf>,
    /// Draw what the rank did over time, and which slots were lost to what, as SVG
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    /// Folder for the waveforms of a mismatch in lockstep
    #[arg(long, default_value = "pimlico-report", value_name = "DIR")]
    pub(super) report: PathBuf,
    /// Print one JSON document in place of tables
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum System {
    /// L3's DIMM-PIM: a rank of DDR4-3200
    L3,
    /// LoL-PIM's module: channels of GDDR6-AiM behind a hub
    Aim,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Op {
    /// Score, softmax and context of a layer's heads, for one token that is being generated
    Attention,
    /// The fully-connected operators of a decoder layer
    Fc,
    /// A matrix times a vector, of which fully-connected layers are made
    Gemv,
    /// A decoder layer, for one token that is being generated: all heads and all matrices
    Layer,
    /// Text, token by token, with a whole language model
    Decode,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Buffers {
    /// Into one half while the other is in use
    PingPong,
    /// Into the one half that there is, when it is no longer in use
    Single,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Distribute {
    /// Weights of one order of magnitude
    Random,
    /// A few tokens have nearly all the weight
    Peaked,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum When {
    /// Each weight, before it is used: L3's order
    Early,
    /// The context, once
    Late,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Sums {
    /// That of the elements
    Binary16,
    /// A wider one
    Binary32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// They are
    On,
    /// They are not, to compare with models that have no refresh
    Off,
}

impl System {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::L3 => "l3",
            Self::Aim => "aim",
        }
    }
}

impl Op {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Fc => "fc",
            Self::Gemv => "gemv",
            Self::Layer => "layer",
            Self::Decode => "decode",
        }
    }
}

impl From<System> for SystemKind {
    fn from(system: System) -> Self {
        match system {
            System::L3 => Self::L3,
            System::Aim => Self::Aim,
        }
    }
}

impl RunArguments {
    /// The same with what `--device` names.
    pub(super) fn with_device(mut self) -> Result<Self, Failure> {
        let Some(device) = &self.device else { return Ok(self) };
        let spec = device::find(device)?;
        match self.system {
            Some(system) if SystemKind::from(system) != spec.system => {
                let (given, is) = (system.name(), spec.system.name());
                let message = format!("--device {device}: of --system {is}, not of {given}");
                return Err(Failure::Input(message));
            }
            _ => self.spec = Some(spec),
        }
        Ok(self)
    }

    /// The kind of device.
    pub(super) fn system(&self) -> System {
        match (&self.spec, self.system) {
            (Some(spec), _) if spec.system == SystemKind::Aim => System::Aim,
            (Some(_), _) => System::L3,
            (None, given) => given.unwrap_or(System::L3),
        }
    }

    /// The device, without what options say of it.
    fn spec(&self) -> DeviceSpec {
        self.spec.clone().unwrap_or_else(|| device::of_system(self.system().into()))
    }

    /// How many ranks there are.
    pub(super) fn topology(&self) -> Result<Topology, Failure> {
        let TopologyTable { channels, dimms, ranks, mdq } = self.spec().topology;
        let of = Topology::new(
            self.channels.unwrap_or(channels),
            self.dimms.unwrap_or(dimms),
            self.ranks.unwrap_or(ranks),
        );
        let topology =
            of.map_err(|e| Failure::Input(format!("--channels, --dimms, --ranks: {e}")))?;
        let topology = topology.with_mdq(self.mdq.map_or(mdq, Mdq::from));
        if topology.mdq() == Mdq::Shared && topology.ranks() == 1 {
            let message = "--mdq shared: it goes with several ranks on a DIMM (--ranks)";
            return Err(Failure::Input(message.to_owned()));
        }
        if topology.count() == 1 && !self.timing_only {
            return match (self.threads, self.op) {
                (None, _) | (_, Op::Layer) => Ok(topology),
                (_, op) => Err(self.on_ranks("--threads", "several ranks", op)),
            };
        }
        for (flag, given) in [
            ("--program", self.program.is_some()),
            ("--context-max", self.context_max.is_some()),
            ("--vcd", self.vcd.is_some()),
            ("--plot", self.plot.is_some()),
        ] {
            match given {
                true if self.timing_only => {
                    return Err(Failure::Input(format!(
                        "{flag}: it does not go with --timing-only"
                    )));
                }
                true => return Err(self.on_ranks(flag, "one rank", self.op)),
                false => {}
            }
        }
        if self.op == Op::Decode {
            let count = topology.count();
            let message = format!("--op decode: it runs on one rank, here are {count}");
            return Err(Failure::Input(message));
        }
        Ok(topology)
    }

    fn on_ranks(&self, flag: &str, ranks: &str, op: Op) -> Failure {
        let flags = "--channels, --dimms, --ranks";
        Failure::Input(format!("{flag}: with --op {}, it goes with {ranks} ({flags})", op.name()))
    }

    /// How pieces of work are run.
    pub(super) fn how(&self) -> How {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = self.threads.map_or_else(cores, NonZero::get);
        How { threads, timing_only: self.timing_only }
    }

    /// Organisation and timing of the DRAM.
    pub(super) fn dram_config(&self) -> Config {
        let mut config = self.spec().config();
        if let Some(banks) = &self.faw_banks {
            config.timing.faw_banks = banks.parse().expect("checked by the parser");
        }
        let timing = &mut config.timing;
        timing.ccd_result_tck = self.ccd_result.unwrap_or(timing.ccd_result_tck);
        timing.wtr_shared_tck = self.wtr_shared.unwrap_or(timing.wtr_shared_tck);
        if let Some(rl_mac) = &self.rl_mac {
            timing.rl_mac_tck = rl_mac.parse().expect("checked by the parser");
        }
        config
    }

    /// The flags that name the DRAM, for a command line.
    pub(super) fn dram_flags(&self) -> String {
        let tck = |value: Option<u64>| value.map(|tck| tck.to_string());
        [
            ("device", self.device.as_deref().map(quoted)),
            ("faw-banks", self.faw_banks.clone()),
            ("ccd-result", tck(self.ccd_result)),
            ("wtr-shared", tck(self.wtr_shared)),
            ("rl-mac", self.rl_mac.clone()),
        ]
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| format!(" --{name} {value}")))
        .collect()
    }

    pub(super) fn options(&self) -> Options {
        let Options { normalise, sums, gear, poll_tck, .. } = self.spec().options();
        Options {
            refresh: self.refresh == Switch::On,
            normalise: self.normalise.map_or(normalise, |when| match when {
                When::Early => Normalise::Early,
                When::Late => Normalise::Late,
            }),
            sums: self.sums.map_or(sums, |sums| match sums {
                Sums::Binary16 => SumFormat::Binary16,
                Sums::Binary32 => SumFormat::Binary32,
            }),
            gear: self.gear.map_or(gear, Gear::from),
            poll_tck: self.poll.unwrap_or(poll_tck),
        }
    }

    /// What the dispatcher is set up with.
    pub(super) fn setup(&self) -> Result<AttentionSetup, Failure> {
        let program = self.program.as_deref().map(dpa::read).transpose()?;
        Ok(AttentionSetup { longest: self.context_max, program })
    }

    /// What to run.
    pub(super) fn job(&self) -> Result<Job, Failure> {
        let input = |message: &str| Err(Failure::Input(message.to_owned()));
        if self.system() == System::Aim && self.op == Op::Layer {
            return input("--op layer: it goes with --system l3");
        }
        match (self.op, self.rows, self.cols) {
            (Op::Attention, ..) => Ok(Job::Attention(self.attention()?)),
            (Op::Fc, ..) => Ok(Job::Fc(self.fc()?)),
            (Op::Layer, ..) => Ok(Job::Layer(self.layer()?)),
            (Op::Decode, ..) => Ok(Job::Decode(Box::new(decode::job(self)?))),
            (Op::Gemv, Some(rows), Some(columns)) => {
                let io_buffers = self.io_buffers();
                Ok(Job::Gemv(gemv::GemvJob { rows, columns, io_buffers, seed: self.seed }))
            }
            (Op::Gemv, ..) => input("--op gemv: expected --rows R and --cols C"),
        }
    }

    pub(super) fn io_buffers(&self) -> IoBuffers {
        self.io_buffers.map_or_else(
            || self.spec().buffers.io,
            |buffers| match buffers {
                Buffers::PingPong => IoBuffers::PingPong,
                Buffers::Single => IoBuffers::Single,
            },
        )
    }

    /// How a module works.
    pub(super) fn aim_options(&self) -> AimOptions {
        let refresh = self.refresh == Switch::On;
        let channels = self.channels.unwrap_or(self.spec().topology.channels);
        let mode_change = self.mode_change == Switch::On;
        let io_buffers = self.io_buffers();
        AimOptions { channels, io_buffers, refresh, mode_change, ..AimOptions::default() }
    }

    /// The fully-connected operators of a layer of the model.
    fn fc(&self) -> Result<fc::FcJob, Failure> {
        let (name, model) = self.model()?;
        let tp = self.tp.unwrap_or(1);
        if !(1..=MOST_MODULES).contains(&tp) {
            return Err(Failure::Input(format!("--tp {tp}: expected 1 to {MOST_MODULES} modules")));
        }
        Ok(fc::FcJob::new(&name, &model, tp, self.lm_head, self.seed))
    }

    /// The shapes, and the name that they go by.
    fn model(&self) -> Result<(String, Model), Failure> {
        match &self.config {
            Some(file) => Ok((file.display().to_string(), read_config(file)?.model())),
            None => Ok((self.model.clone(), find_model(&self.model)?)),
        }
    }

    /// How the scores of synthetic data are distributed.
    fn distribution(&self) -> Distribution {
        match self.distribution {
            Distribute::Random => Distribution::Random,
            Distribute::Peaked => Distribution::Peaked,
        }
    }

    /// A layer of the model.
    fn layer(&self) -> Result<layer::LayerJob, Failure> {
        let input = |message: &str| Failure::Input(message.to_owned());
        let &[context] = self.context.as_slice() else {
            return Err(input("--context: with --op layer, expected one"));
        };
        let (model, shape) = self.model()?;
        let layers = self.layers.unwrap_or(1);
        if !(1..=shape.layers).contains(&layers) {
            let most = shape.layers;
            return Err(input(&format!("--layers {layers}: {model} has 1 to {most}")));
        }
        Ok(layer::LayerJob {
            model,
            shape,
            layers,
            context,
            distribution: self.distribution(),
            io_buffers: self.io_buffers(),
            seed: self.seed,
            how: self.how(),
        })
    }

    /// Attention of the model.
    fn attention(&self) -> Result<attention::AttentionJob, Failure> {
        let (name, model) = self.model()?;
        if self.heads == 0 || self.heads > model.heads {
            let (heads, most) = (self.heads, model.heads);
            return Err(Failure::Input(format!("--heads {heads}: {name} has 1 to {most}")));
        }
        let group = self.group.unwrap_or(model.group());
        if group == 0 || group > model.heads {
            let most = model.heads;
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
        Ok(attention::AttentionJob {
            model: name,
            head_dim: self.head_dim.unwrap_or(model.head_dim),
            heads: self.heads,
            group,
            contexts,
            distribution: self.distribution(),
            seed: self.seed,
        })
    }
}

/// A `config.json`, at most of a size that no such file has.
pub(super) fn read_config(file: &Path) -> Result<ModelConfig, Failure> {
    let text = files::read(file, 1 << 20)?;
    ModelConfig::read(&text).map_err(|e| Failure::Input(format!("{}: {e}", file.display())))
}

/// A word as a shell takes it for one.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The model with this name.
pub fn find_model(name: &str) -> Result<Model, Failure> {
    let mut presets = presets();
    presets.remove(name).ok_or_else(|| {
        let names: Vec<_> = presets.into_keys().collect();
        Failure::Input(format!("--model {name}: no such model; there are {}", names.join(", ")))
    })
}

/// A number of channels.
pub fn channels(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_CHANNELS).contains(number));
    number.ok_or_else(|| format!("expected 1 to {MOST_CHANNELS} channels"))
}
