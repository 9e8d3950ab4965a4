// SPDX-License-Identifier: MIT
//! What the bench of `softmax_unit` is to reach: every sort of chunk, division and weighing, and all that
//! can meet another.

use crate::arith::plan::{SORTS, sort};
use crate::coverage::Bins;
use crate::rank::softmax_unit::Cycles;
use pimlico_units::arith::{Format, Fp};
use pimlico_units::gear::Gear;
use pimlico_units::rank::{SoftmaxUnitIn, SoftmaxUnitOut};

const CHUNK: usize = 16;
const HEADS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
const MASKS: [&str; 6] =
    ["none", "the first alone", "the last alone", "one between", "several", "all"];
const MAXIMA: [&str; 4] = ["of a first chunk", "rises", "stays", "is -infinity"];
const HANDS: [&str; 2] = ["taken", "held up"];

/// Declares the bins.
pub fn plan<F: Format>(late: bool, bins: &mut Bins) {
    bins.cross("chunk, masked", &["later", "first"], &MASKS);
    bins.cross("chunk of head, after", &HEADS, &["another head", "the same head"]);
    bins.declare("chunks follow", ["back to back", "after a gap"]);
    bins.declare("scores of a chunk come", ["back to back", "with gaps"]);
    bins.declare("maximum", MAXIMA);
    bins.declare("scaled score", SORTS);
    bins.declare("exponential", SORTS);
    bins.leave_out("exponential", 1); // of what is not above 0
    if !F::SUBNORMALS {
        bins.leave_out("scaled score", 3);
        bins.leave_out("exponential", 3);
    }
    bins.cross("finish of head", &HEADS, &HANDS);
    bins.declare(
        "division",
        [
            "at once",
            "waits for chunks of its head",
            "beside chunks of other heads",
            "ends with a chunk's sum",
        ],
    );
    bins.cross("element weighed of head", &HEADS, &HANDS);
    bins.declare("reciprocal", SORTS);
    bins.leave_out("reciprocal", 3);
    if late {
        bins.cross("sum of the context of head", &HEADS, &HANDS);
    }
}

/// Marks what an episode has reached.
pub fn cover<F: Format, G: Gear>(
    late: bool,
    inputs: &[SoftmaxUnitIn<F, G>],
    outputs: &[SoftmaxUnitOut<F, G>],
    bins: &mut Bins,
) {
    scores(inputs, bins);
    maxima(inputs, outputs, bins);
    divisions(inputs, outputs, bins);
    for (input, output) in inputs.iter().zip(outputs) {
        if output.scaled_valid_o {
            output.scaled_o.as_ref().iter().for_each(|x| bins.hit("scaled score", sort(*x)));
        }
        if output.exp_valid_o {
            output.exp_o.as_ref().iter().for_each(|x| bins.hit("exponential", sort(*x)));
        }
        if output.finished_o {
            bins.hit("reciprocal", sort(output.recip_o));
        }
        let hand = |ready: bool| usize::from(!ready);
        if input.weigh_valid_i {
            let head = input.weigh_head_i.get() as usize;
            bins.hit_cross("element weighed of head", head, hand(output.weigh_ready_o));
        }
        if late && input.sum_valid_i {
            let head = input.sum_head_i.get() as usize;
            bins.hit_cross("sum of the context of head", head, hand(output.sum_ready_o));
        }
    }
}

/// The chunks: cycles of their groups.
fn chunks<F: Format, G: Gear>(inputs: &[SoftmaxUnitIn<F, G>]) -> Vec<Vec<usize>> {
    let scores: Vec<usize> = inputs
        .iter()
        .enumerate()
        .filter(|(_, i)| i.score_valid_i)
        .map(|(cycle, _)| cycle)
        .collect();
    scores.chunks_exact(CHUNK / G::TCK).map(<[usize]>::to_vec).collect()
}

fn scores<F: Format, G: Gear>(inputs: &[SoftmaxUnitIn<F, G>], bins: &mut Bins) {
    let mut last: Option<(usize, usize)> = None;
    for chunk in chunks(inputs) {
        let (begin, end) = (chunk[0], chunk[chunk.len() - 1]);
        let is_masked = |n: &usize| inputs[chunk[n / G::TCK]].mask_i.as_ref()[n % G::TCK];
        let masked: Vec<usize> = (0..CHUNK).filter(is_masked).collect();
        let mask = match masked.as_slice() {
            [] => 0,
            [0] => 1,
            [n] if *n == CHUNK - 1 => 2,
            [_] => 3,
            all if all.len() == CHUNK => 5,
            _ => 4,
        };
        bins.hit_cross("chunk, masked", inputs[begin].first_i.into(), mask);
        bins.hit("scores of a chunk come", usize::from(end - begin >= chunk.len()));
        let head = inputs[begin].head_i.get() as usize;
        if let Some((before, at)) = last.replace((head, end)) {
            bins.hit_cross("chunk of head, after", head, usize::from(before == head));
            bins.hit("chunks follow", usize::from(begin > at + 1));
        }
    }
}

fn maxima<F: Format, G: Gear>(
    inputs: &[SoftmaxUnitIn<F, G>],
    outputs: &[SoftmaxUnitOut<F, G>],
    bins: &mut Bins,
) {
    let mut largest: [Option<Fp<F>>; 8] = [None; 8];
    let mut shown = outputs.iter().filter(|output| output.max_valid_o);
    for chunk in chunks(inputs) {
        let Some(maximum) = shown.next().map(|output| output.max_o) else { break };
        let begin = &inputs[chunk[0]];
        let before = largest[begin.head_i.get() as usize].replace(maximum);
        if maximum == Fp::infinity(true) {
            bins.hit("maximum", 3);
        } else if begin.first_i {
            bins.hit("maximum", 0);
        } else if let Some(before) = before {
            bins.hit("maximum", if before == maximum { 2 } else { 1 });
        }
    }
}

fn divisions<F: Format, G: Gear>(
    inputs: &[SoftmaxUnitIn<F, G>],
    outputs: &[SoftmaxUnitOut<F, G>],
    bins: &mut Bins,
) {
    let cycles = Cycles::of_gear(G::TCK);
    let chunks: Vec<(usize, usize, usize, usize)> = chunks(inputs)
        .iter()
        .map(|c| {
            (inputs[c[0]].head_i.get() as usize, c[0], c[c.len() - 1], c[c.len() - 1] + cycles.sum)
        })
        .collect();
    for (cycle, (input, output)) in inputs.iter().zip(outputs).enumerate() {
        if !input.finish_i {
            continue;
        }
        let head = input.finish_head_i.get() as usize;
        bins.hit_cross("finish of head", head, usize::from(!output.finish_ready_o));
        if !output.finish_ready_o {
            continue;
        }
        let Some(clocks) = outputs[cycle + 1..].iter().position(|output| output.finished_o) else {
            continue;
        };
        let there = |from: usize, to: usize| from <= cycle + clocks && cycle <= to;
        let waited =
            chunks.iter().any(|&(of, from, to, _)| of == head && from < cycle + 1 && cycle < to);
        bins.hit("division", usize::from(waited));
        if chunks.iter().any(|&(of, from, _, to)| of != head && there(from, to)) {
            bins.hit("division", 2);
        }
        if !waited && clocks > cycles.drain + cycles.division + 1 {
            bins.hit("division", 3);
        }
    }
}
