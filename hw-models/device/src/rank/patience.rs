// SPDX-License-Identifier: MIT
//! The end of a run in which nothing happens any more.

use crate::dispatch::{DispatchError, PATIENCE_TCK};
use pimlico_dpa::types::Fault;

/// How long whoever waits for a run has seen nothing happen in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patience {
    last_event_tck: u64,
}

impl Patience {
    /// Something happens.
    pub fn event(&mut self, tck: u64) {
        self.last_event_tck = tck;
    }

    /// tCK from this one on in which it is not given up, if nothing happens.
    pub fn left(&self, tck: u64) -> u64 {
        (self.last_event_tck + PATIENCE_TCK + 1).saturating_sub(tck)
    }

    /// Gives a run up in which nothing has happened for long.
    pub fn check(&self, tck: u64, fault: Fault) -> Result<(), DispatchError> {
        match tck - self.last_event_tck > PATIENCE_TCK {
            true => Err(DispatchError::Stuck { overwritten: fault == Fault::Overwritten }),
            false => Ok(()),
        }
    }
}
