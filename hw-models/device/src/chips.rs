// SPDX-License-Identifier: MIT
//! The chips of a rank at their pins, as memory: commands in, data in and out beat by beat at the
//! chips' own CL and CWL.
//!
//! They obey each command when it comes, take whatever is on the bus when written data are due, and
//! judge nothing: that is for who watches the pins.

use crate::bursts::WriteRun;
use crate::config::{Config, ConfigError};
use crate::data_bus::{Beats, Incoming, Outgoing, UNDRIVEN, beats_of, burst_of, relaid};
use crate::dram::Dram;
use crate::mapping::Place;
use crate::sizes::{Burst, CHIPS};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_units::lap::Walk;
use std::ops::Range;

/// The chips of a rank.
#[derive(Clone, Debug)]
pub struct Chips {
    cl_tck: u64,
    cwl_tck: u64,
    faw_banks: u64,
    dram: Dram,
    /// The open row of each bank.
    open: Vec<Option<usize>>,
    outgoing: Outgoing,
    incoming: Incoming<Option<Place>>,
}

impl Chips {
    /// Chips that hold nothing, and whose banks are closed.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.check_rank()?;
        Ok(Self {
            cl_tck: config.timing.cl_tck,
            cwl_tck: config.timing.cwl_tck,
            faw_banks: config.timing.faw_banks,
            dram: Dram::new(config),
            open: vec![None; config.banks()],
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
        })
    }

    /// What they hold.
    pub fn dram(&self) -> &Dram {
        &self.dram
    }

    /// Nothing that is written is kept.
    pub fn leave_data_out(&mut self) {
        self.dram.keep_nothing();
    }

    /// What rows hold is of no further use.
    pub fn forget(&mut self, rows: Range<usize>) {
        rows.for_each(|row| self.dram.forget(row));
    }

    /// The row that is open in all banks.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn row_of_all_banks(&self) -> usize {
        self.open_row().expect("one row is open in all banks")
    }

    /// The same, if there is one.
    pub fn open_row(&self) -> Option<usize> {
        self.open[0].filter(|_| self.open.iter().all(|row| *row == self.open[0]))
    }

    /// Goes over all of it but what they hold, for [laps](pimlico_units::lap), where one row is open in all banks.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.refuse_if(!self.is_idle() || self.open_row().is_none());
        for row in self.open.iter_mut().flatten() {
            let mut moved = *row as u16;
            walk.row(&mut moved);
            *row = moved.into();
        }
    }

    /// Whether no bank is open.
    pub fn is_closed(&self) -> bool {
        self.open.iter().all(Option::is_none)
    }

    /// A command. What those with the PUs' buffers do is not theirs.
    ///
    /// # Panics
    ///
    /// If there is no such bank, row or column.
    pub fn command(&mut self, at_tck: u64, pins: Pins) {
        let (bank, column) = (pins.bank(), pins.column());
        match pins.command {
            PinCommand::Act | PinCommand::ActAll => {
                pins.open_rows(self.faw_banks, &mut self.open, pins.row());
            }
            PinCommand::Pre => self.open[bank] = None,
            PinCommand::PreAll => self.open.fill(None),
            PinCommand::Rd => {
                let row = self.open[bank];
                let burst = row.map_or([UNDRIVEN; CHIPS], |row| self.dram.read(bank, row, column));
                self.outgoing.push(2 * (at_tck + self.cl_tck), beats_of(&burst));
            }
            PinCommand::Wr => {
                let place = self.open[bank].map(|row| Place { bank, row, column });
                self.incoming.expect(2 * (at_tck + self.cwl_tck), place);
            }
            PinCommand::None
            | PinCommand::RdAll
            | PinCommand::RdResult
            | PinCommand::WrShared
            | PinCommand::SetWord
            | PinCommand::Mrs
            | PinCommand::Ref => {}
        }
    }

    /// The burst of a WR that is on the pins, where data move whole.
    ///
    /// # Panics
    ///
    /// If there is no such bank or column.
    pub fn write_burst(&mut self, pins: Pins, burst: impl FnOnce() -> Burst) {
        let (bank, column) = (pins.bank(), pins.column());
        if let Some(row) = self.open[bank]
            && let Some(cell) = self.dram.cell(bank, row, column)
        {
            *cell = burst();
        }
    }

    /// Whether the row of a run of writes is open in all its banks, and all of them are of this rank.
    pub fn has_open(&self, run: &WriteRun) -> bool {
        run.banks.iter().all(|bank| self.open.get(bank) == Some(&Some(run.row)))
    }

    /// Takes the bursts of the host behind the re-layout unit that a run of writes has, one after the other: what writes
    /// them. None, where nothing is kept.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn writer(&mut self, run: &WriteRun) -> Option<impl FnMut(&Beats)> {
        let (banks, mut places) = (self.open.len(), run.places());
        let row = self.dram.row(run.row)?;
        Some(move |beats: &Beats| {
            let (bank, column) = places.next().expect("no more bursts than writes");
            row[column * banks + bank] = relaid(beats);
        })
    }

    /// The burst of an RD that is on the pins, where data move whole.
    ///
    /// # Panics
    ///
    /// If there is no such bank or column.
    pub fn read_burst(&self, pins: Pins) -> Burst {
        let bank = pins.bank();
        self.open[bank].map_or([UNDRIVEN; CHIPS], |row| self.dram.read(bank, row, pins.column()))
    }

    /// What they drive on the data bus in this clock, of which a tCK has two.
    pub fn drive(&mut self, clock: u64) -> Option<u64> {
        self.outgoing.beat(clock)
    }

    /// What is on the data bus in this clock.
    pub fn take(&mut self, clock: u64, on_bus: Option<u64>) {
        if let Some((Some(Place { bank, row, column }), beats)) = self.incoming.beat(clock, on_bus)
        {
            self.dram.write(bank, row, column, burst_of(&beats));
        }
    }

    /// Whether no data are due.
    pub fn is_idle(&self) -> bool {
        self.outgoing.is_empty() && self.incoming.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_bus::BEATS;

    #[test]
    fn data_come_and_go_at_the_chips_latencies() {
        let mut chips = Chips::new(&Config::ddr4_3200()).expect("a rank");
        let beats: Beats = std::array::from_fn(|beat| 0x11 * beat as u64);
        chips.command(0, Pins::act(5, 7));
        chips.command(22, Pins::wr(5, 9));
        for clock in 0..200u64 {
            let written = clock.checked_sub(2 * (22 + 16)).and_then(|i| beats.get(i as usize));
            chips.take(clock, written.copied());
        }
        assert_eq!(chips.dram().read(5, 7, 9), burst_of(&beats));

        chips.command(100, Pins::rd(5, 9));
        let read: Vec<_> = (200..300).map(|clock| chips.drive(clock)).collect();
        let first = 2 * (100 + 22) - 200;
        assert_eq!(read[first..first + BEATS], beats.map(Some));
        assert_eq!(read.iter().flatten().count(), BEATS);
        assert!(chips.is_idle());
    }

    #[test]
    fn a_closed_bank_takes_and_gives_nothing() {
        let mut chips = Chips::new(&Config::ddr4_3200()).expect("a rank");
        chips.command(0, Pins::act(0, 7));
        chips.command(60, Pins::PRE_ALL);
        chips.command(100, Pins::wr(0, 0));
        (0..300).for_each(|clock| chips.take(clock, Some(1)));
        assert_eq!(chips.dram().read(0, 7, 0), [0; CHIPS]);
        chips.command(200, Pins::rd(0, 0));
        assert_eq!(chips.drive(2 * 222), Some(UNDRIVEN));
    }
}
