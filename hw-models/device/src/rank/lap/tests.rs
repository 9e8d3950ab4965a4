// SPDX-License-Identifier: MIT
//! Tests of laps.

use super::*;
use pimlico_units::lap::Loop;

/// tCK of a lap, of cycles of two.
const LAP_TCK: u64 = 200;
const GEAR: u64 = 2;

/// A MAC of a row, and an RD_RESULT of the outputs of a place.
fn dispatched(row: u16, place: u64) -> Vec<Dispatch> {
    let mac = Dispatch { kind: Opcode::MacScore, row, column: 7, ..Dispatch::default() };
    let word = ResultAddress::outputs(2).bits();
    let result =
        Dispatch { kind: Opcode::RdResult, place: U::new(place), word, ..Dispatch::default() };
    vec![mac, result]
}

/// The mark behind so many laps, of a loop of 1 000 repetitions in which a REF is due after 4 000 cycles.
fn mark(lap: u64) -> Mark {
    let [number, rest, left] = [lap + 1, 1000 - lap, 4000 - lap * LAP_TCK / GEAR];
    let row = 40 + lap as u16;
    Mark {
        survey: Survey {
            still: vec![3, 1],
            moving: [number, rest, left].map(|number| number << 32).to_vec(),
            timers: vec![2],
            loops: vec![Loop { number: 0, rest: 1, step: 1 }],
            refused: false,
        },
        tck: 10_000 + lap * LAP_TCK,
        row,
        doings: Doings {
            dispatched: dispatched(row, 16 * lap),
            read: vec![(2 * row, row), (2 * row + 2, row + 1)],
            overflow: false,
        },
        ..Mark::default()
    }
}

fn lap(marks: [&Mark; 3]) -> Option<Lap> {
    Lap::of(marks, GEAR)
}

/// The row of an entry of the table: of every second one.
fn row_of(entry: u16) -> Option<u16> {
    entry.is_multiple_of(2).then_some(entry / 2)
}

#[test]
fn what_happens_three_times_is_a_lap() {
    let marks = [0, 1, 2].map(mark);
    let [first, middle, last] = [&marks[0], &marks[1], &marks[2]];
    let found = lap([first, middle, last]).expect("a lap");
    assert_eq!((found.tck, found.rows, found.entries), (LAP_TCK, 1, 2));
    let not_with = |change: &dyn Fn(&mut Mark)| {
        let mut other = mark(2);
        change(&mut other);
        lap([first, middle, &other]).is_none()
    };
    assert!(not_with(&|mark| mark.survey.still[1] = 0), "another state");
    assert!(not_with(&|mark| mark.survey.refused = true), "something is under way");
    assert!(not_with(&|mark| mark.tck += GEAR), "a longer lap");
    assert!(not_with(&|mark| mark.row += 1), "another row");
    assert!(not_with(&|mark| mark.survey.moving[2] += 1 << 32), "the REF has been due");
    assert!(not_with(&|mark| mark.survey.moving[1] -= 1 << 32), "another rest");
    assert!(not_with(&|mark| mark.doings.overflow = true), "more than is kept");
    assert!(not_with(&|mark| mark.doings.read[0].0 += 1), "another entry of the table");
    assert!(not_with(&|mark| mark.doings.dispatched[0].column += 1), "another column");
    assert!(not_with(&|mark| mark.doings.dispatched[0].row += 1), "a row that is not the open one");
    assert!(not_with(&|mark| mark.doings.dispatched[1].kind = Opcode::Finish), "another command");
    let scores = ResultAddress::scores(2).bits();
    let of_scores = |lap: u64| {
        let mut mark = mark(lap);
        mark.doings.dispatched[1].word = scores;
        mark
    };
    let marks = [0, 1, 2].map(of_scores);
    assert!(lap([&marks[0], &marks[1], &marks[2]]).is_none(), "scores go to the softmax unit");
    let two_loops = |lap: u64| {
        let mut mark = mark(lap);
        mark.survey.loops.push(Loop { number: 0, rest: 1, step: 1 });
        mark
    };
    let marks = [0, 1, 2].map(two_loops);
    assert!(lap([&marks[0], &marks[1], &marks[2]]).is_none(), "two loops go on");
}

#[test]
fn laps_ahead_end_before_something_else_happens() {
    let marks = [0, 1, 2].map(mark);
    let found = lap([&marks[0], &marks[1], &marks[2]]).expect("a lap");
    let ahead = |mark: &Mark| found.ahead(mark, GEAR, row_of);
    // The REF is due after 4 000 cycles, and a lap has 100.
    assert_eq!(ahead(&mark(2)), Some(Ahead { since: 0, laps: 37 }));
    assert_eq!(ahead(&mark(9)), Some(Ahead { since: 7, laps: 30 }));
    // Behind it, where the loop comes to its last repetition.
    let behind = |lap: u64, left: u64| {
        let mut mark = mark(lap.min(39));
        let numbers = [lap + 1, 1000 - lap, left];
        mark.survey.moving = numbers.map(|number| number << 32).to_vec();
        mark.row = 40 + lap as u16;
        mark
    };
    assert_eq!(ahead(&behind(900, 40_000)), Some(Ahead { since: 898, laps: 99 }));
    assert_eq!(ahead(&behind(999, 40_000)), Some(Ahead { since: 997, laps: 0 }));
    // Rows that are not where they were, one of them not at all.
    let moved = found.ahead(&mark(2), GEAR, |entry| row_of(entry).filter(|row| *row < 46));
    assert_eq!(moved, Some(Ahead { since: 0, laps: 2 }));
    let mut other = mark(9);
    other.row += 1;
    assert_eq!(ahead(&other), None, "a row that this repetition does not have");
    other = mark(9);
    other.survey.still[0] = 0;
    assert_eq!(ahead(&other), None, "another state");
}

#[test]
fn places_stay_in_the_score_buffer() {
    let room = |before: u64, behind: u64| {
        fits(&dispatched(1, before), &dispatched(2, behind), 1).expect("they are alike")
    };
    let last = (SCORE_BUFFER - LANES) as u64;
    assert_eq!(room(last - 48, last - 32), 2);
    assert_eq!(room(last - 47, last - 31), 1);
    assert_eq!(room(last - 16, last), 0);
    assert_eq!(room(40, 24), 1);
    assert_eq!(room(24, 24), u64::MAX);
    assert_eq!(fits(&dispatched(1, last - 15), &dispatched(2, last + 1), 1), None);
}
