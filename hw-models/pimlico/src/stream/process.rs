// SPDX-License-Identifier: MIT
//! Memory of this process as Linux counts it, and other processes of the command.

use crate::failure::Failure;
use serde_json::Value;
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Bytes that the process has in memory.
pub fn resident() -> Result<u64, Failure> {
    status("VmRSS:")
}

/// The most bytes that the process has had in memory.
pub fn peak() -> Result<u64, Failure> {
    status("VmHWM:")
}

fn status(key: &str) -> Result<u64, Failure> {
    let file = "/proc/self/status";
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| Failure::file(file.as_ref(), &error))?;
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| Failure::Input(format!("{file}: no {key}")))
}

/// Gives threads no heaps of their own, as what an allocator keeps for them is in no account, and gives back what it
/// keeps of the time before: the command line takes some MB while it is read.
pub fn one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: they change what the allocator keeps, and nothing that is allocated.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::malloc_trim(0);
    }
}

/// What another process of the command prints with `--json`.
pub fn document(words: Vec<OsString>) -> Result<Value, Failure> {
    let own = |error| Failure::Input(format!("the command itself: {error}"));
    let program = std::env::current_exe().map_err(own)?;
    let mut command = Command::new(program);
    command.args(words).arg("--json").stdin(Stdio::null());
    let output = command.output().map_err(own)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors = errors.trim_end().trim_start_matches("pimlico: ").to_owned();
    match output.status.code() {
        Some(0) => {}
        Some(1) => return Err(Failure::Check(errors)),
        Some(_) => return Err(Failure::Input(errors)),
        None => return Err(Failure::Input(format!("another process: {}", output.status))),
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Failure::Input(error.to_string()))
}
