// SPDX-License-Identifier: MIT
//! Iterations as a picture: a row for each resource, colours by what it does, twice: all, and a part. Below them live requests, memory and tokens a
//! second over the run.

use super::timeline::{Slice, TaskKind, Timeline};
use crate::failure::Failure;
use crate::files::Output;
use crate::output::drawing::{self, Anchor, Area, Drawn, GREY, LIGHT_GREY};
use pimlico_serving::outcome::Sample;
use pimlico_serving::report::ServeReport;
use plotters::prelude::*;

const WIDTH: i32 = 1200;
const LEFT: i32 = 130;
const RIGHT: i32 = 1160;
const MARGIN: i32 = 12;
const ROW: i32 = 26;
const PANEL: i32 = 110;
/// The part of the window that is drawn again: one in so many.
const PART: u64 = 16;

/// The colour of a kind of task.
fn colour(kind: TaskKind, is_lighter: bool) -> RGBColor {
    let (r, g, b) = kind.colour;
    let lighter = |c: u8| if is_lighter { (u16::from(c) / 2 + 110).min(255) as u8 } else { c };
    RGBColor(lighter(r), lighter(g), lighter(b))
}

/// Writes the picture.
pub fn write(output: Output, report: &ServeReport, timeline: &Timeline) -> Result<(), Failure> {
    let Timeline { rows, samples, end_ps, .. } = timeline;
    let height = 4 * MARGIN + 40 + ROW * (2 * rows.len() as i32 + 3) + 3 * (PANEL + 20);
    drawing::save(output, (WIDTH, height), |area| {
        let title = format!(
            "{} by {}, {} requests of {}: {:.0} tokens/s",
            report.model,
            report.policy,
            report.trace.moments.requests,
            report.trace.name,
            report.tokens_per_s
        );
        let title = drawing::lines(&title, drawing::HEADING, WIDTH - 2 * MARGIN);
        let top = drawing::title(area, &title, (MARGIN, MARGIN), drawing::HEADING)?;
        // All of it, and a part in which tasks can be told apart.
        let (from, to) = timeline.span();
        let top = gantt(area, timeline, (from, to), top + MARGIN)?;
        let part = from + ((to - from) / PART).max(1);
        let top = gantt(area, timeline, (from, part), top + MARGIN)?;
        let top = legend(area, timeline, top)?;
        let points = |of: &dyn Fn(&Sample) -> f64| -> Vec<(u64, f64)> {
            samples.iter().map(|sample| (sample.at_ps, of(sample))).collect()
        };
        let capacity = timeline.capacity.max(1) as f64;
        let live = points(&|of| of.live as f64);
        let memory = points(&|of| 100.0 * of.used as f64 / capacity);
        for (panel_number, (name, points)) in
            [("live requests", live), ("K and V, %", memory), ("tokens/s", rates(samples))]
                .into_iter()
                .enumerate()
        {
            panel(area, name, &points, *end_ps, top + (PANEL + 20) * panel_number as i32)?;
        }
        Ok(())
    })
}

/// Tokens a second between samples.
fn rates(samples: &[Sample]) -> Vec<(u64, f64)> {
    // So many samples together are less ragged.
    let together = samples.len().div_ceil(100).max(1);
    let few: Vec<&Sample> = samples.iter().step_by(together).collect();
    let rate = |two: &[&Sample]| {
        let [first, last] = [two[0], two[1]];
        let tokens = (last.tokens - first.tokens) as f64;
        (last.at_ps, tokens / (last.at_ps - first.at_ps).max(1) as f64 * 1e12)
    };
    few.windows(2).map(rate).collect()
}

/// A mean of colours: sums of red, green and blue, and the share that is covered.
type Mixed = [f64; 4];

/// The mean colours of the columns of a row, from left to right: tasks may be narrower than a column.
fn mixed(timeline: &Timeline, row: usize, (from, to): (u64, u64)) -> Vec<Mixed> {
    let mut columns = vec![Mixed::default(); (RIGHT - LEFT) as usize];
    let scale = columns.len() as f64 / (to - from) as f64;
    let is_there = |slice: &&Slice| slice.row == row && slice.span.1 > from && slice.span.0 < to;
    for slice in timeline.slices.iter().filter(is_there) {
        let at = |ps: u64| (ps.clamp(from, to) - from) as f64 * scale;
        let (begin, end) = (at(slice.span.0), at(slice.span.1));
        let RGBColor(r, g, b) = colour(timeline.kinds[slice.kind], slice.is_lighter);
        let first = begin as usize;
        for (number, column) in columns.iter_mut().enumerate().skip(first) {
            let left = number as f64;
            if left >= end {
                break;
            }
            let share = end.min(left + 1.0) - begin.max(left);
            for (sum, of) in column.iter_mut().zip([f64::from(r), f64::from(g), f64::from(b), 1.0])
            {
                *sum += share * of;
            }
        }
    }
    columns
}

