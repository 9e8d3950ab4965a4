// SPDX-License-Identifier: MIT
//! The status that the host reads.

use super::HostPortIn;
use super::owner::State;
use pimlico_dpa::types::{Burst, Fault, RunEnd, Status};
use pimlico_ports::Enumerated;

/// What the module says, as it stood at the end of a cycle of the core.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    overflow: bool,
    fault: Fault,
    /// The end of the last program; 0 if it has not ended.
    end: RunEnd,
    requests: [Status; 16],
}

impl Module {
    /// The end of a cycle of the core, in which a run may start.
    pub(super) fn clock(&mut self, input: &HostPortIn, starts: bool) {
        self.overflow = input.overflow_i;
        self.fault = input.fault_i;
        self.requests = input.status_i;
        if starts {
            self.end = RunEnd::default();
        } else if input.end_valid_i {
            self.end = input.end_i;
        }
    }
}

/// All that the status is made of.
pub(super) struct View<'a> {
    pub(super) state: State,
    pub(super) start_waits: bool,
    pub(super) lost: bool,
    pub(super) refused: bool,
    pub(super) module: &'a Module,
    pub(super) taken: u16,
    pub(super) contexts: u16,
    pub(super) outputs: u16,
    pub(super) runs: u16,
}

impl View<'_> {
    /// The burst of the status.
    pub(super) fn burst(&self) -> Burst {
        let counts = [self.taken, self.contexts, self.outputs, self.runs];
        let requests = self.module.requests.iter().rev();
        let mut burst = Burst::default();
        burst[0] = self.flags();
        burst[1] = counts.iter().rev().fold(0, |word, count| word << 16 | u64::from(*count));
        burst[2] = requests.fold(0, |word, status| word << 4 | status.code());
        burst
    }

    fn flags(&self) -> u64 {
        let Module { overflow, fault, end, .. } = self.module;
        let ended = self.state == State::Left && !self.start_waits;
        self.state as u64
            | u64::from(self.start_waits) << 2
            | u64::from(ended) << 3
            | u64::from(self.lost) << 4
            | u64::from(self.refused) << 5
            | u64::from(*overflow) << 6
            | fault.code() << 8
            | end.status.code() << 12
            | end.address.get() << 16
            | u64::from(end.layer) << 32
    }
}
