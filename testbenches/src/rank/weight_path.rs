// SPDX-License-Identifier: MIT
//! Bench of `weight_path`: each weigh's scores are asked for in order and shown until they are accepted, and
//! each word has the weights of its scores.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::judge::equal;
use pimlico_dpa::types::Weigh;
use pimlico_ports::{U, pack};
use pimlico_units::gear::Gear;
use pimlico_units::rank::{WeightPath, WeightPathIn, WeightPathOut};
use std::collections::VecDeque;

/// Words that may be on their way.
const WORDS: usize = 16;
/// Cycles from a group of scores to its weights, at the least.
const LATENCY: usize = 3;
/// Cycles in which words are taken alike.
const STRETCH: usize = 128;

const COUNTS: [&str; 4] = ["1", "2", "3", "4"];

/// What surrounds the unit: the sequencer's and the softmax unit's side.
#[derive(Default)]
struct Surroundings {
    /// The weigh that is not taken, and how many of its scores are asked for.
    weigh: Option<(Weigh, u64)>,
    /// A group of scores that is asked for and not accepted: its first element, and its head.
    group: Option<(u64, u64)>,
    /// When the groups that are accepted may become weights.
    scores: VecDeque<usize>,
    /// Weights that the words lack which are not complete.
    lacking: VecDeque<u64>,
    complete: usize,
    /// Words whose first score is taken and which are not.
    under_way: usize,
}

