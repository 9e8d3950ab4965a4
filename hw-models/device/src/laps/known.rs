// SPDX-License-Identifier: MIT
//! Laps that were found, for later runs and for other ranks of the same kind.

use super::lap::Lap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Laps that are known, at the most.
pub(super) const MOST_LAPS: usize = 16;

/// What ranks with one configuration and the same options know of laps. Those that share it find each but once; what they do does
/// not depend on it.
#[derive(Clone, Debug, Default)]
pub struct KnownLaps(Arc<Mutex<Vec<Lap>>>);

impl KnownLaps {
    fn laps(&self) -> MutexGuard<'_, Vec<Lap>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, for a run that starts.
    pub(super) fn all(&self) -> Vec<Lap> {
        self.laps().iter().map(Lap::released).collect()
    }

    /// One that was found, or of which more is known now.
    pub(super) fn keep(&self, lap: Lap) {
        let mut laps = self.laps();
        match laps.iter_mut().find(|known| known.is_same(&lap)) {
            Some(known) if known.kinds() > lap.kinds() => {}
            Some(known) => *known = lap,
            None => {
                if laps.len() == MOST_LAPS {
                    laps.remove(0);
                }
                laps.push(lap);
            }
        }
    }
}
