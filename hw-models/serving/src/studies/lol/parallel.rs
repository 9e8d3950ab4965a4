// SPDX-License-Identifier: MIT
//! LoL-PIM's figure 11, tensor and pipeline parallel on four nodes, with lanes of the softmax unit; and figure 12, the time of
//! a token.

use super::{LolLab, LolOutcome, MEAN_CONTEXT, Spread, Step, notes};
use crate::costs::Contexts;
use crate::error::ServingError;
use crate::lol::outcome::PipelineRun;
use crate::lol::plan::StagePlan;
use crate::lol::system::{Allocation, LolSystem, MicroBatches, SOFTMAX_PASSES};
use crate::studies::lab::llm;
use crate::studies::{Cell, Figure, Study, StudyTable, number, whole};
use crate::time::{MICROSECOND, SECOND};

/// Modules that share a stage, and stages (figure 11).
const SPREADS: [(u64, u64); 4] = [(4, 8), (8, 4), (16, 2), (32, 1)];
/// Lanes of the softmax unit.
const ALL_LANES: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Lanes, and passes over the scores: the device's unit has two; with one of 16 lanes behind them.
fn softmax_units() -> Vec<(usize, u64)> {
    let of_device = ALL_LANES.map(|lanes| (lanes, SOFTMAX_PASSES));
    of_device.into_iter().chain([(16, 1)]).collect()
}

fn found(of: &Spread) -> Result<&LolOutcome, ServingError> {
    of.as_ref().map_err(ServingError::setup)
}

/// What figure 11 is read by, of one way to make micro-batches.
struct Spreads {
    rows: Vec<Vec<Cell>>,
    /// The largest gain of lazy rows at a spread.
    gain: f64,
    /// The best spread over the worst, with lazy rows.
    between: f64,
    /// How much slower the spread that is best with static rows is with lazy ones, in percent.
    missed: f64,
}

impl Spreads {
    fn of(micro_batches: MicroBatches, outcomes: &[Spread]) -> Result<Self, ServingError> {
        let (mut rows, mut fixed, mut lazy) = (Vec::new(), Vec::new(), Vec::new());
        for ((tp, pp), of) in SPREADS.into_iter().zip(outcomes.chunks(2)) {
            let [before, after] = [&found(&of[0])?.run, &found(&of[1])?.run];
            let bubbles = |run: &PipelineRun| {
                100.0 * run.bubble_ps as f64 / (run.bubble_ps + run.time.ps()) as f64
            };
            let mut row: Vec<Cell> =
                vec![micro_batches.name().into(), format!("{tp}, {pp}").into()];
            for run in [before, after] {
                row.push(number(run.steady.tokens_per_s, 0));
                row.push(number(run.steady.batch, 1));
                row.push(number(bubbles(run), 1));
            }
            fixed.push(before.steady.tokens_per_s);
            lazy.push(after.steady.tokens_per_s);
            row.push(number(after.steady.tokens_per_s / before.steady.tokens_per_s, 2));
            rows.push(row);
        }
        let gain = lazy.iter().zip(&fixed).map(|(lazy, fixed)| lazy / fixed).fold(0.0, f64::max);
        let most = lazy.iter().copied().fold(0.0, f64::max);
        let least = lazy.iter().copied().fold(f64::MAX, f64::min);
        let best = (0..fixed.len()).max_by(|&a, &b| fixed[a].total_cmp(&fixed[b])).unwrap_or(0);
        let missed = 100.0 * (1.0 - lazy[best] / most);
        Ok(Self { rows, gain, between: most / least, missed })
    }
}

