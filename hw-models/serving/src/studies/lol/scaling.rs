// SPDX-License-Identifier: MIT
//! LoL-PIM's figures 9 and 10: memory from 128 to 1024 GB.

use super::gpus::GpuServing;
use super::{LolLab, Spread, Step, notes, spreads, staged};
use crate::error::ServingError;
use crate::gpu::Gpu;
use crate::lol::system::MicroBatches;
use crate::studies::lab::llm;
use crate::studies::{Cell, Figure, Study, StudyTable, number, whole};

/// The models of the figures.
const MODELS: [&str; 2] = ["qwen1.5-7b", "qwen1.5-72b"];
/// The tasks.
const TASKS: [&str; 3] = ["qmsum", "hotpotqa", "musique"];
/// Nodes, of 64 GB each as the paper counts.
const NODES: [u64; 4] = [2, 4, 8, 16];
/// Systems that are simulated: the four steps, LoL-PIM beside GPUs, and the baseline in the best of tensor and pipeline parallel.
const SIMULATED: usize = Step::ALL.len() + 2;
/// The full system among them, that with GPUs, and the baseline with stages.
const FULL: usize = 3;
const WITH_GPUS: usize = 4;
const STAGED: usize = 5;
/// GB of a GPU-HBM.
const HBM_GB: u64 = 80;

/// A model, memory and task.
struct Point {
    model: &'static str,
    nodes: u64,
    task: &'static str,
    of: Vec<Spread>,
    /// Tokens a second of GPU-GDDR and GPU-HBM.
    gpus: [f64; 2],
    /// Those of GPU-GDDR by how it serves.
    gddr: [f64; GpuServing::ALL.len()],
}

impl Point {
    fn tokens(&self, system: usize) -> Option<f64> {
        self.of[system].as_ref().ok().map(|of| of.run.steady.tokens_per_s)
    }
}

/// Serves all points.
fn points(lab: &LolLab<'_>) -> Result<Vec<Point>, ServingError> {
    let (mut points, mut cases) = (Vec::new(), Vec::new());
    for model in MODELS {
        let llm = llm(model)?;
        for (nodes, task) in NODES.into_iter().flat_map(|nodes| TASKS.map(|task| (nodes, task))) {
            let mean = lab.trace(task)?.moments().input_mean as u64;
            let hbm = (64 * nodes).div_ceil(HBM_GB);
            let gpus = [(Gpu::GDDR, nodes), (Gpu::A100A, hbm)];
            let of = |serving: GpuServing, (gpu, gpus)| serving.tokens_per_s(&llm, gpu, gpus, mean);
            let gddr = GpuServing::ALL.map(|(serving, _)| of(serving, gpus[0]));
            let gpus = gpus.map(|gpus| of(GpuServing::Best, gpus));
            let steps = Step::ALL.map(|(step, _)| step.system(&llm, nodes, false));
            let kinds = [MicroBatches::Stages, MicroBatches::One];
            let of_baseline = staged(&steps[0], &kinds);
            cases.extend(steps.map(|system| (spreads(&system), task)));
            cases.push((spreads(&Step::Three.system(&llm, nodes, true)), task));
            cases.push((of_baseline, task));
            points.push(Point { model, nodes, task, of: Vec::new(), gpus, gddr });
        }
    }
    let mut best = lab.best_of(&cases)?.into_iter();
    for point in &mut points {
        point.of = best.by_ref().take(SIMULATED).collect();
    }
    Ok(points)
}

/// Runs the study.
pub fn run(lab: &LolLab<'_>) -> Result<Study, ServingError> {
    let points = points(lab)?;
    let row = |point: &Point| {
        let head: Vec<Cell> = vec![point.model.into(), whole(64 * point.nodes), point.task.into()];
        let tokens = [0, STAGED, 1, 2, FULL, WITH_GPUS];
        let tokens = tokens.map(|system| match point.tokens(system) {
            Some(tokens) => number(tokens, 0),
            None => "no room".into(),
        });
        let batch = match &point.of[FULL] {
            Ok(of) => number(of.run.steady.batch, 1),
            Err(_) => "-".into(),
        };
        let gpus = point
            .gpus
            .map(|tokens| if tokens > 0.0 { number(tokens, 0) } else { "no room".into() });
        head.into_iter().chain(tokens).chain(gpus).chain([batch]).collect::<Vec<Cell>>()
    };
    let mut refused: Vec<String> = Vec::new();
    for point in &points {
        let errors = point.of.iter().filter_map(|of| of.as_ref().err());
        for error in errors {
            let note = format!("{} in {} GB: {error}", point.model, 64 * point.nodes);
            if !refused.contains(&note) {
                refused.push(note);
            }
        }
    }
    let of_points = points.iter().flat_map(|point| point.of.iter().flatten());
    let violations = of_points.map(|of| of.violations).sum();
    Ok(Study {
        study: "lol-scaling",
        title: format!(
            "LoL-PIM's figures 9 and 10: tokens a second, {} requests, seed {}",
            lab.requests, lab.seed
        ),
        tables: vec![
            StudyTable {
            title: "Memory of 2, 4, 8 and 16 nodes".to_owned(),
            columns: vec![
                "model",
                "GB",
                "task",
                "PIM",
                "PIM, stages",
                "LoL (1)",
                "LoL (1)(2)",
                "LoL (1)(2)(3)",
                "GPU+LoL",
                "GPU-GDDR",
                "GPU-HBM",
                "batch, (1)(2)(3)",
            ],
            rows: points.iter().map(row).collect(),
        }, of_gddr(&points)],
        figures: figures(&points, &refused),
        violations,
        notes: refused
            .into_iter()
            .chain(notes())
            .chain([
                "GPU-GDDR, GPU-HBM: rooflines in the best of tensor and pipeline parallel, by the mean of the prompts; \
                 GPU+LoL: a GPU-HBM and four modules a node"
                    .to_owned(),
            ])
            .collect(),
    })
}

