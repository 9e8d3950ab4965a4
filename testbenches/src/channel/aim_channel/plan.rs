// SPDX-License-Identifier: MIT
//! What the bench of `aim_channel` is to reach: each command after each, taken at once or not, every way in which a sum
//! begins and ends, and what makes the controller wait.

use crate::coverage::Bins;
use pimlico_dpa::types::{AimKind, PinCommand, Pins};
use pimlico_units::channel::{AimChannelIn, AimChannelOut};

const KINDS: [&str; 5] = ["MAC", "FILL", "RESULTS", "WRITE", "CLOSE"];
const ARRAYS: [PinCommand; 7] = [
    PinCommand::Act,
    PinCommand::ActAll,
    PinCommand::Pre,
    PinCommand::PreAll,
    PinCommand::Wr,
    PinCommand::RdAll,
    PinCommand::Ref,
];
const LINES: [PinCommand; 2] = [PinCommand::WrShared, PinCommand::RdResult];
const FLAGS: [&str; 8] = [
    "none",
    "first",
    "last",
    "first, last",
    "frees",
    "first, frees",
    "last, frees",
    "first, last, frees",
];
/// Cycles from a column that ends a sum to its results.
const TO_RESULTS: usize = 27;

const FOLLOW: &str = "command after command";
const BOTH: &str = "in both slots";
const ENDS: &str = "sums that have not left, with an RD_ALL that ends another";
const SUMS: [&str; 4] = ["none", "one", "two", "more"];
const COUNTS: [&str; 3] = ["1", "2 to 63", "64"];

/// Declares the bins.
pub(super) fn plan(pingpong: bool, bins: &mut Bins) {
    bins.cross(FOLLOW, &KINDS, &KINDS);
    bins.cross("command", &KINDS, &["accepted at once", "held up"]);
    bins.declare("flags of a MAC", FLAGS);
    bins.declare("columns of a MAC", COUNTS);
    bins.declare("words of a filling", COUNTS);
    bins.declare("on the pins of the arrays", ARRAYS.map(PinCommand::name));
    bins.cross(BOTH, &ARRAYS.map(PinCommand::name), &LINES.map(PinCommand::name));
    bins.cross(
        "on the data lines, one after the other",
        &["a word", "results"],
        &["a word", "results"],
    );
    bins.declare("data of a WR", ["alone", "behind others"]);
    bins.declare(ENDS, SUMS);
    bins.declare("a word is there", ["yes", "no"]);
    bins.declare("a read waits", ["for its row", "for a refresh"]);
    bins.declare("state", ["busy", "idle", "settled"]);
    leave_out(pingpong, bins);
}

/// What the contract rules out.
fn leave_out(pingpong: bool, bins: &mut Bins) {
    let of_arrays = |command| ARRAYS.iter().position(|it| *it == command).unwrap_or(0);
    // Columns are written while there is nothing else.
    for command in [PinCommand::Wr, PinCommand::Pre] {
        for line in 0..LINES.len() {
            bins.leave_out(BOTH, of_arrays(command) * LINES.len() + line);
        }
    }
    // Nothing follows a REF in its cycle.
    for line in 0..LINES.len() {
        bins.leave_out(BOTH, of_arrays(PinCommand::Ref) * LINES.len() + line);
    }
    let number = |name| KINDS.iter().position(|kind| *kind == name).unwrap_or(0);
    for (before, after) in [("FILL", "WRITE"), ("WRITE", "MAC")] {
        bins.leave_out(FOLLOW, number(before) * KINDS.len() + number(after));
    }
    // No more of them wait than there are sums.
    bins.leave_out("command", 2 * number("RESULTS") + 1);
    if !pingpong {
        bins.leave_out(FOLLOW, number("FILL") * KINDS.len() + number("FILL"));
        for sums in 1..SUMS.len() {
            bins.leave_out(ENDS, sums);
        }
        // Rows are opened for a filling that is there, and words wait for the columns of the one before.
        for command in [PinCommand::Act, PinCommand::ActAll, PinCommand::RdAll] {
            for line in 0..LINES.len() {
                bins.leave_out(BOTH, of_arrays(command) * LINES.len() + line);
            }
        }
    }
}

fn count_bin(count: u64) -> usize {
    match count {
        1 => 0,
        64 => 2,
        _ => 1,
    }
}

fn number(commands: &[PinCommand], pins: &Pins) -> Option<usize> {
    commands.iter().position(|command| *command == pins.command)
}

/// Marks what an episode has reached.
pub(super) fn cover(inputs: &[AimChannelIn], outputs: &[AimChannelOut], bins: &mut Bins) {
    let (mut before, mut line_before, mut waited): (Option<usize>, Option<usize>, bool) =
        (None, None, false);
    let (mut writes, mut sums) = (0u32, 0u32);
    // RD_RESULTs before each cycle.
    let mut left: Vec<u32> = Vec::with_capacity(outputs.len());
    let mut all_left = 0;
    for (cycle, (input, output)) in inputs.iter().zip(outputs).enumerate() {
        left.push(all_left);
        all_left += u32::from(output.bus_pins_o.command == PinCommand::RdResult);
        if input.command_valid_i && output.command_ready_o {
            let command = input.command_i;
            let kind = command.kind as usize;
            bins.hit_cross("command", kind, waited.into());
            if let Some(before) = before.replace(kind) {
                bins.hit_cross(FOLLOW, before, kind);
            }
            match command.kind {
                AimKind::Mac => {
                    let flags = [command.first, command.last, command.frees];
                    let flags =
                        flags.iter().rev().fold(0, |all, flag| 2 * all + usize::from(*flag));
                    bins.hit("flags of a MAC", flags);
                    bins.hit("columns of a MAC", count_bin(command.count.get()));
                }
                AimKind::Fill => bins.hit("words of a filling", count_bin(command.count.get())),
                _ => {}
            }
        }
        waited = input.command_valid_i && !output.command_ready_o;
        let (array, line) = (number(&ARRAYS, &output.pins_o), number(&LINES, &output.bus_pins_o));
        if let Some(array) = array {
            bins.hit("on the pins of the arrays", array);
            if let Some(line) = line {
                bins.hit_cross(BOTH, array, line);
            }
        }
        if let Some(line) = line
            && let Some(before) = line_before.replace(line)
        {
            bins.hit_cross("on the data lines, one after the other", before, line);
        }
        writes += u32::from(output.pins_o.command == PinCommand::Wr);
        if output.write_taken_o {
            bins.hit("data of a WR", usize::from(writes > 1));
            writes = writes.saturating_sub(1);
        }
        if output.events_o.results {
            let others = sums.saturating_sub(left[cycle.saturating_sub(TO_RESULTS)]);
            bins.hit(ENDS, others.min(3) as usize);
            sums += 1;
        }
        bins.hit("a word is there", usize::from(input.operands_i.get() == 0));
        for (bin, waits) in
            [output.events_o.lost_row_switch, output.events_o.lost_refresh].into_iter().enumerate()
        {
            if waits {
                bins.hit("a read waits", bin);
            }
        }
        bins.hit("state", usize::from(output.idle_o) + usize::from(output.settled_o));
    }
}
