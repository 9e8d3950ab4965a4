// SPDX-License-Identifier: MIT
//! A channel: the host's controller, the cells of 16 banks with their blocks, and the mode. A command at a time.
//!
//! Modes and blocks are the engine's, or units behind the pins ([`units`](super::units)). Then the host reads what these
//! have made; what time is spent on is the engine's account.

use super::blocks::{BANKS, BlockCounts, Blocks, Vector};
use super::controller::{Command, Controller, Next};
use super::layout::LANES;
use super::mode::{INPUT_REGISTERS, ReservedRows, RowUse, SETUP_COLUMN, Setup};
use super::options::Lp5Options;
use super::request::{BurstPlace, Request};
use super::units::Units;
use super::wave::Lp5Wave;
use crate::config::Config;
use crate::dram::Cells;
use crate::error::DeviceError;
use crate::pins::{BusDriver, PinWatch};
use crate::statistics::{Lost, Statistics};
use pimlico_dpa::types::Pins;
use std::io;

/// What a channel's data lines are used for, in tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusUse {
    /// Data that are read.
    pub read_tck: u64,
    /// Data that are written.
    pub write_tck: u64,
    /// Between data of one direction and the other's, without a REF.
    pub turnaround_tck: u64,
    /// Between data before a REF and behind it.
    pub refresh_tck: u64,
    /// Nothing was asked of the channel. REFs in that time keep nobody waiting.
    pub host_tck: u64,
    /// Between data of one direction, without a REF: rows that are opened.
    pub other_tck: u64,
}

impl BusUse {
    /// All of it.
    pub fn total_tck(&self) -> u64 {
        let Self { read_tck, write_tck, turnaround_tck, refresh_tck, host_tck, other_tck } = self;
        read_tck + write_tck + turnaround_tck + refresh_tck + host_tck + other_tck
    }
}

/// The data lines until now.
#[derive(Clone, Copy, Debug, Default)]
struct Lines {
    of: BusUse,
    /// The end of the last data, and who drove them.
    until_tck: u64,
    driver: Option<BusDriver>,
    /// A REF came behind them.
    refreshed: bool,
}

impl Lines {
    fn data(&mut self, from_tck: u64, burst_tck: u64, driver: BusDriver) {
        self.idle(from_tck, self.driver.is_some_and(|last| last != driver));
        let of_driver = match driver {
            BusDriver::Chips => &mut self.of.read_tck,
            BusDriver::BufferChip => &mut self.of.write_tck,
        };
        *of_driver += burst_tck;
        (self.until_tck, self.driver) = (from_tck + burst_tck, Some(driver));
    }

    /// No data until then.
    fn idle(&mut self, until_tck: u64, turns: bool) {
        let to = match (std::mem::take(&mut self.refreshed), turns) {
            (true, _) => &mut self.of.refresh_tck,
            (_, true) => &mut self.of.turnaround_tck,
            _ => &mut self.of.other_tck,
        };
        *to += until_tck.saturating_sub(self.until_tck);
        self.until_tck = self.until_tck.max(until_tck);
    }

    /// Nothing was asked for until then. A REF that is not over keeps what is asked for then waiting.
    fn unasked(&mut self, until_tck: u64, refreshes: bool) {
        self.of.host_tck += until_tck.saturating_sub(self.until_tck);
        self.until_tck = self.until_tck.max(until_tck);
        self.refreshed = refreshes;
    }
}

/// What the time between two commands goes to.
type Cause = fn(&mut Lost) -> &mut u64;

/// A channel of one rank.
pub struct Channel {
    controller: Controller,
    cells: Cells<Vector>,
    blocks: Blocks,
    rows: ReservedRows,
    /// There are no modes, and no blocks.
    plain: bool,
    /// Commands are of all banks; with units, the last one was.
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
    lines: Lines,
    /// When the data of the command that was given last are over, if it has any.
    data_until: Option<u64>,
    /// What takes the place of the engine's modes and blocks.
    units: Option<Units>,
    watch: Option<Box<dyn PinWatch>>,
    wave: Option<Lp5Wave>,
}

