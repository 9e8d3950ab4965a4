// SPDX-License-Identifier: MIT
//! Stimulus of `pim_chip`: commands and data as a rank may send them, made of random pins.

use super::{
    ACCUMULATE_EDGES, BURST, HAZARD, IDLE_SLOTS, STRETCH, TREE_EDGES, is_kept, keeps, of_pim,
    transfer,
};
use crate::random::Random;
use pimlico_dpa::types::{PinCommand, Pins, ResultAddress};
use pimlico_ports::{Enumerated, U, pack};
use pimlico_units::arith::Format;
use pimlico_units::rank::{PimChipIn, PimKey};
use std::collections::VecDeque;

/// CL, CWL, RL_MAC and tCCD_L; commands at a distance, bursts of one direction at a time; RD_ALLs of words that
/// are written, in sums that begin with a first beat; RD_RESULTs where there are results.
pub fn arrange<A: Format>(inputs: &mut [PimChipIn<A>]) {
    let Some(first) = inputs.first() else { return };
    let (cl_i, cwl_i) = (latency(first.cl_i), latency(first.cwl_i));
    let slot = 4 * (1 + usize::from(first.dq_i % 3));
    let rl_mac_i = rl_mac(first.rl_mac_i, cwl_i);
    let rl_mac = usize::from(rl_mac_i);
    let mrs = unlocking(&mut Random(pack(&first.pins_i)));
    let mut state = Arrangement { mrs, rl_mac, slot, ..Default::default() };
    for (tck, pair) in inputs.chunks_mut(2).enumerate() {
        let first = &mut pair[0];
        (first.cl_i, first.cwl_i, first.rl_mac_i) = (cl_i, cwl_i, rl_mac_i);
        (first.second_i, first.clk_tck_i) = (false, false);
        // The clocks of a held tCK stand still, and so does the time of the slots.
        let idle = state.arrivals.is_empty() && tck >= state.idle_from && tck >= state.slot_end;
        let held = first.dq_i % 32 == 31 && idle;
        let mut pins = drawn(first);
        if held {
            pins.command = PinCommand::None;
        }
        let reads_all = !held && state.command(tck, first, pins) == PinCommand::RdAll;
        let ends = state.follow > 0 && tck >= state.slot_end;
        if reads_all {
            pins = state.fit(tck, pins);
            state.arrivals.push_back(tck + rl_mac);
        }
        let arrives = state.arrivals.front() == Some(&tck);
        first.clk_pu_i = !held && (arrives || ends);
        if first.clk_pu_i {
            state.edges += 1;
            state.slot_end = tck + slot;
            state.follow = if arrives { IDLE_SLOTS } else { state.follow - 1 };
        }
        state.live += usize::from(!held);
        let command = if reads_all {
            state.all_from = tck + slot;
            PinCommand::RdAll
        } else {
            // What this tCK's edge brings counts.
            match state.command(tck, first, pins) {
                PinCommand::RdAll => PinCommand::None,
                command => command,
            }
        };
        state.arrivals.retain(|at| *at > tck);
        let aside = if command == PinCommand::None && !held { state.aside(pins) } else { None };
        pins.command = command;
        match command {
            PinCommand::SetWord => pins = state.set(tck, pins),
            PinCommand::WrShared => pins.column = state.word_written(pins),
            _ => {}
        }
        // Where there is no command, what the pins show is any code that says nothing.
        let says_nothing = command == PinCommand::None && !first.pins_i.decode().is_some();
        first.pins_i = match aside {
            Some(aside) => aside.encode(),
            None if says_nothing => first.pins_i,
            None => pins.encode(),
        };
        let address = ResultAddress::of_bits(pins.column);
        state.bursts.retain(|(_, at)| at + BURST > tck);
        match transfer(command) {
            Some(0 | 1) => {
                let from = tck + usize::from(cl_i);
                state.bursts.push_back((true, from));
                state.reads_from = tck + BURST;
                state.keeps |= command == PinCommand::RdResult && keeps(address);
                state.idle_from = state.idle_from.max(from + BURST);
            }
            Some(kind) => {
                let from = tck + usize::from(cwl_i);
                let end = from + BURST;
                state.bursts.push_back((false, from));
                state.writes_from = tck + BURST;
                state.idle_from = state.idle_from.max(end);
                if kind == 3 {
                    state.words.push((end, pins.column));
                }
            }
            None => {}
        }
        let tck_inputs = *first;
        if let [_, second] = pair {
            // The upper byte of an element: mostly of numbers that do not overflow.
            let byte = second.dq_i;
            let dq_i = if byte % 8 == 0 { byte } else { byte & 0x87 | 0x30 | byte >> 1 & 8 };
            let (second_i, clk_tck_i, clk_pu_i) = (true, !held, false);
            *second = PimChipIn { second_i, clk_tck_i, clk_pu_i, dq_i, ..tck_inputs };
        }
    }
}

