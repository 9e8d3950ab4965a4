// SPDX-License-Identifier: MIT
//! Bench of `softmax_unit`: every flag is set where the contract says, and every value is the
//! contract's, given the exponentials, which are judged as those of `fp_exp` are.

use super::plans;
use crate::arith::Golden;
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::softmax::{self, CHUNK, FixedSum};
use pimlico_units::arith::{Format, Fp};
use pimlico_units::gear::Gear;
use pimlico_units::rank::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut};
use std::ops::Range;

const HEADS: usize = 8;

/// Cycles from a group of scores to their scaled scores, and to where the next group's maximum is read.
const SCALE: usize = 3;
const BEGINS: usize = 2;
/// Cycles from a chunk's last group to its maximum, and its first exponentials.
const MAXIMUM: usize = 4;
const FIRST_EXP: usize = 11;
/// Cycles in which the digits of a head's sum are taken, and in which pass 2 does not begin behind a chunk.
const DIGITS: usize = 3;
/// Cycles to the exponentials of a group in pass 2, and to where its reciprocal is read.
const WEIGH_EXP: usize = 7;
const WEIGH_RECIP: usize = 6;

/// Cycles that depend on the gear.
#[derive(Clone, Copy)]
pub(in crate::rank) struct Cycles {
    /// Groups of a chunk.
    groups: usize,
    /// From a chunk's last group to its last exponentials, to the write of the head's sum, and to the first
    /// cycle in which that is read.
    last_exp: usize,
    write: usize,
    pub(in crate::rank) sum: usize,
    /// From a finish that waits for no scores to its division, and from there to the write of its result.
    pub(in crate::rank) drain: usize,
    pub(in crate::rank) division: usize,
    /// From a group of pass 2 to its weights, and from a sum to its normalised value.
    early_weight: usize,
    context: usize,
}

impl Cycles {
    pub(in crate::rank) fn of_gear(gear: usize) -> Self {
        let groups = CHUNK / gear;
        let last_exp = FIRST_EXP + groups - 1;
        let top = gear == 4;
        let write = last_exp + if top { 4 } else { 7 };
        Self {
            groups,
            last_exp,
            write,
            sum: if top { write } else { write + 1 },
            drain: groups + 17,
            division: if top { 9 } else { 16 },
            early_weight: WEIGH_EXP + if top { 2 } else { 3 },
            context: if top { 3 } else { 4 },
        }
    }
}

/// A chunk.
struct Chunk {
    head: usize,
    first: bool,
    /// Cycle of the first score.
    begin: usize,
    /// Cycle of the last score, if that came.
    last: Option<usize>,
    x: Vec<u32>,
    /// The head's maximum before and after.
    old: u32,
    new: u32,
}

impl Chunk {
    /// Some of the chunk's scores have come, and some not.
    fn is_incomplete(&self, cycle: usize) -> bool {
        self.begin < cycle && self.last.is_none_or(|last| cycle <= last)
    }
}

/// A finish that was taken.
struct Finish {
    head: usize,
    /// Cycle of the finish.
    taken: usize,
    /// Cycles in which the division is about to start: to its start.
    waits: Range<usize>,
    /// Cycle of `finished_o`, if the run goes so far.
    finished: usize,
}

/// A head's word.
#[derive(Clone, Copy)]
enum Word {
    /// The contract promises nothing.
    Unknown,
    Sum(FixedSum),
    Recip(u32),
}

/// A word as a sum: NaN, if there is none.
fn sum_of(word: Option<Word>) -> FixedSum {
    if let Some(Word::Sum(sum)) = word { sum } else { None }
}

/// A word as a reciprocal: NaN, if there is none, and nothing where the contract promises nothing.
fn recip_of(word: Option<Word>) -> Option<u32> {
    match word {
        Some(Word::Unknown) => None,
        Some(Word::Recip(recip)) => Some(recip),
        Some(Word::Sum(_)) | None => Some(softmax::reciprocal(None)),
    }
}

impl<F: Format, const LATE: bool, G: Gear> Bench for SoftmaxUnit<F, LATE, G> {
    /// Masks whole chunks, which would never come about by chance.
    fn arrange(inputs: &mut [SoftmaxUnitIn<F, G>]) {
        for span in inputs.chunks_mut(4 * CHUNK / G::TCK) {
            if span[0].score_i.as_ref()[0].to_bits().count_ones() % 8 == 5 {
                span.iter_mut().for_each(|input| input.mask_i.as_mut().fill(true));
            }
        }
    }

