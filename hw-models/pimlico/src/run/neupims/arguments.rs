// SPDX-License-Identifier: MIT
//! Options of all commands on channels of NeuPIMs.

use crate::failure::Failure;
use crate::files::{self, OutputFolder};
use crate::run::arguments::DEFAULT_REPORT;
use crate::run::backend::{BackendArgument, prepare_all};
use crate::values::Switch;
use clap::{Args, ValueEnum};
use pimlico_backends::Backend;
use pimlico_backends::neupims::{self, ChannelScope};
use pimlico_device::neupims::{ChannelOptions, Commands, Memory, NeupimsSpec, PuSums, Window};
use pimlico_workload::neupims::{ChannelDesigns, ChannelsBy, Setup};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// The default device.
const DEVICE: &str = "hbm2-neupims";
/// Bytes of a device's file, at the most.
const LARGEST_FILE: usize = 1 << 16;

/// A channel, and how its host speaks to it.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub struct ChannelArguments {
    /// The device: hbm2-neupims, or a file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = DEVICE)]
    device: String,
    /// Pseudo-ranks of a channel, whose banks it divides: a window of tFAW for each [default: the device's, 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=2))]
    pseudo_ranks: Option<u64>,
    /// How a GEMV is spelled: one PIM_GEMV for each sum, or each dot product and RDRESULT a command
    #[arg(long, value_enum, default_value_t = CommandsFlag::Composite)]
    commands: CommandsFlag,
    /// Banks of a PIM_PRECHARGE: all, or each its own as in the authors' simulator
    #[arg(long, value_enum, default_value_t = PrechargeFlag::All)]
    precharge: PrechargeFlag,
    /// What tFAW counts: a PIM_ACTIVATION as four ACTs, or ACTs alone as in the authors' simulator
    #[arg(long, value_enum, default_value_t = FawFlag::Paper)]
    faw: FawFlag,
    /// Whether rows are refreshed
    #[arg(long, value_enum, default_value_t = Switch::On)]
    refresh: Switch,
}

/// Row buffers, sums and threads of a run.
#[derive(Args)]
pub struct RunOptions {
    /// Row buffers of a bank: two, or one, which PIM has where MEM has no request
    #[arg(long, value_enum, default_value_t = MemoryFlag::Dual)]
    memory: MemoryFlag,
    /// Format of sums in the PUs; results are binary16
    #[arg(long, value_enum, default_value_t = SumsFlag::Binary16)]
    sums: SumsFlag,
    /// Threads of this machine; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// What executes the channels
    #[arg(long, value_enum, default_value_t = BackendArgument::Fast, help_heading = "Execution and output")]
    backend: BackendArgument,
    /// What is one unit of a back end but fast: controller, sequencer, row buffers and PUs of a channel, or the channel
    #[arg(long, value_enum, default_value_t = ScopeFlag::Units, help_heading = "Execution and output")]
    lockstep: ScopeFlag,
    /// Folder for the waveforms of a mismatch in lockstep
    #[arg(long, default_value = DEFAULT_REPORT, value_name = "DIR", help_heading = "Execution and output")]
    pub(super) report: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeFlag {
    /// Each for itself
    Units,
    /// All of them as one design
    Channel,
}

#[derive(Clone, Copy, ValueEnum)]
enum CommandsFlag {
    /// NeuPIMs'
    Composite,
    /// Newton's
    Fine,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PrechargeFlag {
    All,
    Bank,
}

#[derive(Clone, Copy, ValueEnum)]
enum FawFlag {
    Paper,
    Simulator,
}

#[derive(Clone, Copy, ValueEnum)]
enum MemoryFlag {
    Dual,
    Blocked,
}

#[derive(Clone, Copy, ValueEnum)]
enum SumsFlag {
    Binary16,
    /// A wider one
    Binary32,
}

impl ChannelArguments {
    /// The device.
    pub fn spec(&self) -> Result<NeupimsSpec, Failure> {
        let spec = self.read()?;
        let of = |pseudo_ranks| spec.clone().with_pseudo_ranks(pseudo_ranks);
        let changed = self.pseudo_ranks.map(of).transpose();
        let wrong = |error| Failure::Input(format!("--pseudo-ranks: {error}"));
        Ok(changed.map_err(wrong)?.unwrap_or(spec))
    }

