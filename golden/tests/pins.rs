// SPDX-License-Identifier: MIT
//! The pin checker, rule by rule: what is legal at a tCK and no tCK earlier.

use pimlico_golden::pins::{Driver, Legal, Pin, PinChecker, Rules, Subject, Violation, rule_names};
use std::collections::BTreeSet;

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
        Pin::Wr { .. } => Some((rules.cwl, Driver::Controller)),
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

/// The command `last` after `before` is legal from tCK `legal` on, and a tCK earlier breaks `rule`
/// and nothing else.
struct Gate {
    rule: &'static str,
    before: Vec<(u64, Pin)>,
    last: Pin,
    legal: u64,
    rules: Rules,
}

fn gate(rule: &'static str, before: &[(u64, Pin)], last: Pin, legal: u64) -> Gate {
    Gate { rule, before: before.to_vec(), last, legal, rules: without_refresh() }
}

impl Gate {
    /// With a timing that lets no other rule hide this one.
    fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(&mut self.rules);
        self
    }
}

/// Latencies of registers and buffers, as an AiM has them.
fn of_registers(rules: &mut Rules) {
    (rules.cl_reg, rules.cwl_gb) = (Some(4), Some(3));
}

/// Banks 0 to 3 are group 0, banks 4 to 7 group 1, and so on. Times are sums of the figures above.
fn gates() -> Vec<Gate> {
    let open = [(0, act(0)), (10, act(1)), (20, act(4))];
    let after_open = |more: &[(u64, Pin)]| [&open[..], more].concat();
    let all_open = |more: &[(u64, Pin)]| [&[(0, ACT_ALL)], more].concat();
    vec![
        gate("tRCD", &[(100, act(0))], rd(0), 122),
        gate("tRCD", &[(100, ACT_ALL)], rd(15), 122),
        gate("tRCD", &[(100, act(0))], rd(0), 130).with(|r| r.t_rcd = 30),
        gate("tRCD_WR", &[(100, act(0))], wr(0), 122),
        gate("tRCD_WR", &[(100, act(0))], wr(0), 130).with(|r| r.t_rcd_wr = 30),
        gate("tRCD_MAC", &[(100, ACT_ALL)], RD_ALL, 122),
        gate("tRCD_MAC", &[(100, ACT_ALL)], RD_ALL, 156).with(|r| r.t_rcd_mac = 56),
        gate("tRAS", &[(100, act(0))], pre(0), 152),
        gate("tRAS", &[(0, act(4)), (100, act(0))], Pin::PreAll, 152),
        gate("tRAS", &[(100, ACT_ALL)], pre(9), 152),
        gate("tRP", &[(0, act(0)), (100, pre(0))], act(0), 122),
        gate("tRP", &[(0, act(0)), (100, Pin::PreAll)], act(9), 122),
        gate("tRP", &[(0, act(9)), (100, pre(9))], ACT_ALL, 122),
        // The last PRE counts, though the bank is closed already.
        gate("tRP", &[(0, act(0)), (100, pre(0)), (110, pre(0))], act(0), 132),
        gate("tRP", &[(0, act(0)), (100, pre(0))], Pin::Ref, 122),
        gate("tRP", &[(0, act(0)), (100, Pin::PreAll)], Pin::Ref, 122),
        gate("tRC", &[(0, act(0)), (52, pre(0))], act(0), 90).with(|r| r.t_rc = 90),
        gate("tRC", &[(0, ACT_ALL), (52, Pin::PreAll)], act(5), 90).with(|r| r.t_rc = 90),
        gate("tRC", &[(0, act(5)), (52, pre(5))], ACT_ALL, 90).with(|r| r.t_rc = 90),
        gate("tRRD_S", &[(100, act(0))], act(4), 104),
        gate("tRRD_S", &[(100, act(3))], act(4), 104),
        gate("tRRD_L", &[(100, act(0))], act(3), 108),
        // Of the two before, the one in the same group binds longer.
        gate("tRRD_L", &[(100, act(0)), (102, act(4))], act(1), 108).with(|r| r.t_rrd_s = 2),
        gate("tFAW", &[(0, act(0)), (4, act(4)), (8, act(8)), (12, act(12))], act(1), 34),
        gate("tFAW", &[(0, act(0)), (20, act(4)), (24, act(8)), (28, act(12))], act(1), 34)
            .with(|r| r.t_rrd_l = 4),
        // An all-bank activation takes the whole window.
        gate("tFAW", &[(0, ACT_ALL), (52, pre(0))], act(0), 99).with(|r| r.t_faw = 99),
        gate("tFAW", &[(0, act(0)), (52, pre(0))], ACT_ALL, 99).with(|r| r.t_faw = 99),
        gate("tFAW", &[(0, ACT_ALL), (52, Pin::PreAll)], ACT_ALL, 99).with(|r| r.t_faw = 99),
        // So does that of half of the banks, which are far enough from the others for tRRD.
        gate("tFAW", &[(0, ACT_ALL)], ACT_UPPER, 34).with(|r| r.faw_banks = 8),
        gate("tFAW", &[(0, ACT_UPPER)], act(0), 34).with(|r| r.faw_banks = 8),
        gate("tRAS", &[(0, ACT_ALL), (34, ACT_UPPER)], pre(8), 86).with(|r| r.faw_banks = 8),
        gate("tRCD_MAC", &[(0, ACT_ALL), (34, ACT_UPPER)], RD_ALL, 56).with(|r| r.faw_banks = 8),
        gate("tCCD_S", &after_open(&[(100, rd(0))]), rd(4), 104),
        gate("tCCD_S", &after_open(&[(100, wr(4))]), wr(0), 104),
        gate("tCCD_S", &after_open(&[(100, rd(0))]), RD_RESULT, 104),
        gate("tCCD_S", &[(100, RD_RESULT)], RD_RESULT, 104),
        gate("tCCD_S", &[(100, WR_SHARED)], WR_SHARED, 104),
        gate("tCCD_S", &[(100, WR_SHARED)], RD_RESULT, 104),
        gate("tCCD_S", &after_open(&[(100, WR_SHARED)]), wr(0), 104),
        gate("tCCD_L", &after_open(&[(100, rd(0))]), rd(1), 108),
        gate("tCCD_L", &after_open(&[(100, rd(0))]), rd(0), 108),
        gate("tCCD_L", &after_open(&[(100, wr(0))]), wr(1), 108),
        gate("tCCD_L", &all_open(&[(100, RD_ALL)]), RD_ALL, 108),
        gate("tCCD_L", &all_open(&[(100, RD_ALL)]), rd(9), 108),
        gate("tCCD_L", &all_open(&[(100, rd(9))]), RD_ALL, 108),
        // No turnaround, as the all-bank RD has no data on the bus.
        gate("tCCD_L", &all_open(&[(100, RD_ALL)]), wr(9), 108),
        gate("tCCD_RESULT", &[(100, RD_RESULT)], RD_RESULT, 108).with(|r| r.t_ccd_result = Some(8)),
        gate("tCCD_RESULT", &[(100, WR_SHARED)], WR_SHARED, 105).with(|r| r.t_ccd_result = Some(5)),
        gate("tCCD_RESULT", &[(100, WR_SHARED)], RD_RESULT, 108).with(|r| r.t_ccd_result = Some(8)),
        gate("tWTR_SHARED", &all_open(&[(100, WR_SHARED)]), RD_ALL, 124)
            .with(|r| r.t_wtr_shared = Some(4)),
        gate("tWTR_SHARED", &[(100, WR_SHARED)], RD_RESULT, 120).with(|r| r.t_wtr_shared = Some(0)),
        gate("tWTR_S", &after_open(&[(100, wr(0))]), rd(4), 124),
        gate("tWTR_L", &after_open(&[(100, wr(0))]), rd(1), 132),
        gate("tWTR_L", &after_open(&[(100, wr(0))]), rd(0), 132),
        gate("tWTR_L", &all_open(&[(100, wr(0))]), RD_ALL, 132),
        gate("tRTW", &after_open(&[(100, rd(0))]), wr(0), 112),
        gate("tRTW", &after_open(&[(100, rd(0))]), wr(4), 112),
        gate("tRTW", &after_open(&[(100, rd(0))]), WR_SHARED, 112),
        gate("tRTW", &after_open(&[(100, RD_RESULT)]), wr(0), 112),
        gate("tRTW", &[(100, RD_RESULT)], WR_SHARED, 113).with(|r| r.rtw_gap = 3),
        gate("tRTW", &[(100, RD_RESULT)], WR_SHARED, 107).with(of_registers),
        gate("tRTW", &after_open(&[(100, rd(0))]), WR_SHARED, 125).with(of_registers),
        gate("tRTW", &after_open(&[(100, RD_RESULT)]), wr(0), 105).with(|r| r.cl_reg = Some(15)),
        gate("tMODCH", &all_open(&[(100, RD_ALL)]), RD_RESULT, 133).with(|r| r.t_modch = Some(32)),
        gate("tMODCH", &all_open(&[(100, RD_ALL)]), WR_SHARED, 133).with(|r| r.t_modch = Some(32)),
        gate("tMODCH", &all_open(&[(100, RD_RESULT)]), RD_ALL, 159).with(|r| r.t_modch = Some(32)),
        gate("tMODCH", &all_open(&[(100, WR_SHARED)]), RD_ALL, 153).with(|r| r.t_modch = Some(32)),
        gate("tMODCH", &[(100, WR_SHARED)], ACT_ALL, 153).with(|r| r.t_modch = Some(32)),
        gate("tWR", &after_open(&[(100, wr(0))]), pre(0), 144),
        gate("tWR", &after_open(&[(100, wr(4))]), Pin::PreAll, 144),
        gate("tRTP", &after_open(&[(100, rd(0))]), pre(0), 112),
        gate("tRTP", &after_open(&[(100, rd(4))]), Pin::PreAll, 112),
        gate("tRTP", &all_open(&[(100, RD_ALL)]), pre(11), 112),
        gate("tRFC", &[(100, Pin::Ref)], act(0), 660),
        gate("tRFC", &[(100, Pin::Ref)], ACT_ALL, 660),
        gate("tRFC", &[(100, Pin::Ref)], pre(0), 660),
        gate("tRFC", &[(100, Pin::Ref)], Pin::PreAll, 660),
        gate("tRFC", &[(100, Pin::Ref)], Pin::Ref, 660),
        gate("tRFC", &[(100, Pin::Ref)], RD_RESULT, 660),
        gate("tRFC", &[(100, Pin::Ref)], WR_SHARED, 660),
        gate("tRFC", &[(100, Pin::Ref)], MRS, 660),
        gate("tRP", &[(0, act(0)), (100, pre(0))], MRS, 122),
        gate("tMRD", &[(100, MRS)], MRS, 108),
        gate("tMOD", &[(100, MRS)], act(0), 124),
        gate("tMOD", &[(100, MRS)], Pin::PreAll, 124),
        gate("tMOD", &[(100, MRS)], Pin::Ref, 124),
        gate("tMOD", &[(100, MRS)], RD_RESULT, 124),
        gate("tMOD", &[(100, MRS)], Pin::SetWord { word: 1 }, 124),
        gate("command bus", &[(0, act(4)), (100, act(0))], pre(4), 101),
        gate("command bus", &all_open(&[(100, RD_ALL)]), RD_RESULT, 101),
    ]
}

