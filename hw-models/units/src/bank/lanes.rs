// SPDX-License-Identifier: MIT
//! How many multipliers a unit has side by side, as a type.

use pimlico_ports::Signal;
use std::fmt::Debug;
use std::ops::{Index, IndexMut};

/// A number of multipliers: of elements in a beat.
pub trait Lanes: Copy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// The number, a power of two.
    const COUNT: usize;
    /// Levels of a binary tree over so many elements.
    const LEVELS: usize = Self::COUNT.ilog2() as usize;
    /// Something for each of them.
    type Of<T: Signal>: Signal + Index<usize, Output = T> + IndexMut<usize>;
}

/// Four: L3's bank PU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Four;

/// Eight: an array or a vector unit of an NPU, as it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Eight;

/// Sixteen: an AiM's PU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sixteen;

impl Lanes for Four {
    const COUNT: usize = 4;
    type Of<T: Signal> = [T; 4];
}

impl Lanes for Eight {
    const COUNT: usize = 8;
    type Of<T: Signal> = [T; 8];
}

impl Lanes for Sixteen {
    const COUNT: usize = 16;
    type Of<T: Signal> = [T; 16];
}
