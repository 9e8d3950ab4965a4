// SPDX-License-Identifier: MIT
//! Bench of `sequencer`: `golden::sequencer` judges all that it asks for by what the requests work on.
//!
//! The bench plays dispatcher and rank. To know what is asked for it runs the model once, as stimulus.

mod programs;
mod surroundings;

use super::plans;
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_dpa::Dispatch;
use pimlico_dpa::types::{ArrayKind, ArrayRequest, BusRequest, Fault, Mac, Sum, SumKind, Weigh};
use pimlico_golden::sequencer::{
    self as golden, Array, Asked, Bus, Command, Complaint, Judge, Seen, Sizes,
};
use pimlico_ports::{Enumerated, Model, U, values};
use pimlico_units::rank::{RankController, Sequencer, SequencerIn, SequencerOut};
use surroundings::Surroundings;

impl<
    const SCORES: usize,
    const CONTEXT_AFTER_CONTEXT: u16,
    const CONTEXT_AFTER_TREE: u16,
    const TREE_AFTER_CONTEXT: u16,
> Bench for Sequencer<SCORES, CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT>
{
    fn arrange(inputs: &mut [SequencerIn]) {
        let Some(first) = inputs.first() else { return };
        let draws = [first.dispatch_i.row.into(), first.dispatch_i.place.get()];
        let more = [first.dispatch_i.tokens.get(), first.size_i.rows.get()];
        let seed = draws.into_iter().chain(more).fold(0, |seed, draw| seed << 16 ^ draw);
        let mut surroundings = Surroundings::new(seed, SCORES as u64);
        let mut unit = Self::new();
        for input in inputs {
            let asked = unit.settle(input);
            *input = surroundings.drive(&asked);
            unit.step(input);
        }
    }

    fn plan(bins: &mut Bins) {
        plans::sequencer::plan(bins);
    }

    fn cover(inputs: &[SequencerIn], outputs: &[SequencerOut], bins: &mut Bins) {
        plans::sequencer::cover(inputs, outputs, bins);
    }

    /// Judges all outputs in every cycle; counts the requests.
    fn oracle(inputs: &[SequencerIn], outputs: &[SequencerOut]) -> Result<u64, OracleError> {
        let Some(first) = inputs.first() else { return Ok(0) };
        let mut judge = Judge::new(Sizes {
            rows: first.size_i.rows.get() as u32,
            columns: first.size_i.columns.get() as u32,
            burst: first.burst_i.into(),
            latency: <RankController>::LATENCY,
            idle: [CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT].map(u64::from),
            wide: first.wide_i,
            scores: SCORES as u32,
        });
        let mut checked = 0;
        for (cycle, (input, output)) in (0..).zip(inputs.iter().zip(outputs)) {
            let asked = asked_by(output);
            let expected = outputs_of(&asked);
            if *output != expected {
                let (port, [got, expected]) = difference(output, &expected);
                let what = format!("no such request, or not 0 without one: {asked:?}");
                return Err(OracleError { cycle, port, got, expected, what });
            }
            judge.cycle(&asked, &seen(input)).map_err(|complaint| {
                let (got, expected) = if complaint.is_missing { (0, 1) } else { (1, 0) };
                let Complaint { port, what, .. } = complaint;
                OracleError { cycle, port, got, expected, what }
            })?;
            checked += u64::from(asked.array.is_some()) + u64::from(asked.bus.is_some());
        }
        Ok(checked)
    }
}

/// What happens in a cycle with these inputs.
fn seen(input: &SequencerIn) -> Seen {
    let Dispatch { kind, head, row, place, column, word, first, last, opens, tokens, .. } =
        input.dispatch_i;
    let events = input.events_i;
    Seen {
        starts: input.start_i,
        ends: input.done_i,
        operands: input.operands_i.get() as usize,
        operand_there: input.operand_valid_i,
        command: input.dispatch_valid_i.then(|| Command {
            opcode: kind.code() as u32,
            head: head.get() as u32,
            row: row.into(),
            place: place.get() as u32,
            column: column.into(),
            word: word.into(),
            first,
            last,
            opens,
            tokens: tokens.get() as u32,
        }),
        array_taken: events.array_taken,
        bus_taken: events.bus_taken,
        finish_taken: events.finish_taken,
        weigh_taken: events.weigh_taken,
        read: events.read,
        results_taken: events.results_taken,
        written: events.written,
        results: events.results,
        scaled: events.scaled.get(),
        finished: events.finished,
        word_made: events.word_made,
        context: events.context_made.get(),
        output: events.output_made.get(),
    }
}

