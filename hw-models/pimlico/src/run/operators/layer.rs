// SPDX-License-Identifier: MIT
//! `pimlico run SYSTEM layer`: a decoder layer.

use super::Face;
use crate::failure::Failure;
use crate::output::decimal;
use crate::run::arguments::RunArguments;
use crate::run::groups::{Common, DEFAULT_CONTEXT, Scores, Shapes};
use crate::run::text::{OwnText, own_buffers};
use clap::Args;
use pimlico_workload::layer::{DecoderReport, LayerJob};
use pimlico_workload::report::{APPEND, LayersReport, Report, RollUp};
use std::fmt::Write;
use std::path::Path;

/// How much of the model a layer is.
#[derive(Args)]
#[command(next_help_heading = "Layer")]
pub(super) struct Layer {
    /// Tokens whose K and V are in the device
    #[arg(long, default_value_t = DEFAULT_CONTEXT, value_name = "N")]
    context: usize,
    /// Layers that must fit; all have the same shape, and one is run [default: 1]
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
    // Behind the options of its own: a heading goes on until the next.
    #[command(flatten)]
    shapes: Shapes,
    #[command(flatten)]
    scores: Scores,
}

impl Face for Layer {
    const NAME: &'static str = "layer";
    const ABOUT: &'static str =
        "A decoder layer, for one token that is being generated: all heads and all matrices";
    const IN_PIECES: bool = true;
    const OPTIONS: &'static [Common] = &[
        Common::Softmax,
        Common::Sums,
        Common::SharedBuffers,
        Common::HowMany,
        Common::Spread,
        Common::Sample,
        Common::Waveform,
        Common::Picture,
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "l3 layer --model llama-3.2-1b --context 2048",
        "l3 layer --channels 16 --dimms 2 --ranks 2 --layers 96 --timing-only",
        "aim layer --model qwen1.5-7b --timing-only",
    ];
    type Job = LayerJob;
    type Report = DecoderReport;

    fn job(&self, arguments: &RunArguments) -> Result<LayerJob, Failure> {
        let (model, shape) = self.shapes.model()?;
        let layers = self.layers.unwrap_or(1);
        if !(1..=shape.layers).contains(&layers) {
            let most = shape.layers;
            return Err(Failure::Input(format!("--layers {layers}: {model} has 1 to {most}")));
        }
        Ok(LayerJob {
            model,
            shape,
            layers,
            context: self.context,
            distribution: self.scores.distribution(),
            io_buffers: arguments.io_buffers(),
            seed: arguments.seed,
        })
    }

    fn config(&self) -> Option<&Path> {
        self.shapes.config()
    }

    fn words(&self, _: &LayerJob) -> String {
        let Self { shapes, context, layers, scores } = self;
        let layers = layers.map(|layers| format!(" --layers {layers}")).unwrap_or_default();
        format!("{} --context {context} {}{layers}", shapes.words(), scores.words())
    }

    fn text(own: &DecoderReport, report: &Report) -> OwnText {
        let DecoderReport { model, heads, head_dim, group, hidden, ffn, .. } = own;
        let DecoderReport { contexts, distribution, io_buffers, roll_up, .. } = own;
        let context = contexts.first().copied().unwrap_or(0);
        let Report { system, normalise, .. } = report;
        let what = format!(
            "a layer of {model} on {system}: {hidden} elements, {heads} heads of {head_dim}, {group} \
             to a K and V, feed-forward {ffn}, context {context}"
        );
        let buffers = own_buffers(report, io_buffers);
        let how = format!("{distribution} scores, {buffers}normalisation {normalise}");
        OwnText { what, how, closing: rolled_up(roll_up, report), ..OwnText::default() }
    }
}

/// What a layer's cost comes to.
fn rolled_up(roll_up: &RollUp, report: &Report) -> String {
    let mut text = String::new();
    let RollUp { layer, token, model } = roll_up;
    let append = 100.0 * report.share_of(APPEND);
    let _ = writeln!(
        text,
        "a layer: {} us, of which {append:.1} % are for adding K and V of the token",
        decimal(layer.ns / 1000.0, 1)
    );
    let several = [token, model].into_iter().filter(|layers| layers.layers > 1);
    let mut several: Vec<_> = several.collect();
    several.dedup_by_key(|layers| layers.layers);
    for LayersReport { layers, ns, tokens_per_s, bytes_per_rank, fits, .. } in several {
        let room = if *fits { "" } else { ", more than it has" };
        let _ = writeln!(
            text,
            "{layers} such layers, one after the other: {} us for a token, {} tokens/s; {:.2} GB of the \
             fullest rank{room}",
            decimal(ns / 1000.0, 1),
            decimal(*tokens_per_s, 1),
            *bytes_per_rank as f64 / 1e9
        );
    }
    text
}
