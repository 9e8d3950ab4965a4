// SPDX-License-Identifier: MIT
//! What is around a sequencer: a dispatcher with programs, a host with operands, and a rank that takes its
//! time.

use super::programs::Author;
use crate::random::Random;
use pimlico_dpa::Dispatch;
use pimlico_dpa::types::{ArrayKind, BankSize, BusRequest, Fault, RankEvents, SumKind};
use pimlico_ports::U;
use pimlico_units::rank::{SequencerIn, SequencerOut};
use std::collections::VecDeque;

/// Dispatcher, host and rank.
pub(super) struct Surroundings {
    random: Random,
    controls: SequencerIn,
    pace: Pace,
    /// Places of the score buffer.
    scores: u64,
    clock: u64,
    program: VecDeque<Dispatch>,
    /// The dispatcher's run is over; the next may start in so many cycles.
    ended: bool,
    idle: u64,
    /// Bursts of the host that are to be taken, and whether the next is there.
    operands: u64,
    operand_there: bool,
    rank: Coming,
}

/// How fast what is around the sequencer is in an episode, and how often it is wrong.
struct Pace {
    /// Elements that the data path takes in a cycle.
    lanes: u64,
    /// The dispatcher has a command in one of so many cycles, and the ports take a request.
    dispatch: u64,
    array: u64,
    bus: u64,
    softmax: u64,
    /// The host's next burst comes in one of so many cycles.
    operand: u64,
    /// Cycles until results are there, and until they are through.
    results: u64,
    through: u64,
    /// Programs have commands that are wrong; the host has too few operands.
    wild: bool,
    poor: bool,
    /// One of array and bus stands for long, and many commands for the other come.
    flood: bool,
}

/// What is to come of what the rank has taken, with the cycle from which on it may, in order.
#[derive(Default)]
struct Coming {
    reads: VecDeque<(u64, bool)>,
    transfers: VecDeque<(u64, Transfer)>,
    written: VecDeque<u64>,
    results: VecDeque<u64>,
    scaled: VecDeque<u64>,
    finished: VecDeque<u64>,
    words: VecDeque<u64>,
    context: VecDeque<u64>,
    outputs: VecDeque<u64>,
}

enum Transfer {
    Write,
    Results { scores: usize, context: usize, outputs: usize },
}

/// Takes the first of a queue if it is due.
fn due(queue: &mut VecDeque<u64>, clock: u64) -> bool {
    let is_due = queue.front().is_some_and(|from| *from <= clock);
    is_due && queue.pop_front().is_some()
}

/// Takes those of a queue that are due, as many as there are lanes.
fn count(queue: &mut VecDeque<u64>, clock: u64, lanes: u64) -> U<3> {
    U::new((0..lanes).filter(|_| due(queue, clock)).count() as u64)
}

/// The same, of what has more to it.
fn next<T>(queue: &mut VecDeque<(u64, T)>, clock: u64) -> Option<T> {
    let is_due = queue.front().is_some_and(|(from, _)| *from <= clock);
    if is_due { queue.pop_front().map(|(_, what)| what) } else { None }
}

impl Surroundings {
    pub fn new(seed: u64, scores: u64) -> Self {
        let mut random = Random(seed);
        let draws = [random.next() >> 8, random.next() >> 8];
        let mut pick = |from: &[u64]| from[random.below(from.len() as u64) as usize];
        let mut pace = Pace {
            lanes: pick(&[1, 2, 4]),
            dispatch: pick(&[1, 1, 2, 6]),
            array: pick(&[1, 2, 8, 8]),
            bus: pick(&[1, 2, 4, 5, 12]),
            softmax: pick(&[1, 1, 3, 60]),
            results: pick(&[1, 8, 16, 24]),
            through: pick(&[1, 10, 30]),
            wild: pick(&[0, 0, 1]) == 1,
            poor: pick(&[0, 0, 0, 1]) == 1,
            flood: pick(&[0, 0, 0, 0, 0, 0, 0, 1]) == 1,
            operand: 1,
        };
        if pace.flood {
            let slow = pick(&[60, 200]);
            (pace.array, pace.bus) = if pick(&[0, 1]) == 1 { (slow, 1) } else { (1, slow) };
            (pace.dispatch, pace.poor) = (1, false);
        }
        let [rows, columns] = [pick(&[1 << 16, 1 << 16, 2000]), pick(&[128, 128, 256, 120])];
        let controls = SequencerIn {
            size_i: BankSize {
                rows: U::new(rows - if pick(&[0, 0, 1]) == 1 { draws[0] % rows } else { 0 }),
                columns: U::new(columns - if pick(&[0, 0, 1]) == 1 { draws[1] % 100 } else { 0 }),
            },
            burst_i: pick(&[4, 4, 4, 1, 2, 8, 255]) as u8,
            wide_i: pick(&[0, 1]) == 1,
            ..Default::default()
        };
        if !pace.flood {
            pace.operand = pick(&[1, 1, 1, 1, 1, 3, 12, 60]);
        }
        Self {
            random,
            controls,
            pace,
            scores,
            clock: 0,
            program: VecDeque::new(),
            ended: true,
            idle: 0,
            operands: 0,
            operand_there: false,
            rank: Coming::default(),
        }
    }

