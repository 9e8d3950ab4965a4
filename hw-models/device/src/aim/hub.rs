// SPDX-License-Identifier: MIT
//! The module as one design: the hub with its channels, whoever executes it, driven through its ports alone. Cell
//! arrays, command buffer, Va2Pa table and GPR are beside it; statistics are made of what its ports show.
//!
//! A cycle is a tCCD of two tCK. What the host writes to the banks and what it loads takes cycles of its own, as do the
//! operands of a program.

use super::device::{AimDevice, AimStart};
use super::layout::{GPR, RowWrites, Write, elements};
use super::softmax::RTL_LANES;
use super::units::{AimOptions, BANKS, EPU_CYCLES, Elements, MULTIPLIERS, Pu, SLOTS, check};
use crate::accounts::{Accounts, Cause, Gap};
use crate::config::{Config, ConfigError};
use crate::device::{Device, Loads};
use crate::dispatch::{self, DispatchError, PATIENCE_TCK};
use crate::dram::Cells;
use crate::error::DeviceError;
use crate::gemv::IoBuffers;
use crate::memories::{Accesses, Memories};
use crate::pins::{BusDriver, PinWatch};
use crate::port_wave::PortWave;
use crate::statistics::Statistics;
use pimlico_dpa::types::{self, AimWrite, Fault, Load, LoadKind, PinCommand, Pins, RunEnd, Timing};
use pimlico_ports::{Instances, U, Unit};
use pimlico_units::module::{AimHubIn, AimHubOut};
use std::collections::VecDeque;
use std::io;
use std::path::Path;

/// Channels of the design.
pub const HUB_CHANNELS: usize = 2;

/// tCK of an EPU cycle.
const EPU_TCK: u64 = EPU_CYCLES * SLOTS as u64;
/// EPU cycles of an addition, and of a word of softmax.
const ADDITION: u64 = 2;
const SOFTMAX_WORD: u64 = 8;
/// Cycles from RD_RESULT to its data.
const RESULT_CYCLES: usize = 2;

/// The memories of the GPR, one for each channel, with what they have read last.
struct Gpr {
    words: Box<[Elements]>,
    read: [Elements; HUB_CHANNELS],
}

/// A hub and its channels.
pub struct Hub<M: Unit<In = AimHubIn, Out = AimHubOut>> {
    config: Config,
    options: AimOptions,
    /// tCK since the reset.
    tck: u64,
    hub: Box<dyn Instances<M>>,
    /// The inputs of the cycle.
    input: AimHubIn,
    output: AimHubOut,
    memories: Memories,
    gpr: Gpr,
    cells: Cells<Elements>,
    /// The open row of each bank, the same in all channels.
    open: [Option<usize>; BANKS],
    /// WRs that were accepted, and whose data were not taken.
    writes: VecDeque<Write>,
    /// Whether results are on the data lines in this cycle, in the next, and in the one behind it.
    results: [bool; RESULT_CYCLES + 1],
    /// No all-bank RD of the operator has been on the pins.
    fills: bool,
    /// The last cycle in which something happened.
    last_event_tck: u64,
    /// How the last run ended.
    end: RunEnd,
    accounts: Accounts,
    /// The end of the last REF.
    refreshed_tck: u64,
    watch: Option<Box<dyn PinWatch>>,
    wave: Option<PortWave>,
}

