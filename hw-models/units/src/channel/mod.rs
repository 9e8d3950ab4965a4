// SPDX-License-Identifier: MIT
//! What is a channel of an AiM, and in a channel of NeuPIMs.

mod activation_window;
mod aim_channel;
mod bank_state;
mod channel_controller;
#[cfg(test)]
mod draw;
mod gemv_sequencer;
mod latency_estimator;
mod mem_scheduler;
pub mod pim_channel;
mod pim_queue;

pub use activation_window::{
    ActivationWindow, ActivationWindowIn, ActivationWindowOut, ActivationWindowProbe,
};
pub use aim_channel::{AimChannel, AimChannelIn, AimChannelOut, AimChannelProbe};
pub use bank_state::{BankState, BankStateIn, BankStateOut, BankStateProbe};
pub use channel_controller::{
    CONTROLLER_GUARD_TCK, ChannelCommand, ChannelController, ChannelControllerIn,
    ChannelControllerOut, ChannelControllerProbe, MemLost, PimLost,
};
pub use gemv_sequencer::{GemvSequencer, GemvSequencerIn, GemvSequencerOut, GemvSequencerProbe};
pub use latency_estimator::{
    GUARD_TCK, LatencyEstimator, LatencyEstimatorIn, LatencyEstimatorOut, LatencyEstimatorProbe,
};
pub use mem_scheduler::{MemScheduler, MemSchedulerIn, MemSchedulerOut, MemSchedulerProbe};
pub use pim_channel::{PimChannel, PimChannelIn, PimChannelOut, PimChannelProbe};
pub use pim_queue::{PimKind, PimQueue, PimQueueIn, PimQueueOut, PimQueueProbe};
