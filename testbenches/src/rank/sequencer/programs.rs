// SPDX-License-Identifier: MIT
//! Programs for a sequencer: streams of commands as the dispatcher sends them.

use crate::random::Random;
use pimlico_dpa::types::ResultAddress;
use pimlico_dpa::{Dispatch, Opcode};
use pimlico_ports::{U, unpack};

/// A command whose fields are 0.
fn blank(kind: Opcode) -> Dispatch {
    Dispatch { kind, ..Dispatch::default() }
}

/// Writes programs.
pub(super) struct Author<'a> {
    random: &'a mut Random,
    program: Vec<Dispatch>,
    /// Words of the shared buffers that are used.
    words: u64,
    /// Places of the score buffer.
    scores: u64,
}

impl<'a> Author<'a> {
    pub fn new(random: &'a mut Random, scores: u64) -> Self {
        let words = [2, 8, 64, 256][random.below(4) as usize];
        Self { random, program: Vec::new(), words, scores }
    }

    /// A program with so many parts, and so many heads.
    pub fn write(mut self, wild: bool) -> Vec<Dispatch> {
        for _ in 0..1 + self.random.below(4) {
            match self.random.below(4) {
                0 => self.matrix(),
                1 => self.scores(),
                _ => self.context(),
            }
            if self.random.one_in(2) {
                self.program.push(blank(Opcode::CloseAll));
            }
            if wild && self.random.one_in(2) {
                self.anything();
            }
        }
        if wild {
            self.scatter();
        }
        self.program
    }

    /// A program with so many writes behind a few MACs, or MACs behind a few writes, that they have to wait. The
    /// words of the two are apart, so that nothing else holds them back.
    pub fn flood(mut self) -> Vec<Dispatch> {
        self.words = 128;
        for _ in 0..1 + self.random.below(3) {
            let [few, many] = [3 + self.random.below(4), 140 + self.random.below(200)];
            let (writes_first, many_macs) = (self.random.one_in(2), self.random.one_in(2));
            let (macs, writes) = if many_macs { (many, few) } else { (few, many) };
            if !writes_first {
                self.sum(Opcode::MacScore, macs);
            }
            for _ in 0..writes {
                let word = 128 + self.word();
                self.program.push(Dispatch { word, ..blank(Opcode::WrShared) });
            }
            if writes_first {
                self.sum(Opcode::MacScore, macs);
            }
        }
        self.program
    }

    fn word(&mut self) -> u8 {
        self.random.below(self.words) as u8
    }

    fn head(&mut self) -> U<3> {
        U::new(self.random.next())
    }

    fn operands(&mut self, count: u64) {
        for _ in 0..count {
            let (word, first) = (self.word(), self.random.one_in(4));
            self.program.push(Dispatch { word, first, ..blank(Opcode::WrShared) });
        }
    }

    /// The MACs of a sum.
    fn sum(&mut self, kind: Opcode, count: u64) {
        for n in 0..count {
            let row = self.random.below(1 << 16) as u16;
            let command = Dispatch {
                row: if self.random.one_in(8) { row } else { row % 1024 },
                column: self.random.below(128) as u8,
                word: self.word(),
                first: n == 0,
                last: n == count - 1,
                opens: self.random.one_in(8),
                ..blank(kind)
            };
            self.program.push(command);
        }
    }

    fn results(&mut self, which: ResultAddress, tokens: u64, place: u64) {
        let command = Dispatch {
            word: which.bits(),
            head: self.head(),
            place: U::new(place),
            first: self.random.one_in(2),
            last: self.random.one_in(2),
            tokens: U::new(tokens),
            ..blank(Opcode::RdResult)
        };
        self.program.push(command);
    }

    /// A place of the score buffer, now and then at its end, where four may not fit.
    fn place(&mut self) -> u64 {
        match self.random.below(16) {
            0 => self.scores - self.random.below(8).min(self.scores),
            1 => self.random.below(1 << 18),
            _ => self.random.below(self.scores.min(1 << 12)),
        }
    }

