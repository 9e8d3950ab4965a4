// SPDX-License-Identifier: MIT
//! What the bench of `pim_chip` is to reach.

use super::{BANKS, BURST, HAZARD, OF_PIM, is_kept, keeps, of_pim, transfer};
use crate::arith::plan::{SORTS, sort};
use crate::coverage::{Bins, beats::Follow};
use crate::due::pop_due;
use pimlico_dpa::types::{PinCommand, Pins, ReadAll, ResultAddress};
use pimlico_units::arith::{Binary16, Format, Fp};
use pimlico_units::rank::{PimChipIn, PimChipOut};
use std::collections::VecDeque;

const MODES: [&str; 2] = ["tree", "accumulator"];
const FLAGS: [&str; 4] = ["between", "first", "last", "first and last"];
const TRANSFERS: [&str; 4] = ["RD", "RD_RESULT", "WR", "WR_SHARED"];
const KEYS: [&str; 4] = ["unlocked", "locked again", "unlocked again", "set, and nothing changes"];
const LATENCIES: [&str; 4] = ["4", "5 to 31", "32 to 47", "48"];
const RL_MACS: [&str; 4] = ["0", "1 to 7", "8", "9 to 12"];

pub fn plan<A: Format>(bins: &mut Bins) {
    bins.cross("beat of the PUs", &MODES, &FLAGS);
    Follow::plan("order of RD_ALLs, in slots", &MODES, bins);
    for gap in 0..HAZARD {
        bins.leave_out("order of RD_ALLs, in slots", 4 + gap); // accumulator after tree
    }
    bins.cross("latency of", &TRANSFERS, &LATENCIES);
    bins.declare("RL_MAC", RL_MACS);
    bins.declare("RD_ALLs on their way with it", ["none", "one", "more"]);
    Follow::plan("order of transfers that read", &TRANSFERS[..2], bins);
    Follow::plan("order of transfers that write", &TRANSFERS[2..], bins);
    bins.declare("RD_RESULT of scores, group", (0..4).map(|group| group.to_string()));
    let context = (0..16).map(|n| format!("{}, {}", n / 4, n % 4));
    bins.declare("RD_RESULT of context, bank, lane", context);
    bins.declare("RD_RESULT of context, upper", ["0", "1"]);
    bins.declare("bank of RD", (0..BANKS).map(|bank| bank.to_string()));
    let words = ["behind the last", "the one that was set", "just set"];
    bins.declare("word of RD_ALL", words);
    bins.declare("RD_ALL of a word", ["just written", "written before"]);
    bins.declare("RD_RESULT of results", ["just new", "some time old"]);
    bins.declare("scores that are kept", ["of the last results", "of results before"]);
    bins.cross("first number of an RD_RESULT", &MODES, &SORTS);
    if A::WIDTH > 16 {
        // Sums in a wider format than the elements' are never so small.
        bins.leave_out("first number of an RD_RESULT", SORTS.len() + 3);
    }
    bins.declare("a tCK is held", ["no", "yes"]);
    bins.declare("a locked chip ignores", OF_PIM);
    bins.declare("an MRS, and the chip is", KEYS);
}

