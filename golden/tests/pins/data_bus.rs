// SPDX-License-Identifier: MIT
//! Data that are missing, late or meet others on the bus.

use crate::{RD_RESULT, WR_SHARED, act, after, command_with_data, pre, rd, without_refresh, wr};
use pimlico_golden::pins::{Driver, Legal, Rules};

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
