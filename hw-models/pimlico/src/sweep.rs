// SPDX-License-Identifier: MIT
//! `pimlico sweep`: what a choice of the design costs and gains, over a range.

mod batch;
mod dram;
mod groups;
mod io_buffers;
mod latency;
mod neupims;
mod numerics;
mod programs;
mod row_buffers;
mod serving;
mod sherpa;
mod timing;
mod vendor;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::num::NonZero;

/// Arguments of `pimlico sweep`.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct SweepArguments {
    #[command(subcommand)]
    study: Study,
}

#[derive(Subcommand)]
enum Study {
    /// Average batch size with static and with lazy allocation of KV caches: memory is simulated, time
    /// is not
    Batch(batch::BatchArguments),
    /// Chips of 8 or 16 Gb, of which 16, 8 or 4 banks may open in a tFAW: heads, a matrix, a layer, text
    Dram(dram::DramArguments),
    /// Channels of an AiM module in groups, with a head of attention in each: tCK of a layer's attention, idle PUs, V's memory
    Groups(groups::GroupsArguments),
    /// Ping-pong I/O buffers or single ones on a module of AiM channels: cycles, and slots by cause
    IoBuffers(io_buffers::IoBuffersArguments),
    /// Attention's latency and energy as lines over the context, for other serving simulators
    Latency(latency::LatencyArguments),
    /// NeuPIMs' figures and tables: row buffers, packing, interleaving, utilisation, power
    Neupims(neupims::NeupimsArguments),
    /// Early or late normalisation, sums of binary16 or binary32: cycles, and error against float64
    Numerics(numerics::NumericsArguments),
    /// Programs of the dispatcher against static ones: bytes, and the host's work for each token
    Programs(programs::ProgramsArguments),
    /// Reads and tiles in a channel of NeuPIMs, alone and at once, with two row buffers or one
    RowBuffers(row_buffers::RowBuffersArguments),
    /// Serving systems beside the figures of L3: costs, throughput, latency
    Serving(serving::ServingArguments),
    /// Prefill with weights that lie as LPDDR5X-PIM wants them, beside the figures of PIM-SHERPA
    Sherpa(sherpa::SherpaArguments),
    /// The work of `sweep dram` by the value of one timing
    Timing(timing::TimingArguments),
    /// The headline figures by what a vendor of DRAM chooses: density, banks that open in a tFAW, data lines of a DIMM
    Vendor(vendor::VendorArguments),
}

/// On how many threads a study runs.
#[derive(Args, Clone, Copy)]
struct Threads {
    /// Runs at a time, each on a thread of this machine; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

impl Threads {
    fn count(self) -> usize {
        self.threads.map_or_else(cores, NonZero::get)
    }
}

/// Threads that this machine has cores for.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs the command.
pub fn run(arguments: &SweepArguments) -> Result<(), Failure> {
    match &arguments.study {
        Study::Batch(arguments) => batch::run(arguments),
        Study::Dram(arguments) => dram::run(arguments),
        Study::Groups(arguments) => groups::run(arguments),
        Study::IoBuffers(arguments) => io_buffers::run(arguments),
        Study::Latency(arguments) => latency::run(arguments),
        Study::Neupims(arguments) => neupims::run(arguments),
        Study::Numerics(arguments) => numerics::run(arguments),
        Study::Programs(arguments) => programs::run(arguments),
        Study::RowBuffers(arguments) => row_buffers::run(arguments),
        Study::Serving(arguments) => serving::run(arguments),
        Study::Sherpa(arguments) => sherpa::run(arguments),
        Study::Timing(arguments) => timing::run(arguments),
        Study::Vendor(arguments) => vendor::run(arguments),
    }
}
