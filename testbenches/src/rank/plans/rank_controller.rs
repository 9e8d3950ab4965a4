// SPDX-License-Identifier: MIT
//! What the bench of `rank_controller` is to reach: each request after each, in the rows and banks that
//! matter, every command after every other that may follow, and refresh in every state.

use crate::coverage::Bins;
use pimlico_dpa::types::{ArrayKind, ArrayRequest, PinCommand, Timing};
use pimlico_units::rank::{RankControllerIn, RankControllerOut};

const REQUESTS: [&str; 4] = ["READ_ALL", "RD", "WR", "CLOSE_ALL"];
const BUS: [&str; 2] = ["RD_RESULT", "WR_SHARED"];
const COMMANDS: [&str; 12] = [
    "none",
    "ACT",
    "ACT_ALL",
    "PRE",
    "PREA",
    "RD",
    "WR",
    "RD_ALL",
    "RD_RESULT",
    "WR_SHARED",
    "REF",
    "SET_WORD",
];
const PLACES: [&str; 5] = [
    "same bank, same row",
    "same bank, other row",
    "other bank of the group",
    "other group, same row",
    "other group, other row",
];
/// What waits for bursts to and from the PUs' buffers alone.
const BEHIND: [&str; 3] =
    ["RD_ALL after WR_SHARED", "RD_RESULT after WR_SHARED", "bus command after bus command"];
const ASKED: [&str; 3] = ["not asked for", "where it does no harm", "now"];

/// Declares the bins. With two slots the chips know no words.
pub fn plan(bins: &mut Bins, slots: usize) {
    bins.cross("request after request", &REQUESTS, &REQUESTS);
    bins.cross(
        "row of READ_ALL after READ_ALL",
        &["bank by bank", "in halves", "all at once"],
        &["same", "other"],
    );
    bins.cross("RD or WR after RD or WR", &["RD, RD", "RD, WR", "WR, RD", "WR, WR"], &PLACES);
    bins.cross("bus request after bus request", &BUS, &BUS);
    bins.cross("command after command", &COMMANDS[1..], &COMMANDS[1..]);
    for (before, after) in impossible() {
        let number = |command: PinCommand| command as usize - 1;
        let bin = number(before) * (COMMANDS.len() - 1) + number(after);
        bins.leave_out("command after command", bin);
    }
    const WORDS: &str = "word of RD_ALL";
    bins.declare(WORDS, ["the next", "the one that was set", "set anew"]);
    if slots == 2 {
        bins.leave_out(WORDS, 1);
        bins.leave_out(WORDS, 2);
        let (others, set) = (COMMANDS.len() - 1, PinCommand::SetWord as usize - 1);
        for other in 0..others {
            bins.leave_out("command after command", set * others + other);
            bins.leave_out("command after command", other * others + set);
        }
    }
    bins.cross("refresh, array port", &ASKED, &["no request", "refused", "accepted"]);
    bins.cross("refresh, bus port", &ASKED, &["no request", "refused", "accepted"]);
    bins.declare(
        "tFAW ends",
        ["ACT after four ACTs", "ACT after ACT_ALL", "ACT_ALL after ACT", "ACT_ALL after ACT_ALL"],
    );
    bins.declare("lost slot", ["to a row switch", "to a refresh"]);
    bins.declare("as soon as it may", BEHIND);
    bins.declare("idle", ["no", "yes"]);
}

/// Pairs of commands that the contract rules out, whatever else stands between them.
fn impossible() -> Vec<(PinCommand, PinCommand)> {
    use PinCommand::{Act, ActAll, Pre, PreAll, Rd, RdAll, Ref, SetWord, Wr};
    let mut pairs = Vec::new();
    // All banks are closed: there is nothing to close and nothing to read.
    for closed in [PreAll, Ref] {
        pairs.extend([Pre, Rd, Wr, RdAll].map(|after| (closed, after)));
    }
    // What opens all banks needs them closed, as a refresh does; or half of them, behind the other half.
    pairs.extend([Act, Rd, Wr, RdAll].map(|open| (open, ActAll)));
    pairs.extend([Act, ActAll, Rd, Wr, RdAll].map(|open| (open, Ref)));
    // What is opened or closed is so for the request at the head, whose next command follows, or a PREA for
    // a refresh.
    pairs.extend([Pre, ActAll, Rd, Wr, RdAll, Ref].map(|after| (Pre, after)));
    pairs.extend([Pre, Rd, Wr].map(|after| (ActAll, after)));
    pairs.push((Act, Pre));
    pairs.extend([Act, ActAll, Pre, Rd, Wr, Ref, SetWord].map(|after| (SetWord, after)));
    pairs.extend([Pre, PreAll, Ref].map(|before| (before, SetWord)));
    // All are open.
    pairs.extend([ActAll, RdAll].map(|open| (open, Act)));
    pairs
}

/// When the last bursts to and from the PUs' buffers were.
#[derive(Default)]
struct Bursts {
    any: Option<u64>,
    word: Option<u64>,
}

