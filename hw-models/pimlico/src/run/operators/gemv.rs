// SPDX-License-Identifier: MIT
//! `pimlico run SYSTEM gemv`: a matrix times a vector.

use super::Face;
use crate::failure::Failure;
use crate::output::{decimal, grouped};
use crate::run::arguments::RunArguments;
use crate::run::groups::Common;
use crate::run::text::OwnText;
use clap::Args;
use pimlico_workload::gemv::{GemvJob, GemvReport};
use pimlico_workload::report::Report;
use pimlico_workload::report::lp5::Lp5Report;

/// A matrix.
#[derive(Args)]
#[command(next_help_heading = "Matrix")]
pub(super) struct Gemv {
    /// Rows of the matrix
    #[arg(long, value_name = "R")]
    rows: usize,
    /// Columns of the matrix
    #[arg(long, value_name = "C")]
    cols: usize,
}

impl Face for Gemv {
    const NAME: &'static str = "gemv";
    const ABOUT: &'static str = "A matrix times a vector, of which fully-connected layers are made";
    const OPTIONS: &'static [Common] = &[
        Common::Sums,
        Common::SharedBuffers,
        Common::HowMany,
        Common::Spread,
        Common::Sample,
        Common::Judging,
        Common::Program,
        Common::Waveform,
        Common::Picture,
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "l3 gemv --rows 4096 --cols 4096",
        "l3 gemv --rows 64 --cols 40 --channels 2 --io-buffers single",
        "aim gemv --rows 4096 --cols 4096",
        "aim gemv --rows 64 --cols 40 --program gemv.txt",
        "lp5 gemv --rows 4096 --cols 4096",
        "lp5 gemv --rows 512 --cols 2048 --fence-ns 150 --sums binary32",
    ];
    const EXAMPLE: &'static str = "--rows 4096 --cols 4096";
    type Job = GemvJob;
    type Report = GemvReport;

    fn job(&self, arguments: &RunArguments) -> Result<GemvJob, Failure> {
        let Self { rows, cols: columns } = *self;
        Ok(GemvJob { rows, columns, io_buffers: arguments.io_buffers(), seed: arguments.seed })
    }

    fn words(&self, _: &GemvJob) -> String {
        format!("--rows {} --cols {}", self.rows, self.cols)
    }

    fn text(own: &GemvReport, report: &Report) -> OwnText {
        let GemvReport { rows, columns, io_buffers, .. } = own;
        let what = format!("matrix of {rows} x {columns} times a vector on {}", report.system);
        let how = report.module.map_or(format!("I/O buffers {io_buffers}"), |_| {
            "normally distributed elements".to_owned()
        });
        let closing = own.lp5.as_ref().map(of_lp5).unwrap_or_default();
        OwnText { what, how, closing, ..OwnText::default() }
    }
}

/// A product on LPDDR5X-PIM beside its plan and the host, for people.
fn of_lp5(own: &Lp5Report) -> String {
    let Lp5Report { elements, fence_ns, plan_tck, host_gb_per_s, plan_speedup, speedup, .. } = own;
    let arrived: Vec<_> = own.macs.iter().map(|macs| grouped(*macs)).collect();
    format!(
        "elements {elements}, {fence_ns} ns for a fence; {speedup:.2} times as fast as the host reads at {} GB/s\n\
         closed form: {} tCK, {plan_speedup:.2} times\n\
         MACs that arrived in each channel: {} of {}\n",
        decimal(*host_gb_per_s, 1),
        grouped(plan_tck.round() as u64),
        arrived.join(", "),
        grouped(own.macs_asked),
    )
}
