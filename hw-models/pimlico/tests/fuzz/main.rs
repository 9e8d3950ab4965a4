// SPDX-License-Identifier: MIT
//! Malformed input, by families: every parser and the flags of every command. `scripts/fuzz` runs as many cases as
//! are asked for; without it a few of each family run.
//!
//! * [`mutation`]: what is done to a file that is in order.
//! * [`parsers`]: families whose files are read in this process.
//! * [`commands`]: families of the command as a process: flags, and files that commands read.
//! * [`corpus`]: what was found before.
//! * [`tree`]: commands and flags, as the command tells them.
//! * [`child`]: the command with limits of time and memory.
//! * [`memory`]: how much this process has allocated.
//!
//! Rules: no panic, no signal, no 10 s, no 1 GB from a small file, exit status 0, 1 or 2, never 0 where the input is
//! known to be wrong, and no file left. A case is made of its family and a seed alone: `scripts/fuzz FAMILY 1 SEED`
//! does the same again.

mod child;
mod commands;
mod corpus;
mod memory;
mod mutation;
mod parsers;
mod tree;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Cases of all families together, where no number is asked for.
const CASES: u64 = 2000;
/// Cases of files that are read in this process for each that starts the command.
const PARSED: u64 = 4;
/// What a case may take.
const MOST: Duration = Duration::from_secs(10);

/// What is wrong with a case.
pub struct Finding {
    /// What happened.
    what: String,
    /// What shows it again: the bytes of a file, or a command.
    shows: Shows,
}

/// What shows a finding again.
pub enum Shows {
    /// Bytes that are kept in a file.
    File(Vec<u8>),
    /// A line for a shell.
    Command(String),
}

/// What shows the case that runs again, should it not come to an end.
pub static RUNNING: Mutex<Shows> = Mutex::new(Shows::Command(String::new()));

/// That of the case that runs.
fn running() -> Shows {
    let none = Shows::Command(String::new());
    std::mem::replace(&mut *RUNNING.lock().unwrap_or_else(PoisonError::into_inner), none)
}

/// Makes a case of what is drawn, and judges it.
type Run = dyn Fn(&mut TestRunner) -> Result<(), Finding> + Send + Sync;

/// A family of cases.
pub struct Family {
    name: String,
    /// Makes a case of what is drawn, and judges it.
    run: Box<Run>,
    /// Whether it starts the command.
    is_command: bool,
}

impl Family {
    /// Of files that are read in this process.
    pub fn parsed(
        name: &str,
        run: impl Fn(&mut TestRunner) -> Result<(), Finding> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), run: Box::new(run), is_command: false }
    }

    /// Of commands.
    pub fn command(
        name: &str,
        run: impl Fn(&mut TestRunner) -> Result<(), Finding> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), run: Box::new(run), is_command: true }
    }

    /// A case that depends on the family and the seed alone.
    fn case(&self, seed: u64) -> Result<(), Finding> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        for (byte, letter) in bytes[8..].iter_mut().zip(self.name.bytes()) {
            *byte = letter;
        }
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        (self.run)(&mut TestRunner::new_with_rng(Config::default(), rng))
    }
}

/// A number or a name that `scripts/fuzz` was given.
fn asked(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// Where files of findings go.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    std::fs::create_dir_all(&folder).expect("a folder for what is found");
    folder
}

/// The cases of a family: how many. Those that start the command are fewer, if nothing else is asked for.
fn shares(families: &[Family], cases: u64) -> Vec<u64> {
    let weight = |family: &Family| if family.is_command { 1 } else { PARSED };
    let all: u64 = families.iter().map(weight).sum();
    families.iter().map(|family| (cases * weight(family)).div_ceil(all)).collect()
}

/// Tells a finding, with what shows it again.
fn tell(family: &str, seed: u64, Finding { what, shows }: &Finding) -> String {
    let again = format!("scripts/fuzz {family} 1 {seed}");
    match shows {
        Shows::Command(command) => format!("{family}: {what}\n  {command}\n  again: {again}"),
        Shows::File(bytes) => {
            let file = folder().join(format!("{family}-{seed}"));
            let kept = std::fs::write(&file, bytes);
            let kept = kept.map_or_else(|e| e.to_string(), |()| file.display().to_string());
            format!("{family}: {what}\n  file: {kept}\n  again: {again}")
        }
    }
}

