// SPDX-License-Identifier: MIT
//! Attention, a matrix times a vector and decoded text on a hub of AiM channels: model, RTL, and both in lockstep.

use pimlico_device::Config;
use pimlico_device::aim::{AimHead, AimLayout, AimOptions, HUB_CHANNELS};
use pimlico_device::gemv::IoBuffers;
use pimlico_golden::llama;
use pimlico_host::aim::AimHost;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{llama2c, tiny};
use pimlico_model::data::Operands;
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::{Instances, Model, Models, Unit};
use pimlico_testbenches::{Lockstep, Rtl};
use pimlico_units::module::{AimHub, AimHubIn, AimHubOut};
use pimlico_workload::aim::attention;
use pimlico_workload::decode;
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::operator;
use pimlico_workload::report::decode::DecodeReport;

const SEED: u64 = 5;

/// What a run is done on beside the model.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    /// Model and RTL in lockstep: what the RTL puts out is the model's, bit for bit.
    Lockstep,
    /// The same, and the RTL alone, which takes as long once more.
    LockstepAndRtl,
}

/// What `run` gives on the model and on what is beside it: it is the same.
fn agree<T: PartialEq + std::fmt::Debug>(
    beside: Beside,
    io_buffers: IoBuffers,
    run: impl Fn(&mut AimHost) -> T,
) {
    match io_buffers {
        IoBuffers::PingPong => agree_on::<AimHub<true>, T>(beside, io_buffers, run),
        IoBuffers::Single => agree_on::<AimHub<false>, T>(beside, io_buffers, run),
    }
}

fn agree_on<M, T: PartialEq + std::fmt::Debug>(
    beside: Beside,
    io_buffers: IoBuffers,
    run: impl Fn(&mut AimHost) -> T,
) where
    M: Model + Unit<In = AimHubIn, Out = AimHubOut>,
{
    let mut config = Config::gddr6_aim();
    if io_buffers == IoBuffers::Single {
        config.timing.faw_banks = 4;
    }
    let options = AimOptions { channels: HUB_CHANNELS, io_buffers, ..AimOptions::default() };
    let run = |hub: Box<dyn Instances<M>>| {
        let mut module = AimHost::hub(config.clone(), options, hub).expect("it fits");
        let result = run(&mut module);
        (result, module.tck())
    };
    let model = run(Box::new(Models::new(1)));
    if beside == Beside::LockstepAndRtl {
        assert_eq!(model, run(Box::new(Rtl::new(1, SEED))), "{options:?}");
    }
    assert_eq!(model, run(Box::new(Lockstep::new(1, SEED))), "{options:?}");
}

#[test]
fn back_ends_agree_on_attention() {
    let [ping_pong, single] = [IoBuffers::PingPong, IoBuffers::Single];
    for (head_dim, context, io_buffers) in
        [(40, 70, ping_pong), (20, 1030, ping_pong), (40, 70, single)]
    {
        let distribution = Distribution::Random;
        let shape = HeadShape { head_dim, context, group: 1, distribution };
        let head = Head::synthetic(shape, SEED, 0);
        agree(Beside::Lockstep, io_buffers, |module| {
            let pins = PinLog::of_module(module);
            let layout = AimHead::new(module.config(), &module.options(), head_dim, context, 0);
            let layout = layout.expect("it fits");
            attention::load(module, &layout, &head).expect("no mismatch");
            let result = attention::run_query(module, &layout, &head.queries[0]);
            assert_eq!(pins.violations(module.tck()), (0, vec![]));
            result.expect("no mismatch")
        });
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
        tokens: 1,
        temperature: 0.0,
        seed: 1,
        io_buffers: IoBuffers::PingPong,
        threads: 1,
        streaming: None,
        prefill: None,
    };
    agree(Beside::Lockstep, IoBuffers::PingPong, |module| {
        let report = operator::on_module(module, &job).expect("no mismatch");
        let decode = report.of::<DecodeReport>().expect("text was decoded");
        assert_eq!(report.pin_violations, 0);
        (report.total.cycles, decode.text.clone(), decode.agreement.rms_logit_error)
    });
}

#[test]
fn back_ends_agree_on_a_matrix() {
    let [ping_pong, single] = [IoBuffers::PingPong, IoBuffers::Single];
    for (rows, columns, io_buffers) in
        [(70, 1100, ping_pong), (33, 40, ping_pong), (33, 40, single)]
    {
        let Operands { matrix, vector } = Operands::synthetic(rows, columns, SEED);
        agree(Beside::LockstepAndRtl, io_buffers, |module| {
            let pins = PinLog::of_module(module);
            let layout = AimLayout::new(module.config(), &module.options(), rows, columns, 0);
            let layout = layout.expect("it fits");
            module.hold(&[layout]).expect("there are rows");
            for group in 0..layout.groups() {
                let first = group * layout.pus();
                let element = |row: usize, column: usize| matrix[first + row][column];
                module.write(&mut layout.writes(group, element)).expect("no mismatch");
            }
            let result = module.product(&layout, &vector).expect("no mismatch");
            assert_eq!(pins.violations(module.tck()), (0, vec![]));
            result
        });
    }
}
