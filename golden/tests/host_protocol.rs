// SPDX-License-Identifier: MIT
//! The checker of the host's protocol: correct conversations pass, and every rule is broken once.

#[path = "host_protocol/breaches.rs"]
mod breaches;
#[path = "host_protocol/random.rs"]
mod random;
#[path = "host_protocol/talk.rs"]
mod talk;

use breaches::breaches;
use pimlico_golden::host_protocol::{
    Breach, HostChecker, HostRules, HostViolation, Party, PinState, Stream, host_rule_names,
};
use pimlico_golden::pins::Pin;
use std::collections::BTreeSet;
use talk::*;

/// What was found in a conversation, which its host ends with the pins.
fn found(conversation: impl FnOnce(&mut Talk)) -> Vec<HostViolation> {
    let mut talk = Talk::new();
    conversation(&mut talk);
    talk.found
}

#[track_caller]
fn passes(conversation: impl FnOnce(&mut Talk)) {
    let mut talk = Talk::new();
    conversation(&mut talk);
    assert_eq!(talk.finish(), []);
}

/// Loads, a run with operands and results, the pins taken back, memory used, and a second run.
#[test]
fn a_session_passes() {
    passes(|t| {
        t.give(ROW);
        t.give(Pin::Rd { bank: 5, column: 1 });
        t.give(Pin::Wr { bank: 5, column: 1 });
        t.give(Pin::PreAll);
        t.give(Pin::Ref);
        t.now += 560;
        for run in 0..2 {
            t.send(MAILBOX, LOAD);
            t.poll();
            t.run(3);
            for _ in 0..3 {
                t.send(OPERANDS, [7; 8]);
            }
            t.module(ACT_ALL);
            t.module(Pin::RdAll { column: 0 });
            t.module(Pin::PreAll);
            t.poll();
            t.status.contexts += 2;
            t.status.outputs += 1;
            t.poll();
            t.read(RESULTS, run, [8; 8]);
            t.read(RESULTS + 4, run, [9; 8]);
            t.read(RESULTS + 8 + 4 * (run % 2), 32, [10; 8]);
            // Again: it is the same.
            t.read(RESULTS + 8 + 4 * (run % 2), 0, [10; 8]);
            t.module(Pin::Ref);
            t.now += 600;
            t.end();
            t.read(MAILBOX, 0, ZERO);
            t.read(OPERANDS, 0, ZERO);
            t.take();
            t.poll();
            t.give(Pin::PreAll);
            t.give(ROW);
            t.give(Pin::PreAll);
        }
    });
}

/// Several STARTs wait, each with its operands behind it; between the runs the pins are kept.
#[test]
fn chained_starts_pass() {
    passes(|t| {
        t.write(MAILBOX, start(1));
        t.write(OPERANDS, [1; 8]);
        t.write(MAILBOX, LOAD);
        t.write(MAILBOX, start(2));
        t.write(OPERANDS, [1; 8]);
        t.write(OPERANDS, [1; 8]);
        t.status.waits = true;
        t.poll();
        t.give(Pin::PreAll);
        t.through = false;
        t.status.state = 1;
        t.poll();
        (t.status.state, t.status.taken) = (2, 2);
        t.poll();
        // Between the runs, and in the second.
        (t.status.state, t.status.runs) = (1, 1);
        t.poll();
        // This one closes windows, as a START waits.
        t.give(Pin::PreAll);
        (t.status.state, t.status.waits, t.status.taken) = (2, false, 6);
        t.poll();
        // A third START in the second run, and a fourth after the end of the third.
        t.write(MAILBOX, start(0));
        t.status.waits = true;
        t.poll();
        (t.status.waits, t.status.taken, t.status.runs) = (false, 7, 2);
        t.poll();
        t.end();
        t.write(MAILBOX, start(0));
        (t.status.taken, t.status.state) = (8, 2);
        t.give(Pin::PreAll);
        t.poll();
        t.end();
        t.take();
    });
}

