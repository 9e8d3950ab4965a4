// SPDX-License-Identifier: MIT
//! A host with its memories and a module between them: what goes into the module, beat by beat. To know what
//! it asks for, the model of the module runs along.

use super::arrays::{Arrays, Gates, HostTck, Traffic};
use super::programs::{Author, Program, SHORT_ROW, Target};
use crate::random::Random;
use pimlico_dpa::types::{BankSize, Burst, Load, LoadKind, Options, PinCommand, Pins, Timing};
use pimlico_dpa::{COMMANDS, ENTRIES, NO_ROW};
use pimlico_ports::{Model, U};
use pimlico_units::arith::Format;
use pimlico_units::module::{PimModule, PimModuleIn, PimModuleOut};
use pimlico_units::rank::SequencedGear;
use std::collections::VecDeque;

/// tCK after which a run is left alone: it waits for what does not come.
const PATIENCE_TCK: u64 = 6000;
/// The shortest tRFC, and a tREFI in which there is room for it and for something else.
const SHORT_RFC: u64 = 60;
const SHORTEST_REFI: u64 = 470;
/// Operands that take as long as tRP.
const OPERANDS: u64 = 8;
/// The host's next burst arrives in one of so many cycles of the core.
const ARRIVALS: [u64; 8] = [1, 1, 1, 1, 1, 2, 9, 40];

/// What the host does next.
enum Action {
    /// It writes and starts a program.
    Program(Box<Program>),
    /// It starts the program that is there once more, with other operands.
    Again(Vec<Burst>),
    /// It accesses the chips as its memory.
    Traffic(Traffic),
    /// Nothing, for so many cycles of the core.
    Idle(u64),
    /// A run goes on, for so many at the most.
    Run(u64),
}

/// The host and what it has.
pub(in crate::module) struct Scenario {
    /// The inputs of a cycle in which nothing happens.
    idle: PimModuleIn,
    /// tCK of this cycle of the core that are over: in memory mode alone there are such.
    over: usize,
    target: Target,
    seeds: VecDeque<u64>,
    wild: bool,
    action: Action,
    /// Cycles of the core that the host waits between this and what it does next.
    pause: u64,
    /// The last program.
    program: Option<Box<Program>>,
    loads: VecDeque<Load>,
    operands: VecDeque<Burst>,
    /// The first of them has arrived.
    operand_there: bool,
    arrivals: Random,
    arrives_in: u64,
    commands: Vec<u64>,
    table: Vec<u16>,
    arrays: Arrays,
    gates: Gates,
}

