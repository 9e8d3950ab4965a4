// SPDX-License-Identifier: MIT
//! A module of AiM channels: every bit against the contract's order of summation, every slot and every
//! command judged.

use half::f16;
use pimlico_device::aim::{AimHead, AimLayout, AimMapping, AimOptions, Order, Pu};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{BusDriver, Config, PinWatch, Statistics};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_golden::dot::{dot, dot_in_parts};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_golden::{real, softmax};
use pimlico_host::aim::AimHost;
use pimlico_model::data::Operands;
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_model::{Model, presets};
use pimlico_workload::aim::attention;
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::fc;
use pimlico_workload::io_buffers::{self, Study, gains};
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::layer::{DecoderReport, LayerJob};
use pimlico_workload::operator;
use pimlico_workload::system;
use pimlico_workload::task::SILENT;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

const P: Precision = Precision::uniform(Format::BINARY16, Subnormals::Gradual);
const TILE: usize = 1024;

fn module(options: AimOptions) -> AimHost {
    AimHost::engine(&Config::gddr6_aim(), options)
}

fn run(module: &mut AimHost, operands: &Operands) -> (Vec<u16>, Statistics) {
    let (rows, columns) = (operands.matrix.len(), operands.vector.len());
    let layout = AimLayout::new(module.config(), &module.options(), rows, columns, 0);
    let layout = layout.expect("it fits");
    module.hold(&[layout]).expect("there are rows");
    for group in 0..layout.groups() {
        let first = group * layout.pus();
        let mut writes = layout.writes(group, |row, column| operands.matrix[first + row][column]);
        module.write(&mut writes).expect("models alone");
    }
    module.product(&layout, &operands.vector).expect("models alone")
}

/// An output: in parts where there are several groups.
fn expected(options: &AimOptions, operands: &Operands, row: usize) -> u16 {
    let (row, vector) = (&operands.matrix[row], &operands.vector);
    if options.sums_stay(operands.matrix.len()) {
        dot(P, 16, row, vector)
    } else {
        dot_in_parts(P, 16, options.tile(), row, vector)
    }
}

fn check(options: AimOptions, rows: usize, columns: usize, seed: u64) -> Statistics {
    let operands = Operands::synthetic(rows, columns, seed);
    let mut module = module(options);
    let pins = PinLog::of_module(&mut module);
    let (outputs, statistics) = run(&mut module, &operands);
    assert_eq!(outputs.len(), rows);
    for (row, output) in outputs.into_iter().enumerate() {
        let expected = expected(&options, &operands, row);
        assert_eq!(output, expected, "row {row} of {rows} x {columns}, {options:?}");
    }
    assert_eq!(pins.violations(module.tck()), (0, vec![]), "{rows} x {columns}, {options:?}");

    let groups = rows.div_ceil(options.pus());
    assert_eq!(statistics.used, (groups * columns.div_ceil(16)) as u64);
    let tck = 2 * statistics.used + statistics.lost_tck.total();
    assert!((0..2).contains(&(tck - statistics.cycles)), "{statistics:?}");
    let slots = statistics.used + statistics.lost_slots(2).total();
    assert_eq!(slots, statistics.cycles.div_ceil(2), "{statistics:?}");
    let tiles = columns.div_ceil(options.tile());
    let sums = if options.sums_stay(rows) { groups } else { groups * tiles };
    let again = options.mapping.order == Order::OutputStationary;
    let fillings = if again { groups } else { 1 };
    let count = |command: PinCommand| statistics.commands[command as usize];
    assert_eq!(count(PinCommand::WrShared), (fillings * columns.div_ceil(16)) as u64);
    assert_eq!(count(PinCommand::RdResult), sums as u64);
    statistics
}

