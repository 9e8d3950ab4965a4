// SPDX-License-Identifier: MIT
//! Bench of `rank_controller`: `golden::pins` finds no broken timing on the pins; every request gets
//! its command and no other, in order and in time; and the flags say what the history says.

mod configuration;
mod judge;

use super::plans;
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use configuration::configure;
use judge::Judge;
use pimlico_dpa::types::ArrayKind;
use pimlico_units::rank::{RankController, RankControllerIn, RankControllerOut};

const BANK_GROUPS: usize = 4;
const BANKS_PER_GROUP: usize = 4;
const BANKS: usize = BANK_GROUPS * BANKS_PER_GROUP;
const QUEUE: usize = 2;
/// WR_SHAREDs that go before an all-bank read that waits for the last of them.
const WRITES_FIRST: usize = 8;

impl<const SLOTS: usize> Bench for RankController<SLOTS> {
    /// The first input is the configuration. What its row says decides of which sort the episode is.
    fn arrange(inputs: &mut [RankControllerIn]) {
        let Some(first) = inputs.first_mut() else { return };
        let sort = first.array_i.row;
        configure(first, sort % 8, SLOTS);
        let kinds = sort >> 3 & 3;
        let [thin_array, thin_bus, no_refresh, long_rows] =
            [5, 7, 9, 11].map(|bit| sort >> bit & 3 == 3);
        let mut row = sort;
        let mut held = [0; 2];
        for (clock, input) in inputs.iter_mut().enumerate() {
            // Words that go on, or come back; few are others.
            let mac = &mut input.array_i.mac;
            mac.word = match mac.word % 8 {
                0 => mac.word,
                1..4 => sort as u8,
                _ => (clock / 8) as u8,
            };
            // Bytes of the column that say nothing of another.
            let column = input.array_i.column;
            let (low, high) = (column & 15, column >> 4);
            let change = low == 0 && (!long_rows || high < 4);
            row = if change { input.array_i.row } else { row };
            input.array_i.row = row;
            input.array_i.kind = match (kinds, low) {
                (0, _) => ArrayKind::ReadAll,
                (1 | 2, 15) if high == 0 => ArrayKind::CloseAll,
                (1, 0..4) | (2, 0..6) => ArrayKind::Rd,
                (1, 4..8) | (2, 6..15) => ArrayKind::Wr,
                (3, _) => input.array_i.kind,
                _ => ArrayKind::ReadAll,
            };
            input.array_valid_i &= !thin_array || high == 0;
            input.bus_valid_i &= !thin_bus || low == 0;
            // A draw begins a level, which is held for a while.
            let levels = [&mut input.refresh_i, &mut input.force_i];
            for (level, held) in levels.into_iter().zip(&mut held) {
                if *level && *held == 0 && !no_refresh {
                    *held = column.max(1);
                }
                *level = *held > 0;
                *held = held.saturating_sub(1);
            }
        }
    }

    fn plan(bins: &mut Bins) {
        plans::rank_controller::plan(bins, SLOTS);
    }

    fn cover(inputs: &[RankControllerIn], outputs: &[RankControllerOut], bins: &mut Bins) {
        plans::rank_controller::cover(inputs, outputs, bins);
    }

    fn oracle(
        inputs: &[RankControllerIn],
        outputs: &[RankControllerOut],
    ) -> Result<u64, OracleError> {
        let Some(first) = inputs.first() else { return Ok(0) };
        let mut judge = Judge::new(first, SLOTS);
        let mut before = RankControllerIn::default();
        for (clock, (input, output)) in (0..).zip(inputs.iter().zip(outputs)) {
            judge.clock = clock;
            judge.judge(&before, input, output)?;
            before = *input;
        }
        Ok(judge.commands)
    }
}

#[cfg(test)]
mod tests {
    use super::judge::Verdict;
    use super::*;
    use crate::random::Random;
    use pimlico_dpa::types::{BusRequest, Timing};
    use pimlico_ports::{Model, U};

    /// Reads of a row beside bursts of both kinds, on a DRAM whose bank groups share a trunk and whose shared buffers
    /// turn from write to read.
    fn inputs(slots: usize) -> Vec<RankControllerIn> {
        let mut first = RankControllerIn { array_valid_i: true, ..RankControllerIn::default() };
        configure(&mut first, 0, slots);
        first.timing_i.faw_banks = U::new(16);
        (first.timing_i.ccd_result, first.timing_i.shared_to_rd) = (8, 24);
        let mut random = Random(1);
        let input = |_| {
            let bus_i = BusRequest { write: random.one_in(3), ..BusRequest::default() };
            RankControllerIn { bus_valid_i: random.one_in(4), bus_i, ..first }
        };
        (0..2000).map(input).collect()
    }

    /// What the judge says of a controller that is told other timings.
    fn judge<const SLOTS: usize>(change: fn(&mut Timing)) -> Verdict<u64> {
        let inputs = inputs(SLOTS);
        let mut unit = RankController::<SLOTS>::new();
        let step = |input: &RankControllerIn| {
            let mut told = *input;
            change(&mut told.timing_i);
            unit.step(&told)
        };
        let outputs: Vec<_> = inputs.iter().map(step).collect();
        RankController::<SLOTS>::oracle(&inputs, &outputs)
    }

    #[test]
    fn a_burst_of_the_pus_a_cycle_early_or_late_is_found() {
        assert!(judge::<1>(|_| {}).is_ok_and(|commands| commands > 100));
        assert!(judge::<2>(|_| {}).is_ok_and(|commands| commands > 100));
        type Change = fn(&mut Timing);
        let changes: [(Change, &str); 4] = [
            (|timing| timing.ccd_result -= 1, "tCCD_RESULT"),
            (|timing| timing.shared_to_rd -= 1, "tWTR_SHARED"),
            (|timing| timing.ccd_result += 2, "late"),
            (|timing| timing.shared_to_rd += 4, "late"),
        ];
        for (change, expected) in changes {
            let error = judge::<1>(change).expect_err(expected);
            assert!(error.what.contains(expected), "{error}");
        }
        let error = judge::<2>(|timing| timing.ccd_result -= 1).expect_err("too early");
        assert!(error.what.contains("tCCD_RESULT"), "{error}");
    }
}
