// SPDX-License-Identifier: MIT
//! The module as one design in its channel: whoever executes it, it is driven through its ports alone. Cell arrays,
//! command buffer and Va2Pa table are beside it; statistics are made of what its ports show.
//!
//! A cycle of the design's core is some tCK, of two beats each. Before a tCK that may have a command on the chips' pins the
//! outputs are looked at once without an edge, as the column that the arrays give depends on that command.

use crate::accounts::Cause;
use crate::config::{Config, ConfigError};
use crate::dimm::Dimm;
use crate::dispatch::{DispatchError, Made, PATIENCE_TCK};
use crate::dram::Dram;
use crate::error::DeviceError;
use crate::memories::{Accesses, Memories};
use crate::options::Options;
use crate::pins::BusDriver;
use crate::port_wave::PortWave;
use crate::record::{Record, recorded};
use crate::sizes::{Burst, CHIPS};
use pimlico_dpa::types::{self, BANKS, CellWrite, PinCommand, Pins, RankEvents, RankResults};
use pimlico_ports::{Instances, Unit};
use pimlico_units::module::{PimDimmIn, PimDimmOut};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::Path;

/// The longest CL and CWL of the design, and the length of its bursts.
const LATENCY_TCK: std::ops::RangeInclusive<u64> = 4..=48;
const BURST_TCK: u64 = 4;

/// A module as one design.
pub struct ModuleDevice<M: Unit<In = PimDimmIn, Out = PimDimmOut>> {
    config: Config,
    options: Options,
    /// tCK since the reset.
    tck: u64,
    module: Box<dyn Instances<M>>,
    /// The inputs of the tCK, without data.
    input: PimDimmIn,
    output: PimDimmOut,
    /// In the cycle of the core that goes on, a program has the pins.
    runs: bool,
    /// The last tCK of a run in which something happened.
    last_event_tck: u64,
    memories: Memories,
    dram: Dram,
    /// The open row of each bank.
    open: [Option<usize>; BANKS],
    /// Columns of RD_ALLs on their way to the PUs, and when they are there.
    columns: VecDeque<(u64, [Burst; BANKS])>,
    /// Rows of the WRs whose data have not come.
    writes: VecDeque<Option<usize>>,
    /// When the chips begin to drive the bursts of RD and RD_RESULT.
    chips_drive: VecDeque<u64>,
    record: Record,
    wave: Option<PortWave>,
}

impl<M: Unit<In = PimDimmIn, Out = PimDimmOut>> ModuleDevice<M> {
    /// A module that has just been reset, with empty arrays.
    pub fn new(
        config: Config,
        options: Options,
        module: Box<dyn Instances<M>>,
    ) -> Result<Self, ConfigError> {
        config.check_rank()?;
        let config = config.at_gear(options.gear);
        let timing = &config.timing;
        for (key, value, holds, expected) in [
            ("CL", timing.cl_tck, LATENCY_TCK.contains(&timing.cl_tck), "4 to 48"),
            ("CWL", timing.cwl_tck, LATENCY_TCK.contains(&timing.cwl_tck), "4 to 48"),
            ("BL", timing.burst_tck, timing.burst_tck == BURST_TCK, "4"),
            ("CCD_S", timing.ccd_s_tck, timing.ccd_s_tck >= BURST_TCK, "4 or more"),
        ] {
            config.require(key, value, holds, expected)?;
        }
        Ok(Self {
            tck: 0,
            module,
            input: PimDimmIn {
                timing_i: timing.ports(),
                options_i: types::Options { refresh: options.refresh },
                size_i: config.bank_size(),
                ..Default::default()
            },
            output: PimDimmOut::default(),
            runs: false,
            last_event_tck: 0,
            memories: Memories::new(),
            dram: Dram::new(&config),
            open: [None; BANKS],
            columns: VecDeque::with_capacity(4),
            writes: VecDeque::with_capacity(16),
            chips_drive: VecDeque::with_capacity(16),
            record: Record::new(timing),
            wave: None,
            config,
            options,
        })
    }

    /// What the cell arrays hold.
    pub fn dram(&self) -> &Dram {
        &self.dram
    }

