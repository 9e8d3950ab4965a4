// SPDX-License-Identifier: MIT
//! The channels of a module in groups: the results of a module without them, or of one as large as a group, and the costs of
//! one group.

use pimlico_device::aim::{AimHead, AimLayout, AimOptions, GPR, HUB_CHANNELS, LayoutError};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, Statistics};
use pimlico_host::aim::{AimAttention, AimHost};
use pimlico_model::Model;
use pimlico_model::data::{Distribution, Head, HeadShape, Operands};
use pimlico_ports::Models;
use pimlico_units::module::AimHub;
use pimlico_workload::aim::{Groups, attention, in_part};
use pimlico_workload::attention::{AttentionJob, AttentionReport};
use pimlico_workload::channel_groups::{self, GroupStudy};
use pimlico_workload::error::WorkloadError;
use pimlico_workload::fc::FcJob;
use pimlico_workload::layer::LayerJob;
use pimlico_workload::operator::{Operator, execute};
use pimlico_workload::report::Report;
use pimlico_workload::system;
use pimlico_workload::task::SILENT;

fn options(channels: usize) -> AimOptions {
    AimOptions { channels, ..AimOptions::default() }
}

fn module(options: AimOptions) -> AimHost {
    AimHost::engine(&Config::gddr6_aim(), options)
}

/// Groups, which work as the options say.
fn engines(count: usize, options: AimOptions) -> Vec<AimHost> {
    (0..count).map(|_| module(options)).collect()
}

/// The same as models of the hub.
fn hubs(count: usize, options: AimOptions) -> Vec<AimHost> {
    let hub = || {
        let models = Box::new(Models::<AimHub>::new(1));
        AimHost::hub(Config::gddr6_aim(), options, models).expect("it fits")
    };
    std::iter::repeat_with(hub).take(count).collect()
}

fn run<O: Operator>(job: &O, devices: &mut [AimHost], timing_only: bool) -> Report {
    let mut system = system::Module::new(devices).timing_only(timing_only);
    execute(job, &mut system, SILENT).expect("it fits")
}

/// Writes a matrix and multiplies: the outputs, and what a group did.
fn product(devices: &mut [AimHost], operands: &Operands) -> (Vec<u16>, Statistics) {
    let mut groups = Groups::new(devices);
    let Operands { matrix, vector } = operands;
    let layout = groups.matrix(matrix.len(), vector.len(), 0).expect("it fits");
    groups.hold(&[layout]).expect("there are rows");
    let rows = groups.rows();
    for number in 0..layout.groups() {
        let element = |row: usize, column: usize| matrix.get(row).map_or(0, |row| row[column]);
        let written = groups.write(|group| {
            let first = rows.first(group, number);
            layout.writes(number, move |row, column| element(first + row, column))
        });
        written.expect("models alone");
    }
    let product = groups.product(&layout, matrix.len(), vector).expect("models alone");
    (product.0, product.1.of_group())
}

#[test]
fn a_product_has_the_bits_and_the_cost_of_a_module_without_groups() {
    for (channels, count) in [(4, 2), (4, 4), (6, 3), (2, 1)] {
        for (rows, columns) in [(1, 1), (40, 100), (64, 1025), (65, 1500), (300, 40), (129, 2100)] {
            let operands = Operands::synthetic(rows, columns, 5);
            let whole = product(&mut engines(1, options(channels)), &operands);
            let split = product(&mut engines(count, options(channels / count)), &operands);
            assert_eq!(split, whole, "{rows} x {columns}, {channels} channels, {count} groups");
        }
    }
}

fn head_shape(head_dim: usize, context: usize) -> HeadShape {
    HeadShape { head_dim, context, group: 1, distribution: Distribution::Random }
}

#[test]
fn heads_side_by_side_are_those_of_a_module_as_large_as_a_group() {
    let (head_dim, context) = (128, 700);
    let heads: Vec<Head> =
        (0..3).map(|n| Head::synthetic(head_shape(head_dim, context), 2, n)).collect();
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let options = AimOptions { io_buffers, refresh: false, ..options(2) };
        let alone = |head: &Head| -> AimAttention {
            let mut module = module(options);
            let layout = AimHead::new(module.config(), &options, head_dim, context, 0);
            let layout = layout.expect("it fits");
            attention::load(&mut module, &layout, head).expect("models alone");
            attention::run_query(&mut module, &layout, &head.queries[0]).expect("models alone")
        };
        let mut devices = engines(3, options);
        let mut groups = Groups::new(&mut devices);
        let layout = groups.head(head_dim, context, 0).expect("it fits");
        groups
            .each(|group, device| attention::load(device, &layout, &heads[group]))
            .expect("models alone");
        let all = attention::run_queries(&mut groups, &layout, &heads, 0).expect("models alone");
        assert_eq!(all.results, heads.iter().map(alone).collect::<Vec<_>>());
        let costs = all.costs.map(|cost| cost.of_group());
        let AimAttention { score, softmax, context } = &all.results[0];
        assert_eq!(costs, [score, softmax, context].map(|step| step.statistics));
    }
}

