// SPDX-License-Identifier: MIT
//! The judge of a module: the DRAM's pins by `golden::pins`, data on both data buses by `golden::relayout`,
//! what a run makes by `golden::dispatch` and `golden::rank`.

use super::taken::Taken;
use crate::OracleError;
use crate::rank::known_code;
use pimlico_dpa::types::{
    Burst, Cells, Columns, Element, Fault, Load, LoadKind, Options, PinCommand, Pins, Row, Timing,
};
use pimlico_dpa::{ENTRIES, NO_ROW};
use pimlico_golden::dispatch::{self, Dispatched, Machine};
use pimlico_golden::pins::{Driver, Pin, PinChecker, Rules};
use pimlico_golden::rank::{Column, Kind, Rank, Source, Stop, relaid};
use pimlico_golden::relayout::Widths;
use pimlico_golden::sequencer::opcode::{
    CLOSE_ALL, MAC_CONTEXT, MAC_SCORE, RD_RESULT, WEIGH, WR_SHARED, WR_WEIGHTS,
};
use pimlico_golden::sequencer::{Command, Sizes};
use pimlico_ports::pack;
use pimlico_units::module::{PimModuleIn, PimModuleOut};
use std::collections::{HashMap, VecDeque};

/// A burst on the data bus, in tCK.
const BURST: u64 = 4;
/// Idle tCK of the data bus when its driver changes.
const TURNAROUND: u64 = 2;
/// Turns of a program that are looked at.
const TURNS: u64 = 1 << 16;
/// Words of weights that may wait for their WR_WEIGHTS.
const MOST_WORDS: usize = 16;
/// Cycles from a MAC to its results, at the most.
const RESULTS: u64 = 256;
/// So many bursts of the host, or more.
const MOST_OPERANDS: usize = 127;
const WIDTHS: Widths = Widths { element_bits: 16, chip_bits: 8 };

/// Something that was seen, and in which cycle.
type Seen<T> = (u64, T);

/// What an RD_ALL reads: the row that is open in all banks, the column, and what they hold.
type Read = (Option<Row>, u8, Box<Columns>);

/// What is expected on the chips' data bus in a tCK.
#[derive(Clone, Copy)]
struct Transfer {
    /// Beats, if they are known.
    beats: Option<[u64; 2]>,
}

/// A run of a program, and what was seen of it.
struct Run {
    commands: Vec<Dispatched>,
    /// Status and address of its end, as expected, and as seen.
    ending: Option<(u32, u32)>,
    end: Option<Seen<(u32, u32)>>,
    /// What RD_ALLs have read.
    reads: VecDeque<Seen<Read>>,
    /// How many there were of them, and how often results were new.
    macs: usize,
    sums: usize,
    /// Sums of runs before whose results were to come when this one began.
    late: usize,
    /// For each RD_RESULT, the sum whose results come too soon for it.
    too_soon: Vec<usize>,
    /// Which results an RD_RESULT has read, and in which tCK.
    results: VecDeque<Seen<(u64, u8)>>,
    /// Bursts that the host had for it.
    bursts: Option<usize>,
    operands: VecDeque<Seen<Burst>>,
    /// Words that a WR_SHARED has written, and how many of them with a burst of the host.
    writes: VecDeque<Seen<u8>>,
    hosts: usize,
    finishes: Vec<u64>,
    weighs: Vec<u64>,
    scores: Vec<Seen<(bool, u32, u16)>>,
    weights: Vec<Seen<(u32, u16)>>,
    context: Vec<Seen<(u32, u16)>>,
    outputs: Vec<Seen<u16>>,
    /// What is wrong with it.
    fault: Option<Seen<Fault>>,
    /// In the last tCK results came before all of the last had been read.
    overwritten: Option<bool>,
}

/// What went into a run, as the judge of a rank takes it.
struct Inputs<'a> {
    run: &'a mut Run,
    weights: usize,
    /// A difference between what was asked for and what was read.
    wrong: Option<(u64, &'static str, u32, u32)>,
}

