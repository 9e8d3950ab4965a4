// SPDX-License-Identifier: MIT
//! Bench of `sequencer`: in every clock it asks for what `golden::sequencer` finds due in the history, and
//! for nothing else.
//!
//! The bench plays dispatcher and rank. To know what is asked for it runs the model once, as stimulus.

mod programs;
mod surroundings;

use super::plans;
use crate::coverage::Bins;
use crate::{Bench, OracleError};
use pimlico_golden::sequencer::{Array, Asked, Bus, Command, History, Seen, Sizes, Sum};
use pimlico_ports::{Model, U, values};
use pimlico_units::rank::{Sequencer, SequencerIn, SequencerOut};
use surroundings::Surroundings;

impl Bench for Sequencer {
    fn arrange(inputs: &mut [SequencerIn]) {
        let Some(first) = inputs.first() else { return };
        let draws = [first.dispatch_row_i.into(), first.weight_i.into()];
        let more = [first.dispatch_tokens_i.get(), first.rows_i.get()];
        let seed = draws.into_iter().chain(more).fold(0, |seed, draw| seed << 16 ^ draw);
        let mut surroundings = Surroundings::new(seed);
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

    /// Compares all outputs in every clock; counts the requests and faults.
    fn oracle(inputs: &[SequencerIn], outputs: &[SequencerOut]) -> Result<u64, OracleError> {
        let Some(first) = inputs.first() else { return Ok(0) };
        let mut history = History::new(Sizes {
            rows: first.rows_i.get() as u32,
            columns: first.columns_i.get() as u32,
            burst_tck: first.burst_i.into(),
            wide: first.wide_i,
        });
        let mut checked = 0;
        for (cycle, (input, output)) in (0..).zip(inputs.iter().zip(outputs)) {
            let asked = history.asked();
            let expected = outputs_of(&asked);
            if *output != expected {
                let (port, [got, expected]) = difference(output, &expected);
                let what = format!("{asked:?}");
                return Err(OracleError { cycle, port, got, expected, what });
            }
            checked += u64::from(asked.array.is_some()) + u64::from(asked.bus.is_some());
            history.take(&seen(input));
        }
        Ok(checked)
    }
}

/// What happens in a clock with these inputs.
fn seen(input: &SequencerIn) -> Seen {
    Seen {
        starts: input.start_i,
        ends: input.done_i,
        operands: input.operands_i.get() as usize,
        command: input.dispatch_valid_i.then(|| Command {
            opcode: input.dispatch_kind_i.get() as u32,
            head: input.dispatch_head_i.get() as u32,
            row: input.dispatch_row_i.into(),
            place: input.dispatch_place_i.get() as u32,
            column: input.dispatch_column_i.into(),
            word: input.dispatch_word_i.into(),
            first: input.dispatch_first_i,
            last: input.dispatch_last_i,
            opens: input.dispatch_opens_i,
            tokens: input.dispatch_tokens_i.get() as u32,
        }),
        array_taken: input.array_taken_i,
        bus_taken: input.bus_taken_i,
        finish_taken: input.finish_taken_i,
        weigh_taken: input.weigh_taken_i,
        read: input.read_i,
        results_taken: input.results_taken_i,
        written: input.written_i,
        results: input.results_i,
        scaled: input.scaled_i,
        finished: input.finished_i,
        weight: input.weight_valid_i.then_some(input.weight_i),
        context: input.context_valid_i,
        output: input.output_valid_i,
    }
}

/// The ports where that is asked for.
fn outputs_of(asked: &Asked) -> SequencerOut {
    let mut output = SequencerOut {
        dispatch_ready_o: asked.ready,
        fault_o: U::new(asked.fault.into()),
        done_o: asked.done,
        array_valid_o: asked.array.is_some(),
        array_close_o: asked.array == Some(Array::Close),
        head_end_o: asked.head_end,
        bus_valid_o: asked.bus.is_some(),
        finish_valid_o: asked.finish.is_some(),
        finish_head_o: U::new(asked.finish.unwrap_or_default().into()),
        weigh_valid_o: asked.weigh.is_some(),
        weigh_place_o: U::new(asked.weigh.unwrap_or_default().0.into()),
        weigh_head_o: U::new(asked.weigh.unwrap_or_default().1.into()),
        ..Default::default()
    };
    if let Some(Array::Read { row, column, word, accumulate, flags }) = asked.array {
        output.array_row_o = row as u16;
        output.array_column_o = column as u8;
        output.array_shared_o = word as u8;
        output.array_accumulate_o = accumulate;
        [output.array_first_o, output.array_last_o, output.array_opens_o] = flags;
    }
    match asked.bus {
        Some(Bus::Host { word }) => {
            (output.bus_write_o, output.bus_host_o) = (true, true);
            output.bus_address_o = word as u8;
        }
        Some(Bus::Weights { word, weights }) => {
            output.bus_write_o = true;
            output.bus_address_o = word as u8;
            output.bus_weights_o = weights;
        }
        Some(Bus::Results { address, sum }) => {
            output.bus_address_o = address as u8;
            put_sum(&mut output, sum);
        }
        None => {}
    }
    output
}

fn put_sum(output: &mut SequencerOut, sum: Sum) {
    match sum {
        Sum::Scores { head, first, tokens, place } => {
            output.sum_head_o = U::new(head.into());
            output.sum_first_o = first;
            output.sum_tokens_o = U::new(tokens.into());
            output.sum_place_o = U::new(place.unwrap_or_default().into());
            output.sum_keep_o = place.is_some();
        }
        Sum::Outputs { place, goes_on, complete } => {
            output.sum_kind_o = U::new(1);
            output.sum_place_o = U::new(place.into());
            (output.sum_goes_on_o, output.sum_complete_o) = (goes_on, complete);
        }
        Sum::Context { head, first, last, place, goes_on, complete } => {
            output.sum_kind_o = U::new(2);
            output.sum_head_o = U::new(head.into());
            (output.sum_first_o, output.sum_last_o) = (first, last);
            output.sum_place_o = U::new(place.into());
            (output.sum_goes_on_o, output.sum_complete_o) = (goes_on, complete);
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
            let mut surroundings = Surroundings::new(seed);
            let mut unit = Sequencer::new();
            let mut before = SequencerOut::default();
            for _ in 0..1000 {
                let asked = unit.settle(&SequencerIn::default());
                let input = surroundings.drive(&asked);
                unit.step(&input);
                faults[asked.fault_o.get() as usize] += u32::from(asked.fault_o != before.fault_o);
                runs += u32::from(asked.done_o && !before.done_o);
                waits[0] += u32::from(!asked.dispatch_ready_o);
                waits[1] += u32::from(asked.weigh_valid_o && !input.weigh_taken_i);
                before = asked;
            }
        }
        assert!(faults[1..].iter().all(|&count| count > 0), "{faults:?}");
        assert!(runs > 300, "{runs} runs have ended");
        assert!(waits.iter().all(|&count| count > 1000), "{waits:?}");
    }
}
