// SPDX-License-Identifier: MIT
//! The DRAM's pins by `golden::pins`, and what is on both data buses.

use super::{BURST, Judge, error};
use crate::bench::OracleError;
use crate::due::pop_due;
use pimlico_dpa::types::{Burst, Cells, Columns, Options, PinCommand, Pins, Timing};
use pimlico_golden::dispatch::Dispatched;
use pimlico_golden::pins::{Driver, Pin, Rules};
use pimlico_golden::rank::relaid;
use pimlico_golden::relayout::Widths;
use pimlico_golden::sequencer::opcode::{WR_SHARED, WR_WEIGHTS};
use pimlico_units::module::{PimModuleIn, PimModuleOut};

/// Idle tCK of the data bus when its driver changes.
const TURNAROUND: u64 = 2;
const WIDTHS: Widths = Widths { element_bits: 16, chip_bits: 8 };

/// What is expected on the chips' data bus in a tCK.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    /// Beats, if they are known.
    beats: Option<[u64; 2]>,
}

pub(super) fn rules(timing: &Timing, options: Options) -> Rules {
    let tck = |n: u8| u64::from(n);
    let [cl, cwl] = [timing.cl, timing.cwl].map(tck);
    Rules {
        bank_groups: 4,
        banks_per_group: 4,
        burst: BURST,
        t_ccd_s: tck(timing.ccd_s),
        t_ccd_l: tck(timing.ccd_l),
        t_ccd_result: Some(tck(timing.ccd_result)),
        t_rrd_s: tck(timing.rrd_s),
        t_rrd_l: tck(timing.rrd_l),
        t_faw: tck(timing.faw),
        faw_banks: timing.faw_banks.get() as usize,
        t_rcd: tck(timing.rcd),
        t_rcd_wr: tck(timing.rcd_wr),
        t_rcd_mac: tck(timing.rcd_mac),
        t_ras: tck(timing.ras),
        t_rp: tck(timing.rp),
        t_rc: tck(timing.rc),
        cl,
        cwl,
        cl_reg: None,
        cwl_gb: None,
        t_modch: None,
        rtw_gap: TURNAROUND,
        t_wtr_s: tck(timing.wr_to_rd_s).saturating_sub(cwl + BURST),
        t_wtr_l: tck(timing.wr_to_rd_l).saturating_sub(cwl + BURST),
        t_wtr_shared: tck(timing.shared_to_rd).checked_sub(cwl + BURST),
        t_wr: tck(timing.wr_to_pre).saturating_sub(cwl + BURST),
        t_rtp: tck(timing.rtp),
        t_rfc: timing.rfc.into(),
        t_refi: Some(timing.refi.get()).filter(|refi| options.refresh && *refi > 0),
        max_postponed: 8,
        locked: true,
    }
}

fn pin(pins: &Pins) -> Option<Pin> {
    let bank = pins.bank.get() as usize;
    let (row, column) = (usize::from(pins.row), usize::from(pins.column));
    Some(match pins.command {
        PinCommand::None => return None,
        PinCommand::Act => Pin::Act { bank, row },
        PinCommand::ActAll => Pin::ActAll { bank, row },
        PinCommand::Pre => Pin::Pre { bank },
        PinCommand::PreAll => Pin::PreAll,
        PinCommand::Rd => Pin::Rd { bank, column },
        PinCommand::Wr => Pin::Wr { bank, column },
        PinCommand::RdAll => Pin::RdAll { column },
        PinCommand::RdResult => Pin::RdResult { bank: 0 },
        PinCommand::WrShared => Pin::WrShared { word: column },
        PinCommand::Ref => Pin::Ref,
        PinCommand::SetWord => Pin::SetWord { word: column },
        PinCommand::Mrs => Pin::Mrs { register: bank, opcode: row },
    })
}

