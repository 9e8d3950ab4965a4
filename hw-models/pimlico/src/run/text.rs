// SPDX-License-Identifier: MIT
//! The report for people.

use super::arguments::RunArguments;
use super::ranks;
use crate::output::{self, Page, Table, decimal, grouped};
use pimlico_workload::report::link::OnLink;
use pimlico_workload::report::{
    APPEND, Energy, Error, Exact, HostPins, Load, Lost, ModuleReport, OperatorReport, PeakCurrent,
    PowerReport, RanksReport, Report, SentReport, SetUpReport, Slots, Watts,
};
use std::fmt::Write;

/// What the report for people has of an operator's own.
#[derive(Default)]
pub(super) struct OwnText {
    /// What was run.
    pub(super) what: String,
    /// On which data, and how.
    pub(super) how: String,
    /// What comes before the tables.
    pub(super) opening: String,
    /// Errors by stage, in place of those by operator.
    pub(super) errors: Option<Vec<(&'static str, Error)>>,
    /// Layers that were streamed, before the totals.
    pub(super) layers: Page,
    /// What comes behind the totals.
    pub(super) closing: String,
}

/// What was run, and on what.
pub(super) fn what(report: &Report, own: &OwnText) -> String {
    let OwnText { what, .. } = own;
    let what = match report.module {
        Some(module) => {
            let ModuleReport { channels, groups, io_buffers, mode_change, .. } = module;
            let modes = if mode_change { " with mode changes" } else { "" };
            let groups = groups.map(|groups| format!(" in {groups} groups")).unwrap_or_default();
            let clocks = module
                .pu_clocks
                .map_or(String::new(), |clocks| format!(", PUs of {clocks} clocks"));
            let lanes = module
                .softmax_lanes
                .map_or(String::new(), |lanes| format!(", softmax unit of {lanes} lanes"));
            let shared = if module.shared_rows { ", shared rows" } else { "" };
            let pipeline = if module.head_pipeline { ", head pipeline" } else { "" };
            format!(
                "{what}\n{channels} channels{groups}, I/O buffers \
                 {io_buffers}{modes}{clocks}{lanes}{shared}{pipeline}"
            )
        }
        None => what.clone(),
    };
    match report.ranks.filter(|ranks| ranks.count() > 1) {
        Some(RanksReport { channels, dimms, ranks, .. }) => {
            format!("{what}\n{channels} channel(s) of {dimms} DIMM(s) of {ranks} rank(s)")
        }
        None => what,
    }
}

/// What was run and how, for people.
fn title(report: &Report, own: &OwnText) -> String {
    let Report { backend, seed, .. } = report;
    let (what, how) = (what(report, own), &own.how);
    let tck = |name: &str, tck: Option<u64>| {
        tck.map(|tck| format!("t{name} {tck}, ")).unwrap_or_default()
    };
    let buses =
        tck("CCD_RESULT", report.ccd_result_tck) + &tck("WTR_SHARED", report.wtr_shared_tck);
    let column_path = report.rl_mac_tck.map(|tck| format!("RL_MAC {tck}, ")).unwrap_or_default();
    let gear = report.gear.map_or(String::new(), |gear| format!("gear {gear}, "));
    format!(
        "{what}\nback end {backend}, {gear}seed {seed}, {how}, sums {}\n{}, {} banks in a tFAW, {buses}{column_path}refresh {}\n\n",
        report.sums,
        report.dram,
        report.faw_banks,
        if report.refresh { "on" } else { "off" }
    )
}

/// The I/O buffers of a rank, among how an operator ran; those of a module are told with its channels.
pub(super) fn own_buffers(report: &Report, io_buffers: &str) -> String {
    report.module.map_or(format!("I/O buffers {io_buffers}, "), |_| String::new())
}

/// Errors, for people.
fn errors(report: &Report, own: &OwnText) -> Table {
    output::table(
        &["result", "max", "bound", "RMS", "max ULP"],
        error_rows(report, own).into_iter().map(|(name, error)| error_row(name, &error)),
    )
}

fn error_rows(report: &Report, own: &OwnText) -> Vec<(&'static str, Error)> {
    // What adds K and V computes nothing.
    let computes = |operator: &&OperatorReport| operator.operator != APPEND;
    let all = report.operators.iter().filter(computes);
    let all = all.map(|operator| (operator.operator, operator.error));
    own.errors.clone().unwrap_or_else(|| all.collect())
}

/// What a large error in ULP is, beside the table; nothing where there is none.
fn ulps(report: &Report, own: &OwnText) -> &'static str {
    let is_large = |(_, error): &(_, Error)| error.max_ulp >= LARGE_ULP;
    match error_rows(report, own).iter().any(is_large) {
        true => {
            "max ULP: in units in the last place of the element itself, large where its terms cancel to almost nothing\n"
        }
        false => "",
    }
}

