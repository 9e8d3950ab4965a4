// SPDX-License-Identifier: MIT
//! Bench of `dispatcher`: every command of a run, and its end, in the cycle in which they are due
//! whatever the target does, with the fields that `golden::dispatch` finds.
//!
//! The bench plays host and memories. To know what is read it runs the model once, as stimulus; the
//! judge knows the memories from what the host wrote, and leaves out a run whose memories gave
//! something else or were written meanwhile.

use super::plan;
use crate::coverage::Bins;
use crate::random::Random;
use crate::{Bench, OracleError};
use pimlico_dpa::types::{Load, LoadKind};
use pimlico_dpa::{
    CommandWord, Condition, DEPTH, Instruction, LoopSource, LoopWord, MAX_REPETITIONS,
    Modification, ModifyWord, NO_ROW, Opcode, RequestChoice, SLOTS, Target,
};
use pimlico_golden::dispatch::{self, Dispatched, Ending, Machine, Run, status};
use pimlico_ports::{Enumerated, Model, U, unpack};
use pimlico_units::module::{Dispatcher, DispatcherIn, DispatcherOut};
use std::collections::VecDeque;

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize> Bench
    for Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    fn arrange(inputs: &mut [DispatcherIn]) {
        let Some(first) = inputs.first() else { return };
        let sizes = Sizes { requests: REQUESTS, commands: COMMANDS, entries: ENTRIES };
        let mut host = Host::new(sizes, first.load_i.data);
        let mut memories = Memories::new(sizes);
        let mut unit = Self::new();
        for input in inputs {
            host.drive(input);
            if !host.lies() {
                memories.drive(input);
            }
            let output = unit.step(input);
            memories.see(input, &output);
            host.see(&output);
        }
    }

    fn plan(bins: &mut Bins) {
        plan::plan(Sizes { requests: REQUESTS, commands: COMMANDS, entries: ENTRIES }, bins);
    }

    fn cover(inputs: &[DispatcherIn], outputs: &[DispatcherOut], bins: &mut Bins) {
        let sizes = Sizes { requests: REQUESTS, commands: COMMANDS, entries: ENTRIES };
        plan::cover(sizes, inputs, outputs, bins);
    }

    fn oracle(inputs: &[DispatcherIn], outputs: &[DispatcherOut]) -> Result<u64, OracleError> {
        let sizes = Sizes { requests: REQUESTS, commands: COMMANDS, entries: ENTRIES };
        let mut judge = Judge::new(sizes, inputs);
        for (clock, output) in outputs.iter().enumerate() {
            judge.judge(clock, output)?;
        }
        Ok(judge.checked)
    }
}

/// The sizes of a dispatcher.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub requests: usize,
    pub commands: usize,
    pub entries: usize,
}

impl Sizes {
    /// How many addresses a kind of write has, and how many bits.
    pub fn of(&self, kind: LoadKind) -> (usize, u32) {
        match kind {
            LoadKind::Command => (self.commands, 64),
            LoadKind::Entry => (self.entries, 16),
            LoadKind::Tokens => (self.requests, 20),
            LoadKind::Segment => (self.requests, 32),
            LoadKind::Clear => (usize::MAX, 64),
        }
    }
}

/// Both memories.
struct Memories {
    commands: Vec<u64>,
    table: Vec<u16>,
    window: [u64; 2],
    entry: u16,
}

impl Memories {
    fn new(sizes: Sizes) -> Self {
        let (commands, table) = (vec![0; sizes.commands], vec![NO_ROW; sizes.entries]);
        Self { commands, table, window: [0; 2], entry: 0 }
    }

    fn drive(&self, input: &mut DispatcherIn) {
        input.fetch_data_i = self.window;
        input.table_data_i = self.entry;
    }

    /// Reads, then writes.
    fn see(&mut self, input: &DispatcherIn, output: &DispatcherOut) {
        if output.fetch_read_o {
            let from = output.fetch_address_o.get() as usize;
            self.window =
                std::array::from_fn(|n| self.commands.get(from + n).copied().unwrap_or(0));
        }
        if output.table_read_o {
            self.entry = self.table.get(usize::from(output.table_address_o)).copied().unwrap_or(0);
        }
        // Where the unit has not asked whether it fits, nothing is written.
        let Load { address, data, .. } = input.load_i;
        let address = usize::from(address);
        if output.command_write_o
            && let Some(word) = self.commands.get_mut(address)
        {
            *word = data;
        }
        if output.table_write_o
            && let Some(entry) = self.table.get_mut(address)
        {
            *entry = data as u16;
        }
    }
}

