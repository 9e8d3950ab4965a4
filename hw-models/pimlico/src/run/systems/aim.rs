// SPDX-License-Identifier: MIT
//! `pimlico run aim`: the operators on a module of AiM channels.

use super::{Ended, Face};
use crate::failure::Failure;
use crate::files::Output;
use crate::run::arguments::{Buffers, RunArguments, flags};
use crate::run::backend::prepare;
use crate::run::groups::Common;
use crate::run::{Job, ended};
use crate::values::{Switch, channels};
use clap::Args;
use pimlico_backends::aim;
use pimlico_device::aim::{AimOptions, GPR, Pu};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::spec::TopologyTable;
use pimlico_device::{Mismatch, SystemKind};
use pimlico_workload::system::Module;
#[cfg(feature = "rtl")]
use {
    crate::run::again, crate::run::shown, pimlico_backends::watch::Watch,
    pimlico_testbenches::Waveforms, std::io,
};

/// A module of AiM channels.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct Aim {
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
    /// Clocks from a beat of a PU to its result, with --backend fast; no PU has fewer than the RTL's [default: 26]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=Pu::LATENCY))]
    pu_clocks: Option<u64>,
    /// Lanes of the softmax unit; with other back ends than fast those of the RTL, 2 [default: the device's, 2]
    #[arg(long, value_name = "N", value_parser = ["2", "4", "8", "16"])]
    softmax_lanes: Option<String>,
    /// Whether the channels compute context and scores of other queries beside the softmax of one, with --backend fast
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    head_pipeline: Switch,
    /// Whether all queries that share K and V run on a row while it is open; not with --head-pipeline on
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    shared_rows: Switch,
}

impl Face for Aim {
    const NAME: &'static str = "aim";
    const KIND: Option<SystemKind> = Some(SystemKind::Aim);
    const DEVICE: &'static str = "gddr6-aim";
    const ABOUT: &'static str = "LoL-PIM's module, channels of GDDR6-AiM behind a hub";
    const OPTIONS: &'static [Common] = &[
        Common::OnHost,
        Common::Sample,
        Common::References,
        Common::Program,
        Common::Longest,
        Common::Waveform,
        Common::Picture,
    ];
    const HEAD_DIM: usize = GPR;

    fn io_buffers(&self) -> Option<IoBuffers> {
        self.io_buffers.map(IoBuffers::from)
    }

    fn words(&self, _: &RunArguments) -> String {
        let number = |value: Option<usize>| value.map(|number| number.to_string());
        let mode_change = if self.mode_change == Switch::On { "on" } else { "off" };
        let on = |switch| (switch == Switch::On).then(|| "on".to_owned());
        flags([
            ("mode-change", Some(mode_change.to_owned())),
            ("channels", number(self.channels)),
            ("groups", number(self.groups)),
            ("pu-clocks", self.pu_clocks.map(|clocks| clocks.to_string())),
            ("softmax-lanes", self.softmax_lanes.clone()),
            ("head-pipeline", on(self.head_pipeline)),
            ("shared-rows", on(self.shared_rows)),
        ])
    }

    /// The waveform is of the first group: the others are told the same.
    fn run(&self, job: &Job, arguments: &RunArguments, vcd: Option<Output>) -> Ended {
        let config = arguments.dram_config();
        let (groups, options) = self.groups(arguments)?;
        let setup = arguments.setup()?;
        prepare(arguments.backend, || Ok(aim::unit(options)))?;
        let mut module =
            aim::devices(arguments.backend, &config, (groups, options), arguments.seed)?;
        if let Some(vcd) = &vcd {
            module[0].trace(vcd.path()).map_err(|e| vcd.failed(&e))?;
        }
        let system = Module::new(&mut module).with_setup(setup).threads(arguments.how().threads);
        let report = job.run(&mut system.timing_only(arguments.timing_only));
        let report = ended(report, job, arguments, |mismatch| self.show(mismatch, job, arguments))?;
        if let Some(vcd) = vcd {
            module[0].finish_trace().map_err(|e| vcd.failed(&e))?;
            vcd.whole()?;
        }
        Ok((report, None))
    }
}

impl Aim {
    /// Groups of channels of a module, and how one of them works.
    fn groups(&self, arguments: &RunArguments) -> Result<(usize, AimOptions), Failure> {
        let TopologyTable { channels, groups, .. } = arguments.spec().topology;
        let channels = self.channels.unwrap_or(channels);
        let groups = self.groups.unwrap_or(groups);
        if !channels.is_multiple_of(groups) {
            let message =
                format!("--groups {groups}: expected a number that divides {channels} channels");
            return Err(Failure::Input(message));
        }
        if [self.head_pipeline, self.shared_rows] == [Switch::On; 2] {
            let message = "--head-pipeline on: not with --shared-rows on".to_owned();
            return Err(Failure::Input(message));
        }
        if arguments.program.is_some() {
            for (option, given) in [
                ("--head-pipeline on", self.head_pipeline == Switch::On),
                ("--timing-only", arguments.timing_only),
            ] {
                if given {
                    return Err(Failure::Input(format!("--program: it does not go with {option}")));
                }
            }
        }
        Ok((groups, self.options(channels / groups, arguments)))
    }

    /// How so many channels work.
    fn options(&self, channels: usize, arguments: &RunArguments) -> AimOptions {
        let refresh = arguments.refresh == Switch::On;
        let mode_change = self.mode_change == Switch::On;
        let io_buffers = arguments.io_buffers();
        let pu_clocks = self.pu_clocks.unwrap_or(Pu::LATENCY);
        let of_device = arguments.spec().aim_options();
        let lanes = |lanes: &String| lanes.parse().expect("checked by the parser");
        let softmax_lanes = self.softmax_lanes.as_ref().map_or(of_device.softmax_lanes, lanes);
        let [head_pipeline, shared_rows] =
            [self.head_pipeline, self.shared_rows].map(|switch| switch == Switch::On);
        let options = AimOptions { softmax_lanes, head_pipeline, shared_rows, ..of_device };
        AimOptions { channels, io_buffers, refresh, mode_change, pu_clocks, ..options }
    }

    /// Runs the job again to write the waveforms around a mismatch; returns their names.
    #[cfg(feature = "rtl")]
    fn show(&self, mismatch: &Mismatch, job: &Job, arguments: &RunArguments) -> String {
        let config = arguments.dram_config();
        let again = again(job, arguments);
        let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
            let (groups, options) = self.groups(arguments).map_err(io::Error::other)?;
            let (hubs, watch) = ((groups, options), Watch { mismatch, command: &again, files });
            let mut module = aim::watched(&config, hubs, arguments.seed, watch)?;
            let setup = arguments.setup().map_err(io::Error::other)?;
            let system = Module::new(&mut module).with_setup(setup);
            let mut system = system.timing_only(arguments.timing_only);
            let _ = job.run(&mut system); // ends in the same mismatch
            Ok(())
        });
        shown(written, arguments)
    }

    /// Without the RTL there is no mismatch.
    #[cfg(not(feature = "rtl"))]
    fn show(&self, _: &Mismatch, _: &Job, _: &RunArguments) -> String {
        String::new()
    }
}
