// SPDX-License-Identifier: MIT
//! Work of independent pieces: all of them at once on this machine, or each by itself wherever there is one.
//!
//! A command whose work is made of pieces takes two flags. `--jobs FILE` writes a line of JSON for each piece in place of
//! running them, `pimlico job FILE LINE` runs the one of a line, and `--gather DIR` makes the report of what is in the
//! folder, to the byte the report that the command makes alone.
//!
//! The outcome of a piece stands in a file under the piece's digest: the SHA-256 of this program, of its RTL and of all that
//! the piece is of. So outcomes of other inputs or of another version are never taken for those that are wanted, and a
//! piece may be run twice, or by two at a time: the file is whole when it has its name.

mod outcomes;

pub use outcomes::Folder;

use crate::failure::Failure;
use crate::files::Output;
use crate::output::{self, grouped};
use clap::Args;
use pimlico_workload::parallel;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Work that is made of independent pieces.
pub trait Pieces: Sync {
    /// What a piece is of, beside the inputs of all.
    type Piece: Serialize + Sync;
    /// What a piece gives.
    type Outcome: Serialize + DeserializeOwned + Send;

    /// What the work is, in a word or two: of other work the digests are others.
    const NAME: &'static str;
    /// What weights are counted in.
    const UNIT: &'static str;

    /// The inputs of all pieces.
    fn inputs(&self) -> impl Serialize;

    /// The pieces, in the order in which the report takes them.
    fn pieces(&self) -> &[Self::Piece];

    /// How much there is to do for one.
    fn weight(&self, piece: &Self::Piece) -> u64;

    /// Does one, on a thread. Its outcome follows from the inputs and the piece alone.
    fn run(&self, piece: &Self::Piece) -> Result<Self::Outcome, Failure>;
}

/// The flags of a command whose work is made of pieces.
#[derive(Args)]
#[command(next_help_heading = "On several machines")]
pub struct PiecesArguments {
    /// Write the independent pieces of the work to this file, a line of JSON for each, and run none: see `pimlico job`
    #[arg(long, value_name = "FILE")]
    jobs: Option<PathBuf>,
    /// Make the report of what `pimlico job` has put into this folder; with --jobs, write the pieces that it lacks
    #[arg(long, value_name = "DIR")]
    gather: Option<PathBuf>,
    /// Run the piece of this digest alone
    #[arg(long, hide = true, value_name = "DIGEST", requires = "into")]
    piece: Option<String>,
    /// The folder for its outcome
    #[arg(long, hide = true, value_name = "DIR", requires = "piece")]
    into: Option<PathBuf>,
}

/// A line of the file that `--jobs` writes.
#[derive(Serialize, Deserialize)]
pub struct Line {
    /// Digest of what the piece is of.
    pub digest: String,
    /// Words of the command that has the piece.
    pub command: Vec<String>,
    /// What it is of, for who reads the file.
    pub piece: serde_json::Value,
}

impl PiecesArguments {
    /// The flag that is given, if one is.
    #[cfg_attr(not(feature = "cosim"), expect(dead_code))]
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.jobs.is_some(), "--jobs"),
            (self.gather.is_some(), "--gather"),
            (self.piece.is_some(), "--piece"),
        ];
        given.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }

    /// The outcomes of all pieces of the work, in their order, by so many threads or from the folder; none where the
    /// command has written the pieces or run one of them, and no report is to be made.
    pub fn outcomes<W: Pieces>(
        &self,
        work: &W,
        threads: usize,
    ) -> Result<Option<Vec<W::Outcome>>, Failure> {
        let Self { jobs, gather, piece, into } = self;
        if let (Some(digest), Some(folder)) = (piece, into) {
            return run_one(work, digest, &Folder::new(folder)).map(|()| None);
        }
        let gather = gather.as_ref().map(|folder| Folder::new(folder));
        match (jobs, gather) {
            (Some(file), gather) => {
                write(work, Output::open(file)?, gather.as_ref(), file).map(|()| None)
            }
            (None, Some(folder)) => gathered(work, &folder).map(Some),
            (None, None) => run_all(work, threads).map(Some),
        }
    }
}

/// Runs all pieces on threads of this machine.
fn run_all<W: Pieces>(work: &W, threads: usize) -> Result<Vec<W::Outcome>, Failure> {
    let weight = |piece: &W::Piece| work.weight(piece);
    let bar = output::progress(work.pieces().iter().map(weight).sum(), W::UNIT);
    let progress = |done, _| bar.set_position(done);
    let outcomes = parallel::map(work.pieces(), threads, weight, |piece| work.run(piece), progress);
    bar.finish_and_clear();
    outcomes
}

