// SPDX-License-Identifier: MIT
//! The softmax unit, the score buffer, and the words of weights.
//!
//! ```text
//!   scores from the adder unit ──▶ softmax unit ──▶ score buffer
//!                                    │  ▲  │             │
//!   words of weights ◀── weights ◀───┘  │  └─────────────┘
//!   context (late normalisation) ◀──────┴── sums from the adder unit
//! ```

use crate::options::Normalise;
use crate::sizes::{LANES, SCORE_BUFFER};
use pimlico_dpa::types::{Element, TreeSum, Weigh};
use pimlico_ports::{Model, U};
use pimlico_units::arith::{Binary16, Binary32, Fp};
use pimlico_units::rank::{SequencerOut, SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut};
use std::collections::VecDeque;

/// The unit.
enum Unit {
    /// Weights are normalised before they are used.
    Early(Box<SoftmaxUnit<Binary16, false>>),
    /// The context is, once.
    Late(Box<SoftmaxUnit<Binary16, true>>),
}

/// What comes out in a tCK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Softened {
    /// The unit took a score, a weight or a sum.
    pub works: bool,
    /// A scaled score.
    pub scaled: bool,
    /// The finish is taken.
    pub finish_taken: bool,
    /// A head can be weighed.
    pub finished: bool,
    /// The weigh is taken: its last score.
    pub weigh_taken: bool,
    /// A weight.
    pub weight: Option<Element>,
    /// A word of weights is complete.
    pub word_made: bool,
    /// The sum is taken.
    pub sum_taken: bool,
    /// An element of the context.
    pub context: Option<Element>,
}

/// The softmax unit with its buffer.
pub struct Softmax {
    unit: Unit,
    input: SoftmaxUnitIn<Binary16>,
    scale: Fp<Binary16>,
    buffer: Box<[u16]>,
    /// Places of the scores that are being scaled; `None` for those that are not kept.
    places: VecDeque<Option<usize>>,
    /// Heads of the sums in the unit.
    heads: VecDeque<U<3>>,
    /// Scores that have been asked for of the word that is to be weighed.
    weighed: u64,
    /// The score that was asked for, if the unit has not taken it, with its head.
    score: Option<(u16, U<3>)>,
    /// Partial sums are read in this cycle.
    reads_outputs: bool,
    /// Words of which weights are in the unit.
    words: VecDeque<Weigh>,
    /// Weights of the first of them that have come out.
    weights: Vec<u16>,
    /// Words that are complete.
    complete: VecDeque<u64>,
}

impl Softmax {
    /// A unit that has been reset.
    pub fn new(normalise: Normalise) -> Self {
        Self {
            unit: match normalise {
                Normalise::Early => Unit::Early(Box::new(SoftmaxUnit::new())),
                Normalise::Late => Unit::Late(Box::new(SoftmaxUnit::new())),
            },
            input: SoftmaxUnitIn::default(),
            scale: Fp::ZERO,
            buffer: vec![0; SCORE_BUFFER].into(),
            places: VecDeque::with_capacity(16),
            heads: VecDeque::with_capacity(16),
            weighed: 0,
            score: None,
            reads_outputs: false,
            words: VecDeque::with_capacity(16),
            weights: Vec::with_capacity(LANES),
            complete: VecDeque::with_capacity(16),
        }
    }

    /// Whether the context is normalised, and not the weights.
    pub fn is_late(&self) -> bool {
        matches!(self.unit, Unit::Late(_))
    }

    /// Sets the factor of the scores.
    pub fn set_scale(&mut self, scale: u16) {
        self.scale = Fp::from_bits(scale.into());
    }

    /// Partial sums of four outputs of a matrix, for which the buffer is used as well.
    pub fn partial_outputs(&mut self, place: usize) -> [u16; LANES] {
        self.reads_outputs = true;
        std::array::from_fn(|n| self.buffer[place + n])
    }

    /// Puts a partial sum of an output into the buffer.
    pub fn keep(&mut self, place: usize, bits: u16) {
        self.buffer[place] = bits;
    }

    /// Takes the oldest complete word of weights; 0 if there is none.
    pub fn take_word(&mut self) -> u64 {
        self.complete.pop_front().unwrap_or_default()
    }

    /// The unit's inputs in the last tCK.
    pub fn input(&self) -> &SoftmaxUnitIn<Binary16> {
        &self.input
    }

