// SPDX-License-Identifier: MIT
//! From scores to weights: softmax unit and score buffer.

use super::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut, WeightPath, WeightPathIn, WeightPathOut};
use crate::arith::{Binary16, Binary32, Fp};
use pimlico_dpa::types::{Element, Finish, Head, Place, Score, TreeSum, Weigh};
use pimlico_ports::{Model, Unit, ports};
use std::array::from_fn;

ports! {
    /// The way from scores to weights.
    unit SoftmaxPath: "softmax_path" {
        inputs SoftmaxPathIn {
            /// Factor of the scores in binary16.
            scale_i: u16,
            /// The adder unit has a sum over the chips.
            tree_valid_i: bool,
            /// The sum over the chips.
            tree_i: u16,
            /// What the sum over the chips is.
            tree_of_i: TreeSum,
            /// Partial sums of outputs are read; else the scores of a weigh are.
            partial_read_i: bool,
            /// Place of the first partial sum.
            partial_place_i: Place,
            /// The scores of a head are complete.
            finish_valid_i: bool,
            /// The head whose scores are complete.
            finish_i: Finish,
            /// Scores in the buffer are to become a word of weights.
            weigh_valid_i: bool,
            /// The scores of the word; stable until they are taken.
            weigh_i: Weigh,
            /// The oldest complete word of weights is removed.
            word_taken_i: bool,
            /// LATE = 1: a sum of the context is to be normalised.
            sum_valid_i: bool,
            /// LATE = 1: the sum in binary32.
            sum_i: Fp<Binary32>,
            /// LATE = 1: the head of the sum.
            sum_head_i: Head,
        }
        outputs SoftmaxPathOut {
            /// There is a score.
            score_valid_o: bool,
            /// The score, else 0.
            score_o: Score,
            /// There is an output of a matrix.
            output_valid_o: bool,
            /// The output in binary16, else 0.
            output_o: u16,
            /// The word of the score buffer that is read.
            partial_outputs_o: [u16; 4],
            /// A score is scaled, and in the buffer if it is kept.
            scaled_o: bool,
            /// The finish is accepted.
            finish_taken_o: bool,
            /// A head can be weighed.
            finished_o: bool,
            /// The weigh is done with the score of this tCK.
            weigh_taken_o: bool,
            /// A word of weights is complete.
            word_made_o: bool,
            /// There is a weight.
            weight_valid_o: bool,
            /// The weight, else 0.
            weight_o: Element,
            /// The oldest complete word of weights.
            word_o: u64,
            /// LATE = 1: a sum is accepted.
            sum_ready_o: bool,
            /// LATE = 1: the oldest sum is normalised.
            context_valid_o: bool,
            /// LATE = 1: the normalised sum in binary16.
            context_o: u16,
            /// The softmax unit takes a score, a weight or a sum.
            busy_o: bool,
        }
        probes SoftmaxPathProbe {}
    }
}

/// The cycle model of the way from scores to weights.
///
#[doc = contract!("rank/softmax_path")]
#[derive(Clone)]
pub struct SoftmaxPath<const LATE: bool, const SCORES: usize> {
    unit: SoftmaxUnit<Binary16, LATE>,
    weights: WeightPath,
    /// The score buffer.
    scores: Box<[u16]>,
    /// The score in the softmax unit's scaler is kept, and where.
    keep: bool,
    place: Place,
}

impl<const LATE: bool, const SCORES: usize> Unit for SoftmaxPath<LATE, SCORES> {
    const MODULE: &'static str = "softmax_path";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("LATE", LATE as i64), ("SCORES", SCORES as i64)];
    type In = SoftmaxPathIn;
    type Out = SoftmaxPathOut;
    type Probe = SoftmaxPathProbe;
}

impl<const LATE: bool, const SCORES: usize> Model for SoftmaxPath<LATE, SCORES> {
    fn new() -> Self {
        Self {
            unit: SoftmaxUnit::new(),
            weights: WeightPath::new(),
            scores: vec![0; SCORES].into(),
            keep: false,
            place: Place::default(),
        }
    }

    fn reset(&mut self) {
        let Self { unit, weights, scores, keep, place } = self;
        unit.reset();
        weights.reset();
        scores.fill(0);
        (*keep, *place) = (false, Place::default());
    }

