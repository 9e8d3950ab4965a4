// SPDX-License-Identifier: MIT
//! Figure 11: the timeline of a batch, serial and as two sub-batches; GPT3-7B, 256 requests of ShareGPT, four blocks.

use super::{NeupimsLab, Point};
use crate::error::ServingError;
use crate::neupims::shard::Shard;
use crate::neupims::stages::{Operators, Stages, Timeline, run_interleaved, run_serial};
use crate::neupims::system::{Interleave, System};
use crate::studies::{Figure, Study, StudyTable, whole};

/// Blocks that are run.
const BLOCKS: u64 = 4;

/// The study, with the timelines (a) and (b) of the figure.
pub struct TimelineStudy {
    /// The study.
    pub study: Study,
    /// Blocks one behind the other.
    pub serial: Timeline,
    /// Two sub-batches.
    pub interleaved: Timeline,
}

/// Runs the study on the first of the lab's batches.
pub fn run(lab: &NeupimsLab) -> Result<TimelineStudy, ServingError> {
    let mut point = Point::of_table_3(0, 0, 256)?;
    point.shard = Shard { blocks: BLOCKS, ..point.shard };
    let warm = NeupimsLab { samples: 1, ..lab.clone() }.warm(vec![point])?;
    let system = System { link_gbps: None, ..lab.changed(System::NEUPIMS) };
    let of = |interleave| warm[0].run(&System { interleave, ..system }).remove(0);
    let (whole_batch, halves) = (of(Interleave::Off), of(Interleave::On));
    let parts = [halves.operators[0], halves.operators[1]];
    let serial = run_serial(BLOCKS, &whole_batch.operators[0]);
    let interleaved = run_interleaved(BLOCKS, &parts, true);
    let free = run_interleaved(BLOCKS, &parts, false);
    let off = |run: u64, formula: u64| 100.0 * run.abs_diff(formula) as f64 / run as f64;
    let figure = |what: &str, run: u64, formula: u64| {
        let cause = "the run and the formula differ";
        Figure::new(what, "0", off(run, formula), [0.0, 1.0], cause)
    };
    let rows = [
        ("serial", &serial, Some(whole_batch.tck)),
        ("two sub-batches", &interleaved, Some(halves.tck)),
        ("two sub-batches, without barriers", &free, None),
    ];
    let formula = |tck: Option<u64>| tck.map_or_else(|| "-".into(), whole);
    let row =
        |(name, run, tck): (&str, &Timeline, _)| vec![name.into(), whole(run.end), formula(tck)];
    let study = Study {
        study: "figure-11",
        title: format!(
            "Timeline of {BLOCKS} blocks (figure 11; GPT3-7B, 256 requests of ShareGPT)"
        ),
        tables: vec![
            operators(&whole_batch.operators[0], &parts),
            stages(&Stages::of(&parts)),
            StudyTable {
                title: format!(
                    "Runs of {BLOCKS} blocks, operator by operator; formulas: {BLOCKS} (QKV + MHA + FFN), and A + B + {} (C + D) + E + F",
                    BLOCKS - 1
                ),
                columns: vec!["timeline", "run, tCK", "formula, tCK"],
                rows: rows.map(row).into(),
            },
        ],
        figures: vec![
            figure("serial: run and formula differ by, %", serial.end, whole_batch.tck),
            figure("two sub-batches: run and formula differ by, %", interleaved.end, halves.tck),
        ],
        violations: serial.violations + interleaved.violations + free.violations,
        notes: lab.notes(&warm),
    };
    Ok(TimelineStudy { study, serial, interleaved })
}

fn operators(batch: &Operators, [one, two]: &[Operators; 2]) -> StudyTable {
    let row = |(name, of): (&str, &Operators)| {
        vec![name.into(), whole(of.qkv), whole(of.mha), whole(of.ffn)]
    };
    StudyTable {
        title: "Operators in a block, tCK".into(),
        columns: vec!["requests", "QKV", "MHA", "projection and FFN"],
        rows: [("batch", batch), ("sub-batch 1", one), ("sub-batch 2", two)].map(row).into(),
    }
}

fn stages(of: &Stages) -> StudyTable {
    StudyTable {
        title: "Stages of two sub-batches, tCK".into(),
        columns: vec!["A", "B", "C", "D", "E", "F"],
        rows: vec![[of.a, of.b, of.c, of.d, of.e, of.f].map(whole).into()],
    }
}
