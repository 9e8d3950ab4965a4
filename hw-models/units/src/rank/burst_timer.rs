// SPDX-License-Identifier: MIT
//! Time of a burst on the data bus, CL or CWL after its command.

use crate::lap::Walk;
use pimlico_ports::{Model, U, Unit, ports, stimulus::one_in};

ports! {
    /// A burst timer.
    unit BurstTimer: "burst_timer" {
        inputs BurstTimerIn {
            /// The command is on the pins.
            command_i: bool => one_in(3),
            /// Latency from the command to its data, in cycles: 1 to `LONGEST`.
            latency_i: u8,
        }
        outputs BurstTimerOut {
            /// The burst begins in the next cycle.
            ahead_o: bool,
            /// The burst is on the bus.
            busy_o: bool,
            /// Cycle of the burst on the bus, from 0 on.
            index_o: U<2>,
            /// The burst is in its last cycle.
            last_o: bool,
        }
        probes BurstTimerProbe {}
    }
}

/// The cycle model of a burst timer for bursts of `LENGTH` cycles.
///
#[doc = contract!("rank/burst_timer")]
#[derive(Clone, Debug)]
pub struct BurstTimer<const LENGTH: usize = 4> {
    line: Line,
}

impl<const LENGTH: usize> BurstTimer<LENGTH> {
    /// The longest latency.
    pub const LONGEST: u32 = 12 * LENGTH as u32;
}

impl<const LENGTH: usize> Unit for BurstTimer<LENGTH> {
    const MODULE: &'static str = "burst_timer";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("LONGEST", Self::LONGEST as i64), ("LENGTH", LENGTH as i64)];
    type In = BurstTimerIn;
    type Out = BurstTimerOut;
    type Probe = BurstTimerProbe;

    fn variant() -> String {
        if LENGTH == 4 { String::new() } else { format!("length{LENGTH}") }
    }
}

impl<const LENGTH: usize> Model for BurstTimer<LENGTH> {
    fn new() -> Self {
        Self { line: Line::default() }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        BurstTimerProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        self.line.settle(input, LENGTH)
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        self.line.step(input, LENGTH)
    }
}

/// The commands of a burst timer whose bursts are still to come, and the one on the bus.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// Bit n: a command n cycles ago.
    commands: u64,
    busy: bool,
    index: u8,
}

impl Line {
    /// Goes over all of it, for [laps](crate::lap).
    pub(super) fn walk(&self, walk: &mut Walk<'_>) {
        let Self { commands, busy, index } = *self;
        walk.still(commands);
        walk.still(busy);
        walk.still(index);
    }

    /// The outputs of a cycle, with bursts of `length` cycles.
    pub(super) fn settle(&self, input: &BurstTimerIn, length: usize) -> BurstTimerOut {
        let commands = self.commands | u64::from(input.command_i);
        BurstTimerOut {
            ahead_o: commands >> (input.latency_i.wrapping_sub(1) % 64) & 1 != 0,
            busy_o: self.busy,
            index_o: U::new(self.index.into()),
            last_o: self.busy && usize::from(self.index) == length - 1,
        }
    }

    /// A cycle.
    pub(super) fn step(&mut self, input: &BurstTimerIn, length: usize) -> BurstTimerOut {
        let output = self.settle(input, length);
        let commands = self.commands | u64::from(input.command_i);
        self.commands = commands << 1 & ((1 << BurstTimer::<4>::LONGEST) - 1);
        let goes_on = self.busy && !output.last_o;
        self.index = if goes_on && !output.ahead_o { self.index + 1 } else { 0 };
        self.busy = output.ahead_o || goes_on;
        output
    }
}
