// SPDX-License-Identifier: MIT
//! Decodes text with a language model on the device.
//!
//! All matrices are written into the banks once, as binary16; K and V of each token are added as it
//! comes. Every matrix and every head's attention runs on the rank ([`engine`]); norms, RoPE, the gate,
//! residuals and the choice of the next token are the host's, in float32.
//!
//! After each token the choice and the logits stand beside those of `golden::llama`, which computes the
//! same weights in float64 after the same tokens.

mod agreement;
mod between;
mod engine;
mod machine;
mod on_module;
mod on_rank;
mod reference;
pub mod report;
mod sampling;
pub(crate) mod tally;
mod weights;

use crate::aim::RunError;
use crate::attention::AttentionError;
use crate::gemv::GemvError;
use crate::report::{JobReport, Load, Report};
use agreement::{Chosen, TokenComparison};
use engine::Engine;
use machine::Machine;
use on_module::OnModule;
use on_rank::OnRank;
use pimlico_device::aim::{self, AimError, Module};
use pimlico_device::gemv::{IoBuffers, MatrixError};
use pimlico_device::mapping;
use pimlico_device::{Device, RankError};
use pimlico_golden::llama::{Llama, Past};
use pimlico_host::kv_cache::TransferError;
use pimlico_model::checkpoint::Checkpoint;
use pimlico_model::checkpoint::tokenizer::{BEGIN, END, EncodeError, Tokenizer};
pub use reference::reference;
use report::DecodeReport;
use sampling::Sampler;
use weights::Weights;

/// What to run.
#[derive(Clone, Debug)]
pub struct DecodeJob {
    /// Name of the language model, for the report.
    pub model: String,
    /// The model.
    pub checkpoint: Checkpoint,
    /// The same as the reference has it.
    pub reference: Llama,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
    /// What to go on from.
    pub prompt: String,
    /// Tokens to decode, at the most.
    pub tokens: usize,
    /// Temperature of sampling; 0 chooses the largest logit.
    pub temperature: f64,
    /// Seed of sampling.
    pub seed: u64,
    /// How the vector comes to the shared buffers.
    pub io_buffers: IoBuffers,
}

/// Why decoding failed.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The prompt.
    #[error("prompt: {0}")]
    Prompt(#[from] EncodeError),
    /// Prompt and text are longer than the model is made for.
    #[error(
        "{prompt} tokens of the prompt and {tokens} to decode: expected 1 or more to decode and at \
         most {limit} together, the model's context"
    )]
    Context {
        /// Tokens of the prompt, with the one that begins it.
        prompt: usize,
        /// Tokens to decode.
        tokens: usize,
        /// The model's context.
        limit: usize,
    },
    /// A matrix does not fit.
    #[error("{name}: {error}")]
    Matrix {
        /// Which.
        name: String,
        /// Why.
        error: Room,
    },
    /// K and V do not fit.
    #[error("K and V: {0}")]
    Layout(Room),
    /// A weight.
    #[error(
        "{name}, row {row}, column {column}: weight {weight}, expected one that binary16 holds"
    )]
    Weight {
        /// Of which matrix.
        name: String,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// The weight.
        weight: f32,
    },
    /// Weights, K or V could not be written.
    #[error(transparent)]
    Transfer(TransferError),
    /// A matrix could not be multiplied.
    #[error(transparent)]
    Product(GemvError),
    /// Attention could not be computed.
    #[error(transparent)]
    Attention(AttentionError),
    /// The device stopped.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// The same, where it is a module of AiM channels.
    #[error(transparent)]
    Module(#[from] AimError),
}

/// Why something does not fit the banks.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub enum Room {
    /// A matrix, on a rank.
    Matrix(MatrixError),
    /// K and V, on a rank.
    Head(mapping::LayoutError),
    /// Either, on a module of AiM channels.
    Module(aim::LayoutError),
}

impl From<RunError> for DecodeError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Layout(error) => Self::Layout(Room::Module(error)),
            RunError::Device(error) => Self::Module(error),
        }
    }
}

impl From<GemvError> for DecodeError {
    fn from(error: GemvError) -> Self {
        match error {
            GemvError::Rank(error) => Self::Rank(error),
            error => Self::Product(error),
        }
    }
}

impl From<AttentionError> for DecodeError {
    fn from(error: AttentionError) -> Self {
        match error {
            AttentionError::Rank(error) => Self::Rank(error),
            error => Self::Attention(error),
        }
    }
}