// ------------------------------------------------------------------------------------- stimulus

/// Repetitions of a loop, at the most.
const MOST: u64 = MAX_REPETITIONS as u64;

/// Writes programs, starts them, stops some.
struct Host {
    sizes: Sizes,
    random: Random,
    /// Inputs stay as they were drawn; what the memories give as well.
    raw: bool,
    lies: bool,
    /// The target is ready in one of so many cycles.
    slowness: u64,
    stops: bool,
    loads: VecDeque<(LoadKind, u64, u64)>,
    /// Starts until the next program.
    starts: u64,
    /// The first of the four requests that are used most, and its T_cur.
    request: u64,
    tokens: u64,
    /// Asks for a start before it can be taken.
    eager: bool,
    stopping: bool,
    /// There is a table.
    prepared: bool,
    start_ready: bool,
}

impl Host {
    fn new(sizes: Sizes, seed: u64) -> Self {
        let mut random = Random(seed);
        let sort = random.next();
        Self {
            sizes,
            random,
            raw: sort & 15 == 0,
            lies: sort & 31 == 0,
            slowness: [1, 1, 2, 5][(sort >> 8) as usize % 4],
            stops: sort >> 16 & 3 == 0,
            loads: VecDeque::new(),
            starts: 0,
            request: 0,
            tokens: 0,
            eager: sort >> 24 & 1 == 0,
            stopping: false,
            prepared: false,
            start_ready: true,
        }
    }

    fn lies(&self) -> bool {
        self.lies
    }

    fn see(&mut self, output: &DispatcherOut) {
        let started = output.start_ready_o && output.fetch_read_o;
        self.start_ready = output.start_ready_o && !started;
        self.starts = self.starts.saturating_sub(started.into());
        self.stopping &= !output.end_valid_o;
    }

    fn drive(&mut self, input: &mut DispatcherIn) {
        if self.raw {
            input.load_i.address %= 80;
            return;
        }
        let seed = input.load_i.data;
        input.dispatch_ready_i = self.slowness == 1 || self.random.one_in(self.slowness);
        input.start_valid_i = false;
        input.load_valid_i = false;
        self.stopping |= self.stops && self.random.one_in(100);
        input.stop_i = self.stopping;
        if self.start_ready && self.loads.is_empty() && self.starts == 0 {
            self.random = Random(seed);
            self.prepare();
        }
        if (self.start_ready || self.eager) && self.loads.is_empty() && self.starts > 0 {
            input.start_valid_i = true;
            input.start_i.request = U::new(match self.random.one_in(16) {
                true => self.random.below(16),
                false => (self.request + self.random.below(4)) % self.sizes.requests as u64,
            });
            let elsewhere = self.random.one_in(8);
            input.start_i.address = U::new(if elsewhere { self.random.below(16) } else { 0 });
            return;
        }
        // While something runs, the host may only write to what it does not use: it rarely does not care.
        let careless = self.random.one_in(500);
        let load = if self.start_ready { self.loads.pop_front() } else { None };
        let load = load.or_else(|| careless.then(|| self.any_load()));
        if let Some((kind, address, data)) = load {
            input.load_valid_i = true;
            input.load_i = Load { kind, address: address as u16, data };
        }
    }

    fn any_load(&mut self) -> (LoadKind, u64, u64) {
        let kinds = [LoadKind::Command, LoadKind::Entry, LoadKind::Tokens, LoadKind::Segment];
        let kind = kinds[self.random.below(4) as usize];
        (kind, self.random.below(1 << 16), self.random.next() >> self.random.below(64))
    }