    /// The inputs of a cycle in which that is asked for.
    pub fn drive(&mut self, asked: &SequencerOut) -> SequencerIn {
        let mut input = self.controls;
        if self.clock == 0 || self.ended && asked.done_o {
            if self.idle > 0 {
                self.idle -= 1;
            } else {
                self.start();
                input.start_i = true;
                self.clock += 1;
                return input;
            }
        }
        self.dispatch(asked, &mut input);
        input.operands_i = U::new(self.operands.min(127));
        self.operand_there |= self.operands > 0 && self.random.one_in(self.pace.operand);
        input.operand_valid_i = self.operand_there;
        self.happen(&mut input.events_i);
        self.take(asked, &mut input.events_i);
        self.clock += 1;
        input
    }

    fn start(&mut self) {
        let author = Author::new(&mut self.random, self.scores);
        let Pace { wild, flood, .. } = self.pace;
        self.program = if flood { author.flood() } else { author.write(wild) }.into();
        self.ended = false;
        self.idle = self.random.below(30);
        self.operand_there = false;
        self.operands = if self.pace.poor { self.random.below(16) } else { 800 };
    }

    fn dispatch(&mut self, asked: &SequencerOut, input: &mut SequencerIn) {
        if self.ended {
            return;
        }
        // A dispatcher that is told to stop has something on its way.
        if asked.fault_o != Fault::None && self.random.one_in(3) {
            self.program.clear();
        }
        let Some(command) = self.program.front() else {
            self.ended = true;
            input.done_i = true;
            return;
        };
        if self.random.one_in(self.pace.dispatch) {
            (input.dispatch_valid_i, input.dispatch_i) = (true, *command);
            if asked.dispatch_ready_o {
                self.program.pop_front();
            }
        }
    }

    /// What was taken before, and comes now.
    fn happen(&mut self, events: &mut RankEvents) {
        let (clock, pace) = (self.clock, &self.pace);
        let rank = &mut self.rank;
        if let Some(last) = next(&mut rank.reads, clock) {
            events.read = true;
            if last {
                let soonest = rank.results.back().map_or(0, |last| last + 1);
                rank.results.push_back(soonest.max(clock + pace.results));
            }
        }
        if let Some(transfer) = next(&mut rank.transfers, clock) {
            let through = clock + pace.through;
            match transfer {
                Transfer::Write => rank.written.push_back(through),
                Transfer::Results { scores, context, outputs } => {
                    events.results_taken = true;
                    rank.scaled.extend([through; 4].into_iter().take(scores));
                    rank.context.extend([through; 8].into_iter().take(context));
                    rank.outputs.extend([through; 4].into_iter().take(outputs));
                }
            }
        }
        events.written = due(&mut rank.written, clock);
        events.results = due(&mut rank.results, clock);
        events.scaled = count(&mut rank.scaled, clock, pace.lanes);
        events.finished = due(&mut rank.finished, clock);
        events.word_made = due(&mut rank.words, clock);
        events.context_made = count(&mut rank.context, clock, pace.lanes);
        events.output_made = count(&mut rank.outputs, clock, pace.lanes);
    }

    /// What is taken now.
    fn take(&mut self, asked: &SequencerOut, events: &mut RankEvents) {
        let (clock, pace) = (self.clock, &self.pace);
        let rank = &mut self.rank;
        let later = clock + 1 + self.random.below(4);
        if asked.array_valid_o && rank.reads.len() < 4 && self.random.one_in(pace.array) {
            events.array_taken = true;
            if asked.array_o.kind != ArrayKind::CloseAll {
                rank.reads.push_back((later, asked.array_o.mac.last));
            }
        }
        if asked.bus_valid_o && rank.transfers.len() < 4 && self.random.one_in(pace.bus) {
            events.bus_taken = true;
            let BusRequest { write, host, sum, .. } = asked.bus_o;
            let transfer = match sum.kind {
                _ if write => Transfer::Write,
                SumKind::Scores => Transfer::Results { scores: 4, context: 0, outputs: 0 },
                SumKind::Outputs => {
                    let outputs = if sum.complete { 4 } else { 0 };
                    Transfer::Results { scores: 0, context: 0, outputs }
                }
                SumKind::Context => {
                    let context = if sum.complete && sum.last { 8 } else { 0 };
                    Transfer::Results { scores: 0, context, outputs: 0 }
                }
            };
            self.operands = self.operands.saturating_sub(host.into());
            self.operand_there &= !host;
            rank.transfers.push_back((later, transfer));
        }
        if asked.finish_valid_o && self.random.one_in(pace.softmax) {
            events.finish_taken = true;
            rank.finished.push_back(clock + 1 + pace.through);
        }
        if asked.weigh_valid_o && self.random.one_in(pace.softmax) {
            events.weigh_taken = true;
            rank.words.push_back(clock + 1 + pace.through / 2);
        }
    }
}
