// SPDX-License-Identifier: MIT
//! The softmax unit and the buffer of its scores.
//!
//! ```text
//!   scores ──▶ softmax unit ──▶ buffer
//!                 ▲    │           │
//!                 │    └──▶ weights│
//!                 └────────────────┘
//! ```

use pimlico_ports::{Instances, Mismatch, U};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::gear::Gear1;
use pimlico_units::rank::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut};
use std::collections::VecDeque;

/// The unit: weights are normalised before they are used.
pub type Unit = SoftmaxUnit<Binary16, false, Gear1>;

/// A score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// Query head.
    pub head: usize,
    /// It is in the first chunk of its head.
    pub first: bool,
    /// There is no such token.
    pub masked: bool,
    /// Place in the buffer.
    pub place: Option<usize>,
}

/// A score in the buffer that becomes a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weigh {
    /// Place in the buffer.
    pub place: usize,
    /// Query head.
    pub head: usize,
}

/// What the unit is given in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// A score, and what it is.
    pub score: Option<(u16, Score)>,
    /// A head's scores are complete.
    pub finish: Option<usize>,
    /// A score in the buffer becomes a weight.
    pub weigh: Option<Weigh>,
}

/// What the softmax unit does in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weighed {
    /// A scaled score comes out.
    pub scaled: bool,
    /// The finish is taken.
    pub finish_taken: bool,
    /// A head can be weighed.
    pub finished: bool,
    /// The weigh is taken.
    pub weigh_taken: bool,
    /// A weight comes out.
    pub weight: Option<u16>,
}

/// The softmax unit with its buffer.
pub struct Softmax {
    unit: Box<dyn Instances<Unit>>,
    scale: Fp<Binary16>,
    buffer: Box<[u16]>,
    /// Places of the scores that are being scaled; `None` for those that are not kept.
    places: VecDeque<Option<usize>>,
}

impl Softmax {
    /// A unit that has been reset, with room for so many scores.
    pub fn new(unit: Box<dyn Instances<Unit>>, scores: usize) -> Self {
        Self {
            unit,
            scale: Fp::ZERO,
            buffer: vec![0; scores].into(),
            places: VecDeque::with_capacity(16),
        }
    }

    /// What is at some places.
    pub fn kept(&self, place: usize, count: usize) -> &[u16] {
        &self.buffer[place..][..count]
    }

    /// Puts something else than a score into the buffer: a partial sum.
    pub fn keep(&mut self, place: usize, bits: u16) {
        self.buffer[place] = bits;
    }

    /// Sets the factor of the scores.
    pub fn set_scale(&mut self, scale: u16) {
        self.scale = Fp::from_bits(scale.into());
    }

    /// One cycle.
    ///
    /// # Panics
    ///
    /// If a place in the buffer does not exist.
    pub fn step(&mut self, given: &Given) -> Result<Weighed, Box<Mismatch>> {
        let mut input = SoftmaxUnitIn { scale_i: self.scale, ..Default::default() };
        let head_i = |head: usize| U::new(head as u64);
        if let Some((bits, score)) = given.score {
            input.score_valid_i = true;
            input.score_i = [Fp::from_bits(bits.into())];
            input.mask_i = [score.masked];
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
            input.weigh_i = [Fp::from_bits(self.buffer[weigh.place].into())];
            input.weigh_head_i = head_i(weigh.head);
        }
        let mut output = SoftmaxUnitOut::default();
        self.unit.step(std::slice::from_ref(&input), std::slice::from_mut(&mut output))?;
        if output.scaled_valid_o
            && let Some(Some(place)) = self.places.pop_front()
        {
            self.buffer[place] = output.scaled_o[0].to_bits() as u16;
        }
        Ok(Weighed {
            scaled: output.scaled_valid_o,
            finish_taken: input.finish_i && output.finish_ready_o,
            finished: output.finished_o,
            weigh_taken: input.weigh_valid_i && output.weigh_ready_o,
            weight: output.weight_valid_o.then(|| output.weight_o[0].to_bits() as u16),
        })
    }
}
