// SPDX-License-Identifier: MIT
//! Decodes text with a language model on the device.
//!
//! All matrices are written into the banks once, in 16 bits, or layer by layer while others are used ([`Streaming`]); K and
//! V of each token are added as it comes. Every matrix and every head's attention runs on the device (`engine`); norms, RoPE, the gate,
//! residuals and the choice of the next token are the host's, in float32. The host may take the prompt ([`HostPrefill`]).
//!
//! After each token the choice and the logits stand beside those of `golden::llama`, which computes the
//! same weights in float64 after the same tokens.

mod engine;
mod on_host;
mod residency;
mod sampling;
mod tally;

pub use crate::judge::reference::reference;
pub use on_host::HostPrefill;
pub use residency::{Limit, Streaming};

use crate::error::{DecodeError, WorkloadError};
use crate::host_memory;
use crate::judge::text::{Chosen, TokenComparison};
use crate::machine::{Machine, Resident, Weights};
use crate::operator::Operator;
use crate::outcome::Outcome;
use crate::placement;
use crate::report::decode::{Agreement, DecodeReport, PrefillReport, ResidencyReport};
use crate::report::{JobReport, Report, Stages, Written};
use crate::system::System;
use crate::task::Progress;
use engine::Engine;
use pimlico_device::Config;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::mapping::BURST;
use pimlico_golden::llama::{Llama, Past};
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{Checkpoint, CheckpointShape};
use sampling::Sampler;
use sha2::{Digest, Sha256};
use tally::Tally;

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
    /// Tokens to decode, at most.
    pub tokens: usize,
    /// Temperature of sampling; 0 chooses the largest logit.
    pub temperature: f64,
    /// Seed of sampling.
    pub seed: u64,
    /// How the vector comes to the shared buffers.
    pub io_buffers: IoBuffers,
    /// Threads that compute the references; results do not depend on it.
    pub threads: usize,
    /// How layers come into the banks, if they are streamed.
    pub streaming: Option<Streaming>,
    /// How the host takes the prompt, if it does; layers are not streamed then.
    pub prefill: Option<HostPrefill>,
}

/// What is known of a text before the first token.
pub struct DecodePlan {
    /// The prompt's tokens.
    prompt: Vec<usize>,
    /// The model's matrices as the device has them.
    weights: Weights,
}

/// A text that was decoded: all but what depends on the system.
pub struct Decoded {
    report: DecodeReport,
    outcome: Outcome,
}

impl Operator for DecodeJob {
    type Plan = DecodePlan;
    type Outcome = Decoded;

    fn plan(&self, system: &dyn System) -> Result<DecodePlan, WorkloadError> {
        let prompt = self.tokenizer.encode(&self.prompt).map_err(DecodeError::from)?;
        let limit = self.checkpoint.shape.context;
        if self.tokens == 0 || prompt.len().saturating_add(self.tokens) > limit {
            let (prompt, tokens) = (prompt.len(), self.tokens);
            return Err(DecodeError::Context { prompt, tokens, limit }.into());
        }
        let shape = self.checkpoint.shape;
        host_memory::check("weights, K and V", memory(shape, prompt.len() + self.tokens, system))?;
        Ok(DecodePlan { prompt, weights: Weights::new(&self.checkpoint, system.elements())? })
    }

    fn run(
        &self,
        plan: DecodePlan,
        system: &mut dyn System,
        progress: Progress<'_>,
    ) -> Result<Decoded, WorkloadError> {
        if let Some(streaming) = &self.streaming {
            return residency::run(self, streaming, plan, system, progress);
        }
        let DecodePlan { prompt, weights } = plan;
        let all = prompt.len() + self.tokens;
        let io_buffers = system.io_buffers(self.io_buffers);
        let resident =
            Resident { weights: &weights, shape: &self.checkpoint.shape, tokens: all, io_buffers };
        let config = system.config().clone();
        let mut machine = system.machine(resident)?;
        let load = machine.load()?;

        let mut engine = Engine::new((&self.checkpoint, &weights), self.threads);
        let mut text = Text::new(self, prompt);
        let mut prefill = None;
        let (mut next, mut is_over) = (0, false);
        if let Some(how) = &self.prefill {
            let (prefilled, report) = on_host::run(self, how, &mut *machine, &text.tokens)?;
            engine.prefilled(&mut *machine, &text.tokens, &prefilled.caches)?;
            prefill = Some(report);
            next = text.prompt;
            for position in 0..next - 1 {
                text.see(position, None);
            }
            is_over = text.see(next - 1, Some(prefilled.logits));
            progress(next as u64, all as u64 - 1);
        }
        while !is_over {
            let token = (text.tokens[next], next);
            let logits = engine.token(&mut *machine, token, text.is_wanted(next))?;
            is_over = text.see(next, logits);
            next += 1;
            progress(next as u64, all as u64 - 1);
        }
        let report = (self, engine.finish(), text, load);
        Ok(Decoded::new(report, (&config, io_buffers), &*machine, (None, prefill)))
    }

    fn judge(&self, system: &dyn System, decoded: Decoded) -> Report {
        let Decoded { report, outcome } = decoded;
        let job = JobReport::new(report);
        outcome.report(&system.about(), job, self.seed)
    }
}

