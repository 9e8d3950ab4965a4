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
//! RD_ALL, when all sums have left the pipeline, the clock stands still until the next.

use crate::config::Config;
use crate::requests::AllBankRead;
use crate::sizes::{Burst, CHIPS, LANES, SHARED_WORDS};
use pimlico_ports::{Instances, Mismatch, U};
use pimlico_units::arith::{Binary16, Format, Fp};
use pimlico_units::bank::{BankPu, BankPuIn, BankPuOut, Beat, SideBySide};
use std::any::Any;

/// Slots without an RD_ALL after which no PU has anything left to do.
const IDLE_SLOTS: u64 = BankPu::<Binary16>::TREE_LATENCY + 1;

/// The ports of all bank PUs.
pub type BankPuPorts<'a, A> = (&'a [BankPuIn<Binary16, A>], &'a [BankPuOut<Binary16, A>]);

/// The PUs of a rank, whose sums are of format `A`.
pub struct BankPus<A: Format> {
    units: Box<dyn Instances<BankPu<Binary16, A>>>,
    /// Somebody looks at the ports. Otherwise those of vectors are left out: what the rows hold is
    /// multiplied where it stands.
    shows_ports: bool,
    shared: Box<[Burst]>,
    /// What vectors multiply the rows with.
    factors: Box<[Burst]>,
    inputs: Box<[BankPuIn<Binary16, A>]>,
    outputs: Box<[BankPuOut<Binary16, A>]>,
    banks_per_group: usize,
    slot_tck: u64,
    /// The next slot begins here, unless an RD_ALL begins one sooner.
    next_slot_tck: u64,
    /// Slots before the clock stands still.
    slots_left: u64,
}

impl<A: Format> BankPus<A> {
    /// PUs that have been reset, that of chip `c` at logic bank `b` being number `8 b + c` of `units`.
    pub fn new(config: &Config, units: Box<dyn Instances<BankPu<Binary16, A>>>) -> Self {
        let count = CHIPS * config.banks();
        Self {
            units,
            shows_ports: false,
            shared: vec![[0; CHIPS]; SHARED_WORDS].into(),
            factors: vec![[0; CHIPS]; config.banks()].into(),
            inputs: vec![BankPuIn::default(); count].into(),
            outputs: vec![BankPuOut::default(); count].into(),
            banks_per_group: config.organisation.banks_per_group,
            slot_tck: config.timing.ccd_l_tck,
            next_slot_tck: 0,
            slots_left: 0,
        }
    }

    /// Writes a word of the shared buffers.
    pub fn write_shared(&mut self, word: usize, burst: Burst) {
        self.shared[word] = burst;
    }

    /// One tCK, with what an RD_ALL in it brings from the row buffers, bank by bank. Returns whether
    /// results have become new with it.
    pub fn step(
        &mut self,
        at_tck: u64,
        read: Option<(&AllBankRead, &[Burst])>,
    ) -> Result<bool, Box<Mismatch>> {
        match read {
            Some(_) => self.slots_left = IDLE_SLOTS,
            None if self.slots_left == 0 || at_tck < self.next_slot_tck => return Ok(false),
            None => self.slots_left -= 1,
        }
        self.next_slot_tck = at_tck + self.slot_tck;
        if let Some(vectors) = vectors_mut(&mut *self.units, self.shows_ports) {
            let beat = read.map(|(read, bursts)| {
                factors(read, &self.shared[read.shared], self.banks_per_group, &mut self.factors);
                Beat {
                    accumulate: read.accumulate,
                    first: read.first,
                    last: read.last,
                    rows: bursts.as_flattened(),
                    factors: self.factors.as_flattened(),
                }
            });
            return Ok(vectors.step_alike(beat));
        }
        match read {
            Some((read, bursts)) => self.take(read, bursts),
            None => self.inputs.iter_mut().for_each(|input| input.valid_i = false),
        }
        self.units.step(&self.inputs, &mut self.outputs)?;
        Ok(self.outputs[0].result_valid_o)
    }

    fn take(&mut self, read: &AllBankRead, bursts: &[Burst]) {
        let shared = &self.shared[read.shared];
        for ((bank, burst), inputs) in bursts.iter().enumerate().zip(self.inputs.chunks_mut(CHIPS))
        {
            let select_i = U::new((bank / self.banks_per_group) as u64);
            for ((input, row), shared) in inputs.iter_mut().zip(burst).zip(shared) {
                *input = BankPuIn {
                    valid_i: true,
                    accumulate_i: read.accumulate,
                    first_i: read.first,
                    last_i: read.last,
                    select_i,
                    row_i: elements(*row),
                    shared_i: elements(*shared),
                    ..Default::default()
                };
            }
        }
    }

    /// Has [`ports`](Self::ports) show what the PUs are told, from their next clock on.
    pub fn show_ports(&mut self) {
        if let Some(vectors) = vectors(&*self.units, self.shows_ports) {
            for (unit, output) in self.outputs.iter_mut().enumerate() {
                output.result_o = std::array::from_fn(|lane| result(vectors, unit, lane));
            }
        }
        self.shows_ports = true;
    }

    /// The score of a logic bank, from each chip.
    pub fn score(&self, bank: usize) -> [Fp<A>; CHIPS] {
        let score = |sum: Fp<A>| Fp::<Binary16>::from_bits(sum.to_bits()).widen();
        self.sum(bank, 0).map(score)
    }

    /// An element of the result registers of a logic bank, from each chip.
    pub fn sum(&self, bank: usize, lane: usize) -> [Fp<A>; CHIPS] {
        let first = CHIPS * bank;
        match vectors(&*self.units, self.shows_ports) {
            Some(vectors) => std::array::from_fn(|chip| result(vectors, first + chip, lane)),
            None => std::array::from_fn(|chip| self.outputs[first + chip].result_o[lane]),
        }
    }

    /// The ports in the current slot, if somebody looks at them.
    pub fn ports(&self) -> BankPuPorts<'_, A> {
        (&self.inputs, &self.outputs)
    }
}

/// The units, if they are vectors whose ports nobody looks at.
fn vectors<A: Format>(
    units: &dyn Instances<BankPu<Binary16, A>>,
    shows_ports: bool,
) -> Option<&SideBySide<Binary16>> {
    let units: &dyn Any = units;
    if shows_ports { None } else { units.downcast_ref() }
}

/// The same.
fn vectors_mut<A: Format>(
    units: &mut dyn Instances<BankPu<Binary16, A>>,
    shows_ports: bool,
) -> Option<&mut SideBySide<Binary16>> {
    let units: &mut dyn Any = units;
    if shows_ports { None } else { units.downcast_mut() }
}

/// What vectors put out: their sums are binary16, and so is `A`.
fn result<A: Format>(vectors: &SideBySide<Binary16>, unit: usize, lane: usize) -> Fp<A> {
    Fp::from_bits(vectors.result(unit, lane).to_bits())
}

/// What an RD_ALL multiplies the columns of the banks with.
fn factors(read: &AllBankRead, shared: &Burst, banks_per_group: usize, factors: &mut [Burst]) {
    if !read.accumulate {
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