    /// A program and what it runs with.
    fn prepare(&mut self) {
        const USED: u64 = 32; // entries
        self.starts = 1 + self.random.below(4);
        let requests = self.sizes.requests as u64;
        self.request = if self.random.one_in(2) { 0 } else { self.random.below(requests) };
        self.tokens = 0; // unless it is written
        self.loads.push_back((LoadKind::Clear, 0, 0));
        let entries = self.sizes.entries as u64;
        let count = if self.prepared { 2 } else { USED };
        for n in 0..count {
            let address = if self.prepared { self.random.below(USED) } else { n };
            let row =
                if self.random.one_in(16) { NO_ROW.into() } else { self.random.below(1 << 16) };
            self.loads.push_back((LoadKind::Entry, address, row));
        }
        self.loads.push_back((LoadKind::Entry, entries - 1, self.random.below(1 << 16)));
        for request in (self.request..self.request + 4).map(|request| request % requests) {
            if self.prepared && self.random.one_in(2) {
                continue;
            }
            let tokens = match self.random.below(16) {
                0 => self.random.below(1 << 20),
                1 => self.random.below(3),
                // As many as a loop over so many tokens may have, or one more.
                2 => MOST * (1 + self.random.below(15)) + self.random.below(2),
                _ => self.random.below(100),
            };
            if request == self.request {
                self.tokens = tokens;
            }
            let (base, rows) = match self.random.below(8) {
                0 => (entries - 1, 2),
                1 => (self.random.below(USED), self.random.below(4)),
                2 if self.random.one_in(2) => {
                    (self.random.below(entries), self.random.below(1 << 16))
                }
                _ => (self.random.below(USED / 2), 1 + self.random.below(USED)),
            };
            self.loads.push_back((LoadKind::Tokens, request, tokens));
            self.loads.push_back((LoadKind::Segment, request, rows << 16 | base));
        }
        self.prepared = true;
        let program = self.program();
        let last = self.sizes.commands as u64 - 1;
        self.loads.extend((0..).zip(program).map(|(at, word)| (LoadKind::Command, at, word)));
        match self.random.below(24) {
            0 => self.loads.push_back((LoadKind::Command, last, self.random.next())),
            1 => self.loads.push_back((LoadKind::Command, last + 1, 0)),
            2 => {
                let load = self.any_load();
                self.loads.push_back(load);
            }
            3 | 4 => {
                let load = self.edge_load();
                self.loads.push_back(load);
            }
            _ => {}
        }
    }

    /// A write of the last address or of the largest number, or of the first beyond.
    fn edge_load(&mut self) -> (LoadKind, u64, u64) {
        let kind = LoadKind::ALL[self.random.below(4) as usize];
        let (room, bits) = self.sizes.of(kind);
        let (room, beyond) = (room as u64, self.random.one_in(2));
        let number = self.random.next() >> (64 - bits);
        if bits == 64 || self.random.one_in(2) {
            (kind, if beyond { room } else { room - 1 }, number)
        } else {
            let top = 1 << if beyond { bits } else { bits - 1 };
            (kind, self.random.below(room), number & (top - 1) | top)
        }
    }

    /// Mostly one that is right.
    fn program(&mut self) -> Vec<u64> {
        let mut words = Vec::new();
        if self.random.one_in(24) {
            self.long_loop(&mut words);
        }
        for _ in 0..1 + self.random.below(3) {
            self.block(&mut words, 0);
        }
        if !self.random.one_in(16) {
            words.push(Instruction::End.encode());
        }
        if self.random.one_in(4) {
            let at = self.random.below(words.len() as u64) as usize;
            words[at] ^= 1 << self.random.below(64);
        }
        if self.random.one_in(16) {
            let at = self.random.below(words.len() as u64) as usize;
            words[at] = self.random.next();
        }
        words
    }

    /// A loop that goes on until a field overflows, or nearly.
    fn long_loop(&mut self, words: &mut Vec<u64>) {
        let target = match self.random.below(4) {
            0 | 1 => Target::Place,
            2 => Target::Place64,
            _ => Target::WordWraps,
        };
        let coefficient = 1023 - self.random.below(8) as u16;
        let repetitions = 255 + self.random.below(4) as u32;
        let body = [
            Instruction::Loop(LoopWord {
                words: U::new(2),
                ..LoopWord::new(LoopSource::Count, repetitions)
            }),
            Instruction::Modify(ModifyWord::new([
                Modification::new(target, 0, coefficient),
                Modification::default(),
                Modification::default(),
                Modification::default(),
            ])),
            Instruction::Command(CommandWord {
                place: U::new(self.random.below(1 << 10)),
                ..CommandWord::new(Opcode::Finish)
            }),
        ];
        words.extend(body.iter().map(Instruction::encode));
    }

