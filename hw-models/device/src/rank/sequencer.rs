// SPDX-License-Identifier: MIT
//! The sequencer between the dispatcher and the rank's ports.

use crate::config::{Config, Timing};
use crate::options::{Gear, Options, SumFormat};
use crate::sizes::SCORE_BUFFER;
use pimlico_dpa::types::RankEvents;
use pimlico_ports::{Model, U};
use pimlico_units::gear::{Gear1, Gear2, Gear4};
use pimlico_units::module::DispatcherOut;
use pimlico_units::rank::{SequencedGear, SequencerIn, SequencerOut};

/// The largest number of the host's bursts that the sequencer counts.
const MOST_OPERANDS: usize = 127;

/// A sequencer of any gear.
trait Steps {
    fn settle(&self, input: &SequencerIn) -> SequencerOut;
    fn step(&mut self, input: &SequencerIn);
}

impl<M: Model<In = SequencerIn, Out = SequencerOut>> Steps for M {
    fn settle(&self, input: &SequencerIn) -> SequencerOut {
        Model::settle(self, input)
    }

    fn step(&mut self, input: &SequencerIn) {
        Model::step(self, input);
    }
}

/// That of this gear, reset.
fn unit<G: SequencedGear>() -> Box<dyn Steps> {
    Box::new(G::Sequencer::<SCORE_BUFFER>::new())
}

/// The sequencer.
pub struct Sequencer {
    unit: Box<dyn Steps>,
    /// Its inputs without an event.
    idle: SequencerIn,
}

impl Sequencer {
    /// One that has been reset.
    pub fn new(config: &Config, options: &Options) -> Self {
        let Timing { burst_tck, ccd_result_tck, .. } = config.timing;
        let burst = burst_tck.max(ccd_result_tck);
        let idle = SequencerIn {
            size_i: config.bank_size(),
            burst_i: burst.div_ceil(options.gear.tck() as u64) as u8,
            wide_i: options.sums == SumFormat::Binary32,
            ..Default::default()
        };
        let unit = match options.gear {
            Gear::One => unit::<Gear1>(),
            Gear::Two => unit::<Gear2>(),
            Gear::Four => unit::<Gear4>(),
        };
        Self { unit, idle }
    }

    /// A run starts.
    pub fn start(&mut self) {
        self.unit.step(&SequencerIn { start_i: true, ..self.idle });
    }

    /// What it requests in this cycle, where so many bursts of the host are still to be taken, and the next of them
    /// is there or not.
    pub fn requests(&mut self, operands: usize, is_there: bool) -> SequencerOut {
        self.idle.operands_i = U::new(operands.min(MOST_OPERANDS) as u64);
        self.idle.operand_valid_i = is_there;
        self.unit.settle(&self.idle)
    }

    /// The cycle ends, with the dispatcher's outputs in it and what happened in the rank.
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
