// SPDX-License-Identifier: MIT
//! Bench of `softmax_unit`: every flag is set where the contract says, and every value is the
//! contract's, given the exponentials, which are judged as those of `fp_exp` are.

use super::plans;
use crate::arith::Golden;
use crate::coverage::Bins;
use crate::{Bench, OracleError};
use pimlico_golden::softmax::{self, CHUNK};
use pimlico_units::arith::Format;
use pimlico_units::rank::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut};

const HEADS: usize = 8;

/// Clocks from a chunk's last score to its maximum, its first and last exponential, and the first
/// clock with the head's new sum.
const MAXIMUM: usize = 2;
const FIRST_EXP: usize = 4;
const LAST_EXP: usize = FIRST_EXP + CHUNK - 1;
const SUM: usize = 21;
/// Clocks from the start of a division to its end, if no chunk's sum is in the way.
const DIVISION: usize = 25;
/// Clocks to the exponential and to the weight of a score in pass 2, and to a normalised sum.
const WEIGH_EXP: usize = 2;
const EARLY_WEIGHT: usize = 4;
const CONTEXT: usize = 2;

/// A chunk. Where a value is `None`, the contract promises nothing.
struct Chunk {
    head: usize,
    first: bool,
    /// Cycle of the first score.
    begin: usize,
    /// Cycle of the last score, if that came.
    last: Option<usize>,
    x: Vec<u32>,
    /// The head's maximum before and after.
    old: Option<u32>,
    new: Option<u32>,
}

impl Chunk {
    /// The chunk is in the unit: its sum is not yet in place.
    fn is_on_its_way(&self, cycle: usize) -> bool {
        self.begin < cycle && self.last.is_none_or(|last| cycle < last + SUM)
    }
}

/// A finish that was taken.
struct Finish {
    head: usize,
    /// Cycle of the finish.
    taken: usize,
    /// Cycle of `finished_o`, if the run goes so far.
    finished: usize,
}

/// A head's word.
#[derive(Clone, Copy)]
enum Word {
    Unknown,
    Sum(u32),
    Recip(u32),
}

impl<F: Format, const LATE: bool> Bench for SoftmaxUnit<F, LATE> {
    /// Masks whole chunks, which would never come about by chance.
    fn arrange(inputs: &mut [SoftmaxUnitIn<F>]) {
        const SPAN: usize = 4 * CHUNK;
        for span in inputs.chunks_mut(SPAN) {
            if span[0].score_i.to_bits().count_ones() % 8 == 5 {
                span.iter_mut().for_each(|input| input.mask_i = true);
            }
        }
    }

    fn plan(bins: &mut Bins) {
        plans::softmax_unit::plan::<F>(LATE, bins);
    }

    fn cover(inputs: &[SoftmaxUnitIn<F>], outputs: &[SoftmaxUnitOut<F>], bins: &mut Bins) {
        plans::softmax_unit::cover(LATE, inputs, outputs, bins);
    }

    fn oracle(
        inputs: &[SoftmaxUnitIn<F>],
        outputs: &[SoftmaxUnitOut<F>],
    ) -> Result<u64, OracleError> {
        let mut run =
            Run { golden: Golden::of::<F>(), inputs, outputs, late: LATE, flags: 0, checked: 0 };
        let chunks = run.chunks();
        let finishes = run.finishes(&chunks);
        run.flags(&chunks, &finishes)?;
        run.scores()?;
        let words = run.words(&chunks, &finishes)?;
        run.weights(&chunks, &words)?;
        if LATE {
            run.contexts(&chunks, &words)?;
        }
        // Flags are right in an idle unit too: they do not count.
        Ok(run.checked - run.flags)
    }
}

/// A run, and what has been checked of it.
struct Run<'a, F: Format> {
    golden: Golden,
    inputs: &'a [SoftmaxUnitIn<F>],
    outputs: &'a [SoftmaxUnitOut<F>],
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

