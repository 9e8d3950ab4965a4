// SPDX-License-Identifier: MIT
//! The `pimlico` command.
//!
//! Results go to standard output, progress to standard error. Exit status: 0 all that was checked
//! held, 1 a check failed, 2 wrong usage or input.

mod cosim;
mod device;
mod dpa;
mod estimate;
mod failure;
mod files;
mod fp;
mod gear;
mod mdq;
mod output;
mod pages;
mod run;
mod schema;
mod spd;
mod sweep;
mod usage;
mod workloads;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Bit-accurate, cycle-accurate model of processing-in-memory (PIM) for language models, with the
/// RTL to prove it
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
#[command(
    after_help = "Exit status: 0 all that was checked held, 1 a check failed, 2 wrong usage \
                        or input."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an operator of a language model on the device
    Run(run::RunCommand),
    /// List, show or check devices: DRAM, units, buffers and topology, from a file
    Device(device::DeviceArguments),
    /// Compare the RTL of units with their models, cycle by cycle, bit by bit
    Cosim(cosim::CosimArguments),
    /// Compute single floating-point operations, on the model or the RTL, and check results
    Fp(fp::FpArguments),
    /// Build, assemble, disassemble or expand programs of the module's dispatcher
    Dpa(dpa::DpaArguments),
    /// Estimate what the units cost in area and power, from their RTL
    Estimate(estimate::EstimateArguments),
    /// Write, show or check the SPD image, from which a host takes the module's timing
    Spd(spd::SpdArguments),
    /// Compare choices of the design over a range
    Sweep(sweep::SweepArguments),
    /// Print the JSON Schema of a kind of document, or list the kinds
    Schema(schema::SchemaArguments),
    /// Print a script by which a shell completes commands
    Completions(pages::CompletionsArguments),
    /// Print or write the manual pages
    Man(pages::ManArguments),
}

/// The command line; what is wrong with it in one line.
fn parse() -> Cli {
    let given: Vec<_> = std::env::args_os().collect();
    let (words, note) = run::renewed(given);
    if let Some(note) = note {
        eprintln!("pimlico: {note}");
    }
    let parsed = Cli::command().try_get_matches_from(words).and_then(|matches| {
        output::invoked(seed(&matches));
        Cli::from_arg_matches(&matches)
    });
    parsed.unwrap_or_else(|error| {
        let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        if is_help || !error.use_stderr() {
            error.exit();
        }
        eprintln!("pimlico: {}", usage::wrong(&error, &Cli::command()));
        std::process::exit(2)
    })
}

/// The seed that the command takes, given or by default.
fn seed(matches: &ArgMatches) -> Option<u64> {
    match matches.subcommand() {
        Some((_, matches)) => seed(matches),
        None => matches.try_get_one("seed").ok().flatten().copied(),
    }
}

fn main() -> ExitCode {
    let result = match parse().command {
        Command::Run(command) => run::run(command),
        Command::Device(arguments) => device::run(&arguments),
        Command::Cosim(arguments) => cosim::run(&arguments),
        Command::Fp(arguments) => fp::run(&arguments),
        Command::Dpa(arguments) => dpa::run(&arguments),
        Command::Estimate(arguments) => estimate::run(&arguments),
        Command::Spd(arguments) => spd::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Completions(arguments) => pages::completions(&arguments, Cli::command()),
        Command::Man(arguments) => pages::man(&arguments, Cli::command()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.status())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
