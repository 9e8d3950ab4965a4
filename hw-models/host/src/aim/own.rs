// SPDX-License-Identifier: MIT
//! Programs of a user's own, which run in place of those that the host builds.
//!
//! A file has the programs of an operator one behind the other, each with its END: of attention those of score, softmax and
//! context, of a product one. (They are one file because they are one operator, with what is between them in the GPR; they
//! are three programs because the host starts each by itself, with the query before the first and the factor of the scores
//! before the second.) For a product the host has the vector once for each group of rows, so that either order of matrices
//! can be programmed: what a program does not ask for is not sent.

use crate::program::aim::{self as program, Queries};
use crate::program::{Program, ProgramError};
use pimlico_device::DeviceError;
use pimlico_device::aim::{AimHead, AimLayout, AimOptions};
use pimlico_device::dispatch::DispatchError;
use pimlico_dpa::{COMMANDS, Expansion, Instruction, Tables};
use std::ops::Range;

/// Commands that a program of a user's own may make, at the most: one for each column of a bank of 16 384 rows. They are
/// counted before it runs, as four loops in each other make up to 2^64. (A program that is built makes at most some 50 000,
/// where tiles have the size of the global buffer: each MAC has a row's columns of a tile.)
pub const MOST_COMMANDS: usize = 1 << 20;

/// What programs are of.
pub(super) const SCORE: &str = "score";
pub(super) const SOFTMAX: &str = "softmax";
pub(super) const CONTEXT: &str = "context";
pub(super) const PRODUCT: &str = "product";

/// The programs of attention, in their order.
const OF_ATTENTION: [&str; 3] = [SCORE, SOFTMAX, CONTEXT];
/// That of a product.
const OF_PRODUCT: [&str; 1] = [PRODUCT];

/// Why words are not the programs of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnProgramsError {
    /// There are more or fewer.
    #[error("{got} words `end`: expected {}, one behind each program: {}", expected.len(), expected.join(", "))]
    Count {
        /// How many programs there are.
        got: usize,
        /// The programs that there should be.
        expected: &'static [&'static str],
    },
    /// Words behind the last END.
    #[error("word {word}: expected the end of the file behind the last `end`")]
    Behind {
        /// The first of them.
        word: usize,
    },
    /// Programs of another operator.
    #[error("no program of {name}: the programs are of another operator")]
    NoProgram {
        /// What it should be of.
        name: &'static str,
    },
    /// Queries take turns in two places of the GPR, which no program of theirs can.
    #[error(
        "a program of one's own: not with a head pipeline, which has a place in the GPR for every other query"
    )]
    HeadPipeline,
}

/// The programs of an operator, each with its END.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPrograms {
    words: Vec<u64>,
    names: &'static [&'static str],
    ranges: Vec<Range<usize>>,
}

impl OwnPrograms {
    /// Those of score, softmax and context.
    pub fn of_attention(words: Vec<u64>) -> Result<Self, OwnProgramsError> {
        Self::new(words, &OF_ATTENTION)
    }

    /// That of a matrix times a vector.
    pub fn of_product(words: Vec<u64>) -> Result<Self, OwnProgramsError> {
        Self::new(words, &OF_PRODUCT)
    }

    fn new(words: Vec<u64>, names: &'static [&'static str]) -> Result<Self, OwnProgramsError> {
        let is_end = |word: &u64| {
            matches!(Instruction::decode(*word), Ok(Instruction::End | Instruction::EndLayer))
        };
        let mut ranges = Vec::with_capacity(names.len());
        let mut first = 0;
        for (at, _) in words.iter().enumerate().filter(|(_, word)| is_end(word)) {
            ranges.push(first..at + 1);
            first = at + 1;
        }
        if ranges.len() != names.len() {
            return Err(OwnProgramsError::Count { got: ranges.len(), expected: names });
        }
        match first == words.len() {
            true => Ok(Self { words, names, ranges }),
            false => Err(OwnProgramsError::Behind { word: first }),
        }
    }

    /// The one that is of this.
    pub(super) fn program(&self, name: &'static str) -> Result<OwnProgram<'_>, OwnProgramsError> {
        let number = self.names.iter().position(|other| *other == name);
        let range = number.map(|number| self.ranges[number].clone());
        let range = range.ok_or(OwnProgramsError::NoProgram { name })?;
        Ok(OwnProgram { name, first: range.start, words: &self.words[range] })
    }
}

