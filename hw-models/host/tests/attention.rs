// SPDX-License-Identifier: MIT
//! Attention on the model of a rank: every bit against the contract's order of summation, every
//! cycle against arithmetic.

use half::f16;
use pimlico_device::{Config, Rank, RankUnits};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction;
use pimlico_host::attention::{self, Job};
use pimlico_host::data::Head;

const FORMAT: Format = Format::BINARY16;
const GRADUAL: Subnormals = Subnormals::Gradual;

fn rank() -> Rank {
    let config = Config::ddr4_3200();
    let units = RankUnits::models(&config);
    Rank::new(config, units)
}

#[test]
fn every_bit_is_what_the_order_of_summation_gives() {
    let mut rank = rank(); // one for all: nothing of an earlier head may be left
    for head_dim in [128, 64, 80, 96, 8, 33] {
        for context in [1, 3, 4, 15, 16, 17, 100, 513] {
            let head = Head::synthetic(head_dim, context, 7, context);
            let result = attention::run_head(&mut rank, &head).expect("it fits");
            for (token, k) in head.k.iter().enumerate() {
                let expected = reduction::score(FORMAT, GRADUAL, k, &head.q);
                assert_eq!(result.scores[token], expected, "token {token} of {context}");
            }
            let expected = reduction::context(FORMAT, GRADUAL, &head.v, &result.weights);
            assert_eq!(result.context, expected, "d_h {head_dim}, context {context}");
        }
    }
}

#[test]
fn cycles_are_those_of_the_design() {
    for (head_dim, bursts) in [(128u64, 4u64), (96, 3), (80, 3), (64, 2)] {
        for context in [1u64, 4, 5, 16, 17, 64, 2048, 2049] {
            let head = Head::synthetic(head_dim as usize, context as usize, 1, 0);
            let result = attention::run_head(&mut rank(), &head).expect("it fits");

            // Score: one RD for each burst of a chunk of 16 tokens. Before: the bursts of Q, 4 tCK
            // each, in whole slots of 8 tCK. After: 4 PU clocks through the bank PU, of which the
            // last RD's slot is one; 16 sums out of the banks; 4 tCK through the adder unit.
            let chunks = context.div_ceil(16);
            let fill = (bursts * 4).div_ceil(8) * 8;
            let statistics = result.score_statistics;
            assert_eq!(statistics.used, bursts * chunks);
            assert_eq!(statistics.lost.bubble, 0);
            assert_eq!(statistics.cycles, fill + 8 * bursts * chunks + 8 * 3 + 16 + 4);

            // Context: one RD for 4 tokens. Before: the slot in which the first weights arrive.
            // After: one more PU clock; 4 sums for each burst out of the 4 bank groups; 1 tCK
            // through the adder unit.
            let quads = context.div_ceil(4);
            let statistics = result.context_statistics;
            assert_eq!(statistics.used, quads);
            assert_eq!(statistics.lost.bubble, 0);
            assert_eq!(statistics.cycles, 8 + 8 * quads + 8 + bursts * 4 * 4 + 1);
        }
    }
}

#[test]
fn every_slot_is_used_or_lost() {
    for (head_dim, context) in [(128, 100), (64, 5), (32, 300), (8, 1)] {
        let head = Head::synthetic(head_dim, context, 1, 0);
        let result = attention::run_head(&mut rank(), &head).expect("it fits");
        for statistics in [result.score_statistics, result.context_statistics] {
            let slots = statistics.used + statistics.lost.total();
            assert_eq!(slots, statistics.cycles.div_ceil(8), "{statistics:?}");
        }
    }
}

#[test]
fn vectors_of_one_burst_drain_more_slowly_than_they_are_read() {
    let head = Head::synthetic(32, 160, 1, 0);
    let result = attention::run_head(&mut rank(), &head).expect("it fits");
    assert_eq!(result.score_statistics.used, 10);
    assert_eq!(result.score_statistics.lost.bubble, 9); // one between each two of ten chunks
}

#[test]
fn a_long_context_stays_close_to_float64() {
    let job = Job { model: "test".into(), head_dim: 128, heads: 2, context: 4096, seed: 3 };
    let report = attention::run(&mut rank(), &job, |_| {}).expect("it fits");
    let error = |name: &str| {
        let operator = report.operators.iter().find(|o| o.operator == name);
        operator.expect("it was run").error.max_relative
    };
    // A score is a sum of 128 products through 4 + 2 + 3 levels of additions, each rounded to 11
    // bits; a context element one of 1024 products in each of four accumulators.
    let half_ulp = 2f64.powi(-11);
    assert!(error("score") < 9.0 * half_ulp, "{}", error("score"));
    assert!(error("softmax") < half_ulp, "{}", error("softmax"));
    assert!(error("context") < 1024.0 * half_ulp, "{}", error("context"));
    assert!(report.total.error.max_relative > 0.0, "binary16 cannot be exact here");
}

#[test]
fn what_a_longer_head_left_behind_does_not_show() {
    let mut rank = rank();
    let mut poison = Head::synthetic(128, 64, 1, 0);
    poison.v.iter_mut().for_each(|row| row.fill(f16::NAN.to_bits()));
    attention::run_head(&mut rank, &poison).expect("it fits");
    let head = Head::synthetic(128, 5, 1, 1);
    let result = attention::run_head(&mut rank, &head).expect("it fits");
    assert!(result.context.iter().all(|bits| f16::from_bits(*bits).is_finite()));
}

#[test]
fn jobs_that_do_not_fit_are_refused() {
    for (head_dim, context, expected) in
        [(0, 1, "head dimension 0"), (129, 1, "head dimension 129"), (128, 0, "context of 0")]
    {
        let job = Job { model: "test".into(), head_dim, heads: 1, context, seed: 0 };
        let error = attention::run(&mut rank(), &job, |_| {}).expect_err("it does not fit");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