/// Whether a hub can be what configuration and options say.
pub fn check_hub(config: &Config, options: &AimOptions) -> Result<(), ConfigError> {
    check(config)?;
    let timing = &config.timing;
    let cycles = ports(timing);
    let recovery = u64::from(cycles.rtp) + u64::from(cycles.rp);
    let one_cycle = [cycles.ccd_s, cycles.ccd_l, cycles.ccd_result] == [1; 3];
    let (cwl, modch) = (timing.cwl_tck, timing.mode_change_tck());
    let slots = SLOTS as u64;
    for (key, value, holds, expected) in [
        (
            "channels",
            options.channels as u64,
            options.channels == HUB_CHANNELS,
            "2: those of the hub",
        ),
        (
            "softmax_lanes",
            options.softmax_lanes as u64,
            options.softmax_lanes == RTL_LANES,
            "2: those of the RTL",
        ),
        (
            "head_pipeline",
            options.head_pipeline.into(),
            !options.head_pipeline,
            "0: the RTL's softmax is not beside other programs",
        ),
        ("clocks of a PU", options.pu_clocks, options.pu_clocks == Pu::LATENCY, "those of the RTL"),
        ("BL", timing.burst_tck, timing.burst_tck == slots, "2"),
        ("CL_REG", timing.cl_reg_tck, timing.cl_reg_tck == 3, "3"),
        ("CWL_GB", timing.cwl_gb_tck, timing.cwl_gb_tck == 1, "1"),
        ("CWL", cwl, cwl.is_multiple_of(slots) && (2..=64).contains(&cwl), "2 to 64, even"),
        ("MODCH", modch, modch <= 255, "254 or less"),
        ("RTP", recovery, recovery >= 22, "22 cycles or more, with RP"),
        ("CCD_RESULT", timing.ccd_result_tck, one_cycle, "2"),
        (
            "RTW_GAP",
            timing.rtw_gap_tck,
            cycles.rd_to_wr >= 2,
            "as many that RD_RESULT to WR_SHARED are two cycles",
        ),
        ("WTR_SHARED", timing.wtr_shared_tck, cycles.shared_to_rd == 0, "0"),
    ] {
        config.require(key, value, holds, expected)?;
    }
    Ok(())
}

/// The timings as a channel has them.
fn ports(timing: &crate::config::Timing) -> Timing {
    let rd_to_wr = timing.result_to_wr_tck().try_into().expect("checked with the configuration");
    Timing { rd_to_wr, ..timing.ports() }.in_cycles(SLOTS as u8)
}

impl<M: Unit<In = AimHubIn, Out = AimHubOut>> Hub<M> {
    /// A hub that has just been reset, with empty arrays.
    pub fn new(
        config: Config,
        options: AimOptions,
        hub: Box<dyn Instances<M>>,
    ) -> Result<Self, ConfigError> {
        check_hub(&config, &options)?;
        let changes_mode = options.mode_change && options.io_buffers == IoBuffers::Single;
        let change_tck = if changes_mode { config.timing.mode_change_tck() } else { 0 };
        Ok(Self {
            tck: 0,
            hub,
            input: AimHubIn {
                timing_i: ports(&config.timing),
                mode_change_i: change_tck as u8,
                options_i: types::Options { refresh: options.refresh },
                size_i: config.bank_size(),
                ..Default::default()
            },
            output: AimHubOut::default(),
            memories: Memories::new(),
            gpr: Gpr::new(),
            cells: Cells::of(&config, options.pus()),
            open: [None; BANKS],
            writes: VecDeque::with_capacity(16),
            results: [false; RESULT_CYCLES + 1],
            fills: true,
            last_event_tck: 0,
            end: RunEnd::default(),
            accounts: Accounts::new(config.timing.ccd_l_tck),
            refreshed_tck: 0,
            watch: None,
            wave: None,
            config,
            options,
        })
    }

    /// One cycle, with the words that the host has for the global buffers.
    fn step(&mut self, operands: &mut std::slice::Iter<'_, Elements>) -> Result<(), DeviceError> {
        let input = &mut self.input;
        let operand = operands.as_slice().first();
        input.operand_valid_i = operand.is_some();
        input.operand_i = operand.copied().unwrap_or_default();
        input.fetch_data_i = self.memories.fetched();
        input.table_data_i = self.memories.entry();
        input.gpr_data_i = self.gpr.read;
        if let Some(write) = self.writes.front() {
            for (data, word) in input.write_data_i.iter_mut().zip(&write.words) {
                *data = elements(*word);
            }
        }
        self.hub.step(std::slice::from_ref(input), std::slice::from_mut(&mut self.output))?;
        if let Some(wave) = &mut self.wave {
            wave.record(&self.input, &self.output)?;
        }
        if operand.is_some() && self.output.operand_ready_o {
            operands.next();
        }
        self.look_at_pins();
        self.move_data();
        self.clock_memories();
        self.be_patient()
    }

    /// Steps until an EPU cycle begins: what the host loads and starts stands for one.
    fn begin_epu_cycle(&mut self) -> Result<(), DeviceError> {
        while !self.tck.is_multiple_of(EPU_TCK) {
            self.step(&mut [].iter())?;
        }
        Ok(())
    }

