// SPDX-License-Identifier: MIT
//! Several query heads on a module of AiM channels: lanes of the softmax unit, softmax beside other heads, and rows that
//! stay open for all queries of a K and V head. Whatever the time, the results are those of one query after the other.

use pimlico_device::aim::{AimHead, AimOptions, HUB_CHANNELS};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, Statistics};
use pimlico_dpa::types::PinCommand;
use pimlico_golden::dot::{dot, dot_in_parts};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_host::aim::{AimAttention, AimHost, HeadQuery};
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::Models;
use pimlico_units::module::AimHub;
use pimlico_workload::aim::attention;
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::operator;
use pimlico_workload::report::Report;

const P: Precision = Precision::uniform(Format::BINARY16, Subnormals::Gradual);
const TILE: usize = 1024;
const SCALE: u16 = 0x2DA8;

fn options(channels: usize) -> AimOptions {
    AimOptions { channels, refresh: false, ..AimOptions::default() }
}

fn data(head_dim: usize, context: usize, group: usize, number: usize) -> Head {
    let shape = HeadShape { head_dim, context, group, distribution: Distribution::Random };
    Head::synthetic(shape, 5, number)
}

/// A module with heads in its banks.
fn loaded(mut module: AimHost, heads: &[Head]) -> (AimHost, Vec<AimHead>, PinLog) {
    let pins = PinLog::of_module(&mut module);
    let mut row = 0;
    let layouts = heads.iter().map(|head| {
        let (head_dim, context) = (head.queries[0].len(), head.k.len());
        let layout = AimHead::new(module.config(), &module.options(), head_dim, context, row);
        let layout = layout.expect("it fits");
        row = layout.v.end_row();
        attention::load(&mut module, &layout, head).expect("models alone");
        layout
    });
    let layouts = layouts.collect();
    (module, layouts, pins)
}

fn engine(options: AimOptions, heads: &[Head]) -> (AimHost, Vec<AimHead>, PinLog) {
    loaded(AimHost::engine(&Config::gddr6_aim(), options), heads)
}

fn values(of: &AimAttention) -> [&[u16]; 3] {
    [&of.score.values, &of.softmax.values, &of.context.values]
}

fn cost(all: &[AimAttention]) -> Statistics {
    let steps = all.iter().flat_map(|of| [&of.score, &of.softmax, &of.context]);
    steps.fold(Statistics::default(), |all, step| all.and(step.statistics))
}

fn rows_opened(statistics: &Statistics) -> u64 {
    [PinCommand::Act, PinCommand::ActAll].map(|of| statistics.commands[of as usize]).iter().sum()
}

/// Every query of every head, one after the other.
fn one_after_the_other(options: AimOptions, heads: &[Head]) -> Vec<AimAttention> {
    let (mut module, layouts, pins) = engine(options, heads);
    let mut all = Vec::new();
    for (head, layout) in heads.iter().zip(&layouts) {
        for query in &head.queries {
            all.push(module.attention(layout, query, SCALE).expect("models alone"));
        }
    }
    assert_eq!(pins.violations(module.tck()), (0, vec![]));
    all
}

#[test]
fn lanes_take_no_part_in_the_weights() {
    for context in [1, 15, 16, 17, 40, 700] {
        let heads = [data(64, context, 1, 0)];
        let two = one_after_the_other(options(2), &heads);
        for softmax_lanes in [4, 8, 16] {
            let wide = one_after_the_other(AimOptions { softmax_lanes, ..options(2) }, &heads);
            assert_eq!(values(&wide[0]), values(&two[0]), "{softmax_lanes} lanes, {context}");
            // Two passes, a score of each lane in each clock of 4 tCK.
            let passes = (8 * context.next_multiple_of(16) / softmax_lanes) as u64;
            let cycles = wide[0].softmax.statistics.cycles;
            assert!((passes..passes + 1000).contains(&cycles), "{softmax_lanes}: {cycles}");
        }
    }
}

