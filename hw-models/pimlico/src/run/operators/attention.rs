// SPDX-License-Identifier: MIT
//! `pimlico run SYSTEM attention`: the attention of a layer's heads.

use super::Face;
use crate::failure::Failure;
use crate::output::grouped;
use crate::run::arguments::RunArguments;
use crate::run::groups::{Common, DEFAULT_CONTEXT, Scores, Shapes};
use crate::run::text::OwnText;
use clap::Args;
use pimlico_workload::attention::{AttentionJob, AttentionReport};
use pimlico_workload::report::{Error, Report, Stages};
use std::path::Path;

/// Requests of a batch, at the most.
const MOST_REQUESTS: usize = 1024;

/// Requests and heads of attention.
#[derive(Args)]
#[command(next_help_heading = "Requests and heads")]
pub(super) struct Attention {
    /// Tokens whose K and V are in the device, of each request if there are several
    #[arg(long, default_values_t = [DEFAULT_CONTEXT], value_delimiter = ',', value_name = "N,...")]
    context: Vec<usize>,
    /// Requests, if all have the same context
    #[arg(long, default_value_t = 1, value_name = "N")]
    batch: usize,
    /// Query heads to run
    #[arg(long, default_value_t = 1, value_name = "N")]
    heads: usize,
    /// Query heads that share K and V, in place of the model's
    #[arg(long, value_name = "N")]
    group: Option<usize>,
    /// Elements of a head's vectors, in place of the model's
    #[arg(long, value_name = "D")]
    head_dim: Option<usize>,
    // Behind the options of its own: a heading goes on until the next.
    #[command(flatten)]
    shapes: Shapes,
    #[command(flatten)]
    scores: Scores,
}

impl Face for Attention {
    const NAME: &'static str = "attention";
    const ABOUT: &'static str =
        "Score, softmax and context of a layer's heads, for one token that is being generated";
    const OPTIONS: &'static [Common] = &[
        Common::Softmax,
        Common::Sums,
        Common::HowMany,
        Common::Spread,
        Common::Sample,
        Common::Program,
        Common::Longest,
        Common::Waveform,
        Common::Picture,
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "l3 attention --model llama-3.1-8b --heads 4 --context 8192",
        "l3 attention --context 100,2000 --normalise late --sums binary32",
        "l3 attention --heads 96 --channels 4 --ranks 2 --timing-only",
        "l3 attention --backend lockstep --plot attention.svg",
        "aim attention --model qwen1.5-7b --context 4096 --channels 2",
        "aim attention --model qwen1.5-7b --heads 32 --groups 8 --timing-only",
        "aim attention --io-buffers single --mode-change off",
        "aim attention --context 700 --context-max 4096 --program attention.bin",
    ];
    type Job = AttentionJob;
    type Report = AttentionReport;

    fn job(&self, arguments: &RunArguments) -> Result<AttentionJob, Failure> {
        let (name, model) = self.shapes.model()?;
        if self.heads == 0 || self.heads > model.heads {
            let (heads, most) = (self.heads, model.heads);
            return Err(Failure::Input(format!("--heads {heads}: {name} has 1 to {most}")));
        }
        let contexts = self.contexts()?;
        let longest = contexts.iter().copied().max().unwrap_or(0);
        if let Some(most) = arguments.context_max.filter(|&most| most < longest) {
            let expected = format!("expected {longest} or more, the longest of --context");
            return Err(Failure::Input(format!("--context-max {most}: {expected}")));
        }
        let group = self.group.unwrap_or(model.group());
        if group == 0 || group > model.heads {
            let most = model.heads;
            return Err(Failure::Input(format!("--group {group}: {name} has 1 to {most} heads")));
        }
        Ok(AttentionJob {
            model: name,
            head_dim: self.head_dim.unwrap_or(model.head_dim),
            heads: self.heads,
            group,
            contexts,
            distribution: self.scores.distribution(),
            seed: arguments.seed,
        })
    }

    fn config(&self) -> Option<&Path> {
        // A dimension that is given by a flag is not the file's.
        self.shapes.config().filter(|_| self.head_dim.is_none())
    }

    fn words(&self, job: &AttentionJob) -> String {
        let AttentionJob { head_dim, heads, group, contexts, .. } = job;
        let contexts: Vec<_> = contexts.iter().map(usize::to_string).collect();
        format!(
            "{} --head-dim {head_dim} --heads {heads} --group {group} --context {} {}",
            self.shapes.words(),
            contexts.join(","),
            self.scores.words()
        )
    }

    fn text(own: &AttentionReport, report: &Report) -> OwnText {
        let AttentionReport { model, head_dim, heads, group, .. } = own;
        let what = format!(
            "attention of {model} on {}: {heads} head(s) of {head_dim}, {group} to a K and V, {}",
            report.system,
            requests(&own.contexts)
        );
        let how = format!("{} scores, normalisation {}", own.distribution, report.normalise);
        let closing = places(own, report);
        OwnText { what, how, errors: Some(errors(own.stages)), closing, ..OwnText::default() }
    }
}

impl Attention {
    /// Of each request its tokens.
    fn contexts(&self) -> Result<Vec<usize>, Failure> {
        let input = |message: String| Err(Failure::Input(message));
        match (self.context.as_slice(), self.batch) {
            ([context], 1..=MOST_REQUESTS) => Ok(vec![*context; self.batch]),
            (contexts, 1) if contexts.len() <= MOST_REQUESTS => Ok(contexts.to_vec()),
            (_, 1..=MOST_REQUESTS) => {
                input("--batch: with several contexts the batch is their number".to_owned())
            }
            _ => input(format!("--batch: expected 1 to {MOST_REQUESTS} requests")),
        }
    }
}

/// How many requests, and of which contexts.
fn requests(contexts: &[usize]) -> String {
    match contexts {
        [context] => format!("context {context}"),
        contexts => format!(
            "{} requests of context {} to {}",
            contexts.len(),
            contexts.iter().min().unwrap_or(&0),
            contexts.iter().max().unwrap_or(&0)
        ),
    }
}

/// Errors by stage.
fn errors(stages: Stages) -> Vec<(&'static str, Error)> {
    let Stages { score, softmax, context, output_from_scores, output } = stages;
    vec![
        ("score, from K and Q", score),
        ("softmax, from its scores", softmax),
        ("context, from its weights and V", context),
        ("output, from the scores and V", output_from_scores),
        ("output, from K, V and Q", output),
    ]
}

/// How full the scores' places are.
fn places(own: &AttentionReport, report: &Report) -> String {
    let score_buffer = own.score_buffer;
    let name = if report.module.is_some() { "scores in the GPR" } else { "score buffer" };
    format!(
        "{name}: {} of {} places, {} pass(es)\n",
        grouped(score_buffer.scores as u64),
        grouped(score_buffer.capacity as u64),
        score_buffer.passes
    )
}
