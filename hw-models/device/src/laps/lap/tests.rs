// SPDX-License-Identifier: MIT
//! Tests of laps.

use super::*;
use crate::laps::course::tests::dispatched;
use crate::laps::{Doings, Event};
use pimlico_dpa::types::{Opcode, ResultAddress};

/// tCK of a lap, of cycles of two.
const LAP_TCK: u64 = 200;
const GEAR: u64 = 2;

/// The mark behind so many laps, of a loop of 1 000 repetitions in which a REF is due after 4 000 cycles.
fn mark(lap: u64) -> Mark {
    let [number, rest, left] = [lap + 1, 1000 - lap, 4000 - lap * LAP_TCK / GEAR];
    let row = 40 + lap as u16;
    Mark {
        survey: Survey {
            still: vec![3, 1],
            owing: vec![6],
            moving: [number, rest, left].map(|number| number << 32).to_vec(),
            timers: vec![Timer { left: 2, period: 5000, owed: 3, alike: 6 }],
            loops: vec![Loop { number: 0, rest: 1, step: 1 }],
            clearing: None,
            refused: false,
        },
        tck: 10_000 + lap * LAP_TCK,
        row,
        column: 9,
        entry: 2 * row,
        logs: Logs {
            doings: Doings {
                dispatched: dispatched(row, 16 * lap),
                read: vec![(2 * row, row), (2 * row + 2, row + 1)],
                overflow: false,
            },
            ..Logs::default()
        },
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
    assert_eq!((found.plain.tck, found.rows, found.entries), (LAP_TCK, 1, 2));
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
    assert!(not_with(&|mark| mark.logs.doings.overflow = true), "more than is kept");
    assert!(not_with(&|mark| mark.logs.doings.read[0].0 += 1), "another entry of the table");
    assert!(not_with(&|mark| mark.logs.doings.dispatched[0].column += 1), "another column");
    assert!(
        not_with(&|mark| mark.logs.doings.dispatched[0].row += 1),
        "a row that is not the open one"
    );
    assert!(
        not_with(&|mark| mark.logs.doings.dispatched[1].kind = Opcode::Finish),
        "another command"
    );
    let of_word = |word: ResultAddress, last: bool| {
        let marks = [0, 1, 2].map(|lap| {
            let mut mark = mark(lap);
            let result = &mut mark.logs.doings.dispatched[1];
            (result.word, result.last) = (word.bits(), last);
            mark
        });
        lap([&marks[0], &marks[1], &marks[2]])
    };
    let context = ResultAddress::context(0, 0, false);
    assert!(of_word(ResultAddress::scores(2), false).is_some());
    assert!(of_word(context, false).is_some());
    assert!(of_word(context, true).is_none(), "the context is the end of a head");
    let two_loops = |lap: u64| {
        let mut mark = mark(lap);
        mark.survey.loops.push(Loop { number: 0, rest: 1, step: 1 });
        mark
    };
    let marks = [0, 1, 2].map(two_loops);
    assert!(lap([&marks[0], &marks[1], &marks[2]]).is_none(), "two loops go on");
}

/// Words that are not cleared yet are in the way of commands that look them up, and of laps that have no cycles to clear them.
#[test]
fn a_lap_begins_before_all_words_are_cleared() {
    let marks = [0, 1, 2].map(mark);
    let found = lap([&marks[0], &marks[1], &marks[2]]).expect("a lap");
    let word = usize::from(marks[2].logs.doings.dispatched[0].word);
    let begins = |cleared: usize, words: usize| {
        let mut mark = mark(9);
        mark.survey.clearing = Some(Clearing { cleared, words });
        found.stand(&mark).is_some()
    };
    // It has 50 cycles of the longest, and commands enter in two of them.
    assert!(begins(word + 1, word + 49));
    assert!(!begins(word + 1, word + 50), "too many of them");
    assert!(!begins(word, word + 20), "it looks one of them up");
    let clearing = [0, 1, 2].map(|lap| {
        let mut mark = mark(lap);
        mark.survey.clearing = Some(Clearing { cleared: word + 1, words: word + 2 });
        mark
    });
    assert!(lap([&marks[0], &marks[1], &clearing[2]]).is_none(), "nor is it found there");
}

/// So many laps without a REF, from a turn on.
fn plain(turn: u64, laps: u64) -> Option<Ahead> {
    let segments = (laps > 0).then_some(Segment { refreshed: None, laps });
    let turn = FIRST_TURN - 1 + turn;
    Some(Ahead { turn, segments: segments.into_iter().collect() })
}

/// The mark behind so many laps with so many cycles until a REF is due.
fn later(lap: u64, left: u64) -> Mark {
    let mut mark = mark(lap.min(39));
    let numbers = [lap + 1, 1000 - lap, left];
    mark.survey.moving = numbers.map(|number| number << 32).to_vec();
    (mark.row, mark.tck) = (40 + lap as u16, 10_000 + lap * LAP_TCK);
    mark
}

#[test]
fn laps_ahead_end_before_something_else_happens() {
    let marks = [0, 1, 2].map(mark);
    let found = lap([&marks[0], &marks[1], &marks[2]]).expect("a lap");
    let ahead = |mark: &Mark| found.ahead(mark, GEAR, &row_of);
    // The REF is due after 4 000 cycles, and a lap has 100.
    assert_eq!(ahead(&mark(2)), plain(2, 37));
    assert_eq!(ahead(&mark(9)), plain(9, 30));
    // Behind it, where the loop comes to its last repetition.
    assert_eq!(ahead(&later(900, 40_000)), plain(900, 99));
    assert_eq!(ahead(&later(999, 40_000)), plain(999, 0));
    // Rows that are not where they were, one of them not at all.
    let moved = found.ahead(&mark(2), GEAR, &|entry| row_of(entry).filter(|row| *row < 46));
    assert_eq!(moved, plain(2, 2));
    let mut other = mark(9);
    other.row += 1;
    assert_eq!(ahead(&other), None, "a row that this repetition does not have");
    other = mark(9);
    other.survey.still[0] = 0;
    assert_eq!(ahead(&other), None, "another state");
}

/// From the mark behind so many laps, with so many cycles until a REF is due, to one two turns later, with so many tCK more.
fn with_ref(lap: u64, left: u64, more_tck: u64) -> [Mark; 2] {
    let begin = later(lap, left);
    let tck = 2 * LAP_TCK + more_tck;
    let mut end = later(lap + 2, left + 5000 - tck / GEAR);
    end.tck = begin.tck + tck;
    let row = begin.row;
    end.logs = Logs {
        doings: Doings {
            dispatched: [dispatched(row + 1, 16 * (lap + 1)), dispatched(row + 2, 16 * (lap + 2))]
                .concat(),
            read: vec![(2 * row + 2, row + 1), (2 * row + 4, row + 2)],
            overflow: false,
        },
        shown: vec![Event { at_tck: begin.tck + 90, refreshes: true, results: None }],
        ..Logs::default()
    };
    [begin, end]
}

#[test]
fn a_lap_with_a_ref_is_known_once_it_was_seen_twice() {
    let marks = [0, 1, 2].map(mark);
    let found = || lap([&marks[0], &marks[1], &marks[2]]).expect("a lap");
    let sampled = |samples: &[(u64, u64, u64)]| {
        let mut found = found();
        for &(lap, left, more_tck) in samples {
            let [begin, end] = with_ref(lap, left, more_tck);
            found.sample(&begin, &end, GEAR);
        }
        found
    };
    let left = |samples: &[(u64, u64, u64)]| {
        let due = |course: &Course| course.due.as_ref().expect("a REF").left.clone();
        sampled(samples).refreshed.iter().map(due).collect::<Vec<_>>()
    };
    assert_eq!(left(&[(50, 30, 700)]), []);
    assert_eq!(left(&[(50, 30, 700), (90, 80, 700)]), [30..=80]);
    assert_eq!(left(&[(50, 30, 700), (90, 80, 700), (130, 10, 700)]), [10..=80]);
    assert_eq!(left(&[(50, 30, 700), (90, 80, 702)]), [], "one takes longer");
    let three = [(50, 30, 700), (90, 80, 702), (130, 60, 702)];
    assert_eq!(left(&three), [60..=80], "the last two are alike");
    let four = [three[0], three[1], three[2], (170, 10, 700)];
    assert_eq!(left(&four), [60..=80, 10..=30], "two kinds");
    let between = [(50, 30, 700), (90, 80, 702), (130, 10, 702)];
    assert_eq!(left(&between), [], "it was another for one between");
    let other = [(50, 30, 700), (90, 80, 700), (130, 10, 702)];
    assert_eq!(left(&other), [30..=80], "what is known stays known");

    let found = sampled(&[(50, 30, 700), (90, 80, 700)]);
    let refreshed = Segment { refreshed: Some(0), laps: 1 };
    let plain = |laps| Segment { refreshed: None, laps };
    let ahead = |mark: &Mark| found.ahead(mark, GEAR, &row_of).expect("a turn").segments;
    // Two turns with a REF take 550 cycles, and the next is due after 5 000.
    let expected = [plain(2), refreshed, plain(44)];
    assert_eq!(ahead(&later(200, 250))[..3], expected);
    assert_eq!(ahead(&later(200, 299)), [plain(2)], "due later than was seen");
    assert_eq!(ahead(&later(200, 329)), [plain(3)], "due sooner");
    assert_eq!(ahead(&later(996, 250)), [plain(2)], "the loop ends in it");
    assert_eq!(ahead(&later(995, 250)), [plain(2), refreshed]);
    let mut owes = later(200, 250);
    owes.survey.timers[0].owed += 1;
    assert_eq!(ahead(&owes), [plain(2)], "more is owed");
}

#[test]
fn a_lap_with_a_ref_may_leave_the_others() {
    let marks = [0, 1, 2].map(mark);
    let mut found = lap([&marks[0], &marks[1], &marks[2]]).expect("a lap");
    let sample = |lap: u64, left: u64| {
        let [begin, mut end] = with_ref(lap, left, 700);
        end.logs.shown.clear();
        end.survey.timers[0].owed += 1;
        end.survey.owing = vec![4];
        [begin, end]
    };
    for (lap, left) in [(50, 30), (90, 80)] {
        let [begin, end] = sample(lap, left);
        assert!(found.leaves(&end) && !found.leaves(&begin) && found.stand(&end).is_none());
        found.sample(&begin, &end, GEAR);
    }
    let due = found.refreshed[0].due.as_ref().expect("a REF");
    assert_eq!((due.left.clone(), due.owed.clone()), (30..=80, 3..=3), "as much as was owed");
    let refreshed = Segment { refreshed: Some(0), laps: 1 };
    let plain = Segment { refreshed: None, laps: 2 };
    let ahead = found.ahead(&later(200, 250), GEAR, &row_of).expect("a turn");
    assert_eq!(ahead.segments, [plain, refreshed], "what comes behind it is another lap");
    let mut other = sample(200, 250)[1].clone();
    other.survey.still[0] += 1;
    assert!(!found.leaves(&other), "another state");
}
