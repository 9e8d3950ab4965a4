// SPDX-License-Identifier: MIT
//! A line of `pimlico run`: an operator on a system, or one on channels of NeuPIMs.

use super::neupims::{NAME, NeupimsRun};
use super::operators::RunCommand;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// What is run.
pub enum RunLine {
    /// An operator on a system of the report `run`.
    Operator(RunCommand),
    /// An operator on channels of NeuPIMs.
    Neupims(NeupimsRun),
}

impl Args for RunLine {
    fn augment_args(command: Command) -> Command {
        let about = "NeuPIMs' channels of HBM2 with two row buffers at each bank: attention, gemv";
        let neupims = NeupimsRun::augment_args(Command::new(NAME)).about(about);
        RunCommand::augment_args(command).subcommand(neupims)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RunLine {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand() {
            Some((NAME, matches)) => NeupimsRun::from_arg_matches(matches).map(Self::Neupims),
            _ => RunCommand::from_arg_matches(matches).map(Self::Operator),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
