// SPDX-License-Identifier: MIT
//! The softmax unit and the score buffer.
//!
//! ```text
//!   scores from the adder unit ──▶ softmax unit ──▶ score buffer
//!                                       ▲                │
//!   weights to the shared buffers ◀─────┴────────────────┘
//!   context (late normalisation) ◀── sums from the adder unit
//! ```

use crate::requests::{Score, Weigh};
use crate::sizes::LANES;
use pimlico_ports::{Instances, Mismatch, U};
use pimlico_units::arith::{Binary16, Binary32, Fp};
use pimlico_units::rank::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut};
use std::collections::VecDeque;

/// What executes the softmax unit.
pub enum SoftmaxUnits {
    /// Weights are normalised before they are used.
    Early(Box<dyn Instances<SoftmaxUnit<Binary16, false>>>),
    /// The context is, once.
    Late(Box<dyn Instances<SoftmaxUnit<Binary16, true>>>),
}

impl SoftmaxUnits {
    fn step(
        &mut self,
        input: &SoftmaxUnitIn<Binary16>,
        output: &mut SoftmaxUnitOut<Binary16>,
    ) -> Result<(), Box<Mismatch>> {
        let (input, output) = (std::slice::from_ref(input), std::slice::from_mut(output));
        match self {
            Self::Early(unit) => unit.step(input, output),
            Self::Late(unit) => unit.step(input, output),
        }
    }
}

/// What the unit is given in a tCK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// A score, and whose it is.
    pub score: Option<(u16, Score)>,
    /// A head's scores are complete.
    pub finish: Option<usize>,
    /// A score in the buffer becomes a weight.
    pub weigh: Option<Weigh>,
    /// A sum of the context in binary32, and its head.
    pub sum: Option<(u32, usize)>,
}

/// What comes out in a tCK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Made {
    /// A scaled score.
    pub scaled: bool,
    /// The finish was taken.
    pub finish_taken: bool,
    /// A head can be weighed.
    pub finished: bool,
    /// The weighing was taken.
    pub weigh_taken: bool,
    /// A weight.
    pub weight: Option<u16>,
    /// The sum was taken.
    pub sum_taken: bool,
    /// An element of the context, and its head.
    pub context: Option<(u16, usize)>,
}

/// The softmax unit with its buffer.
pub struct Softmax {
    unit: SoftmaxUnits,
    input: SoftmaxUnitIn<Binary16>,
    output: SoftmaxUnitOut<Binary16>,
    scale: Fp<Binary16>,
    buffer: Box<[u16]>,
    /// Where the scaled scores go that are in the unit, if anywhere.
    places: VecDeque<Option<usize>>,
    /// Whose the sums are that are in the unit.
    heads: VecDeque<usize>,
}

impl Softmax {
    /// A unit that has been reset, with room for so many scores.
    pub fn new(unit: SoftmaxUnits, scores: usize) -> Self {
        Self {
            unit,
            input: SoftmaxUnitIn::default(),
            output: SoftmaxUnitOut::default(),
            scale: Fp::ZERO,
            buffer: vec![0; scores].into(),
            places: VecDeque::with_capacity(16),
            heads: VecDeque::with_capacity(16),
        }
    }

    /// Whether the context is normalised, and not the weights.
    pub fn is_late(&self) -> bool {
        matches!(self.unit, SoftmaxUnits::Late(_))
    }

    /// Partial sums of four outputs of a matrix, for which the buffer is used as well.
    pub fn partial_outputs(&self, place: usize) -> [u16; LANES] {
        std::array::from_fn(|n| self.buffer[place + n])
    }

    /// What is at some places.
    pub fn kept(&self, place: usize, count: usize) -> &[u16] {
        &self.buffer[place..][..count]
    }

    /// Puts something else than a score into the buffer: a partial sum.
    pub fn keep(&mut self, place: usize, bits: u16) {
        self.buffer[place] = bits;
    }

    /// The unit's ports in the last tCK.
    pub fn ports(&self) -> (&SoftmaxUnitIn<Binary16>, &SoftmaxUnitOut<Binary16>) {
        (&self.input, &self.output)
    }

    /// Sets the factor of the scores.
    pub fn set_scale(&mut self, scale: u16) {
        self.scale = Fp::from_bits(scale.into());
    }

    /// One tCK.
    ///
    /// # Panics
    ///
    /// If a place in the buffer does not exist.
    pub fn step(&mut self, given: &Given) -> Result<Made, Box<Mismatch>> {
        let mut input = SoftmaxUnitIn { scale_i: self.scale, ..Default::default() };
        let head_i = |head: usize| U::new(head as u64);
        if let Some((bits, score)) = given.score {
            input.score_valid_i = true;
            input.score_i = Fp::from_bits(bits.into());
            input.mask_i = score.masked;
            input.head_i = head_i(score.head);
            input.first_i = score.first;
            self.places.push_back(score.place);
        }
        if let Some(head) = given.finish {
            input.finish_i = true;
            input.finish_head_i = head_i(head);
        }
        if let Some(weigh) = given.weigh {
            input.weigh_valid_i = true;
            input.weigh_i = Fp::from_bits(self.buffer[weigh.place].into());
            input.weigh_head_i = head_i(weigh.head);
        }
        if let Some((bits, head)) = given.sum {
            input.sum_valid_i = true;
            input.sum_i = Fp::<Binary32>::from_bits(bits);
            input.sum_head_i = head_i(head);
        }
        self.input = input;
        self.unit.step(&self.input, &mut self.output)?;
        let output = &self.output;
        if output.scaled_valid_o
            && let Some(Some(place)) = self.places.pop_front()
        {
            self.buffer[place] = output.scaled_o.to_bits() as u16;
        }
        let sum_taken = input.sum_valid_i && output.sum_ready_o;
        if let Some((_, head)) = given.sum.filter(|_| sum_taken) {
            self.heads.push_back(head);
        }
        let context = if output.context_valid_o { self.heads.pop_front() } else { None };
        Ok(Made {
            scaled: output.scaled_valid_o,
            finish_taken: input.finish_i && output.finish_ready_o,
            finished: output.finished_o,
            weigh_taken: input.weigh_valid_i && output.weigh_ready_o,
            weight: output.weight_valid_o.then(|| output.weight_o.to_bits() as u16),
            sum_taken,
            context: context.map(|head| (output.context_o.to_bits() as u16, head)),
        })
    }
}