fn shapes() -> impl Strategy<Value = (AimOptions, usize, usize, u64)> {
    let order = prop_oneof![Just(Order::InputStationary), Just(Order::OutputStationary)];
    let mapping = (order, prop_oneof![Just(64usize), 1..=64usize]);
    let mapping = mapping.prop_map(|(order, tile_words)| AimMapping {
        order,
        tile_words,
        k_row_tokens: None,
    });
    let pu_clocks = prop_oneof![Just(Pu::LATENCY), 1..=Pu::LATENCY];
    let options = (1..=4usize, any::<[bool; 3]>(), mapping, pu_clocks);
    let options =
        options.prop_map(|(channels, [single, refresh, mode_change], mapping, clocks)| {
            let io_buffers = if single { IoBuffers::Single } else { IoBuffers::PingPong };
            let options = AimOptions { mapping, pu_clocks: clocks, ..AimOptions::default() };
            AimOptions { channels, io_buffers, refresh, mode_change, ..options }
        });
    // Few rows of many elements, or many of few.
    let matrix = prop_oneof![(1..=40usize, 1..=5000usize), (1..=400usize, 1..=300usize)];
    (options, matrix, any::<u64>()).prop_map(|(o, (rows, columns), seed)| (o, rows, columns, seed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_bit_is_what_the_order_of_summation_gives((options, rows, columns, seed) in shapes()) {
        check(options, rows, columns, seed);
    }

    #[test]
    fn ping_pong_is_never_slower((options, rows, columns, seed) in shapes()) {
        // Without refresh, of which one may meet one REF more than the other.
        let cycles = |io_buffers| {
            let options = AimOptions { io_buffers, refresh: false, ..options };
            check(options, rows, columns, seed).cycles
        };
        let (ping_pong, single) = (cycles(IoBuffers::PingPong), cycles(IoBuffers::Single));
        prop_assert!(ping_pong <= single, "{ping_pong} {single}");
    }
}

#[test]
fn edges_of_groups_and_tiles() {
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let options = AimOptions { channels: 1, io_buffers, ..AimOptions::default() };
        for (rows, columns) in
            [(1, 1), (16, 1024), (17, 1024), (16, 1025), (17, 1025), (33, 2048), (64, 16), (100, 3)]
        {
            check(options, rows, columns, 1);
        }
    }
}

#[test]
fn a_program_may_be_longer_than_the_command_buffer() {
    let mapping =
        AimMapping { order: Order::OutputStationary, tile_words: 1, ..AimMapping::default() };
    let options = AimOptions { channels: 1, mapping, ..AimOptions::default() };
    // A WR_SHARED and a MAC for each of 2 x 3200 tiles.
    check(options, 32, 51_200, 1);
}

#[test]
fn attention_is_scores_weights_and_context() {
    let scale_of = |head_dim: usize| f16::from_f64(1.0 / (head_dim as f64).sqrt()).to_f64();
    for (channels, head_dim, context, io_buffers) in [
        (1, 128, 1500, IoBuffers::PingPong),
        (1, 20, 33, IoBuffers::Single),
        (2, 64, 1025, IoBuffers::Single),
        (3, 100, 16, IoBuffers::PingPong),
        (1, 1, 1, IoBuffers::PingPong),
    ] {
        let options = AimOptions { channels, io_buffers, ..AimOptions::default() };
        let mut module = module(options);
        let pins = PinLog::of_module(&mut module);
        let distribution = Distribution::Random;
        let head = Head::synthetic(HeadShape { head_dim, context, group: 2, distribution }, 7, 0);
        let layout = AimHead::new(module.config(), &options, head_dim, context, 3);
        let layout = layout.expect("it fits");
        attention::load(&mut module, &layout, &head).expect("models alone");
        for query in &head.queries {
            let result = attention::run_query(&mut module, &layout, query).expect("models alone");
            for (k, score) in head.k.iter().zip(&result.score.values) {
                assert_eq!(*score, dot(P, 16, k, query));
            }
            // Weights within what one exponential may be off, and its roundings.
            let scale = scale_of(head_dim);
            let scaled = |score: &u16| f16::from_f64(f16::from_bits(*score).to_f64() * scale);
            let scaled: Vec<f64> =
                result.score.values.iter().map(|score| scaled(score).to_f64()).collect();
            let exact = real::softmax(&scaled);
            let bounds = softmax::weight_bounds(P.elements, P.subnormals, &scaled, 0.888);
            for ((weight, exact), bound) in result.softmax.values.iter().zip(exact).zip(bounds) {
                let weight = f16::from_bits(*weight).to_f64();
                assert!((weight - exact).abs() <= bound, "{weight} {exact} {bound}");
            }
            for (element, got) in result.context.values.iter().enumerate() {
                let column: Vec<u16> = head.v.iter().map(|v| v[element]).collect();
                let weights = &result.softmax.values;
                let expected = if head_dim <= options.pus() {
                    dot(P, 16, &column, weights)
                } else {
                    dot_in_parts(P, 16, TILE, &column, weights)
                };
                assert_eq!(*got, expected, "element {element} of {head_dim}, {options:?}");
            }
            // Two passes, a score in each clock of 2 tCK.
            let chunks = context.next_multiple_of(16) as u64;
            let cycles = result.softmax.statistics.cycles;
            assert!((4 * chunks..4 * chunks + 1000).contains(&cycles), "{cycles}");
        }
        assert_eq!(pins.violations(module.tck()), (0, vec![]));
    }
}

#[test]
fn a_batch_of_heads_is_reported() {
    let job = AttentionJob {
        model: "llama".to_owned(),
        head_dim: 64,
        heads: 3,
        group: 2,
        contexts: vec![100, 300],
        distribution: Distribution::Random,
        seed: 1,
    };
    let options = AimOptions { channels: 2, ..AimOptions::default() };
    let report = operator::on_module(&mut module(options), &job).expect("it fits");
    let names: Vec<_> = report.operators.iter().map(|operator| operator.operator).collect();
    assert_eq!(names, ["score", "softmax", "context"]);
    assert_eq!(report.operators[0].macs, 3 * 400 * 64);
    let exact = report.operators[0].exact.expect("it is compared");
    assert_eq!((exact.outputs, exact.checked, exact.differing), (3 * 400, 3 * 400, 0));
    let exact = report.operators[2].exact.expect("it is compared");
    assert_eq!((exact.outputs, exact.differing), (3 * 2 * 64, 0));
    // Columns of 32 bytes: four to a key, 7 and 19 to a row of the values.
    let bytes = 2 * (400 * 4 + 64 * (7 + 19)) * 32;
    assert_eq!((report.pin_violations, report.load.bytes), (0, bytes));
    assert_eq!(report.total.peak_gb_per_s, 1024.0);
}

/// A small decoder layer.
fn layer(context: usize) -> LayerJob {
    LayerJob {
        model: "small".to_owned(),
        shape: Model {
            layers: 3,
            heads: 4,
            kv_heads: Some(2),
            head_dim: 32,
            hidden: 128,
            ffn: 100,
            gated: false,
            vocab: 300,
        },
        layers: 2,
        context,
        distribution: Distribution::Random,
        io_buffers: IoBuffers::Single,
        seed: 3,
    }
}

#[test]
fn a_decoder_layer_runs_from_end_to_end() {
    let options = AimOptions { channels: 2, ..AimOptions::default() };
    let report = operator::on_module(&mut module(options), &layer(70)).expect("it fits");
    let names: Vec<_> = report.operators.iter().map(|operator| operator.operator).collect();
    let expected = ["qkv", "append", "score", "softmax", "context", "projection", "ffn1", "ffn2"];
    assert_eq!(names, expected);
    for operator in report.operators.iter().filter(|operator| operator.operator != "append") {
        let exact = operator.exact.expect("it is compared");
        assert_eq!((exact.differing, exact.checked), (0, exact.outputs), "{}", operator.operator);
    }
    assert_eq!(report.pin_violations, 0);
    let decoder = report.of::<DecoderReport>().expect("it is a layer");
    assert_eq!(decoder.io_buffers, "ping-pong", "the module's, whatever the operator asks for");
    assert_eq!(decoder.roll_up.model.cycles, 3 * report.total.cycles);
    assert!(decoder.roll_up.token.fits);
}

#[test]
fn heads_that_are_alike_cost_as_much() {
    let options = AimOptions { channels: 2, refresh: false, ..AimOptions::default() };
    let [all, sample] = [false, true].map(|timing_only| {
        let mut module = module(options);
        let mut system =
            system::Module::new(std::slice::from_mut(&mut module)).timing_only(timing_only);
        let report = operator::execute(&layer(130), &mut system, SILENT);
        report.expect("it fits")
    });
    // Where a step begins in the EPU's clock of four tCK depends on what ran before.
    assert!(all.load.cycles.abs_diff(sample.load.cycles) < 4, "{:?} {:?}", all.load, sample.load);
    for (all, sample) in all.operators.iter().zip(&sample.operators) {
        assert_eq!(all.commands, sample.commands, "{}", all.operator);
        if let (Some(all), Some(sample)) = (all.exact, sample.exact) {
            assert_eq!((sample.outputs, sample.checked), (all.outputs, 0));
        }
        assert!(all.cycles.abs_diff(sample.cycles) < 4, "{}", all.operator);
    }
    let note = "timing only: 1 of 2 heads were run";
    assert!(sample.notes.iter().any(|text| text.starts_with(note)), "{:?}", sample.notes);
    assert!(all.notes.iter().all(|text| !text.contains("timing only")));
}

#[test]
fn a_layer_has_its_operators() {
    let model = Model {
        layers: 1,
        heads: 4,
        kv_heads: Some(2),
        head_dim: 16,
        hidden: 64,
        ffn: 100,
        gated: true,
        vocab: 300,
    };
    let job = fc::FcJob::new("small", &model, 2, true, 1);
    let options = AimOptions { channels: 1, ..AimOptions::default() };
    let report = operator::on_module(&mut module(options), &job).expect("it fits");
    let macs: Vec<_> = report.operators.iter().map(|o| (o.operator, o.macs)).collect();
    assert_eq!(
        macs,
        [
            ("qkv", 64 * 64),
            ("projection", 64 * 32),
            ("ffn1", 100 * 64),
            ("ffn2", 64 * 50),
            ("lm_head", 150 * 64)
        ]
    );
    for operator in &report.operators {
        let exact = operator.exact.expect("it is compared");
        assert!(exact.differing == 0 && exact.checked == exact.outputs);
        assert!(operator.error.max_relative > 0.0 && operator.error.max_relative < 0.02);
    }
    let cycles: u64 = report.operators.iter().map(|operator| operator.cycles).sum();
    assert_eq!(report.total.cycles, cycles);
}

#[test]
fn ping_pong_buffers_hide_operands_and_results() {
    let of_mode = |mode_change, io_buffers, rows, columns| {
        let (channels, refresh) = (1, false);
        let options =
            AimOptions { channels, io_buffers, refresh, mode_change, ..AimOptions::default() };
        check(options, rows, columns, 1)
    };
    let cost = |io_buffers, rows, columns| of_mode(false, io_buffers, rows, columns);
    // Sums of eight columns, as of keys of 128 elements: the banks wait for none of the results.
    let (ping_pong, single) =
        (cost(IoBuffers::PingPong, 640, 128), cost(IoBuffers::Single, 640, 128));
    assert_eq!((ping_pong.lost_tck.io, ping_pong.lost_tck.bubble), (0, 0));
    // Each of 40 but the last: the result is there 28 cycles behind its column, so that RD_RESULT is 55 tCK
    // behind it, in a second slot; the next column is asked for a tCK later, and comes two cycles behind that: 60
    // tCK from column to column, of which it has 2.
    assert_eq!(single.lost_tck.io, 39 * 58);
    // With a mode to change, the next column is 93 tCK behind it, in a first slot: 5 tCK of data, one for the command,
    // 32 of change. The row of every eighth is opened within that, or in its own time.
    let with_modes = of_mode(true, IoBuffers::Single, 640, 128);
    assert_eq!(with_modes.lost_tck.io, 39 * 92);
    // One group over four tiles: words of a tile take 128 tCK, less than the columns with their row.
    let (ping_pong, single) =
        (cost(IoBuffers::PingPong, 16, 4096), cost(IoBuffers::Single, 16, 4096));
    assert_eq!((ping_pong.lost_tck.io, ping_pong.lost_tck.bubble), (0, 0));
    let per_tile = single.lost_tck.io as f64 / 3.0;
    assert!((120.0..140.0).contains(&per_tile), "{per_tile}");
}

/// Within two points of LoL-PIM's figure 7 a, with mode changes and a token of K in a DRAM row of each bank. FFN2 is left
/// out: the last tile of a module's share is short here.
#[test]
fn lol_pims_gains_come_out() {
    let (_, assumptions) =
        gains::sets().into_iter().find(|(name, _)| *name == gains::PAPERS).expect("it");
    let study = Study {
        config: Config::gddr6_aim(),
        model: "qwen1.5-7b".to_owned(),
        shapes: presets().remove("qwen1.5-7b").expect("a preset"),
        contexts: vec![16_384],
        channels: 16,
        tp: vec![8],
        refresh: false,
        seed: 1,
        assumptions,
    };
    let comparison = io_buffers::compare(&study, 2, |_| {}).expect("it fits");
    for row in comparison.rows.iter().filter(|row| row.operator != "ffn2") {
        let off = row.reduction_percent - row.paper_percent;
        assert!(off.abs() < 2.0, "{}: {}", row.operator, row.reduction_percent);
        for side in [&row.single, &row.ping_pong] {
            assert_eq!((side.pin_violations, side.differing), (0, 0), "{}", row.operator);
        }
    }
}

/// Without the PU's pipeline, the tCK of SK hynix' open AiM simulator, on one channel: a row period of 286.
#[test]
fn mode_changes_cost_what_the_aim_simulator_has() {
    let options = AimOptions {
        channels: 1,
        io_buffers: IoBuffers::Single,
        refresh: false,
        pu_clocks: 1,
        ..AimOptions::default()
    };
    for (rows, columns, simulator, ours) in
        [(16, 1024, 414, 418), (1024, 1024, 18_432, 18_436), (4096, 4096, 293_376, 293_402)]
    {
        let cycles = check(options, rows, columns, 1).cycles;
        let off = (cycles as f64 / f64::from(simulator) - 1.0).abs();
        assert!(off < 0.01, "{rows} x {columns}: {cycles}, not {simulator}");
        assert_eq!(cycles, ours, "{rows} x {columns}");
    }
}

/// RD_RESULTs and the data of chips, as they were on the pins.
#[derive(Clone, Default)]
struct Results(Rc<RefCell<[Vec<u64>; 2]>>);

impl PinWatch for Results {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        if pins.command == PinCommand::RdResult {
            self.0.borrow_mut()[0].push(at_tck);
        }
    }

    fn data(&mut self, from_tck: u64, _: u64, driver: BusDriver) {
        if driver == BusDriver::Chips {
            self.0.borrow_mut()[1].push(from_tck);
        }
    }
}

