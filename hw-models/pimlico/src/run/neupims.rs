// SPDX-License-Identifier: MIT
//! `pimlico run neupims`: products and attention on channels of NeuPIMs.
//!
//! * [`arguments`]: options of all commands on channels.
//! * [`gemv`]: a matrix times a vector.
//! * [`attention`]: attention of a request.

pub mod arguments;
mod attention;
mod gemv;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use pimlico_workload::judge::neupims::Compared;
use pimlico_workload::neupims::report::PinsReport;

/// Its name.
pub const NAME: &str = "neupims";

/// Arguments of `pimlico run neupims`.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct NeupimsRun {
    #[command(subcommand)]
    operator: Operator,
}

#[derive(Subcommand)]
enum Operator {
    /// The attention of a request's heads on one device, in one channel
    Attention(attention::AttentionArguments),
    /// A matrix times a vector
    Gemv(gemv::GemvArguments),
}

/// Runs the command.
pub fn run(command: &NeupimsRun) -> Result<(), Failure> {
    match &command.operator {
        Operator::Attention(arguments) => attention::run(arguments),
        Operator::Gemv(arguments) => gemv::run(arguments),
    }
}

/// Whether all that was checked holds.
fn judged<'a>(
    found: impl IntoIterator<Item = (&'a PinsReport, Option<&'a Compared>)>,
) -> Result<(), Failure> {
    for (pins, compared) in found {
        if let Some(wrong) = pins.wrong() {
            return Err(Failure::Check(wrong));
        }
        if let Some(Compared { results, differing: differing @ 1.., .. }) = compared {
            let message = format!("{differing} of {results} results differ from the reference");
            return Err(Failure::Check(message));
        }
    }
    Ok(())
}
