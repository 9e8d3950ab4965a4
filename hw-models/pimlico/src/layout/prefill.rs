// SPDX-License-Identifier: MIT
//! `pimlico layout prefill`: a prompt on the host, with weights that lie as PIM blocks want them.
//!
//! The host and its threads are real, and so are the times; there is no device and no tCK in it. So it is beside the image that it
//! reads, and not under `pimlico run SYSTEM OPERATOR`.

use super::image::{self, Element, Image};
use super::weights::Weights;
use crate::failure::Failure;
use crate::files::{self, Output};
use crate::output::{self, FormatArguments, Page, decimal, grouped};
use crate::policy::{PolicyName, threads};
use crate::run::source::{ModelArguments, Opened, failure};
use crate::schema::Kind;
use crate::stream::picture::{self, Words};
use crate::values::size;
use clap::Args;
use memmap2::MmapMut;
use pimlico_device::lp5::AddressMap;
use pimlico_host::lp5_image::{ImagePlan, pack_row};
use pimlico_stream::setup::Setup;
use pimlico_stream::slots;
use pimlico_stream::source::Reading;
use pimlico_stream::trace::Trace;
use pimlico_workload::host_memory;
use pimlico_workload::prefill::weights::ModelInBanks;
use pimlico_workload::prefill::{
    self, PrefillError, PrefillJob, PrefillPolicy, PrefillTimes, Prefilled, Threads,
};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `pimlico layout prefill`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico layout prefill --policy ddb
  pimlico layout prefill --weights stories15M.bin --tokenizer tokenizer.bin --prompt 'Once upon a time' --policy owr
  pimlico layout prefill --image tiny.lp5 --policy ddb --copy-threads 2 --compute-threads 4 --trace ddb.json")]
pub struct PrefillArguments {
    #[command(flatten)]
    model: ModelArguments,
    /// The prompt [default for the tiny model: \"in a small town\"]
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// How weights come to GEMM
    #[arg(long, value_enum)]
    policy: PolicyName,
    /// Threads that copy beside GEMM, of ddb; elsewhere those of GEMM copy
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    copy_threads: usize,
    /// Threads of GEMM
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    compute_threads: usize,
    /// Memory of each buffer, as 32M: K, M and G are powers of 1024 [default: that of the largest group]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    buffer: Option<u64>,
    /// An image of the model's matrices that `layout convert` wrote [default: made in memory]
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["map", "elements"])]
    image: Option<PathBuf>,
    /// Fields of an address from the top, with their bits
    #[arg(long, default_value = AddressMap::DEFAULT, value_name = "FIELDS")]
    map: AddressMap,
    /// Format of elements
    #[arg(long, value_enum, default_value_t = Element::Bfloat16)]
    elements: Element,
    /// Write copies and products with their times, of ddb and owr: a picture if the name ends in .svg, else JSON
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `layout prefill --json` prints.
#[derive(Serialize)]
struct Report {
    model: String,
    elements: Element,
    policy: PrefillPolicy,
    prompt_tokens: usize,
    copy_threads: usize,
    compute_threads: usize,
    groups: usize,
    buffers: usize,
    buffer_bytes: u64,
    weight_bytes: u64,
    extra_bytes: u64,
    copied_bytes: u64,
    duplicate_ms: f64,
    ttft_ms: f64,
    gemm_ms: f64,
    copy_ms: f64,
    copy_under_gemm_ms: f64,
    copy_hidden_share: f64,
    between_ms: f64,
    head_ms: f64,
    next_token: usize,
    logits_sha256: String,
}