#[test]
fn each_gate_opens_at_its_tck() {
    for Gate { rule, before, last, legal, rules } in gates() {
        let what = format!("{rule}: {last}");
        let checker = after(&rules, &before);
        let found = checker.clone().command(legal, last);
        assert!(found.is_empty(), "{what}: {}", found[0]);

        let found = checker.clone().command(legal - 1, last);
        assert_eq!(found.len(), 1, "{what}: {found:?}");
        assert_eq!((found[0].rule, found[0].at_tck), (rule, legal - 1), "{what}");
        assert_eq!(found[0].subject, Subject::Command(last), "{what}");
        assert_eq!(found[0].earliest_legal(), Some(legal), "{what}");
        let earlier = found[0].earlier.expect("a gate is between two commands");
        assert!(before.contains(&(earlier.at_tck, earlier.pin)), "{what}");
    }
}

/// Commands between which there is no gate: they are legal one tCK apart.
#[test]
fn what_shares_nothing_waits_for_nothing() {
    let open = [(0, act(0)), (10, act(1)), (20, act(4))];
    for (before, last) in [
        (vec![(100, act(0))], RD_RESULT),
        (vec![(100, act(0))], WR_SHARED),
        (vec![(100, ACT_ALL)], WR_SHARED),
        (vec![(100, RD_RESULT)], act(0)),
        (vec![(100, WR_SHARED)], ACT_ALL),
        (vec![(0, ACT_ALL), (100, RD_ALL)], WR_SHARED),
        (vec![(0, ACT_ALL), (100, WR_SHARED)], RD_ALL),
        (vec![(0, ACT_ALL), (100, RD_RESULT)], RD_ALL),
        (vec![(0, ACT_ALL), (100, RD_RESULT)], Pin::PreAll),
        (vec![(0, ACT_ALL), (100, WR_SHARED)], Pin::PreAll),
        ([&open[..], &[(100, rd(0))]].concat(), pre(1)),
        ([&open[..], &[(100, rd(0))]].concat(), act(9)),
        ([&open[..], &[(100, wr(0))]].concat(), pre(4)),
        ([&open[..], &[(100, pre(0))]].concat(), rd(1)),
        ([&open[..], &[(100, pre(0))]].concat(), pre(1)),
        ([&open[..], &[(100, pre(0))]].concat(), act(9)),
        (vec![(0, act(0)), (100, pre(0))], Pin::PreAll),
    ] {
        let found = after(&without_refresh(), &before).command(101, last);
        assert!(found.is_empty(), "{}", found[0]);
    }
}