/// Timings of a DRAM, as DDR4's are or about, for a core of this gear.
pub(in crate::module) fn timing(random: &mut Random, gear: usize) -> Timing {
    let ddr4 = Timing {
        ccd_s: 4,
        ccd_l: 8,
        ccd_result: 4,
        rrd_s: 4,
        rrd_l: 8,
        rcd: 22,
        rcd_wr: 22,
        rcd_mac: 22,
        rl_mac: 8,
        ras: 52,
        rp: 22,
        rc: 74,
        rtp: 12,
        faw: 34,
        faw_banks: U::new(16),
        rd_to_wr: 12,
        wr_to_rd_s: 24,
        wr_to_rd_l: 32,
        wr_to_pre: 44,
        shared_to_rd: 0,
        cl: 22,
        cwl: 16,
        rfc: 560,
        refi: U::new(12480),
    };
    let mut draw = |from: u64, to: u64| (from + random.below(to - from + 1)) as u8;
    let mut timing = ddr4;
    if draw(0, 2) > 0 {
        timing.ccd_l = draw(5, 12);
        timing.rrd_l = draw(4, 10);
        timing.faw = draw(16, 40).max(timing.rrd_l);
        (timing.rcd, timing.rcd_wr, timing.rcd_mac) = (draw(8, 30), draw(8, 30), draw(8, 30));
        (timing.ras, timing.rp, timing.rtp) = (draw(20, 60), draw(12, 30), draw(6, 16));
        timing.rc = timing.ras + timing.rp + draw(0, 4);
        timing.cwl = if draw(0, 3) == 0 { draw(4, 44) } else { draw(8, 20) };
        timing.cl = if draw(0, 3) == 0 {
            draw(timing.cwl.into(), 46) + 2
        } else {
            timing.cwl + draw(2, 10)
        };
        timing.cl = timing.cl.min(48);
        timing.rd_to_wr = timing.cl + 6 - timing.cwl;
        timing.wr_to_rd_s = timing.cwl + 4 + draw(2, 6);
        timing.wr_to_rd_l = timing.wr_to_rd_s + draw(0, 10);
        timing.wr_to_pre = timing.cwl + 4 + draw(10, 30);
    }
    let in_cycles = |tck: u8| tck.next_multiple_of(gear as u8);
    (timing.cl, timing.cwl, timing.ccd_l) =
        (in_cycles(timing.cl), in_cycles(timing.cwl), in_cycles(timing.ccd_l));
    timing.cl = timing.cl.max(in_cycles(timing.cwl + 2));
    if timing != ddr4 {
        timing.rd_to_wr = timing.rd_to_wr.max(timing.cl + 6 - timing.cwl);
        timing.wr_to_rd_s = timing.wr_to_rd_s.max(timing.cwl + 6);
        timing.wr_to_rd_l = timing.wr_to_rd_l.max(timing.wr_to_rd_s);
        timing.wr_to_pre = timing.wr_to_pre.max(timing.cwl + 14);
    }
    // Bank groups with a trunk of their own to the data pins or with one for all; shared buffers that turn, or do not.
    timing.ccd_result = [4, 4, 4, 5, 8, 8][random.below(6) as usize];
    if random.one_in(4) {
        timing.shared_to_rd = timing.cwl + 4 + random.below(8) as u8;
    }
    // No WR_SHARED overtakes an RD_ALL, and no row is closed before its columns are at the PUs.
    let rl_mac = [0, 8, 8, random.below(13) as u8][random.below(4) as usize];
    timing.rl_mac = rl_mac.min(timing.cwl).min(timing.rtp) / gear as u8 * gear as u8;
    // REFs are short and come often, so that there are some; or so often that a run outlasts nine of them.
    let rfc = SHORT_RFC + random.below(160);
    let (rfc, refi) = match random.below(5) {
        0 => (rfc, 12480),
        1 | 2 => (SHORT_RFC, SHORTEST_REFI + random.below(60)),
        _ => (rfc, 3 * rfc + 400 + random.below(800)),
    };
    timing.rfc = rfc as u16;
    timing.faw_banks = U::new([16, 8, 4, 4][random.below(4) as usize]);
    timing.refi = U::new(refi);
    timing
}

/// Chunks from one that leaves partial sums of outputs to one that may go on from them, and the same in heads
/// for the context. A chunk takes four RD_RESULTs of four tCK; a head takes as many, and one more MAC: longer than
/// partial sums of the context take at any gear.
pub(in crate::module) fn settles(gear: usize) -> [u64; 2] {
    [(4 + 4 * gear as u64).div_ceil(4 * 4), 1]
}

/// Whether the tCK does not exist for the rank.
fn is_held(input: &PimModuleIn) -> bool {
    input.load_valid_i || input.start_valid_i
}

