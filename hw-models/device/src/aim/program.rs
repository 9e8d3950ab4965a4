// SPDX-License-Identifier: MIT
//! A program's commands, sorted by what does them.
//!
//! | command | what it comes to |
//! | --- | --- |
//! | WR_SHARED, WR_WEIGHTS | a [`Filling`] of the global buffers |
//! | MAC_SCORE | a [`Stretch`] of columns |
//! | RD_RESULT | a [`Sum`] |
//! | WEIGH, CLOSE_ALL | a [`Phase`] |
//!
//! Fillings, stretches and sums of a phase go side by side, each kind in its order; what waits for what is the matter of
//! the queues. A phase ends with a WEIGH, a CLOSE_ALL, and before a WR_WEIGHTS with *first*, whose words are results of
//! what is before it.

use super::epu::Sum;
use super::layout::GPR;
use super::units::{Elements, GLOBAL_WORDS, MULTIPLIERS};
use crate::config::Config;
use crate::dispatch::{self, DispatchError};
use pimlico_dpa::types::{Dispatch, Fault, RunEnd};
use pimlico_dpa::{ExpandError, Expansion, Opcode};

/// Where the words of a filling come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the host: the number of the first among its words.
    Host(usize),
    /// From the GPR.
    Gpr {
        /// The first element.
        place: usize,
        /// How many there are; those behind them are +0.
        elements: usize,
    },
}

/// A filling of the global buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filling {
    /// Words.
    pub words: usize,
    /// Where they come from.
    pub source: Source,
}

impl Filling {
    /// A word of it, where `kept` gives elements of the GPR from a place on, and `operands` are the words of the host.
    pub fn word<'a>(
        &self,
        number: usize,
        operands: &[Elements],
        kept: impl FnOnce(usize, usize) -> &'a [u16],
    ) -> Elements {
        match self.source {
            Source::Host(first) => operands[first + number],
            Source::Gpr { place, elements } => {
                let from = number * MULTIPLIERS;
                let there = elements.saturating_sub(from).min(MULTIPLIERS);
                let mut word = [0; MULTIPLIERS];
                word[..there].copy_from_slice(kept(place + from, there));
                word
            }
        }
    }
}

/// Columns of a row of the banks that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Row.
    pub row: usize,
    /// First column.
    pub column: usize,
    /// Word of the global buffer for it.
    pub word: usize,
    /// Columns.
    pub count: usize,
    /// The first begins a sum.
    pub first: bool,
    /// The last ends one.
    pub last: bool,
    /// The filling that they read.
    pub filling: usize,
    /// It is given back with the last.
    pub release: bool,
}

/// What is done side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Fillings of the global buffers.
    pub fillings: Vec<Filling>,
    /// Columns to the PUs.
    pub stretches: Vec<Stretch>,
    /// Where the results of sums go.
    pub sums: Vec<Sum>,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.fillings.is_empty() && self.stretches.is_empty() && self.sums.is_empty()
    }

    /// Columns to the PUs. One that opens has the next filling, as the first has.
    fn read(&mut self, it: &Dispatch) {
        let filling = match self.stretches.last_mut() {
            Some(before) => {
                before.release = it.opens;
                before.filling + usize::from(it.opens)
            }
            None => 0,
        };
        self.stretches.push(Stretch {
            row: it.row.into(),
            column: it.column.into(),
            word: first_word(it),
            count: count(it),
            first: it.first,
            last: it.last,
            filling,
            release: true,
        });
    }
}

/// A part of a program that begins when the one before it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Sums of products.
    Work(Work),
    /// Scores in the GPR become weights.
    Weigh {
        /// Place of the first.
        place: usize,
        /// How many there are.
        tokens: usize,
        /// Query head.
        head: usize,
    },
    /// All banks are closed.
    Close,
}

/// Commands of a program, at the most: more than one for each word, column and result of a bank of 65 536 rows. A program's
/// loops make up to 2^64, and all of them are kept while it runs.
const MOST_COMMANDS: usize = 1 << 24;

