// SPDX-License-Identifier: MIT
//! Figure 14: tensor and pipeline parallelism of 256 requests.

use super::{NeupimsLab, Point};
use crate::error::ServingError;
use crate::neupims::shard::Shard;
use crate::neupims::system::System;
use crate::neupims::workload::DATASETS;
use crate::studies::lab::llm;
use crate::studies::{Figure, Study, StudyTable, number, whole};

/// Requests of all stages.
const REQUESTS: usize = 256;
/// Gigabytes a second of a link, to show what it costs.
const LINK_GBPS: f64 = 64.0;
/// Models with their (TP, PP), from the most tensor parallel one on.
const DIVISIONS: [(&str, &[(u64, u64)]); 4] = [
    ("gpt3-7b", &[(4, 1), (2, 2)]),
    ("gpt3-13b", &[(8, 1), (4, 2), (2, 4)]),
    ("gpt3-30b", &[(16, 1), (8, 2), (4, 4)]),
    ("gpt-175b", &[(16, 4), (8, 8)]),
];

/// Runs the study.
pub fn run(lab: &NeupimsLab) -> Result<Study, ServingError> {
    let mut points = Vec::new();
    for (model, divisions) in DIVISIONS {
        for &(tp, pp) in divisions {
            let shard = Shard::new(&llm(model)?, tp, pp)?;
            let requests = REQUESTS / pp as usize;
            points.push(Point { model, shard, dataset: DATASETS[0], requests });
        }
    }
    let warm = lab.warm(points)?;
    let system = System { link_gbps: None, ..lab.changed(System::NEUPIMS) };
    let gbps = lab.changes.link_gbps.unwrap_or(LINK_GBPS);
    let linked = System { link_gbps: Some(gbps), ..system };
    let speeds: Vec<[f64; 2]> = warm
        .iter()
        .map(|warm| [&system, &linked].map(|system| warm.tokens_per_s(system)))
        .collect();
    let row = |(warm, [alone, linked]): (&super::Warm, &[f64; 2])| {
        let point = &warm.point;
        vec![
            point.model.into(),
            whole(point.shard.tp),
            whole(point.shard.pp),
            whole(point.requests as u64),
            number(*alone, 0),
            number(*linked, 0),
            number(100.0 * (1.0 - linked / alone), 1),
        ]
    };
    let mut first = 0;
    let figures = DIVISIONS.map(|(model, divisions)| {
        let of = &speeds[first..first + divisions.len()];
        first += divisions.len();
        let next = of[1..].iter().map(|speeds| speeds[0]).fold(0.0, f64::max);
        Figure::new(
            &format!("{model}: most tensor parallel over the best of the others"),
            "more than 1",
            of[0][0] / next,
            [1.0, 100.0],
            "a pipeline of stages is as fast here",
        )
    });
    let mut notes = lab.notes(&warm);
    notes.push("256 requests are divided over the stages; 30B over 16 devices: those with four of 56 heads".into());
    notes.push(format!("links of {gbps} GB/s: two all-reduces of a block as rings, none of it hidden; the paper gives no figure"));
    Ok(Study {
        study: "figure-14",
        title: "Tensor and pipeline parallelism of 256 requests of ShareGPT (figure 14)".into(),
        tables: vec![StudyTable {
            title: "Tokens a second of all devices".into(),
            columns: vec!["model", "TP", "PP", "batch", "NeuPIMs", "with links", "links, %"],
            rows: warm.iter().zip(&speeds).map(row).collect(),
        }],
        figures: figures.into(),
        violations: 0,
        notes,
    })
}
