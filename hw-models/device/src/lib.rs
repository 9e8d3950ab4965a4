// SPDX-License-Identifier: MIT
//! A processing-in-memory rank: DRAM arrays, the bank PUs at their row buffers, the shared buffers,
//! and the rank PU's adder unit (L3 section 4).
//!
//! * [`Config`]: organisation and timing, from a preset file.
//! * [`Dram`]: the cell arrays.
//! * [`DramCommand`]: what stands on the chips' command pins.
//! * [`Chips`]: the chips at their pins, as memory.
//! * [`BankPus`]: the PUs at their banks, with the shared buffers.
//! * [`BufferChip`]: what data pass on their way to the chips, with re-layout or without.
//! * [`mapping`]: where the elements of K, V and Q lie.
//! * [`RankUnits`]: the units, as models, as RTL, or as both in lockstep.
//! * [`Rank`]: all of it, one tCK at a time.
//! * [`schedule`]: the commands of score and context, tCK by tCK.
//! * [`spd`]: what the module tells a host of its timing, honest or spoofed.
//! * [`Statistics`]: slots used and lost, and how busy the units were.

mod accounts;
mod bank_pus;
mod buffer_chip;
mod chips;
mod command;
mod config;
pub mod data_bus;
mod dram;
pub mod mapping;
mod rank;
pub mod schedule;
pub mod spd;
mod statistics;
mod wave;

pub use bank_pus::{BankPus, SHARED_WORDS};
pub use buffer_chip::{BufferChip, DataPath, Sides};
pub use chips::Chips;
pub use command::{DramCommand, Results};
pub use config::{Config, ConfigError, Organisation, Timing};
pub use dram::{Burst, CHIPS, Dram, LANES};
pub use pimlico_ports::Mismatch;
pub use rank::{
    Activation, AllBankRead, ArrayRequest, BusDriver, BusRequest, Events, Options, PinWatch, Rank,
    RankError, RankUnits, Requests, Shared, Sum,
};
pub use statistics::{Lost, Statistics};
pub use wave::RankWave;
