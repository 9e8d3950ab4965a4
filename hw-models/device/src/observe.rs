// SPDX-License-Identifier: MIT
//! A rank as one who watches all of it sees it.

use crate::requests::{Events, Requests, Weigh};
use crate::sequencer::SequencerPorts;
use crate::sizes::Burst;
use crate::sum_path::SumPorts;
use pimlico_ports::Mismatch;
use pimlico_units::arith::Binary16;
use pimlico_units::module::{DispatcherIn, DispatcherOut};
use pimlico_units::rank::{RankControllerOut, RefreshManagerOut, SoftmaxUnitIn, SoftmaxUnitOut};

/// Watches a rank tCK by tCK, and may stop it.
pub trait Observer {
    /// A tCK of processing in memory is over.
    fn pim(&mut self, tck: &Observed<'_>) -> Result<(), Box<Mismatch>>;

    /// A clock of dispatcher and sequencer alone is over: the host wrote to the module, or started a run.
    fn host(&mut self, dispatcher: (&DispatcherIn, &DispatcherOut)) -> Result<(), Box<Mismatch>>;

    /// A tCK as memory is over; `refreshed` if a REF was on the pins.
    fn memory(&mut self, refreshed: bool, refresh: &RefreshManagerOut)
    -> Result<(), Box<Mismatch>>;
}

/// A tCK of processing in memory.
pub struct Observed<'a> {
    /// The dispatcher's ports.
    pub dispatcher: (&'a DispatcherIn, &'a DispatcherOut),
    /// The sequencer's.
    pub sequencer: SequencerPorts<'a>,
    /// What was asked for.
    pub requests: &'a Requests,
    /// The score in the buffer that becomes a weight.
    pub weigh: Option<Weigh>,
    /// What happened.
    pub events: &'a Events,
    /// The rank controller's ports, and so the command pins.
    pub controller: &'a RankControllerOut,
    /// The refresh manager's.
    pub refresh: &'a RefreshManagerOut,
    /// What an RD_ALL on the pins reads, bank by bank.
    pub rows: Option<&'a [Burst]>,
    /// Bank PUs and adder unit, with sums of binary16.
    pub sums: Option<SumPorts<'a>>,
    /// The softmax unit.
    pub softmax: (&'a SoftmaxUnitIn<Binary16>, &'a SoftmaxUnitOut<Binary16>),
    /// The data bus.
    pub bus: &'a BusTraffic,
}

/// What was on the chips' data bus in a tCK.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusTraffic {
    /// The beats that the buffer chip drove.
    pub operands: [Option<u64>; 2],
    /// The word of the shared buffers that was complete with them.
    pub written: Option<(usize, Burst)>,
    /// The chips drove the results that the adder unit took.
    pub results: bool,
}