#[test]
fn softmax_beside_other_heads_changes_no_bit_and_takes_the_time_of_the_longer() {
    for (channels, io_buffers, softmax_lanes, contexts) in [
        (2, IoBuffers::PingPong, 2, vec![700, 700, 700]),
        (1, IoBuffers::Single, 16, vec![900, 33, 1100, 16]),
        (3, IoBuffers::PingPong, 4, vec![50]),
    ] {
        let heads: Vec<Head> =
            contexts.iter().enumerate().map(|(n, &context)| data(64, context, 2, n)).collect();
        let options = AimOptions { io_buffers, softmax_lanes, ..options(channels) };
        let alone = one_after_the_other(options, &heads);
        let (mut module, layouts, pins) = engine(options, &heads);
        let from_tck = module.tck();
        let queries = layouts.iter().zip(&heads).flat_map(|(&head, of)| {
            of.queries.iter().map(move |query| HeadQuery { head, query, scale: SCALE })
        });
        let queries: Vec<_> = queries.collect();
        let piped = module.piped_attention(&queries).expect("models alone");
        let tck = module.tck() - from_tck;
        assert_eq!(pins.violations(module.tck()), (0, vec![]));
        for (n, (piped, alone)) in piped.results.iter().zip(&alone).enumerate() {
            assert_eq!(values(piped), values(alone), "query {n} of {contexts:?}");
        }
        let alone_tck = |of: fn(&AimAttention) -> u64| alone.iter().map(of).sum::<u64>();
        let channels_tck =
            alone_tck(|of| of.score.statistics.cycles + of.context.statistics.cycles);
        let softmax_tck = alone_tck(|of| of.softmax.statistics.cycles);
        assert_eq!(cost(&piped.results).cycles, tck, "the costs are all that went by");
        // Runs begin at any phase of the EPU's clock.
        let phases = 8 * queries.len() as u64;
        assert!(
            tck + phases >= channels_tck.max(softmax_tck),
            "{tck} {channels_tck} {softmax_tck}"
        );
        assert!(piped.softmax_tck <= softmax_tck + phases, "{} {softmax_tck}", piped.softmax_tck);
        assert!(tck < channels_tck + softmax_tck, "{tck} {channels_tck} {softmax_tck}");
    }
}

#[test]
fn rows_open_once_for_all_queries_of_a_head() {
    for (channels, head_dim, context, group) in
        [(2, 128, 40, 4), (8, 128, 1500, 4), (1, 20, 33, 3), (1, 64, 2100, 8), (16, 128, 600, 2)]
    {
        for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
            let what =
                format!("{channels} channels, {head_dim} x {context}, {group} {io_buffers:?}");
            let options = AimOptions { io_buffers, shared_rows: true, ..options(channels) };
            let heads = [data(head_dim, context, group, 0)];
            let alone = one_after_the_other(options, &heads);
            let (mut module, layouts, pins) = engine(options, &heads);
            let queries: Vec<&[u16]> = heads[0].queries.iter().map(|query| &query[..]).collect();
            let all = module.shared_attention(&layouts[0], &queries, SCALE).expect("models alone");
            assert_eq!(pins.violations(module.tck()), (0, vec![]), "{what}");
            for (of, alone) in all.iter().zip(&alone) {
                assert_eq!(values(of)[..2], values(alone)[..2], "{what}");
                for (element, got) in of.context.values.iter().enumerate() {
                    let column: Vec<u16> = heads[0].v.iter().map(|v| v[element]).collect();
                    let weights = &of.softmax.values;
                    assert_eq!(*got, dot_in_parts(P, 16, TILE, &column, weights), "{what}");
                    if context <= TILE {
                        assert_eq!(*got, dot(P, 16, &column, weights), "{what}");
                    }
                }
            }
            let opened = rows_opened(&cost(&all));
            assert_eq!(opened, rows_opened(&cost(&alone[..1])), "{what}: as often as one query");
            assert_eq!(rows_opened(&cost(&alone)), group as u64 * opened, "{what}");
        }
    }
}

