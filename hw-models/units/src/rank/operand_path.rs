// SPDX-License-Identifier: MIT
//! Operands and data of the host on their way to and from the chips.

use super::{
    BurstSource, BurstSourceIn, BurstTimer, BurstTimerIn, BurstTimerOut, RelayoutUnit,
    RelayoutUnitIn,
};
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
            /// CWL, 2 to 48.
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
    pu_timer: BurstTimer,
    pu: BurstSource<u8>,
    relayout: RelayoutUnit<16, 8>,
    /// Of the beats in the re-layout unit, the oldest first.
    ways: [Option<Way>; RelayoutUnit::<16, 8>::GROUP],
}

impl Unit for OperandPath {
    const MODULE: &'static str = "operand_path";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("DEPTH", 16)];
    type In = OperandPathIn;
    type Out = OperandPathOut;
    type Probe = OperandPathProbe;
}

impl Model for OperandPath {
    fn new() -> Self {
        Self {
            host_timer: BurstTimer::new(),
            host: BurstSource::new(),
            pu_timer: BurstTimer::new(),
            pu: BurstSource::new(),
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

    fn settle(&self, input: &Self::In) -> Self::Out {
        let relaid = self.relayout.settle(&RelayoutUnitIn::default()).data_o;
        let on_bus = self.pu_timer.settle(&pu_timer(input));
        match self.ways[0] {
            Some(Way::ToChips) => {
                OperandPathOut { valid_o: true, data_o: relaid, ..Default::default() }
            }
            to_host => {
                let byte = self.pu.settle(&pu_source(input, &on_bus)).data_o;
                OperandPathOut {
                    valid_o: on_bus.busy_o,
                    data_o: u64::from_le_bytes([byte; 8]),
                    host_dq_valid_o: to_host.is_some(),
                    host_dq_o: if to_host.is_some() { relaid } else { 0 },
                }
            }
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let on_bus = self.host_timer.settle(&host_timer(input));
        let host = host_source(input, &on_bus);
        let (way, data_i) = match (input.memory_i, input.host_dq_valid_i, input.chips_valid_i) {
            (true, true, _) => (Some(Way::ToChips), input.host_dq_i),
            (true, false, true) => (Some(Way::ToHost), input.chips_dq_i),
            (false, ..) if on_bus.busy_o => (Some(Way::ToChips), self.host.settle(&host).data_o),
            _ => (None, 0),
        };
        self.relayout.step(&RelayoutUnitIn {
            valid_i: way.is_some(),
            bypass_i: false,
            to_host_i: way == Some(Way::ToHost),
            data_i,
        });
        self.ways = [self.ways[1], way];
        if input.clk_tck_i {
            self.host_timer.step(&host_timer(input));
            self.host.step(&host);
            let on_bus = self.pu_timer.step(&pu_timer(input));
            self.pu.step(&pu_source(input, &on_bus));
        }
        output
    }
}

fn host_timer(input: &OperandPathIn) -> BurstTimerIn {
    BurstTimerIn {
        command_i: input.wr_shared_i && input.wr_host_i,
        latency_i: input.cwl_i.wrapping_sub(1),
    }
}

fn host_source(input: &OperandPathIn, on_bus: &BurstTimerOut) -> BurstSourceIn<u64> {
    BurstSourceIn {
        push_i: input.push_i && input.host_i,
        beats_i: input.burst_i,
        busy_i: on_bus.busy_o,
        index_i: on_bus.index_o,
        second_i: input.second_i,
        ..Default::default()
    }
}

fn pu_timer(input: &OperandPathIn) -> BurstTimerIn {
    BurstTimerIn { command_i: input.wr_shared_i && !input.wr_host_i, latency_i: input.cwl_i }
}

fn pu_source(input: &OperandPathIn, on_bus: &BurstTimerOut) -> BurstSourceIn<u8> {
    BurstSourceIn {
        push_i: input.push_i && !input.host_i,
        beats_i: input.word_i.to_le_bytes(),
        busy_i: on_bus.busy_o,
        index_i: on_bus.index_o,
        second_i: input.second_i,
        ..Default::default()
    }
}
