// SPDX-License-Identifier: MIT
//! `pimlico stream profile`: bytes of each layer, and times of loading and using it. It is the Layer Profiler of Hermes
//! (section IV): a run in which nothing overlaps.

use super::decode::{Keep, Ran, StreamArguments, TextArguments, stream_text};
use crate::failure::Failure;
use crate::output::{self, FormatArguments, Page, decimal, grouped};
use crate::run::source::ModelArguments;
use crate::schema::Kind;
use clap::Args;
use pimlico_stream::planner::{LayerProfile, Profile};
use pimlico_stream::setup::mib;
use pimlico_stream::trace::Span;
use serde::Serialize;

/// Arguments of `pimlico stream profile`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico stream profile --tokens 4
  pimlico stream profile --weights s.bin --tokenizer s.tok --cold --json")]
pub struct ProfileArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    text: TextArguments,
    /// Bytes per second of the loader at the most, as 100M: k, M and G are powers of 1000
    #[arg(long, value_name = "RATE", value_parser = crate::values::rate)]
    throttle: Option<f64>,
    /// Drop the file from the page cache before the run and what is read of it again, so that all comes from the disk
    #[arg(long)]
    cold: bool,
    /// Stream the classifier as one more layer behind the others
    #[arg(long)]
    stream_head: bool,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `stream profile --json` prints.
#[derive(Serialize)]
struct Report {
    model: String,
    passes: usize,
    profile: Profile,
    /// Of all loads together, bytes per second.
    load_rate: f64,
}

/// Runs the command.
pub fn run(arguments: &ProfileArguments) -> Result<(), Failure> {
    let ProfileArguments { model, text, throttle, cold, stream_head, format } = arguments;
    let stream = StreamArguments::in_turns(*throttle, *cold, *stream_head);
    let ran = stream_text(model, text, &stream, Keep { trace: true, logits: false })?;
    let profile = profile(&ran);
    let (bytes, ms) = ran.layer_loads();
    let load_rate = bytes as f64 / (ms / 1e3).max(1e-9);
    let report = Report { model: ran.report.model, passes: ran.report.passes, profile, load_rate };
    output::report(*format, (Kind::StreamProfile, &report), &page(&report))
}

/// The mean of each layer's times.
fn profile(ran: &Ran) -> Profile {
    let spans = ran.trace.as_ref().map_or(&[][..], |trace| &trace.spans[..]);
    let mean = |layer: usize, is_load: bool| {
        let is_of = |span: &&Span| span.layer == layer && span.loader.is_some() == is_load;
        let of: Vec<_> = spans.iter().filter(is_of).map(|span| span.to_ns - span.from_ns).collect();
        of.iter().sum::<u64>() as f64 / of.len().max(1) as f64 / 1e6
    };
    let layers = ran.setup.layers.iter().enumerate().map(|(layer, &bytes)| LayerProfile {
        bytes,
        load_ms: mean(layer, true),
        compute_ms: mean(layer, false),
    });
    Profile { fixed_bytes: ran.setup.fixed, layers: layers.collect() }
}

fn page(report: &Report) -> Page {
    let Report { model, passes, profile, load_rate } = report;
    let title = format!(
        "{model}: {} beside the layers; means of {passes} passes, loading at {} MB/s\n\n",
        mib(profile.fixed_bytes),
        decimal(load_rate / 1e6, 1)
    );
    let row = |(number, layer): (usize, &LayerProfile)| {
        let LayerProfile { bytes, load_ms, compute_ms } = layer;
        vec![number.to_string(), grouped(*bytes), decimal(*load_ms, 3), decimal(*compute_ms, 3)]
    };
    let rows = profile.layers.iter().enumerate().map(row);
    Page::from(title) + output::table(&["layer", "bytes", "loading ms", "computing ms"], rows)
}