    fn probe(&self) -> Self::Probe {
        SoftmaxPathProbe {}
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let unit = self.unit.settle(&SoftmaxUnitIn::default());
        let weights = self.weights.settle(&self.weighing(input, &unit));
        let read = if input.partial_read_i { input.partial_place_i } else { weights.place_o };
        let word = 4 * (self.index(read) / 4);
        let tree = input.tree_of_i;
        let is_score = input.tree_valid_i && !tree.is_output;
        let is_output = input.tree_valid_i && tree.is_output && tree.complete;
        let score =
            Score { masked: tree.masked.get() & 1 != 0, head: tree.head, bits: input.tree_i };
        let weighs = weights.score_valid_o && unit.weigh_ready_o;
        SoftmaxPathOut {
            score_valid_o: is_score,
            score_o: if is_score { score } else { Score::default() },
            output_valid_o: is_output,
            output_o: if is_output { input.tree_i } else { 0 },
            partial_outputs_o: from_fn(|n| self.scores[word + n]),
            scaled_o: unit.scaled_valid_o,
            finish_taken_o: input.finish_valid_i && unit.finish_ready_o,
            finished_o: unit.finished_o,
            weigh_taken_o: weights.taken_o,
            word_made_o: weights.made_o,
            weight_valid_o: weights.weight_valid_o,
            weight_o: weights.weight_o,
            word_o: weights.word_o,
            sum_ready_o: unit.sum_ready_o,
            context_valid_o: unit.context_valid_o,
            context_o: unit.context_o.to_bits() as u16,
            busy_o: is_score || weighs || input.sum_valid_i && unit.sum_ready_o,
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let unit = self.unit.settle(&SoftmaxUnitIn::default());
        let weighing = self.weighing(input, &unit);
        let WeightPathOut { score_valid_o, place_o, head_o, .. } = self.weights.step(&weighing);
        let score = output.score_o;
        let weigh = output.partial_outputs_o[place_o.get() as usize % 4];
        self.unit.step(&SoftmaxUnitIn {
            score_valid_i: output.score_valid_o,
            score_i: element(score.bits),
            scale_i: element(input.scale_i),
            mask_i: score.masked,
            head_i: score.head,
            first_i: output.score_valid_o && input.tree_of_i.first,
            finish_i: input.finish_valid_i,
            finish_head_i: input.finish_i.head,
            weigh_valid_i: score_valid_o,
            weigh_i: if score_valid_o { element(weigh) } else { Fp::ZERO },
            weigh_head_i: head_o,
            sum_valid_i: input.sum_valid_i,
            sum_i: input.sum_i,
            sum_head_i: input.sum_head_i,
            ..Default::default()
        });
        self.keep_score(input, &output, &unit);
        output
    }
}

impl<const LATE: bool, const SCORES: usize> SoftmaxPath<LATE, SCORES> {
    /// The inputs of what makes words of weights.
    fn weighing(&self, input: &SoftmaxPathIn, unit: &SoftmaxUnitOut<Binary16>) -> WeightPathIn {
        WeightPathIn {
            weigh_valid_i: input.weigh_valid_i,
            weigh_i: input.weigh_i,
            ready_i: unit.weigh_ready_o,
            weight_valid_i: unit.weight_valid_o,
            weight_i: unit.weight_o.to_bits() as u16,
            taken_i: input.word_taken_i,
        }
    }

    /// The end of a cycle in the score buffer.
    fn keep_score(
        &mut self,
        input: &SoftmaxPathIn,
        output: &SoftmaxPathOut,
        unit: &SoftmaxUnitOut<Binary16>,
    ) {
        let tree = input.tree_of_i;
        if input.tree_valid_i && tree.is_output && !tree.complete {
            self.scores[self.index(tree.place)] = input.tree_i;
        } else if output.scaled_o && self.keep {
            self.scores[self.index(self.place)] = unit.scaled_o.to_bits() as u16;
        }
        if output.score_valid_o {
            (self.keep, self.place) = (tree.keep, tree.place);
        }
    }

    /// Where a place is in the score buffer.
    fn index(&self, place: Place) -> usize {
        place.get() as usize % SCORES
    }
}

fn element(bits: u16) -> Fp<Binary16> {
    Fp::from_bits(bits.into())
}
