// SPDX-License-Identifier: MIT
//! Time of a burst on the data bus, CL or CWL after its command.

use pimlico_ports::{Model, U, Unit, ports, stimulus::one_in};

ports! {
    /// A burst timer.
    unit BurstTimer: "burst_timer" {
        inputs BurstTimerIn {
            /// The command is on the pins.
            command_i: bool => one_in(3),
            /// Latency from the command to its data, in tCK: 1 to `LONGEST`.
            latency_i: u8,
        }
        outputs BurstTimerOut {
            /// The burst begins in the next tCK.
            ahead_o: bool,
            /// The burst is on the bus.
            busy_o: bool,
            /// tCK of the burst on the bus, 0 to 3.
            index_o: U<2>,
            /// The burst is in its last tCK.
            last_o: bool,
        }
        probes BurstTimerProbe {}
    }
}

/// The cycle model of a burst timer.
///
#[doc = contract!("rank/burst_timer")]
#[derive(Clone, Debug)]
pub struct BurstTimer {
    /// Bit n: a command n tCK ago.
    line: u64,
    busy: bool,
    index: u8,
}

impl BurstTimer {
    /// The longest latency.
    pub const LONGEST: u32 = 48;
}

impl Unit for BurstTimer {
    const MODULE: &'static str = "burst_timer";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("LONGEST", Self::LONGEST as i64)];
    type In = BurstTimerIn;
    type Out = BurstTimerOut;
    type Probe = BurstTimerProbe;
}

impl Model for BurstTimer {
    fn new() -> Self {
        Self { line: 0, busy: false, index: 0 }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        BurstTimerProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let line = self.line | u64::from(input.command_i);
        BurstTimerOut {
            ahead_o: line >> (input.latency_i.wrapping_sub(1) % 64) & 1 != 0,
            busy_o: self.busy,
            index_o: U::new(self.index.into()),
            last_o: self.index == LAST,
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let line = self.line | u64::from(input.command_i);
        self.line = line << 1 & ((1 << Self::LONGEST) - 1);
        self.index = if output.ahead_o || !self.busy { 0 } else { (self.index + 1) % (LAST + 1) };
        self.busy = output.ahead_o || (self.busy && !output.last_o);
        output
    }
}

/// The last tCK of a burst.
const LAST: u8 = 3;
