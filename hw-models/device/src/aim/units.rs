// SPDX-License-Identifier: MIT
//! What executes the units of a module, and how it works.

use super::back_end::{BackEnd, ModelBackEnd};
use super::softmax::{CHUNK, RTL_LANES, SoftmaxUnits};
use crate::config::{Config, ConfigError};
use crate::gemv::IoBuffers;
use pimlico_ports::{Instances, Mismatch, Models};
use pimlico_units::arith::Binary16;
use pimlico_units::bank::{PingpongBuffer, PingpongBufferIn, PingpongBufferOut, TreePu, TreePus};
use pimlico_units::gear::Gear1;
use pimlico_units::lap::Walk;
use pimlico_units::rank::{AdderUnit, RefreshManager};

use std::any::Any;

/// Command slots in a cycle of the module, which is a tCCD: each a tCK. Commands of the arrays are in the first,
/// those of the data lines in the second.
pub const SLOTS: usize = 2;

/// Cycles of the module in one of its extra processing unit.
pub const EPU_CYCLES: u64 = 2;

/// Multipliers of a PU: elements of a column.
pub const MULTIPLIERS: usize = 16;

// A chunk of softmax is a word of the GPR, which is one of the global buffers.
const _: () = assert!(MULTIPLIERS == CHUNK);

/// Banks, and so PUs, of a channel.
pub const BANKS: usize = 16;

/// Words in a side of the global buffer: 2 KB (LoL-PIM Table 5).
pub const GLOBAL_WORDS: usize = 64;

/// Channels of a module, at most: four times LoL-PIM's.
pub const MOST_CHANNELS: usize = 64;

/// tCK from RD_RESULT to the output of the result registers: it is in a second slot, and they are read in the PUs' next
/// clock and have an output register.
const RESULT_TCK: u64 = 3;

/// What a column holds, or a word of the I/O buffers: 16 elements, four in each of its parts, the first
/// in the low bits.
pub type Word = [u64; 4];

/// Sixteen elements of binary16: a column of a bank, a word of the GPR or of the global buffer.
pub type Elements = [u16; MULTIPLIERS];

/// The PU at a bank.
pub type Pu = TreePu<Binary16>;

/// An adder unit, with a lane: no element waits for the sum of another.
pub type Adder = AdderUnit<Binary16, Binary16, Gear1>;

/// The controller of all channels.
pub type RankController = pimlico_units::rank::RankController<SLOTS>;

/// In which order a matrix of several groups of rows and several tiles of the vector is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All groups for the tile in the global buffer; the EPU adds up their sums.
    #[default]
    InputStationary,
    /// All tiles for a group, which come again for each group; its sums stay in the PUs.
    OutputStationary,
}

impl Order {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::InputStationary => "input-stationary",
            Self::OutputStationary => "output-stationary",
        }
    }
}

/// How matrices are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AimMapping {
    /// In which order they are taken.
    pub order: Order,
    /// Words of a tile, 1 to [`GLOBAL_WORDS`].
    pub tile_words: usize,
    /// Tokens of K that share a row of a bank, if not as many as have room.
    pub k_row_tokens: Option<usize>,
}

impl Default for AimMapping {
    fn default() -> Self {
        Self { order: Order::default(), tile_words: GLOBAL_WORDS, k_row_tokens: None }
    }
}

/// How a module works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AimOptions {
    /// Channels: 1 to [`MOST_CHANNELS`].
    pub channels: usize,
    /// One side in the I/O buffers and one command queue, or two of each.
    pub io_buffers: IoBuffers,
    /// Whether rows are refreshed.
    pub refresh: bool,
    /// Whether single buffers pay for the change between the modes of banks and registers.
    pub mode_change: bool,
    /// How matrices are mapped.
    pub mapping: AimMapping,
    /// Clocks from a beat of a PU to its result, 1 to [`Pu::LATENCY`], which is the RTL's: fewer are for models alone.
    pub pu_clocks: u64,
    /// Lanes of the softmax unit, 2, 4, 8 or 16: the RTL's are 2, and others are for the engine alone.
    pub softmax_lanes: usize,
    /// Whether softmax is beside score and context of other queries: the RTL's is not.
    pub head_pipeline: bool,
    /// Whether all queries that share K and V run on a row while it is open.
    pub shared_rows: bool,
}

