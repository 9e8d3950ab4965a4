// SPDX-License-Identifier: MIT
//! Iterations as a picture: a row for each resource, colours by what it does, and below them live requests and memory over
//! the run.

use super::perfetto::{resources, work_name};
use crate::failure::Failure;
use crate::files::Output;
use crate::output::drawing::{self, Anchor, Area, Drawn, GREY, LIGHT_GREY};
use pimlico_serving::iteration::Work;
use pimlico_serving::outcome::Run;
use pimlico_serving::report::ServeReport;
use pimlico_serving::report::l3::resource_name;
use pimlico_serving::simulate::Setup;
use plotters::prelude::*;

const WIDTH: i32 = 1200;
const LEFT: i32 = 130;
const RIGHT: i32 = 1160;
const MARGIN: i32 = 12;
const ROW: i32 = 26;
const PANEL: i32 = 110;

/// A rectangle of a task.
struct Slice {
    row: usize,
    from: u64,
    to: u64,
    work: Work,
    half: u32,
}

/// The colour of what is done, lighter for the second sub-batch.
fn colour(work: Work, half: u32) -> RGBColor {
    let RGBColor(r, g, b) = match work {
        Work::Matrices => RGBColor(31, 119, 180),
        Work::Down => RGBColor(214, 39, 40),
        Work::Heads => RGBColor(44, 160, 44),
        Work::Up => RGBColor(148, 103, 189),
        Work::Prompts => RGBColor(255, 127, 14),
    };
    let lighter = |c: u8| if half == 0 { c } else { (u16::from(c) / 2 + 110).min(255) as u8 };
    RGBColor(lighter(r), lighter(g), lighter(b))
}

/// Writes the picture.
pub fn write(
    output: Output,
    setup: &Setup<'_>,
    report: &ServeReport,
    run: &Run,
) -> Result<(), Failure> {
    let used: Vec<usize> =
        (0..run.busy_ps.len()).filter(|&resource| run.busy_ps[resource] > 0).collect();
    let mut slices = Vec::new();
    for (begin, iteration) in &run.kept {
        let placed = iteration.place(iteration.shape.layers);
        for (task, (of, label)) in placed.graph.tasks().iter().zip(&placed.labels).enumerate() {
            for resource in resources(of.uses) {
                let Some(row) = used.iter().position(|&other| other == resource) else { continue };
                let (from, to) = (placed.schedule.start[task], placed.schedule.end[task]);
                let (from, to) = (begin + from, begin + to);
                slices.push(Slice { row, from, to, work: label.work, half: label.half });
            }
        }
    }
    let height = 4 * MARGIN + 60 + ROW * (used.len() as i32 + 2) + 2 * (PANEL + 20);
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
        let names: Vec<String> =
            used.iter().map(|&resource| resource_name(setup, resource)).collect();
        let top = gantt(area, &names, &slices, top + MARGIN)?;
        let top = legend(area, top)?;
        let live: Vec<_> = run.samples.iter().map(|of| (of.at_ps, of.live as f64)).collect();
        let capacity = run.memory.0.max(1) as f64;
        let memory: Vec<_> =
            run.samples.iter().map(|of| (of.at_ps, 100.0 * of.used as f64 / capacity)).collect();
        panel(area, "live requests", &live, run.makespan_ps, top)?;
        panel(area, "K and V, %", &memory, run.makespan_ps, top + PANEL + 20)
    })
}

/// Rows of tasks, with an axis below. Returns where they end.
fn gantt(
    area: &Area<'_>,
    names: &[String],
    slices: &[Slice],
    top: i32,
) -> Result<i32, Box<dyn std::error::Error>> {
    let from = slices.iter().map(|slice| slice.from).min().unwrap_or(0);
    let to = slices.iter().map(|slice| slice.to).max().unwrap_or(1).max(from + 1);
    let x =
        |ps: u64| LEFT + ((ps - from) as f64 / (to - from) as f64 * f64::from(RIGHT - LEFT)) as i32;
    for (row, name) in names.iter().enumerate() {
        let y = top + ROW * row as i32;
        let name = name.replace('_', " ");
        drawing::write(area, &name, (LEFT - 8, y + ROW / 2), drawing::TEXT, Anchor::Right)?;
        let frame = [(LEFT, y + 3), (RIGHT, y + ROW - 3)];
        area.draw(&Rectangle::new(frame, LIGHT_GREY.filled()))?;
    }
    for slice in slices.iter().filter(|slice| slice.to > slice.from) {
        let y = top + ROW * slice.row as i32;
        let corners = [(x(slice.from), y + 3), (x(slice.to).max(x(slice.from) + 1), y + ROW - 3)];
        area.draw(&Rectangle::new(corners, colour(slice.work, slice.half).filled()))?;
    }
    let bottom = top + ROW * names.len() as i32;
    for tick in 0..=8u64 {
        let at = from + (to - from) * tick / 8;
        area.draw(&PathElement::new(vec![(x(at), bottom), (x(at), bottom + 5)], GREY))?;
        let text = format!("{:.2} ms", at as f64 / 1e9);
        drawing::write(area, &text, (x(at), bottom + 14), drawing::TEXT, Anchor::Middle)?;
    }
    Ok(bottom + ROW)
}

/// What the colours are. Returns where it ends.
fn legend(area: &Area<'_>, top: i32) -> Result<i32, Box<dyn std::error::Error>> {
    let mut left = LEFT;
    for work in [Work::Matrices, Work::Down, Work::Heads, Work::Up, Work::Prompts] {
        for half in 0..2 {
            let corners =
                [(left + 14 * half as i32, top + 4), (left + 14 * half as i32 + 12, top + 16)];
            area.draw(&Rectangle::new(corners, colour(work, half).filled()))?;
        }
        let name = work_name(work);
        drawing::write(area, name, (left + 34, top + 10), drawing::TEXT, Anchor::Left)?;
        left += 44 + drawing::width_of(name, drawing::TEXT);
    }
    drawing::write(
        area,
        "grey: idle; lighter: sub-batch 1",
        (left, top + 10),
        drawing::TEXT,
        Anchor::Left,
    )?;
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
