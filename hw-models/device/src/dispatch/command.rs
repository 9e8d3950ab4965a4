// SPDX-License-Identifier: MIT
//! What a dispatched command asks the rank for: the entry that it becomes in one of the queues.
//!
//! | command | queue | what it asks for |
//! | --- | --- | --- |
//! | MAC_SCORE, MAC_CONTEXT | array | RD_ALL; *word* of the shared buffers, *first* and *last* of a sum |
//! | CLOSE_ALL | array | PREA, and the end of a head, behind everything else |
//! | RD_RESULT | results | a burst of results, by *word*: see below |
//! | WR_SHARED | operands | the host's next burst to *word*; with *first* behind all MACs before it |
//! | WR_WEIGHTS | operands | the softmax unit's next word of weights to *word* |
//! | WEIGH | softmax | a word of weights: of up to four scores from *place* on, as many as there are tokens |
//! | FINISH | softmax | the reciprocal of the sum of *head* |
//!
//! The *word* of RD_RESULT has the address of [`Results`]. Bit 6 tells scores from outputs of a matrix,
//! for which the bus has the same address:
//!
//! | bits 7, 6 | results | first | last | place |
//! | --- | --- | --- | --- | --- |
//! | 0, 0 | scores of a bank group, tokens of the chunk beyond *tokens* masked | the first chunk of *head* | | in the score buffer; beyond it, they are not kept |
//! | 0, 1 | outputs of a matrix | they begin sums; else they go on from the partial sums at *place* | sums are complete, and go to the host; else they become partial sums | of the partial sums |
//! | 1, x | sums of the context | as before | sums are complete | of the partial sums |

use super::DispatchError;
use crate::rank::{AllBankRead, Lanes, Outputs, PARTIAL_SUMS, Scores, Sum, SumFormat};
use crate::{CHIPS, Config, LANES, Results, SCORE_BUFFER};
use pimlico_dpa::Kind;
use pimlico_units::module::DispatcherOut;

/// Bit of RD_RESULT's word that tells outputs of a matrix from scores.
const OUTPUTS: u8 = 0x40;
/// Bit of RD_RESULT's word that tells sums of the context from both.
const CONTEXT: u8 = 0x80;

/// A command on its way into a queue.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    Read(AllBankRead),
    CloseAll,
    Result(ResultCommand),
    /// The word, and whether it waits for the MACs before it.
    Shared {
        word: u8,
        behind_reads: bool,
    },
    Weights {
        word: u8,
    },
    Finish {
        head: usize,
    },
    Weigh(WeighCommand),
}

/// RD_RESULT.
#[derive(Clone, Copy, Debug)]
pub struct ResultCommand {
    pub results: Results,
    pub sum: Sum,
}

impl ResultCommand {
    /// Elements that are complete with it, for the host.
    pub fn elements(&self) -> u32 {
        match self.sum {
            Sum::Lanes(Lanes { complete: true, last: true, .. }) => CHIPS as u32,
            Sum::Outputs(Outputs { complete: true, .. }) => LANES as u32,
            _ => 0,
        }
    }

    /// Scores that come of it, masked ones among them.
    pub fn scores(&self) -> u32 {
        if matches!(self.sum, Sum::Tree(_)) { LANES as u32 } else { 0 }
    }
}

/// WEIGH.
#[derive(Clone, Copy, Debug)]
pub struct WeighCommand {
    pub head: usize,
    pub place: usize,
    pub count: usize,
}

/// Checks a dispatched command against what the rank has.
pub fn decode(
    from: &DispatcherOut,
    config: &Config,
    sums: SumFormat,
) -> Result<Command, DispatchError> {
    let kind = Kind::of(from.dispatch_kind_o.get() as u8).ok_or(DispatchError::UnknownCommand)?;
    let below = |field, value: usize, limit: usize| match value < limit {
        true => Ok(()),
        false => Err(DispatchError::Field { command: kind.name(), field, value, limit }),
    };
    let head = from.dispatch_head_o.get() as usize;
    let place = from.dispatch_place_o.get() as usize;
    let (row, column) = (usize::from(from.dispatch_row_o), usize::from(from.dispatch_column_o));
    let word = from.dispatch_word_o;
    let tokens = from.dispatch_tokens_o.get() as usize;
    let (first, last) = (from.dispatch_first_o, from.dispatch_last_o);
    Ok(match kind {
        Kind::MacScore | Kind::MacContext => {
            below("row", row, config.organisation.rows)?;
            below("column", column, config.columns())?;
            Command::Read(AllBankRead {
                row,
                column,
                shared: word.into(),
                accumulate: kind == Kind::MacContext,
                first,
                last,
                opens: from.dispatch_opens_o,
            })
        }
        Kind::CloseAll => Command::CloseAll,
        Kind::WrShared => Command::Shared { word, behind_reads: first },
        Kind::WrWeights => Command::Weights { word },
        Kind::Finish => Command::Finish { head },
        Kind::Weigh => {
            let count = match tokens.min(LANES) {
                0 => return Err(DispatchError::NoTokens),
                count => count,
            };
            below("place", place + count - 1, SCORE_BUFFER)?;
            Command::Weigh(WeighCommand { head, place, count })
        }
        Kind::RdResult if word & CONTEXT != 0 => {
            below("place", place, PARTIAL_SUMS)?;
            let results = Results::from_address(word.into());
            let from_group = match results {
                Results::Context { from_group, .. } => from_group,
                Results::Scores { .. } => 0,
            };
            // A burst holds four sums of 16 bits or two of 32, of as many bank groups.
            let lasts = sums == SumFormat::Binary16 || from_group > 0;
            let sum = Sum::Lanes(Lanes {
                head,
                first: from_group == 0,
                last: lasts,
                place,
                goes_on: !first,
                complete: last,
            });
            Command::Result(ResultCommand { results, sum })
        }
        Kind::RdResult => {
            let group = usize::from(word) % LANES;
            let sum = if word & OUTPUTS != 0 {
                below("place", place + LANES - 1, SCORE_BUFFER)?;
                Sum::Outputs(Outputs { place, goes_on: !first, complete: last })
            } else {
                Sum::Tree(Scores {
                    head,
                    first,
                    tokens: tokens.saturating_sub(group * LANES),
                    place: Some(place).filter(|place| place + LANES <= SCORE_BUFFER),
                })
            };
            Command::Result(ResultCommand { results: Results::Scores { group }, sum })
        }
    })
}
