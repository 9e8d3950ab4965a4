// SPDX-License-Identifier: MIT
//! A study: prefill on the host with weights that lie as PIM blocks want them, of *PIM-SHERPA: Software Method for
//! On-device LLM Inference*.
//!
//! * [`phone`]: the host.
//! * [`weights`]: a model's matrices in groups, and the memory that each policy takes.
//! * [`prefill`]: the time to the first token.
//! * [`token`]: the time of each token behind it.
//! * [`emulation`]: a product's requests on banks with PIM blocks and on plain ones, both simulated.

pub mod emulation;
pub mod phone;
pub mod prefill;
pub mod token;
pub mod weights;
