// SPDX-License-Identifier: MIT
//! Layers that are streamed into the banks: which flags ask for it, and what the report says of it.

use super::arguments::{RunArguments, flags};
use super::groups::Group;
use super::source::ModelArguments;
use crate::failure::Failure;
use crate::output::{self, Page, decimal, grouped};
use crate::values::{rate, size};
use clap::{Args, ValueEnum};
use pimlico_stream::setup::{MOST_LOADERS, Residency};
use pimlico_stream::source::Reading;
use pimlico_workload::decode::{Limit, Streaming};
use pimlico_workload::report::decode::{LayerTimes, ResidencyReport};
use std::sync::Arc;

/// Loaders, unless it is said.
pub const LOADERS: usize = 2;

/// Which layers are in memory, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// All, loaded before the first is used
    Whole,
    /// All of a pass, loaded one by one while others are used, and again for each pass: PipeSwitch
    Pipeline,
    /// Few, loaded by several agents and destroyed after use: PIPELOAD of Hermes
    Pipeload,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Pipeline => "pipeline",
            Self::Pipeload => "pipeload",
        }
    }
}

/// How layers come into the banks.
#[derive(Args, Clone)]
#[command(next_help_heading = "Layers in the banks, on two ranks or more")]
pub(super) struct InBanks {
    /// Stream layers from the file into the banks, layer k into rank k mod R; which are there
    #[arg(long, value_enum)]
    residency: Option<Mode>,
    /// Loading agents of pipeload [default: 2]
    #[arg(long, value_name = "M")]
    loaders: Option<usize>,
    /// The first layers, which pipeload keeps in the banks [default: 0]
    #[arg(long, value_name = "N")]
    pin: Option<usize>,
    /// Rows that K, V, the head and layers may take in all ranks together; a row is one of all banks of a rank
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    bank_rows: Option<u64>,
    /// The same in bytes, as 20M: K, M and G are powers of 1024
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "bank_rows")]
    memory_limit: Option<u64>,
    /// Bytes per second that each loader reads, as 1.2G: k, M and G are powers of 1000 [default: reading takes no time]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    disk: Option<f64>,
    /// Not built: the head stays in the banks
    #[arg(long, hide = true)]
    stream_head: bool,
}

impl Group for InBanks {
    fn put(self, to: &mut RunArguments) {
        to.in_banks = Some(self);
    }
}

impl InBanks {
    /// The flags that ask for the same, each with a space before it.
    pub(super) fn words(&self) -> String {
        let Self { residency, loaders, pin, bank_rows, memory_limit, disk, .. } = self;
        flags([
            ("residency", residency.map(|mode| mode.name().to_owned())),
            ("loaders", loaders.map(|loaders| loaders.to_string())),
            ("pin", pin.map(|layers| layers.to_string())),
            ("bank-rows", bank_rows.map(|rows| rows.to_string())),
            // A limit is read as a whole number of KiB or more.
            ("memory-limit", memory_limit.map(|bytes| format!("{}K", bytes >> 10))),
            ("disk", disk.map(|rate| format!("{}k", rate / 1e3))),
        ])
    }

    /// What is asked for, if it is.
    pub(super) fn streaming(
        &self,
        arguments: &RunArguments,
        model: &ModelArguments,
    ) -> Result<Option<Streaming>, Failure> {
        let Self { residency, loaders, pin, bank_rows, memory_limit, disk, stream_head } = self;
        if *stream_head {
            let why = "--stream-head: not built for layers in the banks, where the head stays; `pimlico stream run` has it";
            return Err(Failure::Input(why.to_owned()));
        }
        let given = [
            ("--loaders", loaders.is_some()),
            ("--pin", pin.is_some()),
            ("--bank-rows", bank_rows.is_some()),
            ("--memory-limit", memory_limit.is_some()),
            ("--disk", disk.is_some()),
        ];
        let mut given = given.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag));
        let Some(mode) = residency else {
            return given.next().map_or(Ok(None), |flag| {
                Err(Failure::Input(format!("{flag}: it goes with --residency")))
            });
        };
        let of_pipeload = given.find(|flag| ["--loaders", "--pin"].contains(flag));
        if let (Some(flag), true) = (of_pipeload, *mode != Mode::Pipeload) {
            return Err(Failure::Input(format!("{flag}: it goes with --residency pipeload")));
        }
        if arguments.topology()?.count() < 2 {
            let why = "--residency: expected two ranks or more (--ranks): one computes while the next is written";
            return Err(Failure::Input(why.to_owned()));
        }
        let source = model.open(Reading::default())?.source;
        let layers = source.places().shape.layers;
        let residency = match mode {
            Mode::Whole => Residency::Whole,
            Mode::Pipeline => Residency::Pipeline,
            Mode::Pipeload => {
                let loaders = loaders.unwrap_or(LOADERS.min(layers));
                let most = layers.min(MOST_LOADERS);
                if !(1..=most).contains(&loaders) {
                    let why =
                        format!("--loaders {loaders}: expected 1 to {most} of {layers} layers");
                    return Err(Failure::Input(why));
                }
                Residency::Pipeload { loaders, slots: loaders + 1, pinned: pin.unwrap_or(0) }
            }
        };
        let limit = bank_rows.map(Limit::Rows).or(memory_limit.map(Limit::Bytes));
        Ok(Some(Streaming { source: Arc::new(source), residency, limit, disk: *disk }))
    }
}

/// The part of the report for people.
pub(super) fn page(report: &ResidencyReport) -> Page {
    let ResidencyReport { residency, loaders, slots, pinned, layers, signals, .. } = report;
    let us = |ns: f64| decimal(ns / 1e3, 1);
    let pins = if *pinned > 0 { format!(", {pinned} pinned") } else { String::new() };
    let limit = report.limit_rows.map_or("none".to_owned(), grouped);
    let disk = match report.disk_bytes_per_s {
        Some(rate) => format!("{} MB/s for each loader", decimal(rate / 1e6, 1)),
        None => "no time".to_owned(),
    };
    let title = format!(
        "\nLayers streamed into the banks: {residency}, loaders {loaders}, slots {slots}{pins}, disk {disk}\n\n"
    );
    let rows = output::table(
        &[
            "limit, rows",
            "kept",
            "a layer",
            "at most",
            "passes",
            "loads",
            "unused",
            "bytes read",
            "stop",
        ],
        [vec![
            limit,
            grouped(report.kept_rows),
            grouped(report.layer_rows),
            grouped(report.peak_rows),
            grouped(report.passes as u64),
            grouped(report.loads as u64),
            grouped(report.layers_unused as u64),
            grouped(report.bytes_read),
            grouped(signals.stop),
        ]],
    );
    let row = |layer: &LayerTimes| {
        vec![
            grouped(layer.layer as u64),
            grouped(layer.rank as u64),
            grouped(layer.loads as u64),
            us(layer.disk_ns),
            us(layer.write_ns),
            grouped(layer.write_tck),
            grouped(layer.compute_tck),
            us(layer.stall_ns),
        ]
    };
    let heads =
        ["layer", "rank", "loads", "disk us", "write us", "write tCK", "compute tCK", "stall us"];
    let end = format!(
        "on the clock: {} us, of which {} us waiting for layers, {:.1} %, and {} us the head\n",
        us(report.wall_ns),
        us(report.stall_ns),
        100.0 * report.stall_share,
        us(report.head_ns)
    );
    Page::from(title) + rows + "\n" + output::table(&heads, layers.iter().map(row)) + end
}