impl Scenario {
    pub fn new(seed: u64, actions: &[u64], wide: bool, places: usize, gear: usize) -> Self {
        let mut random = Random(seed);
        let timing_i = timing(&mut random, gear);
        let options_i = Options { refresh: !random.one_in(6) };
        let rows = if random.one_in(3) { 1 << 16 } else { 1 + random.below(1 << 15) };
        let columns = if random.one_in(3) { 24 + random.below(104) } else { 128 };
        let size_i = BankSize { rows: U::new(rows), columns: U::new(columns) };
        let scale_i = 0x2C00 + random.below(0x1000) as u16; // 2^-4 to 1
        let settles = settles(gear);
        let nine_refi_tck = 9 * timing_i.refi.get();
        let longest_row = match nine_refi_tck + 1000 < PATIENCE_TCK {
            true => nine_refi_tck / u64::from(timing_i.ccd_l),
            false => SHORT_ROW,
        };
        Self {
            idle: PimModuleIn { timing_i, options_i, size_i, scale_i, ..Default::default() },
            over: 0,
            target: Target { size: size_i, wide, places: places as u64, settles, longest_row },
            seeds: actions.iter().copied().collect(),
            wild: random.one_in(4),
            action: Action::Traffic(Traffic::key(Random(random.next()))),
            pause: 0,
            program: None,
            loads: VecDeque::new(),
            operands: VecDeque::new(),
            commands: vec![0; COMMANDS],
            table: vec![NO_ROW; ENTRIES],
            arrays: Arrays::new(random.next(), timing_i.faw_banks.get() as usize),
            gates: Gates::new(timing_i),
            operand_there: false,
            arrives_in: ARRIVALS[random.below(8) as usize],
            arrivals: random,
        }
    }

    /// The same with refresh, and another tREFI.
    pub fn with_refi(mut self, refi: u64) -> Self {
        self.idle.options_i.refresh = true;
        self.idle.timing_i.rfc = SHORT_RFC as u16;
        self.idle.timing_i.refi = U::new(refi);
        self.target.longest_row = SHORT_ROW;
        self.gates = Gates::new(self.idle.timing_i);
        self
    }

    /// The inputs until all is done, or of so many beats.
    pub fn inputs<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>(
        self,
        beats: usize,
    ) -> Vec<PimModuleIn> {
        self.drive::<A, LATE, SCORES, G>(beats, |_, _| {})
    }

    /// The first tCK, of those of the rank, with the PREA of a head's end that operands come behind, so many
    /// that the bus is in use longer than tRP.
    pub fn head_end<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>(
        self,
        beats: usize,
    ) -> Option<u64> {
        let (mut now, mut closed, mut operands, mut found) = (0, None, 0, None);
        self.drive::<A, LATE, SCORES, G>(beats, |input, pins| {
            match pins.command {
                _ if input.memory_i || input.start_valid_i => closed = None,
                PinCommand::PreAll => (closed, operands) = (Some(now), 0),
                PinCommand::WrShared => {
                    operands += 1;
                    let end = closed.filter(|tck| *tck > SHORTEST_REFI && operands == OPERANDS);
                    found = found.or(end);
                }
                PinCommand::None => {}
                _ => closed = None,
            }
            now += u64::from(!is_held(input));
        });
        found
    }

    /// The inputs until all is done, or of so many beats; `see` is shown what is on the pins in each tCK.
    fn drive<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>(
        mut self,
        beats: usize,
        mut see: impl FnMut(&PimModuleIn, &Pins),
    ) -> Vec<PimModuleIn> {
        let mut unit = PimModule::<A, LATE, SCORES, G>::new();
        let mut inputs = Vec::with_capacity(beats);
        while inputs.len() + 2 * G::TCK <= beats {
            let now = unit.settle(&self.idle);
            let Some((mut input, driven)) = self.next(&now) else { break };
            let held = is_held(&input);
            let pins = match (held, input.memory_i) {
                (true, _) => Pins::default(),
                (_, true) => input.host_pins_i,
                (_, false) => now.pins_o.decode(),
            };
            let rl_mac = self.idle.timing_i.rl_mac;
            input.cells_i = self.arrays.columns(&pins, self.gates.now, rl_mac);
            let in_memory_mode = !held && input.memory_i;
            let mut output = PimModuleOut::default();
            for tck in 0..if in_memory_mode { 1 } else { G::TCK } {
                for beat in driven {
                    input.host_dq_valid_i = beat.is_some();
                    input.host_dq_i = beat.unwrap_or_default();
                    output = unit.step(&input);
                    inputs.push(input);
                }
                let pins = if tck == 0 { pins } else { Pins::default() };
                see(&input, &pins);
                if !held {
                    self.arrays.command(&pins);
                    self.gates.tick(&pins);
                }
            }
            self.see(&input, &output);
            self.over = if in_memory_mode { (self.over + 1) % G::TCK } else { 0 };
        }
        inputs
    }