    /// What is on the pins in the two slots, and what the arrays give for it in the next cycle.
    fn look_at_pins(&mut self) {
        let AimHubOut { pins_o, bus_pins_o, events_o, .. } = self.output;
        let cause = Cause::of(events_o.lost_refresh, events_o.lost_row_switch);
        for pins in [pins_o, bus_pins_o] {
            if pins.is_some() {
                self.take_command(pins);
            }
            if pins.command == PinCommand::RdAll {
                // The ports give no reason: behind the first, RDs wait for operands and results.
                let gap = if std::mem::take(&mut self.fills) { Gap::Fill } else { Gap::Io };
                self.accounts.used(self.tck, gap);
            } else {
                let refreshes = self.tck < self.refreshed_tck;
                let cause = if refreshes { Some(Cause::Refresh) } else { cause };
                self.accounts.idle(self.tck, cause);
            }
            self.tck += 1;
        }
    }

    /// A command on the pins, as the arrays and those who watch have it.
    fn take_command(&mut self, pins: Pins) {
        if let Some(watch) = &mut self.watch {
            watch.command(self.tck, pins);
        }
        self.accounts.statistics.commands[pins.command as usize] += 1;
        self.last_event_tck = self.tck;
        match pins.command {
            PinCommand::Act | PinCommand::ActAll => {
                pins.open_rows(self.config.timing.faw_banks, &mut self.open, pins.row());
            }
            PinCommand::Pre => self.open[pins.bank()] = None,
            PinCommand::PreAll => self.open = [None; BANKS],
            PinCommand::Ref => self.refreshed_tck = self.tck + self.config.timing.rfc_tck,
            PinCommand::RdResult => self.results[RESULT_CYCLES] = true,
            PinCommand::RdAll => self.read_cells(pins.column()),
            _ => {}
        }
    }

    /// The columns of an all-bank RD are there in the next cycle.
    fn read_cells(&mut self, column: usize) {
        for (bank, row) in self.open.into_iter().enumerate() {
            for (channel, cells) in self.input.cells_i.iter_mut().enumerate() {
                cells[bank] = row.map_or([u16::MAX; MULTIPLIERS], |row| {
                    self.cells.read(channel * BANKS + bank, row, column)
                });
            }
        }
    }

    /// What is on the data lines in this cycle, and what becomes of it.
    fn move_data(&mut self) {
        let from_tck = self.tck - SLOTS as u64;
        let [are_results, later @ ..] = self.results;
        self.results = [later[0], later[1], false];
        if self.output.dq_valid_o {
            self.accounts.statistics.bus_cycles += SLOTS as u64;
            let driver = if are_results { BusDriver::Chips } else { BusDriver::BufferChip };
            if let Some(watch) = &mut self.watch {
                watch.data(from_tck, self.tck, driver);
            }
        }
        if self.output.write_taken_o
            && let Some(write) = self.writes.pop_front()
        {
            // The masks are beside the ports: those have one WR for all channels.
            for (channel, _) in write.taken() {
                let (bank, word) = (channel * BANKS + write.bank, self.output.dq_o[channel]);
                self.cells.write(bank, write.row, write.column, word);
            }
        }
    }

    /// The end of a cycle, for command buffer, Va2Pa table and GPR.
    fn clock_memories(&mut self) {
        let AimHubIn { load_i, .. } = self.input;
        let output = &self.output;
        self.memories.clock(&Accesses {
            command_write: output.command_write_o,
            table_write: output.table_write_o,
            load: load_i,
            fetch: output.fetch_read_o.then_some(output.fetch_address_o.get() as usize),
            entry: output.table_read_o.then_some(output.table_address_o.into()),
        });
        let statistics = &mut self.accounts.statistics;
        let (reads, writes) = (output.gpr_read_o.get(), output.gpr_write_o.get());
        if output.gpr_adds_o {
            statistics.adder_unit_cycles += ADDITION * EPU_TCK;
        }
        // What writes one memory weighs.
        if writes.count_ones() == 1 {
            statistics.softmax_unit_cycles += SOFTMAX_WORD * EPU_TCK;
        }
        if output.end_valid_o {
            self.end = output.end_o;
        }
        if output.fetch_read_o || reads | writes != 0 {
            self.last_event_tck = self.tck;
        }
        self.gpr.clock(output);
    }

    /// An error if nothing has happened for long.
    fn be_patient(&self) -> Result<(), DeviceError> {
        if self.tck - self.last_event_tck <= PATIENCE_TCK {
            return Ok(());
        }
        let error = match self.output.operand_ready_o {
            true => DispatchError::Operands,
            false => DispatchError::Stuck { overwritten: false },
        };
        Err(error.into())
    }
}

