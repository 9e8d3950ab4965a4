// SPDX-License-Identifier: MIT
//! A head's attention on the models of a rank, with data: multiply-accumulates in a second, and tCK.
//!
//! The bank PUs on vectors against each as a model by itself. Read the ratios of one run, not the
//! figures of two: the machine may be shared.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{BackEnd, Config, Options, Rank, RankUnits};
use pimlico_host::attention;
use pimlico_ports::{Instances, Model, Models};
use std::convert::Infallible;

const HEAD_DIM: usize = 128;
const CONTEXT: usize = 2048;

/// Models, each by itself.
struct OneByOne;

impl BackEnd for OneByOne {
    type Error = Infallible;

    fn instances<M: Model>(
        &mut self,
        count: usize,
        _: u64,
    ) -> Result<Box<dyn Instances<M>>, Infallible> {
        Ok(Box::new(Models::new(count)))
    }
}

fn head(criterion: &mut Criterion) {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    let layout = HeadLayout::new(&config, HEAD_DIM, CONTEXT, 0).expect("it fits");
    let query = [(0..HEAD_DIM as u16).map(|i| 0x3400 + 7 * i).collect()];
    let mut group = criterion.benchmark_group("attention of 2048 tokens");
    let Ok(one_by_one) = RankUnits::new(&config, options, &mut OneByOne);
    for (name, units) in [("vectors", RankUnits::models(&config, options)), ("models", one_by_one)]
    {
        let mut rank = Rank::new(config.clone(), units, options);
        let mut run = || attention::run_head(&mut rank, &layout, &query).expect("models alone");
        let tck = run().statistics.cycles;
        group.throughput(Throughput::Elements(2 * (HEAD_DIM * CONTEXT) as u64));
        group.bench_function(format!("{name}, multiply-accumulates"), |bencher| {
            bencher.iter(&mut run)
        });
        group.throughput(Throughput::Elements(tck));
        group.bench_function(format!("{name}, tCK"), |bencher| bencher.iter(&mut run));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = head
}
criterion_main!(benches);
