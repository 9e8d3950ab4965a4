// SPDX-License-Identifier: MIT
//! Bench of `burst_timer`: the burst of each command is where the latency says, and nothing is between.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::judge::equal;
use pimlico_units::rank::{BurstTimer, BurstTimerIn, BurstTimerOut};

/// tCK of a burst.
pub(super) const BURST: usize = 4;

/// Cycles in which commands come alike.
const STRETCH: usize = 128;

const LATENCIES: [&str; 5] = ["1", "to a third", "to two thirds", "more", "the longest"];
const DISTANCES: [&str; 3] = ["a burst", "one more", "more"];

/// Which of `LATENCIES` it is, up to the longest.
fn latency_bin(latency: usize, longest: usize) -> usize {
    match latency {
        1 => 0,
        _ if latency == longest => 4,
        _ => 1 + (3 * latency - 1) / longest,
    }
}

/// The times of the commands.
fn commands(inputs: &[BurstTimerIn]) -> impl Iterator<Item = usize> {
    inputs.iter().enumerate().filter(|(_, input)| input.command_i).map(|(tck, _)| tck)
}

impl<const LENGTH: usize> Bench for BurstTimer<LENGTH> {
    /// One latency, and commands at a distance; in every other stretch one follows the other at once.
    fn arrange(inputs: &mut [BurstTimerIn]) {
        let drawn = inputs.first().map_or(0, |first| u32::from(first.latency_i));
        let mut free = 0;
        for (tck, input) in inputs.iter_mut().enumerate() {
            input.latency_i = (1 + drawn % Self::LONGEST) as u8;
            input.command_i |= tck / STRETCH % 2 == 1;
            input.command_i &= tck >= free;
            if input.command_i {
                free = tck + LENGTH;
            }
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("latency, distance of commands", &LATENCIES, &DISTANCES);
        bins.declare("bursts on their way", (0..12).map(|bursts| bursts.to_string()));
    }

    fn cover(inputs: &[BurstTimerIn], _: &[BurstTimerOut], bins: &mut Bins) {
        let Some(latency) = inputs.first().map(|first| usize::from(first.latency_i)) else {
            return;
        };
        let times: Vec<usize> = commands(inputs).collect();
        for pair in times.windows(2) {
            let distance = (pair[1] - pair[0] - LENGTH).min(2);
            bins.hit_cross(
                "latency, distance of commands",
                latency_bin(latency, Self::LONGEST as usize),
                distance,
            );
        }
        for (n, time) in times.iter().enumerate() {
            let before = times[..n].iter().filter(|before| **before + latency > *time).count();
            bins.hit("bursts on their way", before);
        }
    }

    fn oracle(inputs: &[BurstTimerIn], outputs: &[BurstTimerOut]) -> Result<u64, OracleError> {
        let mut expected = vec![BurstTimerOut::default(); outputs.len()];
        for time in commands(inputs) {
            let begin = time + usize::from(inputs[time].latency_i);
            if let Some(before) = expected.get_mut(begin - 1) {
                before.ahead_o = true;
            }
            for (index, output) in expected.iter_mut().skip(begin).take(LENGTH).enumerate() {
                output.busy_o = true;
                output.index_o = pimlico_ports::U::new(index as u64);
                output.last_o = index == LENGTH - 1;
            }
        }
        for (tck, (got, expected)) in outputs.iter().zip(&expected).enumerate() {
            let what = || format!("latency {}", inputs[tck].latency_i);
            equal(tck, "ahead_o", got.ahead_o, expected.ahead_o, what)?;
            equal(tck, "busy_o", got.busy_o, expected.busy_o, what)?;
            equal(tck, "index_o", got.index_o.get(), expected.index_o.get(), what)?;
            equal(tck, "last_o", got.last_o, expected.last_o, what)?;
        }
        Ok(outputs.len() as u64)
    }
}
