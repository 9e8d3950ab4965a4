// SPDX-License-Identifier: MIT
//! What the commands print.

pub mod drawing;
mod page;
mod table;

pub use page::{FormatArguments, Page};
pub use table::{Table, table};

use crate::failure::Failure;
use crate::plain::{message, plain, plain_json};
use crate::schema::Kind;
use crate::stdout;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use page::Format;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// The seed that the command took, if it takes one.
static SEED: OnceLock<Option<u64>> = OnceLock::new();

/// What a document says of the command that made it.
#[derive(Serialize)]
struct Origin {
    version: &'static str,
    /// Kind of the document and version of its schema.
    schema: String,
    /// The words of the command as given, but for the folder of the program and for where its pieces are.
    argv: Vec<String>,
    seed: Option<u64>,
    /// Of the RTL that is built in.
    rtl_sha256: String,
}

/// A document, and before it what made it.
#[derive(Serialize)]
struct Document<'a, T> {
    pimlico: Origin,
    #[serde(flatten)]
    document: &'a T,
}

impl Origin {
    fn of(kind: Kind) -> Self {
        let words = without_pieces(std::env::args_os().skip(1));
        let words = words.iter().map(|word| word.to_string_lossy().into_owned());
        Self {
            version: env!("CARGO_PKG_VERSION"),
            schema: kind.id(),
            argv: std::iter::once("pimlico".to_owned()).chain(words).collect(),
            seed: SEED.get().copied().flatten(),
            rtl_sha256: pimlico_estimate::rtl::sha256(),
        }
    }
}

/// The words of the command as given, without the program and without those that say where its pieces are.
pub fn words() -> Result<Vec<String>, Failure> {
    let word = |word: OsString| {
        word.into_string().map_err(|word| {
            Failure::Input(format!("{}: expected UTF-8 in a line of --jobs", word.display()))
        })
    };
    without_pieces(std::env::args_os().skip(1)).into_iter().map(word).collect()
}

/// Words without the flags that say what becomes of pieces, and their values.
fn without_pieces(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const FLAGS: [&str; 2] = ["--jobs", "--gather"];
    let mut left = Vec::new();
    let mut words = words;
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let has_value = |flag: &str| text.strip_prefix(flag).is_some_and(|v| v.starts_with('='));
        if FLAGS.contains(&&*text) {
            words.next();
        } else if !FLAGS.into_iter().any(has_value) {
            left.push(word);
        }
    }
    left
}

/// Keeps the seed for documents; told once, before anything is printed.
pub fn invoked(seed: Option<u64>) {
    let _ = SEED.set(seed);
}

/// Prints to standard output, with control characters escaped. A reader that has gone away is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    stdout::write(plain(text).as_bytes()).map_err(|error| unwritten(&error))
}

/// Prints a message to standard error, with control characters escaped and long words cut.
pub fn complain(text: &str) {
    eprintln!("pimlico: {}", message(text));
}

/// What clap has to say on standard output: help, or the version.
pub fn print_help(help: &clap::Error) -> Result<(), Failure> {
    stdout::read_or_gone(help.print().and_then(|()| io::stdout().flush()))
        .map_err(|error| unwritten(&error))
}

/// Tells what was written to a file: on standard error where the file itself goes to standard output.
pub fn tell_written(file: &Path, to_stdout: bool, what: &str) -> Result<(), Failure> {
    if to_stdout {
        eprintln!("pimlico: {what}");
        return Ok(());
    }
    print(&format!("{}: {what}\n", file.display()))
}

fn unwritten(error: &io::Error) -> Failure {
    Failure::Input(format!("standard output: {error}"))
}

/// Prints one JSON document, an object: what made it comes first.
pub fn print_json(kind: Kind, document: &impl Serialize) -> Result<(), Failure> {
    let document = Document { pimlico: Origin::of(kind), document };
    let text = serde_json::to_string_pretty(&document).expect("reports are plain data");
    stdout::write(plain_json(&format!("{text}\n")).as_bytes()).map_err(|error| unwritten(&error))
}

