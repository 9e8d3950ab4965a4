// SPDX-License-Identifier: MIT
//! LoL-PIM's system: modules of AiM channels in tensor and pipeline parallel over nodes.
//!
//! A node has eight modules of 16 channels. `tp` modules share a stage of layers, and `pp` stages follow each other. Prompts
//! are there when a request is taken in: something else computes them. Only decoding is simulated.
//!
//! * [`system`]: the machine, its policies, and the room for requests.
//! * [`plan`]: what a stage takes.
//! * [`pipeline`]: requests in micro-batches through the stages.
//! * [`outcome`]: how a trace is served, and what became of it.
//!
//! # Decisions
//!
//! * **Partition.** Head first: K and V of a (request, head) are in one channel, so a module has `b h / tp` pairs on 16 channels,
//!   in rounds, each as long as its longest. Intra-module token parallel: one pair at a time over all channels.
//! * **Softmax.** It runs in the hub beside the products of other pairs, as in the device's head pipeline. The device's unit of
//!   16 lanes passes over the scores twice and takes longer than the products; two of them hide it, and are the default.
//! * **Micro-batches.** One request each with token parallel; as many as there are stages head first, and with GPUs, which
//!   read the weights once for a micro-batch. Either can be asked for: an all-reduce is for a whole micro-batch.
//! * **All-reduce** over `tp` modules: a ring of 64 GB/s inside of each node, one of 10 GB/s for each module over the nodes, 1 us
//!   a hop. The paper gives the bandwidth alone; a single ring over 128 modules would take 254 us for a vector of 16 KB.
//! * **Memory.** Rows as in LoL-PIM's layout: each K and V of a head in rows of one channel, without gaps. Static: room for the
//!   longest request that the model allows. Lazy: as a request grows. A request that cannot grow waits at the head of the
//!   queue, and its K and V are there again when it is taken in again.
//! * **The host's writes.** T_cur of a request, 4 bytes, for each token, and a word of Va2Pa, 2 bytes, for each row that is given
//!   to a request, over the link of each module.

pub mod outcome;
pub mod pipeline;
pub mod plan;
pub mod system;