/// Runs one piece, unless its outcome is there.
fn run_one<W: Pieces>(work: &W, digest: &str, folder: &Folder) -> Result<(), Failure> {
    let found = work.pieces().iter().zip(digests(work)?).find(|(_, other)| other == digest);
    let Some((piece, _)) = found else {
        let message = format!(
            "no piece has the digest {digest}: its line was written by another build of pimlico, or an input has changed"
        );
        return Err(Failure::Input(message));
    };
    if folder.find::<W::Outcome>(digest).is_ok_and(|outcome| outcome.is_some()) {
        return output::print(&format!("{}: there already\n", folder.place(digest).display()));
    }
    let file = folder.open(digest)?;
    let outcome = work.run(piece)?;
    file.write(&outcomes::written(digest, &outcome))?;
    let what = serde_json::to_string(piece).expect("a piece is plain data");
    output::print(&format!("{}: {} {what}\n", folder.place(digest).display(), W::NAME))
}

/// Writes a line for each piece whose outcome is not in the folder.
fn write<W: Pieces>(
    work: &W,
    file: Output,
    gather: Option<&Folder>,
    name: &std::path::Path,
) -> Result<(), Failure> {
    let command = output::words()?;
    let (mut text, mut count) = (String::new(), 0);
    for (piece, digest) in work.pieces().iter().zip(digests(work)?) {
        // One that is damaged is made again.
        let found = gather.map(|folder| folder.find::<W::Outcome>(&digest));
        if matches!(found, Some(Ok(Some(_)))) {
            continue;
        }
        let piece = serde_json::to_value(piece).expect("a piece is plain data");
        let line = Line { digest, command: command.clone(), piece };
        let line = serde_json::to_string(&line).expect("a line is plain data");
        let _ = writeln!(text, "{line}");
        count += 1;
    }
    let to_stdout = file.is_stdout();
    file.write(text.as_bytes())?;
    let pieces = if count == 1 { "piece" } else { "pieces" };
    output::tell_written(name, to_stdout, &format!("{} {pieces} of {}", grouped(count), W::NAME))
}

/// The outcomes in the folder, if all are there.
fn gathered<W: Pieces>(work: &W, folder: &Folder) -> Result<Vec<W::Outcome>, Failure> {
    let digests = digests(work)?;
    let found = digests.iter().map(|digest| folder.find(digest));
    let found = found.collect::<Result<Vec<Option<W::Outcome>>, _>>()?;
    let missing: Vec<_> = (1..).zip(&found).filter(|(_, o)| o.is_none()).map(|(n, _)| n).collect();
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    let message = format!(
        "{folder}: {} of {} pieces are missing, those of line {}; --jobs FILE beside --gather writes them",
        grouped(missing.len() as u64),
        grouped(digests.len() as u64),
        ranges(&missing),
    );
    Err(Failure::Input(message))
}

/// Numbers that grow, as `1, 3-5`; of many, the first.
fn ranges(numbers: &[usize]) -> String {
    const MOST: usize = 8;
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |&(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let told: Vec<_> = ranges.iter().take(MOST).map(range).collect();
    let rest = if ranges.len() > MOST { " and so on" } else { "" };
    format!("{}{rest}", told.join(", "))
}

/// The digests of all pieces.
fn digests<W: Pieces>(work: &W) -> Result<Vec<String>, Failure> {
    let program = program()?;
    let json = |value: &dyn erased_serde::Serialize| {
        serde_json::to_vec(value).expect("inputs are plain data")
    };
    let mut all = Sha256::new();
    for part in [W::NAME.as_bytes(), &program, &json(&work.inputs())] {
        all.update((part.len() as u64).to_le_bytes());
        all.update(part);
    }
    let digest = |piece: &W::Piece| hex(all.clone().chain_update(json(piece)));
    Ok(work.pieces().iter().map(digest).collect())
}

/// Digest of this program, and of its RTL, which is built in.
fn program() -> Result<Vec<u8>, Failure> {
    let read = std::env::current_exe().and_then(std::fs::read);
    let read = read.map_err(|error| Failure::Input(format!("pimlico itself: {error}")))?;
    Ok(Sha256::digest(read).to_vec())
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_ranges() {
        assert_eq!(ranges(&[3]), "3");
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3, 7, 9-10");
        let odd: Vec<_> = (0..50).map(|n| 2 * n + 1).collect();
        assert_eq!(ranges(&odd), "1, 3, 5, 7, 9, 11, 13, 15 and so on");
    }
}
