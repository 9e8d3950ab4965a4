// SPDX-License-Identifier: MIT
//! What an operator cost: slots used and lost, and how busy the parts of the rank were.

use crate::set_up::SetUp;
use pimlico_dpa::types::PinCommand;
use pimlico_ports::Enumerated;
use pimlico_units::lap::Walk;

/// All-bank RD slots that stayed empty, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Another row had to be opened.
    pub row_switch: u64,
    /// A refresh was under way.
    pub refresh: u64,
    /// Before the first RD of score or context (operands on their way in) or after the last (results
    /// on their way out).
    pub fill_drain: u64,
    /// Between two RDs, for no such reason.
    pub bubble: u64,
    /// Between two RDs, as operands had to come first, or results to leave; where the I/O buffers are
    /// accounted for ([`crate::aim`]).
    pub io: u64,
    /// The host had the pins: programs, operands and starts on their way in, results out.
    pub host: u64,
}

impl Lost {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.row_switch + self.refresh + self.fill_drain + self.bubble + self.io + self.host
    }

    fn map(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            row_switch: f(self.row_switch, other.row_switch),
            refresh: f(self.refresh, other.refresh),
            fill_drain: f(self.fill_drain, other.fill_drain),
            bubble: f(self.bubble, other.bubble),
            io: f(self.io, other.io),
            host: f(self.host, other.host),
        }
    }
}

/// Counts of an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Duration in tCK.
    pub cycles: u64,
    /// All-bank RDs; each uses a slot of tCCD_L.
    pub used: u64,
    /// tCK that are in the slot of no all-bank RD.
    pub lost_tck: Lost,
    /// Commands, by the code of [`PinCommand`].
    pub commands: [u64; PinCommand::ALL.len()],
    /// tCK in which the data bus was in use.
    pub bus_cycles: u64,
    /// tCK in which the adder unit took an element of each chip.
    pub adder_unit_cycles: u64,
    /// tCK in which the softmax unit took a score, a weight or a sum.
    pub softmax_unit_cycles: u64,
    /// Multiply-accumulates that were asked for, without padding: no port shows them, so whoever runs an operator says so.
    pub macs: u64,
    /// What the host wrote so that the operator could run.
    pub set_up: SetUp,
}

impl Statistics {
    /// Counts of two operators, one after the other.
    pub fn and(self, other: Self) -> Self {
        Self {
            cycles: self.cycles + other.cycles,
            used: self.used + other.used,
            lost_tck: self.lost_tck.map(&other.lost_tck, |a, b| a + b),
            commands: std::array::from_fn(|i| self.commands[i] + other.commands[i]),
            bus_cycles: self.bus_cycles + other.bus_cycles,
            adder_unit_cycles: self.adder_unit_cycles + other.adder_unit_cycles,
            softmax_unit_cycles: self.softmax_unit_cycles + other.softmax_unit_cycles,
            macs: self.macs + other.macs,
            set_up: self.set_up.and(other.set_up),
        }
    }

    /// Goes over what of it the device counts, for [laps](pimlico_units::lap).
    pub(crate) fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            cycles: _,
            used,
            lost_tck,
            commands,
            bus_cycles,
            adder_unit_cycles,
            softmax_unit_cycles,
            macs: _,
            set_up: _,
        } = self;
        let Lost { row_switch, refresh, fill_drain, bubble, io, host } = lost_tck;
        let lost = [row_switch, refresh, fill_drain, bubble, io, host];
        let others = [used, bus_cycles, adder_unit_cycles, softmax_unit_cycles];
        others.into_iter().chain(lost).chain(commands).for_each(|count| walk.moves(count));
    }

    /// Lost time in slots of `slot_tck`. Used and lost slots together are the duration, of which a
    /// last part of a slot counts as a whole one. Commands do not keep to a grid of slots, so a cause
    /// may have cost a part of one: it is rounded up, but for fill and drain, which has the rest.
    pub fn lost_slots(&self, slot_tck: u64) -> Lost {
        let slots = |tck: u64| tck.div_ceil(slot_tck);
        let rounded = self.lost_tck.map(&Lost::default(), |t, _| slots(t));
        let others = self.used + rounded.total() - rounded.fill_drain;
        Lost { fill_drain: slots(self.cycles).saturating_sub(others), ..rounded }
    }
}
