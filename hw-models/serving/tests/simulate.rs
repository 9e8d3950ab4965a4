// SPDX-License-Identifier: MIT
//! Traces on L3's system and its baselines: what `golden::timeline` says, and cases that can be computed by hand.

use pimlico_device::DeviceSpec;
use pimlico_golden::timeline::TimelineChecker;
use pimlico_serving::costs::memo::Memo;
use pimlico_serving::costs::rank::RankCosts;
use pimlico_serving::costs::{Contexts, CostTable, Knot};
use pimlico_serving::gpu::{Gpu, GpuGroup, GpuModel};
use pimlico_serving::hardware::Hardware;
use pimlico_serving::iteration::{Detail, FIRST_SET, Iteration, Shape, SubBatch, Work};
use pimlico_serving::llm::Llm;
use pimlico_serving::outcome::Run;
use pimlico_serving::policy::{Admission, Placement, Policy, SubBatches};
use pimlico_serving::predict::Features;
use pimlico_serving::replica::{Decoding, Replica};
use pimlico_serving::setup::Setup;
use pimlico_serving::simulate::simulate;
use pimlico_serving::trace::{Request, Trace, synthetic};

fn llm(name: &str) -> Llm {
    Llm::new(name, pimlico_model::presets()[name].clone())
}

/// A rank that takes 1000 ps for a token of a head.
fn costs() -> RankCosts {
    let knot = |tokens| Knot { tokens, ps: 1000 * tokens, energy_pj: tokens };
    RankCosts { head: CostTable::new([16, 131_072].map(knot).to_vec()), append_ps: 50_000 }
}

fn rank() -> pimlico_device::Config {
    DeviceSpec::built_in("ddr4-3200").expect("a preset").config()
}

