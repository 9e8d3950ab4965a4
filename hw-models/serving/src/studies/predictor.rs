// SPDX-License-Identifier: MIT
//! L3's predictors (figure 10b): how far they are off, on batches that they were not trained on.

use super::throughput::{Case, Lab, TRACES, llm};
use super::{Cell, Figure, Study, StudyTable, number, whole};
use crate::error::ServingError;
use crate::policy::Policy;
use crate::predict::forest::Forest;
use crate::predict::linear::Linear;
use crate::predict::{LAST, Model, Observation, Predictor, relative_error};
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

/// What became of the models on a trace.
type Errors = [(usize, Option<f64>); 3];

fn errors(predictor: &Predictor, seed: u64) -> Errors {
    [
        error::<Forest<4>, 4>(predictor.prompts.samples(), seed),
        error::<Linear<3>, 3>(predictor.decoding.samples(), seed),
        error::<Forest<2>, 2>(predictor.batch.samples(), seed),
    ]
}

/// Figure 10b, and what learning costs in throughput.
pub fn run(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let llm = llm("gpt-175b")?;
    let mut cases = Vec::new();
    for name in TRACES {
        let case = Case::new(&llm, &lab.trace(name)?, Policy::L3);
        cases.extend([false, true].map(|learns| Case { learns, ..case.clone() }));
    }
    lab.measure(&cases)?;
    let weight = |case: &Case| case.trace.requests.iter().map(|request| request.output).sum();
    let serve = |case: &Case| {
        let (run, violations) = lab.run(case)?;
        let errors = run.predictor.as_ref().map(|predictor| errors(predictor, lab.seed));
        let tokens_per_s = run.output_tokens as f64 / seconds(run.makespan_ps.max(1));
        Ok::<_, ServingError>((tokens_per_s, errors, violations))
    };
    let outcomes = parallel::map(&cases, lab.memo.threads(), weight, serve, |_, _| {})?;
    let mut rows = Vec::new();
    let (mut worst, mut slowest) = ([0.0f64; 3], f64::INFINITY);
    for (name, of) in TRACES.into_iter().zip(outcomes.chunks(2)) {
        let [(known, ..), (learned, errors, _)] = of else { continue };
        let mut row: Vec<Cell> = vec![name.into()];
        for (model, (batches, percent)) in errors.iter().flatten().enumerate() {
            let percent_cell = percent.map_or("-".into(), |percent| number(percent, 2));
            row.extend([whole(*batches as u64), percent_cell]);
            worst[model] = worst[model].max(percent.unwrap_or(0.0));
        }
        row.push(number(learned / known, 3));
        slowest = slowest.min(learned / known);
        rows.push(row);
    }
    let figure = |what: &str, ours: f64, cause: &str| {
        let what = format!("relative error of {what}, largest of the traces, %");
        Figure::new(&what, "shown, no value", ours, [0.0, 5.0], cause)
    };
    let uneven = "the busiest rankset decides, and sums do not tell it";
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
                "error",
                "matrices: batches",
                "error",
                "tokens/s, learned / known",
            ],
            rows,
        }],
        figures: vec![
            figure("attention of prompts", worst[0], "few batches with prompts, of lengths far apart"),
            figure("attention of decoding requests", worst[1], uneven),
            figure("matrices", worst[2], "few batches with prompts, of lengths far apart"),
            Figure::new(
                "tokens/s with what is learned / with the costs themselves, least",
                "none",
                slowest,
                [0.95, 1.05],
                "chunks are cut by what is expected",
            ),
        ],
        violations: outcomes.iter().map(|(.., violations)| violations).sum(),
        notes: vec![
            format!("batches: the last {LAST} of a run that the model has seen, in an order of chance"),
            "prompts and matrices: random forests of 32 trees; decoding: a linear function; features and sizes are ours".to_owned(),
        ],
    })
}
