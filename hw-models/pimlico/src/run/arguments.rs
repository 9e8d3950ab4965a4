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
use crate::output::FormatArguments;
use clap::ValueEnum;
use pimlico_device::aim::{AimOptions, MOST_CHANNELS};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::spec::TopologyTable;
use pimlico_device::{
    Config, DeviceSpec, Gear, Mdq, Normalise, Options, SumFormat, SystemKind, Topology,
};
use pimlico_model::checkpoint::config::Config as ModelConfig;
use pimlico_model::data::Distribution;
use pimlico_model::{Model, presets};
use pimlico_workload::system::{AttentionSetup, How};
use pimlico_workload::{attention, fc, gemv, layer};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Requests of a batch, at the most.
const MOST_REQUESTS: usize = 1024;

/// Modules among which a layer is shared out, at the most.
pub const MOST_MODULES: usize = 1024;

/// The language model whose shapes are used, unless it is said.
pub(super) const DEFAULT_MODEL: &str = "gpt-175b";

/// Tokens whose K and V are in the device, unless it is said.
pub(super) const DEFAULT_CONTEXT: usize = 2048;

/// Folder for the waveforms of a mismatch, unless it is said.
pub(super) const DEFAULT_REPORT: &str = "pimlico-report";

/// The arguments of a run. What means nothing to an operator has its default; `groups` documents each.
pub struct RunArguments {
    pub(super) system: System,
    pub(super) op: Op,
    pub(super) device: Option<String>,
    /// What that is
    spec: Option<DeviceSpec>,
    pub(super) model: String,
    pub(super) config: Option<PathBuf>,
    pub(super) decode: decode::DecodeArguments,
    pub(super) context: Vec<usize>,
    pub(super) batch: usize,
    pub(super) heads: usize,
    pub(super) group: Option<usize>,
    pub(super) head_dim: Option<usize>,
    pub(super) distribution: Distribute,
    pub(super) normalise: Option<When>,
    pub(super) sums: Option<Sums>,
    pub(super) gear: Option<GearArgument>,
    pub(super) poll: Option<u64>,
    pub(super) faw_banks: Option<String>,
    pub(super) ccd_result: Option<u64>,
    pub(super) wtr_shared: Option<u64>,
    pub(super) rl_mac: Option<String>,
    pub(super) refresh: Switch,
    pub(super) backend: Backend,
    pub(super) rows: Option<usize>,
    pub(super) cols: Option<usize>,
    pub(super) io_buffers: Option<Buffers>,
    pub(super) mode_change: Switch,
    pub(super) channels: Option<usize>,
    pub(super) dimms: Option<usize>,
    pub(super) ranks: Option<usize>,
    pub(super) mdq: Option<MdqArgument>,
    pub(super) layers: Option<usize>,
    pub(super) tp: Option<usize>,
    pub(super) lm_head: bool,
    pub(super) program: Option<PathBuf>,
    pub(super) context_max: Option<usize>,
    pub(super) seed: u64,
    pub(super) threads: Option<NonZero<usize>>,
    pub(super) timing_only: bool,
    pub(super) vcd: Option<PathBuf>,
    pub(super) plot: Option<PathBuf>,
    pub(super) report: PathBuf,
    pub(super) format: FormatArguments,
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
    /// Those of an operator of which nothing is said.
    pub(super) fn new(system: System, op: Op) -> Self {
        Self {
            system,
            op,
            device: None,
            spec: None,
            model: DEFAULT_MODEL.to_owned(),
            config: None,
            decode: decode::DecodeArguments::default(),
            context: vec![DEFAULT_CONTEXT],
            batch: 1,
            heads: 1,
            group: None,
            head_dim: None,
            distribution: Distribute::Random,
            normalise: None,
            sums: None,
            gear: None,
            poll: None,
            faw_banks: None,
            ccd_result: None,
            wtr_shared: None,
            rl_mac: None,
            refresh: Switch::On,
            backend: Backend::Fast,
            rows: None,
            cols: None,
            io_buffers: None,
            mode_change: Switch::On,
            channels: None,
            dimms: None,
            ranks: None,
            mdq: None,
            layers: None,
            tp: None,
            lm_head: false,
            program: None,
            context_max: None,
            seed: 1,
            threads: None,
            timing_only: false,
            vcd: None,
            plot: None,
            report: PathBuf::from(DEFAULT_REPORT),
            format: FormatArguments::default(),
        }
    }

    /// The same with what `--device` names.
    pub(super) fn with_device(mut self) -> Result<Self, Failure> {
        let Some(device) = &self.device else { return Ok(self) };
        let spec = device::find(device)?;
        if SystemKind::from(self.system) != spec.system {
            let (given, is) = (self.system.name(), spec.system.name());
            let message = format!("--device {device}: of `run {is}`, not of `run {given}`");
            return Err(Failure::Input(message));
        }
        self.spec = Some(spec);
        Ok(self)
    }

    /// The kind of device.
    pub(super) fn system(&self) -> System {
        self.system
    }

    /// The device, without what options say of it.
    fn spec(&self) -> DeviceSpec {
        self.spec.clone().unwrap_or_else(|| device::of_system(self.system().into()))
    }

    /// How many ranks there are.
    pub(super) fn topology(&self) -> Result<Topology, Failure> {
        let TopologyTable { channels, dimms, ranks, mdq, .. } = self.spec().topology;
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
        Ok(topology)
    }

    fn on_ranks(&self, flag: &str, ranks: &str, op: Op) -> Failure {
        let flags = "--channels, --dimms, --ranks";
        Failure::Input(format!(
            "{flag}: with `run l3 {}`, it goes with {ranks} ({flags})",
            op.name()
        ))
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
        match (self.op, self.rows, self.cols) {
            (Op::Attention, ..) => Ok(Job::Attention(self.attention()?)),
            (Op::Fc, ..) => Ok(Job::Fc(self.fc()?)),
            (Op::Layer, ..) => Ok(Job::Layer(self.layer()?)),
            (Op::Decode, ..) => Ok(Job::Decode(Box::new(decode::job(self)?))),
            (Op::Gemv, Some(rows), Some(columns)) => {
                let io_buffers = self.io_buffers();
                Ok(Job::Gemv(gemv::GemvJob { rows, columns, io_buffers, seed: self.seed }))
            }
            (Op::Gemv, ..) => input("run gemv: expected --rows R and --cols C"),
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
        let job = fc::FcJob::new(&name, &model, tp, self.lm_head, self.seed);
        Ok(fc::FcJob { io_buffers: self.io_buffers(), ..job })
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
            return Err(input("--context: with `run l3 layer`, expected one"));
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
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:".contains(c);
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
