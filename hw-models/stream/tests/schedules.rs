// SPDX-License-Identifier: MIT
//! Random schedules on threads and on a computed clock, judged by `golden::schedule` from their events.

mod judged;

use judged::{Case, Faulty, judge};
use pimlico_stream::agents::{Halt, RunError, Supply, Work, run};
use pimlico_stream::event::{Event, Load, Use, What};
use pimlico_stream::setup::{Residency, Setup};
use pimlico_stream::simulate::{Costs, simulate};
use proptest::prelude::*;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Setups that can run: up to 30 layers of different sizes, 8 loaders, a limit from the least to all.
fn setups() -> impl Strategy<Value = Setup> {
    let layers = prop::collection::vec(1..=100u64, 1..=30);
    let rest = (1..=3usize, 0..=50u64, 1..=8usize, 1..=10usize, 0..=4usize, 0..=9u8, 0.0..=1.0f64);
    (layers, rest).prop_map(|(layers, (passes, fixed, loaders, slots, pinned, kind, room))| {
        let count = layers.len();
        let residency = match kind {
            0 => Residency::Whole,
            1 => Residency::Pipeline,
            _ => Residency::Pipeload {
                loaders: loaders.min(count),
                slots,
                pinned: pinned.min(count) * usize::from(kind > 6),
            },
        };
        let setup = Setup { layers, passes, fixed, limit: None, residency };
        let (least, all) = (fixed + setup.least().0, fixed + setup.layers.iter().sum::<u64>());
        let limit = (room < 0.9).then(|| least + ((all - least) as f64 * room * room) as u64);
        Setup { limit, ..setup }
    })
}

proptest! {
    // On threads, with naps of up to an eighth of a millisecond.
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn threads_keep_every_promise(setup in setups(), seed in any::<u64>(), early in any::<bool>()) {
        let case = Case { seed, nap_us: 125, ends_after: early.then_some(setup.passes.div_ceil(2)) };
        let (events, outcome) = case.run(&setup).expect("it runs");
        let account = judge(&setup, &events).map_err(TestCaseError::fail)?;
        prop_assert_eq!(account.most_bytes, setup.fixed + outcome.peak_bytes);
        prop_assert_eq!(account.fills as u64, outcome.signals.ready);
        prop_assert_eq!(account.fills, outcome.loads);
        if case.ends_after.is_none() {
            prop_assert_eq!(account.bytes, setup.bytes_loaded());
            prop_assert_eq!(account.in_vain, 0);
            prop_assert_eq!(outcome.signals.stop, outcome.signals.go);
        }
    }

    #[test]
    fn simulated_runs_keep_every_promise(
        setup in setups(), seed in any::<u64>(), contention in 0.0..=0.5f64,
    ) {
        let mut random = judged::random(seed);
        let mut times = || setup.layers.iter().map(|_| (random() % 100) as f64).collect::<Vec<_>>();
        let costs = Costs { load_ns: times(), compute_ns: times(), contention };
        let mut events = Vec::new();
        let run = simulate(&setup, &costs, &mut |event| events.push(event)).expect("it runs");
        let account = judge(&setup, &events).map_err(TestCaseError::fail)?;
        prop_assert_eq!(account.bytes, setup.bytes_loaded());
        prop_assert_eq!(account.most_bytes, setup.fixed + run.peak_bytes);
    }
}

/// What took time, in the order in which it ended.
fn ends(events: &[Event]) -> Vec<What> {
    let is_end = |event: &&Event| matches!(event.what, What::Ready(_) | What::Computed(_));
    let without_slot = |event: &Event| match event.what {
        What::Ready(load) => What::Ready(Load { slot: 0, ..load }),
        What::Computed(used) => What::Computed(Use { slot: 0, ..used }),
        other => other,
    };
    events.iter().filter(is_end).map(without_slot).collect()
}

/// The least time between two of these, in ns.
fn least_gap(events: &[Event]) -> u64 {
    let at: Vec<_> = events
        .iter()
        .filter(|event| matches!(event.what, What::Ready(_) | What::Computed(_)))
        .map(|event| event.at_ns)
        .collect();
    at.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0)
}

/// Loads and computes for given times.
struct Timed<'a> {
    costs: &'a Costs,
}

impl Supply<()> for Timed<'_> {
    type Error = String;

    fn load(&self, load: Load, (): &mut (), halt: &Halt) -> Result<(), String> {
        let time = Duration::from_nanos(self.costs.load_ns[load.layer] as u64);
        halt.sleep_until(Instant::now() + time);
        Ok(())
    }
}

impl Work<()> for Timed<'_> {
    type Error = String;

    fn layer(&mut self, used: Use, (): &()) -> Result<(), String> {
        std::thread::sleep(Duration::from_nanos(self.costs.compute_ns[used.layer] as u64));
        Ok(())
    }

    fn pass(&mut self, _: usize) -> Result<bool, String> {
        Ok(true)
    }
}

