// SPDX-License-Identifier: MIT
//! `pimlico sweep neupims`: figures and tables of NeuPIMs beside ours.

mod picture;

use super::Threads;
use super::serving::{page, picture as figures};
use crate::failure::Failure;
use crate::files;
use crate::npu::{Feed, InterleaveFlag, MatricesFlag, MhaFlag, NpuAttentionFlag, feed, gigabytes};
use crate::output::{self, FormatArguments};
use crate::schema::Kind;
use crate::values::Switch;
use clap::{Args, ValueEnum};
use pimlico_serving::neupims::system::Assign;
use pimlico_serving::studies::neupims::{
    Changes, NeupimsLab, ablation, parallel, throughput, timeline, utilisation,
};
use std::path::PathBuf;

/// Batches of a point at the most.
const MOST_SAMPLES: u64 = 1000;

/// Arguments of `pimlico sweep neupims`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep neupims --figure 13
  pimlico sweep neupims --paper-table 4 --pim-issue 1
  pimlico sweep neupims --paper-table 4 --matrices reads-128
  pimlico sweep neupims --figure 13 --mha engine
  pimlico sweep neupims --figure 11 --plot timeline.svg")]
pub struct NeupimsArguments {
    /// The paper's figure: 11 timeline, 12 throughput, 13 what each part gains, 14 tensor and pipeline parallelism
    #[arg(long, value_enum, value_name = "N", required_unless_present = "paper_table")]
    figure: Option<PaperFigure>,
    /// The paper's table: 4 utilisation, 5 power
    #[arg(long, value_enum, value_name = "N", conflicts_with = "figure")]
    paper_table: Option<PaperTable>,
    /// Commands that reach NPU+PIM's PIMs in a tCK, N or `unlimited` [default: 1 and unlimited, side by side]
    #[arg(long, value_name = "N", value_parser = feed)]
    pim_issue: Option<Feed>,
    /// Whether NeuPIMs interleaves two sub-batches [default: from 256 requests on; figure 13: on]
    #[arg(long, value_enum)]
    interleave: Option<InterleaveFlag>,
    /// How NeuPIMs' requests get their channels: `afresh` packs a whole batch into empty ones [default: min-load]
    #[arg(long, value_enum)]
    assign: Option<AssignFlag>,
    /// Where NPU-only computes attention [default: bandwidth]
    #[arg(long, value_enum)]
    npu_attention: Option<NpuAttentionFlag>,
    /// Whether K and V of new tokens take time
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    kv_append: Switch,
    /// What tells PIM's latency: Algorithm 1, or a channel's engine, which runs a request of each length
    #[arg(long, value_enum, default_value_t = MhaFlag::Algorithm)]
    mha: MhaFlag,
    /// What matrices have of the buses [default: peak; with --mha engine: reads-32]
    #[arg(long, value_enum)]
    matrices: Option<MatricesFlag>,
    /// Gigabytes a second of the links between devices [default: links take no time; figure 14: 64, apart]
    #[arg(long, value_name = "G", value_parser = gigabytes)]
    link_gbps: Option<f64>,
    /// Whether a batch that has no room is refused; where it is not, a note names it
    #[arg(long, value_enum, default_value_t = Capacity::Ignore)]
    capacity: Capacity,
    /// Warm batches of each point
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_SAMPLES))]
    samples: u64,
    /// Seed of the first batch
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Write a picture: the timelines of figure 11, or the figures beside the paper's
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    format: FormatArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PaperFigure {
    #[value(name = "11")]
    Timeline,
    #[value(name = "12")]
    Throughput,
    #[value(name = "13")]
    Ablation,
    #[value(name = "14")]
    Parallel,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PaperTable {
    #[value(name = "4")]
    Utilisation,
    #[value(name = "5")]
    Power,
}

#[derive(Clone, Copy, ValueEnum)]
enum AssignFlag {
    MinLoad,
    RoundRobin,
    Afresh,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Capacity {
    Check,
    Ignore,
}

/// Runs the command.
pub fn run(arguments: &NeupimsArguments) -> Result<(), Failure> {
    arguments.refuse_what_does_nothing()?;
    let plot = arguments.plot.as_deref().map(files::Output::beside_report).transpose()?;
    let lab = arguments.lab()?;
    let study = match (arguments.figure, arguments.paper_table) {
        (Some(PaperFigure::Timeline), _) => {
            let found = timeline::run(&lab)?;
            if let Some(output) = plot {
                picture::write(output, &found)?;
            }
            return report(arguments, &found.study);
        }
        (Some(PaperFigure::Throughput), _) => throughput::run(&lab)?,
        (Some(PaperFigure::Ablation), _) => ablation::run(&lab)?,
        (Some(PaperFigure::Parallel), _) => parallel::run(&lab)?,
        (None, Some(PaperTable::Power)) => utilisation::table_5(&lab)?,
        (None, _) => utilisation::table_4(&lab)?,
    };
    if let Some(output) = plot {
        figures::write(output, &study)?;
    }
    report(arguments, &study)
}

fn report(
    arguments: &NeupimsArguments,
    study: &pimlico_serving::studies::Study,
) -> Result<(), Failure> {
    output::report(arguments.format, (Kind::SweepNeupims, study), &page(study))?;
    match study.violations {
        0 => Ok(()),
        count => Err(Failure::Check(format!("{count} violations of the timeline"))),
    }
}

impl NeupimsArguments {
    fn lab(&self) -> Result<NeupimsLab, Failure> {
        let interleave = self.interleave.map(InterleaveFlag::interleave);
        let assign = self.assign.map(|flag| match flag {
            AssignFlag::MinLoad => Assign::MinLoad,
            AssignFlag::RoundRobin => Assign::RoundRobin,
            AssignFlag::Afresh => Assign::Afresh,
        });
        let npu_attention = self.npu_attention.map(NpuAttentionFlag::attention);
        Ok(NeupimsLab {
            samples: self.samples,
            seed: self.seed,
            threads: self.threads.count(),
            feeds: self.pim_issue.map_or_else(|| vec![Some(1), None], |feed| vec![feed.0]),
            checks_room: self.capacity == Capacity::Check,
            engines: self.mha.engines(),
            rates: self.matrices.unwrap_or(self.mha.matrices()).rates(self.threads.count())?,
            changes: Changes {
                assign,
                interleave,
                npu_attention,
                kv_append: self.kv_append == Switch::On,
                link_gbps: self.link_gbps,
            },
        })
    }

    /// What has no effect on a figure or table is refused.
    fn refuse_what_does_nothing(&self) -> Result<(), Failure> {
        let refuse = |flag: &str, is_given: bool| match is_given {
            true => Err(Failure::Input(format!("--{flag}: it does nothing here"))),
            false => Ok(()),
        };
        let is_timeline = self.figure == Some(PaperFigure::Timeline);
        let is_parallel = self.figure == Some(PaperFigure::Parallel);
        let is_ablation = self.figure == Some(PaperFigure::Ablation);
        let has_npu_only = !is_timeline && !is_parallel && !is_ablation;
        let has_feeds = !is_timeline && !is_parallel && self.paper_table != Some(PaperTable::Power);
        refuse("pim-issue", self.pim_issue.is_some() && !has_feeds)?;
        refuse("npu-attention", self.npu_attention.is_some() && !has_npu_only)?;
        refuse("interleave", self.interleave.is_some() && is_timeline)?;
        refuse("link-gbps", self.link_gbps.is_some() && is_timeline)
    }
}
