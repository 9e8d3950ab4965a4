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
use pimlico_units::gear::Gear2;
use pimlico_units::rank::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut};
use std::collections::VecDeque;

/// The unit: weights are normalised before they are used.
pub type Unit = SoftmaxUnit<Binary16, false, Gear2>;

/// Scores and weights of a cycle: places that follow each other.
pub const LANES: usize = 2;

/// Scores in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// Query head.
    pub head: usize,
    /// They are in the first chunk of their head.
    pub first: bool,
    /// Place of the first.
    pub place: usize,
    /// How many there are, up to `LANES`: the others have no token.
    pub count: usize,
}

/// Scores in the buffer that become weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weigh {
    /// Place of the first.
    pub place: usize,
    /// Query head.
    pub head: usize,
}

/// What the unit is given in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// Scores are scaled.
    pub scores: Option<Scores>,
    /// A head's scores are complete.
    pub finish: Option<usize>,
    /// Scores become weights.
    pub weigh: Option<Weigh>,
}

/// What the softmax unit does in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weighed {
    /// Scaled scores come out.
    pub scaled: bool,
    /// The finish is taken.
    pub finish_taken: bool,
    /// A head can be weighed.
    pub finished: bool,
    /// The weigh is taken.
    pub weigh_taken: bool,
    /// Weights come out.
    pub weights: Option<[u16; LANES]>,
}

/// The softmax unit with its buffer.
pub struct Softmax {
    unit: Box<dyn Instances<Unit>>,
    scale: Fp<Binary16>,
    buffer: Box<[u16]>,
    /// The scores that are being scaled: the first's place, and how many there are.
    scaling: VecDeque<(usize, usize)>,
}

impl Softmax {
    /// A unit that has been reset, with room for so many scores.
    pub fn new(unit: Box<dyn Instances<Unit>>, scores: usize) -> Self {
        Self {
            unit,
            scale: Fp::ZERO,
            buffer: vec![0; scores].into(),
            scaling: VecDeque::with_capacity(16),
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
        let of = |kept: &[u16]| std::array::from_fn(|lane| Fp::from_bits(kept[lane].into()));
        if let Some(Scores { head, first, place, count }) = given.scores {
            input.score_valid_i = true;
            input.score_i = of(self.kept(place, LANES));
            input.mask_i = std::array::from_fn(|lane| lane >= count);
            input.head_i = head_i(head);
            input.first_i = first;
            self.scaling.push_back((place, count));
        }
        if let Some(head) = given.finish {
            input.finish_i = true;
            input.finish_head_i = head_i(head);
        }
        if let Some(weigh) = given.weigh {
            input.weigh_valid_i = true;
            input.weigh_i = of(self.kept(weigh.place, LANES));
            input.weigh_head_i = head_i(weigh.head);
        }
        let mut output = SoftmaxUnitOut::default();
        self.unit.step(std::slice::from_ref(&input), std::slice::from_mut(&mut output))?;
        let bits = |of: [Fp<Binary16>; LANES]| of.map(|element| element.to_bits() as u16);
        if output.scaled_valid_o
            && let Some((place, count)) = self.scaling.pop_front()
        {
            self.buffer[place..][..count].copy_from_slice(&bits(output.scaled_o)[..count]);
        }
        Ok(Weighed {
            scaled: output.scaled_valid_o,
            finish_taken: input.finish_i && output.finish_ready_o,
            finished: output.finished_o,
            weigh_taken: input.weigh_valid_i && output.weigh_ready_o,
            weights: output.weight_valid_o.then(|| bits(output.weight_o)),
        })
    }
}
