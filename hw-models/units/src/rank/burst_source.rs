// SPDX-License-Identifier: MIT
//! Bursts that one side is going to drive on the data bus.

use crate::prim::Fifo;
use pimlico_ports::{Model, Signal, U, Unit, ports, stimulus::one_in};

ports! {
    /// A source of bursts whose beats are of type `B`.
    unit BurstSource<B: Signal>: "burst_source" {
        inputs BurstSourceIn {
            /// A burst enters, only where there is room.
            push_i: bool => one_in(5),
            /// Beats of the burst that enters, the first at the bottom.
            beats_i: [B; 8],
            /// The oldest burst is on the bus in two tCK, only where there is one.
            busy_i: bool => one_in(6),
            /// tCK of the burst that is on the bus in two tCK, 0 to 3.
            index_i: U<2>,
        }
        outputs BurstSourceOut {
            /// A burst waits, or is on its way or on the bus.
            valid_o: bool,
            /// The two beats that are on the bus in the next tCK, the first at the bottom; else 0.
            pair_o: [B; 2],
            /// The beats that were last in `pair_o` are on the bus.
            drives_o: bool,
        }
        probes BurstSourceProbe {}
    }
}

/// The cycle model of a source of bursts with beats of type `B`.
///
#[doc = contract!("rank/burst_source")]
#[derive(Clone, Debug)]
pub struct BurstSource<B: Signal> {
    waiting: Fifo<[B; 8], ROOM>,
    /// The burst that was read last.
    burst: [B; 8],
    /// `busy_i` and `index_i` of the last tCK, and `busy_i` of the one before.
    busy: bool,
    index: usize,
    drives: bool,
}

/// Bursts that have room, at the most.
const ROOM: usize = 18;

impl<B: Signal> BurstSource<B> {
    /// Bursts that have room: the host's are a memory, which has more than 16 words.
    pub const DEPTH: usize = if B::WIDTH == 64 { ROOM } else { 16 };
}

impl<B: Signal> Unit for BurstSource<B> {
    const MODULE: &'static str = "burst_source";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("WIDTH", B::WIDTH as i64), ("DEPTH", Self::DEPTH as i64)];
    type In = BurstSourceIn<B>;
    type Out = BurstSourceOut<B>;
    type Probe = BurstSourceProbe<B>;

    fn variant() -> String {
        if B::WIDTH == 64 { String::new() } else { format!("width{}", B::WIDTH) }
    }
}

impl<B: Signal> Model for BurstSource<B> {
    fn new() -> Self {
        let burst = [B::default(); 8];
        Self { waiting: Fifo::new(), burst, busy: false, index: 0, drives: false }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        BurstSourceProbe::default()
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        let beats = |n| if self.busy { self.burst[2 * self.index + n] } else { B::default() };
        BurstSourceOut {
            valid_o: self.waiting.oldest().is_some() || self.busy || self.drives,
            pair_o: [beats(0), beats(1)],
            drives_o: self.drives,
            ..Default::default()
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let index = input.index_i.get() as usize;
        let reads = input.busy_i && index == 0;
        if reads && let Some(burst) = self.waiting.oldest() {
            self.burst = *burst;
        }
        self.waiting.clock(reads, input.push_i.then_some(input.beats_i));
        self.drives = self.busy;
        self.busy = input.busy_i;
        self.index = index;
        output
    }
}
