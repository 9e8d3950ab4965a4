// SPDX-License-Identifier: MIT
//! The module: one cycle at a time, a tCCD.

mod laps;

use super::channels::{Arriving, Beat, Channels};
use super::control::{Asked, Control};
use super::epu::{Epu, SoftmaxRequest, Sum};
use super::known::{Known, SpanKind};
use super::layout::{RowWrites, Write, elements};
use super::loaded::Loaded;
use super::requests::{AllBankRead, ArrayRequest, BusRequest, Events, Requests};
use super::softmax::Weighed;
use super::units::{
    AimOptions, AimUnits, BANKS, EPU_CYCLES, Elements, MOST_CHANNELS, SLOTS, Word, check,
};
use super::wave::AimWave;
use super::weigh::Weighing;
use crate::accounts::{Accounts, Cause};
use crate::bursts::WriteRun;
use crate::config::{Config, Timing};
use crate::device::{Device, Loads};
use crate::dram::Cells;
use crate::error::DeviceError;
use crate::pins::{BusDriver, PinWatch};
use crate::statistics::Statistics;
use crate::tape::Teller;
use pimlico_dpa::types::{self, ArrayKind, LoadKind, PinCommand, Pins};
use pimlico_ports::U;
use std::collections::VecDeque;
use std::io;
use std::path::Path;

/// A burst on the data lines of every channel, and what it is.
pub(super) struct Transfer {
    from_tck: u64,
    pub(super) until_tck: u64,
    what: Carried,
    /// Those who watch the pins know of it.
    told: bool,
}

/// What a burst carries.
enum Carried {
    Operand(Word, bool),
    Written(Write),
    /// What is in the arrays already.
    Landed,
    Results(Sum),
}

/// A module.
pub struct Module {
    pub(super) config: Config,
    pub(super) options: AimOptions,
    /// What the host has loaded.
    pub(super) loaded: Loaded,
    /// tCK since the reset.
    pub(super) tck: u64,
    pub(super) control: Control,
    /// What the controller has taken and not issued.
    pub(super) reads: VecDeque<AllBankRead>,
    pub(super) writes: VecDeque<Write>,
    pub(super) bus_requests: VecDeque<BusRequest>,
    /// The open row of each bank, the same in all channels.
    open: [Option<usize>; BANKS],
    /// The banks of all channels: bank `b` of channel `c` is number `16 c + b`.
    cells: Cells<Word>,
    /// The data lines.
    pub(super) transfers: VecDeque<Transfer>,
    /// A column on its way to the PUs' next clock: what they do, row and column.
    column: Option<(Beat, usize, usize)>,
    /// A word on its way to the global buffers' next clock.
    pub(super) operand: Option<(Word, bool)>,
    /// Whether the results are read in the PUs' next clock.
    pub(super) take_results: bool,
    pub(super) channels: Channels,
    /// Results that were read and are on their way to the hub.
    pub(super) results: VecDeque<Box<[Word]>>,
    pub(super) epu: Epu,
    /// The softmax that is under way, whatever the channels do.
    pub(super) weighing: Option<Weighing>,
    /// When the last one was over.
    pub(super) weighed_tck: u64,
    accounts: Accounts,
    /// The end of the last REF.
    refreshed_tck: u64,
    pub(super) teller: Teller,
    pub(super) wave: Option<AimWave>,
    /// Nothing is foreseen: every tCK is stepped.
    pub(super) steps_all: bool,
    /// Of what hangs on no data.
    pub(super) known: Known,
}

