// SPDX-License-Identifier: MIT
//! Which token comes next.

use pimlico_model::data;
use rand_distr::{Distribution, StandardUniform};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Chooses tokens by their logits.
pub struct Sampler {
    temperature: f64,
    random: Xoshiro256PlusPlus,
}

impl Sampler {
    /// At temperature 0 the largest logit is chosen; above it any token, by its chance.
    pub fn new(temperature: f64, seed: u64) -> Self {
        Self { temperature, random: data::generator(seed) }
    }

    /// The next number from 0 up to 1, for [`Sampler::choose`].
    pub fn draw(&mut self) -> f64 {
        StandardUniform.sample(&mut self.random)
    }

    /// The token that a number draws: the first of the largest logits, or at a temperature that token
    /// in whose part of the chances, one after the other, the number lies. A NaN is never chosen,
    /// unless it is the first of nothing else.
    ///
    /// # Panics
    ///
    /// If there is no logit.
    pub fn choose(&self, logits: &[f64], draw: f64) -> usize {
        assert!(!logits.is_empty(), "a token to choose");
        let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let largest = logits.iter().position(|&logit| logit == most).unwrap_or(0);
        if self.temperature <= 0.0 || !most.is_finite() {
            return largest;
        }
        let chance = |logit: f64| {
            let chance = ((logit - most) / self.temperature).exp();
            if chance.is_nan() { 0.0 } else { chance }
        };
        let mut left = draw * logits.iter().copied().map(chance).sum::<f64>();
        for (token, &logit) in logits.iter().enumerate() {
            left -= chance(logit);
            if left < 0.0 {
                return token;
            }
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_temperature_the_first_of_the_largest_is_chosen() {
        let sampler = Sampler::new(0.0, 1);
        assert_eq!(sampler.choose(&[1.0, 3.0, 3.0, f64::NAN], 0.9), 1);
        assert_eq!(sampler.choose(&[f64::NAN; 2], 0.9), 0);
        assert_eq!(sampler.choose(&[1.0, f64::INFINITY], 0.0), 1);
    }

    #[test]
    fn tokens_come_by_their_chances() {
        let mut sampler = Sampler::new(2.0, 1);
        let logits = [0.0, 2.0 * 3f64.ln(), f64::NAN, f64::NEG_INFINITY];
        let mut counts = [0; 4];
        for _ in 0..10_000 {
            let draw = sampler.draw();
            assert!((0.0..1.0).contains(&draw));
            counts[sampler.choose(&logits, draw)] += 1;
        }
        assert!((2_350..2_650).contains(&counts[0]), "{counts:?}"); // one to three
        assert_eq!(counts[2] + counts[3], 0);
    }
}
