// SPDX-License-Identifier: MIT
//! The sequencer between the dispatcher and the rank's ports.

use crate::config::Config;
use crate::options::{Options, SumFormat};
use pimlico_dpa::types::RankEvents;
use pimlico_ports::{Model, U};
use pimlico_units::module::DispatcherOut;
use pimlico_units::rank::{Sequencer as Unit, SequencerIn, SequencerOut};

/// The most bursts of the host that the sequencer is told of.
const MOST_OPERANDS: usize = 127;

/// The sequencer.
pub struct Sequencer {
    unit: Unit,
    /// Its inputs without an event.
    idle: SequencerIn,
}

impl Sequencer {
    /// One that has been reset.
    pub fn new(config: &Config, options: &Options) -> Self {
        let idle = SequencerIn {
            size_i: config.bank_size(),
            burst_i: (config.timing.burst_tck / options.gear.tck() as u64) as u8,
            wide_i: options.sums == SumFormat::Binary32,
            ..Default::default()
        };
        Self { unit: Unit::new(), idle }
    }

    /// A run starts.
    pub fn start(&mut self) {
        self.unit.step(&SequencerIn { start_i: true, ..self.idle });
    }

    /// What it requests in this tCK, where the host still has so many bursts.
    pub fn requests(&mut self, operands: usize) -> SequencerOut {
        self.idle.operands_i = U::new(operands.min(MOST_OPERANDS) as u64);
        self.unit.settle(&self.idle)
    }

    /// The tCK ends, with the dispatcher's outputs in it and what happened in the rank.
    pub fn step(&mut self, from: &DispatcherOut, events: RankEvents) {
        self.unit.step(&SequencerIn {
            done_i: from.end_valid_o,
            dispatch_valid_i: from.dispatch_valid_o,
            dispatch_i: from.dispatch_o,
            events_i: events,
            ..self.idle
        });
    }
}
