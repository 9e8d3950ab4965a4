// SPDX-License-Identifier: MIT
//! A run as a picture: a row for each loader and one for the agent that computes, a rectangle for each layer, and below
//! them the bytes that slots hold.

use crate::failure::Failure;
use crate::files::Output;
use crate::output::drawing::{self, Anchor, Area, Drawn, GREY, LIGHT_GREY};
use pimlico_stream::setup::{Setup, mib};
use pimlico_stream::trace::{Held, Span, Trace};
use plotters::prelude::*;

const WIDTH: i32 = 1200;
const LEFT: i32 = 130;
const RIGHT: i32 = 1160;
const MARGIN: i32 = 12;
const ROW: i32 = 26;
const PANEL: i32 = 110;

/// Colours of layers, in turns.
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 150, 160),
];

/// What stands in the picture.
pub struct Words<'a> {
    /// Of what it is; what a run has in common stands behind it.
    pub title: &'a str,
    /// Loaders, of which each has its number behind it.
    pub loader: &'a str,
    /// The agent that computes.
    pub computing: &'a str,
}

impl Words<'static> {
    /// Those of a run that streams layers.
    pub fn of_stream(setup: &Setup) -> Self {
        Self { title: setup.residency.name(), loader: "loader", computing: "computing" }
    }
}

/// Writes the picture.
pub fn write(
    output: Output,
    trace: &Trace,
    setup: &Setup,
    words: &Words<'_>,
) -> Result<(), Failure> {
    let rows = setup.loaders() as i32 + 1;
    let last = trace.events.last().map(|event| event.at_ns);
    let end = trace.spans.iter().map(|span| span.to_ns).chain(last).max().unwrap_or(1).max(1);
    let x = move |at: u64| LEFT + (f64::from(RIGHT - LEFT) * at as f64 / end as f64) as i32;
    let height = 4 * MARGIN + 40 + ROW * rows + PANEL + 40;
    drawing::save(output, (WIDTH, height), |area| {
        let title = format!(
            "{}: {} layers, {} passes, loaders {}, slots {}; {:.1} ms",
            words.title,
            setup.layers.len(),
            setup.passes,
            setup.loaders(),
            setup.slots(),
            end as f64 / 1e6
        );
        let title = drawing::lines(&title, drawing::HEADING, WIDTH - 2 * MARGIN);
        let top = drawing::title(area, &title, (MARGIN, MARGIN), drawing::HEADING)? + MARGIN;
        for row in 0..rows {
            let name = match row + 1 == rows {
                true => words.computing.to_owned(),
                false => format!("{} {row}", words.loader),
            };
            let middle = top + ROW * row + ROW / 2;
            drawing::write(area, &name, (LEFT - 8, middle), drawing::TEXT, Anchor::Right)?;
        }
        trace.spans.iter().try_for_each(|span| rectangle(area, span, top, rows, &x))?;
        memory(area, trace, setup, top + ROW * rows + 2 * MARGIN, &x)
    })
}

fn rectangle(area: &Area<'_>, span: &Span, top: i32, rows: i32, x: &impl Fn(u64) -> i32) -> Drawn {
    let row = span.loader.map_or(rows - 1, |loader| loader as i32);
    let (from, to) = (x(span.from_ns), x(span.to_ns).max(x(span.from_ns) + 1));
    let upper = top + ROW * row + 3;
    let colour = COLOURS[span.layer % COLOURS.len()].filled();
    area.draw(&Rectangle::new([(from, upper), (to, upper + ROW - 6)], colour))?;
    let name = span.layer.to_string();
    if drawing::width_of(&name, drawing::TEXT) + 4 < to - from {
        drawing::write(
            area,
            &name,
            ((from + to) / 2, upper + ROW / 2 - 3),
            drawing::TEXT,
            Anchor::Middle,
        )?;
    }
    Ok(())
}

/// The bytes that slots hold, and what the limit leaves for them.
fn memory(
    area: &Area<'_>,
    trace: &Trace,
    setup: &Setup,
    top: i32,
    x: &impl Fn(u64) -> i32,
) -> Drawn {
    let room = setup.limit.map(|limit| limit.saturating_sub(setup.fixed));
    let held = trace.held.iter().map(|held| held.bytes).max().unwrap_or(0);
    let most = room.unwrap_or(0).max(held).max(1);
    let bottom = top + PANEL;
    let y = |bytes: u64| bottom - (f64::from(PANEL) * bytes as f64 / most as f64) as i32;
    area.draw(&PathElement::new([(LEFT, bottom), (RIGHT, bottom)], GREY))?;
    let mut before = Held { at_ns: 0, bytes: 0 };
    let mut points = vec![(LEFT, bottom)];
    for held in &trace.held {
        points.push((x(held.at_ns), y(before.bytes)));
        points.push((x(held.at_ns), y(held.bytes)));
        before = *held;
    }
    points.push((RIGHT, y(before.bytes)));
    area.draw(&PathElement::new(points, COLOURS[0]))?;
    let text = format!("layers: {}", mib(held));
    drawing::write(area, &text, (LEFT - 8, y(held)), drawing::TEXT, Anchor::Right)?;
    if let Some(room) = room {
        area.draw(&PathElement::new([(LEFT, y(room)), (RIGHT, y(room))], LIGHT_GREY))?;
        let text = format!("room for layers below the limit: {}", mib(room));
        drawing::write(area, &text, (LEFT + 8, bottom + 14), drawing::TEXT, Anchor::Left)?;
    }
    Ok(())
}