    fn block(&mut self, words: &mut Vec<u64>, depth: usize) {
        for n in 0..1 + self.random.below(3) {
            match self.random.below(16) {
                0 => words.push(Instruction::Nop.encode()),
                1..9 if depth < DEPTH || self.random.one_in(32) => {
                    let at = words.len();
                    words.push(0);
                    self.block(words, depth + 1);
                    let length = words.len() - at - 1;
                    words[at] = Instruction::Loop(self.repetition(length)).encode();
                }
                _ => self.command(words, depth),
            }
            if n == 0 && words.len() > 30 {
                break;
            }
        }
    }

    fn repetition(&mut self, length: usize) -> LoopWord {
        let mut request = RequestChoice::RUNNING;
        let source = match self.random.below(8) {
            0 => {
                request = RequestChoice::fixed(self.random.below(5) as u8);
                LoopSource::All
            }
            1 | 2 => LoopSource::All,
            3 | 4 => LoopSource::Part,
            _ => LoopSource::Count,
        };
        let bound = match (source, self.random.one_in(64)) {
            (LoopSource::Count, true) if self.random.one_in(2) => MOST + self.random.below(2),
            (_, true) => self.random.below(1 << 20) >> self.random.below(20),
            // As many repetitions as there may be, or one more, if T_cur is one of those.
            (LoopSource::All, _) if self.tokens >= MOST && self.random.one_in(2) => {
                self.tokens / MOST
            }
            (LoopSource::Count, _) => 1 + self.random.below(4),
            _ => 1 + self.random.below(40),
        };
        let wrong = u64::from(self.random.one_in(64));
        let words = U::new(length as u64 + wrong);
        LoopWord { request, words, ..LoopWord::new(source, bound as u32) }
    }

    fn command(&mut self, words: &mut Vec<u64>, depth: usize) {
        if depth > 0 && self.random.one_in(2) || self.random.one_in(64) {
            let slots = [(); SLOTS].map(|()| self.modification(depth));
            words.push(Instruction::Modify(ModifyWord::new(slots)).encode());
        }
        let opcode = Opcode::COMMANDS[self.random.below(8) as usize];
        let opcode = if self.random.one_in(2) { Opcode::MacScore } else { opcode };
        let request = match self.random.one_in(8) {
            true => RequestChoice::fixed(self.random.below(5) as u8),
            false => RequestChoice::RUNNING,
        };
        let place = self.random.below(1 << 18) >> self.random.below(18);
        let rows = if self.random.one_in(64) { 1 << 18 } else { 4 };
        let row = self.random.below(rows);
        let [first, last, opens] = [(); 3].map(|()| unpack::<Condition>(self.random.next()));
        let command = CommandWord {
            request,
            first,
            last,
            opens,
            head: U::new(self.random.below(4)),
            place: U::new(if opcode.has_row() { row } else { place }),
            column: self.random.next() as u8 >> self.random.below(8),
            word: self.random.next() as u8 >> self.random.below(8),
            ..CommandWord::new(opcode)
        };
        words.push(Instruction::Command(command).encode());
    }

    fn modification(&mut self, depth: usize) -> Modification {
        if self.random.one_in(3) {
            return Modification::default();
        }
        let targets = [Target::Place, Target::Place, Target::Place64, Target::Column, Target::Word];
        let target = match self.random.below(8) {
            0 => Target::WordWraps,
            1 => Target::Head,
            n => targets[n as usize % targets.len()],
        };
        let coefficient = match (target, self.random.one_in(32)) {
            (_, true) | (Target::WordWraps, _) => self.random.below(1 << 10),
            (Target::Place64 | Target::Head, _) => self.random.below(2),
            _ => self.random.below(4),
        };
        let beyond = u64::from(self.random.one_in(64));
        let level = self.random.below(depth as u64 + beyond + u64::from(depth == 0)) as u8;
        Modification::new(target, level, coefficient as u16)
    }
}

// ---------------------------------------------------------------------------------------- judge

/// A command or the end of a run, and when it is at the output.
struct Due {
    /// From this cycle on,
    from: usize,
    /// until it leaves in this one.
    leaves: usize,
    what: What,
}

enum What {
    Command(Dispatched),
    /// Status, and the address where it is known.
    End(u32, Option<u32>),
}

