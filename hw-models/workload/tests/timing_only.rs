// SPDX-License-Identifier: MIT
//! Where only the time is asked for, one of the pieces of work that are alike is run: all that is counted
//! is the same as where each is run.

use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Address, Config, Options, RankDevice, Ranks, Topology};
use pimlico_host::attached::Attached;
use pimlico_model::Model;
use pimlico_model::data::Distribution;
use pimlico_workload::layer;
use pimlico_workload::operator;
use pimlico_workload::report::Report;
use pimlico_workload::system::How;
use pimlico_workload::{attention, gemv};
use proptest::prelude::*;
use serde_json::Value;

fn on<T>(device: [usize; 3], options: Options, run: impl FnOnce(&Ranks) -> T) -> T {
    let config = Config::ddr4_3200();
    let new_rank = |_: Address| -> Box<dyn RankDevice> {
        Box::new(Attached::engine(&config, options).expect("an L3 rank"))
    };
    let topology = Topology::new(device[0], device[1], device[2]).expect("a device");
    run(&Ranks::new(&config, topology, &new_rank))
}

/// A report without what comes of the data, and whether not all pieces were run.
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

/// Runs a job twice; returns the reports' counts, which must be equal, and whether pieces were left out.
fn compared(run: impl Fn(How) -> Report) -> ([Value; 2], bool) {
    let [(all, some_left_out), (sample, left_out)] =
        [false, true].map(|timing_only| counts(&run(How { threads: 1, timing_only })));
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
        let alike = batch > 1 || heads / group > 1;
        prop_assert!(left_out || !alike);
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
