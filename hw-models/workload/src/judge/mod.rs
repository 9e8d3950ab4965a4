// SPDX-License-Identifier: MIT
//! Results beside those of `golden`, which nothing else of an operator sees.
//!
//! Every result that was run is compared with `golden`'s, bit for bit, and its error with the bound that follows from the
//! order of operations (`pimlico_golden::bound`).
//!
//! * [`heads`]: attention, stage by stage; [`host_attention`]: that of the host.
//! * [`Reference`], [`Products`]: matrices times vectors; [`columns`]: those of LPDDR5X-PIM.
//! * [`text`], [`reference`](mod@reference): tokens that were decoded.
//! * [`residency`]: layers that are streamed.
//! * [`pins`], [`host_pins`]: what was on the pins of chips and host; [`lp5_pins`]: of channels of LPDDR5X-PIM.
//! * [`prefill`]: weights that are copied beside products; [`copies`]: addresses of copies.
//! * [`neupims`]: products and attention of channels of NeuPIMs; [`dual_pins`]: what was on their pins.

pub mod columns;
pub mod copies;
pub mod dual_pins;
mod findings;
pub mod heads;
pub mod host_attention;
pub mod host_pins;
pub mod lp5_pins;
pub mod neupims;
pub mod pins;
pub mod prefill;
mod products;
pub mod reference;
pub mod residency;
mod results;
pub mod text;

pub use findings::Findings;
pub use products::{ProductOrder, Products, Reference, product};
