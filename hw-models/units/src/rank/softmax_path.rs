// SPDX-License-Identifier: MIT
//! From scores to weights: softmax unit and score buffer.

use super::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut, WeightPath, WeightPathIn, WeightPathOut};
use crate::arith::{Binary16, Binary32, Fp};
use crate::gear::{self, DefaultGear, Gear, lanes};
use crate::lap::Walk;
use pimlico_dpa::types::{Element, Finish, Head, Place, Score, TreeSum, Weigh};
use pimlico_ports::{Model, U, Unit, ports};

ports! {
    /// The way from scores to weights.
    unit SoftmaxPath<G: Gear = DefaultGear>: "softmax_path" {
        inputs SoftmaxPathIn {
            /// Factor of the scores in binary16.
            scale_i: u16,
            /// The adder unit has sums over the chips, one in each lane.
            tree_valid_i: bool,
            /// The sums over the chips.
            tree_i: G::Lanes<u16>,
            /// What the sums over the chips are.
            tree_of_i: TreeSum,
            /// Partial sums of outputs are asked for.
            partial_read_i: bool,
            /// Place of the first partial sum that is asked for.
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
            /// There are scores, by lane.
            score_valid_o: G::Lanes<bool>,
            /// The scores, else 0.
            score_o: G::Lanes<Score>,
            /// There are outputs of a matrix, by lane.
            output_valid_o: G::Lanes<bool>,
            /// The outputs in binary16, else 0.
            output_o: G::Lanes<u16>,
            /// The word of the score buffer that was asked for last.
            partial_outputs_o: [u16; 4],
            /// Scores that are scaled, and in the buffer if they are kept: 0 or GEAR.
            scaled_o: U<3>,
            /// The finish is accepted.
            finish_taken_o: bool,
            /// A head can be weighed.
            finished_o: bool,
            /// The weigh is done with the scores of this cycle.
            weigh_taken_o: bool,
            /// A word of weights is complete.
            word_made_o: bool,
            /// There are weights, by lane.
            weight_valid_o: G::Lanes<bool>,
            /// The weights, else 0.
            weight_o: G::Lanes<Element>,
            /// The oldest complete word of weights.
            word_o: u64,
            /// LATE = 1: a sum is accepted.
            sum_ready_o: bool,
            /// LATE = 1: the oldest sum is normalised.
            context_valid_o: bool,
            /// LATE = 1: the normalised sum in binary16.
            context_o: u16,
            /// The softmax unit takes scores, weights or a sum.
            busy_o: bool,
        }
        probes SoftmaxPathProbe {}
    }
}

/// Cycles in which the softmax unit scales a score.
const SCALE: usize = 3;

/// The cycle model of the way from scores to weights.
///
#[doc = contract!("rank/softmax_path")]
#[derive(Clone)]
pub struct SoftmaxPath<const LATE: bool, const SCORES: usize, G: Gear = DefaultGear> {
    unit: SoftmaxUnit<Binary16, LATE, G>,
    weights: WeightPath<G>,
    /// The score buffer, and its word that was read last.
    scores: Box<[u16]>,
    kept: [u16; 4],
    /// The scores in the softmax unit's multipliers are kept, and where.
    places: [(bool, Place); SCALE],
}

impl<const LATE: bool, const SCORES: usize, G: Gear> Unit for SoftmaxPath<LATE, SCORES, G> {
    const MODULE: &'static str = "softmax_path";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("LATE", LATE as i64), ("SCORES", SCORES as i64), ("GEAR", G::TCK as i64)];
    type In = SoftmaxPathIn<G>;
    type Out = SoftmaxPathOut<G>;
    type Probe = SoftmaxPathProbe<G>;

    fn variant() -> String {
        gear::variant::<G>("")
    }
}

impl<const LATE: bool, const SCORES: usize, G: Gear> Model for SoftmaxPath<LATE, SCORES, G> {
    fn new() -> Self {
        Self {
            unit: SoftmaxUnit::new(),
            weights: WeightPath::new(),
            scores: vec![0; SCORES].into(),
            kept: [0; 4],
            places: Default::default(),
        }
    }

    fn reset(&mut self) {
        let Self { unit, weights, scores, kept, places } = self;
        unit.reset();
        weights.reset();
        scores.fill(0);
        *kept = [0; 4];
        *places = Default::default();
    }

    fn probe(&self) -> Self::Probe {
        SoftmaxPathProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let unit = self.unit.outputs();
        self.outputs(input, &unit, &self.weights.settle(&self.weighing(input, &unit)))
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let unit = self.unit.outputs();
        let weighing = self.weighing(input, &unit);
        let weights = self.weights.settle(&weighing);
        let output = self.outputs(input, &unit, &weights);
        let unit_in = self.unit_in(input, &weights);
        self.weights.clock(&weighing, &weights);
        self.unit.clock(&unit_in, &unit);
        if input.partial_read_i || weights.read_o {
            let place = if input.partial_read_i { input.partial_place_i } else { weights.place_o };
            let word = 4 * (self.index(place) / 4);
            self.kept.copy_from_slice(&self.scores[word..word + 4]);
        }
        self.write(input, &unit);
        output
    }
}

