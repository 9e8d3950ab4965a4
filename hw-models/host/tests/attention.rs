// SPDX-License-Identifier: MIT
//! Attention on the model of a rank: every bit against the contract's order of summation, every
//! cycle against arithmetic.

use half::f16;
use pimlico_device::mapping::{self, HeadLayout, Place};
use pimlico_device::{Activation, Config, DramCommand, Options, Rank, RankUnits};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction;
use pimlico_host::attention::{self, HeadResult, Job};
use pimlico_host::data::Head;
use pimlico_host::kv_cache::{self, HostPort};
use pimlico_host::memory_controller::Transaction;
use pimlico_host::pins::PinLog;

const FORMAT: Format = Format::BINARY16;
const GRADUAL: Subnormals = Subnormals::Gradual;

fn rank() -> Rank {
    rank_with(Options::default())
}

fn rank_with(options: Options) -> Rank {
    let config = Config::ddr4_3200();
    let units = RankUnits::models(&config);
    Rank::new(config, units, options)
}

/// Runs a head on a rank that has just been reset or ran others before.
fn run_head(rank: &mut Rank, head: &Head) -> HeadResult {
    attention::run_head(rank, &mut HostPort::new().expect("an image"), head).expect("it fits")
}

#[test]
fn every_bit_is_what_the_order_of_summation_gives() {
    let mut rank = rank(); // one for all: nothing of an earlier head may be left
    for head_dim in [128, 64, 80, 96, 8, 33] {
        for context in [1, 3, 4, 15, 16, 17, 100, 513] {
            let head = Head::synthetic(head_dim, context, 7, context);
            let result = run_head(&mut rank, &head);
            for (token, k) in head.k.iter().enumerate() {
                let expected = reduction::score(FORMAT, GRADUAL, k, &head.q);
                assert_eq!(result.scores[token], expected, "token {token} of {context}");
            }
            let expected = reduction::context(FORMAT, GRADUAL, &head.v, &result.weights);
            assert_eq!(result.context, expected, "d_h {head_dim}, context {context}");
        }
    }
}

/// What opening another row costs beyond the slot of the last RD: tRTP + tRP + tRCD - tCCD_L.
const ROW_SWITCH_TCK: u64 = 12 + 22 + 22 - 8;

#[test]
fn slots_are_those_of_the_design() {
    for (head_dim, bursts) in [(128u64, 4u64), (96, 3), (80, 3), (64, 2)] {
        for context in [1u64, 4, 5, 16, 17, 64, 2048, 2049] {
            let head = Head::synthetic(head_dim as usize, context as usize, 1, 0);
            let mut rank = rank_with(Options { refresh: false, ..Options::default() });
            let result = run_head(&mut rank, &head);

            // Score: an RD for each burst of a chunk of 16 tokens; a row holds 128 columns.
            let chunks = context.div_ceil(16);
            let rows = chunks.div_ceil(128 / bursts);
            let score = result.score_statistics;
            assert_eq!(score.used, bursts * chunks);
            assert_eq!(score.lost_tck.row_switch, 22 + (rows - 1) * ROW_SWITCH_TCK);
            assert_eq!((score.lost_tck.bubble, score.lost_tck.refresh), (0, 0));
            assert_eq!(score.commands[DramCommand::ActAll { row: 0 }.number()], rows);

            // Context: an RD for four tokens. Its first row closes that of the score before.
            let quads = context.div_ceil(4);
            let rows = quads.div_ceil(128);
            let context = result.context_statistics;
            assert_eq!(context.used, quads);
            let opening = 22 + 22;
            assert_eq!(context.lost_tck.row_switch, opening + (rows - 1) * ROW_SWITCH_TCK);
            assert_eq!((context.lost_tck.bubble, context.lost_tck.refresh), (0, 0));

            // Operands in and results out do not take longer for a longer context.
            assert!(score.lost_tck.fill_drain < 128, "{score:?}");
            assert!(context.lost_tck.fill_drain < 160, "{context:?}");
        }
    }
}

