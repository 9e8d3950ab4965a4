// SPDX-License-Identifier: MIT
//! Language models to decode text with: the built-in one, and those of files.

use super::arguments::read_config;
use crate::failure::Failure;
use crate::files;
use pimlico_device::gemv::IoBuffers;
use pimlico_golden::llama::{self, Llama};
use pimlico_model::checkpoint::config::Config;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{Checkpoint, Malformed, llama2c, safetensors, tiny};
use pimlico_workload::decode::{self, DecodeJob};
use pimlico_workload::host_memory;
use std::path::Path;

/// Bytes of a tokenizer's file, at the most.
pub const LARGEST_TOKENIZER: usize = 64 << 20;

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
        threads: 1,
        streaming: None,
        prefill: None,
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
        threads: 1,
        streaming: None,
        prefill: None,
    })
}

/// The model of a file, and the reference.
pub fn read_weights(file: &Path, config: Option<&Path>) -> Result<(Checkpoint, Llama), Failure> {
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
        None => {
            let bytes = files::map(file)?;
            fits(file, &bytes)?;
            llama2c(file, &bytes)
        }
    }
}

/// The `config.json` of a model that runs with weights: what it lacks is not the other file's fault.
pub fn read_config_with_weights(file: &Path) -> Result<Config, Failure> {
    let config = read_config(file)?;
    config.arithmetic().map_err(|e| malformed(file, &e))?;
    config.ties_embeddings().map_err(|e| malformed(file, &e))?;
    Ok(config)
}

/// The model of one safetensors file.
pub fn read_safetensors(file: &Path, config: &Config) -> Result<Checkpoint, Failure> {
    let bytes = files::map(file)?;
    fits(file, &bytes)?;
    safetensors::read(&bytes, config).map_err(|e| malformed(file, &e))
}

/// Whether this machine has memory for the weights of a file in float32, here and for the reference: of numbers of 16
/// bits, four times as much as the file.
pub fn fits(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let wanted = 4 * bytes.len() as u128;
    let fits = host_memory::check(&file.display().to_string(), wanted);
    fits.map_err(|error| Failure::Input(error.to_string()))
}

/// A tokenizer of llama2.c.
pub fn read_tokenizer(file: &Path, vocab: usize) -> Result<Tokenizer, Failure> {
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

pub fn malformed(file: &Path, error: &Malformed) -> Failure {
    Failure::Input(format!("{}: {error}", file.display()))
}
