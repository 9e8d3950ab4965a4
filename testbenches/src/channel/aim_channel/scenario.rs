// SPDX-License-Identifier: MIT
//! A hub and cell arrays with a channel between them: what goes into the channel, cycle by cycle. To know what
//! it asks for, the model of the channel runs along.

use super::program::{Author, Step};
use crate::channel::arrays::{Arrays, Word, elements, moderate_word};
use crate::random::Random;
use pimlico_dpa::types::{Options, PinCommand, Pins, Timing};
use pimlico_ports::{Model, U};
use pimlico_units::channel::{AimChannel, AimChannelIn, AimChannelOut};
use std::collections::VecDeque;

/// Words that may be there.
const MOST_OPERANDS: u64 = 32;
/// Cycles behind the last action.
const REST: u64 = 40;
/// A tREFI that is longer than an episode.
const NEVER: u64 = (1 << 20) - 1;

/// The inputs of an episode.
pub(super) fn inputs<const PINGPONG: bool>(
    seed: u64,
    actions: &[u64],
    most: usize,
) -> Vec<AimChannelIn> {
    let mut hub = Hub::new(seed, actions, if PINGPONG { 2 } else { 1 });
    let mut unit = AimChannel::<PINGPONG>::new();
    let mut inputs = Vec::new();
    while inputs.len() < most && !hub.is_over() {
        let input = hub.drive();
        let output = unit.step(&input);
        hub.see(&input, &output);
        inputs.push(input);
    }
    inputs
}

/// Timings of a DRAM, in cycles: an AiM's or about.
pub(crate) fn timing(random: &mut Random) -> Timing {
    let aim = Timing {
        ccd_s: 1,
        ccd_l: 1,
        ccd_result: 1,
        rrd_s: 6,
        rrd_l: 6,
        rcd: 18,
        rcd_wr: 14,
        rcd_mac: 28,
        rl_mac: 0,
        ras: 27,
        rp: 16,
        rc: 45,
        rtp: 6,
        faw: 21,
        faw_banks: U::new(16),
        rd_to_wr: 3,
        wr_to_rd_s: 9,
        wr_to_rd_l: 10,
        wr_to_pre: 21,
        shared_to_rd: 0,
        cl: 25,
        cwl: 3,
        rfc: 105,
        refi: U::new(1666),
    };
    let sort = random.below(4);
    if sort == 0 {
        return aim;
    }
    let mut draw = |from: u64, to: u64| (from + random.below(to - from + 1)) as u8;
    let (rtp, cwl) = (draw(1, 12), draw(1, if sort == 1 { 32 } else { 6 }));
    let rp = (22 - rtp) + draw(0, 4);
    let (rrd_s, ras) = (draw(1, 6), draw(4, 40));
    let rrd_l = rrd_s + draw(0, 3);
    let wr_to_rd_s = cwl + 1 + draw(0, 4);
    let rfc = u16::from(draw(3, 120));
    let refi = match draw(0, 3) {
        0 => NEVER,
        1 => 300 + 3 * u64::from(rfc),
        _ => 340 + u64::from(rfc) + u64::from(draw(0, 255)),
    };
    Timing {
        rrd_s,
        rrd_l,
        rcd_wr: draw(1, 20),
        rcd_mac: draw(1, 40),
        ras,
        rp,
        rc: ras + rp + draw(0, 4),
        rtp,
        faw: rrd_l + draw(0, 20),
        faw_banks: U::new([16, 16, 8, 4][draw(0, 3) as usize]),
        rd_to_wr: [2, 3, 3, draw(2, 9)][draw(0, 3) as usize],
        wr_to_rd_s,
        wr_to_rd_l: wr_to_rd_s + draw(0, 4),
        wr_to_pre: cwl + 1 + draw(0, 20),
        cwl,
        rfc,
        refi: U::new(refi),
        ..aim
    }
}

/// The hub, and the arrays.
struct Hub {
    random: Random,
    /// The inputs of a cycle in which nothing happens.
    still: AimChannelIn,
    author: Author,
    actions: VecDeque<u64>,
    is_finished: bool,
    step: Option<Step>,
    /// A command follows the one before after up to so many cycles.
    slowness: u64,
    gap: u64,
    rest: u64,
    is_idle: bool,
    /// Words that are there; in one of so many cycles another comes, up to so many.
    operands: VecDeque<Word>,
    arrivals: u64,
    room: u64,
    arrays: Arrays,
    /// The column of the RD_ALL that was on the pins in the last cycle.
    read: Option<u8>,
    /// WRs on the pins whose data are not on the lines: when they are, bank, column, data.
    writes: VecDeque<(u64, usize, u8, Word)>,
    now: u64,
}