impl Module {
    /// A module that has been reset, with empty arrays.
    ///
    /// # Panics
    ///
    /// If the configuration is not that of a channel ([`check`]) or there are no channels, or more than
    /// [`MOST_CHANNELS`].
    pub fn new(config: Config, units: AimUnits, options: AimOptions) -> Self {
        check(&config).unwrap_or_else(|error| panic!("no channel: {error}"));
        let channels = options.channels;
        assert!((1..=MOST_CHANNELS).contains(&channels), "{channels} channels");
        let AimOptions { refresh, .. } = options;
        Self {
            loaded: Loaded::new(),
            tck: 0,
            control: Control::new(
                &config.timing,
                refresh,
                units.rank_controller,
                units.refresh_manager,
            ),
            reads: VecDeque::with_capacity(4),
            writes: VecDeque::with_capacity(4),
            bus_requests: VecDeque::with_capacity(4),
            open: [None; BANKS],
            cells: Cells::of(&config, options.pus()),
            transfers: VecDeque::with_capacity(32),
            column: None,
            operand: None,
            take_results: false,
            channels: Channels::new(
                units.pus,
                units.global_buffer,
                units.result_registers,
                &options,
            ),
            results: VecDeque::with_capacity(32),
            epu: Epu::new(units.adder_units, units.softmax_unit, channels),
            weighing: None,
            weighed_tck: 0,
            accounts: Accounts::new(config.timing.ccd_l_tck),
            refreshed_tck: 0,
            teller: Teller::default(),
            wave: None,
            steps_all: false,
            known: Known::default(),
            config,
            options,
        }
    }

    /// The same module with every tCK stepped, which short cuts are held against.
    pub fn stepping(mut self) -> Self {
        self.steps_all = true;
        self.epu.step_always();
        self.channels.step_always();
        self
    }

    /// Arrays keep nothing, and PUs compute nothing.
    pub(super) fn leave_data_out(&mut self) {
        self.cells.keep_nothing();
        self.channels.leave_data_out(&self.options);
        self.epu.leave_data_out();
    }

    /// What lies in a column of a bank of a channel.
    pub(super) fn column(
        &self,
        channel: usize,
        bank: usize,
        row: usize,
        column: usize,
    ) -> Elements {
        elements(self.cells.read(channel * BANKS + bank, row, column))
    }

    /// Whether nothing is under way, no row is open and no REF owed.
    pub(super) fn is_settled(&self) -> bool {
        self.control.is_settled() && self.open == [None; BANKS] && self.is_idle()
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.reads.is_empty()
            && self.writes.is_empty()
            && self.bus_requests.is_empty()
            && self.transfers.is_empty()
            && self.operand.is_none()
            && self.channels.is_idle()
            && self.epu.is_idle()
    }

    /// One cycle: a slot for commands after the other. Requests for arrays and data lines that are taken are
    /// taken out of `requests`.
    ///
    /// # Panics
    ///
    /// If a request is for a bank, row, column or place that does not exist.
    pub fn step(&mut self, requests: &mut Requests) -> Result<Events, DeviceError> {
        let mut events = Events::default();
        self.step_control(requests, &mut events)?;
        for (slot, pins) in self.control.pins().into_iter().enumerate() {
            let read = if pins.is_some() { self.issue(pins, &mut events) } else { None };
            self.account(read);
            self.move_data();
            // What comes with a later slot is there for the next clock.
            if slot == 0 {
                self.clock()?;
                if self.tck.is_multiple_of(EPU_CYCLES * SLOTS as u64) {
                    events.softmax = Some(self.clock_epu(&requests.softmax)?);
                }
            }
            if let Some(wave) = &mut self.wave {
                wave.record(pins, &self.channels)?;
            }
            self.tck += 1;
        }
        Ok(events)
    }

