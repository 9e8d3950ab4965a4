// SPDX-License-Identifier: MIT
//! The host's REFs while it moves bursts: who takes the pins next has to know when the last one ends.

use pimlico_device::data_bus::Beats;
use pimlico_device::{BurstHost, HostLatency, HostStep, Stretches, WriteRun};
use pimlico_dpa::types::{PinCommand, Pins};

/// A host whose REFs are seen.
pub struct SeeRefs<'a> {
    pub host: &'a mut dyn BurstHost,
    pub rfc_tck: u64,
    /// The end of the last one.
    pub refreshed_tck: &'a mut u64,
}

impl BurstHost for SeeRefs<'_> {
    fn latency(&self) -> HostLatency {
        self.host.latency()
    }

    fn next(&mut self, from_tck: u64) -> HostStep {
        let step = self.host.next(from_tck);
        if let HostStep::Command { at_tck, pins: Pins { command: PinCommand::Ref, .. }, .. } = step
        {
            *self.refreshed_tck = at_tck + self.rfc_tck;
        }
        step
    }

    fn read(&mut self, beats: Beats) {
        self.host.read(beats);
    }

    fn run(&mut self, from_tck: u64) -> Option<WriteRun> {
        self.host.run(from_tck)
    }

    fn take_run(&mut self, run: &WriteRun, written: Option<&mut dyn FnMut(&Beats)>) {
        self.host.take_run(run, written);
    }

    fn stretches(&mut self) -> Stretches {
        self.host.stretches()
    }

    fn take_stretch(&mut self) {
        self.host.take_stretch();
    }
}
