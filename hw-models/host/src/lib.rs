// SPDX-License-Identifier: MIT
//! The host driver: makes data, writes it into the device, runs the operators of a language model,
//! reads the results back and compares them with the references of `golden`.
//!
//! * [`model`]: shapes of language models.
//! * [`checkpoint`]: models with their weights, and the files that hold them.
//! * [`data`]: seeded synthetic K, V and Q.
//! * [`allocator`]: rows of the banks for KV caches that grow, and the Va2Pa updates that go with it.
//! * [`attention`]: the attention of a layer's heads.
//! * [`numerics`]: early or late normalisation, sums of 16 or 32 bits, compared.
//! * [`driver`]: what the host writes to the dispatcher.
//! * [`attached`]: a module behind the pins of its channel: windows, start, polls, results.
//! * [`decode`]: text, token by token, with a whole model.
//! * [`placement`]: which rank of a device has which heads and rows.
//! * [`spread`]: operators over the ranks of a device, on several threads ([`parallel`]).
//! * [`layer`]: a decoder layer.
//! * [`subnormals`]: a head with subnormal numbers flushed to zero.
//! * [`gemv`]: a matrix times a vector.
//! * [`program`]: programs for the module's dispatcher, built from an operator's shape.
//! * [`fc`]: the fully-connected operators of a layer.
//! * [`aim`]: the same on a module of AiM channels.
//! * [`batch`]: how many requests fit, with static and with lazy allocation.
//! * [`memory_controller`]: a memory controller that programs itself from the module's SPD image.
//! * [`kv_cache`]: K and V on their way into the banks and back.
//! * [`memory_path`]: from there through the buffer chip to the chips' pins.
//! * [`spd_check`]: what re-layout costs the host, and whether it breaks the chips' timing.
//! * [`pins`]: the checkers of `golden` at the pins of chips and host ([`host_pins`]).
//! * [`report`]: what a run cost and how far it is from the reference; [`rank_report`]: on many ranks.

pub mod aim;
pub mod allocator;
pub mod attached;
pub mod attention;
pub mod batch;
pub mod checkpoint;
pub mod data;
pub mod decode;
pub mod driver;
pub mod fc;
pub mod gemv;
pub mod host_pins;
pub mod kv_cache;
pub mod layer;
pub mod memory_controller;
pub mod memory_path;
pub mod model;
pub mod numerics;
pub mod parallel;
pub mod pins;
pub mod placement;
pub mod program;
pub mod rank_report;
pub mod report;
pub mod spd_check;
pub mod spread;
pub mod subnormals;
