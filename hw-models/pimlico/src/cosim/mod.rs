// SPDX-License-Identifier: MIT
//! `pimlico cosim`: the RTL of units against their models.

#[cfg(feature = "cosim")]
mod coverage;
#[cfg(feature = "cosim")]
mod duts;
#[cfg(feature = "cosim")]
mod exhaustive;
mod own;
#[cfg(feature = "cosim")]
mod random;

use crate::failure::Failure;
use crate::names;
use crate::output::{self, FormatArguments};
use crate::pieces::PiecesArguments;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `pimlico cosim`.
#[derive(Args)]
#[command(after_help = names::with_units("\
Examples:
  pimlico cosim fp_mul                              a unit in all its variants
  pimlico cosim bank_pu: --cycles 100000 --vcd waves
  pimlico cosim --all --cycles 20000
  pimlico cosim fp_add: --exhaustive
  pimlico cosim fp_mul: --exhaustive --jobs jobs.jsonl    on several machines: `pimlico job`
  pimlico cosim fp_mul: --rtl my --module my_mul    your own RTL of the same ports
  pimlico cosim --list                              units, parameters, ports"))]
#[cfg_attr(not(feature = "cosim"), allow(dead_code))]
pub struct CosimArguments {
    /// Units by name: `fp_mul` (in all its variants), `fp_mul:bfloat16` or `fp_mul:` (its defaults)
    #[arg(value_name = "UNIT", required_unless_present_any = ["all", "list"])]
    units: Vec<String>,
    /// All units
    #[arg(long, conflicts_with = "units")]
    all: bool,
    /// List the units, their parameters and ports
    #[arg(long)]
    list: bool,
    /// Cycles of random input for each unit
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    cycles: u64,
    /// All operands of arithmetic units (2^32 pairs for those with two), in place of random input:
    /// oracle against model against RTL
    #[arg(long, conflicts_with_all = ["cycles", "vcd"])]
    exhaustive: bool,
    /// The part of these that matters most: all pairs of signs and exponents, boundary significands
    #[arg(long, conflicts_with_all = ["cycles", "vcd", "exhaustive"])]
    stratified: bool,
    /// Seed of the input, and of the bits in registers before the reset
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Write the waveforms of an episode of each unit, the one that fails if one does, to this folder:
    /// ports of the model, ports of the RTL (equal up to the mismatch), and all that is inside the RTL
    #[arg(long, value_name = "DIR")]
    vcd: Option<PathBuf>,
    /// Measure how much of the RTL's lines and bits, and of the bench's plan, the input reaches; needs a
    /// build for it, see `scripts/coverage`
    #[arg(long, conflicts_with_all = ["exhaustive", "stratified"])]
    coverage: bool,
    #[command(flatten)]
    own: own::OwnArguments,
    /// Folder for the waveforms of a failure, and for what `--coverage` has not seen reached
    #[arg(long, default_value = "pimlico-report", value_name = "DIR")]
    report: PathBuf,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    pieces: PiecesArguments,
}

/// Runs the command.
pub fn run(arguments: &CosimArguments) -> Result<(), Failure> {
    if arguments.list {
        return output::print(&list());
    }
    check(&arguments.units)?;
    compare(arguments)
}

/// Refuses names of units that there are not.
fn check(names: &[String]) -> Result<(), Failure> {
    let units = pimlico_units::units();
    let is_unit =
        |name: &&String| units.iter().any(|unit| is_meant((unit.module, &unit.name), name));
    match names.iter().find(|name| !is_unit(name)) {
        Some(name) => Err(names::no_unit(name, units.iter().map(|unit| unit.name.as_str()))),
        None => Ok(()),
    }
}

/// Whether a unit, of this module and in the parameters of this name, is meant by `given`: a module, or one of its
/// parameter sets. `fp_mul:` means the defaults alone.
fn is_meant((module, name): (&str, &str), given: &str) -> bool {
    module == given || name == given.strip_suffix(':').unwrap_or(given)
}

#[cfg(not(feature = "cosim"))]
fn compare(_: &CosimArguments) -> Result<(), Failure> {
    Err(Failure::not_built("cosim", "cosim"))
}

#[cfg(feature = "cosim")]
fn compare(arguments: &CosimArguments) -> Result<(), Failure> {
    if arguments.coverage && !pimlico_testbenches::coverage::AVAILABLE {
        return Err(Failure::Input(
            "--coverage needs RTL that counts: run `scripts/coverage`, or build with `cargo build \
             --release --features pimlico/coverage`"
                .to_owned(),
        ));
    }
    let duts = duts::chosen(arguments);
    arguments.own.choose(duts.len())?;
    if arguments.exhaustive || arguments.stratified {
        return exhaustive::compare(arguments, duts);
    }
    match arguments.pieces.given() {
        Some(flag) => {
            let message = format!("{flag}: expected --exhaustive or --stratified beside it");
            Err(Failure::Input(message))
        }
        None => random::compare(arguments, &duts),
    }
}

/// Units, parameters and ports.
fn list() -> String {
    let mut text = String::new();
    for unit in pimlico_units::units() {
        let parameters = unit.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        text += &format!("{} ({})\n", unit.name, parameters.collect::<Vec<_>>().join(" "));
        for (kind, ports) in [("in ", unit.inputs), ("out", unit.outputs), ("reg", unit.probes)] {
            for port in ports {
                text += &format!("  {kind} {:4} {:16}{}\n", port.width, port.name, port.doc);
            }
        }
    }
    text
}