impl<M: Unit<In = AimHubIn, Out = AimHubOut>> Loads for Hub<M> {
    fn load(&mut self, kind: LoadKind, address: u16, data: u64) -> Result<(), DeviceError> {
        self.begin_epu_cycle()?;
        (self.input.load_valid_i, self.input.load_i) = (true, Load { kind, address, data });
        self.last_event_tck = self.tck;
        while {
            self.step(&mut [].iter())?;
            !self.output.load_ready_o
        } {}
        (self.input.load_valid_i, self.input.load_i) = (false, Load::default());
        Ok(())
    }

    fn set_scale(&mut self, scale: u16) {
        self.input.scale_i = scale;
    }
}

impl<M: Unit<In = AimHubIn, Out = AimHubOut>> Device for Hub<M> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn tck(&self) -> u64 {
        self.tck
    }

    fn begin(&mut self) {
        self.fills = true;
        self.accounts.restart(self.tck);
    }

    fn end(&mut self) -> Statistics {
        self.accounts.finish(self.tck)
    }

    fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.watch = Some(watch);
    }

    fn trace(&mut self, file: &Path) -> io::Result<()> {
        self.wave = Some(PortWave::create::<M>(file, self.config.tck_ps * SLOTS as u64)?);
        Ok(())
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.wave.take().map_or(Ok(()), PortWave::finish)
    }
}

impl<M: Unit<In = AimHubIn, Out = AimHubOut>> AimDevice for Hub<M> {
    fn options(&self) -> AimOptions {
        self.options
    }

    fn write(&mut self, rows: &mut dyn Iterator<Item = RowWrites<'_>>) -> Result<(), DeviceError> {
        for write in rows.flat_map(RowWrites::each) {
            let Write { bank, row, column, .. } = write;
            self.input.write_valid_i = true;
            self.input.write_i =
                AimWrite { bank: U::new(bank as u64), row: row as u16, column: column as u8 };
            // Its data are there from now on.
            self.writes.push_back(write);
            self.last_event_tck = self.tck;
            while {
                self.step(&mut [].iter())?;
                !self.output.write_ready_o
            } {}
            (self.input.write_valid_i, self.input.write_i) = (false, AimWrite::default());
        }
        while !(self.writes.is_empty() && self.output.idle_o) {
            self.step(&mut [].iter())?;
        }
        Ok(())
    }

    fn run(&mut self, start: AimStart<'_>) -> Result<(), DeviceError> {
        let AimStart { request, address, operands } = start;
        let mut operands = operands.iter();
        self.end = RunEnd::default();
        self.last_event_tck = self.tck;
        self.begin_epu_cycle()?;
        self.input.start_valid_i = true;
        self.input.start_i =
            types::Start { request: U::new(request.into()), address: U::new(address.into()) };
        while {
            self.step(&mut operands)?;
            !self.output.start_ready_o
        } {}
        (self.input.start_valid_i, self.input.start_i) = (false, types::Start::default());
        loop {
            self.step(&mut operands)?;
            let AimHubOut { fault_o, over_o, settled_o, .. } = self.output;
            let fails = fault_o != Fault::None || self.end.status.is_fault();
            if over_o && settled_o || fails && self.end != RunEnd::default() {
                return Ok(dispatch::outcome(request, fault_o, self.end)?);
            }
        }
    }

    fn stored(&self, channel: usize, bank: usize, row: usize, column: usize) -> Elements {
        self.cells.read(channel * BANKS + bank, row, column)
    }

    fn gpr(&self, place: usize, count: usize) -> &[u16] {
        &self.gpr.words.as_flattened()[place..place + count]
    }
}

impl Gpr {
    fn new() -> Self {
        Self { words: vec![[0; MULTIPLIERS]; GPR / MULTIPLIERS].into(), read: Default::default() }
    }

    /// The end of a cycle.
    fn clock(&mut self, output: &AimHubOut) {
        let line = |address: U<14>, memory: usize| address.get() as usize * HUB_CHANNELS + memory;
        let of = |memories: U<2>| (0..HUB_CHANNELS).filter(move |n| memories.get() >> n & 1 == 1);
        for memory in of(output.gpr_read_o) {
            self.read[memory] = self.words[line(output.gpr_read_address_o, memory)];
        }
        for memory in of(output.gpr_write_o) {
            self.words[line(output.gpr_write_address_o, memory)] = output.gpr_write_data_o[memory];
        }
    }
}