    fn plan(bins: &mut Bins) {
        plans::softmax_unit::plan::<F>(LATE, bins);
    }

    fn cover(inputs: &[SoftmaxUnitIn<F, G>], outputs: &[SoftmaxUnitOut<F, G>], bins: &mut Bins) {
        plans::softmax_unit::cover(LATE, inputs, outputs, bins);
    }

    fn oracle(
        inputs: &[SoftmaxUnitIn<F, G>],
        outputs: &[SoftmaxUnitOut<F, G>],
    ) -> Result<u64, OracleError> {
        let mut run = Run {
            golden: Golden::of::<F>(),
            cycles: Cycles::of_gear(G::TCK),
            inputs,
            outputs,
            late: LATE,
            flags: 0,
            checked: 0,
        };
        let chunks = run.chunks();
        let finishes = run.finishes(&chunks);
        run.flags(&chunks, &finishes)?;
        run.scores()?;
        let words = run.words(&chunks, &finishes)?;
        run.weights(&chunks, &finishes, &words)?;
        if LATE {
            run.contexts(&chunks, &finishes, &words)?;
        }
        // Flags are right in an idle unit too: they do not count.
        Ok(run.checked - run.flags)
    }
}

/// A run, and what has been checked of it.
struct Run<'a, F: Format, G: Gear> {
    golden: Golden,
    cycles: Cycles,
    inputs: &'a [SoftmaxUnitIn<F, G>],
    outputs: &'a [SoftmaxUnitOut<F, G>],
    late: bool,
    flags: u64,
    checked: u64,
}

/// What becomes of a head, in order: the first cycle in which it is so, and what.
type History<T> = [Vec<(usize, T)>; HEADS];

/// What stands in a history in a cycle.
fn at<T: Copy>(history: &[(usize, T)], cycle: usize) -> Option<T> {
    history.iter().rev().find(|(from, _)| *from <= cycle).map(|(_, value)| *value)
}

