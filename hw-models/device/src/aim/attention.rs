// SPDX-License-Identifier: MIT
//! Attention of one query head on a module (LoL-PIM section 4.3): one operator after the other, with
//! what is between them in the GPR.
//!
//! * **Score**: K, a token to a row of the matrix, times q. The scores of a group of tokens, one of each
//!   PU, leave with RD_RESULT.
//! * **Softmax**: the EPU's softmax unit takes the scores in chunks of 16, two in each of its clocks, and
//!   scales them; then it takes them again and gives weights, normalised.
//! * **Context**: V transposed, an element of the head to a row of the matrix, times the weights. These
//!   go through the global buffer, tile by tile; the sums stay in the PUs to the end, if the head has no
//!   more elements than there are PUs.

use super::epu::SoftmaxRequest;
use super::gemv::{Operand, gemv};
use super::layout::{AimLayout, GPR, LayoutError};
use super::module::Module;
use super::requests::Requests;
use super::softmax::{LANES, Scores, Weigh, Weighed};
use super::units::AimOptions;
use crate::config::Config;
use crate::error::DeviceError;
use crate::statistics::Statistics;

/// Scores that the softmax unit takes as one chunk.
const CHUNK: usize = 16;

/// Where K and V of a head lie: V behind K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AimHead {
    /// K: tokens x elements.
    pub k: AimLayout,
    /// V transposed: elements x tokens.
    pub v: AimLayout,
}

impl AimHead {
    /// Lays out a head of `context` tokens with vectors of `head_dim` elements, from `first_row` on.
    pub fn new(
        config: &Config,
        options: &AimOptions,
        head_dim: usize,
        context: usize,
        first_row: usize,
    ) -> Result<Self, LayoutError> {
        if !(1..=GPR).contains(&head_dim) {
            return Err(LayoutError::HeadDim(head_dim));
        }
        let lay_out = |context| Self::lay_out(config, options, head_dim, context, first_row);
        lay_out(context).ok_or_else(|| {
            let (mut limit, mut beyond) = (0, GPR + 1);
            while beyond - limit > 1 {
                let middle = limit.midpoint(beyond);
                *(if lay_out(middle).is_some() { &mut limit } else { &mut beyond }) = middle;
            }
            LayoutError::Context { context, channels: options.channels, limit, head_dim }
        })
    }

    /// The layout, if there is room for it.
    fn lay_out(
        config: &Config,
        options: &AimOptions,
        head_dim: usize,
        context: usize,
        first_row: usize,
    ) -> Option<Self> {
        let tokens = options.mapping.k_row_tokens.unwrap_or(usize::MAX);
        let k = AimLayout::sharing(config, options, context, head_dim, first_row, tokens).ok()?;
        let v = AimLayout::new(config, options, head_dim, context, k.end_row()).ok()?;
        // The outputs of whole groups are behind the weights, of whole chunks.
        let outputs = head_dim.next_multiple_of(options.pus());
        (context.next_multiple_of(CHUNK) + outputs <= GPR).then_some(Self { k, v })
    }

    /// The head of the first `context` tokens, where they lie.
    ///
    /// # Panics
    ///
    /// If there are none, or more than there is room for.
    pub fn part(self, context: usize) -> Self {
        let head_dim = self.head_dim();
        Self { k: self.k.part(context, head_dim), v: self.v.part(head_dim, context) }
    }

    /// Tokens.
    pub fn context(&self) -> usize {
        self.k.rows
    }

    /// Elements of a vector.
    pub fn head_dim(&self) -> usize {
        self.k.columns
    }
}

/// What an operator gave, in binary16, and what it cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Its results.
    pub values: Vec<u16>,
    /// Its cost.
    pub statistics: Statistics,
}

/// The attention of a query head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AimAttention {
    /// For each token its score, before scaling.
    pub score: Step,
    /// For each token its weight.
    pub softmax: Step,
    /// The context.
    pub context: Step,
}

/// Computes the attention of a query to a head that is in the banks. Ends with all banks closed and no
/// REF owed.
///
/// # Panics
///
/// If the query has not as many elements as the head's vectors.
pub fn attention(
    module: &mut Module,
    head: &AimHead,
    query: &[u16],
    scale: u16,
) -> Result<AimAttention, DeviceError> {
    let context = head.context();
    let (values, statistics) = gemv(module, &head.k, Operand::Vector(query), 0)?;
    let score = Step { values, statistics };
    let statistics = softmax(module, context, scale)?;
    let softmax = Step { values: module.gpr(0, context).to_vec(), statistics };
    let outputs = context.next_multiple_of(CHUNK);
    let (values, statistics) = gemv(module, &head.v, Operand::Gpr(0), outputs)?;
    Ok(AimAttention { score, softmax, context: Step { values, statistics } })
}

/// Makes weights of the first `context` elements of the GPR, which are scores.
fn softmax(module: &mut Module, context: usize, scale: u16) -> Result<Statistics, DeviceError> {
    module.begin();
    module.set_scale(scale);
    let (mut taken, mut scaled) = (0, 0);
    let all = context.next_multiple_of(CHUNK);
    while scaled < all {
        let count = context.saturating_sub(taken).min(LANES);
        let scores = Scores { head: 0, first: taken < CHUNK, place: taken, count };
        let scores = (taken < all).then_some(scores);
        if let Some(made) = step(module, SoftmaxRequest { scores, ..Default::default() })? {
            taken += LANES * usize::from(scores.is_some());
            scaled += LANES * usize::from(made.scaled);
        }
    }
    let mut finish = Some(0);
    loop {
        let made = step(module, SoftmaxRequest { finish, ..Default::default() })?;
        if made.is_some_and(|made| made.finish_taken) {
            finish = None;
        }
        if made.is_some_and(|made| made.finished) {
            break;
        }
    }
    let (mut taken, mut weighed) = (0, 0);
    while weighed < context {
        let weigh = (taken < context).then_some(Weigh { place: taken, head: 0 });
        if let Some(made) = step(module, SoftmaxRequest { weigh, ..Default::default() })? {
            taken += LANES * usize::from(made.weigh_taken);
            for weight in made.weights.into_iter().flatten().take(context - weighed) {
                module.keep(weighed, weight);
                weighed += 1;
            }
        }
    }
    module.settle()?;
    Ok(module.end())
}

/// One cycle. What the softmax unit did, if it had a clock.
fn step(module: &mut Module, softmax: SoftmaxRequest) -> Result<Option<Weighed>, DeviceError> {
    let mut requests = Requests { softmax, ..Default::default() };
    Ok(module.step(&mut requests)?.softmax)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_what_does() {
        let config = Config::gddr6_aim();
        for (channels, head_dim, first_row) in [(1, 128, 0), (16, 128, 16_000), (2, 5000, 0)] {
            let options = AimOptions { channels, ..AimOptions::default() };
            let head = |context| AimHead::new(&config, &options, head_dim, context, first_row);
            let Err(LayoutError::Context { limit, .. }) = head(usize::MAX) else {
                panic!("no module is so large");
            };
            assert!(head(limit).is_ok() && head(limit + 1).is_err(), "{limit}");
            assert!(head(limit).is_ok_and(|head| head.v.end_row() <= 16384));
            assert!(head(0).is_err_and(|error| error.to_string().starts_with("context of 0 ")));
        }
        let options = AimOptions::default();
        assert_eq!(AimHead::new(&config, &options, 0, 1, 0), Err(LayoutError::HeadDim(0)));
    }
}
