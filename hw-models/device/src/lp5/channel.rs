// SPDX-License-Identifier: MIT
//! A channel: the host's controller, the cells of 16 banks with their blocks, and the mode. A command at a time.

use super::blocks::{BANKS, BlockFormats, Blocks, Vector};
use super::controller::{Command, Controller, Next};
use super::mode::{INPUT_REGISTERS, ReservedRows, RowUse, SETUP_COLUMN, Setup};
use super::request::{BurstPlace, Request};
use super::wave::Lp5Wave;
use crate::config::Config;
use crate::dram::Cells;
use crate::pins::{BusDriver, PinWatch};
use crate::statistics::{Lost, Statistics};
use pimlico_dpa::types::Pins;
use std::io;

/// What arrived at the blocks of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// MACs: 16 rows of a column, in each bank.
    pub macs: u64,
    /// Input registers that were written.
    pub inputs: u64,
    /// Output registers that were written to rows.
    pub outputs: u64,
    /// Output registers that were written to rows while a MAC of theirs was still on its way.
    pub stale: u64,
    /// Commands that mean nothing to a block: MACs outside of their tile, WRs to rows of weights or to none, and an entry
    /// into the mode of all banks while another bank was open.
    pub faults: u64,
}

/// What the time between two commands goes to.
type Cause = fn(&mut Lost) -> &mut u64;

/// A channel of one rank.
pub struct Channel {
    controller: Controller,
    cells: Cells<Vector>,
    blocks: Blocks,
    rows: ReservedRows,
    /// Commands are of all banks.
    multi: bool,
    setup: Setup,
    counts: BlockCounts,
    cl_tck: u64,
    cwl_tck: u64,
    burst_tck: u64,
    slot_tck: u64,
    rfc_tck: u64,
    statistics: Statistics,
    from_tck: u64,
    /// Time until here is accounted for.
    accounted: u64,
    /// What the next column waits for.
    waits_for: Cause,
    watch: Option<Box<dyn PinWatch>>,
    wave: Option<Lp5Wave>,
}

impl Channel {
    /// A channel whose banks are closed, in the mode of single banks.
    pub fn new(config: &Config, formats: BlockFormats, refreshes: bool) -> Self {
        let timing = &config.timing;
        Self {
            controller: Controller::new(config, refreshes),
            cells: Cells::of(config, BANKS),
            blocks: Blocks::new(formats),
            rows: ReservedRows::of(config.organisation.rows),
            multi: false,
            setup: Setup::default(),
            counts: BlockCounts::default(),
            cl_tck: timing.cl_tck,
            cwl_tck: timing.cwl_tck,
            burst_tck: timing.burst_tck,
            slot_tck: timing.ccd_l_tck,
            rfc_tck: timing.rfc_tck,
            statistics: Statistics::default(),
            from_tck: 0,
            accounted: 0,
            waits_for: host,
            watch: None,
            wave: None,
        }
    }

    /// tCK since the reset: the first without a command and without data.
    pub fn tck(&self) -> u64 {
        self.controller.now().max(self.controller.data_until())
    }

    /// Lets time pass, with the REFs that are due in it: at least until a tCK.
    pub fn idle_until(&mut self, tck: u64) -> io::Result<()> {
        while let Some(due) = self.controller.due().filter(|due| *due <= tck) {
            self.controller.wait_until(due);
            self.close(&mut |_, _| {})?;
        }
        self.controller.wait_until(tck);
        Ok(())
    }

    /// What arrived at the blocks since the operator began.
    pub fn counts(&self) -> BlockCounts {
        self.counts
    }

    /// Whether commands are of all banks.
    pub fn is_multi_bank(&self) -> bool {
        self.multi
    }

