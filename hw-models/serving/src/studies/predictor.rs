// SPDX-License-Identifier: MIT
//! L3's predictors (figure 10b): how far they are off, on batches that they were not trained on.

use super::lab::{Case, Lab, llm};
use super::throughput::TRACES;
use super::{Cell, Figure, Study, StudyTable, number, whole};
use crate::error::ServingError;
use crate::policy::{Placement, Policy};
use crate::predict::forest::Forest;
use crate::predict::linear::Linear;
use crate::predict::{Features, LAST, Model, Observation, Predictor, relative_error};
use crate::time::seconds;
use crate::trace::synthetic::generator;
use pimlico_workload::parallel;
use rand_xoshiro::rand_core::RngCore;

/// A fifth of the batches is kept for the test (section 6.3).
const KEPT: usize = 5;

/// Samples in an order of chance: those for training, and those for the test.
fn shuffled<const N: usize>(
    samples: &[Observation<N>],
    seed: u64,
) -> (Vec<Observation<N>>, Vec<Observation<N>>) {
    let (mut samples, mut random) = (samples.to_vec(), generator(seed));
    for at in (1..samples.len()).rev() {
        samples.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
    }
    let test = samples.split_off(samples.len() - samples.len() / KEPT);
    (samples, test)
}

/// Batches, and the mean of the relative errors in percent on those that were kept.
fn error<M: Model<N>, const N: usize>(
    samples: &[Observation<N>],
    seed: u64,
) -> (usize, Option<f64>) {
    let (training, test) = shuffled(samples, seed);
    let is_enough = !test.is_empty();
    let percent = is_enough.then(|| 100.0 * relative_error(&M::trained(&training), &test));
    (samples.len(), percent)
}

/// What became of the models on a trace: batches, and the error where there is one.
type Errors = [(usize, Option<f64>); 4];

/// Those of a run, in the order of the table: attention of prompts, of decoding requests by sums and by the busiest rankset, and
/// matrices.
fn errors(predictor: &Predictor, seed: u64) -> Errors {
    [
        error::<Forest<4>, 4>(predictor.prompts.samples(), seed),
        error::<Linear<3>, 3>(predictor.decoding.samples(), seed),
        error::<Linear<4>, 4>(predictor.busiest.samples(), seed),
        error::<Forest<2>, 2>(predictor.batch.samples(), seed),
    ]
}
/// Decoding requests by sums among them.
const SUMS: usize = 1;

/// Runs of a trace: with the costs themselves, learned by either kind of features, and with even work of all ranksets.
const RUNS: usize = 4;

fn runs(case: &Case) -> [Case; RUNS] {
    let learned = |learns| Case { learns: Some(learns), ..case.clone() };
    let even = Case { placement: Placement::Spread, ..learned(Features::Sums) };
    [case.clone(), learned(Features::Sums), learned(Features::Busiest), even]
}

/// What a run came to.
struct Learned {
    tokens_per_s: f64,
    errors: Option<Errors>,
    violations: u64,
}

/// Figure 10b, and what learning costs in throughput.
pub fn run(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let llm = llm("gpt-175b")?;
    let mut cases = Vec::new();
    for name in TRACES {
        cases.extend(runs(&Case::new(&llm, &lab.trace(name)?, Policy::L3)));
    }
    lab.measure(&cases)?;
    let weight = |case: &Case| case.trace.requests.iter().map(|request| request.output).sum();
    let serve = |case: &Case| {
        let (run, violations) = lab.run(case)?;
        let errors = run.predictor.as_ref().map(|predictor| errors(predictor, lab.seed));
        let tokens_per_s = run.output_tokens as f64 / seconds(run.makespan_ps.max(1));
        Ok::<_, ServingError>(Learned { tokens_per_s, errors, violations })
    };
    let outcomes = parallel::map(&cases, lab.memo.threads(), weight, serve, |_, _| {})?;
    let mut rows = Vec::new();
    // The largest error of each model, that by sums with even ranksets, and the least throughput.
    let (mut worst, mut even_worst, mut slowest) = ([0.0f64; 4], 0.0f64, f64::INFINITY);
    for (name, of) in TRACES.into_iter().zip(outcomes.chunks(RUNS)) {
        let [known, sums, busiest, even] = of else { continue };
        let mut row: Vec<Cell> = vec![name.into()];
        let cell = |percent: Option<f64>| percent.map_or("-".into(), |of| number(of, 2));
        let of_sums = sums.errors.unwrap_or_default();
        for (model, (batches, percent)) in of_sums.into_iter().enumerate() {
            if model != SUMS + 1 {
                row.push(whole(batches as u64));
            }
            row.push(cell(percent));
            worst[model] = worst[model].max(percent.unwrap_or(0.0));
        }
        let percent = even.errors.unwrap_or_default()[SUMS].1;
        even_worst = even_worst.max(percent.unwrap_or(0.0));
        row.push(cell(percent));
        for learned in [sums, busiest] {
            let share = learned.tokens_per_s / known.tokens_per_s;
            row.push(number(share, 3));
            slowest = slowest.min(share);
        }
        rows.push(row);
    }
    let figure = |what: &str, paper: &str, ours: f64, cause: &str| {
        let what = format!("relative error of {what}, largest of the traces, %");
        Figure::new(&what, paper, ours, [0.0, 5.0], cause)
    };
    let [prompts, sums, busiest, matrices] = worst;
    let uneven = format!(
        "a layer waits for the busiest rankset, and the sums of the paper's eq. (5) do not say which it is: with its tokens and \
         requests as features the error is {busiest:.2} %, and with work spread evenly over the ranksets (--placement spread) that \
         of the sums is {even_worst:.2} %"
    );
    let shown = "shown, no value";
    let few = "few batches with prompts, of lengths far apart";
    Ok(Study {
        study: "l3-predictor",
        title: format!("gpt-175b, {} requests, seed {}", lab.requests, lab.seed),
        tables: vec![StudyTable {
            title: "Relative error in % on a fifth of the batches, trained on the others (figure 10b)".to_owned(),
            columns: vec![
                "trace",
                "prompts: batches",
                "error",
                "decoding: batches",
                "by sums",
                "by the busiest rankset",
                "matrices: batches",
                "error",
                "by sums, even ranksets",
                "tokens/s by sums / known",
                "by the busiest / known",
            ],
            rows,
        }],
        figures: vec![
            figure("attention of prompts", shown, prompts, few),
            figure("attention of decoding requests", shown, sums, &uneven),
            figure(
                "attention of decoding requests by the busiest rankset",
                "other features",
                busiest,
                "steps of whole rows, and transfers of another rankset",
            ),
            figure("matrices", shown, matrices, few),
            Figure::new(
                "tokens/s with what is learned / with the costs themselves, least",
                "none",
                slowest,
                [0.95, 1.05],
                "chunks are cut by what is expected",
            ),
        ],
        violations: outcomes.iter().map(|of| of.violations).sum(),
        notes: vec![
            format!("batches: the last {LAST} of a run that the model has seen, in an order of chance"),
            "decoding: a linear function of the paper's features, eq. (5): sum f, len f, sum c; by the busiest rankset: its tokens and \
             requests, the most requests of a rankset, c for each rankset (`serve --predictor learned-busiest`)"
                .to_owned(),
            "prompts and matrices: random forests of 32 trees; their features and sizes are ours".to_owned(),
        ],
    })
}
