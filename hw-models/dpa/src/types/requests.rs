// SPDX-License-Identifier: MIT
//! Requests to the rank.

use super::{Bank, Column, Head, Place, Row, Word};
use pimlico_ports::{Signal, U, pack, unpack};

/// What an array request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 2, sv = "array_kind_e", prefix = "Array")]
pub enum ArrayKind {
    /// RD_ALL: a column of every bank to its PU.
    #[default]
    ReadAll = 0,
    /// RD: a column of one bank to the data bus.
    Rd = 1,
    /// WR: a column of one bank from the data bus.
    Wr = 2,
    /// CLOSE_ALL: all banks are closed.
    CloseAll = 3,
}

/// What the bank PUs do with the column of an all-bank read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "mac_t")]
pub struct Mac {
    /// Word of the shared buffers: the other operand.
    pub word: Word,
    /// Accumulator mode (context); else the adder tree (score, FC).
    pub accumulate: bool,
    /// Begins a sum.
    pub first: bool,
    /// Ends a sum.
    pub last: bool,
    /// First read of an operator, for statistics alone.
    pub opens: bool,
}

/// A request for the banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "array_request_t")]
pub struct ArrayRequest {
    /// Kind of the request.
    pub kind: ArrayKind,
    /// Bank of RD and WR.
    pub bank: Bank,
    /// Row of RD_ALL, RD and WR.
    pub row: Row,
    /// Column of RD_ALL, RD and WR.
    pub column: Column,
    /// RD_ALL: what the bank PUs do with the column.
    pub mac: Mac,
}

/// Which results an RD_RESULT reads, as its address bits say.
///
/// The word of an RD_RESULT in a program is such an address as well. There `upper` without `context_sums`
/// tells outputs of a matrix from scores, for which the address on the bus is the same:
/// [`sum_kind`](Self::sum_kind), [`on_bus`](Self::on_bus).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "result_address_t")]
pub struct ResultAddress {
    /// One lane of one bank in each group; else the sums of the banks of a group.
    pub context_sums: bool,
    /// Context of 32-bit sums: bank groups 2 and 3; else 0 and 1.
    pub upper: bool,
    /// Always 0.
    pub unused: U<2>,
    /// Context: bank in its group.
    pub bank: U<2>,
    /// Context: lane of the result register; else the bank group.
    pub lane: U<2>,
}

impl ResultAddress {
    /// The address that these bits are.
    pub fn of_bits(bits: u8) -> Self {
        unpack(bits.into())
    }

    /// Its bits.
    pub fn bits(self) -> u8 {
        pack(&self) as u8
    }

    /// The word of an RD_RESULT for the scores of a bank group.
    pub const fn scores(group: u8) -> Self {
        Self::new(false, false, 0, group)
    }

    /// The word of an RD_RESULT for the outputs of a bank group.
    pub const fn outputs(group: u8) -> Self {
        Self::new(false, true, 0, group)
    }

    /// The word of an RD_RESULT for sums of the context: a lane of one bank in each bank group, or in the
    /// lower or the upper two groups where sums are of 32 bits.
    pub const fn context(bank: u8, lane: u8, upper: bool) -> Self {
        Self::new(true, upper, bank, lane)
    }

    const fn new(context_sums: bool, upper: bool, bank: u8, lane: u8) -> Self {
        let (bank, lane) = (U::new(bank as u64), U::new(lane as u64));
        Self { context_sums, upper, unused: U::new(0), bank, lane }
    }

    /// What the results are, where this is the word of an RD_RESULT in a program.
    pub const fn sum_kind(self) -> SumKind {
        match self {
            Self { context_sums: true, .. } => SumKind::Context,
            Self { upper: true, .. } => SumKind::Outputs,
            _ => SumKind::Scores,
        }
    }

    /// The address on the bus, where this is the word of an RD_RESULT in a program: what has no meaning there
    /// is 0.
    pub const fn on_bus(self) -> Self {
        let Self { context_sums, upper, bank, lane, .. } = self;
        let zero = U::new(0);
        match context_sums {
            true => Self { context_sums, upper, unused: zero, bank, lane },
            false => Self { context_sums, upper: false, unused: zero, bank: zero, lane },
        }
    }
}

