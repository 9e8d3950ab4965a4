// SPDX-License-Identifier: MIT
//! Where the elements of a head lie (L3 section 4.2, figure 5 d and e).
//!
//! A vector is cut into bursts of 32 elements. In a burst, element `8 p + c` is lane `p` of chip `c`:
//! what re-layout makes of the eight beats of a host's burst. A head dimension that fills no burst is
//! padded with zeros.
//!
//! * **K**: token `t` lies in logic bank `t mod 16`; the 16 tokens of a chunk share row and column.
//! * **V**: burst `j` of token `t` lies in logic bank `4 (t mod 4) + j`: a bank group shares one
//!   softmax weight, and four tokens share row and column. A vector of more than four bursts is cut
//!   into *parts* of four, each in rows of its own.
//! * **Q** lies in the shared buffers: burst `j` of the vector is word `j`.
//! * **Weights**: word `i` holds the weights of tokens `4 i` to `4 i + 3`, in every chip the same.

use crate::config::Config;
use crate::data_bus::Beats;
use crate::sizes::{Burst, CHIPS, LANES};
use pimlico_dpa::TOKEN_BITS;

/// Elements in a burst.
pub const BURST: usize = CHIPS * LANES;

/// Why a head cannot be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadLayoutError {
    /// The head dimension.
    #[error("head dimension {0}: this rank takes 1 to 256")]
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

/// Parts of a V vector, at most: the rank PU keeps the partial sums of so many.
const PARTS: usize = 2;

/// Elements of a head's vectors, at most.
pub const MOST_HEAD_DIM: usize = 256;

/// Where the K and V vectors of one head lie: V in the rows behind K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLayout {
    /// Elements of a vector.
    pub head_dim: usize,
    /// Tokens.
    pub context: usize,
    banks: usize,
    groups: usize,
    columns: usize,
    first_row: usize,
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
    /// Lays out a head of `context` tokens with vectors of `head_dim` elements, from `first_row` on.
    pub fn new(
        config: &Config,
        head_dim: usize,
        context: usize,
        first_row: usize,
    ) -> Result<Self, HeadLayoutError> {
        let groups = config.organisation.bank_groups;
        let (banks, columns) = (config.banks(), config.columns());
        if head_dim == 0 || head_dim.div_ceil(BURST) > PARTS * banks / groups {
            return Err(HeadLayoutError::HeadDim(head_dim));
        }
        let bursts = head_dim.div_ceil(BURST);
        // Rows that K and V take, and the most tokens for which these are there: K has `banks` tokens
        // in `bursts` columns, V `groups` tokens in a column of each part.
        let rows = config.organisation.rows.saturating_sub(first_row);
        let k_tokens = columns / bursts * banks;
        let v_tokens = columns * groups;
        let parts = bursts.div_ceil(banks / groups);
        let rows_of =
            |context: usize| context.div_ceil(k_tokens) + parts * context.div_ceil(v_tokens);
        if context == 0 || rows_of(context) > rows {
            let (mut limit, mut beyond) = (0, rows * k_tokens + 1);
            while beyond - limit > 1 {
                let middle = limit.midpoint(beyond);
                *(if rows_of(middle) > rows { &mut beyond } else { &mut limit }) = middle;
            }
            // What has room is no context yet: T_cur counts its tokens.
            let limit = limit.min((1 << TOKEN_BITS) - 1);
            return Err(HeadLayoutError::Context { context, limit });
        }
        let v_row = first_row + context.div_ceil(k_tokens);
        Ok(Self { head_dim, context, banks, groups, columns, first_row, v_row })
    }

    /// The row behind the last.
    pub fn end_row(&self) -> usize {
        self.v_row + self.parts() * self.quads().div_ceil(self.columns)
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

    /// Parts of a V vector.
    pub fn parts(&self) -> usize {
        self.bursts().div_ceil(self.banks / self.groups)
    }

    /// Bursts in a part of a V vector: fewer in the last.
    pub fn bursts_of_part(&self, part: usize) -> usize {
        let per_part = self.banks / self.groups;
        per_part.min(self.bursts() - part * per_part)
    }

    /// Columns of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Chunks in a row: none is split over two.
    pub fn chunks_per_row(&self) -> usize {
        self.columns / self.bursts()
    }

    /// Row and column of burst `burst` of a chunk of K.
    pub fn k_column(&self, chunk: usize, burst: usize) -> (usize, usize) {
        let per_row = self.chunks_per_row();
        (self.first_row + chunk / per_row, chunk % per_row * self.bursts() + burst)
    }

    /// Row and column of a part of V for four tokens.
    pub fn v_column(&self, quad: usize, part: usize) -> (usize, usize) {
        (self.v_row + quad / self.columns * self.parts() + part, quad % self.columns)
    }

    /// Where burst `burst` of a token's K vector lies.
    pub fn k(&self, token: usize, burst: usize) -> Place {
        let (row, column) = self.k_column(token / self.banks, burst);
        Place { bank: token % self.banks, row, column }
    }

    /// Where burst `burst` of a token's V vector lies.
    pub fn v(&self, token: usize, burst: usize) -> Place {
        let per_part = self.banks / self.groups;
        let (row, column) = self.v_column(token / self.groups, burst / per_part);
        let bank = token % self.groups * per_part + burst % per_part;
        Place { bank, row, column }
    }

    /// Token and burst of what lies in a place of K.
    pub fn token_of_k(&self, Place { bank, row, column }: Place) -> (usize, usize) {
        let (chunk, burst) = (column / self.bursts(), column % self.bursts());
        let chunk = (row - self.first_row) * self.chunks_per_row() + chunk;
        (chunk * self.banks + bank, burst)
    }

    /// Token and burst of what lies in a place of V.
    pub fn token_of_v(&self, Place { bank, row, column }: Place) -> (usize, usize) {
        let per_part = self.banks / self.groups;
        let (rows, part) = ((row - self.v_row) / self.parts(), (row - self.v_row) % self.parts());
        let token = (rows * self.columns + column) * self.groups + bank / per_part;
        (token, part * per_part + bank % per_part)
    }
}

