// SPDX-License-Identifier: MIT
//! `pimlico job`: one piece of the work of another command.

use crate::failure::Failure;
use crate::files;
use crate::pieces::Line;
use clap::Args;
use std::ffi::{OsStr, OsString};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Bytes of a file of lines, at the most.
const LARGEST_FILE: usize = 1 << 28;

/// Arguments of `pimlico job`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep numerics --jobs jobs.jsonl                  the pieces, a line for each
  pimlico job jobs.jsonl 3                                  one of them, on any machine, as often as one likes
  pimlico sweep numerics --gather jobs.jsonl.outcomes       the report
scripts/cluster has this for Slurm, GNU parallel and Dask.")]
pub struct JobArguments {
    /// The file that --jobs of a command has written
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The line of the piece, counted from 1
    #[arg(value_name = "LINE")]
    line: NonZero<usize>,
    /// Folder for the outcome [default: FILE.outcomes]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

impl JobArguments {
    fn into(&self) -> PathBuf {
        let beside = || {
            let mut name = self.file.clone().into_os_string();
            name.push(".outcomes");
            name.into()
        };
        self.into.clone().unwrap_or_else(beside)
    }
}

/// The words of the command that runs the piece.
pub fn words(arguments: &JobArguments) -> Result<Vec<OsString>, Failure> {
    let text = files::read(&arguments.file, LARGEST_FILE)?;
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let is_line = |line: &&&[u8]| !line.is_empty();
    let Some(line) = lines.get(arguments.line.get() - 1).filter(is_line) else {
        let file = arguments.file.display();
        let count = lines.iter().filter(is_line).count();
        return Err(Failure::Input(format!(
            "{file}: {count} lines, none of number {}",
            arguments.line
        )));
    };
    let line: Line = serde_json::from_slice(line).map_err(|error| {
        // Where it is in the line; there is but one.
        refused(arguments, &format!("expected a line that --jobs wrote: {error}"))
    })?;
    let own = [OsStr::new("--piece"), OsStr::new(&line.digest), OsStr::new("--into")];
    let into = arguments.into();
    let command = line.command.iter().map(OsStr::new);
    let words = std::iter::once(OsStr::new("pimlico")).chain(command).chain(own);
    Ok(words.chain([Path::as_os_str(&into)]).map(OsStr::to_owned).collect())
}

/// What is wrong with the line.
pub fn refused(arguments: &JobArguments, wrong: &str) -> Failure {
    Failure::Input(format!("{}:{}: {wrong}", arguments.file.display(), arguments.line))
}
