// SPDX-License-Identifier: MIT
//! Reports of the engine of AiM channels, with its short cuts and with every tCK stepped.

use pimlico_device::Config;
use pimlico_device::aim::{AimOptions, AimUnits, Module};
use pimlico_device::gemv::IoBuffers;
use pimlico_host::aim::AimHost;
use pimlico_model::data::Distribution;
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::operator::{AnyOperator, execute};
use pimlico_workload::system;
use pimlico_workload::task::SILENT;

/// An engine, and the same with every tCK stepped.
fn both(config: &Config, options: AimOptions) -> [AimHost; 2] {
    let module = || Module::new(config.clone(), AimUnits::models(config, options), options);
    [AimHost::new(module()), AimHost::new(module().stepping())]
}

#[test]
fn reports_are_those_of_a_stepped_module() {
    let gemv = |io_buffers| GemvJob { rows: 70, columns: 2100, io_buffers, seed: 3 };
    let attention = AttentionJob {
        model: "two heads".to_owned(),
        head_dim: 64,
        heads: 4,
        group: 2,
        contexts: vec![300, 77],
        distribution: Distribution::Random,
        seed: 4,
    };
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let operators: [Box<dyn AnyOperator>; 2] =
            [Box::new(gemv(io_buffers)), Box::new(attention.clone())];
        for (operator, timing_only) in
            operators.iter().flat_map(|operator| [(operator, false), (operator, true)])
        {
            let options = AimOptions { channels: 2, io_buffers, ..AimOptions::default() };
            let [ahead, stepped] = both(&Config::gddr6_aim(), options).map(|mut module| {
                let groups = std::slice::from_mut(&mut module);
                let mut system = system::Module::new(groups).timing_only(timing_only);
                let report = execute(&**operator, &mut system, SILENT).expect("it runs");
                format!("{report:#?}")
            });
            assert_eq!(ahead, stepped, "{io_buffers:?}, timing only: {timing_only}");
        }
    }
}
