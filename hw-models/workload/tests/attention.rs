// SPDX-License-Identifier: MIT
//! Attention on the model of a rank: every bit against the contract's order of summation, every
//! cycle against arithmetic.

use half::f16;
use pimlico_device::mapping::{self, HeadLayout, Place};
use pimlico_device::{
    Config, Device, Gear, Normalise, Options, Rank, SCORE_BUFFER, Statistics, SumFormat,
};
use pimlico_dpa::types::PinCommand;
use pimlico_golden::error::ErrorReport;
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_golden::{attention as golden, exact};
use pimlico_host::attached::Attached;
use pimlico_host::driver::KvRows;
use pimlico_host::kv_cache::{self, HostPort};
use pimlico_host::memory_controller::Transaction;
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_workload::attention::{AttentionJob, AttentionReport};
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::l3;
use pimlico_workload::l3::attention::Requests;
use pimlico_workload::operator;
use pimlico_workload::results;
use pimlico_workload::results::Attention;

const FORMAT: Format = Format::BINARY16;
const GRADUAL: Subnormals = Subnormals::Gradual;

fn rank_with(options: Options) -> Attached<Rank> {
    let config = Config::ddr4_3200();
    Attached::engine(&config, options).expect("an L3 rank")
}

/// A rank whose chips may open so many banks in a tFAW.
fn rank_of(faw_banks: u64, options: Options) -> Attached<Rank> {
    let mut config = Config::ddr4_3200();
    config.timing.faw_banks = faw_banks;
    Attached::engine(&config, options).expect("an L3 rank")
}

fn rank() -> Attached<Rank> {
    rank_with(Options::default())
}

fn head(head_dim: usize, context: usize, group: usize, seed: u64) -> Head {
    let shape = HeadShape { head_dim, context, group, distribution: Distribution::Random };
    Head::synthetic(shape, seed, 0)
}

/// Writes K and V, and computes; returns what that cost too.
fn run_head(rank: &mut Attached<Rank>, head: &Head) -> (Statistics, Attention) {
    let (head_dim, context) = (head.queries[0].len(), head.k.len());
    let layout = HeadLayout::new(rank.config(), head_dim, context, 0).expect("it fits");
    let mut host = HostPort::new().expect("an image");
    let (_, load) = host.transfer(rank, kv_cache::writes(&layout, head)).expect("places");
    (load, l3::attention::run_head(rank, &layout, &head.queries).expect("a model alone"))
}

/// The combinations of normalisation and sums.
fn numerics() -> impl Iterator<Item = Options> {
    [Normalise::Early, Normalise::Late].into_iter().flat_map(|normalise| {
        [SumFormat::Binary16, SumFormat::Binary32].map(|sums| Options {
            normalise,
            sums,
            ..Options::default()
        })
    })
}

#[test]
fn every_bit_is_what_the_order_of_summation_gives() {
    for options in numerics() {
        let mut rank = rank_with(options); // one for all: nothing of an earlier head may be left
        let sums = match options.sums {
            SumFormat::Binary16 => Format::BINARY16,
            SumFormat::Binary32 => Format::BINARY32,
        };
        let precision = Precision { elements: FORMAT, subnormals: GRADUAL, sums };
        let shapes = [(128, 513, 1), (64, 100, 1), (80, 17, 1), (96, 16, 1), (8, 15, 1)];
        let shapes = shapes.into_iter().chain([(33, 3, 1), (128, 1, 1), (128, 4, 1)]);
        for (head_dim, context, group) in
            shapes.chain([(256, 600, 1), (160, 530, 2), (64, 1100, 3), (128, 40, 8), (256, 70, 8)])
        {
            let head = head(head_dim, context, group, context as u64);
            let (_, result) = run_head(&mut rank, &head);
            for n in 0..group {
                for (token, k) in head.k.iter().enumerate() {
                    let expected = precision.score(k, &head.queries[n]);
                    assert_eq!(result.scores[n][token], expected, "token {token} of {context}");
                }
                // A row of V has 512 tokens; more sums than one take turns in it.
                let one_sum = group == 1 && head_dim <= 128;
                let tokens = if one_sum { context } else { 512 };
                let expected =
                    precision.context_in_parts(&head.v.slices(), &result.weights[n], tokens);
                let got = &result.context[n];
                assert_eq!(got.len(), head_dim);
                if options.normalise == Normalise::Early {
                    let expected: Vec<_> =
                        expected.iter().map(|sum| precision.element(*sum) as u16).collect();
                    assert_eq!(*got, expected, "d_h {head_dim}, context {context}, {options:?}");
                } else {
                    assert_normalised(got, &expected, sums, &head, &result, n);
                }
            }
        }
    }
}

