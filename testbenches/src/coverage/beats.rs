// SPDX-License-Identifier: MIT
//! Cover points of units that take beats in several modes: what follows what, and after which gap.

use super::Bins;

const GAPS: [&str; 4] =
    ["back to back", "after a gap of 1", "after a gap of 2", "after a longer gap"];

/// Follows a stream of beats under a name.
pub struct Follow {
    point: &'static str,
    /// Mode and cycle of the last beat.
    last: Option<(usize, usize)>,
    modes: usize,
}

impl Follow {
    /// Declares each pair of consecutive modes, with each gap between them.
    pub fn plan(point: &'static str, modes: &[&str], bins: &mut Bins) {
        let pairs = modes.iter().flat_map(|before| modes.iter().map(move |now| (before, now)));
        let pairs: Vec<String> =
            pairs.map(|(before, now)| format!("{now} after {before}")).collect();
        let pairs: Vec<&str> = pairs.iter().map(String::as_str).collect();
        bins.cross(point, &pairs, &GAPS);
    }

    /// At the begin of an episode.
    pub fn new(point: &'static str, modes: &[&str]) -> Self {
        Self { point, last: None, modes: modes.len() }
    }

    /// A beat in `mode` takes `beats` cycles from `cycle` on.
    pub fn beat(&mut self, mode: usize, cycle: usize, beats: usize, bins: &mut Bins) {
        if let Some((before, end)) = self.last {
            let gap = cycle.saturating_sub(end).min(GAPS.len() - 1);
            bins.hit_cross(self.point, before * self.modes + mode, gap);
        }
        self.last = Some((mode, cycle + beats));
    }
}
