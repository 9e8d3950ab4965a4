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
//! The *word* of RD_RESULT has the address of the results on the bus. Bit 6 tells scores from outputs of a
//! matrix, for which the bus has the same address:
//!
//! | bits 7, 6 | results | first | last | place |
//! | --- | --- | --- | --- | --- |
//! | 0, 0 | scores of a bank group, tokens of the chunk beyond *tokens* masked | the first chunk of *head* | | in the score buffer; beyond it, they are not kept |
//! | 0, 1 | outputs of a matrix | they begin sums; else they go on from the partial sums at *place* | sums are complete, and go to the host; else they become partial sums | of the partial sums |
//! | 1, x | sums of the context | as before | sums are complete | of the partial sums |

use super::SequencerIn;
use pimlico_dpa::Kind;

/// Bit of RD_RESULT's word that tells outputs of a matrix from scores, and of the context the upper two
/// bank groups from the lower.
const OUTPUTS: u8 = 0x40;
/// Bit of RD_RESULT's word that tells sums of the context from both.
const CONTEXT: u8 = 0x80;

/// Scores that the score buffer holds.
const SCORE_BUFFER: u32 = 128 * 1024;
/// Partial sums of the context.
const PARTIAL_SUMS: u32 = 256;
/// Scores in a burst, and weights in a word.
const LANES: u32 = 4;
/// Chips, and so elements that complete sums of the context have.
const CHIPS: u16 = 8;

/// What is wrong with a run; its code is that of `fault_o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequencerFault {
    /// There is no such command.
    UnknownCommand = 1,
    /// There is no such row.
    Row = 2,
    /// There is no such column.
    Column = 3,
    /// There is no such place.
    Place = 4,
    /// A WEIGH where there are no tokens.
    NoTokens = 5,
    /// The host has fewer bursts than the program writes.
    Operands = 6,
    /// Results of a sum had not been read when those of the next came.
    Overwritten = 7,
    /// WEIGHs and WR_WEIGHTS do not match.
    Unpaired = 8,
}

impl SequencerFault {
    /// The fault of a code, if it is one.
    pub fn of(code: u8) -> Option<Self> {
        const ALL: [SequencerFault; 8] = [
            SequencerFault::UnknownCommand,
            SequencerFault::Row,
            SequencerFault::Column,
            SequencerFault::Place,
            SequencerFault::NoTokens,
            SequencerFault::Operands,
            SequencerFault::Overwritten,
            SequencerFault::Unpaired,
        ];
        ALL.get(usize::from(code).wrapping_sub(1)).copied()
    }
}

/// A command at the door.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    Read(Read),
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
        head: u8,
    },
    Weigh(Weigh),
}

/// A MAC.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    pub row: u16,
    pub column: u8,
    pub shared: u8,
    pub accumulate: bool,
    pub first: bool,
    pub last: bool,
    pub opens: bool,
}

/// What results are; the code is that of `sum_kind_o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumKind {
    Scores = 0,
    Outputs = 1,
    Context = 2,
}

/// RD_RESULT. What a kind of results does not have is 0.
#[derive(Clone, Copy, Debug)]
pub struct ResultCommand {
    pub address: u8,
    pub kind: SumKind,
    pub head: u8,
    pub first: bool,
    pub last: bool,
    pub tokens: u8,
    pub place: u32,
    pub keep: bool,
    pub goes_on: bool,
    pub complete: bool,
}

impl ResultCommand {
    /// Elements that are complete with it, for the host.
    pub fn elements(&self) -> u16 {
        match self.kind {
            SumKind::Context if self.complete && self.last => CHIPS,
            SumKind::Outputs if self.complete => LANES as u16,
            _ => 0,
        }
    }

    /// Scores that come of it, masked ones among them.
    pub fn scores(&self) -> u16 {
        if self.kind == SumKind::Scores { LANES as u16 } else { 0 }
    }
}

/// WEIGH.
#[derive(Clone, Copy, Debug)]
pub struct Weigh {
    pub head: u8,
    pub place: u32,
    pub count: u8,
}

/// Checks a dispatched command against what the rank has.
pub fn decode(input: &SequencerIn) -> Result<Command, SequencerFault> {
    let kind = Kind::of(input.dispatch_kind_i.get() as u8);
    let place = input.dispatch_place_i.get() as u32;
    let tokens = input.dispatch_tokens_i.get() as u32;
    let (word, head) = (input.dispatch_word_i, input.dispatch_head_i.get() as u8);
    let below = |value: u32, limit: u32, fault| if value < limit { Ok(()) } else { Err(fault) };
    Ok(match kind.ok_or(SequencerFault::UnknownCommand)? {
        kind @ (Kind::MacScore | Kind::MacContext) => {
            let (row, column) = (input.dispatch_row_i, input.dispatch_column_i);
            below(row.into(), input.rows_i.get() as u32, SequencerFault::Row)?;
            below(column.into(), input.columns_i.get() as u32, SequencerFault::Column)?;
            Command::Read(Read {
                row,
                column,
                shared: word,
                accumulate: kind == Kind::MacContext,
                first: input.dispatch_first_i,
                last: input.dispatch_last_i,
                opens: input.dispatch_opens_i,
            })
        }
        Kind::CloseAll => Command::CloseAll,
        Kind::WrShared => Command::Shared { word, behind_reads: input.dispatch_first_i },
        Kind::WrWeights => Command::Weights { word },
        Kind::Finish => Command::Finish { head },
        Kind::Weigh => {
            let count = tokens.min(LANES);
            below(0, count, SequencerFault::NoTokens)?;
            below(place + count - 1, SCORE_BUFFER, SequencerFault::Place)?;
            Command::Weigh(Weigh { head, place, count: count as u8 })
        }
        Kind::RdResult => Command::Result(decode_result(input, place, tokens)?),
    })
}

fn decode_result(
    input: &SequencerIn,
    place: u32,
    tokens: u32,
) -> Result<ResultCommand, SequencerFault> {
    let (word, head) = (input.dispatch_word_i, input.dispatch_head_i.get() as u8);
    let (first, last) = (input.dispatch_first_i, input.dispatch_last_i);
    let group = word & 3;
    let none = ResultCommand {
        address: group,
        kind: SumKind::Scores,
        head: 0,
        first: false,
        last: false,
        tokens: 0,
        place: 0,
        keep: false,
        goes_on: false,
        complete: false,
    };
    if word & CONTEXT != 0 {
        if place >= PARTIAL_SUMS {
            return Err(SequencerFault::Place);
        }
        let upper = word & OUTPUTS != 0;
        return Ok(ResultCommand {
            address: word & (CONTEXT | OUTPUTS | 0xF),
            kind: SumKind::Context,
            head,
            // A burst holds four sums of 16 bits or two of 32, of as many bank groups.
            first: !upper,
            last: !input.wide_i || upper,
            place,
            goes_on: !first,
            complete: last,
            ..none
        });
    }
    if word & OUTPUTS != 0 {
        if place + LANES > SCORE_BUFFER {
            return Err(SequencerFault::Place);
        }
        let kind = SumKind::Outputs;
        return Ok(ResultCommand { kind, place, goes_on: !first, complete: last, ..none });
    }
    let keep = place + LANES <= SCORE_BUFFER;
    Ok(ResultCommand {
        head,
        first,
        tokens: tokens.saturating_sub(u32::from(group) * LANES).min(LANES) as u8,
        place: if keep { place } else { 0 },
        keep,
        ..none
    })
}
