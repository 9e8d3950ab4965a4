// SPDX-License-Identifier: MIT
//! A picture of a trade: a panel for each quantity, a bar for each alternative in it.

use super::{Alternative, ErrorReport, Report, Run};
use crate::failure::Failure;
use crate::files;
use crate::output::grouped;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;

const WIDTH: u32 = 1100;
/// Height of a bar with what is around it, and of a panel's title.
const BAR: u32 = 22;
const PANEL_TITLE: u32 = 30;
const TITLE: u32 = 34;
/// Where bars begin and end; what is to the right is for their values.
const LEFT: i32 = 390;
const RIGHT: i32 = 960;
const FONT: (&str, u32) = ("sans-serif", 13);

/// Colours of the alternatives, in turn.
const COLOURS: [RGBColor; 4] =
    [RGBColor(2, 119, 189), RGBColor(239, 108, 0), RGBColor(46, 125, 50), RGBColor(106, 27, 154)];

/// A bar: which alternative, what is beside it, its value.
struct Bar {
    alternative: usize,
    label: String,
    value: f64,
}

struct Panel {
    title: &'static str,
    bars: Vec<Bar>,
    /// By its logarithm, from a decade below the smallest value on.
    logarithmic: bool,
    text: fn(f64) -> String,
}

/// Writes the picture, as SVG.
pub fn write(file: &Path, report: &Report) -> Result<(), Failure> {
    let mut svg = String::new();
    draw(&mut svg, report).map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
    files::replace(file, svg.as_bytes()).map_err(|e| Failure::file(file, &e))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(svg: &mut String, report: &Report) -> Drawn {
    let panels = panels(&report.alternatives);
    let height_of = |panel: &Panel| PANEL_TITLE + BAR * panel.bars.len() as u32;
    let height = TITLE + panels.iter().map(height_of).sum::<u32>() + 10;
    let whole = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    whole.fill(&WHITE)?;
    let title =
        format!("{}: what each alternative costs and does, in {}", report.trade, report.liberty);
    let mut rest = whole.titled(&title, ("sans-serif", 16))?;
    for panel in &panels {
        let (area, below) = rest.split_vertically(height_of(panel));
        draw_panel(&area, panel)?;
        rest = below;
    }
    whole.present()?;
    Ok(())
}

/// The quantities that there are figures of.
fn panels(alternatives: &[Alternative]) -> Vec<Panel> {
    let of_hardware = |value: fn(&Alternative) -> Option<f64>| -> Vec<Bar> {
        let bar = |(n, alternative): (usize, &Alternative)| {
            Some(Bar {
                alternative: n,
                label: alternative.name.clone(),
                value: value(alternative)?,
            })
        };
        alternatives.iter().enumerate().filter_map(bar).collect()
    };
    // Workload by workload, so that what is to be compared is together.
    let of_runs = |value: fn(&Run) -> Option<f64>| -> Vec<Bar> {
        let runs = alternatives.iter().map(|alternative| alternative.runs.len()).max().unwrap_or(0);
        let bar = |run: usize, (n, alternative): (usize, &Alternative)| {
            let run = alternative.runs.get(run)?;
            let label = format!("{}: {}", run.workload, alternative.name);
            Some(Bar { alternative: n, label, value: value(run)? })
        };
        (0..runs)
            .flat_map(|run| alternatives.iter().enumerate().filter_map(move |a| bar(run, a)))
            .collect()
    };
    // Where cycles are not equally long, ns are what to compare.
    let has_ns =
        alternatives.iter().flat_map(|alternative| &alternative.runs).all(|r| r.ns.is_some());
    let relative = |run: &Run| run.error.map(|ErrorReport { rms_relative, .. }| rms_relative);
    let whole = |value: f64| grouped(value.round() as u64);
    let linear = |title, bars, text| Panel { title, bars, logarithmic: false, text };
    let panels = [
        linear("area of the units, GE", of_hardware(|a| Some(a.area_ge)), whole),
        linear("flip-flops", of_hardware(|a| Some(a.flip_flops as f64)), whole),
        linear("memories, mm2 at 28 nm", of_hardware(|a| a.memories_mm2_28nm), |v| {
            format!("{v:.4}")
        }),
        linear("slowest path, ns", of_hardware(|a| a.delay_ns), |v| format!("{v:.2}")),
        linear("power, mW", of_hardware(|a| a.power_mw), |v| format!("{v:.3}")),
        if has_ns {
            linear("time of the workload, ns", of_runs(|run| run.ns), whole)
        } else {
            linear("time of the workload, cycles", of_runs(|run| Some(run.cycles as f64)), whole)
        },
        Panel {
            title: "RMS error, relative, logarithmic",
            bars: of_runs(relative),
            logarithmic: true,
            text: |value| format!("{value:.2e}"),
        },
    ];
    panels.into_iter().filter(|panel| !panel.bars.is_empty()).collect()
}

fn draw_panel(area: &Area, panel: &Panel) -> Drawn {
    let Panel { title, bars, logarithmic, text } = panel;
    area.draw(&Text::new(*title, (10, 10), ("sans-serif", 14)))?;
    let values = || bars.iter().map(|bar| bar.value);
    let most = values().fold(0.0, f64::max);
    let least = values().filter(|value| *value > 0.0).fold(most, f64::min) / 10.0;
    let share = |value: f64| match (most > 0.0, logarithmic) {
        (false, _) => 0.0,
        (true, false) => value / most,
        (true, true) => ((value / least).ln() / (most / least).ln()).max(0.0),
    };
    for (n, bar) in bars.iter().enumerate() {
        let top = (PANEL_TITLE + BAR * n as u32) as i32;
        let right = LEFT + (share(bar.value) * f64::from(RIGHT - LEFT)) as i32;
        let colour = COLOURS[bar.alternative % COLOURS.len()].filled();
        area.draw(&Text::new(bar.label.as_str(), (24, top + 3), FONT))?;
        area.draw(&Rectangle::new([(LEFT, top + 1), (right, top + BAR as i32 - 4)], colour))?;
        area.draw(&Text::new(text(bar.value), (right + 8, top + 3), FONT))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alternative(name: &str, area_ge: f64, rms_relative: f64) -> Alternative {
        let error = ErrorReport { max_ulp: 1.0, max_relative: 1.0, rms_relative };
        let run = |workload: &str| Run {
            workload: workload.to_owned(),
            cycles: 100,
            ns: None,
            error: Some(error),
        };
        Alternative {
            name: name.to_owned(),
            units: Vec::new(),
            area_ge,
            flip_flops: 7,
            memories_mm2_28nm: None,
            delay_ns: None,
            power_mw: None,
            runs: vec![run("short"), run("long")],
        }
    }

    fn report() -> Report {
        Report {
            trade: "sums",
            liberty: "cells".to_owned(),
            nand2_um2: 1.0,
            clock_ns: 5.0,
            head_dim: 128,
            seed: 1,
            alternatives: vec![
                alternative("narrow", 1000.0, 1e-3),
                alternative("wide", 1500.0, 1e-4),
            ],
            power_of: String::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn there_is_a_panel_for_each_quantity_with_figures() {
        let panels = panels(&report().alternatives);
        let titles: Vec<_> = panels.iter().map(|panel| panel.title).collect();
        let expected = [
            "area of the units, GE",
            "flip-flops",
            "time of the workload, cycles",
            "RMS error, relative, logarithmic",
        ];
        assert_eq!(titles, expected);
        let labels: Vec<_> = panels[2].bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(labels, ["short: narrow", "short: wide", "long: narrow", "long: wide"]);
    }

    #[test]
    fn bars_are_as_long_as_their_values_say() {
        let mut svg = String::new();
        draw(&mut svg, &report()).expect("drawn");
        let bars: Vec<u32> = svg
            .lines()
            .filter(|line| line.starts_with("<rect") && line.contains("x=\"390\""))
            .filter_map(|line| line.split("width=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        // Area 2 : 3; a decade apart, from a decade below the smaller, is 2 : 1.
        assert_eq!(bars[..2], [380, 570]);
        assert_eq!(bars[bars.len() - 2..], [570, 285]);
        assert!(svg.contains("1 500") && svg.contains("1.00e-4"));
    }
}
