// SPDX-License-Identifier: MIT
//! The PUs at the banks of all chips, with the chips' shared buffers.
//!
//! ```text
//!   WR_SHARED ──▶ shared buffer (each chip) ──┐     ┌── row buffers ◀── RD_ALL
//!                 [256 words of 64 bits]      ▼     ▼
//!                                          bank PU (128)
//!   RD_RESULT ◀─────────────────────────── result registers
//! ```
//!
//! Their clock has an edge at the end of every *slot* of tCCD_L. An RD_ALL begins a slot, whatever is
//! left of the one before; without one the next slot follows. After [`IDLE_SLOTS`] slots without an
//! RD_ALL, when all sums have left the pipeline, the clock stands still until the next. All this counts RL_MAC
//! from the RD_ALL on, when its columns are at the PUs.

use crate::config::Config;
use crate::dram::Dram;
use crate::sizes::{Burst, CHIPS, LANES, SHARED_WORDS};
use pimlico_dpa::types::Mac;
use pimlico_ports::Model;
use pimlico_units::arith::{Binary16, Binary32, Format, Fp};
use pimlico_units::bank::{BankPu, BankPuIn, BankPuOut, Beat, SideBySide};
use pimlico_units::lap::Walk;
use std::collections::VecDeque;

/// Slots without an RD_ALL after which no PU has anything left to do.
const IDLE_SLOTS: u64 = BankPu::<Binary16>::TREE_LATENCY + 1;

/// RD_ALLs on their way at once, at most: they are a burst of 4 tCK apart, and RL_MAC is 12 at most.
const PENDING: usize = 4;

/// What an RD_ALL does, and with which column of all banks.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// What the PUs do.
    pub mac: Mac,
    /// The row that is open.
    pub row: usize,
    /// Its column.
    pub column: usize,
}

/// An RD_ALL on the way of its columns.
struct Pending {
    /// When they are at the PUs. While a program has the pins nobody writes to the cells, so that they are as they were.
    at_tck: u64,
    read: Read,
}

/// Ports of the bank PUs of all chips at a bank.
pub type BankPuPorts<A> = ([BankPuIn<Binary16, A>; CHIPS], [BankPuOut<Binary16, A>; CHIPS]);

/// A format of sums, and what computes bank PUs that have it.
pub trait SumElement: Format {
    /// Computes the PUs.
    type Pus: Pus<Self>;
}

impl SumElement for Binary16 {
    type Pus = SideBySide<Binary16>;
}

impl SumElement for Binary32 {
    type Pus = OneByOne<Binary32>;
}

/// Bank PUs that receive the same commands: that of chip `c` at logic bank `b` is number `8 b + c`.
pub trait Pus<A: Format> {
    /// Banks whose PUs have to be there so that all tell when results are new.
    const LEAST_BANKS: usize;

    /// So many, reset.
    fn of(count: usize) -> Self;

