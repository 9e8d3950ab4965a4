// SPDX-License-Identifier: MIT
//! Where only the time is asked for, one of the pieces of work that are alike is run, and without data: all that is counted
//! is the same as where each is run with its data.

use pimlico_device::aim::AimOptions;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{
    Address, Config, DeviceSpec, Gear, Normalise, Options, RankDevice, Ranks, SumFormat, Topology,
};
use pimlico_host::aim::AimHost;
use pimlico_host::attached::Attached;
use pimlico_model::Model;
use pimlico_model::data::Distribution;
use pimlico_workload::layer;
use pimlico_workload::operator;
use pimlico_workload::report::Report;
use pimlico_workload::system::{How, Module};
use pimlico_workload::task::SILENT;
use pimlico_workload::{attention, gemv};
use proptest::prelude::*;
use serde_json::Value;

fn on<T>(device: [usize; 3], options: Options, run: impl FnOnce(&Ranks) -> T) -> T {
    on_chips(&Config::ddr4_3200(), device, options, run)
}

fn on_chips<T>(
    config: &Config,
    device: [usize; 3],
    options: Options,
    run: impl FnOnce(&Ranks) -> T,
) -> T {
    let new_rank = |_: Address| -> Box<dyn RankDevice> {
        Box::new(Attached::engine(config, options).expect("an L3 rank"))
    };
    let topology = Topology::new(device[0], device[1], device[2]).expect("a device");
    run(&Ranks::new(config, topology, &new_rank))
}

/// A preset, all of whose banks open with one command or in several.
pub fn chips() -> impl Strategy<Value = Config> {
    let one_of = |n: usize, faw_banks| {
        let spec = DeviceSpec::built_in(Config::RANKS[n]).expect("a preset");
        let mut config = spec.config();
        config.timing.faw_banks = faw_banks;
        config
    };
    (0..Config::RANKS.len(), prop_oneof![Just(16), Just(8), Just(4)])
        .prop_map(move |(n, faw_banks)| one_of(n, faw_banks))
}

/// Ways of a rank.
pub fn ways() -> impl Strategy<Value = Options> {
    let gear = prop_oneof![Just(Gear::One), Just(Gear::Two), Just(Gear::Four)];
    (any::<[bool; 3]>(), gear).prop_map(|([refresh, late, wide], gear)| Options {
        refresh,
        normalise: if late { Normalise::Late } else { Normalise::Early },
        sums: if wide { SumFormat::Binary32 } else { SumFormat::Binary16 },
        gear,
        ..Options::default()
    })
}

/// Ways of a module.
fn module_ways() -> impl Strategy<Value = AimOptions> {
    (1usize..4, any::<[bool; 3]>()).prop_map(|(channels, [refresh, single, mode_change])| {
        let io_buffers = if single { IoBuffers::Single } else { IoBuffers::PingPong };
        AimOptions { channels, io_buffers, refresh, mode_change, ..AimOptions::default() }
    })
}

/// The counts of a job on a module, whose pieces of work are all of them run, with data and without.
fn on_module(options: AimOptions, job: &dyn operator::AnyOperator) -> [Value; 2] {
    [false, true].map(|timing_only| {
        let mut module = AimHost::engine(&Config::gddr6_aim(), options);
        let mut system = Module::new(std::slice::from_mut(&mut module)).timing_only(timing_only);
        counts(&operator::execute(job, &mut system, SILENT).expect("it fits")).0
    })
}

/// A report without what comes of the data, and whether only the time was asked for.
fn counts(report: &Report) -> (Value, bool) {
    let mut json = serde_json::to_value(report).expect("a report");
    for operator in json["operators"].as_array_mut().expect("operators") {
        operator["error"].take();
        operator["exact"]["checked"].take();
    }
    json["judged"]["compared"].take();
    json["stages"].take();
    let notes = json["notes"].take();
    (json, notes.to_string().contains("timing only"))
}

/// Runs a job twice; returns the reports' counts, which must be equal, and whether data were left out.
fn compared(run: impl Fn(How) -> Report) -> ([Value; 2], bool) {
    let [(all, some_left_out), (sample, left_out)] = [false, true]
        .map(|timing_only| counts(&run(How { timing_only, with_data: false, ..How::from(1) })));
    assert!(!some_left_out);
    ([all, sample], left_out)
}

