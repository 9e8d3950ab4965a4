// SPDX-License-Identifier: MIT
//! Yosys and OpenSTA on this machine.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
    #[error("{tool} cannot do {unit}: {message}")]
    Failed {
        /// Which tool.
        tool: &'static str,
        /// Which unit it was at.
        unit: String,
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
    #[error("{unit}: the library has no cell with an area for {cell}")]
    Unmapped {
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
    let failed = |message| ToolError::Failed { tool, unit: unit.to_owned(), message };
    let Output { status, stdout, stderr } = command.output().map_err(|e| failed(e.to_string()))?;
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
