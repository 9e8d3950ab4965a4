// SPDX-License-Identifier: MIT
//! Memory of this process as Linux counts it, and other processes of the command.

use crate::failure::Failure;
use serde_json::Value;
use std::ffi::OsString;
use std::ops::Range;
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

/// Gives back pages of code and constants that were touched so far, of which reading the command line takes several MB.
/// What is used again comes back from the page cache, or from the file.
pub fn drop_code() {
    // Where the system does not say what there is, it stays.
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    for range in code(&maps) {
        // SAFETY: the pages are those of a file, cannot be written, and none of them was: what comes back is the same.
        unsafe {
            libc::madvise(range.start as *mut libc::c_void, range.len(), libc::MADV_DONTNEED);
        }
    }
}

/// The parts of memory, by the system's list, that are a file's, cannot be written, and have no page that was written
/// before, as relocated constants have.
fn code(maps: &str) -> Vec<Range<usize>> {
    let (mut found, mut of_file) = (Vec::new(), None);
    for line in maps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [range, access, _, _, _, ref path @ ..] if access.len() == 4 => {
                let is_file = path.first().is_some_and(|path| path.starts_with('/'));
                let is_constant = is_file && ["r-xp", "r--p"].contains(&access);
                of_file = hexadecimal(range).filter(|_| is_constant);
            }
            ["Anonymous:", "0", "kB"] => found.extend(of_file.take()),
            _ => {}
        }
    }
    found
}

/// A range of addresses, as `7f0a-7f0b`.
fn hexadecimal(range: &str) -> Option<Range<usize>> {
    let (from, to) = range.split_once('-')?;
    let number = |digits| usize::from_str_radix(digits, 16).ok();
    Some(number(from)?..number(to)?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_written_is_code() {
        let part = |header: &str, anonymous: &str| {
            format!("{header}\nRss:   8 kB\nAnonymous:   {anonymous} kB\nVmFlags: rd ex mr\n")
        };
        let maps = [
            part("1000-3000 r--p 00000000 fe:00 17   /usr/bin/pimlico", "0"),
            part("3000-7000 r-xp 00002000 fe:00 17   /usr/bin/pimlico", "0"),
            part("7000-8000 r--p 00006000 fe:00 17   /usr/bin/pimlico", "4"),
            part("8000-9000 rw-p 00007000 fe:00 17   /usr/bin/pimlico", "0"),
            part("a000-b000 rw-p 00000000 00:00 0", "0"),
            part("b000-c000 r--p 00000000 00:00 0   [vvar]", "0"),
            part("c000-d000 r--s 00000000 fe:00 18   /tmp/a map", "0"),
            part("e000-f000 r-xp 00000000 fe:00 19   /usr/lib/libm.so.6", "0"),
        ];
        assert_eq!(code(&maps.concat()), [0x1000..0x3000, 0x3000..0x7000, 0xe000..0xf000]);
        assert!(code("no list").is_empty());
    }

    #[test]
    fn code_that_was_dropped_still_runs() {
        drop_code();
        assert!(resident().is_ok_and(|bytes| bytes > 0));
        assert_eq!(hexadecimal("10-1f"), Some(16..31));
    }
}