fn attention_job(heads: usize, group: usize) -> AttentionJob {
    AttentionJob {
        model: "llama".to_owned(),
        head_dim: 64,
        heads,
        group,
        contexts: vec![100, 300],
        distribution: Distribution::Random,
        seed: 1,
    }
}

#[test]
fn a_report_is_of_the_whole_module() {
    let options = AimOptions { refresh: false, ..options(2) };
    let alone = run(&attention_job(1, 1), &mut engines(1, options), false);
    let all = run(&attention_job(4, 1), &mut engines(4, options), false);
    assert_eq!((all.module.and_then(|module| module.groups), alone.pin_violations), (Some(4), 0));
    assert_eq!(all.module.map(|module| module.channels), Some(8));
    assert_eq!((all.pin_violations, all.load.bytes), (0, 4 * alone.load.bytes));
    assert_eq!((all.load.cycles, all.total.cycles), (alone.load.cycles, alone.total.cycles));
    assert_eq!(all.total.peak_gb_per_s, 4.0 * alone.total.peak_gb_per_s);
    assert!((all.total.read_gb_per_s / alone.total.read_gb_per_s - 4.0).abs() < 1e-9);
    for (all, alone) in all.operators.iter().zip(&alone.operators) {
        assert_eq!(
            (all.cycles, all.macs, all.reads),
            (alone.cycles, 4 * alone.macs, 4 * alone.reads)
        );
        assert_eq!((&all.commands, all.slots.used), (&alone.commands, alone.slots.used));
        let shares = |of: &pimlico_workload::report::OperatorReport| {
            let shares = &of.utilisation;
            [shares.bank_read, shares.bank_pu, shares.bus, shares.adder_unit, shares.softmax_unit]
        };
        for (all, alone) in shares(all).into_iter().zip(shares(alone)) {
            assert!((all - alone).abs() < 1e-9, "{all} {alone}");
        }
        assert!(all.exact.is_none_or(|exact| exact.differing == 0));
    }
    assert!(all.notes.iter().all(|note| !note.contains("were idle")));
    let output = all.of::<AttentionReport>().expect("attention").stages.output;
    assert!(output.max_relative < 0.02, "{output:?}");
}

/// Of three K and V heads of 2, 2 and 1 queries on two groups, the third has nothing beside it.
#[test]
fn groups_without_a_head_are_idle_and_told_so() {
    let options = AimOptions { refresh: false, ..options(2) };
    let report = run(&attention_job(5, 2), &mut engines(2, options), false);
    // Two turns of two places, then one of two, for each of two requests.
    let note = "2 of 12 places for queries were idle (16.7 %)";
    assert!(report.notes.iter().any(|text| text.contains(note)), "{:?}", report.notes);
    let alone = run(&attention_job(1, 1), &mut engines(1, options), false);
    for (all, alone) in report.operators.iter().zip(&alone.operators) {
        assert!(all.cycles.abs_diff(3 * alone.cycles) < 12, "{}", all.operator);
        assert_eq!(all.reads, 5 * alone.reads);
        let (all, alone) = (&all.utilisation, &alone.utilisation);
        for (all, alone) in [
            (all.bank_read, alone.bank_read),
            (all.bank_pu, alone.bank_pu),
            (all.adder_unit, alone.adder_unit),
            (all.softmax_unit, alone.softmax_unit),
        ] {
            assert!((all - alone * 5.0 / 6.0).abs() < 1e-3, "{all} {alone}");
        }
    }
    assert_eq!(report.load.bytes, 3 * alone.load.bytes);
}