pub fn cover<A: Format>(inputs: &[PimChipIn<A>], outputs: &[PimChipOut<A>], bins: &mut Bins) {
    let mut all = Follow::new("order of RD_ALLs, in slots", &MODES);
    let mut reads = Follow::new("order of transfers that read", &TRANSFERS[..2]);
    let mut writes = Follow::new("order of transfers that write", &TRANSFERS[2..]);
    let mut edges = 0;
    let mut kept_are_last = false;
    let mut was_unlocked = false;
    let mut words = (0_u8, 0); // set, next
    let mut just_set = false;
    let mut pending = VecDeque::new();
    let mut written: VecDeque<(usize, u8)> = VecDeque::new();
    for (tck, pair) in inputs.chunks_exact(2).enumerate() {
        let input = &pair[0];
        let pins = input.pins_i.decode();
        let Pins { command, bank, column, .. } = pins;
        bins.hit("a tCK is held", usize::from(!pair[1].clk_tck_i));
        let is_unlocked = outputs.get(2 * tck).is_some_and(|output| output.unlocked_o);
        if command == PinCommand::Mrs
            && let Some(next) = outputs.get(2 * tck + 2)
        {
            bins.hit(
                "an MRS, and the chip is",
                match (is_unlocked, next.unlocked_o) {
                    (false, true) => 2 * usize::from(was_unlocked),
                    (true, false) => 1,
                    _ => 3,
                },
            );
            was_unlocked |= next.unlocked_o;
        }
        let ignored = of_pim(command).filter(|_| !is_unlocked);
        if let Some(ignored) = ignored {
            bins.hit("a locked chip ignores", ignored);
        }
        let command = if ignored.is_some() { PinCommand::None } else { command };
        if command == PinCommand::RdAll {
            let ReadAll { accumulate, first, last, back } = pins.read_all();
            let word = if back { words.0 } else { words.1 };
            words.1 = word.wrapping_add(1);
            let of_word = if back { 1 } else { 2 * usize::from(std::mem::take(&mut just_set)) };
            bins.hit("word of RD_ALL", of_word);
            let mode = usize::from(accumulate);
            let flags = usize::from(first) + 2 * usize::from(last);
            bins.hit_cross("beat of the PUs", mode, flags);
            bins.hit("RL_MAC", rl_mac_bin(input.rl_mac_i));
            bins.hit("RD_ALLs on their way with it", pending.len().min(2));
            pending.push_back((tck + usize::from(input.rl_mac_i), mode, word));
        }
        if let Some((_, mode, word)) = pop_due(&mut pending, |(at, ..)| *at == tck) {
            all.beat(mode, edges, 1, bins);
            let just = written.contains(&(tck, word));
            bins.hit("RD_ALL of a word", usize::from(!just));
        }
        if command == PinCommand::SetWord {
            words = (column, column);
            just_set = true;
        }
        edges += usize::from(input.clk_pu_i);
        let new =
            input.clk_pu_i && outputs.get(2 * tck + 1).is_some_and(|output| output.result_valid_o);
        kept_are_last &= !new;
        let Some(kind) = transfer(command) else { continue };
        let latency = if kind < 2 { input.cl_i } else { input.cwl_i };
        bins.hit_cross("latency of", kind, latency_bin(latency));
        if kind < 2 {
            reads.beat(kind, tck, BURST, bins);
        } else {
            writes.beat(kind - 2, tck, BURST, bins);
        }
        match command {
            PinCommand::Rd => bins.hit("bank of RD", bank.get() as usize),
            PinCommand::WrShared => {
                written.push_back((tck + usize::from(input.cwl_i) + BURST, column));
            }
            PinCommand::RdResult => {
                let address = ResultAddress::of_bits(column);
                let (bank, lane) = (address.bank.get() as usize, address.lane.get() as usize);
                if address.context_sums {
                    bins.hit("RD_RESULT of context, bank, lane", 4 * bank + lane);
                    bins.hit("RD_RESULT of context, upper", usize::from(address.upper));
                } else {
                    bins.hit("RD_RESULT of scores, group", lane);
                }
                let begin = 2 * (tck + usize::from(input.cl_i));
                let bytes = outputs.iter().skip(begin).map(|output| u32::from(output.dq_o));
                let number = |bits: u32| {
                    let bytes = bytes.take(bits as usize / 8).enumerate();
                    bytes.map(|(n, byte)| byte << (8 * n)).sum()
                };
                let sort = match address.context_sums {
                    true => sort(Fp::<A>::from_bits(number(A::WIDTH))),
                    false => sort(Fp::<Binary16>::from_bits(number(16))),
                };
                if outputs.len() > begin + 4 {
                    let mode = usize::from(address.context_sums);
                    bins.hit_cross("first number of an RD_RESULT", mode, sort);
                }
                bins.hit("RD_RESULT of results", usize::from(!new));
                kept_are_last |= keeps(address);
                if is_kept(address) {
                    bins.hit("scores that are kept", usize::from(!kept_are_last));
                }
            }
            _ => {}
        }
    }
}

fn latency_bin(latency: u8) -> usize {
    match latency {
        4 => 0,
        5..32 => 1,
        32..48 => 2,
        _ => 3,
    }
}

fn rl_mac_bin(rl_mac: u8) -> usize {
    match rl_mac {
        0 => 0,
        1..8 => 1,
        8 => 2,
        _ => 3,
    }
}
