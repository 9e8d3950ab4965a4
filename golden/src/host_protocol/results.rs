// SPDX-License-Identifier: MIT
//! The bursts of results that the host has read, and those that it may read.

use super::rules::HostRules;
use std::fmt;

/// A stream of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Elements of the context.
    Context,
    /// Outputs.
    Outputs,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Context => "context",
            Self::Outputs => "outputs",
        })
    }
}

/// Bursts of a stream that can be read.
const PLACES: u64 = 64;

/// A read of a burst.
#[derive(Clone, Copy, Debug)]
struct Read {
    burst: u64,
    at_tck: u64,
    data: Option<[u64; 8]>,
}

/// Bursts that were never read and are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone {
    pub(super) first: u64,
    pub(super) bursts: u64,
}

/// The bursts of a stream.
#[derive(Clone, Debug)]
pub(super) struct Results {
    /// Bursts that a status has counted.
    counted: u64,
    /// Bursts that are read, gone, or of no use.
    judged: u64,
    /// The last read of each place.
    reads: [Option<Read>; PLACES as usize],
}

impl Results {
    pub(super) fn new() -> Self {
        Self { counted: 0, judged: 0, reads: [None; PLACES as usize] }
    }

    /// Stream and place of a bank and column.
    pub(super) fn place(bank: usize, column: usize, rules: &HostRules) -> (Stream, usize) {
        let group = (bank / rules.banks_per_group) % 4;
        let stream = if group < 2 { Stream::Context } else { Stream::Outputs };
        (stream, (column & 31) * 2 + group % 2)
    }

    /// An RD of a place, and the burst that the host can mean: the last one there that a status has
    /// counted. The place itself if none has.
    pub(super) fn read(&mut self, at_tck: u64, place: usize) -> Result<u64, u64> {
        let place = place as u64;
        let Some(ahead) = self.counted.checked_sub(place + 1) else { return Err(place) };
        let burst = place + ahead / PLACES * PLACES;
        let read = &mut self.reads[place as usize];
        match read {
            Some(read) if read.burst == burst => {}
            _ => *read = Some(Read { burst, at_tck, data: None }),
        }
        Ok(burst)
    }

    /// The data of a burst. Whether they are those of an earlier read of it.
    pub(super) fn data(&mut self, burst: u64, words: [u64; 8]) -> bool {
        let Some(read) = &mut self.reads[(burst % PLACES) as usize] else { return true };
        read.burst != burst || *read.data.get_or_insert(words) == words
    }

    /// A status that was asked for in `asked_tck` has counted so many bursts. Those that were not asked for
    /// before it are gone where the 64th behind them is counted.
    pub(super) fn count(&mut self, asked_tck: u64, counted: u64) -> Option<Gone> {
        self.counted = counted;
        let kept = counted.saturating_sub(PLACES);
        let in_time = |burst: &u64| {
            let read = self.reads[(burst % PLACES) as usize];
            read.is_some_and(|read| read.burst == *burst && read.at_tck < asked_tck)
        };
        let mut gone = (self.judged..kept).filter(|burst| !in_time(burst));
        let first = gone.next();
        let bursts = 1 + gone.count() as u64;
        self.judged = self.judged.max(kept);
        first.map(|first| Gone { first, bursts })
    }

    /// The run has a fault: what it has brought so far may be left.
    pub(super) fn abandon(&mut self) {
        self.judged = self.counted;
    }
}