/// The words of the programs of a head's attention as the host builds them, in the form of a file.
pub fn attention_words(
    head: &AimHead,
    options: &AimOptions,
    queries: &Queries,
) -> Result<Vec<u64>, ProgramError> {
    let score = match head.k.tiles() {
        1 => program::score(head, options, queries),
        _ => program::product(&head.k, options, &program::fillings(&head.k, options)),
    };
    let (tail, _) = program::tail(head);
    let parts = 0..program::context_parts(head, options, queries);
    let context = program::context(head, options, queries, tail, parts);
    joined(&[score, program::softmax(queries), context])
}

/// The same of a matrix times a vector.
pub fn product_words(layout: &AimLayout, options: &AimOptions) -> Result<Vec<u64>, ProgramError> {
    joined(&[program::product(layout, options, &program::fillings(layout, options))])
}

/// Programs one behind the other.
fn joined(programs: &[Program]) -> Result<Vec<u64>, ProgramError> {
    let words: Vec<_> = programs.iter().map(Program::words).collect::<Result<_, _>>()?;
    let words = words.concat();
    if words.len() > COMMANDS { Err(ProgramError::Words(words.len())) } else { Ok(words) }
}

/// A program of a user's own.
#[derive(Clone, Copy)]
pub(super) struct OwnProgram<'a> {
    /// What it is of.
    pub name: &'static str,
    /// Its first word in the file.
    pub first: usize,
    pub words: &'a [u64],
}

/// The words of a program.
pub(super) struct Words {
    pub words: Vec<u64>,
    /// Of a user's own program, what it is of, and its first word in the file.
    pub own: Option<(&'static str, usize)>,
}

impl Words {
    pub fn built(words: Vec<u64>) -> Self {
        Self { words, own: None }
    }

    pub fn own(OwnProgram { name, first, words }: OwnProgram<'_>) -> Self {
        Self { words: words.to_vec(), own: Some((name, first)) }
    }

    /// What stopped it, where its first word is at an address of the command buffer: of a user's own program with the word
    /// of the file.
    pub fn stopped(&self, error: DeviceError, address: u16) -> DeviceError {
        match (self.own, error) {
            (Some((name, first)), DeviceError::Dispatch(error)) => {
                let word = match error {
                    DispatchError::Fault { address: at, .. } => {
                        Some(first + usize::from(at.wrapping_sub(address)))
                    }
                    _ => None,
                };
                DeviceError::OwnProgram { program: name, word, error }
            }
            (_, error) => error,
        }
    }
}

/// Whether a program in a command buffer makes no more than [`MOST_COMMANDS`]. What stops it before that is found when it
/// runs.
pub(super) fn is_short(buffer: &[u64], tables: &Tables, request: u8, address: u16) -> bool {
    let commands = Expansion::starting_at(buffer, tables, request, address.into());
    commands.take(MOST_COMMANDS + 1).count() <= MOST_COMMANDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_dpa::assemble;

    #[test]
    fn a_file_has_a_program_for_each_end() {
        let words = |text: &str| assemble(text).expect("a program");
        let [one, two] = ["close_all\nend\n", "nop\nweigh\nend\n"];
        let file = words(&(one.to_owned() + two + one));
        let programs = OwnPrograms::of_attention(file).expect("three programs");
        let of = |name| programs.program(name).map(|own| (own.first, own.words.to_vec()));
        assert_eq!(of(SCORE), Ok((0, words(one))));
        assert_eq!(of(SOFTMAX), Ok((2, words(two))));
        assert_eq!(of(CONTEXT), Ok((5, words(one))));
        assert_eq!(of(PRODUCT), Err(OwnProgramsError::NoProgram { name: PRODUCT }));

        let refused = |words| OwnPrograms::of_attention(words).map_err(|error| error.to_string());
        let message = "2 words `end`: expected 3, one behind each program: score, softmax, context";
        assert_eq!(refused(words(&(one.to_owned() + two))), Err(message.to_owned()));
        let mut open = words(&one.repeat(3));
        open.push(0);
        assert!(refused(open).is_err_and(|error| error.starts_with("word 6: expected the end")));
        let none = OwnPrograms::of_product(Vec::new());
        assert_eq!(none, Err(OwnProgramsError::Count { got: 0, expected: &["product"] }));
    }

    #[test]
    fn loops_are_counted_and_not_kept() {
        let tables = Tables::default();
        let is_short = |text: &str| {
            let words = assemble(text).expect("a program");
            super::is_short(&words, &tables, 0, 0)
        };
        let loops = |inner: usize| {
            format!("loop 1024 {{\n  loop {inner} {{\n    close_all\n  }}\n}}\nend\n")
        };
        assert!(is_short(&loops(1024)), "{MOST_COMMANDS} commands");
        assert!(!is_short(&loops(1025)));
        let most = "loop 65536 {\n".repeat(4) + "close_all\n" + &"}\n".repeat(4) + "end\n";
        assert!(!is_short(&most));
    }
}