impl Default for AimOptions {
    fn default() -> Self {
        Self {
            channels: 16,
            io_buffers: IoBuffers::PingPong,
            refresh: true,
            mode_change: true,
            mapping: AimMapping::default(),
            pu_clocks: Pu::LATENCY,
            softmax_lanes: RTL_LANES,
            head_pipeline: false,
            shared_rows: false,
        }
    }
}

impl AimOptions {
    /// PUs of all channels.
    pub fn pus(&self) -> usize {
        self.channels * BANKS
    }

    /// Whether the channels change between the modes of banks and registers.
    pub fn changes_mode(&self) -> bool {
        self.mode_change && self.io_buffers == IoBuffers::Single
    }

    /// Elements of a tile.
    pub fn tile(&self) -> usize {
        self.mapping.tile_words * MULTIPLIERS
    }

    /// Whether the sums of a matrix of so many rows stay in the PUs over all tiles.
    pub fn sums_stay(&self, rows: usize) -> bool {
        rows <= self.pus() || self.mapping.order == Order::OutputStationary
    }
}

/// I/O buffers with sides of `DEPTH` words: two sides or one.
pub enum IoBufferUnits<const DEPTH: usize> {
    /// Two.
    PingPong(Box<dyn Instances<PingpongBuffer<Word, DEPTH, true>>>),
    /// One.
    Single(Box<dyn Instances<PingpongBuffer<Word, DEPTH, false>>>),
}

impl<const DEPTH: usize> IoBufferUnits<DEPTH> {
    fn new<B: BackEnd>(
        io_buffers: IoBuffers,
        count: usize,
        cycle_ps: u64,
        back_end: &mut B,
    ) -> Result<Self, B::Error> {
        Ok(match io_buffers {
            IoBuffers::PingPong => Self::PingPong(back_end.instances(count, cycle_ps)?),
            IoBuffers::Single => Self::Single(back_end.instances(count, cycle_ps)?),
        })
    }

    /// Whether they are models, which do not change where nothing is written, read or released.
    pub(super) fn are_models(&self) -> bool {
        let units: &dyn Any = match self {
            Self::PingPong(units) => &**units,
            Self::Single(units) => &**units,
        };
        units.is::<Models<PingpongBuffer<Word, DEPTH, true>>>()
            || units.is::<Models<PingpongBuffer<Word, DEPTH, false>>>()
    }

    /// Goes over what of the first is no word, for [laps](pimlico_units::lap): all of them are told the same.
    pub(super) fn walk(&self, walk: &mut Walk<'_>) {
        fn of<const DEPTH: usize, const SIDES: bool>(
            units: &dyn Instances<PingpongBuffer<Word, DEPTH, SIDES>>,
            walk: &mut Walk<'_>,
        ) {
            let units: &dyn Any = units;
            type Buffers<const DEPTH: usize, const SIDES: bool> =
                Models<PingpongBuffer<Word, DEPTH, SIDES>>;
            match units.downcast_ref::<Buffers<DEPTH, SIDES>>().and_then(Models::first) {
                Some(unit) => unit.walk(walk),
                None => walk.refuse_if(true),
            }
        }
        match self {
            Self::PingPong(units) => of(&**units, walk),
            Self::Single(units) => of(&**units, walk),
        }
    }

    pub(super) fn step(
        &mut self,
        inputs: &[PingpongBufferIn<Word>],
        outputs: &mut [PingpongBufferOut<Word>],
    ) -> Result<(), Box<Mismatch>> {
        match self {
            Self::PingPong(units) => units.step(inputs, outputs),
            Self::Single(units) => units.step(inputs, outputs),
        }
    }
}

/// The units of a module, whoever executes them.
pub struct AimUnits {
    /// The PUs: that of bank `b` of channel `c` is number `16 c + b`.
    pub pus: Box<dyn Instances<Pu>>,
    /// The global buffer: one for all channels, which write and read the same words in the same clocks.
    pub global_buffer: IoBufferUnits<GLOBAL_WORDS>,
    /// The result registers, one for each channel: a word is a result of each of its PUs.
    pub result_registers: IoBufferUnits<1>,
    /// Element-wise addition, one for each channel.
    pub adder_units: Box<dyn Instances<Adder>>,
    /// The softmax unit.
    pub softmax_unit: SoftmaxUnits,
    /// The one controller of all channels.
    pub rank_controller: Box<dyn Instances<RankController>>,
    /// Its refresh manager.
    pub refresh_manager: Box<dyn Instances<RefreshManager>>,
}

