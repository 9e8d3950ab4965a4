// SPDX-License-Identifier: MIT
//! Figure 12: throughput of three systems, of four models, two data sets and five batches.

use super::{BATCHES, NeupimsLab, Point, Warm, around, mean};
use crate::error::ServingError;
use crate::neupims::estimate::Algorithm1;
use crate::neupims::shard::MODELS;
use crate::neupims::system::{Assign, Interleave, NpuAttention, System};
use crate::neupims::workload::DATASETS;
use crate::studies::{Cell, Figure, Study, StudyTable, number, whole};

/// Tokens a second of a point on each system.
struct Speeds {
    npu_only: f64,
    /// With each feed.
    npu_pim: Vec<f64>,
    neupims: f64,
}

impl Speeds {
    fn of(warm: &Warm, lab: &NeupimsLab, change: Change) -> Self {
        let run = |system| warm.tokens_per_s(&change(system));
        Self {
            npu_only: run(lab.changed(System::NPU_ONLY)),
            npu_pim: lab.feeds.iter().map(|&feed| run(lab.npu_pim(feed))).collect(),
            neupims: run(lab.changed(System::NEUPIMS)),
        }
    }
}

/// Runs the study.
pub fn run(lab: &NeupimsLab) -> Result<Study, ServingError> {
    let mut points = Vec::new();
    for dataset in 0..DATASETS.len() {
        for model in 0..MODELS.len() {
            for requests in BATCHES {
                points.push(Point::of_table_3(model, dataset, requests)?);
            }
        }
    }
    let warm = lab.warm(points)?;
    let speeds: Vec<Speeds> = warm.iter().map(|warm| Speeds::of(warm, lab, |same| same)).collect();
    let mut notes = lab.notes(&warm);
    notes.push(losses(lab, &warm));
    Ok(Study {
        study: "figure-12",
        title: "Throughput of NPU-only, NPU+PIM and NeuPIMs (figure 12; the GPU is left out)"
            .into(),
        tables: vec![speed_table(lab, &warm, &speeds), changed_table(lab, &warm)],
        figures: figures(lab, &warm, &speeds),
        violations: 0,
        notes,
    })
}

fn speed_table(lab: &NeupimsLab, warm: &[Warm], speeds: &[Speeds]) -> StudyTable {
    let row = |(warm, of): (&Warm, &Speeds)| {
        let point = &warm.point;
        let begins: [Cell; 3] =
            [point.dataset.name.into(), point.model.into(), whole(point.requests as u64)];
        let pim = lab.feeds.iter().zip(&of.npu_pim);
        pim.map(|(&feed, &npu_pim)| {
            let mut row = begins.to_vec();
            row.push(NeupimsLab::feed_name(feed).into());
            row.extend([of.npu_only, npu_pim, of.neupims].map(|speed| number(speed, 0)));
            let ratios = [of.neupims / of.npu_only, of.neupims / npu_pim, npu_pim / of.npu_only];
            row.extend(ratios.map(|ratio| number(ratio, 2)));
            row
        })
        .collect::<Vec<_>>()
    };
    StudyTable {
        title: format!("Tokens a second of a stage's devices, mean of {} batches", lab.samples),
        columns: vec![
            "data set",
            "model",
            "batch",
            "pim-issue",
            "NPU-only",
            "NPU+PIM",
            "NeuPIMs",
            "NeuPIMs/NPU-only",
            "NeuPIMs/NPU+PIM",
            "NPU+PIM/NPU-only",
        ],
        rows: warm.iter().zip(speeds).flat_map(row).collect(),
    }
}

/// Mean ratios: NeuPIMs over NPU-only, over NPU+PIM with a feed, and NPU+PIM over NPU-only.
fn ratios(speeds: &[Speeds], feed: usize) -> [f64; 3] {
    [
        mean(speeds.iter().map(|of| of.neupims / of.npu_only)),
        mean(speeds.iter().map(|of| of.neupims / of.npu_pim[feed])),
        mean(speeds.iter().map(|of| of.npu_pim[feed] / of.npu_only)),
    ]
}

/// A system with an assumption changed.
type Change = fn(System) -> System;

/// Names of assumptions, and systems with one of them changed.
const CHANGED: [(&str, Change); 7] = [
    ("none", |system| system),
    ("NPU-only: attention on the arrays", |system| System {
        npu_attention: NpuAttention::Arrays,
        ..system
    }),
    ("interleaved where it gains", |system| match system.interleave {
        Interleave::Off => system,
        _ => System { interleave: Interleave::Auto, ..system },
    }),
    ("Algorithm 2 afresh", |system| match system.assign {
        Assign::RoundRobin => system,
        _ => System { assign: Assign::Afresh, ..system },
    }),
    ("softmax takes no time", |system| System { softmax: false, ..system }),
    ("Algorithm 1 without rounding", |system| System {
        estimate: Algorithm1 { rounds: false, ..system.estimate },
        ..system
    }),
    ("K and V are appended", |system| System { kv_append: true, ..system }),
];

/// Those that a latency from the engine does not depend on, or only in part.
const OF_ESTIMATES: [&str; 2] = ["softmax takes no time", "Algorithm 1 without rounding"];

/// Where interleaving is used only if it gains.
const AUTO: usize = 2;

