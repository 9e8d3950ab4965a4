// SPDX-License-Identifier: MIT
//! The timelines of figure 11: (a) blocks one behind the other, (b) two sub-batches; a row for the NPU and one for the PIM.

use crate::failure::Failure;
use crate::files::Output;
use crate::output::drawing::{self, Anchor, Area, Drawn, GREY};
use crate::output::grouped;
use pimlico_serving::neupims::stages::{NPU, Timeline};
use pimlico_serving::studies::neupims::timeline::TimelineStudy;
use plotters::prelude::*;

const WIDTH: i32 = 1200;
const LEFT: i32 = 110;
const RIGHT: i32 = 1170;
const MARGIN: i32 = 12;
const ROW: i32 = 44;
const PANEL: i32 = 2 * ROW + 62;

/// Operators of the first, or only, part of the batch, and of the second.
const COLOURS: [RGBColor; 2] = [RGBColor(120, 174, 220), RGBColor(244, 178, 104)];

/// Writes the picture.
pub fn write(output: Output, of: &TimelineStudy) -> Result<(), Failure> {
    let most = of.serial.end.max(of.interleaved.end).max(1);
    drawing::save(output, (WIDTH, 60 + 2 * PANEL), |area| {
        let title = [of.study.title.clone()];
        drawing::title(area, &title, (MARGIN, MARGIN), drawing::HEADING)?;
        let key = [("batch, or sub-batch 1", COLOURS[0]), ("sub-batch 2", COLOURS[1])];
        drawing::key(area, key, (LEFT, 46))?;
        panel(area, "(a) blocks one behind the other", &of.serial, most, 62)?;
        panel(area, "(b) two sub-batches", &of.interleaved, most, 62 + PANEL)
    })
}

fn panel(area: &Area<'_>, name: &str, of: &Timeline, most: u64, top: i32) -> Drawn {
    let x = |tck: u64| LEFT + (tck as f64 / most as f64 * f64::from(RIGHT - LEFT)) as i32;
    let title = format!("{name}: {} tCK", grouped(of.end));
    drawing::title(area, &[title], (MARGIN, top), drawing::TEXT)?;
    let rows = top + 24;
    for (row, side) in (0..).zip(["NPU", "PIM + vectors"]) {
        let middle = rows + row * ROW + ROW / 2;
        drawing::write(area, side, (LEFT - 6, middle), drawing::TEXT, Anchor::Right)?;
    }
    for operator in &of.operators {
        let row = if operator.uses == NPU { 0 } else { 1 };
        let (from, to) = (x(operator.start), x(operator.end));
        let (above, below) = (rows + row * ROW + 3, rows + (row + 1) * ROW - 3);
        let corners = [(from, above), (to, below)];
        let colour = COLOURS[operator.sub_batch as usize % 2];
        area.draw(&Rectangle::new(corners, colour.filled()))?;
        area.draw(&Rectangle::new(corners, GREY.stroke_width(1)))?;
        let text = format!("{} {}", operator.operator, operator.block + 1);
        if drawing::width_of(&text, drawing::TEXT) < to - from {
            let middle = ((from + to) / 2, (above + below) / 2);
            drawing::write(area, &text, middle, drawing::TEXT, Anchor::Middle)?;
        }
    }
    Ok(())
}
