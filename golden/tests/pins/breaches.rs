// SPDX-License-Identifier: MIT
//! Rules that no waiting mends, or that are not between two commands.

use crate::gates::gates;
use crate::{
    ACT_ALL, ACT_UPPER, MRS, RD_ALL, RD_RESULT, WR_ALL, WR_SHARED, act, after, pre, rd,
    without_refresh, wr,
};
use pimlico_golden::pins::{Driver, Pin, PinChecker, Rules, Violation, rule_names};
use std::collections::BTreeSet;

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
        let of_pim = [RD_RESULT, WR_SHARED, ACT_ALL, Pin::SetWord { word: 1 }, RD_ALL, WR_ALL];
        let rules = of_pim.map(|pin| checker.clone().command(500, pin));
        let locked = rules.map(|found| found.iter().any(|violation| violation.rule == "locked"));
        assert!(locked == [locked[0]; 6]);
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
