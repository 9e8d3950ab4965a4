// SPDX-License-Identifier: MIT
//! LoL-PIM's figure 11, tensor and pipeline parallel on four nodes, with lanes of the softmax unit; and figure 12, the time of
//! a token.

use super::{LolLab, LolOutcome, MEAN_CONTEXT, Spread, Step, notes};
use crate::costs::Contexts;
use crate::error::ServingError;
use crate::lol::outcome::PipelineRun;
use crate::lol::plan::StagePlan;
use crate::lol::system::{Allocation, LANES, LolSystem, MicroBatches};
use crate::studies::throughput::llm;
use crate::studies::{Cell, Figure, Study, StudyTable, number, whole};
use crate::time::{MICROSECOND, SECOND};

/// Modules that share a stage, and stages (figure 11).
const SPREADS: [(u64, u64); 4] = [(4, 8), (8, 4), (16, 2), (32, 1)];
/// Lanes of the softmax unit.
const ALL_LANES: [usize; 6] = [1, 2, 4, 8, 16, 32];

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
    cases.extend(ALL_LANES.map(|lanes| (LolSystem { lanes, ..system.clone() }, "musique")));
    let outcomes = lab.runs(&cases)?;
    let violations = outcomes.iter().flatten().map(|of| of.violations).sum();
    let (one, rest) = outcomes.split_at(2 * SPREADS.len());
    let (stages, of_lanes) = rest.split_at(2 * SPREADS.len());
    let one = Spreads::of(MicroBatches::One, one)?;
    let stages = Spreads::of(MicroBatches::Stages, stages)?;
    let (table, hides) = lanes(lab, of_lanes)?;
    let speed = |at: usize| found(&of_lanes[at]).map(|of| of.run.steady.tokens_per_s);
    let mut figures = Vec::new();
    for (name, of) in [("one request each", &one), ("all requests in PP", &stages)] {
        figures.extend([
            Figure::new(
                &format!("micro-batches of {name}: lazy / static at a (TP, PP), largest"),
                "1.3",
                of.gain,
                [1.105, 1.56],
                "15 requests fill 8 stages, and weights are read for each request: more requests gain only where they share an \
                 all-reduce",
            ),
            Figure::new(
                &format!("micro-batches of {name}: between (TP, PP), lazy"),
                "1.73",
                of.between,
                [1.47, 2.076],
                "the latency of all-reduces over the modules of several nodes, and operands and results of small shares of the \
                 matrices",
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
            [16.0, LANES as f64],
            "the device's softmax unit",
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

/// Lanes of the softmax unit, and the fewest whose softmax of a head among many is no longer than its products.
fn lanes(lab: &LolLab<'_>, of_lanes: &[Spread]) -> Result<(StudyTable, f64), ServingError> {
    let mut rows = Vec::new();
    let mut hides = f64::INFINITY;
    for (lanes, of) in ALL_LANES.into_iter().zip(of_lanes) {
        let LolOutcome { system, run, .. } = found(of)?;
        let plan = StagePlan::new(system, lab.memo, lab.channel, &Contexts::Knots)?;
        let (products, softmax) = plan.of_head(MEAN_CONTEXT);
        if softmax <= products {
            hides = hides.min(lanes as f64);
        }
        let share = |ps: u64| 100.0 * ps as f64 / run.time.ps() as f64;
        rows.push(vec![
            whole(lanes as u64),
            number(run.steady.tokens_per_s, 0),
            number(products as f64 / MICROSECOND as f64, 2),
            number(softmax as f64 / MICROSECOND as f64, 2),
            number(share(run.time.products_ps), 1),
            number(share(run.time.softmax_ps), 1),
        ]);
    }
    let table = StudyTable {
        title: format!("Lanes of the softmax unit, TP 8, PP 4; a head of {MEAN_CONTEXT} tokens"),
        columns: vec![
            "lanes",
            "tokens/s",
            "products, us",
            "softmax, us",
            "products, % of a stage",
            "softmax beyond them, %",
        ],
        rows,
    };
    Ok((table, hides))
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