impl Channel {
    /// A channel whose banks are closed, in the mode of single banks.
    pub fn new(config: &Config, options: Lp5Options) -> Self {
        let Lp5Options { formats, refresh, plain } = options;
        let timing = &config.timing;
        Self {
            controller: Controller::new(config, refresh, plain),
            plain,
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
            lines: Lines::default(),
            data_until: None,
            units: None,
            watch: None,
            wave: None,
        }
    }

    /// tCK since the reset: the first without a command and without data.
    pub fn tck(&self) -> u64 {
        self.controller.now().max(self.controller.data_until())
    }

    /// Lets time pass, with the REFs that are due in it: at least until a tCK.
    pub fn idle_until(&mut self, tck: u64) -> Result<(), DeviceError> {
        while let Some(due) = self.controller.due().filter(|due| *due <= tck) {
            self.controller.wait_until(due);
            self.close(&mut |_, _| {})?;
        }
        self.controller.wait_until(tck);
        Ok(())
    }

    /// Has units in the place of modes and blocks, from the reset on.
    pub fn attach(&mut self, units: Units) {
        self.units = Some(units);
    }

    /// What arrived at the blocks since the operator began.
    pub fn counts(&self) -> BlockCounts {
        self.units.as_ref().map_or(self.counts, Units::counts)
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
        if let Some(units) = &mut self.units {
            units.begin();
        }
        (self.from_tck, self.accounted) = (self.tck(), self.tck());
        self.lines = Lines { until_tck: self.tck(), ..Lines::default() };
        self.waits_for = host;
    }

    /// Ends an operator.
    pub fn end(&mut self) -> Statistics {
        self.account(self.tck(), host);
        self.statistics.cycles = self.tck() - self.from_tck;
        self.statistics
    }

    /// What its data lines were used for since the operator began.
    pub fn bus_use(&self) -> BusUse {
        let mut lines = self.lines;
        match self.controller.head() {
            Some(_) => lines.idle(self.tck(), false),
            None => lines.unasked(self.tck(), false),
        }
        lines.of
    }

    /// Whether it takes another request.
    pub(super) fn has_room(&self) -> bool {
        self.controller.has_room()
    }

    /// Takes a request that comes at a tCK, before which all commands have been given that could be.
    pub(super) fn ask(&mut self, at_tck: u64, request: Request) -> Result<(), DeviceError> {
        if self.controller.head().is_none() {
            self.idle_until(at_tck)?;
            self.lines.unasked(at_tck, self.controller.now() > at_tck);
        }
        self.controller.wait_until(at_tck);
        self.controller.push(request);
        Ok(())
    }

    /// When the next command comes, if nothing else is asked for. None without a request.
    pub(super) fn next_tck(&mut self) -> Option<u64> {
        self.controller.next().map(|next| next.at_tck)
    }

    /// Gives the next command, of a queue without fences. Returns when its data are over, if it has any; `read` is told what
    /// is read.
    pub(super) fn step(
        &mut self,
        read: &mut dyn FnMut(BurstPlace, &Vector),
    ) -> Result<Option<u64>, DeviceError> {
        self.data_until = None;
        if let Some(next) = self.controller.next() {
            self.give(next, read)?;
        }
        Ok(self.data_until)
    }

