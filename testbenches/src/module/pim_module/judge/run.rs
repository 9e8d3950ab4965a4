// SPDX-License-Identifier: MIT
//! A run of a program, and what was seen of it.

use super::error;
use crate::bench::OracleError;
use crate::module::pim_module::taken::Taken;
use pimlico_dpa::types::{Burst, Columns, Fault, Row};
use pimlico_golden::dispatch::{self, Dispatched};
use pimlico_golden::rank::{Column, Source};
use pimlico_golden::sequencer::Sizes;
use pimlico_golden::sequencer::opcode::{MAC_CONTEXT, MAC_SCORE, RD_RESULT, WR_SHARED, WR_WEIGHTS};
use std::collections::VecDeque;

/// Something that was seen, and in which cycle.
pub(super) type Seen<T> = (u64, T);

/// What an RD_ALL reads: the row that is open in all banks, the column, and what they hold.
pub(super) type Read = (Option<Row>, u8, Box<Columns>);

/// A run of a program, and what was seen of it.
pub(super) struct Run {
    pub commands: Vec<Dispatched>,
    /// Status and address of its end, as expected, and as seen.
    pub ending: Option<(u32, u32)>,
    pub end: Option<Seen<(u32, u32)>>,
    /// What RD_ALLs have read.
    pub reads: VecDeque<Seen<Read>>,
    /// How many there were of them, and how often results were new.
    pub macs: usize,
    pub sums: usize,
    /// Sums of runs before whose results were to come when this one began.
    pub late: usize,
    /// For each RD_RESULT, the sum whose results come too soon for it.
    pub too_soon: Vec<usize>,
    /// Which results an RD_RESULT has read, and in which tCK.
    pub results: VecDeque<Seen<(u64, u8)>>,
    /// Bursts that the host had for it.
    pub bursts: Option<usize>,
    pub operands: VecDeque<Seen<Burst>>,
    /// Words that a WR_SHARED has written, and how many of them with a burst of the host.
    pub writes: VecDeque<Seen<u8>>,
    pub hosts: usize,
    pub finishes: Vec<u64>,
    pub weighs: Vec<u64>,
    pub scores: Vec<Seen<(bool, u32, u16)>>,
    pub weights: Vec<Seen<(u32, u16)>>,
    pub context: Vec<Seen<(u32, u16)>>,
    pub outputs: Vec<Seen<u16>>,
    /// What is wrong with it.
    pub fault: Option<Seen<Fault>>,
    /// In the last tCK results came before all of the last had been read.
    pub overwritten: Option<bool>,
}

/// What went into a run, as the judge of a rank takes it.
pub(super) struct Inputs<'a> {
    pub run: &'a mut Run,
    pub weights: usize,
    /// A difference between what was asked for and what was read.
    pub wrong: Option<(u64, &'static str, u32, u32)>,
}

impl Source for Inputs<'_> {
    fn column(&mut self, row: u32, column: u32) -> Option<[Column; 16]> {
        let (cycle, (open, at, columns)) = self.run.reads.pop_front()?;
        if open.map(u32::from) != Some(row) {
            self.wrong = Some((cycle, "row of an RD_ALL", open.map_or(!0, u32::from), row));
        } else if u32::from(at) != column {
            self.wrong = Some((cycle, "column of an RD_ALL", at.into(), column));
        }
        Some(*columns)
    }

    fn results(&mut self) -> Option<u64> {
        self.run.results.pop_front().map(|(_, (tck, _))| tck)
    }

    fn operand(&mut self) -> Option<[u64; 8]> {
        self.run.operands.pop_front().map(|(_, burst)| burst)
    }

    fn weight(&mut self) -> Option<u16> {
        self.weights += 1;
        self.run.weights.get(self.weights - 1).map(|(_, (_, bits))| *bits)
    }
}

impl Run {
    /// The run of a program, where so many sums of runs before have not come.
    pub fn new(of: dispatch::Run, late: usize) -> Self {
        Self {
            too_soon: too_soon(&of.commands),
            commands: of.commands,
            ending: of.ending.map(|ending| (ending.status, ending.address)),
            end: None,
            reads: VecDeque::new(),
            macs: 0,
            sums: 0,
            late,
            results: VecDeque::new(),
            bursts: None,
            operands: VecDeque::new(),
            writes: VecDeque::new(),
            hosts: 0,
            finishes: Vec::new(),
            weighs: Vec::new(),
            scores: Vec::new(),
            weights: Vec::new(),
            context: Vec::new(),
            outputs: Vec::new(),
            fault: None,
            overwritten: Some(false),
        }
    }

