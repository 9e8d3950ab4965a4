// SPDX-License-Identifier: MIT
//! The arguments of `pimlico run` that are no operator's own.

use super::backend::Backend;
use crate::device;
use crate::dpa;
use crate::failure::Failure;
use crate::files;
use crate::gear::GearArgument;
use crate::mdq::MdqArgument;
use crate::output::FormatArguments;
use clap::ValueEnum;
use pimlico_device::aim::{AimOptions, MOST_CHANNELS, Pu};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::spec::TopologyTable;
use pimlico_device::{
    Config, DeviceSpec, Gear, Mdq, Normalise, Options, SumFormat, SystemKind, Topology,
};
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
    pub(super) system: System,
    /// Name of the operator
    pub(super) op: &'static str,
    /// Whether the operator runs in pieces on one rank as well
    pub(super) in_pieces: bool,
    pub(super) device: Option<String>,
    /// What that is
    spec: Option<DeviceSpec>,
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
    pub(super) io_buffers: Option<Buffers>,
    pub(super) mode_change: Switch,
    pub(super) pu_clocks: Option<u64>,
    pub(super) channels: Option<usize>,
    pub(super) groups: Option<usize>,
    pub(super) dimms: Option<usize>,
    pub(super) ranks: Option<usize>,
    pub(super) mdq: Option<MdqArgument>,
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

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    /// L3's DIMM-PIM: a rank of DDR4-3200
    L3,
    /// LoL-PIM's module: channels of GDDR6-AiM behind a hub
    Aim,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Buffers {
    /// Into one half while the other is in use
    PingPong,
    /// Into the one half that there is, when it is no longer in use
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
    /// All of them, in the order of the help.
    pub(super) const ALL: [Self; 2] = [Self::L3, Self::Aim];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::L3 => "l3",
            Self::Aim => "aim",
        }
    }

    /// What it is, for the help.
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::L3 => "L3's DIMM-PIM, ranks of DDR4-3200",
            Self::Aim => "LoL-PIM's module, channels of GDDR6-AiM behind a hub",
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
    pub(super) fn new(system: System, op: &'static str, in_pieces: bool) -> Self {
        Self {
            system,
            op,
            in_pieces,
            device: None,
            spec: None,
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
            io_buffers: None,
            mode_change: Switch::On,
            pu_clocks: None,
            channels: None,
            groups: None,
            dimms: None,
            ranks: None,
            mdq: None,
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
        let flags = "--channels, --dimms, --ranks";
        Failure::Input(format!("{flag}: with `run l3 {}`, it goes with {ranks} ({flags})", self.op))
    }

    /// How pieces of work are run.
    pub(super) fn how(&self) -> How {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = self.threads.map_or_else(cores, NonZero::get);
        How { threads, timing_only: self.timing_only, with_data: false }
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

    pub(super) fn io_buffers(&self) -> IoBuffers {
        self.io_buffers.map_or_else(
            || self.spec().buffers.io,
            |buffers| match buffers {
                Buffers::PingPong => IoBuffers::PingPong,
                Buffers::Single => IoBuffers::Single,
            },
        )
    }

    /// Groups of channels of a module, and how one of them works.
    pub(super) fn aim_groups(&self) -> Result<(usize, AimOptions), Failure> {
        let TopologyTable { channels, groups, .. } = self.spec().topology;
        let channels = self.channels.unwrap_or(channels);
        let groups = self.groups.unwrap_or(groups);
        if !channels.is_multiple_of(groups) {
            let message =
                format!("--groups {groups}: expected a number that divides {channels} channels");
            return Err(Failure::Input(message));
        }
        Ok((groups, self.aim_options(channels / groups)))
    }

    /// How so many channels work.
    fn aim_options(&self, channels: usize) -> AimOptions {
        let refresh = self.refresh == Switch::On;
        let mode_change = self.mode_change == Switch::On;
        let io_buffers = self.io_buffers();
        let pu_clocks = self.pu_clocks.unwrap_or(Pu::LATENCY);
        let options = AimOptions::default();
        AimOptions { channels, io_buffers, refresh, mode_change, pu_clocks, ..options }
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

/// A number of channels.
pub fn channels(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_CHANNELS).contains(number));
    number.ok_or_else(|| format!("expected 1 to {MOST_CHANNELS} channels"))
}