#[test]
fn every_slot_is_used_or_lost() {
    for (head_dim, context) in [(128, 100), (64, 5), (32, 300), (8, 1), (128, 2000)] {
        let head = Head::synthetic(head_dim, context, 1, 0);
        let result = run_head(&mut rank(), &head);
        for statistics in [result.score_statistics, result.context_statistics] {
            // The last slot may reach beyond the end.
            let tck = 8 * statistics.used + statistics.lost_tck.total();
            assert!((0..8).contains(&(tck - statistics.cycles)), "{statistics:?}");
            let slots = statistics.used + statistics.lost_slots(8).total();
            assert_eq!(slots, statistics.cycles.div_ceil(8), "{statistics:?}");
        }
    }
}

#[test]
fn vectors_of_one_burst_drain_more_slowly_than_they_are_read() {
    let head = Head::synthetic(32, 160, 1, 0);
    let result = run_head(&mut rank(), &head);
    assert_eq!(result.score_statistics.used, 10);
    // One slot between each two of ten chunks.
    assert_eq!(result.score_statistics.lost_tck.bubble, 9 * 8);
}

#[test]
fn no_timing_is_broken_and_refresh_keeps_up() {
    for activation in [Activation::AllBank, Activation::Staggered] {
        for refresh in [true, false] {
            let mut rank = rank_with(Options { activation, refresh });
            let pins = PinLog::of(&mut rank);
            let mut host = HostPort::new().expect("an image");
            let mut refs = 0;
            for (head_dim, context) in [(128, 3000), (64, 5000), (80, 700), (32, 600), (128, 1)] {
                let head = Head::synthetic(head_dim, context, 1, 0);
                let result = attention::run_head(&mut rank, &mut host, &head).expect("it fits");
                let HeadResult { load_statistics, score_statistics, context_statistics, .. } =
                    result;
                for part in [load_statistics, score_statistics, context_statistics] {
                    refs += part.commands[DramCommand::Ref.number()];
                }
            }
            assert_eq!(pins.violations(rank.tck()), (0, vec![]), "{activation:?} {refresh}");
            // The host refreshes on its side, whatever the rank PU does.
            let due = rank.tck() / 12480;
            if refresh {
                assert!((due..=due + 1).contains(&refs), "{refs} of {due}");
            } else {
                assert!(refs < due, "{refs} of {due}");
            }
        }
    }
}

#[test]
fn staggered_activation_costs_slots_and_changes_no_bit() {
    let head = Head::synthetic(128, 1024, 1, 0);
    let all_bank = run_head(&mut rank(), &head);
    let options = Options { activation: Activation::Staggered, ..Options::default() };
    let staggered = run_head(&mut rank_with(options), &head);
    assert_eq!(all_bank.scores, staggered.scores);
    assert_eq!(all_bank.context, staggered.context);
    let lost = |result: &HeadResult| result.score_statistics.lost_tck.row_switch;
    // Sixteen ACTs, four in a window of tFAW: three windows and three tRRD_S later than one.
    assert_eq!(lost(&staggered) - lost(&all_bank), 2 * (3 * 34 + 3 * 4));
}

#[test]
fn keys_and_values_come_back_as_they_were_written() {
    let config = Config::ddr4_3200();
    let (head_dim, context) = (80, 333);
    let head = Head::synthetic(head_dim, context, 11, 0);
    let layout = HeadLayout::new(&config, head_dim, context).expect("it fits");
    let mut rank = rank();
    let mut host = HostPort::new().expect("an image");
    host.transfer(&mut rank, kv_cache::writes(&layout, &head)).expect("places");
    let (read, _) = host.transfer(&mut rank, kv_cache::reads(&layout)).expect("places");
    let written: Vec<_> = kv_cache::writes(&layout, &head)
        .map(|transaction| match transaction {
            Transaction::Write(_, beats) => beats,
            Transaction::Read(_) => unreachable!("writes alone"),
        })
        .collect();
    assert_eq!(read, written);
    // In the banks they lie as the mapping says, whole elements in a chip.
    for (token, (k, v)) in head.k.iter().zip(&head.v).enumerate() {
        for burst in 0..layout.bursts() {
            for (vector, place) in [(k, layout.k(token, burst)), (v, layout.v(token, burst))] {
                let Place { bank, row, column } = place;
                assert_eq!(rank.dram().read(bank, row, column), mapping::burst_of(vector, burst));
            }
        }
    }
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
    run_head(&mut rank, &poison);
    let head = Head::synthetic(128, 5, 1, 1);
    let result = run_head(&mut rank, &head);
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
