// SPDX-License-Identifier: MIT
//! What of a sequencer moves in a lap: see [`lap`](crate::lap).

use super::{
    ArrayEntry, Command, Fault, Flags, OperandEntry, ResultEntry, Results, Scoreboard, Sequencer,
    SequencerOut, SoftmaxEntry, SumNumber,
};
use crate::lap::Walk;
use crate::rank::sequencer::scoreboard::Access;

impl<const S: usize, const CC: u16, const CT: u16, const TC: u16> Sequencer<S, CC, CT, TC> {
    /// Goes over all of it, where no burst of the host, no FINISH and no CLOSE_ALL is on its way, and nothing is wrong.
    pub(super) fn go_over(&mut self, walk: &mut Walk<'_>) {
        let Self {
            output,
            still,
            flags,
            fault,
            input,
            look,
            command,
            scoreboard,
            array,
            results,
            operands,
            softmax,
            operands_asked,
            lacks,
            operand_there,
            ended,
            array_requests,
            readers,
            elements,
            softmax_requests,
        } = self;
        walk.refuse_if(*fault != Fault::None);
        go_over_output(output, walk);
        flags.walk(walk);
        for flag in [still, lacks, operand_there] {
            walk.still(*flag);
        }
        for dispatch in input {
            walk.still(dispatch.is_some());
            dispatch.iter_mut().for_each(|dispatch| walk.dispatch(dispatch));
        }
        let accesses = [&mut *command, look].map(|command| {
            walk.still(command.is_some());
            command.iter_mut().for_each(|command| command.walk(walk));
            command.and_then(|command| command.access()).map(|(access, _)| access)
        });
        scoreboard.walk(walk, accesses);
        let last = *ended;
        array.walk(walk, |entry, walk| entry.walk(walk, scoreboard, last));
        results.walk(walk, |entry, walk| entry.walk(walk, last));
        operands.walk(walk, |entry, walk| entry.walk(walk, scoreboard));
        softmax.walk(walk, |entry, walk| entry.walk(walk));
        walk.still(*operands_asked);
        array_requests.walk(walk);
        readers.walk(walk, last);
        walk.still(*elements);
        softmax_requests.walk(walk);
        walk.moves(ended);
    }
}

/// What is put out.
fn go_over_output(output: &mut SequencerOut, walk: &mut Walk<'_>) {
    let SequencerOut {
        dispatch_ready_o,
        fault_o,
        done_o,
        array_valid_o,
        array_o,
        bus_valid_o,
        bus_o,
        finish_valid_o,
        finish_o: _,
        weigh_valid_o,
        weigh_o,
        weights_drop_o,
        head_end_o,
        ..
    } = output;
    walk.refuse_if(*finish_valid_o || *weights_drop_o || *fault_o != Fault::None);
    for flag in [dispatch_ready_o, done_o, head_end_o] {
        walk.still(*flag);
    }
    for valid in [&*array_valid_o, bus_valid_o, weigh_valid_o] {
        walk.still(*valid);
    }
    if *array_valid_o {
        walk.array_request(array_o);
    }
    if *bus_valid_o {
        walk.bus_request(bus_o);
    }
    if *weigh_valid_o {
        walk.weigh(weigh_o);
    }
}

impl Flags {
    fn walk(&self, walk: &mut Walk<'_>) {
        let Self { quiet, over, ended_run, closing, bus_reads, bus_writes } = *self;
        for flag in [quiet, over, ended_run, closing, bus_reads, bus_writes] {
            walk.still(flag);
        }
    }
}

impl ArrayEntry {
    fn walk(&mut self, walk: &mut Walk<'_>, scoreboard: &Scoreboard, last: SumNumber) {
        let Self { request, number, need } = self;
        walk.array_request(request);
        walk.number(number, last, SumNumber::MAX.into());
        scoreboard.walk_need(walk, Access::Mac, need);
    }
}

impl ResultEntry {
    fn walk(&mut self, walk: &mut Walk<'_>, last: SumNumber) {
        let Self { results, number } = self;
        results.walk(walk);
        walk.number(number, last, SumNumber::MAX.into());
    }
}

impl OperandEntry {
    fn walk(&mut self, walk: &mut Walk<'_>, scoreboard: &Scoreboard) {
        let Self { word, from_host, need } = self;
        walk.refuse_if(*from_host);
        walk.still(*word);
        scoreboard.walk_need(walk, Access::Write, need);
    }
}

impl SoftmaxEntry {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        match self {
            Self::Finish(_) => walk.refuse_if(true),
            Self::Weigh(weigh) => walk.weigh(weigh),
        }
    }
}

impl Results {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { address, sum } = self;
        walk.still(*address);
        walk.sum(sum);
    }
}

impl Command {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let mut kind = |kind: u8| walk.still(kind);
        match self {
            Self::Read(request) => {
                kind(0);
                walk.array_request(request);
            }
            Self::Results(results) => {
                kind(1);
                results.walk(walk);
            }
            Self::Weights { word } => {
                kind(2);
                walk.still(*word);
            }
            Self::Weigh(weigh) => {
                kind(3);
                walk.weigh(weigh);
            }
            Self::CloseAll | Self::Shared { .. } | Self::Finish(_) => walk.refuse_if(true),
        }
    }
}