impl Hub {
    fn new(seed: u64, actions: &[u64], sides: usize) -> Self {
        let mut random = Random(seed);
        let timing_i = timing(&mut random);
        let mode_change_i = match random.below(4) {
            0 => 33,
            1 => random.below(8) as u8,
            2 => random.below(64) as u8,
            _ => 0,
        };
        let options_i = Options { refresh: !random.one_in(4) };
        let faw_banks = timing_i.faw_banks.get() as usize;
        Self {
            still: AimChannelIn { timing_i, mode_change_i, options_i, ..Default::default() },
            author: Author::new(random.next(), sides),
            actions: actions.iter().copied().collect(),
            is_finished: false,
            step: None,
            slowness: [1, 1, 1, 2, 6, 40][random.below(6) as usize],
            gap: 0,
            rest: 0,
            is_idle: true,
            operands: VecDeque::new(),
            arrivals: [1, 1, 1, 2, 2, 7][random.below(6) as usize],
            room: [MOST_OPERANDS, MOST_OPERANDS, 1, 3][random.below(4) as usize],
            arrays: Arrays::new(random.next(), faw_banks),
            read: None,
            writes: VecDeque::new(),
            now: 0,
            random,
        }
    }

    fn is_over(&self) -> bool {
        self.is_finished && self.step.is_none() && self.rest > REST
    }

    /// What the hub does next, if there is something.
    fn next_step(&mut self) -> Option<Step> {
        while self.author.steps.is_empty() && !self.is_finished {
            match self.actions.pop_front() {
                Some(action) => self.author.act(action),
                None => {
                    self.is_finished = true;
                    self.author.finish();
                }
            }
        }
        self.author.steps.pop_front()
    }

    fn drive(&mut self) -> AimChannelIn {
        let mut input = self.still;
        if self.step.is_none() && self.gap == 0 {
            self.step = self.next_step();
        }
        self.gap = self.gap.saturating_sub(1);
        match self.step {
            Some(Step::Send(command)) => {
                (input.command_valid_i, input.command_i) = (true, command);
            }
            Some(Step::Drain) if self.is_idle => self.step = None,
            Some(Step::Pause(0)) => self.step = None,
            Some(Step::Pause(cycles)) => self.step = Some(Step::Pause(cycles - 1)),
            _ => {}
        }
        if self.step.is_none() && self.is_finished {
            self.rest += 1;
        }
        let more = (self.operands.len() as u64) < self.room && self.random.one_in(self.arrivals);
        if more {
            self.operands.push_back(moderate_word(&mut self.random));
        }
        input.operands_i = U::new(self.operands.len() as u64);
        let garbage = std::array::from_fn(|_| self.random.next());
        let write = self.writes.front().filter(|(at, ..)| *at == self.now);
        input.operand_i = elements(self.operands.front().copied().unwrap_or(garbage));
        input.write_i = elements(write.map_or(garbage, |(.., word)| *word));
        input.cells_i = match self.read {
            Some(column) => self.arrays.columns(column),
            None => [elements(garbage); 16],
        };
        input
    }

    fn see(&mut self, input: &AimChannelIn, output: &AimChannelOut) {
        if input.command_valid_i && output.command_ready_o {
            self.step = None;
            self.gap = self.random.below(self.slowness);
        }
        self.is_idle = output.idle_o && !input.command_valid_i;
        if output.operand_taken_o {
            self.operands.pop_front();
        }
        if output.write_taken_o
            && let Some((_, bank, column, word)) = self.writes.pop_front()
        {
            self.arrays.write(bank, column, word);
        }
        let Pins { command, bank, column, .. } = output.pins_o;
        if command == PinCommand::Wr {
            let at = self.now + u64::from(input.timing_i.cwl);
            let word = moderate_word(&mut self.random);
            self.writes.push_back((at, bank.get() as usize, column, word));
        }
        self.read = (command == PinCommand::RdAll).then_some(column);
        // A column of the cycle before has left the arrays.
        self.arrays.command(&output.pins_o);
        self.now += 1;
    }
}
