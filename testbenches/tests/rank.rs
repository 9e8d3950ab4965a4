// SPDX-License-Identifier: MIT
//! A head's attention on a rank of RTL and models in lockstep.
#![cfg(feature = "rtl")]

use pimlico_device::{Config, Options, Rank, RankUnits};
use pimlico_host::attention;
use pimlico_host::data::Head;
use pimlico_host::kv_cache::HostPort;
use pimlico_host::pins::PinLog;
use pimlico_testbenches::rank;

#[test]
fn back_ends_agree() {
    let config = Config::ddr4_3200();
    for (head_dim, context) in [(128, 40), (64, 17), (80, 1), (96, 33)] {
        let head = Head::synthetic(head_dim, context, 5, 0);
        let run = |units: RankUnits| {
            let mut rank = Rank::new(config.clone(), units, Options::default());
            let pins = PinLog::of(&mut rank);
            let mut host = HostPort::new().expect("an image");
            let result = attention::run_head(&mut rank, &mut host, &head).expect("no mismatch");
            assert_eq!(pins.violations(rank.tck()), (0, vec![]));
            result
        };
        let model = run(RankUnits::models(&config));
        let rtl = run(rank::rtl_units(&config, 5));
        let lockstep = run(rank::lockstep_units(&config, 5));
        for other in [rtl, lockstep] {
            assert_eq!(model.scores, other.scores);
            assert_eq!(model.context, other.context);
            assert_eq!(model.score_statistics, other.score_statistics);
            assert_eq!(model.context_statistics, other.context_statistics);
        }
    }
}
