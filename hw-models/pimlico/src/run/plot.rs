// SPDX-License-Identifier: MIT
//! A picture of a run: what the rank did over time, and where the slots of each operator went.

use crate::failure::Failure;
use crate::files;
use pimlico_device::{Activity, Timeline};
use pimlico_workload::report::{Lost, Operator, Report, Slots};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;

const WIDTH: u32 = 1100;
/// Height of a part of the timeline, and of an operator's bar.
const PANEL: u32 = 110;
const BAR: u32 = 26;
/// What is above the parts, and around the bars.
const TITLE: u32 = 34;
const MARGINS: u32 = 44;
const FONT: (&str, u32) = ("sans-serif", 14);

/// What becomes of a slot: its name and colour.
const SLOTS: [(&str, RGBColor); 8] = [
    ("of use", RGBColor(46, 125, 50)),
    ("row switch", RGBColor(239, 108, 0)),
    ("refresh", RGBColor(106, 27, 154)),
    ("fill/drain", RGBColor(144, 164, 174)),
    ("I/O", RGBColor(2, 119, 189)),
    ("bubble", RGBColor(198, 40, 40)),
    ("host", RGBColor(121, 85, 72)),
    ("padding", RGBColor(165, 214, 167)),
];

/// A part of the timeline: its name, and what it shows of a stretch, on top of each other.
type Panel = (&'static str, fn(&Activity) -> Vec<(u64, RGBColor)>);

const PANELS: [Panel; 4] = [
    ("banks", |a| vec![(a.read, SLOTS[0].1), (a.row_switch, SLOTS[1].1), (a.refresh, SLOTS[2].1)]),
    ("data bus", |a| vec![(a.bus, RGBColor(2, 119, 189))]),
    ("adder unit", |a| vec![(a.adder_unit, RGBColor(0, 131, 143))]),
    ("softmax unit", |a| vec![(a.softmax_unit, RGBColor(69, 90, 100))]),
];

/// Writes the picture, as SVG.
pub fn write(file: &Path, report: &Report, timeline: &Timeline) -> Result<(), Failure> {
    let mut svg = String::new();
    draw(&mut svg, report, timeline)
        .map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
    files::replace(file, svg.as_bytes()).map_err(|e| Failure::file(file, &e))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(svg: &mut String, report: &Report, timeline: &Timeline) -> Drawn {
    let bars = BAR * report.operators.len() as u32 + MARGINS;
    let height = TITLE + PANEL * PANELS.len() as u32 + bars;
    let whole = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    whole.fill(&WHITE)?;
    let title = format!(
        "{}: {} tCK of {} ns; share of the time, a point being {} tCK",
        report.system,
        report.total.cycles,
        report.tck_ns,
        timeline.stretch_tck()
    );
    let whole = whole.titled(&title, FONT)?;
    let (above, below) = whole.split_vertically(PANEL * PANELS.len() as u32);
    for (panel, part) in PANELS.iter().zip(above.split_evenly((PANELS.len(), 1))) {
        draw_panel(&part, panel, timeline)?;
    }
    draw_slots(&below, &report.operators)?;
    whole.present()?;
    Ok(())
}

/// A part of the timeline, from 0 to 100 %.
fn draw_panel(area: &Area, (name, values): &Panel, timeline: &Timeline) -> Drawn {
    let stretches = timeline.stretches();
    let us = |n: usize| (n as u64 * timeline.stretch_tck()) as f64;
    let mut chart = ChartBuilder::on(area)
        .margin_right(20)
        .x_label_area_size(22)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..us(stretches.len().max(1)), 0.0..100.0)?;
    chart.configure_mesh().disable_x_mesh().y_labels(3).y_desc(*name).label_style(FONT).draw()?;
    // The tops of what is drawn on top of each other, in percent; the highest is drawn first.
    let tops = |stretch: &Activity| {
        let mut sum = 0;
        let stacked = values(stretch).into_iter().map(move |(tck, colour)| {
            sum += tck;
            (100.0 * sum as f64 / timeline.stretch_tck() as f64, colour)
        });
        stacked.collect::<Vec<_>>()
    };
    let layers = tops(&Activity::default()).len();
    for layer in (0..layers).rev() {
        let colour = tops(&Activity::default())[layer].1;
        // Steps: each stretch has its value from its beginning to its end.
        let points = stretches.iter().enumerate().flat_map(|(n, stretch)| {
            let top = tops(stretch)[layer].0.min(100.0);
            [(us(n), top), (us(n + 1), top)]
        });
        chart.draw_series(AreaSeries::new(points, 0.0, colour.filled()))?;
    }
    Ok(())
}

/// Of each operator the slots, one cause behind the other.
fn draw_slots(area: &Area, operators: &[Operator]) -> Drawn {
    let (legend, bars) = area.split_vertically(30);
    for (n, (name, colour)) in SLOTS.iter().enumerate() {
        let left = 130 + 120 * n as i32;
        legend.draw(&Rectangle::new([(left, 8), (left + 14, 22)], colour.filled()))?;
        legend.draw(&Text::new(*name, (left + 20, 8), FONT))?;
    }
    let width = WIDTH as i32 - 130 - 20;
    for (n, operator) in operators.iter().enumerate() {
        let top = (BAR * n as u32) as i32;
        bars.draw(&Text::new(operator.operator, (10, top + 5), FONT))?;
        let Slots { of_use, lost, .. } = &operator.slots;
        let Lost { padding, row_switch, refresh, fill_drain, io, bubble, host } = *lost;
        let slots = [*of_use, row_switch, refresh, fill_drain, io, bubble, host, padding];
        let all = slots.iter().sum::<u64>().max(1);
        let x = |sum: u64| 130 + (sum as f64 / all as f64 * f64::from(width)) as i32;
        let mut sum = 0;
        for (slots, (_, colour)) in slots.into_iter().zip(SLOTS) {
            let corners = [(x(sum), top), (x(sum + slots), top + BAR as i32 - 6)];
            bars.draw(&Rectangle::new(corners, colour.filled()))?;
            sum += slots;
        }
    }
    Ok(())
}
