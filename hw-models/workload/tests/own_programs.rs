// SPDX-License-Identifier: MIT
//! Programs of a user's own on a module of AiM channels, which need not be those that the host builds: their sums may have
//! either order, on the engine and on the hub.

use pimlico_device::aim::{AimHead, AimLayout, AimMapping, AimOptions, HUB_CHANNELS, Order};
use pimlico_device::dispatch::DispatchError;
use pimlico_device::{Config, DeviceError};
use pimlico_host::aim::{AimHost, OwnPrograms, attention_words, product_words};
use pimlico_host::program::aim::Queries;
use pimlico_model::data::{Distribution, Operands};
use pimlico_ports::Models;
use pimlico_units::module::AimHub;
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::judge::{self, ProductOrder};
use pimlico_workload::operator::{AnyOperator, execute};
use pimlico_workload::report::Report;
use pimlico_workload::system::{AttentionSetup, Module};
use pimlico_workload::task::SILENT;

/// The order of a module, and that of a program of its own.
const ORDERS: [[Order; 2]; 2] = [
    [Order::InputStationary, Order::OutputStationary],
    [Order::OutputStationary, Order::InputStationary],
];

/// Two channels that take matrices in an order.
fn options(order: Order) -> AimOptions {
    let mapping = AimMapping { order, ..AimMapping::default() };
    AimOptions { channels: HUB_CHANNELS, mapping, ..AimOptions::default() }
}

/// The engine, and the hub.
fn devices(options: AimOptions) -> [AimHost; 2] {
    let config = Config::gddr6_aim();
    let hub = Box::new(Models::<AimHub<true>>::new(1));
    let hub = AimHost::hub(config.clone(), options, hub).expect("it fits");
    [AimHost::engine(&config, options), hub]
}

/// The reports of a job with programs of its own.
fn reports(options: AimOptions, job: &dyn AnyOperator, words: &[u64]) -> [Report; 2] {
    devices(options).map(|device| {
        let setup = AttentionSetup { longest: None, program: Some(words.to_vec()) };
        let mut device = [device];
        execute(job, &mut Module::new(&mut device).with_setup(setup), SILENT).expect("it runs")
    })
}

fn assert_right(report: &Report, what: &str) {
    let judged = &report.judged;
    assert!(judged.wrong().is_none() && report.violations().is_none(), "{what}: {judged:?}");
    assert!(judged.results > 0 && judged.compared == judged.results, "{what}: {judged:?}");
}

#[test]
fn sums_of_a_matrix_may_have_either_order() {
    let (config, rows, columns) = (Config::gddr6_aim(), 70, 2200);
    let operands = Operands::synthetic(rows, columns, 5);
    for [built, own] in ORDERS {
        let [options, own] = [built, own].map(options);
        let layout = AimLayout::new(&config, &own, rows, columns, 0).expect("it fits");
        let words = product_words(&layout, &own).expect("it can be written");
        for mut device in devices(options) {
            device.hold(&[layout]).expect("there are rows");
            for group in 0..layout.groups() {
                let first = group * layout.pus();
                let element = |row: usize, column: usize| operands.matrix[first + row][column];
                device.write(&mut layout.writes(group, element)).expect("it runs");
            }
            device.set_programs(OwnPrograms::of_product(words.clone()).expect("one program"));
            let (outputs, _) = device.product(&layout, &operands.vector).expect("it runs");
            let order = ProductOrder::on_module(&options, rows);
            let differing = |order| {
                judge::product(order, &operands.matrix, &operands.vector, &outputs, 1)
                    .exact
                    .differing
            };
            assert!(differing(order) > 0, "{built:?}: the orders give the same bits");
            assert_eq!(differing(order.other_on_module(&options)), 0, "{built:?}");
        }
        let job = GemvJob { rows, columns, io_buffers: options.io_buffers, seed: 5 };
        for report in reports(options, &job, &words) {
            assert_right(&report, &format!("{built:?}"));
        }
    }
}

#[test]
fn sums_of_attention_may_have_either_order() {
    let (config, head_dim, context) = (Config::gddr6_aim(), 64, 1100);
    let job = AttentionJob {
        model: "test".to_owned(),
        head_dim,
        heads: 1,
        group: 1,
        contexts: vec![context],
        distribution: Distribution::Random,
        seed: 3,
    };
    for [built, own] in ORDERS {
        let own = options(own);
        let head = AimHead::new(&config, &own, head_dim, context, 0).expect("it fits");
        let words = attention_words(&head, &own, &Queries::ONE).expect("it can be written");
        for report in reports(options(built), &job, &words) {
            assert_right(&report, &format!("{built:?}"));
        }
    }
}

#[test]
fn programs_of_another_operator_are_no_programs_of_this() {
    let words = pimlico_dpa::assemble("close_all\nend\n").expect("a program");
    for mut device in devices(AimOptions { channels: HUB_CHANNELS, ..AimOptions::default() }) {
        let head = AimHead::new(device.config(), &device.options(), 16, 16, 0).expect("it fits");
        device.set_programs(OwnPrograms::of_product(words.clone()).expect("one program"));
        let error = device.attention(&head, &[0; 16], 0x3C00).expect_err("no such program");
        let expected = "no program of score: the programs are of another operator";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_program_without_end_is_not_begun() {
    let endless = "loop 65536 {\n".repeat(4) + "close_all\n" + &"}\n".repeat(4) + "end\n";
    let words = pimlico_dpa::assemble(&endless).expect("a program");
    for mut device in devices(AimOptions { channels: HUB_CHANNELS, ..AimOptions::default() }) {
        let layout = AimLayout::new(device.config(), &device.options(), 9, 9, 0).expect("it fits");
        device.set_programs(OwnPrograms::of_product(words.clone()).expect("one program"));
        let error = device.product(&layout, &[0; 9]).expect_err("too long");
        let DeviceError::OwnProgram { program: "product", word: None, error } = error else {
            panic!("{error}");
        };
        assert!(matches!(error, DispatchError::TooLong { .. }), "{error}");
    }
}