struct Judge<'a> {
    inputs: &'a [DispatcherIn],
    sizes: Sizes,
    machine: Machine,
    overflow: bool,
    statuses: [u32; 16],
    /// The request that runs.
    running: Option<usize>,
    /// What is due of it; nothing is known where it is disturbed.
    due: Option<VecDeque<Due>>,
    /// What the memories were last asked for; of the table, in this run.
    window: usize,
    entry: Option<usize>,
    /// The command buffer, beyond the program as well.
    commands: Vec<u64>,
    checked: u64,
}

impl<'a> Judge<'a> {
    fn new(sizes: Sizes, inputs: &'a [DispatcherIn]) -> Self {
        let machine = Machine {
            words: Vec::new(),
            table: vec![NO_ROW; sizes.entries],
            requests: vec![(0, 0, 0); sizes.requests],
        };
        Self {
            inputs,
            sizes,
            machine,
            overflow: false,
            statuses: [0; 16],
            running: None,
            due: None,
            window: 0,
            entry: None,
            commands: vec![0; sizes.commands],
            checked: 0,
        }
    }

    fn judge(&mut self, clock: usize, output: &DispatcherOut) -> Result<(), OracleError> {
        let input = &self.inputs[clock];
        let check = |port, got: u64, expected: u64, what: &str| {
            if got == expected {
                return Ok(());
            }
            let (got, expected, what) = (got as u32, expected as u32, what.to_owned());
            Err(OracleError { cycle: clock as u64, port, got, expected, what })
        };

        if input.load_valid_i || self.running.is_some() && self.memories_lie(input) {
            self.due = None; // the run is disturbed
        }
        check("start_ready_o", output.start_ready_o.into(), self.running.is_none().into(), "busy")?;
        check("overflow_o", output.overflow_o.into(), self.overflow.into(), "what was written")?;
        for (got, expected) in output.status_o.iter().zip(self.statuses) {
            check("status_o", got.code(), expected.into(), "status of a request")?;
        }

        // What is at the output.
        let now = self.due.as_ref().map(|due| due.front().filter(|due| due.from <= clock));
        if let Some(now) = now {
            let (valid, done) = match now.map(|due| &due.what) {
                Some(What::Command(_)) => (true, false),
                Some(What::End(..)) => (false, true),
                None => (false, false),
            };
            check("dispatch_valid_o", output.dispatch_valid_o.into(), valid.into(), "in time")?;
            check("end_valid_o", output.end_valid_o.into(), done.into(), "in time")?;
            if let Some(Due { leaves, what, .. }) = now {
                self.checked += 1;
                for (port, got, expected) in fields(what, output) {
                    check(port, got, expected.into(), "of what is due")?;
                }
                if *leaves == clock {
                    self.due.as_mut().and_then(VecDeque::pop_front);
                }
            }
        }
        if output.end_valid_o {
            if let Some(request) = self.running.take().filter(|&it| it < self.sizes.requests) {
                self.statuses[request] = output.end_o.status as u32;
            }
            self.due = None;
        }

        // The host.
        let writes = self.load(input);
        let [command, entry] =
            [LoadKind::Command, LoadKind::Entry].map(|kind| writes == Some(kind));
        check("command_write_o", output.command_write_o.into(), command.into(), "what fits")?;
        check("table_write_o", output.table_write_o.into(), entry.into(), "what fits")?;
        if input.start_valid_i && output.start_ready_o {
            let request = input.start_i.request.get() as usize;
            self.running = Some(request);
            self.entry = None;
            self.due = (!input.load_valid_i).then(|| self.plan(clock, request));
            if request < self.sizes.requests {
                self.statuses[request] = 1;
            }
        }
        if output.fetch_read_o {
            self.window = output.fetch_address_o.get() as usize;
        }
        if output.table_read_o {
            let entry = usize::from(output.table_address_o);
            let is_there = entry < self.machine.table.len();
            check("table_address_o", u64::from(!is_there), 0, "beyond the table")?;
            self.entry = Some(entry);
        }
        Ok(())
    }

    /// Whether the memories give something else than what was written. Nobody asks for more than the
    /// program has.
    fn memories_lie(&self, input: &DispatcherIn) -> bool {
        let words = self.machine.words.iter().skip(self.window);
        let mut pairs = words.zip(&input.fetch_data_i);
        pairs.any(|(held, given)| held != given)
            || self.entry.is_some_and(|entry| self.machine.table[entry] != input.table_data_i)
    }

