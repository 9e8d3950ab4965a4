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
            /// The oldest burst is on the bus, only where there is one.
            busy_i: bool => one_in(6),
            /// tCK of the burst on the bus, 0 to 3.
            index_i: U<2>,
            /// The second of the two beats of a tCK.
            second_i: bool,
        }
        outputs BurstSourceOut {
            /// A burst waits, or is on the bus.
            valid_o: bool,
            /// Beat on the bus; 0 without `busy_i`.
            data_o: B,
        }
        probes BurstSourceProbe {}
    }
}

/// The cycle model of a source of bursts with beats of type `B`.
///
#[doc = contract!("rank/burst_source")]
#[derive(Clone, Debug)]
pub struct BurstSource<B: Signal> {
    bursts: Fifo<[B; 8], DEPTH>,
}

/// Bursts that wait, the one on the bus included.
const DEPTH: usize = 16;

impl<B: Signal> Unit for BurstSource<B> {
    const MODULE: &'static str = "burst_source";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("WIDTH", B::WIDTH as i64), ("DEPTH", DEPTH as i64)];
    type In = BurstSourceIn<B>;
    type Out = BurstSourceOut<B>;
    type Probe = BurstSourceProbe<B>;

    fn variant() -> String {
        if B::WIDTH == 64 { String::new() } else { format!("width{}", B::WIDTH) }
    }
}

impl<B: Signal> Model for BurstSource<B> {
    fn new() -> Self {
        Self { bursts: Fifo::new() }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        BurstSourceProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let beat = 2 * input.index_i.get() as usize + usize::from(input.second_i);
        let oldest = self.bursts.oldest();
        let on_bus = oldest.filter(|_| input.busy_i);
        BurstSourceOut {
            valid_o: oldest.is_some(),
            data_o: on_bus.map_or(B::default(), |beats| beats[beat]),
            ..Default::default()
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let over = input.busy_i && input.index_i.get() == 3;
        self.bursts.clock(over, input.push_i.then_some(input.beats_i));
        output
    }
}
