// SPDX-License-Identifier: MIT
//! What took how long, of the steps of a prefill.

use crate::judge::prefill::Step;
use pimlico_stream::trace::Span;
use std::time::Duration;

/// What took how long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PrefillTimes {
    /// Copying all weights before the prompt is there, of [`PrefillPolicy::Duplicate`](super::PrefillPolicy::Duplicate).
    pub duplicate: Duration,
    /// From the prompt to the logits.
    pub to_first_token: Duration,
    /// Products with the matrices of layers.
    pub gemm: Duration,
    /// Copies, all of them.
    pub copy: Duration,
    /// Of these, beside a product.
    pub copy_under_gemm: Duration,
    /// Reading the embedding's rows, norms, attention, activation.
    pub between: Duration,
    /// The product with the language-model head.
    pub head: Duration,
}

impl PrefillTimes {
    /// The share of copies that goes beside products.
    pub fn hidden_share(&self) -> f64 {
        self.copy_under_gemm.as_secs_f64() / self.copy.as_secs_f64().max(1e-12)
    }
}

/// Copies and products as spans of time; the threads that copy are loader 0.
pub(super) fn spans(steps: &[(u64, Step)]) -> Vec<Span> {
    let (mut spans, mut copy, mut multiply) = (Vec::new(), None, None);
    for &(at_ns, step) in steps {
        let span = |loader, layer, slot| {
            Some(Span { loader, pass: 0, layer, slot, from_ns: at_ns, to_ns: at_ns })
        };
        let ended = match step {
            Step::CopyBegan { group, buffer, .. } => {
                copy = span(Some(0), group, buffer);
                None
            }
            Step::ProductBegan { group, buffer, .. } => {
                multiply = span(None, group, buffer.unwrap_or(0));
                None
            }
            Step::CopyEnded => copy.take(),
            Step::ProductEnded => multiply.take(),
        };
        spans.extend(ended.map(|span| Span { to_ns: at_ns, ..span }));
    }
    spans
}

/// Of spans the time of copies and products, and how much of it is both.
pub(super) fn times(spans: &[Span]) -> PrefillTimes {
    let (copies, products): (Vec<&Span>, Vec<_>) =
        spans.iter().partition(|span| span.loader.is_some());
    let all = |spans: &[&Span]| {
        Duration::from_nanos(spans.iter().map(|span| span.to_ns - span.from_ns).sum())
    };
    let mut both = 0;
    let mut first = 0;
    for copy in &copies {
        // Both lists are in the order of time.
        while products.get(first).is_some_and(|product| product.to_ns <= copy.from_ns) {
            first += 1;
        }
        for product in products[first..].iter().take_while(|p| p.from_ns < copy.to_ns) {
            both += product.to_ns.min(copy.to_ns).saturating_sub(product.from_ns.max(copy.from_ns));
        }
    }
    let copy_under_gemm = Duration::from_nanos(both);
    PrefillTimes { gemm: all(&products), copy: all(&copies), copy_under_gemm, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_beside_products_are_counted_once() {
        let copy = Step::CopyBegan { group: 0, buffer: 0, bytes: 1 };
        let multiply = |group| Step::ProductBegan { group, matrix: 0, buffer: Some(0) };
        let steps = [
            (0, copy),
            (40, Step::CopyEnded),
            (50, multiply(0)),
            (60, copy),
            (90, Step::ProductEnded),
            (110, Step::CopyEnded),
            (120, multiply(1)),
            (125, copy),
            (130, Step::CopyEnded),
            (150, Step::ProductEnded),
        ];
        let spans = spans(&steps);
        assert_eq!(
            spans.iter().map(|span| span.to_ns).collect::<Vec<_>>(),
            [40, 90, 110, 130, 150]
        );
        let found = times(&spans);
        let [copy, gemm, both] = [95, 70, 35].map(Duration::from_nanos);
        assert_eq!((found.copy, found.gemm, found.copy_under_gemm), (copy, gemm, both));
        assert!((found.hidden_share() - 35.0 / 95.0).abs() < 1e-12);
        assert_eq!(PrefillTimes::default().hidden_share(), 0.0);
    }
}
