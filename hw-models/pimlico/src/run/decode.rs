// SPDX-License-Identifier: MIT
//! `pimlico run l3|aim decode`: the files that it takes, and its part of the report for people.

use super::arguments::{self, read_config};
use super::folder;
use super::text::on_link;
use crate::failure::Failure;
use crate::files;
use crate::output::grouped;
use clap::Args;
use pimlico_device::gemv::IoBuffers;
use pimlico_golden::llama::{self, Llama};
use pimlico_model::checkpoint::config::Config;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{Checkpoint, Malformed, llama2c, safetensors, tiny};
use pimlico_workload::decode::{self, DecodeJob};
use pimlico_workload::report::decode::{Agreement, DecodeReport, Parted};
use pimlico_workload::report::{APPEND, Report};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Bytes of a tokenizer's file, at the most.
pub(super) const LARGEST_TOKENIZER: usize = 64 << 20;
/// Tokens that are decoded, unless it is said.
const TOKENS: usize = 40;

/// Arguments of decoding.
#[derive(Args, Default)]
#[group(id = "decode")]
pub(super) struct DecodeArguments {
    /// Weights: a llama2.c checkpoint, or a .safetensors file with its --config; a tiny model is built in
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Their tokenizer, in llama2.c's format
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// A model's folder as Hugging Face lays it out, with its tokenizer.json or --tokenizer
    #[arg(long, value_name = "DIR")]
    model_dir: Option<PathBuf>,
    /// What to go on from [default for the tiny model: "in a small town"]
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Tokens to decode, at the most [default: 40]
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
    /// Temperature of sampling, by --seed; 0 takes the likeliest token [default: 0]
    #[arg(long, value_name = "T", value_parser = temperature)]
    temperature: Option<f64>,
}

fn temperature(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=1e3).contains(&number) => Ok(number),
        _ => Err("expected a number from 0 to 1000".to_owned()),
    }
}

/// What to run.
pub(super) fn job(arguments: &arguments::RunArguments) -> Result<DecodeJob, Failure> {
    let given = &arguments.decode;
    let config = arguments.config.as_deref();
    let DecodeArguments { model_dir, weights, tokenizer, .. } = given;
    let (model, checkpoint, reference, tokenizer, prompt) = match (model_dir, weights, tokenizer) {
        (None, None, None) if config.is_none() => {
            let job = tiny_job(TOKENS, arguments.seed)?;
            (job.model, job.checkpoint, job.reference, job.tokenizer, tiny::PROMPT)
        }
        (None, Some(weights), Some(tokenizer)) => {
            let (checkpoint, reference) = read_weights(weights, config)?;
            let tokenizer = read_tokenizer(tokenizer, checkpoint.shape.vocab)?;
            (weights.display().to_string(), checkpoint, reference, tokenizer, "")
        }
        (Some(folder), None, tokenizer) if config.is_none() => {
            let config = folder::config(folder)?;
            // Before the weights, which are much larger.
            let tokenizer = match tokenizer {
                Some(tokenizer) => read_tokenizer(tokenizer, config.shape.vocab)?,
                None => folder::tokenizer(folder, config.shape.vocab)?,
            };
            let checkpoint = folder::model(folder, &config)?;
            let reference = decode::reference(&checkpoint);
            (folder.display().to_string(), checkpoint, reference, tokenizer, "")
        }
        _ => {
            let expected = "run decode: expected --model-dir DIR, or --weights FILE and \
                            --tokenizer FILE, or none of them nor --config";
            return Err(Failure::Input(expected.to_owned()));
        }
    };
    Ok(DecodeJob {
        model,
        checkpoint,
        reference,
        tokenizer,
        prompt: given.prompt.clone().unwrap_or(prompt.to_owned()),
        tokens: given.tokens.unwrap_or(TOKENS),
        temperature: given.temperature.unwrap_or(0.0),
        seed: arguments.seed,
        io_buffers: arguments.io_buffers(),
    })
}

