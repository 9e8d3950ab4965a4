// SPDX-License-Identifier: MIT
//! Bench of `pim_chip`: what is on the data lines is what the cell arrays hold or what `golden` sums up of
//! columns and shared buffer, and what is written arrives.

use super::burst_timer::BURST;
use super::judge::equal;
use super::known_code;
use crate::arith::plan::{SORTS, sort};
use crate::arith::precision;
use crate::coverage::{Bins, beats::Follow};
use crate::due::pop_due;
use crate::random::Random;
use crate::{Bench, OracleError};
use pimlico_dpa::types::{PinCommand, Pins, ReadAll, ResultAddress};
use pimlico_golden::pins::Lock;
use pimlico_golden::reduction::Precision;
use pimlico_ports::{Enumerated, U, pack};
use pimlico_units::arith::{Binary16, Format, Fp};
use pimlico_units::rank::{PimChip, PimChipIn, PimChipOut, PimKey};
use std::collections::VecDeque;

/// Banks, of four in a group.
const BANKS: usize = 16;
/// Edges of the PUs' clock from an RD_ALL to its result, in tree mode and in accumulator mode.
const TREE_EDGES: usize = 4;
const ACCUMULATE_EDGES: usize = 2;
/// Slots that a tree beat needs the adders for after its own.
const HAZARD: usize = 2;
/// Slots that follow the one of an RD_ALL.
const IDLE_SLOTS: usize = 5;
/// tCK in which RD_ALLs come alike.
const STRETCH: usize = 128;

const MODES: [&str; 2] = ["tree", "accumulator"];
const FLAGS: [&str; 4] = ["between", "first", "last", "first and last"];
const TRANSFERS: [&str; 4] = ["RD", "RD_RESULT", "WR", "WR_SHARED"];
/// Commands of processing in memory, and how a chip comes to be locked or not.
const OF_PIM: [&str; 5] = ["ACT_ALL_BANK", "SET_WORD", "RD_ALL_BANK", "RD_RESULT", "WR_SHARED"];
const KEYS: [&str; 4] = ["unlocked", "locked again", "unlocked again", "set, and nothing changes"];
const LATENCIES: [&str; 4] = ["4", "5 to 31", "32 to 47", "48"];
const RL_MACS: [&str; 4] = ["0", "1 to 7", "8", "9 to 12"];

