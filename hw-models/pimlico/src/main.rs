// SPDX-License-Identifier: MIT
//! The `pimlico` command.
//!
//! Results go to standard output, progress to standard error. Exit status: 0 all that was checked
//! held, 1 a check failed, 2 wrong usage or input.
//!
//! # Modules
//!
//! The modules from the top down. A module imports only from modules below it (`rtl/tests/imports.rs`).
//!
//! | module | what it holds |
//! | --- | --- |
//! | `usage` | what is wrong with a command line, in one line |
//! | `commands` | `pimlico commands`: the commands and their arguments, for tools |
//! | `pages` | `pimlico completions` and `pimlico man` |
//! | `job` | `pimlico job`: a piece of another command |
//! | `cosim` | `pimlico cosim`: RTL against model |
//! | `estimate` | `pimlico estimate`: area, time and power |
//! | `sweep` | `pimlico sweep`: choices of the design over a range |
//! | `fp` | `pimlico fp`: single floating-point operations |
//! | `serve` | `pimlico serve`: requests on a system |
//! | `trace` | `pimlico trace`: requests in files |
//! | `layout` | `pimlico layout`: matrices in LPDDR5X-PIM, and a prompt with them |
//! | `stream` | `pimlico stream`: models whose layers are streamed |
//! | `spd` | `pimlico spd`: the module's SPD image |
//! | `workloads` | operators as the sweeps and estimates run them |
//! | `run` | `pimlico run`: an operator on a device |
//! | `dpa` | `pimlico dpa`: programs of the dispatcher |
//! | `device` | `pimlico device`: a device, from a file |
//! | `verilated` | the RTL that a command wants, made before it begins |
//! | `models` | names of language models |
//! | `names` | what may have been meant by a name that there is not |
//! | `pieces` | work of independent pieces, here or on several machines |
//! | `output` | what the commands print |
//! | `files` | files that the commands read and write |
//! | `failure` | how a command fails |
//! | `schema` | `pimlico schema`: kinds of JSON documents |
//! | `gear` | the flag `--gear` |
//! | `mdq` | the flag `--mdq` |
//! | `npu` | flags of NeuPIMs' NPU and of what feeds its PIMs |
//! | `policy` | the flag `--policy` and its threads |
//! | `values` | values that flags of several commands take |
//! | `flags` | what the flags of all commands have in common |
//! | `plain` | text of input on its way to a terminal |
//! | `stdout` | standard output, whose reader may go away |
//! | `allocator` | memory that is kept, and the end of memory |

mod allocator;
mod commands;
mod cosim;
mod device;
mod dpa;
mod estimate;
mod failure;
mod files;
mod flags;
mod fp;
mod gear;
mod job;
mod layout;
mod mdq;
mod models;
mod names;
mod npu;
mod output;
mod pages;
mod pieces;
mod plain;
mod policy;
mod run;
mod schema;
mod serve;
mod spd;
mod stdout;
mod stream;
mod sweep;
mod trace;
mod usage;
mod values;
#[cfg(feature = "rtl")]
mod verilated;
mod workloads;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

/// The end of the first page of the help.
const START: &str = "\
Start here:
  pimlico run l3 decode --tokens 20   text by a built-in model, and what it costs
  pimlico run l3 attention            a head of GPT-175B: tCK, lost slots, errors
  pimlico run aim gemv --rows 4096 --cols 4096   a matrix times a vector on AiM
  pimlico run l3 attention --help     an operator's options, and the models
  pimlico device list                 the devices
  pimlico cosim --list                the units: each is RTL and a model
Every command has examples at the end of its --help.

Words (GLOSSARY.md has more):
  tCK      a clock period of the DRAM
  PU       a processing unit: at a bank, or of a rank
  RD_ALL   a read of all banks at once, each by its PU
  slot     the time of an RD_ALL, tCCD_L: used, or lost to something

Outputs are checked before the work and put in place when it is done, with the mode of what
they replace; a command that fails or is interrupted leaves what was there. FIFOs and
character devices are written as it comes. `-` is standard output where a command writes one file.

Exit status: 0 all that was checked held, 1 a check failed, 2 wrong usage or input, or an output
that cannot be written.";

