// SPDX-License-Identifier: MIT
//! `pimlico run SYSTEM decode`: text, token by token, with a whole language model.

use super::Face;
use crate::failure::Failure;
use crate::output::grouped;
use crate::run::arguments::RunArguments;
use crate::run::checkpoint::{read_tokenizer, read_weights, tiny_job};
use crate::run::folder;
use crate::run::groups::Common;
use crate::run::prefill;
use crate::run::residency;
use crate::run::source::ModelArguments;
use crate::run::text::{OwnText, on_link, own_buffers};
use clap::Args;
use pimlico_model::checkpoint::tiny;
use pimlico_workload::decode::{self, DecodeJob};
use pimlico_workload::report::decode::{Agreement, DecodeReport, Parted};
use pimlico_workload::report::{APPEND, Report};
use std::fmt::Write;
use std::path::PathBuf;

/// Tokens that are decoded, unless it is said.
const TOKENS: usize = 40;

/// The files of a whole language model, and what to decode.
#[derive(Args)]
#[command(next_help_heading = "Text")]
pub(super) struct Decode {
    /// Weights: a llama2.c checkpoint, or a .safetensors file with its --config; a tiny model is built in
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Their tokenizer, in llama2.c's format
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// A model's folder as Hugging Face lays it out, with its tokenizer.json or --tokenizer
    #[arg(long, value_name = "DIR")]
    model_dir: Option<PathBuf>,
    /// Text to continue [default for the tiny model: "in a small town"]
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Tokens to decode, at the most [default: 40]
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
    /// Temperature of sampling, by --seed; 0 takes the likeliest token [default: 0]
    #[arg(long, value_name = "T", value_parser = temperature)]
    temperature: Option<f64>,
    /// Shapes of a .safetensors file: a config.json of Hugging Face
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Face for Decode {
    const NAME: &'static str = "decode";
    const ABOUT: &'static str = "Text, token by token, with a whole language model";
    const UNIT: &'static str = "tokens";
    const OPTIONS: &'static [Common] = &[
        Common::Softmax,
        Common::Sums,
        Common::SharedBuffers,
        Common::HowMany,
        Common::InBanks,
        Common::OnHost,
        Common::References,
        Common::Waveform,
        Common::Picture,
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "l3 decode --tokens 20 --prompt 'in a small town'",
        "l3 decode --weights stories260K.bin --tokenizer tok512.bin",
        "l3 decode --ranks 2 --residency pipeload --loaders 2 --bank-rows 40 --disk 1.2G",
        "l3 decode --prefill host --policy ddb",
        "aim decode --tokens 20",
        "aim decode --prefill host --policy owr",
        "lp5 decode --tokens 20",
        "lp5 decode --prefill host --policy ddb --elements binary16",
    ];
    type Job = DecodeJob;
    type Report = DecodeReport;

    fn job(&self, arguments: &RunArguments) -> Result<DecodeJob, Failure> {
        let config = self.config.as_deref();
        let Self { model_dir, weights, tokenizer, .. } = self;
        let (model, checkpoint, reference, tokenizer, prompt) =
            match (model_dir, weights, tokenizer) {
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
        let files =
            ModelArguments::of([&self.weights, &self.tokenizer, &self.model_dir, &self.config]);
        let in_banks = arguments.in_banks.as_ref();
        let streaming = in_banks.map(|in_banks| in_banks.streaming(arguments, &files));
        let streaming = streaming.transpose()?.flatten();
        let on_host = arguments.on_host.as_ref();
        let prefill = on_host.map(|on_host| on_host.asked(streaming.is_some(), &files));
        Ok(DecodeJob {
            model,
            checkpoint,
            reference,
            tokenizer,
            prompt: self.prompt.clone().unwrap_or(prompt.to_owned()),
            tokens: self.tokens.unwrap_or(TOKENS),
            temperature: self.temperature.unwrap_or(0.0),
            seed: arguments.seed,
            io_buffers: arguments.io_buffers(),
            threads: arguments.threads(),
            streaming,
            prefill: prefill.transpose()?.flatten(),
        })
    }

    fn words(&self, job: &DecodeJob) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let mut words = Vec::new();
        let files = [
            ("model-dir", &self.model_dir),
            ("weights", &self.weights),
            ("tokenizer", &self.tokenizer),
            ("config", &self.config),
        ];
        for (flag, file) in files {
            if let Some(file) = file {
                words.push(format!("--{flag} {}", quoted(&file.display().to_string())));
            }
        }
        let DecodeJob { prompt, tokens, temperature, .. } = job;
        let prompt = quoted(prompt);
        words.push(format!("--prompt {prompt} --tokens {tokens} --temperature {temperature}"));
        words.join(" ")
    }

    fn text(own: &DecodeReport, report: &Report) -> OwnText {
        let (what, how) = title(own, report);
        let (opening, closing) = (text(own), rolled_up(own, report));
        let layers = own.residency.as_ref().map(residency::page).unwrap_or_default();
        let prompt = own.prefill.as_ref().map(prefill::page).unwrap_or_default();
        let layers = layers + prompt;
        OwnText { what, how, opening, layers, closing, ..OwnText::default() }
    }
}

fn temperature(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=1e3).contains(&number) => Ok(number),
        _ => Err("expected a number from 0 to 1000".to_owned()),
    }
}

/// What was run, and how, for the title.
fn title(decode: &DecodeReport, report: &Report) -> (String, String) {
    let DecodeReport { model, shape, temperature, io_buffers, .. } = decode;
    let what = format!(
        "text by {model} on {}: {} layers of {}, {} heads of {}, {} to a K and V, feed-forward {}, \
         vocabulary of {}",
        report.system,
        shape.layers,
        shape.dim,
        shape.heads,
        shape.head_dim,
        shape.group(),
        shape.hidden,
        shape.vocab
    );
    let buffers = own_buffers(report, io_buffers);
    let how = match report.system == "lp5" {
        true => format!("temperature {temperature}, elements {}", decode.elements),
        false => format!("temperature {temperature}, {buffers}normalisation {}", report.normalise),
    };
    (what, how)
}

/// The text, and what the reference says of it.
fn text(decode: &DecodeReport) -> String {
    let DecodeReport { prompt_tokens, decoded_tokens, agreement, .. } = decode;
    let Agreement { compared, equal, max_logit_error, rms_logit_error, .. } = agreement;
    let mut text = format!(
        "{}\n\n{prompt_tokens} tokens of the prompt, {} decoded; {equal} of {compared} choices from the \
         first on are those of float64\nlogits off by {max_logit_error:.3} at the most, RMS \
         {rms_logit_error:.4}; for a whole model no bound is known: each operator has one, of what it was given\n",
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
fn rolled_up(decode: &DecodeReport, report: &Report) -> String {
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
    let _ = writeln!(
        text,
        "\nthe host added K and V of the tokens, {} bytes, in {} tCK, {:.1} % of the total: {} columns{}",
        grouped(append.bytes),
        grouped(append.cycles),
        100.0 * report.share_of(APPEND),
        grouped(*append_columns),
        on_link(append)
    );
    text
}
