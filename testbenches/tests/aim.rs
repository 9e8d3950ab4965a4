// SPDX-License-Identifier: MIT
//! Attention and a matrix times a vector on a module of AiM channels, of RTL and models in lockstep.
#![cfg(feature = "rtl")]

use pimlico_device::Config;
use pimlico_device::aim::attention::AimHead;
use pimlico_device::aim::{AimLayout, AimOptions, AimUnits, Module, Operand, gemv};
use pimlico_device::gemv::IoBuffers;
use pimlico_golden::llama;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{llama2c, tiny};
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_testbenches::aim;
use pimlico_workload::aim::attention;
use pimlico_workload::decode;
use pimlico_workload::gemv::Operands;
use pimlico_workload::pins::PinLog;
use pimlico_workload::report::JobReport;

/// What `run` gives on models alone, and in lockstep or on RTL alone.
fn agree<T: PartialEq + std::fmt::Debug>(options: AimOptions, run: impl Fn(&mut Module) -> T) {
    let mut config = Config::gddr6_aim();
    if options.io_buffers == IoBuffers::Single {
        config.timing.faw_banks = 4;
    }
    let run = |units: AimUnits| {
        let mut module = Module::new(config.clone(), units, options);
        let pins = PinLog::of_module(&mut module);
        let result = run(&mut module);
        assert_eq!(pins.violations(module.tck()), (0, vec![]));
        (result, module.tck())
    };
    let model = run(AimUnits::models(&config, options));
    assert_eq!(model, run(aim::rtl_units(&config, options, 5)), "{options:?}");
    assert_eq!(model, run(aim::lockstep_units(&config, options, 5)), "{options:?}");
}

fn all_options(channels: usize) -> [AimOptions; 2] {
    [IoBuffers::PingPong, IoBuffers::Single].map(|io_buffers| AimOptions {
        channels,
        io_buffers,
        ..AimOptions::default()
    })
}

#[test]
fn back_ends_agree_on_attention() {
    for options in all_options(1) {
        for (head_dim, context) in [(128, 70), (20, 1030)] {
            let distribution = Distribution::Random;
            let head =
                Head::synthetic(HeadShape { head_dim, context, group: 1, distribution }, 5, 0);
            agree(options, |module| {
                let layout = AimHead::new(module.config(), &options, head_dim, context, 0);
                let layout = layout.expect("it fits");
                attention::load(module, &layout, &head).expect("no mismatch");
                attention::run_query(module, &layout, &head.queries[0]).expect("no mismatch")
            });
        }
    }
}

#[test]
fn back_ends_agree_on_decoded_text() {
    let checkpoint = llama2c::read(tiny::WEIGHTS).expect("a checkpoint");
    let vocab = checkpoint.shape.vocab;
    let job = decode::DecodeJob {
        model: tiny::NAME.to_owned(),
        checkpoint,
        reference: llama::read(tiny::WEIGHTS).expect("a checkpoint").0,
        tokenizer: Tokenizer::read(tiny::TOKENIZER, vocab).expect("a tokenizer"),
        prompt: "a".to_owned(),
        tokens: 3,
        temperature: 0.0,
        seed: 1,
        io_buffers: IoBuffers::PingPong,
    };
    let config = Config::gddr6_aim();
    let [options, _] = all_options(1);
    let run = |units: AimUnits| {
        let mut module = Module::new(config.clone(), units, options);
        let report = decode::run_on_module(&mut module, &job, |_| {}).expect("no mismatch");
        let JobReport::Decode(decode) = report.job else { panic!("text was decoded") };
        assert_eq!(report.pin_violations, 0);
        (report.total.cycles, decode.text, decode.agreement.rms_logit_error)
    };
    let model = run(AimUnits::models(&config, options));
    assert_eq!(model, run(aim::rtl_units(&config, options, 5)));
    assert_eq!(model, run(aim::lockstep_units(&config, options, 5)));
}

#[test]
fn back_ends_agree_on_a_matrix() {
    for options in all_options(2) {
        for (rows, columns) in [(70, 1100), (33, 40)] {
            let Operands { matrix, vector } = Operands::synthetic(rows, columns, 5);
            agree(options, |module| {
                let layout = AimLayout::new(module.config(), &options, rows, columns, 0);
                let layout = layout.expect("it fits");
                for group in 0..layout.groups() {
                    let first = group * layout.pus();
                    let writes = layout.writes(group, |row, column| matrix[first + row][column]);
                    module.write(writes).expect("no mismatch");
                }
                gemv(module, &layout, Operand::Vector(&vector), 0).expect("no mismatch")
            });
        }
    }
}