    fn write_cells(&mut self, write: CellWrite) {
        if let Some(Some(row)) = self.writes.pop_front() {
            self.dram.write(write.bank.get() as usize, row, write.column.into(), write.data);
        }
    }

    /// A command on the pins, as the arrays and those who watch have it.
    fn take_command(&mut self, pins: Pins) {
        let timing = &self.config.timing;
        self.record.command(pins);
        match pins.command {
            PinCommand::Act | PinCommand::ActAll => {
                pins.open_rows(timing.faw_banks, &mut self.open, pins.row());
            }
            PinCommand::Pre => self.open[pins.bank()] = None,
            PinCommand::PreAll => self.open = [None; BANKS],
            PinCommand::Wr => self.writes.push_back(self.open[pins.bank()]),
            PinCommand::Rd => self.chips_drive.push_back(self.tck + timing.cl_tck),
            PinCommand::RdResult => self.chips_drive.push_back(self.tck + timing.cl_tck),
            PinCommand::None
            | PinCommand::RdAll
            | PinCommand::WrShared
            | PinCommand::SetWord
            | PinCommand::Mrs
            | PinCommand::Ref => {}
        }
    }

    /// Who drives the chips' data bus, where somebody does: the chips when it is their turn.
    fn driver(&mut self, tck: u64) -> BusDriver {
        while self.chips_drive.front().is_some_and(|from| from + BURST_TCK <= tck) {
            self.chips_drive.pop_front();
        }
        let is_theirs = self.chips_drive.front().is_some_and(|from| *from <= tck);
        if is_theirs { BusDriver::Chips } else { BusDriver::BufferChip }
    }

    /// tCK in a cycle of the core.
    fn gear(&self) -> u64 {
        self.options.gear.tck() as u64
    }

    /// One tCK, with what the host drives in its two beats. Returns what the module drives on the host's data bus.
    fn step_tck(
        &mut self,
        host: Pins,
        driven: [Option<u64>; 2],
        made: &mut dyn FnMut(Made),
    ) -> Result<[Option<u64>; 2], DeviceError> {
        let (is_first, is_last) =
            (self.tck.is_multiple_of(self.gear()), (self.tck + 1).is_multiple_of(self.gear()));
        self.record.begin_tck(self.tck);
        self.record.channel(&self.config.timing, self.tck, host);
        self.input.host_pins_i = host.encode();
        self.input.fetch_data_i = self.memories.fetched();
        self.input.table_data_i = self.memories.entry();
        if is_first || (!self.runs && host.is_some()) {
            self.look_at_pins()?;
        }
        let mut to_host = [None; 2];
        for (driven, to_host) in driven.into_iter().zip(&mut to_host) {
            self.step_beat(driven)?;
            let output = &self.output;
            *to_host = output.host_dq_valid_o.then_some(output.host_dq_o);
        }
        self.record.channel_data(self.tck, driven, to_host);
        self.account();
        if is_last {
            self.end_cycle(made)?;
        }
        self.tck += 1;
        Ok(to_host)
    }

    /// What is on the chips' pins in this tCK, and what the arrays give for it.
    fn look_at_pins(&mut self) -> Result<(), DeviceError> {
        self.module.settle(&[self.input], std::slice::from_mut(&mut self.output))?;
        self.runs = !self.output.memory_o;
        let pins = self.output.pins_o.decode();
        let cells = self.cells(pins);
        self.input.cells_i = self.column_path(pins, cells);
        if pins.is_some() {
            self.take_command(pins);
        }
        Ok(())
    }

    /// A beat.
    fn step_beat(&mut self, driven: Option<u64>) -> Result<(), DeviceError> {
        self.input.host_dq_valid_i = driven.is_some();
        self.input.host_dq_i = driven.unwrap_or(u64::MAX);
        self.module.step(&[self.input], std::slice::from_mut(&mut self.output))?;
        let output = self.output;
        if let Some(wave) = &mut self.wave {
            wave.record(&self.input, &output)?;
        }
        if output.dq_valid_o {
            let driver = self.driver(self.tck);
            self.record.data(driver);
        }
        if output.cells_write_valid_o {
            self.write_cells(output.cells_write_o);
        }
        Ok(())
    }