/// Figure 11, and lanes.
pub fn run(lab: &LolLab<'_>) -> Result<Study, ServingError> {
    let llm = llm("qwen1.5-7b")?;
    let system = Step::Three.system(&llm, 4, false);
    let kinds = [MicroBatches::One, MicroBatches::Stages];
    let mut cases = Vec::new();
    for (micro_batches, (tp, pp)) in kinds.into_iter().flat_map(|kind| SPREADS.map(|of| (kind, of)))
    {
        let of = |allocation| {
            (LolSystem { tp, pp, allocation, micro_batches, ..system.clone() }, "musique")
        };
        cases.extend([of(Allocation::Static), of(Allocation::Lazy)]);
    }
    let units = softmax_units().into_iter();
    cases.extend(units.map(|(lanes, softmax_passes)| {
        (LolSystem { lanes, softmax_passes, ..system.clone() }, "musique")
    }));
    // Micro-batches of one request where a hop takes no time.
    let free = |(tp, pp)| (LolSystem { tp, pp, hop_ps: 0, ..system.clone() }, "musique");
    cases.extend(SPREADS.map(free));
    let outcomes = lab.runs(&cases)?;
    let violations = outcomes.iter().flatten().map(|of| of.violations).sum();
    let (one, rest) = outcomes.split_at(2 * SPREADS.len());
    let (stages, rest) = rest.split_at(2 * SPREADS.len());
    let (of_lanes, free) = rest.split_at(softmax_units().len());
    let one = Spreads::of(MicroBatches::One, one)?;
    let stages = Spreads::of(MicroBatches::Stages, stages)?;
    let Lanes { table, hides, one_pass } = lanes(lab, of_lanes)?;
    let speed = |at: usize| found(&of_lanes[at]).map(|of| of.run.steady.tokens_per_s);
    let free = free.iter().map(|of| found(of).map(|of| of.run.steady.tokens_per_s));
    let free = free.collect::<Result<Vec<f64>, _>>()?;
    let free = free.iter().copied().fold(0.0, f64::max)
        / free.iter().copied().fold(f64::INFINITY, f64::min);
    let by_requests = format!(
        "15 requests fill 8 stages, and weights are read for each request: more requests gain only where they share an all-reduce, \
         {:.2} in PP micro-batches",
        stages.gain
    );
    let by_hops = format!(
        "an all-reduce for each request, whose hops take most of its time: {free:.2} where a hop takes no time (--hop-ns 0), \
         {:.2} in PP micro-batches, which share it",
        stages.between
    );
    let mut figures = Vec::new();
    for (name, of) in [("one request each", &one), ("all requests in PP", &stages)] {
        figures.extend([
            Figure::new(
                &format!("micro-batches of {name}: lazy / static at a (TP, PP), largest"),
                "1.3",
                of.gain,
                [1.105, 1.56],
                &by_requests,
            ),
            Figure::new(
                &format!("micro-batches of {name}: between (TP, PP), lazy"),
                "1.73",
                of.between,
                [1.47, 2.076],
                &by_hops,
            ),
            Figure::new(
                &format!("micro-batches of {name}: best (TP, PP) of static rows, slower with lazy ones by, %"),
                "7",
                of.missed,
                [0.0, 8.4],
                "other bubbles",
            ),
        ]);
    }
    figures.extend([
        Figure::new(
            "16 lanes / 1 lane",
            "no figure",
            speed(4)? / speed(0)?,
            [4.0, 16.0],
            "what else a token takes",
        ),
        Figure::new(
            "lanes from which softmax of many heads is hidden",
            "not given",
            hides,
            [16.0, 16.0],
            &one_pass,
        ),
    ]);
    Ok(Study {
        study: "lol-parallel",
        title: format!(
            "qwen1.5-7b on four nodes, Musique, {} requests, seed {}",
            lab.requests, lab.seed
        ),
        tables: vec![
            StudyTable {
                title: "Tensor and pipeline parallel (figure 11)".to_owned(),
                columns: vec![
                    "micro-batches",
                    "TP, PP",
                    "static, tokens/s",
                    "batch",
                    "bubbles, %",
                    "lazy, tokens/s",
                    "batch",
                    "bubbles, %",
                    "gain",
                ],
                rows: one.rows.into_iter().chain(stages.rows).collect(),
            },
            table,
        ],
        figures,
        violations,
        notes: notes(),
    })
}

/// Lanes of the softmax unit.
struct Lanes {
    table: StudyTable,
    /// The fewest whose softmax of a head among many is no longer than its products.
    hides: f64,
    /// What 16 lanes take, with two passes and with one.
    one_pass: String,
}