#[test]
fn a_layer_takes_as_long() {
    let shape = Model {
        layers: 1,
        heads: 6,
        kv_heads: Some(3),
        head_dim: 40,
        hidden: 200,
        ffn: 300,
        gated: true,
        vocab: 10,
    };
    for device in [[1, 1, 1], [2, 1, 2]] {
        let job = layer::LayerJob {
            model: "small".to_owned(),
            shape: shape.clone(),
            layers: 1,
            context: 70,
            distribution: Distribution::Random,
            io_buffers: IoBuffers::PingPong,
            seed: 5,
        };
        let options = Options::default();
        let run =
            |how: How| on(device, options, |ranks| operator::on_ranks(ranks, options, how, &job));
        let ([all, sample], left_out) = compared(|how| run(how).expect("it runs"));
        assert_eq!(all, sample);
        assert!(left_out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn attention_takes_as_long(
        head_dim in 1usize..160,
        contexts in prop::collection::vec(1usize..200, 1..3),
        batch in 1usize..3,
        heads in 1usize..7,
        group in 1usize..4,
        device in [1usize..3, 1usize..3, 1usize..3],
        refresh in any::<bool>(),
    ) {
        let options = Options { refresh, ..Options::default() };
        let job = attention::AttentionJob {
            model: String::new(),
            head_dim,
            heads,
            group,
            contexts: contexts.repeat(batch),
            distribution: Distribution::Random,
            seed: 7,
        };
        let run = |how: How| {
            on(device, options, |ranks| {
                operator::on_ranks(ranks, options, how, &job)
            })
        };
        let ([all, sample], left_out) = compared(|how| run(how).expect("it runs"));
        prop_assert_eq!(all, sample);
        prop_assert!(left_out);
    }

    #[test]
    fn every_preset_and_way_takes_as_long(
        config in chips(),
        options in ways(),
        single in any::<bool>(),
        rows in 1usize..200,
        columns in 1usize..300,
        head_dim in 1usize..160,
        context in 1usize..400,
    ) {
        let io_buffers = if single { IoBuffers::Single } else { IoBuffers::PingPong };
        let matrix = gemv::GemvJob { rows, columns, io_buffers, seed: 3 };
        let heads = attention::AttentionJob {
            model: String::new(),
            head_dim,
            heads: 2,
            group: 2,
            contexts: vec![context],
            distribution: Distribution::Peaked,
            seed: 7,
        };
        let jobs: [&dyn operator::AnyOperator; 2] = [&matrix, &heads];
        for job in jobs {
            let ([all, sample], _) = compared(|how| {
                on_chips(&config, [1, 1, 1], options, |ranks| {
                    operator::on_ranks(ranks, options, how, job).expect("it runs")
                })
            });
            prop_assert_eq!(all, sample);
        }
    }

    #[test]
    fn a_module_takes_as_long(
        options in module_ways(),
        rows in 1usize..200,
        columns in 1usize..1500,
        head_dim in 1usize..160,
        context in 1usize..400,
    ) {
        let io_buffers = options.io_buffers;
        let [all, sample] =
            on_module(options, &gemv::GemvJob { rows, columns, io_buffers, seed: 3 });
        prop_assert_eq!(all, sample);
        let heads = attention::AttentionJob {
            model: String::new(),
            head_dim,
            heads: 2,
            group: 2,
            contexts: vec![context],
            distribution: Distribution::Random,
            seed: 7,
        };
        let [all, sample] = on_module(options, &heads);
        prop_assert_eq!(all, sample);
    }

    #[test]
    fn a_matrix_takes_as_long(
        rows in 1usize..400,
        columns in 1usize..700,
        single in any::<bool>(),
        refresh in any::<bool>(),
        device in [1usize..3, 1usize..3, 1usize..3],
    ) {
        let options = Options { refresh, ..Options::default() };
        let io_buffers = if single { IoBuffers::Single } else { IoBuffers::PingPong };
        let job = gemv::GemvJob { rows, columns, io_buffers, seed: 3 };
        let run = |how: How| {
            on(device, options, |ranks| operator::on_ranks(ranks, options, how, &job))
        };
        let ([all, sample], _) = compared(|how| run(how).expect("it runs"));
        prop_assert_eq!(all, sample);
    }
}
