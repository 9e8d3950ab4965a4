// SPDX-License-Identifier: MIT
//! Predictors of L3's scheduler (section 5.3): what a sub-batch takes on the GPU and on the ranks, learned from what others took.
//!
//! ```text
//! T_GPU = forest(sum c, sum c f, sum c^2, chunks) + forest(sum c, len f_d)     attention of prompts, everything else
//! T_PIM = linear(sum f_d, len f_d, sum c of the other sub-batch)
//! ```
//!
//! `c` are tokens of chunks, `f` tokens of the prompt before a chunk, `f_d` contexts of decoding requests. The features of `T_PIM`
//! are those of the paper's eq. (5): sums, which do not say how many tokens the busiest rankset has, for which a layer waits.
//! [`Features::Busiest`] has that. The other features, sizes and training are decided here. A model is trained when it has
//! [`EVERY`] samples, and again whenever it has as many more, on the last [`LAST`] of them; until then the cost itself is taken.
//!
//! * [`forest`]: a random forest.
//! * [`linear`]: least squares.

pub mod forest;
pub mod linear;

use crate::replica::{Chunk, Decoding};
use forest::Forest;
use linear::Linear;
use serde::Serialize;

/// Samples until a model is trained, and from then until it is trained again.
pub const EVERY: u64 = 200;
/// Samples that a model is trained on, at the most.
pub const LAST: usize = 1000;

/// What was seen: features, and the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation<const N: usize> {
    /// The features.
    pub features: [f64; N],
    /// The value, which is positive.
    pub value: f64,
}

impl<const N: usize> Default for Observation<N> {
    fn default() -> Self {
        Self { features: [0.0; N], value: 1.0 }
    }
}

impl<const N: usize> Observation<N> {
    /// How much it counts: relative errors of all samples count alike.
    pub fn weight(&self) -> f64 {
        1.0 / (self.value * self.value)
    }
}

/// Features of chunks of prompts, for their attention.
pub fn of_prompts(chunks: &[Chunk]) -> [f64; 4] {
    chunks.iter().fold([0.0; 4], |[c, cf, cc, count], chunk| {
        let (tokens, finished) = (chunk.tokens as f64, chunk.finished as f64);
        [c + tokens, cf + tokens * finished, cc + tokens * tokens, count + 1.0]
    })
}

/// Features of a sub-batch of so many decoding requests, for its matrices.
pub fn of_batch(decoding: usize, chunks: &[Chunk]) -> [f64; 2] {
    [chunks.iter().map(|chunk| chunk.tokens as f64).sum(), decoding as f64]
}

/// Features of decoding requests beside the other sub-batch's chunks, for their attention.
pub fn of_decoding(decoding: &[Decoding], others: &[Chunk]) -> [f64; 3] {
    let contexts = decoding.iter().map(|of| of.context as f64).sum();
    let tokens = others.iter().map(|chunk| chunk.tokens as f64).sum();
    [contexts, decoding.len() as f64, tokens]
}

/// Features of the same that say which rankset is waited for: tokens and requests of the one with most tokens, the most requests of
/// one, and tokens of prompts for each of the ranksets that they go to.
pub fn of_busiest(decoding: &[Decoding], others: &[Chunk]) -> [f64; 4] {
    let sets = decoding.iter().map(|of| of.class).chain(others.iter().map(|of| of.class));
    let mut of_sets = vec![(0u64, 0u64, 0u64); sets.max().map_or(0, |most| most as usize + 1)];
    for of in decoding {
        let set = &mut of_sets[of.class as usize];
        *set = (set.0 + of.context, set.1 + 1, set.2);
    }
    others.iter().for_each(|chunk| of_sets[chunk.class as usize].2 += chunk.tokens);
    let (tokens, requests, _) = of_sets.iter().max().copied().unwrap_or_default();
    let most = of_sets.iter().map(|set| set.1).max().unwrap_or(0);
    let with_prompts = of_sets.iter().filter(|set| set.2 > 0).count().max(1) as f64;
    let of_prompts = of_sets.iter().map(|set| set.2).sum::<u64>() as f64;
    [tokens as f64, requests as f64, most as f64, of_prompts / with_prompts]
}

/// Something that is trained on samples.
pub trait Model<const N: usize> {
    /// Trained on samples, which are some.
    fn trained(samples: &[Observation<N>]) -> Self;
    /// The value that is expected.
    fn value(&self, features: &[f64; N]) -> f64;
}

impl<const N: usize> Model<N> for Forest<N> {
    fn trained(samples: &[Observation<N>]) -> Self {
        Self::grown(samples, 1)
    }

    fn value(&self, features: &[f64; N]) -> f64 {
        Self::value(self, features)
    }
}

impl<const N: usize> Model<N> for Linear<N> {
    fn trained(samples: &[Observation<N>]) -> Self {
        Self::fitted(samples)
    }

    fn value(&self, features: &[f64; N]) -> f64 {
        Self::value(self, features)
    }
}

/// Mean of the relative errors `|y - y'| / y` of a model on samples.
pub fn relative_error<const N: usize>(model: &impl Model<N>, samples: &[Observation<N>]) -> f64 {
    let off = |sample: &Observation<N>| {
        (model.value(&sample.features) - sample.value).abs() / sample.value
    };
    samples.iter().map(off).sum::<f64>() / samples.len().max(1) as f64
}

/// A model that is trained as a run goes on.
#[derive(Clone, Debug)]
pub struct Learned<M, const N: usize> {
    /// The last samples: behind [`LAST`] of them the oldest is written over.
    samples: Vec<Observation<N>>,
    seen: u64,
    model: Option<M>,
    /// Relative errors of what was predicted, and how many.
    errors: (f64, u64),
}