impl<F: Format, G: Gear> Run<'_, F, G> {
    fn check(
        &mut self,
        cycle: usize,
        port: &'static str,
        got: u32,
        expected: u32,
        what: &str,
    ) -> Result<(), OracleError> {
        self.checked += 1;
        if got == expected {
            return Ok(());
        }
        Err(OracleError { cycle: cycle as u64, port, got, expected, what: what.to_owned() })
    }

    /// Checks that `got` is e^x as `fp_exp` has to compute it.
    fn check_exp(
        &mut self,
        cycle: usize,
        port: &'static str,
        got: u32,
        x: u32,
    ) -> Result<(), OracleError> {
        self.checked += 1;
        let Some(expected) = self.golden.wrong_exp::<F>(x, got) else { return Ok(()) };
        let what = format!("not e^{}", self.golden.to_f64(x));
        Err(OracleError { cycle: cycle as u64, port, got, expected, what })
    }

    /// A group of scores, scaled or masked.
    fn scaled(&self, input: &SoftmaxUnitIn<F, G>) -> Vec<u32> {
        let golden = self.golden;
        let scaled = |(score, mask): (&Fp<F>, &bool)| match mask {
            true => golden.format.infinity(true),
            false => golden.mul(score.to_bits(), input.scale_i.to_bits()),
        };
        input.score_i.as_ref().iter().zip(input.mask_i.as_ref()).map(scaled).collect()
    }

    /// Puts the scores together to chunks, and follows the maxima.
    fn chunks(&self) -> Vec<Chunk> {
        let Golden { format, subnormals } = self.golden;
        let lowest = format.infinity(true);
        let mut maxima = [format.nan(); HEADS];
        let mut chunks: Vec<Chunk> = Vec::new();
        let scores = self.inputs.iter().enumerate().filter(|(_, input)| input.score_valid_i);
        for (cycle, input) in scores {
            if chunks.last().is_none_or(|chunk| chunk.last.is_some()) {
                chunks.push(Chunk {
                    head: input.head_i.get() as usize,
                    first: input.first_i,
                    begin: cycle,
                    last: None,
                    x: Vec::with_capacity(CHUNK),
                    old: lowest,
                    new: lowest,
                });
            }
            let chunk = chunks.last_mut().expect("just seen");
            chunk.x.extend(self.scaled(input));
            if chunk.x.len() == CHUNK {
                let maximum = &mut maxima[chunk.head];
                chunk.last = Some(cycle);
                chunk.old = if chunk.first { lowest } else { *maximum };
                chunk.new = softmax::maximum(format, subnormals, chunk.old, &chunk.x);
                *maximum = chunk.new;
            }
        }
        chunks
    }

    /// Follows the divider.
    fn finishes(&self, chunks: &[Chunk]) -> Vec<Finish> {
        let mut finishes: Vec<Finish> = Vec::new();
        for (taken, input) in self.inputs.iter().enumerate() {
            let ready = finishes.last().is_none_or(|before| before.finished <= taken);
            if !(input.finish_i && ready) {
                continue;
            }
            let head = input.finish_head_i.get() as usize;
            let of_head = |chunk: &&Chunk| chunk.head == head;
            let incomplete =
                |cycle: &usize| chunks.iter().filter(of_head).any(|c| c.is_incomplete(*cycle));
            let end = self.inputs.len();
            let drained = (taken + 1..end)
                .find(|cycle| !incomplete(cycle))
                .map(|cycle| cycle + self.cycles.drain);
            // The chunks' digits come first.
            let start = drained
                .and_then(|drained| (drained..end).find(|cycle| !self.takes_digit(chunks, *cycle)));
            let finished = start.map_or(usize::MAX, |start| {
                let end = start + self.cycles.division;
                let due = |cycle: usize| {
                    let mut lasts = chunks.iter().filter_map(|chunk| chunk.last);
                    lasts.any(|last| last + self.cycles.write == cycle)
                };
                let holds = |cycle: &usize| due(*cycle) || self.takes_digit(chunks, *cycle);
                (end..).find(|cycle| !holds(cycle)).expect("chunks end") + 1
            });
            let waits = drained.map_or(end..end, |drained| {
                drained - WEIGH_RECIP..start.map_or(end, |start| start + 1)
            });
            finishes.push(Finish { head, taken, waits, finished });
        }
        finishes
    }

    /// A digit of a head's sum is taken in this cycle.
    fn takes_digit(&self, chunks: &[Chunk], cycle: usize) -> bool {
        let mut lasts = chunks.iter().filter_map(|chunk| chunk.last);
        lasts.any(|last| {
            (last + self.cycles.last_exp..last + self.cycles.last_exp + DIGITS).contains(&cycle)
        })
    }

    /// Cycles in which pass 2 takes nothing.
    fn held(&self, chunks: &[Chunk], finishes: &[Finish]) -> Vec<bool> {
        let mut held = vec![false; self.outputs.len()];
        let mut hold = |from: usize, count: usize| {
            held.iter_mut().skip(from).take(count).for_each(|held| *held = true);
        };
        for chunk in chunks {
            hold(chunk.begin + BEGINS, 1);
            if let Some(last) = chunk.last {
                hold(last + MAXIMUM, self.cycles.groups + DIGITS);
            }
        }
        for finish in finishes {
            hold(finish.waits.start, finish.waits.len());
        }
        held
    }

    /// Cycles in which a chunk has subtractors and exponential units.
    fn computing(&self, chunks: &[Chunk]) -> Vec<bool> {
        let mut computing = vec![false; self.outputs.len()];
        for last in chunks.iter().filter_map(|chunk| chunk.last) {
            let clocks = computing.iter_mut().skip(last + MAXIMUM).take(self.cycles.groups);
            clocks.for_each(|clock| *clock = true);
        }
        computing
    }

    /// Checks all flags in all cycles.
    fn flags(&mut self, chunks: &[Chunk], finishes: &[Finish]) -> Result<(), OracleError> {
        let count = self.outputs.len();
        let computing = self.computing(chunks);
        let lasts = || chunks.iter().filter_map(|chunk| chunk.last);
        let marked = |cycles: &mut dyn Iterator<Item = usize>| {
            let mut marks = vec![false; count];
            for cycle in cycles.filter(|cycle| *cycle < count) {
                marks[cycle] = true;
            }
            marks
        };
        let max = marked(&mut lasts().map(|last| last + MAXIMUM));
        let finished = marked(&mut finishes.iter().map(|finish| finish.finished));
        let dividing =
            marked(&mut finishes.iter().flat_map(|f| f.taken + 1..f.finished.min(count)));

        let held = self.held(chunks, finishes);
        let waits = marked(&mut finishes.iter().flat_map(|finish| finish.waits.clone()));
        let digits: Vec<bool> = (0..count).map(|cycle| self.takes_digit(chunks, cycle)).collect();
        let sum_ready: Vec<bool> =
            (0..count).map(|cycle| self.late && !waits[cycle] && !digits[cycle]).collect();
        let Cycles { early_weight, context, .. } = self.cycles;

        let late = self.late;
        let before = |cycle: usize, by: usize| cycle.checked_sub(by);
        for (cycle, output) in self.outputs.iter().enumerate() {
            let input = |by: usize| before(cycle, by).map(|cycle| &self.inputs[cycle]);
            let weighed =
                |by: usize| input(by).is_some_and(|i| i.weigh_valid_i) && !held[cycle - by];
            let normalised = input(context).is_some_and(|i| i.sum_valid_i);
            let expected = [
                (
                    "scaled_valid_o",
                    output.scaled_valid_o,
                    input(SCALE).is_some_and(|i| i.score_valid_i),
                ),
                ("max_valid_o", output.max_valid_o, max[cycle]),
                (
                    "exp_valid_o",
                    output.exp_valid_o,
                    before(cycle, WEIGH_EXP).is_some_and(|c| computing[c]),
                ),
                ("finish_ready_o", output.finish_ready_o, !dividing[cycle]),
                ("finished_o", output.finished_o, finished[cycle]),
                ("weigh_ready_o", output.weigh_ready_o, !held[cycle]),
                (
                    "weight_valid_o",
                    output.weight_valid_o,
                    weighed(if late { WEIGH_EXP } else { early_weight }),
                ),
                ("sum_ready_o", output.sum_ready_o, sum_ready[cycle]),
                (
                    "context_valid_o",
                    output.context_valid_o,
                    late && normalised && sum_ready[cycle - context],
                ),
            ];
            for (port, got, expected) in expected {
                self.flags += 1;
                self.checked += 1;
                if got != expected {
                    let (cycle, got, expected) = (cycle as u64, got.into(), expected.into());
                    let what = "wrong flag".to_owned();
                    return Err(OracleError { cycle, port, got, expected, what });
                }
            }
        }
        Ok(())
    }

    /// Checks the scaled scores.
    fn scores(&mut self) -> Result<(), OracleError> {
        for (cycle, input) in self.inputs.iter().enumerate().filter(|(_, i)| i.score_valid_i) {
            let Some(output) = self.outputs.get(cycle + SCALE) else { break };
            for (got, expected) in output.scaled_o.as_ref().iter().zip(self.scaled(input)) {
                self.check(cycle + SCALE, "scaled_o", got.to_bits(), expected, "wrong product")?;
            }
        }
        Ok(())
    }

    /// Checks maxima, exponentials, factors and reciprocals. Returns the heads' words.
    fn words(
        &mut self,
        chunks: &[Chunk],
        finishes: &[Finish],
    ) -> Result<History<Word>, OracleError> {
        let Golden { format, subnormals } = self.golden;
        let mut words: History<Word> = Default::default();
        let mut finishes = finishes.iter().peekable();
        let mut sums = Vec::new();
        for chunk in chunks {
            let Some(last) = chunk.last else { break };
            if last + self.cycles.last_exp >= self.outputs.len() {
                break;
            }
            let cycle = last + MAXIMUM;
            let got = self.outputs[cycle].max_o.to_bits();
            self.check(cycle, "max_o", got, chunk.new, "wrong maximum")?;
            let mut exps = [0; CHUNK];
            for (i, (exp, x)) in exps.iter_mut().zip(&chunk.x).enumerate() {
                let cycle = last + FIRST_EXP + i / G::TCK;
                *exp = self.outputs[cycle].exp_o.as_ref()[i % G::TCK].to_bits();
                let difference = softmax::difference(format, subnormals, *x, chunk.new);
                self.check_exp(cycle, "exp_o", *exp, difference)?;
            }
            let cycle = last + self.cycles.last_exp;
            let factor = self.outputs[cycle].factor_o.to_bits();
            if chunk.old == chunk.new {
                let expected = if chunk.first { 0 } else { format.one() };
                self.check(cycle, "factor_o", factor, expected, "the maximum stays")?;
            } else {
                let difference = softmax::difference(format, subnormals, chunk.old, chunk.new);
                self.check_exp(cycle, "factor_o", factor, difference)?;
            }
            let chunk_sum = softmax::chunk_sum(format, &exps);
            sums.push((last + self.cycles.sum, chunk, factor, chunk_sum));
        }

        // In the order in which they take effect.
        let breaks = |chunk: &Chunk, finish: &Finish| {
            chunk.head == finish.head && finish.taken < chunk.begin && chunk.begin < finish.finished
        };
        let all: Vec<&Finish> = finishes.clone().collect();
        let mut sums = sums.into_iter().peekable();
        loop {
            let next_sum = sums.peek().map_or(usize::MAX, |(from, ..)| *from);
            let next_finish = finishes.peek().map_or(usize::MAX, |finish| finish.finished);
            if next_sum.min(next_finish) >= self.outputs.len() {
                return Ok(words);
            }
            if next_sum < next_finish {
                let (from, chunk, factor, chunk_sum) = sums.next().expect("peeked");
                let word = match at(&words[chunk.head], from) {
                    _ if all.iter().any(|finish| breaks(chunk, finish)) => Word::Unknown,
                    Some(Word::Unknown) if !chunk.first => Word::Unknown,
                    word => {
                        let sum = if chunk.first { Some(0) } else { sum_of(word) };
                        Word::Sum(softmax::combine(format, sum, factor, chunk_sum))
                    }
                };
                words[chunk.head].push((from, word));
            } else {
                let finish = finishes.next().expect("peeked");
                let cycle = finish.finished;
                let word = match at(&words[finish.head], cycle) {
                    Some(Word::Unknown) => Word::Unknown,
                    _ if chunks.iter().any(|chunk| breaks(chunk, finish)) => Word::Unknown,
                    word => {
                        let recip = softmax::reciprocal(sum_of(word));
                        let got = self.outputs[cycle].recip_o.to_bits();
                        self.check(cycle, "recip_o", got, recip, "wrong reciprocal")?;
                        Word::Recip(recip)
                    }
                };
                words[finish.head].push((cycle, word));
            }
        }
    }

    /// Checks what comes out of pass 2.
    fn weights(
        &mut self,
        chunks: &[Chunk],
        finishes: &[Finish],
        words: &History<Word>,
    ) -> Result<(), OracleError> {
        let Golden { format, subnormals } = self.golden;
        let held = self.held(chunks, finishes);
        let mut maxima: History<u32> = Default::default();
        for chunk in chunks {
            let Some(last) = chunk.last else { break };
            maxima[chunk.head].push((last + MAXIMUM, chunk.new));
        }
        for (cycle, input) in self.inputs.iter().enumerate() {
            if !input.weigh_valid_i || held[cycle] {
                continue;
            }
            let head = input.weigh_head_i.get() as usize;
            let Some(output) = self.outputs.get(cycle + WEIGH_EXP) else { break };
            let maximum = at(&maxima[head], cycle).unwrap_or(format.nan());
            for lane in 0..G::TCK {
                let exp = output.exp_o.as_ref()[lane].to_bits();
                let x = input.weigh_i.as_ref()[lane].to_bits();
                // A score is not above its head's maximum.
                let difference = softmax::difference(format, subnormals, x, maximum);
                let difference = difference | format.sign_mask();
                self.check_exp(cycle + WEIGH_EXP, "exp_o", exp, difference)?;
                let (at_weight, expected, what) = match self.late {
                    true => (WEIGH_EXP, exp, "not the exponential"),
                    false => {
                        let word = at(&words[head], cycle + WEIGH_RECIP);
                        let Some(recip) = recip_of(word) else { continue };
                        let weight = softmax::weight(format, subnormals, exp, recip);
                        (self.cycles.early_weight, weight, "wrong product")
                    }
                };
                let Some(output) = self.outputs.get(cycle + at_weight) else { continue };
                let got = output.weight_o.as_ref()[lane].to_bits();
                self.check(cycle + at_weight, "weight_o", got, expected, what)?;
            }
        }
        Ok(())
    }

    /// Checks the normalised sums of the context.
    fn contexts(
        &mut self,
        chunks: &[Chunk],
        finishes: &[Finish],
        words: &History<Word>,
    ) -> Result<(), OracleError> {
        let Golden { format, subnormals } = self.golden;
        let latency = self.cycles.context;
        for (cycle, input) in self.inputs.iter().enumerate() {
            let waits = || finishes.iter().any(|finish| finish.waits.contains(&cycle));
            let taken = input.sum_valid_i && !self.takes_digit(chunks, cycle) && !waits();
            let Some(output) = self.outputs.get(cycle + latency) else { break };
            let head = input.sum_head_i.get() as usize;
            if taken && let Some(recip) = recip_of(at(&words[head], cycle)) {
                let sum = input.sum_i.to_bits();
                let expected = softmax::normalise(format, subnormals, sum, recip);
                let got = output.context_o.to_bits();
                self.check(cycle + latency, "context_o", got, expected, "wrong product")?;
            }
        }
        Ok(())
    }
}