/// Results against golden's, for people.
fn exact(report: &Report) -> Page {
    let row = |operator: &OperatorReport| {
        let Exact { outputs, checked, differing } = operator.exact?;
        let cells = [outputs, checked, differing].map(grouped);
        Some(std::iter::once(operator.operator.to_owned()).chain(cells).collect())
    };
    let rows: Vec<Vec<String>> = report.operators.iter().filter_map(row).collect();
    if rows.is_empty() {
        return Page::default();
    }
    let header = ["operator", "results", "compared", "differing"];
    Page::from("\nBit for bit against golden's order of summation\n\n")
        + output::table(&header, rows)
}

/// Energy by what takes it, for people, where it is known.
fn energy(report: &Report) -> Page {
    let known = || report.operators.iter().filter_map(|o| Some((o.operator, o.energy?)));
    if known().next().is_none() {
        return Page::default();
    }
    let row = |name: &str, parts: &[f64]| {
        let cells = parts.iter().map(|pj| format!("{:.3}", pj / 1e6));
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let dram = known().map(|(name, energy)| {
        let Energy { activate, all_bank_read, all_bank_read_least, .. } = energy;
        let Energy { bursts, refresh, standby, .. } = energy;
        let reads = [all_bank_read_least, all_bank_read];
        let both = reads.map(|reads| activate + reads + bursts + refresh + standby);
        let parts = [activate, reads[0], reads[1], bursts, refresh, standby];
        row(name, &[both.as_slice(), &parts].concat())
    });
    let of_dram = [
        "operator",
        "at least",
        "at most",
        "activate",
        "RD_ALL, least",
        "RD_ALL, most",
        "bursts",
        "refresh",
        "standby",
    ];
    let logic = known().map(|(name, energy)| {
        let Energy { bank_pus, chips, rank_pu, memories, .. } = energy;
        let parts = [bank_pus, chips, rank_pu, memories];
        row(name, &[&[parts.iter().sum()], parts.as_slice()].concat())
    });
    let of_logic =
        ["operator", "logic", "bank PUs", "chips, by area", "rank PU, dispatcher", "memories"];
    Page::from("\nEnergy of the DRAM in uJ, by IDD, without VPP\n\n")
        + output::table(&of_dram, dram).in_unit("uJ")
        + "\nEnergy of the logic in uJ, by our netlists at 28 nm, without wires\n\n"
        + output::table(&of_logic, logic).in_unit("uJ")
}

/// From how many ULP on the largest error is explained.
const LARGE_ULP: f64 = 16.0;

/// Header of the slots.
const SLOTS: [&str; 9] = [
    "operator",
    "of use",
    "padding",
    "row switch",
    "refresh",
    "fill/drain",
    "bubble",
    "I/O",
    "host",
];

/// The report for people.
pub(super) fn text(report: &Report, own: &OwnText, arguments: &RunArguments) -> Page {
    let mut text = Page::from(title(report, own));
    text += own.opening.as_str();
    text += costs(report);
    text += ranks::table(report);
    let several = report.ranks.is_some_and(|ranks| ranks.count() > 1);
    // A rank alone has no slots that are lost to I/O, and an AiM module none to the host.
    let to_host = |operator: &OperatorReport| operator.slots.lost.host > 0;
    let left_out = match report.module {
        Some(_) => Some("host").filter(|_| !report.operators.iter().any(to_host)),
        None => (!several).then_some("I/O"),
    };
    let of_device = |row: Vec<String>| -> Vec<String> {
        let cells = SLOTS.into_iter().zip(row);
        cells.filter(|(name, _)| Some(*name) != left_out).map(|(_, cell)| cell).collect()
    };
    let header = of_device(SLOTS.map(str::to_owned).to_vec());
    text += "\nSlots of tCCD_L for an all-bank RD";
    text += if several { ", of the rank that is done last\n\n" } else { "\n\n" };
    text += output::table(
        &header.iter().map(String::as_str).collect::<Vec<_>>(),
        report.operators.iter().map(|operator| of_device(slot_row(operator))),
    )
    .in_unit("slots");
    // Where only the time was asked for, there are no results.
    if report.judged.compared > 0 || report.judged.results == 0 {
        text += "\nError against float64, relative to the largest element of the reference\n\n";
        text += errors(report, own);
        text += ulps(report, own);
        text += exact(report);
    }
    text += energy(report);
    text += set_up(report);
    text += own.layers.clone();
    let (total, load) = (&report.total, &report.load);
    let _ = writeln!(
        text,
        "\ntotal: {} tCK = {} ns; bank PUs read {} GB/s, {:.1} % of {}; of use are {} GB/s, {:.1} %",
        grouped(total.cycles),
        decimal(total.ns, 1),
        decimal(total.read_gb_per_s, 1),
        100.0 * total.read_share(),
        decimal(total.peak_gb_per_s, 1),
        decimal(total.use_gb_per_s, 1),
        100.0 * total.use_share()
    );
    text += total.power.map(|power| watts(&power)).unwrap_or_default().as_str();
    let _ = writeln!(
        text,
        "the host wrote {1} bytes to the banks in {0} tCK, data bus {2:.1} % busy{3}",
        grouped(load.cycles),
        grouped(load.bytes),
        100.0 * load.bus,
        on_link(load)
    );
    text += own.closing.as_str();
    let _ = writeln!(text, "violations at the DRAM's pins: {}", report.pin_violations);
    if let Some(HostPins { commands, violations, .. }) = &report.host_pins {
        let commands = grouped(*commands);
        let _ =
            writeln!(text, "violations at the host's pins: {violations}, of {commands} commands");
    }
    if let Some(mismatches) = report.mismatches {
        let _ = writeln!(text, "lockstep: {mismatches} mismatches between model and RTL");
    }
    if let Some(file) = &arguments.vcd {
        let _ = writeln!(text, "waveform: {}", file.display());
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// What the host wrote so that programs could run, for people.
fn set_up(report: &Report) -> Page {
    let SetUpReport { in_total, link_ns, .. } = report.set_up;
    let kinds = report.set_up.kinds();
    let row = |(name, sent): &(&str, SentReport)| {
        let SentReport { bursts, bytes, cycles } = *sent;
        let counts = match in_total {
            true => vec![bytes, bursts, cycles],
            false => vec![bytes],
        };
        std::iter::once((*name).to_owned()).chain(counts.into_iter().map(grouped)).collect()
    };
    let there = kinds.iter().filter(|(_, sent)| sent.bytes + sent.bursts > 0).map(row);
    let rows: Vec<Vec<String>> = there.collect();
    // What has no programs.
    if rows.is_empty() {
        return Page::default();
    }
    if in_total {
        let header = ["written", "bytes", "bursts", "tCK on the host's bus"];
        return Page::from(
            "\nWhat the host wrote so that the programs could run; it is in the total\n\n",
        ) + output::table(&header, rows);
    }
    let link = link_ns.map(|ns| format!(", {} ns on the link", decimal(ns, 1))).unwrap_or_default();
    Page::from(format!(
        "\nWhat the host wrote so that the programs could run; not in the total{link}\n\n"
    )) + output::table(&["written", "bytes"], rows)
}

/// Power of a rank and a DIMM, for people.
fn watts(power: &PowerReport) -> String {
    let PowerReport { rank_w, dimm_w, dimm_ranks, l3_dimm_w, chip_peak } = *power;
    let PeakCurrent { banks, open_a, jedec_banks, jedec_a, refresh_a } = chip_peak;
    let range = |Watts { least, most }: Watts| format!("{least:.2} to {most:.2} W");
    format!(
        "power: a rank {}, a DIMM of {dimm_ranks} such ranks {}; L3 grants a DIMM {l3_dimm_w} W\n\
         peak current of a chip: rows of {banks} banks in a tFAW draw {open_a:.2} A for tRCD, of the {jedec_banks} of \
         JESD79-4 {jedec_a:.2} A; a REF draws {refresh_a:.2} A\n",
        range(rank_w),
        range(dimm_w)
    )
}

/// What operators cost, with the time on a module's link where it is known.
fn costs(report: &Report) -> Table {
    let columns = [
        "operator",
        "tCK",
        "ns",
        "banks read, %",
        "of use, %",
        "data bus, %",
        "adder unit, %",
        "softmax unit, %",
    ];
    let has_link = report.operators.iter().any(|operator| operator.link.is_some());
    // A unit that none of the operators uses has no column.
    let works =
        |share: fn(&OperatorReport) -> f64| report.operators.iter().any(|of| share(of) > 0.0);
    let unused = [
        (columns[6], works(|operator| operator.utilisation.adder_unit)),
        (columns[7], works(|operator| operator.utilisation.softmax_unit)),
    ];
    let is_shown = |name: &str| unused.iter().all(|(unit, works)| *works || *unit != name);
    let columns = columns.into_iter().chain(has_link.then_some("on the link, ns"));
    let row = |operator: &OperatorReport| {
        let on_link =
            operator.link.as_ref().map_or(String::new(), |link| format!("{:.1}", link.ns));
        let cells = cost_row(operator).into_iter().chain(has_link.then_some(on_link));
        let shown = columns.clone().zip(cells).filter(|(name, _)| is_shown(name));
        shown.map(|(_, cell)| cell).collect()
    };
    let rows: Vec<Vec<_>> = report.operators.iter().map(row).collect();
    let header: Vec<_> = columns.clone().filter(|name| is_shown(name)).collect();
    output::table(&header, rows)
}

/// What was written takes on a module's link, and which of the two takes longer.
pub(super) fn on_link(load: &Load) -> String {
    load.link.as_ref().map_or(String::new(), |link| {
        let OnLink { gb_per_s, ns, bound_by, bound_ns, .. } = link;
        format!(
            "; over the link of {gb_per_s} GB/s in {} ns: together {} ns, bound by the {bound_by}",
            decimal(*ns, 1),
            decimal(*bound_ns, 1)
        )
    })
}

fn cost_row(operator: &OperatorReport) -> Vec<String> {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let shares = &operator.utilisation;
    vec![
        operator.operator.to_owned(),
        grouped(operator.cycles),
        format!("{:.1}", operator.ns),
        percent(shares.bank_read),
        percent(shares.bank_pu),
        percent(shares.bus),
        percent(shares.adder_unit),
        percent(shares.softmax_unit),
    ]
}

fn slot_row(operator: &OperatorReport) -> Vec<String> {
    let Slots { of_use, lost, .. } = &operator.slots;
    let Lost { padding, row_switch, refresh, fill_drain, bubble, io, host } = *lost;
    let counts = [*of_use, padding, row_switch, refresh, fill_drain, bubble, io, host];
    std::iter::once(operator.operator.to_owned()).chain(counts.map(grouped)).collect()
}

fn error_row(name: &str, error: &Error) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.2e}", error.max_relative),
        format!("{:.2e}", error.bound),
        format!("{:.2e}", error.rms_relative),
        format!("{:.1}", error.max_ulp),
    ]
}
