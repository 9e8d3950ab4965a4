// SPDX-License-Identifier: MIT
//! The model of a channel's controller, with one of two queues of reads.

use super::options::ReadQueue;
use pimlico_ports::Model;
use pimlico_units::channel::{ChannelController, ChannelControllerIn, ChannelControllerOut};

/// A controller.
pub(super) enum Controller {
    /// As the RTL has it.
    Short(Box<ChannelController<32, 32>>),
    /// With four times as many reads.
    Long(Box<ChannelController<128, 32>>),
}

impl Controller {
    /// A controller that has just been reset.
    pub(super) fn new(reads: ReadQueue) -> Self {
        match reads {
            ReadQueue::Short => Self::Short(Box::new(ChannelController::new())),
            ReadQueue::Long => Self::Long(Box::new(ChannelController::new())),
        }
    }

    /// A cycle.
    pub(super) fn step(&mut self, input: &ChannelControllerIn) -> ChannelControllerOut {
        match self {
            Self::Short(controller) => controller.step(input),
            Self::Long(controller) => controller.step(input),
        }
    }

    /// Cycles in which nothing happens if no request comes.
    pub(super) fn rest_limit(&self) -> u64 {
        match self {
            Self::Short(controller) => controller.rest_limit(),
            Self::Long(controller) => controller.rest_limit(),
        }
    }

    /// So many of these cycles: the outputs of each.
    pub(super) fn rest(&mut self, cycles: u64) -> ChannelControllerOut {
        match self {
            Self::Short(controller) => controller.rest(cycles),
            Self::Long(controller) => controller.rest(cycles),
        }
    }
}
