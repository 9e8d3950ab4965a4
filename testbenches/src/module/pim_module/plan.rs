// SPDX-License-Identifier: MIT
//! What the bench of `pim_module` is to reach: every command of the DRAM behind every other in both modes,
//! every result, every end of a run, and what units hand to each other.

use crate::coverage::Bins;
use pimlico_dpa::types::{Fault, PinCommand, Pins, ResultAddress, Status};
use pimlico_units::module::{PimModuleIn, PimModuleOut};

const MODES: [&str; 4] = ["memory", "processing", "the host writes", "a run starts"];
const MEMORY: usize = 0;
const PROCESSING: usize = 1;

/// Commands of a host to its memory, and of the rank controller.
const HOST: [PinCommand; 6] = [
    PinCommand::Act,
    PinCommand::Pre,
    PinCommand::PreAll,
    PinCommand::Rd,
    PinCommand::Wr,
    PinCommand::Ref,
];
const RANK: [PinCommand; 7] = [
    PinCommand::Act,
    PinCommand::ActAll,
    PinCommand::PreAll,
    PinCommand::RdAll,
    PinCommand::RdResult,
    PinCommand::WrShared,
    PinCommand::Ref,
];
const HOST_NAMES: [&str; 6] = ["ACT", "PRE", "PREA", "RD", "WR", "REF"];
const RANK_NAMES: [&str; 7] = ["ACT", "ACT_ALL", "PREA", "RD_ALL", "RD_RESULT", "WR_SHARED", "REF"];

const ENDS: [(Status, &str); 7] = [
    (Status::Done, "done"),
    (Status::Stopped, "stopped"),
    (Status::PastEnd, "past the end"),
    (Status::UnknownOpcode, "unknown opcode"),
    (Status::Va2PaMiss, "Va2Pa miss"),
    (Status::LoopBound, "loop bound"),
    (Status::FieldOverflow, "overflow of a field"),
];
const FAULTS: [&str; 8] = [
    "unknown command",
    "no row",
    "no column",
    "no place",
    "no tokens",
    "no operand",
    "overwritten",
    "unpaired",
];

/// tCK within which the bank PUs' slots go on behind an RD_ALL.
const SLOTS_GO_ON: usize = 48;

/// Declares the bins.
pub fn plan(bins: &mut Bins) {
    bins.cross("mode after mode", &MODES, &MODES);
    // A run starts behind the writes for it or behind a run; memory mode is left for nothing.
    for (before, after) in [(3, 3), (3, 2), (3, 0), (2, 0), (2, 1)] {
        bins.leave_out("mode after mode", 4 * before + after);
    }
    bins.cross("host's command after command", &HOST_NAMES, &HOST_NAMES);
    for (before, after) in [(5, 1), (5, 2), (5, 3), (5, 4), (2, 3), (2, 4), (2, 1)] {
        bins.leave_out("host's command after command", 6 * before + after); // all banks are closed
    }
    for (before, after) in [(0, 5), (3, 5), (4, 5)] {
        bins.leave_out("host's command after command", 6 * before + after); // one is open
    }
    bins.cross("command after command", &RANK_NAMES, &RANK_NAMES);
    bins.declare("result", ["score", "masked score", "weight", "context", "output"]);
    bins.declare("query head", (0..8).map(|head| head.to_string()));
    bins.declare(
        "results that are read",
        ["scores or outputs", "context", "context, upper groups"],
    );
    bins.declare("run ends", ENDS.map(|(_, name)| name));
    bins.declare("fault", FAULTS);
    bins.declare("results come too soon", ["before an RD_RESULT", "in its tCK"]);
    bins.declare("start behind the last RD_ALL", ["within 48 tCK", "later"]);
    bins.declare("REF", ["idle", "in memory mode", "a read waits for it", "eight are due"]);
    bins.declare("read waits", ["for its row", "for a refresh"]);
    bins.declare("activation", ["bank by bank", "in halves", "all banks"]);
    bins.declare("burst of the host", ["is taken", "is to come"]);
    bins.declare("tCCD_RESULT", ["a burst", "longer"]);
    bins.declare("RL_MAC", ["0", "1 to 7", "8", "more"]);
    bins.declare("RD_ALL after WR_SHARED", ["at once", "behind its data"]);
    bins.declare("CL", ["up to 31", "32 and more"]);
    bins.declare("CWL", ["up to 31", "32 and more"]);
    bins.declare("units at once", ["adder and softmax unit", "adder unit", "softmax unit"]);
}

fn number(commands: &[PinCommand], command: PinCommand) -> Option<usize> {
    commands.iter().position(|it| *it == command)
}

/// The REFs that are due, of a rank that has been running for so many tCK.
#[derive(Default)]
struct Refs {
    refi: u64,
    tck: u64,
    issued: u64,
}

impl Refs {
    fn are_eight(&self) -> bool {
        self.tck.checked_div(self.refi).is_some_and(|due| due >= self.issued + 8)
    }

    /// The end of a tCK of the rank.
    fn tick(&mut self, command: PinCommand) {
        self.tck += 1;
        self.issued += u64::from(command == PinCommand::Ref);
    }
}

/// What is remembered from tCK to tCK.
#[derive(Default)]
struct Memory {
    refs: Refs,
    mode: Option<usize>,
    host: Option<usize>,
    rank: Option<usize>,
    read_at: Option<usize>,
    fault: Fault,
    waits: bool,
    reads_results: bool,
}

