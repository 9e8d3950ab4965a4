// SPDX-License-Identifier: MIT
//! What the bench of `host_port` is to reach: every window in every state, every message and its wait, every
//! hand-over of the pins, every end of a run.

use super::judge::{Event, Owner, Port, command};
use super::queue::Queue;
use super::results::{ELEMENTS, PLACES};
use crate::coverage::{Bins, beats::Follow};
use pimlico_dpa::types::PinCommand;
use pimlico_units::module::HostPortIn;

const OWNERS: [&str; 3] = ["PinsHost", "PinsLeft", "PinsRun"];
const WINDOWS: [&str; 4] = ["mailbox", "operands", "status", "results"];
const WAYS: [&str; 2] = ["RD", "WR"];
const MESSAGES: [&str; 4] = ["LOAD", "START", "refused", "operand"];
const LOADS: [&str; 6] = ["command", "entry", "tokens", "segment", "clear", "layers"];
const NUMBERS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
/// A CL of no code, and those that MR0 has one for.
const LATENCIES: [&str; 25] = [
    "without a code",
    "9",
    "10",
    "11",
    "12",
    "13",
    "14",
    "15",
    "16",
    "17",
    "18",
    "19",
    "20",
    "21",
    "22",
    "23",
    "24",
    "25",
    "26",
    "27",
    "28",
    "29",
    "30",
    "31",
    "32",
];
const STREAMS: [&str; 2] = ["context", "outputs"];
const EITHER: [&str; 2] = ["no", "yes"];
const COMMANDS: [(PinCommand, &str); 8] = [
    (PinCommand::None, "none"),
    (PinCommand::Act, "ACT"),
    (PinCommand::Pre, "PRE"),
    (PinCommand::PreAll, "PREA"),
    (PinCommand::Rd, "RD"),
    (PinCommand::Wr, "WR"),
    (PinCommand::Ref, "REF"),
    (PinCommand::Mrs, "MRS"),
];
const FLAGS: [&str; 5] = ["a START waits", "ended", "lost", "refused", "overflow"];
const UNFINISHED: [&str; 4] = ["0", "1", "2 to 30", "31"];
const LANES: [&str; 16] =
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"];

/// Declares the bins.
pub(super) fn plan(gear: usize, bins: &mut Bins) {
    let windows = WINDOWS.map(|window| WAYS.map(|way| format!("{way} of {window}")));
    let windows: Vec<&str> = windows.as_flattened().iter().map(String::as_str).collect();
    bins.cross("window, in", &windows, &OWNERS);
    bins.cross("window, bank group", &WINDOWS, &["0", "1", "2", "3"]);
    bins.declare("WR or RD without a window", ["it occurs"]);
    bins.declare("a window is closed by", ["ACT of another row", "PRE", "PREA"]);
    Follow::plan("order of windows' WRs and RDs", &WAYS, bins);
    // A WR behind an RD waits until the bus is free.
    for gap in 0..3 {
        bins.leave_out("order of windows' WRs and RDs", 4 + gap);
    }
    let commands = COMMANDS.map(|(_, name)| name);
    bins.cross("command of the host, in", &commands, &OWNERS[..1]);
    bins.declare("code without a meaning", ["it occurs"]);
    bins.cross("mode register is set in", &NUMBERS, &OWNERS);
    bins.declare("CL of an MR0", LATENCIES);
    bins.declare("CWL of an MR2", ["without a code", "with a code"]);
    bins.cross("PREA in", &OWNERS, &["no START waits", "a START waits"]);
    bins.cross("burst enters the queue in", &MESSAGES, &OWNERS);
    bins.declare("bursts in the queue", ["1", "2 to 15", "16 to 127", "128"]);
    bins.declare("lost", MESSAGES);
    bins.declare("a burst leaves where another is lost", ["it occurs"]);
    bins.cross("burst leaves the queue in", &MESSAGES, &OWNERS);
    bins.leave_out("burst leaves the queue in", 2); // a LOAD in a run
    for owner in 0..3 {
        bins.leave_out("burst leaves the queue in", 3 + owner); // STARTs are counted by themselves
    }
    bins.cross("burst waits at the head in", &MESSAGES, &OWNERS);
    for bin in [0, 1, 6, 7, 8, 9, 10] {
        bins.leave_out("burst waits at the head in", bin);
    }
    bins.cross("LOAD, data words", &LOADS, &NUMBERS);
    bins.cross("LOAD in", &LOADS, &OWNERS[..2]);
    bins.declare("addresses of a LOAD wrap", EITHER);
    bins.declare("PREA, the START waits from", ["the next tCK on", "this tCK on"]);
    bins.declare("START waits for tRP alone", ["it occurs"]);
    bins.cross("START", &["behind a PREA", "behind a run"], &["alone", "with others behind it"]);
    bins.declare("operands of a START", ["0", "1 to 126", "127", "more"]);
    bins.declare("operands to come at the end", ["0", "1 to 126", "127 or more"]);
    bins.cross("elements of unfinished bursts", &UNFINISHED, &UNFINISHED);
    bins.leave_out("elements of unfinished bursts", 0); // nothing is asked for
    bins.cross("burst is written", &STREAMS, &["unfinished", "whole"]);
    bins.declare("both streams' bursts are written at once", ["it occurs"]);
    for stream in STREAMS_IN {
        bins.declare(stream, LANES[..1 << gear].iter().copied());
    }
    bins.declare("a rest is none of the run's end", ["it occurs"]);
    bins.declare("the end of a run waits for tRFC", ["the REF is earlier", "REF in the last tCK"]);
    bins.declare("runs that the reset ends", EITHER);
    bins.cross("burst of results is read", &STREAMS, &["the newest", "between", "the 64th"]);
    bins.declare("upper bits of the column of results", EITHER);
    bins.declare("state that is read", OWNERS);
    bins.cross("flag that is read", &FLAGS, &EITHER);
    bins.cross("status that is read", &["fault", "end of the program"], &EITHER);
    bins.declare("data bus", ["nobody", "the module", "a window", "both"]);
    bins.declare("CL", ["less than 12", "12 to 47", "48"]);
    bins.declare("CWL", ["4", "5 to 45", "46"]);
}

