// SPDX-License-Identifier: MIT
//! A host, memories and arrays with a hub between them: what goes into the hub, cycle by cycle. To know what it asks
//! for, the model runs along.

use super::CHANNELS;
use super::memories::Memories;
use super::program::{Author, ROWS};
use crate::channel::aim_channel::scenario::timing;
use crate::channel::arrays::{Arrays, elements, moderate_word};
use crate::random::Random;
use pimlico_dpa::types::{AimWrite, BankSize, Load, LoadKind, Options, PinCommand, Start};
use pimlico_ports::{Model, U};
use pimlico_units::module::{AimHub, AimHubIn, AimHubOut};
use std::collections::VecDeque;

/// Rows and columns of a bank.
const SIZE: BankSize = BankSize { rows: U::new(8), columns: U::new(64) };
/// Cycles behind the last action.
const REST: u64 = 30;
/// Cycles behind a fault.
const BEHIND_FAULT: u64 = 60;

/// The inputs of an episode.
pub(super) fn inputs<const PINGPONG: bool>(
    seed: u64,
    actions: &[u64],
    most: usize,
) -> Vec<AimHubIn> {
    let mut host = Host::new(seed, actions, if PINGPONG { 2 } else { 1 });
    let mut unit = AimHub::<PINGPONG>::new();
    let mut inputs = Vec::new();
    while inputs.len() < most && !host.is_over() {
        let input = host.drive();
        let output = unit.step(&input);
        host.see(&input, &output);
        inputs.push(input);
    }
    inputs
}

/// What the host does.
enum Action {
    Nothing,
    /// It writes columns: those that are left.
    Write(u64),
    /// It loads, and starts a request.
    Loads(VecDeque<Load>, u64),
    Start(u64),
    Run,
}

struct Host {
    random: Random,
    still: AimHubIn,
    sides: u64,
    actions: VecDeque<u64>,
    action: Action,
    request: u64,
    /// Words come in one of so many cycles.
    arrivals: u64,
    operand: [u16; 16],
    operand_there: bool,
    operands: u64,
    memories: Memories,
    arrays: [Arrays; CHANNELS],
    read: Option<u8>,
    /// WRs that were accepted: bank, column, data; and those on the pins.
    accepted: VecDeque<[[u64; 4]; CHANNELS]>,
    on_pins: VecDeque<(usize, u8)>,
    write: AimWrite,
    is_idle: bool,
    /// Loads and starts may be offered: an EPU cycle begins, or one is offered.
    offers: bool,
    rest: u64,
    fault: u64,
}

impl Host {
    fn new(seed: u64, actions: &[u64], sides: u64) -> Self {
        let mut random = Random(seed);
        let timing_i = timing(&mut random);
        let mode_change_i = [0, 33, random.below(50) as u8][random.below(3) as usize];
        let options_i = Options { refresh: !random.one_in(4) };
        let faw_banks = timing_i.faw_banks.get() as usize;
        let still = AimHubIn {
            timing_i,
            mode_change_i,
            options_i,
            size_i: SIZE,
            scale_i: 0x3000 | random.below(1 << 11) as u16,
            ..Default::default()
        };
        Self {
            still,
            sides,
            actions: actions.iter().copied().collect(),
            action: Action::Nothing,
            request: 0,
            arrivals: [1, 1, 2, 5][random.below(4) as usize],
            operand: [0; 16],
            operand_there: false,
            operands: 0,
            memories: Memories::new(Random(random.next())),
            arrays: std::array::from_fn(|_| Arrays::new(random.next(), faw_banks)),
            read: None,
            accepted: VecDeque::new(),
            on_pins: VecDeque::new(),
            write: AimWrite::default(),
            is_idle: true,
            offers: true,
            rest: 0,
            fault: 0,
            random,
        }
    }

    fn is_over(&self) -> bool {
        self.rest > REST || self.fault > BEHIND_FAULT
    }

