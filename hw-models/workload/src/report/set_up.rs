// SPDX-License-Identifier: MIT
//! What the host wrote so that programs could run, in an account of its own.

use pimlico_device::{Config, Sent, SetUp};
use serde::Serialize;

/// Writes of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SentReport {
    /// Bursts on the host's data bus; 0 where the module is behind a link.
    pub bursts: u64,
    /// Bytes that mean something.
    pub bytes: u64,
    /// tCK in which these bursts are on the data bus.
    pub cycles: u64,
}

/// What was written for all operators, by kind. On ranks its time is in theirs; on a module of AiM channels it is
/// not, as no model waits for the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SetUpReport {
    /// Words of programs.
    pub programs: SentReport,
    /// Entries of the Va2Pa table.
    pub rows: SentReport,
    /// T_cur, segments and layers of requests.
    pub requests: SentReport,
    /// STARTs.
    pub starts: SentReport,
    /// Queries and vectors.
    pub operands: SentReport,
    /// Whether it is in the time of the operators.
    pub in_total: bool,
    /// Duration on the link of a module in ns, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_ns: Option<f64>,
}

impl SetUpReport {
    /// Of all operators.
    pub fn new(config: &Config, set_up: &SetUp) -> Self {
        let of = |sent: Sent| SentReport {
            bursts: sent.bursts,
            bytes: sent.bytes,
            cycles: sent.bursts * config.timing.burst_tck,
        };
        let SetUp { programs, rows, requests, starts, operands } = *set_up;
        let bytes = programs.and(rows).and(requests).bytes;
        Self {
            programs: of(programs),
            rows: of(rows),
            requests: of(requests),
            starts: of(starts),
            operands: of(operands),
            in_total: config.link_gb_per_s.is_none(),
            link_ns: config.link_gb_per_s.map(|gb_per_s| bytes as f64 / gb_per_s as f64),
        }
    }

    /// The kinds, by name.
    pub fn kinds(&self) -> [(&'static str, SentReport); 5] {
        let Self { programs, rows, requests, starts, operands, .. } = *self;
        [
            ("programs", programs),
            ("rows of the banks", rows),
            ("T_cur, segments, layers", requests),
            ("starts", starts),
            ("operands", operands),
        ]
    }
}