/// Mean over the tasks of a model with so many nodes.
fn mean(points: &[Point], model: &str, nodes: u64, of: &dyn Fn(&Point) -> f64) -> f64 {
    let of_point = points.iter().filter(|point| (point.model, point.nodes) == (model, nodes));
    of_point.map(of).sum::<f64>() / TASKS.len() as f64
}

/// LoL-PIM over GPU-GDDR with so many nodes, by how the GPUs serve.
fn over_gddr(points: &[Point], model: &str, nodes: u64, serving: usize) -> f64 {
    let full = mean(points, model, nodes, &|point| point.tokens(FULL).unwrap_or(0.0));
    full / mean(points, model, nodes, &|point| point.gddr[serving])
}

/// The largest of 72B.
fn over_gddr_72b(points: &[Point], serving: usize) -> f64 {
    let of_nodes = NODES[1..].iter().map(|&nodes| over_gddr(points, MODELS[1], nodes, serving));
    of_nodes.filter(|ratio| ratio.is_finite()).fold(0.0, f64::max)
}

/// GPU-GDDR by how it serves.
fn of_gddr(points: &[Point]) -> StudyTable {
    let row = |(serving, (_, name)): (usize, &(GpuServing, &str))| -> Vec<Cell> {
        let mut row: Vec<Cell> = vec![(*name).into()];
        for model in MODELS {
            row.push(number(mean(points, model, 16, &|point| point.gddr[serving]), 0));
            row.push(number(over_gddr(points, model, 16, serving), 2));
        }
        row.push(number(over_gddr_72b(points, serving), 2));
        row
    };
    StudyTable {
        title: "GPU-GDDR by how it serves, mean of the tasks at 1024 GB; the paper has LoL-PIM at 3.53 of 7B and up to 8.54 of 72B"
            .to_owned(),
        columns: vec![
            "GPU-GDDR",
            "7B: tokens/s",
            "LoL / it",
            "72B: tokens/s",
            "LoL / it",
            "72B, 256 to 1024 GB: largest",
        ],
        rows: GpuServing::ALL.iter().enumerate().map(row).collect(),
    }
}