impl From<TransferError> for DecodeError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Rank(error) => Self::Rank(error),
            error => Self::Transfer(error),
        }
    }
}

/// Runs a job on a rank. `progress` is told after each token how many have gone through the layers.
pub fn run(
    rank: &mut dyn Device,
    job: &DecodeJob,
    progress: impl FnMut(usize),
) -> Result<Report, DecodeError> {
    let (prompt, weights) = prepare(job)?;
    let (shape, tokens) = (&job.checkpoint.shape, prompt.len() + job.tokens);
    let machine = OnRank::new(rank, &weights, shape, tokens, job.io_buffers)?;
    decode(machine, job, prompt, &weights, progress)
}

/// Runs a job on a module of AiM channels; whether its I/O buffers are ping-pong is the module's, not the
/// job's, to say.
pub fn run_on_module(
    module: &mut Module,
    job: &DecodeJob,
    progress: impl FnMut(usize),
) -> Result<Report, DecodeError> {
    let (prompt, weights) = prepare(job)?;
    let (shape, tokens) = (&job.checkpoint.shape, prompt.len() + job.tokens);
    let machine = OnModule::new(module, &weights, shape, tokens)?;
    decode(machine, job, prompt, &weights, progress)
}

/// The prompt's tokens, and the weights as the device has them.
fn prepare(job: &DecodeJob) -> Result<(Vec<usize>, Weights), DecodeError> {
    let prompt = job.tokenizer.encode(&job.prompt)?;
    let limit = job.checkpoint.shape.context;
    if job.tokens == 0 || prompt.len().saturating_add(job.tokens) > limit {
        return Err(DecodeError::Context { prompt: prompt.len(), tokens: job.tokens, limit });
    }
    Ok((prompt, Weights::new(&job.checkpoint)?))
}

fn decode(
    mut machine: impl Machine,
    job: &DecodeJob,
    prompt: Vec<usize>,
    weights: &Weights,
    mut progress: impl FnMut(usize),
) -> Result<Report, DecodeError> {
    let DecodeJob { checkpoint, reference, tokenizer, .. } = job;
    let (load, load_bytes) = machine.load()?;

    let mut engine = Engine::new(machine, checkpoint, weights);
    let mut sampler = Sampler::new(job.temperature, job.seed);
    let mut comparison = TokenComparison::default();
    let mut past = Past::default();
    let mut tokens = prompt.clone();
    let text = |token: usize| tokenizer.decode(&[token]);
    for position in 0.. {
        let wants_logits = position + 1 >= prompt.len();
        let logits = engine.token(tokens[position], position, wants_logits)?;
        let expected = reference.step(&mut past, tokens[position]);
        progress(position + 1);
        let Some(logits) = logits else { continue };
        let logits: Vec<f64> = logits.into_iter().map(f64::from).collect();
        let draw = sampler.draw();
        let device = Chosen { token: sampler.choose(&logits, draw), logits: &logits };
        let expected = Chosen { token: sampler.choose(&expected, draw), logits: &expected };
        comparison.see(position + 1, &device, &expected, text);
        if [BEGIN, END].contains(&device.token) {
            break;
        }
        tokens.push(device.token);
        if tokens.len() == prompt.len() + job.tokens {
            break;
        }
    }

    let (machine, tally) = engine.finish();
    let mut agreement = comparison.finish();
    if agreement.parted.is_some() && job.temperature == 0.0 {
        let others = reference.greedy(&prompt, job.tokens, &[BEGIN, END]);
        agreement.reference_text = Some(tokenizer.decode(&[prompt.clone(), others].concat()));
    }
    let config = machine.config();
    let (append, append_bytes) = tally.append();
    let decode = DecodeReport {
        model: job.model.clone(),
        shape: checkpoint.shape,
        prompt: job.prompt.clone(),
        text: tokenizer.decode(&tokens),
        prompt_tokens: prompt.len(),
        decoded_tokens: tokens.split_off(prompt.len()),
        temperature: job.temperature,
        io_buffers: job.io_buffers.name(),
        append: Load::new(config, &append, append_bytes),
        agreement,
        layers: tally.layers(config),
        tokens: tally.tokens(config, text),
    };
    let (load, operators) = (Load::new(config, &load, load_bytes), tally.operators(&machine));
    let job_report = JobReport::Decode(Box::new(decode));
    Ok(machine.report(job_report, job.seed, load, operators))
}
