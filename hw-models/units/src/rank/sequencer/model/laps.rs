// SPDX-License-Identifier: MIT
//! What of a sequencer moves in a lap: see [`lap`](crate::lap).

use super::{ArrayEntry, Command, Fault, Flags, Results, Sequencer, SequencerOut, SumNumber};
use crate::lap::Walk;
use pimlico_dpa::types::Sum;

impl<const S: usize, const CC: u16, const CT: u16, const TC: u16> Sequencer<S, CC, CT, TC> {
    /// Goes over all of it, where nothing but MACs is in its queues, and nothing is wrong.
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
        for command in [look, command] {
            walk.still(command.is_some());
            command.iter_mut().for_each(|command| command.walk(walk));
        }
        scoreboard.walk(walk);
        let last = *ended;
        array.walk(walk, |entry, walk| entry.walk(walk, last));
        results.walk_empty(walk);
        operands.walk_empty(walk);
        softmax.walk_empty(walk);
        walk.still(*operands_asked);
        array_requests.walk(walk);
        readers.walk(walk, last);
        walk.still(*elements);
        softmax_requests.walk(walk);
        walk.moves(ended);
    }
}

/// What is put out, where there is no request but that of a MAC.
fn go_over_output(output: &mut SequencerOut, walk: &mut Walk<'_>) {
    let SequencerOut {
        dispatch_ready_o,
        fault_o,
        done_o,
        array_valid_o,
        array_o,
        bus_valid_o,
        bus_o: _,
        finish_valid_o,
        finish_o: _,
        weigh_valid_o,
        weigh_o: _,
        weights_drop_o,
        head_end_o,
        ..
    } = output;
    let others = [bus_valid_o, finish_valid_o, weigh_valid_o, weights_drop_o];
    walk.refuse_if(others.into_iter().any(|flag| *flag) || *fault_o != Fault::None);
    for flag in [dispatch_ready_o, done_o, &mut *array_valid_o, head_end_o] {
        walk.still(*flag);
    }
    if *array_valid_o {
        walk.array_request(array_o);
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
    fn walk(&mut self, walk: &mut Walk<'_>, last: SumNumber) {
        let Self { request, number, need } = self;
        walk.array_request(request);
        walk.number(number, last, SumNumber::MAX.into());
        // No write moves in a lap.
        walk.still(*need);
    }
}

impl Command {
    /// Goes over it, where it is a MAC or an RD_RESULT.
    fn walk(&mut self, walk: &mut Walk<'_>) {
        match self {
            Self::Read(request) => {
                walk.still(true);
                walk.array_request(request);
            }
            Self::Results(Results { address, sum }) => {
                let Sum { place, .. } = sum;
                walk.still(false);
                walk.moves(place);
                walk.still(*address);
                walk.bits(&Sum { place: Default::default(), ..*sum });
            }
            Self::CloseAll
            | Self::Shared { .. }
            | Self::Weights { .. }
            | Self::Finish(_)
            | Self::Weigh(_) => walk.refuse_if(true),
        }
    }
}
