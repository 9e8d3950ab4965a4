// SPDX-License-Identifier: MIT
//! NeuPIMs' scheduler against `golden::neupims`, and its values from the paper.

use pimlico_device::neupims::{NeupimsSpec, ReadQueue};
use pimlico_golden::neupims as golden;
use pimlico_model::presets;
use pimlico_serving::llm::Llm;
use pimlico_serving::neupims::engine::{EngineLatency, Engines};
use pimlico_serving::neupims::estimate::{Algorithm1, BANKS, MhaLatency, PAGE};
use pimlico_serving::neupims::iteration::halves;
use pimlico_serving::neupims::packing::{NewRequest, busiest_to_mean, min_load};
use pimlico_serving::neupims::partition::first_parts;
use pimlico_serving::neupims::rates::MatrixRates;
use pimlico_serving::neupims::shard::Shard;
use pimlico_serving::neupims::stages::{Operators, Stages, run_interleaved, run_serial};
use pimlico_serving::neupims::system::{
    Assign, CHANNELS, Interleave, RowBuffers, System, latencies,
};
use pimlico_serving::neupims::workload::{DATASETS, LONGEST, warm_batch};
use pimlico_workload::neupims::attention::RequestJob;
use pimlico_workload::neupims::{ChannelsBy, Setup};
use proptest::prelude::*;

fn shard(name: &str, tp: u64, pp: u64) -> Shard {
    Shard::new(&Llm::new(name, presets()[name].clone()), tp, pp).expect("it divides")
}

fn channel(shard: &Shard) -> golden::Channel {
    let (embedding, heads) = (shard.embedding(), shard.heads);
    golden::Channel { embedding, heads, banks: BANKS, page: PAGE, gwrite: 100, tile: 184 }
}

#[test]
fn latencies_are_those_of_the_authors() {
    let rounded = Algorithm1::AUTHORS;
    let exact = Algorithm1 { rounds: false, ..rounded };
    let of_7b = shard("gpt3-7b", 4, 1);
    for (tokens, tck) in
        [(1, 7256), (32, 7256), (300, 10_568), (512, 12_776), (513, 19_832), (2048, 50_504)]
    {
        assert_eq!(rounded.tck(&of_7b, tokens), tck, "{tokens}");
    }
    assert_eq!(exact.latency(&of_7b, 300), 7568.75);
    assert_eq!(exact.latency(&of_7b, 2048), 50_504.0);
    for (name, tp, tck) in
        [("gpt3-13b", 4, 14_180), ("gpt3-30b", 4, 19_464), ("gpt-175b", 8, 15_852)]
    {
        assert_eq!(rounded.tck(&shard(name, tp, 1), 300), tck, "{name}");
    }
}

#[test]
fn afresh_packing_is_even() {
    let of_7b = shard("gpt3-7b", 4, 1);
    let table = latencies(&of_7b, &Algorithm1::AUTHORS);
    let system = System { assign: Assign::Afresh, ..System::NEUPIMS };
    for (requests, most) in [(128, 1.15), (256, 1.06), (384, 1.06), (512, 1.06)] {
        let ratio = |seed| {
            let batch = warm_batch(&DATASETS[0], requests, CHANNELS, &table, seed);
            let channels = system.channels(&table, &batch);
            let load = |of: &Vec<u64>| of.iter().map(|&tokens| table[tokens as usize]).sum();
            busiest_to_mean(&channels.iter().map(load).collect::<Vec<u64>>())
        };
        // The bound is one of the mean: the first sample of 256 requests alone has 1.063.
        let mean = (1..=10).map(ratio).sum::<f64>() / 10.0;
        assert!(mean <= most, "{requests}: {mean}");
    }
}

