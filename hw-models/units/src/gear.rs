// SPDX-License-Identifier: MIT
//! The gear of the rank's core: how many tCK its cycle has, and so how many elements of each chip it takes in one.

use pimlico_dpa::clock;
use pimlico_ports::Signal;
use std::fmt::Debug;

/// How many lanes a unit has, as a parameter of its type.
pub trait Width: Copy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// Lanes: of a unit of the rank's core the tCK of a cycle.
    const TCK: usize;
    /// A value for each lane.
    type Lanes<T: Signal>: Signal + AsRef<[T]> + AsMut<[T]>;
}

/// A gear of the rank's core, as a parameter of a unit's type.
pub trait Gear: Width {
    /// Which it is.
    const GEAR: clock::Gear;
    /// Cycles of a burst on the data bus, of four tCK.
    const BURST: usize = 4 / Self::TCK;
}

/// Makes a width.
macro_rules! width {
    ($(#[$doc:meta])* $name:ident, $lanes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl Width for $name {
            const TCK: usize = $lanes;
            type Lanes<T: Signal> = [T; $lanes];
        }
    };
}

/// Makes a gear.
macro_rules! gear {
    ($(#[$doc:meta])* $name:ident, $gear:ident, $tck:literal) => {
        width! {
            $(#[$doc])*
            $name, $tck
        }

        const _: () = assert!(<$name as Gear>::GEAR.tck() == $tck);

        impl Gear for $name {
            const GEAR: clock::Gear = clock::Gear::$gear;
        }
    };
}

gear! {
    /// A cycle is one tCK.
    Gear1, One, 1
}
gear! {
    /// A cycle is two tCK.
    Gear2, Two, 2
}
gear! {
    /// A cycle is four tCK.
    Gear4, Four, 4
}
width! {
    /// Eight lanes: of no gear.
    Lanes8, 8
}
width! {
    /// Sixteen lanes: of no gear.
    Lanes16, 16
}

/// The gear where nothing else is said.
pub type DefaultGear = Gear2;

/// What a function gives for each lane.
#[inline]
pub fn lanes<G: Width, T: Signal>(mut of_lane: impl FnMut(usize) -> T) -> G::Lanes<T> {
    let mut lanes = G::Lanes::<T>::default();
    for (lane, value) in lanes.as_mut().iter_mut().enumerate() {
        *value = of_lane(lane);
    }
    lanes
}

/// Name of a variant with a gear, behind the parts that `others` gives.
pub(crate) fn variant<G: Width>(others: &str) -> String {
    match (G::TCK, others) {
        (DefaultGear::TCK, _) => others.to_owned(),
        (gear, "") => format!("gear{gear}"),
        (gear, _) => format!("{others}_gear{gear}"),
    }
}
