// SPDX-License-Identifier: MIT
//! The waveforms around a mismatch: the same is run again, and watched.

use pimlico_device::Mismatch;
use pimlico_ports::Model;
use pimlico_testbenches::{Lockstep, Waveforms, Window};
use std::io;

/// Cycles before a mismatch that its waveforms show.
const BEFORE: u64 = 128;

/// A mismatch whose waveforms are written.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// What was found.
    pub mismatch: &'a Mismatch,
    /// The command that finds it again: it stands in the headers of the files.
    pub command: &'a str,
    /// The files: one of the model, one of the RTL's ports, one of what is inside.
    pub files: &'a Waveforms,
}

impl Watch<'_> {
    /// Watches instance `i` of a unit in lockstep that has just been reset, from shortly before the mismatch to it.
    pub(crate) fn watch<M: Model>(
        &self,
        lockstep: &mut Lockstep<M>,
        (i, cycle_ps): (usize, u64),
        seed: u64,
    ) -> io::Result<()> {
        let from = self.mismatch.cycle.saturating_sub(BEFORE);
        let window = Window { from, cycle_ps };
        lockstep.watch(i, self.files, window, &format!("seed {seed}\n{}", self.command))
    }
}