    /// Leaves what was seen before a cycle: behind a fault a command is missing, and results may have been
    /// overwritten before they were read.
    pub fn cut(&mut self, cycle: u64) {
        self.scores.retain(|(at, _)| *at < cycle);
        self.weights.retain(|(at, _)| *at < cycle);
        self.context.retain(|(at, _)| *at < cycle);
        self.outputs.retain(|(at, _)| *at < cycle);
        self.reads.retain(|(at, _)| *at < cycle);
        self.results.retain(|(at, _)| *at < cycle);
        self.writes.retain(|(at, _)| *at < cycle);
    }

    /// When its commands were taken.
    pub fn taken(&self) -> Taken {
        let reads = self.reads.iter().map(|(at, _)| *at).collect();
        let results = self.results.iter().map(|(at, _)| *at).collect();
        let writes = self.writes.iter().map(|(at, _)| *at).collect();
        Taken([reads, results, writes, self.finishes.clone(), self.weighs.clone()])
    }

    /// Sums that the MACs which were on the pins have ended. One without a row or a column never is on the pins; one
    /// behind it may be, as it stands for the array before the fault is seen.
    pub fn sums_of(&self, commands: &[Dispatched], sizes: &Sizes) -> usize {
        let is_there = |it: &&Dispatched| it.row < sizes.rows && it.column < sizes.columns;
        let macs = commands.iter().filter(|it| is_mac(it)).filter(is_there).take(self.macs);
        macs.filter(|it| ends_sum(it)).count()
    }

    /// Whether results that come in this cycle find results before them that have not been read. Where an RD_RESULT
    /// before has outlasted its own, as those that the chips keep do, the sequencer sees it when it gets to it: `None`.
    pub fn overwrites(&self, cycle: u64, new_results: bool) -> Option<bool> {
        let read = self.results.iter().filter(|(at, _)| *at < cycle).count();
        let (sum, come) = (self.too_soon.get(read), self.sums.checked_sub(self.late + 1));
        let (Some(sum), Some(newest)) = (sum, come) else { return Some(false) };
        match new_results && *sum == newest {
            true => Some(true),
            false => Some(false).filter(|_| *sum > newest),
        }
    }
}

fn is_mac(command: &Dispatched) -> bool {
    [MAC_SCORE, MAC_CONTEXT].contains(&command.opcode)
}

fn ends_sum(command: &Dispatched) -> bool {
    is_mac(command) && command.flags[1]
}

/// For each RD_RESULT, the sum whose results come too soon for it: the first that ends behind it, or for what the
/// chips keep the one after.
fn too_soon(commands: &[Dispatched]) -> Vec<usize> {
    let mut sums = 0;
    let of_results = |command: &Dispatched| {
        sums += usize::from(ends_sum(command));
        let kept = command.word & 0x80 == 0 && command.word & 3 != 0;
        (command.opcode == RD_RESULT).then_some(sums + usize::from(kept))
    };
    commands.iter().filter_map(of_results).collect()
}

/// Compares the words that were written and the results that were read with those of the commands.
pub(super) fn addresses(commands: &[Dispatched], run: &Run) -> Result<(), OracleError> {
    let of = |kinds: &[u32]| -> Vec<u32> {
        let commands = commands.iter().filter(|command| kinds.contains(&command.opcode));
        commands.map(|command| command.word).collect()
    };
    let writes = of(&[WR_SHARED, WR_WEIGHTS]);
    for ((cycle, word), expected) in run.writes.iter().zip(writes) {
        if u32::from(*word) != expected {
            return Err(error(*cycle, "pins_o", (*word).into(), expected, "word of a WR_SHARED"));
        }
    }
    // Scores and outputs are read by their group alone.
    let bus = |word: u32| if word & 0x80 != 0 { word & 0xCF } else { word & 3 };
    for ((cycle, (_, address)), word) in run.results.iter().zip(of(&[RD_RESULT])) {
        if u32::from(*address) != bus(word) {
            let what = "address of an RD_RESULT";
            return Err(error(*cycle, "pins_o", (*address).into(), bus(word), what));
        }
    }
    Ok(())
}