/// The figures beside the paper's.
fn figures(points: &[Point], refused: &[String]) -> Vec<Figure> {
    let mean = |model: &str, nodes: u64, of: &dyn Fn(&Point) -> f64| mean(points, model, nodes, of);
    let system = |index: usize| move |point: &Point| point.tokens(index).unwrap_or(0.0);
    let gddr = |point: &Point| point.gpus[0];
    let ratio = |model: &str, nodes: u64, a: &dyn Fn(&Point) -> f64, b: &dyn Fn(&Point) -> f64| {
        mean(model, nodes, a) / mean(model, nodes, b)
    };
    let [small, large] = MODELS;
    let (baseline, full, hetero) = (system(0), system(FULL), system(WITH_GPUS));
    let staged = system(STAGED);
    let batch_of = |index: usize| {
        let point = points.iter().find(|of| (of.model, of.nodes, of.task) == (small, 4, "musique"));
        let of = point.and_then(|point| point.of[index].as_ref().ok());
        of.map_or(0.0, |of| of.run.steady.batch)
    };
    let most = |model: &str, nodes: &[u64], b: &dyn Fn(&Point) -> f64| {
        nodes.iter().map(|&nodes| ratio(model, nodes, &full, b)).fold(0.0, f64::max)
    };
    let gap = |model: &str| {
        let there = NODES.into_iter().filter(|&nodes| mean(model, nodes, &hetero) > 0.0);
        let ratios = there.filter(|&nodes| mean(model, nodes, &full) > 0.0);
        let ratios: Vec<f64> = ratios.map(|nodes| ratio(model, nodes, &full, &hetero)).collect();
        let bound = |of: fn(f64, f64) -> f64| ratios.iter().copied().reduce(of).unwrap_or(0.0);
        (bound(f64::min), bound(f64::max))
    };
    let refusals =
        refused.iter().filter(|note| note.starts_with("qwen1.5-72b in 128 GB: the weights"));
    let of_kind = |kind: GpuServing| {
        let at = GpuServing::ALL.iter().position(|(of, _)| *of == kind).unwrap_or(0);
        (over_gddr_72b(points, at), over_gddr(points, small, 16, at))
    };
    let (fixed, one) = (of_kind(GpuServing::Static), of_kind(GpuServing::OneByOne));
    let of_gpus = format!(
        "by how the GPUs serve, which the paper does not say. With room for 32K tokens of each request, as on its PIM baseline, it is \
         {:.2}, and of 7B at 1024 GB {:.2} (paper: 3.53); with a micro-batch for each request {:.2} and {:.2}",
        fixed.0, fixed.1, one.0, one.1
    );
    let of_stages = format!(
        "the baseline's shares of the matrices on 128 modules: operands, results and all-reduces take most of its time. With \
         stages, which the paper's baseline has not, {:.2} at 1024 GB, and {:.2} at 256 GB, where static rows have room for one \
         request; but of 7B at 1024 GB {:.2} in place of {:.2} (paper: 4.74)",
        ratio(large, 16, &full, &staged),
        ratio(large, 4, &full, &staged),
        ratio(small, 16, &full, &staged),
        ratio(small, 16, &full, &baseline)
    );
    let (matrices, hidden) = share_of_matrices(points, ratio(large, 16, &full, &hetero));
    let of_hetero = format!(
        "72B at 1024 GB: matrices take {matrices:.0} % of the time beside GPUs, which read all weights at 3.35 TB/s each for a few \
         requests; with all else hidden behind them, in two sub-batches that are off here, LoL-PIM would be ahead by {hidden:.2} \
         at the least"
    );
    let reads_once = "a GPU reads the weights once for all requests of a micro-batch, and its model here loses nothing beside \
                      its constants";
    let mut figures = vec![
        Figure::new(
            "batch on Musique at 256 GB, 7B, static",
            "15.0",
            batch_of(1),
            [14.9, 15.1],
            "rows",
        ),
        Figure::new(
            "batch on Musique at 256 GB, 7B, lazy",
            "30.3",
            batch_of(2),
            [29.3, 31.3],
            "rows",
        ),
        Figure::new(
            "72B is refused at 128 GB",
            "1",
            refusals.count().min(1) as f64,
            [1.0, 1.0],
            "it fits",
        ),
        Figure::new(
            "7B, 1024 GB: LoL (1)(2)(3) / PIM",
            "4.74",
            ratio(small, 16, &full, &baseline),
            [3.5, 6.0],
            "the baseline's shares of the matrices on 128 modules: operands, results and all-reduces take most of its time",
        ),
        Figure::new(
            "7B, 1024 GB: LoL (1)(2)(3) / GPU-GDDR",
            "3.53",
            ratio(small, 16, &full, &gddr),
            [2.4, 5.3],
            reads_once,
        ),
        Figure::new(
            "7B, 128 GB: PIM / GPU-GDDR",
            "above 1",
            ratio(small, 2, &baseline, &gddr),
            [1.0, 2.0],
            reads_once,
        ),
        Figure::new(
            "7B, 1024 GB: PIM / GPU-GDDR",
            "below 1",
            ratio(small, 16, &baseline, &gddr),
            [0.0, 1.0],
            "the baseline's pairs of many requests fill the channels",
        ),
        Figure::new(
            "72B, 256 to 1024 GB: LoL (1)(2)(3) / PIM, largest",
            "2.65",
            most(large, &NODES[1..], &baseline),
            [2.0, 3.3],
            &of_stages,
        ),
        Figure::new(
            "72B, 256 to 1024 GB: LoL (1)(2)(3) / GPU-GDDR, largest",
            "8.54",
            most(large, &NODES[1..], &gddr),
            [5.7, 12.8],
            &of_gpus,
        ),
    ];
    for model in MODELS {
        let (least, most) = gap(model);
        let name = model.trim_start_matches("qwen1.5-").to_uppercase();
        let what = |which: &str| format!("{name}: LoL-PIM / GPU+LoL-PIM, {which}");
        figures.push(Figure::new(&what("least"), "above 1", least, [1.0, 2.0], &of_hetero));
        figures.push(Figure::new(&what("most"), "below 2", most, [1.0, 2.0], &of_hetero));
    }
    figures
}

/// The share of matrices in the time of LoL-PIM beside GPUs in percent, 72B on 16 nodes with Musique, and what LoL-PIM would be
/// ahead by if everything else were hidden behind them, or they behind everything else, of what it is ahead by.
fn share_of_matrices(points: &[Point], ahead: f64) -> (f64, f64) {
    let is_it = |of: &&Point| (of.model, of.nodes, of.task) == (MODELS[1], 16, "musique");
    let point = points.iter().find(is_it).and_then(|of| of.of[WITH_GPUS].as_ref().ok());
    let Some(of) = point else { return (0.0, ahead) };
    let share = of.run.time.matrices_ps as f64 / (of.run.time.ps() + of.run.bubble_ps) as f64;
    (100.0 * share, ahead * share.max(1.0 - share))
}
