// SPDX-License-Identifier: MIT
//! Sequencer: queues and interlocks between the dispatcher and the rank's ports.

mod array;
mod command;
mod geared;
mod model;
mod ports;
mod queue;
mod results;
mod scoreboard;
mod softmax;

pub use command::{Command, Results, decode};
pub use geared::SequencedGear;
pub use model::{Sequencer, SequencerSlots};
pub use ports::{SequencerIn, SequencerOut, SequencerProbe};
pub use softmax::WORDS;
