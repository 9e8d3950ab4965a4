// SPDX-License-Identifier: MIT
//! The rank: DRAM arrays, bank PUs, shared buffers and the adder unit, one tCK at a time.
//!
//! ```text
//!                 shared buffer (each chip)           16 logic banks x 8 chips
//!   Fill   ─────▶ [256 words of 64 bits] ──┐      ┌── row buffer ◀── AllBankRead
//!   (bus)                                  ▼      ▼
//!                                         bank PU (128)
//!   Sums   ◀──── adder unit ◀───────────── results ◀── Drain (bus)
//! ```
//!
//! A *slot* is tCCD_L: the bank PUs have one clock edge in it, at its end, and take what an all-bank
//! RD brings them in the slot. The adder unit has one in every tCK. Rows open at no cost so far.

use crate::{Burst, CHIPS, Config, Dram, LANES, RankWave, Statistics};
use pimlico_ports::{Instances, Mismatch, Models, U};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::bank::{BankPu, BankPuIn, BankPuOut};
use pimlico_units::rank::{AdderUnit, AdderUnitIn, AdderUnitOut};

/// Words of 64 bits in a shared buffer: 2 KB.
pub const SHARED_WORDS: usize = 256;

type Element = Fp<Binary16>;

/// The units of a rank, whoever executes them.
pub struct RankUnits {
    /// The bank PUs: that of chip `c` at logic bank `b` is number `8 b + c`.
    pub bank_pus: Box<dyn Instances<BankPu<Binary16>>>,
    /// The adder unit.
    pub adder_unit: Box<dyn Instances<AdderUnit<Binary16>>>,
}

impl RankUnits {
    /// The models.
    pub fn models(config: &Config) -> Self {
        Self {
            bank_pus: Box::new(Models::new(CHIPS * config.banks())),
            adder_unit: Box::new(Models::new(1)),
        }
    }
}

/// What the rank is told in one tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// Row to bank PUs. Only in the first tCK of a slot.
    pub read: Option<AllBankRead>,
    /// The first tCK of a burst to the shared buffers.
    pub fill: Option<Fill>,
    /// Results to the adder unit.
    pub drain: Option<Drain>,
}

/// An RD in all banks at once, and what the bank PUs do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllBankRead {
    /// Row.
    pub row: usize,
    /// Column.
    pub column: usize,
    /// Word of the shared buffer.
    pub shared: usize,
    /// Four accumulators with one scalar each (context) instead of the adder tree (score).
    pub accumulate: bool,
    /// Begins a sum.
    pub first: bool,
    /// Ends a sum.
    pub last: bool,
}

/// A burst to word `word` of the shared buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Word.
    pub word: usize,
    /// 64 bits for each chip.
    pub data: Burst,
}

/// One element from the result register of each chip's bank PU to the adder unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// Logic bank.
    pub bank: usize,
    /// Element of the result register.
    pub lane: usize,
    /// Accumulate for each chip (context) instead of summing up over the chips (score).
    pub accumulate: bool,
    /// Begins a sum.
    pub first: bool,
    /// Ends a sum.
    pub last: bool,
}

/// What the adder unit puts out in a tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// A sum over the chips.
    pub tree: Option<u16>,
    /// A sum for each chip.
    pub lanes: Option<[u16; CHIPS]>,
}

/// What ends a run of the rank.
#[derive(Debug, thiserror::Error)]
pub enum RankError {
    /// RTL and model differ.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
    /// The waveform cannot be written.
    #[error("waveform: {0}")]
    Wave(#[from] std::io::Error),
}

/// A rank.
pub struct Rank {
    config: Config,
    /// The cell arrays. Writing them takes no time so far.
    pub dram: Dram,
    units: RankUnits,
    shared: Box<[Burst]>,
    /// tCK since the start of the operator.
    tck: u64,
    /// Lost slots whose cause shows when the next RD comes, or does not come.
    pending: u64,
    statistics: Statistics,
    inputs: Box<[BankPuIn<Binary16>]>,
    results: Box<[BankPuOut<Binary16>]>,
    wave: Option<RankWave>,
}

impl Rank {
    /// A rank with empty arrays.
    ///
    /// # Panics
    ///
    /// If the configuration is not that of a rank: see [`Config::check_rank`].
    pub fn new(config: Config, units: RankUnits) -> Self {
        if let Err(error) = config.check_rank() {
            panic!("no rank: {error}");
        }
        let count = CHIPS * config.banks();
        Self {
            dram: Dram::new(&config),
            units,
            shared: vec![[0; CHIPS]; SHARED_WORDS].into(),
            tck: 0,
            pending: 0,
            statistics: Statistics::default(),
            inputs: vec![BankPuIn::default(); count].into(),
            results: vec![BankPuOut::default(); count].into(),
            wave: None,
            config,
        }
    }

