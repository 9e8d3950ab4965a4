// SPDX-License-Identifier: MIT
//! Bench of `weight_path`: each weigh's scores are shown in order, and each word has the weights of its
//! scores.

use super::judge::equal;
use crate::coverage::Bins;
use crate::{Bench, OracleError};
use pimlico_dpa::types::Weigh;
use pimlico_ports::{U, pack};
use pimlico_units::rank::{WeightPath, WeightPathIn, WeightPathOut};
use std::collections::VecDeque;

/// Words that may be on their way.
const WORDS: usize = 16;
/// tCK from a score to its weight, at the least.
const LATENCY: usize = 3;
/// tCK in which words are taken alike.
const STRETCH: usize = 128;

const COUNTS: [&str; 4] = ["1", "2", "3", "4"];

/// What surrounds the unit: the sequencer's and the softmax unit's side.
#[derive(Default)]
struct Surroundings {
    /// The weigh that is not taken, and how many of its scores are.
    weigh: Option<(Weigh, u64)>,
    /// When the scores that are taken may become weights.
    scores: VecDeque<usize>,
    /// Weights that the words lack which are not complete.
    lacking: VecDeque<u64>,
    complete: usize,
    /// Words whose first score is taken and which are not.
    under_way: usize,
}

impl Bench for WeightPath {
    /// A weigh stays until it is taken; its weights come behind its scores, in their order; a word is taken
    /// where there is one.
    fn arrange(inputs: &mut [WeightPathIn]) {
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
            around.step(tck, input);
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("a word of weights follows another, of", &COUNTS, &COUNTS);
        bins.declare("words that are complete", (0..=WORDS).map(|words| words.to_string()));
        bins.declare("words under way", (0..=WORDS).map(|words| words.to_string()));
        bins.declare("a score is not taken", COUNTS);
        bins.declare("head", (0..8).map(|head| head.to_string()));
    }

    fn cover(inputs: &[WeightPathIn], outputs: &[WeightPathOut], bins: &mut Bins) {
        let mut around = Surroundings::default();
        let mut before = None;
        for (tck, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let count = input.weigh_i.count.get() as usize;
            bins.hit("words that are complete", around.complete);
            bins.hit("words under way", around.under_way);
            if input.weigh_valid_i && !input.ready_i {
                bins.hit("a score is not taken", count - 1);
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
            around.step(tck, input);
        }
    }

    fn oracle(inputs: &[WeightPathIn], outputs: &[WeightPathOut]) -> Result<u64, OracleError> {
        // What is known of the words: their heads and counts, and the weights that have come.
        let mut words: VecDeque<(Weigh, Vec<u16>)> = VecDeque::new();
        let mut taken = 0; // scores of the present weigh
        let mut checked = 0;
        for (tck, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let weigh = input.weigh_i;
            let shown = input.weigh_valid_i;
            let what = || format!("score {taken} of {}", weigh.count.get());
            let last = shown && input.ready_i && taken + 1 == weigh.count.get();
            let place = if shown { weigh.place.get() + taken } else { 0 } & 0x1FFFF;
            equal(tck, "score_valid_o", output.score_valid_o, shown, what)?;
            equal(tck, "place_o", output.place_o.get(), place, what)?;
            let head = if shown { weigh.head.get() } else { 0 };
            equal(tck, "head_o", output.head_o.get(), head, what)?;
            equal(tck, "taken_o", output.taken_o, last, what)?;

            let is_complete =
                |(weigh, weights): &(Weigh, Vec<u16>)| weights.len() as u64 == weigh.count.get();
            let first = words.front().filter(|word| is_complete(word));
            let bits = |weights: &Vec<u16>| {
                weights.iter().rev().fold(0, |word, weight| word << 16 | u64::from(*weight))
            };
            let expected = first.map_or(0, |(_, weights)| bits(weights));
            equal(tck, "word_o", output.word_o, expected, || "the oldest word".to_owned())?;

            let coming = words.iter_mut().find(|word| !is_complete(word));
            let came = coming.filter(|_| input.weight_valid_i).map(|(weigh, weights)| {
                weights.push(input.weight_i);
                (weigh.head.get() << 16 | u64::from(input.weight_i), (weigh, weights))
            });
            let what = || "the weight of this tCK".to_owned();
            equal(tck, "weight_valid_o", output.weight_valid_o, came.is_some(), what)?;
            let expected = came.as_ref().map_or(0, |(element, _)| *element);
            equal(tck, "weight_o", pack(&output.weight_o), expected, what)?;
            let made =
                came.is_some_and(|(_, (weigh, weights))| weights.len() as u64 == weigh.count.get());
            equal(tck, "made_o", output.made_o, made, what)?;
            checked += 1;

            if input.taken_i {
                words.pop_front();
            }
            if shown && input.ready_i {
                if taken == 0 {
                    words.push_back((weigh, Vec::new()));
                }
                taken = if last { 0 } else { taken + 1 };
            }
        }
        Ok(checked)
    }
}

impl Surroundings {
    /// The tCK passes.
    fn step(&mut self, tck: usize, input: &WeightPathIn) {
        if input.taken_i {
            self.complete -= 1;
            self.under_way -= 1;
        }
        if input.weight_valid_i {
            self.scores.pop_front();
            if let Some(lacking) = self.lacking.front_mut() {
                *lacking -= 1;
                if *lacking == 0 {
                    self.lacking.pop_front();
                    self.complete += 1;
                }
            }
        }
        if let Some((weigh, scores)) = self.weigh.as_mut().filter(|_| input.ready_i) {
            if *scores == 0 {
                self.lacking.push_back(weigh.count.get());
                self.under_way += 1;
            }
            self.scores.push_back(tck + LATENCY);
            *scores += 1;
            if *scores == weigh.count.get() {
                self.weigh = None;
            }
        }
    }
}