/// The beats of a column on the chips' data bus.
fn beats_of(cells: &Cells) -> Burst {
    std::array::from_fn(|beat| {
        u64::from_le_bytes(std::array::from_fn(|chip| cells[chip].to_le_bytes()[beat]))
    })
}

impl Judge {
    pub(super) fn pins(
        &mut self,
        cycle: u64,
        pins: &Pins,
        cells: &Columns,
    ) -> Result<(), OracleError> {
        let Some(on_pins) = pin(pins) else { return Ok(()) };
        let violations = self.checker.command(self.now, on_pins);
        if let Some(violation) = violations.first() {
            let code = pins.command as u32;
            return Err(error(cycle, "pins_o", code, 0, &violation.to_string()));
        }
        self.checked += 1;
        let bank = pins.bank.get() as usize;
        let (cl, cwl) = (u64::from(self.timing.cl), u64::from(self.timing.cwl));
        match pins.command {
            PinCommand::Act => self.open[bank] = Some(pins.row),
            PinCommand::ActAll => {
                let opened = self.timing.faw_banks.get() as usize;
                self.open[bank..bank + opened].fill(Some(pins.row));
            }
            PinCommand::Pre => self.open[bank] = None,
            PinCommand::PreAll => self.open = [None; 16],
            PinCommand::Rd => {
                let beats = beats_of(&cells[bank]);
                self.transfer(cycle, self.now + cl, Driver::Dram, Some(beats))?;
                let host = beats.chunks(2).flat_map(|group| WIDTHS.to_host(group));
                let from = 2 * (self.now + cl + 1);
                self.host_reads.extend((from..).zip(host));
            }
            PinCommand::Wr => {
                self.transfer(cycle, self.now + cwl, Driver::Controller, None)?;
                self.host_writes.push_back((self.now, bank as u8, pins.column));
            }
            PinCommand::RdResult => self.transfer(cycle, self.now + cl, Driver::Dram, None)?,
            PinCommand::WrShared => self.write_shared(cycle, pins.column)?,
            PinCommand::RdAll => {
                self.last_mac = cycle;
                if let Some(run) = &mut self.run {
                    let open = self.open[0].filter(|_| self.open == [self.open[0]; 16]);
                    let from = self.now + u64::from(self.timing.rl_mac);
                    self.columns.push_back((from, cycle, open, pins.column));
                    run.macs += 1;
                }
            }
            _ => {}
        }
        if let (PinCommand::RdResult, Some(run)) = (pins.command, &mut self.run) {
            run.results.push_back((cycle, (self.now, pins.column)));
        }
        Ok(())
    }

    /// The columns of an RD_ALL are at the PUs.
    pub(super) fn columns_arrive(&mut self, cells: &Columns) {
        let arrived = pop_due(&mut self.columns, |(from, ..)| *from == self.now);
        if let (Some((_, cycle, row, column)), Some(run)) = (arrived, &mut self.run) {
            run.reads.push_back((cycle, (row, column, Box::new(*cells))));
        }
    }

    fn transfer(
        &mut self,
        cycle: u64,
        from: u64,
        driver: Driver,
        beats: Option<Burst>,
    ) -> Result<(), OracleError> {
        for (n, tck) in (0..).zip(from..from + BURST) {
            let beats = beats.map(|beats| [beats[2 * n], beats[2 * n + 1]]);
            self.bus.insert(tck, Transfer { beats });
        }
        match self.checker.data(from, from + BURST, driver).first() {
            Some(violation) => Err(error(cycle, "dq_o", 0, 0, &violation.to_string())),
            None => Ok(()),
        }
    }