    fn step_control(
        &mut self,
        requests: &mut Requests,
        events: &mut Events,
    ) -> Result<(), DeviceError> {
        let asked = Asked {
            array: requests.array.as_ref().map(|request| match request {
                ArrayRequest::Read(AllBankRead { row, column, .. }) => {
                    array_request(ArrayKind::ReadAll, 0, *row, *column)
                }
                ArrayRequest::Write(Write { bank, row, column, .. }) => {
                    array_request(ArrayKind::Wr, *bank, *row, *column)
                }
                ArrayRequest::CloseAll => array_request(ArrayKind::CloseAll, 0, 0, 0),
            }),
            bus: requests.bus.map(|request| match request {
                BusRequest::Operand { number, .. } => {
                    types::BusRequest { write: true, address: number as u8, ..Default::default() }
                }
                // There is but one: the results of all PUs.
                BusRequest::Results(_) => types::BusRequest::default(),
            }),
            head_end: requests.head_end,
        };
        let taken = self.control.step(&asked)?;
        events.array_taken = taken.array;
        events.bus_taken = taken.bus;
        if taken.array {
            match requests.array.take() {
                Some(ArrayRequest::Read(read)) => self.reads.push_back(read),
                Some(ArrayRequest::Write(write)) => self.writes.push_back(write),
                _ => {}
            }
        }
        if taken.bus {
            self.bus_requests.extend(requests.bus.take());
        }
        Ok(())
    }

    /// A command on the pins, and the transfer that it begins. Returns the all-bank RD that it is.
    pub(super) fn issue(&mut self, pins: Pins, events: &mut Events) -> Option<AllBankRead> {
        self.teller.command(self.tck, pins);
        self.accounts.statistics.commands[pins.command as usize] += 1;
        let (bank, column) = (pins.bank(), pins.column());
        match pins.command {
            PinCommand::Act | PinCommand::ActAll => {
                let faw_banks = self.config.timing.faw_banks;
                pins.open_rows(faw_banks, &mut self.open, pins.row());
            }
            PinCommand::Pre => self.open[bank] = None,
            PinCommand::PreAll => self.open = [None; BANKS],
            PinCommand::Ref => self.refreshed_tck = self.tck + self.config.timing.rfc_tck,
            PinCommand::RdAll => {
                events.read = true;
                let read = self.reads.pop_front()?;
                debug_assert!(self.open == [Some(read.row); BANKS] && column == read.column);
                self.column = Some((read.beat, read.row, read.column));
                return Some(read);
            }
            PinCommand::Wr => {
                let write = self.writes.pop_front()?;
                debug_assert!(self.open[bank] == Some(write.row) && column == write.column);
                self.transfer(self.config.timing.cwl_tck, Carried::Written(write));
            }
            PinCommand::WrShared | PinCommand::RdResult => match self.bus_requests.pop_front()? {
                BusRequest::Operand { word, last, .. } => {
                    events.operand = true;
                    self.transfer(self.config.timing.cwl_gb_tck, Carried::Operand(word, last));
                }
                BusRequest::Results(sum) => {
                    events.results = true;
                    self.take_results = true;
                    self.transfer(self.config.timing.cl_reg_tck, Carried::Results(sum));
                }
            },
            PinCommand::None | PinCommand::Rd | PinCommand::SetWord | PinCommand::Mrs => {}
        }
        None
    }

    fn transfer(&mut self, latency_tck: u64, what: Carried) {
        let from_tck = self.tck + latency_tck;
        let until_tck = from_tck + self.config.timing.burst_tck;
        self.transfers.push_back(Transfer { from_tck, until_tck, what, told: false });
    }

    pub(super) fn account(&mut self, read: Option<AllBankRead>) {
        match read {
            Some(read) => self.accounts.used(self.tck, read.gap),
            None if self.tck < self.refreshed_tck => {
                self.accounts.idle(self.tck, Some(Cause::Refresh));
            }
            None => self.accounts.idle(self.tck, self.control.cause()),
        }
    }

    /// A burst that has come to its end is where it goes.
    pub(super) fn move_data(&mut self) {
        if self.transfers.front().is_none_or(|transfer| transfer.until_tck > self.tck) {
            return;
        }
        let Some(Transfer { from_tck, until_tck, what, told }) = self.transfers.pop_front() else {
            return;
        };
        self.accounts.statistics.bus_cycles += until_tck - from_tck;
        let mut driver = BusDriver::BufferChip;
        match what {
            Carried::Operand(word, last) => self.operand = Some((word, last)),
            Carried::Written(write) => land(&mut self.cells, &write),
            Carried::Landed => {}
            Carried::Results(sum) => {
                driver = BusDriver::Chips;
                if let Some(results) = self.results.pop_front() {
                    self.epu.take(sum, &results);
                }
            }
        }
        if !told {
            self.teller.data(self.tck, (from_tck, until_tck), driver);
        }
    }