impl<const LATE: bool, const SCORES: usize, G: Gear> SoftmaxPath<LATE, SCORES, G> {
    /// The outputs of a cycle in which its two parts have these.
    #[inline]
    fn outputs(
        &self,
        input: &SoftmaxPathIn<G>,
        unit: &SoftmaxUnitOut<Binary16, G>,
        weights: &WeightPathOut<G>,
    ) -> SoftmaxPathOut<G> {
        let tree = input.tree_of_i;
        let is_score = input.tree_valid_i && !tree.is_output;
        let is_output = input.tree_valid_i && tree.is_output && tree.complete;
        let sums = input.tree_i.as_ref();
        let score = |lane: usize| Score {
            masked: tree.masked.get() >> lane & 1 != 0,
            head: tree.head,
            bits: sums[lane],
        };
        let weighs = weights.score_valid_o && unit.weigh_ready_o;
        SoftmaxPathOut {
            score_valid_o: lanes::<G, _>(|_| is_score),
            score_o: lanes::<G, _>(|lane| if is_score { score(lane) } else { Score::default() }),
            output_valid_o: lanes::<G, _>(|_| is_output),
            output_o: lanes::<G, _>(|lane| if is_output { sums[lane] } else { 0 }),
            partial_outputs_o: self.kept,
            scaled_o: U::new(if unit.scaled_valid_o { G::TCK as u64 } else { 0 }),
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
            ..Default::default()
        }
    }

    /// The word of the score buffer that was asked for last: partial sums of outputs, if it was for them.
    pub fn partial_outputs(&self) -> [u16; 4] {
        self.kept
    }

    /// Whether a cycle without input changes nothing, nor puts out anything but what stands in registers.
    pub fn rests(&self) -> bool {
        self.unit.rests()
            && self.weights.rests()
            && self.places == <[(bool, Place); SCALE]>::default()
    }

    /// Goes over what is no data, for [laps](crate::lap).
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { unit, weights, scores: _, kept: _, places } = self;
        unit.walk(walk);
        weights.walk(walk);
        for (keep, place) in places {
            walk.still(*keep);
            walk.moves(place);
        }
    }

    /// The oldest complete word of weights.
    pub fn word(&self) -> u64 {
        self.weights.word()
    }

    /// The inputs of the softmax unit in a cycle with this input.
    pub fn softmax_unit_in(&self, input: &SoftmaxPathIn<G>) -> SoftmaxUnitIn<Binary16, G> {
        let weighing = self.weighing(input, &self.unit.outputs());
        self.unit_in(input, &self.weights.settle(&weighing))
    }

    fn unit_in(
        &self,
        input: &SoftmaxPathIn<G>,
        weights: &WeightPathOut<G>,
    ) -> SoftmaxUnitIn<Binary16, G> {
        let tree = input.tree_of_i;
        let (sums, kept) = (input.tree_i.as_ref(), self.kept);
        let first = weights.element_o.get() as usize;
        SoftmaxUnitIn {
            score_valid_i: input.tree_valid_i && !tree.is_output,
            score_i: lanes::<G, _>(|lane| element(sums[lane])),
            scale_i: element(input.scale_i),
            mask_i: lanes::<G, _>(|lane| tree.masked.get() >> lane & 1 != 0),
            head_i: tree.head,
            first_i: tree.first,
            finish_i: input.finish_valid_i,
            finish_head_i: input.finish_i.head,
            weigh_valid_i: weights.score_valid_o,
            weigh_i: lanes::<G, _>(|lane| element(kept[(first + lane) % 4])),
            weigh_head_i: weights.head_o,
            sum_valid_i: input.sum_valid_i,
            sum_i: input.sum_i,
            sum_head_i: input.sum_head_i,
            ..Default::default()
        }
    }

    /// The inputs of what makes words of weights.
    fn weighing(
        &self,
        input: &SoftmaxPathIn<G>,
        unit: &SoftmaxUnitOut<Binary16, G>,
    ) -> WeightPathIn<G> {
        let weights = unit.weight_o.as_ref();
        WeightPathIn {
            weigh_valid_i: input.weigh_valid_i,
            weigh_i: input.weigh_i,
            busy_i: input.partial_read_i,
            ready_i: unit.weigh_ready_o,
            weight_valid_i: unit.weight_valid_o,
            weight_i: lanes::<G, _>(|lane| weights[lane].to_bits() as u16),
            taken_i: input.word_taken_i,
            ..Default::default()
        }
    }

    /// The end of a cycle in the score buffer.
    fn write(&mut self, input: &SoftmaxPathIn<G>, unit: &SoftmaxUnitOut<Binary16, G>) {
        let tree = input.tree_of_i;
        let (keep, place) = self.places[SCALE - 1];
        if input.tree_valid_i && tree.is_output && !tree.complete {
            self.put(tree.place, input.tree_i.as_ref().iter().copied());
        } else if unit.scaled_valid_o && keep {
            self.put(place, unit.scaled_o.as_ref().iter().map(|score| score.to_bits() as u16));
        }
        self.places.rotate_right(1);
        self.places[0] = (tree.keep, tree.place);
    }

    /// Writes elements of a word, from a place on.
    fn put(&mut self, place: Place, elements: impl Iterator<Item = u16>) {
        let first = self.index(place);
        for (lane, bits) in elements.enumerate() {
            self.scores[4 * (first / 4) + (first + lane) % 4] = bits;
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