impl Source for Inputs<'_> {
    fn column(&mut self, row: u32, column: u32) -> Option<[Column; 16]> {
        let (cycle, (open, at, columns)) = self.run.reads.pop_front()?;
        if open.map(u32::from) != Some(row) {
            self.wrong = Some((cycle, "row of an RD_ALL", open.map_or(!0, u32::from), row));
        } else if u32::from(at) != column {
            self.wrong = Some((cycle, "column of an RD_ALL", at.into(), column));
        }
        Some(*columns)
    }

    fn results(&mut self) -> Option<u64> {
        self.run.results.pop_front().map(|(_, (tck, _))| tck)
    }

    fn operand(&mut self) -> Option<[u64; 8]> {
        self.run.operands.pop_front().map(|(_, burst)| burst)
    }

    fn weight(&mut self) -> Option<u16> {
        self.weights += 1;
        self.run.weights.get(self.weights - 1).map(|(_, (_, bits))| *bits)
    }
}

/// The judge of an episode.
pub(super) struct Judge {
    timing: Timing,
    /// tCK in a cycle of the core, and the number of the next among them.
    gear: u64,
    phase: u64,
    /// tCK that were the rank's.
    now: u64,
    checker: PinChecker,
    open: [Option<Row>; 16],
    bus: HashMap<u64, Transfer>,
    /// Writes of the host whose data are not complete: the tCK of the command, bank and column.
    host_writes: VecDeque<(u64, u8, u8)>,
    /// Beats that the host has driven, by their number.
    driven: HashMap<u64, u64>,
    /// Beats that the host is to get.
    host_reads: HashMap<u64, u64>,
    sizes: Sizes,
    /// Sums of runs that are over whose results have not come.
    late: usize,
    /// The cycle of the last MAC.
    last_mac: u64,
    /// Two sums have ended at once, in a program that breaks a rule: the sequencer waits for the results of one for ever, so
    /// that nothing is known of runs until a reset.
    pub has_lost: bool,
    kind: Kind,
    rank: Rank,
    machine: Machine,
    commands: Vec<u64>,
    run: Option<Run>,
    /// What has been checked.
    pub checked: u64,
    /// Results of runs among it.
    pub results: u64,
}

fn rules(timing: &Timing, options: Options) -> Rules {
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
        rtw_gap: TURNAROUND,
        t_wtr_s: tck(timing.wr_to_rd_s).saturating_sub(cwl + BURST),
        t_wtr_l: tck(timing.wr_to_rd_l).saturating_sub(cwl + BURST),
        t_wtr_shared: tck(timing.shared_to_rd).checked_sub(cwl + BURST),
        t_wr: tck(timing.wr_to_pre).saturating_sub(cwl + BURST),
        t_rtp: tck(timing.rtp),
        t_rfc: timing.rfc.into(),
        t_refi: Some(timing.refi.get()).filter(|refi| options.refresh && *refi > 0),
        max_postponed: 8,
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
    })
}

fn error(cycle: u64, port: &'static str, got: u32, expected: u32, what: &str) -> OracleError {
    OracleError { cycle, port, got, expected, what: what.to_owned() }
}

/// The beats of a column on the chips' data bus.
fn beats_of(cells: &Cells) -> Burst {
    std::array::from_fn(|beat| {
        u64::from_le_bytes(std::array::from_fn(|chip| cells[chip].to_le_bytes()[beat]))
    })
}

impl Judge {
    pub fn new(first: &PimModuleIn, wide: bool, late: bool, places: usize, gear: usize) -> Self {
        let timing = first.timing_i;
        let kind = Kind { wide, late, places, gear: gear as u64 };
        let sizes = Sizes {
            rows: first.size_i.rows.get() as u32,
            columns: first.size_i.columns.get() as u32,
            burst: BURST,
            latency: 0,
            idle: [0; 3],
            wide,
            scores: places as u32,
        };
        Self {
            timing,
            gear: gear as u64,
            phase: 0,
            now: 0,
            checker: PinChecker::new(rules(&timing, first.options_i)),
            open: [None; 16],
            bus: HashMap::new(),
            host_writes: VecDeque::new(),
            driven: HashMap::new(),
            host_reads: HashMap::new(),
            sizes,
            late: 0,
            last_mac: 0,
            has_lost: false,
            kind,
            rank: Rank::new(kind),
            machine: Machine {
                words: Vec::new(),
                table: vec![NO_ROW; ENTRIES],
                requests: vec![(0, 0, 0); 16],
            },
            commands: vec![0; pimlico_dpa::COMMANDS],
            run: None,
            checked: 0,
            results: 0,
        }
    }

