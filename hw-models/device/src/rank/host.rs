// SPDX-License-Identifier: MIT
//! The rank's port to its host: windows, the queue behind them, and who owns the chips' pins.

use crate::config::Config;
use crate::options::{Gear, Options};
use pimlico_dpa::types::{Burst, Fault, Pins, RankResults, RunEnd, Status};
use pimlico_ports::{Enumerated, Model};
use pimlico_units::gear::{self, Gear1, Gear2, Gear4};
use pimlico_units::lap::Walk;
use pimlico_units::module::{HostPort, HostPortIn, HostPortOut};
use std::ops::Range;

/// tCK in which the port has seen what the core shows, and the last command: two of the longest cycles.
const SETTLES_TCK: u64 = 8;
/// tCK of the longest cycle of the core.
const CYCLE_TCK: u64 = 4;

/// A port of any gear.
trait Steps {
    fn settle(&self, input: &HostPortIn) -> HostPortOut;
    fn step_beat(&mut self, input: &HostPortIn) -> Option<u64>;
    fn is_quiet(&self) -> bool;
    fn is_passive(&self) -> bool;
    fn packs_at_most(&self) -> bool;
    fn status(&self) -> Burst;
    fn pass(
        &mut self,
        input: &HostPortIn,
        tck: u64,
        command: Option<(u64, Pins)>,
        driven: &mut dyn FnMut(u64, [u64; 2]),
    );
}

impl<G: gear::Gear> Steps for HostPort<G> {
    fn settle(&self, input: &HostPortIn) -> HostPortOut {
        Model::settle(self, input)
    }

    fn step_beat(&mut self, input: &HostPortIn) -> Option<u64> {
        self.step_beat(input)
    }

    fn is_quiet(&self) -> bool {
        self.is_quiet()
    }

    fn is_passive(&self) -> bool {
        self.is_passive()
    }

    fn packs_at_most(&self) -> bool {
        self.packs_at_most()
    }

    fn status(&self) -> Burst {
        self.status()
    }

    fn pass(
        &mut self,
        input: &HostPortIn,
        tck: u64,
        command: Option<(u64, Pins)>,
        driven: &mut dyn FnMut(u64, [u64; 2]),
    ) {
        self.pass(input, tck, command, driven);
    }
}

/// What a cycle of the core shows the port, in its last beat.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// A REF is on the pins in the first tCK.
    pub refreshes: bool,
    /// The host has written more to the dispatcher than fits.
    pub overflow: bool,
    /// Status of each request.
    pub status: [Status; 16],
    /// Fault of the run.
    pub fault: Fault,
    /// The program has ended.
    pub end: Option<RunEnd>,
    /// Everything that the run dispatched is done.
    pub over: bool,
    /// Nothing is in flight, and all banks are closed.
    pub settled: bool,
    /// The operand is taken.
    pub operand_taken: bool,
}

impl Shown {
    /// Nothing but the status of the cycle before, which the port shows when it is asked for it.
    pub fn is_plain(&self, results: Option<&RankResults>, before: &Self) -> bool {
        results.is_none()
            && !self.refreshes
            && self.fault == Fault::None
            && self.has_status_of(before)
            && self.end.is_none()
            && !(self.over && self.settled)
            && !self.operand_taken
    }

    /// Goes over all of it, for [laps](pimlico_units::lap), where the run goes on.
    pub fn walk(&self, walk: &mut Walk<'_>) {
        let Self { refreshes, overflow, status, fault, end, over, settled, operand_taken } = self;
        walk.refuse_if(end.is_some() || *fault != Fault::None);
        for flag in [refreshes, overflow, over, settled, operand_taken] {
            walk.still(*flag);
        }
        status.iter().for_each(|status| walk.still(status.code()));
    }

    /// The words of the status are those of the cycle before.
    fn has_status_of(&self, before: &Self) -> bool {
        self.fault == before.fault
            && self.overflow == before.overflow
            && self.status == before.status
    }
}

/// The port.
pub struct Host {
    unit: Box<dyn Steps>,
    input: HostPortIn,
}

