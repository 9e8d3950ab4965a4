// SPDX-License-Identifier: MIT
//! The judge of a hub: what `golden::dispatch` dispatches is executed command by command, and what is on the channels'
//! pins and data lines and written to the GPR is held against it.

use super::CHANNELS;
use super::memories::{Word, before};
use crate::bench::OracleError;
use crate::channel::aim_channel::judge::Judge as Channel;
use crate::judge::equal;
use pimlico_dpa::types::{AimCommand, AimKind, Load, LoadKind, PinCommand};
use pimlico_dpa::{COMMANDS, ENTRIES, NO_ROW};
use pimlico_golden::dispatch::{self, Dispatched, Machine, Request, Run};
use pimlico_golden::exact;
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::sequencer::opcode::{
    CLOSE_ALL, MAC_SCORE, RD_RESULT, WEIGH, WR_SHARED, WR_WEIGHTS,
};
use pimlico_golden::softmax::{Exponential, HeadSum};
use pimlico_ports::U;
use pimlico_units::channel::{AimChannelIn, AimChannelOut};
use pimlico_units::module::{AimHubIn, AimHubOut};
use std::collections::{HashMap, VecDeque};

const H: Format = Format::BINARY16;
const GRADUAL: Subnormals = Subnormals::Gradual;
/// Units in the last place by which an exponential may be off.
const EXP_ULPS: f64 = 0.888;
/// Turns of a program that are looked at.
const TURNS: u64 = 1 << 16;
/// Elements of a word, and of the GPR; words or columns of a command.
const ELEMENTS: u32 = 16;
const GPR: u32 = 1 << 18;
const MOST: u32 = 64;
/// Cycles in which something happens, if something is left to do.
const PATIENCE: u64 = 4000;
/// Codes of faults.
const UNKNOWN_COMMAND: u32 = 1;
const NO_ROW_FAULT: u32 = 2;
const NO_COLUMN: u32 = 3;
const NO_PLACE: u32 = 4;
const NO_TOKENS: u32 = 5;
const NO_OPERAND: u32 = 6;

/// Where a word of a filling comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Host,
    /// A word of the GPR, elements of it that count, and the number of the command.
    Gpr(u32, u32, usize),
}

/// A write to the GPR that is to come, and the number of its command.
#[derive(Clone, Debug)]
enum Write {
    Results {
        line: u32,
        goes_on: bool,
    },
    /// A word of scaled scores of a head, the first of its elements, and those of the head.
    Scaled {
        word: u32,
        first: u32,
        tokens: u32,
    },
    /// The same of its weights.
    Weights {
        word: u32,
        first: u32,
    },
}

/// The judge of an episode.
pub(super) struct Judge {
    channels: [Channel; CHANNELS],
    machine: Machine,
    commands: Vec<u64>,
    run: Option<Run>,
    /// The request of the last start.
    request: usize,
    now: u64,
    /// Commands of all runs so far.
    number: usize,
    host: VecDeque<Word>,
    sources: VecDeque<Source>,
    results: VecDeque<[Word; CHANNELS]>,
    writes: VecDeque<(Write, usize)>,
    /// What words of the GPR have been, since which command.
    gpr: HashMap<u32, Vec<(usize, Word)>>,
    /// Lines of the GPR that were read, and to which results are added.
    added: VecDeque<u64>,
    /// Scaled scores of the softmax under way.
    scaled: Vec<u32>,
    /// Accesses that began in the last cycle: to the command buffer, the Va2Pa table, and memories of the GPR that are
    /// read and written.
    begun: [u64; 4],
    /// The fault that the run comes to.
    fault: u32,
    has_failed: bool,
    progress: u64,
    pub checked: u64,
}

type Verdict = Result<(), OracleError>;

/// Columns, or words.
fn count(it: &Dispatched) -> u32 {
    if it.word == 0 { it.tokens.div_ceil(ELEMENTS) } else { it.word }
}

