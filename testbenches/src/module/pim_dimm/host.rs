// SPDX-License-Identifier: MIT
//! A host at the pins of a module, and the memories beside it: what goes into the module, beat by beat. To know what the
//! module answers, its model runs along.

use crate::due::pop_due;
use crate::module::host_port::judge::ROW;
use crate::module::pim_module::arrays::{Arrays, Gates, HostTck, Traffic};
use crate::module::pim_module::programs::{Author, Program, Target};
use crate::module::pim_module::scenario::{settles, timing};
use crate::random::Random;
use pimlico_dpa::types::{Bank, BankSize, Burst, Load, LoadKind, Options, PinCommand, Pins};
use pimlico_dpa::{COMMANDS, ENTRIES, NO_ROW};
use pimlico_ports::{Enumerated, Model, U};
use pimlico_units::arith::Format;
use pimlico_units::module::{PimDimm, PimDimmIn, PimDimmOut};
use pimlico_units::rank::SequencedGear;
use std::collections::VecDeque;

/// tCK after which a run is left alone: it waits for what does not come.
const PATIENCE_TCK: u64 = 5000;
/// tCK between two looks at the status, at the most.
const POLL_TCK: u64 = 64;
/// REFs that may be owed where a program is sent, at the most.
const OWED: u64 = 4;
/// Reads of one row.
const LONGEST_ROW: u64 = 60;
/// Operands that a run is given, and messages and operands that are written for runs one behind the other: the queue
/// has room for them.
const OPERANDS: usize = 100;
const ROOM: usize = 120;
/// Bursts of results that the host reads behind a run, at the most.
const READS: u64 = 6;
/// The burst of a stream that a later one replaces is so many before it.
const PLACES: u64 = 64;

/// Windows, by the bank of a group.
const MAILBOX: u64 = 0;
const OPERAND: u64 = 1;
const STATUS: u64 = 2;
const RESULTS: u64 = 3;

/// A column command for a window, with the data of a write.
#[derive(Clone, Copy, Debug)]
struct Access {
    window: u64,
    /// Bank group, where it matters.
    group: Option<u64>,
    column: u64,
    data: Option<Burst>,
}

/// What the host does for programs and behind them, in this order.
#[derive(Clone, Copy, Debug)]
enum Step {
    Access(Access),
    /// It gives the pins away.
    Give,
    /// It takes them back.
    Take,
}

/// What the host does.
enum Action {
    /// It refreshes until little is owed, and closes all banks.
    Refresh,
    /// It takes its steps.
    Steps,
    /// It looks at the status, until the module has ended.
    Poll { since: u64, next: u64 },
    /// It accesses the chips as its memory.
    Traffic(Traffic),
    /// Nothing, for so many tCK.
    Idle(u64),
}

/// The host and what it has.
pub(super) struct Host {
    idle: PimDimmIn,
    target: Target,
    random: Random,
    seeds: VecDeque<u64>,
    wild: bool,
    action: Action,
    steps: VecDeque<Step>,
    /// REFs that may be owed where they begin.
    may_owe: u64,
    /// The pins are given away.
    given: bool,
    /// The host's own pins, windows included, and those of the chips.
    gates: Gates,
    chips: Gates,
    arrays: Arrays,
    commands: Vec<u64>,
    table: Vec<u16>,
    /// Beats that the host is going to drive, by their number.
    beats: VecDeque<(u64, u64)>,
    /// When the status that was asked for comes, and what of it has.
    status: VecDeque<(u64, Vec<u64>)>,
    /// The module has ended, and how many bursts of either stream there are, as the status said.
    ended: bool,
    bursts: [u64; 2],
    /// Bank group of the next access.
    group: u64,
}

