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

use crate::rank::AllBankRead;
use crate::{Burst, CHIPS, Config, LANES};
use pimlico_ports::{Instances, Mismatch, U};
use pimlico_units::arith::{Binary16, Format, Fp};
use pimlico_units::bank::{BankPu, BankPuIn, BankPuOut};

/// Words of 64 bits in a shared buffer: 2 KB.
pub const SHARED_WORDS: usize = 256;

/// Slots without an RD_ALL after which no PU has anything left to do.
const IDLE_SLOTS: u64 = BankPu::<Binary16>::TREE_LATENCY + 1;

/// The ports of all bank PUs.
pub type BankPuPorts<'a, A> = (&'a [BankPuIn<Binary16, A>], &'a [BankPuOut<Binary16, A>]);

/// The PUs of a rank, whose sums are of format `A`.
pub struct BankPus<A: Format> {
    units: Box<dyn Instances<BankPu<Binary16, A>>>,
    shared: Box<[Burst]>,
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
            shared: vec![[0; CHIPS]; SHARED_WORDS].into(),
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
            Some((read, bursts)) => {
                self.slots_left = IDLE_SLOTS;
                self.take(read, bursts);
            }
            None if self.slots_left == 0 || at_tck < self.next_slot_tck => return Ok(false),
            None => {
                self.slots_left -= 1;
                self.inputs.iter_mut().for_each(|input| input.valid_i = false);
            }
        }
        self.next_slot_tck = at_tck + self.slot_tck;
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

    /// The score of a logic bank, from each chip.
    pub fn score(&self, bank: usize) -> [Fp<A>; CHIPS] {
        std::array::from_fn(|chip| self.outputs[CHIPS * bank + chip].score().widen())
    }

    /// An element of the result registers of a logic bank, from each chip.
    pub fn sum(&self, bank: usize, lane: usize) -> [Fp<A>; CHIPS] {
        std::array::from_fn(|chip| self.outputs[CHIPS * bank + chip].result_o[lane])
    }

    /// The ports in the current slot.
    pub fn ports(&self) -> BankPuPorts<'_, A> {
        (&self.inputs, &self.outputs)
    }
}

/// The elements of a 64-bit word.
fn elements(word: u64) -> [Fp<Binary16>; LANES] {
    std::array::from_fn(|lane| Fp::from_bits((word >> (16 * lane)) as u32 & 0xFFFF))
}
