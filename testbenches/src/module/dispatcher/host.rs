// SPDX-License-Identifier: MIT
//! The host of a dispatcher: writes programs, starts them, stops some.

use super::Sizes;
use crate::random::Random;
use pimlico_dpa::types::{Load, LoadKind};
use pimlico_dpa::{
    CommandWord, Condition, DEPTH, Instruction, LoopSource, LoopWord, MAX_REPETITIONS,
    Modification, ModifyWord, NO_ROW, Opcode, RequestChoice, SLOTS, Target,
};
use pimlico_ports::{U, unpack};
use pimlico_units::module::{DispatcherIn, DispatcherOut};
use std::collections::VecDeque;

/// Repetitions of a loop, at the most.
const MOST: u64 = MAX_REPETITIONS as u64;

/// Writes that have an address.
const KINDS: [LoadKind; 5] =
    [LoadKind::Command, LoadKind::Entry, LoadKind::Tokens, LoadKind::Segment, LoadKind::Layers];

/// Writes programs, starts them, stops some.
pub(super) struct Host {
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
    pub fn new(sizes: Sizes, seed: u64) -> Self {
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

    pub fn lies(&self) -> bool {
        self.lies
    }

    pub fn see(&mut self, output: &DispatcherOut) {
        let started = output.start_ready_o && output.fetch_read_o;
        self.start_ready = output.start_ready_o && !started;
        self.starts = self.starts.saturating_sub(started.into());
        self.stopping &= !output.end_valid_o;
    }

    pub fn drive(&mut self, input: &mut DispatcherIn) {
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
        let kind = KINDS[self.random.below(5) as usize];
        (kind, self.random.below(1 << 16), self.random.next() >> self.random.below(64))
    }

    /// A program and what it runs with.
    fn prepare(&mut self) {
        const USED: u64 = 32; // entries
        let most = if self.random.one_in(4) { 12 } else { 4 };
        self.starts = 1 + self.random.below(most);
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
            if self.random.one_in(2) {
                let layers = self.layers();
                self.loads.push_back((LoadKind::Layers, request, layers));
            }
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

    /// The layers of a request: mostly few, which a few runs go through.
    fn layers(&mut self) -> u64 {
        let layers = match self.random.below(8) {
            0 => self.random.below(1 << 16),
            _ => self.random.below(5),
        };
        let stride = match self.random.below(8) {
            0 => self.random.below(1 << 16),
            // So that the first entry of the second layer or of the third is beyond the table, or nearly.
            1 => (self.sizes.entries as u64 / (1 + self.random.below(2)))
                .saturating_sub(self.random.below(40)),
            // So that their sum has more than 16 bits.
            2 => 0xFFFF - self.random.below(40),
            _ => self.random.below(8),
        };
        layers << 16 | stride
    }

    /// A write of the last address or of the largest number, or of the first beyond.
    fn edge_load(&mut self) -> (LoadKind, u64, u64) {
        let kind = KINDS[self.random.below(5) as usize];
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
        if self.random.one_in(24) {
            self.leap(&mut words);
        }
        for _ in 0..1 + self.random.below(3) {
            self.block(&mut words, 0);
        }
        if !self.random.one_in(16) {
            let end = if self.random.one_in(2) { Instruction::EndLayer } else { Instruction::End };
            words.push(end.encode());
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

    /// A loop in whose second repetition a field exceeds its largest value four times and more: the bit above the
    /// two that are next to the field is often set alone.
    fn leap(&mut self, words: &mut Vec<u64>) {
        let (target, largest) = match self.random.below(3) {
            0 => (Target::Column, 255),
            1 => (Target::Word, 255),
            _ => (Target::Head, 7),
        };
        let mut value = || largest - self.random.below(largest / 4 + 1);
        let slots = [(); SLOTS].map(|()| Modification::new(target, 0, value() as u16));
        let command = CommandWord {
            head: U::new(value()),
            column: value() as u8,
            word: value() as u8,
            ..CommandWord::new(Opcode::Finish)
        };
        let repetition = LoopWord { words: U::new(2), ..LoopWord::new(LoopSource::Count, 2) };
        let body = [
            Instruction::Loop(repetition),
            Instruction::Modify(ModifyWord::new(slots)),
            Instruction::Command(command),
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