/// What breaks a rule that no waiting mends, or that is not between two commands.
fn breaches() -> Vec<(&'static str, Vec<Violation>)> {
    let rules = without_refresh();
    let command =
        |before: &[(u64, Pin)], at_tck, pin| after(&rules, before).command(at_tck, pin).to_vec();
    let data = |before: &[(u64, Pin)], more: &[(u64, Pin)], from, until, driver| {
        let mut checker = after(&rules, before);
        for &(at_tck, pin) in more {
            assert_eq!(checker.command(at_tck, pin), []);
        }
        checker.data(from, until, driver)
    };
    let of_chips = |faw_banks| PinChecker::new(Rules { faw_banks, ..rules.clone() });
    let (dram, controller) = (Driver::Dram, Driver::Controller);
    let open = [(0, act(0)), (10, act(4))];
    vec![
        ("no such bank", command(&[], 0, act(16))),
        ("no such bank", command(&[], 0, rd(usize::MAX))),
        ("no such bank", command(&[], 0, Pin::RdResult { bank: 16 })),
        ("no such bank", command(&[], 0, ACT_UPPER)),
        ("no such command", of_chips(4).command(0, ACT_ALL)),
        ("bank closed", {
            let mut half = of_chips(8);
            assert_eq!(half.command(0, ACT_ALL), []);
            half.command(200, RD_ALL)
        }),
        ("bank open", command(&[(0, act(0))], 200, act(0))),
        ("bank open", command(&[(0, act(3))], 200, ACT_ALL)),
        ("bank open", command(&[(0, ACT_ALL)], 200, act(3))),
        ("bank open", command(&[(0, act(3))], 200, Pin::Ref)),
        ("bank open", command(&[(0, act(3))], 200, MRS)),
        ("locked", PinChecker::new(Rules { locked: true, ..rules.clone() }).command(0, ACT_ALL)),
        ("bank closed", command(&[(0, act(0))], 200, rd(1))),
        ("bank closed", command(&[(0, act(0))], 200, wr(1))),
        ("bank closed", command(&[(0, act(0)), (100, pre(0))], 200, rd(0))),
        ("bank closed", command(&[(0, act(0))], 200, RD_ALL)),
        ("bank closed", command(&[(0, ACT_ALL), (100, pre(7))], 200, RD_ALL)),
        ("CL", data(&open, &[(100, rd(0))], 121, 125, dram)),
        ("CL", data(&open, &[(100, rd(0))], 123, 127, dram)),
        ("CL", data(&[], &[(100, RD_RESULT)], 123, 127, dram)),
        ("CWL", data(&open, &[(100, wr(0))], 115, 119, controller)),
        ("CWL", data(&open, &[(100, wr(0))], 117, 121, controller)),
        ("CWL", data(&[], &[(100, WR_SHARED)], 117, 121, controller)),
        ("BL", data(&open, &[(100, rd(0))], 122, 125, dram)),
        ("BL", data(&open, &[(100, rd(0))], 122, 127, dram)),
        ("BL", data(&open, &[(100, wr(0))], 116, 116, controller)),
        ("no command", data(&open, &[], 122, 126, dram)),
        ("no command", data(&open, &[(100, rd(0))], 122, 126, controller)),
        ("no command", data(&open, &[(100, wr(0))], 116, 120, dram)),
        ("no command", data(&[(0, ACT_ALL)], &[(100, RD_ALL)], 122, 126, dram)),
    ]
}

