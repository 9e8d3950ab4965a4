// SPDX-License-Identifier: MIT
//! What of a refresh manager moves in a lap: see [`lap`](crate::lap).

use super::{RefreshManager, RefreshManagerOut};
use crate::lap::Walk;

impl<const MAX_POSTPONED: u32, const MARGIN: u32> RefreshManager<MAX_POSTPONED, MARGIN> {
    /// Goes over all of it, where no REF is forced soon.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { configured, refi, left, owed, idle, head_ended } = self;
        walk.refuse_if(!*configured || *owed >= MAX_POSTPONED);
        walk.still(*refi);
        // With fewer than these it asks for REFs alike, however many there are.
        let is_few = (1..MAX_POSTPONED - 1).contains(owed);
        let alike = if is_few { MAX_POSTPONED - 2 } else { *owed };
        walk.still(*idle);
        walk.still(*head_ended);
        if *refi > 0 {
            walk.timer(left, *refi, owed, alike);
        }
    }

    /// With so many cycles left or fewer until a REF is due, another may be forced.
    pub const MARGIN: u64 = MARGIN as u64;

    /// Cycles until a REF is due, if there are any.
    pub fn left(&self) -> u64 {
        self.left.into()
    }

    /// The same with so many cycles left.
    pub fn with_left(&self, left: u64) -> Self {
        Self { left: left as u32, ..self.clone() }
    }
}

impl RefreshManagerOut {
    /// Goes over all of it.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { refresh_o, force_o, owed_o, .. } = self;
        walk.still(*refresh_o);
        walk.still(*force_o);
        walk.owes(owed_o.get() > 0);
        walk.moves(owed_o);
    }
}