impl Host {
    /// One that has been reset.
    pub fn new(config: &Config, options: &Options) -> Self {
        let unit: Box<dyn Steps> = match options.gear {
            Gear::One => Box::new(HostPort::<Gear1>::new()),
            Gear::Two => Box::new(HostPort::<Gear2>::new()),
            Gear::Four => Box::new(HostPort::<Gear4>::new()),
        };
        Self { unit, input: HostPortIn { timing_i: config.timing.ports(), ..Default::default() } }
    }

    /// A tCK begins, with the host's command. Returns what the port asks for.
    pub fn begin_tck(&mut self, pins: Pins) -> HostPortOut {
        self.set_pins(pins);
        self.unit.settle(&self.input)
    }

    /// The host's command.
    pub fn set_pins(&mut self, pins: Pins) {
        self.input.host_pins_i = pins.encode();
    }

    /// The cycle of the core shows this until the next one, and of what the rank makes the context and the outputs.
    pub fn show(&mut self, shown: &Shown, results: Option<&RankResults>) {
        let Shown { overflow, status, fault, end, over, settled, operand_taken, .. } = *shown;
        let input = &mut self.input;
        (input.overflow_i, input.status_i, input.fault_i) = (overflow, status, fault);
        (input.end_valid_i, input.end_i) = (end.is_some(), end.unwrap_or_default());
        (input.over_i, input.settled_i, input.operand_taken_i) = (over, settled, operand_taken);
        input.results_i = results.copied().unwrap_or_default();
    }

    /// The tCK that has begun: what host and module drive on the host's data bus, and whether a REF is on the chips'
    /// pins. Returns what is on that bus for the host.
    pub fn step_tck(
        &mut self,
        driven: [Option<u64>; 2],
        module: [Option<u64>; 2],
        refreshes: bool,
    ) -> [Option<u64>; 2] {
        self.input.refresh_i = refreshes;
        std::array::from_fn(|beat| {
            self.input.host_dq_i = driven[beat].unwrap_or(u64::MAX);
            self.input.module_dq_valid_i = module[beat].is_some();
            self.input.module_dq_i = module[beat].unwrap_or_default();
            self.unit.step_beat(&self.input)
        })
    }

    /// Whether the port does no more in a run than to answer a host that looks at windows: see [`HostPort::is_passive`].
    pub fn is_passive(&self) -> bool {
        self.unit.is_passive()
    }

    /// Whether it does no more than that, and to pack results that have come.
    pub fn packs_at_most(&self) -> bool {
        self.unit.packs_at_most()
    }

    /// What the window of the status shows now.
    pub fn status(&self) -> Burst {
        self.unit.status()
    }

    /// So many tCK in which it is, the core having shown no more than what is [plain](Shown::is_plain). The host may have an RD
    /// in one of them, by its number. Tells what the module drives on the host's data bus, by the number of the tCK.
    pub fn rest(
        &mut self,
        tck: u64,
        command: Option<(u64, Pins)>,
        driven: &mut dyn FnMut(u64, [u64; 2]),
    ) {
        self.unit.pass(&self.input, tck, command, driven);
    }

    /// The host owns the pins, and nothing of its windows is under way.
    pub fn is_quiet(&self) -> bool {
        self.unit.is_quiet()
    }

    /// tCK go by in which the port is quiet and the host's commands are for rows alone. What the port keeps of them is how
    /// much of tRFC is left, so that it is shown no more of them than it takes for that; REFs ended last at these tCK,
    /// before them and with them.
    pub fn pass(&mut self, tck: Range<u64>, [before, ended]: [u64; 2], rfc_tck: u64) {
        let ref_tck = (ended != before).then(|| ended - rfc_tck);
        let counts = ref_tck.filter(|_| ended >= tck.end).map_or(0, |ref_tck| tck.end - ref_tck);
        let counts_down = (before + 1).saturating_sub(tck.start);
        let shown = SETTLES_TCK.max(counts).max(counts_down);
        let from_tck = tck.end.saturating_sub(shown).max(tck.start);
        let from_tck = from_tck - (from_tck - tck.start) % CYCLE_TCK;
        self.input.host_pins_i = Pins::NONE.encode();
        for tck in from_tck..tck.end {
            self.step_tck([None; 2], [None; 2], ref_tck == Some(tck));
        }
    }
}