impl Host {
    pub fn new(seed: u64, actions: &[u64], wide: bool, places: usize, gear: usize) -> Self {
        let mut random = Random(seed);
        let timing_i = timing(&mut random, gear);
        let options_i = Options { refresh: !random.one_in(6) };
        let rows = if random.one_in(3) { 1 << 16 } else { 1 + random.below(1 << 15) };
        let columns = if random.one_in(3) { 24 + random.below(104) } else { 128 };
        let size_i = BankSize { rows: U::new(rows), columns: U::new(columns) };
        let longest_row = LONGEST_ROW;
        let places = places as u64;
        Self {
            idle: PimDimmIn { timing_i, options_i, size_i, ..Default::default() },
            target: Target { size: size_i, wide, places, settles: settles(gear), longest_row },
            seeds: actions.iter().copied().collect(),
            wild: random.one_in(4),
            action: Action::Traffic(Traffic::key(Random(random.next()))),
            steps: VecDeque::new(),
            may_owe: 0,
            given: false,
            gates: Gates::new(timing_i),
            chips: Gates::new(timing_i),
            arrays: Arrays::new(random.next(), timing_i.faw_banks.get() as usize),
            commands: vec![0; COMMANDS],
            table: vec![NO_ROW; ENTRIES],
            beats: VecDeque::new(),
            status: VecDeque::new(),
            ended: false,
            bursts: [0; 2],
            group: 0,
            random,
        }
    }

    /// The inputs until all is done, or of so many tCK.
    pub fn inputs<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>(
        mut self,
        most: usize,
    ) -> Vec<PimDimmIn> {
        let mut unit = PimDimm::<A, LATE, SCORES, G>::new();
        let mut inputs = Vec::new();
        while inputs.len() < 2 * most {
            let Some(HostTck { pins, driven }) = self.next() else { break };
            self.idle.host_pins_i = pins.encode();
            let on_chips = unit.settle(&self.idle).pins_o.decode();
            if on_chips.command != PinCommand::None || self.gates.now.is_multiple_of(G::TCK as u64)
            {
                let rl_mac = self.idle.timing_i.rl_mac;
                self.idle.cells_i = self.arrays.columns(&on_chips, self.gates.now, rl_mac);
            }
            let mut output = PimDimmOut::default();
            for beat in driven {
                let input = PimDimmIn {
                    host_dq_valid_i: beat.is_some(),
                    host_dq_i: beat.unwrap_or(u64::MAX),
                    ..self.idle
                };
                output = unit.step(&input);
                inputs.push(input);
                self.take_beat(inputs.len() as u64 - 1, &output);
            }
            if output.cells_write_valid_o {
                self.arrays.write(&output.cells_write_o);
            }
            self.arrays.command(&on_chips);
            self.chips.tick(&on_chips);
            self.gates.tick(&pins);
            self.gates.refreshes = self.chips.refreshes; // a run's among them
            if self.gates.now.is_multiple_of(G::TCK as u64) {
                self.end_cycle(&output);
            }
        }
        inputs
    }

    /// The next tCK of the host.
    fn next(&mut self) -> Option<HostTck> {
        let command = loop {
            match self.act() {
                Some(command) => break command,
                None => self.action = self.choose()?,
            }
        };
        if let Action::Traffic(traffic) = &mut self.action {
            // It has its own data.
            return Some(traffic.drive(&self.gates).unwrap_or_default());
        }
        let driven = [0, 1].map(|half| {
            let at = 2 * self.gates.now + half;
            let due = pop_due(&mut self.beats, |(beat, _)| *beat == at);
            due.map(|(_, data)| data)
        });
        Some(HostTck { pins: command, driven })
    }

    /// The command of this tCK; `None` where the action is over.
    fn act(&mut self) -> Option<Pins> {
        match &mut self.action {
            // Asked twice in a tCK, it would draw twice: what it answers is taken in `next`.
            Action::Traffic(traffic) => (!traffic.is_over(&self.gates)).then_some(Pins::NONE),
            Action::Idle(0) => None,
            Action::Idle(left) => {
                *left -= 1;
                Some(Pins::NONE)
            }
            Action::Refresh => Some(self.refresh()),
            Action::Steps => self.step(),
            Action::Poll { since, .. } if !self.ended && self.gates.now - *since > PATIENCE_TCK => {
                self.seeds.clear();
                None
            }
            Action::Poll { .. } => Some(self.poll()),
        }
    }