/// Runs the command.
pub fn run(arguments: &PrefillArguments) -> Result<(), Failure> {
    let PrefillArguments { model, policy, buffer, trace, format, .. } = arguments;
    let policy = policy.policy();
    for (flag, is_given) in [("--buffer", buffer.is_some()), ("--trace", trace.is_some())] {
        if is_given && policy.buffers() == 0 {
            return Err(Failure::Input(format!("{flag}: it goes with --policy ddb or owr")));
        }
    }
    let open = |file| Ok::<_, Failure>((file, Output::beside_report(file)?));
    let trace = trace.as_deref().map(open).transpose()?;
    let Opened { name, source, tokenizer, prompt } = model.open(Reading::default())?;
    let prompt = arguments.prompt.as_deref().unwrap_or(prompt);
    let prompt = tokenizer.encode(prompt).map_err(failure)?;
    // The head is in the banks: nothing of it is read beside them.
    let weights = Weights::new(name, source.with_head_streamed());
    let prefilled = match &arguments.image {
        Some(file) => {
            let bytes = files::map(file)?;
            let image = image::read(file, &bytes)?;
            image.has_matrices(file, &weights.matrices(), &weights.name)?;
            in_image(arguments, &weights, &image, &prompt)?
        }
        None => {
            let (plan, memory) = convert(&weights, &arguments.map, arguments.elements)?;
            let memory = &memory[..plan.bytes() as usize];
            let image = Image { plan, elements: arguments.elements, memory };
            in_image(arguments, &weights, &image, &prompt)?
        }
    };
    weights.check_unchanged()?;
    let (report, trace_of, setup) = prefilled;
    if let (Some((file, output)), Some(setup)) = (trace, &setup) {
        write_trace(file, output, &trace_of, (setup, policy))?;
    }
    output::report(*format, (Kind::LayoutPrefill, &report), &page(&report))
}

/// Writes what threads did.
fn write_trace(
    file: &Path,
    output: Output,
    trace: &Trace,
    (setup, policy): (&Setup, PrefillPolicy),
) -> Result<(), Failure> {
    if file.extension().is_some_and(|extension| extension == "svg") {
        let title = format!("prefill, {}, groups as layers", policy.name());
        let words = Words { title: &title, loader: "copies", computing: "products" };
        return picture::write(output, trace, setup, &words);
    }
    let text = serde_json::to_string_pretty(trace).expect("plain data");
    output.write(format!("{text}\n").as_bytes())
}

/// The image of a model, in memory.
fn convert(
    weights: &Weights,
    map: &AddressMap,
    elements: Element,
) -> Result<(ImagePlan, MmapMut), Failure> {
    let plan = weights.plan(map)?;
    let what = format!("{}: its image", weights.name);
    host_memory::check(&what, plan.bytes().into()).map_err(failure)?;
    let mut memory = slots::map(plan.bytes()).map_err(failure)?;
    let row_bytes = plan.map().row_bytes() as usize;
    for (place, (_, layout)) in weights.matrices().iter().zip(plan.matrices()) {
        let of_matrix = weights.elements(place, elements)?;
        for row in layout.first_row()..layout.first_row() + layout.bank_rows() {
            pack_row(layout, row, &of_matrix, &mut memory[row as usize * row_bytes..][..row_bytes]);
        }
    }
    Ok((plan, memory))
}