impl AimUnits {
    /// The units that `options` ask for, made by a back end.
    pub fn new<B: BackEnd>(
        config: &Config,
        options: AimOptions,
        back_end: &mut B,
    ) -> Result<Self, B::Error> {
        let AimOptions { channels, io_buffers, .. } = options;
        let slot_ps = config.timing.ccd_l_tck * config.tck_ps;
        Ok(Self {
            pus: back_end.instances(options.pus(), slot_ps)?,
            global_buffer: IoBufferUnits::new(io_buffers, 1, slot_ps, back_end)?,
            result_registers: IoBufferUnits::new(io_buffers, channels, slot_ps, back_end)?,
            adder_units: back_end.instances(channels, EPU_CYCLES * slot_ps)?,
            softmax_unit: SoftmaxUnits::new(options.softmax_lanes, EPU_CYCLES * slot_ps, back_end)?,
            rank_controller: back_end.instances(1, slot_ps)?,
            refresh_manager: back_end.instances(1, slot_ps)?,
        })
    }

    /// The models.
    pub fn models(config: &Config, options: AimOptions) -> Self {
        let Ok(units) = Self::new(config, options, &mut ModelBackEnd);
        if options.pu_clocks == Pu::LATENCY {
            return units;
        }
        let pus = TreePus::of_latency(options.pus(), options.pu_clocks as usize);
        Self { pus: Box::new(pus), ..units }
    }
}

/// Whether the channels of a [`Module`](super::Module) can be what the configuration says: its units
/// have fixed widths.
pub fn check(config: &Config) -> Result<(), ConfigError> {
    let timing = &config.timing;
    let organisation = &config.organisation;
    let of_banks = organisation.banks_per_group;
    let one_clock = [timing.ccd_l_tck, timing.ccd_s_tck] == [SLOTS as u64; 2];
    // Results behind a word find the data lines turned round, as nothing waits for that.
    let word_tck = timing.cwl_gb_tck + timing.burst_tck + timing.rtw_gap_tck;
    let turns = timing.cl_reg_tck + timing.ccd_result_tck >= word_tck;
    for (key, value, holds, expected) in [
        ("chips", organisation.chips, organisation.chips == 1, "1 in a channel"),
        ("bank_groups", organisation.bank_groups, organisation.bank_groups == 4, "4"),
        ("banks_per_group", of_banks, of_banks == 4, "4"),
        ("column_bytes", organisation.column_bytes, organisation.column_bytes == 32, "32"),
        (
            "page_bytes",
            organisation.page_bytes,
            config.columns() >= GLOBAL_WORDS / 2,
            "1024 or more",
        ),
        (
            "RL_MAC",
            timing.rl_mac_tck as usize,
            timing.rl_mac_tck == 0,
            "0: the PUs' pipeline alone counts",
        ),
        ("CL_REG", timing.cl_reg_tck as usize, timing.cl_reg_tck >= RESULT_TCK, "3 or more"),
        ("CL_REG", timing.cl_reg_tck as usize, turns, "CWL_GB + BL + RTW_GAP - CCD_RESULT or more"),
        ("CCD_L", timing.ccd_l_tck as usize, one_clock, "2, as CCD_S: the PUs' clock"),
    ] {
        config.require(key, value as u64, holds, expected)?;
    }
    config.check_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_has_the_widths_and_latencies_of_its_units() {
        let refused = |change: fn(&mut Config)| {
            let mut config = Config::gddr6_aim();
            change(&mut config);
            check(&config).expect_err("it is no channel").to_string()
        };
        assert!(check(&Config::gddr6_aim()).is_ok());
        assert!(refused(|c| c.organisation.page_bytes = 512).contains("page_bytes = 512"));
        assert!(refused(|c| c.timing.cl_reg_tck = 2).contains("CL_REG = 2, expected 3 or more"));
        assert!(refused(|c| c.timing.cwl_gb_tck = 2).contains("CL_REG = 3, expected CWL_GB + BL"));
        assert!(refused(|c| c.timing.cl_reg_tck = 256).contains("at most 255"));
    }
}
