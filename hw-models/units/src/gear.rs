// SPDX-License-Identifier: MIT
//! The gear of the rank's core: how many tCK its cycle has, and so how many elements of each chip it takes in one.

use pimlico_ports::Signal;
use std::fmt::Debug;

/// A gear of the rank's core, as a parameter of a unit's type.
pub trait Gear: Copy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// tCK of a cycle, and lanes.
    const TCK: usize;
    /// Cycles of a burst on the data bus, of four tCK.
    const BURST: usize = 4 / Self::TCK;
    /// A value for each lane.
    type Lanes<T: Signal>: Signal + AsRef<[T]> + AsMut<[T]>;
}

/// Makes a gear.
macro_rules! gear {
    ($(#[$doc:meta])* $name:ident = $tck:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl Gear for $name {
            const TCK: usize = $tck;
            type Lanes<T: Signal> = [T; $tck];
        }
    };
}

gear! {
    /// A cycle is one tCK.
    Gear1 = 1
}
gear! {
    /// A cycle is two tCK.
    Gear2 = 2
}
gear! {
    /// A cycle is four tCK.
    Gear4 = 4
}

/// What a function gives for each lane.
#[inline]
pub fn lanes<G: Gear, T: Signal>(mut of_lane: impl FnMut(usize) -> T) -> G::Lanes<T> {
    let mut lanes = G::Lanes::<T>::default();
    for (lane, value) in lanes.as_mut().iter_mut().enumerate() {
        *value = of_lane(lane);
    }
    lanes
}

/// Name of a variant with a gear, behind the parts that `others` gives.
pub(crate) fn variant<G: Gear>(others: &str) -> String {
    match (G::TCK, others) {
        (1, _) => others.to_owned(),
        (gear, "") => format!("gear{gear}"),
        (gear, _) => format!("{others}_gear{gear}"),
    }
}