/// Prints a report, as one document or for people.
pub fn report(
    format: FormatArguments,
    (kind, document): (Kind, &impl Serialize),
    page: &Page,
) -> Result<(), Failure> {
    let page = format.of(page)?;
    match format.format() {
        Format::Json => print_json(kind, document),
        Format::Text => print(&page.text()),
        Format::Md => print(&page.markdown()),
        Format::Csv => print(&page.separated()),
    }
}

/// A progress bar on standard error, if that is a terminal, from the first second on.
pub fn progress(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {percent}% {elapsed}{rate}{left}");
    // Before the first step neither is known.
    let rate = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let _ =
            if state.pos() > 0 { write!(to, ", {}", per_second(state.per_sec())) } else { Ok(()) };
    };
    let left = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let eta = HumanDuration(state.eta());
        let _ = if state.pos() > 0 { write!(to, ", {eta:#} left") } else { Ok(()) };
    };
    bar.set_style(style.expect("a valid template").with_key("rate", rate).with_key("left", left));
    bar.set_message(what.to_owned());
    let shown = bar.downgrade();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        if let Some(bar) = shown.upgrade().filter(|bar| !bar.is_finished()) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            // A step may take minutes: the time goes on.
            bar.enable_steady_tick(Duration::from_secs(1));
        }
    });
    bar
}

/// Steps in a second, with three digits.
fn per_second(rate: f64) -> String {
    let (scaled, prefix) = match rate {
        1e9.. => (rate / 1e9, "G"),
        1e6.. => (rate / 1e6, "M"),
        1e3.. => (rate / 1e3, "k"),
        _ => (rate, ""),
    };
    let digits = if scaled < 10.0 { 2 } else { usize::from(scaled < 100.0) };
    format!("{scaled:.digits$}{}{prefix}/s", if prefix.is_empty() { "" } else { " " })
}

/// A number as people give it: whole ones without a point, very small and large ones with an exponent.
pub fn as_given(number: f64) -> String {
    let text = format!("{number:?}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// `1234567` as `1 234 567`.
pub fn grouped(number: u64) -> String {
    in_threes(&number.to_string())
}

/// `1234567.89` with one digit behind the point as `1 234 567.9`.
pub fn decimal(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    let whole = text.split('.').next().unwrap_or_default();
    let (sign, whole) = whole.split_at(whole.len() - whole.trim_start_matches('-').len());
    match whole.bytes().all(|c| c.is_ascii_digit()) {
        true => format!("{sign}{}{}", in_threes(whole), &text[sign.len() + whole.len()..]),
        false => text,
    }
}

/// Digits in groups of three.
fn in_threes(digits: &str) -> String {
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{decimal, grouped, per_second, without_pieces};

    #[test]
    fn where_pieces_are_is_left_out() {
        let given = "sweep numerics --jobs a --context 1,2 --gather=b --json --jobs=c --gather d";
        let left = without_pieces(given.split(' ').map(Into::into));
        assert_eq!(left, ["sweep", "numerics", "--context", "1,2", "--json"]);
    }

    #[test]
    fn a_rate_has_three_digits() {
        let rates = [0.5, 12.34, 999.0, 1234.0, 56_789.0, 8.9e6, 2.5e9].map(per_second);
        assert_eq!(
            rates,
            ["0.50/s", "12.3/s", "999/s", "1.23 k/s", "56.8 k/s", "8.90 M/s", "2.50 G/s"]
        );
    }

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(123), "123");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(decimal(1_234_567.89, 1), "1 234 567.9");
        assert_eq!(decimal(-1234.5, 2), "-1 234.50");
        assert_eq!(decimal(f64::INFINITY, 1), "inf");
        assert_eq!(decimal(0.25, 3), "0.250");
    }
}