fn changed_table(lab: &NeupimsLab, warm: &[Warm]) -> StudyTable {
    let applies =
        |(name, _): &&(&str, Change)| lab.engines.is_none() || !OF_ESTIMATES.contains(name);
    let rows = CHANGED.iter().filter(applies).flat_map(|&(name, change)| {
        let speeds: Vec<Speeds> = warm.iter().map(|warm| Speeds::of(warm, lab, change)).collect();
        let row = |(feed, &rate): (usize, &Option<u64>)| {
            let mut row: Vec<Cell> = vec![name.into(), NeupimsLab::feed_name(rate).into()];
            row.extend(ratios(&speeds, feed).map(|ratio| number(ratio, 3)));
            row
        };
        lab.feeds.iter().enumerate().map(row).collect::<Vec<_>>()
    });
    StudyTable {
        title: "Mean ratios of all points, with one assumption changed".into(),
        columns: vec![
            "changed",
            "pim-issue",
            "NeuPIMs/NPU-only",
            "NeuPIMs/NPU+PIM",
            "NPU+PIM/NPU-only",
        ],
        rows: rows.collect(),
    }
}

fn figures(lab: &NeupimsLab, warm: &[Warm], speeds: &[Speeds]) -> Vec<Figure> {
    const STREAMED: &str = "attention of NPU-only streams at full bandwidth here; the row with attention on the arrays shows what it decides";
    let over_npu = ratios(speeds, 0)[0];
    let (_, interleaved) = CHANGED[AUTO];
    let where_it_gains: Vec<Speeds> =
        warm.iter().map(|warm| Speeds::of(warm, lab, interleaved)).collect();
    let mut figures = vec![Figure::new(
        "NeuPIMs over NPU-only",
        "2.4",
        over_npu,
        around(2.4, 0.15 * 2.4),
        STREAMED,
    )];
    for (at, &feed) in lab.feeds.iter().enumerate() {
        let name = NeupimsLab::feed_name(feed);
        let [_, over_pim, pim_over_npu] = ratios(speeds, at);
        let cause = "the baseline's feed, which the paper does not state, decides it: compare --pim-issue 1 and unlimited";
        figures.push(Figure::new(
            &format!("NeuPIMs over NPU+PIM, pim-issue {name}"),
            "1.6",
            over_pim,
            around(1.6, 0.15 * 1.6),
            cause,
        ));
        figures.push(Figure::new(
            &format!("NPU+PIM over NPU-only, pim-issue {name}"),
            "1.5",
            pim_over_npu,
            around(1.5, 0.15 * 1.5),
            STREAMED,
        ));
        let gains = || speeds.iter().map(|of| of.neupims / of.npu_pim[at]);
        let gains_where = || where_it_gains.iter().map(|of| of.neupims / of.npu_pim[at]);
        let least = |of: &mut dyn Iterator<Item = f64>| of.fold(f64::INFINITY, f64::min);
        let cause = "interleaving loses there: the last note has the points, and the next figure is without it";
        let name_of = |what: &str| format!("{what} of NeuPIMs over NPU+PIM, pim-issue {name}");
        let (what, ours) = (name_of("least"), least(&mut gains()));
        figures.push(Figure::new(&what, "1.13", ours, around(1.13, 0.17), cause));
        let cause = "its batch is small and its contexts are short, where matrices take nearly all of the time";
        let (what, ours) =
            (name_of("least, interleaved where it gains,"), least(&mut gains_where()));
        figures.push(Figure::new(&what, "1.13", ours, around(1.13, 0.17), cause));
        let cause = "the baseline's feed, which the paper does not state, decides it: compare --pim-issue 1 and unlimited";
        let (what, ours) = (name_of("largest"), gains().fold(0.0, f64::max));
        figures.push(Figure::new(&what, "3", ours, around(3.0, 0.45), cause));
    }
    let of_set = |name: &str| {
        let of = warm.iter().zip(speeds).filter(|(warm, _)| warm.point.dataset.name == name);
        mean(of.map(|(_, of)| of.neupims / of.npu_pim[0]))
    };
    figures.push(Figure::new(
        "gain over NPU+PIM of ShareGPT over that of Alpaca",
        "more than 1",
        of_set("sharegpt") / of_set("alpaca"),
        [1.0, 10.0],
        "shorter contexts gain more here",
    ));
    let grows = |pair: &[Speeds]| {
        let gain = |of: &Speeds| of.neupims / of.npu_pim[0];
        gain(&pair[BATCHES.len() - 1]) > gain(&pair[0])
    };
    figures.push(Figure::new(
        "models and data sets that gain more at 512 than at 64",
        "8, all of them",
        speeds.chunks(BATCHES.len()).filter(|pair| grows(pair)).count() as f64,
        [8.0, 8.0],
        "the table has those that do not",
    ));
    figures
}

/// Points at which interleaving loses though the paper uses it.
fn losses(lab: &NeupimsLab, warm: &[Warm]) -> String {
    let loses = |warm: &&Warm| {
        let with = |interleave| System { interleave, ..lab.changed(System::NEUPIMS) };
        let of = |interleave| warm.tokens_per_s(&with(interleave));
        warm.point.requests >= 256 && of(Interleave::On) < of(Interleave::Off)
    };
    let all: Vec<String> = warm.iter().filter(loses).map(|warm| warm.point.name()).collect();
    let all = if all.is_empty() { "nowhere".to_owned() } else { all.join("; ") };
    format!("interleaving loses from 256 requests on: {all}")
}
