// SPDX-License-Identifier: MIT
//! Bench of `burst_source`: bursts leave in the order in which they came, beat by beat.

use super::burst_timer::BURST;
use super::judge::equal;
use crate::coverage::Bins;
use crate::{Bench, OracleError};
use pimlico_ports::{Signal, U, pack};
use pimlico_units::rank::{BurstSource, BurstSourceIn, BurstSourceOut};
use std::collections::VecDeque;

/// Bursts that have room.
const ROOM: usize = 16;
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
            let drains = tck / STRETCH % 2 == 1;
            let begins = index == 0 && waiting > 0 && (drains || input.busy_i);
            input.busy_i = index > 0 || begins;
            input.index_i = U::new(index);
            input.push_i &= waiting < ROOM && !(drains && input.second_i);
            waiting += usize::from(input.push_i);
            if input.busy_i {
                index = (index + 1) % BURST as u64;
                waiting -= usize::from(index == 0);
            }
        }
    }

    fn plan(bins: &mut Bins) {
        bins.declare("bursts that wait", (0..=ROOM).map(|bursts| bursts.to_string()));
        bins.declare("beat on the bus", (0..2 * BURST).map(|beat| beat.to_string()));
        bins.declare("a burst follows another", GAPS);
    }

    fn cover(inputs: &[BurstSourceIn<B>], _: &[BurstSourceOut<B>], bins: &mut Bins) {
        let (mut waiting, mut end) = (0, None::<usize>);
        for (tck, input) in inputs.iter().enumerate() {
            bins.hit("bursts that wait", waiting);
            let index = input.index_i.get() as usize;
            if input.busy_i {
                bins.hit("beat on the bus", 2 * index + usize::from(input.second_i));
                if let (0, Some(end)) = (index, end) {
                    bins.hit("a burst follows another", (tck - end).min(2));
                }
            }
            waiting += usize::from(input.push_i);
            if input.busy_i && index == BURST - 1 {
                waiting -= 1;
                end = Some(tck + 1);
            }
        }
    }

    fn oracle(
        inputs: &[BurstSourceIn<B>],
        outputs: &[BurstSourceOut<B>],
    ) -> Result<u64, OracleError> {
        let mut waiting: VecDeque<[B; 8]> = VecDeque::new();
        for (tck, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let beat = 2 * input.index_i.get() as usize + usize::from(input.second_i);
            let on_bus = waiting.front().filter(|_| input.busy_i);
            let what = || format!("beat {beat}, {} bursts wait", waiting.len());
            equal(tck, "valid_o", output.valid_o, !waiting.is_empty(), what)?;
            let expected = on_bus.map_or(0, |beats| pack(&beats[beat]));
            equal(tck, "data_o", pack(&output.data_o), expected, what)?;
            if beat / 2 == BURST - 1 && input.busy_i {
                waiting.pop_front();
            }
            waiting.extend(input.push_i.then_some(input.beats_i));
        }
        Ok(outputs.len() as u64)
    }
}
