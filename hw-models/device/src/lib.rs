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
//! * [`Ranks`]: a device of many, behind the host's channels; [`Topology`]: where each is.
//! * [`dispatch`]: the dispatcher, and the queues between it and the rank's ports.
//! * [`gemv`]: where the weights of a matrix lie.
//! * [`aim`]: a module of GDDR6-AiM channels, with the same units.
//! * [`spd`]: what the module tells a host of its timing, honest or spoofed.
//! * [`energy`]: what an operator takes of it.
//! * [`Timeline`]: what it did over time.
//! * [`Statistics`]: slots used and lost, and how busy the units were.

mod accounts;
pub mod aim;
mod bank_pus;
mod buffer_chip;
mod channel;
mod chips;
mod command;
mod config;
mod control;
pub mod data_bus;
pub mod dispatch;
mod dram;
pub mod energy;
pub mod gemv;
pub mod mapping;
mod rank;
mod ranks;
mod softmax;
pub mod spd;
mod statistics;
mod sum_path;
mod timeline;
mod topology;
mod wave;

pub use accounts::Gap;
pub use bank_pus::{BankPus, SHARED_WORDS};
pub use buffer_chip::{BufferChip, DataPath, Sides};
pub use chips::Chips;
pub use command::{DramCommand, Results};
pub use config::{Config, ConfigError, Organisation, Timing};
pub use dram::{Burst, CHIPS, Cells, Dram, LANES};
pub use pimlico_ports::Mismatch;
pub use rank::{
    Activation, AllBankRead, ArrayRequest, BackEnd, BusDriver, BusRequest, BusTraffic, Events,
    HostTransfer, Lanes, Normalise, Observed, Observer, Options, Outputs, PARTIAL_SUMS, PinWatch,
    Rank, RankError, RankUnits, Requests, Score, Scores, Shared, Sum, SumFormat, Weigh, controls,
};
pub use ranks::{RankRun, Ranks, Together};
pub use softmax::{HEADS, Made, SCORE_BUFFER};
pub use statistics::{Lost, Statistics};
pub use sum_path::SumPorts;
pub use timeline::{Activity, STRETCHES, Timeline};
pub use topology::{Address, Topology, TopologyError};
pub use wave::RankWave;