const STREAMS_IN: [&str; 2] = ["lanes of the context", "lanes of the outputs"];

/// Marks what an episode has reached.
pub(super) fn cover(gear: usize, inputs: &[HostPortIn], bins: &mut Bins) {
    let Some(first) = inputs.first() else { return };
    bins.hit("CL", [12, 48].iter().filter(|edge| first.timing_i.cl >= **edge).count());
    bins.hit("CWL", [5, 46].iter().filter(|edge| first.timing_i.cwl >= **edge).count());
    let mut port = Port::new(gear);
    let mut order = Follow::new("order of windows' WRs and RDs", &WAYS);
    let (mut asked, mut before) = (false, false);
    for beats in inputs.chunks_exact(2) {
        pins(&port, &beats[0], bins);
        let driven = port.expected(&HostPortIn::default(), false).out.host_dq_valid_o;
        bins.hit("data bus", 2 * usize::from(driven) + usize::from(beats[0].module_dq_valid_i));
        if port.ends_cycle() {
            let results = &beats[1].results_i;
            let valid = [results.context_valid, results.output_valid];
            for (stream, valid) in STREAMS_IN.into_iter().zip(valid) {
                bins.hit(stream, valid.get() as usize);
            }
            if asked && valid.iter().any(|valid| valid.get() != 0) {
                bins.hit("a rest is none of the run's end", 0);
            }
        }
        let tck = port.tck as usize;
        let [waited, waits] = [before, port.waits()];
        before = waits;
        port.step(&beats[0], &beats[1]);
        if command(&beats[0].host_pins_i).command == PinCommand::PreAll {
            match [waited, waits, port.waits()] {
                [_, false, true] => bins.hit("PREA, the START waits from", 0),
                [false, true, _] => bins.hit("PREA, the START waits from", 1),
                _ => {}
            }
        }
        let has = |what: fn(&Event) -> bool| port.events.iter().any(what);
        if has(|event| matches!(event, Event::Lost(_)))
            && has(|event| matches!(event, Event::Leaves { .. } | Event::Starts { .. }))
        {
            bins.hit("a burst leaves where another is lost", 0);
        }
        for event in &port.events {
            if let Event::Window { writes, .. } = event {
                order.beat(usize::from(*writes), tck, 4, bins);
            }
            asked =
                asked && !matches!(event, Event::Ends { .. }) || matches!(event, Event::Asks(_));
            mark(event, bins);
        }
    }
    bins.hit("runs that the reset ends", usize::from(port.owner == Owner::Run));
}