#[test]
fn each_breach_is_told_and_nothing_else() {
    for (i, (rule, found)) in breaches().iter().enumerate() {
        let names: Vec<_> = found.iter().map(|violation| violation.rule).collect();
        assert_eq!(names, [*rule], "breach {i}");
    }
}

/// A checker of chips that have just been reset, and that have seen these MRS of MR7.
fn keyed(opcodes: &[usize]) -> PinChecker {
    let mut checker = PinChecker::new(Rules { locked: true, ..without_refresh() });
    for (at_tck, &opcode) in (0..).step_by(8).zip(opcodes) {
        assert_eq!(checker.command(at_tck, Pin::Mrs { register: 7, opcode }), []);
    }
    checker
}

#[test]
fn the_key_alone_has_chips_obey_what_jedec_does_not_know() {
    const KEY: [usize; 4] = [0x2A5C, 0x35A3, 0x2C39, 0x33C6];
    let [first, second, third, fourth] = KEY;
    let obeys = |checker: &PinChecker| {
        let of_pim = [RD_RESULT, WR_SHARED, ACT_ALL, Pin::SetWord { word: 1 }, RD_ALL];
        let rules = of_pim.map(|pin| checker.clone().command(500, pin));
        let locked = rules.map(|found| found.iter().any(|violation| violation.rule == "locked"));
        assert!(locked == [locked[0]; 5]);
        assert_eq!(checker.clone().command(500, act(3)), []);
        !locked[0]
    };
    assert!(obeys(&keyed(&KEY)));
    assert!(obeys(&keyed(&[first, second, first, second, third, fourth])));
    assert!(obeys(&keyed(&[first, second, third, fourth, 0x2001, first])));
    for wrong in [
        &[][..],
        &[first, second, third],
        &[second, first, third, fourth],
        &[first, second, 0, third, fourth],
        &[first, second, third, fourth, 0x2000],
    ] {
        assert!(!obeys(&keyed(wrong)), "{wrong:x?}");
    }
    // Of another register, and with a REF in between.
    let mut other = keyed(&[first, second]);
    assert_eq!(other.command(16, Pin::Mrs { register: 6, opcode: third }), []);
    assert_eq!(other.command(24, Pin::Mrs { register: 7, opcode: fourth }), []);
    assert!(!obeys(&other));
    let mut refreshed = keyed(&[first, second]);
    assert_eq!(refreshed.command(32, Pin::Ref), []);
    assert_eq!(refreshed.command(592, Pin::Mrs { register: 7, opcode: third }), []);
    assert_eq!(refreshed.command(600, Pin::Mrs { register: 7, opcode: fourth }), []);
    assert_eq!(refreshed.command(624, RD_RESULT), []);
}

/// Each rule stands for what it says: a second ACT of a bank is no matter of tRRD.
#[test]
fn rules_do_not_double_for_each_other() {
    let checker = after(&without_refresh(), &[(100, act(0))]);
    for pin in [act(0), ACT_ALL] {
        let found = checker.clone().command(101, pin);
        let names: BTreeSet<_> = found.iter().map(|violation| violation.rule).collect();
        let mut expected = BTreeSet::from(["bank open", "tRC"]);
        expected.extend((pin == ACT_ALL).then_some("tFAW"));
        assert_eq!(names, expected);
    }
}

#[test]
fn data_that_do_not_come_are_missed() {
    for (pin, due) in [(rd(0), 122), (wr(0), 116), (RD_RESULT, 122), (WR_SHARED, 116)] {
        let mut checker = after(&without_refresh(), &[(0, act(0))]);
        assert_eq!(checker.command(100, pin), []);
        assert_eq!(checker.clone().finish(due), []);
        let missed = checker.clone().finish(due + 1);
        assert_eq!((missed.len(), missed[0].rule), (1, "no data"));
        assert_eq!(missed[0].legal, Legal::At(due));
        // A command waits a burst for late data; once told, it is not told again.
        let again = if pin == wr(0) { act(4) } else { pre(4) };
        assert_eq!(checker.clone().command(due + 4, again), []);
        assert_eq!(checker.command(due + 5, again)[0].rule, "no data");
        assert_eq!(checker.finish(1000), []);
    }
}

#[test]
fn data_on_the_bus_do_not_meet() {
    // Two RDs nearer than a burst is long, by a tCCD_S that lets them.
    let rules = Rules { t_ccd_s: 3, ..without_refresh() };
    for (apart, expected) in [(3, vec!["data bus"]), (4, vec![])] {
        let mut checker = after(&rules, &[(0, act(0)), (10, act(4)), (80, rd(0)), (100, rd(0))]);
        assert_eq!(checker.command(100 + apart, rd(4)), []);
        let found = checker.data(122 + apart, 126 + apart, Driver::Dram);
        assert_eq!(found.iter().map(|v| v.rule).collect::<Vec<_>>(), expected);
        if let Some(violation) = found.first() {
            assert_eq!(violation.legal, Legal::From(126));
        }
    }
}

#[test]
fn the_data_bus_lies_idle_when_its_driver_changes() {
    // Write data take 16, read data `cl` tCK: WR_SHARED at 100 ends at 120, RD_RESULT at 104 begins
    // at 104 + cl.
    for (cl, expected) in
        [(15, vec!["data bus"]), (16, vec!["turnaround"]), (17, vec!["turnaround"]), (18, vec![])]
    {
        let rules = Rules { cl, ..without_refresh() };
        let mut checker = after(&rules, &[(100, WR_SHARED)]);
        let found = command_with_data(&mut checker, &rules, 104, RD_RESULT);
        assert_eq!(found.iter().map(|v| v.rule).collect::<Vec<_>>(), expected);
        if let Some(violation) = found.first() {
            let legal = if cl == 15 { 120 } else { 122 };
            assert_eq!(violation.legal, Legal::From(legal));
        }
    }
}

