// SPDX-License-Identifier: MIT
//! For those who watch the units of a rank at their ports: to record what they are given.

use pimlico_units::module::DispatcherIn;
use pimlico_units::rank::{RankControllerIn, RefreshManagerIn, RelayoutUnitIn};
use std::any::Any;

/// The inputs of a unit in one of its cycles. Of units that are several, by the format of sums and by the gear,
/// they are those of the rank's own, whose type tells which that is.
#[derive(Clone, Copy, Debug)]
pub enum UnitInput<'a> {
    /// The dispatcher.
    Dispatcher(&'a DispatcherIn),
    /// The rank controller.
    RankController(&'a RankControllerIn),
    /// The refresh manager.
    RefreshManager(&'a RefreshManagerIn),
    /// The re-layout unit, whose cycle is a beat.
    RelayoutUnit(&'a RelayoutUnitIn),
    /// The bank PU of chip 0 at bank 0: a `BankPuIn`. Its cycle is a slot.
    BankPu(&'a dyn Any),
    /// The adder unit: an `AdderUnitIn`.
    AdderUnit(&'a dyn Any),
    /// The softmax unit: a `SoftmaxUnitIn`.
    SoftmaxUnit(&'a dyn Any),
}

/// Watches the units of a rank.
pub trait UnitWatch {
    /// A unit has had a cycle.
    fn cycle(&mut self, input: UnitInput<'_>);
}