/// Marks what is on the host's pins.
fn pins(port: &Port, input: &HostPortIn, bins: &mut Bins) {
    let pins = command(&input.host_pins_i);
    let command = pins.command;
    if command == PinCommand::Mrs {
        bins.hit_cross("mode register is set in", pins.bank(), port.owner as usize);
        let timing = &input.timing_i;
        match pins.bank() {
            0 => {
                let of_code = (9..=32).contains(&timing.cl);
                bins.hit("CL of an MR0", if of_code { usize::from(timing.cl) - 8 } else { 0 });
            }
            2 => bins
                .hit("CWL of an MR2", [9, 10, 11, 12, 14, 16, 18, 20].contains(&timing.cwl).into()),
            _ => {}
        }
    }
    let number = COMMANDS.iter().position(|(it, _)| *it == command);
    if let Some(number) = number.filter(|_| port.owner == Owner::Host) {
        bins.hit_cross("command of the host, in", number, 0);
    }
    if command == PinCommand::None && !input.host_pins_i.cs_n {
        bins.hit("code without a meaning", 0);
    }
}

/// Marks an event.
fn mark(event: &Event, bins: &mut Bins) {
    match *event {
        Event::Window { window, writes, bank, owner } => {
            let number = 2 * window as usize + usize::from(writes);
            bins.hit_cross("window, in", number, owner as usize);
            bins.hit_cross("window, bank group", window as usize, bank / 4);
        }
        Event::NoWindow => bins.hit("WR or RD without a window", 0),
        Event::Closes(by) => bins.hit(
            "a window is closed by",
            match by {
                PinCommand::Act => 0,
                PinCommand::Pre => 1,
                _ => 2,
            },
        ),
        Event::PreAll { owner, waits } => bins.hit_cross("PREA in", owner as usize, waits.into()),
        Event::Enters { message, owner, queued } => {
            bins.hit_cross("burst enters the queue in", message as usize, owner as usize);
            let sort = [2, 16, Queue::ROOM].iter().filter(|edge| queued >= **edge).count();
            bins.hit("bursts in the queue", sort);
        }
        Event::Lost(message) => bins.hit("lost", message as usize),
        Event::Leaves { message, owner, load } => {
            bins.hit_cross("burst leaves the queue in", message as usize, owner as usize);
            if let Some((kind, count, wraps)) = load {
                bins.hit("addresses of a LOAD wrap", wraps.into());
                bins.hit_cross("LOAD, data words", kind as usize, count);
                bins.hit_cross("LOAD in", kind as usize, owner as usize);
            }
        }
        Event::Waits { message, owner } => {
            bins.hit_cross("burst waits at the head in", message as usize, owner as usize);
        }
        Event::Precharging => bins.hit("START waits for tRP alone", 0),
        Event::Starts { behind_a_run, operands, waiting } => {
            bins.hit_cross("START", behind_a_run.into(), usize::from(waiting > 1));
            let sort = [1, 127, 128].iter().filter(|edge| operands >= **edge).count();
            bins.hit("operands of a START", sort);
        }
        Event::Ends { operands } => {
            let sort = [1, 127].iter().filter(|edge| operands >= **edge).count();
            bins.hit("operands to come at the end", sort);
        }
        Event::Refreshing { this_tck } => {
            bins.hit("the end of a run waits for tRFC", this_tck.into());
        }
        _ => mark_results(event, bins),
    }
}

/// Marks an event of the results or of the status.
fn mark_results(event: &Event, bins: &mut Bins) {
    match *event {
        Event::Asks(unfinished) => {
            let sort = |count| [1, 2, ELEMENTS - 1].iter().filter(|edge| count >= **edge).count();
            let [context, outputs] = unfinished.map(sort);
            bins.hit_cross("elements of unfinished bursts", context, outputs);
        }
        Event::Written { stream, whole } => {
            bins.hit_cross("burst is written", stream, whole.into());
        }
        Event::BothWritten => bins.hit("both streams' bursts are written at once", 0),
        Event::Result { stream, age, upper } => {
            let sort = [1, PLACES - 1].iter().filter(|edge| age >= **edge).count();
            bins.hit_cross("burst of results is read", stream, sort);
            bins.hit("upper bits of the column of results", upper.into());
        }
        Event::Status { words: [word, ..] } => {
            bins.hit("state that is read", (word & 3) as usize);
            for flag in 0..FLAGS.len() {
                bins.hit_cross("flag that is read", flag, (word >> (2 + flag) & 1) as usize);
            }
            for (field, bits) in [word >> 8 & 15, word >> 12 & 15].into_iter().enumerate() {
                bins.hit_cross("status that is read", field, usize::from(bits != 0));
            }
        }
        _ => {}
    }
}
