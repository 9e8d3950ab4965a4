// SPDX-License-Identifier: MIT
//! Laps of a run that the checkers take as a whole, as nothing was found in one like them.

use super::Log;
use pimlico_device::PinLaps;
use pimlico_golden::pins::Stand;
use std::collections::VecDeque;

/// Kinds of laps that are known, at most: a run has few at a time.
const KNOWN: usize = 8;

/// Laps that were judged.
#[derive(Default)]
pub(super) struct Judged {
    /// By their number: where the checker stood before and behind one in which nothing was found.
    clean: VecDeque<(u64, Stand)>,
    /// The lap that goes on: its number, where it ends, what was found before it, and where the checker stood.
    judging: Option<(u64, u64, u64, Stand)>,
}

impl Judged {
    fn is_clean(&self, number: u64, stand: &Stand) -> bool {
        self.clean.iter().any(|(clean, before)| *clean == number && before == stand)
    }

    fn keep(&mut self, number: u64, stand: Stand) {
        if self.clean.len() == KNOWN {
            self.clean.pop_front();
        }
        self.clean.push_back((number, stand));
    }
}

impl Log {
    /// See [`PinWatch::laps`](pimlico_device::PinWatch::laps).
    pub(super) fn take_laps(&mut self, laps: &PinLaps) -> u64 {
        let &PinLaps { number, from_tck, tck, count, ref refs, goes_on } = laps;
        let (found, stand) = (self.found(), self.checker.stand(from_tck));
        if let Some((judged, end_tck, before, stood)) = self.laps.judging.take()
            && (end_tck, before) == (from_tck, found)
            && stand.as_ref() == Some(&stood)
            && !self.laps.is_clean(judged, &stood)
        {
            self.laps.keep(judged, stood);
        }
        let Some(stand) = stand else { return 0 };
        let passed = if goes_on { count } else { count - 1 };
        let runs = self.host.as_ref().is_none_or(|host| host.goes_on(from_tck));
        if runs && passed > 0 && self.laps.is_clean(number, &stand) {
            let until_tck = from_tck + passed * tck;
            let are_passed = refs.partition_point(|&at_tck| at_tck < until_tck);
            let refs = &refs[..are_passed];
            if self.checker.pass(until_tck - from_tck, until_tck, refs) {
                for (host, &at_tck) in self.host.iter_mut().zip(refs) {
                    host.refreshes(at_tck);
                }
                return passed;
            }
        }
        self.laps.judging = Some((number, from_tck + tck, found, stand));
        0
    }
}