    /// A tCK: its two beats, the first of which is this cycle.
    pub fn tck(
        &mut self,
        cycle: u64,
        inputs: &[PimModuleIn],
        outputs: &[PimModuleOut],
    ) -> Result<(), OracleError> {
        let ([input, _], [first, output]) = (inputs, outputs) else { return Ok(()) };
        let from = cycle - 2 * self.phase; // of the core
        let is_last = self.phase == self.gear - 1;
        self.phase = (self.phase + 1) % self.gear;
        if input.load_valid_i || input.start_valid_i {
            return match is_last {
                true if input.load_valid_i => self.load(&input.load_i),
                true => self.start(cycle, input, output),
                false => Ok(()),
            };
        }
        let pins = known_code(&output.pins_o).ok_or_else(|| {
            let code = pack(&output.pins_o) as u32;
            error(cycle, "pins_o", code, 0, "no such code")
        })?;
        self.pins(cycle, &pins, &input.cells_i)?;
        if first.cells_write_valid_o {
            return Err(error(cycle, "cells_write_valid_o", 1, 0, "in the first beat"));
        }
        if input.memory_i {
            self.memory(cycle, inputs, outputs)?;
        } else if output.host_dq_valid_o || output.cells_write_valid_o {
            let what = "the host's data in processing in memory";
            return Err(error(cycle, "host_dq_valid_o", 1, 0, what));
        } else if is_last {
            self.see(from, cycle, input, output)?;
        }
        self.data_bus(cycle, [first, output])?;
        self.now += 1;
        let is_over = is_last && output.over_o && output.activity_o.settled;
        if is_over { self.finish(cycle, true) } else { Ok(()) }
    }

    /// The end of the episode.
    pub fn end(&mut self, cycle: u64) -> Result<(), OracleError> {
        self.finish(cycle, false)
    }

    // --------------------------------------------------------------------------- pins and data

