// SPDX-License-Identifier: MIT
//! The pin checker, rule by rule: what is legal at a tCK and no tCK earlier.
//!
//! * [`gates`]: rules between two commands.
//! * [`breaches`]: rules that no waiting mends, and what the checker says of each.
//! * [`data_bus`]: data that are missing, late or meet others.
//! * [`refresh`]: REFs, postponed and pulled in.
//! * [`controller`]: a controller that looks ahead, as the checker looks back.
//! * [`streams`]: random streams of that controller, and nonsense.

mod breaches;
mod controller;
mod data_bus;
mod gates;
mod refresh;
mod streams;

use pimlico_golden::pins::{Driver, Pin, PinChecker, Rules, Violation};

/// L3 Table 2 and JESD79-4.
fn ddr4_3200() -> Rules {
    Rules {
        bank_groups: 4,
        banks_per_group: 4,
        burst: 4,
        t_ccd_s: 4,
        t_ccd_l: 8,
        t_ccd_result: None,
        t_rrd_s: 4,
        t_rrd_l: 8,
        t_faw: 34,
        faw_banks: 16,
        t_rcd: 22,
        t_rcd_wr: 22,
        t_rcd_mac: 22,
        t_ras: 52,
        t_rp: 22,
        t_rc: 74,
        cl: 22,
        cwl: 16,
        cl_reg: None,
        cwl_gb: None,
        t_modch: None,
        rtw_gap: 2,
        t_wtr_s: 4,
        t_wtr_l: 12,
        t_wtr_shared: None,
        t_wr: 24,
        t_rtp: 12,
        t_rfc: 560,
        t_refi: Some(12480),
        max_postponed: 8,
        locked: false,
    }
}

/// As [`ddr4_3200`], but nothing is due to be refreshed.
fn without_refresh() -> Rules {
    Rules { t_refi: None, ..ddr4_3200() }
}

const fn act(bank: usize) -> Pin {
    Pin::Act { bank, row: 7 }
}
const fn pre(bank: usize) -> Pin {
    Pin::Pre { bank }
}
const fn rd(bank: usize) -> Pin {
    Pin::Rd { bank, column: 5 }
}
const fn wr(bank: usize) -> Pin {
    Pin::Wr { bank, column: 5 }
}
const ACT_ALL: Pin = Pin::ActAll { bank: 0, row: 7 };
const ACT_UPPER: Pin = Pin::ActAll { bank: 8, row: 7 };
const RD_ALL: Pin = Pin::RdAll { column: 5 };
const WR_ALL: Pin = Pin::WrAll { column: 5 };
const MRS: Pin = Pin::Mrs { register: 2, opcode: 0 };
const RD_RESULT: Pin = Pin::RdResult { bank: 0 };
const WR_SHARED: Pin = Pin::WrShared { word: 0 };

/// A command, and at once the data that it asks for, where and when they belong.
fn command_with_data(
    checker: &mut PinChecker,
    rules: &Rules,
    at_tck: u64,
    pin: Pin,
) -> Vec<Violation> {
    let mut found = checker.command(at_tck, pin);
    let data = match pin {
        Pin::Rd { .. } => Some((rules.cl, Driver::Dram)),
        Pin::RdResult { .. } => Some((rules.cl_reg.unwrap_or(rules.cl), Driver::Dram)),
        Pin::Wr { .. } | Pin::WrAll { .. } => Some((rules.cwl, Driver::Controller)),
        Pin::WrShared { .. } => Some((rules.cwl_gb.unwrap_or(rules.cwl), Driver::Controller)),
        _ => None,
    };
    if let Some((latency, driver)) = data {
        let from = at_tck + latency;
        found.extend(checker.data(from, from + rules.burst, driver));
    }
    found
}

/// A checker that has seen these commands, all of them legal.
fn after(rules: &Rules, commands: &[(u64, Pin)]) -> PinChecker {
    let mut checker = PinChecker::new(rules.clone());
    for &(at_tck, pin) in commands {
        let found = command_with_data(&mut checker, rules, at_tck, pin);
        assert!(found.is_empty(), "{}", found[0]);
    }
    checker
}
