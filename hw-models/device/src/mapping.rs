// SPDX-License-Identifier: MIT
//! Where the elements of a head lie (L3 section 4.2, figure 5 d and e).
//!
//! A vector is cut into bursts of 32 elements. In a burst, element `8 p + c` is lane `p` of chip `c`:
//! what re-layout makes of the eight beats of a host's burst. A head dimension that fills no burst is
//! padded with zeros.
//!
//! * **K**: token `t` lies in logic bank `t mod 16`; the 16 tokens of a chunk share row and column.
//! * **V**: burst `j` of token `t` lies in logic bank `4 (t mod 4) + j`: a bank group shares one
//!   softmax weight, and four tokens share row and column.
//! * **Q** lies in the shared buffers: burst `j` of the vector is word `j`.
//! * **Weights**: word `i` holds the weights of tokens `4 i` to `4 i + 3`, in every chip the same.

use crate::data_bus::Beats;
use crate::{Burst, CHIPS, Config, LANES};

/// Elements in a burst.
pub const BURST: usize = CHIPS * LANES;

/// Why a head cannot be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The head dimension.
    #[error("head dimension {0}: this rank takes 1 to 128, four bursts in the banks of a group")]
    HeadDim(usize),
    /// The context.
    #[error("context of {context} tokens: a rank holds 1 to {limit} of this head dimension")]
    Context {
        /// What was asked for.
        context: usize,
        /// What there is room for.
        limit: usize,
    },
}

/// Where the K and V vectors of one head lie: K from row 0 on, V from the middle of the bank on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLayout {
    /// Elements of a vector.
    pub head_dim: usize,
    /// Tokens.
    pub context: usize,
    banks: usize,
    groups: usize,
    columns: usize,
    v_row: usize,
}

/// A column of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Logic bank.
    pub bank: usize,
    /// Row.
    pub row: usize,
    /// Column: a burst of the row.
    pub column: usize,
}

impl HeadLayout {
    /// Lays out a head of `context` tokens with vectors of `head_dim` elements.
    pub fn new(config: &Config, head_dim: usize, context: usize) -> Result<Self, LayoutError> {
        let groups = config.organisation.bank_groups;
        if head_dim == 0 || head_dim.div_ceil(BURST) > config.organisation.banks_per_group {
            return Err(LayoutError::HeadDim(head_dim));
        }
        let layout = Self {
            head_dim,
            context,
            banks: config.banks(),
            groups,
            columns: config.columns(),
            v_row: config.organisation.rows / 2,
        };
        let k_limit = layout.v_row * layout.chunks_per_row() * layout.banks;
        let v_limit = (config.organisation.rows - layout.v_row) * layout.columns * groups;
        let limit = k_limit.min(v_limit);
        if context == 0 || context > limit {
            return Err(LayoutError::Context { context, limit });
        }
        Ok(layout)
    }

    /// Logic banks.
    pub fn banks(&self) -> usize {
        self.banks
    }

    /// Bank groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Bursts of a vector.
    pub fn bursts(&self) -> usize {
        self.head_dim.div_ceil(BURST)
    }

    /// Chunks of K: one token in every bank.
    pub fn chunks(&self) -> usize {
        self.context.div_ceil(self.banks)
    }

    /// Columns of V: one token in every bank group.
    pub fn quads(&self) -> usize {
        self.context.div_ceil(self.groups)
    }

    /// Chunks in a row: none is split over two.
    fn chunks_per_row(&self) -> usize {
        self.columns / self.bursts()
    }

    /// Row and column of burst `burst` of a chunk of K.
    pub fn k_column(&self, chunk: usize, burst: usize) -> (usize, usize) {
        let per_row = self.chunks_per_row();
        (chunk / per_row, chunk % per_row * self.bursts() + burst)
    }

    /// Row and column of V for four tokens.
    pub fn v_column(&self, quad: usize) -> (usize, usize) {
        (self.v_row + quad / self.columns, quad % self.columns)
    }

    /// Where burst `burst` of a token's K vector lies.
    pub fn k(&self, token: usize, burst: usize) -> Place {
        let (row, column) = self.k_column(token / self.banks, burst);
        Place { bank: token % self.banks, row, column }
    }

