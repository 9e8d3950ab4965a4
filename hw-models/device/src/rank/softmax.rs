// SPDX-License-Identifier: MIT
//! From scores to weights: the cycle model of that part of the rank, of any gear.

use crate::options::{Gear, Normalise, Options};
use crate::sizes::{LANES, SCORE_BUFFER};
use pimlico_dpa::types::{Element, Place, Score, TreeSum};
use pimlico_ports::{Model, U};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::gear::{Gear as Geared, Gear1, Gear2, Gear4, lanes};
use pimlico_units::lap::Walk;
use pimlico_units::rank::{
    SequencerOut, SoftmaxPath, SoftmaxPathIn, SoftmaxPathOut, SoftmaxUnitIn,
};
use std::any::Any;
use std::collections::VecDeque;

/// What goes in in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoftmaxInput {
    /// Sums over the chips, by lane, and what they are.
    pub tree: Option<([u16; LANES], TreeSum)>,
    /// Place of partial sums of outputs that are to be read.
    pub reads: Option<Place>,
    /// The oldest complete word of weights leaves.
    pub word_taken: bool,
    /// A sum of the context in binary32 with its head, to be normalised.
    pub sum: Option<(u32, U<3>)>,
}

/// What comes out in a cycle. Lanes in which there is nothing are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Softened {
    /// The unit took scores, weights or a sum.
    pub works: bool,
    /// Scores that are scaled.
    pub scaled: U<3>,
    /// The finish is taken.
    pub finish_taken: bool,
    /// A head can be weighed.
    pub finished: bool,
    /// The weigh is taken: its last scores.
    pub weigh_taken: bool,
    /// A word of weights is complete.
    pub word_made: bool,
    /// The sum is taken.
    pub sum_taken: bool,
    /// Scores, weights, and outputs of a matrix.
    pub scores: [Option<Score>; LANES],
    pub weights: [Option<Element>; LANES],
    pub outputs: [Option<u16>; LANES],
    /// An element of the context.
    pub context: Option<Element>,
}

/// The way from scores to weights.
pub trait SoftmaxWay {
    /// Sets the factor of the scores.
    fn set_scale(&mut self, scale: u16);

    /// The oldest complete word of weights; 0 if there is none.
    fn word(&self) -> u64;

    /// Partial sums of outputs, if they were read last.
    fn partial_outputs(&self) -> [u16; LANES];

    /// Whether the context is normalised, and not the weights.
    fn is_late(&self) -> bool;

    /// Whether a cycle without a request, and in which nothing comes, changes nothing.
    fn rests(&self) -> bool;

    /// Goes over what is no data, for [laps](pimlico_units::lap).
    fn walk(&mut self, walk: &mut Walk<'_>);

    /// Has [`unit_input`](Self::unit_input) show the softmax unit's inputs.
    fn watch(&mut self);

    /// One cycle: what is requested, and what comes.
    fn step(&mut self, asked: &SequencerOut, given: &SoftmaxInput) -> Softened;

    /// The softmax unit's inputs in the last cycle, where they are [watched](Self::watch).
    fn unit_input(&self) -> &dyn Any;
}

/// The way of a rank with these options.
pub fn softmax_way(options: &Options) -> Box<dyn SoftmaxWay> {
    match (options.normalise, options.gear) {
        (Normalise::Early, Gear::One) => Box::new(Softmax::<false, Gear1>::new()),
        (Normalise::Early, Gear::Two) => Box::new(Softmax::<false, Gear2>::new()),
        (Normalise::Early, Gear::Four) => Box::new(Softmax::<false, Gear4>::new()),
        (Normalise::Late, Gear::One) => Box::new(Softmax::<true, Gear1>::new()),
        (Normalise::Late, Gear::Two) => Box::new(Softmax::<true, Gear2>::new()),
        (Normalise::Late, Gear::Four) => Box::new(Softmax::<true, Gear4>::new()),
    }
}

/// The model, with what its users need beside it.
struct Softmax<const LATE: bool, G: Geared> {
    path: SoftmaxPath<LATE, SCORE_BUFFER, G>,
    scale: u16,
    input: SoftmaxPathIn<G>,
    unit_input: SoftmaxUnitIn<Binary16, G>,
    watched: bool,
    /// Heads of the sums in the unit.
    heads: VecDeque<U<3>>,
}

impl<const LATE: bool, G: Geared> Softmax<LATE, G> {
    fn new() -> Self {
        Self {
            path: SoftmaxPath::new(),
            scale: 0,
            input: SoftmaxPathIn::default(),
            unit_input: Default::default(),
            watched: false,
            heads: VecDeque::with_capacity(16),
        }
    }
}

/// What there is in each lane.
fn in_lanes<T: Copy>(valid: &[bool], values: &[T]) -> [Option<T>; LANES] {
    std::array::from_fn(|lane| values.get(lane).copied().filter(|_| valid[lane]))
}

impl<const LATE: bool, G: Geared> SoftmaxWay for Softmax<LATE, G> {
    fn set_scale(&mut self, scale: u16) {
        self.scale = scale;
    }