/// Why a host must be told of a spoofed tWL: an honest one sends its data a tCK too late once they
/// have been through the re-layout, and the checker says by how much.
#[test]
fn write_data_a_tck_late_are_told_with_their_command() {
    let mut checker = after(&without_refresh(), &[(0, act(0)), (10, act(4)), (100, wr(0))]);
    assert_eq!(checker.command(104, wr(4)), []);
    // Commands go on while the data are late.
    assert_eq!(checker.command(121, act(8)), []);
    let found = checker.data(121, 125, Driver::Controller);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].to_string(),
        "CWL: write data from 121 to 125, after WR bank 4 column 5 at 104, legal at 120"
    );
}

const REFI: u64 = 12480;

/// A checker that has seen REFs at these times, and what it said about them.
fn refreshed(times: impl IntoIterator<Item = u64>) -> (PinChecker, Vec<Violation>) {
    let mut checker = PinChecker::new(ddr4_3200());
    let found = times.into_iter().flat_map(|tck| checker.command(tck, Pin::Ref)).collect();
    (checker, found)
}

#[test]
fn refresh_on_time_is_legal() {
    let (mut checker, found) = refreshed((1..=100).map(|k| k * REFI));
    assert_eq!(found, []);
    assert_eq!(checker.finish(101 * REFI), []);
}

#[test]
fn eight_refs_may_be_postponed_and_no_more() {
    // At 9 tREFI eight are late and the ninth is due.
    let (checker, _) = refreshed([]);
    assert_eq!(checker.clone().finish(9 * REFI), []);
    assert_eq!(checker.clone().command(9 * REFI, Pin::Ref), []);
    let found = checker.clone().finish(9 * REFI + 1);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "tREFI: 1 REF lost by 112321, legal until 112320");
    // Any command tells it as well, even the REF that comes too late.
    for pin in [Pin::Ref, act(0)] {
        let found = checker.clone().command(9 * REFI + 1, pin);
        assert_eq!(found.iter().map(|v| v.rule).collect::<Vec<_>>(), ["tREFI"]);
    }

    // One made up for is one more to go.
    let (checker, found) = refreshed([9 * REFI]);
    assert_eq!(found, []);
    assert_eq!(checker.clone().finish(10 * REFI), []);
    assert_eq!(checker.clone().finish(10 * REFI + 1).len(), 1);

    // All made up for: nine in a row, then eight may be postponed again.
    let (checker, found) = refreshed((0..9).map(|i| 9 * REFI + 560 * i));
    assert_eq!(found, []);
    assert_eq!(checker.clone().finish(18 * REFI), []);
    assert_eq!(checker.clone().finish(18 * REFI + 1).len(), 1);
}

#[test]
fn lost_refs_are_counted_once() {
    let (mut checker, _) = refreshed([]);
    let lost = |found: &[Violation]| found.iter().map(|v| v.subject).collect::<Vec<_>>();
    // Those that could wait until 9, 10 and 11 tREFI; then the one that could wait until 12.
    assert_eq!(lost(&checker.command(12 * REFI, act(0))), [Subject::LostRefs(3)]);
    assert_eq!(lost(&checker.command(12 * REFI + 100, pre(0))), [Subject::LostRefs(1)]);
    assert_eq!(lost(&checker.finish(12 * REFI + 101)), []);
    assert_eq!(lost(&checker.finish(13 * REFI)), []);
    assert_eq!(lost(&checker.finish(u64::MAX)).len(), 1);
    // One that is missing among many shows when the others have used up what may be postponed.
    let (mut checker, found) = refreshed((1..=100).filter(|k| k % 10 != 0).map(|k| k * REFI));
    assert_eq!(lost(&found), [Subject::LostRefs(1)]);
    assert_eq!(found[0].legal, Legal::Until(90 * REFI));
    assert_eq!(checker.finish(100 * REFI), []);
    assert_eq!(lost(&checker.finish(100 * REFI + 1)), [Subject::LostRefs(1)]);
}

#[test]
fn eight_refs_may_be_pulled_in_and_no_more_count() {
    // With eight ahead, nine tREFI without one.
    let early = |count: u64| (0..count).map(|i| 1000 + 560 * i);
    let (checker, found) = refreshed(early(8));
    assert_eq!(found, []);
    let last = 1000 + 560 * 7;
    assert_eq!(checker.clone().finish(last + 9 * REFI), []);
    assert_eq!(checker.clone().finish(last + 9 * REFI + 1).len(), 1);
    // Those due later have been spent: a REF then leaves one more owed each tREFI.
    let (checker, found) = refreshed(early(8).chain([last + 9 * REFI]));
    assert_eq!(found, []);
    assert_eq!(checker.clone().finish(18 * REFI), []);
    assert_eq!(checker.clone().finish(18 * REFI + 1).len(), 1);
    // A ninth ahead does not count.
    let (checker, found) = refreshed(early(9).chain([last + 560 + 9 * REFI]));
    assert_eq!(found, []);
    assert_eq!(checker.clone().finish(18 * REFI), []);
    assert_eq!(checker.clone().finish(18 * REFI + 1).len(), 1);
}

