// SPDX-License-Identifier: MIT
//! What a report says of several ranks.

use crate::output::{self, Page, grouped};
use pimlico_workload::report::{OperatorReport, Report, SpreadReport};

/// How the operators are spread, for people; nothing of a rank alone.
pub(super) fn table(report: &Report) -> Page {
    let Some(all) = report.ranks.filter(|ranks| ranks.count() > 1) else { return Page::default() };
    let row = |operator: &OperatorReport| {
        let SpreadReport { used, imbalance, waited_tck, channel, .. } = operator.ranks?;
        let SpreadReport { read_gb_per_s, use_gb_per_s, .. } = operator.ranks?;
        Some(vec![
            operator.operator.to_owned(),
            format!("{used} of {}", all.count()),
            format!("{imbalance:.3}"),
            grouped(waited_tck),
            format!("{:.1}", 100.0 * channel),
            format!("{read_gb_per_s:.1}"),
            format!("{use_gb_per_s:.1}"),
        ])
    };
    let header = [
        "operator",
        "ranks",
        "busiest / mean",
        "waited, tCK",
        "busiest channel, %",
        "read, GB/s",
        "of use, GB/s",
    ];
    let rows = report.operators.iter().filter_map(row);
    let table = Page::from("\n") + output::table(&header, rows);
    if all.share_mdq() { table + mdq_table(report) } else { table }
}

/// What ranks that share the data lines of their DIMM cost each other, for people.
fn mdq_table(report: &Report) -> Page {
    let row = |operator: &OperatorReport| {
        let SpreadReport { mdq_waited_tck, mdq, mdq_least_tck, .. } = operator.ranks?;
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