/// What the ports ask for.
fn asked_by(output: &SequencerOut) -> Asked {
    let (array, bus, weigh) = (output.array_o, output.bus_o, output.weigh_o);
    let array = match array.kind {
        ArrayKind::CloseAll => Array::Close,
        _ => Array::Read {
            row: array.row.into(),
            column: array.column.into(),
            word: array.mac.word.into(),
            accumulate: array.mac.accumulate,
            flags: [array.mac.first, array.mac.last, array.mac.opens],
        },
    };
    let word = bus.address.into();
    let bus = match (bus.write, bus.host) {
        (true, true) => Bus::Host { word },
        (true, false) => Bus::Weights { word },
        (false, _) => Bus::Results { address: word, sum: golden_sum(&bus.sum) },
    };
    let weigh = [weigh.place.get(), weigh.head.get(), weigh.count.get()].map(|value| value as u32);
    Asked {
        ready: output.dispatch_ready_o,
        fault: output.fault_o as u32,
        done: output.done_o,
        array: output.array_valid_o.then_some(array),
        head_end: output.head_end_o,
        bus: output.bus_valid_o.then_some(bus),
        finish: output.finish_valid_o.then_some(output.finish_o.head.get() as u32),
        weigh: output.weigh_valid_o.then_some(weigh),
        drops: output.weights_drop_o,
    }
}

fn golden_sum(sum: &Sum) -> golden::Sum {
    let Sum { first, last, goes_on, complete, .. } = *sum;
    let (head, place) = (sum.head.get() as u32, sum.place.get() as u32);
    match sum.kind {
        SumKind::Scores => {
            let place = sum.keep.then_some(place);
            golden::Sum::Scores { head, first, tokens: sum.tokens.get() as u32, place }
        }
        SumKind::Outputs => golden::Sum::Outputs { place, goes_on, complete },
        SumKind::Context => golden::Sum::Context { head, first, last, place, goes_on, complete },
    }
}

/// The ports where that is asked for.
fn outputs_of(asked: &Asked) -> SequencerOut {
    let mut output = SequencerOut {
        dispatch_ready_o: asked.ready,
        fault_o: Fault::from_code(asked.fault.into()).expect("golden's faults have their codes"),
        done_o: asked.done,
        weights_drop_o: asked.drops,
        head_end_o: asked.head_end,
        ..Default::default()
    };
    if let Some(array) = asked.array {
        (output.array_valid_o, output.array_o) = (true, array_request(array));
    }
    if let Some(bus) = asked.bus {
        (output.bus_valid_o, output.bus_o) = (true, bus_request(bus));
    }
    if let Some(head) = asked.finish {
        (output.finish_valid_o, output.finish_o.head) = (true, U::new(head.into()));
    }
    if let Some([place, head, count]) = asked.weigh {
        let (place, head, count) = (place.into(), head.into(), count.into());
        let weigh = Weigh { place: U::new(place), head: U::new(head), count: U::new(count) };
        (output.weigh_valid_o, output.weigh_o) = (true, weigh);
    }
    output
}

fn array_request(array: Array) -> ArrayRequest {
    match array {
        Array::Close => ArrayRequest { kind: ArrayKind::CloseAll, ..Default::default() },
        Array::Read { row, column, word, accumulate, flags: [first, last, opens] } => {
            let mac = Mac { word: word as u8, accumulate, first, last, opens };
            ArrayRequest { row: row as u16, column: column as u8, mac, ..Default::default() }
        }
    }
}

