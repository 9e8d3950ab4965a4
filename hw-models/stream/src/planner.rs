// SPDX-License-Identifier: MIT
//! How many loaders, for how much memory: Hermes' Layer Profiler and Pipeline Planner (section IV).
//!
//! A [`Profile`] holds the bytes of each layer and the times of loading and using it. For a limit of memory there are
//! [`candidates`]: from one loader up to as many as leave room for a slot each, and further slots beside. The planner
//! runs or simulates each and takes the fastest, of equals the one with fewer loaders. What it finds for several limits
//! is a [`Schedule`].

use crate::setup::{Residency, Setup, SetupError};
use crate::simulate::{Costs, simulate};
use serde::{Deserialize, Serialize};

/// Loaders that are considered, at the most.
pub const MOST_CONSIDERED: usize = 16;

/// A layer that was measured.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct LayerProfile {
    /// Bytes of its slot.
    pub bytes: u64,
    /// ms of loading it alone, on average.
    pub load_ms: f64,
    /// ms of using it for a pass, on average.
    pub compute_ms: f64,
}

/// A model that was measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Profile {
    /// Bytes beside the layers.
    pub fixed_bytes: u64,
    /// The layers.
    pub layers: Vec<LayerProfile>,
}

impl Profile {
    /// A run of this model.
    pub fn setup(&self, passes: usize, limit: Option<u64>, residency: Residency) -> Setup {
        let layers = self.layers.iter().map(|layer| layer.bytes).collect();
        Setup { layers, passes, fixed: self.fixed_bytes, limit, residency }
    }

    /// The times, for a simulation in which loaders do not slow each other down.
    pub fn costs(&self) -> Costs {
        Costs {
            load_ns: self.layers.iter().map(|layer| layer.load_ms * 1e6).collect(),
            compute_ns: self.layers.iter().map(|layer| layer.compute_ms * 1e6).collect(),
            contention: 0.0,
        }
    }

    /// ms that so many passes take by the times of the profile.
    pub fn predicted_ms(&self, passes: usize, choice: &Choice) -> Result<f64, SetupError> {
        let setup = self.setup(passes, None, choice.residency(0));
        Ok(simulate(&setup, &self.costs(), &mut |_| ())?.wall_ns / 1e6)
    }
}

/// Loaders and slots.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// Loaders.
    pub loaders: usize,
    /// Slots.
    pub slots: usize,
}

impl Choice {
    /// The residency, with so many pinned layers.
    pub fn residency(&self, pinned: usize) -> Residency {
        Residency::Pipeload { loaders: self.loaders, slots: self.slots, pinned }
    }
}

/// The most loaders for which a limit has room, each with a slot and `beyond` slots for all; 0 if there is no room for
/// a layer.
pub fn most_loaders(setup: &Setup, limit: u64, beyond: usize) -> usize {
    let room = setup.room(limit);
    let most = room.saturating_sub(beyond).min(setup.layers.len()).min(MOST_CONSIDERED);
    most.max(room.min(1))
}

/// What a planner tries within a limit.
pub fn candidates(setup: &Setup, limit: u64, beyond: usize) -> Vec<Choice> {
    let room = setup.room(limit);
    let of = |loaders: usize| Choice { loaders, slots: (loaders + beyond).min(room) };
    (1..=most_loaders(setup, limit, beyond)).map(of).collect()
}

/// The fastest of candidates, with its time; of equals the first.
///
/// # Panics
///
/// If there is none.
pub fn best<E>(
    candidates: &[Choice],
    mut time: impl FnMut(&Choice) -> Result<f64, E>,
) -> Result<(Choice, f64), E> {
    let mut best: Option<(Choice, f64)> = None;
    for choice in candidates {
        let found = time(choice)?;
        if best.is_none_or(|(_, before)| found < before) {
            best = Some((*choice, found));
        }
    }
    Ok(best.expect("a candidate"))
}

/// What was chosen for a limit.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Entry {
    /// The limit, in bytes.
    pub limit_bytes: u64,
    /// What was chosen.
    #[serde(flatten)]
    pub choice: Choice,
    /// ms by the profile.
    pub predicted_ms: f64,
    /// ms of a run within the limit, if there was one.
    pub measured_ms: Option<f64>,
    /// The most bytes that the process of this run had in memory.
    pub measured_peak_bytes: Option<u64>,
}