fn latency_bin(latency: u8) -> usize {
    match latency {
        4 => 0,
        5..32 => 1,
        32..48 => 2,
        _ => 3,
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

fn rl_mac_bin(rl_mac: u8) -> usize {
    match rl_mac {
        0 => 0,
        1..8 => 1,
        8 => 2,
        _ => 3,
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

/// Which of `OF_PIM` a command is.
fn of_pim(command: PinCommand) -> Option<usize> {
    OF_PIM.iter().position(|name| *name == command.name())
}

/// Which of `TRANSFERS` a command begins.
fn transfer(command: PinCommand) -> Option<usize> {
    let transfers = [PinCommand::Rd, PinCommand::RdResult, PinCommand::Wr, PinCommand::WrShared];
    transfers.into_iter().position(|transfer| transfer == command)
}

/// An RD_RESULT of the first bank group's scores has the chip keep those of the others.
fn keeps(address: ResultAddress) -> bool {
    !address.context_sums && address.lane.get() == 0
}

/// An RD_RESULT of scores that are kept.
fn is_kept(address: ResultAddress) -> bool {
    !address.context_sums && address.lane.get() > 0
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

impl<A: Format> Bench for PimChip<A> {
    /// CL, CWL, RL_MAC and tCCD_L; commands at a distance, bursts of one direction at a time; RD_ALLs of words that
    /// are written, in sums that begin with a first beat; RD_RESULTs where there are results.
    fn arrange(inputs: &mut [PimChipIn<A>]) {
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

    fn plan(bins: &mut Bins) {
        bins.cross("beat of the PUs", &MODES, &FLAGS);
        Follow::plan("order of RD_ALLs, in slots", &MODES, bins);
        for gap in 0..HAZARD {
            bins.leave_out("order of RD_ALLs, in slots", 4 + gap); // accumulator after tree
        }
        bins.cross("latency of", &TRANSFERS, &LATENCIES);
        bins.declare("RL_MAC", RL_MACS);
        bins.declare("RD_ALLs on their way with it", ["none", "one", "more"]);
        Follow::plan("order of transfers that read", &TRANSFERS[..2], bins);
        Follow::plan("order of transfers that write", &TRANSFERS[2..], bins);
        bins.declare("RD_RESULT of scores, group", (0..4).map(|group| group.to_string()));
        let context = (0..16).map(|n| format!("{}, {}", n / 4, n % 4));
        bins.declare("RD_RESULT of context, bank, lane", context);
        bins.declare("RD_RESULT of context, upper", ["0", "1"]);
        bins.declare("bank of RD", (0..BANKS).map(|bank| bank.to_string()));
        let words = ["behind the last", "the one that was set", "just set"];
        bins.declare("word of RD_ALL", words);
        bins.declare("RD_ALL of a word", ["just written", "written before"]);
        bins.declare("RD_RESULT of results", ["just new", "some time old"]);
        bins.declare("scores that are kept", ["of the last results", "of results before"]);
        bins.cross("first number of an RD_RESULT", &MODES, &SORTS);
        if A::WIDTH > 16 {
            // Sums in a wider format than the elements' are never so small.
            bins.leave_out("first number of an RD_RESULT", SORTS.len() + 3);
        }
        bins.declare("a tCK is held", ["no", "yes"]);
        bins.declare("a locked chip ignores", OF_PIM);
        bins.declare("an MRS, and the chip is", KEYS);
    }

    fn cover(inputs: &[PimChipIn<A>], outputs: &[PimChipOut<A>], bins: &mut Bins) {
        let mut all = Follow::new("order of RD_ALLs, in slots", &MODES);
        let mut reads = Follow::new("order of transfers that read", &TRANSFERS[..2]);
        let mut writes = Follow::new("order of transfers that write", &TRANSFERS[2..]);
        let mut edges = 0;
        let mut kept_are_last = false;
        let mut was_unlocked = false;
        let mut words = (0_u8, 0); // set, next
        let mut just_set = false;
        let mut pending = VecDeque::new();
        let mut written: VecDeque<(usize, u8)> = VecDeque::new();
        for (tck, pair) in inputs.chunks_exact(2).enumerate() {
            let input = &pair[0];
            let pins = input.pins_i.decode();
            let Pins { command, bank, column, .. } = pins;
            bins.hit("a tCK is held", usize::from(!pair[1].clk_tck_i));
            let is_unlocked = outputs.get(2 * tck).is_some_and(|output| output.unlocked_o);
            if command == PinCommand::Mrs
                && let Some(next) = outputs.get(2 * tck + 2)
            {
                bins.hit(
                    "an MRS, and the chip is",
                    match (is_unlocked, next.unlocked_o) {
                        (false, true) => 2 * usize::from(was_unlocked),
                        (true, false) => 1,
                        _ => 3,
                    },
                );
                was_unlocked |= next.unlocked_o;
            }
            let ignored = of_pim(command).filter(|_| !is_unlocked);
            if let Some(ignored) = ignored {
                bins.hit("a locked chip ignores", ignored);
            }
            let command = if ignored.is_some() { PinCommand::None } else { command };
            if command == PinCommand::RdAll {
                let ReadAll { accumulate, first, last, back } = pins.read_all();
                let word = if back { words.0 } else { words.1 };
                words.1 = word.wrapping_add(1);
                let of_word = if back { 1 } else { 2 * usize::from(std::mem::take(&mut just_set)) };
                bins.hit("word of RD_ALL", of_word);
                let mode = usize::from(accumulate);
                let flags = usize::from(first) + 2 * usize::from(last);
                bins.hit_cross("beat of the PUs", mode, flags);
                bins.hit("RL_MAC", rl_mac_bin(input.rl_mac_i));
                bins.hit("RD_ALLs on their way with it", pending.len().min(2));
                pending.push_back((tck + usize::from(input.rl_mac_i), mode, word));
            }
            if let Some((_, mode, word)) = pop_due(&mut pending, |(at, ..)| *at == tck) {
                all.beat(mode, edges, 1, bins);
                let just = written.contains(&(tck, word));
                bins.hit("RD_ALL of a word", usize::from(!just));
            }
            if command == PinCommand::SetWord {
                words = (column, column);
                just_set = true;
            }
            edges += usize::from(input.clk_pu_i);
            let new = input.clk_pu_i
                && outputs.get(2 * tck + 1).is_some_and(|output| output.result_valid_o);
            kept_are_last &= !new;
            let Some(kind) = transfer(command) else { continue };
            let latency = if kind < 2 { input.cl_i } else { input.cwl_i };
            bins.hit_cross("latency of", kind, latency_bin(latency));
            if kind < 2 {
                reads.beat(kind, tck, BURST, bins);
            } else {
                writes.beat(kind - 2, tck, BURST, bins);
            }
            match command {
                PinCommand::Rd => bins.hit("bank of RD", bank.get() as usize),
                PinCommand::WrShared => {
                    written.push_back((tck + usize::from(input.cwl_i) + BURST, column));
                }
                PinCommand::RdResult => {
                    let address = ResultAddress::of_bits(column);
                    let (bank, lane) = (address.bank.get() as usize, address.lane.get() as usize);
                    if address.context_sums {
                        bins.hit("RD_RESULT of context, bank, lane", 4 * bank + lane);
                        bins.hit("RD_RESULT of context, upper", usize::from(address.upper));
                    } else {
                        bins.hit("RD_RESULT of scores, group", lane);
                    }
                    let begin = 2 * (tck + usize::from(input.cl_i));
                    let bytes = outputs.iter().skip(begin).map(|output| u32::from(output.dq_o));
                    let number = |bits: u32| {
                        let bytes = bytes.take(bits as usize / 8).enumerate();
                        bytes.map(|(n, byte)| byte << (8 * n)).sum()
                    };
                    let sort = match address.context_sums {
                        true => sort(Fp::<A>::from_bits(number(A::WIDTH))),
                        false => sort(Fp::<Binary16>::from_bits(number(16))),
                    };
                    if outputs.len() > begin + 4 {
                        let mode = usize::from(address.context_sums);
                        bins.hit_cross("first number of an RD_RESULT", mode, sort);
                    }
                    bins.hit("RD_RESULT of results", usize::from(!new));
                    kept_are_last |= keeps(address);
                    if is_kept(address) {
                        bins.hit("scores that are kept", usize::from(!kept_are_last));
                    }
                }
                _ => {}
            }
        }
    }

    fn oracle(inputs: &[PimChipIn<A>], outputs: &[PimChipOut<A>]) -> Result<u64, OracleError> {
        let mut chip = Chip::<A>::new(inputs.len());
        for (tck, pair) in inputs.chunks(2).enumerate() {
            chip.tck(tck, &pair[0], inputs);
        }
        for (beat, got) in outputs.iter().enumerate() {
            let (tck, second) = (beat / 2, beat % 2 == 1);
            let what = || format!("tCK {tck}, beat {}", beat % 2);
            let driven = chip.driven[beat];
            equal(beat, "drives_o", got.drives_o, driven.is_some(), what)?;
            equal(beat, "dq_o", got.dq_o, driven.unwrap_or(0), what)?;
            equal(beat, "idle_o", got.idle_o, !chip.busy[tck], what)?;
            equal(beat, "unlocked_o", got.unlocked_o, chip.unlocked[tck], what)?;
            equal(beat, "written_o", got.written_o, chip.written[tck], what)?;
            let write = chip.writes[tck];
            equal(beat, "cells_write_o", got.cells_write_o, write.is_some(), what)?;
            let (bank, column, data) = write.unwrap_or_default();
            equal(beat, "cells_write_bank_o", got.cells_write_bank_o.get(), bank, what)?;
            equal(beat, "cells_write_column_o", got.cells_write_column_o, column, what)?;
            if second {
                equal(beat, "cells_write_data_o", got.cells_write_data_o, data, what)?;
            }
            // New with an edge, until the next: the one in this tCK's first beat has come in its second.
            let edge = chip.edges[tck] + usize::from(second && inputs[beat - 1].clk_pu_i);
            let new = chip.result_edges.contains(&edge);
            equal(beat, "result_valid_o", got.result_valid_o, new, what)?;
        }
        Ok(outputs.len() as u64)
    }
}

/// The sums of a bank.
#[derive(Clone, Default)]
struct Bank {
    tree: u32,
    sums: [u32; 4],
    /// What the result register gets, and with which edge.
    results: Vec<(usize, Registered)>,
}

/// What a result register gets.
#[derive(Clone, Copy)]
enum Registered {
    Score(u32),
    Sums([u32; 4]),
}

/// What is known of the chip, tCK by tCK; what it drives, beat by beat.
struct Chip<A: Format> {
    golden: Precision,
    format: std::marker::PhantomData<A>,
    banks: Vec<Bank>,
    /// Scores of bank groups 1 to 3, as they were when those of group 0 were read.
    kept: [u32; BANKS],
    /// The word that was set, and the one that an RD_ALL reads next.
    words: [u8; 2],
    /// RD_ALLs on their way: when their columns are there, their words, and what they say.
    pending: VecDeque<(usize, u8, u64)>,
    /// Words of the shared buffer, and the tCK from which on each is there.
    shared: Vec<(usize, u8, u64)>,
    /// Edges of the PUs' clock before each tCK.
    edges: Vec<usize>,
    /// The edges with which results are new.
    result_edges: Vec<usize>,
    driven: Vec<Option<u8>>,
    busy: Vec<bool>,
    written: Vec<bool>,
    writes: Vec<Option<(u64, u8, u64)>>,
    lock: Lock,
    /// Before the end of each tCK.
    unlocked: Vec<bool>,
}

impl<A: Format> Chip<A> {
    fn new(beats: usize) -> Self {
        let tck = beats / 2 + 128;
        Self {
            golden: precision::<Binary16, A>(),
            format: std::marker::PhantomData,
            banks: vec![Bank::default(); BANKS],
            kept: [0; BANKS],
            words: [0; 2],
            pending: VecDeque::new(),
            shared: Vec::new(),
            edges: vec![0],
            result_edges: Vec::new(),
            driven: vec![None; 2 * tck],
            busy: vec![false; tck],
            written: vec![false; tck],
            writes: vec![None; tck],
            lock: Lock::new(true),
            unlocked: Vec::new(),
        }
    }

    /// A command, and what comes of it later.
    fn tck(&mut self, tck: usize, input: &PimChipIn<A>, inputs: &[PimChipIn<A>]) {
        let pins = known_code(&input.pins_i).unwrap_or_default();
        let is_locked = self.lock.is_locked();
        self.unlocked.push(!is_locked);
        if pins.command == PinCommand::Mrs {
            self.lock.mrs(pins.bank(), pins.row());
        }
        let ignored = is_locked && of_pim(pins.command).is_some();
        let pins = if ignored { Pins::NONE } else { pins };
        let Pins { command, bank, column, .. } = pins;
        let edges = self.edges[tck] + usize::from(input.clk_pu_i);
        self.edges.push(edges);
        let cwl = usize::from(input.cwl_i);
        let data = || {
            let bytes = inputs.iter().skip(2 * (tck + cwl)).take(2 * BURST);
            bytes.enumerate().map(|(n, input)| u64::from(input.dq_i) << (8 * n)).sum()
        };
        let end = tck + cwl + BURST;
        match command {
            PinCommand::SetWord => self.words = [column; 2],
            PinCommand::RdAll => self.ask(tck, usize::from(input.rl_mac_i), bank.get()),
            PinCommand::Rd => {
                let elements = input.cells_i[bank.get() as usize];
                self.drive(tck, input, elements.map(|element| (16, element.to_bits())).into());
            }
            PinCommand::RdResult => {
                let results = self.results(column, edges);
                self.drive(tck, input, results);
            }
            PinCommand::WrShared => {
                self.shared.push((end, column, data()));
                self.written[end - 1] = true;
            }
            PinCommand::Wr => self.writes[end - 1] = Some((bank.get(), column, data())),
            _ => {}
        }
        if let Some((_, word, bits)) = pop_due(&mut self.pending, |(at, ..)| *at == tck) {
            self.read_all(tck, edges, input, word, bits);
        }
        if matches!(command, PinCommand::Wr | PinCommand::WrShared) {
            self.busy[tck + 1..end].fill(true);
        }
    }

    /// Drives numbers of so many bits, the first first.
    fn drive(&mut self, tck: usize, input: &PimChipIn<A>, numbers: Vec<(u32, u32)>) {
        let begin = tck + usize::from(input.cl_i);
        let bytes = numbers
            .into_iter()
            .flat_map(|(bits, number)| number.to_le_bytes().into_iter().take(bits as usize / 8));
        let beats = &mut self.driven[2 * begin..2 * (begin + BURST)];
        beats.iter_mut().zip(bytes).for_each(|(beat, byte)| *beat = Some(byte));
        self.busy[tck + 1..begin + BURST].fill(true);
    }

    /// The numbers of an RD_RESULT, as its address bits are documented.
    fn results(&mut self, address: u8, edges: usize) -> Vec<(u32, u32)> {
        let (group, bank, lane) = (usize::from(address & 3), address >> 2 & 3, address & 3);
        if address & 0x80 == 0 {
            if group == 0 {
                self.kept = std::array::from_fn(|bank| self.banks[bank].lane(0, edges) & 0xFFFF);
            }
            return self.kept[4 * group..][..4].iter().map(|score| (16, *score)).collect();
        }
        let groups = match (A::WIDTH, address & 0x40) {
            (16, _) => 0..4,
            (_, 0) => 0..2,
            _ => 2..4,
        };
        let sum = |group: u8| self.banks[usize::from(4 * group + bank)].lane(lane.into(), edges);
        groups.map(|group| (A::WIDTH, sum(group))).collect()
    }

    /// An RD_ALL: its word is known with it, its columns come later.
    fn ask(&mut self, tck: usize, rl_mac: usize, bits: u64) {
        let word = self.words[usize::from(bits & 1 == 0)];
        self.words[1] = word.wrapping_add(1);
        self.pending.push_back((tck + rl_mac, word, bits));
        self.busy[tck + 1..=tck + rl_mac].fill(true);
    }

    /// The columns of an RD_ALL, which go into the latches with this edge.
    fn read_all(&mut self, tck: usize, edge: usize, input: &PimChipIn<A>, word: u8, bits: u64) {
        let [accumulate, first, last] = [3, 2, 1].map(|bit| bits >> bit & 1 != 0);
        let written = self.shared.iter().filter(|(at, of, _)| *at <= tck && *of == word);
        // The last one that was written.
        let word = written.max_by_key(|(at, ..)| *at).map_or(0, |(.., word)| *word);
        let factor = |lane: usize| (word >> (16 * lane)) as u32 & 0xFFFF;
        let later = if accumulate { ACCUMULATE_EDGES } else { TREE_EDGES };
        let golden = self.golden;
        for (number, (bank, row)) in self.banks.iter_mut().zip(&input.cells_i).enumerate() {
            let row = row.map(Fp::to_bits);
            let result = if accumulate {
                for (sum, x) in bank.sums.iter_mut().zip(row) {
                    let product = golden.product(x, factor(number / 4));
                    *sum = golden.add(product, if first { 0 } else { *sum });
                }
                Registered::Sums(bank.sums)
            } else {
                let products = std::array::from_fn(|k| golden.product(row[k], factor(k)));
                let sum = if first { 0 } else { bank.tree };
                bank.tree = golden.add(golden.lanes_sum(products), sum);
                Registered::Score(golden.element(bank.tree))
            };
            if last {
                bank.results.push((edge + later, result));
            }
        }
        if last {
            self.result_edges.push(edge + later);
        }
    }
}

impl Bank {
    /// What a lane of the result register holds after so many edges.
    fn lane(&self, lane: usize, edges: usize) -> u32 {
        let there = self.results.iter().filter(|(edge, _)| *edge <= edges);
        let of_lane = there.filter_map(|(edge, result)| match result {
            Registered::Score(score) if lane == 0 => Some((*edge, *score)),
            Registered::Score(_) => None,
            Registered::Sums(sums) => Some((*edge, sums[lane])),
        });
        of_lane.max_by_key(|(edge, _)| *edge).map_or(0, |(_, bits)| bits)
    }
}

/// All commands are known here.
const _: () = assert!(PinCommand::ALL.len() == 13);