/// The phases of a request's program, on a module of so many PUs, where the host has so many words. A program that is
/// wrong anywhere has none.
pub fn phases(
    commands: &mut Expansion<'_>,
    request: u8,
    words: usize,
    config: &Config,
    pus: usize,
) -> Result<Vec<Phase>, DispatchError> {
    let (mut phases, mut work) = (Vec::new(), Work::default());
    let mut operands = 0;
    for (number, command) in commands.enumerate() {
        if number == MOST_COMMANDS {
            return Err(DispatchError::TooLong { most: MOST_COMMANDS });
        }
        let it = command.map_err(|ExpandError { status, address }| DispatchError::Fault {
            request,
            status,
            address: address as u16,
        })?;
        dispatch::outcome(request, fault(&it, config, pus), RunEnd::default())?;
        let place = it.place.get() as usize;
        let ends = match it.kind {
            Opcode::Weigh | Opcode::CloseAll => true,
            Opcode::WrWeights => it.first,
            _ => false,
        };
        if ends && !work.is_empty() {
            phases.push(Phase::Work(std::mem::take(&mut work)));
        }
        match it.kind {
            Opcode::MacScore => work.read(&it),
            Opcode::WrShared => {
                let words = count(&it);
                work.fillings.push(Filling { words, source: Source::Host(operands) });
                operands += words;
            }
            Opcode::WrWeights => {
                let (words, tokens) = (count(&it), it.tokens.get() as usize);
                let elements = if it.word == 0 { tokens } else { words * MULTIPLIERS };
                work.fillings.push(Filling { words, source: Source::Gpr { place, elements } });
            }
            Opcode::RdResult => work.sums.push(Sum { place, goes_on: !it.first }),
            Opcode::Weigh => {
                let (tokens, head) = (it.tokens.get() as usize, it.head.get() as usize);
                phases.push(Phase::Weigh { place, tokens, head });
            }
            _ => phases.push(Phase::Close),
        }
    }
    if !work.is_empty() {
        phases.push(Phase::Work(work));
    }
    if operands > words { Err(DispatchError::Operands) } else { Ok(phases) }
}

/// Columns or words.
fn count(it: &Dispatch) -> usize {
    match it.word {
        0 => (it.tokens.get() as usize).div_ceil(MULTIPLIERS),
        count => count.into(),
    }
}

fn first_word(it: &Dispatch) -> usize {
    8 * it.head.get() as usize
}

/// What is wrong with a command: as `aim_hub` has it. Where the number of channels is no power of two, results may go to
/// every word of the GPR.
fn fault(it: &Dispatch, config: &Config, pus: usize) -> Fault {
    let Dispatch { kind, row, column, .. } = *it;
    let (count, place, tokens) = (count(it), it.place.get() as usize, it.tokens.get() as usize);
    let is_mac = kind == Opcode::MacScore;
    let fills = matches!(kind, Opcode::WrShared | Opcode::WrWeights);
    let end = match kind {
        Opcode::Weigh => place + tokens,
        Opcode::WrWeights => place + count * MULTIPLIERS,
        Opcode::RdResult => place + pus,
        _ => 0,
    };
    let multiple = match kind {
        Opcode::RdResult if pus.is_power_of_two() => pus,
        Opcode::RdResult | Opcode::Weigh | Opcode::WrWeights => MULTIPLIERS,
        _ => 1,
    };
    if matches!(kind, Opcode::MacContext | Opcode::Finish) {
        Fault::UnknownCommand
    } else if is_mac && usize::from(row) >= config.organisation.rows {
        Fault::NoRow
    } else if (is_mac || fills) && !(1..=GLOBAL_WORDS).contains(&count)
        || kind == Opcode::Weigh && tokens == 0
    {
        Fault::NoTokens
    } else if is_mac && first_word(it) + count > GLOBAL_WORDS {
        Fault::NoOperand
    } else if is_mac && usize::from(column) + count > config.columns() {
        Fault::NoColumn
    } else if !place.is_multiple_of(multiple) || end > GPR {
        Fault::NoPlace
    } else {
        Fault::None
    }
}
