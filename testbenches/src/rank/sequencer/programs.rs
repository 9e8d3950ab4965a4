// SPDX-License-Identifier: MIT
//! Programs for a sequencer: streams of commands as the dispatcher sends them.

use crate::random::Random;
use pimlico_dpa::Opcode;
use pimlico_dpa::types::ResultAddress;
use pimlico_ports::{Enumerated, U};
use pimlico_units::rank::SequencerIn;

/// A command at the dispatcher's ports.
pub(super) fn blank(kind: Opcode) -> SequencerIn {
    SequencerIn {
        dispatch_valid_i: true,
        dispatch_kind_i: U::new(kind.code()),
        ..Default::default()
    }
}

/// Writes programs.
pub(super) struct Author<'a> {
    pub random: &'a mut Random,
    pub program: Vec<SequencerIn>,
    /// Words of the shared buffers that are used.
    words: u64,
}

impl<'a> Author<'a> {
    pub fn new(random: &'a mut Random) -> Self {
        let words = [2, 8, 64, 256][random.below(4) as usize];
        Self { random, program: Vec::new(), words }
    }

    /// A program with so many parts, and so many heads.
    pub fn write(mut self, wild: bool) -> Vec<SequencerIn> {
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

    fn word(&mut self) -> u8 {
        self.random.below(self.words) as u8
    }

    fn operands(&mut self, count: u64) {
        for _ in 0..count {
            let dispatch_word_i = self.word();
            let dispatch_first_i = self.random.one_in(4);
            let command = blank(Opcode::WrShared);
            self.program.push(SequencerIn { dispatch_word_i, dispatch_first_i, ..command });
        }
    }

    /// The MACs of a sum.
    fn sum(&mut self, kind: Opcode, count: u64) {
        for n in 0..count {
            let row = self.random.below(1 << 16) as u16;
            let command = SequencerIn {
                dispatch_row_i: if self.random.one_in(8) { row } else { row % 1024 },
                dispatch_column_i: self.random.below(128) as u8,
                dispatch_word_i: self.word(),
                dispatch_first_i: n == 0,
                dispatch_last_i: n == count - 1,
                dispatch_opens_i: self.random.one_in(8),
                ..blank(kind)
            };
            self.program.push(command);
        }
    }

    fn results(&mut self, word: u8, tokens: u64, place: u64) {
        let command = SequencerIn {
            dispatch_word_i: word,
            dispatch_head_i: U::new(self.random.next()),
            dispatch_place_i: U::new(place),
            dispatch_first_i: self.random.one_in(2),
            dispatch_last_i: self.random.one_in(2),
            dispatch_tokens_i: U::new(tokens),
            ..blank(Opcode::RdResult)
        };
        self.program.push(command);
    }

    /// A place in the score buffer, now and then at its end.
    fn place(&mut self) -> u64 {
        match self.random.below(16) {
            0 => (1 << 17) - self.random.below(8),
            1 => self.random.below(1 << 18),
            _ => self.random.below(1 << 12),
        }
    }

    fn matrix(&mut self) {
        let (count, length) = (self.random.below(6), 1 + self.random.below(9));
        let operands = self.random.below(20);
        self.operands(operands);
        for _ in 0..count {
            self.sum(Opcode::MacScore, length);
            for group in 0..4 {
                let place = self.random.below(1 << 12);
                self.results(ResultAddress::outputs(group).bits(), 0, place);
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
                self.results(group, tokens, place);
            }
        }
        if self.random.one_in(2) {
            let dispatch_head_i = U::new(self.random.next());
            self.program.push(SequencerIn { dispatch_head_i, ..blank(Opcode::Finish) });
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
                let command = SequencerIn {
                    dispatch_head_i: U::new(self.random.next()),
                    dispatch_place_i: U::new(self.random.below(1 << 12)),
                    dispatch_tokens_i: U::new(tokens),
                    ..blank(Opcode::Weigh)
                };
                self.program.push(command);
            }
            if n >= ahead {
                let dispatch_word_i = self.word();
                self.program.push(SequencerIn { dispatch_word_i, ..blank(Opcode::WrWeights) });
            }
        }
        for _ in 0..1 + self.random.below(3) {
            let length = 1 + self.random.below(12);
            self.sum(Opcode::MacContext, length);
            for _ in 0..self.random.below(20) {
                let bits = self.random.next() as u8;
                let any = ResultAddress { context_sums: true, ..ResultAddress::of_bits(bits) };
                let word = any.bits();
                let place = self.random.below(256);
                self.results(word, 0, place);
            }
        }
    }

    /// Commands that are right, where no program has them.
    fn scatter(&mut self) {
        for _ in 0..self.random.below(8) {
            let kind = Opcode::COMMANDS[self.random.below(8) as usize];
            let dispatch_tokens_i = U::new(1 + self.random.below(16));
            let at = self.random.below(self.program.len() as u64 + 1) as usize;
            self.program.insert(at, SequencerIn { dispatch_tokens_i, ..blank(kind) });
        }
    }

    /// A command that may be wrong.
    fn anything(&mut self) {
        let command = SequencerIn {
            dispatch_valid_i: true,
            dispatch_kind_i: U::new(self.random.next()),
            dispatch_head_i: U::new(self.random.next()),
            dispatch_row_i: self.random.next() as u16,
            dispatch_place_i: U::new(self.random.next()),
            dispatch_column_i: self.random.next() as u8,
            dispatch_word_i: self.random.next() as u8,
            dispatch_first_i: self.random.one_in(2),
            dispatch_last_i: self.random.one_in(2),
            dispatch_tokens_i: U::new(self.random.next() >> self.random.below(64)),
            ..Default::default()
        };
        self.program.push(command);
    }
}
