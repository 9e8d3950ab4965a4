// SPDX-License-Identifier: MIT
//! The PUs of a channel's banks: 16 multipliers and a tree of adders at each, whose factors are those of the global buffer.
//!
//! ```text
//! sum = +0;  for each word:  sum = tree(p_0, ..., p_15) + sum     p_i = row_i * factor_i, rounded; neighbours first
//! ```
//!
//! This is tree mode of `bank_pu` with 16 lanes: products are rounded to binary16, sums are binary16 or binary32, and a result is an
//! element of binary16. Numbers are computed as fast as the machine can; their definition is that of `pimlico_units`.

use super::sizes::{BANKS, WORD};
use pimlico_units::arith::fast::{self, Level};
use pimlico_units::arith::{Binary16, Binary32, Fp};

/// A word of each bank.
pub type WordOfBanks = [[u16; WORD]; BANKS];

/// Format of sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PuSums {
    /// That of elements.
    #[default]
    Binary16,
    /// A wider one; results are rounded to binary16.
    Binary32,
}

impl PuSums {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary16 => "binary16",
            Self::Binary32 => "binary32",
        }
    }
}

/// The PUs of all banks.
#[derive(Clone, Debug)]
pub struct ChannelPus {
    level: Level,
    format: PuSums,
    narrow: [u16; BANKS],
    wide: [f32; BANKS],
}

impl ChannelPus {
    /// PUs whose sums are zero.
    pub fn new(format: PuSums) -> Self {
        Self { level: Level::best(), format, narrow: [0; BANKS], wide: [0.0; BANKS] }
    }

    /// A dot product of a word in each bank is added to its sum, or begins it.
    pub fn dot(&mut self, first: bool, rows: &WordOfBanks, factors: &[u16; WORD]) {
        let mut products = [[0; WORD]; BANKS];
        let factors = [*factors; BANKS];
        let (rows, factors) = (rows.as_flattened(), factors.as_flattened());
        fast::mul::<Binary16>(self.level, rows, factors, products.as_flattened_mut());
        match self.format {
            PuSums::Binary16 => self.add_narrow(first, products.as_flattened()),
            PuSums::Binary32 => self.add_wide(first, &products),
        }
    }

    /// The sums as elements.
    pub fn results(&self) -> [u16; BANKS] {
        match self.format {
            PuSums::Binary16 => self.narrow,
            PuSums::Binary32 => self.wide.map(narrow),
        }
    }

    fn add_narrow(&mut self, first: bool, products: &[u16]) {
        let (mut eight, mut four, mut two, mut one) =
            ([0; 8 * BANKS], [0; 4 * BANKS], [0; 2 * BANKS], [0; BANKS]);
        fast::add_neighbours::<Binary16>(self.level, products, &mut eight);
        fast::add_neighbours::<Binary16>(self.level, &eight, &mut four);
        fast::add_neighbours::<Binary16>(self.level, &four, &mut two);
        fast::add_neighbours::<Binary16>(self.level, &two, &mut one);
        let before = if first { [0; BANKS] } else { self.narrow };
        fast::add::<Binary16>(self.level, &one, &before, &mut self.narrow);
    }

    fn add_wide(&mut self, first: bool, products: &[[u16; WORD]; BANKS]) {
        for (sum, products) in self.wide.iter_mut().zip(products) {
            let mut terms = products.map(widen);
            let mut left = WORD;
            while left > 1 {
                left /= 2;
                for n in 0..left {
                    terms[n] = terms[2 * n] + terms[2 * n + 1];
                }
            }
            *sum = terms[0] + if first { 0.0 } else { *sum };
        }
    }
}

/// An element as a term of wide sums.
pub fn widen(bits: u16) -> f32 {
    f32::from_bits(Fp::<Binary16>::from_bits(bits.into()).widen::<Binary32>().to_bits())
}

/// A wide sum as an element.
pub fn narrow(sum: f32) -> u16 {
    Fp::<Binary32>::from_bits(sum.to_bits()).narrow::<Binary16>().to_bits() as u16
}