fn fault(it: &Dispatched, input: &AimHubIn) -> u32 {
    let count = count(it);
    let [rows, columns] = [input.size_i.rows.get(), input.size_i.columns.get()];
    let counts = count == 0 || count > MOST;
    let unaligned = |elements: u32| !it.place.is_multiple_of(elements);
    match it.opcode {
        MAC_SCORE if u64::from(it.row) >= rows => NO_ROW_FAULT,
        MAC_SCORE | WR_SHARED | WR_WEIGHTS if counts => NO_TOKENS,
        MAC_SCORE if 8 * it.head + count > MOST => NO_OPERAND,
        MAC_SCORE if u64::from(it.column + count) > columns => NO_COLUMN,
        MAC_SCORE | WR_SHARED | CLOSE_ALL => 0,
        WR_WEIGHTS if unaligned(ELEMENTS) || it.place + ELEMENTS * count > GPR => NO_PLACE,
        WEIGH if it.tokens == 0 => NO_TOKENS,
        WEIGH if unaligned(ELEMENTS) || it.place + it.tokens > GPR => NO_PLACE,
        RD_RESULT if unaligned(ELEMENTS * CHANNELS as u32) => NO_PLACE,
        WR_WEIGHTS | WEIGH | RD_RESULT => 0,
        _ => UNKNOWN_COMMAND,
    }
}

impl Judge {
    pub fn new(first: &AimHubIn, pingpong: bool) -> Self {
        let channel = AimChannelIn {
            timing_i: first.timing_i,
            mode_change_i: first.mode_change_i,
            options_i: first.options_i,
            ..Default::default()
        };
        Self {
            channels: std::array::from_fn(|_| Channel::new(&channel, pingpong)),
            machine: Machine {
                words: Vec::new(),
                table: vec![NO_ROW; ENTRIES],
                requests: vec![Request::default(); 16],
            },
            commands: vec![0; COMMANDS],
            run: None,
            request: 0,
            now: 0,
            number: 0,
            host: VecDeque::new(),
            sources: VecDeque::new(),
            results: VecDeque::new(),
            writes: VecDeque::new(),
            gpr: HashMap::new(),
            added: VecDeque::new(),
            scaled: Vec::new(),
            begun: [0; 4],
            fault: 0,
            has_failed: false,
            progress: 0,
            checked: 0,
        }
    }

    fn error(&self, port: &'static str, got: u32, expected: u32, what: String) -> Verdict {
        Err(OracleError { cycle: self.now, port, got, expected, what })
    }

    fn equal(
        &self,
        port: &'static str,
        got: impl Into<u64>,
        expected: impl Into<u64>,
        what: &str,
    ) -> Verdict {
        equal(self.now as usize, port, got, expected, || what.to_owned())
    }

    fn same(&self, port: &'static str, got: &Word, expected: &Word, what: &str) -> Verdict {
        for (n, (got, expected)) in got.iter().zip(expected).enumerate() {
            self.equal(port, *got, *expected, &format!("element {n} of {what}"))?;
        }
        Ok(())
    }

    /// A cycle.
    pub fn cycle(&mut self, input: &AimHubIn, output: &AimHubOut) -> Verdict {
        let code = output.fault_o as u32;
        self.has_failed |= code != 0;
        if code != 0 || self.has_failed {
            // What goes on behind a fault is open.
            return self.equal("fault_o", code, self.fault, "fault of the run");
        }
        self.state(output)?;
        self.accesses(output)?;
        self.channels(input, output)?;
        self.gpr(input, output)?;
        if input.operand_valid_i && output.operand_ready_o {
            self.host.push_back(input.operand_i);
        }
        if output.end_valid_o
            && self.fault == 0
            && let Some(run) = self.run.take()
        {
            let ending = run.ending.map_or((0, 0), |it| (it.status, it.address));
            self.equal("end_o", output.end_o.status as u64, ending.0, "status of the end")?;
            self.equal("end_o", output.end_o.address.get(), ending.1, "address of the end")?;
            let layer = self.machine.requests[self.request].layer();
            self.equal("end_o", output.end_o.layer, layer, "layer of the end")?;
            let next_layer = run.ending.is_some_and(|ending| ending.next_layer);
            self.machine.requests[self.request].steps += u64::from(next_layer);
        }
        self.host(input, output);
        self.channels.iter_mut().for_each(Channel::tick);
        self.now += 1;
        Ok(())
    }

    /// The value of a word of the GPR before a command.
    fn word(&self, word: u32, number: usize) -> Word {
        let history = self.gpr.get(&word).map_or(&[][..], Vec::as_slice);
        let last = history.iter().rev().find(|(since, _)| *since < number);
        last.map_or_else(|| before(word), |(_, value)| *value)
    }

