// SPDX-License-Identifier: MIT
//! `pimlico stream`: language models whose layers are streamed through bounded memory, on the host.
//!
//! The host's decoder, which `stream run` is, has no device: no tCK, no banks, no back end. So it is a command of its own, beside
//! `pimlico run SYSTEM OPERATOR`.
//!
//! * [`make`]: models of random weights.
//! * [`decode`]: text, with its layers streamed.
//! * [`profile`]: times of each layer.
//! * [`plan`]: how many loaders, for how much memory.
//! * [`banks`]: layers streamed into the banks of a device, their time alone.
//! * [`simulate`]: the models of the paper.
//! * [`process`]: memory of this process, and other processes of the command.
//! * [`picture`]: a drawing of a run.

mod banks;
mod decode;
mod make;
pub mod picture;
mod plan;
mod process;
mod profile;
mod simulate;

use crate::failure::Failure;
use clap::{Args, Subcommand};

/// Arguments of `pimlico stream`.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct StreamCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a model of random weights, with its tokenizer
    Make(make::MakeArguments),
    /// Decode text on the host, in float32, with layers streamed from the file
    Run(decode::StreamRunArguments),
    /// Measure each layer: bytes, and times of loading and using it
    Profile(profile::ProfileArguments),
    /// Choose loaders for limits of memory
    Plan(plan::PlanArguments),
    /// Time of layers streamed into the banks of L3's ranks, beside layers that stay in them
    Banks(banks::BanksArguments),
    /// Simulate the models of Hermes beside what the paper measured
    Simulate(simulate::SimulateArguments),
}

/// Runs the command.
pub fn run(command: &StreamCommand) -> Result<(), Failure> {
    match &command.action {
        Action::Make(arguments) => make::run(arguments),
        Action::Run(arguments) => decode::run(arguments),
        Action::Profile(arguments) => profile::run(arguments),
        Action::Plan(arguments) => plan::run(arguments),
        Action::Banks(arguments) => banks::run(arguments),
        Action::Simulate(arguments) => simulate::run(arguments),
    }
}