/// Results come from a register: CL_REG behind RD_RESULT, whatever the CL of the arrays is. The public AiM simulator has 0
/// there; here the register is read in the PUs' next clock and has an output register.
#[test]
fn results_wait_for_their_register_and_not_for_cl() {
    let operands = Operands::synthetic(40, 300, 1);
    for io_buffers in [IoBuffers::Single, IoBuffers::PingPong] {
        let [preset, slow] = [50, 80].map(|cl_tck| {
            let mut config = Config::gddr6_aim();
            config.timing.cl_tck = cl_tck;
            let options = AimOptions { channels: 1, io_buffers, ..AimOptions::default() };
            let mut module = AimHost::engine(&config, options);
            let results = Results::default();
            module.watch(Box::new(results.clone()));
            let (_, statistics) = run(&mut module, &operands);
            let [commands, data] = results.0.take();
            assert_eq!(commands.len(), 3, "a sum for each group of 16 rows");
            let of_register: Vec<_> = commands.iter().map(|tck| tck + 3).collect();
            assert_eq!(data, of_register);
            statistics.cycles
        });
        assert_eq!(preset, slow, "{io_buffers:?}");
    }
}

/// The sum of all layers, not each of them alone: eight rows each, four of matrices and two of each K and V head.
#[test]
fn layers_have_room_together_or_are_refused_with_their_rows() {
    let options = AimOptions { channels: 2, ..AimOptions::default() };
    let on = |layers| operator::on_module(&mut module(options), &LayerJob { layers, ..layer(70) });
    assert!(on(2048).is_ok());
    let error = on(2049).expect_err("a bank has 2048 times as many").to_string();
    let expected = "weights, K and V of 2049 layer(s) take 16392 rows of each bank of the module, a bank has 16384";
    assert_eq!(error, expected);
}

