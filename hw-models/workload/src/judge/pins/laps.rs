// SPDX-License-Identifier: MIT
//! Laps of a run that the checkers take as a whole, as nothing was found in one like them.

use super::Log;
use pimlico_device::PinLaps;
use pimlico_golden::pins::Stand;
use std::collections::VecDeque;

/// Kinds of laps that are known, at most: runs that are alike have few at a time.
const KNOWN: usize = 64;

/// By the numbers of laps: where checkers stood before and behind one in which nothing was found.
#[derive(Debug, Default)]
pub(super) struct CleanLaps(VecDeque<(u64, Stand)>);

impl CleanLaps {
    fn contains(&self, number: u64, stand: &Stand) -> bool {
        self.0.iter().any(|(clean, before)| *clean == number && before == stand)
    }

    fn keep(&mut self, number: u64, stand: Stand) {
        if self.contains(number, &stand) {
            return;
        }
        if self.0.len() == KNOWN {
            self.0.pop_front();
        }
        self.0.push_back((number, stand));
    }
}

/// A lap that goes on.
pub(super) struct Judging {
    number: u64,
    end_tck: u64,
    /// What was found before it, and where the checker stood.
    found: u64,
    stand: Stand,
}

impl Log {
    /// See [`PinWatch::laps`](pimlico_device::PinWatch::laps).
    pub(super) fn take_laps(&mut self, laps: &PinLaps) -> u64 {
        let &PinLaps { number, from_tck, tck, count, ref refs, goes_on } = laps;
        let (found, stand) = (self.found(), self.checker.stand(from_tck));
        if let Some(judged) = self.judging_lap.take()
            && (judged.end_tck, judged.found) == (from_tck, found)
            && stand.as_ref() == Some(&judged.stand)
        {
            self.clean.known().laps.keep(judged.number, judged.stand);
        }
        let Some(stand) = stand else { return 0 };
        let passed = if goes_on { count } else { count - 1 };
        let runs = self.host.as_ref().is_none_or(|host| host.goes_on(from_tck));
        if runs && passed > 0 && self.clean.known().laps.contains(number, &stand) {
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
        self.judging_lap = Some(Judging { number, end_tck: from_tck + tck, found, stand });
        0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Clean, PinLog, rules};
    use super::*;
    use pimlico_device::{BusDriver, Config, PinWatch};
    use pimlico_dpa::types::{PinCommand, Pins, ReadAll};

    const LAP_TCK: u64 = 400;

    /// So many laps of the same kind, from one on, behind which others come.
    fn laps(first: u64, count: u64) -> PinLaps {
        let from_tck = 1000 + first * LAP_TCK;
        PinLaps { number: 7, from_tck, tck: LAP_TCK, count, refs: Vec::new(), goes_on: true }
    }

    /// A row that is opened, read so soon, and closed.
    fn tell(log: &mut PinLog, lap: u64, rcd_tck: u64) {
        let from_tck = laps(lap, 1).from_tck;
        log.command(from_tck + 10, Pins::act_all(0, lap as usize));
        log.command(from_tck + 10 + rcd_tck, Pins::rd_all(3, ReadAll::default()));
        let closes = Pins { command: PinCommand::PreAll, ..Pins::default() };
        log.command(from_tck + 200, closes);
    }

    #[test]
    fn laps_like_one_in_which_nothing_was_found_are_taken() {
        let config = Config::ddr4_3200();
        let rcd_tck = config.timing.rcd_mac_tck;
        let of = |rcd_tck: u64, late: Option<Pins>| {
            let mut log = PinLog::new(rules(&config), true);
            assert_eq!(log.laps(&laps(0, 1)), 0, "none is known");
            tell(&mut log, 0, rcd_tck);
            if let Some(pins) = late {
                let at_tck = laps(1, 1).from_tck - 10;
                log.command(at_tck, pins);
                log.data(at_tck + config.timing.cwl_tck, at_tck + 20, BusDriver::BufferChip);
            }
            let taken = log.laps(&laps(1, 5));
            if late.is_some() {
                // It stands as before the first, but that was no lap that goes on as it began.
                tell(&mut log, 1, rcd_tck);
                assert_eq!(log.laps(&laps(2, 4)), 0);
            }
            (taken, log.violations(laps(6, 1).from_tck).0)
        };
        assert_eq!(of(rcd_tck, None), (5, 0));
        assert_eq!(of(rcd_tck - 1, None), (0, 1), "something was found");
        assert_eq!(of(rcd_tck, Some(Pins::wr_shared(0))), (0, 0), "it stands otherwise");
    }

    #[test]
    fn laps_that_are_clean_are_so_for_all_who_share_them() {
        let config = Config::ddr4_3200();
        let of = |clean: &Clean| PinLog::new(rules(&config), true).sharing(clean.clone());
        let clean = Clean::default();
        let mut log = of(&clean);
        assert_eq!(log.laps(&laps(0, 1)), 0);
        tell(&mut log, 0, config.timing.rcd_mac_tck);
        assert_eq!(of(&clean).laps(&laps(0, 5)), 0, "it is not over");
        assert_eq!(log.laps(&laps(1, 5)), 5);
        assert_eq!(of(&clean).laps(&laps(0, 5)), 5);
        assert_eq!(of(&Clean::default()).laps(&laps(0, 5)), 0);
    }

    #[test]
    fn laps_that_begin_otherwise_are_told() {
        let config = Config::ddr4_3200();
        let mut log = PinLog::new(rules(&config), true);
        for lap in 0..2 {
            assert_eq!(log.laps(&laps(lap, 1)), lap);
            if lap == 0 {
                tell(&mut log, lap, config.timing.rcd_mac_tck);
            }
        }
        // Another stand than that of the lap that is known.
        let at_tck = laps(2, 1).from_tck - 10;
        log.command(at_tck, Pins::wr_shared(0));
        log.data(at_tck + config.timing.cwl_tck, at_tck + 20, BusDriver::BufferChip);
        assert_eq!(log.laps(&laps(2, 3)), 0);
        // The last, where none comes behind it.
        tell(&mut log, 2, config.timing.rcd_mac_tck);
        assert_eq!(log.laps(&PinLaps { goes_on: false, ..laps(3, 3) }), 2);
        assert_eq!(log.violations(laps(6, 1).from_tck).0, 0);
    }
}