    fn act(&mut self, seed: u64) -> Action {
        self.random = Random(seed);
        if self.random.one_in(4) {
            return Action::Write(1 + self.random.below(24));
        }
        let mut author = Author::new(self.random.next(), self.sides);
        let words = author.write();
        self.operands += author.operands;
        self.request = self.random.below(3);
        let load = |kind, address: u64, data| Load { kind, address: address as u16, data };
        let mut loads = VecDeque::from([load(LoadKind::Clear, 0, 0)]);
        loads.extend(
            (0..ROWS).map(|n| load(LoadKind::Entry, 16 * self.request + n, n + self.request)),
        );
        loads.push_back(load(LoadKind::Tokens, self.request, author.tokens));
        loads.push_back(load(LoadKind::Segment, self.request, (ROWS << 16) | (16 * self.request)));
        let words = (0..).zip(words).map(|(at, word)| load(LoadKind::Command, at, word));
        loads.extend(words);
        Action::Loads(loads, self.request)
    }

    fn drive(&mut self) -> AimHubIn {
        let mut input = self.still;
        if matches!(self.action, Action::Nothing) && self.is_idle {
            match self.actions.pop_front() {
                Some(seed) => self.action = self.act(seed),
                None => self.rest += 1,
            }
        }
        match &mut self.action {
            Action::Write(_) => {
                (input.write_valid_i, input.write_i) = (true, self.write);
            }
            Action::Loads(loads, request) => match loads.front() {
                Some(load) => (input.load_valid_i, input.load_i) = (self.offers, *load),
                None => self.action = Action::Start(*request),
            },
            _ => {}
        }
        if let Action::Start(request) = self.action {
            // Behind a fault there is but a reset.
            input.start_valid_i = self.offers && self.is_idle && self.fault == 0;
            input.start_i = Start { request: U::new(request), address: U::new(0) };
        }
        if !self.operand_there && self.operands > 0 && self.random.one_in(self.arrivals) {
            self.operand_there = true;
            self.operand = elements(moderate_word(&mut self.random));
        }
        (input.operand_valid_i, input.operand_i) = (self.operand_there, self.operand);
        let garbage = self.random.next() as u16;
        let write = self.accepted.front();
        for channel in 0..CHANNELS {
            input.write_data_i[channel] =
                write.map_or([garbage; 16], |words| elements(words[channel]));
            input.cells_i[channel] = match self.read {
                Some(column) => self.arrays[channel].columns(column),
                None => [[garbage; 16]; 16],
            };
        }
        self.memories.drive(&mut input);
        input
    }

    fn see(&mut self, input: &AimHubIn, output: &AimHubOut) {
        self.memories.see(input, output);
        if input.write_valid_i && output.write_ready_o {
            let words = std::array::from_fn(|_| moderate_word(&mut self.random));
            self.accepted.push_back(words);
            let row = self.random.below(8) as u16;
            self.write = AimWrite {
                bank: U::new(self.random.below(16)),
                row: if self.random.one_in(4) { row } else { self.write.row },
                column: self.random.below(64) as u8,
            };
            if let Action::Write(left) = &mut self.action {
                *left -= 1;
                if *left == 0 {
                    self.action = Action::Nothing;
                }
            }
        }
        if input.operand_valid_i && output.operand_ready_o {
            self.operand_there = false;
            self.operands -= 1;
        }
        // What is offered stands until it is accepted, and for an EPU cycle.
        self.offers = output.load_ready_o || input.load_valid_i || input.start_valid_i;
        if input.load_valid_i
            && output.load_ready_o
            && let Action::Loads(loads, _) = &mut self.action
        {
            loads.pop_front();
        }
        let starts = input.start_valid_i && output.start_ready_o;
        if starts {
            self.action = Action::Run;
        }
        if matches!(self.action, Action::Run) && output.over_o && !input.start_valid_i {
            self.action = Action::Nothing;
        }
        self.is_idle = output.idle_o && !input.write_valid_i && !starts;
        self.fault += u64::from(output.fault_o as u8 != 0);
        let pins = output.pins_o;
        if output.write_taken_o
            && let (Some(words), Some((bank, column))) =
                (self.accepted.pop_front(), self.on_pins.pop_front())
        {
            for (arrays, word) in self.arrays.iter_mut().zip(words) {
                arrays.write(bank, column, word);
            }
        }
        if pins.command == PinCommand::Wr {
            self.on_pins.push_back((pins.bank.get() as usize, pins.column));
        }
        self.read = (pins.command == PinCommand::RdAll).then_some(pins.column);
        for arrays in &mut self.arrays {
            arrays.command(&pins);
        }
    }
}
