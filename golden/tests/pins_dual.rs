// SPDX-License-Identifier: MIT
//! Every rule of a channel with two row buffers in a bank, broken a tCK before it is kept.

use pimlico_golden::pins_dual::{DualChecker, DualEvent, DualPin, DualRules, rule_names};
use std::collections::BTreeSet;

/// NeuPIMs without refresh, with timings that no other one hides.
const APART: DualRules =
    DualRules { t_ccd_s: 5, t_ccd_l: 7, t_rc: 60, t_refi: None, ..DualRules::NEUPIMS };
/// The same, with the window of the authors' simulator.
const SIMULATOR: DualRules = DualRules { pim_in_window: false, ..APART };
/// NeuPIMs with refresh.
const REFRESHED: DualRules = DualRules::NEUPIMS;

fn act(bank: usize) -> DualPin {
    DualPin::Act { bank, row: 1 }
}

fn pre(bank: usize) -> DualPin {
    DualPin::Pre { bank }
}

fn rd(bank: usize) -> DualPin {
    DualPin::Rd { bank, column: 3 }
}

fn wr(bank: usize) -> DualPin {
    DualPin::Wr { bank, column: 3 }
}

fn gwrite(bank: usize) -> DualPin {
    DualPin::Gwrite { bank }
}

fn pim_act(group: usize) -> DualPin {
    DualPin::PimActivation { group, row: 2 }
}

fn gemv(count: u64) -> DualPin {
    DualPin::Gemv { word: 0, count }
}

const PIM_PRE: DualPin = DualPin::PimPrecharge { bank: None };
const DOT: DualPin = DualPin::DotProduct { word: 31 };
const REF: DualPin = DualPin::Ref { rank: 0 };

/// All PIM row buffers are opened, as fast as may be: the last at 91.
const PIM_OPEN: [DualEvent; 8] = [
    (0, DualPin::PimActivation { group: 0, row: 2 }),
    (1, DualPin::PimActivation { group: 4, row: 2 }),
    (30, DualPin::PimActivation { group: 1, row: 2 }),
    (31, DualPin::PimActivation { group: 5, row: 2 }),
    (60, DualPin::PimActivation { group: 2, row: 2 }),
    (61, DualPin::PimActivation { group: 6, row: 2 }),
    (90, DualPin::PimActivation { group: 3, row: 2 }),
    (91, DualPin::PimActivation { group: 7, row: 2 }),
];

/// PIM open in all banks, MEM in bank 0 of each pseudo-rank.
fn both_open(and: &[DualEvent]) -> Vec<DualEvent> {
    [&PIM_OPEN[..], &[(125, act(0)), (126, act(16))], and].concat()
}

fn pim_open(and: &[DualEvent]) -> Vec<DualEvent> {
    [&PIM_OPEN[..], and].concat()
}

/// A checker of legal commands.
fn after(rules: DualRules, commands: &[DualEvent]) -> DualChecker {
    let mut checker = DualChecker::new(rules);
    for &(at, pin) in commands {
        assert_eq!(checker.command(at, pin), [], "{pin} at {at} is legal");
    }
    checker
}

