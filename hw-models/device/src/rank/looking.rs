// SPDX-License-Identifier: MIT
//! What a host that looks on has on its pins while a rank passes tCK of a run.
//!
//! ```text
//!   core    ───────────────── passed ─────────────────▶ not plain, or until
//!   host         RD ─────────── CL + 1 ──▶ ▒▒▒▒ status
//! ```
//!
//! The core does not know of it. So the core goes first, and the host's port follows; but those who watch the pins are told of the
//! RD when it comes, between the commands on the chips' pins before it and those behind it.

use super::engine::Rank;
use crate::dimm::Onlooker;
use pimlico_dpa::types::Pins;

/// The host, and its RD once that was told.
pub struct Looking<'a> {
    pub host: &'a mut dyn Onlooker,
    told: Option<(u64, Pins)>,
}

impl<'a> Looking<'a> {
    /// A host whose RD is to come.
    pub fn of(host: &'a mut dyn Onlooker) -> Self {
        Self { host, told: None }
    }

    /// The RD, if it has come before a tCK: that, and its pins. It is not asked for again.
    pub fn take(&mut self, before_tck: u64) -> Option<(u64, Pins)> {
        self.told.take_if(|(at_tck, _)| *at_tck < before_tck)
    }
}

impl Rank {
    /// Those who watch are told of the host's RD, if it comes in this tCK or sooner.
    pub(super) fn tell_look(&mut self, looking: &mut Looking<'_>, until_tck: u64) {
        if let Some(at_tck) = looking.host.reads_tck().filter(|at_tck| *at_tck <= until_tck) {
            let pins = looking.host.read();
            self.record.channel(&self.config.timing, at_tck, pins);
            looking.told = Some((at_tck, pins));
        }
    }
}
