// SPDX-License-Identifier: MIT
//! Iterations as a Chrome trace, which ui.perfetto.dev opens: a slice for each task on each of its resources, arrows for Q, K,
//! V and results, and counters over the run.

use pimlico_serving::iteration::{Label, Work};
use pimlico_serving::outcome::Run;
use pimlico_serving::report::l3::resource_name;
use pimlico_serving::simulate::Setup;
use serde_json::{Value, json};

/// Microseconds, in which Chrome traces are.
fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

/// What a task is.
pub fn work_name(work: Work) -> &'static str {
    match work {
        Work::Matrices => "matrices",
        Work::Down => "Q, K, V down",
        Work::Heads => "heads",
        Work::Up => "results up",
        Work::Prompts => "K, V of prompts",
    }
}

/// The resources of a task.
pub fn resources(mut uses: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let resource = (uses != 0).then(|| uses.trailing_zeros() as usize)?;
        uses &= uses - 1;
        Some(resource)
    })
}

/// The document.
pub fn events(setup: &Setup<'_>, run: &Run) -> String {
    let mut events: Vec<Value> = Vec::new();
    let mut arrows = 0u64;
    for (begin, iteration) in &run.kept {
        let placed = iteration.place(iteration.shape.layers);
        let tasks = placed.graph.tasks().iter().zip(&placed.labels).enumerate();
        for (task, (of, label)) in tasks {
            let Label { work, half, layer } = *label;
            let at = begin + placed.schedule.start[task];
            for resource in resources(of.uses) {
                events.push(json!({
                    "name": work_name(work), "ph": "X", "pid": 0, "tid": resource,
                    "ts": us(at), "dur": us(of.ps), "args": { "layer": layer, "sub_batch": half },
                }));
            }
            if matches!(work, Work::Down | Work::Up) {
                let resource = |uses: u64| resources(uses).last().unwrap_or(0);
                let before = placed.graph.after(task)[0] as usize;
                let from = resource(placed.graph.tasks()[before].uses);
                let ends = [
                    ("s", from, begin + placed.schedule.end[before]),
                    ("f", resource(of.uses), at),
                ];
                for (phase, resource, at) in ends {
                    events.push(json!({
                        "name": work_name(work), "cat": "data", "ph": phase, "bp": "e", "id": arrows,
                        "pid": 0, "tid": resource, "ts": us(at),
                    }));
                }
                arrows += 1;
            }
        }
    }
    for sample in &run.samples {
        for (name, value) in [("live requests", sample.live), ("K and V", sample.used)] {
            events.push(json!({
                "name": name, "ph": "C", "pid": 0, "ts": us(sample.at_ps), "args": { "value": value },
            }));
        }
    }
    let names = run.busy_ps.iter().enumerate().map(|(resource, _)| {
        json!({
            "name": "thread_name", "ph": "M", "pid": 0, "tid": resource,
            "args": { "name": resource_name(setup, resource) },
        })
    });
    events.extend(names);
    let document = json!({ "displayTimeUnit": "ns", "traceEvents": events });
    format!("{document}\n")
}