    /// One cycle. Returns whether results are new with it.
    fn step(&mut self, beat: Option<Beat<'_>>) -> bool;

    /// Whether results may be new with the next cycle.
    fn may_be_due(&self) -> bool;

    /// An element of the result register of a PU, as its port shows it in the last cycle.
    fn result(&self, pu: usize, lane: usize) -> Fp<A>;

    /// Goes over what is no data, for [laps](pimlico_units::lap).
    fn walk(&self, walk: &mut Walk<'_>);
}

impl Pus<Binary16> for SideBySide<Binary16> {
    const LEAST_BANKS: usize = 0;

    fn of(count: usize) -> Self {
        Self::new(count)
    }

    fn step(&mut self, beat: Option<Beat<'_>>) -> bool {
        self.step_alike(beat)
    }

    fn may_be_due(&self) -> bool {
        self.is_due()
    }

    fn result(&self, pu: usize, lane: usize) -> Fp<Binary16> {
        SideBySide::result(self, pu, lane)
    }

    fn walk(&self, walk: &mut Walk<'_>) {
        SideBySide::walk(self, walk);
    }
}

/// Models, each by itself.
pub struct OneByOne<A: Format> {
    models: Box<[BankPu<Binary16, A>]>,
    outputs: Box<[BankPuOut<Binary16, A>]>,
}

impl<A: Format> Pus<A> for OneByOne<A> {
    const LEAST_BANKS: usize = 1;

    fn of(count: usize) -> Self {
        Self {
            models: (0..count).map(|_| BankPu::new()).collect(),
            outputs: vec![BankPuOut::default(); count].into(),
        }
    }

    fn step(&mut self, beat: Option<Beat<'_>>) -> bool {
        let pus = self.models.iter_mut().zip(&mut self.outputs).enumerate();
        for (n, (model, output)) in pus {
            let input = beat.map_or_else(BankPuIn::default, |beat| BankPuIn {
                valid_i: true,
                accumulate_i: beat.accumulate,
                first_i: beat.first,
                last_i: beat.last,
                row_i: elements(beat.rows[n]),
                // Four times the same, where a scalar is selected.
                shared_i: elements(beat.factors[n]),
                ..Default::default()
            });
            *output = model.step(&input);
        }
        self.outputs[0].result_valid_o
    }

    fn may_be_due(&self) -> bool {
        true
    }

    fn result(&self, pu: usize, lane: usize) -> Fp<A> {
        self.outputs[pu].result_o[lane]
    }

    fn walk(&self, walk: &mut Walk<'_>) {
        self.models.iter().for_each(|model| model.walk(walk));
    }
}

/// The PUs of a rank, whose sums are of format `A`.
pub struct BankPus<A: SumElement> {
    pus: A::Pus,
    /// Banks at which there are PUs: all, or the first for all.
    banks: usize,
    shared: Box<[Burst]>,
    /// What the columns are multiplied with.
    factors: Box<[Burst]>,
    banks_per_group: usize,
    slot_tck: u64,
    rl_mac_tck: u64,
    /// RD_ALLs whose columns are on their way.
    pending: VecDeque<Pending>,
    /// The next slot begins here, unless an RD_ALL begins one sooner.
    next_slot_tck: u64,
    /// Slots before the clock stands still.
    slots_left: u64,
    /// The bank whose PUs somebody watches, and their ports.
    watched: Option<(usize, Box<BankPuPorts<A>>)>,
}

impl<A: SumElement> BankPus<A> {
    /// PUs that have been reset.
    pub fn new(config: &Config) -> Self {
        Self {
            pus: A::Pus::of(CHIPS * config.banks()),
            banks: config.banks(),
            shared: vec![[0; CHIPS]; SHARED_WORDS].into(),
            factors: vec![[0; CHIPS]; config.banks()].into(),
            banks_per_group: config.organisation.banks_per_group,
            slot_tck: config.timing.ccd_l_tck,
            rl_mac_tck: config.timing.rl_mac_tck,
            pending: VecDeque::with_capacity(PENDING),
            next_slot_tck: 0,
            slots_left: 0,
            watched: None,
        }
    }

    /// From the reset on no data are of account: results are +0, or those of the PUs that are left.
    pub fn leave_data_out(&mut self) {
        self.banks = if self.watched.is_some() { 1 } else { A::Pus::LEAST_BANKS };
        self.pus = A::Pus::of(CHIPS * self.banks);
    }

    /// Writes a word of the shared buffers.
    pub fn write_shared(&mut self, word: usize, burst: Burst) {
        self.shared[word] = burst;
    }

    /// One tCK, perhaps with an RD_ALL of these cells. Returns whether the PUs have a cycle, and whether results have become
    /// new with it.
    pub fn step(&mut self, at_tck: u64, read: Option<Read>, cells: &Dram) -> (bool, bool) {
        if let Some(read) = read {
            self.pending.push_back(Pending { at_tck: at_tck + self.rl_mac_tck, read });
        }
        let arrives = self.pending.front().is_some_and(|oldest| oldest.at_tck == at_tck);
        let arrived = if arrives { self.pending.pop_front() } else { None };
        let arrived = arrived.map(|Pending { read: Read { mac, row, column }, .. }| {
            let is_read = self.banks > 0;
            (mac, if is_read { cells.read_all_banks(row, column) } else { &[] })
        });
        self.step_arrived(at_tck, arrived)
    }

    /// What an RD_ALL does, however long that takes: where it ends a sum, the results are new behind it.
    pub fn compute(&mut self, Read { mac, row, column }: Read, cells: &Dram) {
        let bursts = cells.read_all_banks(row, column);
        let (_, mut is_new) = self.step_arrived(self.next_slot_tck, Some((mac, bursts)));
        while mac.last && !is_new && self.slots_left > 0 {
            (_, is_new) = self.step_arrived(self.next_slot_tck, None);
        }
    }

    /// One tCK, perhaps with columns that are at the PUs.
    fn step_arrived(&mut self, at_tck: u64, read: Option<(Mac, &[Burst])>) -> (bool, bool) {
        match read {
            Some(_) => self.slots_left = IDLE_SLOTS,
            None if self.slots_left == 0 || at_tck < self.next_slot_tck => return (false, false),
            None => self.slots_left -= 1,
        }
        self.next_slot_tck = at_tck + self.slot_tck;
        let beat = read.map(|(mac, bursts)| {
            let shared = &self.shared[usize::from(mac.word)];
            let factors_of_banks = &mut self.factors[..self.banks];
            factors(mac.accumulate, shared, self.banks_per_group, factors_of_banks);
            Beat {
                accumulate: mac.accumulate,
                first: mac.first,
                last: mac.last,
                rows: bursts[..self.banks].as_flattened(),
                factors: factors_of_banks.as_flattened(),
            }
        });
        let is_new = self.pus.step(beat);
        if self.watched.is_some() {
            self.show(read, is_new);
        }
        (true, is_new)
    }

    /// Whether no columns are on their way, and nobody watches.
    pub fn may_rest(&self) -> bool {
        self.pending.is_empty() && self.watched.is_none()
    }

    /// Whether no results become new in so many tCK from this one on, if no RD_ALL comes in them but one in a last cycle of this
    /// tCK: the PUs have one cycle in them at most, and show nothing with it.
    pub fn is_quiet(&self, at_tck: u64, tck: u64, last_tck: u64) -> bool {
        let until_tck = at_tck + tck;
        let arrivals = self.pending.iter().map(|pending| pending.at_tck);
        let slot = (self.slots_left > 0).then_some(self.next_slot_tck.max(at_tck));
        let cycles = arrivals.chain(slot).chain([last_tck + self.rl_mac_tck]);
        let mut cycles = cycles.filter(|tck| *tck < until_tck);
        // Where columns arrive when the slot ends, that is the same cycle.
        let first = cycles.next();
        cycles.all(|cycle| Some(cycle) == first) && !(first.is_some() && self.pus.may_be_due())
    }

    /// So many times [`step`](Self::step) without an RD_ALL, at this tCK and so many tCK apart, but none with which results may
    /// become new. Returns how many it were.
    pub fn rest(&mut self, at_tck: u64, cycles: u64, every_tck: u64) -> u64 {
        let mut passed = 0;
        while passed < cycles && self.slots_left > 0 {
            let tck = at_tck + passed * every_tck;
            let until_slot = self.next_slot_tck.saturating_sub(tck).div_ceil(every_tck);
            if until_slot > 0 {
                passed += until_slot;
            } else if self.pus.may_be_due() {
                return passed;
            } else {
                self.step_arrived(tck, None);
                passed += 1;
            }
        }
        if self.slots_left > 0 { passed.min(cycles) } else { cycles }
    }

    /// So many times [`step`](Self::step) without an RD_ALL, at this tCK and so many tCK apart. Returns whether results have
    /// become new with one of them.
    pub fn pass(&mut self, at_tck: u64, cycles: u64, every_tck: u64, cells: &Dram) -> bool {
        let mut is_new = false;
        for tck in (0..cycles).map(|n| at_tck + n * every_tck) {
            let arrives = self.pending.front().is_some_and(|oldest| oldest.at_tck == tck);
            if arrives || self.slots_left > 0 && tck >= self.next_slot_tck {
                is_new |= self.step(tck, None, cells).1;
            }
        }
        is_new
    }

    /// Goes over what is no data, for [laps](pimlico_units::lap), in a tCK.
    pub fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        walk.refuse_if(self.watched.is_some());
        let Self { pus, pending, next_slot_tck, slots_left, .. } = self;
        pus.walk(walk);
        walk.size(pending.len());
        for Pending { at_tck, read: Read { mac, row, column } } in pending {
            walk.time(at_tck, now);
            walk.bits(mac);
            walk.size(*column);
            let mut moved = *row as u16;
            walk.row(&mut moved);
            *row = moved.into();
        }
        walk.time(next_slot_tck, now);
        walk.still(*slots_left);
    }

    /// Has [`ports`](Self::ports) show the PUs at a bank, from the reset on.
    pub fn watch(&mut self, bank: usize) {
        self.watched = Some((bank, Box::default()));
        if self.banks == 0 {
            self.leave_data_out();
        }
        self.show(None, false);
    }

    /// The ports of the watched PUs in the present cycle.
    fn show(&mut self, read: Option<(Mac, &[Burst])>, is_new: bool) {
        let Some((bank, ports)) = &mut self.watched else { return };
        let (inputs, outputs) = &mut **ports;
        inputs.iter_mut().for_each(|input| input.valid_i = false);
        if let Some((mac, bursts)) = read {
            for ((input, row), factors) in
                inputs.iter_mut().zip(&bursts[*bank]).zip(&self.factors[*bank])
            {
                *input = BankPuIn {
                    valid_i: true,
                    accumulate_i: mac.accumulate,
                    first_i: mac.first,
                    last_i: mac.last,
                    row_i: elements(*row),
                    shared_i: elements(*factors),
                    ..Default::default()
                };
            }
        }
        for (chip, output) in outputs.iter_mut().enumerate() {
            let pu = CHIPS * *bank + chip;
            output.result_valid_o = is_new;
            output.result_o = std::array::from_fn(|lane| self.pus.result(pu, lane));
        }
    }

    /// The ports of the PUs at the watched bank, if there is one.
    pub fn ports(&self) -> Option<&BankPuPorts<A>> {
        self.watched.as_ref().map(|(_, ports)| &**ports)
    }

    /// The score of a logic bank, from each chip.
    pub fn score(&self, bank: usize) -> [Fp<A>; CHIPS] {
        let score = |sum: Fp<A>| Fp::<Binary16>::from_bits(sum.to_bits()).widen();
        self.sum(bank, 0).map(score)
    }

    /// An element of the result registers of a logic bank, from each chip.
    pub fn sum(&self, bank: usize, lane: usize) -> [Fp<A>; CHIPS] {
        let Some(last) = self.banks.checked_sub(1) else { return [Fp::ZERO; CHIPS] };
        let bank = bank.min(last);
        std::array::from_fn(|chip| self.pus.result(CHIPS * bank + chip, lane))
    }
}

/// What an RD_ALL multiplies the columns of the banks with.
fn factors(accumulate: bool, shared: &Burst, banks_per_group: usize, factors: &mut [Burst]) {
    if !accumulate {
        return factors.fill(*shared);
    }
    for (group, banks) in factors.chunks_mut(banks_per_group).enumerate() {
        let scalar = |word: u64| (word >> (16 * (group % LANES)) & 0xFFFF) * 0x0001_0001_0001_0001;
        banks.fill(shared.map(scalar));
    }
}

/// The elements of a 64-bit word.
fn elements(word: u64) -> [Fp<Binary16>; LANES] {
    std::array::from_fn(|lane| Fp::from_bits((word >> (16 * lane)) as u32 & 0xFFFF))
}