    fn keep(&mut self, word: u32, number: usize, value: Word) {
        self.gpr.entry(word).or_default().push((number, value));
    }

    // ------------------------------------------------------------------------------------- host

    fn host(&mut self, input: &AimHubIn, output: &AimHubOut) {
        if input.write_valid_i && output.write_ready_o {
            let it = input.write_i;
            let kind = AimKind::Write;
            let command = AimCommand {
                kind,
                bank: it.bank,
                row: it.row,
                column: it.column,
                ..Default::default()
            };
            self.accept(&command);
        }
        if input.load_valid_i && output.load_ready_o {
            self.load(&input.load_i);
        }
        if input.start_valid_i && output.start_ready_o {
            let request = input.start_i.request.get() as usize;
            let address = input.start_i.address.get() as usize;
            let run = dispatch::run(&self.machine, request, address, TURNS);
            self.execute(&run.commands, input);
            self.run = Some(run);
            self.request = request;
            self.progress = self.now;
        }
    }

    fn accept(&mut self, command: &AimCommand) {
        self.channels.iter_mut().for_each(|channel| channel.accept(command));
    }

    fn load(&mut self, load: &Load) {
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
    }

    /// What a program asks for, up to its first fault.
    fn execute(&mut self, commands: &[Dispatched], input: &AimHubIn) {
        let mut mac: Option<AimCommand> = None;
        for it in commands {
            self.fault = fault(it, input);
            if self.fault != 0 {
                break;
            }
            self.number += 1;
            let count = count(it);
            let [first, last, opens] = it.flags;
            let frees = match it.opcode {
                MAC_SCORE => Some(opens),
                CLOSE_ALL | WEIGH => Some(true),
                WR_WEIGHTS if first => Some(true),
                _ => None,
            };
            if let Some(frees) = frees
                && let Some(mac) = mac.take()
            {
                self.accept(&AimCommand { frees, ..mac });
            }
            let of = |kind| AimCommand { kind, count: U::new(count.into()), ..Default::default() };
            match it.opcode {
                MAC_SCORE => {
                    mac = Some(AimCommand {
                        row: it.row as u16,
                        column: it.column as u8,
                        word: U::new(8 * u64::from(it.head)),
                        first,
                        last,
                        ..of(AimKind::Mac)
                    });
                }
                WR_SHARED | WR_WEIGHTS => {
                    self.accept(&of(AimKind::Fill));
                    self.fill(it, count);
                }
                RD_RESULT => {
                    self.accept(&of(AimKind::Results));
                    let line = it.place / (ELEMENTS * CHANNELS as u32);
                    let write = Write::Results { line, goes_on: !first };
                    self.writes.push_back((write, self.number));
                }
                WEIGH => self.weigh(it),
                _ => self.accept(&of(AimKind::Close)),
            }
        }
        if let Some(mac) = mac.filter(|_| self.fault == 0) {
            self.accept(&AimCommand { frees: true, ..mac });
        } else if let Some(mac) = mac {
            self.accept(&mac); // it may come, before or behind the fault
        }
    }

    fn fill(&mut self, it: &Dispatched, count: u32) {
        let elements = if it.word == 0 { it.tokens } else { ELEMENTS * count };
        self.sources.extend((0..count).map(|n| match it.opcode {
            WR_SHARED => Source::Host,
            _ => {
                let left = elements.saturating_sub(ELEMENTS * n);
                Source::Gpr(it.place / ELEMENTS + n, left, self.number)
            }
        }));
    }

    fn weigh(&mut self, it: &Dispatched) {
        let tokens = it.tokens;
        let words = tokens.div_ceil(ELEMENTS);
        let place = |n: u32| (it.place / ELEMENTS + n, ELEMENTS * n);
        let scaled = (0..words).map(|n| {
            let (word, first) = place(n);
            Write::Scaled { word, first, tokens }
        });
        let weights = (0..words).map(|n| {
            let (word, first) = place(n);
            Write::Weights { word, first }
        });
        let number = self.number;
        self.writes.extend(scaled.chain(weights).map(|write| (write, number)));
    }

    // --------------------------------------------------------------------------------- channels