/// The context of late normalisation: sums times the reciprocal of the sum of the exponentials. That
/// sum is known here but for the factors by which the unit makes up for a maximum that rises: each is
/// an exponential, off by up to 0.888 ULP. The reciprocal has 14 significant bits, of a sum of 17.
fn assert_normalised(
    got: &[u16],
    sums: &[u32],
    format: Format,
    head: &Head,
    result: &Attention,
    n: usize,
) {
    let sum: f64 = result.weights[n].iter().map(|&e| f16::from_bits(e).to_f64()).sum();
    let mut largest = f64::NEG_INFINITY;
    let mut rises = 0;
    for chunk in result.scores[n].chunks(16) {
        let of_chunk = chunk.iter().map(|&s| f16::from_bits(s).to_f64()).fold(largest, f64::max);
        rises += i32::from(of_chunk > largest);
        largest = of_chunk;
    }
    for (&got, &expected) in got.iter().zip(sums) {
        let expected = exact::to_f64(format, expected) / sum;
        let got = f16::from_bits(got).to_f64();
        let half_ulp = (expected.abs() * 2f64.powi(-11)).max(2f64.powi(-25));
        let of_sum = expected.abs() * 0.888 * 2f64.powi(-10) * f64::from(rises - 1);
        let of_reciprocal = expected.abs() * (2f64.powi(-14) + 2f64.powi(-16));
        let context = head.k.len();
        assert!(
            (got - expected).abs() <= 1.01 * (half_ulp + of_sum + of_reciprocal),
            "{context}: {got} {expected}"
        );
    }
}

/// What opening another row costs beyond the slot of the last RD: tRTP + tRP + tRCD - tCCD_L.
const ROW_SWITCH_TCK: u64 = 12 + 22 + 22 - 8;

#[test]
fn slots_are_those_of_the_design() {
    for (head_dim, bursts) in [(256u64, 8u64), (128, 4), (96, 3), (80, 3), (64, 2)] {
        for context in [1u64, 4, 5, 16, 17, 64, 2048, 2049] {
            let head = head(head_dim as usize, context as usize, 1, 1);
            let mut rank = rank_with(Options { refresh: false, ..Options::default() });
            let (_, result) = run_head(&mut rank, &head);

            // Score: an RD for each burst of a chunk of 16 tokens; context: an RD for four tokens of
            // each part of V. A row holds 128 columns.
            let (chunks, quads) = (context.div_ceil(16), context.div_ceil(4));
            let parts = bursts.div_ceil(4);
            let rows = chunks.div_ceil(128 / bursts) + parts * quads.div_ceil(128);
            let Statistics { used, lost_tck, commands, .. } = result.statistics;
            assert_eq!(used, bursts * chunks + parts * quads);
            assert_eq!(commands[PinCommand::ActAll as usize], rows);
            assert_eq!(lost_tck.refresh, 0);
            // The first row of K opens at once, that of V when that of K has been closed. Where V has
            // two parts, their results come between.
            if parts == 1 {
                assert_eq!(lost_tck.row_switch, 3 * 22 + (rows - 2) * ROW_SWITCH_TCK, "{context}");
                assert_eq!(lost_tck.bubble, 0, "{context}");
            }
            // Operands in and results out do not take longer for a longer context.
            assert!(lost_tck.fill_drain < 600, "{lost_tck:?}");
        }
    }
}

#[test]
fn there_is_no_bubble_in_the_steady_state() {
    for head_dim in [128, 64] {
        let bubble = |context, options| {
            let head = head(head_dim, context, 1, 2);
            run_head(&mut rank_with(options), &head).1.statistics.lost_tck.bubble
        };
        for context in [64, 100, 700, 4096, 16 * 1024] {
            for options in numerics() {
                for gear in [Gear::One, Gear::Two] {
                    let options = Options { gear, refresh: false, ..options };
                    assert_eq!(bubble(context, options), 0, "{head_dim} {context} {gear:?}");
                }
            }
        }
        assert_eq!(bubble(128 * 1024, Options::default()), 0, "{head_dim}");
    }
}

