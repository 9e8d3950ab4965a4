// SPDX-License-Identifier: MIT
//! Iterations as a Chrome trace, which ui.perfetto.dev opens: a slice for each task on each of its resources, arrows for what goes
//! from one to another, and counters over the run.

use super::timeline::Timeline;
use serde_json::{Map, Value, json};

/// Microseconds, in which Chrome traces are.
fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

/// The document.
pub fn events(timeline: &Timeline) -> String {
    let mut events: Vec<Value> = Vec::new();
    // Of slices that begin together the one that holds the others comes first.
    for frame in &timeline.frames {
        let (from, to) = frame.span;
        events.push(json!({
            "name": frame.name, "ph": "X", "pid": 0, "tid": frame.row, "ts": us(from),
            "dur": us(to - from),
        }));
    }
    for slice in &timeline.slices {
        let (from, to) = slice.span;
        let about = slice.about.iter().map(|&(name, value)| (name.to_owned(), value.into()));
        events.push(json!({
            "name": timeline.kinds[slice.kind].name, "ph": "X", "pid": 0, "tid": slice.row,
            "ts": us(from), "dur": us(to - from), "args": about.collect::<Map<_, _>>(),
        }));
    }
    for (number, arrow) in timeline.arrows.iter().enumerate() {
        for (phase, (row, at)) in [("s", arrow.from), ("f", arrow.to)] {
            events.push(json!({
                "name": arrow.name, "cat": "data", "ph": phase, "bp": "e", "id": number, "pid": 0,
                "tid": row, "ts": us(at),
            }));
        }
    }
    for sample in &timeline.samples {
        for (name, value) in [("live requests", sample.live), ("K and V", sample.used)] {
            events.push(json!({
                "name": name, "ph": "C", "pid": 0, "ts": us(sample.at_ps), "args": { "value": value },
            }));
        }
    }
    let names = timeline.rows.iter().enumerate().map(|(row, name)| {
        json!({ "name": "thread_name", "ph": "M", "pid": 0, "tid": row, "args": { "name": name } })
    });
    events.extend(names);
    let document = json!({ "displayTimeUnit": "ns", "traceEvents": events });
    format!("{document}\n")
}
