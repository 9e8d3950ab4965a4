// SPDX-License-Identifier: MIT
//! What the bench of `dispatcher` is to reach: each command after each, every end of a run, everything
//! that the host writes, every depth of loops.

use super::dispatcher::Sizes;
use crate::coverage::Bins;
use pimlico_dpa::types::{Load, LoadKind};
use pimlico_dpa::{Instruction, LoopSource, MAX_REPETITIONS, Opcode};
use pimlico_ports::Enumerated;
use pimlico_units::module::{DispatcherIn, DispatcherOut};

/// The end of a run, by its status.
const ENDS: [&str; 12] = [
    "done",
    "stopped",
    "buffer overflow",
    "past the end",
    "unknown opcode",
    "unknown target",
    "loop bound",
    "loop end",
    "nested too deep",
    "overflow of a field",
    "Va2Pa miss",
    "unknown request",
];
/// Status of the first of them.
const FIRST_END: usize = 2;

const LOADS: [&str; 6] = ["command", "entry", "tokens", "segment", "clear", "layers"];
/// Those of them that have an address.
const ADDRESSED: [&str; 5] = ["command", "entry", "tokens", "segment", "layers"];
const LAYERS: [&str; 4] = ["first", "second", "third", "a later one"];
const FLAGS: [&str; 8] = [
    "none",
    "first",
    "last",
    "first, last",
    "opens",
    "first, opens",
    "last, opens",
    "first, last, opens",
];

/// Declares the bins.
pub fn plan(sizes: Sizes, bins: &mut Bins) {
    let requests = sizes.requests;
    let kinds = Opcode::COMMANDS.map(Opcode::name);
    bins.cross("command after command", &kinds, &kinds);
    bins.cross("command", &kinds, &["taken at once", "held up"]);
    bins.cross("command, flags", &kinds, &FLAGS);
    bins.declare("run ends", ENDS);
    if requests == 16 {
        bins.leave_out("run ends", ENDS.len() - 1); // every number is one of a request
    }
    bins.cross("host writes", &LOADS, &["idle", "while a run goes on"]);
    bins.declare("host writes what does not fit", ["no", "yes"]);
    bins.cross("address of a write", &ADDRESSED, &["the last", "the first beyond"]);
    bins.cross(
        "number that is written",
        &ADDRESSED[1..],
        &["with the top bit", "with one bit more"],
    );
    bins.declare("repetitions of a loop", ["as many as there may be", "one more"]);
    bins.cross("start of request", &["0", "1", "2", "3", "more"], &["taken", "refused"]);
    bins.declare("start", ["at word 0", "elsewhere"]);
    bins.declare("stop", ["idle", "while a run goes on"]);
    bins.declare("layer of a run that ends", LAYERS);
    bins.declare("command of request", (0..requests).map(|request| request.to_string()));
}

/// Marks what an episode has reached.
pub fn cover(sizes: Sizes, inputs: &[DispatcherIn], outputs: &[DispatcherOut], bins: &mut Bins) {
    let mut before: Option<usize> = None;
    let mut waited = false;
    for (input, output) in inputs.iter().zip(outputs) {
        let runs = usize::from(!output.start_ready_o);
        let command = output.dispatch_o;
        let kind = Some(command.kind).filter(|_| output.dispatch_valid_o);
        if let Some(kind) = kind.filter(|_| input.dispatch_ready_i) {
            let kind = kind.code() as usize - 1;
            bins.hit_cross("command", kind, waited.into());
            let flags = [command.first, command.last, command.opens];
            let flags = flags.iter().rev().fold(0, |all, flag| 2 * all + usize::from(*flag));
            bins.hit_cross("command, flags", kind, flags);
            bins.hit("command of request", command.request.get() as usize);
            if let Some(before) = before.replace(kind) {
                bins.hit_cross("command after command", before, kind);
            }
        }
        waited = kind.is_some() && !input.dispatch_ready_i;
        if output.end_valid_o {
            bins.hit("run ends", output.end_o.status as usize - FIRST_END);
            bins.hit(
                "layer of a run that ends",
                usize::from(output.end_o.layer).min(LAYERS.len() - 1),
            );
            before = None;
        }
        if input.load_valid_i {
            bins.hit_cross("host writes", input.load_i.kind as usize, runs);
            written(sizes, &input.load_i, bins);
        }
        bins.hit("host writes what does not fit", output.overflow_o.into());
        if input.start_valid_i {
            let request = (input.start_i.request.get() as usize).min(4);
            bins.hit_cross("start of request", request, runs);
            bins.hit("start", usize::from(input.start_i.address.get() > 0));
        }
        if input.stop_i {
            bins.hit("stop", runs);
        }
    }
}

/// Marks what the host writes.
fn written(sizes: Sizes, load: &Load, bins: &mut Bins) {
    // CLEAR stands between those that have an address.
    let kind = load.kind as usize - usize::from(load.kind == LoadKind::Layers);
    let (room, bits) = sizes.of(load.kind);
    let address = usize::from(load.address);
    if load.kind != LoadKind::Clear && (address == room || address + 1 == room) {
        bins.hit_cross("address of a write", kind, (address == room).into());
    }
    if bits < 64 && (load.data >> bits == 1 || load.data >> (bits - 1) == 1) {
        let beyond = load.data >> bits == 1;
        bins.hit_cross("number that is written", kind - 1, beyond.into());
    }
    if load.kind == LoadKind::Command
        && let Ok(Instruction::Loop(of)) = Instruction::decode(load.data)
        && of.source == LoopSource::Count
        && let Some(more @ 0..2) = of.bound.get().checked_sub(MAX_REPETITIONS.into())
    {
        bins.hit("repetitions of a loop", more as usize);
    }
}
