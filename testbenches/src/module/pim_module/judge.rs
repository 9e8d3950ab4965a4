// SPDX-License-Identifier: MIT
//! The judge of a module: the DRAM's pins by `golden::pins`, data on both data buses by `golden::relayout`,
//! what a run makes by `golden::dispatch` and `golden::rank`.

mod bus;
mod run;

use crate::bench::OracleError;
use crate::rank::known_code;
use bus::{Transfer, rules};
use pimlico_dpa::types::{Element, Fault, Load, LoadKind, Row, Timing};
use pimlico_dpa::{ENTRIES, NO_ROW};
use pimlico_golden::dispatch::{self, Dispatched, Machine, Request, status};
use pimlico_golden::pins::PinChecker;
use pimlico_golden::rank::{Kind, Rank, Stop};
use pimlico_golden::sequencer::opcode::{CLOSE_ALL, WEIGH, WR_SHARED, WR_WEIGHTS};
use pimlico_golden::sequencer::{Command, Sizes};
use pimlico_ports::pack;
use pimlico_units::module::{PimModuleIn, PimModuleOut};
use run::{Inputs, Run, Seen, addresses};
use std::collections::{HashMap, VecDeque};

/// A burst on the data bus, in tCK.
const BURST: u64 = 4;
/// Turns of a program that are looked at.
const TURNS: u64 = 1 << 16;
/// Words of weights that may wait for their WR_WEIGHTS.
const MOST_WORDS: usize = 16;
/// Cycles from a MAC to its results, at the most.
const RESULTS: u64 = 256;
/// So many bursts of the host, or more.
const MOST_OPERANDS: usize = 127;

/// The judge of an episode.
pub(in crate::module) struct Judge {
    timing: Timing,
    /// tCK in a cycle of the core, and the number of the next among them.
    gear: u64,
    phase: u64,
    /// tCK that were the rank's.
    now: u64,
    checker: PinChecker,
    open: [Option<Row>; 16],
    /// RD_ALLs whose columns are on their way: when they are there; cycle, row and column.
    columns: VecDeque<(u64, u64, Option<Row>, u8)>,
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
    /// The request of the last start.
    request: usize,
    /// What has been checked.
    pub checked: u64,
    /// Results of runs among it.
    pub results: u64,
}

fn error(cycle: u64, port: &'static str, got: u32, expected: u32, what: &str) -> OracleError {
    OracleError { cycle, port, got, expected, what: what.to_owned() }
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
            columns: VecDeque::new(),
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
                requests: vec![Request::default(); 16],
            },
            commands: vec![0; pimlico_dpa::COMMANDS],
            run: None,
            request: 0,
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
        let accessed = match is_last {
            true if input.load_valid_i => self.load(&input.load_i),
            true if input.start_valid_i => self.start(cycle, input, output),
            _ => Ok(()),
        };
        // In memory mode the rank goes on beside the host's access; else the tCK is none of the rank's.
        if (input.load_valid_i || input.start_valid_i) && !input.memory_i {
            return accessed;
        }
        accessed?;
        let pins = known_code(&output.pins_o).ok_or_else(|| {
            let code = pack(&output.pins_o) as u32;
            error(cycle, "pins_o", code, 0, "no such code")
        })?;
        self.pins(cycle, &pins, &input.cells_i)?;
        self.columns_arrive(&input.cells_i);
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
        // In the cycle of a start `over_o` is that of the run before.
        let is_over = is_last && output.over_o && output.activity_o.settled;
        if is_over && !input.start_valid_i { self.finish(cycle, true) } else { Ok(()) }
    }

    /// The end of the episode.
    pub fn end(&mut self, cycle: u64) -> Result<(), OracleError> {
        self.finish(cycle, false)
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
            LoadKind::Tokens => self.machine.requests[at].tokens = data as u32,
            LoadKind::Segment => self.machine.requests[at].set_segment(data),
            LoadKind::Layers => self.machine.requests[at].set_layers(data),
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
        self.rank.made = Default::default();
        self.run = Some(Run::new(run, self.late));
        self.request = request as usize;
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
        // Both are those of the run from the cycle after its start on.
        if run.bursts.is_none() {
            run.bursts = Some(input.operands_i.get() as usize);
            self.rank.set_scale(input.scale_i);
        }
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
            let (status, address) = (end.status as u32, end.address.get() as usize);
            run.end = Some((at, (status, address as u32)));
            let request = &mut self.machine.requests[self.request];
            let (got, expected) = (end.layer.into(), request.layer() as u32);
            if got != expected {
                return Err(error(at, "end_o", got, expected, "layer of the end"));
            }
            let next_layer = self.machine.words.get(address).is_some_and(|word| word % 2 == 1);
            request.steps += u64::from(status == status::DONE && next_layer);
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

/// A command as the sequencer gets it.
fn sequenced(command: &Dispatched) -> Command {
    let Dispatched { opcode, head, row, place, column, word, flags, tokens, .. } = *command;
    let [first, last, opens] = flags;
    Command { opcode, head, row, place, column, word, first, last, opens, tokens }
}
