// SPDX-License-Identifier: MIT
//! Channels of NeuPIMs: products, attention of a request, and a study of what row buffers are worth.
//!
//! * [`product`]: a matrix times a vector, in one channel or several.
//! * [`attention`]: attention of a request in its channel.
//! * [`row_buffers`]: reads without end and tiles back to back, alone and at once.
//! * [`report`]: what all of these say of a channel.

pub mod attention;
pub mod product;
pub mod report;
pub mod row_buffers;

use crate::judge::dual_pins::DualPinLog;
use pimlico_device::neupims::request::fine_guard;
use pimlico_device::neupims::{ChannelOptions, Commands, NeupimsChannel, NeupimsSpec};

/// tCK that an RDRESULT adds to an operation where no dot products hide it.
const READ_RESULT_TCK: u64 = 14;
/// tCK of a run at the most: it hangs else.
const LONGEST_TCK: u64 = 1 << 40;

/// Channels and their host.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The device.
    pub spec: NeupimsSpec,
    /// How its channels work.
    pub options: ChannelOptions,
    /// How the host spells a GEMV.
    pub commands: Commands,
    /// Threads of this machine.
    pub threads: usize,
}

impl Setup {
    /// Whether each dot product is a command.
    fn fine(&self) -> bool {
        self.commands == Commands::Fine
    }

    /// A channel with the checker at its pins, for operations of at the most so many words in each sum.
    fn channel(&self, counts: &[u8], kept: usize) -> (NeupimsChannel, DualPinLog) {
        let guard = if self.fine() { fine_guard(counts, READ_RESULT_TCK) } else { 0 };
        let options = ChannelOptions { guard_tck: self.options.guard_tck + guard, ..self.options };
        let mut channel = NeupimsChannel::new(&self.spec, &options);
        let log = DualPinLog::new(&self.spec, &options, kept);
        channel.watch(Box::new(log.clone()));
        (channel, log)
    }
}
