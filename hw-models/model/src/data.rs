// SPDX-License-Identifier: MIT
//! Seeded synthetic data: what a head's K, V and Q look like after normalisation.

use crate::Vectors;
use crate::normal::Normal;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::Serialize;

/// K and V of one head, and the Q vectors of the query heads that share them, in binary16.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// For each token its K vector.
    pub k: Vectors,
    /// For each token its V vector.
    pub v: Vectors,
    /// For each query head the Q vector of the token that is being generated.
    pub queries: Vec<Vec<u16>>,
}

/// How the scores of a head are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Scaled scores have variance 1: weights are of one order of magnitude.
    #[default]
    Random,
    /// Scaled scores have variance 64: a few tokens have nearly all the weight.
    Peaked,
}

impl Distribution {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Peaked => "peaked",
        }
    }

    /// Standard deviation of an element of Q, where that of K and V is 1.
    fn of_query(self) -> f64 {
        match self {
            Self::Random => 1.0,
            Self::Peaked => 8.0,
        }
    }
}

/// What a head's data are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadShape {
    /// Elements of a vector.
    pub head_dim: usize,
    /// Tokens.
    pub context: usize,
    /// Query heads that share K and V.
    pub group: usize,
    /// How the scores are distributed.
    pub distribution: Distribution,
}

impl Head {
    /// Data of a head whose elements are normally distributed. It follows from `seed` and the head's
    /// number.
    pub fn synthetic(shape: HeadShape, seed: u64, head: usize) -> Self {
        let mut random = generator(seed);
        for _ in 0..head {
            random.jump();
        }
        let HeadShape { head_dim, context, group, distribution } = shape;
        let (of_query, unit) = (Normal::new(distribution.of_query()), Normal::unit());
        let queries = (0..group).map(|_| of_query.vector(&mut random, head_dim)).collect();
        let [mut k, mut v] = [(); 2].map(|()| Vectors::zeros(context, head_dim));
        for token in 0..context {
            unit.fill(&mut random, &mut k[token]);
            unit.fill(&mut random, &mut v[token]);
        }
        Self { k, v, queries }
    }

    /// A head of that shape without data: for each token of K and V a vector without elements, which is written as
    /// zeros.
    pub fn without_data(shape: HeadShape) -> Self {
        let HeadShape { head_dim, context, group, .. } = shape;
        let none = Vectors::zeros(context, 0);
        Self { k: none.clone(), v: none, queries: vec![vec![0; head_dim]; group] }
    }
}

/// The random generator of a seed.
pub fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// A matrix, row by row, and a vector, in binary16.
#[derive(Clone, Debug, PartialEq)]
pub struct Operands {
    /// Rows of the matrix.
    pub matrix: Vec<Vec<u16>>,
    /// The vector.
    pub vector: Vec<u16>,
}

impl Operands {
    /// Normally distributed, the outputs with variance 1.
    pub fn synthetic(rows: usize, columns: usize, seed: u64) -> Self {
        let (vector, matrix) = Self::one_by_one(columns, seed);
        Self { matrix: matrix.take(rows).collect(), vector }
    }

    /// The same: the vector, and as many rows as are taken.
    pub fn one_by_one(columns: usize, seed: u64) -> (Vec<u16>, impl Iterator<Item = Vec<u16>>) {
        let mut data = Synthetic::new(columns, seed);
        let vector = data.vector.clone();
        let row = move || {
            let mut row = vec![0; columns];
            data.next_row(&mut row);
            Some(row)
        };
        (vector, std::iter::from_fn(row))
    }
}

/// A synthetic matrix whose rows are made as they are wanted, and its vector: those of [`Operands`].
#[derive(Clone, Debug)]
pub struct Synthetic {
    vector: Vec<u16>,
    random: Xoshiro256PlusPlus,
    /// Of its elements.
    normal: Normal,
}

impl Synthetic {
    /// The whole matrix of a seed.
    pub fn new(columns: usize, seed: u64) -> Self {
        let mut random = generator(seed);
        let vector = Normal::unit().vector(&mut random, columns);
        Self { vector, random, normal: Normal::new(1.0 / (columns as f64).sqrt()) }
    }

    /// A block of rows, with the matrix's vector. Block 0 begins as the whole matrix does; the others have
    /// numbers of their own, so that they can be made side by side.
    pub fn block(columns: usize, seed: u64, block: usize) -> Self {
        let mut data = Self::new(columns, seed);
        // Seeds of heads are other jumps of the same generator, from its beginning; these are longer.
        (0..block).for_each(|_| data.random.long_jump());
        data
    }

    /// The vector.
    pub fn vector(&self) -> &[u16] {
        &self.vector
    }

    /// Makes the next row.
    pub fn next_row(&mut self, row: &mut [u16]) {
        self.normal.fill(&mut self.random, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_reproduces_its_data_and_heads_differ() {
        let shape =
            HeadShape { head_dim: 64, context: 10, group: 2, distribution: Distribution::Random };
        let head = |seed, head| Head::synthetic(shape, seed, head);
        assert_eq!(head(1, 3), head(1, 3));
        assert_ne!(head(1, 3), head(1, 2));
        assert_ne!(head(1, 3), head(2, 3));
    }
}
