// SPDX-License-Identifier: MIT
//! The module behind a host port: it takes operands, gives results, and ends its runs.

use super::judge::{Owner, Port};
use crate::random::Random;
use pimlico_dpa::types::{Element, Fault, RunEnd, Status};
use pimlico_ports::{Enumerated, U};
use pimlico_units::module::HostPortIn;

/// Cycles of the core for which a run waits for an operand that does not come.
const PATIENCE: u64 = 60;

/// A run under way.
struct Run {
    /// Operands that it still takes.
    operands: u64,
    patience: u64,
    /// Elements of each stream that are still to come.
    elements: [u64; 2],
    /// It takes or gives in one of so many cycles.
    slowness: u64,
    /// It seems to have ended all the while, and gives elements in each third cycle.
    flurry: bool,
    /// The program ends.
    ends: bool,
    /// Cycles for which it is still quiet in between, or after everything.
    pause: u64,
    tail: u64,
    refreshes: u64,
    cycle: u64,
}

/// Plays the module.
pub(super) struct Module {
    random: Random,
    gear: u64,
    /// But for the last beat of a cycle, inputs are anything.
    sloppy: bool,
    flurries: bool,
    run: Option<Run>,
    /// Inputs of the present cycle.
    now: HostPortIn,
}

impl Module {
    pub fn new(seed: u64, gear: usize) -> Self {
        let mut random = Random(seed);
        let (sloppy, flurries) = (random.one_in(3), random.one_in(3));
        let now = HostPortIn::default();
        Self { random, gear: gear as u64, sloppy, flurries, run: None, now }
    }

    /// The module's inputs of a beat, but for the data bus.
    pub fn drive(&mut self, port: &Port, second: bool, input: &mut HostPortIn) {
        if port.begins_cycle() && !second {
            self.cycle(port);
        }
        if !second {
            self.now.refresh_i = self.refresh(port);
        }
        let is_last = second && (port.tck + 1).is_multiple_of(self.gear);
        let now = HostPortIn {
            timing_i: input.timing_i,
            host_pins_i: input.host_pins_i,
            host_dq_i: input.host_dq_i,
            module_dq_valid_i: input.module_dq_valid_i,
            module_dq_i: input.module_dq_i,
            ..self.now
        };
        *input = now;
        if self.sloppy && !is_last {
            self.soil(input);
        }
    }

    /// Inputs that count in the last beat of a cycle alone, in another.
    fn soil(&mut self, input: &mut HostPortIn) {
        let any = self.random.next();
        [input.over_i, input.settled_i, input.overflow_i, input.end_valid_i] =
            [0, 1, 2, 3].map(|bit| any >> bit & 1 != 0);
        input.end_i = if input.end_valid_i { self.end() } else { RunEnd::default() };
        input.fault_i = fault(any >> 8);
        input.status_i[any as usize >> 16 & 15] = status(any >> 20);
        input.operand_taken_i &= any >> 4 & 1 != 0;
        let lanes = (1 << self.gear) - 1;
        input.results_i.context_valid = U::new(any >> 32 & lanes);
        input.results_i.output_valid = U::new(any >> 36 & lanes);
    }

    /// The inputs of a cycle that begins.
    fn cycle(&mut self, port: &Port) {
        let before = self.now;
        let any = self.random.next();
        self.now = HostPortIn {
            overflow_i: before.overflow_i ^ (any & 63 == 0),
            fault_i: if any >> 6 & 31 == 0 { fault(any >> 16) } else { before.fault_i },
            status_i: before.status_i,
            over_i: before.over_i,
            settled_i: before.settled_i,
            ..HostPortIn::default()
        };
        if any >> 11 & 15 == 0 {
            self.now.status_i[any as usize >> 24 & 15] = status(any >> 32);
        }
        if port.owner != Owner::Run {
            self.run = None;
            self.now.over_i ^= any >> 40 & 31 == 0;
            self.now.settled_i ^= any >> 45 & 31 == 0;
            return;
        }
        let mut run = self.run.take().unwrap_or_else(|| self.begin(port));
        self.go_on(&mut run, port);
        self.run = Some(run);
    }

