// SPDX-License-Identifier: MIT
//! How a program is described.

use super::{Over, ProgramError};
use pimlico_dpa::{CommandWord, Condition, Opcode};
use pimlico_ports::U;
use std::ops::{Add, Mul};

/// A part of a description.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Repeat { over: Over, body: Vec<Step> },
    Command(Template),
}

/// The number of the present repetition of a loop, from 0. A loop that has one repetition always need not
/// be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(Option<usize>);

impl Index {
    /// Of a loop that is not there: always 0.
    pub const NONE: Self = Self(None);

    /// So many times the number.
    pub fn times(self, coefficient: u32) -> Field {
        let term = self.0.map(|of| (of, coefficient));
        Field { base: 0, terms: term.into_iter().filter(|term| term.1 > 0).collect() }
    }
}

/// A number that grows with the repetitions of loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    pub(super) base: u32,
    /// Loops, each by the number of those around it, and what is added in each repetition.
    pub(super) terms: Vec<(usize, u32)>,
}

impl Field {
    /// Its value in these repetitions of the loops, the outermost first.
    pub(super) fn value(&self, numbers: &[u32]) -> u64 {
        let term = |&(of, times): &(usize, u32)| u64::from(times) * u64::from(numbers[of]);
        u64::from(self.base) + self.terms.iter().map(term).sum::<u64>()
    }
}

impl From<u32> for Field {
    fn from(base: u32) -> Self {
        Self { base, terms: Vec::new() }
    }
}

impl<F: Into<Field>> Add<F> for Field {
    type Output = Self;

    fn add(mut self, other: F) -> Self {
        let other = other.into();
        self.base += other.base;
        self.terms.extend(other.terms);
        self
    }
}

impl Mul<u32> for Field {
    type Output = Self;

    fn mul(self, by: u32) -> Self {
        let terms = self.terms.into_iter().map(|(of, times)| (of, by * times));
        Self { base: by * self.base, terms: terms.filter(|term| term.1 > 0).collect() }
    }
}

/// When a flag is set: in the first or last repetition of each of these loops, the outermost being 0.
pub(super) type When = Option<Vec<usize>>;

fn when(loops: &[Index]) -> When {
    Some(loops.iter().filter_map(|index| index.0).collect())
}

/// A command of a description.
#[derive(Clone, Debug)]
pub struct Template {
    pub(super) opcode: Opcode,
    pub(super) place: Field,
    pub(super) column: Field,
    pub(super) word: Field,
    /// The word is taken modulo 256.
    pub(super) wraps: bool,
    pub(super) head: Field,
    pub(super) first: When,
    pub(super) last: When,
    pub(super) opens: When,
}

impl Template {
    /// A command whose fields are 0, and flags not set.
    pub fn new(opcode: Opcode) -> Self {
        let [place, column, word, head] = std::array::from_fn(|_| Field::default());
        let [first, last, opens] = [None, None, None];
        Self { opcode, place, column, word, wraps: false, head, first, last, opens }
    }

    /// Its virtual row.
    pub fn row(self, row: impl Into<Field>) -> Self {
        self.place(row)
    }

    /// Its place.
    pub fn place(self, place: impl Into<Field>) -> Self {
        Self { place: place.into(), ..self }
    }

    /// Its column.
    pub fn column(self, column: impl Into<Field>) -> Self {
        Self { column: column.into(), ..self }
    }

    /// Its word of the shared buffers, or bus address.
    pub fn word(self, word: impl Into<Field>) -> Self {
        Self { word: word.into(), ..self }
    }

    /// Its word, modulo 256.
    pub fn wrapping_word(self, word: impl Into<Field>) -> Self {
        Self { word: word.into(), wraps: true, ..self }
    }

    /// Its query head.
    pub fn head(self, head: impl Into<Field>) -> Self {
        Self { head: head.into(), ..self }
    }

    /// *first* in the first repetition of all these loops.
    pub fn first(self, loops: &[Index]) -> Self {
        Self { first: when(loops), ..self }
    }

    /// *last* in the last repetition of all these loops.
    pub fn last(self, loops: &[Index]) -> Self {
        Self { last: when(loops), ..self }
    }

    /// *opens* in the first repetition of all these loops.
    pub fn opens(self, loops: &[Index]) -> Self {
        Self { opens: when(loops), ..self }
    }

    /// The command's word where it stands in so many loops.
    pub(super) fn word_in(&self, depth: usize) -> Result<CommandWord, ProgramError> {
        let field = |field, value: u32, most: u32| match value <= most {
            true => Ok(value),
            false => Err(ProgramError::Field { command: self.opcode.name(), field, value }),
        };
        let condition = |when: &When| {
            let level = |of: &usize| 1 << (depth - 1 - of);
            when.as_ref().map_or(Condition::NEVER, |loops| {
                Condition::of_loops(loops.iter().map(level).sum())
            })
        };
        Ok(CommandWord {
            first: condition(&self.first),
            last: condition(&self.last),
            opens: condition(&self.opens),
            head: U::new(field("head", self.head.base, 7)?.into()),
            place: U::new(field("row or place", self.place.base, self.opcode.max_place())?.into()),
            column: field("column", self.column.base, 0xFF)? as u8,
            word: match self.wraps {
                true => self.word.base as u8,
                false => field("word", self.word.base, 0xFF)? as u8,
            },
            ..CommandWord::new(self.opcode)
        })
    }
}

/// Takes a description down.
#[derive(Debug, Default)]
pub struct Builder {
    pub(super) steps: Vec<Step>,
    depth: usize,
}

impl Builder {
    /// A command.
    pub fn command(&mut self, command: Template) {
        self.steps.push(Step::Command(command));
    }

    /// A loop around what `body` describes.
    pub fn repeat(&mut self, over: Over, body: impl FnOnce(&mut Self, Index)) {
        let mut inside = Self { steps: Vec::new(), depth: self.depth + 1 };
        body(&mut inside, Index(Some(self.depth)));
        self.steps.push(Step::Repeat { over, body: inside.steps });
    }

    /// So many repetitions: no loop if it is one, and nothing if it is none.
    pub fn times(&mut self, count: usize, body: impl FnOnce(&mut Self, Index)) {
        match count {
            0 => {}
            1 => body(self, Index::NONE),
            // What is too long is found when words are written.
            _ => self.repeat(Over::Count(u32::try_from(count).unwrap_or(u32::MAX)), body),
        }
    }
}