    /// A place where so many fit, often the last.
    fn place_for(&mut self, count: u64) -> u64 {
        let last = self.scores - count;
        if self.random.one_in(8) { last } else { self.random.below(1 << 12).min(last) }
    }

    /// A place of a WEIGH for so many tokens: most are in the score buffer, as another ends the run.
    fn weigh_place(&mut self, tokens: u64) -> u64 {
        let count = tokens.min(4);
        match self.random.below(256) {
            0 => self.scores - count + 1,
            1 => self.place(),
            _ => self.place_for(count),
        }
    }

    fn matrix(&mut self) {
        let (count, length) = (self.random.below(6), 1 + self.random.below(9));
        let operands = self.random.below(20);
        self.operands(operands);
        for _ in 0..count {
            self.sum(Opcode::MacScore, length);
            for group in 0..4 {
                let place = if self.random.one_in(64) { self.place() } else { self.place_for(4) };
                self.results(ResultAddress::outputs(group), 0, place);
            }
        }
    }

    fn scores(&mut self) {
        let (chunks, length) = (1 + self.random.below(8), 1 + self.random.below(6));
        let operands = self.random.below(20);
        self.operands(operands);
        for _ in 0..chunks {
            self.sum(Opcode::MacScore, length);
            let tokens = match self.random.below(4) {
                0 => self.random.below(1 << 20),
                1 => self.random.below(17),
                _ => 16,
            };
            for group in 0..4 {
                let place = self.place();
                self.results(ResultAddress::scores(group), tokens, place);
            }
        }
        if self.random.one_in(2) {
            let head = self.head();
            self.program.push(Dispatch { head, ..blank(Opcode::Finish) });
        }
    }

    fn context(&mut self) {
        let words = 1 + self.random.below(24);
        let ahead = self.random.below(16);
        for n in 0..words + ahead {
            if n < words {
                let tokens = match self.random.below(4) {
                    _ if self.random.one_in(1000) => 0,
                    0 => 1 + self.random.below(1 << 19),
                    _ => 1 + self.random.below(4),
                };
                let command = Dispatch {
                    head: self.head(),
                    place: U::new(self.weigh_place(tokens)),
                    tokens: U::new(tokens),
                    ..blank(Opcode::Weigh)
                };
                self.program.push(command);
            }
            if n >= ahead {
                let word = self.word();
                self.program.push(Dispatch { word, ..blank(Opcode::WrWeights) });
            }
        }
        for _ in 0..1 + self.random.below(3) {
            let length = 1 + self.random.below(12);
            self.sum(Opcode::MacContext, length);
            for _ in 0..self.random.below(20) {
                let any: ResultAddress = unpack(self.random.next());
                let place = self.random.below(256);
                self.results(ResultAddress { context_sums: true, ..any }, 0, place);
            }
        }
    }

    /// Commands that are right, where no program has them.
    fn scatter(&mut self) {
        for _ in 0..self.random.below(8) {
            let kind = Opcode::COMMANDS[self.random.below(8) as usize];
            let tokens = U::new(1 + self.random.below(16));
            let at = self.random.below(self.program.len() as u64 + 1) as usize;
            self.program.insert(at, Dispatch { tokens, ..blank(kind) });
        }
    }

    /// A command that may be wrong.
    fn anything(&mut self) {
        let command = Dispatch {
            kind: unpack(self.random.next()),
            request: U::new(self.random.next()),
            head: self.head(),
            row: self.random.next() as u16,
            place: U::new(self.random.next()),
            column: self.random.next() as u8,
            word: self.random.next() as u8,
            first: self.random.one_in(2),
            last: self.random.one_in(2),
            opens: self.random.one_in(2),
            tokens: U::new(self.random.next() >> self.random.below(64)),
        };
        self.program.push(command);
    }
}
