// SPDX-License-Identifier: MIT
//! The arguments of `pimlico run` that are no operator's own.

use super::prefill::OnHost;
use super::residency::InBanks;
use super::systems::{Asked, Entry};
use crate::device;
use crate::dpa;
use crate::failure::Failure;
use crate::files;
use crate::mdq::MdqArgument;
use crate::output::FormatArguments;
use crate::values::Switch;
use clap::ValueEnum;
use pimlico_backends::Backend;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::spec::TopologyTable;
use pimlico_device::{Config, DeviceSpec, Mdq, Normalise, Options, SumFormat, Topology};
use pimlico_model::checkpoint::config::Config as ModelConfig;
use pimlico_workload::system::{AttentionSetup, How};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Modules among which a layer is shared out, at the most.
pub const MOST_MODULES: usize = 1024;

/// Folder for the waveforms of a mismatch, unless it is said.
pub(super) const DEFAULT_REPORT: &str = "pimlico-report";

/// The arguments of a run, without the operator's own. What means nothing to an operator has its default; `groups`
/// documents each.
pub struct RunArguments {
    /// The system
    pub(super) system: Entry,
    /// The options that are its own
    pub(super) own: Box<dyn Asked>,
    /// Name of the operator
    pub(super) op: &'static str,
    /// Whether the operator runs in pieces on one rank as well
    pub(super) in_pieces: bool,
    pub(super) device: Option<String>,
    /// What that is
    spec: Option<DeviceSpec>,
    pub(super) normalise: Option<When>,
    pub(super) sums: Option<SumsFormat>,
    pub(super) faw_banks: Option<String>,
    pub(super) refresh: Switch,
    pub(super) backend: Backend,
    pub(super) io_buffers: Option<Buffers>,
    pub(super) channels: Option<usize>,
    pub(super) dimms: Option<usize>,
    pub(super) ranks: Option<usize>,
    pub(super) mdq: Option<MdqArgument>,
    pub(super) in_banks: Option<InBanks>,
    pub(super) on_host: Option<OnHost>,
    pub(super) program: Option<PathBuf>,
    pub(super) context_max: Option<usize>,
    pub(super) seed: u64,
    pub(super) threads: Option<NonZero<usize>>,
    /// Threads of what an operator on one rank computes beside the device
    pub(super) of_references: Option<NonZero<usize>>,
    pub(super) timing_only: bool,
    pub(super) vcd: Option<PathBuf>,
    pub(super) plot: Option<PathBuf>,
    pub(super) report: PathBuf,
    pub(super) format: FormatArguments,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Buffers {
    /// Into one half while the other is in use
    PingPong,
    /// Into the only half, when it is no longer in use
    Single,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum When {
    /// Each weight, before it is used: L3's order
    Early,
    /// The context, once
    Late,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum SumsFormat {
    /// That of the elements
    Binary16,
    /// A wider one
    Binary32,
}

impl From<Buffers> for IoBuffers {
    fn from(buffers: Buffers) -> Self {
        match buffers {
            Buffers::PingPong => Self::PingPong,
            Buffers::Single => Self::Single,
        }
    }
}

impl RunArguments {
    /// Those of an operator on a system of which nothing is said but what is the system's own.
    pub(super) fn new(
        system: Entry,
        own: Box<dyn Asked>,
        op: &'static str,
        in_pieces: bool,
    ) -> Self {
        Self {
            system,
            own,
            op,
            in_pieces,
            device: None,
            spec: None,
            normalise: None,
            sums: None,
            faw_banks: None,
            refresh: Switch::On,
            backend: Backend::Fast,
            io_buffers: None,
            channels: None,
            dimms: None,
            ranks: None,
            mdq: None,
            in_banks: None,
            on_host: None,
            program: None,
            context_max: None,
            seed: 1,
            threads: None,
            of_references: None,
            timing_only: false,
            vcd: None,
            plot: None,
            report: PathBuf::from(DEFAULT_REPORT),
            format: FormatArguments::default(),
        }
    }

    /// The same with what `--device` names, if it is of the systems' kinds.
    pub(super) fn with_device(mut self) -> Result<Self, Failure> {
        let Some((device, kind)) = self.device.as_ref().zip(self.system.kind) else {
            return Ok(self);
        };
        let spec = device::find(device)?;
        if kind != spec.system {
            let (given, is) = (self.system.name(), spec.system.name());
            let message = format!("--device {device}: of `run {is}`, not of `run {given}`");
            return Err(Failure::Input(message));
        }
        self.spec = Some(spec);
        Ok(self)
    }

    /// The device, without what options say of it.
    ///
    /// # Panics
    ///
    /// If the system's devices have files of another form.
    pub(super) fn spec(&self) -> DeviceSpec {
        let kind = || self.system.kind.expect("a system of a kind");
        self.spec.clone().unwrap_or_else(|| device::of_system(kind()))
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
            return match (self.threads, self.in_pieces) {
                (None, _) | (_, true) => Ok(topology),
                _ => Err(self.on_ranks("--threads", "several ranks")),
            };
        }
        for (flag, given) in [
            ("--program", self.program.is_some()),
            ("--context-max", self.context_max.is_some()),
            ("--vcd", self.vcd.is_some()),
        ] {
            match given {
                true if self.timing_only => {
                    return Err(Failure::Input(format!(
                        "{flag}: it does not go with --timing-only"
                    )));
                }
                true => return Err(self.on_ranks(flag, "one rank")),
                false => {}
            }
        }
        Ok(topology)
    }

    fn on_ranks(&self, flag: &str, ranks: &str) -> Failure {
        let (system, op, flags) = (self.system.name(), self.op, "--channels, --dimms, --ranks");
        Failure::Input(format!("{flag}: with `run {system} {op}`, it goes with {ranks} ({flags})"))
    }

    /// Threads of this machine.
    pub(super) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.threads.or(self.of_references).map_or_else(cores, NonZero::get)
    }

    /// How pieces of work are run.
    pub(super) fn how(&self) -> How {
        How {
            threads: self.threads(),
            timing_only: self.timing_only,
            with_data: false,
            functional: self.backend == Backend::Fast,
        }
    }

    /// Organisation and timing of the DRAM.
    pub(super) fn dram_config(&self) -> Config {
        let mut config = self.spec().config();
        if let Some(banks) = &self.faw_banks {
            config.timing.faw_banks = banks.parse().expect("checked by the parser");
        }
        config
    }

    /// The flags that name the DRAM, for a command line.
    pub(super) fn dram_flags(&self) -> String {
        flags([
            ("device", self.device.as_deref().map(quoted)),
            ("faw-banks", self.faw_banks.clone()),
        ])
    }

    /// How a rank works, but for what its system's own options say.
    pub(super) fn options(&self) -> Options {
        let Options { normalise, sums, gear, poll_tck, .. } = self.spec().options();
        Options {
            refresh: self.refresh == Switch::On,
            normalise: self.normalise.map_or(normalise, |when| match when {
                When::Early => Normalise::Early,
                When::Late => Normalise::Late,
            }),
            sums: self.sums.map_or(sums, |sums| match sums {
                SumsFormat::Binary16 => SumFormat::Binary16,
                SumsFormat::Binary32 => SumFormat::Binary32,
            }),
            gear,
            poll_tck,
        }
    }

    /// What the dispatcher is set up with.
    pub(super) fn setup(&self) -> Result<AttentionSetup, Failure> {
        let program = self.program.as_deref().map(dpa::read).transpose()?;
        Ok(AttentionSetup { longest: self.context_max, program })
    }

    /// How vectors come to the PUs.
    pub(super) fn io_buffers(&self) -> IoBuffers {
        let given = self.own.io_buffers().or(self.io_buffers.map(IoBuffers::from));
        given.unwrap_or_else(|| self.spec().buffers.io)
    }
}

/// The flags that are given, for a command line, with a space before each.
pub(super) fn flags<const N: usize>(values: [(&str, Option<String>); N]) -> String {
    let given = values.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.map(|(name, value)| format!(" --{name} {value}")).collect()
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