    /// Where burst `burst` of a token's V vector lies.
    pub fn v(&self, token: usize, burst: usize) -> Place {
        let (row, column) = self.v_column(token / self.groups);
        let bank = token % self.groups * (self.banks / self.groups) + burst;
        Place { bank, row, column }
    }
}

/// Burst `burst` of a vector as it is on the host's data bus, padded with zeros: element after
/// element, which [`burst_of`] re-lays out.
pub fn beats_of(vector: &[u16], burst: usize) -> Beats {
    let element = |e: usize| u64::from(vector.get(BURST * burst + e).copied().unwrap_or(0));
    std::array::from_fn(|beat| (0..4).map(|e| element(4 * beat + e) << (16 * e)).sum())
}

/// Burst `burst` of a vector as it lies in the chips, padded with zeros.
pub fn burst_of(vector: &[u16], burst: usize) -> Burst {
    std::array::from_fn(|chip| {
        let lane = |p: usize| vector.get(BURST * burst + CHIPS * p + chip).copied().unwrap_or(0);
        (0..LANES).map(|p| u64::from(lane(p)) << (16 * p)).sum()
    })
}

/// The four weights of a word of the shared buffers, the same in every chip.
pub fn weights_of(weights: &[u16], word: usize) -> Burst {
    let weight = |g: usize| weights.get(LANES * word + g).copied().unwrap_or(0);
    [(0..LANES).map(|g| u64::from(weight(g)) << (16 * g)).sum(); CHIPS]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_bursts_share_a_place() {
        let config = Config::ddr4_3200();
        for head_dim in [1, 32, 64, 80, 96, 128] {
            let layout = HeadLayout::new(&config, head_dim, 1000).expect("it fits");
            let mut places = HashSet::new();
            for token in 0..1000 {
                for burst in 0..layout.bursts() {
                    for place in [layout.k(token, burst), layout.v(token, burst)] {
                        assert!(place.column < config.columns() && place.bank < config.banks());
                        let Place { bank, row, column } = place;
                        assert!(places.insert((bank, row, column)), "{place:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_chunk_of_k_is_sixteen_tokens_in_sixteen_banks() {
        let layout = HeadLayout::new(&Config::ddr4_3200(), 128, 4096).expect("it fits");
        assert_eq!(layout.k(0, 3), Place { bank: 0, row: 0, column: 3 });
        assert_eq!(layout.k(15, 3), Place { bank: 15, row: 0, column: 3 });
        assert_eq!(layout.k(16, 0), Place { bank: 0, row: 0, column: 4 });
        assert_eq!(layout.k(512, 0), Place { bank: 0, row: 1, column: 0 }); // 32 chunks in a row
    }

    #[test]
    fn four_tokens_of_v_are_in_four_bank_groups() {
        let layout = HeadLayout::new(&Config::ddr4_3200(), 128, 4096).expect("it fits");
        assert_eq!(layout.v(0, 3), Place { bank: 3, row: 32768, column: 0 });
        assert_eq!(layout.v(3, 0), Place { bank: 12, row: 32768, column: 0 });
        assert_eq!(layout.v(4, 0), Place { bank: 0, row: 32768, column: 1 });
    }

    #[test]
    fn a_chip_holds_every_eighth_element() {
        let vector: Vec<u16> = (0..40).collect();
        assert_eq!(burst_of(&vector, 0)[5], 5 | 13 << 16 | 21 << 32 | 29 << 48);
        assert_eq!(burst_of(&vector, 1)[5], 37);
        assert_eq!(weights_of(&vector, 2)[7], 8 | 9 << 16 | 10 << 32 | 11 << 48);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let config = Config::ddr4_3200();
        assert_eq!(HeadLayout::new(&config, 0, 1), Err(LayoutError::HeadDim(0)));
        assert_eq!(HeadLayout::new(&config, 129, 1), Err(LayoutError::HeadDim(129)));
        let limit = 32768 * 32 * 16;
        let context = limit + 1;
        assert!(HeadLayout::new(&config, 128, limit).is_ok());
        let error = HeadLayout::new(&config, 128, context);
        assert_eq!(error, Err(LayoutError::Context { context, limit }));
    }
}
