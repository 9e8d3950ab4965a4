// SPDX-License-Identifier: MIT
//! Yosys and OpenSTA on this machine.

use crate::liberty::Library;
use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The Yosys that the flow was made with, as a package of PyPI: it reads packages, structs and packed
/// arrays of SystemVerilog, which Debian's does not.
pub const PYOSYS: &str = "0.70";

/// The library that a Debian package installs (`qflow-tech-osu018`).
pub const DEFAULT_LIBRARY: &str = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib";

/// Another, with which results are kept as well (`qflow-tech-osu035`).
pub const SECOND_LIBRARY: &str = "/usr/share/qflow/tech/osu035/osu035_stdcells.lib";

/// Why a tool cannot be used, or failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not installed.
    #[error("{what} is missing: {install}")]
    Missing {
        /// What is.
        what: &'static str,
        /// What to do.
        install: String,
    },
    /// It has another version than the flow was made with.
    #[error("pyosys {found}: expected {PYOSYS}; run `scripts/estimate`, which installs it")]
    Version {
        /// The version that there is.
        found: String,
    },
    /// It ended with an error.
    #[error("{tool} cannot do {unit}{}: {message}", in_cells_of(library.as_deref()))]
    Failed {
        /// Which tool.
        tool: &'static str,
        /// Which unit it was at.
        unit: String,
        /// The library that it read, by the user's name, if it did.
        library: Option<PathBuf>,
        /// What it said last.
        message: String,
    },
    /// It printed what is not understood.
    #[error("{tool} at {unit}: no {what} in what it printed")]
    Output {
        /// Which tool.
        tool: &'static str,
        /// Which unit it was at.
        unit: String,
        /// What is not there.
        what: &'static str,
    },
    /// The library has nothing for a cell.
    #[error("{unit}: {} has no cell with an area for {cell}", library.display())]
    Unmapped {
        /// The library, by the user's name.
        library: PathBuf,
        /// Which unit it was at.
        unit: String,
        /// The cell, of the library or of Yosys: `$_DFF_PN0_` is a flip-flop with an asynchronous reset.
        cell: String,
    },
    /// It has memories, which no netlist of cells has.
    #[error("{unit} has memories, whose power is not estimated")]
    Memories {
        /// Which.
        unit: String,
    },
    /// A file cannot be written or read.
    #[error("{}: {error}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

fn in_cells_of(library: Option<&Path>) -> String {
    library.map_or(String::new(), |library| format!(" in the cells of {}", library.display()))
}

impl ToolError {
    /// Temporary files cannot be written or read: the folder is named that the user knows.
    pub(crate) fn temporary(error: io::Error) -> Self {
        Self::File { file: std::env::temp_dir(), error }
    }

    /// The same, of a tool that worked in a temporary folder and read a library: without the folder, with the user's
    /// name of the library.
    pub(crate) fn with(self, cells: &Library, folder: &Path) -> Self {
        let Self::Failed { tool, unit, message, .. } = self else { return self };
        let [copy, source] = [&cells.file, &cells.source].map(|file| file.display().to_string());
        let message =
            message.replace(&copy, &source).replace(&format!("{}/", folder.display()), "");
        Self::Failed { tool, unit, library: Some(cells.source.clone()), message }
    }
}

/// The tools.
#[derive(Clone, Debug)]
pub struct Tools {
    python: PathBuf,
    /// Its version, for the cache.
    pub(crate) yosys: String,
}

impl Tools {
    /// Looks for Yosys, in the environment of the Python interpreter that `python` names, and for OpenSTA.
    pub fn find(python: &Path) -> Result<Self, ToolError> {
        let program = "import importlib.metadata as m, pyosys; print(m.version('pyosys'))";
        let found = Command::new(python).args(["-c", program]).output();
        let found = found.ok().filter(|output| output.status.success());
        let version = found
            .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
            .filter(|version| !version.is_empty());
        let Some(yosys) = version else {
            let python = python.display();
            return Err(ToolError::Missing {
                what: "pyosys",
                install: format!(
                    "run `scripts/estimate`, which installs it, or `pip install pyosys=={PYOSYS}` and \
                     name its interpreter with --python (now {python})"
                ),
            });
        };
        if yosys != PYOSYS {
            return Err(ToolError::Version { found: yosys });
        }
        if Command::new("sta").arg("-version").output().is_err() {
            let install = "apt-get install opensta, or run `scripts/estimate`".to_owned();
            return Err(ToolError::Missing { what: "OpenSTA (sta)", install });
        }
        Ok(Self { python: python.to_owned(), yosys })
    }

    /// No tools, but a version of Yosys.
    #[cfg(test)]
    pub(crate) fn none(yosys: &str) -> Self {
        Self { python: PathBuf::new(), yosys: yosys.to_owned() }
    }

    /// Runs a script of Yosys.
    pub(crate) fn yosys(&self, unit: &str, script: &Path) -> Result<(), ToolError> {
        let program = "import sys; from pyosys import libyosys as y; \
                       y.run_pass('script ' + sys.argv[1], y.Design())";
        let mut command = Command::new(&self.python);
        run(command.args(["-c", program]).arg(script), "Yosys", unit).map(drop)
    }

    /// Runs a script of OpenSTA; returns what it printed.
    pub(crate) fn sta(&self, unit: &str, script: &Path) -> Result<String, ToolError> {
        let mut command = Command::new("sta");
        run(command.args(["-no_splash", "-exit"]).arg(script), "OpenSTA", unit)
    }
}

fn run(command: &mut Command, tool: &'static str, unit: &str) -> Result<String, ToolError> {
    let unit = unit.to_owned();
    let failed = |message| ToolError::Failed { tool, unit, library: None, message };
    let Output { status, stdout, stderr } = match output(command) {
        Ok(output) => output,
        Err(error) => return Err(failed(error.to_string())),
    };
    let out = String::from_utf8_lossy(&stdout).into_owned();
    let err = String::from_utf8_lossy(&stderr);
    let mut said = out.lines().chain(err.lines());
    let error = said.rfind(|line| line.to_lowercase().contains("error"));
    match (status.success(), error) {
        (true, None) => Ok(out),
        // OpenSTA goes on after an error, and ends as if there were none.
        (true, Some(line)) if tool == "OpenSTA" && line.starts_with("Error") => {
            Err(failed(line.to_owned()))
        }
        (true, Some(_)) => Ok(out),
        (false, line) => Err(failed(line.unwrap_or("it ended without a word").to_owned())),
    }
}

/// Groups of processes of the tools that run. Who starts one holds the lock, so that [`end`] finds each.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn running() -> MutexGuard<'static, BTreeSet<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a tool, in a group of processes with those that it starts. Its temporary files are where those of this program
/// are.
fn output(command: &mut Command) -> io::Result<Output> {
    command.env("TMPDIR", tempfile::env::temp_dir()).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut groups = running();
    let child = command.spawn()?;
    let group = child.id();
    groups.insert(group);
    drop(groups);
    let output = child.wait_with_output();
    running().remove(&group);
    output
}

/// Ends all tools that run, at once, and lets none start: for a program that is about to end by a signal. Threads that
/// wait for one do not go on.
pub fn end() {
    let groups = running();
    for group in groups.iter() {
        // SAFETY: it has no memory; the group is of a child whose end was not waited for, so that it is no other's.
        unsafe { libc::kill(-(*group as libc::pid_t), libc::SIGKILL) };
    }
    std::mem::forget(groups);
}
