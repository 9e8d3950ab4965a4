// SPDX-License-Identifier: MIT
//! What a status that the host has read says, held against what the host has done.

use super::ownership::States;
use super::status::{Counter, PinState, Status};
use super::{Breach, HostChecker, HostViolation, Stream};

impl HostChecker {
    /// The data of an RD of the status in `asked_tck`.
    pub(super) fn told(&mut self, asked_tck: u64, words: &[u64; 8], found: &mut Vec<Breach>) {
        let status = match Status::decode(words) {
            Ok(status) => status,
            Err(flaw) => return found.push(Breach::StatusFlawed { flaw }),
        };
        let sampled_tck = asked_tck.saturating_add(self.rules.cl).saturating_sub(1);
        self.judge_flags(&status, found);
        let known = self.judge_state(sampled_tck, &status, found);
        self.judge_counts(sampled_tck, &status, known, found);
        self.judge_results(asked_tck, &status, found);
        let [taken, .., runs] = self.counts;
        self.queue.told(sampled_tck, taken, runs, &status);
        self.ownership.told(sampled_tck, States::of(&status));
    }

    /// `lost` and `refused` are set for a reason, and for good.
    fn judge_flags(&mut self, status: &Status, found: &mut Vec<Breach>) {
        let now = [status.lost, status.refused];
        let reason = [self.queue.may_lose(), self.queue.may_refuse()];
        for (i, flag) in ["lost", "refused"].into_iter().enumerate() {
            match (self.flags[i], now[i]) {
                (false, true) if !reason[i] => found.push(Breach::LostOrRefused { flag }),
                (true, false) => found.push(Breach::FlagCleared { flag }),
                _ => {}
            }
        }
        self.flags = now;
    }

    /// Whether the state is one that can be.
    fn judge_state(&self, tck: u64, status: &Status, found: &mut Vec<Breach>) -> bool {
        let Status { state, waits, .. } = *status;
        let possible = self.ownership.at(tck).contains(States::of(status));
        // A START that was lost, or is not known, is in the states all the same.
        if !possible && self.queue.certain() {
            found.push(Breach::WrongState { state, waits });
        }
        let refreshing = self.chips.refreshing(tck, self.rules.t_rfc);
        if let Some(ref_tck) = refreshing.filter(|_| possible && state == PinState::PinsLeft) {
            found.push(Breach::LeftTooEarly { ref_tck });
        }
        possible && self.queue.certain()
    }

    /// Every counter goes on from the status before, and no further than it can; where all STARTs are
    /// `known`, results and runs count in a run only.
    fn judge_counts(&mut self, tck: u64, status: &Status, known: bool, found: &mut Vec<Breach>) {
        let before = found.len();
        let idle = known && !self.ownership.ran_by(tck);
        for (i, counter) in Counter::ALL.into_iter().enumerate() {
            let (from, to) = (self.counts[i] as u16, status.counts[i]);
            let step = to.wrapping_sub(from);
            if step >= 1 << 15 {
                found.push(Breach::StatusWentBack { counter, from, to });
                continue;
            }
            self.counts[i] += u64::from(step);
            let count = self.counts[i];
            match self.queue.most(counter, tck) {
                Some(most) if count > most => {
                    found.push(Breach::CountTooHigh { counter, count, most });
                }
                _ if idle && step > 0 && counter != Counter::Taken => {
                    found.push(Breach::CountMoved { counter, from, to });
                }
                _ => {}
            }
        }
        if known && found.len() == before {
            self.judge_starts(tck, status, found);
        }
    }

    /// A START waits where one has reached the queue that has not begun its run.
    fn judge_starts(&self, tck: u64, status: &Status, found: &mut Vec<Breach>) {
        let started = self.counts[3] + u64::from(status.state == PinState::PinsRun);
        let written = self.queue.starts_by(tck);
        let waits = status.waits;
        if started > written || waits != (written > started) {
            found.push(Breach::WrongStart { waits, written, started });
        }
    }

    /// What the host may read now, and what it never will.
    fn judge_results(&mut self, asked_tck: u64, status: &Status, found: &mut Vec<Breach>) {
        let [_, contexts, outputs, _] = self.counts;
        let streams = [(Stream::Context, contexts), (Stream::Outputs, outputs)];
        for (results, (stream, counted)) in self.results.iter_mut().zip(streams) {
            if let Some(gone) = results.count(asked_tck, counted) {
                let (first, bursts) = (gone.first, gone.bursts);
                found.push(Breach::ResultOverwritten { stream, first, bursts });
            }
            if status.fault != 0 {
                results.abandon();
            }
        }
    }

    pub(super) fn report(at_tck: u64, found: Vec<Breach>) -> Vec<HostViolation> {
        found.into_iter().map(|breach| HostViolation { at_tck, breach }).collect()
    }
}