/// In the last row each head has eight MACs, 64 tCK. From the last of them to the last of the next head at least
/// 88 tCK pass: two slots until the results are there, three cycles to the first RD_RESULT, 15 more of 4 tCK, and three
/// cycles to the MAC. Besides, eight WR_WEIGHTS are on the data bus, and it turns round from and to them.
#[test]
fn short_last_rows_of_several_heads_lose_what_their_results_take() {
    let mut rank = rank_with(Options { refresh: false, ..Options::default() });
    let (_, result) = run_head(&mut rank, &head(128, 512 + 32, 8, 3));
    let bubble = result.statistics.lost_tck.bubble;
    let beyond = 7 * (88 - 64);
    assert!((beyond..beyond + 7 * 3 * 4).contains(&bubble), "{bubble}");
}

#[test]
fn a_long_context_has_nine_tenths_of_the_bandwidth() {
    let job = AttentionJob { contexts: vec![16 * 1024], ..job(128, 1) };
    let report = operator::on_rank(&mut rank(), &job).expect("it fits");
    let share = report.total.read_share();
    assert_eq!(report.total.peak_gb_per_s, 204.8);
    assert!((0.90..0.95).contains(&share), "{share}");
    assert_eq!(report.pin_violations, 0);
}

#[test]
fn heads_that_share_keys_and_values_share_their_rows() {
    let alone = run_head(&mut rank(), &head(128, 1024, 1, 3)).1.statistics;
    let shared = run_head(&mut rank(), &head(128, 1024, 4, 3)).1.statistics;
    let acts = PinCommand::ActAll as usize;
    assert_eq!(shared.used, 4 * alone.used);
    assert_eq!(shared.commands[acts], alone.commands[acts]);
}

#[test]
fn heads_at_once_and_one_by_one_have_the_same_scores_and_weights() {
    let head = head(64, 700, 8, 4);
    let (_, all) = run_head(&mut rank(), &head);
    for n in 0..8 {
        let single = Head { queries: vec![head.queries[n].clone()], ..head.clone() };
        let (_, one) = run_head(&mut rank(), &single);
        assert_eq!((&one.scores[0], &one.weights[0]), (&all.scores[n], &all.weights[n]));
    }
}

#[test]
fn every_slot_is_used_or_lost() {
    for (head_dim, context) in [(128, 100), (64, 5), (32, 300), (8, 1), (128, 2000), (256, 100)] {
        let (_, result) = run_head(&mut rank(), &head(head_dim, context, 1, 1));
        let statistics = result.statistics;
        // The last slot may reach beyond the end.
        let tck = 8 * statistics.used + statistics.lost_tck.total();
        assert!((0..8).contains(&(tck - statistics.cycles)), "{statistics:?}");
        let slots = statistics.used + statistics.lost_slots(8).total();
        assert_eq!(slots, statistics.cycles.div_ceil(8), "{statistics:?}");
    }
}

#[test]
fn a_refresh_takes_the_slots_that_it_costs() {
    let head = head(128, 16 * 1024, 1, 1);
    let run = |refresh| {
        let mut rank = rank_with(Options { refresh, ..Options::default() });
        run_head(&mut rank, &head).1.statistics
    };
    let (with, without) = (run(true), run(false));
    // Each REF waits for a row switch, and costs tRFC.
    let refs = with.commands[PinCommand::Ref as usize];
    assert!((5..=6).contains(&refs), "{refs}");
    assert_eq!((with.lost_tck.refresh, without.lost_tck.refresh), (560 * refs, 0));
    assert!(with.cycles > without.cycles + 500 * refs, "{with:?} {without:?}");
}

#[test]
fn vectors_of_one_burst_drain_more_slowly_than_they_are_read() {
    let (_, result) = run_head(&mut rank(), &head(32, 160, 1, 1));
    // Between each two of ten chunks, of which one is read in 8 tCK and leaves in 16.
    assert_eq!(result.statistics.lost_tck.bubble, 9 * 8);
}

