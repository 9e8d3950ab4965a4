// SPDX-License-Identifier: MIT
//! Bench of `gemv_sequencer`: beats and bursts are where `golden` puts those of the list of commands.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::gemv::{GemvCommand, Sequence, Times};
use pimlico_ports::U;
use pimlico_units::channel::{GemvSequencer, GemvSequencerIn, GemvSequencerOut};

const KINDS: [&str; 2] = ["DOTPRODUCT", "GEMV"];
const GAPS: [&str; 4] =
    ["back to back", "after a gap of 1", "after a gap of 2", "after a longer gap"];
const ANSWERS: [&str; 3] = ["obeyed", "too early", "behind the row"];
const MEETINGS: [&str; 4] = ["alone", "with another command", "faulty", "in the first cycle"];

/// The command with beats of a cycle, if there is one.
fn command(input: &GemvSequencerIn) -> Option<GemvCommand> {
    let word = input.word_i.get();
    let command = match input.gemv_i {
        true => GemvCommand::Gemv { word, count: input.count_i.get() + 1 },
        false => GemvCommand::DotProduct { word, first: input.first_i, last: input.last_i },
    };
    input.valid_i.then_some(command)
}

/// The list of commands of an episode, up to a cycle, which is none of its own.
fn sequence(inputs: &[GemvSequencerIn], k_max: u64) -> Sequence {
    let first = inputs.first().copied().unwrap_or_default();
    let times = Times {
        dot: first.dot_i.get().max(1),
        latency: first.latency_i.get().max(1),
        cl: first.cl_i.get().max(1),
    };
    Sequence::new(times, k_max)
}

/// A cycle's commands join the list.
fn add(sequence: &mut Sequence, cycle: u64, input: &GemvSequencerIn) {
    if let Some(command) = command(input) {
        sequence.command(cycle, command);
        if input.read_i {
            sequence.collide(cycle);
        }
    }
    if input.read_i {
        sequence.command(cycle, GemvCommand::ReadResult);
    }
}

impl<const K_MAX: u64> Bench for GemvSequencer<K_MAX> {
    /// Checks all outputs in every cycle; counts beats and bursts.
    fn oracle(
        inputs: &[GemvSequencerIn],
        outputs: &[GemvSequencerOut],
    ) -> Result<u64, OracleError> {
        let mut sequence = sequence(inputs, K_MAX);
        let mut checked = 0;
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            let beat = sequence.beat(cycle);
            let expected = GemvSequencerOut {
                ready_o: sequence.is_ready(cycle),
                beat_o: beat.is_some(),
                beat_word_o: U::new(beat.map_or(0, |beat| beat.word)),
                beat_first_o: beat.is_some_and(|beat| beat.first),
                beat_last_o: beat.is_some_and(|beat| beat.last),
                result_o: sequence.sends(cycle),
                fault_o: sequence.is_faulty(cycle),
            };
            OracleError::unless_equal(cycle, output, &expected)?;
            checked += u64::from(output.beat_o) + u64::from(output.result_o);
            add(&mut sequence, cycle, input);
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("command, answer", &KINDS, &ANSWERS);
        bins.cross(
            "command after command",
            &["DOTPRODUCT, DOTPRODUCT", "DOTPRODUCT, GEMV", "GEMV, DOTPRODUCT", "GEMV, GEMV"],
            &GAPS,
        );
        bins.declare("dot products of a GEMV", (1..=K_MAX).map(|count| count.to_string()));
        bins.declare("last word", (0..K_MAX).map(|word| word.to_string()));
        if K_MAX == 32 {
            // Every word that a DOTPRODUCT can name is there.
            bins.leave_out("command, answer", 2);
        }
        bins.declare("DOTPRODUCT", ["within a sum", "first", "last", "first and last"]);
        bins.declare("beat to beat", (0..16).map(|dot| dot.to_string()));
        bins.declare("RDRESULT", MEETINGS);
        bins.declare("burst of a GEMV", ["alone", "meets another"]);
    }

    fn cover(inputs: &[GemvSequencerIn], outputs: &[GemvSequencerOut], bins: &mut Bins) {
        let Some(first) = inputs.first() else { return };
        bins.hit("beat to beat", first.dot_i.get() as usize);
        let dot = first.dot_i.get().max(1) as usize;
        let mut last: Option<(usize, usize)> = None; // kind, and first cycle for the next
        let mut sends = Vec::new(); // last beats of GEMVs
        for (cycle, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let is_faulty = outputs.get(cycle + 1).is_some_and(|next| next.fault_o);
            if sends.contains(&cycle) && !input.valid_i && !input.read_i {
                bins.hit("burst of a GEMV", usize::from(is_faulty));
            }
            if input.read_i {
                let sort = match (cycle, input.valid_i, is_faulty) {
                    (0, ..) => 3,
                    (_, true, _) => 1,
                    (.., faulty) => 2 * usize::from(faulty),
                };
                bins.hit("RDRESULT", sort);
            }
            if !input.valid_i {
                continue;
            }
            let kind = usize::from(input.gemv_i);
            let count = if input.gemv_i { input.count_i.get() as usize + 1 } else { 1 };
            let end = input.word_i.get() as usize + count;
            let answer = match (output.ready_o, end > K_MAX as usize) {
                (false, _) => 1,
                (_, true) => 2,
                _ => 0,
            };
            bins.hit_cross("command, answer", kind, answer);
            if answer > 0 {
                continue;
            }
            if let Some((before, free)) = last {
                let gap = (cycle - free).min(GAPS.len() - 1);
                bins.hit_cross("command after command", 2 * before + kind, gap);
            }
            last = Some((kind, cycle + count * dot));
            bins.hit("last word", end - 1);
            if input.gemv_i {
                bins.hit("dot products of a GEMV", count - 1);
                sends.push(cycle + 1 + (count - 1) * dot);
            } else {
                let sort = usize::from(input.first_i) + 2 * usize::from(input.last_i);
                bins.hit("DOTPRODUCT", sort);
            }
        }
    }

    /// Most GEMVs end within the row, and most commands wait until they may come.
    fn arrange(inputs: &mut [GemvSequencerIn]) {
        let Some(first) = inputs.first_mut() else { return };
        if first.word_i.get() % 2 == 0 {
            first.dot_i = U::new(2);
        }
        let is_dense = first.count_i.get() % 2 == 0;
        let short = first.count_i.get() % 4 > 1;
        let mut sequence = sequence(inputs, K_MAX);
        for (cycle, input) in (0u64..).zip(inputs) {
            let draw = input.latency_i.get();
            let is_wild = draw % 16 == 3;
            if !is_wild {
                let (count, word) = (input.count_i.get(), input.word_i.get() % K_MAX);
                let most = if short { 4 } else { K_MAX - word };
                input.count_i = U::new(count % most.min(K_MAX - word));
                input.word_i = U::new(word);
                input.valid_i &= is_dense || draw % 4 == 0;
                input.valid_i &= sequence.is_ready(cycle);
                input.read_i &= !input.valid_i;
            }
            add(&mut sequence, cycle, input);
        }
    }
}