/// Marks what an episode has reached.
pub fn cover(inputs: &[PimModuleIn], outputs: &[PimModuleOut], gear: usize, bins: &mut Bins) {
    if let Some(first) = inputs.first() {
        bins.hit("activation", first.timing_i.faw_banks.get() as usize / 8);
        bins.hit("tCCD_RESULT", usize::from(first.timing_i.ccd_result > 4));
        let rl_mac = match first.timing_i.rl_mac {
            0 => 0,
            1..8 => 1,
            8 => 2,
            _ => 3,
        };
        bins.hit("RL_MAC", rl_mac);
        bins.hit("RD_ALL after WR_SHARED", usize::from(first.timing_i.shared_to_rd > 0));
        bins.hit("CL", usize::from(first.timing_i.cl >= 32));
        bins.hit("CWL", usize::from(first.timing_i.cwl >= 32));
    }
    let refi = inputs.first().map_or(0, |first| match first.options_i.refresh {
        true => first.timing_i.refi.get(),
        false => 0,
    });
    let mut memory = Memory { refs: Refs { refi, ..Refs::default() }, ..Memory::default() };
    // A cycle of the core shows what it does in its last tCK, and its command in the first.
    let (mut phase, mut pins) = (0, Pins::default());
    for (tck, (input, output)) in inputs.chunks(2).zip(outputs.chunks(2)).enumerate() {
        let (&[input, _], &[_, output]) = (input, output) else { break };
        let is_last = phase == gear - 1;
        let now = output.pins_o.decode();
        pins = if phase == 0 { now } else { pins };
        phase = (phase + 1) % gear;
        let is_held = input.load_valid_i || input.start_valid_i;
        if !is_last && (is_held || !input.memory_i) {
            if !is_held {
                memory.refs.tick(PinCommand::None);
            }
            continue;
        }
        let shown = if input.memory_i { now } else { pins };
        let mode = match (input.load_valid_i, input.start_valid_i, input.memory_i) {
            (true, ..) => 2,
            (_, true, _) => 3,
            (.., true) => MEMORY,
            _ => PROCESSING,
        };
        if let Some(before) = memory.mode.replace(mode) {
            bins.hit_cross("mode after mode", before, mode);
        }
        match mode {
            MEMORY => host(shown.command, &mut memory, bins),
            PROCESSING => {
                let to_come = input.operands_i.get() > 0 && !input.operand_valid_i;
                for (bin, holds) in [output.operand_taken_o, to_come].into_iter().enumerate() {
                    if holds {
                        bins.hit("burst of the host", bin);
                    }
                }
                rank(tck, shown, &output, &mut memory, bins);
            }
            2 => {}
            _ => {
                if let Some(at) = memory.read_at {
                    let later = tck - at > SLOTS_GO_ON;
                    bins.hit("start behind the last RD_ALL", later.into());
                }
                memory.fault = Fault::None;
            }
        }
        if mode == MEMORY || mode == PROCESSING {
            memory.refs.tick(shown.command);
        }
    }
}

fn host(command: PinCommand, memory: &mut Memory, bins: &mut Bins) {
    if let Some(now) = number(&HOST, command)
        && let Some(before) = memory.host.replace(now)
    {
        bins.hit_cross("host's command after command", before, now);
    }
    if command == PinCommand::Ref {
        bins.hit("REF", 1);
    }
}

fn rank(tck: usize, pins: Pins, output: &PimModuleOut, memory: &mut Memory, bins: &mut Bins) {
    memory.host = None;
    if let Some(now) = number(&RANK, pins.command)
        && let Some(before) = memory.rank.replace(now)
    {
        bins.hit_cross("command after command", before, now);
    }
    match pins.command {
        PinCommand::RdAll => memory.read_at = Some(tck),
        PinCommand::Ref => {
            bins.hit("REF", if memory.waits { 2 } else { 0 });
            if memory.refs.are_eight() {
                bins.hit("REF", 3);
            }
        }
        PinCommand::RdResult => {
            let address = ResultAddress::of_bits(pins.column);
            let sums = usize::from(address.context_sums) * (1 + usize::from(address.upper));
            bins.hit("results that are read", sums);
        }
        _ => {}
    }
    let activity = output.activity_o;
    memory.waits = activity.lost_refresh;
    for (n, waits) in [activity.lost_row_switch, activity.lost_refresh].into_iter().enumerate() {
        if waits {
            bins.hit("read waits", n);
        }
    }
    match (activity.adder, activity.softmax) {
        (true, true) => bins.hit("units at once", 0),
        (true, false) => bins.hit("units at once", 1),
        (false, true) => bins.hit("units at once", 2),
        (false, false) => {}
    }
    results(output, bins);
    if output.fault_o != memory.fault && output.fault_o != Fault::None {
        bins.hit("fault", output.fault_o as usize - 1);
        if output.fault_o == Fault::Overwritten {
            bins.hit("results come too soon", memory.reads_results.into());
        }
    }
    memory.fault = output.fault_o;
    memory.reads_results = output.events_o.results_taken;
    if output.end_valid_o
        && let Some(end) = ENDS.iter().position(|(status, _)| *status == output.end_o.status)
    {
        bins.hit("run ends", end);
    }
}

fn results(output: &PimModuleOut, bins: &mut Bins) {
    let made = output.results_o;
    for score in made.scores() {
        bins.hit("result", score.masked.into());
    }
    if made.weights().next().is_some() {
        bins.hit("result", 2);
    }
    for element in made.context() {
        bins.hit("result", 3);
        bins.hit("query head", element.head.get() as usize);
    }
    if made.outputs().next().is_some() {
        bins.hit("result", 4);
    }
}