/// The colour of a column; what is not covered is grey.
fn painted(column: &Mixed) -> RGBColor {
    let RGBColor(r, g, b) = LIGHT_GREY;
    let rest = (1.0 - column[3]).max(0.0);
    // Few steps, so that neighbours that look alike are one rectangle.
    let of =
        |sum: f64, grey: u8| ((sum + rest * f64::from(grey)) / 4.0).round().min(63.0) as u8 * 4;
    RGBColor(of(column[0], r), of(column[1], g), of(column[2], b))
}

/// Rows of tasks in a time, with an axis below. Returns where they end.
fn gantt(
    area: &Area<'_>,
    timeline: &Timeline,
    (from, to): (u64, u64),
    top: i32,
) -> Result<i32, Box<dyn std::error::Error>> {
    let rows = &timeline.rows;
    let x =
        |ps: u64| LEFT + ((ps - from) as f64 / (to - from) as f64 * f64::from(RIGHT - LEFT)) as i32;
    for (row, name) in rows.iter().enumerate() {
        let y = top + ROW * row as i32;
        let name = name.replace('_', " ");
        drawing::write(area, &name, (LEFT - 8, y + ROW / 2), drawing::TEXT, Anchor::Right)?;
        let columns: Vec<RGBColor> = mixed(timeline, row, (from, to)).iter().map(painted).collect();
        let mut left = LEFT;
        for alike in columns.chunk_by(|a, b| a == b) {
            let right = left + alike.len() as i32;
            let corners = [(left, y + 3), (right, y + ROW - 3)];
            area.draw(&Rectangle::new(corners, alike[0].filled()))?;
            left = right;
        }
    }
    let bottom = top + ROW * rows.len() as i32;
    for tick in 0..=8u64 {
        let at = from + (to - from) * tick / 8;
        area.draw(&PathElement::new(vec![(x(at), bottom), (x(at), bottom + 5)], GREY))?;
        let text = format!("{:.2} ms", at as f64 / 1e9);
        drawing::write(area, &text, (x(at), bottom + 14), drawing::TEXT, Anchor::Middle)?;
    }
    Ok(bottom + ROW)
}

/// What the colours are. Returns where it ends.
fn legend(
    area: &Area<'_>,
    timeline: &Timeline,
    top: i32,
) -> Result<i32, Box<dyn std::error::Error>> {
    let mut left = LEFT;
    for &kind in &timeline.kinds {
        for (place, is_lighter) in [(0, false), (14, true)] {
            let corners = [(left + place, top + 4), (left + place + 12, top + 16)];
            area.draw(&Rectangle::new(corners, colour(kind, is_lighter).filled()))?;
        }
        drawing::write(area, kind.name, (left + 34, top + 10), drawing::TEXT, Anchor::Left)?;
        left += 44 + drawing::width_of(kind.name, drawing::TEXT);
    }
    let others = format!("grey: idle; lighter: {}", timeline.lighter);
    drawing::write(area, &others, (left, top + 10), drawing::TEXT, Anchor::Left)?;
    Ok(top + ROW + MARGIN)
}

/// A line over the run.
fn panel(area: &Area<'_>, name: &str, points: &[(u64, f64)], end: u64, top: i32) -> Drawn {
    let most = points.iter().map(|(_, value)| *value).fold(1.0, f64::max);
    let x = |ps: u64| LEFT + (ps as f64 / end.max(1) as f64 * f64::from(RIGHT - LEFT)) as i32;
    let y = |value: f64| top + PANEL - (value / most * f64::from(PANEL - 10)) as i32;
    drawing::write(area, name, (LEFT - 8, top + PANEL / 2), drawing::TEXT, Anchor::Right)?;
    area.draw(&Rectangle::new([(LEFT, top), (RIGHT, top + PANEL)], GREY))?;
    let line: Vec<_> = points.iter().map(|&(at, value)| (x(at), y(value))).collect();
    area.draw(&PathElement::new(line, RGBColor(31, 119, 180)))?;
    let most = format!("{most:.0}");
    drawing::write(area, &most, (RIGHT + 4, top + 8), drawing::TEXT, Anchor::Left)?;
    let end = format!("{:.1} s", end as f64 / 1e12);
    drawing::write(area, &end, (RIGHT, top + PANEL + 9), drawing::TEXT, Anchor::Right)
}
