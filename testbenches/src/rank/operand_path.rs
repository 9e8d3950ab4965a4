// SPDX-License-Identifier: MIT
//! Bench of `operand_path`: each burst is on the chips' data bus where its WR_SHARED says, laid out as
//! `golden` says, and what passes in memory mode comes out on the other side two beats later.

use super::burst_timer::BURST;
use crate::bench::{Bench, OracleError};
use crate::coverage::{Bins, beats::Follow};
use crate::judge::equal;
use pimlico_golden::relayout::Widths;
use pimlico_units::rank::{OperandPath, OperandPathIn, OperandPathOut};
use std::collections::VecDeque;

const WIDTHS: Widths = Widths { element_bits: 16, chip_bits: 8 };
/// Beats of a burst.
const BEATS: usize = 2 * BURST;
/// Bursts of a side that have room.
const ROOM: usize = 16;
/// tCK from the one in which a burst is read to the first that it is on the chips' data bus.
const READ_AHEAD: usize = 3;
/// Beats between changes of the mode.
const STRETCH: usize = 250;

const SIDES: [&str; 2] = ["the rank PU", "the host"];
const WAYS: [&str; 2] = ["to the chips", "to the host"];
const CWLS: [&str; 4] = ["4", "5 to 31", "32 to 47", "48"];
const EDGES: [&str; 2] = ["stands still", "runs"];

/// What an arranged stretch is about, at its first beat.
struct Stretch {
    memory: bool,
    /// `clk_tck_i` runs in memory mode.
    runs: bool,
}