/// What was chosen for a model.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Schedule {
    /// Bytes of the slot of each layer: of another model they are others.
    pub layer_bytes: Vec<u64>,
    /// Entries, by rising limits.
    pub entries: Vec<Entry>,
}

/// Why a schedule does not say what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It is for other layers.
    #[error(
        "a schedule for {theirs} layers of {their_bytes} bytes in all: this model has {ours} of {our_bytes}"
    )]
    OtherModel {
        /// Layers of the schedule.
        theirs: usize,
        /// Bytes of these.
        their_bytes: u64,
        /// Layers of the model.
        ours: usize,
        /// Bytes of these.
        our_bytes: u64,
    },
    /// All of its entries are for more memory.
    #[error("no entry for {limit} bytes or less: the least is for {least}")]
    NoEntry {
        /// As asked for.
        limit: u64,
        /// The least limit of an entry.
        least: u64,
    },
}

impl Schedule {
    /// What was chosen for a model and a limit: the entry of the largest limit that is not above it, without a limit
    /// the last.
    pub fn find(&self, layers: &[u64], limit: Option<u64>) -> Result<Choice, ScheduleError> {
        if self.layer_bytes != layers {
            let sum =
                |bytes: &[u64]| bytes.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
            return Err(ScheduleError::OtherModel {
                theirs: self.layer_bytes.len(),
                their_bytes: sum(&self.layer_bytes),
                ours: layers.len(),
                our_bytes: sum(layers),
            });
        }
        let limit = limit.unwrap_or(u64::MAX);
        let within = self.entries.iter().filter(|entry| entry.limit_bytes <= limit);
        match within.max_by_key(|entry| entry.limit_bytes) {
            Some(entry) => Ok(entry.choice),
            None => {
                let least = self.entries.iter().map(|entry| entry.limit_bytes).min().unwrap_or(0);
                Err(ScheduleError::NoEntry { limit, least })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let layer = LayerProfile { bytes: 10, load_ms: 30.0, compute_ms: 1.0 };
        Profile { fixed_bytes: 5, layers: vec![layer; 24] }
    }

    #[test]
    fn more_memory_has_more_loaders_and_takes_no_longer() {
        let profile = profile();
        let setup = profile.setup(1, None, Residency::Whole);
        assert_eq!(candidates(&setup, 14, 1), []);
        assert_eq!(candidates(&setup, 15, 1), [Choice { loaders: 1, slots: 1 }]);
        assert_eq!(candidates(&setup, 25, 1), [Choice { loaders: 1, slots: 2 }]);
        let two = [Choice { loaders: 1, slots: 2 }, Choice { loaders: 2, slots: 3 }];
        assert_eq!(candidates(&setup, 35, 1), two);
        assert_eq!(candidates(&setup, 25, 0).len(), 2);
        assert_eq!(candidates(&setup, 1000, 1).len(), MOST_CONSIDERED);
        let mut before = (0, f64::INFINITY);
        for limit in [15, 25, 35, 65, 105, 305] {
            let candidates = candidates(&setup, limit, 1);
            let (choice, ms) =
                best(&candidates, |choice| profile.predicted_ms(1, choice)).expect("it runs");
            assert!(choice.loaders >= before.0 && ms <= before.1, "{limit}: {choice:?} {ms}");
            before = (choice.loaders, ms);
        }
        // Two rounds, the second of 8 layers.
        assert_eq!(before, (16, 68.0));
    }

    #[test]
    fn a_schedule_knows_its_model() {
        let entry = |limit_bytes, loaders| Entry {
            limit_bytes,
            choice: Choice { loaders, slots: loaders + 1 },
            predicted_ms: 1.0,
            measured_ms: None,
            measured_peak_bytes: None,
        };
        let schedule =
            Schedule { layer_bytes: vec![3, 4], entries: vec![entry(20, 1), entry(30, 2)] };
        let loaders = |limit| schedule.find(&[3, 4], limit).map(|choice| choice.loaders);
        assert_eq!((loaders(Some(20)), loaders(Some(29))), (Ok(1), Ok(1)));
        assert_eq!((loaders(Some(31)), loaders(None)), (Ok(2), Ok(2)));
        let none = loaders(Some(19)).expect_err("no entry").to_string();
        assert_eq!(none, "no entry for 19 bytes or less: the least is for 20");
        let other = schedule.find(&[3, 5], None).expect_err("another model").to_string();
        assert_eq!(other, "a schedule for 2 layers of 7 bytes in all: this model has 2 of 8");
    }
}
