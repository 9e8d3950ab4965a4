// SPDX-License-Identifier: MIT
//! A processing-in-memory rank: DRAM arrays, the bank PUs at their row buffers, the shared buffers,
//! and the rank PU's adder unit (L3 section 4).
//!
//! # Modules
//!
//! From the top down. A module imports from modules below it alone, and nothing through this file:
//! `tests/imports.rs` holds it to that.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `ranks` | [`Ranks`]: a device of many, behind the host's channels |
//! | `rank` | [`Rank`]: all of a rank, one tCK at a time, and the programs that it executes |
//! | [`aim`] | a module of GDDR6-AiM channels, with the same units |
//! | `observe` | [`Observer`]: watches all of a rank |
//! | `units` | [`RankUnits`]: the units, as models, as RTL, or as both in lockstep |
//! | `sum_path` | bank PUs, bursts of results on the data bus, adder unit |
//! | `wave` | [`RankWave`]: a waveform of the rank |
//! | `bank_pus` | [`BankPus`]: the PUs at their banks, with the shared buffers |
//! | `softmax` | the softmax unit and the score buffer |
//! | `weights` | words of weights, between the softmax unit and the data bus |
//! | `sequencer` | the sequencer, between the dispatcher and the rank's ports |
//! | `dispatcher` | the dispatcher, with the memories beside it |
//! | `control` | rank controller and refresh manager |
//! | `buffer_chip` | [`BufferChip`]: what data pass on their way to the chips, with re-layout or without |
//! | `back_end` | [`BackEnd`]: makes instances of units |
//! | `chips` | [`Chips`]: the chips at their pins, as memory |
//! | `channel` | the host's channel, whose pins several ranks share |
//! | `error` | [`RankError`]: what ends a run |
//! | [`dispatch`] | what a run of a program starts with, what it makes, and why it ends |
//! | `requests` | what a rank is asked for in a tCK, and what happened in it |
//! | [`spd`] | what the module tells a host of its timing, honest or spoofed |
//! | [`energy`] | what an operator takes of it |
//! | [`gemv`] | where the weights of a matrix lie |
//! | `traffic` | [`HostTransfer`]: what crosses the host's channel |
//! | [`mapping`] | where the elements of K, V and Q lie |
//! | `topology` | [`Topology`]: where each rank is |
//! | `timeline` | [`Timeline`]: what a device did over time |
//! | `accounts` | which slots were used, and why the others were not |
//! | `statistics` | [`Statistics`]: slots used and lost, and how busy the units were |
//! | `options` | [`Options`]: how a rank works |
//! | `pins` | [`PinWatch`]: watches the chips' pins |
//! | `command` | [`DramCommand`]: what stands on the chips' command pins |
//! | [`data_bus`] | bursts on the data bus, beat by beat |
//! | `dram` | [`Dram`]: the cell arrays |
//! | `config` | [`Config`]: organisation and timing, from a preset file |
//! | `sizes` | sizes that the units fix |

mod accounts;
pub mod aim;
mod back_end;
mod bank_pus;
mod buffer_chip;
mod channel;
mod chips;
mod command;
mod config;
mod control;
pub mod data_bus;
pub mod dispatch;
mod dispatcher;
mod dram;
pub mod energy;
mod error;
pub mod gemv;
pub mod mapping;
mod observe;
mod options;
mod pins;
mod rank;
mod ranks;
mod requests;
mod sequencer;
mod sizes;
mod softmax;
pub mod spd;
mod statistics;
mod sum_path;
mod timeline;
mod topology;
mod traffic;
mod units;
mod wave;
mod weights;

pub use accounts::Gap;
pub use back_end::BackEnd;
pub use bank_pus::BankPus;
pub use buffer_chip::{BufferChip, DataPath, Sides};
pub use chips::Chips;
pub use command::{DramCommand, Results};
pub use config::{Config, ConfigError, Organisation, Timing};
pub use control::controls;
pub use dram::{Cells, Dram};
pub use error::RankError;
pub use observe::{BusTraffic, Observed, Observer};
pub use options::{Activation, Normalise, Options, SumFormat};
pub use pimlico_ports::Mismatch;
pub use pins::{BusDriver, PinWatch};
pub use rank::Rank;
pub use ranks::{RankRun, Ranks, Together};
pub use requests::{
    AllBankRead, ArrayRequest, BusRequest, Events, Lanes, Outputs, Requests, Score, Scores, Shared,
    Sum, Weigh,
};
pub use sizes::{Burst, CHIPS, HEADS, LANES, PARTIAL_SUMS, SCORE_BUFFER, SHARED_WORDS};
pub use softmax::Made;
pub use statistics::{Lost, Statistics};
pub use sum_path::SumPorts;
pub use timeline::{Activity, STRETCHES, Timeline};
pub use topology::{Address, Topology, TopologyError};
pub use traffic::HostTransfer;
pub use units::RankUnits;
pub use wave::RankWave;
