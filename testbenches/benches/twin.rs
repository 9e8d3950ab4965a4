// SPDX-License-Identifier: MIT
//! Models of units beside their Verilated twins on the same inputs, and the engine beside the Verilated module on a head's
//! attention: cycles in a second. `scripts/speed twin module` prints the ratios, and the geometric mean of the units'.
//!
//! Criterion's filter chooses: only RTL that is to be measured is made. Models are generic, and compiled where they are used:
//! the bench is in a package whose release profile is optimised, which that of the command is not.
//! Read the ratios of one run, not the figures of two: the machine may be shared.

mod processor_time;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Config, ModuleDevice, Options, RankDevice};
use pimlico_host::attached::Attached;
use pimlico_ports::{Instances, Models};
use pimlico_testbenches::{Bench, Rtl};
use pimlico_units::arith::{Binary16, FpAdd, FpExp, FpMax, FpMul, FpRecip};
use pimlico_units::module::{Dispatcher, PimDimm};
use pimlico_units::rank::{AdderUnit, RankController, Sequencer, SoftmaxUnit};
use pimlico_workload::l3;
use processor_time::ProcessorTime;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::hint::black_box;
use std::slice;
use std::time::Duration;

/// Cycles that a unit is given, at least.
const CYCLES: usize = 2000;

/// Elements of the head's vectors, and its tokens: few, as the RTL takes a second for some ten thousand tCK.
const HEAD_DIM: usize = 128;
const CONTEXT: usize = 256;

/// A unit's model and its RTL, each on the same episodes from reset.
fn unit<M: Bench>(criterion: &mut Criterion<ProcessorTime>) {
    let mut runner = TestRunner::deterministic();
    let (mut episodes, mut cycles) = (Vec::new(), 0);
    while cycles < CYCLES {
        let episode = M::episodes().new_tree(&mut runner).expect("nothing is rejected").current();
        cycles += episode.len();
        episodes.push(episode);
    }
    let mut group = criterion.benchmark_group(format!("twin {}", M::name()));
    group.throughput(Throughput::Elements(cycles as u64)).sampling_mode(SamplingMode::Flat);
    group.bench_function("model", |bencher| {
        let mut model = Models::<M>::new(1);
        bencher.iter(|| run(&mut model, &episodes));
    });
    group.bench_function("rtl", |bencher| {
        let mut rtl = Rtl::<M>::new(1, 1);
        bencher.iter(|| run(&mut rtl, &episodes));
    });
    group.finish();
}

/// Every episode from reset.
fn run<M: Bench>(instance: &mut impl Instances<M>, episodes: &[Vec<M::In>]) {
    let mut outputs = [M::Out::default()];
    for episode in episodes {
        instance.reset();
        for input in episode {
            let stepped = instance.step(slice::from_ref(input), &mut outputs);
            stepped.expect("one alone does not differ");
            black_box(&outputs);
        }
    }
}

fn units(criterion: &mut Criterion<ProcessorTime>) {
    unit::<FpMul<Binary16, 0>>(criterion);
    unit::<FpAdd<Binary16, 0>>(criterion);
    unit::<FpMax<Binary16, 0>>(criterion);
    unit::<FpExp<Binary16, 0>>(criterion);
    unit::<FpRecip<Binary16, 0>>(criterion);
    unit::<AdderUnit<Binary16>>(criterion);
    unit::<SoftmaxUnit<Binary16, false>>(criterion);
    unit::<RankController>(criterion);
    unit::<Sequencer>(criterion);
    unit::<Dispatcher>(criterion);
}

/// A head's attention, of banks full of zeros.
fn module(criterion: &mut Criterion<ProcessorTime>) {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    let layout = HeadLayout::new(&config, HEAD_DIM, CONTEXT, 0).expect("it fits");
    let queries = [(0..HEAD_DIM as u16).map(|i| 0x3400 + 7 * i).collect::<Vec<_>>()];
    let attention = |device: &mut dyn RankDevice| {
        let head = l3::attention::run_head(device, &layout, &queries);
        head.expect("one alone does not differ").statistics.cycles
    };
    let mut engine = Attached::engine(&config, options).expect("an L3 rank");
    let cycles = attention(&mut engine);
    let mut group = criterion.benchmark_group("engine and module");
    group.throughput(Throughput::Elements(cycles)).sampling_mode(SamplingMode::Flat);
    group.bench_function("model", |bencher| bencher.iter(|| attention(&mut engine)));
    group.bench_function("rtl", |bencher| {
        let rtl = Box::new(Rtl::<PimDimm<Binary16, false>>::new(1, 1));
        let module = ModuleDevice::new(config.clone(), options, rtl).expect("an L3 rank");
        let mut module = Attached::new(module);
        bencher.iter(|| attention(&mut module));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .with_measurement(ProcessorTime(libc::RUSAGE_SELF))
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .sample_size(10);
    targets = units, module
}
criterion_main!(benches);
