// SPDX-License-Identifier: MIT
//! The sequencer of each gear.

use super::{Sequencer, SequencerIn, SequencerOut, SequencerSlots};
use crate::gear::{Gear, Gear1, Gear2, Gear4};
use pimlico_ports::Model;

/// A gear with its sequencer.
pub trait SequencedGear: Gear {
    /// The sequencer with the distances between bursts that `rtl/rank/result_path.md` gives.
    type Sequencer<const SCORES: usize>: Model<In = SequencerIn, Out = SequencerOut>
        + SequencerSlots
        + Clone
        + PartialEq;
}

impl SequencedGear for Gear1 {
    type Sequencer<const SCORES: usize> = Sequencer<SCORES, 0, 4, 11>;
}

impl SequencedGear for Gear2 {
    type Sequencer<const SCORES: usize> = Sequencer<SCORES, 0, 4, 9>;
}

impl SequencedGear for Gear4 {
    type Sequencer<const SCORES: usize> = Sequencer<SCORES, 0, 4, 8>;
}