    /// Organisation and timing.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Records what follows.
    pub fn trace(&mut self, wave: RankWave) {
        self.wave = Some(wave);
    }

    /// Ends the recording.
    pub fn finish_trace(&mut self) -> Result<(), RankError> {
        Ok(self.wave.take().map_or(Ok(()), RankWave::finish)?)
    }

    /// Starts an operator: time and statistics count from here, and a slot begins.
    pub fn begin(&mut self) {
        self.tck = 0;
        self.pending = 0;
        self.statistics = Statistics::default();
    }

    /// Ends an operator.
    pub fn end(&mut self) -> Statistics {
        self.statistics.lost.fill_drain += std::mem::take(&mut self.pending);
        Statistics { cycles: self.tck, ..self.statistics }
    }

    /// tCK since the start of the operator.
    pub fn tck(&self) -> u64 {
        self.tck
    }

    /// One tCK.
    ///
    /// # Panics
    ///
    /// If the command is none: an RD in the middle of a slot, a row, column or word that does not
    /// exist.
    pub fn step(&mut self, command: &Command) -> Result<Sums, RankError> {
        let starts_slot = self.tck.is_multiple_of(self.config.timing.ccd_l_tck);
        assert!(starts_slot || command.read.is_none(), "an RD in the middle of a slot");
        if starts_slot {
            self.count_slot(command.read.is_some());
            self.step_bank_pus(command.read)?;
        }
        if let Some(fill) = &command.fill {
            self.shared[fill.word] = fill.data;
            self.statistics.fills += 1;
            self.statistics.bus_cycles += self.config.timing.burst_tck;
        }
        let input = self.adder_unit_input(command.drain);
        let mut output = [AdderUnitOut::default()];
        self.units.adder_unit.step(&[input], &mut output)?;
        if let Some(wave) = &mut self.wave {
            wave.record(command, &self.inputs, &self.results, &input, &output[0])?;
        }
        self.tck += 1;
        let [output] = output;
        Ok(Sums {
            tree: output.tree_valid_o.then(|| output.tree_o.to_bits() as u16),
            lanes: output.lanes_valid_o.then(|| output.lanes_o.map(|x| x.to_bits() as u16)),
        })
    }

    fn count_slot(&mut self, read: bool) {
        if !read {
            self.pending += 1;
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        let before_first = self.statistics.used == 0;
        let lost = &mut self.statistics.lost;
        *(if before_first { &mut lost.fill_drain } else { &mut lost.bubble }) += pending;
        self.statistics.used += 1;
    }

    /// The clock of the bank PUs: they take what the RD brings, and show the results so far.
    fn step_bank_pus(&mut self, read: Option<AllBankRead>) -> Result<(), RankError> {
        match read {
            Some(read) => {
                let shared = &self.shared[read.shared];
                let banks_per_group = self.config.organisation.banks_per_group;
                let bursts = self.dram.read_all_banks(read.row, read.column);
                for ((bank, burst), inputs) in
                    bursts.iter().enumerate().zip(self.inputs.chunks_mut(CHIPS))
                {
                    for ((input, row), shared) in inputs.iter_mut().zip(burst).zip(shared) {
                        *input = BankPuIn {
                            valid_i: true,
                            accumulate_i: read.accumulate,
                            first_i: read.first,
                            last_i: read.last,
                            select_i: U::new((bank / banks_per_group) as u64),
                            row_i: elements(*row),
                            shared_i: elements(*shared),
                            ..Default::default()
                        };
                    }
                }
            }
            None => self.inputs.iter_mut().for_each(|input| input.valid_i = false),
        }
        Ok(self.units.bank_pus.step(&self.inputs, &mut self.results)?)
    }

    fn adder_unit_input(&mut self, drain: Option<Drain>) -> AdderUnitIn<Binary16> {
        let Some(drain) = drain else { return AdderUnitIn::default() };
        self.statistics.drains += 1;
        self.statistics.bus_cycles += 1;
        self.statistics.adder_unit_cycles += 1;
        AdderUnitIn {
            valid_i: true,
            accumulate_i: drain.accumulate,
            first_i: drain.first,
            last_i: drain.last,
            partial_i: Element::ZERO,
            x_i: std::array::from_fn(|chip| {
                self.results[CHIPS * drain.bank + chip].result_o[drain.lane]
            }),
            ..Default::default()
        }
    }
}

/// The elements of a 64-bit word.
fn elements(word: u64) -> [Element; LANES] {
    std::array::from_fn(|lane| Element::from_bits((word >> (16 * lane)) as u32 & 0xFFFF))
}