/// A rule, what comes first, and the tCK from which the command may come.
type Probe = (&'static str, DualRules, Vec<DualEvent>, DualPin, u64);

fn of_mem() -> Vec<Probe> {
    let of = |rule, first: &[DualEvent], pin, legal| (rule, APART, first.to_vec(), pin, legal);
    let others = |first: DualEvent| [(0, act(0)), (6, act(1)), (12, act(4)), first];
    vec![
        of("tRC", &[(0, act(0)), (40, pre(0))], act(0), 60),
        of("tRCD", &[(0, act(0))], rd(0), 14),
        of("tRCD", &[(0, act(0))], gwrite(0), 14),
        of("tRCD_WR", &[(0, act(0))], wr(0), 14),
        of("tRAS", &[(0, act(0))], pre(0), 34),
        of("tRAS", &[(0, act(0))], DualPin::PreAll { rank: 0 }, 34),
        of("tRP", &[(0, act(0)), (50, pre(0))], act(0), 64),
        of("tRP", &[(0, act(0)), (50, DualPin::PreAll { rank: 0 })], act(0), 64),
        of("tRP", &[(0, act(0)), (50, pre(0))], REF, 64),
        of("tRTP", &[(0, act(0)), (40, rd(0))], pre(0), 46),
        of("tWR", &[(0, act(0)), (40, wr(0))], pre(0), 62),
        of("tCCD_S", &others((30, rd(0))), rd(4), 35),
        of("tCCD_S", &others((30, wr(0))), wr(4), 35),
        of("tCCD_L", &others((30, rd(0))), rd(1), 37),
        of("tCCD_L", &others((30, rd(0))), rd(0), 37),
        of("tWTR_S", &others((30, wr(0))), rd(4), 42),
        of("tWTR_S", &others((30, wr(0))), gwrite(4), 42),
        of("tWTR_L", &others((30, wr(0))), rd(1), 44),
        of("tWTR_L", &others((30, wr(0))), gwrite(1), 44),
        of("tGWRITE", &others((30, gwrite(0))), rd(0), 126),
        of("tGWRITE", &others((30, gwrite(0))), wr(0), 126),
        of("tGWRITE", &others((30, gwrite(0))), pre(0), 126),
        of("tGWRITE", &others((30, gwrite(0))), gwrite(4), 126),
        of("tGWRITE_RD", &others((30, gwrite(0))), rd(4), 32),
        of("tRFC", &[(100, REF)], act(0), 360),
        of("tRFC", &[(100, REF)], pim_act(0), 360),
        of("tRFC", &[(100, REF)], REF, 360),
        of("command bus", &[(7, act(0))], act(16), 8),
        of("data bus", &others((30, rd(0))), wr(0), 44),
        of("data bus", &[(0, act(0)), (1, act(16)), (30, rd(0))], rd(16), 34),
        of("data bus", &[(0, act(0)), (1, act(16)), (30, wr(0))], wr(16), 34),
    ]
}

fn of_activations() -> Vec<Probe> {
    let fourth = [(0, act(0)), (4, act(4)), (8, act(8)), (12, act(12))];
    let of = |rule, first: &[DualEvent], pin, legal| (rule, APART, first.to_vec(), pin, legal);
    let simulator =
        |rule, first: &[DualEvent], pin, legal| (rule, SIMULATOR, first.to_vec(), pin, legal);
    vec![
        of("tRRD_S", &[(0, act(0))], act(4), 4),
        of("tRRD_L", &[(0, act(0))], act(1), 6),
        simulator("tRRD_S", &[(0, act(0))], pim_act(1), 4),
        simulator("tRRD_L", &[(0, act(0))], pim_act(0), 6),
        of("tFAW", &fourth, act(1), 30),
        of("tFAW", &[(0, act(0))], pim_act(1), 30),
        of("tFAW", &[(0, act(0)), (20, act(4))], pim_act(1), 50),
        of("tFAW", &[(0, pim_act(0))], act(4), 30),
        of("tFAW", &[(0, pim_act(0))], act(0), 30),
        of("tFAW", &[(0, pim_act(0))], pim_act(1), 30),
        simulator("tFAW", &fourth, act(1), 30),
        simulator("tFAW", &[(0, pim_act(0))], act(4), 30),
        simulator("tFAW", &[(0, pim_act(0))], pim_act(1), 30),
    ]
}

fn of_pim() -> Vec<Probe> {
    let of = |rule, first: &[DualEvent], pin, legal| (rule, APART, first.to_vec(), pin, legal);
    let row_2 = DualPin::Act { bank: 0, row: 2 };
    let pim_row_1 = DualPin::PimActivation { group: 0, row: 1 };
    let one_bank = DualPin::PimPrecharge { bank: Some(3) };
    vec![
        of("tRC_PIM", &[(0, pim_act(0)), (40, PIM_PRE)], pim_act(0), 60),
        of("tRCD_PIM", &PIM_OPEN, gemv(5), 105),
        of("tRCD_PIM", &PIM_OPEN, DOT, 105),
        of("tRAS_PIM", &[(0, pim_act(0))], PIM_PRE, 34),
        of("tRAS_PIM", &[(0, pim_act(0))], one_bank, 34),
        of("tRP_PIM", &[(0, pim_act(0)), (50, PIM_PRE)], pim_act(0), 64),
        of("tRP_PIM", &[(0, pim_act(0)), (50, PIM_PRE)], REF, 64),
        of("tRTP_PIM", &pim_open(&[(105, gemv(32))]), PIM_PRE, 105 + 62 + 6),
        of("tRTP_PIM", &pim_open(&[(130, DOT)]), one_bank, 136),
        of("tDOT", &pim_open(&[(105, gemv(3))]), DOT, 111),
        of("tDOT", &pim_open(&[(105, DOT)]), gemv(1), 107),
        of("tDOT", &both_open(&[(127, gemv(32))]), gwrite(0), 127 + 64),
        of("tRESULT", &pim_open(&[(105, DOT)]), DualPin::ReadResult, 117),
        of("tRESULT", &pim_open(&[(105, gemv(32))]), DualPin::ReadResult, 105 + 62 + 12),
        of("tGWRITE", &both_open(&[(140, gwrite(0))]), DOT, 236),
        of("tGWRITE", &both_open(&[(140, gwrite(0))]), gemv(1), 236),
        // The burst of one dot product at 141 is at 153: 4 and 14 as in the simulator, of its results in place of its issue.
        of("data bus", &both_open(&[(141, gemv(1))]), rd(0), 153 + 4 - 14),
        of("data bus", &both_open(&[(141, gemv(1))]), wr(16), 153 + 4 - 4),
        of("data bus", &both_open(&[(141, gemv(5))]), rd(0), 161 + 4 - 14),
        of("data bus", &both_open(&[(141, DOT), (153, DualPin::ReadResult)]), rd(0), 157),
        of("tRP of the row", &[(0, act(0)), (40, pre(0))], pim_row_1, 54),
        of("tRP of the row", &[(0, pim_act(0)), (40, PIM_PRE)], row_2, 54),
    ]
}

#[test]
fn every_gate_is_broken_a_tck_before_it_is_kept() {
    for (rule, rules, first, pin, legal) in [of_mem(), of_activations(), of_pim()].concat() {
        let found = after(rules, &first).command(legal - 1, pin);
        let first_of = found.first().unwrap_or_else(|| panic!("{pin} at {}", legal - 1));
        assert!(found.iter().all(|violation| violation.rule == rule), "{rule}: {found:?}");
        let latest = found.iter().filter_map(|violation| violation.legal_from).max();
        assert_eq!(latest, Some(legal), "{first_of}");
        assert_eq!(after(rules, &first).command(legal, pin), [], "{rule}: {pin} at {legal}");
    }
}

/// What no waiting makes legal: a rule, what comes first, and a command at 1800.
fn never() -> Vec<Probe> {
    let of = |rule, first: &[DualEvent], pin| (rule, REFRESHED, first.to_vec(), pin, 1800);
    let mem_row_2 = DualPin::Act { bank: 0, row: 2 };
    let pim_row_1 = DualPin::PimActivation { group: 0, row: 1 };
    vec![
        of("row open", &[(0, act(0))], act(0)),
        of("row open", &[(0, pim_act(0))], pim_act(0)),
        of("row closed", &[], rd(0)),
        of("row closed", &[(0, pim_act(0))], wr(0)),
        of("row closed", &[(0, pim_act(0))], gwrite(0)),
        of("row closed", &[(0, act(0))], DOT),
        // One group of eight is missing.
        of("row closed", &PIM_OPEN[..7], gemv(1)),
        of("same row in both buffers", &[(0, pim_act(0))], mem_row_2),
        of("same row in both buffers", &[(0, act(0))], pim_row_1),
        of("REF with a row open", &[(0, act(15))], REF),
        of("REF with a row open", &[(0, pim_act(3))], REF),
        of("no such bank or word", &[], act(32)),
        of("no such bank or word", &[], pim_act(8)),
        of("no such bank or word", &[], DualPin::Ref { rank: 2 }),
        of("no such bank or word", &PIM_OPEN, DualPin::Gemv { word: 1, count: 32 }),
        of("no such bank or word", &PIM_OPEN, DualPin::Gemv { word: 1, count: u64::MAX }),
        of("no such bank or word", &PIM_OPEN, gemv(0)),
        of("no such bank or word", &[(0, act(0))], DualPin::Rd { bank: 0, column: 16 }),
    ]
}

#[test]
fn states_and_places_that_no_waiting_makes_legal() {
    for (rule, rules, first, pin, at) in never() {
        let found = after(rules, &first).command(at, pin);
        let rules: BTreeSet<_> = found.iter().map(|violation| violation.rule).collect();
        assert_eq!(rules, BTreeSet::from([rule]), "{pin}: {found:?}");
        assert!(found.iter().all(|violation| violation.legal_from.is_none()), "{found:?}");
    }
}

#[test]
fn a_write_of_the_row_that_pim_holds_is_told_behind_the_conflict() {
    let mut checker = after(APART, &[(0, pim_act(0))]);
    let row_2 = DualPin::Act { bank: 0, row: 2 };
    assert_eq!(checker.command(100, row_2)[0].rule, "same row in both buffers");
    assert_eq!(checker.command(120, rd(0)), []);
    assert_eq!(checker.command(140, wr(0))[0].rule, "write to the row in PIM");
    // The other pseudo-rank, another bank of the group: refresh and rows of their own.
    assert_eq!(checker.command(150, act(1)), []);
    assert_eq!(checker.command(170, wr(1)), []);
}

#[test]
fn reads_go_ahead_of_results_that_are_to_come() {
    // Results from 215 on: a read's data end two tCK before them, or begin two behind them.
    for (at, legal) in [(150, true), (197, true), (198, false), (204, false), (205, true)] {
        let found = after(APART, &both_open(&[(141, gemv(32))])).command(at, rd(0));
        assert_eq!(found.is_empty(), legal, "{at}: {found:?}");
        assert!(found.iter().all(|violation| violation.legal_from == Some(205)), "{found:?}");
    }
}

#[test]
fn refreshes_fall_due_in_turn_and_pim_ends_before_them() {
    // Due at 1950 and 3900; the first must have come by 5850.
    for (start, pin, legal) in [(1886, gemv(32), true), (1887, gemv(32), false)] {
        let found = after(REFRESHED, &PIM_OPEN).command(start, pin);
        assert_eq!(found.is_empty(), legal, "{found:?}");
        assert!(found.iter().all(|violation| violation.rule == "PIM across a REF"));
    }
    let mut mem = after(REFRESHED, &[(0, act(0))]);
    assert_eq!(mem.clone().command(1854, gwrite(0)), []);
    assert_eq!(mem.command(1855, gwrite(0))[0].rule, "PIM across a REF");
    // A row that is opened cannot be closed within its tRAS.
    assert_eq!(DualChecker::new(REFRESHED).command(1916, pim_act(4)), []);
    let found = DualChecker::new(REFRESHED).command(1917, pim_act(4));
    assert_eq!(found[0].rule, "PIM across a REF");

    assert_eq!(DualChecker::new(REFRESHED).finish(5850), []);
    let found = DualChecker::new(REFRESHED).finish(5851);
    assert_eq!((found.len(), found[0].rule, found[0].at_tck), (1, "REF late", 5850));
    let refreshed = [(1950, REF), (3900, DualPin::Ref { rank: 1 })];
    assert_eq!(after(REFRESHED, &refreshed).finish(9750), []);
    assert_eq!(after(REFRESHED, &refreshed).finish(9751).len(), 1);
    // Until a REF that is due has come, PIM stops; in the other pseudo-rank too.
    let mut late = DualChecker::new(REFRESHED);
    assert_eq!(late.command(1951, pim_act(4))[0].rule, "PIM across a REF");
    assert_eq!(after(REFRESHED, &[(1950, REF)]).command(1951, pim_act(4)), []);
}

/// The reference schedule of a tile of 32 banks and 512 elements.
#[test]
fn the_tile_of_the_paper_is_as_tight_as_it_can_be() {
    let opens = PIM_OPEN.map(|(at, pin)| (at + 14, pin));
    let rest = [(119, gemv(32)), (187, PIM_PRE)];
    let tile = [&[(0, PIM_PRE)][..], &opens, &rest].concat();
    after(DualRules::NEUPIMS, &tile);
    for nth in 1..tile.len() {
        // All before it, and this one a tCK early. Those of the second pseudo-rank wait for the pins alone.
        let mut checker = after(DualRules::NEUPIMS, &tile[..nth]);
        let (at, pin) = tile[nth];
        assert_ne!(checker.command(at - 1, pin), [], "{pin} at {}", at - 1);
    }
}

#[test]
fn every_rule_is_probed() {
    let probes = [of_mem(), of_activations(), of_pim(), never()].concat();
    let mut rules: BTreeSet<_> = probes.iter().map(|(rule, ..)| *rule).collect();
    rules.extend(["write to the row in PIM", "PIM across a REF", "REF late"]);
    assert_eq!(rules.into_iter().collect::<Vec<_>>(), rule_names());
}