    /// The inputs of a cycle of the core, or in memory mode of a tCK with the beats that the host drives in it.
    fn next(&mut self, now: &PimModuleOut) -> Option<(PimModuleIn, [Option<u64>; 2])> {
        let settled = now.activity_o.settled && (now.over_o || self.program.is_none());
        self.operand_there |= !self.operands.is_empty() && self.arrivals.one_in(self.arrives_in);
        loop {
            let mut input = self.idle;
            input.operands_i = U::new(self.operands.len().min(127) as u64);
            let next = self.operands.front().filter(|_| self.operand_there);
            input.operand_valid_i = next.is_some();
            input.operand_i = next.copied().unwrap_or_default();
            match &mut self.action {
                Action::Run(0) => return None,
                Action::Run(left) => {
                    *left -= 1;
                    if !settled {
                        return Some((input, [None; 2]));
                    }
                }
                Action::Idle(0) => {}
                Action::Idle(left) => {
                    *left -= 1;
                    return Some((input, [None; 2]));
                }
                Action::Program(program) => {
                    if let Some(load_i) = self.loads.pop_front() {
                        (input.load_valid_i, input.load_i) = (true, load_i);
                        return Some((input, [None; 2]));
                    }
                    let program = program.clone();
                    self.operands = program.operands.iter().copied().collect();
                    self.program = Some(program);
                    return Some((self.start(), [None; 2]));
                }
                Action::Again(operands) => {
                    self.operands = operands.drain(..).collect();
                    return Some((self.start(), [None; 2]));
                }
                Action::Traffic(traffic) => {
                    if let Some(HostTck { pins, driven }) = traffic.drive(&self.gates) {
                        (input.memory_i, input.host_pins_i) = (true, pins);
                        return Some((input, driven));
                    }
                    if self.over > 0 {
                        input.memory_i = true;
                        return Some((input, [None; 2]));
                    }
                }
            }
            if !settled {
                return Some((input, [None; 2])); // an idle rank refreshes
            }
            if self.pause > 0 {
                self.pause -= 1;
                return Some((input, [None; 2]));
            }
            self.action = self.choose()?;
        }
    }

    /// A start of the program that is there.
    fn start(&mut self) -> PimModuleIn {
        let start_i = self.program.as_ref().map(|program| program.start).unwrap_or_default();
        self.action = Action::Run(PATIENCE_TCK);
        self.operand_there = false;
        PimModuleIn { start_valid_i: true, start_i, ..self.idle }
    }

    /// What the host does where nothing is under way.
    fn choose(&mut self) -> Option<Action> {
        let mut random = Random(self.seeds.pop_front()?);
        // The bank PUs may be at work still: what comes next meets any tCK of a slot.
        self.pause = if random.one_in(2) { random.below(16) } else { 0 };
        self.idle.scale_i ^= random.below(4) as u16;
        Some(match random.below(8) {
            0..4 => {
                let program = Author::new(&mut random, self.target).write(self.wild);
                self.loads = program.loads.iter().copied().collect();
                Action::Program(Box::new(program))
            }
            4 | 5 if self.program.is_some() => {
                let count = self.program.as_ref().map_or(0, |program| program.operands.len());
                let operand =
                    |_| std::array::from_fn(|_| super::arrays::moderate_word(&mut random));
                Action::Again((0..count).map(operand).collect())
            }
            6 => Action::Idle(random.below(400)),
            _ => Action::Traffic(Traffic::new(random)),
        })
    }

    /// The end of a cycle.
    fn see(&mut self, input: &PimModuleIn, output: &PimModuleOut) {
        if output.operand_taken_o {
            self.operands.pop_front();
            self.operand_there = false;
        }
        if output.cells_write_valid_o {
            self.arrays.write(&output.cells_write_o);
        }
        let Load { kind, address, data } = input.load_i;
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
