// SPDX-License-Identifier: MIT
use super::arrivals::Arrivals;
use super::*;
use pimlico_device::aim::AimOptions;
use pimlico_host::allocator::AllocatorError;

fn settings<'a>(rank: &'a Config, model: &'a Footprint, max_context: u64) -> Settings<'a> {
    Settings {
        rank,
        ranks: 256,
        spread: KvSpread::Streams,
        model,
        task: LONGBENCH[0],
        max_context,
        generate: 256,
        chunk_rows: 1,
        requests: 300,
        seed: 1,
    }
}

#[test]
fn presets_are_those_of_the_paper() {
    let presets = presets();
    let per_token = |name: &str| presets[name].streams() * presets[name].head_dim * 2;
    assert_eq!(per_token("qwen1.5-7b"), 512 << 10);
    assert_eq!(per_token("llama-3.1-8b"), 128 << 10);
    let (all, here) = (pimlico_model::presets(), presets.keys());
    assert!(here.eq(all.keys()), "one set of names");
    assert_eq!(rank_bytes(&Config::gddr6_aim()), 512 << 20);
    assert_eq!(rank_bytes(&Config::ddr4_3200()), 8 << 30);
}

#[test]
fn prompts_keep_to_the_limits_of_their_task() {
    let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
    for task in LONGBENCH {
        let arrivals = Arrivals::new(&Settings { task, ..settings(&rank, model, 32768) });
        let prompts: Vec<u64> = arrivals.take(10_000).map(|request| request.tokens).collect();
        assert!(prompts.iter().all(|length| (task.min..=task.max).contains(length)));
        let mean = prompts.iter().sum::<u64>() as f64 / 10_000.0;
        assert!((mean / task.mean - 1.0).abs() < 0.1, "{}: {mean}", task.name);
    }
}

#[test]
fn static_allocation_holds_whole_maxima_and_lazy_fills_the_rows() {
    let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
    let settings = settings(&rank, model, 32768);
    let layout = Layout::new(&settings).expect("it fits");
    // 32 layers x 32 heads x K and V over 256 channels: 8 streams; 128 tokens in a row.
    assert_eq!([1, 128, 129].map(|tokens| layout.rows_for(tokens)), [8, 8, 16]);
    let comparison = compare(&settings).expect("it fits");
    let BatchComparison { fixed, lazy, .. } = comparison;
    assert_eq!(fixed.batch, f64::from(layout.rows / layout.rows_for(32768)));
    assert_eq!(fixed.preempted, 0);
    assert!(fixed.utilisation < 0.5 && lazy.utilisation > 0.9, "{comparison:?}");
    // Every token is somewhere: batch and length give the utilisation.
    for outcome in [fixed, lazy] {
        let tokens = outcome.batch * outcome.mean_tokens * 8.0;
        let share = tokens / (f64::from(layout.rows) * 128.0);
        assert!((share / outcome.utilisation - 1.0).abs() < 1e-9);
    }
    assert!((100.0..150.0).contains(&comparison.increase_percent), "{comparison:?}");
}

#[test]
fn a_seed_reproduces_its_comparison() {
    let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
    let with = |seed| compare(&Settings { seed, ..settings(&rank, model, 32768) });
    assert_eq!(with(1), with(1));
    assert_ne!(with(1), with(2));
}

#[test]
fn requests_that_outgrow_the_device_wait_and_finish() {
    let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
    let task = LongBenchTask { name: "short", mean: 500.0, deviation: 100.0, min: 1, max: 1000 };
    let long = Settings { task, generate: 10_000, requests: 50, ..settings(&rank, model, 32768) };
    let comparison = compare(&long).expect("it fits");
    assert!(comparison.lazy.preempted > 0, "{comparison:?}");
    assert_eq!(comparison.fixed.preempted, 0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let rank = Config::gddr6_aim();
    let models = presets();
    let [small, big] = ["qwen1.5-7b", "qwen1.5-72b"].map(|name| &models[name]);
    let base = settings(&rank, small, 32768);
    let error = |settings: Settings<'_>| compare(&settings).expect_err("it does not fit");
    assert_eq!(error(Settings { ranks: 0, ..base.clone() }), BatchError::Zero("ranks"));
    let prompts = error(Settings { max_context: 30000, ..base.clone() });
    assert!(matches!(prompts, BatchError::Prompts { longest: 30456, .. }));
    assert!(matches!(error(Settings { model: big, ..base.clone() }), BatchError::Weights { .. }));
    let request = error(Settings { max_context: 1 << 20, ..base.clone() });
    assert!(matches!(request, BatchError::Request { .. }));
    let chunk = error(Settings { chunk_rows: 0, ..base });
    assert!(matches!(chunk, BatchError::Allocator(AllocatorError::ChunkRows { .. })));
}

/// A module of 16 channels: K of 2048 tokens in a row of all its banks, V of 1024, as half of the PUs have none of 128
/// elements.
#[test]
fn the_layout_that_runs_takes_a_half_more() {
    let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
    let streams = settings(&rank, model, 32768);
    let module = KvSpread::Module(AimOptions::default());
    let modules = Settings { spread: module, ..streams.clone() };
    let layout = Layout::new(&modules).expect("it fits");
    // 32 layers x 32 heads over 16 modules: 64 heads.
    for (tokens, rows) in [(1, 2), (1024, 2), (1025, 3), (2048, 3), (2049, 5), (32768, 48)] {
        assert_eq!(layout.rows_for(tokens), 64 * rows, "{tokens}");
    }
    let [of_paper, runs] = [streams, modules].map(|settings| compare(&settings).expect("it fits"));
    assert_eq!((of_paper.max_rows, runs.max_rows), (2048, 3072));
    assert!(runs.lazy.batch < 0.7 * of_paper.lazy.batch, "{runs:?}");
    assert!(runs.lazy.utilisation < 0.7 && of_paper.lazy.utilisation > 0.9);
}

/// The rows that are counted are those that the module's own layout has, wherever a head ends.
#[test]
fn rows_are_those_of_the_module_s_layout() {
    use pimlico_device::aim::AimHead;
    let (rank, options) = (Config::gddr6_aim(), AimOptions::default());
    let footprint = Footprint { layers: 1, kv_heads: 1, ..presets()["qwen1.5-7b"].clone() };
    for head_dim in [64, 128, 300] {
        let model = Footprint { head_dim, ..footprint.clone() };
        let ranks = 512;
        let settings = Settings {
            spread: KvSpread::Module(options),
            ranks,
            ..settings(&rank, &model, 40_000)
        };
        let layout = Layout::new(&settings).expect("it fits");
        let head = AimHead::new(&rank, &options, head_dim as usize, 40_000, 0).expect("it fits");
        assert_eq!(layout.rows_for(40_000), head.v.end_row() as u32);
        let element = |_: usize, _: usize| 1;
        let mut rows = std::collections::BTreeSet::new();
        for tokens in 1..=5000usize {
            let part = head.part(tokens);
            rows.extend(part.k.row_writes(tokens - 1, element).map(|writes| writes.row()));
            rows.extend(part.v.column_writes(tokens - 1, element).map(|writes| writes.row()));
            assert_eq!(layout.rows_for(tokens as u64), rows.len() as u32, "{head_dim} {tokens}");
        }
    }
}

#[test]
fn channels_make_whole_modules() {
    let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
    let spread = KvSpread::Module(AimOptions::default());
    let error = compare(&Settings { spread, ranks: 250, ..settings(&rank, model, 32768) });
    assert_eq!(error, Err(BatchError::Modules { channels: 250, module: 16 }));
}