fn latency(drawn: u8) -> u8 {
    match drawn % 16 {
        0 => 4,
        1 => 48,
        2..6 => 32 + drawn / 16,
        _ => 4 + drawn / 16,
    }
}

/// An RL_MAC that is no longer than CWL, so that no WR_SHARED overtakes an RD_ALL.
fn rl_mac(drawn: u8, cwl: u8) -> u8 {
    let rl_mac = match drawn % 4 {
        0 => 0,
        1 => 8,
        2 => 12,
        _ => drawn / 4 % 13,
    };
    rl_mac.min(cwl)
}

/// MRS until a chip is unlocked, some of them wrong; of one in eight no chip is.
fn unlocking(random: &mut Random) -> VecDeque<Pins> {
    let mut mrs = VecDeque::new();
    for _ in 0..random.below(3) {
        let right = random.below(4) as usize;
        mrs.extend(&Pins::PIM_KEY[..right]);
        let next = Pins::PIM_KEY[right].row();
        mrs.push_back(match random.below(5) {
            0 => Pins::mrs(7, next ^ 1 << random.below(14)),
            1 => Pins::mrs(random.below(7) as usize, next),
            2 => Pins::PIM_KEY[random.below(4) as usize],
            3 => Pins::PIM_LOCK,
            _ => Pins::mrs(random.below(8) as usize, random.below(1 << 14) as usize),
        });
    }
    if !random.one_in(8) {
        mrs.extend(Pins::PIM_KEY);
    }
    mrs
}

/// What random pins stand for: a command drawn of them, and what it is about.
fn drawn(input: &PimChipIn<impl Format>) -> Pins {
    let pins = pack(&input.pins_i);
    let command = PinCommand::ALL[(pins % 11) as usize];
    Pins { command, bank: U::new(pins >> 4), row: (pins >> 7) as u16, column: (pins >> 3) as u8 }
}

/// What the arrangement knows of the unit.
#[derive(Default)]
struct Arrangement {
    /// The first tCK in which a command that reads, writes, or is an RD_ALL may come.
    reads_from: usize,
    writes_from: usize,
    all_from: usize,
    /// Bursts on the data lines: whether the chip drives them, and their first tCK.
    bursts: VecDeque<(bool, usize)>,
    /// The first tCK in which nothing is on its way.
    idle_from: usize,
    /// When a word of the shared buffer is there for an RD_ALL.
    words: Vec<(usize, u8)>,
    /// The word that was set, and the one that an RD_ALL reads next.
    set: u8,
    next: u8,
    /// The word that is written last.
    last_word: u8,
    /// RL_MAC, and the tCK in which columns are at the PUs.
    rl_mac: usize,
    arrivals: VecDeque<usize>,
    /// tCK that were not held; those before the last RD_ALL, and the edge that its columns have.
    live: usize,
    last_all: Option<(usize, usize)>,
    /// tCCD_L.
    slot: usize,
    /// Edges of the PUs' clock, and the end of the present slot; slots that may follow it.
    edges: usize,
    slot_end: usize,
    follow: usize,
    /// Modes and edges of RD_ALLs that end a sum, and the first edge at which accumulator mode may begin.
    results: Vec<(bool, usize)>,
    accumulates_from: usize,
    /// The mode of the sum that goes on.
    open: Option<bool>,
    /// Scores are kept.
    keeps: bool,
    /// MRS that are still to come, and what they make of the chip.
    mrs: VecDeque<Pins>,
    key: PimKey,
}

impl Arrangement {
    /// A command that may come in this tCK: the drawn one, another, or none.
    fn command(&self, tck: usize, input: &PimChipIn<impl Format>, pins: Pins) -> PinCommand {
        let drawn = pins.command;
        // Commands that the chip does not look at are drawn more often than they are of use.
        let wanted = match drawn {
            PinCommand::Act | PinCommand::ActAll => PinCommand::RdAll,
            PinCommand::Pre | PinCommand::PreAll if self.words.len() < 2 => PinCommand::WrShared,
            PinCommand::Pre => PinCommand::RdAll,
            drawn => drawn,
        };
        let may = match wanted {
            wanted if of_pim(wanted).is_some() && !self.key.is_unlocked() => false,
            PinCommand::RdAll => {
                let sparse = tck / STRETCH % 2 == 1 && !pins.row.is_multiple_of(16);
                if sparse || tck < self.all_from {
                    return PinCommand::None;
                }
                let mut readable = self.readable(tck);
                let there = readable.any(|word| [self.set, self.next].contains(&word));
                match self.readable(tck).next() {
                    None => false,
                    Some(_) if !there || pins.row % 16 == 5 => return PinCommand::SetWord,
                    Some(_) => true,
                }
            }
            PinCommand::RdResult => self.may_read(tck, input) && self.has_result(pins),
            PinCommand::Rd => self.may_read(tck, input) && !self.arrivals.contains(&tck),
            PinCommand::Wr | PinCommand::WrShared => {
                tck >= self.writes_from && self.is_free(false, tck + usize::from(input.cwl_i))
            }
            _ => true,
        };
        if may { wanted } else { PinCommand::None }
    }