/// With refresh, in which groups could fall out of step: they panic if they do.
#[test]
fn a_layer_runs_on_groups_with_refresh() {
    let shape = Model {
        layers: 3,
        heads: 6,
        kv_heads: Some(3),
        head_dim: 32,
        hidden: 192,
        ffn: 100,
        gated: false,
        vocab: 300,
    };
    let layer = LayerJob {
        model: "small".to_owned(),
        shape,
        layers: 2,
        context: 1500,
        distribution: Distribution::Random,
        io_buffers: IoBuffers::PingPong,
        seed: 3,
    };
    let [all, sample] =
        [false, true].map(|timing_only| run(&layer, &mut engines(2, options(2)), timing_only));
    assert_eq!((all.pin_violations, sample.pin_violations), (0, 0));
    for operator in &all.operators {
        assert!(operator.exact.is_none_or(|exact| exact.differing == 0), "{}", operator.operator);
        let reads = !["append", "softmax"].contains(&operator.operator);
        assert_eq!(operator.commands.contains_key("RD_ALL_BANK"), reads, "{}", operator.operator);
        assert_eq!(operator.slots.used > 0, reads, "{}", operator.operator);
    }
    assert!(sample.total.cycles.abs_diff(all.total.cycles) < 2000);
    let whole = run(&layer, &mut engines(1, options(4)), true);
    let cycles = |report: &Report, name: &str| {
        let is_it =
            |operator: &&pimlico_workload::report::OperatorReport| operator.operator == name;
        report.operators.iter().find(is_it).expect(name).cycles
    };
    assert!(cycles(&all, "softmax") < cycles(&whole, "softmax") * 7 / 10);
    let fc = FcJob::new("small", &layer.shape, 1, true, 1);
    let [split, whole] =
        [engines(2, options(2)), engines(1, options(4))].map(|mut of| run(&fc, &mut of, false));
    assert_eq!(
        (split.total.cycles, split.load.cycles, split.load.bytes),
        (whole.total.cycles, whole.load.cycles, whole.load.bytes)
    );
}

#[test]
fn hubs_side_by_side_have_the_bits_of_the_engine() {
    let job = AttentionJob { contexts: vec![70], ..attention_job(3, 1) };
    let options = AimOptions { refresh: true, ..options(HUB_CHANNELS) };
    let reports = [engines(2, options), hubs(2, options)].map(|mut of| run(&job, &mut of, false));
    let [engine, hub] = &reports;
    assert_eq!((hub.pin_violations, engine.pin_violations), (0, 0));
    for (hub, engine) in hub.operators.iter().zip(&engine.operators) {
        assert_eq!((hub.exact, hub.reads), (engine.exact, engine.reads), "{}", hub.operator);
        assert_eq!(hub.error.max_ulp, engine.error.max_ulp, "{}", hub.operator);
    }
    let operands = Operands::synthetic(100, 90, 5);
    let [(engine, _), (hub, _)] =
        [engines(2, options), hubs(2, options)].map(|mut of| product(&mut of, &operands));
    assert_eq!(hub, engine);
}

#[test]
fn two_groups_of_sixteen_channels_waste_nothing_of_v() {
    let config = Config::gddr6_aim();
    let v = |channels| -> AimLayout {
        AimHead::new(&config, &options(channels), 128, 16_384, 0).expect("it fits").v
    };
    let bytes = |channels| {
        let v = v(channels);
        (v.end_row() - v.first_row()) * v.pus() * config.organisation.page_bytes
    };
    assert_eq!((bytes(16), bytes(8), bytes(4)), (2 * bytes(8), 2 * 128 * 16_384, bytes(8)));
}

#[test]
fn the_gpr_is_shared_out() {
    let head = |context| AimHead::new(&Config::gddr6_aim(), &options(1), 128, context, 0);
    let fits = |context, groups| in_part(head(context).expect("it fits"), groups);
    assert!(fits(16_000, 16).is_ok());
    let (wanted, there) = (16_384 + 128, GPR / 16);
    assert_eq!(fits(16_384, 16), Err(LayoutError::GprPart { wanted, groups: 16, there }));
    let mut devices = engines(16, options(1));
    let job = AttentionJob { head_dim: 128, contexts: vec![16_384], ..attention_job(1, 1) };
    let mut system = system::Module::new(&mut devices);
    let error = execute(&job, &mut system, SILENT).expect_err("it has no room");
    assert!(matches!(error, WorkloadError::Layout(LayoutError::GprPart { .. })), "{error}");
}

#[test]
fn a_layers_attention_is_compared_by_groups() {
    let study = GroupStudy {
        config: Config::gddr6_aim(),
        model: "qwen1.5-7b".to_owned(),
        shapes: pimlico_model::presets()["qwen1.5-7b"].clone(),
        contexts: vec![500],
        channels: 16,
        groups: vec![1, 2, 8],
        mode_change: true,
        seed: 1,
    };
    let rows = channel_groups::compare(&study, 2, |_| {}).expect("it fits").rows;
    let costs: Vec<_> = rows.iter().map(|row| row.cost.as_ref().expect("it has room")).collect();
    let of_v: Vec<_> = costs.iter().map(|cost| (cost.turns, cost.sv_pus_percent)).collect();
    assert_eq!(of_v, [(32, 50.0), (16, 100.0), (4, 100.0)]);
    for pair in costs.windows(2) {
        assert!(pair[0].layer > pair[1].layer && pair[0].softmax_percent > pair[1].softmax_percent);
        assert!(pair[0].reduction_percent < pair[1].reduction_percent);
    }
    assert!(costs.iter().all(|cost| (cost.pin_violations, cost.differing) == (0, 0)));
}
