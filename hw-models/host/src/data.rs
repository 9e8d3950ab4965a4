// SPDX-License-Identifier: MIT
//! Seeded synthetic data: what a head's K, V and Q look like after normalisation.

use half::f16;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// K, V and Q of one head, in binary16.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// For each token its K vector.
    pub k: Vec<Vec<u16>>,
    /// For each token its V vector.
    pub v: Vec<Vec<u16>>,
    /// The Q vector of the token that is being generated.
    pub q: Vec<u16>,
}

impl Head {
    /// Data of a head whose elements are normally distributed with variance 1, so that the scaled
    /// scores are as well. It follows from `seed` and the head's number.
    pub fn synthetic(head_dim: usize, context: usize, seed: u64, head: usize) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..head {
            random.jump();
        }
        let mut vector = || (0..head_dim).map(|_| normal(&mut random)).collect::<Vec<_>>();
        let q = vector();
        let (k, v) = (0..context).map(|_| (vector(), vector())).unzip();
        Self { k, v, q }
    }
}

fn normal(random: &mut Xoshiro256PlusPlus) -> u16 {
    let value: f64 = StandardNormal.sample(random);
    f16::from_f64(value).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_reproduces_its_data_and_heads_differ() {
        let head = |seed, head| Head::synthetic(64, 10, seed, head);
        assert_eq!(head(1, 3), head(1, 3));
        assert_ne!(head(1, 3), head(1, 2));
        assert_ne!(head(1, 3), head(2, 3));
    }
}
