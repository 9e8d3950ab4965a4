// SPDX-License-Identifier: MIT
//! Tables and picture of the report.

use super::{ClockReport, DramReport, MemoryReport, Slack, UnitReport};
use crate::estimate::picture::{Bar, BarPanel, Picture, Scale};
use crate::estimate::sheet::{self, Sheet};
use pimlico_estimate::memory::SETUP_FO4;

/// Columns of a slack.
const SLACK: [&str; 5] = ["clock", "period, ns", "shortest, ns", "slack, ns", ""];

fn slack_cells(slack: &Slack) -> [String; 5] {
    let Slack { clock, clock_ns, period_ns, slack_ns, is_met } = slack;
    [
        (*clock).to_owned(),
        format!("{clock_ns:.4}"),
        format!("{period_ns:.3}"),
        format!("{slack_ns:.3}"),
        if *is_met { "met" } else { "missed" }.to_owned(),
    ]
}

pub(super) fn units_sheet(report: &ClockReport) -> Sheet {
    let ClockReport { liberties, fo4_ps, gear, reserve_percent, units, memories, misses, .. } =
        report;
    let rows = units.iter().map(|unit| {
        let UnitReport { system, unit, count, area_ge, flip_flops, slack, libraries, .. } = unit;
        let mut row = vec![
            system.name().to_owned(),
            unit.clone(),
            count.to_string(),
            format!("{area_ge:.0}"),
            flip_flops.to_string(),
        ];
        row.extend(libraries.iter().map(|library| format!("{:.0}", library.period_fo4)));
        row.extend(slack_cells(slack));
        row
    });
    let columns = ["system", "unit", "instances", "sized, GE", "flip-flops"];
    let fo4 = ["FO4", "FO4, second"].into_iter().take(liberties.len());
    Sheet {
        title: format!(
            "clocks in {}, cells sized; node: an FO4 of {fo4_ps} ps; the rank PU's core at gear {gear}",
            liberties.join(", and a second library, ")
        ),
        columns: columns.into_iter().chain(fo4).chain(SLACK).collect(),
        rows: rows.collect(),
        notes: vec![
            format!(
                "instances: in a rank with its dispatcher, or in a module of AiMs; single: what a module has in \
                 place of others with single buffers; slack: of the period less {reserve_percent} % for set-up, \
                 skew and wires"
            ),
            "each unit by itself: from register to register, and from and to its ports, which come and go \
             with the clock"
                .to_owned(),
            format!("{} of {} units and memories miss their clock", misses.len(), units.len() + memories.len()),
        ],
    }
}

/// What is on the DRAM chips, in their process.
pub(super) fn dram_sheet(report: &ClockReport) -> Sheet {
    let ClockReport { dram_fo4_ps, in_dram, reserve_percent, .. } = report;
    let left = 1.0 - reserve_percent / 100.0;
    let rows = in_dram.iter().map(|DramReport { system, unit, slack }| {
        let mut row = vec![system.name().to_owned(), unit.clone()];
        row.extend(slack_cells(slack));
        // A unit without a path has no limit.
        let mhz = left * 1e3 / slack.period_ns;
        row.push(if mhz.is_finite() { format!("{mhz:.0}") } else { "-".to_owned() });
        row
    });
    let missed = in_dram.iter().filter(|unit| !unit.slack.is_met).count();
    Sheet {
        title: format!("what is on the DRAM chips, in a process with an FO4 of {dram_fo4_ps} ps"),
        columns: ["system", "unit"].into_iter().chain(SLACK).chain(["makes, MHz"]).collect(),
        rows: rows.collect(),
        notes: vec![format!(
            "{missed} of {} would miss their clock; the status does not count them, as no vendor has told us his FO4",
            in_dram.len()
        )],
    }
}

pub(super) fn memories_sheet(report: &ClockReport) -> Sheet {
    let rows = report.memories.iter().map(|report| {
        let MemoryReport { unit, memory, area_mm2_28nm, access_fo4, slack, .. } = report;
        let mut row = vec![report.system.name().to_owned(), unit.clone()];
        row.extend(sheet::memory_cells(memory, *area_mm2_28nm));
        row.push(format!("{access_fo4:.0}"));
        row.extend(slack_cells(slack));
        row
    });
    let columns = ["system", "unit"].into_iter().chain(sheet::MEMORY).chain(["access, FO4"]);
    Sheet {
        title: "memories of more than 16 words, by models of SRAM".to_owned(),
        columns: columns.chain(SLACK).collect(),
        rows: rows.collect(),
        notes: vec![format!(
            "shortest: access and a set-up of {SETUP_FO4} FO4; what is read in the cycle that asks misses \
             whatever its access time"
        )],
    }
}

/// The shortest period of each unit, as a share of the one that it has.
pub(super) fn picture(report: &ClockReport) -> Picture {
    let bar = |label: String, slack: &Slack| Bar {
        label,
        parts: vec![(slack.period_ns / slack.clock_ns, usize::from(!slack.is_met))],
        text: format!("{:.2} of {:.3} ns", slack.period_ns, slack.clock_ns),
    };
    let units = report.units.iter().map(|unit| (unit.system, unit.unit.clone(), &unit.slack));
    let units = units.map(|(system, unit, slack)| bar(format!("{}: {unit}", system.name()), slack));
    let memories = report.memories.iter();
    let memories = memories.map(|m| bar(format!("{}: {}", m.unit, m.memory.name), &m.slack));
    let panel = |title: &str, bars: Vec<Bar>| BarPanel {
        title: title.to_owned(),
        bars,
        scale: Scale::Linear,
    };
    let title = "shortest period over the device's";
    let panels = [
        panel(&format!("units: {title}"), units.collect()),
        panel(&format!("memories: {title}"), memories.collect()),
    ];
    Picture {
        title: format!("clocks at {} ps an FO4, gear {}", report.fo4_ps, report.gear),
        key: vec!["met", "missed"],
        panels: panels.into_iter().filter(|panel| !panel.bars.is_empty()).collect(),
    }
}
