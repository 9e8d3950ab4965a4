// SPDX-License-Identifier: MIT
//! What happens in a run, one thing after the other. A trace of it can be judged from its events alone, as
//! `golden::schedule` does.

use serde::Serialize;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Time since the start of the run, in ns: of the clock on the wall, or of a simulation.
    pub at_ns: u64,
    /// What it was.
    #[serde(flatten)]
    pub what: What,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum What {
    /// Memory is reserved for a layer, before anything is loaded.
    Granted(Load),
    /// A loader begins to fill the slot.
    Filling(Load),
    /// The slot is full: Hermes' signal of computation ready, S^comp.
    Ready(Load),
    /// The layer begins to compute.
    Computing(Use),
    /// It has computed.
    Computed(Use),
    /// The layer is of no further use: Hermes' signal of destruction, S^dest.
    Destroy {
        /// Where it lies.
        slot: usize,
    },
    /// Its memory is free.
    Destroyed {
        /// Where it lay.
        slot: usize,
    },
    /// A loader waits for memory: Hermes' S^stop.
    Stop {
        /// Which.
        loader: usize,
    },
    /// It goes on.
    Go {
        /// Which.
        loader: usize,
    },
    /// Nothing more is wanted: what is being loaded is loaded to its end and not used.
    Ended,
    /// An agent has failed.
    Failed,
}

/// A layer that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Load {
    /// Number of the load in the order of use.
    pub number: usize,
    /// For which pass.
    pub pass: usize,
    /// Which layer.
    pub layer: usize,
    /// Where to.
    pub slot: usize,
    /// By which loader.
    pub loader: usize,
    /// How many bytes.
    pub bytes: u64,
}

/// A layer that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Use {
    /// In which pass.
    pub pass: usize,
    /// Which layer.
    pub layer: usize,
    /// Where it lies.
    pub slot: usize,
}

/// How often agents told each other something (Hermes, section III-B).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Signals {
    /// Layers that were ready.
    pub ready: u64,
    /// Layers that were to be destroyed.
    pub destroy: u64,
    /// Loaders that had to wait for memory.
    pub stop: u64,
    /// Of these, those that went on.
    pub go: u64,
}
