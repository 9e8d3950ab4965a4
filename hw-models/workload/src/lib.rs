// SPDX-License-Identifier: MIT
//! The operators of language models on the devices: data are made or read, written into the banks, the operator
//! runs, and what it gives is compared with the references of `golden`.
//!
//! Operators:
//!
//! * [`attention`]: the attention of a layer's heads.
//! * [`gemv`]: a matrix times a vector.
//! * [`fc`]: the fully-connected operators of a layer.
//! * [`layer`]: a decoder layer.
//! * [`decode`]: text, token by token, with a whole model.
//! * [`aim`]: the same on a module of AiM channels.
//! * [`spread`]: operators over the ranks of a device, on several threads ([`parallel`]);
//!   [`placement`]: which rank has which heads and rows.
//!
//! Their judges:
//!
//! * [`pins`]: the checkers of `golden` at the pins of chips and host ([`host_pins`]).
//! * [`report`]: what a run cost and how far it is from the reference; [`rank_report`]: on many ranks.
//!
//! Studies:
//!
//! * [`numerics`]: early or late normalisation, sums of 16 or 32 bits, compared.
//! * [`subnormals`]: a head with subnormal numbers flushed to zero.
//! * [`batch`]: how many requests fit, with static and with lazy allocation.
//! * [`study`]: what programs of the dispatcher save.
//! * [`spd_check`]: what re-layout costs the host, and whether it breaks the chips' timing;
//!   [`memory_path`]: from the memory controller through the buffer chip to the chips' pins.

pub mod aim;
pub mod attention;
pub mod batch;
pub mod decode;
pub mod fc;
pub mod gemv;
pub mod host_pins;
pub mod layer;
pub mod memory_path;
pub mod numerics;
pub mod parallel;
pub mod pins;
pub mod placement;
pub mod rank_report;
pub mod report;
pub mod spd_check;
pub mod spread;
pub mod study;
pub mod subnormals;
