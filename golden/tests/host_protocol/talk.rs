// SPDX-License-Identifier: MIT
//! A scripted conversation of a host and a module, told to the checker as it goes.

use pimlico_golden::host_protocol::{HostChecker, HostRules, HostViolation, WINDOW_ROW};
use pimlico_golden::pins::Pin;
use std::collections::BTreeSet;

pub const MAILBOX: usize = 0;
pub const OPERANDS: usize = 1;
pub const STATUS: usize = 2;
/// Context, even bursts.
pub const RESULTS: usize = 3;

pub const LOAD: [u64; 8] = [1 | 2 << 4 | 7 << 8 | 3 << 16, 1, 2, 3, 4, 5, 6, 7];
pub const ZERO: [u64; 8] = [0; 8];

/// Of the host's memory.
pub const ROW: Pin = Pin::Act { bank: 5, row: 7 };
/// Of the module.
pub const ACT_ALL: Pin = Pin::ActAll { bank: 0, row: 7 };

pub fn rules() -> HostRules {
    HostRules {
        banks_per_group: 4,
        burst: 4,
        cl: 22,
        cwl: 16,
        t_rp: 22,
        t_rfc: 560,
        chips: true,
        poll: Some(5000),
    }
}

pub fn start(operands: u64) -> [u64; 8] {
    [2 | 5 << 16 | 0x3FFF << 32 | 0x3C00 << 48, operands, 0, 0, 0, 0, 0, 0]
}

/// A status. What is not said is 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    /// 0 `PinsHost`, 1 `PinsLeft`, 2 `PinsRun`.
    pub state: u64,
    pub waits: bool,
    pub lost: bool,
    pub refused: bool,
    pub fault: u64,
    pub taken: u64,
    pub contexts: u64,
    pub outputs: u64,
    pub runs: u64,
}

impl Status {
    pub fn words(self) -> [u64; 8] {
        let ended = self.state == 1 && !self.waits;
        let flags = [self.waits, ended, self.lost, self.refused].map(u64::from);
        let flags = flags.iter().rev().fold(0, |all, flag| all << 1 | flag) << 2;
        let counts = [self.taken, self.contexts, self.outputs, self.runs].map(|n| n & 0xFFFF);
        let counts = counts.iter().rev().fold(0, |all, count| all << 16 | count);
        [self.state | flags | self.fault << 8, counts, 0x1234, 0, 0, 0, 0, 0]
    }
}

/// The conversation so far.
pub struct Talk {
    pub checker: HostChecker,
    pub now: u64,
    /// The module lets the host's commands through to the chips.
    pub through: bool,
    /// The status that the module would show.
    pub status: Status,
    pub found: Vec<HostViolation>,
    open: BTreeSet<usize>,
}

impl Talk {
    pub fn new() -> Self {
        Self::with(rules())
    }

    pub fn with(rules: HostRules) -> Self {
        Self {
            checker: HostChecker::new(rules),
            now: 0,
            through: true,
            status: Status::default(),
            found: Vec::new(),
            open: BTreeSet::new(),
        }
    }

    /// A command of the host, tRCD and tRP after what was before.
    pub fn give(&mut self, pin: Pin) {
        self.now += 22;
        self.found.extend(self.checker.command(self.now, pin));
        if self.through {
            self.chips(pin);
        }
        match pin {
            Pin::PreAll => self.open.clear(),
            Pin::Pre { bank } => drop(self.open.remove(&bank)),
            _ => {}
        }
    }

    /// A command on the chips' pins, now.
    pub fn chips(&mut self, pin: Pin) {
        self.found.extend(self.checker.chips(self.now, pin));
    }

    /// A command of the module on the chips' pins.
    pub fn module(&mut self, pin: Pin) {
        self.now += 22;
        self.chips(pin);
    }

    /// Opens a window, if it is not open.
    pub fn open(&mut self, bank: usize) {
        if !self.open.contains(&bank) {
            self.give(Pin::Act { bank, row: WINDOW_ROW });
            self.open.insert(bank);
        }
    }

    /// Writes a burst to a window, and waits for tWR.
    pub fn write(&mut self, bank: usize, words: [u64; 8]) {
        self.open(bank);
        self.give(Pin::Wr { bank, column: 9 });
        self.found.extend(self.checker.write_data(self.now + 15, words));
        self.now += 16 + 4 + 24;
    }

    /// Reads a burst from a window.
    pub fn read(&mut self, bank: usize, column: usize, words: [u64; 8]) {
        self.open(bank);
        self.give(Pin::Rd { bank, column });
        self.found.extend(self.checker.read_data(self.now + 23, words));
        self.now += 23 + 4;
    }

    /// Reads the status that there is.
    pub fn poll(&mut self) {
        self.read(STATUS, 0, self.status.words());
    }

    /// Writes a message or operand, which the module takes at once.
    pub fn send(&mut self, bank: usize, words: [u64; 8]) {
        self.write(bank, words);
        self.status.taken += 1;
    }

    /// Gives the pins away for a START of so many operands. The operands are not sent.
    pub fn run(&mut self, operands: u64) {
        self.write(MAILBOX, start(operands));
        self.give(Pin::PreAll);
        self.through = false;
        self.status.taken += 1;
        self.status.state = 2;
    }

    /// The module ends its run, and the host reads it.
    pub fn end(&mut self) {
        self.status.state = 1;
        self.status.runs += 1;
        self.poll();
    }

    /// The host takes the pins.
    pub fn take(&mut self) {
        self.give(Pin::PreAll);
        self.through = true;
        self.status.state = 0;
    }

    /// A run without operands, its end read.
    pub fn ended(&mut self) {
        self.run(0);
        self.end();
    }

    /// As the end of the conversation.
    pub fn finish(mut self) -> Vec<HostViolation> {
        self.found.extend(self.checker.finish(self.now + 22));
        self.found
    }
}
