// SPDX-License-Identifier: MIT
//! The sequencer between the dispatcher and the rank's ports.

use crate::config::{Config, Timing};
use crate::options::{Gear, Options, SumFormat};
use crate::sizes::SCORE_BUFFER;
use pimlico_dpa::types::{ArrayRequest, Dispatch, RankEvents};
use pimlico_ports::{Model, U};
use pimlico_units::gear::{Gear1, Gear2, Gear4};
use pimlico_units::lap::Walk;
use pimlico_units::module::DispatcherOut;
use pimlico_units::rank::{SequencedGear, SequencerIn, SequencerOut, SequencerSlots};

/// The largest number of the host's bursts that the sequencer counts.
const MOST_OPERANDS: usize = 127;

/// A sequencer of any gear.
trait Steps {
    fn settle(&self, input: &SequencerIn) -> SequencerOut;
    fn step(&mut self, input: &SequencerIn);
    fn next_slot(&self, input: &SequencerIn) -> Option<ArrayRequest>;
    fn pass_slot(&mut self, input: &SequencerIn, dispatched: Dispatch, done: bool);
    fn keep(&mut self);
    fn has_passed(&mut self, input: &SequencerIn, dispatched: Dispatch) -> bool;
    fn waits(&self, input: &SequencerIn) -> u64;
    fn rest(&mut self, cycles: u64);
    fn walk(&mut self, walk: &mut Walk<'_>);
}

/// A sequencer, and one as it was before.
struct Kept<M> {
    unit: M,
    before: M,
}

impl<M> Steps for Kept<M>
where
    M: Model<In = SequencerIn, Out = SequencerOut> + SequencerSlots + Clone + PartialEq,
{
    fn settle(&self, input: &SequencerIn) -> SequencerOut {
        self.unit.settle(input)
    }

    fn step(&mut self, input: &SequencerIn) {
        self.unit.step(input);
    }

    fn next_slot(&self, input: &SequencerIn) -> Option<ArrayRequest> {
        self.unit.next_slot(input)
    }

    fn pass_slot(&mut self, input: &SequencerIn, dispatched: Dispatch, done: bool) {
        self.unit.pass_slot(input, dispatched, done);
    }

    fn keep(&mut self) {
        self.before.clone_from(&self.unit);
    }

    fn has_passed(&mut self, input: &SequencerIn, dispatched: Dispatch) -> bool {
        self.before.pass_slot(input, dispatched, false);
        self.before == self.unit
    }

    fn waits(&self, input: &SequencerIn) -> u64 {
        self.unit.waits(input)
    }

    fn rest(&mut self, cycles: u64) {
        self.unit.rest(cycles);
    }

    fn walk(&mut self, walk: &mut Walk<'_>) {
        self.unit.walk(walk);
    }
}

/// That of this gear, reset.
fn unit<G: SequencedGear>() -> Box<dyn Steps> {
    let [unit, before] = [(); 2].map(|()| G::Sequencer::<SCORE_BUFFER>::new());
    Box::new(Kept { unit, before })
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

    /// The request that is sent in the slot that begins, where the slot is like others: see
    /// [`SequencerSlots::next_slot`].
    pub fn next_slot(&self) -> Option<ArrayRequest> {
        self.unit.next_slot(&self.idle)
    }

    /// It is over, in which this was dispatched, and behind it the dispatcher's run has ended or not.
    pub fn pass_slot(&mut self, dispatched: Dispatch, done: bool) {
        self.unit.pass_slot(&self.idle, dispatched, done);
    }

    /// Keeps the state for [`has_passed`](Self::has_passed).
    pub fn keep(&mut self) {
        self.unit.keep();
    }

    /// Whether the cycles since then have done what [`pass_slot`](Self::pass_slot) does.
    pub fn has_passed(&mut self, dispatched: Dispatch) -> bool {
        self.unit.has_passed(&self.idle, dispatched)
    }

    /// Cycles from this one on in which it requests the same as in this one, and accepts a command or does not, where nothing
    /// happens and no command comes.
    pub fn waits(&self) -> u64 {
        self.unit.waits(&self.idle)
    }

    /// So many of them go by.
    pub fn rest(&mut self, cycles: u64) {
        self.unit.rest(cycles);
    }
    /// Goes over all of it, for [laps](pimlico_units::lap).
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.bits(&self.idle.operands_i);
        walk.still(self.idle.operand_valid_i);
        self.unit.walk(walk);
    }
}
