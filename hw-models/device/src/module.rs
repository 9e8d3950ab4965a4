// SPDX-License-Identifier: MIT
//! The module as one design behind the host's driver: whoever executes it, it is driven through its ports
//! alone. Cell arrays, command buffer and Va2Pa table are beside it; statistics are made of what its ports
//! show.
//!
//! A cycle of the design's core is some tCK, of two beats each. Before the first of them the outputs are looked
//! at once without an edge: the column that the arrays give depends on the command pins of the same tCK, and a
//! run is over in a cycle that is none of it any more.

use crate::accounts::Cause;
use crate::config::{Config, ConfigError};
use crate::data_bus::Beats;
use crate::device::Device;
use crate::dispatch::{Made, Outcome, Start};
use crate::dram::Dram;
use crate::error::RankError;
use crate::memories::{Accesses, Memories};
use crate::options::Options;
use crate::pins::{BusDriver, PinWatch};
use crate::record::Record;
use crate::sizes::{Burst, CHIPS};
use crate::statistics::Statistics;
use crate::timeline::Timeline;
use crate::traffic::HostTransfer;
use pimlico_dpa::types::{
    self, BANKS, CellWrite, Load, LoadKind, PinCommand, Pins, RankEvents, RankResults,
};
use pimlico_ports::wave::{ScopeId, Wave};
use pimlico_ports::{Bundle, Instances, U, Unit};
use pimlico_units::module::{PimModuleIn, PimModuleOut};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// The most bursts of the host that the module is told of.
const MOST_OPERANDS: usize = 127;

/// The longest CL and CWL of the design, and the length of its bursts.
const LATENCY_TCK: std::ops::RangeInclusive<u64> = 4..=48;
const BURST_TCK: u64 = 4;

/// A module as one design.
pub struct ModuleDevice<M: Unit<In = PimModuleIn, Out = PimModuleOut>> {
    config: Config,
    options: Options,
    /// tCK since the reset.
    tck: u64,
    module: Box<dyn Instances<M>>,
    /// The inputs without a request.
    idle: PimModuleIn,
    output: PimModuleOut,
    memories: Memories,
    dram: Dram,
    /// The open row of each bank.
    open: [Option<usize>; BANKS],
    /// Rows of the WRs whose data have not come.
    writes: VecDeque<Option<usize>>,
    /// Requests for the data bus that have not been on the pins: whether they are bursts of the host.
    bus_requests: VecDeque<bool>,
    /// When the chips begin to drive the bursts of RD and RD_RESULT.
    chips_drive: VecDeque<u64>,
    record: Record,
    wave: Option<ModuleWave>,
}

/// What the host drives in a cycle of the core; in memory mode, in a tCK.
#[derive(Clone, Copy, Debug, Default)]
struct Driven {
    load: Option<Load>,
    start: Option<types::Start>,
    memory: bool,
    pins: Pins,
    beats: [Option<u64>; 2],
    operands: usize,
    operand: Beats,
}

/// What happened in a cycle of the core; in memory mode, in a tCK.
#[derive(Clone, Copy, Debug)]
struct Happened {
    output: PimModuleOut,
    /// What the rank drives on the host's data bus.
    to_host: [Option<u64>; 2],
}

impl<M: Unit<In = PimModuleIn, Out = PimModuleOut>> ModuleDevice<M> {
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
            idle: PimModuleIn {
                timing_i: timing.ports(),
                options_i: types::Options { refresh: options.refresh },
                size_i: config.bank_size(),
                ..Default::default()
            },
            output: PimModuleOut::default(),
            memories: Memories::new(),
            dram: Dram::new(&config),
            open: [None; BANKS],
            writes: VecDeque::with_capacity(16),
            bus_requests: VecDeque::with_capacity(4),
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

