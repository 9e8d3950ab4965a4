// SPDX-License-Identifier: MIT
//! The systems of `pimlico run`.
//!
//! A system is a file here, which implements [`Face`], and a line of [`SYSTEMS`]: its sub-commands and their help, the
//! completions and manual pages, and the messages that list systems follow from these. Its device is a
//! [`SystemKind`] with the devices that are built in, or has files of its own, and what runs operators on it is a `System` of
//! `pimlico_workload`.

mod aim;
mod l3;
mod lp5;

pub use lp5::spec as lp5_spec;

use super::Job;
use super::arguments::RunArguments;
use super::backend::BackendArgument;
use super::groups::Common;
use crate::failure::Failure;
use crate::files::Output;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, ValueEnum};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{SystemKind, Timeline};
use pimlico_workload::report::Report;

/// The systems, in the order of the help.
pub(super) const SYSTEMS: [Entry; 3] =
    [Entry::of::<l3::L3>(), Entry::of::<aim::Aim>(), Entry::of::<lp5::Lp5>()];

/// What a run ends with: one rank has a timeline, if a picture is to be drawn.
pub(super) type Ended = Result<(Report, Option<Timeline>), Failure>;

/// A system as the command has it: what implements it are the system's own options, which stand behind its device.
pub(super) trait Face: Args + Sync + 'static {
    /// Its name.
    const NAME: &'static str;
    /// The kind of its device, which has its name; none, where devices have files of another form.
    const KIND: Option<SystemKind>;
    /// Its default device.
    const DEVICE: &'static str;
    /// What it is.
    const ABOUT: &'static str;
    /// The operators that it has, by their names; none: all of them.
    const OPERATORS: Option<&'static [&'static str]> = None;
    /// The common options that mean something to it, beside those that every run has.
    const OPTIONS: &'static [Common];
    /// What executes its device.
    const BACKENDS: &'static [BackendArgument] = &BackendArgument::ALL;
    /// Elements of a head's vectors, at the most.
    const HEAD_DIM: usize;

    /// How vectors come to its PUs, if an option of its own says so.
    fn io_buffers(&self) -> Option<IoBuffers> {
        None
    }

    /// The options of its own that ask for the same, each with a space before it.
    fn words(&self, arguments: &RunArguments) -> String;

    /// Makes the device and runs a job on it, with a waveform if one is asked for.
    fn run(&self, job: &Job, arguments: &RunArguments, vcd: Option<Output>) -> Ended;
}

/// A system of any kind that was asked for.
pub(super) trait Asked: Sync {
    /// [`Face::io_buffers`].
    fn io_buffers(&self) -> Option<IoBuffers>;

    /// [`Face::words`].
    fn words(&self, arguments: &RunArguments) -> String;

    /// [`Face::run`].
    fn run(&self, job: &Job, arguments: &RunArguments, vcd: Option<Output>) -> Ended;
}

impl<F: Face> Asked for F {
    fn io_buffers(&self) -> Option<IoBuffers> {
        Face::io_buffers(self)
    }

    fn words(&self, arguments: &RunArguments) -> String {
        Face::words(self, arguments)
    }

    fn run(&self, job: &Job, arguments: &RunArguments, vcd: Option<Output>) -> Ended {
        Face::run(self, job, arguments, vcd)
    }
}

/// A system in the list of all.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    name: &'static str,
    pub(super) kind: Option<SystemKind>,
    device: &'static str,
    operators: Option<&'static [&'static str]>,
    pub(super) about: &'static str,
    pub(super) options: &'static [Common],
    backends: &'static [BackendArgument],
    pub(super) most_head_dim: usize,
    /// Its own options.
    augment: fn(Command) -> Command,
    /// What was given of them.
    pub(super) read: fn(&ArgMatches) -> Result<Box<dyn Asked>, clap::Error>,
}

impl Entry {
    const fn of<F: Face>() -> Self {
        Self {
            name: F::NAME,
            kind: F::KIND,
            device: F::DEVICE,
            operators: F::OPERATORS,
            about: F::ABOUT,
            options: F::OPTIONS,
            backends: F::BACKENDS,
            most_head_dim: F::HEAD_DIM,
            augment: F::augment_args,
            read: |matches| Ok(Box::new(F::from_arg_matches(matches)?)),
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it has an operator.
    pub(super) fn has(&self, operator: &str) -> bool {
        self.operators.is_none_or(|operators| operators.contains(&operator))
    }

    /// A command with common options, and with its own behind its device.
    pub(super) fn command(
        &self,
        command: Command,
        common: impl Iterator<Item = Common>,
    ) -> Command {
        let add = |command, group| match group {
            Common::WhichDevice => (self.augment)(Common::WhichDevice.augment(command)),
            group => group.augment(command),
        };
        common.fold(command, add).mut_args(|argument| self.own(argument))
    }

    /// A common option as it is here.
    fn own(&self, argument: Arg) -> Arg {
        match argument.get_id().as_str() {
            "device" => {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                argument.help(format!("{help} [default: {}]", self.device))
            }
            // Where an ACT is of all banks, there is nothing to choose.
            "faw_banks" => argument.hide(self.kind.is_none()),
            "backend" => {
                let there_are = self.backends.iter().filter_map(BackendArgument::to_possible_value);
                let parser = PossibleValuesParser::new(there_are);
                let backend =
                    |name: String| BackendArgument::from_str(&name, true).expect("one of these");
                argument.value_parser(parser.map(backend))
            }
            _ => argument,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_device_is_a_system() {
        let of_kinds = SYSTEMS.iter().filter_map(|system| Some((system.kind?, system)));
        let of_kinds: Vec<_> = of_kinds.collect();
        let kinds: Vec<_> = of_kinds.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, SystemKind::ALL);
        for (kind, system) in of_kinds {
            assert_eq!((system.name, system.device), (kind.name(), kind.default_device()));
        }
    }
}
