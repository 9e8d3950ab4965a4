// SPDX-License-Identifier: MIT
//! Bench of `burst_source`: bursts leave in the order in which they came, pair by pair.

use super::burst_timer::BURST;
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::judge::equal;
use pimlico_ports::{Signal, U, pack};
use pimlico_units::rank::{BurstSource, BurstSourceIn, BurstSourceOut};
use std::collections::VecDeque;

/// tCK in which bursts come and go alike.
const STRETCH: usize = 128;

/// What a burst has to do with the next on the bus.
const GAPS: [&str; 3] = ["at once", "after a tCK", "later"];

impl<B: Signal> Bench for BurstSource<B> {
    /// Bursts come where there is room, and go where there is one; in some stretches more come, in others
    /// more go.
    fn arrange(inputs: &mut [BurstSourceIn<B>]) {
        let (mut waiting, mut index) = (0, 0);
        for (tck, input) in inputs.iter_mut().enumerate() {
            let drawn = input.index_i.get();
            let drains = tck / STRETCH % 2 == 1;
            let begins = index == 0 && waiting > 0 && (drains || input.busy_i);
            input.busy_i = index > 0 || begins;
            input.index_i = U::new(index);
            input.push_i &= waiting < Self::DEPTH && !(drains && drawn % 2 == 1);
            waiting += usize::from(input.push_i);
            if input.busy_i {
                waiting -= usize::from(index == 0);
                index = (index + 1) % BURST as u64;
            }
        }
    }

    fn plan(bins: &mut Bins) {
        bins.declare("bursts that wait", (0..=Self::DEPTH).map(|bursts| bursts.to_string()));
        bins.declare("pair that is asked for", (0..BURST).map(|pair| pair.to_string()));
        bins.declare("a burst follows another", GAPS);
    }

    fn cover(inputs: &[BurstSourceIn<B>], _: &[BurstSourceOut<B>], bins: &mut Bins) {
        let (mut waiting, mut end) = (0, None::<usize>);
        for (tck, input) in inputs.iter().enumerate() {
            bins.hit("bursts that wait", waiting);
            let index = input.index_i.get() as usize;
            if input.busy_i {
                bins.hit("pair that is asked for", index);
                if let (0, Some(end)) = (index, end) {
                    bins.hit("a burst follows another", (tck - end).min(2));
                }
            }
            waiting += usize::from(input.push_i);
            waiting -= usize::from(input.busy_i && index == 0);
            if input.busy_i && index == BURST - 1 {
                end = Some(tck + 1);
            }
        }
    }

    fn oracle(
        inputs: &[BurstSourceIn<B>],
        outputs: &[BurstSourceOut<B>],
    ) -> Result<u64, OracleError> {
        let mut waiting: VecDeque<[B; 8]> = VecDeque::new();
        let mut burst = [B::default(); 8];
        // What is asked for in this tCK, in the one before, and in the one before that.
        let mut asked = [None; 3];
        for (tck, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let index = input.index_i.get() as usize;
            asked.rotate_right(1);
            let pair = asked[1].map(|index| [burst[2 * index], burst[2 * index + 1]]);
            let what = || format!("pair {:?}, {} bursts wait", asked[1], waiting.len());
            let under_way = asked[1].is_some() || asked[2].is_some();
            equal(tck, "valid_o", output.valid_o, !waiting.is_empty() || under_way, what)?;
            equal(tck, "drives_o", output.drives_o, asked[2].is_some(), what)?;
            for (got, expected) in output.pair_o.iter().zip(pair.unwrap_or_default()) {
                equal(tck, "pair_o", pack(got), pack(&expected), what)?;
            }
            asked[0] = input.busy_i.then_some(index);
            if let (Some(0), Some(oldest)) = (asked[0], waiting.front()) {
                burst = *oldest;
                waiting.pop_front();
            }
            waiting.extend(input.push_i.then_some(input.beats_i));
        }
        Ok(outputs.len() as u64)
    }
}
