// SPDX-License-Identifier: MIT
//! Figure 13: what dual row buffers, packing and interleaving gain, one after the other.

use super::{BATCHES, NeupimsLab, Point, Warm, mean};
use crate::error::ServingError;
use crate::neupims::system::{Assign, Interleave, RowBuffers, System};
use crate::studies::{Cell, Figure, Study, StudyTable, number, whole};

/// Gains of the three steps, each over the one before.
fn gains(lab: &NeupimsLab, warm: &Warm, feed: Option<u64>) -> [f64; 3] {
    let base = lab.npu_pim(feed);
    let dual = System { memory: RowBuffers::Dual, ..base };
    let packed = System { assign: lab.changes.assign.unwrap_or(Assign::MinLoad), ..dual };
    let interleaved =
        System { interleave: lab.changes.interleave.unwrap_or(Interleave::On), ..packed };
    let [base, dual, packed, interleaved] =
        [base, dual, packed, interleaved].map(|system| warm.tokens_per_s(&system));
    [dual / base, packed / dual, interleaved / packed]
}

/// Runs the study.
pub fn run(lab: &NeupimsLab) -> Result<Study, ServingError> {
    let points: Result<Vec<Point>, ServingError> =
        BATCHES.into_iter().map(|requests| Point::of_table_3(0, 0, requests)).collect();
    let warm = lab.warm(points?)?;
    let mut rows = Vec::new();
    let mut figures = Vec::new();
    for &feed in &lab.feeds {
        let name = NeupimsLab::feed_name(feed);
        let steps: Vec<[f64; 3]> = warm.iter().map(|warm| gains(lab, warm, feed)).collect();
        for (requests, steps) in BATCHES.into_iter().zip(&steps) {
            let mut row: Vec<Cell> = vec![name.clone().into(), whole(requests as u64)];
            row.extend(steps.map(|gain| number(gain, 3)));
            rows.push(row);
        }
        figures.extend(of_steps(&name, &steps));
    }
    Ok(Study {
        study: "figure-13",
        title: "Dual row buffers, packing and interleaving, each over the step before (figure 13; GPT3-7B, ShareGPT)".into(),
        tables: vec![StudyTable {
            title: format!("Throughput over that of the step before, mean of {} batches", lab.samples),
            columns: vec!["pim-issue", "batch", "dual row buffers", "packing", "interleaving"],
            rows,
        }],
        figures,
        violations: 0,
        notes: lab.notes(&warm),
    })
}

fn of_steps(feed: &str, steps: &[[f64; 3]]) -> [Figure; 4] {
    let gain = |step: usize| steps.iter().map(move |gains| 100.0 * (gains[step] - 1.0));
    let least = |step: usize| gain(step).fold(f64::INFINITY, f64::min);
    let what = |what: &str| format!("{what}, pim-issue {feed}");
    let right = BATCHES
        .into_iter()
        .zip(steps)
        .filter(|(requests, gains)| (gains[2] > 1.0) == (*requests >= 256))
        .count();
    [
        Figure::new(
            &what("mean gain of dual row buffers, %"),
            "69.7",
            mean(gain(0)),
            [50.0, 75.0],
            "the baseline's feed, which the paper does not state, decides it: compare --pim-issue 1 and unlimited",
        ),
        Figure::new(
            &what("least gain of dual row buffers, %"),
            "more than 0",
            least(0),
            [0.0, 1000.0],
            "single buffers are as fast",
        ),
        Figure::new(
            &what("least gain of packing, %"),
            "more than 0",
            least(1),
            [0.0, 1000.0],
            "packing loses at a batch of the table",
        ),
        Figure::new(
            &what("batches at which interleaving loses below 256 and gains from 256 on"),
            "5, all of them",
            right as f64,
            [5.0, 5.0],
            "the table has the others",
        ),
    ]
}