/// A run with a fault takes no more operands, and nobody wants its results.
#[test]
fn a_fault_excuses_the_host() {
    for sent_later in [0, 2] {
        passes(|t| {
            t.run(9);
            t.send(OPERANDS, [1; 8]);
            t.status.contexts = 60;
            t.status.fault = 3;
            t.end();
            for _ in 0..sent_later {
                t.send(OPERANDS, [1; 8]);
            }
            t.take();
            t.run(0);
            t.status.contexts = 124;
            t.status.fault = 0;
            t.poll();
            for n in 60..124 {
                t.read(RESULTS + 4 * (n % 2), n / 2, [n as u64; 8]);
            }
            t.status.contexts = 188;
            t.poll();
            t.end();
            t.take();
        });
    }
}

/// A status is as old as its sample: what the host has done since is not in it.
#[test]
fn a_status_sampled_before_an_event_passes() {
    passes(|t| {
        t.write(MAILBOX, start(0));
        t.open(STATUS);
        // RD, PREA: sampled in the tCK of the PREA, and in the one after.
        for state in [0, 1] {
            t.give(Pin::Rd { bank: STATUS, column: 0 });
            let rd = t.now;
            t.now = rd + 21 - state - 22;
            t.give(Pin::PreAll);
            t.through = false;
            let words = Status { state, waits: true, ..t.status }.words();
            t.found.extend(t.checker.read_data(rd + 23, words));
            t.now = rd + 30;
            t.open(STATUS);
        }
        (t.status.state, t.status.taken) = (2, 1);
        t.end();
        // A START that reaches the queue in the tCK after the sample, and in the tCK of the sample.
        for (ahead, waits) in [(1, false), (0, true)] {
            t.open(MAILBOX);
            t.open(STATUS);
            let rd = t.now + 30;
            t.now = rd + 21 - 20 + ahead - 22;
            let early = rd.min(t.now + 22) == rd;
            assert!(early);
            t.found.extend(t.checker.command(rd, Pin::Rd { bank: STATUS, column: 0 }));
            t.give(Pin::Wr { bank: MAILBOX, column: 0 });
            let wr = t.now;
            t.found.extend(t.checker.write_data(wr + 15, start(0)));
            t.status.waits = waits;
            t.found.extend(t.checker.read_data(rd + 23, t.status.words()));
            t.status.waits = false;
            t.status.taken += 1;
            t.now = wr + 50;
            t.end();
        }
        t.take();
    });
}

/// Counters go modulo 65536, and 128 bursts may be on their way.
#[test]
fn counters_wrap() {
    let mut talk = Talk::with(HostRules { poll: None, ..rules() });
    for _ in 0..520 {
        for _ in 0..128 {
            talk.write(MAILBOX, LOAD);
        }
        talk.status.taken += 128;
        talk.poll();
    }
    talk.run(0);
    for n in 0..66_000 {
        talk.status.outputs += 1;
        talk.poll();
        talk.read(RESULTS + 8 + 4 * (n % 2), n / 2, [n as u64; 8]);
    }
    talk.end();
    talk.take();
    assert_eq!(talk.finish(), []);
}

#[test]
fn every_rule_is_found_alone() {
    for (i, (name, conversation)) in breaches().into_iter().enumerate() {
        let found = found(conversation);
        let names: Vec<&str> = found.iter().map(|violation| violation.breach.name()).collect();
        assert_eq!(names, [name], "conversation {i}: {found:?}");
        let message = found[0].to_string();
        assert!(message.starts_with(name) && !message.contains('\n'), "{message}");
        assert!(message.contains(&format!(" at {}: ", found[0].at_tck)), "{message}");
    }
}

#[test]
fn no_rule_is_forgotten() {
    let names: BTreeSet<&str> = host_rule_names().collect();
    assert_eq!(names.len(), host_rule_names().count(), "each name once");
    let broken: BTreeSet<&str> = breaches().iter().map(|(name, _)| *name).collect();
    assert_eq!(broken, names);
}