    /// Whether nothing but what was written is on the data lines.
    pub(super) fn only_writes(&self) -> bool {
        let is_write = |of: &Transfer| matches!(of.what, Carried::Written(_) | Carried::Landed);
        self.transfers.iter().all(is_write)
    }

    /// What is on the data lines to the arrays is in them already: nobody reads it before it has come.
    pub(super) fn land_all(&mut self) {
        for transfer in &mut self.transfers {
            if let Carried::Written(write) = &transfer.what {
                land(&mut self.cells, write);
                transfer.what = Carried::Landed;
            }
        }
    }

    /// The writes that were accepted, or are on the data lines.
    fn under_way<'a>(
        writes: &'a mut VecDeque<Write>,
        transfers: &'a mut VecDeque<Transfer>,
    ) -> impl Iterator<Item = &'a mut Write> {
        let carried = transfers.iter_mut().filter_map(|transfer| match &mut transfer.what {
            Carried::Written(write) => Some(write),
            _ => None,
        });
        writes.iter_mut().chain(carried)
    }

    /// What is on its way to the arrays is in them.
    pub(super) fn land_under_way(&mut self) {
        let Self { writes, transfers, cells, .. } = self;
        Self::under_way(writes, transfers).for_each(|write| land(cells, write));
    }

    /// All writes of a row are in the arrays. Those that are still on their way write what is there.
    pub(super) fn land_row(&mut self, row: &RowWrites<'_>) {
        let Self { writes, transfers, cells, tck, .. } = self;
        if cells.keeps_nothing() {
            return;
        }
        row.land(&row.run(0..row.count(), *tck), cells);
        for Write { bank, row, column, words, channels } in Self::under_way(writes, transfers) {
            for (channel, word) in words.iter_mut().enumerate() {
                if *channels >> channel & 1 == 1 {
                    *word = cells.read(channel * BANKS + *bank, *row, *column);
                }
            }
        }
    }

    /// What a run of WRs on the pins writes is in the arrays. Those that were accepted are the first of them, and are taken.
    pub(super) fn land_run(&mut self, writes: &RowWrites<'_>, run: &WriteRun) {
        debug_assert!(run.places().all(|(bank, _)| self.open[bank] == Some(run.row)));
        let accepted = self.writes.iter().map(|write| (write.bank, write.column));
        debug_assert!(accepted.zip(run.places()).all(|(write, place)| write == place));
        self.writes.clear();
        writes.land(run, &mut self.cells);
    }

    /// All bursts that came to their end before this tCK are where they go.
    pub(super) fn move_all(&mut self) {
        while self.transfers.front().is_some_and(|transfer| transfer.until_tck < self.tck) {
            self.move_data();
        }
    }

    /// WRs that were on the pins, whose data are in the arrays: they are told as a whole, behind all data of earlier ones,
    /// and counted, and so are their data as far as they have come.
    pub(super) fn tell_writes(&mut self, run: &WriteRun) {
        let Timing { cwl_tck, burst_tck, .. } = self.config.timing;
        let data_tck = run.from_tck + cwl_tck;
        for Transfer { from_tck, until_tck, told, .. } in &mut self.transfers {
            if !std::mem::replace(told, true) {
                self.teller.data(self.tck, (*from_tck, *until_tck), BusDriver::BufferChip);
            }
        }
        self.teller.writes(run, [data_tck; 2]);
        let statistics = &mut self.accounts.statistics;
        statistics.commands[PinCommand::Wr as usize] += run.count;
        // A burst is moved in the tCK behind its last one.
        let begun = self.tck.saturating_sub(data_tck + burst_tck);
        let moved = begun.div_ceil(run.every_tck).min(run.count);
        statistics.bus_cycles += moved * burst_tck;
        self.transfers.extend((moved..run.count).map(|n| {
            let from_tck = run.tck(n) + cwl_tck;
            let until_tck = from_tck + burst_tck;
            Transfer { from_tck, until_tck, what: Carried::Landed, told: true }
        }));
    }

    /// Whether those who watch the pins take a run of writes as a whole.
    pub(super) fn takes(&mut self, run: &WriteRun) -> bool {
        self.teller.takes(run)
    }

    /// Whether nobody looks at what spans leave out, and there are no data that hang on it: what is written is in the arrays at
    /// once, but nothing is computed.
    pub(super) fn has_spans(&self, kind: SpanKind) -> bool {
        let may_have_data = kind == SpanKind::Writes;
        (may_have_data || self.cells.keeps_nothing()) && !self.steps_all && self.wave.is_none()
    }

    /// tCK go by without an all-bank RD and without a REF.
    pub(super) fn idle_since(&mut self, from_tck: u64) {
        self.accounts.idle_until(from_tck..self.tck, self.control.cause());
    }

    /// A clock of the PUs and the I/O buffers.
    pub(super) fn clock(&mut self) -> Result<(), DeviceError> {
        let Self { column, operand, take_results, cells, channels, .. } = self;
        let arriving = Arriving {
            column: column
                .take()
                .map(|(beat, row, column)| (beat, cells.read_all_banks(row, column))),
            word: operand.take(),
            take_results: std::mem::take(take_results),
        };
        let results = channels.clock(&arriving)?;
        self.results.extend(results);
        Ok(())
    }

    /// A clock of the EPU.
    fn clock_epu(&mut self, softmax: &SoftmaxRequest) -> Result<Weighed, DeviceError> {
        let statistics = &mut self.accounts.statistics;
        let tck = EPU_CYCLES * SLOTS as u64;
        statistics.adder_unit_cycles += tck * u64::from(self.epu.add()?);
        let softmax = self.weighing.as_ref().map_or(*softmax, Weighing::request);
        let made = self.epu.softmax(&softmax)?;
        let Self { weighing, epu, .. } = self;
        if let Some(under_way) = weighing {
            under_way.see(&made, |place, bits| epu.keep(place, bits));
        }
        if weighing.take_if(|it| it.is_over()).is_some() {
            self.weighed_tck = self.tck + SLOTS as u64;
        }
        let busy = softmax.scores.is_some() || made.weigh_taken;
        statistics.softmax_unit_cycles += tck * u64::from(busy);
        Ok(made)
    }
}

