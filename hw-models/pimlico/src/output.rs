// SPDX-License-Identifier: MIT
//! What the commands print.

mod page;
mod table;

pub use page::{FormatArguments, Page};
pub use table::{Table, table};

use crate::failure::Failure;
use crate::schema::Kind;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use page::Format;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};
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
    /// The words of the command as given, but for the folder of the program.
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
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        Self {
            version: env!("CARGO_PKG_VERSION"),
            schema: kind.id(),
            argv: std::iter::once("pimlico".to_owned()).chain(words).collect(),
            seed: SEED.get().copied().flatten(),
            rtl_sha256: pimlico_estimate::rtl::sha256(),
        }
    }
}

/// Keeps the seed for documents; told once, before anything is printed.
pub fn invoked(seed: Option<u64>) {
    let _ = SEED.set(seed);
}

/// Prints to standard output. A reader that has gone away is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Input(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Prints one JSON document, an object: what made it comes first.
pub fn print_json(kind: Kind, document: &impl Serialize) -> Result<(), Failure> {
    let document = Document { pimlico: Origin::of(kind), document };
    let text = serde_json::to_string_pretty(&document).expect("reports are plain data");
    print(&format!("{text}\n"))
}

/// Prints a report, as one document or for people.
pub fn report(
    format: FormatArguments,
    (kind, document): (Kind, &impl Serialize),
    page: &Page,
) -> Result<(), Failure> {
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
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent}% {elapsed}, {eta} left");
    bar.set_style(style.expect("a valid template"));
    bar.set_message(what.to_owned());
    let shown = bar.downgrade();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        if let Some(bar) = shown.upgrade().filter(|bar| !bar.is_finished()) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    });
    bar
}

/// `1234567` as `1 234 567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
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
    use super::grouped;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(123), "123");
        assert_eq!(grouped(1_234_567), "1 234 567");
    }
}
