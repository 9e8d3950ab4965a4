// SPDX-License-Identifier: MIT
//! Results beside those of `golden`, which nothing else of an operator sees.
//!
//! * [`heads`]: attention, stage by stage.
//! * [`Reference`], [`Products`]: matrices times vectors.
//! * [`exact`]: the same bit for bit, where the order of summation is fixed.
//! * [`text`], [`reference`](mod@reference): tokens that were decoded.
//! * [`pins`], [`host_pins`]: what was on the pins of chips and host.

pub mod exact;
mod findings;
pub mod heads;
pub mod host_pins;
pub mod pins;
mod products;
pub mod reference;
pub mod text;

pub use findings::Findings;
pub use products::{Products, Reference, product_error};