/// Bit-accurate, cycle-accurate model of processing-in-memory (PIM) for language models, with the
/// RTL to prove it
#[derive(Parser)]
#[command(version, arg_required_else_help = true, after_help = START)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an operator of a language model on the device
    Run(run::RunLine),
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
    /// Lay a model out for LPDDR5X-PIM, check such an image, or show where an element lies (PIM-SHERPA)
    Layout(layout::LayoutCommand),
    /// Write, show or check the SPD image, from which a host takes the module's timing
    Spd(spd::SpdArguments),
    /// Compare choices of the design over a range
    Sweep(sweep::SweepArguments),
    /// Serve the requests of a trace on GPUs and memory that computes
    Serve(Box<serve::ServeArguments>),
    /// Decode on the host with a model's layers streamed through bounded memory (Hermes' PIPELOAD)
    Stream(stream::StreamCommand),
    /// Make, show or convert traces of requests
    Trace(trace::TraceCommand),
    /// Run a piece of another command's work, of a file that its flag --jobs has written
    Job(job::JobArguments),
    /// Print the JSON Schema of a kind of document, or list the kinds
    Schema(schema::SchemaArguments),
    /// Print a script by which a shell completes commands
    Completions(pages::CompletionsArguments),
    /// Print or write the manual pages
    Man(pages::ManArguments),
    /// List the commands and their arguments, a JSON object in a line for each
    #[command(hide = true)]
    Commands,
}

/// The commands, with what their flags have in common.
fn command() -> clap::Command {
    flags::with_common(Cli::command())
}

/// The command line; what is wrong with it in one line.
fn parse() -> Cli {
    let given: Vec<_> = std::env::args_os().collect();
    let (words, note) = run::renewed(given);
    if let Some(note) = note {
        output::complain(&note);
    }
    let parsed = command().try_get_matches_from(&words).and_then(|matches| {
        output::invoked(seed(&matches));
        Cli::from_arg_matches(&matches)
    });
    parsed.unwrap_or_else(|error| {
        let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        if is_help || !error.use_stderr() {
            let printed = output::print_help(&error);
            std::process::exit(status(printed.map(|()| error.exit_code() as u8)).into());
        }
        output::complain(&usage::wrong(&error, &command(), &words));
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
    let result = run(parse().command);
    ExitCode::from(status(put_outputs(result).map(|()| 0)))
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(command) => run::run(command),
        Command::Device(arguments) => device::run(&arguments),
        Command::Cosim(arguments) => cosim::run(&arguments),
        Command::Fp(arguments) => fp::run(&arguments),
        Command::Dpa(arguments) => dpa::run(&arguments),
        Command::Estimate(arguments) => estimate::run(&arguments),
        Command::Layout(command) => layout::run(&command),
        Command::Spd(arguments) => spd::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Stream(command) => stream::run(&command),
        Command::Trace(command) => trace::run(&command),
        Command::Schema(arguments) => output::print(&schema::text(&arguments)),
        Command::Completions(arguments) => pages::completions(&arguments, self::command()),
        Command::Man(arguments) => pages::man(&arguments, self::command()),
        Command::Job(arguments) => run_job(&arguments),
        Command::Commands => commands::list(&self::command()),
    }
}

/// Runs the command of a line, of which it is to run one piece.
fn run_job(arguments: &job::JobArguments) -> Result<(), Failure> {
    let words = job::words(arguments)?;
    let matches = command().try_get_matches_from(&words);
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.map_err(|error| Failure::Input(usage::wrong(&error, &command(), &words)));
    cli.and_then(|cli| run(cli.command)).map_err(|failure| match failure {
        Failure::Input(wrong) => job::refused(arguments, &wrong),
        failure => failure,
    })
}

/// Puts what the command has written in place, unless it could not do its work; a check that failed is an outcome.
fn put_outputs(result: Result<(), Failure>) -> Result<(), Failure> {
    if let Err(Failure::Input(_)) = result {
        files::discard();
        return result;
    }
    let put = files::put();
    result.and(put)
}

/// The exit status; a failure is told.
fn status(result: Result<u8, Failure>) -> u8 {
    result.unwrap_or_else(|failure| {
        eprintln!("{}", failure.shown());
        failure.status()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        command().debug_assert();
    }

    /// The words of a line, as a shell takes them.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        let words = |(n, part): (usize, &str)| -> Vec<String> {
            match n % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            }
        };
        parts.flat_map(words).collect()
    }

    /// Understands the examples of a command and of those below it; how many there are.
    fn understood(command: &clap::Command) -> usize {
        let end = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = end.lines().filter(|line| line.starts_with("  pimlico "));
        let mut count = 0;
        for line in lines {
            let line = line.trim().split("   ").next().expect("a command");
            let line = line.split(['|', '<', '>']).next().expect("the first of several");
            let found = Cli::command().try_get_matches_from(words(line));
            let is_fine = found.is_ok_and(|matches| Cli::from_arg_matches(&matches).is_ok())
                || line.ends_with(" --help");
            assert!(is_fine, "{line}");
            count += 1;
        }
        assert!(
            count > 0 || command.has_subcommands() || command.is_hide_set(),
            "{}: no example",
            command.get_name()
        );
        count + command.get_subcommands().map(understood).sum::<usize>()
    }

    #[test]
    fn every_command_has_examples_which_are_understood() {
        assert!(understood(&Cli::command()) > 60);
    }
}
