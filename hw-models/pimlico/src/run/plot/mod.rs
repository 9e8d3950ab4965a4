// SPDX-License-Identifier: MIT
//! A picture of a run: what became of the slots of each operator and, on one rank, what it did over time.
//!
//! * [`phases`]: tokens, operators, heads and phases of a run.
//! * [`panels`]: how busy the parts of the rank were.
//! * [`slots`]: bars of slots.
//! * [`time`]: where a tCK is, and the axis.

mod panels;
mod phases;
mod slots;
mod time;

use crate::failure::Failure;
use crate::files::Output;
use crate::output::drawing::{self, Area, Drawn};
use crate::output::grouped;
use pimlico_device::Timeline;
use pimlico_workload::report::Report;
use pimlico_workload::report::decode::DecodeReport;
use time::Time;

/// Width of the picture; where what is drawn to scale begins and ends.
const WIDTH: i32 = 1200;
const LEFT: i32 = 130;
const RIGHT: i32 = 990;
const MARGIN: i32 = 12;

/// What is drawn.
struct Picture<'a> {
    report: &'a Report,
    title: Vec<String>,
    about: Vec<String>,
    timeline: Option<OverTime>,
}

/// What a rank did over time.
struct OverTime {
    time: Time,
    rows: Vec<phases::Row>,
    panels: Vec<panels::Panel>,
}

/// Writes the picture, as SVG. `what` says what was run.
pub fn write(
    output: Output,
    report: &Report,
    what: &str,
    timeline: Option<&Timeline>,
) -> Result<(), Failure> {
    let picture = Picture::new(report, what, timeline);
    drawing::save(output, (WIDTH, picture.height()), |area| picture.draw(area))
}

impl<'a> Picture<'a> {
    fn new(report: &'a Report, what: &str, timeline: Option<&Timeline>) -> Self {
        let lines = |text: &str, size| drawing::lines(text, size, WIDTH - 2 * MARGIN);
        let timeline = timeline.map(|timeline| {
            let time = Time::new(timeline.tck(), report.tck_ns);
            let rows = phases::rows(timeline, report, &time);
            let panels = panels::panels(timeline, &rows, &time);
            let rows = rows.into_iter().filter(|row| row.is_wide(&time)).collect();
            OverTime { time, rows, panels }
        });
        let (title, about) = (lines(what, drawing::HEADING), lines(&about(report), drawing::TEXT));
        Self { report, title, about, timeline }
    }

    fn height(&self) -> i32 {
        let lines = |lines: &[String], size| lines.len() as i32 * drawing::line_height(size);
        let texts = lines(&self.title, drawing::HEADING) + lines(&self.about, drawing::TEXT);
        let above = self.timeline.as_ref().map_or(0, |OverTime { rows, panels, .. }| {
            phases::height(rows) + panels::height(panels) + time::HEIGHT
        });
        MARGIN + texts + above + slots::height(self.report) + MARGIN
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let top = drawing::title(area, &self.title, (MARGIN, MARGIN), drawing::HEADING)?;
        let mut top = drawing::title(area, &self.about, (MARGIN, top), drawing::TEXT)?;
        if let Some(OverTime { time, rows, panels }) = &self.timeline {
            phases::draw(area, rows, time, top)?;
            top += phases::height(rows);
            panels::draw(area, panels, time, top)?;
            top += panels::height(panels);
            time.draw(area, top)?;
            top += time::HEIGHT;
        }
        slots::draw(area, self.report, top)
    }
}

/// The total, and how it came about.
fn about(report: &Report) -> String {
    let Report { total, tck_ns, dram, faw_banks, backend, seed, .. } = report;
    let tokens = report.of::<DecodeReport>().map_or(String::new(), |decode| {
        format!("{} tokens, a vocabulary of {}; ", decode.tokens.len(), decode.shape.vocab)
    });
    let gear = report.gear.map_or(String::new(), |gear| format!("gear {gear}, "));
    format!(
        "{tokens}total {} tCK of {tck_ns} ns = {:.1} µs; {dram}, {faw_banks} banks in a tFAW, {gear}refresh {}, back end \
         {backend}, seed {seed}",
        grouped(total.cycles),
        total.ns / 1e3,
        if report.refresh { "on" } else { "off" }
    )
}