    /// Takes what the host writes; returns the kind, if it fits.
    fn load(&mut self, input: &DispatcherIn) -> Option<LoadKind> {
        let Load { kind, address, data } = input.load_i;
        let at = usize::from(address);
        let (room, bits) = self.sizes.of(kind);
        if !input.load_valid_i {
            return None;
        }
        if at >= room || data.checked_shr(bits).unwrap_or(0) != 0 {
            self.overflow = true;
            return None;
        }
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
                self.machine.requests[at].1 = data as u16;
                self.machine.requests[at].2 = (data >> 16) as u16;
            }
            LoadKind::Clear => {
                self.machine.words.clear();
                self.overflow = false;
            }
        }
        Some(kind)
    }

    /// What a run puts out, and when: each thing goes through five registers, where it waits for the
    /// one before, and a turn is taken where the first register is free. What is not put out, a NOP or the
    /// beginning of a loop, leaves the first when the second is free; behind a loop that begins, the next turn
    /// is taken when it has left.
    fn plan(&self, start: usize, request: usize) -> VecDeque<Due> {
        let address = self.inputs[start].start_i.address.get() as u32;
        let clocks = self.inputs.len() - start;
        let run = match self.overflow {
            true => {
                let ending = Ending { status: status::BUFFER_OVERFLOW, address, turn: 0 };
                Run { ending: Some(ending), ..Run::default() }
            }
            false => dispatch::run(&self.machine, request, address as usize, clocks as u64),
        };
        let mut commands = run.commands.into_iter().peekable();
        let mut loops = run.loops.into_iter().peekable();
        let mut due = VecDeque::new();
        let mut turn_at = start;
        // When the last turn has left the first register; and when the last thing is in the third, the fourth
        // and the fifth register, and leaves.
        let (mut second, mut third, mut fourth, mut fifth, mut leaves) = (0, 0, 0, 0, 0usize);
        for turn in 0.. {
            turn_at = (turn_at + 1).max(second.max(1) - 1);
            second = (turn_at + 2).max(third);
            let Some(input) = self.inputs.get(turn_at) else { break };
            let ending = run.ending.filter(|ending| ending.turn == turn);
            let what = if input.stop_i {
                What::End(status::STOPPED, None)
            } else if let Some(Ending { status, address, .. }) = ending {
                What::End(status, Some(address))
            } else if let Some(command) = commands.next_if(|command| command.turn == turn) {
                What::Command(command)
            } else {
                if loops.next_if_eq(&turn).is_some() {
                    turn_at = second - 1;
                }
                continue;
            };
            third = (second + 1).max(fourth);
            fourth = (third + 1).max(fifth);
            fifth = (fourth + 1).max(leaves + 1);
            let ends = matches!(what, What::End(..));
            let later = || (fifth..self.inputs.len()).find(|&at| self.inputs[at].dispatch_ready_i);
            leaves = if ends { fifth } else { later().unwrap_or(usize::MAX - 1) };
            due.push_back(Due { from: fifth, leaves, what });
            if ends || leaves > self.inputs.len() {
                break;
            }
        }
        due
    }
}

/// Each field of what is due, as it is and as it should be.
fn fields(what: &What, output: &DispatcherOut) -> Vec<(&'static str, u64, u32)> {
    match what {
        What::Command(command) => {
            let Dispatched {
                opcode, request, head, row, place, column, word, flags, tokens, ..
            } = *command;
            let got = output.dispatch_o;
            vec![
                ("dispatch_o.kind", got.kind.code(), opcode),
                ("dispatch_o.request", got.request.get(), request),
                ("dispatch_o.head", got.head.get(), head),
                ("dispatch_o.row", got.row.into(), row),
                ("dispatch_o.place", got.place.get(), place),
                ("dispatch_o.column", got.column.into(), column),
                ("dispatch_o.word", got.word.into(), word),
                ("dispatch_o.first", got.first.into(), flags[0].into()),
                ("dispatch_o.last", got.last.into(), flags[1].into()),
                ("dispatch_o.opens", got.opens.into(), flags[2].into()),
                ("dispatch_o.tokens", got.tokens.get(), tokens),
            ]
        }
        What::End(status, address) => {
            let got = output.end_o;
            let mut fields = vec![("end_o.status", got.status.code(), *status)];
            fields.extend(address.map(|it| ("end_o.address", got.address.get(), it)));
            fields
        }
    }
}