    fn read(&self) -> Result<NeupimsSpec, Failure> {
        let device = &self.device;
        if let Some(spec) = NeupimsSpec::built_in(device) {
            return Ok(spec);
        }
        if !Path::new(device).exists() {
            let names: Vec<_> = NeupimsSpec::names().collect();
            let names = names.join(", ");
            let message = format!("--device {device}: no such file, and no device of {names}");
            return Err(Failure::Input(message));
        }
        let bytes = files::read(Path::new(device), LARGEST_FILE)?;
        let text =
            String::from_utf8(bytes).map_err(|_| Failure::Input(format!("{device}: not UTF-8")))?;
        NeupimsSpec::parse(&text).map_err(|error| Failure::Input(format!("{device}: {error}")))
    }

    /// How a GEMV is spelled.
    pub fn commands(&self) -> Commands {
        match self.commands {
            CommandsFlag::Composite => Commands::Composite,
            CommandsFlag::Fine => Commands::Fine,
        }
    }

    /// How channels work, but for what a run says of its own.
    pub fn options(&self) -> ChannelOptions {
        ChannelOptions {
            bankwise: self.precharge == PrechargeFlag::Bank,
            window: match self.faw {
                FawFlag::Paper => Window::Paper,
                FawFlag::Simulator => Window::Simulator,
            },
            refresh: self.refresh == Switch::On,
            ..ChannelOptions::default()
        }
    }
}

impl RunOptions {
    /// What is one unit of the back end.
    pub(super) fn scope(&self) -> ChannelScope {
        match self.lockstep {
            ScopeFlag::Units => ChannelScope::Units,
            ScopeFlag::Channel => ChannelScope::Channel,
        }
    }

    /// What executes channels. The RTL is made if it has not been.
    fn by(&self, sums: PuSums, seed: u64) -> Result<ChannelsBy, Failure> {
        let (backend, scope) = (Backend::from(self.backend), self.scope());
        if backend == Backend::Fast {
            if scope == ChannelScope::Channel {
                let message = "--lockstep channel: not with --backend fast, which has no units";
                return Err(Failure::Input(message.to_owned()));
            }
            return Ok(ChannelsBy::ENGINE);
        }
        if backend == Backend::Lockstep {
            OutputFolder::open(&self.report)?;
        }
        prepare_all(backend, || Ok(neupims::units(scope, sums)))?;
        let designs = ChannelDesigns::new(move |channel| {
            let design = neupims::design(backend, scope, sums, (channel, seed));
            design.map_err(|error| error.to_string())
        });
        Ok(ChannelsBy {
            backend: backend.name(),
            scope: Some(scope.name()),
            designs: Some(designs),
        })
    }

    /// Channels and their host.
    pub fn setup(
        &self,
        channel: &ChannelArguments,
        data: bool,
        seed: u64,
    ) -> Result<Setup, Failure> {
        let options = ChannelOptions {
            memory: match self.memory {
                MemoryFlag::Dual => Memory::Dual,
                MemoryFlag::Blocked => Memory::Blocked,
            },
            sums: match self.sums {
                SumsFlag::Binary16 => PuSums::Binary16,
                SumsFlag::Binary32 => PuSums::Binary32,
            },
            data,
            ..channel.options()
        };
        let spec = channel.spec()?;
        Ok(Setup {
            spec,
            options,
            commands: channel.commands(),
            threads: self.threads.map_or_else(cores, NonZero::get),
            by: self.by(options.sums, seed)?,
        })
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}