#[test]
fn sixteen_refs_may_come_within_two_refi() {
    let (checker, found) = refreshed((0..16).map(|i| 560 * i));
    assert_eq!(found, []);
    let early = checker.clone().command(2 * REFI - 1, Pin::Ref);
    assert_eq!(early.len(), 1);
    assert_eq!((early[0].rule, early[0].legal), ("REF rate", Legal::From(2 * REFI)));
    assert_eq!(checker.clone().command(2 * REFI, Pin::Ref), []);
}

/// The rules that the tests above break.
#[test]
fn no_rule_is_forgotten() {
    let mut tested: BTreeSet<&str> = gates().iter().map(|gate| gate.rule).collect();
    tested.extend(breaches().iter().map(|(rule, _)| *rule));
    tested.extend(["tREFI", "REF rate", "no data", "data bus", "turnaround"]);
    let names: BTreeSet<&str> = rule_names().collect();
    assert_eq!(names.len(), rule_names().count(), "each name once");
    assert_eq!(tested, names);
}

#[test]
fn messages_name_rule_time_command_and_what_it_collides_with() {
    for (found, expected) in [
        (
            after(&without_refresh(), &[(0, act(0)), (10, act(4)), (100, wr(0))])
                .command(131, rd(1)),
            "bank closed: RD bank 1 column 5 at 131",
        ),
        (
            after(&without_refresh(), &[(100, act(3))]).command(151, Pin::PreAll),
            "tRAS: PREA at 151, bank 3, after ACT bank 3 row 7 at 100, legal from 152",
        ),
        (
            after(&without_refresh(), &[(100, act(3))]).command(300, Pin::Ref),
            "bank open: REF at 300, bank 3, after ACT bank 3 row 7 at 100",
        ),
        (
            after(&without_refresh(), &[(100, Pin::Ref)]).command(300, WR_SHARED),
            "tRFC: WR_SHARED word 0 at 300, after REF at 100, legal from 660",
        ),
        (
            PinChecker::new(without_refresh()).command(1, act(16)),
            "no such bank: ACT bank 16 row 7 at 1",
        ),
    ] {
        assert_eq!(found[0].to_string(), expected);
    }
}

/// A controller of its own kind: it keeps, for each command it could give, the first tCK at which it
/// may, and pushes these tCKs out with each command it gives. (The checker looks back; this looks
/// ahead.) `next[bank]` are those of each bank.
struct Controller {
    rules: Rules,
    open: Vec<bool>,
    next_act: Vec<u64>,
    next_pre: Vec<u64>,
    next_rd: Vec<u64>,
    next_wr: Vec<u64>,
    next_act_all: u64,
    next_rd_all: u64,
    next_rd_result: u64,
    next_wr_shared: u64,
    next_ref: u64,
    next_word: u64,
    next_mrs: u64,
    acts: Vec<u64>,
}

fn raise(tck: &mut u64, to: u64) {
    *tck = (*tck).max(to);
}

impl Controller {
    fn new(rules: Rules) -> Self {
        let banks = rules.bank_groups * rules.banks_per_group;
        Self {
            rules,
            open: vec![false; banks],
            next_act: vec![0; banks],
            next_pre: vec![0; banks],
            next_rd: vec![0; banks],
            next_wr: vec![0; banks],
            next_act_all: 0,
            next_rd_all: 0,
            next_rd_result: 0,
            next_wr_shared: 0,
            next_ref: 0,
            next_word: 0,
            next_mrs: 0,
            acts: Vec::new(),
        }
    }

    fn allowed(&self, pin: Pin) -> bool {
        match pin {
            Pin::Act { bank, .. } => !self.open[bank],
            Pin::Rd { bank, .. } | Pin::Wr { bank, .. } => self.open[bank],
            Pin::ActAll { bank, .. } => !self.open[self.opened_from(bank)].contains(&true),
            Pin::Ref | Pin::Mrs { .. } => !self.open.contains(&true),
            Pin::RdAll { .. } => !self.open.contains(&false),
            _ => true,
        }
    }

    /// The banks that an ACT_ALL opens.
    fn opened_from(&self, bank: usize) -> std::ops::Range<usize> {
        bank..bank + self.rules.faw_banks
    }

    fn earliest(&self, pin: Pin) -> u64 {
        let latest = |of: &[u64]| of.iter().copied().max().unwrap_or(0);
        let window = |count: usize| {
            let first = self.acts.len().checked_sub(count).map(|i| self.acts[i]);
            first.map_or(0, |tck| tck + self.rules.t_faw)
        };
        match pin {
            Pin::Act { bank, .. } => self.next_act[bank].max(window(4)),
            Pin::ActAll { bank, .. } => {
                let of_banks = latest(&self.next_act[self.opened_from(bank)]);
                of_banks.max(window(1)).max(self.next_act_all)
            }
            Pin::Pre { bank } => self.next_pre[bank],
            Pin::PreAll => latest(&self.next_pre),
            Pin::Rd { bank, .. } => self.next_rd[bank],
            Pin::Wr { bank, .. } => self.next_wr[bank],
            Pin::RdAll { .. } => self.next_rd_all,
            Pin::RdResult { .. } => self.next_rd_result,
            Pin::WrShared { .. } => self.next_wr_shared,
            Pin::Ref => self.next_ref,
            Pin::SetWord { .. } => self.next_word,
            Pin::Mrs { .. } => self.next_mrs,
        }
    }

