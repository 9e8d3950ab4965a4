// SPDX-License-Identifier: MIT
//! What a report says of several ranks, and of layers.

use crate::output::{self, Page, grouped};
use pimlico_workload::report::{LayersReport, OnRanks, Operator, Report, RollUp};
use std::fmt::Write;

/// How the operators are spread, for people; nothing of a rank alone.
pub(super) fn table(report: &Report) -> Page {
    let Some(all) = report.ranks.filter(|ranks| ranks.count() > 1) else { return Page::default() };
    let row = |operator: &Operator| {
        let OnRanks { used, imbalance, waited_tck, channel, gb_per_s, .. } = operator.ranks?;
        Some(vec![
            operator.operator.to_owned(),
            format!("{used} of {}", all.count()),
            format!("{imbalance:.3}"),
            grouped(waited_tck),
            format!("{:.1}", 100.0 * channel),
            format!("{gb_per_s:.1}"),
        ])
    };
    let header =
        ["operator", "ranks", "busiest / mean", "waited, tCK", "busiest channel, %", "GB/s"];
    let rows = report.operators.iter().filter_map(row);
    let table = Page::from("\n") + output::table(&header, rows);
    if all.share_mdq() { table + mdq_table(report) } else { table }
}

/// What ranks that share the data lines of their DIMM cost each other, for people.
fn mdq_table(report: &Report) -> Page {
    let row = |operator: &Operator| {
        let OnRanks { mdq_waited_tck, mdq, mdq_least_tck, .. } = operator.ranks?;
        Some(vec![
            operator.operator.to_owned(),
            grouped(mdq_waited_tck),
            format!("{:.1}", 100.0 * mdq),
            grouped(mdq_least_tck),
            grouped(operator.cycles),
        ])
    };
    let header =
        ["MDQ shared", "waited, tCK", "busiest lines, %", "at the least, tCK", "at the most, tCK"];
    Page::from("\n") + output::table(&header, report.operators.iter().filter_map(row))
}

/// What a layer's cost comes to, for people.
pub(super) fn roll_up(roll_up: &RollUp) -> String {
    let mut text = String::new();
    let RollUp { layer, token, model } = roll_up;
    let _ = writeln!(text, "a layer: {:.1} us", layer.ns / 1000.0);
    let several = [token, model].into_iter().filter(|layers| layers.layers > 1);
    let mut several: Vec<_> = several.collect();
    several.dedup_by_key(|layers| layers.layers);
    for LayersReport { layers, ns, tokens_per_s, bytes_per_rank, fits, .. } in several {
        let room = if *fits { "" } else { ", more than it has" };
        let _ = writeln!(
            text,
            "{layers} such layers, one after the other: {:.1} us for a token, {tokens_per_s:.1} tokens/s; \
             {:.2} GB of the fullest rank{room}",
            ns / 1000.0,
            *bytes_per_rank as f64 / 1e9
        );
    }
    text
}