impl Bench for OperandPath {
    /// Stretches in one mode and in the other, at whose ends nothing is on its way.
    fn arrange(inputs: &mut [OperandPathIn]) {
        let Some(first) = inputs.first() else { return };
        let cwl_i = match first.cwl_i % 8 {
            0 => 4,
            1 => 48,
            _ => 4 + first.cwl_i / 8 % 45,
        };
        inputs.iter_mut().for_each(|input| input.cwl_i = cwl_i);
        // The sides of the bursts that wait for their WR_SHARED.
        let mut waiting = VecDeque::new();
        for beats in inputs.chunks_mut(STRETCH) {
            let stretch = Stretch { memory: beats[0].memory_i, runs: beats[0].second_i };
            if stretch.memory {
                arrange_memory(beats, &stretch);
            } else {
                arrange_pim(beats, usize::from(cwl_i), &mut waiting);
            }
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("CWL, a burst of", &CWLS, &SIDES);
        Follow::plan("order of bursts on the bus", &SIDES, bins);
        // A gap is one of tCK, and so of two beats or more.
        for pair in 0..SIDES.len() * SIDES.len() {
            bins.leave_out("order of bursts on the bus", 4 * pair + 1);
        }
        bins.declare("bursts that wait", (0..=ROOM).map(|bursts| bursts.to_string()));
        Follow::plan("order of bursts in memory mode", &WAYS, bins);
        for pair in 0..WAYS.len() * WAYS.len() {
            bins.leave_out("order of bursts in memory mode", 4 * pair + 1);
        }
        for turn in [1, 2] {
            bins.leave_out("order of bursts in memory mode", 4 * turn);
        }
        bins.declare("clock of tCK in memory mode", EDGES);
        bins.declare("a tCK is held", ["no", "yes"]);
    }

    fn cover(inputs: &[OperandPathIn], _: &[OperandPathOut], bins: &mut Bins) {
        let Some(cwl) = inputs.first().map(|first| usize::from(first.cwl_i)) else { return };
        let sort = match cwl {
            4 => 0,
            5..32 => 1,
            32..48 => 2,
            _ => 3,
        };
        let mut order = Follow::new("order of bursts on the bus", &SIDES);
        let mut ways = Follow::new("order of bursts in memory mode", &WAYS);
        let mut left = 0;
        let mut waiting = [0usize; 2];
        for (beat, input) in inputs.iter().enumerate() {
            if input.memory_i {
                bins.hit("clock of tCK in memory mode", usize::from(input.clk_tck_i));
                let driven = input.host_dq_valid_i || input.chips_valid_i;
                if driven && left == 0 {
                    left = BEATS;
                    ways.beat(usize::from(input.chips_valid_i), beat, BEATS, bins);
                }
                left = left.saturating_sub(1);
            } else if !input.second_i {
                let held = inputs.get(beat + 1).is_some_and(|second| !second.clk_tck_i);
                bins.hit("a tCK is held", usize::from(held));
                waiting.iter().for_each(|waiting| bins.hit("bursts that wait", *waiting));
                if input.push_i {
                    waiting[usize::from(input.host_i)] += 1;
                }
                if input.wr_shared_i {
                    let side = usize::from(input.wr_host_i);
                    waiting[side] -= 1;
                    bins.hit_cross("CWL, a burst of", sort, side);
                    order.beat(side, beat + 2 * cwl, BEATS, bins);
                }
            }
        }
    }

    fn oracle(inputs: &[OperandPathIn], outputs: &[OperandPathOut]) -> Result<u64, OracleError> {
        let mut to_chips = vec![None; inputs.len() + 2 * STRETCH];
        let mut to_host = vec![None; inputs.len() + 2 * STRETCH];
        let mut bursts: [VecDeque<[u64; BEATS]>; 2] = Default::default();
        for (beat, input) in inputs.iter().enumerate() {
            if input.memory_i {
                // A group of two beats comes out as one.
                let group = |out: &mut Vec<Option<u64>>, first: u64, second: Option<u64>, way| {
                    let Some(second) = second else { return };
                    let group: [u64; 2] = [first, second];
                    let relaid = if way { WIDTHS.to_host(&group) } else { WIDTHS.to_chips(&group) };
                    for (n, relaid) in relaid.into_iter().enumerate() {
                        out[beat + 2 + n] = Some(relaid);
                    }
                };
                let next = inputs.get(beat + 1);
                if !input.second_i && input.host_dq_valid_i {
                    group(&mut to_chips, input.host_dq_i, next.map(|next| next.host_dq_i), false);
                } else if !input.second_i && input.chips_valid_i {
                    group(&mut to_host, input.chips_dq_i, next.map(|next| next.chips_dq_i), true);
                }
                continue;
            }
            if input.second_i {
                continue;
            }
            if input.push_i {
                bursts[usize::from(input.host_i)].push_back(if input.host_i {
                    let relaid = input.burst_i.chunks(2).flat_map(|group| WIDTHS.to_chips(group));
                    let relaid: Vec<u64> = relaid.collect();
                    std::array::from_fn(|n| relaid[n])
                } else {
                    std::array::from_fn(|n| {
                        (input.word_i >> (8 * n) & 0xFF) * 0x0101_0101_0101_0101
                    })
                });
            }
            if input.wr_shared_i
                && let Some(burst) = bursts[usize::from(input.wr_host_i)].pop_front()
            {
                let first = beat + 2 * usize::from(input.cwl_i);
                for (n, data) in burst.into_iter().enumerate() {
                    to_chips[first + n] = Some(data);
                }
            }
        }
        for (beat, output) in outputs.iter().enumerate() {
            let (chips, host) = (to_chips[beat], to_host[beat]);
            // What the last beat of an input begins, a beat that is not there would end.
            if beat + 2 > outputs.len() && inputs[beat].memory_i {
                break;
            }
            let what = || format!("memory mode {}", inputs[beat].memory_i);
            equal(beat, "valid_o", output.valid_o, chips.is_some(), what)?;
            equal(beat, "data_o", output.data_o, chips.unwrap_or(0), what)?;
            equal(beat, "host_dq_valid_o", output.host_dq_valid_o, host.is_some(), what)?;
            equal(beat, "host_dq_o", output.host_dq_o, host.unwrap_or(0), what)?;
        }
        Ok(outputs.len() as u64)
    }
}

/// The host's and the chips' bursts, in whole tCK, with a tCK between two of different directions.
fn arrange_memory(beats: &mut [OperandPathIn], stretch: &Stretch) {
    // The side that drives the present burst, and its beats that are left.
    let (mut side, mut left) = (0, 0);
    let mut last = (0, 0); // the side of the last burst, and the first beat behind it
    let end = beats.len();
    for (beat, input) in beats.iter_mut().enumerate() {
        let second_i = beat % 2 == 1;
        let (host, chips) = (input.host_dq_valid_i, input.chips_valid_i);
        if left == 0 && !second_i && host != chips && beat + BEATS + 2 <= end {
            let turns = last.1 > 0 && last.0 != usize::from(chips);
            if !turns || beat >= last.1 + 2 {
                (side, left) = (usize::from(chips), BEATS);
                last = (side, beat + BEATS);
            }
        }
        input.memory_i = true;
        input.second_i = second_i;
        input.clk_tck_i = second_i && stretch.runs;
        input.push_i = false;
        input.wr_shared_i = false;
        input.host_dq_valid_i = left > 0 && side == 0;
        input.chips_valid_i = left > 0 && side == 1;
        left = left.saturating_sub(1);
    }
}

/// Bursts enter where there is room, and their WR_SHAREDs come in the same order, as long as their data are
/// in the stretch.
fn arrange_pim(beats: &mut [OperandPathIn], cwl: usize, waiting: &mut VecDeque<bool>) {
    let end = beats.len();
    let (mut free, mut busy_until) = (0, 0);
    // The sides of the bursts that are issued, and the tCK with whose end they have left their queue.
    let mut issued = VecDeque::new();
    for (tck, pair) in beats.chunks_mut(2).enumerate() {
        let first = &mut pair[0];
        // What the host or the chips drive is none of this mode's business, and stays as it is drawn.
        let held = first.burst_i[0] % 16 == 15 && tck >= busy_until;
        first.memory_i = false;
        first.second_i = false;
        first.clk_tck_i = false;
        issued.retain(|(_, left)| *left >= tck);
        let side = first.host_i;
        let queued = waiting.iter().filter(|host| **host == side).count()
            + issued.iter().filter(|(host, _)| *host == side).count();
        let fits = 2 * (tck + cwl + BURST + 1) <= end;
        first.wr_shared_i &= !held && fits && tck >= free && !waiting.is_empty();
        if first.wr_shared_i {
            first.wr_host_i = waiting.pop_front().expect("one waits");
            free = tck + BURST;
            busy_until = tck + cwl + BURST + 1;
            issued.push_back((first.wr_host_i, tck + cwl - READ_AHEAD));
        }
        first.push_i &= !held && queued < ROOM;
        if first.push_i {
            waiting.push_back(first.host_i);
        }
        let (push_i, host_i, burst_i, word_i) =
            (first.push_i, first.host_i, first.burst_i, first.word_i);
        let (wr_shared_i, wr_host_i) = (first.wr_shared_i, first.wr_host_i);
        if let [_, second] = pair {
            *second = OperandPathIn {
                memory_i: false,
                second_i: true,
                clk_tck_i: !held,
                push_i,
                host_i,
                burst_i,
                word_i,
                wr_shared_i,
                wr_host_i,
                ..*second
            };
        }
    }
}