impl<F: Format> Run<'_, F> {
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

    /// A score, scaled or masked.
    fn scaled(&self, input: &SoftmaxUnitIn<F>) -> u32 {
        let golden = self.golden;
        if input.mask_i {
            golden.format.infinity(true)
        } else {
            golden.mul(input.score_i.to_bits(), input.scale_i.to_bits())
        }
    }

    /// Puts the scores together to chunks, and follows the maxima.
    fn chunks(&self) -> Vec<Chunk> {
        let Golden { format, subnormals } = self.golden;
        let lowest = format.infinity(true);
        let mut maxima = [None; HEADS];
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
                    old: None,
                    new: None,
                });
            }
            let chunk = chunks.last_mut().expect("just seen");
            chunk.x.push(self.scaled(input));
            if chunk.x.len() == CHUNK {
                let maximum = &mut maxima[chunk.head];
                chunk.last = Some(cycle);
                chunk.old = if chunk.first { Some(lowest) } else { *maximum };
                let x = &chunk.x;
                chunk.new = chunk.old.map(|m| softmax::maximum(format, subnormals, m, x));
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
            let waits = |cycle: &usize| {
                let mut of_head = chunks.iter().filter(|chunk| chunk.head == head);
                of_head.any(|chunk| chunk.is_on_its_way(*cycle))
            };
            let start = (taken + 1..self.inputs.len()).find(|cycle| !waits(cycle));
            let finished = start.map_or(usize::MAX, |start| {
                let end = start + DIVISION;
                let sum_is_due =
                    chunks.iter().any(|c| c.last.is_some_and(|last| last + SUM - 1 == end));
                end + 1 + usize::from(sum_is_due)
            });
            finishes.push(Finish { head, taken, finished });
        }
        finishes
    }

    /// Cycles in which a chunk has subtractor and exponential unit.
    fn computing(&self, chunks: &[Chunk]) -> Vec<bool> {
        let mut computing = vec![false; self.outputs.len()];
        for last in chunks.iter().filter_map(|chunk| chunk.last) {
            let clocks = computing.iter_mut().skip(last + MAXIMUM).take(CHUNK);
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
        let last_exp = marked(&mut lasts().map(|last| last + LAST_EXP));
        let finished = marked(&mut finishes.iter().map(|finish| finish.finished));
        let dividing =
            marked(&mut finishes.iter().flat_map(|f| f.taken + 1..f.finished.min(count)));

        let late = self.late;
        let before = |cycle: usize, by: usize| cycle.checked_sub(by);
        for (cycle, output) in self.outputs.iter().enumerate() {
            let input = |by: usize| before(cycle, by).map(|cycle| &self.inputs[cycle]);
            let weighed =
                |by: usize| input(by).is_some_and(|i| i.weigh_valid_i) && !computing[cycle - by];
            let context = input(CONTEXT).is_some_and(|i| i.sum_valid_i);
            let expected = [
                (
                    "scaled_valid_o",
                    output.scaled_valid_o,
                    input(1).is_some_and(|i| i.score_valid_i),
                ),
                ("max_valid_o", output.max_valid_o, max[cycle]),
                (
                    "exp_valid_o",
                    output.exp_valid_o,
                    before(cycle, WEIGH_EXP).is_some_and(|c| computing[c]),
                ),
                ("finish_ready_o", output.finish_ready_o, !dividing[cycle]),
                ("finished_o", output.finished_o, finished[cycle]),
                ("weigh_ready_o", output.weigh_ready_o, !computing[cycle]),
                (
                    "weight_valid_o",
                    output.weight_valid_o,
                    weighed(if late { WEIGH_EXP } else { EARLY_WEIGHT }),
                ),
                ("sum_ready_o", output.sum_ready_o, late && !last_exp[cycle]),
                (
                    "context_valid_o",
                    output.context_valid_o,
                    late && context && !last_exp[cycle - CONTEXT],
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
            let Some(output) = self.outputs.get(cycle + 1) else { break };
            let what = "wrong product";
            self.check(cycle + 1, "scaled_o", output.scaled_o.to_bits(), self.scaled(input), what)?;
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
            if last + LAST_EXP >= self.outputs.len() {
                break;
            }
            if let Some(new) = chunk.new {
                let cycle = last + MAXIMUM;
                let got = self.outputs[cycle].max_o.to_bits();
                self.check(cycle, "max_o", got, new, "wrong maximum")?;
            }
            let mut exps = [0; CHUNK];
            for (i, (exp, x)) in exps.iter_mut().zip(&chunk.x).enumerate() {
                let cycle = last + FIRST_EXP + i;
                *exp = self.outputs[cycle].exp_o.to_bits();
                if let Some(new) = chunk.new {
                    let difference = softmax::difference(format, subnormals, *x, new);
                    self.check_exp(cycle, "exp_o", *exp, difference)?;
                }
            }
            let cycle = last + LAST_EXP;
            let factor = self.outputs[cycle].factor_o.to_bits();
            match (chunk.old, chunk.new) {
                (Some(old), Some(new)) if old == new => {
                    let what = "the maximum stays";
                    self.check(cycle, "factor_o", factor, format.one(), what)?;
                }
                (Some(old), Some(new)) => {
                    let difference = softmax::difference(format, subnormals, old, new);
                    self.check_exp(cycle, "factor_o", factor, difference)?;
                }
                _ => {}
            }
            let chunk_sum = softmax::chunk_sum(format, subnormals, &exps);
            sums.push((last + SUM, chunk, factor, chunk_sum));
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
                    _ if chunk.first => {
                        Word::Sum(softmax::combine(format, subnormals, 0, factor, chunk_sum))
                    }
                    Some(Word::Sum(sum)) => {
                        Word::Sum(softmax::combine(format, subnormals, sum, factor, chunk_sum))
                    }
                    _ => Word::Unknown,
                };
                words[chunk.head].push((from, word));
            } else {
                let finish = finishes.next().expect("peeked");
                let cycle = finish.finished;
                let word = match at(&words[finish.head], cycle) {
                    Some(Word::Sum(sum)) if !chunks.iter().any(|chunk| breaks(chunk, finish)) => {
                        let recip = softmax::reciprocal(sum);
                        let got = self.outputs[cycle].recip_o.to_bits();
                        self.check(cycle, "recip_o", got, recip, "wrong reciprocal")?;
                        Word::Recip(recip)
                    }
                    _ => Word::Unknown,
                };
                words[finish.head].push((cycle, word));
            }
        }
    }

    /// Checks what comes out of pass 2.
    fn weights(&mut self, chunks: &[Chunk], words: &History<Word>) -> Result<(), OracleError> {
        let Golden { format, subnormals } = self.golden;
        let computing = self.computing(chunks);
        let mut maxima: History<Option<u32>> = Default::default();
        for chunk in chunks {
            let Some(last) = chunk.last else { break };
            maxima[chunk.head].push((last + MAXIMUM, chunk.new));
        }
        for (cycle, input) in self.inputs.iter().enumerate() {
            if !input.weigh_valid_i || computing[cycle] {
                continue;
            }
            let head = input.weigh_head_i.get() as usize;
            let Some(output) = self.outputs.get(cycle + WEIGH_EXP) else { break };
            let exp = output.exp_o.to_bits();
            if let Some(Some(maximum)) = at(&maxima[head], cycle) {
                let x = input.weigh_i.to_bits();
                let difference = softmax::difference(format, subnormals, x, maximum);
                self.check_exp(cycle + WEIGH_EXP, "exp_o", exp, difference)?;
            }
            if self.late {
                let got = output.weight_o.to_bits();
                self.check(cycle + WEIGH_EXP, "weight_o", got, exp, "not the exponential")?;
                continue;
            }
            let Some(output) = self.outputs.get(cycle + EARLY_WEIGHT) else { break };
            if let Some(Word::Recip(recip)) = at(&words[head], cycle + WEIGH_EXP) {
                let expected = softmax::weight(format, subnormals, exp, recip);
                let got = output.weight_o.to_bits();
                self.check(cycle + EARLY_WEIGHT, "weight_o", got, expected, "wrong product")?;
            }
        }
        Ok(())
    }

    /// Checks the normalised sums of the context.
    fn contexts(&mut self, chunks: &[Chunk], words: &History<Word>) -> Result<(), OracleError> {
        let Golden { format, subnormals } = self.golden;
        let lasts: Vec<_> = chunks.iter().filter_map(|chunk| chunk.last).collect();
        for (cycle, input) in self.inputs.iter().enumerate() {
            let taken = input.sum_valid_i && !lasts.iter().any(|last| last + LAST_EXP == cycle);
            let Some(output) = self.outputs.get(cycle + CONTEXT) else { break };
            let head = input.sum_head_i.get() as usize;
            if taken && let Some(Word::Recip(recip)) = at(&words[head], cycle) {
                let sum = input.sum_i.to_bits();
                let expected = softmax::normalise(format, subnormals, sum, recip);
                let got = output.context_o.to_bits();
                self.check(cycle + CONTEXT, "context_o", got, expected, "wrong product")?;
            }
        }
        Ok(())
    }
}