/// Threads that sleep for the times of a simulation end things in its order. What ends within a unit of something
/// else in the simulation is no case; a machine that is busy gets longer units.
#[test]
fn threads_do_what_was_simulated() {
    let mut random = judged::random(7);
    let mut cases = 0;
    while cases < 12 {
        let mut number = |most: u64| (1 + random() % most) as usize;
        let (layers, loaders, slots) = (2 + number(6), number(4), number(5));
        let loaders = loaders.min(layers);
        let residency = Residency::Pipeload { loaders, slots, pinned: 0 };
        let bytes: Vec<u64> = (0..layers).map(|_| number(9) as u64).collect();
        let mut setup = Setup { layers: bytes, passes: 1, fixed: 0, limit: None, residency };
        setup.limit = Some(setup.least().0 + number(20) as u64);
        let mut times = |most| (0..layers).map(|_| number(most) as f64).collect::<Vec<_>>();
        let units = Costs { load_ns: times(9), compute_ns: times(5), contention: 0.0 };
        let simulated = |ns: f64| {
            let scaled = |times: &[f64]| times.iter().map(|time| time * ns).collect();
            let (load_ns, compute_ns) = (scaled(&units.load_ns), scaled(&units.compute_ns));
            let costs = Costs { load_ns, compute_ns, contention: 0.0 };
            let mut events = Vec::new();
            simulate(&setup, &costs, &mut |event| events.push(event)).expect("it runs");
            (costs, events)
        };
        if least_gap(&simulated(1.0).1) == 0 {
            continue;
        }
        cases += 1;
        let same = [4e6, 16e6, 64e6, 256e6].into_iter().any(|ns| {
            let (costs, expected) = simulated(ns);
            let slots: Vec<_> = (0..setup.slots()).map(|_| Mutex::new(())).collect();
            let mut events = Vec::new();
            let (supply, mut work) = (Timed { costs: &costs }, Timed { costs: &costs });
            run(&setup, &slots, &supply, &mut work, &mut |event| events.push(event))
                .expect("it runs");
            judge(&setup, &events).expect("a sound run");
            ends(&events) == ends(&expected)
        });
        assert!(same, "{setup:?} {units:?}");
    }
}

/// Six loaders, and room for two layers or for one: the run comes to its end within its limit.
#[test]
fn a_tight_limit_is_kept_without_deadlock() {
    for (room, least_stops) in [(2, 1), (1, 1)] {
        let residency = Residency::Pipeload { loaders: 6, slots: 7, pinned: 0 };
        let setup = Setup {
            layers: vec![10; 24],
            passes: 3,
            fixed: 5,
            limit: Some(5 + 10 * room),
            residency,
        };
        let case = Case { seed: 1, nap_us: 300, ends_after: None };
        let (events, outcome) = case.run(&setup).expect("it runs");
        let account = judge(&setup, &events).expect("a sound run");
        assert_eq!(account.most_bytes, 5 + 10 * room);
        assert!(outcome.signals.stop >= least_stops, "{:?}", outcome.signals);
        assert_eq!((outcome.signals.ready, outcome.signals.destroy), (72, 72));
        let is_load = |event: &&Event| matches!(event.what, What::Filling(_));
        assert_eq!(events.iter().filter(is_load).count(), 72);
    }
}

/// Threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

#[test]
fn the_first_failure_stops_all() {
    let residency = Residency::Pipeload { loaders: 4, slots: 5, pinned: 0 };
    let setup = Setup { layers: vec![1; 20], passes: 50, fixed: 0, limit: None, residency };
    let case = Case { seed: 3, nap_us: 200, ends_after: None };
    let before = threads();
    for at in 0..100 {
        for faulty in [
            Faulty::Load { number: at },
            Faulty::Panic { number: at },
            Faulty::Compute { number: at },
            Faulty::ComputePanic { number: at },
        ] {
            let begun = Instant::now();
            let mut events = Vec::new();
            let error = case.run_with(&setup, Some(faulty), &mut events).expect_err("a failure");
            assert!(begun.elapsed() < Duration::from_secs(2), "{faulty:?}");
            let expected = match faulty {
                Faulty::Load { .. } => format!("load {at} fails"),
                Faulty::Compute { .. } => format!("layer {at} fails"),
                Faulty::Panic { .. } => format!("loader {} panicked: load {at}", at % 4),
                Faulty::ComputePanic { .. } => format!("the inference agent panicked: layer {at}"),
            };
            assert_eq!(error.to_string(), expected);
            judge(&setup, &events).expect("nothing runs after the failure");
            assert_eq!(events.last().map(|event| event.what), Some(What::Failed));
        }
    }
    // Tests run side by side: others may have threads.
    assert!(threads() <= before + 40, "{} threads, {before} before", threads());
}

/// A loader that sleeps for an hour wakes up when another one fails.
#[test]
fn a_failure_wakes_who_sleeps() {
    struct Sleepy;
    impl Supply<()> for Sleepy {
        type Error = String;
        fn load(&self, load: Load, (): &mut (), halt: &Halt) -> Result<(), String> {
            match load.number {
                1 => Err("load 1 fails".to_owned()),
                _ => {
                    halt.sleep_until(Instant::now() + Duration::from_secs(3600));
                    Ok(())
                }
            }
        }
    }
    let residency = Residency::Pipeload { loaders: 2, slots: 3, pinned: 0 };
    let setup = Setup { layers: vec![1; 4], passes: 1, fixed: 0, limit: None, residency };
    let costs = Costs::even(4, 0.0, 0.0, 0.0);
    let slots: Vec<_> = (0..3).map(|_| Mutex::new(())).collect();
    let begun = Instant::now();
    let error = run(&setup, &slots, &Sleepy, &mut Timed { costs: &costs }, &mut |_| ());
    assert_eq!(error, Err(RunError::Agent("load 1 fails".to_owned())));
    assert!(begun.elapsed() < Duration::from_secs(1));
}
