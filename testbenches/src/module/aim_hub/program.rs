// SPDX-License-Identifier: MIT
//! Programs for a hub: products of matrices and vectors, softmax, and what is at fault.

use super::CHANNELS;
use crate::random::Random;
use pimlico_dpa::{CommandWord, Condition, Instruction, Opcode};
use pimlico_ports::U;

/// Virtual rows of a request.
pub(super) const ROWS: u64 = 4;
/// Lines of the GPR that programs use.
const LINES: u64 = 6;

/// A program in the making.
pub(super) struct Author {
    random: Random,
    sides: u64,
    pub tokens: u64,
    words: Vec<u64>,
    /// Words of the host that it needs.
    pub operands: u64,
    /// Results may be pending.
    pending: bool,
    /// Lines that fillings are read from, since the last softmax.
    fed: Vec<u64>,
}

fn flag(set: bool) -> Condition {
    Condition::of_flag(set)
}

impl Author {
    pub fn new(seed: u64, sides: u64) -> Self {
        let mut random = Random(seed);
        let most = [16, 40, 200, 1024][random.below(4) as usize];
        let tokens = 1 + random.below(most);
        Self {
            sides,
            tokens,
            words: Vec::new(),
            operands: 0,
            pending: false,
            fed: Vec::new(),
            random,
        }
    }

    fn command(&mut self, command: CommandWord) {
        if self.random.one_in(12) {
            self.words.push(Instruction::Nop.encode());
        }
        self.words.push(Instruction::Command(command).encode());
    }

    /// The whole of it.
    pub fn write(&mut self) -> Vec<u64> {
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(4) {
                0 => self.softmax(),
                1 => self.close(),
                _ => self.gemv(),
            }
        }
        if self.random.one_in(6) {
            self.fault();
        }
        if self.random.one_in(2) {
            self.close();
        }
        self.words.push(Instruction::End.encode());
        std::mem::take(&mut self.words)
    }

    fn close(&mut self) {
        self.command(CommandWord::new(Opcode::CloseAll));
    }

    /// Columns or words: as the field says, and as many as it stands for.
    fn count(&mut self) -> (u8, u64) {
        let of_tokens = self.tokens.div_ceil(16);
        match self.random.below(6) {
            0 if of_tokens <= 40 => (0, of_tokens),
            1 => (40, 40),
            n => {
                let count = 1 + self.random.below(3 * n.max(1));
                (count as u8, count)
            }
        }
    }

    fn fill(&mut self, (field, count): (u8, u64)) {
        let of_gpr = self.random.one_in(3);
        if !of_gpr {
            self.operands += count;
            let first = flag(self.random.one_in(2));
            self.command(CommandWord { word: field, first, ..CommandWord::new(Opcode::WrShared) });
            return;
        }
        let word = self.random.below(LINES * CHANNELS as u64);
        let first = self.pending || self.random.one_in(2);
        self.pending &= !first;
        self.fed.extend((word..word + count).map(|word| word / CHANNELS as u64));
        let (first, place) = (flag(first), U::new(16 * word));
        let kind = Opcode::WrWeights;
        self.command(CommandWord { word: field, place, first, ..CommandWord::new(kind) });
    }

    fn mac(&mut self, (field, count): (u8, u64), first: bool, last: bool, opens: bool) {
        let eighth =
            if self.random.one_in(6) { self.random.below((64 - count) / 8 + 1) } else { 0 };
        let (place, column) =
            (U::new(self.random.below(ROWS)), self.random.below(65 - count) as u8);
        let [first, last, opens] = [first, last, opens].map(flag);
        let head = U::new(eighth.min(7));
        let of = CommandWord {
            head,
            place,
            column,
            word: field,
            first,
            last,
            opens,
            ..CommandWord::new(Opcode::MacScore)
        };
        self.command(of);
    }

    fn results(&mut self, line: u64, first: bool) {
        self.pending = true;
        let place = U::new(16 * CHANNELS as u64 * line);
        let first = flag(first);
        self.command(CommandWord { place, first, ..CommandWord::new(Opcode::RdResult) });
    }

    /// A line that no filling is read from.
    fn line(&mut self) -> u64 {
        let line = self.random.below(LINES);
        if self.fed.contains(&line) { LINES + self.random.below(2) + 40 } else { line }
    }

    fn gemv(&mut self) {
        let (tiles, groups) = (1 + self.random.below(3), 1 + self.random.below(3));
        let stays = self.random.one_in(3);
        let groups = if stays { 1 } else { groups };
        let ahead = self.sides == 2 && self.random.one_in(2);
        let line = self.line();
        let counts: Vec<_> = (0..tiles).map(|_| self.count()).collect();
        let mut filled = 0;
        for tile in 0..tiles {
            while filled <= tile || ahead && filled <= tile + 1 && filled < tiles {
                self.fill(counts[filled as usize]);
                filled += 1;
            }
            for group in 0..groups {
                let (first, last) = (!stays || tile == 0, !stays || tile + 1 == tiles);
                self.mac(counts[tile as usize], first, last, group == 0);
                if last {
                    let goes_on = self.random.one_in(2);
                    let same = self.random.one_in(3);
                    let line = if same { line } else { self.line() };
                    self.results(line, !goes_on);
                }
            }
        }
    }

    fn softmax(&mut self) {
        let place = U::new(16 * self.random.below(LINES * CHANNELS as u64));
        let head = U::new(self.random.below(8));
        self.command(CommandWord { place, head, ..CommandWord::new(Opcode::Weigh) });
        self.pending = false;
        self.fed.clear();
    }

    /// A command that is at fault whatever else it says: without one a MAC may have no filling, and results no sum,
    /// for which the hub would wait for ever.
    fn fault(&mut self) {
        let kinds =
            [Opcode::MacScore, Opcode::WrWeights, Opcode::RdResult, Opcode::Weigh, Opcode::Finish];
        let kind = kinds[self.random.below(5) as usize];
        let mut command = CommandWord {
            place: U::new((self.random.below(1 << 17) << 1) | 1),
            word: self.random.next() as u8,
            column: self.random.next() as u8,
            head: U::new(self.random.below(8)),
            ..CommandWord::new(kind)
        };
        if kind == Opcode::MacScore {
            command.place = U::new(self.random.below(ROWS));
            match self.random.below(3) {
                0 => command.word = 65 + self.random.below(191) as u8,
                1 => (command.word, command.head) = (9 + self.random.below(56) as u8, U::new(7)),
                _ => {
                    command.word = 1 + self.random.below(8) as u8;
                    command.column = 64 + self.random.below(192) as u8;
                }
            }
        }
        self.command(command);
    }
}
