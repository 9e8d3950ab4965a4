// SPDX-License-Identifier: MIT
//! Tasks of some iterations with what they are and where, for pictures and Perfetto.

use pimlico_serving::iteration::{Label, Work};
use pimlico_serving::lol::outcome::{KeptStage, PipelineRun};
use pimlico_serving::outcome::{Run, Sample};
use pimlico_serving::report::l3::resource_name;
use pimlico_serving::setup::Setup;

/// A kind of task, with its colour in a picture: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskKind {
    /// Its name.
    pub name: &'static str,
    /// Its colour.
    pub colour: (u8, u8, u8),
}

/// A task in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The row.
    pub row: usize,
    /// When it begins and ends, in ps.
    pub span: (u64, u64),
    /// What it is, by number among the kinds.
    pub kind: usize,
    /// Whether it is drawn lighter, beside others.
    pub is_lighter: bool,
    /// What else is told of it.
    pub about: Vec<(&'static str, u64)>,
}

/// A task that holds others of its row, which are slices of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The row.
    pub row: usize,
    /// When it begins and ends, in ps.
    pub span: (u64, u64),
    /// Its name.
    pub name: String,
}

/// Something that goes from a row to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// What goes.
    pub name: &'static str,
    /// Row and time, in ps.
    pub from: (usize, u64),
    /// The same.
    pub to: (usize, u64),
}

/// What is drawn.
pub struct Timeline {
    /// Names of the rows.
    pub rows: Vec<String>,
    /// What tasks are.
    pub kinds: Vec<TaskKind>,
    /// What the lighter ones are.
    pub lighter: &'static str,
    /// The tasks.
    pub slices: Vec<Slice>,
    /// Tasks that hold others.
    pub frames: Vec<Frame>,
    /// What goes from row to row.
    pub arrows: Vec<Arrow>,
    /// The run.
    pub samples: Vec<Sample>,
    /// Room for K and V.
    pub capacity: u64,
    /// The end of the run, in ps.
    pub end_ps: u64,
}

const BLUE: (u8, u8, u8) = (31, 119, 180);
const RED: (u8, u8, u8) = (214, 39, 40);
const GREEN: (u8, u8, u8) = (44, 160, 44);
const VIOLET: (u8, u8, u8) = (148, 103, 189);
const ORANGE: (u8, u8, u8) = (255, 127, 14);

/// What tasks of L3's system are.
const OF_L3: [(Work, TaskKind); 5] = [
    (Work::Matrices, TaskKind { name: "matrices", colour: BLUE }),
    (Work::Down, TaskKind { name: "Q, K, V down", colour: RED }),
    (Work::Heads, TaskKind { name: "heads", colour: GREEN }),
    (Work::Up, TaskKind { name: "results up", colour: VIOLET }),
    (Work::Prompts, TaskKind { name: "K, V of prompts", colour: ORANGE }),
];

/// What the time of a stage of LoL-PIM's system goes to.
const OF_STAGES: [TaskKind; 5] = [
    TaskKind { name: "matrices", colour: BLUE },
    TaskKind { name: "products", colour: GREEN },
    TaskKind { name: "softmax", colour: ORANGE },
    TaskKind { name: "links", colour: RED },
    TaskKind { name: "host's writes", colour: VIOLET },
];

/// The resources of a task.
fn resources(mut uses: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let resource = (uses != 0).then(|| uses.trailing_zeros() as usize)?;
        uses &= uses - 1;
        Some(resource)
    })
}

impl Timeline {
    /// From the first task to the last.
    pub fn span(&self) -> (u64, u64) {
        let from = self.slices.iter().map(|slice| slice.span.0).min().unwrap_or(0);
        let to = self.slices.iter().map(|slice| slice.span.1).max().unwrap_or(from);
        (from, to.max(from + 1))
    }

