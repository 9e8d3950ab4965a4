// SPDX-License-Identifier: MIT
//! Programs with a single word changed: a run of one ends in an error, or its report says that it is wrong, or its results
//! are right. None passes with wrong results.

use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Config, Normalise, Options, SumFormat};
use pimlico_host::attached::Attached;
use pimlico_host::program::attention::Passes;
use pimlico_host::program::{attention as program, gemv as matrix_program};
use pimlico_model::data::{Distribution, generator};
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::error::WorkloadError;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::operator::{AnyOperator, execute};
use pimlico_workload::report::{Error, Report};
use pimlico_workload::system::{AttentionSetup, Rank};
use pimlico_workload::task::SILENT;
use rand_xoshiro::rand_core::RngCore;

/// An operator with its program.
struct Case {
    name: String,
    job: Box<dyn AnyOperator>,
    options: Options,
    words: Vec<u64>,
}

impl Case {
    fn attention(head_dim: usize, context: usize, heads: usize, options: Options) -> Self {
        let layout = HeadLayout::new(&Config::ddr4_3200(), head_dim, context, 0).expect("it fits");
        let words = program::attention(&layout, heads, options.sums, Passes::One).words();
        let job = AttentionJob {
            model: "test".to_owned(),
            head_dim,
            heads,
            group: heads,
            contexts: vec![context],
            distribution: Distribution::Random,
            seed: 3,
        };
        let name = format!("attention, {heads} of {head_dim}, {context} tokens, {options:?}");
        Self { name, job: Box::new(job), options, words: words.expect("it can be written") }
    }

    fn gemv(rows: usize, columns: usize, io_buffers: IoBuffers) -> Self {
        let options = Options::default();
        let layout = MatrixLayout::new(&Config::ddr4_3200(), rows, columns).expect("it fits");
        let words = matrix_program::gemv(&layout, io_buffers).words();
        let job = GemvJob { rows, columns, io_buffers, seed: 3 };
        let name = format!("gemv, {rows} x {columns}, {io_buffers:?}");
        Self { name, job: Box::new(job), options, words: words.expect("it can be written") }
    }

    fn run(&self, words: Vec<u64>) -> Result<Report, WorkloadError> {
        let mut rank = Attached::engine(&Config::ddr4_3200(), self.options).expect("an L3 rank");
        let setup = AttentionSetup { longest: None, program: Some(words) };
        execute(&*self.job, &mut Rank::new(&mut rank).with_setup(setup), SILENT)
    }
}

fn cases() -> Vec<Case> {
    let default = Options::default();
    let late = Options { normalise: Normalise::Late, sums: SumFormat::Binary32, ..default };
    vec![
        Case::attention(128, 100, 1, default),
        Case::attention(64, 700, 2, default),
        Case::attention(160, 30, 1, default),
        Case::attention(40, 90, 3, late),
        Case::gemv(64, 512, IoBuffers::PingPong),
        Case::gemv(40, 5000, IoBuffers::PingPong),
        Case::gemv(33, 4200, IoBuffers::Single),
    ]
}

/// Whether the command would end with status 0.
fn passes(report: &Report) -> bool {
    report.violations().is_none() && report.judged.wrong().is_none()
}

/// One number of a program changed: a bit, or some bits beside each other.
fn change(words: &[u64], mut random: impl FnMut() -> u64) -> (usize, Vec<u64>) {
    let mut words = words.to_vec();
    let at = (random() % words.len() as u64) as usize;
    let (from, width) = (random() % 64, 1 + random() % 8);
    let bits = if random().is_multiple_of(2) { 1 } else { random() % (1 << width) };
    words[at] ^= bits.max(1) << from;
    (at, words)
}

/// Changes programs so many times.
fn check(changes: usize, seed: u64) {
    let cases = cases();
    let mut random = generator(seed);
    let right: Vec<Report> =
        cases.iter().map(|case| case.run(case.words.clone()).expect("it runs")).collect();
    let error = |report: &Report| report.operators[0].error;
    let [mut refused, mut found, mut passed] = [0; 3];
    for n in 0..changes {
        let (case, right) = (&cases[n % cases.len()], &right[n % cases.len()]);
        assert!(passes(right), "{}: {:?}", case.name, right.judged);
        let (at, words) = change(&case.words, || random.next_u64());
        let changed = words[at];
        match case.run(words) {
            Err(_) => refused += 1,
            Ok(report) if !passes(&report) => found += 1,
            Ok(report) => {
                passed += 1;
                let (Error { max_relative: got, bound, .. }, expected) =
                    (error(&report), error(right).max_relative);
                let judged = &report.judged;
                assert!(
                    got <= 2.0 * expected && got <= bound && judged.compared == judged.results,
                    "{}: word {at} is {changed:#018x}: {got} {expected}",
                    case.name
                );
            }
        }
    }
    println!("{changes} changes: {refused} refused, {found} found wrong, {passed} right");
    assert!(refused > changes / 10 && found > changes / 10, "{refused} {found} {passed}");
}

#[test]
fn no_changed_program_passes_with_wrong_results() {
    check(1000, 1);
}

#[test]
#[ignore = "minutes: scripts/prove"]
fn none_of_many_changed_programs_passes_with_wrong_results() {
    check(30_000, 2);
}
