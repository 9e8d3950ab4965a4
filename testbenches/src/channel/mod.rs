// SPDX-License-Identifier: MIT
//! Benches of what is a channel of an AiM, and in one of NeuPIMs.

mod activation_window;
pub(crate) mod aim_channel;
pub(crate) mod arrays;
mod bank_state;
mod channel_controller;
mod gemv_sequencer;
mod latency_estimator;
mod mem_scheduler;
mod pim_channel;
mod pim_queue;
pub(crate) mod pins;