/// Takes the prompt through the matrices of an image.
fn in_image(
    arguments: &PrefillArguments,
    weights: &Weights,
    image: &Image<'_>,
    prompt: &[usize],
) -> Result<(Report, Trace, Option<Setup>), Failure> {
    let PrefillArguments { policy, copy_threads, compute_threads, buffer, .. } = *arguments;
    let policy = policy.policy();
    let banks = (image.elements.stored_as(), image.memory);
    let model = ModelInBanks::new(weights.source().places(), image.plan.matrices(), banks);
    let model = model.map_err(|error| refused(&error))?;
    let [copy, compute] =
        [copy_threads, compute_threads].map(|count| NonZero::new(count).expect("1 or more"));
    let job = PrefillJob {
        source: weights.source(),
        model: &model,
        prompt,
        policy,
        threads: Threads { copy, compute },
        buffer,
    };
    let prefilled = prefill::prefill(&job).map_err(|error| refused(&error))?;
    let Prefilled { logits, extra_bytes, buffer_bytes, groups, times, copied_bytes, .. } =
        prefilled;
    let (trace, setup) = (prefilled.trace, prefilled.setup);
    let PrefillTimes { duplicate, to_first_token, gemm, copy, copy_under_gemm, between, head } =
        times;
    let report = Report {
        model: weights.name.clone(),
        elements: image.elements,
        policy,
        prompt_tokens: prompt.len(),
        copy_threads,
        compute_threads,
        groups,
        buffers: policy.buffers(),
        buffer_bytes,
        weight_bytes: model.bytes(),
        extra_bytes,
        copied_bytes,
        duplicate_ms: ms(duplicate),
        ttft_ms: ms(to_first_token),
        gemm_ms: ms(gemm),
        copy_ms: ms(copy),
        copy_under_gemm_ms: ms(copy_under_gemm),
        copy_hidden_share: times.hidden_share(),
        between_ms: ms(between),
        head_ms: ms(head),
        next_token: largest(&logits),
        logits_sha256: sha256(&logits),
    };
    Ok((report, trace, setup))
}

/// What a prefill says, by the flag that it is about.
fn refused(error: &PrefillError) -> Failure {
    match error {
        PrefillError::Judged(_) => Failure::Check(error.to_string()),
        PrefillError::Prompt { .. } => Failure::Input(format!("--prompt: {error}")),
        PrefillError::Buffer { .. } => Failure::Input(format!("--buffer: {error}")),
        _ => Failure::Input(error.to_string()),
    }
}

/// The first of the largest logits.
fn largest(logits: &[f32]) -> usize {
    let better = |best: usize, next: usize| if logits[next] > logits[best] { next } else { best };
    (0..logits.len()).fold(0, better)
}

fn sha256(logits: &[f32]) -> String {
    let mut hash = Sha256::new();
    logits.iter().for_each(|logit| hash.update(logit.to_le_bytes()));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// For people.
fn page(report: &Report) -> Page {
    let Report { model, elements, prompt_tokens, buffers, buffer_bytes, .. } = report;
    let policy = match report.policy {
        PrefillPolicy::Duplicate => "duplicate: a copy of all weights".to_owned(),
        PrefillPolicy::Facil => "facil: the banks, in the host's order".to_owned(),
        PrefillPolicy::Ddb | PrefillPolicy::Owr => {
            let name = report.policy.name();
            format!("{name}: buffers {buffers} of {} bytes", grouped(*buffer_bytes))
        }
    };
    let title = format!(
        "prefill of {model} on the host, float32, weights in {}: {prompt_tokens} tokens\n{policy}; threads: copy {}, \
         compute {}\n\n",
        elements.name(),
        report.copy_threads,
        report.compute_threads
    );
    let bytes = output::table(
        &["weights, bytes", "beside the banks", "copied", "groups"],
        [vec![
            grouped(report.weight_bytes),
            grouped(report.extra_bytes),
            grouped(report.copied_bytes),
            grouped(report.groups as u64),
        ]],
    );
    let times = output::table(
        &[
            "TTFT ms",
            "GEMM ms",
            "copies ms",
            "under GEMM %",
            "between ms",
            "head ms",
            "made before ms",
        ],
        [vec![
            decimal(report.ttft_ms, 2),
            decimal(report.gemm_ms, 2),
            decimal(report.copy_ms, 2),
            decimal(100.0 * report.copy_hidden_share, 1),
            decimal(report.between_ms, 2),
            decimal(report.head_ms, 2),
            decimal(report.duplicate_ms, 2),
        ]],
    );
    let end =
        format!("\nnext token {}; logits: SHA-256 {}\n", report.next_token, report.logits_sha256);
    Page::from(title) + bytes + "\n" + times + end
}
