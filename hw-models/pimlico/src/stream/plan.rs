// SPDX-License-Identifier: MIT
//! `pimlico stream plan`: loaders and slots for limits of memory. It is the Pipeline Planner of Hermes (section IV).
//!
//! Every run is a process of its own: so its memory is that of one run, and what the page cache and the allocator hold
//! is no other run's.

use super::decode::TextArguments;
use super::process;
use crate::failure::Failure;
use crate::output::{self, FormatArguments, Page, decimal};
use crate::run::source::ModelArguments;
use crate::schema::Kind;
use crate::values::{rate, size};
use clap::Args;
use pimlico_stream::planner::{self, Choice, Entry, Profile, Schedule};
use pimlico_stream::setup::{Residency, SetupError, mib};
use serde::Serialize;
use serde_json::Value;
use std::ffi::OsString;

/// Arguments of `pimlico stream plan`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico stream plan --limits 16M,20M --tokens 4
  pimlico stream plan --weights s.bin --tokenizer s.tok --limits 16M,20M,48M --measure --json > s.schedule")]
pub struct PlanArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    text: TextArguments,
    /// Memory of the whole process, as 20M: K, M and G are powers of 1024
    #[arg(long, value_name = "SIZE", value_parser = size, value_delimiter = ',', required = true)]
    limits: Vec<u64>,
    /// Run every number of loaders, and each choice within its limit; without it times are those of a simulation
    #[arg(long)]
    measure: bool,
    /// Bytes per second of each loader at the most, as 100M: k, M and G are powers of 1000
    #[arg(long, value_name = "RATE", value_parser = rate)]
    throttle: Option<f64>,
    /// Drop the file from the page cache before each run and what is read of it again, so that all comes from the disk
    #[arg(long)]
    cold: bool,
    /// Stream the classifier as one more layer behind the others
    #[arg(long)]
    stream_head: bool,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `stream plan --json` prints; `stream run --schedule` takes it.
#[derive(Serialize)]
struct Report {
    model: String,
    passes: usize,
    measured: bool,
    profile: Profile,
    schedule: Schedule,
    no_room: Vec<NoRoom>,
}

/// A limit within which the model does not run.
#[derive(Serialize)]
struct NoRoom {
    limit_bytes: u64,
    /// What it takes at the least, with one loader and one slot.
    needs_bytes: u64,
}

/// Runs the command.
pub fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let document = process::document(arguments.words("profile", &[]))?;
    let profile: Profile = serde_json::from_value(document["profile"].clone())
        .map_err(|error| Failure::Check(format!("what stream profile prints: {error}")))?;
    let passes = arguments.text.tokens;
    let mut limits = arguments.limits.clone();
    limits.sort_unstable();
    limits.dedup();
    let setup = profile.setup(passes, None, Residency::Whole);
    let mut times: Vec<(Choice, f64)> = Vec::new();
    let (mut entries, mut no_room) = (Vec::new(), Vec::new());
    let most_bytes = limits.last().copied();
    for limit_bytes in limits {
        let candidates = planner::candidates(&setup, limit_bytes, 1);
        if candidates.is_empty() {
            let one = Choice { loaders: 1, slots: 1 }.residency(0);
            let error = profile.setup(passes, Some(limit_bytes), one).check().err();
            match error {
                // With more memory there may be room: then this is what it takes.
                Some(SetupError::Limit { fixed, layers, .. })
                    if most_bytes != Some(limit_bytes) =>
                {
                    no_room.push(NoRoom { limit_bytes, needs_bytes: fixed.saturating_add(layers) });
                    continue;
                }
                error => {
                    let error = error.map_or_else(String::new, |error| error.to_string());
                    return Err(Failure::Input(format!("--limits: {error}")));
                }
            }
        }
        let time = |choice: &Choice| {
            if let Some((_, ms)) = times.iter().find(|(of, _)| of == choice) {
                return Ok(*ms);
            }
            let ms = match arguments.measure {
                true => arguments.measured(choice, None)?.0,
                false => profile
                    .predicted_ms(passes, choice)
                    .map_err(|e| Failure::Input(e.to_string()))?,
            };
            times.push((*choice, ms));
            Ok::<_, Failure>(ms)
        };
        let (choice, _) = planner::best(&candidates, time)?;
        let predicted_ms =
            profile.predicted_ms(passes, &choice).map_err(|e| Failure::Input(e.to_string()))?;
        let measured = match arguments.measure {
            true => Some(arguments.measured(&choice, Some(limit_bytes))?),
            false => None,
        };
        entries.push(Entry {
            limit_bytes,
            choice,
            predicted_ms,
            measured_ms: measured.map(|(ms, _)| ms),
            measured_peak_bytes: measured.map(|(_, peak)| peak),
        });
    }
    let report = Report {
        model: document["model"].as_str().unwrap_or_default().to_owned(),
        passes,
        measured: arguments.measure,
        schedule: Schedule { layer_bytes: setup.layers, entries },
        no_room,
        profile,
    };
    output::report(arguments.format, (Kind::StreamPlan, &report), &page(&report))
}

