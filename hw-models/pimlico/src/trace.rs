// SPDX-License-Identifier: MIT
//! `pimlico trace`: requests of a trace, made, shown or converted; and the flags by which other commands take them.

use crate::failure::Failure;
use crate::files::{self, Output};
use crate::output::{self, FormatArguments, Page, decimal, grouped};
use crate::schema::Kind;
use clap::{Args, Subcommand};
use pimlico_serving::time::seconds;
use pimlico_serving::trace::read::read;
use pimlico_serving::trace::write::written;
use pimlico_serving::trace::{Moments, Request, Trace, synthetic};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Bytes of a trace's file, at the most.
const LARGEST_FILE: usize = 1 << 29;
/// Requests that are made unless it is said how many.
const REQUESTS: usize = 1000;
/// Requests that are made, at the most.
const MOST_REQUESTS: u64 = 10_000_000;

/// Which requests.
#[derive(Args)]
pub struct TraceArguments {
    /// The requests: a file, or made with the lengths of openr1, openr1-single, dolphin, openthoughts, longbench, sharegpt,
    /// alpaca, qmsum, hotpotqa or musique
    #[arg(long, default_value = "longbench", value_name = "FILE|NAME")]
    trace: String,
    /// How many requests are made [default: 1000], or taken of a file [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_REQUESTS))]
    requests: Option<u64>,
    /// Seed of requests that are made, and of --rate
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
}

impl TraceArguments {
    /// The requests, and their seed.
    pub fn trace(&self) -> Result<(Trace, u64), Failure> {
        let Self { trace, seed, .. } = self;
        let requests = self.requests.map(|requests| requests as usize);
        if let Some(made) = synthetic::make(trace, requests.unwrap_or(REQUESTS), *seed) {
            return Ok((made, *seed));
        }
        let file = Path::new(trace);
        if !file.exists() {
            let names = synthetic::names().collect::<Vec<_>>().join(", ");
            let message = format!("--trace {trace}: no such file, and none of {names}");
            return Err(Failure::Input(message));
        }
        let bytes = files::read(file, LARGEST_FILE)?;
        let text =
            String::from_utf8(bytes).map_err(|_| Failure::Input(format!("{trace}: not UTF-8")))?;
        let name = file
            .file_stem()
            .map_or_else(|| trace.clone(), |stem| stem.to_string_lossy().into_owned());
        let trace = read(&name, trace, &text)?;
        Ok((trace.first(requests.unwrap_or(usize::MAX)), *seed))
    }
}

/// Arguments of `pimlico trace`.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct TraceCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make requests with the lengths of a data set and write them, in Vidur's format
    #[command(
        after_help = "Example:\n  pimlico trace make --trace openr1 --requests 100 -o openr1.csv"
    )]
    Make(WriteArguments),
    /// Show the moments of a trace
    #[command(after_help = "Example:\n  pimlico trace show --trace dolphin --requests 1000")]
    Show {
        #[command(flatten)]
        trace: TraceArguments,
        #[command(flatten)]
        format: FormatArguments,
    },
    /// Write a trace of another format in Vidur's
    #[command(after_help = "Example:\n  pimlico trace convert --trace azure.csv -o vidur.csv")]
    Convert(WriteArguments),
}

#[derive(Args)]
struct WriteArguments {
    #[command(flatten)]
    trace: TraceArguments,
    /// The file
    #[arg(short, long, value_name = "FILE.csv")]
    output: PathBuf,
}

/// What `trace show --json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    trace: &'a str,
    #[serde(flatten)]
    moments: Moments,
    input_max: u64,
    output_max: u64,
    seconds: f64,
}

/// Runs the command.
pub fn run(command: &TraceCommand) -> Result<(), Failure> {
    match &command.action {
        Action::Make(arguments) | Action::Convert(arguments) => {
            let output = Output::open(&arguments.output)?;
            let (trace, _) = arguments.trace.trace()?;
            let to_stdout = output.is_stdout();
            output.write(written(&trace).as_bytes())?;
            let what = format!("{} requests", grouped(trace.requests.len() as u64));
            output::tell_written(&arguments.output, to_stdout, &what)
        }
        Action::Show { trace, format } => {
            let (trace, _) = trace.trace()?;
            let most = |of: fn(&Request) -> u64| trace.requests.iter().map(of).max().unwrap_or(0);
            let last = trace.requests.last().map_or(0, |request| request.arrival_ps);
            let shown = Shown {
                trace: &trace.name,
                moments: trace.moments(),
                input_max: most(|request| request.input),
                output_max: most(|request| request.output),
                seconds: seconds(last),
            };
            output::report(*format, (Kind::Trace, &shown), &page(&shown))
        }
    }
}

fn page(shown: &Shown<'_>) -> Page {
    let Shown { trace, moments, input_max, output_max, seconds } = shown;
    let title = format!(
        "{trace}: {} requests in {} s\n\n",
        grouped(moments.requests as u64),
        decimal(*seconds, 3)
    );
    let row = |name: &str, mean: f64, std: f64, most: u64| {
        vec![name.to_owned(), decimal(mean, 1), decimal(std, 1), grouped(most)]
    };
    let rows = [
        row("in", moments.input_mean, moments.input_std, *input_max),
        row("out", moments.output_mean, moments.output_std, *output_max),
    ];
    Page::from(title) + output::table(&["tokens", "mean", "deviation", "most"], rows)
}