#[test]
fn packing_is_within_four_thirds_of_the_best() {
    let mut state = 1u64;
    let mut next = |below: u64| {
        // Knuth's multiplier; the upper bits are taken.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut worst: f64 = 1.0;
    for _ in 0..10_000 {
        let (channels, count) = (2 + next(3) as usize, 1 + next(8));
        let requests: Vec<NewRequest> = (0..count)
            .map(|_| 1 + next(40))
            .map(|tokens| NewRequest { tokens, tck: tokens })
            .collect();
        let mut loads = vec![0; channels];
        min_load(&mut loads, &requests);
        let sizes: Vec<u64> = requests.iter().map(|request| request.tck).collect();
        let (ours, best) =
            (loads.iter().copied().max().expect("one"), golden::least_busiest(channels, &sizes));
        assert!(ours >= best && 3 * ours <= 4 * best, "{sizes:?} on {channels}: {ours}, {best}");
        worst = worst.max(ours as f64 / best as f64);
    }
    assert!(worst > 1.1, "the cases are too easy: {worst}");
}

#[test]
fn a_timeline_of_four_blocks_takes_what_the_formula_says() {
    let of_7b = shard("gpt3-7b", 4, 1);
    let blocks = Shard { blocks: 4, ..of_7b };
    let table = latencies(&of_7b, &Algorithm1::AUTHORS);
    let system = System { interleave: Interleave::On, ..System::NEUPIMS };
    for requests in [64, 256, 512] {
        let batch = warm_batch(&DATASETS[0], requests, CHANNELS, &table, 1);
        let channels = system.channels(&table, &batch);
        let ours = system.iteration(&blocks, &Algorithm1::AUTHORS, &channels);
        let parts = [ours.operators[0], ours.operators[1]];
        let timeline = run_interleaved(4, &parts, true);
        assert_eq!(timeline.violations, 0);
        let off = timeline.end.abs_diff(ours.tck) as f64 / timeline.end as f64;
        assert!(off < 0.01, "{requests}: {} {}", timeline.end, ours.tck);
        assert!(run_interleaved(4, &parts, false).end <= timeline.end);
    }
}

#[test]
fn the_engine_takes_as_long_for_all_lengths_of_as_many_words() {
    let spec = NeupimsSpec::built_in("hbm2-neupims").expect("a device");
    let of_7b = Shard { heads: 4, ..shard("gpt3-7b", 4, 1) };
    let engine = EngineLatency::new(&spec, RowBuffers::Dual);
    let options = pimlico_device::neupims::ChannelOptions { data: false, ..Default::default() };
    let commands = pimlico_device::neupims::Commands::Composite;
    let by = ChannelsBy::ENGINE;
    let setup = Setup { spec: spec.clone(), options, commands, threads: 1, by };
    for tokens in [1, 15, 16, 17, 31, 33, 127, 129, 290, 300, 511, 513, 530] {
        let job = RequestJob {
            heads: 4,
            head_dim: 128,
            tokens: tokens as usize,
            distribution: pimlico_model::data::Distribution::Random,
            seed: 3,
        };
        let run = job.run(&setup).expect("it has room").tck;
        assert_eq!(engine.tck(&of_7b, tokens), run, "{tokens}");
    }
    // 1, 2, 3, 8, 9, 19, 32, 33 and 34 words.
    assert_eq!(engine.runs(), 9);
    let long = Shard { heads: 96, ..of_7b };
    let error = engine.prepare([(&long, 32_768)], 1).expect_err("no room").to_string();
    assert!(error.contains("rows of each bank of a channel"), "{error}");
}

#[test]
fn latencies_of_the_engine_are_around_those_of_algorithm_1() {
    let spec = NeupimsSpec::built_in("hbm2-neupims").expect("a device");
    let engines = Engines::new(&spec);
    let of_7b = shard("gpt3-7b", 4, 1);
    let contexts = [40, 300, 700].map(|tokens| (&of_7b, tokens));
    engines.of(RowBuffers::Dual).prepare(contexts, 2).expect("room");
    assert_eq!(engines.of(RowBuffers::Dual).runs(), 3);
    for (_, tokens) in contexts {
        let estimate = Algorithm1::AUTHORS.tck(&of_7b, tokens) as f64;
        let [dual, single] = [RowBuffers::Dual, RowBuffers::Single]
            .map(|memory| engines.of(memory).tck(&of_7b, tokens) as f64);
        // Refresh, and writes and softmax of the first head.
        assert!((0.85..1.35).contains(&(dual / estimate)), "{tokens}: {dual} {estimate}");
        assert!(single >= dual, "{tokens}: {single} {dual}");
    }
}

#[test]
fn matrices_have_more_of_the_buses_with_more_reads_in_the_controller() {
    let spec = NeupimsSpec::built_in("hbm2-neupims").expect("a device");
    let [short, long] = [ReadQueue::Short, ReadQueue::Long]
        .map(|queue| MatrixRates::measure(&spec, queue, 2).expect("they run"));
    for MatrixRates { alone, beside, .. } in [short, long] {
        assert!(60.0 < beside && beside < alone && alone < 100.0, "{alone} {beside}");
    }
    assert!(short.alone < long.alone && short.beside < long.beside, "{short:?} {long:?}");
    let npu = short.bound(&System::NEUPIMS).npu;
    assert_eq!(npu.bandwidth, (10.24 * short.alone) as u64);
    assert_eq!(npu.beside, (10.24 * short.beside) as u64);
}

#[test]
fn nothing_is_used_more_than_it_is_there() {
    let of_30b = shard("gpt3-30b", 4, 2);
    let table = latencies(&of_30b, &Algorithm1::AUTHORS);
    for (dataset, requests) in [(0, 64), (0, 256), (0, 512), (1, 128), (1, 256)] {
        let batch = warm_batch(&DATASETS[dataset], requests, CHANNELS, &table, 1);
        for kv_append in [false, true] {
            for system in [System::NPU_ONLY, System::NPU_PIM, System::NEUPIMS] {
                let interleave = match system.interleave {
                    Interleave::Off => Interleave::Off,
                    _ => Interleave::On,
                };
                let system = System { kv_append, interleave, ..system };
                let channels = system.channels(&table, &batch);
                let of = system.iteration(&of_30b, &Algorithm1::AUTHORS, &channels);
                let npu = system.npu;
                let shares =
                    [of.npu_share(&npu), of.pim_share(), of.beat_share(), of.bus_share(&npu)];
                assert!(
                    shares.iter().all(|share| (0.0..=1.0).contains(share)),
                    "{system:?}: {shares:?}"
                );
            }
        }
    }
}

fn operators() -> impl Strategy<Value = Operators> {
    (0u64..1000, 0u64..1000, 0u64..1000).prop_map(|(qkv, mha, ffn)| Operators { qkv, mha, ffn })
}

proptest! {
    #[test]
    fn estimates_are_goldens(heads in 1u64..=64, tokens in 1u64..=LONGEST) {
        let shard = Shard { heads, head_dim: 128, ..shard("gpt3-7b", 4, 1) };
        let (ours, channel) = (Algorithm1::AUTHORS, channel(&shard));
        prop_assert_eq!(ours.tck(&shard, tokens), channel.latency(tokens));
        let (numerator, denominator) = channel.exact_latency(tokens);
        let exact = Algorithm1 { rounds: false, ..ours }.latency(&shard, tokens);
        // Sums and products of binary64: within a few units of the last place.
        prop_assert!((exact / (numerator as f64 / denominator as f64) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn packings_are_goldens(
        before in prop::collection::vec(0u64..50, 1..8),
        new in prop::collection::vec((1u64..20, 1u64..30), 0..30),
    ) {
        let requests: Vec<NewRequest> =
            new.iter().map(|&(tokens, tck)| NewRequest { tokens, tck }).collect();
        let mut loads = before.clone();
        prop_assert_eq!(min_load(&mut loads, &requests), golden::packed(&before, &new));
        let added: u64 = new.iter().map(|(_, tck)| tck).sum();
        prop_assert_eq!(loads.iter().sum::<u64>(), before.iter().sum::<u64>() + added);
    }

    #[test]
    fn sub_batches_are_goldens(counts in prop::collection::vec(0usize..20, 0..40)) {
        let parts = first_parts(&counts);
        prop_assert_eq!(&parts, &golden::first_parts(&counts));
        let second = |(count, part): (&usize, &usize)| *part as i64 - (count - part) as i64;
        let differences: Vec<i64> = counts.iter().zip(&parts).map(second).collect();
        prop_assert!(differences.iter().all(|difference| difference.abs() <= 1));
        prop_assert!(differences.iter().sum::<i64>().abs() <= 1);
        // No request is lost, and each channel keeps its order.
        let channels: Vec<Vec<u64>> = counts.iter().map(|&n| (0..n as u64).collect()).collect();
        let [one, two] = halves(&channels);
        for ((one, two), whole) in one.iter().zip(&two).zip(&channels) {
            prop_assert_eq!(&[one.as_slice(), two].concat(), whole);
        }
    }

    #[test]
    fn timelines_are_goldens(one in operators(), two in operators(), blocks in 1u64..=12) {
        let of = golden::Operators {
            qkv: [one.qkv, two.qkv],
            mha: [one.mha, two.mha],
            ffn: [one.ffn, two.ffn],
        };
        let expected = golden::interleaved(blocks as usize, &of);
        let timeline = run_interleaved(blocks, &[one, two], true);
        prop_assert_eq!((timeline.end, timeline.violations), (expected, 0));
        prop_assert_eq!(Stages::of(&[one, two]).total(blocks), expected);
        let serial = run_serial(blocks, &one);
        prop_assert_eq!((serial.end, serial.violations), (one.serial(blocks), 0));
    }
}