/// A text by the built-in model.
pub fn tiny_job(tokens: usize, seed: u64) -> Result<DecodeJob, Failure> {
    let (checkpoint, reference) = llama2c(Path::new(tiny::NAME), tiny::WEIGHTS)?;
    let tokenizer = Tokenizer::read(tiny::TOKENIZER, checkpoint.shape.vocab)
        .map_err(|e| malformed(Path::new(tiny::NAME), &e))?;
    Ok(DecodeJob {
        model: tiny::NAME.to_owned(),
        checkpoint,
        reference,
        tokenizer,
        prompt: tiny::PROMPT.to_owned(),
        tokens,
        temperature: 0.0,
        seed,
        io_buffers: IoBuffers::PingPong,
    })
}

/// A text by the model of a llama2.c checkpoint.
pub fn llama2c_job(
    weights: &Path,
    tokenizer: &Path,
    prompt: &str,
    tokens: usize,
    seed: u64,
) -> Result<DecodeJob, Failure> {
    let (checkpoint, reference) = read_weights(weights, None)?;
    let tokenizer = read_tokenizer(tokenizer, checkpoint.shape.vocab)?;
    Ok(DecodeJob {
        model: weights.display().to_string(),
        checkpoint,
        reference,
        tokenizer,
        prompt: prompt.to_owned(),
        tokens,
        temperature: 0.0,
        seed,
        io_buffers: IoBuffers::PingPong,
    })
}

fn read_weights(file: &Path, config: Option<&Path>) -> Result<(Checkpoint, Llama), Failure> {
    let is_safetensors = file.extension().is_some_and(|extension| extension == "safetensors");
    let name = file.display();
    match config {
        Some(config) if is_safetensors => {
            let checkpoint = read_safetensors(file, &read_config_with_weights(config)?)?;
            let reference = decode::reference(&checkpoint);
            Ok((checkpoint, reference))
        }
        None if is_safetensors => {
            let message = format!("--weights {name}: expected --config FILE with it");
            Err(Failure::Input(message))
        }
        Some(_) => {
            let message = format!("--weights {name}: with --config, expected a .safetensors file");
            Err(Failure::Input(message))
        }
        None => llama2c(file, &files::map(file)?),
    }
}

/// The `config.json` of a model that runs with weights: what it lacks is not the other file's fault.
pub(super) fn read_config_with_weights(file: &Path) -> Result<Config, Failure> {
    let config = read_config(file)?;
    config.arithmetic().map_err(|e| malformed(file, &e))?;
    config.ties_embeddings().map_err(|e| malformed(file, &e))?;
    Ok(config)
}

/// The model of one safetensors file.
pub(super) fn read_safetensors(file: &Path, config: &Config) -> Result<Checkpoint, Failure> {
    safetensors::read(&files::map(file)?, config).map_err(|e| malformed(file, &e))
}

/// A tokenizer of llama2.c.
fn read_tokenizer(file: &Path, vocab: usize) -> Result<Tokenizer, Failure> {
    let bytes = files::read(file, LARGEST_TOKENIZER)?;
    Tokenizer::read(&bytes, vocab).map_err(|e| malformed(file, &e))
}

/// The model of a llama2.c checkpoint; the reference reads it for itself.
fn llama2c(file: &Path, bytes: &[u8]) -> Result<(Checkpoint, Llama), Failure> {
    let checkpoint = llama2c::read(bytes).map_err(|e| malformed(file, &e))?;
    let (reference, _) = llama::read(bytes).ok_or_else(|| {
        Failure::Check(format!("{}: the reference takes it for no checkpoint", file.display()))
    })?;
    Ok((checkpoint, reference))
}

pub(super) fn malformed(file: &Path, error: &Malformed) -> Failure {
    Failure::Input(format!("{}: {error}", file.display()))
}

