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
use pimlico_dpa::Opcode;
use pimlico_dpa::types::{Fault, ResultAddress, SumKind};
use pimlico_ports::Enumerated;

/// Scores that the score buffer holds.
const SCORE_BUFFER: u32 = 128 * 1024;
/// Partial sums of the context.
const PARTIAL_SUMS: u32 = 256;
/// Scores in a burst, and weights in a word.
const LANES: u32 = 4;
/// Chips, and so elements that complete sums of the context have.
const CHIPS: u16 = 8;

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
pub fn decode(input: &SequencerIn) -> Result<Command, Fault> {
    let kind = Opcode::from_code(input.dispatch_kind_i.get()).unwrap_or_default();
    let place = input.dispatch_place_i.get() as u32;
    let tokens = input.dispatch_tokens_i.get() as u32;
    let (word, head) = (input.dispatch_word_i, input.dispatch_head_i.get() as u8);
    let below = |value: u32, limit: u32, fault| if value < limit { Ok(()) } else { Err(fault) };
    Ok(match kind {
        Opcode::MacScore | Opcode::MacContext => {
            let (row, column) = (input.dispatch_row_i, input.dispatch_column_i);
            below(row.into(), input.rows_i.get() as u32, Fault::NoRow)?;
            below(column.into(), input.columns_i.get() as u32, Fault::NoColumn)?;
            Command::Read(Read {
                row,
                column,
                shared: word,
                accumulate: kind == Opcode::MacContext,
                first: input.dispatch_first_i,
                last: input.dispatch_last_i,
                opens: input.dispatch_opens_i,
            })
        }
        Opcode::CloseAll => Command::CloseAll,
        Opcode::WrShared => Command::Shared { word, behind_reads: input.dispatch_first_i },
        Opcode::WrWeights => Command::Weights { word },
        Opcode::Finish => Command::Finish { head },
        Opcode::Weigh => {
            let count = tokens.min(LANES);
            below(0, count, Fault::NoTokens)?;
            below(place + count - 1, SCORE_BUFFER, Fault::NoPlace)?;
            Command::Weigh(Weigh { head, place, count: count as u8 })
        }
        Opcode::RdResult => Command::Result(decode_result(input, place, tokens)?),
        _ => return Err(Fault::UnknownCommand),
    })
}

fn decode_result(input: &SequencerIn, place: u32, tokens: u32) -> Result<ResultCommand, Fault> {
    let results = ResultAddress::of_bits(input.dispatch_word_i);
    let (head, kind) = (input.dispatch_head_i.get() as u8, results.sum_kind());
    let (first, last) = (input.dispatch_first_i, input.dispatch_last_i);
    let none = ResultCommand {
        address: results.on_bus().bits(),
        kind,
        head: 0,
        first: false,
        last: false,
        tokens: 0,
        place: 0,
        keep: false,
        goes_on: false,
        complete: false,
    };
    match kind {
        SumKind::Context if place >= PARTIAL_SUMS => Err(Fault::NoPlace),
        SumKind::Context => Ok(ResultCommand {
            head,
            // A burst holds four sums of 16 bits or two of 32, of as many bank groups.
            first: !results.upper,
            last: !input.wide_i || results.upper,
            place,
            goes_on: !first,
            complete: last,
            ..none
        }),
        SumKind::Outputs if place + LANES > SCORE_BUFFER => Err(Fault::NoPlace),
        SumKind::Outputs => Ok(ResultCommand { place, goes_on: !first, complete: last, ..none }),
        SumKind::Scores => {
            let before = results.lane.get() as u32 * LANES;
            let keep = place + LANES <= SCORE_BUFFER;
            Ok(ResultCommand {
                head,
                first,
                tokens: tokens.saturating_sub(before).min(LANES) as u8,
                place: if keep { place } else { 0 },
                keep,
                ..none
            })
        }
    }
}
