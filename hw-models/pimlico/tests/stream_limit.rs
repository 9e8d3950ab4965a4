// SPDX-License-Identifier: MIT
//! `pimlico stream run --memory-limit` as the system counts it. It is a program of its own: what the system tells a
//! parent of its child's peak begins with the peak of the parent, whose memory the child has until it executes.

mod common;

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

const MIB: u64 = 1 << 20;
/// MiB that the command has. Compiled for tests, with the benches of all units and without optimisation, it takes some 20 as it
/// starts, by how the system maps what is around a page that is touched; `cargo test --release` has it keep 20.
const LIMIT: u64 = if cfg!(debug_assertions) { 30 } else { 20 };

fn pimlico(arguments: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
    command.args(arguments.split_whitespace()).current_dir(folder);
    command
}

/// Runs the command to its end: what it printed, and the most memory that the system saw it in, in bytes.
fn run_and_wait(command: &mut Command) -> (Vec<u8>, u64) {
    #[allow(clippy::zombie_processes, reason = "`wait4` waits for it")]
    let child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let pid = i32::try_from(child.id()).expect("a process");
    let mut printed = Vec::new();
    child.stdout.expect("a pipe").read_to_end(&mut printed).expect("its output");
    let mut status = 0;
    // SAFETY: both are places for what the system writes there.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(pid, &mut status, 0, &mut usage), pid);
        usage
    };
    assert_eq!(ExitStatus::from_raw(status).code(), Some(0));
    (printed, (usage.ru_maxrss as u64) << 10)
}

/// The process' own count, and that of its parent: 76 MB of layers in a fraction of their memory.
#[test]
fn the_limit_is_that_of_the_whole_process() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let make = "stream make --dim 256 --hidden 688 --layers 24 --heads 8 --vocab 512 --seed 1 -o s.bin \
                --tokenizer s.tok";
    assert!(pimlico(make, folder.path()).output().expect("it runs").status.success());
    let run = format!(
        "stream run --weights s.bin --tokenizer s.tok --tokens 3 --loaders 2 --memory-limit {LIMIT}M --json"
    );
    let (printed, of_parent) = run_and_wait(&mut pimlico(&run, folder.path()));
    let report = common::document(&printed);
    let number = |key: &str| report[key].as_u64().expect("a number");
    let own = number("peak_rss_bytes");
    println!("VmHWM {own}, ru_maxrss {of_parent}");
    assert!(own <= LIMIT * MIB && of_parent <= LIMIT * MIB, "{own} {of_parent}");
    assert_eq!((number("loaders"), number("limit_bytes")), (2, LIMIT * MIB));
}

/// The built-in model is small: what the process took as it started may be more than it needs.
#[test]
fn a_limit_is_kept_or_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let status = |mib: u64| {
        let run = format!("stream run --tokens 2 --memory-limit {mib}M");
        let output = pimlico(&run, folder.path()).output().expect("it runs");
        output.status.code()
    };
    let statuses: Vec<Option<i32>> = (4..LIMIT).map(status).collect();
    let refused = statuses.iter().take_while(|status| **status == Some(2)).count();
    let kept = &statuses[refused..];
    assert!(refused > 0 && kept.iter().all(|status| *status == Some(0)), "{statuses:?}");
}
