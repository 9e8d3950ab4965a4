// SPDX-License-Identifier: MIT
//! `pimlico estimate`: what the units cost.

mod area;

use crate::failure::Failure;
use clap::{Args, Subcommand};

/// Arguments of `pimlico estimate`.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Area, flip-flops and slack of units, synthesised with Yosys; beside the papers' figures
    Area(area::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.what {
        What::Area(arguments) => area::run(arguments),
    }
}
