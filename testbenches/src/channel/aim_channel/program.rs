// SPDX-License-Identifier: MIT
//! Commands in an order in which each waits for earlier ones alone.

use crate::random::Random;
use pimlico_dpa::types::{AimCommand, AimKind, Column, Row};
use pimlico_ports::U;
use std::collections::VecDeque;

/// Words of a side of the global buffer.
const WORDS: u64 = 64;
/// Columns of a row.
const COLUMNS: u64 = 256;
/// AimResults that may come before their sum.
const EARLY: i32 = 1;

/// What the hub does with its next command.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// It sends it.
    Send(AimCommand),
    /// It waits for the channel to be idle.
    Drain,
    /// It waits for so many cycles.
    Pause(u64),
}

/// Writes commands, and knows what it has written.
pub(super) struct Author {
    random: Random,
    sides: usize,
    /// Few rows, so that they are often open; short fillings and sums.
    rows: u64,
    is_short: bool,
    /// Fillings that were sent and not freed, with their words.
    fillings: VecDeque<u64>,
    /// A sum has begun and not ended.
    is_open: bool,
    /// Sums that have ended, less those whose results were asked for.
    ended: i32,
    row: Row,
    column: Column,
    pub steps: VecDeque<Step>,
}

impl Author {
    pub fn new(seed: u64, sides: usize) -> Self {
        let mut random = Random(seed);
        Self {
            sides,
            rows: [1, 2, 3, 1 << 16][random.below(4) as usize],
            is_short: random.one_in(2),
            fillings: VecDeque::new(),
            is_open: false,
            ended: 0,
            row: 0,
            column: 0,
            steps: VecDeque::new(),
            random,
        }
    }

    fn send(&mut self, command: AimCommand) {
        self.steps.push_back(Step::Send(command));
    }

    /// What an action makes of it.
    pub fn act(&mut self, action: u64) {
        self.random = Random(action);
        match self.random.below(32) {
            0 => self.writes(),
            1 => self.close(),
            2 => {
                let most = [4, 40, 200][self.random.below(3) as usize];
                let pause = self.random.below(most);
                self.steps.push_back(Step::Pause(pause));
            }
            3 if !self.is_open && self.ended >= 0 => {
                self.results_down_to(0);
                self.steps.push_back(Step::Drain);
            }
            4..8 => self.fill(),
            8..11 => self.gemv(),
            11..15 => self.results(),
            _ => self.mac(),
        }
    }

    /// What was begun comes to its end.
    pub fn finish(&mut self) {
        while !self.fillings.is_empty() || self.is_open || self.ended < 0 {
            if self.fillings.is_empty() {
                self.fill();
            }
            let frees = self.fillings.len() > 1 || self.random.one_in(2) || !self.is_open;
            let count = self.count();
            self.mac_of(count, true, frees);
        }
        self.results_down_to(0);
        self.close();
        self.steps.push_back(Step::Drain);
    }

    fn count(&mut self) -> u64 {
        let most = if self.is_short { 8 } else { WORDS };
        match self.random.below(8) {
            0 => 1,
            1 => WORDS,
            2..4 => 1 + self.random.below(4),
            _ => 1 + self.random.below(most),
        }
    }

    /// Asks for results until no more than so many ended sums are left.
    fn results_down_to(&mut self, left: i32) {
        while self.ended > left {
            self.ended -= 1;
            // What results have no use for is ignored.
            let count = U::new(self.random.below(128));
            self.send(AimCommand { kind: AimKind::Results, count, ..AimCommand::default() });
        }
    }

    fn results(&mut self) {
        // Some are asked for ahead of their sums.
        if self.ended > 0 || (self.ended > -EARLY && self.random.one_in(4)) {
            self.results_down_to(self.ended - 1);
        }
    }

    fn fill(&mut self) {
        if self.fillings.len() == self.sides {
            return;
        }
        if self.sides == 1 {
            self.results_down_to(0);
        }
        let count = self.count();
        self.fillings.push_back(count);
        let last = self.random.one_in(2);
        let count = U::new(count);
        self.send(AimCommand { kind: AimKind::Fill, count, last, ..AimCommand::default() });
    }

    fn mac(&mut self) {
        if self.fillings.is_empty() {
            self.fill();
        }
        let count = self.count();
        let (last, frees) = (self.random.one_in(2), self.random.one_in(3));
        self.mac_of(count, last, frees);
    }

    fn mac_of(&mut self, count: u64, last: bool, frees: bool) {
        let first = !self.is_open;
        // Of the sums before it, the last may be in the registers' other side.
        let others = self.sides as i32 - 1;
        if last && self.sides == 2 || first && self.sides == 1 {
            self.results_down_to(others);
        }
        let filled = self.fillings[0];
        let word = match self.random.below(4) {
            0 => self.random.below(WORDS),
            _ => 0,
        };
        let most = if self.random.one_in(8) { WORDS } else { filled.max(word + 1) };
        let count = count.min(most - word);
        if self.random.one_in(3) {
            self.row = self.random.below(self.rows) as Row;
            self.column = self.random.below(COLUMNS) as Column;
        }
        let column = self.column.min((COLUMNS - count) as Column);
        self.column = (u64::from(column) + count).min(COLUMNS - 1) as Column;
        self.is_open = !last;
        self.ended += i32::from(last);
        if frees {
            self.fillings.pop_front();
        }
        let bank = U::new(self.random.below(16));
        let (row, word, count) = (self.row, U::new(word), U::new(count));
        let kind = AimKind::Mac;
        self.send(AimCommand { kind, bank, row, column, word, count, first, last, frees });
    }

    /// A few groups of rows of a matrix, whose results follow each other, as a hub has them.
    fn gemv(&mut self) {
        if self.is_open {
            self.mac();
        }
        let (tiles, groups) = (1 + self.random.below(3), 1 + self.random.below(6));
        let count = [1, 2, 3, 4, 8, 16, 40][self.random.below(7) as usize];
        let ahead = self.random.one_in(2);
        for tile in 0..tiles {
            if self.fillings.is_empty() || self.fillings.len() < self.sides && ahead && tile == 0 {
                self.fill();
            }
            for group in 0..groups {
                self.mac_of(count, true, group + 1 == groups && self.sides == 1);
                if self.sides == 1 || self.random.below(4) > 0 {
                    self.results();
                }
            }
            if self.sides == 2 {
                self.mac_of(count, false, true);
                if self.fillings.len() < 2 {
                    self.fill();
                }
            }
        }
    }

    fn close(&mut self) {
        self.results_down_to(0);
        self.send(AimCommand { kind: AimKind::Close, ..AimCommand::default() });
    }

    /// Columns are written while nothing else is under way.
    fn writes(&mut self) {
        if self.ended < 0 {
            return;
        }
        self.results_down_to(0);
        if !self.fillings.is_empty() {
            return; // it may be under way for long
        }
        self.steps.push_back(Step::Drain);
        for _ in 0..1 + self.random.below(24) {
            if self.random.one_in(4) {
                self.row = self.random.below(self.rows) as Row;
            }
            if self.random.one_in(24) {
                self.send(AimCommand { kind: AimKind::Close, ..AimCommand::default() });
            }
            let column = self.random.below(COLUMNS) as Column;
            let bank = U::new(self.random.below(16));
            let (kind, row) = (AimKind::Write, self.row);
            let (word, count) = (U::new(self.random.below(64)), U::new(self.random.below(128)));
            let [first, last, frees] = std::array::from_fn(|_| self.random.one_in(2));
            self.send(AimCommand { kind, bank, row, column, word, count, first, last, frees });
        }
        self.steps.push_back(Step::Drain);
    }
}