#[test]
fn no_timing_is_broken_and_refresh_keeps_up() {
    for faw_banks in [16, 8, 4] {
        for refresh in [true, false] {
            let mut rank = rank_of(faw_banks, Options { refresh, ..Options::default() });
            let pins = PinLog::of(&mut rank);
            let mut refs = 0;
            let shapes = [(128, 3000, 1), (64, 5000, 1), (80, 700, 2), (32, 600, 1), (128, 1, 8)];
            for (head_dim, context, group) in shapes {
                // A host of its own for each head: it takes the pins and leaves them again.
                let (load, result) = run_head(&mut rank, &head(head_dim, context, group, 1));
                for part in [load, result.statistics] {
                    refs += part.commands[PinCommand::Ref as usize];
                }
            }
            assert_eq!(pins.violations(rank.tck()), (0, vec![]), "{faw_banks} {refresh}");
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
fn fewer_banks_in_a_window_cost_slots_and_change_no_bit() {
    let head = head(128, 1024, 1, 1);
    let run = |faw_banks| {
        let options = Options { refresh: false, ..Options::default() };
        run_head(&mut rank_of(faw_banks, options), &head).1
    };
    let (all, halves, jedec) = (run(16), run(8), run(4));
    // There are two rows of K and two of V. Half of the banks open a tFAW later than the others; of sixteen
    // ACTs, four in a window, the last is three windows and three tRRD_S later than the first.
    let lost = |result: &Attention| result.statistics.lost_tck.row_switch;
    for (result, later) in [(&halves, 34), (&jedec, 3 * 34 + 3 * 4)] {
        assert_eq!(result.scores, all.scores);
        assert_eq!(result.context, all.context);
        assert_eq!(lost(result) - lost(&all), 4 * later);
    }
}

#[test]
fn what_does_not_fit_the_score_buffer_takes_further_passes() {
    let (head_dim, context) = (8, SCORE_BUFFER / 2 + 100);
    let long = head(head_dim, context, 2, 5);
    let mut rank = rank();
    let layout = HeadLayout::new(rank.config(), head_dim, context, 0).expect("it fits");
    let mut host = HostPort::new().expect("an image");
    host.transfer(&mut rank, kv_cache::writes(&layout, &long)).expect("places");
    let scale = results::scale(head_dim);
    let rows = KvRows::adjacent(&layout).expect("rows that can be named");
    let mut requests = Requests::new(layout).expect("it fits");
    let result = requests.run_together(&mut rank, 0, &layout, &rows, &long.queries);
    let result = result.expect("a model alone");
    // For each head: all scores, the columns of V, and the scores of the last 100 tokens again.
    let reads = context.div_ceil(16) + context.div_ceil(4) + 100usize.div_ceil(16);
    assert_eq!(result.statistics.used, 2 * reads as u64);
    for n in 0..2 {
        let (scores, weights) = (&result.scores[n], &result.weights[n]);
        let expected = golden::weights_from_scores(FORMAT, scores, scale);
        let error = ErrorReport::new(FORMAT, weights, &expected);
        assert!(error.max_relative < 2e-3, "{error:?}");
        // The banks' sums end with a row of 512 tokens, and with a pass.
        let precision = Precision::uniform(FORMAT, GRADUAL);
        let expected = precision.context_in_parts(&long.v.slices(), weights, 512);
        let expected: Vec<_> = expected.into_iter().map(|sum| sum as u16).collect();
        assert_eq!(result.context[n], expected);
    }
    // A head by itself fits in one pass.
    let alone =
        l3::attention::run_head(&mut rank, &layout, &long.queries[..1]).expect("a model alone");
    assert_eq!(alone.weights[0], result.weights[0]);
    assert_eq!(alone.statistics.used, (context.div_ceil(16) + context.div_ceil(4)) as u64);
}

#[test]
fn special_scores_come_out_as_softmax_in_real_numbers() {
    const INFINITY: u16 = 0x7C00;
    const NEGATIVE: u16 = 0xFC00;
    const NAN: u16 = 0x7E00;
    // K of one element in tokens 0 to 99; Q is 1 there, so that the score is that element.
    let with = |tokens: &[usize], value: u16| {
        let mut special = head(64, 100, 1, 6);
        special.queries[0].iter_mut().for_each(|q| *q = 0x3C00);
        for &token in tokens {
            special.k[token].fill(0);
            special.k[token][0] = value;
        }
        special
    };
    let all: Vec<usize> = (0..100).collect();
    let first_chunk: Vec<usize> = (0..16).collect();
    for options in numerics() {
        for (tokens, value) in [
            (&[40][..], INFINITY),
            (&[0], NAN),
            (&[99], NAN),
            (&[7], NEGATIVE),
            (&first_chunk, NEGATIVE), // a chunk that counts for nothing
            (&all, NEGATIVE),
            (&all, INFINITY),
        ] {
            let special = with(tokens, value);
            let (_, result) = run_head(&mut rank_with(options), &special);
            let exact = golden::attention(
                FORMAT,
                &special.queries[0],
                &special.k.slices(),
                &special.v.slices(),
                results::scale(64),
            );
            for (got, exact) in result.context[0].iter().zip(&exact.context) {
                let got = f16::from_bits(*got).to_f64();
                if exact.is_nan() {
                    assert!(got.is_nan(), "{value:04x} {options:?}: {got}");
                } else {
                    assert!((got - exact).abs() < 0.02, "{value:04x} {options:?}: {got} {exact}");
                }
            }
        }
    }
}

#[test]
fn keys_and_values_come_back_as_they_were_written() {
    let config = Config::ddr4_3200();
    let (head_dim, context) = (80, 333);
    let head = head(head_dim, context, 1, 11);
    let layout = HeadLayout::new(&config, head_dim, context, 0).expect("it fits");
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
    for (token, (k, v)) in head.k.iter().zip(head.v.iter()).enumerate() {
        for burst in 0..layout.bursts() {
            for (vector, place) in [(k, layout.k(token, burst)), (v, layout.v(token, burst))] {
                let Place { bank, row, column } = place;
                assert_eq!(
                    rank.dimm().dram().read(bank, row, column),
                    mapping::burst_of(vector, burst)
                );
            }
        }
    }
}

fn job(head_dim: usize, heads: usize) -> AttentionJob {
    AttentionJob {
        model: "test".into(),
        head_dim,
        heads,
        group: 1,
        contexts: vec![4096],
        distribution: Distribution::Random,
        seed: 3,
    }
}

#[test]
fn a_long_context_stays_close_to_float64() {
    let report = operator::on_rank(&mut rank(), &job(128, 2)).expect("it fits");
    let half_ulp = 2f64.powi(-11);
    // A score is a sum of 128 products through 4 + 2 + 3 levels of additions, each rounded to 11
    // bits; a context element one of 1024 products in each of four accumulators. A weight takes the
    // roundings of scale, scaled score and difference, each half a unit at up to 8, and three more.
    let stages = report.of::<AttentionReport>().expect("attention").stages;
    assert!(stages.score.max_relative < 9.0 * half_ulp, "{stages:?}");
    assert!(stages.softmax.max_relative < (3.0 * 8.0 + 3.0) * half_ulp, "{stages:?}");
    assert!(stages.context.max_relative < 1024.0 * half_ulp, "{stages:?}");
    assert!(stages.output.max_relative > 0.0, "binary16 cannot be exact here");
}

#[test]
fn late_normalisation_and_wide_sums_are_ten_times_closer() {
    let error = |normalise, sums| {
        let mut rank = rank_with(Options { normalise, sums, ..Options::default() });
        let job = AttentionJob { contexts: vec![16 * 1024], ..job(128, 1) };
        let report = operator::on_rank(&mut rank, &job).expect("it fits");
        report.of::<AttentionReport>().expect("attention").stages.output_from_scores.max_relative
    };
    let paper = error(Normalise::Early, SumFormat::Binary16);
    let ours = error(Normalise::Late, SumFormat::Binary32);
    assert!(10.0 * ours < paper, "{ours} {paper}");
}

#[test]
fn what_a_longer_head_left_behind_does_not_show() {
    let mut rank = rank();
    let mut poison = head(128, 64, 1, 1);
    (0..poison.v.len()).for_each(|token| poison.v[token].fill(f16::NAN.to_bits()));
    run_head(&mut rank, &poison);
    let (_, result) = run_head(&mut rank, &head(128, 5, 1, 2));
    assert!(result.context[0].iter().all(|bits| f16::from_bits(*bits).is_finite()));
}

#[test]
fn requests_of_a_batch_lie_side_by_side() {
    let contexts = vec![100, 2000, 1, 515];
    let job = AttentionJob { contexts: contexts.clone(), group: 2, ..job(64, 3) };
    let mut rank = rank();
    let layouts = l3::attention::layouts(rank.config(), 64, &contexts).expect("they fit");
    assert!(layouts.windows(2).all(|pair| pair[0].end_row() <= pair[1].k(0, 0).row));
    let report = operator::on_rank(&mut rank, &job).expect("it fits");
    assert_eq!(report.pin_violations, 0);
    // Three heads: two of one K and V, one of another.
    let reads = |context: u64| 2 * context.div_ceil(16) + context.div_ceil(4);
    let expected: u64 = contexts.iter().map(|&context| 3 * reads(context as u64)).sum();
    assert_eq!(report.operators[0].slots.used, expected);
    let error = report.operators[0].error;
    assert!(error.max_relative < 0.02, "{error:?}");
}

#[test]
fn jobs_that_do_not_fit_are_refused() {
    for (head_dim, context, expected) in
        [(0, 1, "head dimension 0"), (257, 1, "head dimension 257"), (128, 0, "context of 0")]
    {
        let job = AttentionJob { contexts: vec![context], ..job(head_dim, 1) };
        let error = operator::on_rank(&mut rank(), &job).expect_err("it does not fit");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
