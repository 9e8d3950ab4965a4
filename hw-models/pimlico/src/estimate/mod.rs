// SPDX-License-Identifier: MIT
//! `pimlico estimate`: what the units cost.

mod area;
mod blocks;
mod clock;
mod compare;
mod devices;
mod flow;
mod libraries;
mod netlists;
mod parts;
mod picture;
mod ping_pong;
mod power;
mod power_report;
mod sheet;
mod system;
mod trade;
mod workload;

use crate::failure::Failure;
use crate::files::Scratch;
use clap::{Args, Subcommand};

/// Arguments of `pimlico estimate`.
#[derive(Args)]
pub struct EstimateArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Area, flip-flops and slack of units, synthesised with Yosys, beside the papers' figures; or a whole system
    Area(area::AreaArguments),
    /// Clocks that units and memories reach, beside those that they have in the devices
    Clock(clock::ClockArguments),
    /// Units, totals of bank, chip, rank and DIMM, and ping-pong buffers beside the papers', scaled to 28 nm
    Compare(compare::CompareArguments),
    /// The same units in two libraries of standard cells, logic and flip-flops apart
    Libraries(libraries::LibrariesArguments),
    /// Power of units, from the transitions of their netlists while a head is computed
    Power(power::PowerArguments),
    /// What a choice of the design costs in area and delay, and does to cycles and errors
    Trade(trade::TradeArguments),
}

/// Runs the command.
pub fn run(arguments: &EstimateArguments) -> Result<(), Failure> {
    let _scratch = Scratch::new()?; // of the tools, too
    match &arguments.what {
        What::Area(arguments) => area::run(arguments),
        What::Clock(arguments) => clock::run(arguments),
        What::Compare(arguments) => compare::run(arguments),
        What::Libraries(arguments) => libraries::run(arguments),
        What::Power(arguments) => power::run(arguments),
        What::Trade(arguments) => trade::run(arguments),
    }
}