    /// That of the iterations of L3's system that were kept. Its rows are the resources that have work in the run.
    pub fn of_l3(setup: &Setup<'_>, run: &Run) -> Self {
        let used: Vec<usize> =
            (0..run.busy_ps.len()).filter(|&resource| run.busy_ps[resource] > 0).collect();
        let row = |resource: usize| used.iter().position(|&other| other == resource);
        let (mut slices, mut arrows) = (Vec::new(), Vec::new());
        for (begin, iteration) in &run.kept {
            let placed = iteration.place(iteration.shape.layers);
            let span = |task: usize| {
                (begin + placed.schedule.start[task], begin + placed.schedule.end[task])
            };
            for (task, (of, label)) in placed.graph.tasks().iter().zip(&placed.labels).enumerate() {
                let Label { work, half, layer } = *label;
                let kind = OF_L3.iter().position(|(other, _)| *other == work).unwrap_or(0);
                let about = vec![("layer", layer.into()), ("sub_batch", half.into())];
                for row in resources(of.uses).filter_map(row) {
                    let (span, about) = (span(task), about.clone());
                    slices.push(Slice { row, span, kind, is_lighter: half > 0, about });
                }
                let last = |uses: u64| resources(uses).filter_map(row).last();
                let before = placed.graph.after(task).first().map(|&before| before as usize);
                if let (Work::Down | Work::Up, Some(before)) = (work, before)
                    && let (Some(from), Some(to)) =
                        (last(placed.graph.tasks()[before].uses), last(of.uses))
                {
                    let name = OF_L3[kind].1.name;
                    let (from, to) = ((from, span(before).1), (to, span(task).0));
                    arrows.push(Arrow { name, from, to });
                }
            }
        }
        Self {
            rows: used.iter().map(|&resource| resource_name(setup, resource)).collect(),
            kinds: OF_L3.map(|(_, kind)| kind).to_vec(),
            lighter: "sub-batch 1",
            slices,
            frames: Vec::new(),
            arrows,
            samples: run.samples.clone(),
            capacity: run.memory.0,
            end_ps: run.makespan_ps,
        }
    }

    /// That of the rounds of LoL-PIM's micro-batches that were kept. Its rows are the stages; what the time of a stage goes to is
    /// summed over its layers.
    pub fn of_lol(outcome: &PipelineRun) -> Self {
        let (mut slices, mut frames, mut arrows) = (Vec::new(), Vec::new(), Vec::new());
        for (number, of) in outcome.kept.iter().enumerate() {
            let KeptStage { round, batch, stage, start, requests, tokens, time } = *of;
            let row = stage as usize;
            let about = vec![("round", round), ("requests", requests), ("tokens", tokens)];
            let parts = [
                time.matrices_ps,
                time.products_ps,
                time.softmax_ps,
                time.links_ps,
                time.tables_ps,
            ];
            let mut from = start;
            for (kind, ps) in parts.into_iter().enumerate().filter(|(_, ps)| *ps > 0) {
                let (span, about) = ((from, from + ps), about.clone());
                slices.push(Slice { row, span, kind, is_lighter: batch % 2 > 0, about });
                from += ps;
            }
            let name = format!("micro-batch {batch}");
            frames.push(Frame { row, span: (start, from), name });
            // The stages of a round are kept one after the other.
            let next = outcome.kept.get(number + 1).filter(|next| next.round == round);
            if let Some(next) = next {
                let to = (next.stage as usize, next.start);
                arrows.push(Arrow { name: "to the next stage", from: (row, from), to });
            }
        }
        let run = &outcome.run;
        Self {
            rows: (0..run.busy_ps.len()).map(|stage| format!("stage {stage}")).collect(),
            kinds: OF_STAGES.to_vec(),
            lighter: "every other micro-batch",
            slices,
            frames,
            arrows,
            samples: run.samples.clone(),
            capacity: run.memory.0,
            end_ps: run.makespan_ps,
        }
    }
}
