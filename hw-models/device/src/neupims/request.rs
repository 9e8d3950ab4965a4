// SPDX-License-Identifier: MIT
//! What a host asks of a channel.

use super::sizes::{BANKS, BURST, PAGE};

/// Data of a burst.
pub type BurstData = [u16; BURST];
/// Data of a row.
pub type Row = [u16; PAGE];

/// A read or a write of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemRequest {
    /// Bank of the channel: pseudo-rank, group, bank.
    pub bank: u8,
    /// Row of the bank.
    pub row: u16,
    /// Burst of the row.
    pub column: u8,
    /// Data of a write; none: a read.
    pub data: Option<BurstData>,
}

/// A request for PIM. Rows, words and counts are as on the pins, counts not less one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PimRequest {
    /// PIM_HEADER: what the operation that follows does.
    Header {
        /// Row of all banks.
        row: u16,
        /// Dot products of the operation, 1 to 32.
        dots: u8,
        /// Bursts of results of the operation, 1 to 8.
        results: u8,
    },
    /// PIM_GWRITE: a row of a bank to the global buffer.
    Gwrite {
        /// The bank.
        bank: u8,
        /// The row.
        row: u16,
    },
    /// PIM_GEMV: dot products of some words, and their results.
    Gemv {
        /// The first word.
        word: u8,
        /// How many, 1 to 32.
        count: u8,
        /// It ends the operation.
        last: bool,
    },
    /// PIM_DOTPRODUCT.
    DotProduct {
        /// The word.
        word: u8,
        /// It begins a sum.
        first: bool,
        /// It ends a sum.
        last: bool,
    },
    /// PIM_RDRESULT.
    ReadResult {
        /// It ends the operation.
        last: bool,
    },
}

/// What a host is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelEvent {
    /// All data of a read have come.
    Read(MemRequest, BurstData),
    /// A write is on the pins.
    Written(MemRequest),
    /// A GWRITE is on the pins: its row has been taken.
    Gwrite,
    /// All results of a sum have come, those of bank 0 first.
    Results([u16; BANKS]),
}

/// RDRESULT of a sum comes behind so many dot products of the next, if it has more than these: they hide the time of the PUs.
const HIDES: u8 = 6;

/// The requests of an operation: GEMVs of consecutive sums of `counts` words, from word 0 on.
pub fn operation(row: u16, counts: &[u8], fine: bool, to: &mut Vec<PimRequest>) {
    let dots = counts.iter().sum();
    to.push(PimRequest::Header { row, dots, results: counts.len() as u8 });
    let mut word = 0;
    let mut waits = false;
    for (sum, &count) in counts.iter().enumerate() {
        let last = sum + 1 == counts.len();
        if !fine {
            to.push(PimRequest::Gemv { word, count, last });
        }
        for n in (0..count).filter(|_| fine) {
            // The results of a sum are read before the next ends.
            if waits && n == HIDES.min(count - 1) {
                to.push(PimRequest::ReadResult { last: false });
                waits = false;
            }
            let ends = n + 1 == count;
            to.push(PimRequest::DotProduct { word: word + n, first: n == 0, last: ends });
            waits |= ends;
        }
        word += count;
    }
    if fine {
        to.push(PimRequest::ReadResult { last: true });
    }
}

/// tCK that the estimate of an operation with these sums lacks where each of its results is read by a command of its own: `results_tck`
/// for each RDRESULT that no dot products hide.
pub fn fine_guard(counts: &[u8], results_tck: u64) -> u64 {
    let shown = counts.iter().skip(1).filter(|&&count| count <= HIDES).count() as u64;
    (shown + 1) * results_tck
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_in_fine_commands_reads_each_sum_before_the_next_ends() {
        let mut requests = Vec::new();
        operation(7, &[8, 2, 1], true, &mut requests);
        let (mut open, mut reads, mut dots) = (0, 0, 0);
        for request in &requests[1..] {
            match *request {
                PimRequest::DotProduct { word, first, last } => {
                    assert_eq!(u32::from(word), dots);
                    assert_eq!(first, [0, 8, 10].contains(&dots));
                    dots += 1;
                    open += u32::from(last);
                    assert!(open <= 1, "a sum is lost");
                }
                PimRequest::ReadResult { last } => {
                    (open, reads) = (open - 1, reads + 1);
                    assert_eq!(last, reads == 3);
                }
                _ => panic!("{request:?}"),
            }
        }
        assert_eq!((requests[0], dots), (PimRequest::Header { row: 7, dots: 11, results: 3 }, 11));
        assert_eq!(fine_guard(&[8, 8, 8, 8], 14), 14);
        assert_eq!(fine_guard(&[8, 2, 1], 14), 42);
    }

    #[test]
    fn a_composite_operation_has_a_command_for_each_sum() {
        let mut requests = Vec::new();
        operation(7, &[8, 8], false, &mut requests);
        assert_eq!(requests.len(), 3);
        assert_eq!(requests[2], PimRequest::Gemv { word: 8, count: 8, last: true });
    }
}