    /// The last tCK of a cycle of the core ends.
    fn end_cycle(&mut self, made: &mut dyn FnMut(Made)) -> Result<(), DeviceError> {
        let output = self.output;
        self.memories.clock(&Accesses {
            command_write: output.command_write_o,
            table_write: output.table_write_o,
            load: output.load_o,
            fetch: output.fetch_read_o.then_some(output.fetch_address_o.get() as usize),
            entry: output.table_read_o.then_some(output.table_address_o.into()),
        });
        tell(&output.results_o, made);
        let is_event = output.fetch_read_o || output.events_o != RankEvents::default();
        if !self.runs || is_event || output.activity_o.settled {
            self.last_event_tck = self.tck;
        }
        if self.tck - self.last_event_tck > PATIENCE_TCK {
            return Err(DispatchError::Stuck { overwritten: false }.into());
        }
        Ok(())
    }

    /// What the arrays give for the command on the pins.
    fn cells(&self, pins: Pins) -> [Burst; BANKS] {
        let mut cells = [[0; CHIPS]; BANKS];
        let column = pins.column();
        let mut read = |bank: usize| {
            let row = self.open[bank];
            cells[bank] = row.map_or([u64::MAX; CHIPS], |row| self.dram.read(bank, row, column));
        };
        match pins.command {
            PinCommand::RdAll => (0..BANKS).for_each(read),
            PinCommand::Rd => read(pins.bank()),
            _ => {}
        }
        cells
    }

    /// What the chips get of it: the columns of an RD_ALL RL_MAC later.
    fn column_path(&mut self, pins: Pins, cells: [Burst; BANKS]) -> [Burst; BANKS] {
        let mut now = cells;
        if pins.command == PinCommand::RdAll {
            self.columns.push_back((self.tck + self.config.timing.rl_mac_tck, cells));
            now = [[0; CHIPS]; BANKS];
        }
        if self.columns.front().is_some_and(|(from, _)| *from == self.tck) {
            now = self.columns.pop_front().map_or(now, |(_, arrived)| arrived);
        }
        now
    }

    /// A tCK ends.
    fn account(&mut self) {
        if !self.runs {
            self.record.no_read(Some(Cause::Host));
            self.record.end_tck();
            return;
        }
        let PimDimmOut { pins_o, activity_o, .. } = self.output;
        match pins_o.decode().command {
            PinCommand::RdAll => self.record.read(activity_o.opens),
            _ => {
                let cause = Cause::of(activity_o.lost_refresh, activity_o.lost_row_switch);
                self.record.no_read(cause);
            }
        }
        self.record.adder_unit(activity_o.adder);
        self.record.softmax_unit(activity_o.softmax);
        self.record.end_tck();
    }
}

/// Tells what is made in a cycle of the core.
fn tell(results: &RankResults, made: &mut dyn FnMut(Made)) {
    for types::Element { head, bits } in results.weights() {
        made(Made::Weight { head: head.get() as usize, bits });
    }
    for types::Score { head, bits, .. } in results.scores().filter(|score| !score.masked) {
        made(Made::Score { head: head.get() as usize, bits });
    }
    for types::Element { head, bits } in results.context() {
        made(Made::Context { head: head.get() as usize, bits });
    }
    for bits in results.outputs() {
        made(Made::Output(bits));
    }
}

impl<M: Unit<In = PimDimmIn, Out = PimDimmOut>> Dimm for ModuleDevice<M> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn options(&self) -> Options {
        self.options
    }

    fn tck(&self) -> u64 {
        self.tck
    }

    fn forget(&mut self, rows: Range<usize>) {
        rows.for_each(|row| self.dram.forget(row));
    }

    fn rows_held(&self) -> Option<usize> {
        Some(self.dram.held())
    }

    fn step(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
        made: &mut dyn FnMut(Made),
    ) -> Result<[Option<u64>; 2], DeviceError> {
        self.step_tck(pins, driven, made)
    }

    recorded!(tck);

    fn trace(&mut self, file: &Path) -> io::Result<()> {
        self.wave = Some(PortWave::create::<M>(file, self.config.tck_ps / 2)?);
        Ok(())
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.wave.take().map_or(Ok(()), PortWave::finish)
    }
}