    fn pins(&mut self, cycle: u64, pins: &Pins, cells: &Columns) -> Result<(), OracleError> {
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
                    run.reads.push_back((cycle, (open, pins.column, Box::new(*cells))));
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
    fn data_bus(&mut self, cycle: u64, beats: [&PimModuleOut; 2]) -> Result<(), OracleError> {
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
    fn memory(
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

    // -------------------------------------------------------------------------------------- runs

    fn load(&mut self, load: &Load) -> Result<(), OracleError> {
        let Load { kind, address, data } = *load;
        let at = usize::from(address);
        match kind {
            LoadKind::Command => {
                self.commands[at] = data;
                let length = self.machine.words.len().max(at + 1);
                self.machine.words.clear();
                self.machine.words.extend_from_slice(&self.commands[..length]);
            }
            LoadKind::Entry => self.machine.table[at] = data as u16,
            LoadKind::Tokens => self.machine.requests[at].0 = data as u32,
            LoadKind::Segment => {
                let request = &mut self.machine.requests[at];
                (request.1, request.2) = (data as u16, (data >> 16) as u16);
            }
            LoadKind::Clear => self.machine.words.clear(),
        }
        Ok(())
    }

    fn start(
        &mut self,
        cycle: u64,
        input: &PimModuleIn,
        output: &PimModuleOut,
    ) -> Result<(), OracleError> {
        self.finish(cycle, false)?;
        self.has_lost |= self.late > 0 && cycle > self.last_mac + RESULTS;
        if !output.start_ready_o {
            return Err(error(cycle, "start_ready_o", 0, 1, "no run goes on"));
        }
        let (request, address) = (input.start_i.request.get(), input.start_i.address.get());
        let run = dispatch::run(&self.machine, request as usize, address as usize, TURNS);
        self.rank.set_scale(input.scale_i);
        self.rank.made = Default::default();
        self.run = Some(Run {
            too_soon: too_soon(&run.commands),
            commands: run.commands,
            ending: run.ending.map(|ending| (ending.status, ending.address)),
            end: None,
            reads: VecDeque::new(),
            macs: 0,
            sums: 0,
            late: self.late,
            results: VecDeque::new(),
            bursts: None,
            operands: VecDeque::new(),
            writes: VecDeque::new(),
            hosts: 0,
            finishes: Vec::new(),
            weighs: Vec::new(),
            scores: Vec::new(),
            weights: Vec::new(),
            context: Vec::new(),
            outputs: Vec::new(),
            fault: None,
            overwritten: Some(false),
        });
        Ok(())
    }

    /// What a cycle of the core of processing in memory shows, which has begun with `from`, in its last tCK.
    fn see(
        &mut self,
        from: u64,
        cycle: u64,
        input: &PimModuleIn,
        output: &PimModuleOut,
    ) -> Result<(), OracleError> {
        let new_results = output.events_o.results;
        let Some(run) = &mut self.run else {
            self.late = self.late.saturating_sub(new_results.into());
            return Ok(());
        };
        let at = cycle + 1;
        run.bursts.get_or_insert(input.operands_i.get() as usize);
        run.finishes.extend(output.events_o.finish_taken.then_some(from));
        run.weighs.extend(output.events_o.weigh_taken.then_some(from));
        let made = &output.results_o;
        let scores = made.scores().map(|s| (at, (s.masked, s.head.get() as u32, s.bits)));
        let element = |e: Element| (at, (e.head.get() as u32, e.bits));
        run.scores.extend(scores);
        run.weights.extend(made.weights().map(element));
        run.context.extend(made.context().map(element));
        run.outputs.extend(made.outputs().map(|bits| (at, bits)));
        if output.operand_taken_o && !input.operand_valid_i {
            return Err(error(at, "operand_taken_o", 1, 0, "the burst of the host is not there"));
        }
        if output.operand_taken_o {
            run.operands.push_back((at, input.operand_i));
        }
        if run.fault.is_none() {
            // The tCK before says whether results are lost, and no other fault goes before that one.
            let fault = output.fault_o;
            let has_come = fault == Fault::Overwritten;
            if run.overwritten.is_some_and(|now| now != has_come) {
                let expected = if has_come { Fault::None } else { Fault::Overwritten };
                let what = "results that were not read before the next came";
                return Err(error(at, "fault_o", fault as u32, expected as u32, what));
            }
            run.fault = Some((at, fault)).filter(|(_, fault)| *fault != Fault::None);
        }
        run.sums += usize::from(new_results);
        run.overwritten = run.overwrites(from, new_results).filter(|_| !self.has_lost);
        if output.end_valid_o {
            let end = output.end_o;
            run.end = Some((at, (end.status as u32, end.address.get() as u32)));
        }
        Ok(())
    }

    /// The end of a run, which may not have come to its end.
    fn finish(&mut self, cycle: u64, over: bool) -> Result<(), OracleError> {
        let Some(mut run) = self.run.take() else { return Ok(()) };
        let commands = std::mem::take(&mut run.commands);
        if self.has_lost {
            return Ok(());
        }
        self.late = (run.late + run.sums_of(&commands, &self.sizes)).saturating_sub(run.sums);
        if let Some((fault, _)) = run.fault {
            run.cut(fault);
        }
        addresses(&commands, &run)?;
        let taken = run.taken();
        let mut inputs = Inputs { run: &mut run, weights: 0, wrong: None };
        let mut stop = None;
        for (at, command) in commands.iter().enumerate() {
            if let Err(why) = self.rank.execute(command, &mut inputs) {
                stop = Some((at, why));
                break;
            }
            if let Some((cycle, what, got, expected)) = inputs.wrong {
                return Err(error(cycle, "pins_o", got, expected, what));
            }
        }
        // From a command on that breaks a rule, which need not wait for those before it, all is open.
        if let Some((at, Stop::Open(_))) = stop
            && let Some(cycle) = taken.from(&commands, at)
        {
            run.cut(cycle);
        }
        let whole = over && run.fault.is_none();
        if let Some((at, (status, address))) = run.end.filter(|_| run.fault.is_none())
            && run.ending != Some((status, address))
        {
            let (expected, _) = run.ending.unwrap_or_default();
            let what = format!("status of the end at word {address}; expected {:?}", run.ending);
            return Err(error(at, "end_o", status, expected, &what));
        }
        if whole && run.end.is_none() {
            return Err(error(cycle, "over_o", 1, 0, "the program has not ended"));
        }
        self.compare(cycle, &run, whole && stop.is_none())?;
        if whole && matches!(stop, Some((_, Stop::Waits))) {
            return Err(error(cycle, "over_o", 1, 0, "not all that was dispatched is done"));
        }
        let faults = self.faults(&commands, run.bursts.unwrap_or(MOST_OPERANDS));
        let is_due = |fault: Fault| faults.iter().flatten().any(|(_, code)| *code == fault as u32);
        match run.fault {
            Some((_, Fault::Overwritten)) => {}
            Some((at, fault)) if !is_due(fault) => {
                let code = faults[0].map_or(0, |(_, code)| code);
                let what = format!("the program's first faults are {faults:?}");
                return Err(error(at, "fault_o", fault as u32, code, &what));
            }
            None if whole && let Some((at, code)) = faults[0] => {
                let what = format!("command {at} of the program is at fault");
                return Err(error(cycle, "fault_o", 0, code, &what));
            }
            _ => {}
        }
        if stop.is_some() || !whole {
            self.rank = Rank::new(self.kind); // nobody knows what the memories hold
        }
        Ok(())
    }

    /// The first fault of a program, as its command and code, where the host has so many bursts for it; and the
    /// next, if it may come in the same tCK.
    fn faults(&self, commands: &[Dispatched], bursts: usize) -> [Option<(usize, u32)>; 2] {
        const NO_OPERAND: u32 = Fault::NoOperand as u32;
        const UNPAIRED: u32 = Fault::Unpaired as u32;
        let (mut words, mut writes) = (0, 0);
        let mut faults = [None; 2];
        for (at, command) in commands.iter().enumerate() {
            // A command enters its queue a tCK after it was decoded.
            let decoded = self.sizes.fault(&sequenced(command));
            let entered = match command.opcode {
                _ if decoded.is_some() => None,
                WR_SHARED if bursts < MOST_OPERANDS && writes == bursts => Some(NO_OPERAND),
                WEIGH => (words == MOST_WORDS).then_some(UNPAIRED),
                WR_WEIGHTS => (words == 0).then_some(UNPAIRED),
                CLOSE_ALL => (words > 0).then_some(UNPAIRED),
                _ => None,
            };
            match (decoded.or(entered), faults[0]) {
                (Some(code), None) => faults[0] = Some((at, code)),
                (None, None) => {}
                (_, Some(_)) => {
                    faults[1] = decoded.map(|code| (at, code));
                    return faults;
                }
            }
            writes += usize::from(command.opcode == WR_SHARED);
            words += usize::from(command.opcode == WEIGH);
            words -= usize::from(command.opcode == WR_WEIGHTS && words > 0);
        }
        if words > 0 && faults[0].is_none() {
            faults[0] = Some((commands.len(), UNPAIRED));
        }
        faults
    }

    /// Compares what a run has made with what it should have: all of it, or as much as there is.
    fn compare(&mut self, end: u64, run: &Run, whole: bool) -> Result<(), OracleError> {
        let made = &self.rank.made;
        let counts = [
            ("score", run.scores.len(), made.scores.len()),
            ("weight", run.weights.len(), made.weights.len()),
            ("context", run.context.len(), made.context.len()),
            ("output", run.outputs.len(), made.outputs.len()),
        ];
        for ((cycle, got), expected) in run.scores.iter().zip(&made.scores) {
            let (masked, head, bits) = *got;
            if (masked, head) != (expected.masked, expected.head) || bits != expected.bits {
                let what = format!("score of {expected:?}");
                return Err(error(*cycle, "results_o", bits.into(), expected.bits.into(), &what));
            }
        }
        let elements =
            |seen: &[Seen<(u32, u16)>], made: &[(u32, pimlico_golden::rank::Expected)], what| {
                for ((cycle, (head, bits)), (of, expected)) in seen.iter().zip(made) {
                    if head != of || !expected.holds(*bits) {
                        let what = format!("{what} of head {of}: {expected:?}");
                        return Err(error(*cycle, "results_o", (*bits).into(), 0, &what));
                    }
                }
                Ok(())
            };
        elements(&run.weights, &made.weights, "weight")?;
        elements(&run.context, &made.context, "element of the context")?;
        for ((cycle, got), expected) in run.outputs.iter().zip(&made.outputs) {
            if got != expected {
                let what = "output of a matrix";
                return Err(error(*cycle, "results_o", (*got).into(), (*expected).into(), what));
            }
        }
        for (what, got, expected) in counts {
            if whole && got != expected {
                let what = format!("number of {what}s in a run");
                return Err(error(end, "results_o", got as u32, expected as u32, &what));
            }
            self.results += got.min(expected) as u64;
            self.checked += got.min(expected) as u64;
        }
        Ok(())
    }
}

impl Run {
    /// Leaves what was seen before a cycle: behind a fault a command is missing, and results may have been
    /// overwritten before they were read.
    fn cut(&mut self, cycle: u64) {
        self.scores.retain(|(at, _)| *at < cycle);
        self.weights.retain(|(at, _)| *at < cycle);
        self.context.retain(|(at, _)| *at < cycle);
        self.outputs.retain(|(at, _)| *at < cycle);
        self.reads.retain(|(at, _)| *at < cycle);
        self.results.retain(|(at, _)| *at < cycle);
        self.writes.retain(|(at, _)| *at < cycle);
    }

    /// When its commands were taken.
    fn taken(&self) -> Taken {
        let reads = self.reads.iter().map(|(at, _)| *at).collect();
        let results = self.results.iter().map(|(at, _)| *at).collect();
        let writes = self.writes.iter().map(|(at, _)| *at).collect();
        Taken([reads, results, writes, self.finishes.clone(), self.weighs.clone()])
    }

    /// Sums that the MACs which were on the pins have ended. One without a row or a column never is on the pins; one
    /// behind it may be, as it stands for the array before the fault is seen.
    fn sums_of(&self, commands: &[Dispatched], sizes: &Sizes) -> usize {
        let is_there = |it: &&Dispatched| it.row < sizes.rows && it.column < sizes.columns;
        let macs = commands.iter().filter(|it| is_mac(it)).filter(is_there).take(self.macs);
        macs.filter(|it| ends_sum(it)).count()
    }

    /// Whether results that come in this cycle find results before them that have not been read. Where an RD_RESULT
    /// before has outlasted its own, as those that the chips keep do, the sequencer sees it when it gets to it: `None`.
    fn overwrites(&self, cycle: u64, new_results: bool) -> Option<bool> {
        let read = self.results.iter().filter(|(at, _)| *at < cycle).count();
        let (sum, come) = (self.too_soon.get(read), self.sums.checked_sub(self.late + 1));
        let (Some(sum), Some(newest)) = (sum, come) else { return Some(false) };
        match new_results && *sum == newest {
            true => Some(true),
            false => Some(false).filter(|_| *sum > newest),
        }
    }
}

fn is_mac(command: &Dispatched) -> bool {
    [MAC_SCORE, MAC_CONTEXT].contains(&command.opcode)
}

fn ends_sum(command: &Dispatched) -> bool {
    is_mac(command) && command.flags[1]
}

/// For each RD_RESULT, the sum whose results come too soon for it: the first that ends behind it, or for what the
/// chips keep the one after.
fn too_soon(commands: &[Dispatched]) -> Vec<usize> {
    let mut sums = 0;
    let of_results = |command: &Dispatched| {
        sums += usize::from(ends_sum(command));
        let kept = command.word & 0x80 == 0 && command.word & 3 != 0;
        (command.opcode == RD_RESULT).then_some(sums + usize::from(kept))
    };
    commands.iter().filter_map(of_results).collect()
}

/// A command as the sequencer gets it.
fn sequenced(command: &Dispatched) -> Command {
    let Dispatched { opcode, head, row, place, column, word, flags, tokens, .. } = *command;
    let [first, last, opens] = flags;
    Command { opcode, head, row, place, column, word, first, last, opens, tokens }
}

/// Compares the words that were written and the results that were read with those of the commands.
fn addresses(commands: &[Dispatched], run: &Run) -> Result<(), OracleError> {
    let of = |kinds: &[u32]| -> Vec<u32> {
        let commands = commands.iter().filter(|command| kinds.contains(&command.opcode));
        commands.map(|command| command.word).collect()
    };
    let writes = of(&[WR_SHARED, WR_WEIGHTS]);
    for ((cycle, word), expected) in run.writes.iter().zip(writes) {
        if u32::from(*word) != expected {
            return Err(error(*cycle, "pins_o", (*word).into(), expected, "word of a WR_SHARED"));
        }
    }
    // Scores and outputs are read by their group alone.
    let bus = |word: u32| if word & 0x80 != 0 { word & 0xCF } else { word & 3 };
    for ((cycle, (_, address)), word) in run.results.iter().zip(of(&[RD_RESULT])) {
        if u32::from(*address) != bus(word) {
            let what = "address of an RD_RESULT";
            return Err(error(*cycle, "pins_o", (*address).into(), bus(word), what));
        }
    }
    Ok(())
}

/// The halves of two words in which they differ.
fn low_difference(got: u64, expected: u64) -> (u32, u32) {
    let shift = if got as u32 == expected as u32 { 32 } else { 0 };
    ((got >> shift) as u32, (expected >> shift) as u32)
}
