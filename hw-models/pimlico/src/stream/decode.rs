// SPDX-License-Identifier: MIT
//! `pimlico stream run`: text, decoded on the host while layers are streamed.

use super::picture::{self, Words};
use super::process;
use crate::failure::Failure;
use crate::files::{self, Output};
use crate::output::{self, FormatArguments, Page, decimal, grouped};
use crate::run::residency::{LOADERS, Mode};
use crate::run::source::{ModelArguments, Opened, failure};
use crate::schema::Kind;
use crate::values::{rate, size};
use clap::Args;
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_stream::agents::{self, Outcome};
use pimlico_stream::event::{Event, Signals};
use pimlico_stream::host::Decoder;
use pimlico_stream::planner::{Choice, Schedule};
use pimlico_stream::setup::{Residency, Setup, SetupError, mib};
use pimlico_stream::slots;
use pimlico_stream::source::Reading;
use pimlico_stream::text::Text;
use pimlico_stream::trace::Trace;
use pimlico_workload::judge::residency::Watch;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Tokens that are decoded, unless it is said.
const TOKENS: usize = 40;
/// Bytes that are left free below a limit: for stacks, and for code that the built-in model does not touch.
const MARGIN: u64 = 1 << 20;
/// Bytes of the model that are read to know the disk's rate, at the most.
const MOST_SEQUENTIAL: u64 = 1 << 30;
/// Bytes of a schedule's file, at the most.
const LARGEST_SCHEDULE: usize = 16 << 20;

/// Which text.
#[derive(Args, Clone)]
#[command(next_help_heading = "Text")]
pub struct TextArguments {
    /// Text to continue [default for the tiny model: "in a small town"]
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// Tokens to decode, at the most; each but the first is another pass through all layers
    #[arg(long, value_name = "N", default_value_t = TOKENS)]
    pub tokens: usize,
}

/// How layers are streamed.
#[derive(Args, Clone)]
#[command(next_help_heading = "Streaming")]
pub struct StreamArguments {
    /// Which layers are in memory
    #[arg(long, value_enum, default_value_t = Mode::Pipeload)]
    residency: Mode,
    /// Loading agents of pipeload [default: 2]
    #[arg(long, value_name = "M")]
    loaders: Option<usize>,
    /// Slots of pipeload beside those of pinned layers [default: one more than loaders, or as many as there is room for]
    #[arg(long, value_name = "N")]
    slots: Option<usize>,
    /// The first layers, which pipeload keeps in memory [default: 0]
    #[arg(long, value_name = "N")]
    pin: Option<usize>,
    /// Memory of the whole process, as 20M: K, M and G are powers of 1024
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_limit: Option<u64>,
    /// Stream the classifier as one more layer behind the others; with the embedding in it, rows of that are read one by one
    #[arg(long)]
    pub stream_head: bool,
    /// Loaders and slots for the limit, from a file that `stream plan` wrote
    #[arg(long, value_name = "FILE", conflicts_with_all = ["loaders", "slots"])]
    schedule: Option<PathBuf>,
    /// Bytes per second of each loader at the most, as 100M: k, M and G are powers of 1000
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub throttle: Option<f64>,
    /// Drop the file from the page cache before the run and what is read of it again, so that all comes from the disk
    #[arg(long)]
    pub cold: bool,
}

impl StreamArguments {
    /// One loader and one slot: nothing overlaps.
    pub fn in_turns(throttle: Option<f64>, cold: bool, stream_head: bool) -> Self {
        Self {
            stream_head,
            residency: Mode::Pipeload,
            loaders: Some(1),
            slots: Some(1),
            pin: None,
            memory_limit: None,
            schedule: None,
            throttle,
            cold,
        }
    }
}

/// Arguments of `pimlico stream run`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico stream run --tokens 20
  pimlico stream run --weights s.bin --tokenizer s.tok --loaders 2 --memory-limit 20M --check
  pimlico stream run --weights s.bin --tokenizer s.tok --residency pipeline --throttle 100M --tokens 1")]
