// SPDX-License-Identifier: MIT
//! The attention of heads, and a matrix, on a rank of RTL and models in lockstep: the dispatcher and all
//! units behind it.
#![cfg(feature = "rtl")]

use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Config, Normalise, Options, Rank, RankUnits, SumFormat};
use pimlico_host::attention;
use pimlico_host::data::{Distribution, Head, HeadShape};
use pimlico_host::driver::Driver;
use pimlico_host::gemv::{self, Operands};
use pimlico_host::kv_cache::{self, HostPort};
use pimlico_host::pins::PinLog;
use pimlico_testbenches::rank;

#[test]
fn back_ends_agree() {
    use Normalise::{Early, Late};
    use SumFormat::{Binary16, Binary32};
    let config = Config::ddr4_3200();
    for (head_dim, context, group, normalise, sums) in [
        (128, 40, 1, Early, Binary16),
        (64, 17, 2, Late, Binary16),
        (80, 1, 1, Early, Binary32),
        (96, 33, 1, Late, Binary32),
        (256, 20, 1, Early, Binary16),
    ] {
        let shape = HeadShape { head_dim, context, group, distribution: Distribution::Random };
        let head = Head::synthetic(shape, 5, 0);
        let options = Options { normalise, sums, ..Options::default() };
        let run = |units: RankUnits| {
            let mut rank = Rank::new(config.clone(), units, options);
            let pins = PinLog::of(&mut rank);
            let layout = HeadLayout::new(&config, head_dim, context, 0).expect("it fits");
            let mut host = HostPort::new().expect("an image");
            host.transfer(&mut rank, kv_cache::writes(&layout, &head)).expect("no mismatch");
            let result = attention::run_head(&mut rank, &layout, &head.queries);
            let result = result.expect("no mismatch");
            let (read, _) =
                host.transfer(&mut rank, kv_cache::reads(&layout)).expect("no mismatch");
            assert_eq!(pins.violations(rank.tck()), (0, vec![]));
            (result, read)
        };
        let (model, read_from_model) = run(RankUnits::models(&config, options));
        for units in
            [rank::rtl_units(&config, options, 5), rank::lockstep_units(&config, options, 5)]
        {
            let (other, read) = run(units);
            assert_eq!(model.scores, other.scores);
            assert_eq!(model.weights, other.weights);
            assert_eq!(model.context, other.context);
            assert_eq!(model.statistics, other.statistics);
            assert_eq!(read_from_model, read);
        }
    }
}

#[test]
fn back_ends_agree_on_a_matrix() {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    // Whole tiles and a part of one, chunks that share a row of the banks, either way of filling.
    for (rows, columns, io_buffers) in [
        (33, 4100, IoBuffers::PingPong),
        (16, 8200, IoBuffers::Single),
        (50, 70, IoBuffers::PingPong),
    ] {
        let operands = Operands::synthetic(rows, columns, 5);
        let layout = MatrixLayout::new(&config, rows, columns).expect("it fits");
        let run = |units: RankUnits| {
            let mut rank = Rank::new(config.clone(), units, options);
            let mut host = HostPort::new().expect("an image");
            let writes = gemv::writes(&layout, &operands.matrix);
            host.transfer(&mut rank, writes).expect("no mismatch");
            let mut driver = Driver::new();
            gemv::multiply(&mut driver, &mut rank, &layout, &operands.vector, io_buffers)
                .expect("no mismatch")
        };
        let model = run(RankUnits::models(&config, options));
        assert_eq!(model, run(rank::rtl_units(&config, options, 5)));
        assert_eq!(model, run(rank::lockstep_units(&config, options, 5)));
    }
}
