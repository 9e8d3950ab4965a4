// SPDX-License-Identifier: MIT
//! NeuPIMs' memory: channels of HBM2 whose banks have two row buffers, MEM for reads and writes and PIM for dot products, and a
//! controller for each channel (*NeuPIMs: NPU-PIM Heterogeneous Acceleration for Batched LLM Inferencing*, ASPLOS 2024).
//!
//! * [`channel`]: a channel: its controller, a cycle at a time or at rest, and its banks.
//! * [`design`]: the channel as its hardware makes it, models or RTL.
//! * [`banks`]: the DRAM's side: cells, row buffers, global buffer, PUs.
//! * [`pus`]: the arithmetic of the PUs.
//! * [`pins`]: commands on the pins, for those who watch them.
//! * [`statistics`]: what a channel did, and what it lost to what.
//! * [`request`]: what a host asks for, and what it is told of.
//! * [`layout`]: matrices, K and V in the banks.
//! * [`options`]: how a channel works.
//! * [`preset`]: a device, from a file.
//!
//! ```
//! use pimlico_device::neupims::{KvLayout, Shape};
//!
//! // Eight heads of 128 elements: a token's K takes two rows of a bank.
//! let layout = KvLayout::new(Shape { heads: 8, head_dim: 128, tokens: 300 }, 2, 32_768)?;
//! let place = layout.key(33, 513);
//! assert_eq!((place.bank, place.row, place.element), (1, 2 + 3, 1));
//! # Ok::<(), pimlico_device::ConfigError>(())
//! ```

pub mod banks;
pub mod channel;
mod controller;
pub mod design;
mod events;
pub mod layout;
pub mod options;
pub mod pins;
pub mod preset;
pub mod pus;
pub mod request;
mod sizes;
pub mod statistics;
#[cfg(test)]
mod tests;

pub use banks::Faults;
pub use channel::{ChannelHost, NeupimsChannel};
pub use design::{ChannelDesign, UnitDesign, WholeDesign};
pub use layout::{ElementPlace, KvLayout, MatrixTiles, Shape};
pub use options::{ChannelOptions, Commands, Memory, ReadQueue, Window};
pub use pins::{ChannelPins, ChannelWatch};
pub use preset::NeupimsSpec;
pub use pus::PuSums;
pub use request::{BurstData, ChannelEvent, MemRequest, PimRequest, Row};
pub use sizes::{BANKS, BURST, COLUMNS, GROUP, PAGE, WORD, WORDS};
pub use statistics::{ChannelStatistics, Operation};
