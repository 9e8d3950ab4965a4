// SPDX-License-Identifier: MIT
//! A small layer on two ranks of RTL and models in lockstep.
#![cfg(feature = "rtl")]

use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Address, Config, Options, Rank, RankUnits, Ranks, Topology};
use pimlico_host::data::Distribution;
use pimlico_host::layer::{self, LayerJob};
use pimlico_host::model::Model;
use pimlico_testbenches::rank;

#[test]
fn back_ends_agree_on_a_layer_on_two_ranks() {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    let shape = Model {
        layers: 1,
        heads: 4,
        kv_heads: Some(2),
        head_dim: 32,
        hidden: 128,
        ffn: 96,
        gated: false,
        vocab: 10,
    };
    let job = LayerJob {
        model: "small".to_owned(),
        shape,
        layers: 1,
        context: 20,
        distribution: Distribution::Random,
        io_buffers: IoBuffers::PingPong,
        seed: 5,
        how: 2.into(),
    };
    let run = |units: &(dyn Fn() -> RankUnits + Sync)| {
        let new_rank = |_: Address| Rank::new(config.clone(), units(), options);
        let topology = Topology::new(1, 2, 1).expect("two ranks");
        let ranks = Ranks::new(&config, topology, &new_rank);
        let report = layer::run(&ranks, options, &job, |_, _| {}).expect("no mismatch");
        assert_eq!(report.pin_violations, 0);
        assert!(
            report.operators.iter().all(|operator| operator.ranks.is_some_and(|r| r.used == 2))
        );
        format!("{report:?}")
    };
    let model = run(&|| RankUnits::models(&config, options));
    let lockstep = run(&|| rank::lockstep_units(&config, options, 5));
    assert_eq!(model, lockstep);
}
