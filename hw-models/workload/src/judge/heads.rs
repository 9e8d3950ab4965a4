// SPDX-License-Identifier: MIT
//! Attention of a head beside float64 of the same K, V and Q, stage by stage.

use crate::report::{Error, Stages};
use crate::results::{Attention, scale};
use half::f16;
use pimlico_device::Normalise;
use pimlico_golden::attention as golden;
use pimlico_golden::error::ErrorReport;
use pimlico_golden::format::Format;
use pimlico_model::data::Head;

/// Errors of each stage against float64 of what it was given, and of the whole.
pub fn errors(head: &Head, result: &Attention, normalise: Normalise) -> Stages {
    let queries: Vec<&[u16]> = head.queries.iter().map(Vec::as_slice).collect();
    errors_of(&queries, head, result, normalise)
}

/// The same of some of a head's queries, of which the results are.
pub fn errors_of(
    queries: &[&[u16]],
    head: &Head,
    result: &Attention,
    normalise: Normalise,
) -> Stages {
    let format = Format::BINARY16;
    let mut worst = Stages::default();
    for (n, &q) in queries.iter().enumerate() {
        let scale = scale(q.len());
        let (scores, weights, context) =
            (&result.scores[n], &result.weights[n], &result.context[n]);
        let exact = golden::attention(format, q, &head.k, &head.v, scale);
        let mut of_scores = golden::weights_from_scores(format, scores, scale);
        let from_scores = golden::weighted_sum(format, &of_scores, &head.v);
        let mut from_weights = golden::context_from_weights(format, weights, &head.v);
        if normalise == Normalise::Late {
            // What the weights are then: exponentials, the largest of them 1. Their sum divides.
            let largest = of_scores.iter().copied().fold(0.0, f64::max);
            of_scores.iter_mut().for_each(|weight| *weight /= largest);
            let sum: f64 = weights.iter().map(|&w| f16::from_bits(w).to_f64()).sum();
            from_weights.iter_mut().for_each(|element| *element /= sum);
        }
        let error =
            |got: &[u16], reference: &[f64]| Error::from(ErrorReport::new(format, got, reference));
        worst = worst.worse(Stages {
            score: error(scores, &exact.scores),
            softmax: error(weights, &of_scores),
            context: error(context, &from_weights),
            output_from_scores: error(context, &from_scores),
            output: error(context, &exact.context),
        });
    }
    worst
}