    /// A WR_SHARED: its data are the host's next burst, or the next word of weights.
    fn write_shared(&mut self, cycle: u64, word: u8) -> Result<(), OracleError> {
        let from = self.now + u64::from(self.timing.cwl);
        let mut beats = None;
        if let Some(run) = &mut self.run {
            let is_write = |it: &&Dispatched| [WR_SHARED, WR_WEIGHTS].contains(&it.opcode);
            let mut writes = run.commands.iter().filter(is_write).skip(run.writes.len());
            let is_hosts = writes.next().is_some_and(|it| it.opcode == WR_SHARED);
            if is_hosts && run.fault.is_none() {
                let burst = run.operands.get(run.hosts);
                beats = burst.map(|(_, burst)| beats_of(&relaid(burst)));
                run.hosts += 1;
            }
            run.writes.push_back((cycle, word));
        }
        self.transfer(cycle, from, Driver::Controller, beats)
    }

    /// The chips' data bus: driven where somebody has to, by what is known.
    pub(super) fn data_bus(
        &mut self,
        cycle: u64,
        beats: [&PimModuleOut; 2],
    ) -> Result<(), OracleError> {
        let expected = self.bus.remove(&self.now);
        for (n, output) in beats.into_iter().enumerate() {
            let at = cycle + n as u64;
            let valid = output.dq_valid_o;
            if valid != expected.is_some() {
                let what = "the data bus is driven where data are due, and nowhere else";
                return Err(error(at, "dq_valid_o", valid.into(), expected.is_some().into(), what));
            }
            let beat = match expected {
                None => Some(u64::MAX),
                Some(transfer) => transfer.beats.map(|beats| beats[n]),
            };
            if let Some(beat) = beat.filter(|beat| *beat != output.dq_o) {
                let (got, beat) = low_difference(output.dq_o, beat);
                return Err(error(at, "dq_o", got, beat, "a beat on the chips' data bus"));
            }
            self.checked += u64::from(valid);
        }
        Ok(())
    }

    /// Memory mode: the host's data bus, and what the cell arrays get.
    pub(super) fn memory(
        &mut self,
        cycle: u64,
        inputs: &[PimModuleIn],
        outputs: &[PimModuleOut],
    ) -> Result<(), OracleError> {
        for (n, (input, output)) in (0..).zip(inputs.iter().zip(outputs)) {
            let beat = 2 * self.now + n;
            let expected = self.host_reads.remove(&beat);
            let got = output.host_dq_valid_o.then_some(output.host_dq_o);
            if got != expected {
                let pair = low_difference(got.unwrap_or_default(), expected.unwrap_or_default());
                let what = "a beat on the host's data bus";
                return Err(error(cycle + n, "host_dq_o", pair.0, pair.1, what));
            }
            self.checked += u64::from(got.is_some());
            if input.host_dq_valid_i {
                self.driven.insert(beat, input.host_dq_i);
            }
        }
        let cwl = u64::from(self.timing.cwl);
        let due = |(at, ..): &(u64, u8, u8)| at + cwl + BURST - 1 == self.now;
        let complete = if self.host_writes.front().is_some_and(due) {
            self.host_writes.pop_front()
        } else {
            None
        };
        let output = &outputs[1];
        let expected = complete.map(|(at, bank, column)| {
            let from = 2 * (at + cwl - 1);
            let beats = (from..).take(8).map(|beat| self.driven.remove(&beat).unwrap_or(u64::MAX));
            let beats: Vec<u64> = beats.collect();
            (bank, column, relaid(&beats.try_into().expect("eight beats")))
        });
        let write = &output.cells_write_o;
        let got = (write.bank.get() as u8, write.column, write.data);
        let got = output.cells_write_valid_o.then_some(got);
        if got != expected {
            let code =
                |write: Option<(u8, u8, Cells)>| write.map_or(0, |(.., data)| data[0] as u32);
            let what = "the column that a WR of the host writes";
            return Err(error(cycle + 1, "cells_write_o", code(got), code(expected), what));
        }
        Ok(())
    }
}

/// The halves of two words in which they differ.
fn low_difference(got: u64, expected: u64) -> (u32, u32) {
    let shift = if got as u32 == expected as u32 { 32 } else { 0 };
    ((got >> shift) as u32, (expected >> shift) as u32)
}
