// SPDX-License-Identifier: MIT
//! A decoder layer: its costs, whatever the threads.

use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, Options, Rank, RankUnits};
use pimlico_host::data::Distribution;
use pimlico_host::layer::{self, Job, LayerError};
use pimlico_host::model::Model;
use pimlico_host::report::{JobReport, Report};
use pimlico_host::{attention, gemv};

fn job() -> Job {
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
    Job {
        model: "small".to_owned(),
        shape,
        context: 70,
        distribution: Distribution::Random,
        io_buffers: IoBuffers::PingPong,
        seed: 5,
        threads: 1,
    }
}

fn rank() -> Rank {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    Rank::new(config.clone(), RankUnits::models(&config, options), options)
}

fn run(job: &Job) -> Result<Report, LayerError> {
    layer::run(&Config::ddr4_3200(), job, rank, |_, _| {})
}

#[test]
fn threads_change_nothing() {
    let whole = |threads| format!("{:?}", run(&Job { threads, ..job() }).expect("it runs"));
    let one = whole(1);
    assert_eq!(whole(3), one);
    assert_eq!(whole(100), one);
    let other = format!("{:?}", run(&Job { seed: 6, ..job() }).expect("it runs"));
    assert_ne!(other, one);
}

#[test]
fn a_layer_is_its_operators() {
    let report = run(&job()).expect("it runs");
    let of = |name: &str| report.operators.iter().find(|o| o.operator == name).expect(name);
    let alone = |rows, columns| {
        let job = gemv::Job { rows, columns, io_buffers: IoBuffers::PingPong, seed: 1 };
        gemv::run(&mut rank(), &job).expect("it runs").total.cycles
    };
    for (name, rows, columns) in
        [("qkv", 12 * 40, 200), ("projection", 200, 240), ("ffn1", 600, 200), ("ffn2", 200, 300)]
    {
        assert_eq!(of(name).macs, rows * columns, "{name}");
        assert!(of(name).error.max_relative > 0.0 && of(name).error.max_relative < 0.01, "{name}");
        assert_eq!(of(name).cycles, alone(rows as usize, columns as usize), "{name}");
    }
    let of_heads = of("attention");
    assert_eq!(of_heads.macs, 2 * 6 * 70 * 40);
    let head = attention::Job {
        model: String::new(),
        head_dim: 40,
        heads: 2,
        group: 2,
        contexts: vec![70],
        distribution: Distribution::Random,
        seed: 5,
    };
    let one = attention::run(&mut rank(), &head, |_| {}).expect("it runs");
    assert_eq!(of_heads.cycles, 3 * one.total.cycles);
    let JobReport::Decoder(layer) = &report.job else { panic!("a layer ran") };
    assert_eq!(layer.stages.output.max_relative, of_heads.error.max_relative);
    assert_eq!(report.operators.iter().map(|o| o.cycles).sum::<u64>(), report.total.cycles);
    assert_eq!(report.pin_violations, 0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |job: Job| run(&job).expect_err("refused").to_string();
    let wide = Model { ffn: 1 << 40, ..job().shape };
    assert!(refused(Job { shape: wide, ..job() }).starts_with("ffn1: matrix of"));
    assert!(refused(Job { context: 0, ..job() }).starts_with("attention: context of 0"));
}