impl<G: Gear> Bench for WeightPath<G> {
    /// A weigh stays until it is taken; its weights come behind its scores, in their order; a word is taken
    /// where there is one.
    fn arrange(inputs: &mut [WeightPathIn<G>]) {
        let mut around = Surroundings::default();
        for (tck, input) in inputs.iter_mut().enumerate() {
            let slow = tck / STRETCH % 2 == 1;
            input.weigh_i.count = U::new(1 + input.weigh_i.count.get() % 4);
            input.taken_i &= around.complete > 0 && !slow;
            let due = around.scores.front().is_some_and(|due| *due <= tck);
            input.weight_valid_i =
                due && (input.weight_valid_i || (tck / STRETCH).is_multiple_of(4));
            if around.weigh.is_none() && input.weigh_valid_i && around.under_way < WORDS {
                around.weigh = Some((input.weigh_i, 0));
            }
            input.weigh_valid_i = around.weigh.is_some();
            input.weigh_i = around.weigh.map_or(Weigh::default(), |(weigh, _)| weigh);
            around.step::<G>(tck, input);
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("a word of weights follows another, of", &COUNTS, &COUNTS);
        bins.declare("words that are complete", (0..=WORDS).map(|words| words.to_string()));
        bins.declare("words under way", (0..=WORDS).map(|words| words.to_string()));
        bins.declare("scores are not asked for", ["as others wait", "as the buffer is busy"]);
        bins.declare("head", (0..8).map(|head| head.to_string()));
    }

    fn cover(inputs: &[WeightPathIn<G>], outputs: &[WeightPathOut<G>], bins: &mut Bins) {
        let mut around = Surroundings::default();
        let mut before = None;
        for (tck, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let count = input.weigh_i.count.get() as usize;
            bins.hit("words that are complete", around.complete);
            bins.hit("words under way", around.under_way);
            if input.weigh_valid_i && !output.read_o {
                bins.hit("scores are not asked for", usize::from(input.busy_i));
            }
            if output.taken_o {
                bins.hit("head", input.weigh_i.head.get() as usize);
                if let Some(before) = before.replace(count) {
                    let point = "a word of weights follows another, of";
                    bins.hit_cross(point, count - 1, before - 1);
                }
            }
            if around.weigh.is_none() && input.weigh_valid_i {
                around.weigh = Some((input.weigh_i, 0));
            }
            around.step::<G>(tck, input);
        }
    }

    fn oracle(
        inputs: &[WeightPathIn<G>],
        outputs: &[WeightPathOut<G>],
    ) -> Result<u64, OracleError> {
        // What is known of the words: their heads and counts, and the weights that have come.
        let mut words: VecDeque<(Weigh, Vec<u16>)> = VecDeque::new();
        let mut asked = 0; // scores of the present weigh
        let mut group: Option<(u64, u64)> = None; // that was asked for: first element and head
        let mut checked = 0;
        let lanes = G::TCK as u64;
        for (tck, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let weigh = input.weigh_i;
            let shown = input.weigh_valid_i;
            let what = || format!("score {asked} of {}", weigh.count.get());
            let reads = shown && !input.busy_i && (group.is_none() || input.ready_i);
            let last = reads && asked + lanes >= weigh.count.get();
            let place = if shown { weigh.place.get() + asked } else { 0 } & 0x1FFFF;
            equal(tck, "read_o", output.read_o, reads, what)?;
            equal(tck, "place_o", output.place_o.get(), place, what)?;
            equal(tck, "taken_o", output.taken_o, last, what)?;
            equal(tck, "score_valid_o", output.score_valid_o, group.is_some(), what)?;
            if let Some((element, head)) = group {
                equal(tck, "element_o", output.element_o.get(), element, what)?;
                equal(tck, "head_o", output.head_o.get(), head, what)?;
            }

            let is_complete =
                |(weigh, weights): &(Weigh, Vec<u16>)| weights.len() as u64 == weigh.count.get();
            let first = words.front().filter(|word| is_complete(word));
            let bits = |weights: &Vec<u16>| {
                weights.iter().rev().fold(0, |word, weight| word << 16 | u64::from(*weight))
            };
            let expected = first.map_or(0, |(_, weights)| bits(weights));
            equal(tck, "word_o", output.word_o, expected, || "the oldest word".to_owned())?;

            let what = || "the weights of this cycle".to_owned();
            let mut made = false;
            let coming = words.iter_mut().find(|word| !is_complete(word));
            let mut coming = coming.filter(|_| input.weight_valid_i);
            for lane in 0..G::TCK {
                let mut expected = (false, 0);
                if let Some((weigh, weights)) = coming.as_mut().filter(|word| !is_complete(word)) {
                    let bits = input.weight_i.as_ref()[lane];
                    weights.push(bits);
                    expected = (true, weigh.head.get() << 16 | u64::from(bits));
                    made = weights.len() as u64 == weigh.count.get();
                }
                let got = output.weight_valid_o.as_ref()[lane];
                equal(tck, "weight_valid_o", got, expected.0, what)?;
                equal(tck, "weight_o", pack(&output.weight_o.as_ref()[lane]), expected.1, what)?;
            }
            equal(tck, "made_o", output.made_o, made, what)?;
            checked += 1;

            if input.taken_i {
                words.pop_front();
            }
            if input.ready_i {
                group = None;
            }
            if reads {
                if asked == 0 {
                    words.push_back((weigh, Vec::new()));
                }
                group = Some((place % 4, weigh.head.get()));
                asked = if last { 0 } else { asked + lanes };
            }
        }
        Ok(checked)
    }
}

impl Surroundings {
    /// The cycle passes.
    fn step<G: Gear>(&mut self, tck: usize, input: &WeightPathIn<G>) {
        let lanes = G::TCK as u64;
        if input.taken_i {
            self.complete -= 1;
            self.under_way -= 1;
        }
        if input.weight_valid_i {
            self.scores.pop_front();
            if let Some(lacking) = self.lacking.front_mut() {
                *lacking = lacking.saturating_sub(lanes);
                if *lacking == 0 {
                    self.lacking.pop_front();
                    self.complete += 1;
                }
            }
        }
        let reads = !input.busy_i && (self.group.is_none() || input.ready_i);
        if input.ready_i && self.group.take().is_some() {
            self.scores.push_back(tck + LATENCY);
        }
        if let Some((weigh, asked)) = self.weigh.as_mut().filter(|_| reads) {
            if *asked == 0 {
                self.lacking.push_back(weigh.count.get());
                self.under_way += 1;
            }
            self.group = Some((weigh.place.get() % 4, weigh.head.get()));
            *asked += lanes;
            if *asked >= weigh.count.get() {
                self.weigh = None;
            }
        }
    }
}
