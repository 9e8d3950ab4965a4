// SPDX-License-Identifier: MIT
//! The command in a process of its own, with limits of time and memory, in a folder of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Processor time of a command, and address space in KiB.
const MOST_SECONDS: u64 = 10;
const MOST_KIB: u64 = 4 << 20;
/// Time on the clock: this machine may be busy with other things.
pub const MOST_REAL: Duration = Duration::from_secs(90);
/// Memory of a command whose input is small, in KiB.
const MOST_RESIDENT_KIB: u64 = 1 << 20;

/// A command line, and the files that it is to find.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub words: Vec<String>,
    pub files: Vec<(String, Vec<u8>)>,
    pub input: Vec<u8>,
    /// The input is known to be wrong.
    pub is_wrong: bool,
    /// Files that a command may leave whose check has failed.
    pub outputs: Vec<String>,
}

/// What became of a command.
pub struct Ended {
    pub status: Option<i32>,
    pub stderr: String,
    /// Names and bytes of the files that are in the folder then.
    pub files: BTreeSet<(String, Vec<u8>)>,
}

impl Case {
    /// Of words that no file belongs to.
    pub fn of(line: &str) -> Self {
        Self { words: line.split_whitespace().map(str::to_owned).collect(), ..Self::default() }
    }

    /// The command as a shell takes it.
    pub fn shown(&self) -> String {
        let quoted = |word: &String| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:".contains(c);
            match word.chars().all(plain) && !word.is_empty() {
                true => word.clone(),
                false => format!("'{}'", word.replace('\'', "'\\''")),
            }
        };
        let words: Vec<_> = self.words.iter().map(quoted).collect();
        let files: Vec<_> = self.files.iter().map(|(name, _)| name.as_str()).collect();
        let with = if files.is_empty() { "" } else { "  # with " };
        format!("pimlico {}{with}{}", words.join(" "), files.join(", "))
    }

    /// Runs it, and says what is against the rules.
    pub fn judge(&self) -> Result<Ended, String> {
        let folder = tempfile::tempdir().map_err(|e| format!("no folder: {e}"))?;
        for (name, bytes) in &self.files {
            fs::write(folder.path().join(name), bytes).map_err(|e| format!("{name}: {e}"))?;
        }
        let before = names(folder.path());
        let ended = run(&self.words, &self.input, folder.path())?;
        let status = match ended.status {
            Some(status @ (0..=2)) => status,
            Some(status) => return Err(format!("status {status}: {:.300}", ended.stderr)),
            None => return Err(format!("a signal: {:.300}", ended.stderr)),
        };
        if status == 0 && self.is_wrong {
            return Err("status 0, though the input is wrong".to_owned());
        }
        if status != 0
            && !ended.stderr.starts_with("pimlico: ")
            && !ended.stderr.contains("\npimlico: ")
        {
            return Err(format!("status {status} without a message: {:.300}", ended.stderr));
        }
        if ended.stderr.contains("panicked at") {
            return Err(format!("a panic: {:.300}", ended.stderr));
        }
        // What ends well may leave its outputs, but nothing temporary.
        let may_be = |name: &str| match status {
            0 => {
                !name.starts_with(".tmp") && (!name.starts_with("pimlico-") || name.ends_with(".1"))
            }
            _ => before.contains(name) || status == 1 && self.outputs.iter().any(|o| o == name),
        };
        let left: Vec<_> =
            ended.files.iter().map(|(name, _)| name).filter(|n| !may_be(n)).collect();
        match left.is_empty() {
            true => Ok(ended),
            false => Err(format!("status {status}, files left: {left:?}")),
        }
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn run(words: &[String], input: &[u8], folder: &Path) -> Result<Ended, String> {
    let script = format!("ulimit -t {MOST_SECONDS}; ulimit -v {MOST_KIB}; exec \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_pimlico")])
        .args(words)
        .current_dir(folder)
        .env("TMPDIR", folder)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("it does not start: {e}"))?;
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stderr = child.stderr.take().expect("a pipe");
    let input = input.to_vec();
    let writes = thread::spawn(move || drop(stdin.write_all(&input)));
    let reads = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stderr, &mut text);
        text
    });
    let waited = wait(&mut child);
    drop(writes.join());
    let stderr = String::from_utf8_lossy(&reads.join().unwrap_or_default()).into_owned();
    let status = waited.map_err(|what| format!("{what}: {stderr:.300}"))?;
    let read = |name: String| {
        let bytes = fs::read(folder.join(&name)).unwrap_or_default();
        (name, bytes)
    };
    let files = names(folder).into_iter().map(read).collect();
    match status.signal() {
        Some(signal) => Err(format!("signal {signal}: {stderr:.300}")),
        None => Ok(Ended { status: status.code(), stderr, files }),
    }
}

/// Waits for the end, and looks at the memory meanwhile.
fn wait(child: &mut Child) -> Result<std::process::ExitStatus, String> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(status);
        }
        let kib = resident_kib(child.id());
        let what = match begun.elapsed() > MOST_REAL {
            true => Some(format!("no end in {} s", MOST_REAL.as_secs())),
            false => (kib > MOST_RESIDENT_KIB).then(|| format!("{kib} KiB of memory")),
        };
        if let Some(what) = what {
            let _ = child.kill();
            let _ = child.wait();
            return Err(what);
        }
        thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(20));
    }
}

/// The most that a process has had in memory.
fn resident_kib(id: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
