// SPDX-License-Identifier: MIT
//! `pimlico sweep sherpa`: PIM-SHERPA's tables and figures beside ours.

mod emulation;
mod tables;

use super::serving::{page, picture};
use crate::failure::Failure;
use crate::files;
use crate::output::{self, FormatArguments};
use crate::schema::Kind;
use crate::values::size;
use clap::{Args, ValueEnum};
use pimlico_device::lp5::{AddressMap, Lp5Spec};
use pimlico_workload::sherpa::phone::Phone;
use std::path::PathBuf;

/// Arguments of `pimlico sweep sherpa`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep sherpa --study table-2
  pimlico sweep sherpa --study table-2 --flop-per-byte 207
  pimlico sweep sherpa --study capacity
  pimlico sweep sherpa --study capacity --cma 8G
  pimlico sweep sherpa --study emulation --json
  pimlico sweep sherpa --study speedup --contention 1.4 --plot speedup.svg")]
pub struct SherpaArguments {
    /// The study
    #[arg(long, value_enum)]
    study: SherpaStudy,
    /// Operations of the host for each byte, of table-2 [default: 4, the paper's]
    #[arg(long, value_name = "N", value_parser = ratio)]
    flop_per_byte: Option<f64>,
    /// How many times as long GEMM takes while weights are copied beside it, of ttft, speedup and limited [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = ratio)]
    contention: Option<f64>,
    /// Contiguous memory that is not cacheable, for the weights of capacity: a model that does not fit is refused
    #[arg(long, value_name = "SIZE", value_parser = size)]
    cma: Option<u64>,
    /// Write a picture of the figures beside the paper's
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SherpaStudy {
    /// Table 2: GEMM and the copy of weights, in DRAM passes over the weights
    #[value(name = "table-2")]
    Two,
    /// Figure 9: memory of each policy
    Capacity,
    /// Figure 10: time to the first token
    Ttft,
    /// Figure 12: whole requests against decoding on the host
    Speedup,
    /// Figure 13: time to the first token where memory holds the weights once
    Limited,
    /// Table 4: the requests of a matrix times a vector on plain LPDDR5X beside PIM's, both simulated
    Emulation,
}

/// A factor of 1 or more.
fn ratio(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (1.0..=1e6).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 1000000".to_owned())
}

/// What the tables are made of.
struct Lab {
    phone: Phone,
    spec: Lp5Spec,
    map: AddressMap,
    contention: f64,
}

/// Runs the command.
pub fn run(arguments: &SherpaArguments) -> Result<(), Failure> {
    let SherpaArguments { study, flop_per_byte, contention, cma, plot, format } = arguments;
    let refuse = |flag: &str, is_given: bool| match is_given {
        true => Err(Failure::Input(format!("--{flag}: it does nothing in this study"))),
        false => Ok(()),
    };
    let has_times =
        matches!(study, SherpaStudy::Ttft | SherpaStudy::Speedup | SherpaStudy::Limited);
    refuse("flop-per-byte", flop_per_byte.is_some() && *study != SherpaStudy::Two)?;
    refuse("contention", contention.is_some() && !has_times)?;
    refuse("cma", cma.is_some() && *study != SherpaStudy::Capacity)?;
    let plot = plot.as_deref().map(files::Output::beside_report).transpose()?;
    let spec = Lp5Spec::built_in("lpddr5x-8533-pim").expect("a built-in device");
    let map = spec.map().map_err(|error| Failure::Input(error.to_string()))?;
    let lab = Lab { phone: Phone::galaxy_s24(), spec, map, contention: contention.unwrap_or(1.0) };
    let found = match study {
        SherpaStudy::Two => lab.two(flop_per_byte.unwrap_or(lab.phone.flop_per_byte)),
        SherpaStudy::Capacity => lab.capacity(*cma)?,
        SherpaStudy::Emulation => lab.emulation()?,
        SherpaStudy::Ttft => lab.ttft(),
        SherpaStudy::Speedup => lab.speedup()?,
        SherpaStudy::Limited => lab.limited(),
    };
    if let Some(output) = plot {
        if found.figures.is_empty() {
            let message = "--plot: the paper has no figures for these flags";
            return Err(Failure::Input(message.to_owned()));
        }
        picture::write(output, &found)?;
    }
    output::report(*format, (Kind::SweepSherpa, &found), &page(&found))?;
    match found.violations {
        0 => Ok(()),
        count => Err(Failure::Check(format!("{count} violations at the DRAM's pins"))),
    }
}
