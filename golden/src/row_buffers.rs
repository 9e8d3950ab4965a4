// SPDX-License-Identifier: MIT
//! What the row buffers of a bank hold, told from the log of what was asked of them.
//!
//! There are no buffers here: a question is answered by the last activation or precharge in the log, the row that came
//! from the array with it, and the WRs since. So a buffer that another command changes, or that keeps what it
//! should lose, gives another answer than this.
//!
//! ```
//! use pimlico_golden::row_buffers::{Log, Owner, RowCommand};
//!
//! let mut log = Log::new(true);
//! log.command(3, Owner::Mem, RowCommand::Activate { row: 7, words: vec![10, 11, 12, 13] });
//! log.write(8, 1, [20, 21]);
//! assert_eq!(log.open(Owner::Mem, 9), Some(7));
//! assert_eq!(log.words(Owner::Mem, 9), Some(vec![10, 11, 20, 21]));
//! assert_eq!(log.open(Owner::Pim, 9), None);
//! ```

/// Whose row buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// That of RD and WR.
    Mem,
    /// That of dot products.
    Pim,
}

/// What opens or closes a row buffer.
#[derive(Clone, Debug)]
pub enum RowCommand<W> {
    /// Opens a row, with its words from the array.
    Activate {
        /// Number of the row.
        row: u64,
        /// The words.
        words: Vec<W>,
    },
    /// Closes a row.
    Precharge,
}

/// A WR: a column of two words.
#[derive(Clone, Debug)]
struct Write<W> {
    cycle: u64,
    column: usize,
    data: [W; 2],
}

/// What was asked of a bank, in the order of cycles.
#[derive(Clone, Debug)]
pub struct Log<W> {
    dual: bool,
    commands: Vec<(u64, Owner, RowCommand<W>)>,
    writes: Vec<Write<W>>,
}

impl<W: Clone> Log<W> {
    /// Of a bank with two row buffers, or with one.
    pub fn new(dual: bool) -> Self {
        Self { dual, commands: Vec::new(), writes: Vec::new() }
    }

    /// Whether there are two row buffers.
    pub fn is_dual(&self) -> bool {
        self.dual
    }

    /// A command in a cycle.
    pub fn command(&mut self, cycle: u64, owner: Owner, command: RowCommand<W>) {
        self.commands.push((cycle, owner, command));
    }

    /// A WR of a column, in a cycle in which the row for RD and WR can be read.
    pub fn write(&mut self, cycle: u64, column: usize, data: [W; 2]) {
        self.writes.push(Write { cycle, column, data });
    }

    /// The last command before a cycle to the buffer of an owner.
    fn last(&self, owner: Owner, cycle: u64) -> Option<&(u64, Owner, RowCommand<W>)> {
        let is_of = |of: Owner| of == owner || !self.dual;
        self.commands.iter().rev().find(|(at, of, _)| *at < cycle && is_of(*of))
    }

    /// The row that the buffer of an owner holds in a cycle: open from the cycle behind the activation on.
    pub fn open(&self, owner: Owner, cycle: u64) -> Option<u64> {
        match self.last(owner, cycle)? {
            (_, _, RowCommand::Activate { row, .. }) => Some(*row),
            (_, _, RowCommand::Precharge) => None,
        }
    }

    /// The row of the last activation, whether it is open or not; 0 before the first.
    pub fn row(&self, owner: Owner, cycle: u64) -> u64 {
        let is_of = |of: Owner| of == owner || !self.dual;
        let row = |(at, of, command): &(u64, Owner, RowCommand<W>)| match command {
            RowCommand::Activate { row, .. } if *at < cycle && is_of(*of) => Some(*row),
            _ => None,
        };
        self.commands.iter().rev().find_map(row).unwrap_or(0)
    }

    /// The words of the row that can be read in a cycle: from the second cycle behind the activation on.
    pub fn words(&self, owner: Owner, cycle: u64) -> Option<Vec<W>> {
        let (at, _, RowCommand::Activate { words, .. }) = self.last(owner, cycle)? else {
            return None;
        };
        if cycle < at + 2 {
            return None;
        }
        let mut words = words.clone();
        if owner == Owner::Mem || !self.dual {
            for write in self.writes.iter().filter(|w| w.cycle > *at && w.cycle < cycle) {
                words[2 * write.column..2 * write.column + 2].clone_from_slice(&write.data);
            }
        }
        Some(words)
    }

    /// Whether the activation of a row in a cycle meets the row in the other buffer.
    pub fn conflicts(&self, owner: Owner, cycle: u64, row: u64) -> bool {
        let other = if owner == Owner::Mem { Owner::Pim } else { Owner::Mem };
        self.dual && self.open(other, cycle) == Some(row)
    }

    /// Whether a WR in a cycle leaves old data in the buffer for dot products.
    pub fn leaves_stale(&self, cycle: u64) -> bool {
        let open = self.open(Owner::Pim, cycle);
        self.dual && open.is_some() && open == self.open(Owner::Mem, cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activate(row: u64) -> RowCommand<u64> {
        RowCommand::Activate { row, words: (0..4).map(|word| 10 * row + word).collect() }
    }

    #[test]
    fn each_buffer_keeps_its_row() {
        for (dual, pim) in [(true, Some(vec![20, 21, 22, 23])), (false, None)] {
            let mut log = Log::new(dual);
            log.command(0, Owner::Mem, activate(1));
            log.command(4, Owner::Pim, activate(2));
            log.command(8, Owner::Mem, RowCommand::Precharge);
            assert_eq!(log.open(Owner::Mem, 9), None);
            assert_eq!(log.words(Owner::Pim, 9), pim);
            assert_eq!(log.row(Owner::Mem, 9), if dual { 1 } else { 2 });
        }
    }

    #[test]
    fn a_row_is_open_in_the_next_cycle_and_read_in_the_one_behind() {
        let mut log = Log::new(true);
        log.command(5, Owner::Pim, activate(3));
        let open: Vec<_> = (5..8).map(|cycle| log.open(Owner::Pim, cycle)).collect();
        assert_eq!(open, [None, Some(3), Some(3)]);
        let read: Vec<_> = (5..8).map(|cycle| log.words(Owner::Pim, cycle).is_some()).collect();
        assert_eq!(read, [false, false, true]);
    }

    #[test]
    fn a_write_is_forgotten_with_its_row_and_no_other() {
        let mut log = Log::new(true);
        log.command(0, Owner::Mem, activate(1));
        log.write(3, 1, [7, 8]);
        assert_eq!(log.words(Owner::Mem, 3), Some(vec![10, 11, 12, 13]));
        assert_eq!(log.words(Owner::Mem, 4), Some(vec![10, 11, 7, 8]));
        log.command(5, Owner::Mem, activate(1));
        assert_eq!(log.words(Owner::Mem, 7), Some(vec![10, 11, 12, 13]));
    }

    #[test]
    fn one_row_in_both_buffers_is_a_conflict_and_then_stale() {
        let mut log = Log::new(true);
        log.command(0, Owner::Mem, activate(1));
        assert!(log.conflicts(Owner::Pim, 1, 1) && !log.conflicts(Owner::Pim, 1, 2));
        assert!(!log.conflicts(Owner::Mem, 1, 1) && !log.leaves_stale(2));
        log.command(2, Owner::Pim, activate(1));
        assert!(log.leaves_stale(3));
    }
}