impl<M: Model<N>, const N: usize> Default for Learned<M, N> {
    fn default() -> Self {
        Self { samples: Vec::new(), seen: 0, model: None, errors: (0.0, 0) }
    }
}

impl<M: Model<N>, const N: usize> Learned<M, N> {
    /// The model, once it is trained.
    pub fn model(&self) -> Option<&M> {
        self.model.as_ref()
    }

    /// The last samples.
    pub fn samples(&self) -> &[Observation<N>] {
        &self.samples
    }

    /// The value that is expected, once the model is trained.
    pub fn value(&self, features: &[f64; N]) -> Option<u64> {
        // A line may be below 0 far from its samples.
        self.model.as_ref().map(|model| model.value(features).max(0.0).round() as u64)
    }

    /// Something was seen, of a positive value.
    pub fn see(&mut self, features: [f64; N], value: u64) {
        if value == 0 {
            return;
        }
        let sample = Observation { features, value: value as f64 };
        if let Some(model) = &self.model {
            let off = (model.value(&features) - sample.value).abs() / sample.value;
            self.errors = (self.errors.0 + off, self.errors.1 + 1);
        }
        match self.samples.len() < LAST {
            true => self.samples.push(sample),
            false => self.samples[(self.seen % LAST as u64) as usize] = sample,
        }
        self.seen += 1;
        if self.seen.is_multiple_of(EVERY) {
            self.model = Some(M::trained(&self.samples));
        }
    }

    /// What became of the predictions.
    fn outcome(&self) -> Predicted {
        let (sum, count) = self.errors;
        let relative_error = (count > 0).then(|| sum / count as f64);
        Predicted { samples: self.seen, relative_error }
    }
}

/// What became of a model's predictions in a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// What was seen.
    pub samples: u64,
    /// Mean of the relative errors of what was predicted; none where nothing was.
    pub relative_error: Option<f64>,
}

/// By what the attention of decoding requests is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Features {
    /// Sums over the requests: the paper's.
    #[default]
    Sums,
    /// What the busiest rankset has.
    Busiest,
}

/// The models of the scheduler.
#[derive(Clone, Debug, Default)]
pub struct Predictor {
    /// By which of the two for decoding requests the scheduler goes; both are trained.
    pub features: Features,
    /// Attention of prompts on the GPU.
    pub prompts: Learned<Forest<4>, 4>,
    /// Everything else there.
    pub batch: Learned<Forest<2>, 2>,
    /// Attention of decoding requests, with what it waits for.
    pub decoding: Learned<Linear<3>, 3>,
    /// The same by what the busiest rankset has.
    pub busiest: Learned<Linear<4>, 4>,
}

/// What became of their predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PredictorOutcome {
    /// Attention of prompts.
    pub prompts: Predicted,
    /// Matrices of a sub-batch.
    pub batch: Predicted,
    /// Attention of decoding requests.
    pub decoding: Predicted,
    /// The same by what the busiest rankset has.
    pub busiest: Predicted,
}

impl Predictor {
    /// Models that have seen nothing.
    pub fn new(features: Features) -> Self {
        Self { features, ..Self::default() }
    }

    /// What became of the predictions.
    pub fn outcome(&self) -> PredictorOutcome {
        let Self { prompts, batch, decoding, busiest, .. } = self;
        PredictorOutcome {
            prompts: prompts.outcome(),
            batch: batch.outcome(),
            decoding: decoding.outcome(),
            busiest: busiest.outcome(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_sums_over_requests() {
        let chunk = |tokens, finished| Chunk { tokens, finished, class: 0 };
        let chunks = [chunk(10, 0), chunk(3, 100)];
        assert_eq!(of_prompts(&chunks), [13.0, 300.0, 109.0, 2.0]);
        assert_eq!(of_batch(5, &chunks), [13.0, 5.0]);
        let decoding = [Decoding::new(7, 0), Decoding::new(9, 1)];
        assert_eq!(of_decoding(&decoding, &chunks), [16.0, 2.0, 13.0]);
    }

    #[test]
    fn the_busiest_rankset_is_that_with_most_tokens() {
        let chunk = |tokens, class| Chunk { tokens, finished: 0, class };
        let decoding = [(700, 2), (400, 0), (500, 0), (1, 3), (2, 3), (3, 3)];
        let decoding = decoding.map(|(context, class)| Decoding::new(context, class));
        // Rankset 0 has 900 tokens of two requests, and three are in rankset 3; prompts go to two.
        let features = of_busiest(&decoding, &[chunk(30, 1), chunk(20, 2), chunk(10, 1)]);
        assert_eq!(features, [900.0, 2.0, 3.0, 30.0]);
        assert_eq!(of_busiest(&[], &[]), [0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_model_is_trained_on_the_last_samples() {
        let mut learned = Learned::<Linear<1>, 1>::default();
        for number in 0..EVERY {
            assert_eq!(learned.value(&[2.0]), None);
            learned.see([number as f64], 100 + 10 * number);
        }
        assert_eq!((learned.value(&[2.0]), learned.value(&[-100.0])), (Some(120), Some(0)));
        learned.see([0.0], 0);
        assert_eq!(learned.outcome(), Predicted { samples: EVERY, relative_error: None });
        // What is seen changes: the model follows once the old samples are gone.
        for number in 0..LAST as u64 {
            learned.see([number as f64], 100 + 20 * number);
        }
        assert_eq!((learned.value(&[2.0]), learned.samples().len()), (Some(140), LAST));
        assert!(learned.outcome().relative_error.is_some_and(|error| error > 0.01));
    }
}