/// What a burst of results is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 2, sv = "sum_kind_e", prefix = "Sum")]
pub enum SumKind {
    /// Scores: added up over the chips, to the softmax unit.
    #[default]
    Scores = 0,
    /// Outputs of a matrix: added up over the chips, to the host.
    Outputs = 1,
    /// Context: the burst's elements added up for each chip.
    Context = 2,
}

/// What the adder unit does with a burst of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "sum_t")]
pub struct Sum {
    /// What the results are for.
    pub kind: SumKind,
    /// Scores, context: query head.
    pub head: Head,
    /// Scores: in the first chunk of their head; context: begins a sum.
    pub first: bool,
    /// Context: ends a sum.
    pub last: bool,
    /// Scores: number of tokens, 0 to 4; the elements after them are masked.
    pub tokens: U<3>,
    /// Place of the first element in the score buffer; context: among the partial sums.
    pub place: Place,
    /// Scores: they are kept in the score buffer.
    pub keep: bool,
    /// Outputs, context: the sums go on from partial sums.
    pub goes_on: bool,
    /// Outputs, context: the sums are complete; else they become partial sums.
    pub complete: bool,
}

/// Whose the sums over the chips of a cycle are, one in each lane, as they come out of the adder unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "tree_sum_t")]
pub struct TreeSum {
    /// The sums are outputs of a matrix; else scores.
    pub is_output: bool,
    /// Scores: query head.
    pub head: Head,
    /// Scores: in the first chunk of their head.
    pub first: bool,
    /// Scores, by lane: there is no such token. 0 in a lane that there is not.
    pub masked: U<4>,
    /// Scores: they are kept in the score buffer.
    pub keep: bool,
    /// Outputs: the sums are complete; else they become partial sums.
    pub complete: bool,
    /// Place of the first lane in the score buffer.
    pub place: Place,
}

/// Whose the sums of the chips are, as they come out of the adder unit: of the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "lane_sums_t")]
pub struct LaneSums {
    /// Query head.
    pub head: Head,
    /// The sums are complete; else they become partial sums.
    pub complete: bool,
    /// Place among the partial sums.
    pub place: u8,
}

/// A request for the data bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "bus_request_t")]
pub struct BusRequest {
    /// WR_SHARED; else RD_RESULT.
    pub write: bool,
    /// WR_SHARED: word of the shared buffers; RD_RESULT: bits of a result address.
    pub address: Word,
    /// WR_SHARED: the host's next burst; else the next word of weights.
    pub host: bool,
    /// RD_RESULT: what the adder unit does with the results.
    pub sum: Sum,
}

/// A query head whose scores are complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "finish_t")]
pub struct Finish {
    /// Query head whose scores are complete.
    pub head: Head,
}

/// Scores in the buffer that become a word of weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "weigh_t")]
pub struct Weigh {
    /// Place of the first score.
    pub place: Place,
    /// Query head of the scores.
    pub head: Head,
    /// Number of scores, 1 to 4.
    pub count: U<3>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_an_address_tell_results_apart() {
        assert_eq!(ResultAddress::scores(3).bits(), 0x03);
        assert_eq!(ResultAddress::outputs(1).bits(), 0x41);
        assert_eq!(ResultAddress::outputs(1).on_bus().bits(), 0x01);
        assert_eq!(ResultAddress::context(2, 1, false).bits(), 0x89);
        assert_eq!(ResultAddress::context(2, 1, true).bits(), 0xC9);
        for word in 0..=u8::MAX {
            let address = ResultAddress::of_bits(word);
            assert_eq!(address.bits(), word);
            let (kind, on_bus) = match word {
                0x80.. => (SumKind::Context, word & 0xCF),
                0x40.. => (SumKind::Outputs, word & 0x03),
                _ => (SumKind::Scores, word & 0x03),
            };
            assert_eq!((address.sum_kind(), address.on_bus().bits()), (kind, on_bus));
        }
    }
}