pub struct StreamRunArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    text: TextArguments,
    #[command(flatten)]
    stream: StreamArguments,
    /// Write what agents did and when: a picture if the name ends in .svg, else JSON
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Compare the logits with those of --residency whole, and the text with that in float64, in another process
    #[arg(long)]
    check: bool,
    /// Also decode in float64 in this process, with --residency whole, and compare
    #[arg(long, conflicts_with_all = ["memory_limit", "check"])]
    reference: bool,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `stream run --json` prints.
#[derive(Serialize)]
pub struct RunReport {
    pub model: String,
    engine: &'static str,
    shape: CheckpointShape,
    residency: &'static str,
    loaders: usize,
    slots: usize,
    pinned: usize,
    stream_head: bool,
    schedule: Option<String>,
    prompt_tokens: usize,
    decoded_tokens: Vec<usize>,
    text: String,
    pub passes: usize,
    loads: usize,
    layers_unused: usize,
    limit_bytes: Option<u64>,
    fixed_bytes: u64,
    slot_bytes: u64,
    peak_slot_bytes: u64,
    peak_rss_bytes: u64,
    bytes_read: u64,
    wall_ms: f64,
    load_ms: f64,
    compute_ms: f64,
    stall_ms: f64,
    stall_share: f64,
    /// With `--cold`, unless loaders are slowed down.
    disk: Option<Disk>,
    signals: Signals,
    logits_sha256: String,
    check: Option<Check>,
}

/// The file read once from one end to the other, by one `pread` after the other and from the disk.
#[derive(Serialize)]
struct Disk {
    bytes: u64,
    ms: f64,
    bytes_per_s: f64,
    /// Beside it: bytes of all loads of the run over its time.
    loads_bytes_per_s: f64,
}

/// What a comparison found.
#[derive(Serialize)]
struct Check {
    /// SHA-256 of the logits of `--residency whole`.
    logits_sha256: String,
    /// Choices of tokens.
    compared: u64,
    /// Of these, those that float64 makes too, after the same tokens.
    equal: u64,
    /// The largest difference of a logit.
    max_logit_error: f64,
}

/// A run that has ended.
pub struct Ran {
    pub report: RunReport,
    pub setup: Setup,
    pub trace: Option<Trace>,
    /// Of each choice its logits, if they are kept.
    logits: Vec<Vec<f32>>,
    /// Tokens of the prompt and those that were decoded.
    tokens: Vec<usize>,
}

impl Ran {
    /// Bytes of all loads, and ms that they took.
    pub fn layer_loads(&self) -> (u64, f64) {
        let bytes = (0..self.report.loads).map(|load| self.setup.layers[self.setup.load(load).1]);
        (bytes.sum(), self.report.load_ms)
    }
}

/// What a run keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    pub trace: bool,
    pub logits: bool,
}

/// Runs the command.
pub fn run(arguments: &StreamRunArguments) -> Result<(), Failure> {
    let StreamRunArguments { model, text, stream, trace, check, reference, format } = arguments;
    let open = |file| Ok::<_, Failure>((file, Output::beside_report(file)?));
    let trace = trace.as_deref().map(open).transpose()?;
    if *reference && stream.residency != Mode::Whole {
        return Err(Failure::Input("--reference: it goes with --residency whole".to_owned()));
    }
    let keep = Keep { trace: trace.is_some(), logits: *reference };
    let mut ran = stream_text(model, text, stream, keep)?;
    if *check {
        ran.report.check = Some(checked(model, text)?);
    }
    if *reference {
        ran.report.check = Some(referred(model, &ran)?);
    }
    if let (Some((file, output)), Some(trace)) = (trace, &ran.trace) {
        write_trace(file, output, trace, &ran)?;
    }
    let Ran { report, .. } = &ran;
    output::report(*format, (Kind::StreamRun, report), &page(report))?;
    match (&report.check, report.limit_bytes) {
        (Some(check), _) if check.logits_sha256 != report.logits_sha256 => {
            let (here, there) = (&report.logits_sha256, &check.logits_sha256);
            Err(Failure::Check(format!(
                "logits {here} are not those of --residency whole, {there}"
            )))
        }
        (_, Some(limit)) if report.peak_rss_bytes > limit => {
            let (peak, limit) = (mib(report.peak_rss_bytes), mib(limit));
            Err(Failure::Check(format!("the process took {peak}, above the limit of {limit}")))
        }
        _ => Ok(()),
    }
}