    /// A command towards all banks closed, and few REFs owed.
    fn refresh(&mut self) -> Pins {
        let is_closed = self.gates.open.iter().all(Option::is_none);
        let owes = self.chips.owed() > self.may_owe;
        if is_closed && !owes && self.gates.is_quiet() {
            self.action = Action::Steps;
            return Pins::NONE;
        }
        let wish = if is_closed { Pins::REF } else { Pins::PRE_ALL };
        if (owes || !is_closed) && self.gates.allow(&wish) { wish } else { Pins::NONE }
    }

    /// A command towards the next step; `None` behind the last of a host that has the pins.
    fn step(&mut self) -> Option<Pins> {
        let Some(step) = self.steps.front().copied() else {
            let now = self.gates.now;
            self.ended = false;
            self.action = Action::Poll { since: now, next: now };
            return self.given.then_some(Pins::NONE);
        };
        let is_quiet = self.beats.is_empty() && self.status.is_empty();
        Some(match step {
            Step::Access(access) => {
                let (pins, is_column) = self.access(&access);
                if is_column {
                    self.steps.pop_front();
                }
                pins
            }
            Step::Give | Step::Take if !is_quiet || !self.gates.allow(&Pins::PRE_ALL) => Pins::NONE,
            Step::Give | Step::Take => {
                self.steps.pop_front();
                self.given = matches!(step, Step::Give);
                if !self.given {
                    self.action = Action::Idle(u64::from(self.idle.timing_i.rp) + 2);
                }
                Pins::PRE_ALL
            }
        })
    }

    /// A command towards the status; the host goes on where the module has ended.
    fn poll(&mut self) -> Pins {
        if self.ended {
            self.steps = self.behind_a_run();
            self.action = Action::Steps;
            return Pins::NONE;
        }
        let asks = matches!(self.action, Action::Poll { next, .. } if next <= self.gates.now);
        if !asks || !self.status.is_empty() {
            return Pins::NONE;
        }
        let (pins, is_column) =
            self.access(&Access { window: STATUS, group: None, column: 0, data: None });
        if is_column && let Action::Poll { next, .. } = &mut self.action {
            *next = self.gates.now + self.random.below(POLL_TCK);
            let from = 2 * (self.gates.now + u64::from(self.idle.timing_i.cl) + 1);
            self.status.push_back((from, Vec::new()));
        }
        pins
    }

    /// The next command towards an access of a window, if one may be given, and whether it is the access.
    fn access(&mut self, access: &Access) -> (Pins, bool) {
        let bank = 4 * access.group.unwrap_or(self.group) + access.window;
        let of = |command| Pins { command, bank: Bank::new(bank), ..Pins::default() };
        let column = if access.data.is_some() { PinCommand::Wr } else { PinCommand::Rd };
        let wish = match self.gates.open[bank as usize] {
            Some(ROW) => Pins { column: access.column as u8, ..of(column) },
            Some(_) => of(PinCommand::Pre),
            None => Pins { row: ROW, ..of(PinCommand::Act) },
        };
        if !self.gates.allow(&wish) {
            return (Pins::NONE, false);
        }
        let is_column = wish.command == column;
        if is_column {
            let first = 2 * (self.gates.now + u64::from(self.idle.timing_i.cwl) - 1);
            self.beats.extend(access.data.into_iter().flatten().zip(first..).map(|(d, b)| (b, d)));
            self.group = (self.group + 1) % 4;
        }
        (wish, is_column)
    }

    /// What the host does where nothing is under way.
    fn choose(&mut self) -> Option<Action> {
        let seed = self.seeds.pop_front()?;
        let mut random = Random(seed);
        Some(match random.below(6) {
            0..4 => {
                self.steps = self.programs(&mut random);
                self.may_owe = random.below(OWED + 1);
                Action::Refresh
            }
            4 => Action::Idle(random.below(300)),
            _ => Action::Traffic(Traffic::new(random)),
        })
    }

    /// The steps of one run, or of two one behind the other. The pins are given away when the first START is written, or
    /// later.
    fn programs(&self, random: &mut Random) -> VecDeque<Step> {
        let mut sent = self.program(random);
        let is_start = |access: &Access| access.data.is_some_and(|words| words[0] & 3 == 2);
        let starts = sent.iter().position(|it| it.window == MAILBOX && is_start(it));
        if random.one_in(3) {
            let second = self.program(random);
            let fits = sent.len() + second.len() <= ROOM;
            sent.extend(if fits { second } else { Vec::new() });
        }
        let first = starts.map_or(sent.len(), |at| at + 1);
        let gives = match random.below(3) {
            0 => first,
            1 => first + random.below((sent.len() - first) as u64 + 1) as usize,
            _ => sent.len(),
        };
        let mut steps: VecDeque<Step> = sent.into_iter().map(Step::Access).collect();
        steps.insert(gives, Step::Give);
        steps
    }

