// SPDX-License-Identifier: MIT
//! A head's attention on the models of a device, with data: multiply-accumulates in a second, and tCK.
//!
//! On a rank, and on a module of AiM channels.
//! Processor time, where Linux tells it, and not that of the clock on the wall: the machine may be shared.
//! Even so, read the ratios of one run, not the figures of two.

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pimlico_device::aim::{AimHead, AimOptions};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Config, FunctionalRank, KnownLaps, Options, RankDevice};
use pimlico_host::aim::AimHost;
use pimlico_host::attached::Attached;
use pimlico_workload::aim;
use pimlico_workload::l3;
use std::time::{Duration, Instant};
use std::{fs, thread};

const HEAD_DIM: usize = 128;
const CONTEXT: usize = 2048;
const LONG_CONTEXT: usize = 16 * 1024;

/// Time for which a processor has worked for this thread.
struct ProcessorTime {
    since: Instant,
}

impl ProcessorTime {
    /// So far; where it is not told, the time that has passed.
    fn now(&self) -> Duration {
        thread::sleep(Duration::from_nanos(1)); // it is brought up to date when the thread stops
        let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
        let worked = told.and_then(|text| text.split(' ').next()?.parse().ok());
        worked.map_or_else(|| self.since.elapsed(), Duration::from_nanos)
    }
}

impl Measurement for ProcessorTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        self.now()
    }

    fn end(&self, start: Duration) -> Duration {
        self.now() - start
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// Multiply-accumulates in a second and tCK in a second of a head of `context` tokens, of which `run`
/// returns the tCK.
fn measure(
    criterion: &mut Criterion<ProcessorTime>,
    name: &str,
    context: usize,
    run: &mut dyn FnMut() -> u64,
) {
    let mut group = criterion.benchmark_group(format!("attention of {context} tokens"));
    let tck = run();
    group.throughput(Throughput::Elements(2 * (HEAD_DIM * context) as u64));
    group
        .bench_function(format!("{name}, multiply-accumulates"), |bencher| bencher.iter(&mut *run));
    group.throughput(Throughput::Elements(tck));
    group.bench_function(format!("{name}, tCK"), |bencher| bencher.iter(&mut *run));
    group.finish();
}

fn query() -> Vec<u16> {
    (0..HEAD_DIM as u16).map(|i| 0x3400 + 7 * i).collect()
}

fn rank(criterion: &mut Criterion<ProcessorTime>) {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    for context in [CONTEXT, LONG_CONTEXT] {
        let layout = HeadLayout::new(&config, HEAD_DIM, context, 0).expect("it fits");
        let mut rank = Attached::engine(&config, options).expect("an L3 rank");
        measure(criterion, "rank", context, &mut || {
            let head = l3::attention::run_head(&mut rank, &layout, &[query()]);
            head.expect("models alone").statistics.cycles
        });
        // As a run of attention does it: its cost without data, its results without time. Laps are known from the first
        // head on, as they are to the later heads of a run.
        rank.leave_data_out(&KnownLaps::default());
        measure(criterion, "rank, cost and results", context, &mut || {
            let cost = l3::attention::run_head(&mut rank, &layout, &[query()]);
            let mut results = FunctionalRank::new(&config, options);
            l3::attention::compute_head(&mut results, &layout, &[query()]).expect("models alone");
            cost.expect("models alone").statistics.cycles
        });
    }
}

fn module(criterion: &mut Criterion<ProcessorTime>) {
    let config = Config::gddr6_aim();
    for channels in [1, 16] {
        let options = AimOptions { channels, ..AimOptions::default() };
        let head = AimHead::new(&config, &options, HEAD_DIM, CONTEXT, 0).expect("it fits");
        let mut module = AimHost::engine(&config, options);
        module.hold(&head.matrices()).expect("there are rows");
        measure(criterion, &format!("{channels} AiM channels"), CONTEXT, &mut || {
            let run = aim::attention::run_query(&mut module, &head, &query());
            let steps = run.expect("models alone");
            [steps.score, steps.softmax, steps.context]
                .map(|step| step.statistics.cycles)
                .iter()
                .sum()
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .with_measurement(ProcessorTime { since: Instant::now() })
        .sample_size(20);
    targets = rank, module
}
criterion_main!(benches);