#[test]
fn what_crosses_the_link_is_in_the_account() {
    let options = AimOptions { channels: 2, ..AimOptions::default() };
    let report = operator::on_module(&mut module(options), &layer(70)).expect("it fits");
    let bytes: Vec<_> = report
        .operators
        .iter()
        .map(|of| of.link.as_ref().map(|link| (link.to_hub_bytes, link.to_host_bytes)))
        .collect();
    let of = |operands: u64, outputs: u64| Some((2 * operands, 2 * outputs));
    // Scores and weights stay in the hub.
    let heads = [of(4 * 32, 0), None, of(0, 4 * 32)];
    // K and V of two heads: whole columns of 32 bytes, of K with elements, and of V with an element for each of 16 tokens.
    let append = of(2 * (32 + 32 * 16), 0);
    let [qkv, projection, ffn1, ffn2] = [of(128, 256), of(128, 128), of(128, 100), of(100, 128)];
    assert_eq!(bytes, [qkv, append, heads[0], heads[1], heads[2], projection, ffn1, ffn2]);
    let load = report.load.link.as_ref().expect("the preset has one");
    assert_eq!((load.gb_per_s, load.to_hub_bytes), (64, report.load.bytes));
    assert_eq!(load.ns, report.load.bytes as f64 / 64.0);
    assert_eq!(load.bound_ns, load.ns.max(report.load.ns));
    assert!(report.notes.iter().any(|note| note.starts_with("the link of 64 GB/s")));
    // Without a link there is no account of it, and nothing else is other.
    let mut config = Config::gddr6_aim();
    config.link_gb_per_s = None;
    let mut endless = AimHost::engine(&config, options);
    let without = operator::on_module(&mut endless, &layer(70)).expect("it fits");
    assert!(without.load.link.is_none() && without.operators.iter().all(|of| of.link.is_none()));
    assert_eq!(without.total.cycles, report.total.cycles);
}

/// Query heads that share K and V: of two, the second opens as many rows as the first.
#[test]
fn rows_that_a_group_opens_again_are_counted() {
    let options = AimOptions { channels: 2, ..AimOptions::default() };
    let report = operator::on_module(&mut module(options), &layer(70)).expect("it fits");
    // Two K and V heads of two queries: a row of K and one of V.
    let note = "4 of 8 row activations of score and context would not be there";
    assert!(report.notes.iter().any(|text| text.contains(note)), "{:?}", report.notes);
    let mut alone = layer(70);
    alone.shape.kv_heads = None;
    let report = operator::on_module(&mut module(options), &alone).expect("it fits");
    assert!(report.notes.iter().all(|text| !text.contains("row activations")));
}
