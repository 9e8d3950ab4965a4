// SPDX-License-Identifier: MIT
//! Bench of `slot_timer`: a slot begins RL_MAC after each RD_ALL, and five times after it with the end of the
//! one before.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::judge::equal;
use pimlico_units::rank::{SlotTimer, SlotTimerIn, SlotTimerOut};

/// Slots that follow the one of an RD_ALL.
const IDLE_SLOTS: usize = 5;
/// tCK in which reads come alike.
const STRETCH: usize = 64;

const BEGINS: [&str; 3] = ["in a slot", "with the end of a slot", "after all slots"];
const SLOTS: [&str; 4] = ["1", "2 to 7", "8", "more"];
const LATENCIES: [&str; 4] = ["0", "1", "2 to 11", "12"];

/// In which tCK the columns of an RD_ALL are at the PUs.
fn arrivals(inputs: &[SlotTimerIn]) -> Vec<bool> {
    let latency = inputs.first().map_or(0, |first| usize::from(first.latency_i));
    let read = |tck: usize| tck.checked_sub(latency).is_some_and(|tck| inputs[tck].read_all_i);
    (0..inputs.len()).map(read).collect()
}

impl Bench for SlotTimer {
    /// One tCCD_L and one RL_MAC. Reads at random, without a gap, or hardly any; a slot may begin for each.
    fn arrange(inputs: &mut [SlotTimerIn]) {
        let drawn = inputs.first().map_or(0, |first| first.slot_i);
        let slot_i = match drawn % 4 {
            0 => 8,
            1 => 1 + drawn / 4 % 8,
            2 => 4 * (1 + drawn / 4 % 4),
            _ => drawn.max(1),
        };
        let latency_i = match inputs.first().map_or(0, |first| first.latency_i) {
            drawn if drawn % 4 < 2 => drawn % 4,
            drawn if drawn % 4 == 2 => SlotTimer::LONGEST,
            drawn => drawn / 4 % (SlotTimer::LONGEST + 1),
        };
        for stretch in inputs.chunks_mut(STRETCH) {
            let kind = stretch[0].slot_i % 4;
            for (tck, input) in stretch.iter_mut().enumerate() {
                match kind {
                    0 => input.read_all_i &= tck < STRETCH / 4,
                    1 => input.read_all_i = tck % usize::from(slot_i) == 0,
                    2 => input.read_all_i &= tck % 3 == 0,
                    _ => {}
                }
                (input.slot_i, input.latency_i) = (slot_i, latency_i);
                input.read_all_i &= input.enable_i;
            }
        }
        let arrivals = arrivals(inputs);
        for (input, arrives) in inputs.iter_mut().zip(arrivals) {
            input.enable_i |= arrives;
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("tCCD_L, an RD_ALL comes", &SLOTS, &BEGINS);
        bins.leave_out("tCCD_L, an RD_ALL comes", 0); // a slot of one tCK has no inside
        bins.declare("RL_MAC", LATENCIES);
        bins.declare("slots without an RD_ALL", (1..=IDLE_SLOTS).map(|slot| slot.to_string()));
        bins.declare("a slot is late as none may begin", ["by a tCK", "by more"]);
    }

    fn cover(inputs: &[SlotTimerIn], outputs: &[SlotTimerOut], bins: &mut Bins) {
        let Some(slot) = inputs.first().map(|first| usize::from(first.slot_i)) else { return };
        let sort = match slot {
            1 => 0,
            2..8 => 1,
            8 => 2,
            _ => 3,
        };
        let latency = match inputs[0].latency_i {
            SlotTimer::LONGEST => 3,
            latency => usize::from(latency).min(2),
        };
        bins.hit("RL_MAC", latency);
        let (mut begin, mut alone) = (None, 0);
        for (tck, (arrives, output)) in arrivals(inputs).into_iter().zip(outputs).enumerate() {
            if !output.begin_o {
                continue;
            }
            let since = begin.map_or(usize::MAX, |begin: usize| tck - begin);
            if arrives {
                let over = alone == IDLE_SLOTS && since > slot;
                let bin = if since < slot { 0 } else { 1 + usize::from(over || begin.is_none()) };
                bins.hit_cross("tCCD_L, an RD_ALL comes", sort, bin);
                alone = 0;
            } else {
                alone += 1;
                bins.hit("slots without an RD_ALL", alone - 1);
                if since > slot {
                    bins.hit("a slot is late as none may begin", (since - slot).min(2) - 1);
                }
            }
            begin = Some(tck);
        }
    }

    fn oracle(inputs: &[SlotTimerIn], outputs: &[SlotTimerOut]) -> Result<u64, OracleError> {
        // The end of the present slot, and how many may follow.
        let (mut end, mut follow) = (0, 0);
        let arrivals = arrivals(inputs);
        for (tck, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let begins = arrivals[tck] || input.enable_i && follow > 0 && tck >= end;
            let what = || format!("{follow} slots may follow, the present one ends in tCK {end}");
            equal(tck, "begin_o", output.begin_o, begins, what)?;
            if begins {
                end = tck + usize::from(input.slot_i);
                follow = if arrivals[tck] { IDLE_SLOTS } else { follow - 1 };
            }
        }
        Ok(outputs.len() as u64)
    }
}
