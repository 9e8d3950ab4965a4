// SPDX-License-Identifier: MIT
//! NeuPIMs' system: an NPU whose memory computes attention, and its scheduler.
//!
//! A device has 8 systolic arrays of 128 x 128, 8 vector units of 128 lanes and 32 channels of 32 banks (Table 2). Matrices of a
//! decoder block run on the NPU, attention of a request in the one channel that has its K and V. All times are in tCK of 1 ns.
//!
//! * [`shard`]: the part of a model that a device has.
//! * [`estimate`]: Algorithm 1, the latency of a request's attention, and what else may take its place.
//! * [`engine`]: that latency from the engine of a channel.
//! * [`packing`]: Algorithm 2, and the baselines' round robin.
//! * [`partition`]: Algorithm 3.
//! * [`npu`]: matrices and vectors on the NPU.
//! * [`stages`]: the timeline of a decoder block (Fig. 11).
//! * [`workload`]: seeded warm batches.
//! * [`system`]: the three systems as their assumptions.
//! * [`iteration`]: an iteration on one of them.
//! * [`attention`]: what attention of requests takes.
//! * [`rates`]: what matrices have of the buses.
//! * [`capacity`]: what a batch takes of the memory.
//! * [`power`]: what a channel's power goes to (Table 5).
//! * [`service`]: the system as it serves a trace, and its policies.
//! * [`serve`](mod@serve): requests of a trace on the devices.
//!
//! # Decisions
//!
//! * **Latency.** PIM's times are Algorithm 1's, with every quotient rounded up as in the authors' simulator: no command was
//!   executed for them, and refresh is in none. Or a channel's engine ([`EngineLatency`](engine::EngineLatency)) runs a request of
//!   each length, with refresh, writes for GWRITE and softmax; requests of a channel follow one another, and the scheduler still
//!   goes by Algorithm 1.
//! * **Feed.** The baseline sends every dot product and result as a command of its own; `--pim-issue N` lets it send N in a tCK
//!   to all channels together, as the authors' simulator does with N = 1. The paper does not mention this. NeuPIMs has no limit.
//! * **Attention.** With single row buffers softmax and the writes for GWRITE wait for PIM and PIM for them; with dual ones only
//!   those of the first head are not hidden. The NPU-only system streams K and V at the memory's bandwidth.
//! * **Memory.** Weights stream at 1024 B/tCK, also beside PIM, less what PIM's operands and results take of the buses; or at what
//!   reads without end have on a channel with refresh ([`MatrixRates`](rates::MatrixRates)).
//! * **Batch.** The batch of figures 12 and 13 and of Table 4 is that of a device, as in the authors' simulator, which has no
//!   pipeline; figure 14 divides 256 requests over the stages.

pub mod attention;
pub mod capacity;
pub mod engine;
pub mod estimate;
pub mod iteration;
pub mod npu;
pub mod packing;
pub mod partition;
pub mod power;
pub mod rates;
pub mod serve;
pub mod service;
pub mod shard;
pub mod stages;
pub mod system;
pub mod workload;
