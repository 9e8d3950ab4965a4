// SPDX-License-Identifier: MIT
//! A picture of a trade: a panel for each quantity, a bar for each alternative in it.

use super::{Alternative, ErrorReport, Run, TradeReport};
use crate::estimate::picture::{Bar, BarPanel, Picture, Scale, whole};

/// The picture of a trade.
pub fn picture(report: &TradeReport) -> Picture {
    Picture {
        title: format!(
            "{}: what each alternative costs and does, in {}",
            report.trade, report.liberty
        ),
        key: Vec::new(),
        panels: panels(&report.alternatives),
    }
}

/// The quantities that there are figures of.
fn panels(alternatives: &[Alternative]) -> Vec<BarPanel> {
    let bar = |label: String, value: f64, alternative: usize, text: fn(f64) -> String| Bar {
        label,
        parts: vec![(value, alternative)],
        text: text(value),
    };
    let of_hardware = |value: fn(&Alternative) -> Option<f64>, text| -> Vec<Bar> {
        let bars = alternatives.iter().enumerate().filter_map(|(n, alternative)| {
            Some(bar(alternative.name.clone(), value(alternative)?, n, text))
        });
        bars.collect()
    };
    // Workload by workload, so that what is to be compared is together.
    let of_runs = |value: fn(&Run) -> Option<f64>, text| -> Vec<Bar> {
        let runs = alternatives.iter().map(|alternative| alternative.runs.len()).max().unwrap_or(0);
        let of_run = |run: usize, (n, alternative): (usize, &Alternative)| {
            let run = alternative.runs.get(run)?;
            Some(bar(format!("{}: {}", run.workload, alternative.name), value(run)?, n, text))
        };
        (0..runs)
            .flat_map(|run| alternatives.iter().enumerate().filter_map(move |a| of_run(run, a)))
            .collect()
    };
    // Where cycles are not equally long, ns are what to compare.
    let has_ns =
        alternatives.iter().flat_map(|alternative| &alternative.runs).all(|r| r.ns.is_some());
    let relative = |run: &Run| run.error.map(|ErrorReport { rms_relative, .. }| rms_relative);
    let panel = |title: &str, bars, scale| BarPanel { title: title.to_owned(), bars, scale };
    let linear = |title, bars| panel(title, bars, Scale::Linear);
    let panels = [
        linear("area of the units, GE", of_hardware(|a| Some(a.area_ge), whole)),
        linear("flip-flops", of_hardware(|a| Some(a.flip_flops as f64), whole)),
        linear(
            "memories, mm2 at 28 nm",
            of_hardware(|a| a.memories_mm2_28nm, |v| format!("{v:.4}")),
        ),
        linear("slowest path, ns", of_hardware(|a| a.delay_ns, |v| format!("{v:.2}"))),
        linear("power, mW", of_hardware(|a| a.power_mw, |v| format!("{v:.3}"))),
        if has_ns {
            linear("time of the workload, ns", of_runs(|run| run.ns, whole))
        } else {
            linear("time of the workload, cycles", of_runs(|run| Some(run.cycles as f64), whole))
        },
        panel(
            "RMS error, relative, logarithmic",
            of_runs(relative, |value| format!("{value:.2e}")),
            Scale::Logarithmic,
        ),
    ];
    panels.into_iter().filter(|panel| !panel.bars.is_empty()).collect()
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

    #[test]
    fn there_is_a_panel_for_each_quantity_with_figures() {
        let panels =
            panels(&[alternative("narrow", 1000.0, 1e-3), alternative("wide", 1500.0, 1e-4)]);
        let titles: Vec<_> = panels.iter().map(|panel| panel.title.as_str()).collect();
        let expected = [
            "area of the units, GE",
            "flip-flops",
            "time of the workload, cycles",
            "RMS error, relative, logarithmic",
        ];
        assert_eq!(titles, expected);
        let labels: Vec<_> = panels[2].bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(labels, ["short: narrow", "short: wide", "long: narrow", "long: wide"]);
        let texts: Vec<_> = panels[0].bars.iter().map(|bar| bar.text.as_str()).collect();
        assert_eq!(texts, ["1 000", "1 500"]);
        assert_eq!(panels[3].bars[3].text, "1.00e-4");
    }
}