    /// Has the pins watched.
    pub fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.watch = Some(watch);
    }

    /// Writes a waveform of what follows.
    pub fn trace(&mut self, mut wave: Lp5Wave) {
        wave.begin_at(self.controller.now());
        self.wave = Some(wave);
    }

    /// Ends the waveform.
    pub fn finish_trace(&mut self) -> io::Result<()> {
        self.wave.take().map_or(Ok(()), |wave| wave.finish(self.controller.now()))
    }

    /// Starts an operator.
    pub fn begin(&mut self) {
        self.statistics = Statistics::default();
        self.counts = BlockCounts::default();
        (self.from_tck, self.accounted) = (self.tck(), self.tck());
        self.waits_for = host;
    }

    /// Ends an operator.
    pub fn end(&mut self) -> Statistics {
        self.account(self.tck(), host);
        self.statistics.cycles = self.tck() - self.from_tck;
        self.statistics
    }

    /// Does what is asked for, in order, and ends with all banks closed and no REF owed. What is read is handed on with its
    /// place; a MAC reads nothing that the host sees.
    ///
    /// # Panics
    ///
    /// If a place is outside of the banks.
    pub fn run(
        &mut self,
        requests: &mut dyn Iterator<Item = Request>,
        read: &mut dyn FnMut(BurstPlace, &Vector),
    ) -> io::Result<()> {
        loop {
            while self.controller.has_room() {
                let Some(request) = requests.next() else { break };
                self.controller.push(request);
            }
            if let Some(next) = self.controller.next() {
                self.give(next, read)?;
                continue;
            }
            match self.controller.head() {
                Some(Request::Fence { .. }) => self.fence(read)?,
                Some(_) => unreachable!("a request has a command"),
                None => return self.close(read),
            }
        }
    }

    /// The fence at the head.
    fn fence(&mut self, read: &mut dyn FnMut(BurstPlace, &Vector)) -> io::Result<()> {
        self.close(read)?;
        if let Some(Request::Fence { tck }) = self.controller.take() {
            let until = self.controller.now().max(self.controller.data_until()) + tck;
            self.idle_until(until)?;
            self.account(until, host);
        }
        Ok(())
    }

    fn close(&mut self, read: &mut dyn FnMut(BurstPlace, &Vector)) -> io::Result<()> {
        while let Some(next) = self.controller.next_to_close() {
            self.give(next, read)?;
        }
        Ok(())
    }

    /// A command.
    fn give(&mut self, next: Next, read: &mut dyn FnMut(BurstPlace, &Vector)) -> io::Result<()> {
        let at_tck = next.at_tck;
        let head = self.controller.head().copied();
        let (pins, cause) = self.pins(next.command, head);
        self.statistics.commands[pins.command as usize] += 1;
        if let Some(watch) = &mut self.watch {
            watch.command(at_tck, pins);
        }
        if let Some(wave) = &mut self.wave {
            wave.command(at_tck, pins)?;
        }
        self.account(at_tck, cause);
        let request = self.controller.give(next);
        if next.command == Command::Refresh {
            self.account(at_tck + self.rfc_tck, refresh);
        }
        match request {
            Some(Request::Read(place)) => self.read(at_tck, place, read),
            Some(Request::Write(place, data)) => self.write(at_tck, place, &data),
            _ => {}
        }
        Ok(())
    }

    /// A command as it is on the pins, and what the time before it was for.
    fn pins(&mut self, command: Command, head: Option<Request>) -> (Pins, Cause) {
        match command {
            Command::Activate(BurstPlace { bank, row, .. }) => {
                self.waits_for = row_switch;
                (Pins::act(bank.into(), row as usize), row_switch)
            }
            Command::Precharge(bank) => (Pins::pre(bank.into()), row_switch),
            Command::PrechargeAll => (Pins::PRE_ALL, row_switch),
            Command::Refresh => {
                self.waits_for = row_switch;
                (Pins::REF, refresh)
            }
            Command::Column => {
                let cause = self.waits_for;
                let pins = match head {
                    Some(Request::Read(BurstPlace { bank, column, .. })) => {
                        Pins::rd(bank.into(), column.into())
                    }
                    Some(Request::Write(BurstPlace { bank, column, .. }, _)) => {
                        self.waits_for = io;
                        Pins::wr(bank.into(), column.into())
                    }
                    _ => Pins::NONE,
                };
                (pins, cause)
            }
        }
    }

    fn account(&mut self, until: u64, cause: Cause) {
        let cause = if self.multi { cause } else { host };
        *cause(&mut self.statistics.lost_tck) += until.saturating_sub(self.accounted);
        self.accounted = self.accounted.max(until);
    }

    /// Data on the bus.
    fn data(&mut self, from_tck: u64, driver: BusDriver) {
        self.statistics.bus_cycles += self.burst_tck;
        if let Some(watch) = &mut self.watch {
            watch.data(from_tck, from_tck + self.burst_tck, driver);
        }
    }

    fn read(&mut self, at_tck: u64, place: BurstPlace, read: &mut dyn FnMut(BurstPlace, &Vector)) {
        let BurstPlace { bank, row, column } = place;
        let cells = &self.cells;
        if !self.multi {
            read(place, &cells.read(bank.into(), row as usize, column.into()));
            self.data(at_tck + self.cl_tck, BusDriver::Chips);
            return;
        }
        let weights = |row: u32, column: u8| cells.read_all_banks(row as usize, column.into());
        self.waits_for = bubble;
        if self.rows.role(row) != RowUse::Memory {
            self.waits_for = fill_drain;
            self.blocks.pass(weights);
            return;
        }
        match self.setup.operands(row, column) {
            Some(operands) => {
                self.counts.macs += 1;
                self.statistics.used += 1;
                self.accounted = self.accounted.max(at_tck + self.slot_tck);
                self.blocks.mac((row, column), operands, weights);
            }
            None => {
                self.counts.faults += 1;
                self.blocks.pass(weights);
            }
        }
    }

    fn write(&mut self, at_tck: u64, place: BurstPlace, data: &Vector) {
        self.data(at_tck + self.cwl_tck, BusDriver::BufferChip);
        match self.multi {
            true => self.write_all_banks(place, data),
            false => self.write_bank(place, data),
        }
    }

    fn write_bank(&mut self, BurstPlace { bank, row, column }: BurstPlace, data: &Vector) {
        if self.rows.role(row) != RowUse::Enter {
            self.cells.write(bank.into(), row as usize, column.into(), *data);
            return;
        }
        let others = (0..BANKS as u8).filter(|other| *other != bank);
        let is_open = others.into_iter().any(|other| self.controller.open_row(other).is_some());
        self.counts.faults += u64::from(is_open);
        self.multi = true;
    }

    fn write_all_banks(&mut self, place: BurstPlace, data: &Vector) {
        let BurstPlace { row, column, .. } = place;
        let register = usize::from(column);
        match self.rows.role(row) {
            RowUse::Memory if register < INPUT_REGISTERS => {
                self.counts.inputs += 1;
                self.blocks.write(register, data);
            }
            RowUse::Memory if column == SETUP_COLUMN => self.setup = Setup::from_bits(data[0]),
            RowUse::Results if register < INPUT_REGISTERS => {
                let (results, is_stale) = self.blocks.read(register);
                self.counts.outputs += 1;
                self.counts.stale += u64::from(is_stale);
                for (bank, vector) in results.iter().enumerate() {
                    self.cells.write(bank, row as usize, register, *vector);
                }
            }
            RowUse::Enter => {}
            RowUse::Exit => self.multi = false,
            _ => self.counts.faults += 1,
        }
        let cells = &self.cells;
        self.blocks.pass(|row, column| cells.read_all_banks(row as usize, column.into()));
    }
}

fn host(lost: &mut Lost) -> &mut u64 {
    &mut lost.host
}

fn row_switch(lost: &mut Lost) -> &mut u64 {
    &mut lost.row_switch
}

fn refresh(lost: &mut Lost) -> &mut u64 {
    &mut lost.refresh
}

fn io(lost: &mut Lost) -> &mut u64 {
    &mut lost.io
}

fn fill_drain(lost: &mut Lost) -> &mut u64 {
    &mut lost.fill_drain
}

fn bubble(lost: &mut Lost) -> &mut u64 {
    &mut lost.bubble
}