    /// The words of the shared buffer that an RD_ALL may read: they are written when its columns arrive, and not in
    /// that tCK.
    fn readable(&self, tck: usize) -> impl Iterator<Item = u8> {
        let tck = tck + self.rl_mac;
        let is_rewritten = move |word| self.words.contains(&(tck + 1, word));
        let written = self.words.iter().filter(move |(at, _)| *at <= tck).map(|(_, word)| *word);
        written.filter(move |word| !is_rewritten(*word))
    }

    fn may_read(&self, tck: usize, input: &PimChipIn<impl Format>) -> bool {
        tck >= self.reads_from && self.is_free(true, tck + usize::from(input.cl_i))
    }

    /// Whether no burst of the other direction is on the data lines with one that begins in `from`.
    fn is_free(&self, drives: bool, from: usize) -> bool {
        self.bursts.iter().all(|(other, at)| *other == drives || at.abs_diff(from) >= BURST)
    }

    /// Whether the registers that an RD_RESULT reads hold results, with the edge of this tCK.
    fn has_result(&self, pins: Pins) -> bool {
        let address = ResultAddress::of_bits(pins.column);
        if is_kept(address) {
            return self.keeps;
        }
        let sums = address.context_sums;
        let there = |(accumulate, edge): &(bool, usize)| {
            let later = if *accumulate { ACCUMULATE_EDGES } else { TREE_EDGES };
            (*accumulate || !sums) && edge + later <= self.edges
        };
        self.results.iter().any(there)
    }

    /// The edge that the columns of an RD_ALL in this tCK have: slots follow that of the last one until it comes.
    fn edge(&self) -> usize {
        self.last_all.map_or(1, |(live, edge)| {
            edge + 1 + ((self.live - live - 1) / self.slot).min(IDLE_SLOTS)
        })
    }

    /// Fits an RD_ALL into what is going on, in the slot of its columns.
    fn fit(&mut self, tck: usize, pins: Pins) -> Pins {
        let there = |word: u8| self.readable(tck).any(|other| other == word);
        let [set, next] = [there(self.set), there(self.next)];
        let mut what = pins.read_all();
        what.back = if what.back { set } else { !next };
        self.next = if what.back { self.set } else { self.next }.wrapping_add(1);
        let edge = self.edge();
        self.last_all = Some((self.live, edge));
        what.accumulate &= edge >= self.accumulates_from;
        // Most sums are of several beats.
        if let Some(mode) = self.open.filter(|_| !tck.is_multiple_of(4)) {
            what.accumulate = mode;
        }
        let accumulate = what.accumulate;
        what.first |= self.open != Some(accumulate);
        if what.last {
            self.results.push((accumulate, edge));
        }
        if !accumulate {
            self.accumulates_from = edge + 1 + HAZARD;
        }
        // A tree sum goes on behind its last beat, as an accumulator does.
        self.open = Some(accumulate);
        Pins::rd_all(pins.column(), what)
    }

    /// The word of a WR_SHARED: mostly the one behind the last, so that RD_ALLs can go on.
    fn word_written(&mut self, pins: Pins) -> u8 {
        let behind = self.last_word.wrapping_add(1);
        self.last_word = if pins.row.is_multiple_of(4) { pins.column } else { behind };
        self.last_word
    }

    /// What is on the pins where no other command is: an MRS, or a command that a locked chip ignores.
    fn aside(&mut self, pins: Pins) -> Option<Pins> {
        let mut random = Random(pack(&pins));
        if self.mrs.is_empty() && self.key.is_unlocked() && random.one_in(400) {
            self.mrs.push_back(Pins::PIM_LOCK);
            self.mrs.extend(unlocking(&mut random));
        }
        if random.one_in(2)
            && let Some(mrs) = self.mrs.pop_front()
        {
            self.key.command(mrs);
            return Some(mrs);
        }
        let locked = of_pim(pins.command).is_some() && !self.key.is_unlocked();
        let set = Pins { command: PinCommand::SetWord, ..pins };
        locked.then(|| if random.one_in(4) { set } else { pins })
    }

    /// Sets a word that an RD_ALL may read.
    fn set(&mut self, tck: usize, pins: Pins) -> Pins {
        let there: Vec<u8> = self.readable(tck).collect();
        let column = there[usize::from(pins.column) % there.len()];
        (self.set, self.next) = (column, column);
        Pins { command: PinCommand::SetWord, column, ..Pins::default() }
    }
}
