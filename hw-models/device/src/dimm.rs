// SPDX-License-Identifier: MIT
//! An L3 module as its channel has it: pins and data, and nothing else.

use crate::bursts::BurstHost;
use crate::config::Config;
use crate::dispatch::Made;
use crate::error::DeviceError;
use crate::laps::KnownLaps;
use crate::options::Options;
use crate::pins::{Looks, PinWatch};
use crate::statistics::Statistics;
use crate::timeline::Timeline;
use crate::traffic::HostTransfer;
use pimlico_dpa::types::Pins;
use std::io;
use std::ops::Range;
use std::path::Path;

/// A host that has no data of its own for a module, and no command but RDs of a window, the next when it has seen what the
/// one before gives.
pub trait Onlooker {
    /// Until when it does no more than that: where it has an RD, until it has seen what that gives.
    fn until_tck(&self) -> u64;

    /// When its next RD comes, if it has one.
    fn reads_tck(&self) -> Option<u64>;

    /// The tCK of the RD comes, which is on the pins.
    fn read(&mut self) -> Pins;

    /// What the module drives on the host's data bus in a tCK, where it drives something.
    fn see(&mut self, at_tck: u64, beats: [u64; 2]);

    /// The RDs that come, as long as each gives what the last one gave: as many as may be.
    fn looks(&self) -> Option<Looks>;

    /// So many of these have come and gone.
    fn skip(&mut self, looks: u64);
}

/// An L3 module of one rank in a channel, whoever executes it. What it does of a host's commands and data stands in
/// `rtl/module/host_port.md`.
///
/// Beside [`step`](Self::step) there is what a simulation adds: counts, observers, waveforms. They change nothing.
pub trait Dimm {
    /// Organisation and timing.
    fn config(&self) -> &Config;

    /// How it works.
    fn options(&self) -> Options;

    /// tCK since the reset.
    fn tck(&self) -> u64;

    /// One tCK: the host's command, and what the host drives on its data bus in the two beats of the tCK. Returns
    /// what the module drives there. `made` observes what the rank PU makes, most of which stays in the module.
    ///
    /// # Panics
    ///
    /// If there is no such bank, row or column.
    fn step(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
        made: &mut dyn FnMut(Made),
    ) -> Result<[Option<u64>; 2], DeviceError>;

    /// tCK in which a program runs and the host does no more than to [look on](Onlooker). Goes on as long as the host does at
    /// the most, and maybe not at all; [`tck`](Self::tck) says how far. The same as [`step`](Self::step) by step, but that
    /// those who watch the host's data bus are not told that nothing is on it.
    fn pass(
        &mut self,
        _host: &mut dyn Onlooker,
        _made: &mut dyn FnMut(Made),
    ) -> Result<(), DeviceError> {
        Ok(())
    }

    /// What a host does to the memory of the module, whose banks are closed, burst by burst. All that is told, counted
    /// and kept is as if it had been done beat by beat, with [`step`](Self::step). Returns false, and has done nothing, if
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

    /// Starts an operator: statistics count from here.
    fn begin(&mut self);

    /// Ends an operator.
    fn end(&mut self) -> Statistics;

    /// What crossed the channel for the operator that has ended, as if the module had the channel to itself. It is
    /// forgotten with that.
    fn take_transfers(&mut self) -> Vec<HostTransfer>;

    /// Has the pins of chips and host watched from here on.
    fn watch(&mut self, watch: Box<dyn PinWatch>);

    /// Has a timeline made of what follows.
    fn start_timeline(&mut self);

    /// Names the operator, and the part of it, that the runs which follow are; for the timeline.
    fn label(&mut self, operator: &'static str, part: String);

    /// The next operator is an access of the host, which is not on the timeline.
    fn leave_out(&mut self);

    /// The timeline so far, if one is made: of operators, from the beginning of each to its end, without the host's
    /// accesses between them.
    fn timeline(&self) -> Option<&Timeline>;

    /// Writes a waveform of what follows to a file.
    fn trace(&mut self, file: &Path) -> io::Result<()>;

    /// Ends the waveform.
    fn finish_trace(&mut self) -> io::Result<()>;
}
