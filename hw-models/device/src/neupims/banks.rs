// SPDX-License-Identifier: MIT
//! The DRAM's side of a channel: cells, the two row buffers of each bank, the global buffer and the PUs. It obeys commands and keeps no
//! times.

use super::pins::ChannelPins;
use super::pus::{ChannelPus, PuSums, WordOfBanks};
use super::request::BurstData;
use super::sizes::{BANKS, BURST, GROUP, WORD, WORDS};
use pimlico_units::channel::ChannelCommand;
use std::collections::BTreeMap;

/// A row of all banks: for each word that of each bank.
type RowOfBanks = [WordOfBanks; WORDS];
/// Words of a burst.
const IN_BURST: usize = BURST / WORD;

/// Commands that the row buffers or PUs cannot obey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// RDs, WRs, GWRITEs and dot products without an open row, or of different rows.
    pub closed: u64,
    /// Rows that were opened in one buffer while they were open in the other.
    pub same_row: u64,
    /// WRs to a row that is open for PIM.
    pub stale: u64,
    /// RDRESULTs without a sum, and sums that none has read.
    pub results: u64,
}

impl Faults {
    /// All of them.
    pub fn count(&self) -> u64 {
        self.closed + self.same_row + self.stale + self.results
    }
}

/// The banks of a channel.
#[derive(Clone, Debug)]
pub struct Banks {
    /// Rows that were written; all others are zero.
    cells: BTreeMap<u16, Box<RowOfBanks>>,
    mem: [Option<u16>; BANKS],
    pim: [Option<u16>; BANKS],
    global: [[u16; WORD]; WORDS],
    pus: ChannelPus,
    /// Results that wait for an RDRESULT.
    sums: Option<[u16; BANKS]>,
    faults: Faults,
    /// Banks of a pseudo-rank.
    of_rank: usize,
}

impl Banks {
    /// Banks that are closed, with zero in all cells.
    pub fn new(sums: PuSums, pseudo_ranks: u64) -> Self {
        Self {
            of_rank: BANKS / pseudo_ranks.max(1) as usize,
            cells: BTreeMap::new(),
            mem: [None; BANKS],
            pim: [None; BANKS],
            global: [[0; WORD]; WORDS],
            pus: ChannelPus::new(sums),
            sums: None,
            faults: Faults::default(),
        }
    }

    /// What could not be obeyed.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// Reads a burst of the row that is open for MEM.
    pub fn read(&mut self, bank: u8, column: u8) -> BurstData {
        let mut burst = [0; BURST];
        if let Some(row) = self.open_row(bank)
            && let Some(cells) = self.cells.get(&row)
        {
            for (n, word) in burst.chunks_exact_mut(WORD).enumerate() {
                word.copy_from_slice(&cells[IN_BURST * usize::from(column) + n][usize::from(bank)]);
            }
        }
        burst
    }

    /// Writes a burst of the row that is open for MEM.
    pub fn write(&mut self, bank: u8, column: u8, data: &BurstData) {
        let Some(row) = self.open_row(bank) else { return };
        self.faults.stale += u64::from(self.pim[usize::from(bank)] == Some(row));
        let zero = || Box::new([[[0; WORD]; BANKS]; WORDS]);
        let cells = self.cells.entry(row).or_insert_with(zero);
        for (n, word) in data.chunks_exact(WORD).enumerate() {
            cells[IN_BURST * usize::from(column) + n][usize::from(bank)].copy_from_slice(word);
        }
    }

    /// A command but for RD and WR. Returns the results that leave for the host.
    pub fn command(&mut self, pins: &ChannelPins) -> Option<[u16; BANKS]> {
        let first = usize::from(pins.bank);
        match pins.command {
            ChannelCommand::Act => {
                self.faults.same_row += u64::from(self.pim[first] == Some(pins.row));
                self.mem[first] = Some(pins.row);
            }
            ChannelCommand::Pre => self.mem[first] = None,
            ChannelCommand::PreAll => {
                self.mem.iter_mut().skip(first).take(self.of_rank).for_each(|row| *row = None);
            }
            ChannelCommand::PimActivation => {
                for bank in first..first + GROUP {
                    self.faults.same_row += u64::from(self.mem[bank] == Some(pins.row));
                    self.pim[bank] = Some(pins.row);
                }
            }
            ChannelCommand::PimPrecharge if pins.all => self.pim = [None; BANKS],
            ChannelCommand::PimPrecharge => self.pim[first] = None,
            ChannelCommand::PimGwrite => self.fill(pins.bank),
            ChannelCommand::PimGemv => {
                let word = usize::from(pins.column);
                for n in word..word + usize::from(pins.count) {
                    self.dot(n == word, n);
                }
                return Some(self.pus.results());
            }
            ChannelCommand::PimDotProduct => {
                self.dot(pins.first, pins.column.into());
                if pins.last {
                    self.faults.results += u64::from(self.sums.is_some());
                    self.sums = Some(self.pus.results());
                }
            }
            ChannelCommand::PimReadResult => {
                self.faults.results += u64::from(self.sums.is_none());
                return Some(self.sums.take().unwrap_or_default());
            }
            _ => {}
        }
        None
    }

    fn open_row(&mut self, bank: u8) -> Option<u16> {
        let row = self.mem[usize::from(bank)];
        self.faults.closed += u64::from(row.is_none());
        row
    }

    fn fill(&mut self, bank: u8) {
        let Some(row) = self.open_row(bank) else { return };
        let cells = self.cells.get(&row);
        for (n, word) in self.global.iter_mut().enumerate() {
            *word = cells.map_or([0; WORD], |cells| cells[n][usize::from(bank)]);
        }
    }

    fn dot(&mut self, first: bool, word: usize) {
        let row = self.pim[0].filter(|row| self.pim.iter().all(|other| *other == Some(*row)));
        let (Some(row), Some(factors)) = (row, self.global.get(word)) else {
            self.faults.closed += 1;
            return;
        };
        let zero = [[0; WORD]; BANKS];
        let cells = self.cells.get(&row).map_or(&zero, |cells| &cells[word]);
        self.pus.dot(first, cells, factors);
    }
}