impl Loads for Module {
    fn load(&mut self, kind: LoadKind, address: u16, data: u64) -> Result<(), DeviceError> {
        self.loaded.load(kind, address, data);
        Ok(())
    }

    fn set_scale(&mut self, scale: u16) {
        self.epu.set_scale(scale);
    }
}

impl Device for Module {
    fn config(&self) -> &Config {
        &self.config
    }

    fn tck(&self) -> u64 {
        self.tck
    }

    fn begin(&mut self) {
        self.accounts.restart(self.tck);
    }

    fn end(&mut self) -> Statistics {
        self.accounts.finish(self.tck)
    }

    fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.teller.watch = Some(watch);
    }

    fn trace(&mut self, file: &Path) -> io::Result<()> {
        self.wave = Some(AimWave::create(file, self.config.tck_ps)?);
        self.channels.show_ports();
        Ok(())
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.wave.take().map_or(Ok(()), AimWave::finish)
    }
}

/// A column that is written is in the arrays.
fn land(cells: &mut Cells<Word>, write: &Write) {
    for (channel, word) in write.taken() {
        cells.write(channel * BANKS + write.bank, write.row, write.column, word);
    }
}

/// A request for the banks.
pub(super) fn array_request(
    kind: ArrayKind,
    bank: usize,
    row: usize,
    column: usize,
) -> types::ArrayRequest {
    types::ArrayRequest {
        kind,
        bank: U::new(bank as u64),
        row: row as u16,
        column: column as u8,
        ..Default::default()
    }
}