/// Decodes a text while layers are streamed.
pub fn stream_text(
    model: &ModelArguments,
    text: &TextArguments,
    stream: &StreamArguments,
    keep: Keep,
) -> Result<Ran, Failure> {
    // What reading the command line took goes. What streaming takes comes with the built-in model, and is counted from
    // the beginning.
    process::one_heap();
    process::drop_code();
    let built_in = ModelArguments::of([&None; 4]);
    let two = TextArguments { prompt: None, tokens: 2 };
    let in_turns = StreamArguments::in_turns(None, false, false);
    streamed(&built_in, &two, &in_turns, Keep { trace: false, logits: false })?;
    process::one_heap();
    streamed(model, text, stream, keep)
}

fn streamed(
    model: &ModelArguments,
    text: &TextArguments,
    stream: &StreamArguments,
    keep: Keep,
) -> Result<Ran, Failure> {
    let StreamArguments { throttle, cold, memory_limit, stream_head, .. } = *stream;
    let Opened { name, source, tokenizer, prompt } = model.open(Reading { throttle, cold })?;
    let source = if stream_head { source.with_head_streamed() } else { source };
    let shape = source.places().shape;
    let prompt = text.prompt.as_deref().unwrap_or(prompt);
    let prompt = tokenizer.encode(prompt).map_err(failure)?;
    let tokens = prompt.len().saturating_add(text.tokens);
    if text.tokens == 0 || tokens > shape.context {
        let (prompt, wanted, limit) = (prompt.len(), text.tokens, shape.context);
        return Err(Failure::Input(format!(
            "{prompt} tokens of the prompt and {wanted} to decode: expected 1 or more to decode and {limit} in all"
        )));
    }
    let layers = source.slot_bytes();
    let largest = layers.iter().copied().max().unwrap_or(0);
    let choice = choice(stream, &layers)?;
    let mut setup = Setup {
        layers,
        passes: text.tokens,
        fixed: 0,
        limit: memory_limit,
        residency: residency(stream, choice, source.slot_bytes().len())?,
    };
    // Before anything of the model is read: what is there alone may be above the limit.
    let beside =
        Decoder::bytes_beside(&shape, tokens, prompt.len()) + MARGIN + of_trace(&setup, keep);
    setup.fixed = process::resident()? + source.fixed_bytes() + beside;
    setup.check().map_err(|error| refused(&error))?;
    let so_far = process::peak()?;
    if let Some(limit) = memory_limit.filter(|limit| so_far > *limit) {
        let (limit, so_far) = (mib(limit), mib(so_far));
        let message = format!(
            "--memory-limit: memory limit {limit}: the process took {so_far} as it started"
        );
        return Err(Failure::Input(message));
    }
    let decoder = Decoder::new(&source, tokens).map_err(failure)?;
    setup.fixed = process::resident()? + beside;
    setup.within_room(stream.slots.is_some());
    setup.check().map_err(|error| refused(&error))?;

    let slots = slots::slots(setup.slots(), largest);
    let slots = slots.map_err(|error| Failure::Input(format!("memory for layers: {error}")))?;
    let (mut hash, mut kept) = (Sha256::new(), Vec::new());
    let mut see_logits = |logits: &[f32]| {
        logits.iter().for_each(|logit| hash.update(logit.to_le_bytes()));
        if keep.logits {
            kept.push(logits.to_vec());
        }
    };
    let wanted = (text.tokens, tokenizer.ends());
    let growing = Text::new((&source, decoder), prompt, wanted, &mut see_logits);
    let mut growing = growing.map_err(failure)?;
    let mut watch = Watch::new(&setup);
    let mut events = Vec::with_capacity(if keep.trace { most_events(&setup) } else { 0 });
    let mut observe = |event: Event| {
        watch.see(event);
        if keep.trace {
            events.push(event);
        }
    };
    let outcome = agents::run(&setup, &slots, &source, &mut growing, &mut observe);
    let outcome = outcome.map_err(failure)?;
    source.check_unchanged().map_err(failure)?;
    let (of_prompt, decoded) = growing.tokens();
    let (prompt_tokens, decoded_tokens) = (of_prompt.len(), decoded.to_vec());
    let all = [of_prompt, decoded].concat();
    drop(growing);
    let peak_rss_bytes = process::peak()?;
    drop(slots);

    let account = watch.finish();
    let account =
        account.map_err(|breach| Failure::Check(format!("the run's events: {breach}")))?;
    let Outcome { signals, peak_bytes, loads, passes, wall, load, compute, stall } = outcome;
    let of_loads: u64 = (0..loads).map(|load| source.layer_bytes(setup.load(load).1)).sum();
    // Tokens that were taken: those of the prompt and, for each further pass, one.
    let of_tokens = (prompt_tokens + passes - 1) as u64 * source.token_bytes();
    let expected = source.fixed_bytes() + of_loads + of_tokens;
    let bytes_read = source.bytes_read();
    if bytes_read != expected {
        let message =
            format!("{bytes_read} bytes were read, {expected} are those of {loads} loads");
        return Err(Failure::Check(message));
    }
    let disk = (cold && throttle.is_none()).then(|| source.sequential(MOST_SEQUENTIAL));
    let disk = disk.transpose().map_err(failure)?.flatten();
    let pinned = match setup.residency {
        Residency::Pipeload { pinned, .. } => pinned,
        _ => 0,
    };
    let report = RunReport {
        model: name,
        engine: "host",
        shape,
        residency: setup.residency.name(),
        loaders: setup.loaders(),
        slots: setup.slots(),
        pinned,
        stream_head,
        schedule: stream.schedule.as_ref().map(|file| file.display().to_string()),
        prompt_tokens,
        text: tokenizer.decode(&all),
        decoded_tokens,
        passes,
        loads,
        layers_unused: account.in_vain,
        limit_bytes: setup.limit,
        fixed_bytes: setup.fixed,
        slot_bytes: largest,
        peak_slot_bytes: peak_bytes,
        peak_rss_bytes,
        bytes_read,
        wall_ms: ms(wall),
        load_ms: ms(load),
        compute_ms: ms(compute),
        stall_ms: ms(stall),
        stall_share: stall.as_secs_f64() / (stall + compute).as_secs_f64().max(1e-9),
        disk: disk.map(|read| Disk {
            bytes: read.bytes,
            ms: ms(read.time),
            bytes_per_s: read.rate(),
            loads_bytes_per_s: of_loads as f64 / wall.as_secs_f64().max(1e-9),
        }),
        signals,
        logits_sha256: hex(&hash.finalize()),
        check: None,
    };
    let trace = keep.trace.then(|| Trace::new(events));
    Ok(Ran { report, setup, trace, logits: kept, tokens: all })
}

