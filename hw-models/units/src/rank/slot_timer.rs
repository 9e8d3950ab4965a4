// SPDX-License-Identifier: MIT
//! Slots of the bank PUs: each begins with an edge of their clock.

use pimlico_ports::{
    Model, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A slot timer.
    unit SlotTimer: "slot_timer" {
        inputs SlotTimerIn {
            /// A slot may begin.
            enable_i: bool => all_but_one_in(16),
            /// An RD_ALL is on the pins.
            read_all_i: bool => one_in(12),
            /// RL_MAC, 0 to LONGEST: from an RD_ALL to its slot.
            latency_i: u8,
            /// tCCD_L, 1 or more.
            slot_i: u8,
        }
        outputs SlotTimerOut {
            /// A slot begins.
            begin_o: bool,
        }
        probes SlotTimerProbe {}
    }
}

/// The cycle model of a slot timer.
///
#[doc = contract!("rank/slot_timer")]
#[derive(Clone, Debug)]
pub struct SlotTimer {
    /// Bit n: an RD_ALL n + 1 tCK ago.
    line: u64,
    /// Slots before the clock stands still.
    left: u8,
    /// tCK of this slot.
    tck: u8,
}

impl SlotTimer {
    /// Slots without an RD_ALL after which no PU has anything left to do: the pipeline of `bank_pu`, and
    /// one.
    pub const IDLE_SLOTS: u8 = 5;

    /// The longest latency, in cycles.
    pub const LONGEST: u8 = 12;

    /// The RD_ALLs: bit n is set for one n tCK ago.
    fn line(&self, input: &SlotTimerIn) -> u64 {
        self.line << 1 | u64::from(input.read_all_i)
    }

    /// An RD_ALL has its slot.
    fn arrives(&self, input: &SlotTimerIn) -> bool {
        self.line(input) >> input.latency_i & 1 != 0
    }
}

impl Unit for SlotTimer {
    const MODULE: &'static str = "slot_timer";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("IDLE_SLOTS", Self::IDLE_SLOTS as i64), ("LONGEST", Self::LONGEST as i64)];
    type In = SlotTimerIn;
    type Out = SlotTimerOut;
    type Probe = SlotTimerProbe;
}

impl Model for SlotTimer {
    fn new() -> Self {
        Self { line: 0, left: 0, tck: 0 }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        SlotTimerProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let due = self.left != 0 && self.tck == 0;
        SlotTimerOut { begin_o: input.enable_i && (self.arrives(input) || due) }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        self.tck = self.tck.saturating_sub(1);
        if output.begin_o {
            self.left = if self.arrives(input) { Self::IDLE_SLOTS } else { self.left - 1 };
            self.tck = input.slot_i.wrapping_sub(1);
        }
        self.line = self.line(input);
        output
    }
}
