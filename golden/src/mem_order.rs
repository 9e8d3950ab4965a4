// SPDX-License-Identifier: MIT
//! Which read, write, activation or precharge of a channel is next, told from the log of all that has happened.
//!
//! There are no queues: requests wait in one list if they have come and not gone, and each question is answered by looking
//! through all of it.
//!
//! ```
//! use pimlico_golden::mem_order::{Burst, MemLog};
//!
//! let mut log = MemLog::default();
//! log.come(Burst { bank: 3, row: 7, ..Burst::default() });
//! log.come(Burst { bank: 3, row: 8, tag: 1, ..Burst::default() });
//! assert_eq!(log.act(false, u32::MAX, &[]), Some((3, 7)));
//! log.opened(3, 8);
//! assert_eq!(log.column(false, u32::MAX, &[]).map(|burst| burst.tag), Some(1));
//! ```

/// Row hits of a bank after which another row may be opened.
const HITS: usize = 4;
/// Bursts of a pseudo-rank in a row after which the other is preferred.
const RUN: usize = 16;

/// A burst that is read or written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of the ports")]
pub struct Burst {
    pub write: bool,
    pub bank: u64,
    pub row: u64,
    pub column: u64,
    pub tag: u64,
}

/// What has happened since reset.
#[derive(Clone, Debug)]
pub struct MemLog {
    /// In the order in which they came. Those that are gone are none.
    waiting: Vec<Burst>,
    /// Of each bank, the open row, and the bursts since a row was opened.
    rows: [Option<u64>; 32],
    bursts: [usize; 32],
    /// Pseudo-rank of each burst that has moved.
    ranks: Vec<u64>,
}

impl Default for MemLog {
    fn default() -> Self {
        // As if a burst of the first pseudo-rank had moved.
        Self { waiting: Vec::new(), rows: [None; 32], bursts: [0; 32], ranks: vec![0] }
    }
}

impl MemLog {
    /// A burst waits from now on.
    pub fn come(&mut self, burst: Burst) {
        self.waiting.push(burst);
    }

    /// A row was opened.
    pub fn opened(&mut self, bank: u64, row: u64) {
        self.rows[bank as usize] = Some(row);
        self.bursts[bank as usize] = 0;
    }

    /// A row was closed.
    pub fn closed(&mut self, bank: u64) {
        self.rows[bank as usize] = None;
    }

    /// The oldest burst with these ports has moved. Returns whether there was one.
    pub fn moved(&mut self, burst: Burst) -> bool {
        let place = self.waiting.iter().position(|other| *other == burst);
        if let Some(place) = place {
            self.waiting.remove(place);
            self.bursts[burst.bank as usize] += 1;
            self.ranks.push(burst.bank / 16);
        }
        place.is_some()
    }

    /// How many bursts wait.
    pub fn count(&self, write: bool) -> usize {
        self.waiting.iter().filter(|burst| burst.write == write).count()
    }

    /// Whether a burst of the other kind and the same address waits.
    pub fn is_behind(&self, burst: &Burst) -> bool {
        let address = |burst: &Burst| (burst.bank, burst.row, burst.column);
        self.waiting
            .iter()
            .any(|other| other.write != burst.write && address(other) == address(burst))
    }

    /// The row of a bank that is open.
    pub fn row(&self, bank: u64) -> Option<u64> {
        self.rows[bank as usize]
    }

    /// Whether a bank has had as many hits since its row was opened as it may while another is wanted.
    pub fn is_capped(&self, bank: u64) -> bool {
        self.bursts[bank as usize] >= HITS
    }

    /// The pseudo-rank whose bursts are preferred.
    pub fn preferred(&self) -> u64 {
        let last = self.last_rank();
        let is_run = self.ranks.len() >= RUN
            && self.ranks[self.ranks.len() - RUN..].iter().all(|rank| *rank == last);
        if is_run { 1 - last } else { last }
    }

    /// The pseudo-rank of the last burst that has moved.
    pub fn last_rank(&self) -> u64 {
        self.ranks.last().copied().unwrap_or(0)
    }

    /// The oldest burst of a kind whose row is open.
    pub fn oldest_hit(&self, write: bool) -> Option<Burst> {
        let mut of_kind = self.waiting.iter().filter(|burst| burst.write == write);
        of_kind.find(|burst| self.row(burst.bank) == Some(burst.row)).copied()
    }

    /// Whether some of a kind wait whose row is open in a bank, and is not PIM's.
    pub fn hits(&self, write: bool, bank: u64, of_pim: &[u64]) -> bool {
        let wanted = self.wanted(write, of_pim);
        wanted.iter().any(|burst| burst.bank == bank && self.row(bank) == Some(burst.row))
    }

    /// Those of a kind that wait and want none of the rows of PIM.
    fn wanted(&self, write: bool, of_pim: &[u64]) -> Vec<Burst> {
        let is = |burst: &&Burst| burst.write == write && !of_pim.contains(&burst.row);
        self.waiting.iter().filter(is).copied().collect()
    }

    /// Whether one of a kind wants a row of PIM.
    pub fn is_blocked(&self, write: bool, of_pim: &[u64]) -> bool {
        self.waiting.iter().any(|burst| burst.write == write && of_pim.contains(&burst.row))
    }

    /// The burst that is next, if its bank is ready.
    pub fn column(&self, write: bool, ready: u32, of_pim: &[u64]) -> Option<Burst> {
        let wanted = self.wanted(write, of_pim);
        let hits = |burst: &Burst| self.row(burst.bank) == Some(burst.row);
        let yields = |bank: u64| {
            let other = wanted.iter().any(|other| other.bank == bank && !hits(other));
            other && self.is_capped(bank)
        };
        let may =
            |burst: &&Burst| hits(burst) && ready >> burst.bank & 1 == 1 && !yields(burst.bank);
        let preferred = self.preferred();
        let first = wanted.iter().filter(may).find(|burst| burst.bank / 16 == preferred);
        first.or_else(|| wanted.iter().find(may)).copied()
    }

    /// The row that is opened next, if its bank is ready.
    pub fn act(&self, write: bool, ready: u32, of_pim: &[u64]) -> Option<(u64, u64)> {
        let wanted = self.wanted(write, of_pim);
        let misses = |burst: &&Burst| self.row(burst.bank) != Some(burst.row);
        let burst = wanted.iter().filter(misses).find(|burst| ready >> burst.bank & 1 == 1);
        burst.map(|burst| (burst.bank, burst.row))
    }

    /// The bank that is closed next, if it is ready.
    pub fn precharge(&self, write: bool, ready: u32, of_pim: &[u64]) -> Option<u64> {
        let wanted = self.wanted(write, of_pim);
        let hits = |burst: &Burst| self.row(burst.bank) == Some(burst.row);
        let may = |burst: &&Burst| {
            let in_use = wanted.iter().any(|other| other.bank == burst.bank && hits(other));
            !hits(burst) && ready >> burst.bank & 1 == 1 && (!in_use || self.is_capped(burst.bank))
        };
        wanted.iter().find(may).map(|burst| burst.bank)
    }
}
