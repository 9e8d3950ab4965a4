// SPDX-License-Identifier: MIT
//! For those who watch the units of a rank at their ports: to record what they are given.

use pimlico_units::arith::{Binary16, Binary32};
use pimlico_units::bank::BankPuIn;
use pimlico_units::module::DispatcherIn;
use pimlico_units::rank::{
    AdderUnitIn, RankControllerIn, RefreshManagerIn, RelayoutUnitIn, SoftmaxUnitIn,
};

/// The inputs of a unit in one of its cycles.
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
    /// The bank PU of chip 0 at bank 0, with sums of binary16. Its cycle is a slot.
    BankPu(&'a BankPuIn<Binary16>),
    /// The same with sums of binary32.
    WideBankPu(&'a BankPuIn<Binary16, Binary32>),
    /// The adder unit with sums of binary16.
    AdderUnit(&'a AdderUnitIn<Binary16>),
    /// The same with sums of binary32.
    WideAdderUnit(&'a AdderUnitIn<Binary16, Binary32>),
    /// The softmax unit.
    SoftmaxUnit(&'a SoftmaxUnitIn<Binary16>),
}

/// Watches the units of a rank.
pub trait UnitWatch {
    /// A unit has had a cycle.
    fn cycle(&mut self, input: UnitInput<'_>);
}
