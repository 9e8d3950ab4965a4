// SPDX-License-Identifier: MIT
//! What flushing subnormal numbers to zero loses: a head's attention with them kept and without.
//!
//! The device keeps them. So this is not a run of it but its arithmetic, operation by operation in the
//! order that the contract lays down, by `golden`; exponentials are those of the units. With subnormal
//! numbers kept every bit is the device's, which a test shows. Clocks do not depend on what is computed.

use crate::judge::heads;
use crate::l3::attention::AttentionError;
use crate::numerics::{self, NumericsRow};
use crate::results::{self, Attention, Summed};
use pimlico_device::{Config, Normalise, Options, SumFormat};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::{exact, reduction, softmax};
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_units::arith::{Binary16, Binary16Flush, Fp};

const FORMAT: Format = Format::BINARY16;

/// Runs a head of each context and distribution on the device, and computes it with subnormal numbers
/// flushed: a row for each, in this order. `progress` is called after each head.
pub fn compare(
    head_dim: usize,
    contexts: &[usize],
    seed: u64,
    progress: impl Fn() + Sync,
) -> Result<Vec<[NumericsRow; 2]>, AttentionError> {
    let kind = [(Normalise::Early, SumFormat::Binary16)];
    let rank = (Config::ddr4_3200(), Options::default());
    let told = |_, _| progress();
    let kept = numerics::compare_kinds(&rank, (head_dim, contexts), seed, &kind, 1, told)?;
    let mut rows = Vec::new();
    for row in kept {
        let distributions = [Distribution::Random, Distribution::Peaked];
        let of_name = |distribution: &Distribution| distribution.name() == row.distribution;
        let distribution = distributions.into_iter().find(of_name).unwrap_or_default();
        let shape = HeadShape { head_dim, context: row.context, group: 1, distribution };
        let head = Head::synthetic(shape, seed, 0);
        let result = attention(&head, Subnormals::Flush);
        let stages = heads::judge(&head, &result).stages;
        let flushed = NumericsRow { stages, ..row.clone() };
        rows.push([row, flushed]);
    }
    Ok(rows)
}

/// A head's attention in binary16, weights normalised early, as the rank computes it.
pub fn attention(head: &Head, subnormals: Subnormals) -> Attention {
    let mut result = Attention::default();
    for q in &head.queries {
        let score = |k: &[u16]| reduction::score(FORMAT, subnormals, k, q);
        let scores: Vec<u16> = head.k.iter().map(score).collect();
        let scale = results::scale(q.len());
        let scale = exact::from_f64(FORMAT, Subnormals::Gradual, scale);
        let scaled = |&score: &u16| exact::mul(FORMAT, subnormals, score.into(), scale);
        let weights = weights(&scores.iter().map(scaled).collect::<Vec<_>>(), subnormals);
        result.context.push(reduction::context(FORMAT, subnormals, &head.v.slices(), &weights));
        result.scores.push(scores);
        result.weights.push(weights);
        let (normalise, sums) = (Normalise::Early, SumFormat::Binary16);
        result.summed.push(Summed::Rank { normalise, sums, tokens: vec![usize::MAX] });
    }
    result
}

/// The weights of scaled scores.
fn weights(scaled: &[u32], subnormals: Subnormals) -> Vec<u16> {
    let exp_of = |x: u32, max: u32| {
        let difference = softmax::difference(FORMAT, subnormals, x, max);
        if x == FORMAT.infinity(true) { 0 } else { exp(difference, subnormals) }
    };
    let (mut max, mut sum) = (FORMAT.infinity(true), Some(0));
    for chunk in scaled.chunks(softmax::CHUNK) {
        let higher = softmax::maximum(FORMAT, subnormals, max, chunk);
        let exps: Vec<u32> = chunk.iter().map(|&x| exp_of(x, higher)).collect();
        let factor = exp_of(max, higher);
        let chunk_sum = softmax::chunk_sum(FORMAT, &exps);
        sum = softmax::combine(FORMAT, sum, factor, chunk_sum);
        max = higher;
    }
    let reciprocal = softmax::reciprocal(sum);
    let weight = |&x: &u32| softmax::weight(FORMAT, subnormals, exp_of(x, max), reciprocal) as u16;
    scaled.iter().map(weight).collect()
}

/// The unit's exponential.
fn exp(x: u32, subnormals: Subnormals) -> u32 {
    match subnormals {
        Subnormals::Gradual => Fp::<Binary16>::from_bits(x).exp().to_bits(),
        Subnormals::Flush => Fp::<Binary16Flush>::from_bits(x).exp().to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::l3::attention::run_head;
    use pimlico_device::mapping::HeadLayout;
    use pimlico_host::attached::Attached;
    use pimlico_host::kv_cache::{self, HostPort};

    fn head(context: usize, distribution: Distribution) -> Head {
        Head::synthetic(HeadShape { head_dim: 64, context, group: 1, distribution }, 7, 0)
    }

    #[test]
    fn with_subnormal_numbers_every_bit_is_the_devices() {
        let config = Config::ddr4_3200();
        for (context, distribution) in
            [(1, Distribution::Random), (100, Distribution::Peaked), (3000, Distribution::Random)]
        {
            let head = head(context, distribution);
            let options = Options::default();
            let mut rank = Attached::engine(&config, options).expect("an L3 rank");
            let layout = HeadLayout::new(&config, 64, context, 0).expect("it fits");
            let mut host = HostPort::new().expect("an SPD image");
            host.transfer(&mut rank, kv_cache::writes(&layout, &head)).expect("written");
            let on_device = run_head(&mut rank, &layout, &head.queries).expect("a run");
            let computed = attention(&head, Subnormals::Gradual);
            assert_eq!(computed.scores, on_device.scores, "{context}");
            assert_eq!(computed.weights, on_device.weights, "{context}");
            assert_eq!(computed.context, on_device.context, "{context}");
        }
    }

    #[test]
    fn flushed_weights_are_zero_or_normal() {
        // 3000 weights of variance 1: some are below 2^-14.
        let head = head(3000, Distribution::Random);
        let is_subnormal = |bits: &u16| *bits != 0 && *bits < 0x0400;
        let [kept, flushed] =
            [Subnormals::Gradual, Subnormals::Flush].map(|s| attention(&head, s).weights.remove(0));
        assert!(kept.iter().any(is_subnormal));
        assert!(!flushed.iter().any(is_subnormal));
        assert!(
            flushed.iter().filter(|&&w| w == 0).count()
                >= kept.iter().filter(|w| is_subnormal(w)).count() / 2
        );
    }
}