    fn word(&self) -> u64 {
        self.path.word()
    }

    fn partial_outputs(&self) -> [u16; LANES] {
        self.path.partial_outputs()
    }

    fn is_late(&self) -> bool {
        LATE
    }

    fn rests(&self) -> bool {
        self.path.rests()
    }

    fn walk(&mut self, walk: &mut Walk<'_>) {
        // What has gone in in a cycle goes in again in none.
        let Self { path, scale, input: _, unit_input: _, watched, heads } = self;
        walk.refuse_if(*watched);
        path.walk(walk);
        walk.still(*scale);
        walk.size(heads.len());
        heads.iter().for_each(|head| walk.bits(head));
    }

    fn watch(&mut self) {
        self.watched = true;
    }

    fn step(&mut self, asked: &SequencerOut, given: &SoftmaxInput) -> Softened {
        let asks = asked.finish_valid_o || asked.weigh_valid_o || given.word_taken;
        let comes = given.tree.is_some() || given.reads.is_some() || given.sum.is_some();
        if !asks && !comes && !self.watched && self.rests() {
            return Softened::default();
        }
        let (sums, tree_of_i) = given.tree.unwrap_or_default();
        let (sum, sum_head_i) = given.sum.unwrap_or_default();
        self.input = SoftmaxPathIn {
            scale_i: self.scale,
            tree_valid_i: given.tree.is_some(),
            tree_i: lanes::<G, _>(|lane| sums[lane]),
            tree_of_i,
            partial_read_i: given.reads.is_some(),
            partial_place_i: given.reads.unwrap_or_default(),
            finish_valid_i: asked.finish_valid_o,
            finish_i: asked.finish_o,
            weigh_valid_i: asked.weigh_valid_o,
            weigh_i: asked.weigh_o,
            word_taken_i: given.word_taken,
            sum_valid_i: given.sum.is_some(),
            sum_i: Fp::from_bits(sum),
            sum_head_i,
            ..Default::default()
        };
        if self.watched {
            self.unit_input = self.path.softmax_unit_in(&self.input);
        }
        let output: SoftmaxPathOut<G> = self.path.step(&self.input);
        let sum_taken = given.sum.is_some() && output.sum_ready_o;
        if sum_taken {
            self.heads.push_back(sum_head_i);
        }
        let context = if output.context_valid_o { self.heads.pop_front() } else { None };
        Softened {
            works: output.busy_o,
            scaled: output.scaled_o,
            finish_taken: output.finish_taken_o,
            finished: output.finished_o,
            weigh_taken: output.weigh_taken_o,
            word_made: output.word_made_o,
            sum_taken,
            scores: in_lanes(output.score_valid_o.as_ref(), output.score_o.as_ref()),
            weights: in_lanes(output.weight_valid_o.as_ref(), output.weight_o.as_ref()),
            outputs: in_lanes(output.output_valid_o.as_ref(), output.output_o.as_ref()),
            context: context.map(|head| Element { head, bits: output.context_o }),
        }
    }

    fn unit_input(&self) -> &dyn Any {
        &self.unit_input
    }
}