/// Runs cases on a thread of its own, which is given up if one takes too long.
fn run(family: Family, cases: u64, seed: u64) -> Vec<String> {
    let (begun, told) = mpsc::channel();
    let name = family.name.clone();
    let limit = if family.is_command { child::MOST_REAL + MOST } else { MOST };
    let work = move || {
        for seed in seed..seed + cases {
            let found = panic::catch_unwind(AssertUnwindSafe(|| family.case(seed)));
            let found = found.unwrap_or_else(|panic| {
                let words = panic.downcast_ref::<String>().cloned();
                let words = words.or_else(|| panic.downcast_ref::<&str>().map(|&s| s.to_owned()));
                let what = format!("a panic: {}", words.unwrap_or_default());
                Err(Finding { what, shows: running() })
            });
            if begun.send((seed, found)).is_err() {
                return;
            }
        }
    };
    std::thread::spawn(work);
    let (mut findings, mut next) = (Vec::new(), seed);
    loop {
        match told.recv_timeout(limit) {
            Ok((seed, found)) => {
                next = seed + 1;
                findings.extend(found.err().map(|finding| tell(&name, seed, &finding)));
            }
            Err(RecvTimeoutError::Disconnected) => return findings,
            Err(RecvTimeoutError::Timeout) => {
                let what = format!("no end in {} s", limit.as_secs());
                let finding = Finding { what, shows: running() };
                findings.push(tell(&name, next, &finding));
                return findings;
            }
        }
    }
}

#[test]
fn malformed_input_is_refused() {
    let mut families = parsers::families();
    families.extend(commands::families());
    let known = families.iter().map(|family| family.name.clone()).collect::<Vec<_>>().join(", ");
    if let Some(name) = asked("FUZZ_FAMILY").filter(|name| name != "all") {
        families.retain(|family| family.name == name);
        assert!(!families.is_empty(), "no family {name}: there are {known}");
    }
    let number = |variable, default| {
        asked(variable).map_or(default, |value| value.parse().expect("a number of cases, a seed"))
    };
    let (cases, seed) = (number("FUZZ_CASES", CASES), number("FUZZ_SEED", 1));
    let counts = shares(&families, cases);
    // Commands run beside the parsers; the memory that is counted is that of this process, and so the parsers'.
    let (commands, parsers): (Vec<_>, Vec<_>) =
        families.into_iter().zip(counts).partition(|(family, _)| family.is_command);
    let run_all = |families: Vec<(Family, u64)>| {
        let run = |(family, count): (Family, u64)| {
            let name = family.name.clone();
            let found = run(family, count, seed);
            println!("{name}: {count} cases, {} findings", found.len());
            found.iter().take(5).for_each(|finding| println!("{finding}"));
            found
        };
        families.into_iter().flat_map(run).collect::<Vec<_>>()
    };
    let findings = std::thread::scope(|scope| {
        let of_commands = scope.spawn(|| run_all(commands));
        let of_parsers = run_all(parsers);
        [of_parsers, of_commands.join().expect("no family panics")].concat()
    });
    assert!(findings.is_empty(), "{} findings, the first: {}", findings.len(), findings[0]);
}

#[test]
fn what_was_found_before_stays_mended() {
    let mut findings = Vec::new();
    let is_judged = |past: &corpus::Past| !corpus::OPEN.contains(&past.name);
    let open_too = asked("FUZZ_OPEN").is_some();
    for past in corpus::all().into_iter().filter(|past| open_too || is_judged(past)) {
        let Err(what) = past.judge() else { continue };
        let command = past.case.shown();
        match is_judged(&past) {
            true => findings.push(format!("{}: {what}\n  {command}", past.name)),
            false => println!("open: {}: {what}\n  {command}", past.name),
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