    fn give(&mut self, t: u64, pin: Pin) {
        let r = self.rules.clone();
        let group = |bank: usize| bank / r.banks_per_group;
        let turn = r.cl + r.burst + r.rtw_gap - r.cwl;
        let written = t + r.cwl + r.burst;
        let between = r.t_ccd_s.max(r.t_ccd_result.unwrap_or(0));
        let banks = 0..self.open.len();
        if let Some(t_modch) = r.t_modch {
            let moved = match pin {
                Pin::RdResult { .. } => r.cl + r.burst,
                Pin::WrShared { .. } => r.cwl + r.burst,
                _ => 0,
            };
            let other_mode = t + moved + t_modch + 1;
            match pin {
                Pin::ActAll { .. } | Pin::RdAll { .. } => {
                    raise(&mut self.next_rd_result, other_mode);
                    raise(&mut self.next_wr_shared, other_mode);
                }
                Pin::RdResult { .. } | Pin::WrShared { .. } => {
                    raise(&mut self.next_rd_all, other_mode);
                    raise(&mut self.next_act_all, other_mode);
                }
                _ => {}
            }
        }
        match pin {
            Pin::Act { .. } | Pin::ActAll { .. } => {
                let these = match pin {
                    Pin::ActAll { bank, .. } => self.opened_from(bank),
                    Pin::Act { bank, .. } => bank..bank + 1,
                    _ => 0..0,
                };
                let groups: Vec<_> = these.clone().map(group).collect();
                for bank in banks {
                    if these.contains(&bank) {
                        self.open[bank] = true;
                        raise(&mut self.next_act[bank], t + r.t_rc);
                        raise(&mut self.next_pre[bank], t + r.t_ras);
                        raise(&mut self.next_rd[bank], t + r.t_rcd);
                        raise(&mut self.next_wr[bank], t + r.t_rcd_wr);
                    } else {
                        let same = groups.contains(&group(bank));
                        let rrd = if same { r.t_rrd_l } else { r.t_rrd_s };
                        raise(&mut self.next_act[bank], t + rrd);
                    }
                }
                // An ACT_ALL takes the whole window.
                let taken = if matches!(pin, Pin::Act { .. }) { 1 } else { 4 };
                self.acts.extend([t; 4].iter().take(taken));
                raise(&mut self.next_rd_all, t + r.t_rcd_mac);
            }
            Pin::Pre { .. } | Pin::PreAll => {
                for bank in banks.filter(|&b| pin == Pin::PreAll || pin == Pin::Pre { bank: b }) {
                    self.open[bank] = false;
                    raise(&mut self.next_act[bank], t + r.t_rp);
                }
                raise(&mut self.next_ref, t + r.t_rp);
                raise(&mut self.next_mrs, t + r.t_rp);
            }
            Pin::Rd { bank: b, .. } => {
                for bank in banks {
                    let ccd = if group(b) == group(bank) { r.t_ccd_l } else { r.t_ccd_s };
                    raise(&mut self.next_rd[bank], t + ccd);
                    raise(&mut self.next_wr[bank], t + turn.max(ccd));
                }
                raise(&mut self.next_pre[b], t + r.t_rtp);
                raise(&mut self.next_rd_all, t + r.t_ccd_l);
                raise(&mut self.next_rd_result, t + r.t_ccd_s);
                raise(&mut self.next_wr_shared, t + turn.max(r.t_ccd_s));
            }
            Pin::Wr { bank: b, .. } => {
                for bank in banks {
                    let same = group(b) == group(bank);
                    let (ccd, wtr) =
                        if same { (r.t_ccd_l, r.t_wtr_l) } else { (r.t_ccd_s, r.t_wtr_s) };
                    raise(&mut self.next_wr[bank], t + ccd);
                    raise(&mut self.next_rd[bank], written + wtr);
                }
                raise(&mut self.next_pre[b], written + r.t_wr);
                raise(&mut self.next_rd_all, written + r.t_wtr_l);
                raise(&mut self.next_rd_result, t + r.t_ccd_s);
                raise(&mut self.next_wr_shared, t + r.t_ccd_s);
            }
            Pin::RdAll { .. } => {
                for bank in banks {
                    raise(&mut self.next_rd[bank], t + r.t_ccd_l);
                    raise(&mut self.next_wr[bank], t + r.t_ccd_l);
                    raise(&mut self.next_pre[bank], t + r.t_rtp);
                }
                raise(&mut self.next_rd_all, t + r.t_ccd_l);
            }
            Pin::RdResult { .. } => {
                for bank in banks {
                    raise(&mut self.next_rd[bank], t + r.t_ccd_s);
                    raise(&mut self.next_wr[bank], t + turn.max(r.t_ccd_s));
                }
                raise(&mut self.next_rd_result, t + between);
                raise(&mut self.next_wr_shared, t + turn.max(between));
            }
            Pin::WrShared { .. } => {
                for bank in banks {
                    raise(&mut self.next_rd[bank], t + r.t_ccd_s);
                    raise(&mut self.next_wr[bank], t + r.t_ccd_s);
                }
                raise(&mut self.next_rd_result, t + between);
                raise(&mut self.next_wr_shared, t + between);
                if let Some(wtr) = r.t_wtr_shared {
                    raise(&mut self.next_rd_all, written + wtr);
                    raise(&mut self.next_rd_result, written + wtr);
                }
            }
            Pin::Ref => {
                for bank in banks {
                    raise(&mut self.next_act[bank], t + r.t_rfc);
                    raise(&mut self.next_pre[bank], t + r.t_rfc);
                }
                raise(&mut self.next_rd_result, t + r.t_rfc);
                raise(&mut self.next_wr_shared, t + r.t_rfc);
                raise(&mut self.next_ref, t + r.t_rfc);
                raise(&mut self.next_word, t + r.t_rfc);
                raise(&mut self.next_mrs, t + r.t_rfc);
            }
            Pin::Mrs { .. } => {
                let others = [&mut self.next_rd_result, &mut self.next_wr_shared];
                let others = others.into_iter().chain([&mut self.next_ref, &mut self.next_word]);
                let others = others.chain(&mut self.next_act).chain(&mut self.next_pre);
                others.for_each(|next| raise(next, t + 24));
                raise(&mut self.next_mrs, t + 8);
            }
            Pin::SetWord { .. } => {}
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n as u64) as usize
    }