/// Serves a trace; `change` changes how.
fn serve(
    name: &str,
    policy: Policy,
    trace: &Trace,
    costs: &RankCosts,
    change: impl Fn(&mut Setup<'_>),
) -> Run {
    let (llm, rank) = (llm(name), rank());
    let mut setup = Setup {
        llm: &llm,
        hardware: Hardware::l3(&llm),
        gpu: Gpu::A100,
        gpu_model: GpuModel::Attacc,
        policy,
        admission: Admission::Reserve,
        placement: policy.placement(),
        overlap: policy.overlaps(),
        sub_batches: SubBatches::Tokens,
        learns: None,
        detail: Detail::Periodic,
        rank: &rank,
        costs: Some(costs),
        window: 0..0,
        closed_loop: None,
        without: &[],
    };
    change(&mut setup);
    let mut checker = TimelineChecker::default();
    let run = simulate(&setup, trace, &mut checker).expect("it is served");
    assert_eq!(checker.first(), None, "{}", policy.name());
    assert!(checker.tasks() > 0);
    run
}

fn requests(list: &[(u64, u64)]) -> Trace {
    let request = |&(input, output)| Request { arrival_ps: 0, input, output };
    Trace { name: "t".to_owned(), requests: list.iter().map(request).collect() }
}

#[test]
fn every_policy_makes_every_token_and_breaks_no_rule() {
    let trace = synthetic::make("dolphin", 60, 3).expect("a trace");
    let wanted: u64 = trace.requests.iter().map(|request| request.output).sum();
    for (policy, _) in Policy::ALL {
        for (name, admission) in [("gpt-175b", Admission::Reserve), ("opt-66b", Admission::Lazy)] {
            let run = serve(name, policy, &trace, &costs(), |setup| setup.admission = admission);
            let without: u64 = run.oom.iter().map(|&n| trace.requests[n as usize].output).sum();
            assert_eq!(run.output_tokens, wanted - without, "{} {name}", policy.name());
            assert_eq!(run.served.len() + run.oom.len(), trace.requests.len());
            for (_, served) in &run.served {
                assert!(
                    served.scheduled_ps < served.first_ps && served.first_ps <= served.finished_ps
                );
            }
        }
    }
}

#[test]
fn every_placement_makes_every_token_and_breaks_no_rule() {
    let trace = synthetic::make("dolphin", 60, 3).expect("a trace");
    let wanted: u64 = trace.requests.iter().map(|request| request.output).sum();
    for policy in [Policy::RankPim, Policy::L3Naive, Policy::L3] {
        for (placement, _) in Placement::ALL {
            for sub_batches in [SubBatches::Tokens, SubBatches::Ranksets] {
                let run = serve("gpt-175b", policy, &trace, &costs(), |setup| {
                    (setup.placement, setup.sub_batches) = (placement, sub_batches);
                });
                assert_eq!(run.output_tokens, wanted, "{} {placement:?}", policy.name());
            }
        }
    }
}

/// Requests of GPT-175B that fill three quarters of a rankset: each has one of its own, unless one is drawn before it comes.
#[test]
fn random_ranksets_are_those_with_room() {
    // 512 GiB of a rankset hold some 116 000 tokens.
    let trace = requests(&[(90_000, 2); 4]);
    let of = |policy, placement| {
        let run = serve("gpt-175b", policy, &trace, &costs(), |setup| setup.placement = placement);
        run.batch.most
    };
    for policy in [Policy::RankPim, Policy::L3] {
        assert_eq!(of(policy, Placement::Random), 4, "{}", policy.name());
        assert!(of(policy, Placement::Drawn) < 4, "{}", policy.name());
        assert_eq!(of(policy, Placement::Layers), 4, "{}", policy.name());
    }
}

/// Attention of R-PIM's ranks is K and V over the pins of the ranks that have them.
#[test]
fn ranks_without_banks_that_compute_read_over_their_pins() {
    let (llm, hardware) = (llm("gpt-175b"), Hardware::l3(&llm("gpt-175b")));
    let of = |placement, classes: [u32; 4]| {
        let replica = Replica {
            policy: Policy::RankPim,
            gpus: GpuGroup { gpu: Gpu::A100, model: GpuModel::Attacc, tp: 8 },
            channels: hardware.channels,
            sets: hardware.sets(),
            heads: 6,
            placement,
            ranks: None,
            llm: llm.clone(),
        };
        let decoding = classes.map(|class| Decoding::new(10_000, class));
        let half = replica.sub_batch(&decoding, &[]);
        let most = half.parts.iter().map(|part| part.compute_ps).max().expect("it decodes");
        // Transfers are hidden.
        assert!(half.parts.iter().all(|part| (part.down_ps, part.up_ps) == (0, 0)));
        (half.parts.len(), most)
    };
    // 4 d bytes of each of 10 000 tokens, 491.52 MB, over 16 channels of 25.6 GB/s: 1.2 ms.
    let one = 1_200_000_000;
    let near = |ps: u64, expected: u64| ps.abs_diff(expected) * 1000 <= expected;
    let (parts, even) = of(Placement::Layers, [0, 1, 2, 3]);
    assert!(parts == 4 && near(even, one), "{even} {one}");
    let (parts, uneven) = of(Placement::Layers, [0, 0, 0, 3]);
    assert!(parts == 2 && near(uneven, 3 * one), "{uneven} {one}");
    let (parts, spread) = of(Placement::Spread, [0; 4]);
    assert!(parts == 4 && near(spread, one), "{spread} {one}");
}

#[test]
fn sub_batches_that_are_even_by_rankset_take_less() {
    let trace = synthetic::make("openthoughts", 40, 1).expect("a trace");
    let of = |placement, sub_batches| {
        let run = serve("gpt-175b", Policy::L3, &trace, &costs(), |setup| {
            (setup.placement, setup.sub_batches) = (placement, sub_batches);
        });
        run.makespan_ps
    };
    let tokens = of(Placement::Layers, SubBatches::Tokens);
    let ranksets = of(Placement::Layers, SubBatches::Ranksets);
    let bound = of(Placement::Spread, SubBatches::Tokens);
    assert!(bound < ranksets && ranksets < tokens, "{bound} {ranksets} {tokens}");
}

/// The sums of the paper's eq. (5) say what attention takes where all ranksets have equal work, and only there.
#[test]
fn sums_predict_even_ranksets_and_the_busiest_one_predicts_all() {
    let trace = synthetic::make("dolphin", 250, 1).expect("a trace");
    let of = |placement, features| {
        let run = serve("gpt-175b", Policy::L3, &trace, &costs(), |setup| {
            (setup.placement, setup.learns) = (placement, Some(features));
        });
        let learned = run.predictor.expect("it learns").outcome();
        [learned.decoding, learned.busiest].map(|of| of.relative_error.expect("it is trained"))
    };
    for features in [Features::Sums, Features::Busiest] {
        let [sums, busiest] = of(Placement::Layers, features);
        assert!(sums > 0.05 && busiest < 0.01, "{sums} {busiest}");
    }
    let [sums, _] = of(Placement::Spread, Features::Sums);
    assert!(sums < 0.01, "{sums}");
}

#[test]
fn a_run_is_the_same_each_time() {
    let trace = synthetic::make("openthoughts", 30, 1).expect("a trace").at_rate(2.0, 4);
    let run = || serve("gpt-89b", Policy::L3, &trace, &costs(), |_| {});
    let (first, second) = (run(), run());
    assert_eq!((first.makespan_ps, &first.served), (second.makespan_ps, &second.served));
    assert_eq!(first.busy_ps, second.busy_ps);
}

#[test]
fn arrivals_are_waited_for() {
    let mut trace = requests(&[(100, 3), (100, 3)]);
    trace.requests[1].arrival_ps = 1_000_000_000_000_000;
    let run = serve("gpt-175b", Policy::L3, &trace, &costs(), |_| {});
    let (_, late) = run.served[1];
    assert_eq!(late.scheduled_ps, trace.requests[1].arrival_ps);
    assert!(run.served[0].1.finished_ps < late.scheduled_ps);
}

#[test]
fn in_a_closed_loop_there_are_no_more_requests_than_are_asked_for() {
    let trace = synthetic::make("dolphin", 40, 3).expect("a trace");
    let of = |closed_loop| {
        serve("gpt-175b", Policy::L3, &trace, &costs(), |setup| setup.closed_loop = closed_loop)
    };
    let one = of(Some(1));
    assert_eq!((one.batch.most, one.served.len()), (1, 40));
    // Each comes when the one before it has ended.
    for two in one.served.windows(2) {
        assert_eq!(two[1].1.arrival_ps, two[0].1.finished_ps);
    }
    let few = of(Some(7));
    assert_eq!((few.batch.most, few.served.len()), (7, 40));
    assert!(few.makespan_ps < one.makespan_ps);
    // As many as there are is all at once.
    let (all, offline) = (of(Some(1000)), of(None));
    assert_eq!((all.makespan_ps, all.served), (offline.makespan_ps, offline.served));
}

#[test]
fn layers_that_are_alike_are_those_that_would_be_placed() {
    let trace = requests(&[(3000, 20), (500, 9), (90, 30)]);
    let of = |detail| {
        let run = serve("gpt-175b", Policy::L3, &trace, &costs(), |setup| setup.detail = detail);
        // The same iterations: stretches are of one iteration where all is placed.
        (run.iterations, run.makespan_ps)
    };
    let (periodic, full) = (of(Detail::Periodic), of(Detail::Full));
    assert_eq!(periodic.0, full.0);
    // Contexts in the middle of a stretch stand for those around them.
    let off = periodic.1.abs_diff(full.1) as f64 / full.1 as f64;
    assert!(off < 1e-4, "{off}");
}

#[test]
fn who_is_sent_back_comes_again_and_finishes() {
    // 316 GiB hold 71 894 tokens of GPT-175B.
    let trace = requests(&[(20_000, 9000); 6]);
    let run = serve("gpt-175b", Policy::GpuOnly, &trace, &costs(), |setup| {
        setup.admission = Admission::Lazy;
    });
    assert!(run.preempted > 0);
    assert_eq!(run.output_tokens, 6 * 9000);
    assert!(run.prompt_tokens > 6 * 20_000);
    let restarts: u32 = run.served.iter().map(|(_, served)| served.restarts).sum();
    assert_eq!(u64::from(restarts), run.preempted);
    let reserved = serve("gpt-175b", Policy::GpuOnly, &trace, &costs(), |_| {});
    assert_eq!((reserved.preempted, reserved.prompt_tokens), (0, 6 * 20_000));
}

#[test]
fn requests_that_fit_nowhere_are_left_out_and_none_is_an_error() {
    let trace = requests(&[(30_000, 2), (100, 2)]);
    let run = serve("opt-66b", Policy::GpuOnly, &trace, &costs(), |_| {});
    assert_eq!((run.oom, run.served.len()), (vec![0], 1));
    let (llm, rank) = (llm("opt-66b"), rank());
    let setup = Setup {
        llm: &llm,
        hardware: Hardware::l3(&llm),
        gpu: Gpu::A100,
        gpu_model: GpuModel::Attacc,
        policy: Policy::GpuOnly,
        admission: Admission::Reserve,
        placement: Placement::Layers,
        overlap: false,
        sub_batches: SubBatches::Tokens,
        learns: None,
        detail: Detail::Periodic,
        rank: &rank,
        costs: None,
        window: 0..0,
        closed_loop: None,
        without: &[],
    };
    let long = requests(&[(30_000, 2)]);
    let error = simulate(&setup, &long, &mut TimelineChecker::default()).expect_err("no room");
    let told = "K and V of the shortest request, 30002 tokens of opt-66b, take 70783598592 bytes";
    assert!(error.to_string().starts_with(told), "{error}");
}

/// Costs that are asked for with a trace are those that serving it needs: what all other contexts cost changes nothing.
#[test]
fn contexts_of_a_trace_are_all_that_serving_it_needs() {
    let trace = requests(&[(3000, 40), (499, 9), (90, 300), (16, 2)]);
    let Contexts::Exactly(needed) = Contexts::of(&trace) else { panic!("contexts") };
    let table = |other_ps: u64| {
        let knot = |chunk: u64| {
            let tokens = 16 * chunk;
            let ps = if needed.contains(&tokens) { 1000 * tokens } else { other_ps };
            Knot { tokens, ps, energy_pj: 0 }
        };
        RankCosts { head: CostTable::new((1..=300).map(knot).collect()), append_ps: 50_000 }
    };
    for admission in [Admission::Reserve, Admission::Lazy] {
        let of = |other_ps| {
            let run = serve("gpt-175b", Policy::L3, &trace, &table(other_ps), |setup| {
                setup.admission = admission;
            });
            (run.makespan_ps, run.served)
        };
        assert_eq!(of(1), of(1_000_000_000));
    }
}

/// Four requests of 16 384 tokens of GPT-175B: each rankset has one of them in each layer, six heads on a rank.
#[test]
fn attention_of_even_ranksets_is_that_of_the_devices_own_layer() {
    let (spec, llm) = (DeviceSpec::built_in("ddr4-3200").expect("a preset"), llm("gpt-175b"));
    let costs = RankCosts::new(&Memo::new(1), &spec, &llm, &Contexts::Knots).expect("costs");
    let head_ps = costs.head.ps(16_384);
    // With refresh where it falls.
    let (device, table) = costs.with_refresh(&spec, &llm, 16_384).expect("heads");
    assert!(device.abs_diff(table) * 1000 <= device, "{device} {table}");
    // The specification's head of 72 135 tCK had one REF less than that of the device today.
    assert!((72_000..72_600).contains(&(head_ps / 625)), "{head_ps}");
    let hardware = Hardware::l3(&llm);
    let replica = Replica {
        policy: Policy::L3,
        gpus: GpuGroup { gpu: Gpu::A100, model: GpuModel::Attacc, tp: 8 },
        channels: hardware.channels,
        sets: hardware.sets(),
        heads: 6,
        placement: Placement::Layers,
        ranks: Some(costs),
        llm,
    };
    // Attention of a layer, and how long each rankset is busy in an iteration.
    let of = |classes: [u32; 4]| {
        let decoding = classes.map(|class| Decoding::new(16_384, class));
        let half = replica.sub_batch(&decoding, &[]);
        let attention = half.parts.iter().map(|part| part.compute_ps).max().expect("it decodes");
        let shape = Shape {
            layers: 96,
            sets: 4,
            rotates: true,
            overlap: true,
            latency_ps: 0,
            detail: Detail::Full,
        };
        let placed = Iteration { shape, halves: [half, SubBatch::default()] }.place(96);
        let mut busy = [[0; 4]; 96];
        for (task, label) in placed.graph.tasks().iter().zip(&placed.labels) {
            if label.work == Work::Heads {
                let set = task.uses.trailing_zeros() - FIRST_SET;
                busy[label.layer as usize][set as usize] += task.ps;
            }
        }
        (attention, busy)
    };
    let (even, busy) = of([0, 1, 2, 3]);
    assert_eq!(even, 6 * head_ps);
    assert!(busy.iter().all(|sets| sets.iter().all(|&ps| ps == even)));
    // 11.9 TB/s of K and V.
    let bytes = 4.0 * 16_384.0 * 4.0 * 12_288.0;
    let tb_per_s = bytes / (even as f64 / 1e12) / 1e12;
    assert!((11.7..12.0).contains(&tb_per_s), "{tb_per_s}");
    let (same, busy) = of([0; 4]);
    assert_eq!(same, 4 * even);
    assert!(busy.iter().all(|sets| sets.iter().filter(|&&ps| ps == 0).count() == 3));
}