/// Loaders and slots that a schedule says.
fn choice(stream: &StreamArguments, layers: &[u64]) -> Result<Option<Choice>, Failure> {
    let Some(file) = &stream.schedule else { return Ok(None) };
    let wrong = |what: String| Failure::Input(format!("{}: {what}", file.display()));
    let text = files::read(file, LARGEST_SCHEDULE)?;
    let document: Value = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
    let schedule = document.get("schedule").cloned().unwrap_or(document);
    let schedule: Schedule =
        serde_json::from_value(schedule).map_err(|e| wrong(format!("no schedule: {e}")))?;
    let found = schedule.find(layers, stream.memory_limit);
    found.map(Some).map_err(|error| wrong(error.to_string()))
}

/// What the flags ask for.
fn residency(
    stream: &StreamArguments,
    choice: Option<Choice>,
    layers: usize,
) -> Result<Residency, Failure> {
    let StreamArguments { residency, loaders, slots, pin, schedule, .. } = stream;
    let of_pipeload = [
        ("--loaders", loaders.is_some()),
        ("--slots", slots.is_some()),
        ("--pin", pin.is_some()),
        ("--schedule", schedule.is_some()),
    ];
    if let Some((flag, _)) = of_pipeload.into_iter().find(|(_, is_given)| *is_given)
        && *residency != Mode::Pipeload
    {
        return Err(Failure::Input(format!("{flag}: it goes with --residency pipeload")));
    }
    Ok(match residency {
        Mode::Whole => Residency::Whole,
        Mode::Pipeline => Residency::Pipeline,
        Mode::Pipeload => {
            let loaders = loaders.unwrap_or(LOADERS.min(layers));
            let slots = slots.unwrap_or(loaders.saturating_add(1));
            let Choice { loaders, slots } = choice.unwrap_or(Choice { loaders, slots });
            Residency::Pipeload { loaders, slots, pinned: pin.unwrap_or(0) }
        }
    })
}

