// SPDX-License-Identifier: MIT
//! The work of `pimlico sweep vendor`: what runs on one rank, on two ranks of a DIMM, on all.

use crate::failure::Failure;
use crate::output::grouped;
use crate::run::{llama2c_job, tiny_job};
use crate::workloads::{LAYER_CONTEXT, LAYER_MODEL, Machine, tokens_of};
use pimlico_device::{Mdq, Topology};
use pimlico_workload::decode::DecodeJob;
use pimlico_workload::report::Report;
use pimlico_workload::system::How;
use std::path::Path;

/// Elements of a head's vectors.
const HEAD_DIM: usize = 128;
/// Ranks of the layer: L3's 16 channels of two DIMMs of two ranks.
const CHANNELS_DIMMS_RANKS: [usize; 3] = [16, 2, 2];
/// Of pieces of work that are alike, one is run where there are several ranks: with data, as all choices must compute the
/// same.
const ON_RANKS: How = How { threads: 1, timing_only: true, with_data: true, functional: false };
/// The language model that is not built in, its tokenizer, and what it goes on from.
const MODEL: &str = "stories260K.bin";
const TOKENIZER: &str = "tok512.bin";
const PROMPT: &str = "Once upon a time";
/// Where their folder is, unless it is said.
const FOLDER: &str = "../shared/weights";

/// How large the work is.
pub struct Sizes {
    /// Tokens of each head.
    pub contexts: Vec<usize>,
    /// Rows and columns of the matrix.
    pub matrix: usize,
    /// Tokens of the layer.
    pub layer_context: usize,
    /// Tokens to decode.
    pub tokens: usize,
}

impl Sizes {
    /// Those of the headline figures.
    pub fn full(tokens: usize) -> Self {
        let contexts = vec![16_384, 2048];
        Self { contexts, matrix: 4096, layer_context: LAYER_CONTEXT, tokens }
    }

    /// Those of a trial.
    pub fn quick(tokens: usize) -> Self {
        Self { contexts: vec![512, 128], matrix: 256, layer_context: 128, tokens }
    }
}

/// What is run on a machine.
pub struct Work {
    /// Its name.
    pub name: String,
    kind: Kind,
}

enum Kind {
    /// A head on each rank.
    Heads { on: Topology, context: usize },
    /// A square matrix on each rank.
    Matrices { on: Topology, size: usize },
    /// A decoder layer, spread over the ranks.
    Layer { on: Topology, context: usize },
    /// Text, on one rank.
    Text(Box<DecodeJob>),
}

/// Work that is not run.
#[derive(serde::Serialize)]
pub struct LeftOut {
    /// Its name.
    pub workload: String,
    /// Why.
    pub why: String,
}

/// All work, and what is left out of it.
pub fn all(
    sizes: &Sizes,
    weights: Option<&Path>,
    seed: u64,
) -> Result<(Vec<Work>, Vec<LeftOut>), Failure> {
    let two = Topology::new(1, 1, 2).expect("two ranks");
    let places = [(Topology::ONE, "one rank"), (two, "on each of two ranks of a DIMM")];
    let mut works = Vec::new();
    for &context in &sizes.contexts {
        for (on, place) in places {
            let tokens = grouped(context as u64);
            let name = format!("a head, d_h {HEAD_DIM}, {tokens} tokens, {place}");
            works.push(Work { name, kind: Kind::Heads { on, context } });
        }
    }
    let size = sizes.matrix;
    for (on, place) in places {
        let side = grouped(size as u64);
        let name = format!("a matrix of {side} x {side}, {place}");
        works.push(Work { name, kind: Kind::Matrices { on, size } });
    }
    works.push(layer(sizes.layer_context));
    works.push(text("the built-in Llama", tiny_job(sizes.tokens, seed)?));
    let mut left_out = Vec::new();
    match stories(weights, sizes.tokens, seed)? {
        Ok(work) => works.push(work),
        Err(why) => left_out.push(why),
    }
    Ok((works, left_out))
}

fn layer(context: usize) -> Work {
    let [channels, dimms, ranks] = CHANNELS_DIMMS_RANKS;
    let on = Topology::new(channels, dimms, ranks).expect("as many as there may be");
    let (count, tokens) = (on.count(), grouped(context as u64));
    let name = format!("a layer of {LAYER_MODEL} for a token, {count} ranks, {tokens} tokens");
    Work { name, kind: Kind::Layer { on, context } }
}

fn text(model: &str, job: DecodeJob) -> Work {
    let name = format!("a token of {model}, mean of prompt and {} decoded, one rank", job.tokens);
    Work { name, kind: Kind::Text(Box::new(job)) }
}

/// Text by the model that is not built in. In a folder that was named it has to be.
fn stories(
    folder: Option<&Path>,
    tokens: usize,
    seed: u64,
) -> Result<Result<Work, LeftOut>, Failure> {
    let [model, tokenizer] =
        [MODEL, TOKENIZER].map(|file| folder.unwrap_or(Path::new(FOLDER)).join(file));
    if folder.is_none() && !(model.exists() && tokenizer.exists()) {
        let why = format!("no {MODEL} and {TOKENIZER} in {FOLDER}; --weights names their folder");
        return Ok(Err(LeftOut { workload: "a token of stories260K".to_owned(), why }));
    }
    let job = llama2c_job(&model, &tokenizer, PROMPT, tokens, seed)?;
    Ok(Ok(text("stories260K", job)))
}

impl Work {
    /// Whether two ranks of a DIMM have part in it, so that it matters whose the data lines are.
    pub fn is_on_both_ranks(&self) -> bool {
        match self.kind {
            Kind::Heads { on, .. } | Kind::Matrices { on, .. } | Kind::Layer { on, .. } => {
                on.ranks() > 1
            }
            Kind::Text(_) => false,
        }
    }

    /// Elements that are read, or about so many: how long it takes beside other work.
    pub fn weight(&self) -> u64 {
        let elements = match &self.kind {
            Kind::Heads { context, .. } => 2 * HEAD_DIM * context,
            Kind::Matrices { size, .. } => size * size,
            Kind::Layer { .. } => 4 << 20,
            Kind::Text(job) => {
                let shape = &job.checkpoint.shape;
                job.tokens * shape.layers * shape.dim * (4 * shape.dim + 3 * shape.hidden)
            }
        };
        elements as u64
    }

    /// Runs it.
    pub fn run(&self, machine: &Machine, mdq: Mdq, seed: u64) -> Result<Report, Failure> {
        let report = match &self.kind {
            &Kind::Heads { on: Topology::ONE, context } => {
                machine.head_report(HEAD_DIM, context, seed)
            }
            &Kind::Heads { on, context } => {
                machine.heads_report(on.with_mdq(mdq), HEAD_DIM, context, seed, ON_RANKS)
            }
            &Kind::Matrices { on: Topology::ONE, size } => machine.matrix_report(size, size, seed),
            &Kind::Matrices { on, size } => {
                machine.matrices_report(on.with_mdq(mdq), size, size, seed, ON_RANKS)
            }
            &Kind::Layer { on, context } => {
                machine.layer_report(on.with_mdq(mdq), context, seed, ON_RANKS)
            }
            Kind::Text(job) => machine.text_report(job),
        };
        report.map_err(|failure| self.named(failure))
    }

    /// A failure that says of what.
    pub fn named(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Check(what) => Failure::Check(format!("{}: {what}", self.name)),
            Failure::Input(what) => Failure::Input(what),
        }
    }

    /// tCK of a report: of a text, those of a token on average.
    pub fn tck(report: &Report) -> u64 {
        report.total.cycles / tokens_of(report) as u64
    }
}
