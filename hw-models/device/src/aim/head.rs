// SPDX-License-Identifier: MIT
//! Where K and V of a head lie.

use super::layout::{AimLayout, GPR, LayoutError};
use super::units::{AimOptions, MULTIPLIERS};
use crate::config::Config;

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
        // The outputs of whole groups are behind the weights, of whole words.
        let outputs = head_dim.next_multiple_of(options.pus());
        (context.next_multiple_of(MULTIPLIERS) + outputs <= GPR).then_some(Self { k, v })
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

    /// K and V.
    pub fn matrices(&self) -> [AimLayout; 2] {
        [self.k, self.v]
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
