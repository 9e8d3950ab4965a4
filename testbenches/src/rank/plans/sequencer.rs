// SPDX-License-Identifier: MIT
//! What the bench of `sequencer` is to reach: each command after each, every fault, every sort of sum, and
//! every request held up.

use crate::coverage::Bins;
use pimlico_dpa::Opcode;
use pimlico_ports::Enumerated;
use pimlico_units::rank::{SequencerIn, SequencerOut};

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

/// Declares the bins.
pub fn plan(bins: &mut Bins) {
    let kinds = Opcode::COMMANDS.map(Opcode::name);
    bins.cross("command after command", &kinds, &kinds);
    bins.cross("command at the door", &kinds, &HANDS);
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
}

/// Marks what an episode has reached.
pub fn cover(inputs: &[SequencerIn], outputs: &[SequencerOut], bins: &mut Bins) {
    let mut before: Option<usize> = None;
    let mut fault = 0;
    let mut waited = [false; PORTS.len()];
    let mut at_door = false;
    for (input, output) in inputs.iter().zip(outputs) {
        let kind = Opcode::from_code(input.dispatch_kind_i.get()).filter(|kind| kind.is_command());
        if let Some(kind) = kind.filter(|_| input.dispatch_valid_i) {
            let number = kind.code() as usize - 1;
            if output.dispatch_ready_o {
                bins.hit_cross("command at the door", number, at_door.into());
                if let Some(before) = before.replace(number) {
                    bins.hit_cross("command after command", before, number);
                }
            }
            at_door = !output.dispatch_ready_o;
        }
        let found = output.fault_o.get() as usize;
        if found != fault && found > 0 {
            bins.hit("fault", found - 1);
        }
        fault = found;

        requests(input, output, &mut waited, bins);
        if output.array_valid_o && !output.array_close_o && input.array_taken_i {
            let flags = usize::from(output.array_first_o) + 2 * usize::from(output.array_last_o);
            bins.hit_cross("read", output.array_accumulate_o.into(), flags);
        }
        if output.bus_valid_o && !output.bus_write_o && input.bus_taken_i {
            sums(output, bins);
        }
        let closes = output.array_valid_o && output.array_close_o && input.array_taken_i;
        let ends = output.done_o && found == 0;
        let faulty = output.done_o && found > 0;
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
    let bus = |writes: bool, host: bool| {
        output.bus_valid_o && output.bus_write_o == writes && (!writes || output.bus_host_o == host)
    };
    let (finish, weigh) = (output.finish_valid_o, output.weigh_valid_o);
    let ports = [
        (output.array_valid_o, input.array_taken_i),
        (bus(true, true), input.bus_taken_i),
        (bus(true, false), input.bus_taken_i),
        (bus(false, false), input.bus_taken_i),
        (finish || weigh, finish && input.finish_taken_i || weigh && input.weigh_taken_i),
    ];
    for (port, (asked, taken)) in ports.into_iter().enumerate() {
        if asked && taken {
            bins.hit_cross("request", port, waited[port].into());
        }
        waited[port] = asked && !taken;
    }
}

fn sums(output: &SequencerOut, bins: &mut Bins) {
    let kind = output.sum_kind_o.get() as usize;
    let part = 2 * usize::from(output.sum_goes_on_o) + usize::from(output.sum_complete_o);
    bins.hit_cross("sum", kind, if kind == 0 { 0 } else { part });
    if kind == 0 {
        bins.hit("tokens of a burst of scores", output.sum_tokens_o.get() as usize);
        bins.hit_cross("scores", usize::from(!output.sum_keep_o), output.sum_first_o.into());
    }
}
