// SPDX-License-Identifier: MIT
//! LPDDR5X with a PIM block at each bank, of PIM-SHERPA (*PIM-SHERPA: Software Method for On-device LLM Inference*,
//! section 2): the device, its addresses, and where a matrix lies in it.
//!
//! * [`device`]: all channels, as their host has them.
//! * [`channel`]: the controller of a channel, its cells and its blocks, a command at a time.
//! * `wave`: a waveform of its commands.
//! * `controller`: when the host's controller may give which command.
//! * [`blocks`]: the PIM blocks at the banks, and their arithmetic.
//! * [`units`]: modes and blocks as units behind the pins, models or RTL.
//! * [`mode`]: the mode of all banks, and what an address means in it.
//! * [`request`]: what a host asks for.
//! * [`options`]: how a device works.
//! * [`preset`]: a device, from a file.
//! * [`gemv`]: the tCK of a matrix times a vector, in closed form.
//! * [`address`]: which bits of an address are row, bank, column.
//! * [`layout`]: a matrix in the banks, as PIM blocks take it, and in the host's order.
//!
//! ```
//! use pimlico_device::lp5::{AddressMap, Lp5Layout};
//!
//! let map: AddressMap = AddressMap::DEFAULT.parse()?;
//! let layout = Lp5Layout::new(&map, 2048, 512, map.weight_rows())?;
//! // Row 17 of the matrix is in lane 1 of its second vector of 16, which is in the second channel.
//! let place = layout.element(17, 0);
//! assert_eq!((place.channel, place.row, place.column, place.byte), (1, 0, 0, 2));
//! assert_eq!(layout.element_at(place), Some((17, 0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod address;
pub mod blocks;
pub mod channel;
mod controller;
pub mod device;
pub mod gemv;
pub mod layout;
pub mod mode;
pub mod options;
pub mod preset;
pub mod request;
#[cfg(test)]
mod tests;
pub mod units;
mod wave;

pub use address::{AddressField, AddressMap, AddressMapError, Coordinates};
pub use blocks::{BlockCounts, BlockElements, BlockFormats, Vector};
pub use channel::BusUse;
pub use device::{Lp5Device, Lp5Host};
pub use gemv::GemvPlan;
pub use layout::{HostOrder, Lp5Layout, Lp5LayoutError};
pub use options::Lp5Options;
pub use preset::Lp5Spec;
pub use request::{BurstPlace, Request};
