// SPDX-License-Identifier: MIT
//! What the bench of `sequencer` is to reach: each command after each, every fault, every sort of sum, and
//! every request held up.

use crate::coverage::Bins;
use pimlico_dpa::Opcode;
use pimlico_dpa::types::{ArrayKind, Fault, ResultAddress, Sum, SumKind};
use pimlico_ports::Enumerated;
use pimlico_units::rank::{SequencerIn, SequencerOut};
use std::collections::VecDeque;

const FAULTS: [&str; 8] = [
    "unknown command",
    "row",
    "column",
    "place",
    "no tokens",
    "operands",
    "overwritten",
    "unpaired",
];
const SUMS: [&str; 3] = ["scores", "outputs", "context"];
const HANDS: [&str; 2] = ["taken at once", "held up"];
const PORTS: [&str; 5] = ["array", "bus: host", "bus: weights", "bus: results", "finish or weigh"];
const HOST: usize = 1;

/// Declares the bins.
pub fn plan(bins: &mut Bins) {
    let kinds = Opcode::COMMANDS.map(Opcode::name);
    bins.cross("command after command", &kinds, &kinds);
    bins.cross("command", &kinds, &HANDS);
    bins.declare("fault", FAULTS);
    bins.cross("request", &PORTS, &HANDS);
    bins.cross("read", &["scores", "context"], &["between", "first", "last", "first and last"]);
    bins.cross(
        "sum",
        &SUMS,
        &["from zero, goes on", "from zero, complete", "goes on", "completes"],
    );
    // Scores are always whole.
    for of_scores in 1..4 {
        bins.leave_out("sum", of_scores);
    }
    bins.declare("tokens of a burst of scores", (0..=4).map(|tokens| tokens.to_string()));
    bins.cross("scores", &["kept", "not kept"], &["later chunk", "first chunk"]);
    bins.declare("run", ["ends", "starts", "ends with a fault", "a head ends", "all banks closed"]);
    bins.declare("sums", ["of 16 bits", "of 32 bits"]);
    bins.declare("results come too soon", ["before an RD_RESULT", "in its cycle"]);
    bins.declare("kept scores are read", ["before the next results", "behind them"]);
    bins.cross("RD_RESULT after RD_RESULT", &SUMS, &SUMS);
    bins.declare("burst of the host", ["is waited for", "is there before"]);
}

/// Marks what an episode has reached.
pub fn cover(inputs: &[SequencerIn], outputs: &[SequencerOut], bins: &mut Bins) {
    let mut before: Option<usize> = None;
    let mut fault = Fault::None;
    let mut waited = [false; PORTS.len()];
    let mut waits = false;
    let (mut reads, mut sum) = (false, None);
    let (mut made, mut made_then) = (0, 0); // results so far, and when the chips last kept scores
    let mut sent: VecDeque<ResultAddress> = VecDeque::new();
    let mut there = 0; // cycles for which there has been a burst of the host
    for (input, output) in inputs.iter().zip(outputs) {
        let kind = input.dispatch_i.kind;
        if input.dispatch_valid_i && kind.is_command() {
            let number = kind.code() as usize - 1;
            if output.dispatch_ready_o {
                bins.hit_cross("command", number, waits.into());
                if let Some(before) = before.replace(number) {
                    bins.hit_cross("command after command", before, number);
                }
            }
            waits = !output.dispatch_ready_o;
        }
        let found = output.fault_o;
        if found != fault && found != Fault::None {
            bins.hit("fault", found as usize - 1);
            if found == Fault::Overwritten {
                bins.hit("results come too soon", reads.into());
            }
        }
        fault = found;
        reads = input.events_i.results_taken;
        // What comes in this cycle is read in the next.
        let address = if reads { sent.pop_front() } else { None };
        if let Some(ResultAddress { lane, .. }) = address.filter(|it| !it.context_sums) {
            if lane.get() == 0 {
                made_then = made;
            } else if found == Fault::None {
                bins.hit("kept scores are read", usize::from(made > made_then));
            }
        }
        made += u64::from(input.events_i.results);

        let is_host = output.bus_valid_o && output.bus_o.write && output.bus_o.host;
        if is_host && !waited[HOST] {
            bins.hit("burst of the host", usize::from(there > 1));
        }
        there = if input.operand_valid_i { there + 1 } else { 0 };
        requests(input, output, &mut waited, bins);
        let (mac, taken) = (output.array_o.mac, output.array_valid_o && input.events_i.array_taken);
        let closes = taken && output.array_o.kind == ArrayKind::CloseAll;
        if taken && !closes {
            let flags = usize::from(mac.first) + 2 * usize::from(mac.last);
            bins.hit_cross("read", mac.accumulate.into(), flags);
        }
        if output.bus_valid_o && !output.bus_o.write && input.events_i.bus_taken {
            sent.push_back(ResultAddress::of_bits(output.bus_o.address));
            sums(&output.bus_o.sum, bins);
            let kind = output.bus_o.sum.kind as usize;
            if let Some(before) = sum.replace(kind) {
                bins.hit_cross("RD_RESULT after RD_RESULT", before, kind);
            }
        }
        let ends = output.done_o && found == Fault::None;
        let faulty = output.done_o && found != Fault::None;
        let events = [ends, input.start_i, faulty, output.head_end_o, closes];
        for (event, _) in events.into_iter().enumerate().filter(|(_, happens)| *happens) {
            bins.hit("run", event);
        }
        if input.start_i {
            bins.hit("sums", input.wide_i.into());
        }
    }
}

fn requests(
    input: &SequencerIn,
    output: &SequencerOut,
    waited: &mut [bool; PORTS.len()],
    bins: &mut Bins,
) {
    let (bus, events) = (output.bus_o, input.events_i);
    let asked = |write: bool, host: bool| {
        output.bus_valid_o && bus.write == write && (!write || bus.host == host)
    };
    let (finish, weigh) = (output.finish_valid_o, output.weigh_valid_o);
    let ports = [
        (output.array_valid_o, events.array_taken),
        (asked(true, true), events.bus_taken),
        (asked(true, false), events.bus_taken),
        (asked(false, false), events.bus_taken),
        (finish || weigh, finish && events.finish_taken || weigh && events.weigh_taken),
    ];
    for (port, (asked, taken)) in ports.into_iter().enumerate() {
        if asked && taken {
            bins.hit_cross("request", port, waited[port].into());
        }
        waited[port] = asked && !taken;
    }
}

fn sums(sum: &Sum, bins: &mut Bins) {
    let kind = sum.kind as usize;
    let part = 2 * usize::from(sum.goes_on) + usize::from(sum.complete);
    bins.hit_cross("sum", kind, if kind == 0 { 0 } else { part });
    if sum.kind == SumKind::Scores {
        bins.hit("tokens of a burst of scores", sum.tokens.get() as usize);
        bins.hit_cross("scores", usize::from(!sum.keep), sum.first.into());
    }
}