fn bus_request(bus: Bus) -> BusRequest {
    match bus {
        Bus::Host { word } | Bus::Weights { word } => {
            let host = matches!(bus, Bus::Host { .. });
            BusRequest { write: true, address: word as u8, host, sum: Sum::default() }
        }
        Bus::Results { address, sum } => {
            BusRequest { write: false, address: address as u8, host: false, sum: sum_of(sum) }
        }
    }
}

fn sum_of(sum: golden::Sum) -> Sum {
    match sum {
        golden::Sum::Scores { head, first, tokens, place } => Sum {
            kind: SumKind::Scores,
            head: U::new(head.into()),
            first,
            tokens: U::new(tokens.into()),
            place: U::new(place.unwrap_or_default().into()),
            keep: place.is_some(),
            ..Sum::default()
        },
        golden::Sum::Outputs { place, goes_on, complete } => {
            let place = U::new(place.into());
            Sum { kind: SumKind::Outputs, place, goes_on, complete, ..Sum::default() }
        }
        golden::Sum::Context { head, first, last, place, goes_on, complete } => {
            let (head, place) = (U::new(head.into()), U::new(place.into()));
            let kind = SumKind::Context;
            Sum { kind, head, first, last, place, goes_on, complete, ..Sum::default() }
        }
    }
}

/// The first port in which outputs differ, with the low bits of both values.
fn difference(got: &SequencerOut, expected: &SequencerOut) -> (&'static str, [u32; 2]) {
    let pairs = values(got).into_iter().zip(values(expected));
    let low = |hex: &str| u64::from_str_radix(hex, 16).unwrap_or_default() as u32;
    let mut different = pairs.filter(|(got, expected)| got != expected);
    let first =
        different.next().map(|((port, got), (_, expected))| (port, [low(&got), low(&expected)]));
    first.expect("called for a difference")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stimulus_ends_runs_fills_queues_and_has_every_fault() {
        let (mut faults, mut runs, mut waits) = ([0; 9], 0, [0; 2]);
        for seed in 0..300 {
            let mut surroundings = Surroundings::new(seed, 1 << 17);
            let mut unit = Sequencer::<{ 1 << 17 }>::new();
            let mut before = SequencerOut::default();
            for _ in 0..1000 {
                let asked = unit.settle(&SequencerIn::default());
                let input = surroundings.drive(&asked);
                unit.step(&input);
                faults[asked.fault_o as usize] += u32::from(asked.fault_o != before.fault_o);
                runs += u32::from(asked.done_o && !before.done_o);
                waits[0] += u32::from(!asked.dispatch_ready_o);
                waits[1] += u32::from(asked.weigh_valid_o && !input.events_i.weigh_taken);
                before = asked;
            }
        }
        assert!(faults[1..].iter().all(|&count| count > 0), "{faults:?}");
        assert!(runs > 300, "{runs} runs have ended");
        assert!(waits.iter().all(|&count| count > 1000), "{waits:?}");
    }

    #[test]
    fn a_write_is_not_requested_before_the_burst_of_the_host_is_there() {
        type Unit = Sequencer<{ 1 << 17 }>;
        let mut found = 0;
        for seed in 0..60 {
            let row = 7 * seed;
            let dispatch_i = Dispatch { row, ..Dispatch::default() };
            let mut inputs = vec![SequencerIn { dispatch_i, ..SequencerIn::default() }; 1000];
            Unit::arrange(&mut inputs);
            // A unit that takes every burst to be there.
            let mut unit = Unit::new();
            let blind = |input: &SequencerIn| {
                let operand_valid_i = input.operands_i.get() > 0;
                unit.step(&SequencerIn { operand_valid_i, ..*input })
            };
            let outputs: Vec<_> = inputs.iter().map(blind).collect();
            if let Err(error) = Unit::oracle(&inputs, &outputs) {
                assert_eq!(error.port, "bus_o");
                assert!(error.what.contains("the burst of the host is not there"), "{error}");
                found += 1;
            }
        }
        assert!(found > 5, "{found} episodes");
    }
}