    fn channels(&mut self, input: &AimHubIn, output: &AimHubOut) -> Verdict {
        let [operand, _, results] = self.channels[0].due();
        let operand_i = match operand {
            true => self.operand()?,
            false => Word::default(),
        };
        for channel in 0..CHANNELS {
            let given = AimChannelIn {
                timing_i: input.timing_i,
                mode_change_i: input.mode_change_i,
                options_i: input.options_i,
                operands_i: U::new(operand.into()),
                operand_i,
                write_i: input.write_data_i[channel],
                cells_i: input.cells_i[channel],
                ..Default::default()
            };
            let seen = AimChannelOut {
                operand_taken_o: operand,
                write_taken_o: output.write_taken_o,
                result_valid_o: results,
                dq_valid_o: output.dq_valid_o,
                dq_o: output.dq_o[channel],
                pins_o: output.pins_o,
                bus_pins_o: output.bus_pins_o,
                events_o: output.events_o,
                ..Default::default()
            };
            self.channels[channel].cycle_of(&given, &seen)?;
        }
        if results {
            self.results.push_back(output.dq_o);
        }
        let on_pins = [output.pins_o, output.bus_pins_o].map(|pins| pins.command);
        self.checked +=
            on_pins.iter().filter(|command| **command != PinCommand::None).count() as u64;
        Ok(())
    }

    /// The word that is on the data lines.
    fn operand(&mut self) -> Result<Word, OracleError> {
        match self.sources.pop_front() {
            Some(Source::Host) if let Some(word) = self.host.pop_front() => Ok(word),
            Some(Source::Gpr(word, left, number)) => {
                let mut value = self.word(word, number);
                value.iter_mut().skip(left as usize).for_each(|element| *element = 0);
                Ok(value)
            }
            source => {
                let what = format!("{source:?} is next, and is not there");
                self.error("dq_o", 0, 0, what).map(|()| Word::default())
            }
        }
    }

    // --------------------------------------------------------------------------------- memories

    /// An access to a memory takes two cycles: none begins in the second of them.
    fn accesses(&mut self, output: &AimHubOut) -> Verdict {
        let of_dispatcher = [
            output.fetch_read_o || output.command_write_o,
            output.table_read_o || output.table_write_o,
        ];
        let [reads, writes] = [output.gpr_read_o.get(), output.gpr_write_o.get()];
        let [buffer, table] = of_dispatcher.map(u64::from);
        let now = [buffer, table, reads, writes];
        let before = std::mem::replace(&mut self.begun, now);
        for (port, (now, before)) in ["fetch_read_o", "table_read_o", "gpr_read_o", "gpr_write_o"]
            .into_iter()
            .zip(now.into_iter().zip(before))
        {
            self.equal(port, now & before, 0u64, "an access to a memory that has begun another")?;
        }
        Ok(())
    }

    // -------------------------------------------------------------------------------------- GPR

    fn gpr(&mut self, input: &AimHubIn, output: &AimHubOut) -> Verdict {
        if output.gpr_read_o.get() == 0 {
            self.equal("gpr_read_address_o", output.gpr_read_address_o.get(), 0u64, "no read")?;
        }
        if output.gpr_adds_o {
            self.equal("gpr_read_o", output.gpr_read_o.get(), (1u64 << CHANNELS) - 1, "a line")?;
            self.added.push_back(output.gpr_read_address_o.get());
        }
        let memories = output.gpr_write_o.get();
        let line = output.gpr_write_address_o.get();
        let data = output.gpr_write_data_o;
        if memories == 0 {
            self.equal("gpr_write_address_o", line, 0u64, "no write")?;
            return data.iter().try_for_each(|word| {
                self.same("gpr_write_data_o", word, &Word::default(), "no write")
            });
        }
        self.progress = self.now;
        let Some((write, number)) = self.writes.pop_front() else {
            return self.error("gpr_write_o", memories as u32, 0, "nothing is due".to_owned());
        };
        let what = format!("{write:?}");
        let all = CHANNELS as u32;
        let (mask, at) = match write {
            Write::Results { line, .. } => ((1 << CHANNELS) - 1, line),
            Write::Scaled { word, .. } | Write::Weights { word, .. } => {
                (1 << (word % all), word / all)
            }
        };
        self.equal("gpr_write_o", memories, mask as u64, &what)?;
        self.equal("gpr_write_address_o", line, at, &what)?;
        if let Write::Results { goes_on: true, .. } = write {
            let added = self.added.pop_front();
            self.equal("gpr_adds_o", added == Some(at.into()), true, &what)?;
        }
        let expected = self.expected(&write, number, input, &data)?;
        for (channel, (got, expected)) in data.iter().zip(&expected).enumerate() {
            self.same("gpr_write_data_o", got, expected, &format!("channel {channel}, {what}"))?;
        }
        self.checked += u64::from(ELEMENTS);
        for channel in 0..all {
            let word = all * at + channel;
            if mask >> channel & 1 != 0 {
                self.keep(word, number, data[channel as usize]);
            }
        }
        Ok(())
    }