/// The part of the command that does the same again.
pub(super) fn again(job: &DecodeJob, arguments: &arguments::RunArguments) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut command = "decode".to_owned();
    let files = [
        ("model-dir", &arguments.decode.model_dir),
        ("weights", &arguments.decode.weights),
        ("tokenizer", &arguments.decode.tokenizer),
        ("config", &arguments.config),
    ];
    for (flag, file) in files {
        if let Some(file) = file {
            let _ = write!(command, " --{flag} {}", quoted(&file.display().to_string()));
        }
    }
    let DecodeJob { prompt, tokens, temperature, .. } = job;
    let prompt = quoted(prompt);
    let _ = write!(command, " --prompt {prompt} --tokens {tokens} --temperature {temperature}");
    command
}

/// What was run, and how, for the title.
pub(super) fn title(decode: &DecodeReport, report: &Report) -> (String, String) {
    let DecodeReport { model, shape, temperature, io_buffers, .. } = decode;
    let what = format!(
        "text by {model} on {}: {} layers of {}, {} heads of {}, {} to a K and V, feed-forward {}, {} \
         tokens",
        report.system,
        shape.layers,
        shape.dim,
        shape.heads,
        shape.head_dim,
        shape.group(),
        shape.hidden,
        shape.vocab
    );
    let how = format!(
        "temperature {temperature}, I/O buffers {io_buffers}, normalisation {}",
        report.normalise
    );
    (what, how)
}

/// The text, and what the reference says of it.
pub(super) fn text(decode: &DecodeReport) -> String {
    let DecodeReport { prompt_tokens, decoded_tokens, agreement, .. } = decode;
    let Agreement { compared, equal, max_logit_error, rms_logit_error, .. } = agreement;
    let mut text = format!(
        "{}\n\n{prompt_tokens} tokens of the prompt, {} decoded; {equal} of {compared} choices from the \
         first on are those of float64\nlogits off by {max_logit_error:.3} at the most, RMS \
         {rms_logit_error:.4}\n",
        decode.text,
        decoded_tokens.len()
    );
    if let Some(parted) = &agreement.parted {
        let Parted { position, device, reference, max_logit_error, reference_gap, device_gap } =
            parted;
        let why = if decode.temperature > 0.0 {
            "the number drawn lies at the border of their chances".to_owned()
        } else {
            format!(
                "there the two logits are {reference_gap:.4} apart, here {device_gap:.4} the other way"
            )
        };
        let _ = writeln!(
            text,
            "they part at position {position}: {:?} here, {:?} in float64; {why}; logits are off by up \
             to {max_logit_error:.4}",
            device.text, reference.text
        );
    }
    if let Some(reference) = &agreement.reference_text {
        let _ = writeln!(text, "float64 goes on: {reference}");
    }
    text.push('\n');
    text
}

/// The cost by layer and by token.
pub(super) fn roll_up(decode: &DecodeReport, report: &Report) -> String {
    let DecodeReport { layers, tokens, append, append_columns, .. } = decode;
    let of_layers: u64 = layers.iter().map(|layer| layer.cycles).sum();
    let runs = (layers.len() * tokens.len()).max(1) as u64;
    let mut text = format!(
        "a layer takes {} tCK for a token on average; a token {}, {:.1} us",
        grouped(of_layers / runs),
        grouped(report.total.cycles / tokens.len().max(1) as u64),
        report.total.ns / 1000.0 / tokens.len().max(1) as f64,
    );
    if let [first, .., last] = tokens.as_slice() {
        let (first, last) = (grouped(first.cycles), grouped(last.cycles));
        let _ = write!(text, " (the first {first} tCK, the last {last})");
    }
    let is_inside = report.operators.iter().any(|operator| operator.operator == APPEND);
    let inside = if is_inside {
        format!(", in the total: {} columns{}", grouped(*append_columns), on_link(append))
    } else {
        String::new()
    };
    let _ = writeln!(
        text,
        "\nthe host added K and V of the tokens, {} bytes, in {} tCK{inside}",
        grouped(append.bytes),
        grouped(append.cycles)
    );
    text
}
