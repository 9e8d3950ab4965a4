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
mod run;
mod spd;
mod sweep;
mod workloads;

use clap::{Parser, Subcommand};
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
    Run(Box<run::Given>),
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
}

/// The command line; what is wrong with it in one line.
fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let said = error.to_string();
        let what = said.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        let words: Vec<_> = what.split_whitespace().collect();
        eprintln!("pimlico: {}", words.join(" "));
        std::process::exit(2)
    })
}

fn main() -> ExitCode {
    let result = match parse().command {
        Command::Run(arguments) => run::run(*arguments),
        Command::Device(arguments) => device::run(&arguments),
        Command::Cosim(arguments) => cosim::run(&arguments),
        Command::Fp(arguments) => fp::run(&arguments),
        Command::Dpa(arguments) => dpa::run(&arguments),
        Command::Estimate(arguments) => estimate::run(&arguments),
        Command::Spd(arguments) => spd::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.status())
        }
    }
}