impl Decoded {
    /// A text by a machine, with what it cost and what was written into the banks before and between.
    fn new(
        (job, tally, text, load): (&DecodeJob, Tally, Text<'_>, Written),
        (config, io_buffers): (&Config, IoBuffers),
        machine: &dyn Machine,
        (residency, prefill): (Option<ResidencyReport>, Option<PrefillReport>),
    ) -> Self {
        let whole = job.tokenizer.decode(&text.tokens);
        let text_sha256 = on_host::sha256(whole.bytes());
        let prefill = prefill.map(|prefill| PrefillReport { text_sha256, ..prefill });
        let report = DecodeReport {
            model: job.model.clone(),
            shape: job.checkpoint.shape,
            prompt: job.prompt.clone(),
            text: whole,
            prompt_tokens: text.prompt,
            decoded_tokens: text.tokens[text.prompt..].to_vec(),
            logits_sha256: text.hash(),
            temperature: job.temperature,
            elements: machine.elements().name(),
            io_buffers: io_buffers.name(),
            append: tally.append(machine),
            append_columns: tally.append_columns(config),
            agreement: text.agreement(),
            layers: tally.layers(config),
            tokens: tally.tokens(config, |token| job.tokenizer.decode(&[token])),
            residency,
            prefill,
        };
        let outcome = Outcome {
            operators: tally.operators(machine),
            stages: Stages::default(),
            load: machine.load_report(&load),
            findings: machine.findings(),
            bytes_per_rank: 0,
            notes: machine.notes(),
        };
        Self { report, outcome }
    }
}

/// Bytes that the matrices take in binary16 on the host and in the banks, and K and V of so many tokens.
fn memory(shape: CheckpointShape, tokens: usize, system: &dyn System) -> u128 {
    let wide = |size: usize| size as u128;
    let matrix =
        |rows: usize, columns: usize| wide(rows) * (48 + 4 * wide(columns.next_multiple_of(BURST)));
    let (dim, hidden, q, kv) = (shape.dim, shape.hidden, shape.q_width(), shape.kv_width());
    let of_layer = matrix(q + 2 * kv, dim) + matrix(dim, q) + matrix(2 * hidden, dim);
    let of_layer = of_layer + matrix(dim, hidden);
    // In the banks, and twice with the host: in binary16 and as the reference has them.
    let of_tokens =
        2 * wide(shape.kv_heads) * 12 * wide(tokens.next_multiple_of(BURST) * shape.head_dim);
    // The rows of the banks that are begun.
    let row_bytes = u128::from(placement::row_bytes(system.config()));
    let begun = wide(4 + 2 * shape.kv_heads) * row_bytes;
    let layers = wide(shape.layers) * (of_layer + of_tokens + begun);
    host_memory::BESIDE + layers + matrix(shape.vocab, dim)
}

/// A text that grows, beside the choices of the reference after the same tokens.
struct Text<'a> {
    job: &'a DecodeJob,
    tokens: Vec<usize>,
    /// Tokens of the prompt.
    prompt: usize,
    sampler: Sampler,
    past: Past,
    comparison: TokenComparison,
    /// Of all logits, one choice behind the other.
    hash: Sha256,
}

impl<'a> Text<'a> {
    fn new(job: &'a DecodeJob, prompt: Vec<usize>) -> Self {
        Self {
            prompt: prompt.len(),
            tokens: prompt,
            sampler: Sampler::new(job.temperature, job.seed),
            past: Past::default(),
            comparison: TokenComparison::default(),
            hash: Sha256::new(),
            job,
        }
    }

    /// Whether what follows the token at a position is not in the prompt.
    fn is_wanted(&self, position: usize) -> bool {
        position + 1 >= self.prompt
    }

    /// The token at a position has gone through the layers; these are the logits of the next one, if it was wanted.
    /// Returns whether the text is over.
    fn see(&mut self, position: usize, logits: Option<Vec<f32>>) -> bool {
        let DecodeJob { reference, tokenizer, tokens: wanted, threads, .. } = self.job;
        let expected = reference.step_on(*threads, &mut self.past, self.tokens[position]);
        let Some(logits) = logits else { return false };
        logits.iter().for_each(|logit| self.hash.update(logit.to_le_bytes()));
        let logits: Vec<f64> = logits.into_iter().map(f64::from).collect();
        let draw = self.sampler.draw();
        let device = Chosen { token: self.sampler.choose(&logits, draw), logits: &logits };
        let expected = Chosen { token: self.sampler.choose(&expected, draw), logits: &expected };
        let text = |token: usize| tokenizer.decode(&[token]);
        self.comparison.see(position + 1, &device, &expected, text);
        if tokenizer.ends().contains(&device.token) {
            return true;
        }
        self.tokens.push(device.token);
        self.tokens.len() == self.prompt + wanted
    }

    /// SHA-256 of all logits, as little-endian binary32.
    fn hash(&self) -> String {
        self.hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What the reference says of it.
    fn agreement(&self) -> Agreement {
        let DecodeJob { reference, tokenizer, tokens: wanted, temperature, .. } = self.job;
        let mut agreement = self.comparison.agreement();
        if agreement.parted.is_some() && *temperature == 0.0 {
            let prompt = &self.tokens[..self.prompt];
            let others = reference.greedy(prompt, *wanted, tokenizer.ends());
            agreement.reference_text = Some(tokenizer.decode(&[prompt, &others].concat()));
        }
        agreement
    }
}