    /// One tCK: what is requested, a score from the adder unit, and a sum of the context in binary32 with its
    /// head.
    ///
    /// # Panics
    ///
    /// If a place in the buffer does not exist.
    pub fn step(
        &mut self,
        asked: &SequencerOut,
        score: Option<(u16, TreeSum)>,
        sum: Option<(u32, U<3>)>,
    ) -> Softened {
        let mut input = SoftmaxUnitIn { scale_i: self.scale, ..Default::default() };
        if let Some((bits, score)) = score {
            input.score_valid_i = true;
            input.score_i = [Fp::from_bits(bits.into())];
            input.mask_i = [score.masked.get() & 1 != 0];
            input.head_i = score.head;
            input.first_i = score.first;
            self.places.push_back(score.keep.then_some(score.place.get() as usize));
        }
        if asked.finish_valid_o {
            input.finish_i = true;
            input.finish_head_i = asked.finish_o.head;
        }
        if let Some((bits, head)) = self.score {
            input.weigh_valid_i = true;
            input.weigh_i = [Fp::from_bits(bits.into())];
            input.weigh_head_i = head;
        }
        if let Some((bits, head)) = sum {
            input.sum_valid_i = true;
            input.sum_i = Fp::<Binary32>::from_bits(bits);
            input.sum_head_i = head;
        }
        self.input = input;
        let output = match &mut self.unit {
            Unit::Early(unit) => unit.step(&self.input),
            Unit::Late(unit) => unit.step(&self.input),
        };
        // Before anything is written: the buffer reads what was there.
        let reads_outputs = std::mem::take(&mut self.reads_outputs);
        let is_free = self.score.is_none() || output.weigh_ready_o;
        let weigh = (asked.weigh_valid_o && !reads_outputs && is_free).then_some(&asked.weigh_o);
        self.take(&output, weigh)
    }

    /// Puts everything that comes out where it goes.
    fn take(&mut self, output: &SoftmaxUnitOut<Binary16>, weigh: Option<&Weigh>) -> Softened {
        let input = &self.input;
        let score_weighed = input.weigh_valid_i && output.weigh_ready_o;
        let asked = weigh.map(|weigh| {
            let place = (weigh.place.get() + self.weighed) as usize;
            (self.buffer[place], weigh.head)
        });
        if score_weighed {
            self.score = None;
        }
        self.score = asked.or(self.score);
        if output.scaled_valid_o
            && let Some(Some(place)) = self.places.pop_front()
        {
            self.buffer[place] = output.scaled_o[0].to_bits() as u16;
        }
        let sum_taken = input.sum_valid_i && output.sum_ready_o;
        if sum_taken {
            self.heads.push_back(input.sum_head_i);
        }
        let mut made = Softened {
            works: input.score_valid_i || score_weighed || sum_taken,
            scaled: output.scaled_valid_o,
            finish_taken: input.finish_i && output.finish_ready_o,
            finished: output.finished_o,
            sum_taken,
            ..Softened::default()
        };
        if output.context_valid_o {
            let bits = output.context_o.to_bits() as u16;
            made.context = self.heads.pop_front().map(|head| Element { head, bits });
        }
        if let Some(weigh) = weigh {
            made.weigh_taken = self.weigh(weigh);
        }
        if output.weight_valid_o {
            let bits = output.weight_o[0].to_bits() as u16;
            made.weight = self.words.front().map(|word| Element { head: word.head, bits });
            made.word_made = self.take_weight(bits);
        }
        made
    }

    /// A score of a word is asked for. Returns whether it is the word's last.
    fn weigh(&mut self, word: &Weigh) -> bool {
        if self.weighed == 0 {
            self.words.push_back(*word);
        }
        self.weighed += 1;
        let is_last = self.weighed == word.count.get();
        if is_last {
            self.weighed = 0;
        }
        is_last
    }

    /// A weight has come out. Returns whether its word is complete.
    fn take_weight(&mut self, bits: u16) -> bool {
        let Some(word) = self.words.front() else { return false };
        self.weights.push(bits);
        let is_complete = self.weights.len() as u64 == word.count.get();
        if is_complete {
            self.words.pop_front();
            let weights = self.weights.drain(..).rev();
            self.complete.push_back(weights.fold(0, |word, bits| word << 16 | u64::from(bits)));
        }
        is_complete
    }
}