    /// The inputs of a beat.
    fn input(&self, driven: &Driven, beat: usize) -> PimModuleIn {
        PimModuleIn {
            memory_i: driven.memory,
            host_pins_i: driven.pins,
            host_dq_valid_i: driven.beats[beat].is_some(),
            host_dq_i: driven.beats[beat].unwrap_or_default(),
            load_valid_i: driven.load.is_some(),
            load_i: driven.load.unwrap_or_default(),
            start_valid_i: driven.start.is_some(),
            start_i: driven.start.unwrap_or_default(),
            fetch_data_i: self.memories.fetched(),
            table_data_i: self.memories.entry(),
            operands_i: U::new(driven.operands.min(MOST_OPERANDS) as u64),
            operand_valid_i: driven.operands > 0,
            operand_i: driven.operand,
            ..self.idle
        }
    }

    /// The outputs of a cycle of the core before it; in memory mode, of a tCK.
    fn settle(&mut self, driven: &Driven) -> Result<&PimModuleOut, RankError> {
        let input = self.input(driven, 0);
        self.module.settle(&[input], std::slice::from_mut(&mut self.output))?;
        Ok(&self.output)
    }

    /// A cycle of the core, of which the outputs have been [settled](Self::settle); in memory mode, a tCK.
    fn step(&mut self, driven: &Driven) -> Result<Happened, RankError> {
        let gear = self.options.gear.tck() as u64;
        let is_held = driven.load.is_some() || driven.start.is_some();
        let in_memory_mode = driven.memory && !is_held;
        let pins = self.output.pins_o.decode();
        let cells_i = self.cells(pins);
        if !is_held {
            self.record.begin_tck(self.tck);
            if pins.is_some() {
                self.take_command(pins);
            }
        }
        let mut to_host = [None; 2];
        for tck in self.tck..self.tck + if in_memory_mode { 1 } else { gear } {
            if !is_held && tck > self.tck {
                self.record.begin_tck(tck);
            }
            for (beat, to_host) in to_host.iter_mut().enumerate() {
                let input = PimModuleIn { cells_i, ..self.input(driven, beat) };
                self.module.step(&[input], std::slice::from_mut(&mut self.output))?;
                let output = self.output;
                if let Some(wave) = &mut self.wave {
                    wave.record(&input, &output)?;
                }
                *to_host = output.host_dq_valid_o.then_some(output.host_dq_o);
                if !is_held && output.dq_valid_o {
                    let driver = self.driver(tck);
                    self.record.data(driver);
                }
                if output.cells_write_valid_o {
                    self.write_cells(output.cells_write_o);
                }
            }
            if !is_held && !in_memory_mode {
                self.account();
            }
        }
        let output = self.output;
        if in_memory_mode {
            self.tck += 1;
            return Ok(Happened { output, to_host });
        }
        self.memories.clock(&Accesses {
            command_write: output.command_write_o,
            table_write: output.table_write_o,
            load: driven.load.unwrap_or_default(),
            fetch: output.fetch_read_o.then_some(output.fetch_address_o.get() as usize),
            entry: output.table_read_o.then_some(output.table_address_o.into()),
        });
        if !is_held {
            self.tck += gear;
        }
        Ok(Happened { output, to_host })
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
            PinCommand::RdResult => {
                self.chips_drive.push_back(self.tck + timing.cl_tck);
                self.bus_requests.pop_front();
            }
            PinCommand::WrShared => {
                // The host drives its burst a tCK sooner, for the re-layout unit.
                if self.bus_requests.pop_front() == Some(true) {
                    self.record.operand(self.tck + timing.cwl_tck - 1);
                }
            }
            PinCommand::None | PinCommand::RdAll | PinCommand::SetWord | PinCommand::Ref => {}
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

    /// A cycle of the core that is none of the rank's.
    fn hold(&mut self, driven: &Driven) -> Result<(), RankError> {
        // The rank's cycles begin with every such tCK since the reset.
        while !self.tck.is_multiple_of(self.options.gear.tck() as u64) {
            self.step_memory(Pins::default(), [None; 2])?;
        }
        self.settle(driven)?;
        self.step(driven)?;
        Ok(())
    }

    /// A tCK of a run ends.
    fn account(&mut self) {
        let PimModuleOut { pins_o, activity_o, .. } = self.output;
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

impl<M: Unit<In = PimModuleIn, Out = PimModuleOut>> Device for ModuleDevice<M> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn options(&self) -> Options {
        self.options
    }

    fn tck(&self) -> u64 {
        self.tck
    }

    fn load(&mut self, kind: LoadKind, address: u16, data: u64) -> Result<(), RankError> {
        let load = Some(Load { kind, address, data });
        self.hold(&Driven { load, ..Driven::default() })
    }

    fn set_scale(&mut self, scale: u16) {
        self.idle.scale_i = scale;
    }

    fn run(&mut self, start: Start<'_>, made: &mut dyn FnMut(Made)) -> Result<(), RankError> {
        let mut operands = start.operands;
        let mut outcome = Outcome::new(&start, self.tck);
        let (request, address) = (U::new(start.request.into()), U::new(start.address.into()));
        let start = Some(types::Start { request, address });
        self.hold(&Driven { start, ..Driven::default() })?;
        loop {
            let driven = Driven {
                operands: operands.len(),
                operand: operands.first().copied().unwrap_or_default(),
                ..Driven::default()
            };
            let now = self.tck;
            let &PimModuleOut { over_o, activity_o, fault_o, .. } = self.settle(&driven)?;
            outcome.fault(fault_o, &self.config);
            if over_o && activity_o.settled {
                return Ok(outcome.end()?);
            }
            let Happened { output, .. } = self.step(&driven)?;
            let events = output.events_o;
            for _ in 0..events.output_made.get() + events.context_made.get() {
                self.record.result();
            }
            tell(&output.results_o, made);
            if output.end_valid_o {
                outcome.program_ended(output.end_o);
            }
            if events.bus_taken {
                self.bus_requests.push_back(output.operand_taken_o);
            }
            if output.operand_taken_o {
                operands = operands.get(1..).unwrap_or_default();
            }
            outcome.tck(now, output.fetch_read_o || events != RankEvents::default())?;
        }
    }

    fn step_memory(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
    ) -> Result<[Option<u64>; 2], RankError> {
        let driven = Driven { memory: true, pins, beats: driven, ..Driven::default() };
        self.settle(&driven)?;
        Ok(self.step(&driven)?.to_host)
    }

    fn begin(&mut self) {
        self.record.start(self.tck);
    }

    fn end(&mut self) -> Statistics {
        self.record.end(self.tck)
    }

    fn take_transfers(&mut self) -> Vec<HostTransfer> {
        self.record.take_transfers()
    }

    fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.record.watch(watch);
    }

    fn start_timeline(&mut self) {
        self.record.start_timeline();
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.record.timeline()
    }

    fn trace(&mut self, file: &Path) -> io::Result<()> {
        self.wave = Some(ModuleWave::create(file, M::MODULE, self.config.tck_ps / 2)?);
        Ok(())
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.wave.take().map_or(Ok(()), |wave| wave.wave.finish())
    }
}

/// A waveform of the module's ports.
struct ModuleWave {
    wave: Wave<BufWriter<File>>,
    ports: ScopeId,
    beat_ps: u64,
    beat: u64,
}

impl ModuleWave {
    fn create(file: &Path, scope: &str, beat_ps: u64) -> io::Result<Self> {
        let mut wave = Wave::new(BufWriter::new(File::create(file)?))?;
        let ports = wave.declare(scope, &[PimModuleIn::PORTS, PimModuleOut::PORTS].concat())?;
        wave.begin()?;
        Ok(Self { wave, ports, beat_ps, beat: 0 })
    }

    fn record(&mut self, input: &PimModuleIn, output: &PimModuleOut) -> io::Result<()> {
        self.wave.time(self.beat * self.beat_ps)?;
        self.wave.change(self.ports, 0, input)?;
        self.wave.change(self.ports, PimModuleIn::PORTS.len(), output)?;
        self.beat += 1;
        Ok(())
    }
}