impl PlanArguments {
    /// The words of another process.
    fn words(&self, action: &str, more: &[String]) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["stream", action].map(Into::into).to_vec();
        words.extend(self.model.words());
        if let Some(prompt) = &self.text.prompt {
            words.extend(["--prompt".into(), prompt.into()]);
        }
        words.extend(["--tokens".into(), self.text.tokens.to_string().into()]);
        if let Some(rate) = self.throttle {
            words.extend(["--throttle".into(), format!("{}k", rate / 1e3).into()]);
        }
        words.extend(self.cold.then(|| "--cold".into()));
        words.extend(self.stream_head.then(|| "--stream-head".into()));
        words.extend(more.iter().map(Into::into));
        words
    }

    /// ms and the most bytes of a run.
    fn measured(&self, choice: &Choice, limit: Option<u64>) -> Result<(f64, u64), Failure> {
        let Choice { loaders, slots } = choice;
        let mut more = vec![format!("--loaders={loaders}"), format!("--slots={slots}")];
        more.extend(limit.map(|limit| format!("--memory-limit={}K", limit >> 10)));
        let document: Value = process::document(self.words("run", &more))?;
        let ms = document["wall_ms"].as_f64();
        let peak = document["peak_rss_bytes"].as_u64();
        let found = ms.zip(peak);
        found.ok_or_else(|| Failure::Check("stream run prints no times".to_owned()))
    }
}

fn page(report: &Report) -> Page {
    let Report { model, passes, profile, schedule, no_room, .. } = report;
    let title = format!(
        "{model}, {passes} passes: {} layers of {} at most, {} beside them\n\n",
        profile.layers.len(),
        mib(schedule.layer_bytes.iter().copied().max().unwrap_or(0)),
        mib(profile.fixed_bytes)
    );
    let row = |entry: &Entry| {
        let Entry { limit_bytes, choice, predicted_ms, measured_ms, measured_peak_bytes } = entry;
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        vec![
            mib(*limit_bytes),
            choice.loaders.to_string(),
            choice.slots.to_string(),
            decimal(*predicted_ms, 1),
            or_none(measured_ms.map(|ms| decimal(ms, 1))),
            or_none(measured_peak_bytes.map(mib)),
        ]
    };
    let heads = ["limit", "loaders", "slots", "simulated ms", "measured ms", "process at most"];
    let table = output::table(&heads, schedule.entries.iter().map(row));
    let mut notes = String::new();
    for NoRoom { limit_bytes, needs_bytes } in no_room {
        notes += &format!(
            "{}: no room, it takes {} at the least\n",
            mib(*limit_bytes),
            mib(*needs_bytes)
        );
    }
    Page::from(title) + table + notes
}
