// SPDX-License-Identifier: MIT
//! The judge of a sequencer: every command that it has accepted, and what has become of it.
//!
//! * `item`: an accepted command.
//! * `holds`: what holds requests back.
//! * `requests`: requests, compared with that.
//! * `events`: what happens to the commands in a cycle.

mod events;
mod holds;
mod item;
mod requests;

use super::opcode::{MAC_CONTEXT, WR_SHARED};
use super::{Array, Asked, Bus, Command, Complaint, Seen, Sizes};
use item::Item;
use std::collections::{BTreeSet, VecDeque};

/// Words of weights under way, at the most.
const WORDS: u32 = 16;
/// Cycles from the acceptance of a command to its request, where nothing holds it back, at the most.
const LATENCY: u64 = 8;
/// Cycles from the acceptance of a command to its entry into a queue, at the least.
const ENTRY: u64 = 3;
/// Cycles after a start in which words of the scoreboard are cleared, at the most, besides those in which
/// commands enter.
const CLEARING: u64 = 300;
/// Cycles in which nothing happens though something is left, at the most, besides those of a chunk's results.
const STILL: u64 = 300;

const ARRAY: usize = 0;
const RESULTS: usize = 1;
const OPERANDS: usize = 2;
const SOFTMAX: usize = 3;
const PORTS: [&str; 4] = ["array_o", "bus_o", "bus_o", "weigh_o"];

/// Watches a sequencer.
#[derive(Debug)]
pub struct Judge {
    sizes: Sizes,
    clock: u64,
    started: u64,
    /// Commands that were accepted before.
    accepted_before: usize,
    items: Vec<Item>,
    /// Those that wait, and those that are sent, in the order of the program.
    waiting: [VecDeque<usize>; 4],
    sent: [VecDeque<usize>; 4],
    /// The last write to each word, and the last MAC of each.
    last_write: Vec<Option<usize>>,
    last_mac: Vec<Option<usize>>,
    over: bool,
    /// Requests of the cycle before that were not accepted, and the fault then.
    stood: Asked,
    /// Faults that the run may show, and the first command that has one.
    causes: BTreeSet<u32>,
    first_wrong: Option<usize>,
    /// Bursts of the host that were still to be taken in the cycle before, and whether the next was there.
    operands: usize,
    operand_there: bool,
    sums_ended: u64,
    sums_read: u64,
    sums_made: u64,
    /// The last time a MAC that ends a sum was on the pins, and results: the tree's, and the context's.
    sum_read: Option<u64>,
    results_read: [Option<u64>; 2],
    /// An RD_RESULT that is sent reads the results of a later sum.
    is_overwritten: bool,
    closed: bool,
    scores: u64,
    elements: u64,
    finishing: u64,
    words: u32,
    complete: u32,
    unpaired: u32,
    /// Cycles in which the next entry of each queue could have been requested, and in which nothing happened.
    idle: [u64; 4],
    still: u64,
}

type Judgement = Result<(), Complaint>;

fn complain(port: &'static str, what: impl Into<String>) -> Judgement {
    Err(Complaint { port, is_missing: false, what: what.into() })
}

fn miss(port: &'static str, what: impl Into<String>) -> Judgement {
    Err(Complaint { port, is_missing: true, what: what.into() })
}

impl Judge {
    /// Nothing has happened.
    pub fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            clock: 0,
            started: 0,
            accepted_before: 0,
            items: Vec::new(),
            waiting: Default::default(),
            sent: Default::default(),
            last_write: vec![None; 256],
            last_mac: vec![None; 256],
            over: false,
            stood: Asked { ready: true, ..Asked::default() },
            causes: BTreeSet::new(),
            first_wrong: None,
            operands: 0,
            operand_there: false,
            sums_ended: 0,
            sums_read: 0,
            sums_made: 0,
            sum_read: None,
            results_read: [None; 2],
            is_overwritten: false,
            closed: false,
            scores: 0,
            elements: 0,
            finishing: 0,
            words: 0,
            complete: 0,
            unpaired: 0,
            idle: [0; 4],
            still: 0,
        }
    }

    /// Judges what is asked for in a cycle, and takes what happens in it.
    pub fn cycle(&mut self, asked: &Asked, seen: &Seen) -> Judgement {
        self.judge_fault(asked)?;
        self.judge_array(asked)?;
        self.judge_bus(asked)?;
        self.judge_softmax(asked)?;
        self.judge_end(asked)?;
        self.judge_liveness(asked, seen)?;
        self.take(asked, seen)
    }

    fn array_of(&self, item: &Item) -> Array {
        let Command { opcode, row, column, word, first, last, opens, .. } = item.command;
        if !item.is_mac() {
            return Array::Close;
        }
        let flags = [first, last, opens];
        Array::Read { row, column, word, accumulate: opcode == MAC_CONTEXT, flags }
    }

    fn write_of(&self, item: &Item) -> Bus {
        let Command { opcode, word, .. } = item.command;
        if opcode == WR_SHARED { Bus::Host { word } } else { Bus::Weights { word } }
    }

    fn results_of(&self, item: &Item) -> Bus {
        self.sizes.results(&item.command)
    }
}