#[test]
fn the_hub_shares_rows_as_the_engine_does() {
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let options = AimOptions { io_buffers, shared_rows: true, ..options(HUB_CHANNELS) };
        let heads = [data(128, 200, 3, 0)];
        let config = Config::gddr6_aim();
        let hub = match io_buffers {
            IoBuffers::PingPong => {
                AimHost::hub(config.clone(), options, Box::new(Models::<AimHub<true>>::new(1)))
            }
            IoBuffers::Single => {
                AimHost::hub(config.clone(), options, Box::new(Models::<AimHub<false>>::new(1)))
            }
        };
        let queries: Vec<&[u16]> = heads[0].queries.iter().map(|query| &query[..]).collect();
        let run = |(mut module, layouts, pins): (AimHost, Vec<AimHead>, PinLog)| {
            let all = module.shared_attention(&layouts[0], &queries, SCALE).expect("it runs");
            assert_eq!(pins.violations(module.tck()), (0, vec![]), "{io_buffers:?}");
            all
        };
        let [engine, hub] =
            [engine(options, &heads), loaded(hub.expect("it fits"), &heads)].map(run);
        for (engine, hub) in engine.iter().zip(&hub) {
            assert_eq!(values(engine), values(hub), "{io_buffers:?}");
        }
        assert_eq!(cost(&engine).commands, cost(&hub).commands, "{io_buffers:?}");
    }
}

#[test]
fn what_the_hub_does_not_have_is_refused() {
    for (options, key) in [
        (AimOptions { softmax_lanes: 4, ..options(HUB_CHANNELS) }, "softmax_lanes = 4, expected 2"),
        (AimOptions { head_pipeline: true, ..options(HUB_CHANNELS) }, "head_pipeline = 1"),
    ] {
        let models = Box::new(Models::<AimHub<true>>::new(1));
        let refused = AimHost::hub(Config::gddr6_aim(), options, models).err();
        let message = refused.expect("the RTL has it not").to_string();
        assert!(message.contains(key), "{message}");
    }
}

fn report(options: AimOptions, group: usize, contexts: &[usize]) -> Report {
    let job = AttentionJob {
        model: "a model".to_owned(),
        head_dim: 64,
        heads: 2 * group - 1,
        group,
        contexts: contexts.to_vec(),
        distribution: Distribution::Random,
        seed: 3,
    };
    let mut module = AimHost::engine(&Config::gddr6_aim(), options);
    let report = operator::on_module(&mut module, &job).expect("it fits");
    assert_eq!(report.judged.wrong(), None);
    assert_eq!(report.violations(), None);
    report
}

#[test]
fn reports_of_both_are_judged_and_say_what_was_gained() {
    let contexts = [70, 1300];
    let off = report(options(2), 4, &contexts);
    let shared = report(AimOptions { shared_rows: true, ..options(2) }, 4, &contexts);
    assert!(off.notes.iter().any(|note| note.contains("row activations")));
    assert!(shared.notes.iter().all(|note| !note.contains("row activations")));
    assert!(shared.total.cycles < off.total.cycles);
    let piped = report(AimOptions { head_pipeline: true, ..options(2) }, 4, &contexts);
    assert!(piped.total.cycles < off.total.cycles);
    let note = format!("head pipeline: {} tCK, one after the other", piped.total.cycles);
    assert!(piped.notes.iter().any(|text| text.contains(&note)), "{note} {:?}", piped.notes);
}

#[test]
fn queries_without_room_are_refused() {
    let long = vec![120_000];
    let on_module = |options: AimOptions, group: usize, contexts: &[usize]| {
        let job = AttentionJob {
            model: "a model".to_owned(),
            head_dim: 128,
            heads: group,
            group,
            contexts: contexts.to_vec(),
            distribution: Distribution::Random,
            seed: 3,
        };
        let mut module = AimHost::engine(&Config::gddr6_aim(), options);
        operator::on_module(&mut module, &job).expect_err("no room").to_string()
    };
    let shared = AimOptions { shared_rows: true, ..options(16) };
    assert!(on_module(shared, 4, &long).contains("elements of the GPR"));
    assert!(on_module(shared, 9, &[40]).contains("the global buffers hold 8 at once"));
    let piped = AimOptions { head_pipeline: true, ..options(16) };
    assert!(on_module(piped, 1, &[140_000, 140_000]).contains("elements of the GPR"));
}