    /// Closes all banks, and refreshes what is due.
    pub(super) fn finish(&mut self) -> Result<(), DeviceError> {
        self.close(&mut |_, _| {})?;
        self.catch_up()
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
    ) -> Result<(), DeviceError> {
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
                None => {
                    self.close(read)?;
                    return self.catch_up();
                }
            }
        }
    }

    /// The units come to the end of what was done.
    fn catch_up(&mut self) -> Result<(), DeviceError> {
        let tck = self.tck();
        if let Some(units) = &mut self.units {
            units.idle_until(tck, &mut self.cells)?;
            self.multi = units.is_multi();
        }
        Ok(())
    }

    /// The fence at the head.
    fn fence(&mut self, read: &mut dyn FnMut(BurstPlace, &Vector)) -> Result<(), DeviceError> {
        self.close(read)?;
        if let Some(Request::Fence { tck }) = self.controller.take() {
            let until = self.controller.now().max(self.controller.data_until()) + tck;
            self.idle_until(until)?;
            self.account(until, host);
        }
        Ok(())
    }

    fn close(&mut self, read: &mut dyn FnMut(BurstPlace, &Vector)) -> Result<(), DeviceError> {
        while let Some(next) = self.controller.next_to_close() {
            self.give(next, read)?;
        }
        Ok(())
    }

    /// A command.
    fn give(
        &mut self,
        next: Next,
        read: &mut dyn FnMut(BurstPlace, &Vector),
    ) -> Result<(), DeviceError> {
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
        if let Some(units) = &mut self.units {
            let data = match head {
                Some(Request::Write(_, data)) if next.command == Command::Column => data,
                _ => [0; LANES],
            };
            units.command(at_tck, pins, data, &mut self.cells)?;
            self.multi = units.is_multi();
        }
        self.account(at_tck, cause);
        let request = self.controller.give(next);
        if next.command == Command::Refresh {
            self.lines.refreshed = true;
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
        self.lines.data(from_tck, self.burst_tck, driver);
        self.data_until = Some(from_tck + self.burst_tck);
        if let Some(watch) = &mut self.watch {
            watch.data(from_tck, from_tck + self.burst_tck, driver);
        }
    }

    fn read(&mut self, at_tck: u64, place: BurstPlace, read: &mut dyn FnMut(BurstPlace, &Vector)) {
        let BurstPlace { bank, row, column } = place;
        let cells = &self.cells;
        if !self.multi {
            let open = self.units.as_ref().map(|units| units.open_row(bank.into()));
            let row = open.map_or(Some(row), |open| open.map(u32::from));
            let data = row.map(|row| cells.read(bank.into(), row as usize, column.into()));
            read(place, &data.unwrap_or_default());
            self.data(at_tck + self.cl_tck, BusDriver::Chips);
            return;
        }
        let weights = |row: u32, column: u8| cells.read_all_banks(row as usize, column.into());
        let is_engine = self.units.is_none();
        self.waits_for = bubble;
        if self.rows.role(row) != RowUse::Memory {
            self.waits_for = fill_drain;
            if is_engine {
                self.blocks.pass(weights);
            }
            return;
        }
        match self.setup.operands(row, column) {
            Some(operands) => {
                self.counts.macs += 1;
                self.statistics.used += 1;
                self.accounted = self.accounted.max(at_tck + self.slot_tck);
                if is_engine {
                    self.blocks.mac((row, column), operands, weights);
                }
            }
            None => {
                self.counts.faults += 1;
                if is_engine {
                    self.blocks.pass(weights);
                }
            }
        }
    }

    fn write(&mut self, at_tck: u64, place: BurstPlace, data: &Vector) {
        self.data(at_tck + self.cwl_tck, BusDriver::BufferChip);
        if self.units.is_some() {
            // The account of MACs goes by the setup.
            if self.multi
                && self.rows.role(place.row) == RowUse::Memory
                && place.column == SETUP_COLUMN
            {
                self.setup = Setup::from_bits(data[0]);
            }
            return;
        }
        match self.multi {
            true => self.write_all_banks(place, data),
            false => self.write_bank(place, data),
        }
    }

    fn write_bank(&mut self, BurstPlace { bank, row, column }: BurstPlace, data: &Vector) {
        if self.plain || self.rows.role(row) != RowUse::Enter {
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