    fn begin(&mut self, port: &Port) -> Run {
        let any = self.random.next();
        let few = port.operands() < 127;
        let operands = match any & 7 {
            0 => self.random.below(4),
            1 => 0,
            _ if few => port.operands(),
            _ => self.random.below(200),
        };
        let flurry = self.flurries && any >> 3 & 1 == 0;
        let mut elements = [0, 1].map(|_| match self.random.below(8) {
            _ if flurry => self.gear * (66 + self.random.below(16)),
            0 => 0,
            1 | 5 => 1,
            2 | 6 => 31,
            3 => 32 * self.random.below(4),
            4 => 33,
            _ => self.random.below(100),
        });
        if any >> 5 & 3 == 0 {
            elements[1] = elements[0];
        }
        Run {
            operands,
            patience: PATIENCE,
            elements,
            slowness: [1, 1, 2, 8][(any >> 8) as usize & 3],
            flurry,
            ends: any >> 16 & 7 != 0,
            pause: 0,
            tail: if flurry { 0 } else { self.random.below(6) },
            refreshes: self.random.below(3),
            cycle: 0,
        }
    }

    /// A cycle of a run.
    fn go_on(&mut self, run: &mut Run, port: &Port) {
        run.cycle += 1;
        let waits = run.operands > 0 && run.patience > 0;
        let has_more = run.elements != [0; 2] || waits;
        let acts = self.random.one_in(run.slowness);
        if waits && port.operand().is_some() && port.operands() > 0 {
            self.now.operand_taken_i = acts;
            run.operands -= u64::from(acts);
        } else if waits {
            run.patience -= 1;
        }
        let rest = has_more && run.pause == 0 && self.random.one_in(40);
        run.pause = if rest { 1 + self.random.below(6) } else { run.pause.saturating_sub(1) };
        let gives = if run.flurry { run.cycle.is_multiple_of(3) } else { acts && run.pause == 0 };
        if gives {
            self.give(run);
        }
        let over = !has_more || run.flurry || run.pause > 0;
        self.now.over_i = over && (self.now.over_i || run.flurry || self.random.one_in(2));
        let settled = self.now.over_i && run.tail < 4;
        self.now.settled_i = settled || !over && self.random.one_in(4);
        if !has_more {
            run.tail = run.tail.saturating_sub(1);
        }
        if run.ends && (self.random.one_in(20) || !has_more && run.tail == 0) {
            run.ends = false;
            (self.now.end_valid_i, self.now.end_i) = (true, self.end());
        }
    }

    /// Elements of both streams, in any lanes.
    fn give(&mut self, run: &mut Run) {
        let results = &mut self.now.results_i;
        for stream in 0..2 {
            let any = self.random.next();
            let lanes = if any & 3 == 0 { any >> 2 } else { u64::MAX };
            for lane in 0..self.gear as usize {
                if run.elements[stream] == 0 || lanes >> lane & 1 == 0 {
                    continue;
                }
                run.elements[stream] -= 1;
                let bits = self.random.next() as u16;
                if stream == 0 {
                    let head = U::new(any >> 8 & 7);
                    results.context_valid = U::new(results.context_valid.get() | 1 << lane);
                    results.context_element[lane] = Element { head, bits };
                } else {
                    results.output_valid = U::new(results.output_valid.get() | 1 << lane);
                    results.output_element[lane] = bits;
                }
            }
        }
        // Scores are nobody's business here.
        results.score_valid = U::new(self.random.next() & 15);
        results.score[0].bits = self.random.next() as u16;
    }

    /// A REF is on the pins: mostly while a run is about to end.
    fn refresh(&mut self, port: &Port) -> bool {
        let is_late = |run: &&mut Run| run.elements == [0; 2] && run.refreshes > 0;
        match self.run.as_mut().filter(is_late) {
            Some(run) if port.owner == Owner::Run => {
                let refreshes = self.random.one_in(6);
                run.refreshes -= u64::from(refreshes);
                refreshes
            }
            _ => self.random.one_in(200),
        }
    }

    fn end(&mut self) -> RunEnd {
        let any = self.random.next();
        let (address, layer) = (U::new(any >> 16 & 0x3FFF), (any >> 32) as u16);
        RunEnd { status: status(any), address, layer }
    }
}

fn status(any: u64) -> Status {
    Status::from_code(any % 14).unwrap_or_default()
}

fn fault(any: u64) -> Fault {
    Fault::from_code(any % 9).unwrap_or_default()
}
