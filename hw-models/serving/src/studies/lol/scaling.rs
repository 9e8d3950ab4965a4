// SPDX-License-Identifier: MIT
//! LoL-PIM's figures 9 and 10: memory from 128 to 1024 GB.

use super::{LolLab, Spread, Step, notes};
use crate::error::ServingError;
use crate::gpu::{Gpu, GpuGroup, GpuModel};
use crate::llm::Llm;
use crate::studies::throughput::llm;
use crate::studies::{Cell, Figure, Study, StudyTable, number, whole};

/// The models of the figures.
const MODELS: [&str; 2] = ["qwen1.5-7b", "qwen1.5-72b"];
/// The tasks.
const TASKS: [&str; 3] = ["qmsum", "hotpotqa", "musique"];
/// Nodes, of 64 GB each as the paper counts.
const NODES: [u64; 4] = [2, 4, 8, 16];
/// Systems that are simulated: the four steps, and LoL-PIM beside GPUs.
const SIMULATED: usize = Step::ALL.len() + 1;
/// The full system among them, and that with GPUs.
const FULL: usize = 3;
const WITH_GPUS: usize = 4;
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
}

impl Point {
    fn tokens(&self, system: usize) -> Option<f64> {
        self.of[system].as_ref().ok().map(|of| of.run.steady.tokens_per_s)
    }
}

/// Tokens a second of GPUs with a link of 10 GB/s, in the best of tensor and pipeline parallel, by the mean of a task's
/// requests; 0 if the weights leave no room for one.
fn gpu_tokens_per_s(llm: &Llm, gpu: Gpu, gpus: u64, mean: u64) -> f64 {
    let room = (gpus * gpu.memory_bytes).saturating_sub(llm.weight_bytes());
    let batch = room / (mean * llm.kv_bytes());
    let of_spread = |pp: u64| {
        let gpu = Gpu { link_per_s: 10_000_000_000, ..gpu };
        let group = GpuGroup { gpu, model: GpuModel::Attacc, tp: gpus / pp };
        let each = batch.div_ceil(pp);
        let layer = group.layer_ps(llm, each) + group.decode_attention_ps(llm, each * mean);
        let stage = layer * (llm.layers() / pp);
        batch as f64 / (stage * pp) as f64 * 1e12
    };
    let divides = |pp: &u64| gpus.is_multiple_of(*pp) && llm.layers().is_multiple_of(*pp);
    match batch {
        0 => 0.0,
        _ => (1..=gpus).filter(divides).map(of_spread).fold(0.0, f64::max),
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
            let gpus = gpus.map(|(gpu, gpus)| gpu_tokens_per_s(&llm, gpu, gpus, mean));
            cases.extend(Step::ALL.map(|(step, _)| (step.system(&llm, nodes, false), task)));
            cases.push((Step::Three.system(&llm, nodes, true), task));
            points.push(Point { model, nodes, task, of: Vec::new(), gpus });
        }
    }
    let mut best = lab.best(&cases)?.into_iter();
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
        let tokens = (0..SIMULATED).map(|system| match point.tokens(system) {
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
        tables: vec![StudyTable {
            title: "Memory of 2, 4, 8 and 16 nodes".to_owned(),
            columns: vec![
                "model",
                "GB",
                "task",
                "PIM",
                "LoL (1)",
                "LoL (1)(2)",
                "LoL (1)(2)(3)",
                "GPU+LoL",
                "GPU-GDDR",
                "GPU-HBM",
                "batch, (1)(2)(3)",
            ],
            rows: points.iter().map(row).collect(),
        }],
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

/// The figures beside the paper's.
fn figures(points: &[Point], refused: &[String]) -> Vec<Figure> {
    // Mean over the tasks of a model with so many nodes.
    let mean = |model: &str, nodes: u64, of: &dyn Fn(&Point) -> f64| {
        let of_point = points.iter().filter(|point| (point.model, point.nodes) == (model, nodes));
        of_point.map(of).sum::<f64>() / TASKS.len() as f64
    };
    let system = |index: usize| move |point: &Point| point.tokens(index).unwrap_or(0.0);
    let gddr = |point: &Point| point.gpus[0];
    let ratio = |model: &str, nodes: u64, a: &dyn Fn(&Point) -> f64, b: &dyn Fn(&Point) -> f64| {
        mean(model, nodes, a) / mean(model, nodes, b)
    };
    let [small, large] = MODELS;
    let (baseline, full, hetero) = (system(0), system(FULL), system(WITH_GPUS));
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
            "the baseline's shares of the matrices on 128 modules: operands, results and all-reduces take most of its time",
        ),
        Figure::new(
            "72B, 256 to 1024 GB: LoL (1)(2)(3) / GPU-GDDR, largest",
            "8.54",
            most(large, &NODES[1..], &gddr),
            [5.7, 12.8],
            reads_once,
        ),
    ];
    for model in MODELS {
        let (least, most) = gap(model);
        let name = model.trim_start_matches("qwen1.5-").to_uppercase();
        let what = |which: &str| format!("{name}: LoL-PIM / GPU+LoL-PIM, {which}");
        figures.push(Figure::new(&what("least"), "above 1", least, [1.0, 2.0], reads_once));
        figures.push(Figure::new(
            &what("most"),
            "below 2",
            most,
            [1.0, 2.0],
            "half of the memory has less than half of the requests",
        ));
    }
    figures
}
