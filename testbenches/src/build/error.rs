// SPDX-License-Identifier: MIT
//! Why there is no RTL to simulate.

use std::io;
use std::path::{Path, PathBuf};

/// Why the RTL of a unit cannot be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BuildError {
    /// A program is missing or too old.
    #[error("{0}")]
    Tool(String),
    /// A program refuses what it is given.
    #[error("{tool} refuses {name}: {message}")]
    Refused {
        /// The program.
        tool: String,
        /// The unit or library.
        name: String,
        /// Its first complaint.
        message: String,
    },
    /// The package declares other types than the models.
    #[error("rtl and hw-models declare types differently: {}", .0.join("; "))]
    Types(Vec<String>),
    /// A unit has other ports.
    #[error("rtl and hw-models declare {unit} differently: {}", .differences.join("; "))]
    Ports {
        /// The unit.
        unit: String,
        /// A line each.
        differences: Vec<String>,
    },
    /// No source has a module.
    #[error("there is no module {module} among the sources in {}", .folder.display())]
    NoModule {
        /// Its name.
        module: String,
        /// Their folder.
        folder: PathBuf,
    },
    /// A folder of the user's own has no sources.
    #[error("{}: expected a folder with SystemVerilog (.sv, .v)", .0.display())]
    NoSources(PathBuf),
    /// There is no place for what is made.
    #[error("there is no folder for the Verilated RTL: set PIMLICO_CACHE")]
    NoCache,
    /// A file or folder cannot be read or written.
    #[error("{}: {message}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// What was made cannot be loaded.
    #[error("{}: cannot be loaded: {message}", .library.display())]
    Load {
        /// The library.
        library: PathBuf,
        /// Why.
        message: String,
    },
    /// The RTL was chosen after a unit was made.
    #[error("the RTL has been chosen before")]
    Late,
}

impl BuildError {
    /// That of a file, for `map_err`.
    pub(super) fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::File { path: path.to_owned(), message: error.to_string() }
    }
}
