// SPDX-License-Identifier: MIT
//! What a host needs of a device, whoever executes it.
//!
//! [`Device`] is what all have. One with a dispatcher ([`Loads`]) runs programs ([`Runs`]): its host loads them with what they
//! need, starts them, and reads what they make. [`RankDevice`] is a rank, of which [`Ranks`](crate::Ranks) are built, and
//! [`AimDevice`](crate::aim::AimDevice) a module of AiM channels. [`Lp5Device`](crate::lp5::Lp5Device) has none: its host
//! reads and writes. Whatever ends a run is a [`DeviceError`].

use crate::bursts::BurstHost;
use crate::config::Config;
use crate::dispatch::{Made, Start};
use crate::error::DeviceError;
use crate::laps::KnownLaps;
use crate::options::Options;
use crate::pins::PinWatch;
use crate::statistics::Statistics;
use crate::timeline::Timeline;
use crate::traffic::HostTransfer;
use pimlico_dpa::types::{LoadKind, Pins};
use std::io;
use std::ops::Range;
use std::path::Path;

/// What has a dispatcher that its host writes to.
pub trait Loads {
    /// Writes to the module: see [`LoadKind`]. It is sent before the next run starts. What does not fit is remembered by
    /// the dispatcher, and a run then ends with [`Status::BufferOverflow`](pimlico_dpa::Status::BufferOverflow).
    fn load(&mut self, kind: LoadKind, address: u16, data: u64) -> Result<(), DeviceError>;

    /// Sets the factor of the scores, a binary16 number.
    fn set_scale(&mut self, scale: u16);
}

/// What executes programs of a rank, be it a device or a model without time.
pub trait Runs: Loads {
    /// How it works.
    fn options(&self) -> Options;

    /// Runs a request, and tells what it makes as it comes. A device ends with all banks closed and no REF owed, even
    /// after a fault: what was dispatched before it is done.
    fn run(&mut self, start: Start<'_>, made: &mut dyn FnMut(Made)) -> Result<(), DeviceError>;
}

/// A device, as its host has it. Time goes in tCK since the reset.
pub trait Device {
    /// Organisation and timing; of a module of channels those of one.
    fn config(&self) -> &Config;

    /// tCK since the reset.
    fn tck(&self) -> u64;

    /// Starts an operator: statistics count from here.
    fn begin(&mut self);

    /// Ends an operator.
    fn end(&mut self) -> Statistics;

    /// Has the pins watched from here on: of a rank those of chips and host, of a module those of a channel, as all
    /// have the same commands, and data at the same time.
    fn watch(&mut self, watch: Box<dyn PinWatch>);

    /// Writes a waveform of what follows to a file.
    fn trace(&mut self, file: &Path) -> io::Result<()>;

    /// Ends the waveform.
    fn finish_trace(&mut self) -> io::Result<()>;
}

/// An L3 module of one rank.
///
/// The host has the chips' pins ([`step_memory`](Self::step_memory)) or starts a program ([`run`](Runs::run)), which
/// returns with all banks closed and no REF owed.
pub trait RankDevice: Device + Runs {
    /// The end of the last REF that the host has issued.
    fn refreshed_tck(&self) -> u64;

    /// One tCK as memory: the host's command, and what it drives on its data bus in the two beats of the
    /// tCK. Returns what is on that bus for it.
    ///
    /// # Panics
    ///
    /// If there is no such bank, row or column.
    fn step_memory(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
    ) -> Result<[Option<u64>; 2], DeviceError>;

    /// What a host does to the memory of the module, whose banks are closed, burst by burst. All that is told, counted
    /// and kept is as if it had been done beat by beat, with [`step_memory`](Self::step_memory). Returns false, and has done nothing, if
    /// this module, or as it is now, goes beat by beat only.
    ///
    /// # Panics
    ///
    /// If there is no such bank or column.
    fn move_bursts(&mut self, _host: &mut dyn BurstHost) -> bool {
        false
    }

    /// From the reset on, data are of no account: what is written need not be kept, and what is made may be anything.
    /// What happens, and when, stays as it is. What it finds of that it may have in common with others like it.
    fn leave_data_out(&mut self, _known: &KnownLaps) {}

    /// What rows hold in all banks is of no further use: this machine's memory for it may be freed, and then the rows read as
    /// if they were never written. No command is issued, and no time passes.
    fn forget(&mut self, _rows: Range<usize>) {}

    /// Rows of which something is held, where that is known: those that were written and not forgotten.
    fn rows_held(&self) -> Option<usize> {
        None
    }

    /// What crossed the host's channel for the operator that has ended, as if the device had the channel to
    /// itself. It is forgotten with that.
    fn take_transfers(&mut self) -> Vec<HostTransfer>;

    /// Has a timeline made of what follows.
    fn start_timeline(&mut self);

    /// Names the operator, and the part of it, that the runs which follow are; for the timeline.
    fn label(&mut self, operator: &'static str, part: String);

    /// The next operator is an access of the host, which is not on the timeline.
    fn leave_out(&mut self);

    /// The timeline so far, if one is made: of operators, from the beginning of each to its end, without the host's
    /// accesses between them.
    fn timeline(&self) -> Option<&Timeline>;
}
