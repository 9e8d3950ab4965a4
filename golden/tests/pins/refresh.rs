// SPDX-License-Identifier: MIT
//! REFs on time, postponed, pulled in and lost.

use crate::{act, ddr4_3200, pre};
use pimlico_golden::pins::{Legal, Pin, PinChecker, Subject, Violation};

pub const REFI: u64 = 12480;

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