/// The tCK that is still in time, where a rule has one.
#[test]
fn a_tck_less_is_no_breach() {
    passes(|t| {
        t.run(0);
        t.open(STATUS);
        t.now += 5000 - 44;
        t.status.state = 2;
        t.poll();
        t.module(Pin::Ref);
        t.now += 561 - 21 - 22;
        t.end();
        t.take();
    });
    // A START behind an end: from the tCK on in which it waits.
    passes(|t| {
        t.ended();
        t.open(STATUS);
        t.now += 10_000;
        t.send(MAILBOX, start(0));
        t.now += 5000 - 24 - 22;
        t.status.state = 2;
        t.poll();
        t.end();
        t.take();
    });
    passes(|t| {
        t.run(0);
        t.now += 2;
        t.module(ACT_ALL);
        t.end();
        t.take();
    });
    passes(|t| {
        t.run(0);
        t.status.contexts = 1;
        t.poll();
        t.read(RESULTS, 0, [1; 8]);
        t.status.contexts = 65;
        t.poll();
        t.end();
        t.take();
    });
}

/// Without a reason to look, nothing is said of the chips' pins and of polls.
#[test]
fn what_the_caller_leaves_out_is_not_told() {
    let mut talk = Talk::with(HostRules { chips: false, poll: None, ..rules() });
    talk.through = false;
    talk.run(0);
    talk.now += 1_000_000;
    talk.end();
    talk.give(Pin::PreAll);
    talk.give(ROW);
    talk.give(Pin::Rd { bank: 5, column: 0 });
    talk.give(Pin::PreAll);
    assert_eq!(talk.finish(), []);
}

/// A host that has overrun the queue does not know what the module has, and nor does the checker.
#[test]
fn a_lost_start_is_the_hosts() {
    let found = found(|t| {
        for _ in 0..128 {
            t.write(MAILBOX, LOAD);
        }
        t.write(MAILBOX, start(0));
        t.status.lost = true;
        t.poll();
        t.give(Pin::PreAll);
        t.poll();
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].breach, Breach::QueueOverrun { ahead: 129 });
}

#[test]
fn messages_name_rule_time_and_what_was_wrong() {
    let at = |breach| HostViolation { at_tck: 9, breach };
    let (state, waits) = (PinState::PinsRun, false);
    for (breach, party, expected) in [
        (
            Breach::WrongState { state, waits },
            Party::Module,
            "WrongState at 9: the status says PinsRun, no START waits, which cannot be",
        ),
        (
            Breach::ResultOverwritten { stream: Stream::Outputs, first: 3, bursts: 2 },
            Party::Host,
            "ResultOverwritten at 9: 2 outputs bursts from 3 on gone before they were read",
        ),
        (
            Breach::UnknownMessage { word: 3, flaw: "is neither LOAD nor START" },
            Party::Host,
            "UnknownMessage at 9: the message with word 0 0x0000000000000003 is neither LOAD nor START",
        ),
        (Breach::DataUnasked { write: true }, Party::Host, "DataUnasked at 9: data without a WR"),
    ] {
        assert_eq!(breach.party(), party);
        assert_eq!(at(breach).to_string(), expected);
    }
}

/// Whatever comes, the checker does not panic.
#[test]
fn nonsense_is_told_not_panicked_at() {
    let mut random = random::Random(1);
    let mut checker = HostChecker::new(rules());
    let names: BTreeSet<&str> = host_rule_names().collect();
    let mut told = 0;
    for step in 0..200_000 {
        let mut tck = step * 5 + random.below(40) as u64;
        if random.below(500) == 0 {
            tck = [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX][random.below(5)];
        }
        let words = random.words();
        let found = match random.below(6) {
            0 => checker.write_data(tck, words),
            1 => checker.read_data(tck, words),
            2 => checker.chips(tck, random.pin()),
            3 if random.below(100) == 0 => checker.finish(tck),
            _ => checker.command(tck, random.pin()),
        };
        told += found.len();
        for violation in &found {
            assert!(names.contains(violation.breach.name()));
            assert!(!violation.to_string().contains('\n'));
        }
        if random.below(1000) == 0 {
            checker = HostChecker::new(rules());
        }
    }
    assert!(told > 10_000, "{told}");
}
