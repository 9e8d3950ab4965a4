// SPDX-License-Identifier: MIT
//! A processing-in-memory rank: DRAM arrays, the bank PUs at their row buffers, the shared buffers,
//! and the rank PU's adder unit (L3 section 4).
//!
//! # Modules
//!
//! From the top down. A module imports from modules below it alone, and nothing through this file:
//! `rtl/tests/imports.rs` holds it to that.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`spec`] | [`DeviceSpec`]: a device, from a file |
//! | `kinds` | [`SystemKind`]: the kinds of devices, and what a file may say of each |
//! | `ranks` | [`Ranks`]: a device of many, behind the host's channels |
//! | `rank` | [`Rank`]: all of a rank, one tCK at a time, and the programs that it executes; [`FunctionalRank`]: the same without time |
//! | [`aim`] | a module of GDDR6-AiM channels, with the same units |
//! | [`lp5`] | LPDDR5X-PIM: its channels, where a matrix lies in it, and by which addresses |
//! | [`neupims`] | NeuPIMs: channels of HBM2 with two row buffers at each bank |
//! | `module` | [`ModuleDevice`]: the module as one design, model or RTL, in the same channel |
//! | `device` | [`Device`]: what a host needs of a device; [`RankDevice`]: of a rank |
//! | `dimm` | [`Dimm`]: a module as its channel has it |
//! | `port_wave` | a waveform of a unit's ports |
//! | `wave` | the commands on the chips' pins as signals of a waveform |
//! | `memories` | command buffer and Va2Pa table, beside the dispatcher |
//! | `buffer_chip` | [`BufferChip`]: what data pass on their way to the chips, with re-layout or without |
//! | `chips` | [`Chips`]: the chips at their pins, as memory |
//! | `record` | sums over the tCK of a device, and the events for observers of its pins |
//! | `laps` | [`KnownLaps`]: what is known of rows of a run that are alike |
//! | `tape` | what observers of the chips' pins were told, to tell it again of later tCK |
//! | `mdq` | the data lines between buffer chip and chips, where the ranks of a DIMM share them |
//! | `channel` | the host's channel, whose pins several ranks share |
//! | `error` | [`DeviceError`]: what ends a run |
//! | [`dispatch`] | what a run of a program starts with, what it makes, and why it ends |
//! | [`spd`] | what the module tells a host of its timing, honest or spoofed |
//! | [`energy`] | what an operator takes of it |
//! | [`gemv`] | where the weights of a matrix lie |
//! | `traffic` | [`HostTransfer`]: what crosses the host's channel |
//! | [`mapping`] | where the elements of K, V and Q lie |
//! | `topology` | [`Topology`]: where each rank is, and what it shares |
//! | `timeline` | [`Timeline`]: what a device did over time |
//! | `accounts` | which slots were used, and why the others were not |
//! | `statistics` | [`Statistics`]: slots used and lost, and how busy the units were |
//! | `set_up` | [`SetUp`]: what the host writes so that programs can run |
//! | `options` | [`Options`]: how a rank works |
//! | `pins` | [`PinWatch`]: watches the pins of chips and host |
//! | `bursts` | [`BurstHost`]: a host that moves bursts whole |
//! | [`data_bus`] | bursts on the data bus, beat by beat |
//! | `dram` | [`Dram`]: the cell arrays |
//! | `config` | [`Config`]: organisation and timing of its DRAM |
//! | `sizes` | sizes that the units fix |

mod accounts;
pub mod aim;
mod buffer_chip;
mod bursts;
mod channel;
mod chips;
mod config;
pub mod data_bus;
mod device;
mod dimm;
pub mod dispatch;
mod dram;
pub mod energy;
mod error;
pub mod gemv;
mod kinds;
mod laps;
pub mod lp5;
pub mod mapping;
mod mdq;
mod memories;
mod module;
pub mod neupims;
mod options;
mod pins;
mod port_wave;
mod rank;
mod ranks;
mod record;
mod set_up;
mod sizes;
pub mod spd;
pub mod spec;
mod statistics;
mod tape;
mod timeline;
mod topology;
mod traffic;
mod wave;

pub use accounts::Gap;
pub use buffer_chip::{BufferChip, DataPath, Sides};
pub use bursts::{
    BURST_TCK, BankOrder, BurstHost, HostLatency, HostStep, Stretches, WriteRun, WriteStretch,
};
pub use chips::Chips;
pub use config::{Config, ConfigError, Currents, Organisation, Timing};
pub use device::{Device, Loads, RankDevice, Runs};
pub use dimm::{Dimm, Onlooker};
pub use dram::{Cells, Dram};
pub use error::{DeviceError, Hazard};
pub use kinds::SystemKind;
pub use laps::KnownLaps;
pub use module::ModuleDevice;
pub use options::{Gear, Normalise, Options, SumFormat};
pub use pimlico_ports::Mismatch;
pub use pins::{BusDriver, Looks, PinLaps, PinWatch};
pub use rank::{FunctionalRank, Rank, UnitInput, UnitWatch};
pub use ranks::{RankRun, Ranks, Together};
pub use set_up::{Sent, SetUp};
pub use sizes::{Burst, CHIPS, HEADS, LANES, PARTIAL_SUMS, SCORE_BUFFER, SHARED_WORDS};
pub use spec::DeviceSpec;
pub use statistics::{Lost, Statistics};
pub use timeline::{Activity, ProgramRun, Reads, STRETCHES, Timeline};
pub use topology::{Address, Mdq, Topology, TopologyError};
pub use traffic::HostTransfer;