/// A setup that cannot run, by the flag that says so.
fn refused(error: &SetupError) -> Failure {
    let flag = match error {
        SetupError::Loaders { .. } => "--loaders: ",
        SetupError::Slots => "--slots: ",
        SetupError::Pinned { .. } => "--pin: ",
        SetupError::Limit { .. } => "--memory-limit: ",
        SetupError::Empty { .. } => "",
    };
    Failure::Input(format!("{flag}{error}"))
}

/// Events of a run, at the most.
fn most_events(setup: &Setup) -> usize {
    7 * setup.loads() + 2 * setup.passes * setup.layers.len() + 2
}

/// Bytes that keeping them takes.
fn of_trace(setup: &Setup, keep: Keep) -> u64 {
    if keep.trace { (most_events(setup) * size_of::<Event>()) as u64 } else { 0 }
}

/// Runs the same with all layers in memory and float64 beside it, in another process.
fn checked(model: &ModelArguments, text: &TextArguments) -> Result<Check, Failure> {
    let mut words: Vec<OsString> = ["stream", "run"].map(Into::into).to_vec();
    words.extend(model.words());
    if let Some(prompt) = &text.prompt {
        words.extend(["--prompt".into(), prompt.into()]);
    }
    words.extend(["--tokens".into(), text.tokens.to_string().into()]);
    words.extend(["--residency", "whole", "--reference"].map(Into::into));
    let document = process::document(words)?;
    let check = &document["check"];
    let number = |key: &str| check[key].as_u64().unwrap_or(0);
    let hash = document["logits_sha256"].as_str().unwrap_or_default();
    Ok(Check {
        logits_sha256: hash.to_owned(),
        compared: number("compared"),
        equal: number("equal"),
        max_logit_error: check["max_logit_error"].as_f64().unwrap_or(f64::NAN),
    })
}