impl Bursts {
    /// The commands of a cycle.
    fn see(&mut self, cycle: u64, slots: [PinCommand; 2], timing: &Timing, bins: &mut Bins) {
        let Timing { ccd_s, ccd_result, shared_to_rd, .. } = *timing;
        let is_at = |last: Option<u64>, wait: u8, binds: bool| {
            binds
                && last.is_some_and(|at| [0, 1].contains(&cycle.wrapping_sub(at + u64::from(wait))))
        };
        for command in slots {
            let moves = matches!(command, PinCommand::RdResult | PinCommand::WrShared);
            let reads = [PinCommand::RdAll, PinCommand::RdResult];
            if let Some(bin) = reads.iter().position(|read| *read == command)
                && is_at(self.word, shared_to_rd, shared_to_rd > 1)
            {
                bins.hit("as soon as it may", bin);
            }
            if moves && is_at(self.any, ccd_result, ccd_result > ccd_s) {
                bins.hit("as soon as it may", 2);
            }
            self.any = if moves { Some(cycle) } else { self.any };
            self.word = if command == PinCommand::WrShared { Some(cycle) } else { self.word };
        }
    }
}

/// Marks what an episode has reached.
pub fn cover(inputs: &[RankControllerIn], outputs: &[RankControllerOut], bins: &mut Bins) {
    let Some(first) = inputs.first() else { return };
    let mut array: Option<ArrayRequest> = None;
    let mut read: Option<ArrayRequest> = None;
    let mut bus: Option<bool> = None;
    let mut command: Option<PinCommand> = None;
    let mut opened = Opened::default();
    let mut bursts = Bursts::default();
    for (cycle, (input, output)) in (0..).zip(inputs.iter().zip(outputs)).skip(1) {
        opened.see(cycle, output.pins_o.command, first.timing_i.faw.into(), bins);
        if input.array_valid_i && output.array_ready_o {
            let request = input.array_i;
            if let Some(before) = array.replace(request) {
                after(&before, &request, bins);
            }
            if request.kind == ArrayKind::ReadAll
                && let Some(before) = read.replace(request)
            {
                let other = before.row != request.row;
                let point = "row of READ_ALL after READ_ALL";
                let opens = first.timing_i.faw_banks.get() as usize / 8;
                bins.hit_cross(point, opens, other.into());
            }
        }
        if input.bus_valid_i
            && output.bus_ready_o
            && let Some(before) = bus.replace(input.bus_i.write)
        {
            bins.hit_cross(
                "bus request after bus request",
                before.into(),
                input.bus_i.write.into(),
            );
        }
        let slots = [output.pins_o, output.bus_pins_o].map(|pins| pins.command);
        bursts.see(cycle, slots, &first.timing_i, bins);
        match output.pins_o.command {
            PinCommand::RdAll => {
                bins.hit("word of RD_ALL", output.pins_o.read_all().back.into());
            }
            PinCommand::SetWord => bins.hit("word of RD_ALL", 2),
            _ => {}
        }
        for shown in slots.into_iter().filter(|shown| *shown != PinCommand::None) {
            if let Some(before) = command.replace(shown) {
                bins.hit_cross("command after command", before as usize - 1, shown as usize - 1);
            }
        }
        let asked = if input.force_i { 2 } else { usize::from(input.refresh_i) };
        let port = |valid: bool, ready: bool| usize::from(valid) + usize::from(valid && ready);
        let at_array = port(input.array_valid_i, output.array_ready_o);
        bins.hit_cross("refresh, array port", asked, at_array);
        bins.hit_cross("refresh, bus port", asked, port(input.bus_valid_i, output.bus_ready_o));
        for (cause, lost) in
            [output.lost_row_switch_o, output.lost_refresh_o].into_iter().enumerate()
        {
            if lost {
                bins.hit("lost slot", cause);
            }
        }
        bins.hit("idle", output.idle_o.into());
    }
}

/// When rows were opened.
#[derive(Default)]
struct Opened {
    /// By the last four ACTs, the oldest first.
    acts: [Option<u64>; 4],
    /// By the last ACT_ALL.
    all: Option<u64>,
}

impl Opened {
    /// Takes note of what is on the pins; marks what comes when tFAW ends.
    fn see(&mut self, cycle: u64, command: PinCommand, faw: u64, bins: &mut Bins) {
        let ends = |at: Option<u64>| at.is_some_and(|at| at + faw == cycle);
        let [act, all] = [PinCommand::Act, PinCommand::ActAll].map(|it| command == it);
        let met = [
            act && ends(self.acts[0]),
            act && ends(self.all),
            all && ends(self.acts[3]),
            all && ends(self.all),
        ];
        for (bin, _) in met.into_iter().enumerate().filter(|(_, met)| *met) {
            bins.hit("tFAW ends", bin);
        }
        if act {
            self.acts.rotate_left(1);
            self.acts[3] = Some(cycle);
        }
        if all {
            self.all = Some(cycle);
        }
    }
}

/// Marks two array requests that follow each other.
fn after(before: &ArrayRequest, now: &ArrayRequest, bins: &mut Bins) {
    let kinds = [before, now].map(|request| request.kind);
    let [first, second] = kinds.map(|kind| kind as usize);
    bins.hit_cross("request after request", first, second);
    if kinds.iter().all(|kind| matches!(kind, ArrayKind::Rd | ArrayKind::Wr)) {
        let [bank, other_bank] = [before, now].map(|request| request.bank.get());
        let same_row = before.row == now.row;
        let place = match (bank == other_bank, bank / 4 == other_bank / 4, same_row) {
            (true, _, true) => 0,
            (true, _, false) => 1,
            (_, true, _) => 2,
            (_, _, true) => 3,
            _ => 4,
        };
        bins.hit_cross("RD or WR after RD or WR", 2 * (first - 1) + second - 1, place);
    }
}