/// Softmax by lanes and passes.
fn lanes(lab: &LolLab<'_>, of_lanes: &[Spread]) -> Result<Lanes, ServingError> {
    let mut rows = Vec::new();
    let (mut hides, mut one_pass) = (f64::INFINITY, String::new());
    let mut two_passes = 0.0;
    let us = |ps: u64| ps as f64 / MICROSECOND as f64;
    for ((lanes, passes), of) in softmax_units().into_iter().zip(of_lanes) {
        let LolOutcome { system, run, .. } = found(of)?;
        let plan = StagePlan::new(system, lab.memo, lab.channel, &Contexts::Knots)?;
        let (products, softmax) = plan.of_head(MEAN_CONTEXT);
        if passes == SOFTMAX_PASSES && softmax <= products {
            hides = hides.min(lanes as f64);
        }
        if lanes == 16 {
            one_pass = format!(
                "the device's unit passes over the scores twice, for maximum and sum and for the weights, and takes {two_passes:.2} \
                 us with 16 lanes beside products of {:.2} us; with one pass (--softmax-passes 1) {:.2} us, which they hide",
                us(products),
                us(softmax)
            );
            two_passes = us(softmax);
        }
        let share = |ps: u64| 100.0 * ps as f64 / run.time.ps() as f64;
        rows.push(vec![
            whole(lanes as u64),
            whole(passes),
            number(run.steady.tokens_per_s, 0),
            number(us(products), 2),
            number(us(softmax), 2),
            number(share(run.time.products_ps), 1),
            number(share(run.time.softmax_ps), 1),
        ]);
    }
    let table = StudyTable {
        title: format!("Lanes of the softmax unit, TP 8, PP 4; a head of {MEAN_CONTEXT} tokens"),
        columns: vec![
            "lanes",
            "passes",
            "tokens/s",
            "products, us",
            "softmax, us",
            "products, % of a stage",
            "softmax beyond them, %",
        ],
        rows,
    };
    Ok(Lanes { table, hides, one_pass })
}

/// Figure 12: time of all modules for a token, by what it goes to.
pub fn latency(lab: &LolLab<'_>) -> Result<Study, ServingError> {
    let llm = llm("qwen1.5-72b")?;
    let nodes = 16;
    let kinds = [false, true].into_iter();
    let all = kinds.flat_map(|has_gpus| Step::ALL.map(|(step, _)| (step, has_gpus)));
    let all: Vec<(Step, bool)> = all.collect();
    let cases: Vec<_> = all
        .iter()
        .map(|&(step, has_gpus)| (step.system(&llm, nodes, has_gpus), "musique"))
        .collect();
    let best = lab.best(&cases)?;
    let violations = best.iter().flatten().map(|of| of.violations).sum();
    let (mut rows, mut times) = (Vec::new(), Vec::new());
    for ((step, has_gpus), of) in all.into_iter().zip(&best) {
        let LolOutcome { system, run, .. } = found(of)?;
        let token_ps = SECOND as f64 / run.steady.tokens_per_s;
        times.push(token_ps);
        let busy = (run.time.ps() + run.bubble_ps) as f64;
        let part = |ps: u64| number(token_ps * ps as f64 / busy / 1e9, 3);
        let row: Vec<Cell> = vec![
            format!("{}{}", if has_gpus { "GPU + " } else { "" }, step.name()).into(),
            format!("{}, {}", system.tp, system.pp).into(),
            number(run.steady.batch, 1),
            number(token_ps / 1e9, 3),
            part(run.time.matrices_ps),
            part(run.time.products_ps),
            part(run.time.softmax_ps),
            part(run.time.links_ps + run.time.tables_ps),
            part(run.bubble_ps),
            number(run.steady.token_ps / 1e9, 1),
        ];
        rows.push(row);
    }
    let cut = |from: usize| 100.0 * (1.0 - times[from + 3] / times[from]);
    let cause =
        "the baseline has one stage, which waits for nothing, and reads its weights as fast";
    Ok(Study {
        study: "lol-latency",
        title: format!(
            "qwen1.5-72b on 16 nodes, Musique, {} requests, seed {}",
            lab.requests, lab.seed
        ),
        tables: vec![StudyTable {
            title: "Time of the system for a token in ms (figure 12)".to_owned(),
            columns: vec![
                "system",
                "TP, PP",
                "batch",
                "a token",
                "matrices",
                "products",
                "softmax",
                "links",
                "bubbles",
                "between tokens of a request",
            ],
            rows,
        }],
        figures: vec![
            Figure::new(
                "time of a token, less by all three, %",
                "> 60",
                cut(0),
                [50.0, 100.0],
                cause,
            ),
            Figure::new("the same beside GPUs, %", "> 60", cut(4), [50.0, 100.0], cause),
        ],
        violations,
        notes: [
            "a token: one over tokens a second, shared out as the time of all stages is".to_owned()
        ]
        .into_iter()
        .chain(notes())
        .collect(),
    })
}