    fn program(&self, random: &mut Random) -> Vec<Access> {
        let program = Author::new(random, self.target).write(self.wild);
        let scale = 0x2C00 + random.below(0x1000); // 2^-4 to 1
        messages(&program, scale)
    }

    /// What the host does with a module that has ended: it reads some of the results, and takes the pins, or sends one
    /// more program.
    fn behind_a_run(&mut self) -> VecDeque<Step> {
        let mut random = Random(self.random.next());
        let mut steps = VecDeque::new();
        for _ in 0..random.below(READS + 1) {
            let stream = random.below(2);
            let count = self.bursts[stream as usize];
            if count > 0 {
                let number = count - 1 - random.below(count.min(PLACES));
                let group = Some(2 * stream + number % 2);
                let column = number / 2 % 32;
                steps.push_back(Step::Access(Access {
                    window: RESULTS,
                    group,
                    column,
                    data: None,
                }));
            }
        }
        if random.one_in(4) && self.chips.owed() <= OWED && self.seeds.pop_front().is_some() {
            steps.extend(self.program(&mut random).into_iter().map(Step::Access));
        } else {
            steps.push_back(Step::Take);
        }
        steps
    }

    /// A beat on the host's data bus: of the status, if it is asked for.
    fn take_beat(&mut self, beat: u64, output: &PimDimmOut) {
        let Some((_, words)) = self.status.front_mut().filter(|(from, _)| *from <= beat) else {
            return;
        };
        words.push(output.host_dq_o);
        if words.len() == 8 {
            self.ended = words[0] >> 3 & 1 != 0;
            self.bursts = [16, 32].map(|shift| words[1] >> shift & 0xFFFF);
            self.status.pop_front();
        }
    }

    /// The end of a cycle of the core, for the memories.
    fn end_cycle(&mut self, output: &PimDimmOut) {
        let Load { kind, address, data } = output.load_o;
        let address = usize::from(address);
        if output.command_write_o && kind == LoadKind::Command {
            self.commands[address] = data;
        }
        if output.table_write_o && kind == LoadKind::Entry {
            self.table[address] = data as u16;
        }
        if output.fetch_read_o {
            let from = output.fetch_address_o.get() as usize;
            let word = |n| self.commands.get(from + n).copied().unwrap_or_default();
            self.idle.fetch_data_i = std::array::from_fn(word);
        }
        if output.table_read_o {
            let at = usize::from(output.table_address_o);
            self.idle.table_data_i = self.table.get(at).copied().unwrap_or(NO_ROW);
        }
    }
}

/// What a program is sent by: its loads, its start, its operands.
fn messages(program: &Program, scale: u64) -> Vec<Access> {
    let write =
        |window, words: [u64; 8]| Access { window, group: None, column: 0, data: Some(words) };
    let follows =
        |a: &Load, b: &Load| a.kind == b.kind && a.address.checked_add(1) == Some(b.address);
    let runs = program.loads.chunk_by(follows).flat_map(|run| run.chunks(7));
    let loads = runs.map(|words| {
        let Load { kind, address, .. } = words[0];
        let mut burst = [0; 8];
        burst[0] = 1 | kind.code() << 4 | (words.len() as u64) << 8 | u64::from(address) << 16;
        burst[1..].iter_mut().zip(words).for_each(|(to, word)| *to = word.data);
        write(MAILBOX, burst)
    });
    let operands = program.operands.iter().take(OPERANDS);
    let start = program.start;
    let mut burst = [0; 8];
    burst[0] = 2 | start.request.get() << 16 | start.address.get() << 32 | scale << 48;
    burst[1] = operands.len() as u64;
    let operands = operands.map(|data| write(OPERAND, *data));
    loads.chain([write(MAILBOX, burst)]).chain(operands).collect()
}