    fn expected(
        &mut self,
        write: &Write,
        number: usize,
        input: &AimHubIn,
        data: &[Word; CHANNELS],
    ) -> Result<[Word; CHANNELS], OracleError> {
        match *write {
            Write::Results { line, goes_on } => {
                let Some(results) = self.results.pop_front() else {
                    let what = "no results have come".to_owned();
                    return self.error("gpr_write_o", 1, 0, what).map(|()| *data);
                };
                Ok(std::array::from_fn(|channel| {
                    let old = self.word(CHANNELS as u32 * line + channel as u32, number);
                    std::array::from_fn(|n| match goes_on {
                        true => {
                            let (new, old) = (results[channel][n].into(), old[n].into());
                            exact::add(H, GRADUAL, new, old) as u16
                        }
                        false => results[channel][n],
                    })
                }))
            }
            Write::Scaled { word, first, tokens } => {
                if first == 0 {
                    self.scaled.clear();
                }
                let scores = self.word(word, number);
                let scaled: Word = std::array::from_fn(|n| {
                    let score = exact::mul(H, GRADUAL, scores[n].into(), input.scale_i.into());
                    let masked = first + n as u32 >= tokens;
                    if masked { H.infinity(true) as u16 } else { score as u16 }
                });
                self.scaled.extend(scaled.map(u32::from));
                Ok([scaled; CHANNELS])
            }
            Write::Weights { first, .. } => self.weights(first as usize, data),
        }
    }

    /// Weights may be off, but no more than they may.
    fn weights(
        &self,
        first: usize,
        data: &[Word; CHANNELS],
    ) -> Result<[Word; CHANNELS], OracleError> {
        let scores: Vec<f64> = self.scaled.iter().map(|x| exact::to_f64(H, *x)).collect();
        // A NaN or an infinity makes all weights NaN.
        if scores.iter().any(|x| x.is_nan() || *x == f64::INFINITY) {
            return Ok([[H.nan() as u16; 16]; CHANNELS]);
        }
        let exponential = Exponential { format: H, subnormals: GRADUAL, ulps: EXP_ULPS };
        let sum = HeadSum::of(exponential, &scores);
        for (n, (got, x)) in data[0].iter().zip(&scores[first..]).enumerate() {
            if !sum.is_proper() || !sum.covers(*x) {
                continue;
            }
            let (value, bound) = sum.weight(*x);
            let weight = exact::to_f64(H, u32::from(*got));
            let is_near = (weight - value).abs() <= bound;
            if !is_near {
                let expected = exact::from_f64(H, GRADUAL, value);
                let what = format!("weight {}: {weight}, about {value}", first + n);
                return self
                    .error("gpr_write_data_o", (*got).into(), expected, what)
                    .map(|()| *data);
            }
        }
        // It is on the data of all.
        Ok([data[0]; CHANNELS])
    }

    // ------------------------------------------------------------------------------------ state

    fn state(&mut self, output: &AimHubOut) -> Verdict {
        let left = self.sources.len() + self.writes.len() + self.results.len() + self.added.len();
        if output.idle_o && self.fault == 0 {
            self.equal("idle_o", left as u64, 0u64, "words, results, reads and writes are left")?;
            let done = self.channels.iter().all(Channel::is_done);
            self.equal("idle_o", true, done, "commands are left")?;
        }
        let acts = output.pins_o.command != PinCommand::None
            || output.bus_pins_o.command != PinCommand::None
            || output.fetch_read_o;
        if acts || output.idle_o {
            self.progress = self.now;
        }
        if self.now > self.progress + PATIENCE {
            let what = format!("nothing happens since {}", self.progress);
            return self.error("idle_o", 0, 1, what);
        }
        Ok(())
    }
}
