// SPDX-License-Identifier: MIT
//! What is around a sequencer: a dispatcher with programs, a host with operands, and a rank that takes its
//! time.

use super::programs::Author;
use crate::random::Random;
use pimlico_ports::U;
use pimlico_units::rank::{SequencerIn, SequencerOut};
use std::collections::VecDeque;

/// Dispatcher, host and rank.
pub(super) struct Surroundings {
    random: Random,
    controls: SequencerIn,
    habits: Habits,
    clock: u64,
    program: VecDeque<SequencerIn>,
    /// The dispatcher's run is over; the next may start in so many clocks.
    ended: bool,
    idle: u64,
    operands: u64,
    rank: RankEvents,
}

/// How an episode is.
struct Habits {
    /// The dispatcher has a command in one of so many clocks, and the ports take a request.
    dispatch: u64,
    array: u64,
    bus: u64,
    softmax: u64,
    /// Clocks until results are there, and until they are through.
    results: u64,
    through: u64,
    /// Programs have commands that are wrong; the host has too few operands.
    wild: bool,
    poor: bool,
}

/// What is to come of what the rank has taken, with the clock from which on it may, in order.
#[derive(Default)]
struct RankEvents {
    reads: VecDeque<(u64, bool)>,
    transfers: VecDeque<(u64, Transfer)>,
    written: VecDeque<u64>,
    results: VecDeque<u64>,
    scaled: VecDeque<u64>,
    finished: VecDeque<u64>,
    weights: VecDeque<u64>,
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

/// The same, of what has more to it.
fn next<T>(queue: &mut VecDeque<(u64, T)>, clock: u64) -> Option<T> {
    let is_due = queue.front().is_some_and(|(from, _)| *from <= clock);
    if is_due { queue.pop_front().map(|(_, what)| what) } else { None }
}

impl Surroundings {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let draws = [random.next() >> 8, random.next() >> 8];
        let mut pick = |from: &[u64]| from[random.below(from.len() as u64) as usize];
        let habits = Habits {
            dispatch: pick(&[1, 1, 2, 6]),
            array: pick(&[1, 2, 8, 8]),
            bus: pick(&[1, 2, 4, 5, 12]),
            softmax: pick(&[1, 1, 3, 60]),
            results: pick(&[1, 8, 16, 24]),
            through: pick(&[1, 10, 30]),
            wild: pick(&[0, 0, 1]) == 1,
            poor: pick(&[0, 0, 0, 1]) == 1,
        };
        let [rows, columns] = [pick(&[1 << 16, 1 << 16, 2000]), pick(&[128, 128, 256, 120])];
        let controls = SequencerIn {
            rows_i: U::new(rows - if pick(&[0, 0, 1]) == 1 { draws[0] % rows } else { 0 }),
            columns_i: U::new(columns - if pick(&[0, 0, 1]) == 1 { draws[1] % 100 } else { 0 }),
            burst_i: pick(&[4, 4, 4, 1, 2, 8, 255]) as u8,
            wide_i: pick(&[0, 1]) == 1,
            ..Default::default()
        };
        Self {
            random,
            controls,
            habits,
            clock: 0,
            program: VecDeque::new(),
            ended: true,
            idle: 0,
            operands: 0,
            rank: RankEvents::default(),
        }
    }

    /// The inputs of a clock in which that is asked for.
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
        self.happen(&mut input);
        self.take(asked, &mut input);
        self.clock += 1;
        input
    }

    fn start(&mut self) {
        self.program = Author::new(&mut self.random).write(self.habits.wild).into();
        self.ended = false;
        self.idle = self.random.below(30);
        self.operands = if self.habits.poor { self.random.below(16) } else { 200 };
    }

    fn dispatch(&mut self, asked: &SequencerOut, input: &mut SequencerIn) {
        if self.ended {
            return;
        }
        // A dispatcher that is told to stop has something on its way.
        if asked.fault_o.get() != 0 && self.random.one_in(3) {
            self.program.clear();
        }
        let Some(command) = self.program.front() else {
            self.ended = true;
            input.done_i = true;
            return;
        };
        if self.random.one_in(self.habits.dispatch) {
            let controls = self.controls;
            *input = SequencerIn {
                rows_i: controls.rows_i,
                columns_i: controls.columns_i,
                burst_i: controls.burst_i,
                wide_i: controls.wide_i,
                ..*command
            };
            if asked.dispatch_ready_o {
                self.program.pop_front();
            }
        }
    }

    /// What was taken before, and comes now.
    fn happen(&mut self, input: &mut SequencerIn) {
        let (clock, habits) = (self.clock, &self.habits);
        let rank = &mut self.rank;
        if let Some(last) = next(&mut rank.reads, clock) {
            input.read_i = true;
            if last {
                let soonest = rank.results.back().map_or(0, |last| last + 1);
                rank.results.push_back(soonest.max(clock + habits.results));
            }
        }
        if let Some(transfer) = next(&mut rank.transfers, clock) {
            let through = clock + habits.through;
            match transfer {
                Transfer::Write => rank.written.push_back(through),
                Transfer::Results { scores, context, outputs } => {
                    input.results_taken_i = true;
                    rank.scaled.extend([through; 4].into_iter().take(scores));
                    rank.context.extend([through; 8].into_iter().take(context));
                    rank.outputs.extend([through; 4].into_iter().take(outputs));
                }
            }
        }
        input.written_i = due(&mut rank.written, clock);
        input.results_i = due(&mut rank.results, clock);
        input.scaled_i = due(&mut rank.scaled, clock);
        input.finished_i = due(&mut rank.finished, clock);
        input.weight_valid_i = due(&mut rank.weights, clock);
        input.weight_i = if input.weight_valid_i { self.random.next() as u16 } else { 0 };
        input.context_valid_i = due(&mut rank.context, clock);
        input.output_valid_i = due(&mut rank.outputs, clock);
    }

    /// What is taken now.
    fn take(&mut self, asked: &SequencerOut, input: &mut SequencerIn) {
        let (clock, habits) = (self.clock, &self.habits);
        let rank = &mut self.rank;
        let later = clock + 1 + self.random.below(4);
        if asked.array_valid_o && rank.reads.len() < 4 && self.random.one_in(habits.array) {
            input.array_taken_i = true;
            if !asked.array_close_o {
                rank.reads.push_back((later, asked.array_last_o));
            }
        }
        if asked.bus_valid_o && rank.transfers.len() < 4 && self.random.one_in(habits.bus) {
            input.bus_taken_i = true;
            let complete = asked.sum_complete_o;
            let transfer = match (asked.bus_write_o, asked.sum_kind_o.get()) {
                (true, _) => Transfer::Write,
                (_, 0) => Transfer::Results { scores: 4, context: 0, outputs: 0 },
                (_, 1) => {
                    let outputs = if complete { 4 } else { 0 };
                    Transfer::Results { scores: 0, context: 0, outputs }
                }
                _ => {
                    let context = if complete && asked.sum_last_o { 8 } else { 0 };
                    Transfer::Results { scores: 0, context, outputs: 0 }
                }
            };
            self.operands -= u64::from(asked.bus_host_o);
            rank.transfers.push_back((later, transfer));
        }
        if asked.finish_valid_o && self.random.one_in(habits.softmax) {
            input.finish_taken_i = true;
            rank.finished.push_back(clock + 1 + habits.through);
        }
        if asked.weigh_valid_o && self.random.one_in(habits.softmax) {
            input.weigh_taken_i = true;
            rank.weights.push_back(clock + 1 + habits.through / 2);
        }
    }
}