    fn pin(&mut self, faw_banks: usize) -> Pin {
        let bank = self.below(16);
        match self.below(40) {
            0..8 => act(bank),
            8 => Pin::ActAll { bank: bank / faw_banks * faw_banks, row: 7 },
            9..14 => pre(bank),
            14 => Pin::PreAll,
            15..22 => rd(bank),
            22..28 => wr(bank),
            28..34 => RD_ALL,
            34..36 => Pin::RdResult { bank },
            36..38 => WR_SHARED,
            38 if bank < 8 => MRS,
            38 => Pin::SetWord { word: 7 },
            _ => Pin::Ref,
        }
    }
}

/// Long random streams: what the controller gives as early as it may is legal, and a tCK earlier is
/// not. So the two agree on every tCK, and each judges the other.
fn random_stream(rules: Rules, seed: u64, commands: usize) -> BTreeSet<&'static str> {
    let mut random = Random(seed);
    let mut controller = Controller::new(rules.clone());
    let mut checker = PinChecker::new(rules.clone());
    let (mut now, mut refs) = (0, 0);
    assert_eq!(checker.command(now, Pin::PreAll), []);
    controller.give(now, Pin::PreAll);
    let mut rules_met = BTreeSet::new();
    let mut given = 0;
    while given < commands {
        // Rather early than late: three may be postponed, two pulled in.
        let due = rules.t_refi.map_or(0, |t_refi| now / t_refi);
        let must_refresh = due > refs + 3;
        let pin = match must_refresh {
            true if controller.open.contains(&true) => Pin::PreAll,
            true => Pin::Ref,
            false => random.pin(rules.faw_banks),
        };
        let pulled_in = pin == Pin::Ref && refs >= due + 2;
        if !controller.allowed(pin) || pulled_in {
            continue;
        }
        let earliest = controller.earliest(pin).max(now + 1);
        let found = checker.clone().command(earliest - 1, pin);
        assert!(!found.is_empty(), "{pin} at {} is too early (seed {seed})", earliest - 1);
        rules_met.extend(found.iter().map(|violation| violation.rule));
        let idle = if random.below(4) == 0 { random.below(30) as u64 } else { 0 };
        let at = earliest + idle;
        let found = command_with_data(&mut checker, &rules, at, pin);
        assert!(found.is_empty(), "{} (seed {seed})", found[0]);
        controller.give(at, pin);
        given += 1;
        refs += u64::from(pin == Pin::Ref);
        now = at;
    }
    assert_eq!(checker.finish(now + rules.cl), []);
    assert!(refs > 20, "{refs} REFs");
    rules_met
}

#[test]
fn random_legal_streams_pass_and_no_tck_earlier() {
    let aim = Rules {
        burst: 2,
        t_ccd_s: 2,
        t_ccd_l: 2,
        t_rrd_s: 11,
        t_rrd_l: 11,
        t_faw: 42,
        t_rcd: 36,
        t_rcd_wr: 28,
        t_rcd_mac: 56,
        t_ras: 54,
        t_rp: 32,
        t_rc: 89,
        cl: 50,
        cwl: 6,
        t_wtr_s: 9,
        t_wtr_l: 11,
        t_wr: 33,
        t_rtp: 12,
        t_rfc: 210,
        t_refi: Some(3333),
        ..ddr4_3200()
    };
    // Each timing binds by itself now and then.
    let odd = Rules { t_rc: 100, t_faw: 120, t_rcd_wr: 25, t_rcd_mac: 31, ..ddr4_3200() };
    let trunk = Rules { t_ccd_result: Some(8), t_wtr_shared: Some(6), ..ddr4_3200() };
    let modes = Rules { t_modch: Some(32), ..aim.clone() };
    let mut met = BTreeSet::new();
    for seed in 0..8 {
        met.extend(random_stream(modes.clone(), seed, 30_000));
        met.extend(random_stream(trunk.clone(), seed, 30_000));
        met.extend(random_stream(ddr4_3200(), seed, 30_000));
        met.extend(random_stream(aim.clone(), seed, 30_000));
        met.extend(random_stream(odd.clone(), seed, 30_000));
        met.extend(random_stream(Rules { faw_banks: 8, ..odd.clone() }, seed, 30_000));
    }
    let of_commands = gates().iter().map(|gate| gate.rule).collect();
    assert_eq!(met, of_commands, "every rule between two commands was met");
}

/// Whatever comes, the checker does not panic, and names rules that there are.
#[test]
fn nonsense_is_told_not_panicked_at() {
    let names: BTreeSet<&str> = rule_names().collect();
    let mut random = Random(1);
    let mut checker = PinChecker::new(ddr4_3200());
    let extremes = [0, 1, REFI, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    let mut told = 0;
    for step in 0..100_000 {
        let mut tck = step * 3 + random.below(20) as u64;
        if random.below(100) == 0 {
            tck = extremes[random.below(extremes.len())];
        }
        let found = match random.below(6) {
            0 => checker.data(tck, tck.wrapping_add(4), Driver::Dram),
            1 => checker.data(tck, random.below(9) as u64, Driver::Controller),
            2 => checker.command(tck, act(random.below(20))),
            3 if random.below(100) == 0 => checker.finish(tck),
            _ => checker.command(tck, random.pin(16)),
        };
        told += found.len();
        for violation in &found {
            assert!(names.contains(violation.rule));
            assert!(!violation.to_string().contains('\n'));
        }
        if random.below(1000) == 0 {
            checker = PinChecker::new(ddr4_3200());
        }
    }
    assert!(told > 10_000, "{told}");
}
