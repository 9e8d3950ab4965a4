// SPDX-License-Identifier: MIT
//! `pimlico stream make`: a model of random weights, in files.

use crate::failure::Failure;
use crate::files::Output;
use crate::output::{self, grouped};
use clap::{Args, ValueEnum};
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_model::checkpoint::places::Stored;
use pimlico_model::synthetic::{self, LEAST_VOCAB};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// The largest size that is taken.
const LARGEST: u64 = 1 << 20;
/// Bytes of a file, at the most.
const MOST_BYTES: u64 = 1 << 40;

/// Arguments of `pimlico stream make`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico stream make --layers 24 -o s.bin --tokenizer s.tok
  pimlico stream make --format safetensors --config s.json --tokenizer s.tok -o s.safetensors")]
pub struct MakeArguments {
    /// Elements of the vector between layers
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=LARGEST))]
    dim: u64,
    /// Elements between the matrices of the feed-forward network
    #[arg(long, default_value_t = 688, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=LARGEST))]
    hidden: u64,
    /// Decoder layers
    #[arg(long, default_value_t = 24, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    layers: u64,
    /// Query heads
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=LARGEST))]
    heads: u64,
    /// K and V heads [default: as many as query heads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=LARGEST))]
    kv_heads: Option<u64>,
    /// Tokens that there are
    #[arg(long, default_value_t = 512, value_name = "N", value_parser = clap::value_parser!(u64).range(LEAST_VOCAB as u64..=LARGEST))]
    vocab: u64,
    /// Tokens of context
    #[arg(long, default_value_t = 512, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=LARGEST))]
    context: u64,
    /// How the file is laid out
    #[arg(long, value_enum, default_value_t = Format::Llama2c)]
    format: Format,
    /// How numbers of a .safetensors file are stored [default: f32]
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Seed of the weights
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// The weights
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// A tokenizer for them, in llama2.c's format
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// The config.json of a .safetensors file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A llama2.c checkpoint
    Llama2c,
    /// A .safetensors file, with its --config
    Safetensors,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Dtype {
    /// binary32
    F32,
    /// binary16
    F16,
    /// bfloat16
    Bf16,
}

/// Runs the command.
pub fn run(arguments: &MakeArguments) -> Result<(), Failure> {
    let shape = shape(arguments)?;
    let MakeArguments { format, dtype, seed, output, tokenizer, config, .. } = arguments;
    let stored = match dtype {
        None | Some(Dtype::F32) => Stored::F32,
        Some(Dtype::F16) => Stored::F16,
        Some(Dtype::Bf16) => Stored::Bf16,
    };
    match (format, dtype, config) {
        (Format::Llama2c, Some(_), _) => {
            return Err(input("--dtype: it goes with --format safetensors"));
        }
        (Format::Llama2c, _, Some(_)) => {
            return Err(input("--config: it goes with --format safetensors"));
        }
        (Format::Safetensors, _, None) => {
            return Err(input("--format safetensors: expected --config FILE with it"));
        }
        _ => {}
    }
    let to = Output::open(output)?;
    let others = [
        (tokenizer, synthetic::tokenizer(shape.vocab)),
        (config, synthetic::config(&shape).into_bytes()),
    ];
    let mut opened = Vec::new();
    for (file, bytes) in others {
        if let Some(file) = file {
            opened.push((Output::open(file)?, bytes));
        }
    }
    let write = || {
        let mut file = BufWriter::new(File::options().append(true).open(to.path())?);
        match format {
            Format::Llama2c => synthetic::llama2c(&shape, *seed, &mut file)?,
            Format::Safetensors => synthetic::safetensors(&shape, stored, *seed, &mut file)?,
        }
        file.flush()
    };
    write().map_err(|error| to.failed(&error))?;
    let to_stdout = to.is_stdout();
    to.whole()?;
    opened.into_iter().try_for_each(|(file, bytes)| file.write(&bytes))?;
    let what = format!(
        "{} layers of {} bytes, {} in all",
        shape.layers,
        grouped(bytes(&shape, stored).0),
        grouped(bytes(&shape, stored).1)
    );
    output::tell_written(output, to_stdout, &what)
}

fn shape(arguments: &MakeArguments) -> Result<CheckpointShape, Failure> {
    let MakeArguments { dim, hidden, layers, heads, kv_heads, vocab, context, .. } = *arguments;
    let kv_heads = kv_heads.unwrap_or(heads);
    if !dim.is_multiple_of(2 * heads) {
        return Err(input(&format!(
            "--dim {dim}: expected a multiple of {}, twice --heads",
            2 * heads
        )));
    }
    if !heads.is_multiple_of(kv_heads) {
        return Err(input(&format!(
            "--heads {heads}: expected a multiple of --kv-heads {kv_heads}"
        )));
    }
    let [dim, hidden, layers, heads, kv_heads, vocab, context] =
        [dim, hidden, layers, heads, kv_heads, vocab, context].map(|size| size as usize);
    let head_dim = dim / heads;
    let shape = CheckpointShape { dim, hidden, layers, heads, kv_heads, head_dim, vocab, context };
    match bytes(&shape, Stored::F32).1 {
        all if all > MOST_BYTES => {
            Err(input(&format!("{all} bytes: expected at most {MOST_BYTES}")))
        }
        _ => Ok(shape),
    }
}

/// Bytes of a layer, and of the model.
fn bytes(shape: &CheckpointShape, stored: Stored) -> (u64, u64) {
    let wide = |size: usize| size as u64;
    let (dim, hidden, q, kv) =
        (wide(shape.dim), wide(shape.hidden), wide(shape.q_width()), wide(shape.kv_width()));
    let layer = 2 * dim + 2 * q * dim + 2 * kv * dim + 3 * hidden * dim;
    let all = wide(shape.layers) * layer + wide(shape.vocab) * dim + dim;
    (wide(stored.bytes()) * layer, wide(stored.bytes()) * all)
}

fn input(message: &str) -> Failure {
    Failure::Input(message.to_owned())
}