/// Decodes in float64 after the same tokens.
fn referred(model: &ModelArguments, ran: &Ran) -> Result<Check, Failure> {
    use pimlico_golden::llama::{Past, largest};
    let reference = model.reference()?;
    let mut past = Past::default();
    let prompt = ran.report.prompt_tokens;
    let (mut equal, mut max_logit_error) = (0, 0f64);
    for (position, token) in ran.tokens.iter().enumerate() {
        let expected = reference.step(&mut past, *token);
        let Some(choice) = (position + 1).checked_sub(prompt) else { continue };
        let Some(logits) = ran.logits.get(choice) else { break };
        let logits: Vec<f64> = logits.iter().map(|&logit| logit.into()).collect();
        equal += u64::from(largest(&logits) == largest(&expected));
        for (logit, expected) in logits.iter().zip(&expected) {
            max_logit_error = max_logit_error.max((logit - expected).abs());
        }
    }
    let compared = ran.logits.len() as u64;
    let logits_sha256 = ran.report.logits_sha256.clone();
    Ok(Check { logits_sha256, compared, equal, max_logit_error })
}

/// Writes what agents did.
fn write_trace(file: &Path, output: Output, trace: &Trace, ran: &Ran) -> Result<(), Failure> {
    if file.extension().is_some_and(|extension| extension == "svg") {
        let words = Words::of_stream(&ran.setup);
        return picture::write(output, trace, &ran.setup, &words);
    }
    let text = serde_json::to_string_pretty(trace).expect("plain data");
    output.write(format!("{text}\n").as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// For people.
fn page(report: &RunReport) -> Page {
    let RunReport { model, shape, residency, loaders, slots, pinned, slot_bytes, .. } = report;
    let pins = if *pinned > 0 { format!(", {pinned} pinned") } else { String::new() };
    let (head, of) = match report.stream_head {
        true => (" and the head", "at most "),
        false => ("", ""),
    };
    let title = format!(
        "text by {model} on the host, float32: {} layers{head} of {of}{}, streamed: {residency}, loaders {loaders}, \
         slots {slots}{pins}\n\n{}\n\n",
        shape.layers,
        mib(*slot_bytes),
        report.text
    );
    let counts = output::table(
        &["prompt", "decoded", "passes", "loads", "unused", "bytes read", "stop", "go"],
        [vec![
            grouped(report.prompt_tokens as u64),
            grouped(report.decoded_tokens.len() as u64),
            grouped(report.passes as u64),
            grouped(report.loads as u64),
            grouped(report.layers_unused as u64),
            grouped(report.bytes_read),
            grouped(report.signals.stop),
            grouped(report.signals.go),
        ]],
    );
    let times = output::table(
        &["wall ms", "loading ms", "computing ms", "stalled ms", "stalled %"],
        [vec![
            decimal(report.wall_ms, 1),
            decimal(report.load_ms, 1),
            decimal(report.compute_ms, 1),
            decimal(report.stall_ms, 1),
            decimal(100.0 * report.stall_share, 1),
        ]],
    );
    let memory = output::table(
        &["limit", "fixed", "layers at most", "process at most"],
        [vec![
            report.limit_bytes.map_or_else(|| "none".to_owned(), mib),
            mib(report.fixed_bytes),
            mib(report.peak_slot_bytes),
            mib(report.peak_rss_bytes),
        ]],
    );
    let mut end = String::new();
    if let Some(Disk { bytes, bytes_per_s, loads_bytes_per_s, .. }) = &report.disk {
        end += &format!(
            "\nthe disk alone: {} bytes one after the other at {} MB/s; the run's loads came at {} MB/s\n",
            grouped(*bytes),
            decimal(bytes_per_s / 1e6, 1),
            decimal(loads_bytes_per_s / 1e6, 1)
        );
    }
    end += &format!("\nlogits: SHA-256 {}\n", report.logits_sha256);
    if let Some(Check { logits_sha256, compared, equal, max_logit_error }) = &report.check {
        let same = if *logits_sha256 == report.logits_sha256 { "the same" } else { "others" };
        end += &format!(
            "with all layers in memory: {same}; {equal} of {compared} choices are those of float64, logits off by \
             {max_logit_error:.2e} at the most\n"
        );
    }
    Page::from(title) + counts + "\n" + times + "\n" + memory + end
}