/// Burst `burst` of a vector as it is on the host's data bus, padded with zeros: element after
/// element, which [`burst_of`] re-lays out.
pub fn beats_of(vector: &[u16], burst: usize) -> Beats {
    if vector.len() <= BURST * burst {
        return Default::default();
    }
    let word = |four: &[u16]| four.iter().rev().fold(0, |word, &e| word << 16 | u64::from(e));
    if let Some(whole) = vector.get(BURST * burst..BURST * (burst + 1)) {
        return std::array::from_fn(|beat| word(&whole[4 * beat..4 * beat + 4]));
    }
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

/// Four weights as a word of the shared buffers, the same in every chip.
pub fn word_of(weights: [u16; LANES]) -> Burst {
    let word = (0..).zip(weights).map(|(group, weight)| u64::from(weight) << (16 * group)).sum();
    [word; CHIPS]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_bursts_share_a_place() {
        let config = Config::ddr4_3200();
        for head_dim in [1, 32, 64, 80, 96, 128, 160, 256] {
            let mut places = HashSet::new();
            let mut row = 3;
            for context in [1000, 1, 700] {
                let layout = HeadLayout::new(&config, head_dim, context, row).expect("it fits");
                for token in 0..context {
                    for burst in 0..layout.bursts() {
                        assert_eq!(layout.token_of_k(layout.k(token, burst)), (token, burst));
                        assert_eq!(layout.token_of_v(layout.v(token, burst)), (token, burst));
                        for place in [layout.k(token, burst), layout.v(token, burst)] {
                            assert!(place.column < config.columns() && place.bank < config.banks());
                            assert!((row..layout.end_row()).contains(&place.row));
                            let Place { bank, row, column } = place;
                            assert!(places.insert((bank, row, column)), "{place:?}");
                        }
                    }
                }
                row = layout.end_row();
            }
        }
    }

    #[test]
    fn a_chunk_of_k_is_sixteen_tokens_in_sixteen_banks() {
        let layout = HeadLayout::new(&Config::ddr4_3200(), 128, 4096, 0).expect("it fits");
        assert_eq!(layout.k(0, 3), Place { bank: 0, row: 0, column: 3 });
        assert_eq!(layout.k(15, 3), Place { bank: 15, row: 0, column: 3 });
        assert_eq!(layout.k(16, 0), Place { bank: 0, row: 0, column: 4 });
        assert_eq!(layout.k(512, 0), Place { bank: 0, row: 1, column: 0 }); // 32 chunks in a row
    }

    #[test]
    fn four_tokens_of_v_are_in_four_bank_groups() {
        let layout = HeadLayout::new(&Config::ddr4_3200(), 128, 4096, 10).expect("it fits");
        assert_eq!(layout.v(0, 3), Place { bank: 3, row: 10 + 8, column: 0 });
        assert_eq!(layout.v(3, 0), Place { bank: 12, row: 10 + 8, column: 0 });
        assert_eq!(layout.v(4, 0), Place { bank: 0, row: 10 + 8, column: 1 });
        assert_eq!(layout.end_row(), 10 + 8 + 8);
    }

    #[test]
    fn more_than_four_bursts_of_v_are_two_parts() {
        let layout = HeadLayout::new(&Config::ddr4_3200(), 256, 1024, 0).expect("it fits");
        assert_eq!((layout.parts(), layout.bursts_of_part(1)), (2, 4));
        assert_eq!(layout.v(1, 3), Place { bank: 7, row: 4, column: 0 });
        assert_eq!(layout.v(1, 4), Place { bank: 4, row: 5, column: 0 });
        assert_eq!(layout.v(512, 4), Place { bank: 0, row: 7, column: 0 });
        let layout = HeadLayout::new(&Config::ddr4_3200(), 160, 1, 0).expect("it fits");
        assert_eq!((layout.parts(), layout.bursts_of_part(0), layout.bursts_of_part(1)), (2, 4, 1));
    }

    #[test]
    fn a_chip_holds_every_eighth_element() {
        let vector: Vec<u16> = (0..40).collect();
        assert_eq!(burst_of(&vector, 0)[5], 5 | 13 << 16 | 21 << 32 | 29 << 48);
        assert_eq!(burst_of(&vector, 1)[5], 37);
        assert_eq!(
            beats_of(&vector, 1)[..3],
            [32 | 33 << 16 | 34 << 32 | 35 << 48, 36 | 37 << 16 | 38 << 32 | 39 << 48, 0]
        );
        assert_eq!(word_of([8, 9, 10, 11])[7], 8 | 9 << 16 | 10 << 32 | 11 << 48);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let config = Config::ddr4_3200();
        assert_eq!(HeadLayout::new(&config, 0, 1, 0), Err(HeadLayoutError::HeadDim(0)));
        assert_eq!(HeadLayout::new(&config, 257, 1, 0), Err(HeadLayoutError::HeadDim(257)));
        // 512 tokens in a row of K and in one of V.
        let limit = 32768 * 512;
        let context = limit + 1;
        assert!(HeadLayout::new(&config, 128, limit, 0).is_ok());
        let error = HeadLayout::new(&config, 128, context, 0);
        // T_cur ends before the rows do.
        let limit = (1 << TOKEN_BITS) - 1;
        assert_eq!(error, Err(HeadLayoutError::Context { context, limit }));
        let context = usize::MAX;
        let error = HeadLayout::new(&config, 64, context, 65536);
        assert_eq!(error, Err(HeadLayoutError::Context { context, limit: 0 }));
        for head_dim in [1, 32, 64, 80, 200, 256] {
            let Err(HeadLayoutError::Context { limit, .. }) =
                HeadLayout::new(&config, head_dim, context, 65000)
            else {
                panic!("no rank is so large");
            };
            let layout = HeadLayout::new(&config, head_dim, limit, 65000).expect("the limit fits");
            assert!(layout.end_row() <= 65536);
            assert!(HeadLayout::new(&config, head_dim, limit + 1, 65000).is_err());
        }
    }
}
