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

use crate::error::WorkloadError;
use crate::judge::dual_pins::DualPinLog;
use pimlico_device::neupims::request::fine_guard;
use pimlico_device::neupims::{
    ChannelDesign, ChannelOptions, Commands, NeupimsChannel, NeupimsSpec,
};
use std::fmt;
use std::sync::Arc;

/// tCK that an RDRESULT adds to an operation where no dot products hide it.
const READ_RESULT_TCK: u64 = 14;
/// tCK of a run at the most: it hangs else.
const LONGEST_TCK: u64 = 1 << 40;

/// A design of a channel by its number, or why it cannot be had.
type DesignOf = dyn Fn(usize) -> Result<Box<dyn ChannelDesign>, String> + Send + Sync;

/// What executes channels in the place of the engine: a design of its own for each.
#[derive(Clone)]
pub struct ChannelDesigns(Arc<DesignOf>);

impl ChannelDesigns {
    /// Those that a function makes.
    pub fn new(
        make: impl Fn(usize) -> Result<Box<dyn ChannelDesign>, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }
}

impl fmt::Debug for ChannelDesigns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChannelDesigns")
    }
}

/// What executes channels.
#[derive(Clone, Debug)]
pub struct ChannelsBy {
    /// Its name: `fast`, `model`, `rtl`, `lockstep`.
    pub backend: &'static str,
    /// What is one unit of it: `units`, each for itself, or `channel`. None: the engine.
    pub scope: Option<&'static str>,
    /// The designs; none: the engine.
    pub designs: Option<ChannelDesigns>,
}

impl ChannelsBy {
    /// The engine.
    pub const ENGINE: Self = Self { backend: "fast", scope: None, designs: None };
}

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
    /// What executes the channels.
    pub by: ChannelsBy,
}

impl Setup {
    /// Whether each dot product is a command.
    fn fine(&self) -> bool {
        self.commands == Commands::Fine
    }

    /// Channel `number` with the checker at its pins, for operations of at the most so many words in each sum.
    fn channel(
        &self,
        number: usize,
        counts: &[u8],
        kept: usize,
    ) -> Result<(NeupimsChannel, DualPinLog), WorkloadError> {
        let guard = if self.fine() { fine_guard(counts, READ_RESULT_TCK) } else { 0 };
        let options = ChannelOptions { guard_tck: self.options.guard_tck + guard, ..self.options };
        let mut channel = NeupimsChannel::new(&self.spec, &options);
        let log = DualPinLog::new(&self.spec, &options, kept);
        channel.watch(Box::new(log.clone()));
        if let Some(ChannelDesigns(make)) = &self.by.designs {
            channel.attach(make(number).map_err(WorkloadError::Check)?)?;
        }
        Ok((channel, log))
    }
}
