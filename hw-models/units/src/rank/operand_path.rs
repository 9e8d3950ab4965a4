// SPDX-License-Identifier: MIT
//! Operands and data of the host on their way to and from the chips.

use super::{
    BurstSource, BurstSourceIn, BurstTimer, BurstTimerIn, BurstTimerOut, RelayoutUnit,
    RelayoutUnitIn,
};
use crate::prim::DdrOut;
use pimlico_dpa::types::{Beat, Burst};
use pimlico_ports::{Model, Unit, ports, stimulus::one_in};

ports! {
    /// A way of operands, and of the host's data.
    unit OperandPath: "operand_path" {
        inputs OperandPathIn {
            /// Clock: one edge per tCK.
            clk_tck_i: bool,
            /// The second of the two beats of a tCK.
            second_i: bool,
            /// CWL, 4 to 48.
            cwl_i: u8,
            /// The host has the chips as its memory.
            memory_i: bool,
            /// A burst for the shared buffers enters.
            push_i: bool => one_in(4),
            /// The burst that enters is the host's; else the rank PU's.
            host_i: bool,
            /// The host's burst, in its order.
            burst_i: Burst,
            /// The rank PU's word: 64 bits for every chip.
            word_i: u64,
            /// A WR_SHARED is on the pins.
            wr_shared_i: bool => one_in(3),
            /// The WR_SHARED on the pins is for a burst of the host.
            wr_host_i: bool,
            /// Memory mode: the host drives a beat.
            host_dq_valid_i: bool => one_in(4),
            /// Memory mode: the beat that the host drives.
            host_dq_i: Beat,
            /// Memory mode: the chips drive a beat.
            chips_valid_i: bool => one_in(4),
            /// Memory mode: the beat that the chips drive.
            chips_dq_i: Beat,
        }
        outputs OperandPathOut {
            /// `data_o` is on the chips' data bus.
            valid_o: bool,
            /// Beat on the chips' data bus; 0 if there is none.
            data_o: Beat,
            /// Memory mode: `host_dq_o` is on the host's data bus.
            host_dq_valid_o: bool,
            /// Memory mode: beat on the host's data bus; 0 if there is none.
            host_dq_o: Beat,
        }
        probes OperandPathProbe {}
    }
}

/// Where a beat in the re-layout unit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    ToChips,
    ToHost,
}

/// The cycle model of an operand path.
///
#[doc = contract!("rank/operand_path")]
#[derive(Clone)]
pub struct OperandPath {
    host_timer: BurstTimer,
    host: BurstSource<u64>,
    host_beats: DdrOut<u64>,
    pu_timer: BurstTimer,
    pu: BurstSource<u8>,
    pu_beats: DdrOut<u8>,
    relayout: RelayoutUnit<16, 8>,
    /// Of the beats in the re-layout unit, the oldest first.
    ways: [Option<Way>; RelayoutUnit::<16, 8>::GROUP],
}

impl Unit for OperandPath {
    const MODULE: &'static str = "operand_path";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("HOST_DEPTH", BurstSource::<u64>::DEPTH as i64),
        ("PU_DEPTH", BurstSource::<u8>::DEPTH as i64),
    ];
    type In = OperandPathIn;
    type Out = OperandPathOut;
    type Probe = OperandPathProbe;
}

impl Model for OperandPath {
    fn new() -> Self {
        Self {
            host_timer: BurstTimer::new(),
            host: BurstSource::new(),
            host_beats: DdrOut::new(),
            pu_timer: BurstTimer::new(),
            pu: BurstSource::new(),
            pu_beats: DdrOut::new(),
            relayout: RelayoutUnit::new(),
            ways: [None; 2],
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        OperandPathProbe::default()
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        let relaid = self.relayout.settle(&RelayoutUnitIn::default()).data_o;
        match self.ways[0] {
            Some(Way::ToChips) => {
                OperandPathOut { valid_o: true, data_o: relaid, ..Default::default() }
            }
            Some(Way::ToHost) => {
                OperandPathOut { host_dq_valid_o: true, host_dq_o: relaid, ..Default::default() }
            }
            None => OperandPathOut::default(),
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let host = self.host.settle(&BurstSourceIn::default());
        let pu = self.pu.settle(&BurstSourceIn::default());
        let (way, data_i) = match (input.memory_i, input.host_dq_valid_i, input.chips_valid_i) {
            (true, true, _) => (Some(Way::ToChips), input.host_dq_i),
            (true, false, true) => (Some(Way::ToHost), input.chips_dq_i),
            (false, ..) if host.drives_o || pu.drives_o => {
                let byte = self.pu_beats.beat();
                (Some(Way::ToChips), self.host_beats.beat() | u64::from_le_bytes([byte; 8]))
            }
            _ => (None, 0),
        };
        self.relayout.step(&RelayoutUnitIn {
            valid_i: way.is_some(),
            bypass_i: !input.memory_i && pu.drives_o,
            to_host_i: way == Some(Way::ToHost),
            data_i,
        });
        self.ways = [self.ways[1], way];
        self.host_beats.clock(input.second_i, input.clk_tck_i, host.pair_o);
        self.pu_beats.clock(input.second_i, input.clk_tck_i, pu.pair_o);
        if input.clk_tck_i {
            let asks = self.host_timer.step(&timer(input, input.wr_host_i));
            self.host.step(&host_source(input, &asks));
            let asks = self.pu_timer.step(&timer(input, !input.wr_host_i));
            self.pu.step(&pu_source(input, &asks));
        }
        output
    }
}

/// The inputs of the timer of a side, where a WR_SHARED is for that side. A burst is asked for two tCK before it
/// enters the re-layout unit.
fn timer(input: &OperandPathIn, is_of_side: bool) -> BurstTimerIn {
    BurstTimerIn {
        command_i: input.wr_shared_i && is_of_side,
        latency_i: input.cwl_i.wrapping_sub(3),
    }
}

fn host_source(input: &OperandPathIn, asks: &BurstTimerOut) -> BurstSourceIn<u64> {
    BurstSourceIn {
        push_i: input.push_i && input.host_i,
        beats_i: input.burst_i,
        busy_i: asks.busy_o,
        index_i: asks.index_o,
        ..Default::default()
    }
}

fn pu_source(input: &OperandPathIn, asks: &BurstTimerOut) -> BurstSourceIn<u8> {
    BurstSourceIn {
        push_i: input.push_i && !input.host_i,
        beats_i: input.word_i.to_le_bytes(),
        busy_i: asks.busy_o,
        index_i: asks.index_o,
        ..Default::default()
    }
}
